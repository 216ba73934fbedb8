import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import type { ProblemError } from "../problem.ts"
import { isOnePath, maxExpandCharacters, readExpand, spanIn } from "./expand.ts"
import type { Steps } from "./expand.ts"

const read = (text: string, fields: readonly string[] = []): Steps => Result.getOrThrow(readExpand(text, fields))

const refusal = (text: string, fields: readonly string[] = []): ProblemError => {
  const result = readExpand(text, fields)
  if (Result.isSuccess(result)) throw new Error(`${text} was read.`)
  return result.failure
}

/** Steps in short: names, names of fields where not all are asked for, and the names of arguments. */
const short = (steps: Steps): string =>
  [...steps.values()].map(({ below, fields, name, shape, whole }) => {
    const asked = Object.keys(shape).map((argument) => `:${argument}`).join("")
    const shown = whole ? "" : `[${[...fields.keys()].join(" ")}]`
    return name + shown + asked + (below.size === 0 ? "" : `{${short(below)}}`)
  }).join(" ")

it.each<readonly [text: string, fields: readonly string[], steps: string]>([
  ["", [], ""],
  ["customer", [], "customer"],
  [" lines.product , customer,customer ", [], "lines{product} customer"],
  ["a.b.c.d", [], "a{b{c{d}}}"],
  ["customer(fields: \"name,city\")", [], "customer[name city]"],
  ["lines( count )", [], "lines:count"],
  ["lines(filter:'quantity > 1',order_by:\"position\",page_size:20)", [], "lines:filter:order_by:page_size"],
  ["lines(page_size: 2).product(fields: \"name\").maker", [], "lines:page_size{product[name]{maker}}"],
  // A relation keeps its shape, whatever names it again.
  ["lines(fields: \"sku\"),lines.product", [], "lines[sku]{product}"],
  ["lines.product,lines(fields: \"sku\")", [], "lines[sku]{product}"],
  ["lines(fields: \"sku,product.name\")", [], "lines[sku]{product[name]}"],
  ["lines(fields: \"product.name\"),lines.product", [], "lines[]{product}"],
  ["lines(fields: \"product.name\"),lines.product(fields: \"id\")", [], "lines[]{product[name id]}"],
  ["lines(fields: \"product.name\"),lines.product,lines.product(fields: \"id\")", [], "lines[]{product[name id]}"],
  ["", ["id", "customer.name", "customer.account.id"], "customer[name]{account[id]}"],
  ["customer", ["customer.name"], "customer"],
  ["customer(fields: \"city\")", ["customer.name"], "customer[city name]"]
])("reads %s with fields %j", (text, fields, steps) => {
  expect(short(read(text, fields))).toBe(steps)
})

it("takes texts out of their quotes and knows where they stand", () => {
  const text = "lines(filter: \"sku = \\\"a\\\\b\\\" OR n = 1\").x(filter: 'sku = \"c\"')"
  const { below, shape: { filter } } = read(text).get("lines")!
  expect(filter!.text).toBe("sku = \"a\\b\" OR n = 1")
  for (const part of ["sku", "OR", "n = 1"]) {
    const start = filter!.text.indexOf(part)
    const span = spanIn(filter!, { start, end: start + part.length })
    expect(text.slice(span.start, span.end)).toBe(part)
  }
  expect(below.get("x")!.shape.filter!.text).toBe("sku = \"c\"")
  // Any other backslash belongs to the text.
  expect(read("a(filter: \"n = x\\*\\n\")").get("a")!.shape.filter!.text).toBe("n = x\\*\\n")
})

it("cuts a page as a list does, and refuses what is no number of records", () => {
  expect(read("a(page_size: 100000)").get("a")!.shape.page_size!.value).toBe(500)
  for (const value of ["0", "-1", "1.5", "1e3", "", "\"2\"", "99999999999999999999"]) {
    expect(refusal(`a(page_size: ${value})`).message).toBe("page_size must be a whole number of at least 1.")
  }
  for (const value of ["0", "11", "x"]) {
    expect(refusal(`a(depth: ${value})`).message).toBe("depth must be a whole number from 1 to 10.")
  }
})

