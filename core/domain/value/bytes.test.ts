import { expect, it } from "vitest"
import { byteLength, fitsIn, rowBytes } from "./bytes.ts"

it("counts bytes as UTF-8 has them", () => {
  for (
    const text of [
      "",
      "abc",
      "é",
      "ß€",
      "😀",
      "a😀b",
      "\ud83d",
      "\ude00\ud83d",
      "x".repeat(1000),
      "\u0000\u007f\u0080\u07ff\u0800\uffff"
    ]
  ) {
    expect(byteLength(text), JSON.stringify(text)).toBe(new TextEncoder().encode(text).length)
  }
  expect(rowBytes(["é", null, "ab"])).toBe(4)
  expect([fitsIn("abc", 3), fitsIn("abc", 2), fitsIn("€", 3), fitsIn("€", 2), fitsIn("", 0)]).toEqual([
    true,
    false,
    true,
    false,
    true
  ])
})
