/**
 * Gives `/api/auth/*` to a mounted web handler. It is the only place that builds a real `Request`. It decides nothing about sign-in. It
 * only ensures that the handler sees a bounded body and one trusted client address.
 */

import * as Effect from "effect/Effect"
import { json } from "../../core/app/ground/call.ts"
import { isBag } from "../../core/domain/bag.ts"
import { outageTold } from "../../core/domain/outage.ts"
import { problemKinds, wordOf } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import type { Refused } from "./access-log.ts"
import { announcedTooLarge, clientAddress, codingRefusal } from "./request.ts"
import type { EdgeAnswer, EdgeRequest } from "./request.ts"

/** A web-standard handler. It makes the problem documents of its errors itself. Whatever it throws becomes the fixed 500. */
export type WebHandler = (request: Request) => Promise<Response>

/** The auth server as the edge needs it. */
export interface AuthMount {
  readonly handler: WebHandler
  /** Whether a path below the mount is one of its routes. All others are answered like every unknown path: 401 comes before 404. */
  readonly serves: (path: string) => boolean
  /** Largest body that it takes, in bytes. More is not read, because anybody may send it. */
  readonly maxBodyBytes: number
}

/** The answer of `GET /api/auth/status`. */
export interface AuthStatus {
  readonly needsAdmin: boolean
}

/** Connection-level headers, and headers that a new body makes wrong. */
const dropped = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "content-length",
  "x-forwarded-for"
])

/** Methods that no `Request` can have (Fetch standard, "forbidden method"). */
const forbiddenMethods = new Set(["CONNECT", "TRACE", "TRACK"])

const headersOf = (request: EdgeRequest, trustedProxies: number): Headers => {
  const headers = new Headers()
  for (const [name, value] of request.headers.entries()) if (!dropped.has(name)) headers.append(name, value)
  const address = clientAddress(request, trustedProxies)
  if (address !== null) headers.set("x-forwarded-for", address)
  return headers
}

const answerOf = async (response: Response): Promise<EdgeAnswer> => {
  const headers: Record<string, string> = {}
  for (const [name, value] of response.headers) {
    if (name !== "set-cookie" && !dropped.has(name)) headers[name] = value
  }
  const body = response.body === null ? null : new Uint8Array(await response.arrayBuffer())
  const refused = body === null || headers["content-type"] !== "application/problem+json" ? null : refusedIn(body)
  return {
    status: response.status,
    headers,
    cookies: response.headers.getSetCookie(),
    body,
    ...(refused === null ? {} : { refused })
  }
}

/** Why the handler refused, as its problem document tells; null where it is none of ours. */
const refusedIn = (body: Uint8Array): Refused | null => {
  const document: unknown = JSON.parse(new TextDecoder().decode(body))
  if (!isBag(document) || typeof document["type"] !== "string") return null
  const slug = document["type"].slice(document["type"].lastIndexOf(":") + 1)
  if (!Object.hasOwn(problemKinds, slug)) return null
  const outage = outageTold(document["detail"])
  return outage === null ? { slug } : { slug, cause: wordOf(outage) }
}

/**
 * Runs the handler with a request of the original's method, headers and body. HEAD becomes GET. A method that no `Request` can have becomes
 * `UNKNOWN`, so that the handler refuses it and says which it takes. `X-Forwarded-For` holds exactly one address, the client's as seen
 * through the trusted proxies, or is absent when it is unknown. The request's signal aborts when the client goes away.
 */
export const runMounted = (
  handler: WebHandler,
  request: EdgeRequest,
  method: string,
  /** The whole body, of at most `limit` bytes. */
  body: Effect.Effect<Uint8Array, Problem>,
  limit: number,
  trustedProxies: number,
  /** The id of the request, for the handler's notes. */
  id: string,
  url: string = request.url
): Effect.Effect<EdgeAnswer, Problem> => {
  const takesBody = request.hasBody && method !== "GET"
  const refusal = (takesBody ? codingRefusal(request) : null) ?? announcedTooLarge(request, limit)
  if (refusal !== null) return Effect.fail(refusal)
  const asked = forbiddenMethods.has(method) ? "UNKNOWN" : method
  const sent: Effect.Effect<Uint8Array | null, Problem> = takesBody ? body : Effect.succeed(null)
  return Effect.flatMap(sent, (bytes) =>
    Effect.promise((signal) => {
      const headers = headersOf(request, trustedProxies)
      headers.set("x-request-id", id)
      const init = {
        method: asked,
        headers,
        signal,
        ...(bytes === null ? {} : { body: bytes as Uint8Array<ArrayBuffer> })
      }
      return handler(new Request(url, init)).then(answerOf)
    }))
}

/** `GET /api/auth/status`: reachable without a token. */
export const statusReply = (status: AuthStatus): EdgeAnswer =>
  json(200, JSON.stringify({ needsAdmin: status.needsAdmin }))
