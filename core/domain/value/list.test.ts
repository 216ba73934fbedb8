// Lists of texts as cells: what a body may give, what a database may hold, and that both have one text.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { cellFromJson, cellFromText, compareCells, jsonFromCell, wireFromCell } from "./cell.ts"
import type { Json, ListShape } from "./kind.ts"
import { elementsOf, listCell, textsIn, withText } from "./list.ts"

const shape: ListShape & { readonly optional: boolean } = { kind: "list", of: "text", max: 3, optional: false }

describe("lists", () => {
  it.each<[Json, string]>([
    [[], "[]"],
    [["a", "b"], "[\"a\",\"b\"]"],
    [["", "a,b", "{}", "NULL"], "[\"\",\"a,b\",\"{}\"]".replace("]", ",\"NULL\"]")],
    [["quote\" back\\ \u0007 \n ü /"], "[\"quote\\\" back\\\\ \\u0007 \\n ü /\"]"]
  ])("read %j", (json, cell) => {
    const bounds = { ...shape, max: 4 }
    expect(Result.getOrThrow(cellFromJson(bounds, json))).toBe(cell)
    expect(wireFromCell(bounds, cell)).toEqual(json)
    expect(Result.getOrThrow(cellFromText(bounds, JSON.stringify(json, null, 1)))).toBe(cell)
    expect(jsonFromCell(bounds, cell)).toBe(cell)
    expect(listCell(json as readonly string[])).toBe(cell)
    expect(compareCells(bounds, cell, cell)).toBe(0)
  })

  it.each<[Json, string]>([
    [null, "required"],
    ["a", "type"],
    [{ 0: "a" }, "type"],
    [[1], "type"],
    [[null], "type"],
    [[["a"]], "type"],
    [["a\0"], "invalid"],
    [["\ud800"], "invalid"],
    [["a", "b", "c", "d"], "max"]
  ])("refuse %j", (json, code) => {
    const read = cellFromJson(shape, json)
    expect(Result.isFailure(read) && read.failure.code).toBe(code)
  })

  it("take null where they are optional", () => {
    expect(Result.getOrThrow(cellFromJson({ ...shape, optional: true }, null))).toBeNull()
    expect(Result.isFailure(cellFromText(shape, "{a}"))).toBe(true)
  })

  it("read what a database may hold", () => {
    expect(elementsOf("[null,\"a\",[\"b\",null]]")).toEqual([null, "a", ["b", null]])
    expect(textsIn("[[\"a\",null],[\"b\",\"c\"]]")).toEqual(["a", "b", "c"])
    expect(textsIn("[]")).toEqual([])
  })

  it("take another text in place of one, and nothing else changes", () => {
    expect(withText("[null,\"a\",[\"a\",null],\"ab\",\"a\\u0007\"]", "a", "quote\"")).toBe(
      "[null,\"quote\\\"\",[\"quote\\\"\",null],\"ab\",\"a\\u0007\"]"
    )
    expect(withText("[\"a\"]", "b", "c")).toBe("[\"a\"]")
  })
})
