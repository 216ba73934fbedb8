/**
 * CORS for an exact list of origins (Fetch standard, "CORS protocol"). It only tells browsers what they may read; it never grants
 * access, and it never answers for an origin that is not on the list.
 */

import type { Reply } from "../../core/app/ground/call.ts"
import type { EdgeRequest } from "./request.ts"

export interface Cors {
  /** Answer to a preflight from a listed origin, else null: the request then goes the way of every other. */
  readonly preflight: (request: EdgeRequest) => Reply | null
  /** Headers for an answer to this origin, or null when it is not listed. */
  readonly headersFor: (origin: string) => { readonly [name: string]: string } | null
}

const methods = "GET, HEAD, POST, PATCH, DELETE"
const allowed =
  "Authorization, Content-Type, If-Match, If-None-Match, Prefer, Idempotency-Key, Last-Event-ID, X-Request-Id, X-Service-Position, traceparent, tracestate, Tus-Resumable, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override"
const exposed =
  "ETag, Location, X-Meta-Version, X-Request-Id, X-Service-Position, X-Service-Warning, Preference-Applied, Idempotency-Replayed, Retry-After, Server-Timing, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Expires"

const checked = (origin: string): string => {
  const url = URL.canParse(origin) ? new URL(origin) : null
  if (url === null || url.origin !== origin || origin.includes("*") || !/^https?:$/.test(url.protocol)) {
    throw new RangeError(
      `options.cors.origins takes exact origins such as https://admin.example.com; not ${JSON.stringify(origin)}`
    )
  }
  return origin
}

export interface CorsOptions {
  /** Exact origins that browsers may call from. */
  readonly origins: readonly string[]
  /** How long browsers keep the answer to a preflight. Default 600. */
  readonly maxAgeSeconds?: number
}

/**
 * Null when no origin is configured. Throws a RangeError for anything that is not an exact http(s) origin; `*` is refused too, because
 * the sign-in routes work with cookies.
 */
export const makeCors = ({ maxAgeSeconds = 600, origins }: CorsOptions = { origins: [] }): Cors | null => {
  if (origins.length === 0) return null
  const answers = new Map(origins.map((origin) => [
    checked(origin),
    {
      "access-control-allow-origin": origin,
      "access-control-expose-headers": exposed
    }
  ]))
  return {
    headersFor: (origin) => answers.get(origin) ?? null,
    preflight: (request) => {
      const origin = request.headers.get("origin")
      if (origin === null || !answers.has(origin) || request.headers.get("access-control-request-method") === null) {
        return null
      }
      return {
        status: 204,
        headers: {
          "access-control-allow-methods": methods,
          "access-control-allow-headers": allowed,
          "access-control-max-age": String(maxAgeSeconds),
          "vary": "Access-Control-Request-Method, Access-Control-Request-Headers"
        },
        body: null
      }
    }
  }
}
