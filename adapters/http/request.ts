/**
 * The plain request and reply of the edge, and what a request's head says: target, query, request id, client address, and whether its body
 * may be read. Nothing here knows Node or waits for anything. The wrapper reads the body.
 */

import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Reply } from "../../core/app/ground/call.ts"
import { clientOf } from "../../core/domain/account/client.ts"
import { invalidParameter, problem } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import type { Refused } from "./access-log.ts"

export interface EdgeHeaders {
  /** The value by name in any case (repeated headers joined with a comma), or null. */
  get(name: string): string | null
  entries(): Iterable<readonly [string, string]>
}

/** A request as both wrappers give it. It also serves as the `Credentials` of the Tokens port. */
export interface EdgeRequest {
  readonly method: string
  /** Absolute URL. Its origin is the configured one or the web request's own, never what a Host header claims. */
  readonly url: string
  /** Path and query as sent, percent-encoding untouched. */
  readonly target: string
  /** The host that was asked, as sent: that of the `Host` header, or of the web request's URL. Null or absent when there is none. */
  readonly host?: string | null
  readonly headers: EdgeHeaders
  readonly hasBody: boolean
  /** Address of the peer that opened the connection; null when the host does not tell. */
  readonly address: string | null
  /** The whole body; fails with `payload-too-large` as soon as more than `limit` bytes have come. Read it at most once. */
  readonly body: (limit: number) => Effect.Effect<Uint8Array, Problem>
  /** The body as it comes, instead of `body`; throws a `Problem` when it breaks off. */
  readonly stream: () => AsyncIterable<Uint8Array>
}

/** A body that is sent as it comes. Whoever gets one reads it to its end or calls `return`. */
export interface StreamedBody {
  /** Bytes in all; null where nobody knows: it lasts until one side ends it. */
  readonly length: number | null
  readonly bytes: AsyncIterable<Uint8Array>
}

/** The answer of a route: a `Reply`, and cookies, because only their header repeats. */
export interface EdgeAnswer extends Reply {
  readonly cookies?: readonly string[]
  /** Why it is a refusal, for log and metrics. */
  readonly refused?: Refused
  /** Instead of `body`, which is null then. */
  readonly stream?: StreamedBody
}

/** What goes on the wire. Headers are complete (`content-length` included); a HEAD answer has its body removed already. */
export interface EdgeReply extends Reply {
  readonly cookies: readonly string[]
  /** Instead of `body`, which is null then. It is counted and logged when it has ended, or was let go. */
  readonly stream: StreamedBody | null
}

/** Path and raw query (without `?`, null when there is none) of a target. */
export const splitTarget = (target: string): readonly [path: string, query: string | null] => {
  const mark = target.indexOf("?")
  return mark === -1 ? [target, null] : [target.slice(0, mark), target.slice(mark + 1)]
}

/** Percent-decoding with strict UTF-8; null for anything malformed. */
export const decodePercent = (text: string): string | null => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

const decodeQueryPart = (text: string): string | null =>
  decodePercent(text.includes("+") ? text.replaceAll("+", " ") : text)

const noQuery: ReadonlyArray<readonly [string, string]> = []

/** The pairs of a query in order (`application/x-www-form-urlencoded`, strict UTF-8). Fails with 400 `invalid-parameter`. */
export const readQuery = (raw: string | null): Result.Result<ReadonlyArray<readonly [string, string]>, Problem> => {
  if (raw === null || raw === "") return Result.succeed(noQuery)
  const pairs: Array<readonly [string, string]> = []
  for (const part of raw.split("&")) {
    if (part === "") continue
    const equals = part.indexOf("=")
    const rawName = equals === -1 ? part : part.slice(0, equals)
    const name = decodeQueryPart(rawName)
    const value = equals === -1 ? "" : decodeQueryPart(part.slice(equals + 1))
    if (name === null || value === null) {
      return Result.fail(invalidParameter((name ?? rawName).slice(0, 100), "Not valid percent-encoded UTF-8."))
    }
    pairs.push([name, value])
  }
  return Result.succeed(pairs)
}

/** The client's `X-Request-Id` when it is 1 to 128 of `A-Z a-z 0-9 . _ -`, else null. */
export const acceptedId = (sent: string | null): string | null =>
  sent !== null && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : null

/**
 * The client's address behind `proxies` trusted proxies, or the peer's: see `clientOf`. A header that fewer proxies wrote is not trusted,
 * because somebody bypassed them. Null when it is unknown.
 */
export const clientAddress = (request: EdgeRequest, proxies: number): string | null =>
  clientOf(request.address, proxies === 0 ? null : request.headers.get("x-forwarded-for"), proxies).address

/**
 * The host that was asked. Behind n trusted proxies it is the n-th entry from the right of `X-Forwarded-Host`, or the first where there are fewer: proxies that set
 * the header write one. Without a proxy the header says nothing.
 */
export const askedHost = ({ headers, host }: EdgeRequest, proxies: number): string | null => {
  const forwarded = proxies === 0 ? null : headers.get("x-forwarded-host")
  if (forwarded === null) return host ?? null
  const entries = forwarded.split(",").map((entry) => entry.trim())
  return entries[Math.max(0, entries.length - proxies)] ?? null
}

const isJson = (contentType: string): boolean => {
  const [media, ...parameters] = contentType.toLowerCase().split(";")
  if (media === undefined || !/^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/.test(media.trim())) return false
  return parameters.every((parameter) => {
    const [name, value] = parameter.split("=")
    return name?.trim() !== "charset" || /^"?utf-8"?$/.test(value?.trim() ?? "")
  })
}

/** A compressed body is refused, also when only its transfer is compressed: nothing here would unpack it (RFC 9110, 8.4; RFC 9112, 6.1). */
export const codingRefusal = ({ headers }: EdgeRequest): Problem | null => {
  const coded = (name: string, plain: string): boolean => {
    const coding = headers.get(name)
    return coding !== null && coding.trim().toLowerCase() !== plain
  }
  return coded("content-encoding", "identity") || coded("transfer-encoding", "chunked")
    ? problem("unsupported-media-type", "The body must not be compressed.", {}, { "accept-encoding": "identity" })
    : null
}

/** The refusal that the head alone justifies, before a byte of the body is read: coding, media type, announced length. */
export const bodyRefusal = (request: EdgeRequest, limit: number): Problem | null => {
  const coding = codingRefusal(request)
  if (coding !== null) return coding
  if (!request.hasBody) return null
  const contentType = request.headers.get("content-type")
  if (contentType !== "application/json" && !(contentType !== null && isJson(contentType))) {
    return problem(
      "unsupported-media-type",
      "The body must be JSON in UTF-8, sent with Content-Type: application/json."
    )
  }
  return announcedTooLarge(request, limit)
}

/** `payload-too-large` when Content-Length alone says so. */
export const announcedTooLarge = (request: EdgeRequest, limit: number): Problem | null => {
  const length = request.headers.get("content-length")
  return length !== null && Number(length) > limit ? tooLarge(limit) : null
}

export const tooLarge = (limit: number): Problem =>
  problem("payload-too-large", `The body is larger than ${limit} bytes.`)

/** The body broke off or could not be read; the client is mostly gone by then. */
export const brokenBody = (): Problem => problem("malformed-request", "The body could not be read to its end.")

/** Length of a text in UTF-8 bytes. Node's own count is used where there is one, as it is many times faster. */
export const utf8Length: (text: string) => number = typeof Buffer === "function"
  ? (text) => Buffer.byteLength(text)
  : ((encoder) => (text: string) => encoder.encode(text).length)(new TextEncoder())
