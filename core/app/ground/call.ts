/**
 * What goes into a use case and what comes out of it: plain data, no HTTP objects. The HTTP adapter makes a `Call` and sends a `Reply`;
 * `test` and other edges do the same. Here stands, too, how every use case reads its body, few parameters and an idempotency key. The parameters of
 * lists, aggregates and writes are read by the domain.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { Caller } from "../../domain/access/caller.ts"
import type { Accesses } from "../../domain/access/reach.ts"
import type { ArgumentCells } from "../../domain/model/database-function.ts"
import { invalidParameter, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { parseJson } from "../../domain/value/json.ts"
import type { Json } from "../../domain/value/kind.ts"

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
  /** The public URL of the caller's tenant, without a slash at its end, where requests decide the tenant. */
  readonly tenantUrl?: string
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

const decoder = new TextDecoder("utf-8", { fatal: true })

/** Decodes and parses a JSON body, whose size was limited before; malformed UTF-8 or JSON is a 400 `malformed-json`. */
export const readJson = (body: Uint8Array): Result.Result<Json, Problem> => {
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    return Result.fail(problem("malformed-json", "The body is not valid UTF-8."))
  }
  return Result.mapError(
    parseJson(text),
    ({ at, message }) => problem("malformed-json", `The body is not valid JSON: ${message} (at character ${at}).`)
  )
}

/** Parameters by name. Each name is allowed at most once, and no others are. `unknown`: the refusal of another name. */
export const readParameters = <Name extends string>(
  query: Call["query"],
  names: readonly Name[],
  unknown: (name: string) => Problem = (name) =>
    invalidParameter(
      name,
      names.length === 0
        ? "This route takes no parameters."
        : `There is no such parameter. Use ${names.join(", ")}.`
    )
): Result.Result<{ readonly [name in Name]?: string }, Problem> => {
  const values: { [name in Name]?: string } = {}
  for (const [name, value] of query) {
    const parameter = names.find((each) => each === name)
    if (parameter === undefined) return Result.fail(unknown(name.slice(0, 100)))
    if (values[parameter] !== undefined) return Result.fail(invalidParameter(name, "The parameter is given twice."))
    values[parameter] = value
  }
  return Result.succeed(values)
}

/** The Idempotency-Key header: 1 to 255 visible ASCII characters, a quoted string or plain. */
export const readIdempotencyKey = (call: Call): Result.Result<string | null, Problem> => {
  const header = call.header("idempotency-key")
  if (header === null) return Result.succeed(null)
  const key = header.replace(/^"(.*)"$/, "$1")
  return /^[\x21-\x7e]{1,255}$/.test(key)
    ? Result.succeed(key)
    : Result.fail(invalidParameter("Idempotency-Key", "The key must be 1 to 255 visible ASCII characters."))
}
