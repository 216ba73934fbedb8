/**
 * Which parts of a passkey's messages (WebAuthn Level 3) are passed on: the verified members, as texts, and attestation objects without
 * their attestation. Statements of manufacturers are not asked for, because judging one means fetching what it names. It verifies nothing.
 */

import { type Bag, isBag } from "../../core/domain/bag.ts"
import { fitsName, isOneLine, ownNameMax } from "../../core/domain/own-name.ts"
import { problem } from "../../core/domain/problem.ts"

const textOf = (value: unknown): string => typeof value === "string" ? value : ""

const transports = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"]

/** Where the CBOR item (RFC 8949) that begins at `at` ends; -1: it is broken, deeper than `depth`, or of unknown length. */
const endOf = (bytes: Buffer, at: number, depth: number): number => {
  const first = bytes[at]
  if (first === undefined || depth < 0) return -1
  const [major, low] = [first >> 5, first & 31]
  const size = low < 24 ? 0 : low < 28 ? 2 ** (low - 24) : -1
  const head = at + 1 + size
  if (size < 0 || head > bytes.length) return -1
  const count = size === 0 ? low : size === 8 ? Number(bytes.readBigUInt64BE(at + 1)) : bytes.readUIntBE(at + 1, size)
  if (major === 0 || major === 1 || major === 7) return head
  if (major === 2 || major === 3) return head + count <= bytes.length ? head + count : -1
  let end = head
  const items = major === 4 ? count : major === 5 ? 2 * count : 1
  for (let index = 0; index < items && end >= 0; index += 1) end = endOf(bytes, end, depth - 1)
  return end
}

/** A text of fewer than 24 bytes as CBOR. */
const word = (text: string): Buffer => Buffer.concat([Buffer.of(0x60 + text.length), Buffer.from(text)])

const authData = word("authData")
const unattested = Buffer.concat([
  Buffer.of(0xa3),
  word("fmt"),
  word("none"),
  word("attStmt"),
  Buffer.of(0xa0),
  authData
])

/**
 * An attestation object (WebAuthn 6.5.4) with the same authenticator data and the format `none`; an empty text when it is none. Both in
 * base64url.
 */
const withoutAttestation = (text: string): string => {
  const bytes = Buffer.from(text, "base64url")
  const first = bytes[0] ?? 0
  // A map of at most 23 pairs.
  if (first < 0xa0 || first > 0xb7) return ""
  let at = 1
  for (let pair = 0; pair < first - 0xa0; pair += 1) {
    const value = endOf(bytes, at, 0)
    const end = value < 0 ? -1 : endOf(bytes, value, 8)
    if (end < 0) return ""
    if (bytes.subarray(at, value).equals(authData)) {
      return (bytes[value] ?? 0) >> 5 === 2
        ? Buffer.concat([unattested, bytes.subarray(value, end)]).toString("base64url")
        : ""
    }
    at = end
  }
  return ""
}

/** What both ceremonies send alike. */
const credentialOf = (raw: Bag, response: Bag) => ({
  id: textOf(raw["id"]),
  rawId: textOf(raw["rawId"]),
  type: textOf(raw["type"]),
  clientExtensionResults: {},
  response
})

const partsOf = (value: unknown): readonly [Bag, Bag] => {
  const raw = isBag(value) ? value : {}
  return [raw, isBag(raw["response"]) ? raw["response"] : {}]
}

/** The answer of an authenticator that made a passkey (`RegistrationResponseJSON`). */
export const registrationOf = (value: unknown) => {
  const [raw, response] = partsOf(value)
  const ways = Array.isArray(response["transports"]) ? response["transports"] : []
  return credentialOf(raw, {
    clientDataJSON: textOf(response["clientDataJSON"]),
    attestationObject: withoutAttestation(textOf(response["attestationObject"])),
    transports: transports.filter((way) => ways.includes(way))
  })
}

/** The answer of an authenticator that used one (`AuthenticationResponseJSON`). */
export const assertionOf = (value: unknown) => {
  const [raw, response] = partsOf(value)
  return credentialOf(raw, {
    clientDataJSON: textOf(response["clientDataJSON"]),
    authenticatorData: textOf(response["authenticatorData"]),
    signature: textOf(response["signature"])
  })
}

/** A passkey's name as somebody typed it, undefined when they did not. Throws a `Problem` when it is too long or no single line. */
export const passkeyName = (value: unknown): string | undefined => {
  if (typeof value !== "string" || value.trim() === "") return undefined
  if (!isOneLine(value)) {
    throw problem("invalid-record", "A passkey's name is one line of text.", { code: "INVALID_NAME" })
  }
  const name = value.trim()
  if (fitsName(name)) return name
  throw problem("invalid-record", `A passkey's name has at most ${ownNameMax} characters.`, { code: "NAME_TOO_LONG" })
}
