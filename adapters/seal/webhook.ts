/**
 * Standard Webhooks on node:crypto: signs messages, verifies received messages, makes secrets. The formats are in `core/domain/event/signature.ts`.
 */

import * as Result from "effect/Result"
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import {
  readSenderSecret,
  readSignatures,
  readTimestamp,
  signedContent,
  toleranceSeconds,
  writeSecret
} from "../../core/domain/event/signature.ts"

/** HMAC-SHA256 in base64. */
export const hmac = (key: Uint8Array, text: string): string => createHmac("sha256", key).update(text).digest("base64")

/**
 * Whether one of the signatures is the HMAC-SHA-256 of a text and the bytes after it, under one of the keys. All are compared, so that the time says nothing
 * about which was near.
 */
export const isSigned = (
  keys: readonly Uint8Array[],
  prefix: string,
  body: Uint8Array,
  signatures: readonly Uint8Array[]
): boolean => {
  let fits = false
  for (const key of keys) {
    const own = createHmac("sha256", key).update(prefix).update(body).digest()
    for (const signature of signatures) {
      if (signature.length === own.length && timingSafeEqual(signature, own)) fits = true
    }
  }
  return fits
}

/** A new secret of 32 random bytes: `whsec_` followed by base64. */
export const newWebhookSecret = (): string => writeSecret(randomBytes(32))

/** A request that nobody with the secret signed, or that is too old or too new. */
export class WebhookSignatureError extends Error {
  override readonly name = "WebhookSignatureError"
}

/** A request as its receiver has it: the body untouched, as text or bytes, and the headers of a `Request`, of Node or of an API function. */
export interface SignedRequest {
  readonly body: string | Uint8Array
  readonly headers:
    | { get(name: string): string | null }
    | { readonly [name: string]: string | readonly string[] | undefined }
}

/** What a verified request says. */
export interface VerifiedWebhook {
  /** The same for every copy of an event: a receiver that has seen it ignores the second. */
  readonly id: string
  /** When it was sent, in unix seconds. */
  readonly timestamp: number
  /** The body as JSON; undefined for an empty one. */
  readonly event: unknown
}

const hasGet = (headers: SignedRequest["headers"]): headers is { get(name: string): string | null } =>
  typeof headers["get"] === "function"

const headerOf = ({ headers }: SignedRequest, name: string): string => {
  const value = hasGet(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
  if (typeof value === "string" && value !== "") return value
  throw new WebhookSignatureError(`The header ${name} is missing.`)
}

const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/**
 * Verifies a request signed by Standard Webhooks and gives what it says. Several secrets are for a rotation: one of them must have signed. Throws
 * `WebhookSignatureError` for a signature of somebody else, one older or newer than five minutes, and a body that is no JSON; `TypeError` for a
 * secret that is none. It takes what the package `standardwebhooks` takes.
 *
 * @example
 * const { event, id } = verifyStandardWebhook({ headers: request.headers, body: await request.text() }, secret)
 */
export const verifyStandardWebhook = (
  request: SignedRequest,
  secret: string | readonly string[],
  options: { readonly now?: Date } = {}
): VerifiedWebhook => {
  const keys = (typeof secret === "string" ? [secret] : secret).map((each) => {
    const key = readSenderSecret(each)
    if (Result.isFailure(key)) throw new TypeError(`verifyStandardWebhook: ${key.failure}.`)
    return key.success
  })
  const id = headerOf(request, "webhook-id")
  const timestamp = readTimestamp(headerOf(request, "webhook-timestamp"))
  const given = readSignatures(headerOf(request, "webhook-signature"))
  const now = (options.now ?? new Date()).getTime() / 1_000
  if (timestamp === null || Math.abs(now - timestamp) > toleranceSeconds) {
    throw new WebhookSignatureError("The signature is too old or too new.")
  }
  const body = typeof request.body === "string" ? request.body : new TextDecoder().decode(request.body)
  const content = signedContent(id, timestamp, body)
  const expected = keys.map((key) => hmac(key, content))
  if (!given.some((signature) => expected.some((own) => same(signature, own)))) {
    throw new WebhookSignatureError("No signature was made with this secret.")
  }
  try {
    return { id, timestamp, event: body === "" ? undefined : JSON.parse(body) }
  } catch {
    throw new WebhookSignatureError("The body is not JSON.")
  }
}
