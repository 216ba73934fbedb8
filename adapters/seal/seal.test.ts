import crypto from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { hashSource, versionSource } from "../../core/domain/read/etag.ts"
import { makeSeal, sha256 } from "./seal.ts"

const secret = "a secret for tests only"

describe("digests", () => {
  it("are the same each time, however many others were asked for, and in every instance", () => {
    const seal = makeSeal(secret)
    const texts = Array.from({ length: 6_000 }, (_, i) => `v2026-06-30 12:34:56.${i}+00`)
    const made = texts.map(seal.digest)
    for (let round = 0; round < 3; round++) expect(texts.map(seal.digest)).toEqual(made)
    expect(texts.map(makeSeal(secret).digest)).toEqual(made)
    expect(new Set(made).size).toBe(texts.length)
  })

  it("are remembered once they were asked for twice, for every text that a tag is made of, and for no longer one", () => {
    const tags = ["0", "42", "2026-06-30 12:34:56.123456+00"].map(versionSource)
    const texts = [...tags, ...["", "a row", "another"].map((cells) => hashSource(sha256(cells)))]
    const longer = "x".repeat(1 + hashSource(sha256("")).length)
    const seal = makeSeal(secret)
    const hash = vi.spyOn(crypto, "hash")
    syncBuiltinESMExports()
    onTestFinished(() => {
      hash.mockRestore()
      syncBuiltinESMExports()
    })
    const made = [...texts, ...texts].map(seal.digest)
    expect(hash).toHaveBeenCalledTimes(2 * texts.length)
    expect([...texts, ...texts].map(seal.digest)).toEqual(made)
    expect(hash).toHaveBeenCalledTimes(2 * texts.length)
    for (let i = 0; i < 3; i++) seal.digest(longer)
    expect(hash).toHaveBeenCalledTimes(2 * texts.length + 3)
  })

  it("have 22 characters, and depend on the secret and on every character of the text", () => {
    const { digest } = makeSeal(secret)
    for (const text of ["", "v1", "x".repeat(64), "x".repeat(65), "x".repeat(10_000), "é𝄞"]) {
      expect(digest(text)).toMatch(/^[\w-]{22}$/)
      expect(digest(text)).not.toBe(makeSeal(`${secret}!`).digest(text))
      expect(digest(text)).not.toBe(digest(`${text} `))
    }
  })
})

describe("tokens", () => {
  it("open for the context that they were sealed for, untouched, and in every instance with the secret", () => {
    const { open, seal } = makeSeal(secret)
    const token = seal("orders", "row 7")
    expect(seal("orders", "row 7")).not.toBe(token)
    expect(makeSeal(secret).open("orders", token)).toBe("row 7")
    expect(makeSeal(`${secret}!`).open("orders", token)).toBeNull()
    expect(open("customers", token)).toBeNull()
    for (let i = 0; i < token.length; i++) {
      const other = token[i] === "A" ? "B" : "A"
      expect(open("orders", token.slice(0, i) + other + token.slice(i + 1))).toBeNull()
    }
    for (const text of ["", "A", token.slice(1), `${token}A`, `${token}=`]) expect(open("orders", text)).toBeNull()
  })
})

it("refuses a secret that is too short", () => {
  expect(() => makeSeal("fifteen letters")).toThrow("AUTH_SECRET")
})
