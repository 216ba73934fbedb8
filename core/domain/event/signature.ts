/**
 * Standard Webhooks signatures (version `v1`): what is signed, the format of secrets and headers, and the maximum age of a signature. The
 * hash is computed in `adapters/seal/webhook.ts`; `core/app/event/delivery-attempt.ts` puts both together.
 */

import * as Result from "effect/Result"

/** How far the clock of a sender may be from ours, in seconds. */
export const toleranceSeconds = 300

const secretPrefix = "whsec_"
const leastBytes = 16
const mostBytes = 128
const mostSenderBytes = 4_096

/** The key of a secret that we sign with, or why it is none. */
export const readSecret = (secret: unknown): Result.Result<Uint8Array, string> => {
  if (typeof secret !== "string" || !secret.startsWith(secretPrefix)) {
    return Result.fail("a secret is whsec_ followed by base64")
  }
  return readKey(secret.slice(secretPrefix.length), leastBytes, mostBytes)
}

/** The key of a secret that somebody else signs with. Senders write it without the prefix, too, and of any length. */
export const readSenderSecret = (secret: unknown): Result.Result<Uint8Array, string> =>
  typeof secret !== "string"
    ? Result.fail("a secret is a text")
    : readKey(secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret, 1, mostSenderBytes)

const readKey = (text: string, least: number, most: number): Result.Result<Uint8Array, string> => {
  // Canonical base64 only: two different texts must not give the same key.
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
    return Result.fail("what follows whsec_ is not base64")
  }
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return bytes.length < least || bytes.length > most
    ? Result.fail(`the key has ${bytes.length} bytes; it must have ${least} to ${most}`)
    : Result.succeed(bytes)
}

/** A key as a secret is written. */
export const writeSecret = (key: Uint8Array): string => secretPrefix + btoa(String.fromCharCode(...key))

/** What is signed: id, unix seconds and the body as sent. */
export const signedContent = (id: string, seconds: number, body: string): string => `${id}.${seconds}.${body}`

/** The value of `webhook-signature` for signatures in base64, one for each key. */
export const signatureHeader = (signatures: readonly string[]): string =>
  signatures.map((signature) => `v1,${signature}`).join(" ")

/** Most signatures of one header that are checked. A key rotation never needs more. */
const mostSignatures = 20

/** The signatures of version 1 in a `webhook-signature` header. */
export const readSignatures = (header: string): readonly string[] =>
  header.split(" ", mostSignatures).flatMap((part) => part.startsWith("v1,") ? [part.slice(3)] : [])

/** The unix seconds of a `webhook-timestamp` header, or null for anything else. */
export const readTimestamp = (header: string): number | null => /^\d{1,12}$/.test(header) ? Number(header) : null
