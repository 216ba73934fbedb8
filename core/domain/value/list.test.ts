// Lists of texts as cells: what a body may give, what a database may hold, and that both have one text.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { cellFromJson, cellFromText, compareCells, jsonFromCell, wireFromCell } from "./cell.ts"
import type { ElementShape, Json, ListShape } from "./kind.ts"
import { elementsOf, listCell, textsIn, withText } from "./list.ts"

const shape: ListShape & { readonly optional: boolean } = {
  kind: "list",
  of: { kind: "text", max: null },
  max: 3,
  nulls: false,
  optional: false
}

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
    [[null], "required"],
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

  const of = (kind: ElementShape, more: Partial<ListShape> = {}): ListShape & { readonly optional: boolean } => ({
    ...shape,
    max: null,
    of: kind,
    ...more
  })

  it.each<[ElementShape, Json, string]>([
    [{ kind: "integer", bits: 16 }, [1, "-2", 0], "[1,-2,0]"],
    [{ kind: "integer", bits: 64 }, ["9007199254740993", 1], "[\"9007199254740993\",\"1\"]"],
    [{ kind: "decimal", precision: 12, scale: 2 }, [1.5, "2"], "[\"1.50\",\"2.00\"]"],
    [{ kind: "float" }, [0.25, 1e21], "[0.25,1e+21]"],
    [{ kind: "boolean" }, [true, false], "[true,false]"],
    [{ kind: "timestamp" }, ["2026-01-31T10:30:00.120+01:00"], "[\"2026-01-31T09:30:00.12Z\"]"],
    [{ kind: "date" }, ["2026-01-31"], "[\"2026-01-31\"]"],
    [{ kind: "uuid" }, ["123E4567-E89B-42D3-A456-426614174000"], "[\"123e4567-e89b-42d3-a456-426614174000\"]"],
    [{ kind: "enum", values: ["a"] }, ["a"], "[\"a\"]"],
    [{ kind: "currency" }, ["EUR"], "[\"EUR\"]"],
    [{ kind: "country" }, ["NO"], "[\"NO\"]"]
  ])("of %j are canonical", (kind, json, cell) => {
    expect(Result.getOrThrow(cellFromJson(of(kind), json))).toBe(cell)
    expect(jsonFromCell(of(kind), cell)).toBe(cell)
    expect(Result.getOrThrow(cellFromJson(of(kind), wireFromCell(of(kind), cell)))).toBe(cell)
    expect(Result.getOrThrow(cellFromText(of(kind), JSON.stringify(json)))).toBe(cell)
  })

  it.each<[ElementShape, Json, number, string]>([
    [{ kind: "integer", bits: 16 }, [1, 40_000], 1, "invalid"],
    [{ kind: "integer", bits: 32 }, [1, 2, 1e300], 2, "invalid"],
    [{ kind: "integer", bits: 64 }, [2 ** 53], 0, "invalid"],
    [{ kind: "text", max: 3 }, ["abc", "abcd"], 1, "max"],
    [{ kind: "text", max: null }, ["a", ["b"]], 1, "type"],
    [{ kind: "text", max: null }, ["a", { $add: 1 }], 1, "type"],
    [{ kind: "decimal", precision: 4, scale: 2 }, ["1.005"], 0, "invalid"],
    [{ kind: "date" }, ["2026-01-31", "2026-02-30"], 1, "invalid"],
    [{ kind: "enum", values: ["a"] }, ["a", "b"], 1, "enum"],
    [{ kind: "boolean" }, [true, null], 1, "required"]
  ])("of %j name the element of %j that they refuse", (kind, json, at, code) => {
    const read = cellFromJson(of(kind), json)
    expect(Result.isFailure(read) && read.failure).toMatchObject({ at, code })
  })

  it("hold nulls where they are declared", () => {
    expect(Result.getOrThrow(cellFromJson(of({ kind: "date" }, { nulls: true }), [null]))).toBe("[null]")
  })

  it("are bounded by their elements before any is read, and by their characters", () => {
    const many = new Proxy(Array.from({ length: 4 }, () => "a"), {
      get: (target, name) => {
        if (name === "0") throw new Error("It read an element.")
        return Reflect.get(target, name) as unknown
      }
    })
    expect(Result.isFailure(cellFromJson(shape, many))).toBe(true)
    const long = Array.from({ length: 1_001 }, () => "x".repeat(1_000))
    const read = cellFromJson(of({ kind: "text", max: null }), long)
    expect(Result.isFailure(read) && read.failure.code).toBe("max")
  })

  it("are equal by their elements, whatever their texts are", () => {
    const numbers = of({ kind: "decimal", precision: null, scale: null })
    expect(compareCells(numbers, "[\"1.50\"]", "[\"1.5\"]")).toBe(0)
    expect(compareCells(numbers, "[\"1\"]", "[\"1\",\"2\"]")).toBeLessThan(0)
    expect(compareCells(numbers, "[null]", "[\"1\"]")).toBeGreaterThan(0)
    expect(compareCells(shape, "[[\"a\"]]", "[\"a\"]")).not.toBe(0)
    expect(compareCells(shape, "[null]", "[\"null\"]")).not.toBe(0)
  })

  it("take another text in place of one, and nothing else changes", () => {
    expect(withText("[null,\"a\",[\"a\",null],\"ab\",\"a\\u0007\"]", "a", "quote\"")).toBe(
      "[null,\"quote\\\"\",[\"quote\\\"\",null],\"ab\",\"a\\u0007\"]"
    )
    expect(withText("[\"a\"]", "b", "c")).toBe("[\"a\"]")
  })
})
