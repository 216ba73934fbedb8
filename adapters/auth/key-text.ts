/**
 * The text of an API key: the seal that tells our keys from invented ones, and the hash that is stored. It reads no store and knows no
 * account.
 */

import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import type { KeyText } from "../../core/domain/account/api-key.ts"
import type { AllSecrets } from "./rotation.ts"

/** What the service adds to a key, so that a text it never made is refused without asking the database. */
export interface Sealer {
  readonly seal: (id: string, secret: string) => string
  readonly isSealed: (key: KeyText) => boolean
  /** What the accepted secrets besides the first seal with. */
  readonly accepted: readonly Uint8Array[]
}

const macKeyOf = (deploymentSecret: string): Buffer => createHmac("sha256", deploymentSecret).update("api-key").digest()

const sealWith = (macKey: Uint8Array, id: string, secret: string): string =>
  createHmac("sha256", macKey).update(`${id}:${secret}`).digest().subarray(0, 12).toString("base64url")

/** Whether a key was sealed with this. */
export const isSealedWith = (macKey: Uint8Array, key: KeyText): boolean =>
  timingSafeEqual(Buffer.from(sealWith(macKey, key.id, key.secret)), Buffer.from(key.seal))

/** The first secret seals, and each is accepted. */
export const makeSealer = ([first, ...rest]: AllSecrets): Sealer => {
  const macKey = macKeyOf(first)
  const accepted = rest.map(macKeyOf)
  return {
    seal: (id, secret) => sealWith(macKey, id, secret),
    isSealed: (key) => [macKey, ...accepted].some((each) => isSealedWith(each, key)),
    accepted
  }
}

/** What is stored of a key's text, in hexadecimal. */
export const hashOfKey = (text: string): string => createHash("sha256").update(text).digest("hex")
