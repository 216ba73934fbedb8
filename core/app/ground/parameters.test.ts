import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { problem } from "../../domain/problem.ts"
import { readParameters } from "./parameters.ts"

const refusal = (...given: Parameters<typeof readParameters>) => {
  const read = readParameters(...given)
  return Result.isFailure(read) ? read.failure.detail : null
}

it("gives parameters by name", () => {
  expect(readParameters([["name", "x"]], ["name", "page_size"])).toEqual(Result.succeed({ name: "x" }))
})

it.each(
  [
    ["a name that is not known", [["other", ""]], ["name", "state"], "There is no such parameter. Use name, state."],
    ["a name of every object", [["__proto__", "x"]], ["name"], "There is no such parameter. Use name."],
    ["any name where there are none", [["name", "x"]], [], "This route takes no parameters."],
    ["a name twice", [["name", "x"], ["name", "x"]], ["name"], "The parameter is given twice."],
    ["a name twice, at first without a value", [["name", ""], ["name", "x"]], ["name"], "The parameter is given twice."]
  ] as const
)("refuses %s", (_, query, names, detail) => {
  expect(refusal(query, names)).toBe(detail)
})

it("refuses unknown names in the words of the route, cut short", () => {
  expect(refusal([["x".repeat(500), ""]], [], (name) => problem("invalid-parameter", name))).toBe("x".repeat(100))
})
