/**
 * What goes into a use case and what comes out of it: plain data, no HTTP objects. The HTTP adapter makes a `Call` and sends a `Reply`;
 * `test` and other edges do the same.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Caller } from "../../domain/access/caller.ts"
import type { Accesses } from "../../domain/access/reach.ts"
import type { ArgumentCells } from "../../domain/model/database-function.ts"
import type { Problem } from "../../domain/problem.ts"

export type { Accesses }

/** One authenticated request to a resource, already routed. */
export interface Call {
  readonly caller: Caller
  /** The caller's access; the only way from a request to a resource. */
  readonly access: Accesses
  /** Path without query, for `instance` and `Location`; begins with the base path. */
  readonly path: string
  /** Decoded query parameters in order, names as sent; repeated names appear repeatedly. */
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  /** Arguments of the function whose rows are read. They are no longer in `query`. */
  readonly args?: ArgumentCells
  /** The origin that the service is called by from outside. */
  readonly origin?: () => string
  /** Verifies the credential again, for answers that last. */
  readonly again?: Effect.Effect<Caller, unknown>
  /** Request header by lower-case name, or null. */
  readonly header: (name: string) => string | null
}

/** The file in the body of an upload. */
export interface IncomingFile {
  /** Its name in a form; null for a raw body. */
  readonly name: string | null
  /** The Content-Type that was sent with it. */
  readonly type: string | null
  /** Its announced length; null where nobody says. */
  readonly length: number | null
  /** Throws a `Problem` where the body breaks off, is too slow, or holds more than the file. */
  readonly bytes: AsyncIterable<Uint8Array>
}

/** The body of an upload before anything of it is read. */
export interface Incoming {
  readonly isForm: boolean
  /** Content-Type of the body, or null. */
  readonly type: string | null
  /** Content-Length of the whole body, or null. */
  readonly length: number | null
  readonly open: Effect.Effect<IncomingFile, Problem>
}

/** A finished answer. `body` null: no body. Header names are lower case. */
export interface Reply {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array | null
}

/** A reply whose body is sent as it comes, of no known length. */
export interface StreamedReply extends Reply {
  readonly stream: { readonly length: null; readonly bytes: AsyncIterable<Uint8Array> }
}

/** Whether a credential still stands for the same caller, with the same roles: what lasts asks it again and again. */
export const stillHeld = (again: Effect.Effect<Caller, unknown>, caller: Caller): Effect.Effect<boolean> =>
  Effect.map(
    Effect.exit(again),
    (exit) =>
      Exit.isSuccess(exit) && exit.value.id === caller.id && exit.value.tenant === caller.tenant &&
      exit.value.roles.join("\0") === caller.roles.join("\0")
  )

/** A reply whose body is JSON text. */
export const json = (status: number, body: string, headers: { readonly [name: string]: string } = {}): Reply => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body
})
