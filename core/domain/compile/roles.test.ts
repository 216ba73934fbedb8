import * as Result from "effect/Result"
import { describe, expect, expectTypeOf, it } from "vitest"
import { makeModel } from "../../../test/support/model.ts"
import { type CapabilityText, defineRoles, parseCapability } from "../declare/roles.ts"
import { compileRoles } from "./roles.ts"

const orders = makeModel({
  name: "orders",
  fields: [
    { name: "id", readOnly: true },
    { name: "owner_id" },
    { name: "status" },
    { name: "total" },
    { name: "deleted_at" },
    { name: "ref" }
  ],
  key: ["ref"],
  owner: "owner_id",
  softDelete: "deleted_at"
})
const customers = makeModel({
  name: "customers",
  fields: [{ name: "id" }, { name: "name" }],
  rules: { update: { of: "constant", allow: true } }
})
const models = new Map([orders, customers].map((model) => [model.name, model]))

const refusalsOf = (texts: readonly string[], resources: typeof models = models) =>
  Result.match(compileRoles({ sales: texts }, resources), { onSuccess: () => [], onFailure: (refusals) => refusals })

describe("parseCapability", () => {
  it.each([
    ["*", { resource: "*", operation: "*", own: false, fields: null }],
    ["*.own", { resource: "*", operation: "*", own: true, fields: null }],
    ["*.*", { resource: "*", operation: "*", own: false, fields: null }],
    ["orders.*", { resource: "orders", operation: "*", own: false, fields: null }],
    ["*.read", { resource: "*", operation: "read", own: false, fields: null }],
    ["orders.read.own", { resource: "orders", operation: "read", own: true, fields: null }],
    ["orders.create(customer_id, status)", {
      resource: "orders",
      operation: "create",
      own: false,
      fields: ["customer_id", "status"]
    }],
    ["*.read.own(id)", { resource: "*", operation: "read", own: true, fields: ["id"] }],
    ["own.read", { resource: "own", operation: "read", own: false, fields: null }]
  ])("reads %s", (text, capability) => expect(parseCapability(text)).toEqual(capability))

  it.each([
    "",
    "orders",
    "orders.",
    ".read",
    "orders.read.",
    "orders.read.own.own",
    "orders.read(id",
    "orders.read)",
    "orders.read(id).own",
    "orders.read((id))",
    "orders read",
    " orders.read",
    "orders.read ",
    "orders.read.all",
    "**"
  ])(
    "does not read %j",
    (text) => expect(parseCapability(text)).toBeNull()
  )
})

describe("compileRoles", () => {
  it("gives each role its capabilities in order", () => {
    const declared = defineRoles({ admin: ["*"], sales: ["orders.read.own", "*.read(id)"], nobody: [] })
    expect(Result.getOrNull(compileRoles(declared, models))).toEqual(
      new Map([
        ["admin", [{ resource: "*", operation: "*", own: false, fields: null }]],
        ["sales", [
          { resource: "orders", operation: "read", own: true, fields: null },
          { resource: "*", operation: "read", own: false, fields: ["id"] }
        ]],
        ["nobody", []]
      ])
    )
  })

  it.each([
    ["order.read", null, null, /unknown resource "order"/, /Did you mean "orders"/],
    ["orders.reed", null, null, /unknown operation "reed"/, /Did you mean "read"/],
    ["orders", null, null, /is not a capability/, /orders\.read/],
    ["customers.read.own", "customers", null, /no owner field/, /owner/],
    ["orders.read(statu)", "orders", "statu", /unknown field "statu"/, /Did you mean "status"/],
    ["*.read(nowhere)", null, "nowhere", /unknown field/, /./],
    ["orders.read()", "orders", null, /empty name/, /./],
    ["orders.read(id,)", "orders", null, /empty name/, /./],
    ["orders.delete(id)", "orders", null, /delete/, /./],
    ["orders.create(id)", "orders", "id", /no caller can write/, /./],
    ["orders.update(deleted_at)", "orders", "deleted_at", /no caller can write/, /./],
    ["orders.update(ref)", "orders", "ref", /no caller can write/, /./],
    ["customers.update(name)", "customers", null, /explicit rule/, /access\.fields/],
    ["customers.*(name)", "customers", null, /explicit rule/, /access\.fields/],
    ["*.update(name)", "customers", null, /explicit rule/, /access\.fields/]
  ])("refuses %s", (text, resource, field, message, fix) => {
    const refusals = refusalsOf([text, "orders.read"])
    expect(refusals).toHaveLength(1)
    expect(refusals[0]).toMatchObject({ resource, field })
    expect(refusals[0]!.message).toMatch(message)
    expect(refusals[0]!.message).toContain(`Role "sales": "${text}"`)
    expect(refusals[0]!.fix).toMatch(fix)
  })

  it("takes what looks alike but can hold", () => {
    expect(
      refusalsOf([
        "orders.create(ref)",
        "*.own",
        "*.read.own",
        "orders.*(id,ref)",
        "customers.read(name)",
        "customers.update"
      ])
    )
      .toEqual([])
  })

  it("refuses .own everywhere only when no resource has an owner", () => {
    expect(refusalsOf(["*.read.own"], new Map([["customers", customers]]))).toHaveLength(1)
  })

  it("reports everything at once, whatever it is given", () => {
    const declared: unknown = { "Sales Team": ["x.y"], a: null, b: [1, null, {}] }
    const result = compileRoles(declared as { readonly [role: string]: readonly string[] }, models)
    expect(Result.isFailure(result) && result.failure.length).toBe(6)
    for (const wrong of [null, [], "admin"]) {
      expect(Result.isFailure(compileRoles(wrong as unknown as { [role: string]: string[] }, models))).toBe(true)
    }
  })
})

describe("types", () => {
  it("catches a wrong operation while writing", () => {
    expectTypeOf<"orders.read.own(id)">().toExtend<CapabilityText>()
    expectTypeOf<"*">().toExtend<CapabilityText>()
    expectTypeOf<"orders.reed">().not.toExtend<CapabilityText>()
    expectTypeOf<"orders">().not.toExtend<CapabilityText>()
  })
})
