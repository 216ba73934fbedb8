import { describe, expect, it } from "vitest"
import { accountNamed, attemptLimits } from "./attempt.ts"

describe("attempts", () => {
  it("at one account may be twice as many from all clients as from one", () => {
    expect(attemptLimits(5)).toEqual({ perClient: 5, perAccount: 10 })
    expect(attemptLimits(1)).toEqual({ perClient: 1, perAccount: 2 })
  })

  it.each<[unknown, string | null]>([
    ["ann@example.org", "ann@example.org"],
    // Nobody gets further attempts by writing the address in another way.
    [" ANN@Example.org\t", "ann@example.org"],
    // Texts that no account can have count, too.
    ["no address", "no address"],
    ["", ""],
    [undefined, null],
    [null, null],
    [["ann@example.org"], null],
    [{ toLowerCase: 1 }, null]
  ])("at %j count for %j", (email, expected) => expect(accountNamed(email)).toBe(expected))
})
