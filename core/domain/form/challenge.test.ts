import { describe, expect, it } from "vitest"
import { hasZeroBits, printChallenge, readChallenge, readProof } from "./challenge.ts"

describe("a challenge", () => {
  it("is valid until its last millisecond", () => {
    const text = printChallenge({ expires: 1_000, difficulty: 18 })
    expect(readChallenge(text, 999)).toEqual({ expires: 1_000, difficulty: 18 })
    expect(readChallenge(text, 1_000)).toBeNull()
  })

  it("is no other text", () => {
    for (const text of ["", "1000", "1000.", ".18", "1000.180", "1e3.18", "1000.18 "]) {
      expect(readChallenge(text, 0), text).toBeNull()
    }
  })
})

describe("a solution", () => {
  it.each<readonly [string, number, number]>([
    ["f", 0, 1],
    ["8", 0, 1],
    ["7", 1, 2],
    ["3", 2, 3],
    ["1", 3, 4],
    ["0f", 4, 5],
    ["07", 5, 6],
    ["00001f", 19, 20]
  ])("whose digest begins with %s has %i zero bits and not %i", (digest, has, lacks) => {
    const whole = digest.padEnd(64, "f")
    expect(hasZeroBits(whole, has)).toBe(true)
    expect(hasZeroBits(whole, lacks)).toBe(false)
  })

  it("is a decimal number, sent with its challenge and nothing else", () => {
    expect(readProof({ challenge: "c", solution: "17" })).toEqual({ challenge: "c", solution: "17" })
    expect(readProof({ challenge: "c", solution: 17 })).toEqual({ challenge: "c", solution: "17" })
    for (
      const proof of [
        null,
        "17",
        { challenge: "c" },
        { challenge: "c", solution: "017" },
        { challenge: "c", solution: "-1" },
        { challenge: "c", solution: "1.5" },
        { challenge: "c", solution: "17", more: 1 },
        { challenge: "c".repeat(257), solution: "17" }
      ]
    ) expect(readProof(proof), JSON.stringify(proof)).toBeNull()
  })
})
