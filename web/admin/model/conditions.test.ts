import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import type { MetaDocument, MetaField } from "../../client/index.ts"
import { catalogueOf } from "./catalogue.ts"
import {
  checkSimple,
  printConditions,
  readConditions,
  type Simple,
  simpleOf,
  textOfSimple,
  withCondition
} from "./conditions.ts"
import { subjectAt } from "./subjects.ts"

const field = (name: string, kind: string, more: object = {}) => ({
  name,
  kind,
  optional: false,
  readOnly: false,
  writable: { create: true, update: true },
  filterable: true,
  sortable: true,
  searched: false,
  sensitive: false,
  ...more
} as unknown as MetaField)

const catalogue = catalogueOf({
  user: { id: "u", roles: ["admin"], tenant: null },
  models: [{
    name: "orders",
    primaryKey: ["id"],
    fields: [
      field("id", "integer", { bits: 64 }),
      field("status", "enum", { values: ["draft", "paid", "shipped"] }),
      field("total", "decimal", { precision: 12, scale: 2 }),
      field("note", "text", { optional: true, searched: true }),
      field("created_at", "timestamp", { alias: "created" }),
      field("due_on", "date", { optional: true }),
      field("open", "boolean"),
      field("customer_id", "integer", { optional: true, relation: "customers" }),
      field("tags", "array", { optional: true, items: { kind: "text", max: 20 } }),
      field("marks", "array", { items: { kind: "decimal", precision: 12, scale: 2 } }),
      field("odd", "array"),
      field("scan", "file", { optional: true, filterable: false }),
      field("photos", "files", { optional: true, filterable: false })
    ],
    relations: [
      { name: "customer", resource: "customers", many: false, field: "customer_id", targetField: "id" },
      { name: "lost", resource: "nowhere", many: false, field: "customer_id", targetField: "id" },
      { name: "lines", resource: "lines", many: true, field: "id", targetField: "order_id" }
    ],
    softDelete: false,
    tenantScoped: false,
    owner: null,
    version: null
  }, {
    name: "customers",
    primaryKey: ["id"],
    fields: [field("id", "integer", { bits: 64 }), field("country", "country")],
    relations: [{ name: "orders", resource: "orders", many: true, field: "id", targetField: "customer_id" }],
    softDelete: false,
    tenantScoped: false,
    owner: null,
    version: null
  }, {
    name: "lines",
    primaryKey: ["id"],
    fields: [
      field("id", "integer", { bits: 64 }),
      field("order_id", "integer", { relation: "orders" }),
      field("product_id", "integer", { relation: "products" }),
      field("quantity", "integer")
    ],
    relations: [
      { name: "order", resource: "orders", many: false, field: "order_id", targetField: "id" },
      { name: "product", resource: "products", many: false, field: "product_id", targetField: "id" }
    ],
    softDelete: false,
    tenantScoped: false,
    owner: null,
    version: null
  }, {
    name: "products",
    primaryKey: ["id"],
    fields: [field("id", "integer", { bits: 64 }), field("name", "text", { label: "Called" })],
    relations: [],
    softDelete: false,
    tenantScoped: false,
    owner: null,
    version: null
  }],
  views: {},
  transfers: {},
  permissions: {},
  userMenu: [],
  pages: [],
  sources: []
} as unknown as MetaDocument)
const orders = catalogue.resources.get("orders")!

const read = (text: string) => Result.getOrThrow(readConditions(text, orders))

