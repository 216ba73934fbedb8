/**
 * The port to external servers: it checks and sends one POST. It follows no redirect, has no state, and fails only with its own error.
 *
 * Contract (test/contracts/outbound.ts runs it against every implementation):
 * - The host is resolved once. Unless `anyAddress`, every address that it has must be public, and the connection goes to one of those that were
 *   checked.
 * - No redirect is followed. A 3xx is an ordinary answer. Certificates are verified.
 * - The request ends `timeoutMs` after it began, whatever the receiver does. At most 64 KiB of an answer are read.
 * - Interrupting the effect closes the connection.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** One POST. Header names are lower case; `content-length` and `host` are the adapter's own. */
export interface OutboundRequest {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  /** Whether private addresses are allowed, for URLs that the operator wrote. */
  readonly anyAddress: boolean
  readonly timeoutMs: number
}

export interface OutboundAnswer {
  readonly status: number
  /** Those of `toldHeaders` that it had, at most 500 characters each. */
  readonly headers: { readonly [name: string]: string }
  /** The first 2 KB of the answer as text. */
  readonly text: string
}

export class OutboundError extends Data.TaggedError("OutboundError")<{
  /**
   * `url`: the URL is not allowed · `address`: the host has an address that is not public · `unknown-host` · `unreachable`: no connection, or it
   * was closed · `certificate`: TLS failed · `timeout` · `answer`: the answer is not HTTP.
   */
  readonly reason: "url" | "address" | "unknown-host" | "unreachable" | "certificate" | "timeout" | "answer"
  /** A message for people, without secret parts of the URL. */
  readonly message: string
}> {}

export interface OutboundService {
  readonly post: (request: OutboundRequest) => Effect.Effect<OutboundAnswer, OutboundError>
  /** Checks whether a request to the URL would be sent now. It resolves the host, but does not connect. */
  readonly check: (url: string) => Effect.Effect<void, OutboundError>
}

/** Servers of others. */
export class Outbound extends Context.Service<Outbound, OutboundService>()("resource-admin/Outbound") {}
