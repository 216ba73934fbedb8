/** The contract of the seal port, one suite for every implementation. A harness makes an instance from the deployment's secret. */

import { describe, expect, it } from "vitest"
import { hashSource, versionSource } from "../../core/domain/read/etag.ts"
import type { Secrets } from "../../core/domain/secret.ts"
import type { SealService } from "../../core/ports/seal.ts"

const secret = "a secret for tests only"
const texts = ["", "v1", "x".repeat(64), "x".repeat(65), "x".repeat(10_000), "é𝄞", "a\0b", "42", "2026-06-30 12:34:56"]

/** The same text with another character at one place. */
export const altered = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)

/** Runs the suite. `make`: an instance with a secret of at least 16 characters. */
export const sealContract = (name: string, make: (secrets: Secrets) => SealService): void => {
  const seal = make(secret)
  const twin = make(secret)
  const stranger = make(`${secret}!`)

  describe(`seal: ${name}`, () => {
    it("digests a text to the same 22 characters in every instance with the secret", () => {
      for (const text of texts) {
        const digest = seal.digest(text)
        expect(digest).toMatch(/^[\w-]{22}$/)
        expect([seal.digest(text), twin.digest(text)]).toEqual([digest, digest])
      }
    })

    it("digests another text, or under another secret, to something else", () => {
      expect(new Set(texts.map(seal.digest)).size).toBe(texts.length)
      for (const text of texts) {
        expect(stranger.digest(text)).not.toBe(seal.digest(text))
        expect(seal.digest(`${text} `)).not.toBe(seal.digest(text))
      }
    })

    it("digests the same however many others were asked for meanwhile", () => {
      const many = Array.from({ length: 6_000 }, (_, i) => versionSource(`2026-06-30 12:34:56.${i}+00`))
      const made = many.map(seal.digest)
      for (let round = 0; round < 3; round++) expect(many.map(seal.digest)).toEqual(made)
      expect(many.map(twin.digest)).toEqual(made)
      expect(new Set(made).size).toBe(many.length)
    })

    it("hashes by SHA-256 of UTF-8, without the secret", () => {
      const known = [
        ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
        ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
        ["é", "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"]
      ] as const
      for (const [text, hash] of known) expect([seal.hash(text), stranger.hash(text)]).toEqual([hash, hash])
      expect(hashSource(seal.hash(""))).toContain(known[0][1])
    })

    it("opens what was sealed, in every instance with the secret", () => {
      for (const text of texts) {
        const token = seal.seal("orders", text)
        expect(token).toMatch(/^[\w-]+$/)
        expect([seal.open("orders", token), twin.open("orders", token)]).toEqual([text, text])
      }
    })

    it("gives another token for the same text each time", () => {
      const tokens = Array.from({ length: 300 }, () => seal.seal("orders", "row 7"))
      expect(new Set(tokens).size).toBe(tokens.length)
      for (const token of tokens) expect(twin.open("orders", token)).toBe("row 7")
    })

    it("opens nothing for another context, or under another secret", () => {
      const token = seal.seal("orders", "row 7")
      for (const context of ["customers", "order", "orders ", "Orders", "", "ordersrow"]) {
        expect(seal.open(context, token), context).toBeNull()
      }
      expect(stranger.open("orders", token)).toBeNull()
      const bare = seal.seal("", "orders")
      expect([seal.open("", bare), seal.open("orders", bare)]).toEqual(["orders", null])
    })

    it("seals and digests with the first of several secrets, and opens what each has sealed", () => {
      const other = `${secret}?`
      const both = make([other, secret])
      const [early, late] = [seal.seal("orders", "row 7"), both.seal("orders", "row 7")]
      expect([both.open("orders", early), both.open("orders", late), both.open("Orders", early)])
        .toEqual(["row 7", "row 7", null])
      expect([seal.open("orders", late), make(other).open("orders", late), stranger.open("orders", late)])
        .toEqual([null, "row 7", null])
      for (const text of texts) {
        const [own, older] = [make(other).digest(text), seal.digest(text)]
        expect([both.digest(text), both.digests(text), seal.digests(text)]).toEqual([own, [own, older], [older]])
      }
    })

    it("opens no token that was altered, cut, extended or never made", () => {
      const token = seal.seal("orders", "row 7")
      for (let i = 0; i < token.length; i++) expect(seal.open("orders", altered(token, i)), String(i)).toBeNull()
      const other = seal.seal("orders", "row 8")
      const half = Math.floor(token.length / 2)
      const made = [
        "",
        "A",
        "A".repeat(token.length),
        token.slice(1),
        token.slice(0, -1),
        `${token}A`,
        `${token}=`,
        ` ${token}`,
        `${token}\n`,
        token.slice(0, half) + other.slice(half),
        seal.digest("row 7")
      ]
      for (const text of made) expect(seal.open("orders", text), text).toBeNull()
    })
  })
}
