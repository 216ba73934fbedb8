/**
 * The port that turns a request's credential into a caller. It is the only way a `Caller` comes into being.
 *
 * Contract (test/contracts/tokens.ts runs it against every implementation): resolves with a caller for a valid credential and fails with
 * `Unauthenticated` for anything else (missing, malformed, expired, wrongly signed, revoked). `Refused` is for a verified credential that may not
 * work here (403), `KeysUnavailable` for keys that cannot be read now (503). A cached answer must be synchronous: no promise on the hot path.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Caller } from "../domain/access/caller.ts"

export class TokensError extends Data.TaggedError("TokensError")<{
  readonly reason: "Unauthenticated" | "Refused" | "KeysUnavailable"
  /** For logs; never sent. */
  readonly why: string
  /** The credential was valid once, and has expired: its holder may be told. */
  readonly expired?: boolean
}> {}

/** What authenticators may look at: a web `Request` fits, and so does the light request of the Node listener. */
export interface Credentials {
  readonly method: string
  readonly url: string
  readonly headers: { get(name: string): string | null }
  /** The tenant of the host or path that was asked. Absent where requests do not decide the tenant; a credential of another tenant is `Refused`. */
  readonly tenant?: string
}

export interface TokensService {
  readonly authenticate: (request: Credentials) => Effect.Effect<Caller, TokensError>
}

/** Who is calling. */
export class Tokens extends Context.Service<Tokens, TokensService>()("resource-admin/Tokens") {}
