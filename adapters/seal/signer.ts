/** The Signer port on node:crypto: HMAC-SHA-256 with a key derived from the secret by HKDF, one for each purpose. */

import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from "node:crypto"
import type { SignerService } from "../../core/ports/signer.ts"

/** Builds the service. A signature for one purpose is not valid for another. */
export const makeSigner = (secret: string, purpose: string): SignerService => {
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", secret, "resource-admin", `sign:${purpose}`, 32)))
  const sign = (text: string): string => createHmac("sha256", key).update(text).digest("base64url")
  return {
    sign,
    verify: (text, signature) => {
      const right = Buffer.from(sign(text))
      const sent = Buffer.from(signature)
      return sent.length === right.length && timingSafeEqual(sent, right)
    }
  }
}
