/**
 * Signatures of other systems' requests: the headers, the text that is signed before the body, and the age that a signature may have. It computes no
 * hash and compares none. A request that it refuses has no recent signature of somebody with the secret.
 */

import * as Result from "effect/Result"
import { readSenderSecret, readSignatures, readTimestamp, toleranceSeconds } from "../event/signature.ts"
import type { SignatureScheme } from "./declaration.ts"

/** What a request claims: that one of these signatures was made over `prefix` and the body. */
export interface Claim {
  readonly prefix: string
  /** HMAC-SHA-256, 32 bytes each. */
  readonly signatures: readonly Uint8Array[]
  /** What tells the message from others. Null: it stands in the body. */
  readonly id: string | null
}

/** Why there is no claim, for the operator's log. The sender never learns it. */
export type NoClaim = "headers" | "timestamp"

/** Most signatures that are compared. A rotation needs two. */
const mostSignatures = 20

/** The headers of each scheme, in lower case. */
export const schemeHeaders: { readonly [scheme in SignatureScheme]: readonly string[] } = {
  standard: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  stripe: ["stripe-signature"],
  github: ["x-hub-signature-256", "x-github-delivery"]
}

/** Ids of messages: visible ASCII. */
const idPattern = /^[\x21-\x7e]{1,255}$/

export const isMessageId = (value: unknown): value is string => typeof value === "string" && idPattern.test(value)

/** The 32 bytes of 64 hexadecimal digits; null for anything else. */
const fromHex = (text: string): Uint8Array | null =>
  /^[0-9a-f]{64}$/i.test(text)
    ? Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(text.slice(index * 2, index * 2 + 2), 16))
    : null

/** The 32 bytes of a text in base64; null for anything else, also for a second spelling of the same bytes. */
const fromBase64 = (text: string): Uint8Array | null => {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return null
  const characters = atob(text)
  return btoa(characters) === text ? Uint8Array.from(characters, (character) => character.charCodeAt(0)) : null
}

const present = (signatures: ReadonlyArray<Uint8Array | null>): readonly Uint8Array[] =>
  signatures.flatMap((each) => each === null ? [] : [each]).slice(0, mostSignatures)

type Header = (name: string) => string | null

const isFresh = (timestamp: number, now: number, tolerance: number): boolean => Math.abs(now - timestamp) <= tolerance

const standard = (header: Header, now: number): Result.Result<Claim, NoClaim> => {
  const id = header("webhook-id")
  const timestamp = readTimestamp(header("webhook-timestamp") ?? "")
  const signatures = present(readSignatures(header("webhook-signature") ?? "").map(fromBase64))
  // A period in the id would let one signed text be cut at two places.
  if (!isMessageId(id) || id.includes(".") || timestamp === null || signatures.length === 0) {
    return Result.fail("headers")
  }
  return isFresh(timestamp, now, toleranceSeconds)
    ? Result.succeed({ prefix: `${id}.${header("webhook-timestamp")!}.`, signatures, id })
    : Result.fail("timestamp")
}

const stripe = (header: Header, now: number, tolerance: number): Result.Result<Claim, NoClaim> => {
  const pairs = (header("stripe-signature") ?? "").split(",", 2 * mostSignatures).map((part) =>
    part.trim().split("=", 2)
  )
  const valuesOf = (wanted: string): readonly string[] =>
    pairs.flatMap(([name, value]) => name === wanted && value !== undefined ? [value] : [])
  const [time, ...others] = valuesOf("t")
  const timestamp = readTimestamp(time ?? "")
  const signatures = present(valuesOf("v1").map(fromHex))
  if (time === undefined || others.length > 0 || timestamp === null || signatures.length === 0) {
    return Result.fail("headers")
  }
  return isFresh(timestamp, now, tolerance)
    ? Result.succeed({ prefix: `${time}.`, signatures, id: null })
    : Result.fail("timestamp")
}

const github = (header: Header): Result.Result<Claim, NoClaim> => {
  const id = header("x-github-delivery")
  const [, hex = ""] = /^sha256=(.*)$/.exec(header("x-hub-signature-256") ?? "") ?? []
  const signatures = present([fromHex(hex)])
  return isMessageId(id) && signatures.length > 0
    ? Result.succeed({ prefix: "", signatures, id })
    : Result.fail("headers")
}

/** What the headers of a request claim. `now`: seconds since 1970. */
export const readClaim = (
  scheme: SignatureScheme,
  header: Header,
  now: number,
  tolerance: number
): Result.Result<Claim, NoClaim> =>
  scheme === "standard"
    ? standard(header, now)
    : scheme === "stripe"
    ? stripe(header, now, tolerance)
    : github(header)

/** The id of an event of Stripe, from its verified body; null where that is none. */
export const stripeId = (body: Uint8Array): string | null => {
  try {
    const event: unknown = JSON.parse(new TextDecoder().decode(body))
    const id: unknown = typeof event === "object" && event !== null && "id" in event ? event.id : null
    return isMessageId(id) ? id : null
  } catch {
    return null
  }
}

const leastBytes = 16
const leastCharacters = 16
const mostCharacters = 4_096

/** A secret that is used as it is written: the bytes of its text. */
const textKey = (secret: string, prefix: string): Result.Result<Uint8Array, string> => {
  const { length } = secret.slice(prefix.length)
  if (!secret.startsWith(prefix)) return Result.fail(`it does not begin with ${prefix}`)
  if (secret.trim() !== secret || /\p{Cc}/u.test(secret) || !secret.isWellFormed()) {
    return Result.fail("it has spaces at its ends, or characters that cannot be seen")
  }
  return length < leastCharacters || length > mostCharacters
    ? Result.fail(`it has ${length} characters; it must have ${leastCharacters} to ${mostCharacters}`)
    : Result.succeed(new TextEncoder().encode(secret))
}

/** The key that a scheme makes of a secret, or why it makes none. The reason never quotes it. */
export const keyOfSecret = (scheme: SignatureScheme, secret: unknown): Result.Result<Uint8Array, string> => {
  if (typeof secret !== "string") return Result.fail(secret === undefined ? "it is undefined" : "it is no text")
  if (secret === "") return Result.fail("it is empty")
  switch (scheme) {
    case "standard":
      // Anything that looks like base64 would do, a short word included.
      return Result.flatMap(
        readSenderSecret(secret),
        (key) =>
          key.length < leastBytes
            ? Result.fail(`the key has ${key.length} bytes; it must have at least ${leastBytes}`)
            : Result.succeed(key)
      )
    case "stripe":
      return textKey(secret, "whsec_")
    case "github":
      return textKey(secret, "")
  }
}
