// Orders through relations as texts: which paths are keys, and how the others are refused.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { withPaths } from "../../../test/support/members.ts"
import { makeModel } from "../../../test/support/model.ts"
import type { Model } from "../model/model.ts"
import { type FilterErrorCode, type FilterScope, readOrder, type Step } from "./read.ts"
import { always, ownKeys, pathOf } from "./tree.ts"

const relation = (name: string, target: string, many: boolean, from: string, to = "id") => ({
  name,
  target,
  many,
  from,
  to
})
const id = { name: "id", kind: "integer" } as const
const all: readonly Model[] = [
  makeModel({
    name: "orders",
    fields: [
      id,
      { name: "customer_id", kind: "integer", optional: true },
      { name: "parent_id", kind: "integer", optional: true },
      { name: "name", alias: "title" }
    ],
    relations: [
      relation("customer", "customers", false, "customer_id"),
      relation("parent", "orders", false, "parent_id"),
      relation("lines", "lines", true, "id", "order_id")
    ]
  }),
  withPaths(
    makeModel({
      name: "customers",
      fields: [id, { name: "name", alias: "title" }, { name: "plain", sortable: false }, {
        name: "extra",
        kind: "json"
      }],
      relations: [relation("orders", "orders", true, "id", "customer_id"), relation("region", "regions", false, "id")]
    }),
    [{ whole: "extra", name: "size.width", kind: "decimal" }, { whole: "extra", name: "hue", sortable: false }]
  ),
  makeModel({
    name: "lines",
    fields: [id, { name: "order_id", kind: "integer" }],
    relations: [relation("order", "orders", false, "order_id")]
  }),
  makeModel({ name: "regions", fields: [id, { name: "name" }] })
]

const scopes = new Map<string, FilterScope>()
const scopeOf = (name: string): FilterScope => {
  const model = all.find((each) => each.name === name)!
  const known = scopes.get(name)
  if (known !== undefined) return known
  const names = new Map(model.byName)
  for (const field of model.fields) if (field.alias !== null) names.set(field.alias, field)
  for (const member of model.members ?? []) names.set(member.name, member)
  const step = (asked: string): Step | null => {
    const found = model.relations.get(asked)
    if (found === undefined) return null
    const target = all.find((each) => each.name === found.target)!
    const way = { relation: found, model: target, to: target.byName.get(found.to)!, rows: always }
    return { way, scope: scopeOf(found.target) }
  }
  const scope: FilterScope = {
    names,
    searched: [],
    caller: false,
    relations: { names: () => [...model.relations.keys()], step }
  }
  scopes.set(name, scope)
  return scope
}

/** The keys of an order as texts. */
const keysOf = (text: string, resource = "orders") =>
  Result.map(
    readOrder(text, scopeOf(resource)),
    (keys) =>
      keys.map(({ descending, field, ways = [] }) =>
        [...ways.map((way) => way.relation.name), field.name].join(".") + (descending ? " desc" : "")
      )
  )

