// The text that a version is made of: different cells give different texts.
import { expect, it } from "vitest"
import { makeField } from "../../../test/support/model.ts"
import type { Cell } from "../value/kind.ts"
import { hashedText } from "./etag.ts"

const textOf = (field: ReturnType<typeof makeField>, cell: Cell): string => hashedText([field, field], () => cell)

it("tells empty bytes from none, and an empty native text from none", () => {
  for (const kind of ["bytes", "native"] as const) {
    const field = makeField({ name: "x", kind, type: "xml" })
    expect(textOf(field, "")).not.toBe(textOf(field, null))
  }
})

it("is the same for both spellings of times, also in ranges", () => {
  const during = makeField({ name: "during", kind: "range", type: "timestamp" })
  expect(textOf(during, "[2026-01-01T00:00:00Z,)")).toBe(textOf(during, "[\"2026-01-01 00:00:00\",)"))
})
