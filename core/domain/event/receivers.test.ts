// What a subscription is told of a change, by the fields that its owner reads.
import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import type { Caller } from "../access/caller.ts"
import type { AccessDefaults, Capability } from "../access/rules.ts"
import { always, type FilterTree } from "../filter/tree.ts"
import { eventJson, type Happened, sightOf } from "./receivers.ts"
import type { Subscription } from "./subscription.ts"

const fields = [{ name: "id" }, { name: "status" }, { name: "cost" }, { name: "pin", sensitive: true }]
const model = makeModel({ name: "orders", fields })
const is = (at: number, text: string): FilterTree => ({
  op: "compare",
  field: model.fields[at]!,
  is: "=",
  value: { of: "literal", text }
})
const happened = {
  change: {
    model,
    operation: "update",
    before: ["1", "draft", "5", "1111"],
    after: ["1", "paid", "7", "2222"],
    stored: { sequence: "1", transaction: "1", at: "2026-11-27T10:00:00Z", actor: null }
  },
  event: "updated"
} as unknown as Happened

/** Callers who read all fields, or all but the cost. */
const roles: AccessDefaults = {
  roles: new Map<string, readonly Capability[]>([
    ["boss", [{ resource: "*", operation: "*", own: false, fields: null }]],
    ["sales", [{ resource: "orders", operation: "read", own: false, fields: ["id", "status", "pin"] }]]
  ]),
  defaultAccess: null
}

const told = (role: string, { of = "owner", rows = always, when }: {
  readonly of?: "owner" | "roles"
  readonly rows?: FilterTree
  readonly when?: FilterTree
} = {}): { readonly [name: string]: unknown } | null => {
  const subscription = {
    id: "s",
    name: "s",
    events: new Map([["orders", null]]),
    when: new Map(when === undefined ? [] : [["orders", when]]),
    reader: of === "owner" ? { of, id: "ann", roles: [role] } : { of, roles: [role] },
    tenant: null,
    thin: false
  } as unknown as Subscription
  const readers = {
    resolve: (caller: Caller) => ({ ...accessOf(model, caller, roles), rows }),
    rules: new Map()
  }
  const sight = Result.getOrThrow(sightOf(subscription, happened, [role], readers, 0n))
  if (sight === null) return null
  return (JSON.parse(eventJson(subscription, happened, sight, "evt", false, 0n)) as { data: never }).data
}

it("an event has the fields that its reader reads, names no other, and holds nothing sensitive", () => {
  expect(told("boss")).toMatchObject({
    before: { id: "1", status: "draft", cost: "5" },
    after: { id: "1", status: "paid", cost: "7" }
  })
  const sales = told("sales")!
  expect([sales["before"], sales["after"]]).toMatchObject([{ id: "1", status: "draft" }, { id: "1", status: "paid" }])
  expect(sales["changed"]).toEqual(["status", "pin"])
  expect(JSON.stringify(sales)).not.toMatch(/cost|1111|2222/)
})

it("a row is told as far as its reader sees it: not the row before, where that was another's", () => {
  expect(told("boss", { rows: is(1, "paid") })).toMatchObject({ before: null, after: { status: "paid" } })
  expect(told("boss", { rows: is(1, "draft") })).toBeNull()
})

it("a condition asks no field that the owner of its subscription cannot read", () => {
  expect(told("boss", { when: is(2, "7") })).not.toBeNull()
  expect(told("sales", { when: is(2, "7") })).toBeNull()
  expect(told("sales", { when: is(1, "paid") })).not.toBeNull()
  // The configuration may ask for more than it sends.
  expect(told("sales", { of: "roles", when: is(2, "7") })).not.toBeNull()
})