describe("refuses", () => {
  it.each<readonly [text: string, message: string, part: string | null]>([
    ["a,,b", "The parameter must be a comma-separated list of names.", null],
    ["a,", "The parameter must be a comma-separated list of names.", null],
    ["a.b.c.d.e", "A relation can be followed 4 levels deep.", null],
    ["a(", "An argument is missing.", ""],
    ["a()", "An argument is missing.", ")"],
    ["a(size: 2)", "There is no argument \"size\".", "size"],
    ["a(page_size)", "page_size takes a value after a colon.", ")"],
    ["a(page_size: 2", "A comma or a closing bracket is missing.", ""],
    ["a(count))", "A comma or a period is missing.", ")"],
    ["a(count) b", "A comma or a period is missing.", "b"],
    ["a(count, count)", "count is given more than once.", "count"],
    ["a(filter: x)", "filter takes a text in quotes.", "x"],
    ["a(filter: \"x)", "The text of filter has no closing quote.", "\"x)"],
    ["a(filter: \"x\\\")", "The text of filter has no closing quote.", "\"x\\\")"],
    ["a(filter: \"x\" \"y\")", "A comma or a closing bracket is missing.", "\""],
    ["a(fields: \"x,,y\")", "fields must be a comma-separated list of up to 200 names.", "x,,y"],
    ["a(fields: \"b.c.d.e.f\")", "A path of fields can follow relations 4 levels deep.", null],
    ["a(count),a(page_size: 2)", "\"a\" has two shapes.", "a"]
  ])("%s", (text, message, part) => {
    const { message: said, parameter, span } = refusal(text)
    expect([said, parameter]).toEqual([message, "expand"])
    expect(span === undefined ? null : text.slice(span.start, span.end)).toBe(part)
  })

  it("what is too long, too wide or too deep, whoever asks for it", () => {
    expect(refusal(`a(filter: "${"x".repeat(maxExpandCharacters)}")`).message).toBe(
      "The parameter has more than 10000 characters."
    )
    const names = Array.from({ length: 1_000 }, (_, i) => `r${i}`)
    expect(refusal(names.join(",")).message).toBe("At most 10 relations can be expanded.")
    expect(refusal(names.join(".")).message).toBe("A relation can be followed 4 levels deep.")
    expect(refusal("r(".repeat(1_000)).message).toBe("There is no argument \"r\".")
    const twenty = { message: "At most 20 relations can be followed." }
    const fields = names.slice(0, 30).map((name) => `${name}.x`)
    expect(refusal(`a(fields: "${fields.join(",")}")`)).toMatchObject(twenty)
    expect(refusal("", fields)).toMatchObject({ ...twenty, parameter: "fields" })
    expect(refusal("", ["a.b.c.d.e.f"])).toMatchObject({ parameter: "fields" })
  })
})

it("knows one path from several", () => {
  expect(["a", "a.b", "a(fields: \"x,y\").b ", "a(filter: 'x,y')"].map(isOnePath)).toEqual([true, true, true, true])
  expect(["a,b", "a(filter: \"x", "y\")", "a(count)b", ""].map(isOnePath)).toEqual([false, false, true, false, false])
})

const parts = [
  ..."a , . : ( ) \" ' \\ 0".split(" "),
  " ",
  "lines",
  "customer",
  "(filter: \"",
  "page_size: 3",
  "count",
  "fields: \"a.b\"",
  "depth: 2",
  "😀"
]

property(
  "gives steps or a refusal inside the text, for any text",
  { text: (random: Random) => random.many(0, 40, () => random.pick(parts)).join("") },
  { cases: 20_000 },
  ({ text }) => {
    const result = readExpand(text, [])
    if (Result.isSuccess(result)) return
    const { message, span } = result.failure
    expect(message).not.toBe("")
    if (span !== undefined) {
      expect(span.start).toBeGreaterThanOrEqual(0)
      expect(span.end).toBeGreaterThanOrEqual(span.start)
      expect(span.end).toBeLessThanOrEqual(text.length)
    }
  }
)
