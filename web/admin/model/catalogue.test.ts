import { expect, it } from "vitest"
import type { MetaDocument, MetaField } from "../../client/meta.ts"
import {
  aboutOf,
  catalogueOf,
  expandsFor,
  fieldLabel,
  recentNeeds,
  type Resource,
  titleNeeds,
  titleOf,
  titlesOf
} from "./catalogue.ts"

const of = (primaryKey: readonly string[], ...fields: ReadonlyArray<Partial<MetaField> & { readonly name: string }>) =>
  ({
    model: { primaryKey },
    fields: new Map(fields.map((field) => [field.name, field]))
  }) as unknown as Pick<Resource, "fields" | "model">

it.each([
  [of(["customer_id"], { name: "customer_id" }), "customer_id", "ID"],
  [of(["id"], { name: "id" }), "id", "ID"],
  [of(["customer_id"], { name: "customer_id", label: "Number" }), "customer_id", "Number"],
  // A key that is another record's, a key of several fields, a key with a name of its own.
  [of(["customer_id"], { name: "customer_id", relation: "customers" }), "customer_id", "Customer"],
  [of(["order_id", "line"], { name: "order_id" }, { name: "line" }), "order_id", "Order"],
  [of(["code"], { name: "code" }), "code", "Code"],
  [of(["history_id"], { name: "history_id" }), "history_id", "Version"],
  [of(["id"], { name: "customer_id" }), "customer_id", "Customer"],
  [of(["id"], { name: "created_at", label: { of: "a hostile source" } as never }), "created_at", "Created"],
  [of(["id"], { name: "created_at", label: "Since" }), "created_at", "Since"]
])("reads fields as people do: %#", (resource, name, label) => {
  expect(fieldLabel(resource, name)).toBe(label)
})

it.each([
  ["Who has ordered something.", "Who has ordered something."],
  [undefined, null],
  ["\u200b ", null],
  [{ of: "a hostile source" }, null],
  ["x".repeat(9_000), `${"x".repeat(2_000)}…`]
])("says what records are: %#", (description, text) => {
  expect(aboutOf({ model: { description } } as unknown as Resource)).toBe(text)
})

it("calls a record by those that it joins, and by those that they join", () => {
  const field = (name: string, relation?: string) => ({
    name,
    kind: "text",
    ...(relation === undefined ? {} : { relation })
  })
  const to = (name: string) => ({ name, resource: name, many: false, field: `${name}_id`, targetField: "id" })
  const model = (name: string, targets: readonly string[]) => ({
    name,
    primaryKey: ["id"],
    fields: [field("id"), field("name"), ...targets.map((target) => field(`${target}_id`, target))],
    relations: targets.map(to)
  })
  const view = (title: string) => ({ label: { singular: "One", plural: "All" }, title, nav: null })
  const { resources } = catalogueOf({
    models: [
      model("person", []),
      model("place", []),
      model("store", ["person", "place"]),
      model("item", ["store"]),
      model("part", ["item", "person"])
    ],
    views: {
      person: view("name"),
      place: view("name"),
      store: view("{person_id} · {place_id}"),
      item: view("{store_id}||{name}"),
      part: view("{item_id}")
    },
    permissions: {},
    transfers: {},
    pages: [],
    userMenu: []
  } as unknown as MetaDocument)
  const mira = { id: "1", name: "Mira" }
  const store = { id: "7", person_id: "1", place_id: "2" }
  const whole = { ...store, expand: { person: mira, place: { id: "2", name: "Kiel" } } }
  const titled = (name: string, record: object, related?: boolean) =>
    titleOf(resources.get(name)!, record as { readonly [field: string]: unknown }, related)
  expect(titled("store", whole)).toBe("Mira · Kiel")
  expect(titled("store", { ...store, expand: { person: mira } })).toBe("Mira · #2")
  expect(titled("item", { id: "9", store_id: "7", expand: { store: whole } })).toBe("Mira · Kiel")
  // Keys of keys name nothing, and no title reads further than the service gives.
  expect(titled("item", { id: "9", store_id: "7", expand: { store } })).toBe("#7")
  expect(titled("item", { id: "9", store_id: "7", expand: { store: { ...store, expand: { person: mira } } } })).toBe(
    "Mira"
  )
  expect(titled("store", { ...store, expand: { person: mira } }, true)).toBe("Mira")
  expect(
    titled("part", { id: "3", item_id: "9", expand: { item: { id: "9", store_id: "7", expand: { store: whole } } } })
  )
    .toBe("#9")
  expect(titled("item", { id: "9", name: "Lamp" })).toBe("Lamp")
  expect(titled("item", { id: "9", name: "\u200b" })).toBe("#9")
  expect(titleNeeds(resources.get("store")!)).toEqual({
    fields: ["id", "person_id", "place_id"],
    expand: ["person", "place"]
  })
  expect(titleNeeds(resources.get("item")!)).toEqual({
    fields: ["id", "store_id", "name"],
    expand: ["store.person", "store.place"]
  })
  // One way of each field comes first, and a request names at most ten.
  expect(expandsFor(resources.get("item")!, ["name", "store_id"])).toEqual(["store.person", "store.place"])
  expect(expandsFor(resources.get("part")!, ["item_id", "person_id"])).toEqual(["item.store", "person"])
  const many = Array.from({ length: 12 }, (_, at) => `t${at}`)
  const { resources: wide } = catalogueOf({
    models: [
      model("leaf", []),
      model("pair", ["leaf", "t0"]),
      ...many.map((name) => model(name, [])),
      model("hub", ["pair", ...many])
    ],
    views: { leaf: view("name"), pair: view("{leaf_id} · {t0_id}") },
    permissions: {},
    transfers: {},
    pages: [],
    userMenu: []
  } as unknown as MetaDocument)
  expect(expandsFor(wide.get("hub")!, wide.get("hub")!.fields.keys())).toEqual(["pair.leaf", ...many.slice(0, 9)])
})

it("tells records without a name apart by the record that they belong to", () => {
  const field = (name: string, kind: string, relation?: string) => ({
    name,
    kind,
    ...(relation === undefined ? {} : { relation })
  })
  const view = (title: string | null, columns: readonly string[]) => ({
    label: { singular: "One", plural: "All" },
    title,
    columns,
    nav: null
  })
  const to = { name: "customer", resource: "customers", many: false, field: "customer_id", targetField: "id" }
  const { resources } = catalogueOf({
    models: [
      { name: "customers", primaryKey: ["id"], fields: [field("id", "integer"), field("name", "text")], relations: [] },
      {
        name: "orders",
        primaryKey: ["id"],
        fields: [field("id", "integer"), field("customer_id", "integer", "customers")],
        relations: [to]
      }
    ],
    views: { customers: view("name", ["name"]), orders: view("id", ["id", "customer_id"]) },
    permissions: {},
    transfers: {}
  } as unknown as MetaDocument)
  const orders = resources.get("orders")!
  expect(recentNeeds(orders)).toEqual({ fields: ["id", "customer_id"], expand: ["customer"] })
  const order = { id: "1000000", customer_id: 7, expand: { customer: { id: 7, name: "Tara Novak" } } }
  expect(titlesOf(orders, order)).toEqual(["#1000000", "Tara Novak"])
  expect(titlesOf(orders, { id: "1000000", customer_id: 7 })).toEqual(["#1000000"])
  expect(titlesOf(resources.get("customers")!, { id: 7, name: "Tara Novak" })).toEqual(["Tara Novak"])
})
