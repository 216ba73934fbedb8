/**
 * The text of an API key: the seal that tells our keys from invented ones, and the hash that is stored. It reads no store and knows no
 * account.
 */

import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import type { KeyText } from "../../core/domain/account/api-key.ts"

/** What the service adds to a key, so that a text it never made is refused without asking the database. */
export interface Sealer {
  readonly seal: (id: string, secret: string) => string
  readonly isSealed: (key: KeyText) => boolean
}

export const makeSealer = (deploymentSecret: string): Sealer => {
  const macKey = createHmac("sha256", deploymentSecret).update("api-key").digest()
  const seal = (id: string, secret: string): string =>
    createHmac("sha256", macKey).update(`${id}:${secret}`).digest().subarray(0, 12).toString("base64url")
  return {
    seal,
    isSealed: (key) => timingSafeEqual(Buffer.from(seal(key.id, key.secret)), Buffer.from(key.seal))
  }
}

/** What is stored of a key's text, in hexadecimal. */
export const hashOfKey = (text: string): string => createHash("sha256").update(text).digest("hex")
