import { describe, expect, expectTypeOf, it } from "vitest"
import type { Caller } from "../access/caller.ts"
import type { Json } from "../value/kind.ts"
import { f, relation } from "./field.ts"
import type { CreateOf, UpdateOf } from "./record.ts"
import { defineResource } from "./resource.ts"
import type { RecordFrom } from "./resource.ts"

const customers = defineResource("customers", {
  primaryKey: "id",
  fields: { id: f.integer().bits(64).readOnly().dbDefault(), name: f.text().searched().max(80) }
})

const lines = defineResource("lines", {
  primaryKey: ["order_id", "line"],
  fields: { order_id: relation("orders"), line: f.integer(), customer_id: relation(customers) }
})

const all = {
  id: f.integer().readOnly().bits(64).dbDefault(),
  small: f.integer().bits(16).optional(),
  count: f.integer().default(0),
  name: f.text().optional().max(5).searched(),
  active: f.boolean(),
  at: f.timestamp(),
  day: f.date(),
  total: f.decimal({ precision: 12, scale: 2 }),
  ratio: f.float(),
  status: f.enum(["draft", "paid"]).default("draft").optional(),
  key: f.uuid(),
  extra: f.json(),
  currency: f.currency(),
  country: f.country().optional(),
  customer_id: f.relation(customers).optional()
}

const things = defineResource("things", { primaryKey: "id", fields: all })

describe("declarations", () => {
  it("are kept as written", () => {
    const declaration = { primaryKey: "id", fields: { id: f.uuid() } } as const
    const made = defineResource("made", declaration)
    expect(made).toEqual({ _tag: "Resource", name: "made", declaration })
    expect(made.declaration).toBe(declaration)
  })

  it("change no builder that another field was made from", () => {
    const base = f.text().filterable()
    const long = base.max(500).optional().sensitive().column("long_text").searched()
    expect(base.spec).toEqual({ ...f.text().spec, filterable: true })
    expect(long.spec).toEqual({
      ...base.spec,
      max: 500,
      optional: true,
      sensitive: true,
      column: "long_text",
      searched: true
    })
    expect(relation(customers).as("buyer").inverse(false).spec).toMatchObject({
      kind: "relation",
      target: "customers",
      as: "buyer",
      inverse: false
    })
    expect(f.decimal({ precision: 5, scale: 1 }).default("1.5").spec).toMatchObject({
      kind: "decimal",
      precision: 5,
      scale: 1,
      default: { value: "1.5" }
    })
  })
})

describe("types that follow from a declaration", () => {
  it("infers the record", () => {
    expectTypeOf<RecordFrom<typeof things>>().toEqualTypeOf<{
      readonly id: string
      readonly small: number | null
      readonly count: number
      readonly name: string | null
      readonly active: boolean
      readonly at: string
      readonly day: string
      readonly total: string
      readonly ratio: number
      readonly status: "draft" | "paid" | null
      readonly key: string
      readonly extra: Json
      readonly currency: string
      readonly country: string | null
      readonly customer_id: string | null
    }>()
    expectTypeOf<RecordFrom<typeof lines>["order_id"]>().toEqualTypeOf<string | number>()
    expectTypeOf<RecordFrom<typeof lines>["customer_id"]>().toEqualTypeOf<string>()
    expectTypeOf(customers["~key"]).toEqualTypeOf<string>()
    expectTypeOf(customers.name).toEqualTypeOf<"customers">()
  })

  it("infers bodies", () => {
    const fields = { id: f.integer().readOnly(), a: f.text(), b: f.text().optional(), c: f.integer().default(1) }
    expectTypeOf<CreateOf<typeof fields>>().branded.toEqualTypeOf<{
      readonly a: string
      readonly b?: string | null
      readonly c?: number
    }>()
    expectTypeOf<UpdateOf<typeof fields>>().branded.toEqualTypeOf<{
      readonly a?: string
      readonly b?: string | null
      readonly c?: number
    }>()
  })

  it("types rules, validations and events, wherever fields stand in the declaration", () => {
    defineResource("orders", {
      access: {
        read: (context) => {
          expectTypeOf(context).toEqualTypeOf<{ readonly caller: Caller }>()
          return context.caller.roles.includes("sales")
        },
        create: ["sales"],
        update: ({ caller, record }) => {
          expectTypeOf(record.status).toEqualTypeOf<"draft" | "paid" | null>()
          expectTypeOf(record.total).toEqualTypeOf<string>()
          return caller.id === record.owner_id
        },
        delete: { _tag: "Where", text: "status = 'draft'" },
        fields: {
          total: { read: ({ caller }) => caller.tenant !== null, write: ({ record }) => record.status === "draft" }
        }
      },
      validate: [(record) => {
        expectTypeOf(record.id).toEqualTypeOf<number>()
        return record.total === "0.00" ? [{ field: "total", message: "must not be zero" }] : null
      }],
      events: {
        created: true,
        large_order: {
          on: ["create"],
          match: ({ before, after }) => {
            expectTypeOf(before).toEqualTypeOf(after)
            expectTypeOf(after!.id).toEqualTypeOf<number>()
            return after !== null && Number(after.total) > 1000
          }
        }
      },
      primaryKey: "id",
      owner: "owner_id",
      tenant: "tenant_id",
      softDelete: "deleted_at",
      version: f.integer().bits(64).column("version"),
      fields: {
        id: f.integer().readOnly().dbDefault(),
        owner_id: f.text().readOnly(),
        status: f.enum(["draft", "paid"]).optional(),
        total: f.decimal({ precision: 12, scale: 2 })
      }
    })
  })

  it("refuses names and modifiers that do not fit", () => {
    const fields = { id: f.integer(), name: f.text() }
    // @ts-expect-error no such field
    defineResource("a", { fields, primaryKey: "idd" })
    // @ts-expect-error no such field in a composite key
    defineResource("a", { fields, primaryKey: ["id", "naem"] })
    // @ts-expect-error the owner must be a declared field
    defineResource("a", { fields, primaryKey: "id", owner: "owner_id" })
    // @ts-expect-error rules of no such field
    defineResource("a", { fields, primaryKey: "id", access: { fields: { nam: { read: true } } } })
    // @ts-expect-error reads are not decided per record
    defineResource("a", { fields, primaryKey: "id", access: { read: ({ record }) => record.id === 1 } })
    // @ts-expect-error no such operation
    defineResource("a", { fields, primaryKey: "id", access: { list: true } })
    // @ts-expect-error an event of its own needs operations
    defineResource("a", { fields, primaryKey: "id", events: { big: { match: () => true } } })
    // @ts-expect-error only texts are searched
    f.integer().searched()
    // @ts-expect-error only integers have bits
    f.text().bits(64)
    // @ts-expect-error only texts have a length
    f.decimal().max(3)
    // @ts-expect-error no such width
    f.integer().bits(8)
    // @ts-expect-error not one of the values
    f.enum(["a", "b"]).default("c")
    // @ts-expect-error a 64-bit integer's default is text
    f.integer().bits(64).default(1)
    // @ts-expect-error only relations lead somewhere
    f.text().inverse("x")
  })
})