describe("conditions of a filter", () => {
  it("go through the relations that the service names", () => {
    const text = "customer.country = \"DE\" AND has(customer, \"count(orders) > 3\") AND status = \"paid\""
    const conditions = read(text)
    expect(printConditions(conditions.map((each) => each.text))).toBe(text)
    expect(conditions.map(({ simple }) => simple?.field ?? null)).toEqual(["customer.country", null, "status"])
    const refused = readConditions("lost.id = 1", orders)
    expect(Result.isFailure(refused) && refused.failure[0]!.hint).toBe("The relations here: customer, lines.")
  })

  it.each<readonly [string, Simple | null]>([
    ["customer.country = NO", { field: "customer.country", is: "is", values: ["NO"] }],
    ["customer.country != NO", { field: "customer.country", is: "isNot", values: ["NO"] }],
    ["in(customer.country, NO, DE)", { field: "customer.country", is: "oneOf", values: ["NO", "DE"] }],
    ["customer.country = NO OR customer.country = DE", {
      field: "customer.country",
      is: "oneOf",
      values: ["NO", "DE"]
    }],
    ["NOT in(customer.country, NO, DE)", { field: "customer.country", is: "noneOf", values: ["NO", "DE"] }],
    ["isNull(customer.country)", { field: "customer.country", is: "empty", values: [] }],
    ["customer.country = null", { field: "customer.country", is: "empty", values: [] }],
    ["customer.country:*", { field: "customer.country", is: "notEmpty", values: [] }],
    ["lines.quantity > 10", { field: "lines.quantity", is: "over", values: ["10"] }],
    ["lines.product.name:chair", { field: "lines.product.name", is: "contains", values: ["chair"] }],
    ["customer.orders.created > now() - 30d", { field: "customer.orders.created_at", is: "inLast", values: ["30d"] }],
    ["has(lines)", { field: "count(lines)", is: "notEmpty", values: [] }],
    ["NOT has(lines)", { field: "count(lines)", is: "empty", values: [] }],
    ["count(lines) >= 3", { field: "count(lines)", is: "atLeast", values: ["3"] }],
    ["count(lines) != 0", { field: "count(lines)", is: "isNot", values: ["0"] }],
    ["has(lines, \"quantity > 10\")", { field: "lines.quantity", is: "over", values: ["10"] }],
    // One record must pass all of it, or must be there and lack a value: no chip says that.
    ["has(lines, \"quantity > 10 AND product.name:chair\")", null],
    ["has(lines, \"quantity != 1\")", null],
    ["has(lines, \"isNull(quantity)\")", null],
    ["has(customer, \"count(orders) > 5\")", null],
    ["has(lines.product)", null],
    ["NOT lines.quantity > 10", null],
    ["count(lines, \"quantity > 1\") >= 3", null],
    ["NOT count(lines) >= 3", null],
    ["customer.country = NO OR lines.quantity = 1", null]
  ])("through relations are taken apart, and come back: %s", (text, simple) => {
    const [condition, ...more] = read(text)
    expect(more).toEqual([])
    expect(condition!.simple).toEqual(simple)
    const again = simple === null ? text : textOfSimple(simple, orders)!
    expect(read(again)[0]!.simple).toEqual(simple)
    expect(read(condition!.text)[0]!.simple).toEqual(simple)
  })

  it("on related records name only what the caller sees", () => {
    expect(subjectAt(orders, "customer.country")!.resource.name).toBe("customers")
    expect(subjectAt(orders, "count(lines)")!.field.kind).toBe("integer")
    for (
      const text of ["lost.id", "customer.secret", "count(lost)", "count(customer.orders)", "customer.", ".id", ""]
    ) {
      expect(subjectAt(orders, text)).toBeUndefined()
      const written = textOfSimple({ field: text, is: "is", values: ["1"] }, orders)
      expect(written === null || Result.isFailure(readConditions(written, orders))).toBe(true)
    }
  })

  it("on a number are never more than a number", () => {
    const asked = (value: string) => checkSimple({ field: "count(lines)", is: "atLeast", values: [value] }, orders)!
    expect(asked("3")).toEqual(Result.succeed("count(lines) >= 3"))
    for (const hostile of ["3 OR status = paid", "-1", "x", "3) AND (1"]) {
      expect(Result.isFailure(asked(hostile))).toBe(true)
    }
    expect(checkSimple({ field: "count(lines)", is: "atLeast", values: [] }, orders)).toBeNull()
  })

  it.each<readonly [string, readonly (Simple | null)[]]>([
    ["", []],
    ["status = paid", [{ field: "status", is: "is", values: ["paid"] }]],
    ["status = draft OR status = paid", [{ field: "status", is: "oneOf", values: ["draft", "paid"] }]],
    ["in(status, paid, shipped) AND total >= 100", [
      { field: "status", is: "oneOf", values: ["paid", "shipped"] },
      { field: "total", is: "atLeast", values: ["100.00"] }
    ]],
    ["NOT status = paid", [{ field: "status", is: "isNot", values: ["paid"] }]],
    ["created > now() - 30d", [{ field: "created_at", is: "inLast", values: ["30d"] }]],
    ["created_at > now() - 36h", [{ field: "created_at", is: "inLast", values: ["36h"] }]],
    ["note:* due_on = null", [{ field: "note", is: "notEmpty", values: [] }, {
      field: "due_on",
      is: "empty",
      values: []
    }]],
    ["tara", [{ field: "", is: "search", values: ["tara"] }]],
    ["note:\"a \\\"b\\\" *\"", [{ field: "note", is: "contains", values: ["a \"b\" *"] }]],
    ["status = paid OR total > 5", [null]],
    ["regex(note, 'a.c')", [null]]
  ])("are read from %j", (text, simple) => {
    const conditions = read(text)
    expect(conditions.map((each) => each.simple)).toEqual(simple)
    // The text of all of them is the same filter.
    expect(read(printConditions(conditions.map((each) => each.text))).map((each) => each.simple)).toEqual(simple)
  })

  it.each<Simple>([
    { field: "status", is: "noneOf", values: ["draft", "paid"] },
    { field: "total", is: "under", values: ["9999999999.01"] },
    { field: "note", is: "is", values: ["100 % * \"x\" \\ y"] },
    { field: "note", is: "contains", values: ["line\nbreak AND (x"] },
    { field: "due_on", is: "atMost", values: ["2026-02-28"] },
    { field: "open", is: "is", values: ["true"] },
    { field: "", is: "search", values: ["two words"] },
    { field: "created_at", is: "inLast", values: ["7d"] }
  ])("come back as they were written: %j", (simple) => {
    const text = textOfSimple(simple, orders)!
    expect(read(text).map((each) => each.simple)).toEqual([simple])
  })

  it("are refused with the service's own words where a value does not fit", () => {
    const refused = checkSimple({ field: "total", is: "atLeast", values: ["a lot"] }, orders)!
    expect(Result.isFailure(refused) && refused.failure).toContain("total")
    expect(checkSimple({ field: "total", is: "atLeast", values: [] }, orders)).toBeNull()
    expect(Result.isFailure(readConditions("nothing = 1", orders))).toBe(true)
  })

  it.each(["scan = \"a\"", "photos = \"a\"", "scan:*"])("refuse files, as the service does: %s", (text) => {
    const read = readConditions(text, orders)
    expect(Result.isFailure(read) && read.failure.map(({ code }) => code)).toEqual(["not-filterable"])
  })

  it("take the place of one of the same field and operator", () => {
    const simple: Simple = { field: "status", is: "is", values: ["shipped"] }
    expect(withCondition("status = paid AND total > 5", simple, orders)).toBe("total > 5.00 AND status = \"shipped\"")
    expect(withCondition("", simple, orders)).toBe("status = \"shipped\"")
  })

  it("that are more than one thing are not taken apart", () => {
    const [condition] = read("status = paid OR (total > 5 AND open = true)")
    expect(simpleOf(condition!.tree)).toBeNull()
    expect(read(`${condition!.text} AND open = true`)).toHaveLength(2)
  })
})

