/** Bodies are bytes: what is no UTF-8 is refused, never read as something near it. */

import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { problem } from "../../domain/problem.ts"
import { readJson, readParameters } from "./call.ts"

describe("a JSON body", () => {
  const quoted = (...bytes: readonly number[]) => new Uint8Array([0x22, ...bytes, 0x22])

  it.each([
    ["a byte that is nowhere in UTF-8", [0xff]],
    ["a character cut short", [0xc3]],
    ["a longer form than needed", [0xc0, 0xaf]],
    ["half of a surrogate pair", [0xed, 0xa0, 0x80]],
    ["a character past the last", [0xf4, 0x90, 0x80, 0x80]]
  ])("is refused with %s", (_, bytes) => {
    const read = readJson(quoted(...bytes))
    expect(Result.isFailure(read) ? [read.failure.slug, read.failure.detail] : read.success)
      .toEqual(["malformed-json", "The body is not valid UTF-8."])
  })

  it("may have any character", () => {
    expect(readJson(quoted(...Buffer.from("é😀")))).toEqual(Result.succeed("é😀"))
  })
})

const refusal = (...given: Parameters<typeof readParameters>) => {
  const read = readParameters(...given)
  return Result.isFailure(read) ? read.failure.detail : null
}

it("gives parameters by name", () => {
  expect(readParameters([["name", "x"]], ["name", "page_size"])).toEqual(Result.succeed({ name: "x" }))
})

it.each(
  [
    ["a name that is not known", [["other", ""]], ["name", "state"], "There is no such parameter. Use name, state."],
    ["a name of every object", [["__proto__", "x"]], ["name"], "There is no such parameter. Use name."],
    ["any name where there are none", [["name", "x"]], [], "This route takes no parameters."],
    ["a name twice", [["name", "x"], ["name", "x"]], ["name"], "The parameter is given twice."],
    ["a name twice, at first without a value", [["name", ""], ["name", "x"]], ["name"], "The parameter is given twice."]
  ] as const
)("refuses %s", (_, query, names, detail) => {
  expect(refusal(query, names)).toBe(detail)
})

it("refuses unknown names in the words of the route, cut short", () => {
  expect(refusal([["x".repeat(500), ""]], [], (name) => problem("invalid-parameter", name))).toBe("x".repeat(100))
})
