import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { scopeOf, scopeThrough } from "../../../test/support/filter.ts"
import { withPaths } from "../../../test/support/members.ts"
import { makeModel } from "../../../test/support/model.ts"
import { pathNames, pathParts, pathText } from "../model/path.ts"
import { evaluate } from "./evaluate.ts"
import { printFilter } from "./print.ts"
import { type FilterScope, readFilter, readOrder } from "./read.ts"
import type { FilterTree } from "./tree.ts"

const odd = `it's "a.b", \\ (c) * x`
const paths = ["net weight", "a.b", "1st", "é", odd].map((name) => pathText(["size", name]))
const model = withPaths(
  makeModel({ name: "products", fields: [{ name: "id", kind: "integer" }, { name: "meta", kind: "json" }] }),
  [...paths.map((name) => ({ whole: "meta", name, kind: "text" as const })), {
    whole: "meta",
    name: "a.b",
    kind: "text"
  }]
)
const own = scopeOf(model.fields)
const scope: FilterScope = {
  ...own,
  names: new Map([...own.names, ...model.members!.map((member) => [member.name, member] as const)])
}
const far = scopeThrough("product", model, scope)
const read = (text: string, at = scope): FilterTree =>
  Result.getOrThrowWith(readFilter(text, at), (errors) => new Error(`${text} ${JSON.stringify(errors)}`))

describe("names of JSON in quotes", () => {
  it("have one text each", () => {
    expect(paths).toEqual([
      `size."net weight"`,
      `size."a.b"`,
      `size."1st"`,
      `size."é"`,
      String.raw`size."it's \"a.b\", \\ (c) * x"`
    ])
    for (const name of ["a", "a-b", "net weight", "a.b", odd, "\n\u0085", "😀", "\u2028"]) {
      expect(pathNames(pathText(["x", name, "y"]))).toEqual(["x", name, "y"])
      expect(pathParts(pathText(["x", name, "y"]))).toHaveLength(3)
    }
    for (const text of ["", "a.", ".a", "a b", `""`, `"a`, `a"b"`, `"a"b`, String.raw`"\x"`, String.raw`"\ud800"`]) {
      expect(pathNames(text), text).toBe(null)
    }
  })

  it.each(paths)("stand in filters and orders: %s", (path) => {
    const field = `meta.${path}`
    const key = pathNames(path)![1]!
    for (
      const text of [
        `${field} = red`,
        `-${field}:re`,
        `isNull(${field})`,
        `in(${field}, red, blue)`,
        `begins(${field}, r) OR ${field} < field(meta.a.b)`,
        `(${field} = (red OR blue)) id = 1`
      ]
    ) {
      const tree = read(text)
      expect(read(printFilter(tree)), text).toEqual(tree)
      const distant = read(`has(product, ${JSON.stringify(text)})`, far)
      expect(printFilter(read(printFilter(distant), far)), text).toBe(printFilter(distant))
    }
    const distant = read(`product.${field} = red`, far)
    expect(distant).toMatchObject({ op: "some", item: { field: { name: field } } })
    expect(printFilter(distant)).toBe(`product.${field} = "red"`)
    const passes = (json: unknown): boolean =>
      evaluate(
        read(`${field} = red`),
        ({ name }) => name === "meta" ? JSON.stringify(json) : "1",
        { caller: { id: "7", tenant: null }, now: 0n, params: [] }
      )
    expect([passes({ size: { [key]: "red" } }), passes({ size: { [key]: 5 } }), passes({})]).toEqual([
      true,
      false,
      false
    ])
    const order = Result.getOrThrow(readOrder(`id, ${field} desc`, scope))
    expect(order.map(({ field: { name } }) => name)).toEqual(["id", field])
    expect(Result.getOrThrow(readOrder(`product.${field}`, far))[0]!.field.name).toBe(field)
  })

  it("may stand in quotes that they do not need, or in others", () => {
    const tree = read("meta.a.b = x")
    expect(read(`meta."a".b = x`)).toEqual(tree)
    expect(read(`meta.'a'."b" = x`)).toEqual(tree)
    expect(read(`meta.size.'net weight' = x`)).toEqual(read(`meta.size."net weight" = x`))
    expect(read(`meta.size."net\\u0020weight" = x`)).toEqual(read(`meta.size."net weight" = x`))
    expect(Result.getOrThrow(readOrder(`meta."a".b`, scope))[0]!.field.name).toBe("meta.a.b")
  })

  it.each([
    [`meta.size."nope nope" = x`, "unknown-field"],
    [`meta.size."a.b = x`, "syntax"],
    [`meta.size. "a.b" = x`, "syntax"],
    [`meta.size."a.b" .c = x`, "syntax"],
    [`meta.size."a.b"c = x`, "syntax"],
    [`meta.size."\\x" = x`, "syntax"],
    [`meta.size."a.b"`, "syntax"],
    [`"meta".a.b = x`, "syntax"]
  ])("are refused: %s", (text, code) => {
    expect(readFilter(text, scope)).toMatchObject({ failure: [{ code }] })
  })

  it("of hidden fields are unknown, like names that never were", () => {
    const hidden = scopeOf(model.fields.filter(({ name }) => name !== "meta"))
    for (const path of paths) {
      const said = (name: string) =>
        JSON.stringify([readFilter(`${name}.${path} = x`, hidden), readOrder(`${name}.${path}`, hidden)])
      expect(said("meta").replaceAll("meta", "zzzz")).toBe(said("zzzz"))
    }
  })

  it("mean nothing else where a value stands", () => {
    expect(readFilter(`meta.a.b = x."y z"`, scope)).toMatchObject({ failure: [{ code: "syntax" }] })
  })
})
