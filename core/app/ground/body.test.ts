/** Bodies are bytes: what is no UTF-8 is refused, never read as something near it. */

import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readJson } from "./body.ts"

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
