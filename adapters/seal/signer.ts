/** The Signer port on node:crypto: HMAC-SHA-256 with a key derived from the secret by HKDF, one for each purpose. */

import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from "node:crypto"
import { allSecrets, type Secrets } from "../../core/domain/secret.ts"
import type { SignerService } from "../../core/ports/signer.ts"

/** Builds the service. A signature for one purpose is not valid for another. The first secret signs, and each is accepted. */
export const makeSigner = (secrets: Secrets, purpose: string): SignerService => {
  const [first, ...accepted] = allSecrets(secrets)
  const signing = (secret: string): SignerService["sign"] => {
    const key = createSecretKey(Buffer.from(hkdfSync("sha256", secret, "resource-admin", `sign:${purpose}`, 32)))
    return (text) => createHmac("sha256", key).update(text).digest("base64url")
  }
  const sign = signing(first)
  const all = [sign, ...accepted.map(signing)]
  return {
    sign,
    verify: (text, signature) => {
      const sent = Buffer.from(signature)
      let fits = false
      // All are compared, so that the time says nothing about which was near.
      for (const each of all) {
        const right = Buffer.from(each(text))
        if (sent.length === right.length && timingSafeEqual(sent, right)) fits = true
      }
      return fits
    }
  }
}
