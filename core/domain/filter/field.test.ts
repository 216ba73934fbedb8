import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { printFilter } from "./print.ts"
import { type AnyScope, readFilter, readOrder } from "./read.ts"
import { always, type FilterField } from "./tree.ts"

/** Fields with what the language asks of them, and nothing else. */
const status: FilterField = { name: "status", kind: "text", max: null, filterable: true, sortable: true, file: null }
const tags: FilterField = {
  name: "tags",
  kind: "list",
  of: { kind: "integer", bits: 32 },
  max: null,
  nulls: false,
  filterable: true,
  sortable: false,
  file: null
}
const customers: AnyScope = { names: new Map<string, FilterField>([["status", status]]), searched: [], caller: false }
const scope: AnyScope = {
  names: new Map<string, FilterField>([["status", status], ["tags", tags]]),
  searched: [status],
  caller: false,
  relations: {
    names: () => ["customer"],
    step: (name) =>
      name === "customer"
        ? { way: { relation: { name, many: false }, rows: always }, scope: customers }
        : null
  }
}

describe("fields that no model has", () => {
  it.for([
    "status = \"paid\" AND tags:7",
    "in(tags, 1, 2) OR length(tags) >= 2",
    "customer.status:\"a\" AND status != \"b\"",
    "search(\"word\")"
  ])("%s is read and printed", (text) => {
    assert.strictEqual(printFilter(Result.getOrThrow(readFilter(text, scope))), text)
  })

  it("a tree has the fields of its scope", () => {
    const tree = Result.getOrThrow(readFilter("status = a", scope))
    assert.strictEqual(tree.op === "compare" ? tree.field : null, status)
  })

  it("an order has them, too", () => {
    const [key] = Result.getOrThrow(readOrder("customer.status desc", scope))
    assert.strictEqual(key?.field, status)
    assert.deepStrictEqual(key?.ways?.map(({ relation }) => relation.name), ["customer"])
  })

  it("values are checked by their kinds", () => {
    assert.isTrue(Result.isFailure(readFilter("tags:many", scope)))
  })
})