describe("conditions on lists", () => {
  const orders = catalogue.resources.get("orders")!
  it.each<[Simple, string]>([
    [{ field: "tags", is: "contains", values: ["a b"] }, "tags:\"a b\""],
    [{ field: "tags", is: "oneOf", values: ["a", "b"] }, "in(tags, \"a\", \"b\")"],
    [{ field: "tags", is: "noneOf", values: ["a"] }, "NOT tags:\"a\""],
    [{ field: "tags", is: "noneOf", values: ["a", "b"] }, "NOT in(tags, \"a\", \"b\")"],
    [{ field: "tags", is: "empty", values: [] }, "NOT length(tags) > 0"],
    [{ field: "tags", is: "notEmpty", values: [] }, "length(tags) > 0"],
    [{ field: "marks", is: "contains", values: ["1.50"] }, "marks:1.50"],
    [{ field: "odd", is: "contains", values: ["x"] }, "odd:\"x\""]
  ])("%j is %s, and read back", (simple, text) => {
    expect(textOfSimple(simple, orders)).toBe(text)
    const [condition] = Result.getOrThrow(readConditions(text, orders))
    expect(condition!.simple).toEqual(simple)
  })

  it("are checked by the kind of the elements, and stay text where they are not simple", () => {
    expect(checkSimple({ field: "marks", is: "contains", values: ["x"] }, orders)).toMatchObject({ _tag: "Failure" })
    expect(textOfSimple({ field: "tags", is: "oneOf", values: [] }, orders)).toBeNull()
    for (const text of ["length(tags) >= 2", "NOT length(tags) > 1"]) {
      const [condition] = Result.getOrThrow(readConditions(text, orders))
      expect(condition!.simple).toBeNull()
    }
    // One value of a list beside another: both must be there.
    expect(withCondition("tags:\"a\"", { field: "tags", is: "is", values: ["b"] }, orders)).toBe(
      "tags:\"a\" AND tags:\"b\""
    )
  })
})
