/**
 * The Seal port on node:crypto: keyed SHA-512 digests and AES-256-GCM tokens with keys derived from each secret by HKDF. It keeps no
 * state but the keys and a bounded memory of digests.
 */

import * as crypto from "node:crypto"
import { hashSource } from "../../core/domain/read/etag.ts"
import { allSecrets, type Secrets } from "../../core/domain/secret.ts"
import type { SealService } from "../../core/ports/seal.ts"

const ivBytes = 12
const tagBytes = 16

/** Random bytes for initialization vectors, drawn for many tokens at a time: one draw costs more than one encryption. */
const randomness = Buffer.alloc(ivBytes * 256)
let used = randomness.length

const freshIv = (): Buffer => {
  if (used === randomness.length) {
    crypto.randomFillSync(randomness)
    used = 0
  }
  // A copy, because the cipher may still use it when the buffer is filled again.
  return Buffer.from(randomness.subarray(used, used += ivBytes))
}

/** Places of the memory, each for one text. */
const places = 8_192

/** FNV-1a of the last characters: it is where versions differ, and hashes differ anywhere. */
const sumOf = (text: string): number => {
  let sum = 0x811c9dc5
  for (let i = Math.max(0, text.length - 16); i < text.length; i++) {
    sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  }
  return sum >>> 0
}

/** SHA-256 of a text in UTF-8, in hexadecimal. */
export const sha256 = (text: string): string => crypto.hash("sha256", text, "hex")

/** Longest text that is remembered. Tags are made of a version or of the hash of a record's cells, which is longer than any version. */
const rememberedLength = hashSource(sha256("")).length

/** What one secret does. */
interface Keys {
  readonly digest: (text: string) => string
  readonly sealing: crypto.KeyObject
}

const keysOf = (secret: string): Keys => {
  if (secret.length < 16) {
    throw new Error("The secret must have at least 16 characters; set AUTH_SECRET (openssl rand -base64 32).")
  }
  const key = (purpose: string) => Buffer.from(crypto.hkdfSync("sha256", secret, "resource-admin", purpose, 32))
  const prefix = key("digest").toString("base64")
  return {
    // Truncated like SHA-512/256, so a digest cannot be extended: only 132 of 512 bits are given out.
    digest: (text) => crypto.hash("sha512", prefix + text, "base64url").slice(0, 22),
    // A key object, because a buffer would be imported again for every token. That costs five times the encryption.
    sealing: crypto.createSecretKey(key("seal"))
  }
}

const openWith = (key: crypto.KeyObject, context: string, bytes: Buffer): string | null => {
  const decipher = crypto.createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivBytes))
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8")
  } catch {
    return null
  }
}

/** Builds the service from the deployment's secrets (each at least 16 characters; the same ones in every instance). */
export const makeSeal = (secrets: Secrets): SealService => {
  const [first, ...rest] = allSecrets(secrets)
  const { digest, sealing } = keysOf(first)
  const accepted = rest.map(keysOf)
  const texts: Array<string | undefined> = Array.from({ length: places })
  const digests: string[] = Array.from({ length: places }, () => "")
  const seen = new Uint32Array(places)
  return {
    // Pages that are read again show the same rows.
    digest: (text) => {
      if (text.length > rememberedLength) return digest(text)
      const sum = sumOf(text)
      const place = sum % places
      if (texts[place] === text) return digests[place]!
      const made = digest(text)
      // Most texts come only once, such as new versions. Only their sums are kept, so that little memory has to be collected.
      if (seen[place] === sum) {
        texts[place] = text
        digests[place] = made
      } else seen[place] = sum
      return made
    },
    digests: (text) => [digest(text), ...accepted.map((keys) => keys.digest(text))],
    hash: sha256,
    seal: (context, text) => {
      const iv = freshIv()
      const cipher = crypto.createCipheriv("aes-256-gcm", sealing, iv)
      cipher.setAAD(Buffer.from(context))
      return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64url")
    },
    open: (context, token) => {
      const bytes = Buffer.from(token, "base64url")
      // base64url decoding accepts several spellings. Only the canonical spelling of a token is valid.
      if (bytes.length < ivBytes + tagBytes || bytes.toString("base64url") !== token) return null
      let text = openWith(sealing, context, bytes)
      for (const keys of accepted) text ??= openWith(keys.sealing, context, bytes)
      return text
    }
  }
}
