import { expect, it } from "vitest"
import { readProgress } from "./progress.ts"

it("progress is an amount, perhaps a total, and a short note", () => {
  expect(readProgress(3, undefined, undefined)).toEqual({ done: 3, total: null, note: null })
  expect(readProgress(0.5, 10, "a\0b\ud800")).toEqual({ done: 0.5, total: 10, note: "ab\ufffd" })
  expect(readProgress(0, null, "x".repeat(300)).note).toHaveLength(200)
  expect(readProgress(0, null, "\0").note).toBeNull()
})

it.each([
  [-1, undefined, undefined],
  [Number.NaN, undefined, undefined],
  [Number.POSITIVE_INFINITY, undefined, undefined],
  ["1", undefined, undefined],
  [1, -1, undefined],
  [1, "2", undefined],
  [1, 2, 3]
])("progress(%j, %j, %j) is a wrong call", (done, total, note) => {
  expect(() => readProgress(done, total, note)).toThrow(TypeError)
})
