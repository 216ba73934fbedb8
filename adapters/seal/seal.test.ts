// What the seal does beyond its port, whose contract is in test/contracts/seal.ts: what it remembers, and which secrets it takes.
import crypto from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { expect, it, onTestFinished, vi } from "vitest"
import { hashSource, versionSource } from "../../core/domain/read/etag.ts"
import { makeSeal, sha256 } from "./seal.ts"

const secret = "a secret for tests only"

it("remembers digests once they were asked for twice, for every text that a tag is made of, and for no longer one", () => {
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

it("refuses a secret that is too short", () => {
  expect(() => makeSeal("fifteen letters")).toThrow("AUTH_SECRET")
})
