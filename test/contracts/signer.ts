/**
 * The contract of the signer port, one suite for every implementation. A harness makes an instance from the deployment's secret, for one purpose. That wrong
 * signatures all take the same time cannot be measured in a test; the adapter compares by `timingSafeEqual`.
 */

import { describe, expect, it } from "vitest"
import type { Secrets } from "../../core/domain/secret.ts"
import type { SignerService } from "../../core/ports/signer.ts"
import { altered } from "./seal.ts"

const secret = "a secret for tests only"
const texts = ["", "/api/files/1?until=7", "x".repeat(10_000), "é𝄞", "a\0b", "a\nb"]

/** Runs the suite. */
export const signerContract = (name: string, make: (secrets: Secrets, purpose: string) => SignerService): void => {
  const signer = make(secret, "link")
  const twin = make(secret, "link")
  const strangers = [make(`${secret}!`, "link"), make(secret, "links"), make(secret, "")]

  describe(`signer: ${name}`, () => {
    it("signs a text by the same 43 characters in every instance with the secret", () => {
      for (const text of texts) {
        const signature = signer.sign(text)
        expect(signature).toMatch(/^[\w-]{43}$/)
        expect([signer.sign(text), twin.sign(text)]).toEqual([signature, signature])
        expect([signer.verify(text, signature), twin.verify(text, signature)]).toEqual([true, true])
      }
    })

    it("signs another text, under another secret or for another purpose by something else", () => {
      expect(new Set(texts.map(signer.sign)).size).toBe(texts.length)
      for (const text of texts) {
        const signature = signer.sign(text)
        for (const stranger of strangers) {
          expect(stranger.sign(text)).not.toBe(signature)
          expect([stranger.verify(text, signature), signer.verify(text, stranger.sign(text))]).toEqual([false, false])
        }
      }
    })

    it("verifies a signature for its own text only", () => {
      const signature = signer.sign("/files/1?until=7")
      for (const text of ["/files/1?until=70", "/files/1?until=", "/files/1?until=7 ", "/Files/1?until=7", ""]) {
        expect(signer.verify(text, signature), text).toBe(false)
      }
      // What nobody has signed has no signature that somebody could have sent.
      expect(signer.verify("/files/2", signature)).toBe(false)
    })

    it("verifies no signature that was altered, cut or extended", () => {
      const text = "/files/1"
      const signature = signer.sign(text)
      for (let i = 0; i < signature.length; i++) {
        expect(signer.verify(text, altered(signature, i)), String(i)).toBe(false)
        expect(signer.verify(text, signature.slice(0, i)), String(i)).toBe(false)
      }
      const made = [
        `${signature}A`,
        `${signature}=`,
        ` ${signature}`,
        `${signature}\n`,
        signature.toUpperCase() === signature ? signature.toLowerCase() : signature.toUpperCase(),
        "A".repeat(43),
        "é".repeat(43),
        "é".repeat(21)
      ]
      for (const other of made) expect(signer.verify(text, other), other).toBe(false)
    })

    it("signs with the first of several secrets, and verifies those of each", () => {
      const both = make([`${secret}?`, secret], "link")
      for (const text of texts) {
        const signature = signer.sign(text)
        expect(both.sign(text)).toBe(make(`${secret}?`, "link").sign(text))
        expect([both.verify(text, signature), both.verify(text, both.sign(text)), signer.verify(text, both.sign(text))])
          .toEqual([true, true, false])
        expect(both.verify(text, strangers[0]!.sign(text))).toBe(false)
      }
    })
  })
}
