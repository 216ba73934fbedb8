// `npm test -- --changed` runs what stands close to a change: tests beside the code, and those elsewhere that import it. It takes no way through the
// composed service.
import { describe, expect, it } from "vitest"
import { type Graph, testsOf } from "../../scripts/changed.mjs"

const graphOf = (imports: { readonly [file: string]: readonly string[] }, types: readonly string[] = []): Graph =>
  new Map(
    Object.entries(imports).map(([file, targets]) => [
      file,
      new Map(targets.map((target) => [target, { start: 0, types: types.includes(file) }]))
    ])
  )

const graph = graphOf({
  "core/domain/value/cell.ts": [],
  "core/domain/value/digits.ts": [],
  "core/domain/value/cell.test.ts": ["core/domain/value/cell.ts"],
  "core/domain/filter/read.ts": ["core/domain/value/cell.ts"],
  "core/domain/filter/read.test.ts": ["core/domain/filter/read.ts"],
  "core/app/read/seek.test.ts": ["core/domain/filter/read.ts"],
  "core/ports/records.ts": [],
  "composition/index.ts": ["core/domain/filter/read.ts"],
  "test/support/composed.ts": ["composition/index.ts"],
  "test/contracts/records.test.ts": ["test/support/composed.ts"],
  "test/docs/reads.test.ts": ["test/support/composed.ts"],
  "test/http/reads/values.test.ts": ["test/support/composed.ts", "core/domain/value/cell.ts"],
  "test/postgres/differential.test.ts": ["core/domain/filter/read.ts"]
})

describe("the tests that a change touches", () => {
  it("are those beside the code, and those that import the changed file", () => {
    expect(testsOf(graph, ["core/domain/value/cell.ts"])).toEqual([
      "core/domain/value/cell.test.ts",
      "core/domain/filter/read.test.ts",
      "core/app/read/seek.test.ts",
      "test/http/reads/values.test.ts"
    ])
  })

  it("are no tests that only types lead to", () => {
    const only = graphOf({ "core/a.test.ts": ["core/a.ts"], "core/b.test.ts": ["core/a.ts"] }, ["core/b.test.ts"])
    expect(testsOf(only, ["core/a.ts"])).toEqual(["core/a.test.ts"])
  })

  it("are all tests over what a changed part of the tests supports", () => {
    expect(testsOf(graph, ["test/support/composed.ts"])).toEqual([
      "test/contracts/records.test.ts",
      "test/docs/reads.test.ts",
      "test/http/reads/values.test.ts"
    ])
  })

  it("are the contract of a port, tests that read a changed page, and all where the packages change", () => {
    expect(testsOf(graph, ["core/ports/records.ts"])).toEqual(["test/contracts/records.test.ts"])
    expect(testsOf(graph, ["docs/reads.md"])).toEqual(["test/docs/reads.test.ts"])
    expect(testsOf(graph, ["package.json"])).toHaveLength(7)
    expect(testsOf(graph, ["core/domain/value/digits.ts"])).toEqual([])
  })
})
