/**
 * Seals and signatures without cryptography: a vault remembers what it has digested, sealed and signed for each secret, and opens nothing else. Services
 * of one vault with the same secret are instances of one deployment. For tests that must not depend on how a token is made.
 */

import { createHash } from "node:crypto"
import { allSecrets, type Secrets } from "../../core/domain/secret.ts"
import type { SealService } from "../../core/ports/seal.ts"
import type { SignerService } from "../../core/ports/signer.ts"

/** Makes services that share what they remember. */
export interface FakeVault {
  readonly seal: (secrets: Secrets) => SealService
  /** A signature for one purpose is not valid for another. */
  readonly signer: (secrets: Secrets, purpose: string) => SignerService
}

/** A URL-safe text of so many characters, another one for each number. The halves of two of them make none. */
const numbered = (number: number, length: number): string => {
  const half = number.toString(36).padStart(Math.floor(length / 2), "0")
  return half + half.padStart(length - half.length, "0")
}

export const makeFakeVault = (): FakeVault => {
  let last = 0
  const marks = new Map<string, string>()
  const sealed = new Map<string, { readonly secret: string; readonly context: string; readonly text: string }>()
  /** The same text of so many characters for the same question, and another one for another. */
  const markOf = (length: number, ...question: readonly string[]): string => {
    const key = JSON.stringify(question)
    let mark = marks.get(key)
    if (mark === undefined) marks.set(key, mark = numbered(++last, length))
    return mark
  }
  return {
    seal: (secrets) => {
      const all = allSecrets(secrets)
      const [secret] = all
      return {
        digest: (text) => markOf(22, "digest", secret, text),
        digests: (text) => all.map((each) => markOf(22, "digest", each, text)),
        hash: (text) => createHash("sha256").update(text).digest("hex"),
        seal: (context, text) => {
          const token = numbered(++last, 24)
          sealed.set(token, { secret, context, text })
          return token
        },
        open: (context, token) => {
          const found = sealed.get(token)
          return found !== undefined && all.includes(found.secret) && found.context === context ? found.text : null
        }
      }
    },
    signer: (secrets, purpose) => {
      const all = allSecrets(secrets)
      const signWith = (secret: string, text: string): string => markOf(43, "sign", secret, purpose, text)
      return {
        sign: (text) => signWith(all[0], text),
        // A text that nobody has signed gets a mark now, which nobody can have sent.
        verify: (text, signature) => all.some((secret) => signWith(secret, text) === signature)
      }
    }
  }
}