describe("orders through relations", () => {
  it.each<readonly [text: string, keys: readonly string[], resource: string]>([
    ["customer.name", ["customer.name"], "orders"],
    ["customer.title desc, id", ["customer.name desc", "id"], "orders"],
    ["id desc,customer.region.name asc", ["id desc", "customer.region.name"], "orders"],
    ["parent.name, name", ["parent.name", "name"], "orders"],
    ["parent.id", ["parent.id"], "orders"],
    ["order.customer.region.name", ["order.customer.region.name"], "lines"],
    ["customer.extra.size.width desc", ["customer.extra.size.width desc"], "orders"],
    ["order.customer.extra.size.width", ["order.customer.extra.size.width"], "lines"]
  ])("%j", (text, keys, resource) => {
    expect(keysOf(text, resource)).toEqual(Result.succeed(keys))
  })

  it.each<readonly [text: string, code: FilterErrorCode, slice: string, hint: string]>([
    ["customer.nam", "unknown-field", "customer.nam", "Did you mean customer.name?"],
    ["custommer.name", "unknown-field", "custommer.name", "Did you mean customer?"],
    ["nope.name", "unknown-field", "nope.name", "The relations here: customer, parent, lines."],
    ["customer", "unknown-field", "customer", "It is a relation: name a field of it, such as customer.id."],
    ["customer.plain", "not-sortable", "customer.plain", "Fields that can be sorted: id, name"],
    ["customer.extra", "not-sortable", "customer.extra", ""],
    ["customer.extra.hue", "not-sortable", "customer.extra.hue", ""],
    ["customer.extra.size", "unknown-field", "customer.extra.size", ""],
    ["customer.extra.size.width,customer.extra.size.width", "duplicate", "customer.extra.size.width", "once"],
    ["lines.id", "not-sortable", "lines.id", "An order goes through relations to one record each."],
    ["customer.orders.name", "not-sortable", "customer.orders.name", "to one record each"],
    ["parent.parent.parent.parent.id", "limit", "parent.parent.parent.parent.id", "nearer"],
    ["customer.name,parent.name", "limit", "parent.name", "Name one such field"],
    ["customer.name,id,customer.title", "duplicate", "customer.title", "once"],
    ["customer..name", "syntax", "customer..name", ""],
    [".name", "syntax", ".name", ""],
    ["customer.", "syntax", "customer.", ""],
    ["-customer.name", "unknown-field", "-customer.name", "Write customer.name desc."],
    ["-customer.nope", "unknown-field", "-customer.nope", ""],
    ["\"customer\".name", "syntax", "\"customer\"", ""]
  ])("%j is %s at «%s»", (text, code, slice, hint) => {
    const answer = readOrder(text, scopeOf("orders"))
    const errors = Result.isFailure(answer) ? answer.failure : []
    expect(errors.map((error) => [error.code, text.slice(error.span.start, error.span.end)])).toEqual([[code, slice]])
    expect(errors[0]!.hint).toContain(hint)
  })

  it("have at most five fields", () => {
    const fields = ["id", "name", "customer_id", "parent_id"]
    expect(Result.isSuccess(keysOf([...fields, "customer.name"].join()))).toBe(true)
    const wide = makeModel({ name: "wide", fields: ["a", "b", "c", "d", "e", "f"].map((name) => ({ name })) })
    const scope: FilterScope = { ...scopeOf("orders"), names: wide.byName }
    expect(Result.isSuccess(readOrder("a,b,c,d,e,f", scope))).toBe(true)
    const answer = readOrder("a,b,c,d,e,customer.name", scope)
    expect(Result.isFailure(answer) && answer.failure).toMatchObject([{ code: "limit", span: { start: 10 } }])
  })

  it("are refused where no relation is in reach", () => {
    const { names, searched } = scopeOf("orders")
    const answer = readOrder("customer.name", { names, searched, caller: false })
    expect(Result.isFailure(answer) && answer.failure).toMatchObject([
      { code: "unknown-field", message: "No order can go through relations here." }
    ])
  })

  it("answer a hidden relation and a hidden field like unknown ones", () => {
    const scope = scopeOf("orders")
    const hiding = (hidden: string): FilterScope => ({
      ...scope,
      relations: {
        names: () => scope.relations!.names().filter((name) => name !== hidden),
        step: (name) => name === hidden ? null : scope.relations!.step(name)
      }
    })
    const hidden = JSON.stringify(readOrder("customer.name", hiding("customer")))
    expect(hidden.replaceAll("customer.name", "zzzzzzzz.name")).toBe(
      JSON.stringify(readOrder("zzzzzzzz.name", hiding("customer")))
    )
  })

  it("know their path and the keys beside it", () => {
    const keys = Result.getOrThrow(readOrder("parent.name,name,id", scopeOf("orders")))
    expect(pathOf(keys)?.field.name).toBe("name")
    expect(ownKeys(keys).map(({ field }) => field.name)).toEqual(["name", "id"])
    expect(pathOf(ownKeys(keys))).toBeNull()
  })
})
