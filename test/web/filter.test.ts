/** Filters that the client writes are read by the service as they were meant. */

import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { printFilter } from "../../core/domain/filter/print.ts"
import { readFilter } from "../../core/domain/filter/read.ts"
import { and, fieldScope, type Filter, filterText, not, or } from "../../web/client/filter.ts"
import { ProblemError } from "../../web/client/index.ts"
import { filterScope } from "../support/filter.ts"

const field = (name: string) => fieldScope[name]!
const read = (filter: Filter): string =>
  printFilter(
    Result.getOrThrowWith(readFilter(String(filter), filterScope), (errors) => new Error(JSON.stringify(errors)))
  )

describe("filters of the client", () => {
  it.each<[Filter, string]>([
    [field("tags").contains("a \"b\" *"), "tags:\"a \\\"b\\\" \\*\""],
    [field("tags").in(["a", "null"]), "in(tags, \"a\", \"null\")"],
    [field("marks").contains(1.5), "marks:1.50"],
    [field("marks").in([1n, "2"]), "in(marks, 1.00, 2.00)"],
    [field("tags").length.ge(2), "length(tags) >= 2"],
    [field("tags").length.ne(0), "length(tags) != 0"],
    [field("tags").isNull(), "isNull(tags)"],
    [field("name").contains("x"), "name:\"x\""],
    [field("name").matches("A*b"), "name = \"A*b\""],
    [field("name").matches("\\*A*"), "name = \"\\*A*\""],
    [field("name").matches("a\\b\"c\n*"), "name = \"a\\\\b\\\"c\\n*\""],
    [field("name").startsWith("a*"), "name = \"a\\**\""],
    [field("name").regex("^a\\.\"$"), "regex(name, \"^a\\.\\\"$\")"],
    [field("name").regex("\\\\"), "regex(name, \"\\\\\\\\\")"]
  ])("%s", (filter, text) => expect(read(filter)).toBe(text))

  it("keep their parts together, whatever they are parts of", () => {
    const [a, b, c] = [field("name").eq("a"), field("name").eq("b"), field("name").eq("c")]
    const texts = (filter: Filter) => read(filter).replaceAll(/name = "(.)"/g, "$1")
    // OR binds closer than AND.
    expect(texts(and(a, or(b, c)))).toBe("a AND b OR c")
    expect(texts(or(and(a, b), c))).toBe("(a AND b) OR c")
    expect(texts(not(and(a, b)))).toBe("NOT (a AND b)")
    expect(texts(not(or(a, b)))).toBe("NOT (a OR b)")
    expect(texts(or(a, null, "", filterText("name = \"b\" AND name = \"c\"")))).toBe("a OR (b AND c)")
  })

  it("of everything keep everything in an OR, and say nothing in an AND", () => {
    const [all, some] = [filterText(" "), field("name").eq("a")]
    expect([String(or(some, all)), String(and(some, all))]).toEqual(["", "name = \"a\""])
    expect(() => or()).toThrow(TypeError)
    expect(() => not(all)).toThrow(TypeError)
  })
})

describe("problems", () => {
  it("tell of a field what is wrong with its elements", () => {
    const errors = [{ field: "tags[3]", message: "Too long." }, { field: "name", message: "No." }]
    const problem = new ProblemError(422, { errors } as never)
    expect({ ...problem.fields }).toEqual({ tags: "Too long.", name: "No." })
  })
})
