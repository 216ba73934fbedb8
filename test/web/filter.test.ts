/** Filters that the client writes are read by the service as they were meant. */

import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { printFilter } from "../../core/domain/filter/print.ts"
import { readFilter } from "../../core/domain/filter/read.ts"
import { fieldScope, type Filter } from "../../web/client/filter.ts"
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
})

describe("problems", () => {
  it("tell of a field what is wrong with its elements", () => {
    const errors = [{ field: "tags[3]", message: "Too long." }, { field: "name", message: "No." }]
    const problem = new ProblemError(422, { errors } as never)
    expect({ ...problem.fields }).toEqual({ tags: "Too long.", name: "No." })
  })
})
