// The start refuses read rules through relations where events tell of changes. Should one come here all the same, what it does not know is not told.
import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { makeModel } from "../../../test/support/model.ts"
import type { Access } from "../access/access.ts"
import type { Caller } from "../access/caller.ts"
import { always, anyOf, type FilterTree, not } from "../filter/tree.ts"
import { sightOf } from "./receivers.ts"
import type { Subscription } from "./subscription.ts"
import { tellingOf } from "./watch.ts"

const model = makeModel({
  name: "orders",
  fields: [{ name: "id", kind: "integer" }, { name: "owner" }],
  relations: [{ name: "lines", target: "orders", many: true, from: "id", to: "id" }]
})
const relation = model.relations.get("lines")!
const related: FilterTree = { op: "some", way: { relation, model, to: relation.from, rows: always }, item: always }
const own: FilterTree = { op: "compare", field: model.fields[1]!, is: "=", value: { of: "caller", value: "id" } }
const caller: Caller = { id: "ann", roles: ["sales"], tenant: null }
const row = ["1", "ann"]

const told = (rows: FilterTree, before: readonly string[] | null, after: readonly string[] | null) =>
  tellingOf({ model, before, after }, 0n).told({ access: { caller, rows }, filter: always })

const sight = (rows: FilterTree, when?: FilterTree) => {
  const subscription = {
    name: "s",
    events: new Map([["orders", null]]),
    when: new Map(when === undefined ? [] : [["orders", when]]),
    reader: { of: "roles", roles: ["sales"] },
    tenant: null
  } as unknown as Subscription
  const change = { model, operation: "update", before: row, after: row, stored: { actor: null } }
  const access = { caller, model, rows, decisions: { read: { of: "filter", tree: rows } } } as unknown as Access
  const readers = { resolve: () => access, rules: new Map() }
  return Result.getOrThrow(sightOf(subscription, { change, event: "updated" } as never, ["sales"], readers, 0n)) !==
    null
}

it.each([["some", related], ["none", not(related)]])(
  "a row that is seen by %s related records is not told of",
  (_, rows) => {
    expect(told(rows, row, row)).toEqual([])
    expect(told(rows, null, row)).toEqual([])
    expect(told(rows, row, null)).toEqual([])
    expect(sight(rows)).toBe(false)
    expect(sight(always, rows)).toBe(false)
  }
)

it("what the record says by itself is told", () => {
  const either = anyOf([own, related])
  expect(told(either, null, row)).toEqual([{ kind: "entered", key: "1" }])
  expect(told(either, null, ["1", "bob"])).toEqual([])
  expect(sight(anyOf([not({ op: "null", field: model.fields[1]! }), related]))).toBe(true)
  expect(sight(always)).toBe(true)
})
