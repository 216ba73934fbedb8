/**
 * Types of the client over the example shop. Nothing here runs: `npm run typecheck` fails where a line that must not compile does, or one that must compile
 * does not.
 */

import { defineConfig, defineResource, f } from "resource-admin"
import { and, createClient, now, or } from "resource-admin/client"
import type { Client, FileValue, Json, RecordIn } from "resource-admin/client"
import { adminHooks } from "resource-admin/react"
import type config from "../../examples/shop/admin.config.ts"
import type { config as filesConfig } from "../http/files/stage.ts"
import type { Whole } from "./whole.ts"

type Shop = typeof config

/** Fails to compile unless both are the same type. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(equal: Same<A, B>): boolean => equal

export const names = (client: Client<Shop>) => {
  client.resource("orders")
  // @ts-expect-error There is no such resource.
  client.resource("order")
}

export const records = async (client: Client<Shop>) => {
  const order = await client.resource("orders").get("1")
  same<typeof order.id, string>(true)
  same<typeof order.total, string>(true)
  same<typeof order.note, string | null>(true)
  same<typeof order.status, "draft" | "pending" | "paid" | "shipped" | "cancelled" | "refunded">(true)
  same<typeof order.etag, string>(true)
  // @ts-expect-error There is no such field.
  void order.colour
  const part = await client.resource("orders").get("1", { fields: ["id", "total"] })
  void part.total
  // @ts-expect-error It was not asked for.
  void part.note
  // @ts-expect-error There is no such field to ask for.
  await client.resource("orders").get("1", { fields: ["colour"] })
  await client.resource("product_tags").get(["1", "new"])
  // @ts-expect-error A key is no object.
  await client.resource("orders").get({ id: "1" })
}

const listed = defineConfig({
  resources: [
    defineResource("things", {
      primaryKey: "id",
      fields: {
        id: f.integer(),
        tags: f.array(f.text().max(9)).max(5).filterable(),
        small: f.array(f.integer()).filterable(),
        big: f.array(f.integer().bits(64).optional()).optional().filterable(),
        states: f.array(f.enum(["a", "b"])).filterable().default(["a"]),
        times: f.array(f.timestamp()).filterable(),
        meta: f.json({ paths: { "size.width": f.decimal().filterable().sortable() } }),
        words: f.searchVector()
      }
    })
  ]
})

export const arrays = async (client: Client<typeof listed>) => {
  const things = client.resource("things")
  const thing = await things.get(1)
  same<typeof thing.tags, readonly string[]>(true)
  same<typeof thing.small, readonly number[]>(true)
  same<typeof thing.big, readonly (string | null)[] | null>(true)
  same<typeof thing.states, readonly ("a" | "b")[]>(true)
  await things.create({ id: 1, tags: ["x"], small: [], times: [] })
  // @ts-expect-error An element of another kind.
  await things.update(1, { small: ["1"] }, { etag: thing.etag })
  // @ts-expect-error Nothing is added to a list.
  await things.update(1, { small: { $add: 1 } }, { etag: thing.etag })
  await things.list({
    filter: (t) => and(t.tags.contains("x"), t.big.in(["1", "2"]), t.states.contains("b"), t.times.contains(new Date()))
  })
  await things.list({ filter: (t) => or(t.tags.length.ge(2), t.big.isNull()) })
  // @ts-expect-error No such state.
  await things.list({ filter: (t) => t.states.contains("c") })
  // @ts-expect-error Lists are compared by their elements.
  await things.list({ filter: (t) => t.tags.eq("x") })
  // @ts-expect-error An element of an array says its kind, not where it stands.
  f.array(f.text().filterable())
  // @ts-expect-error Arrays have one dimension.
  f.array(f.array(f.text()))
  // @ts-expect-error Numbers have no length to bound.
  f.integer().max(3)
}

export const relations = async (client: Client<Shop>) => {
  const orders = client.resource("orders")
  const order = await orders.get("1", { expand: ["customer", "lines", "lines.product"] })
  same<NonNullable<NonNullable<typeof order.expand>["customer"]>["city"], string>(true)
  same<NonNullable<NonNullable<typeof order.expand>["lines"]>[number]["quantity"], number>(true)
  const shaped = await orders.get("1", {
    fields: ["id", "customer.city"],
    expand: ["lines(page_size: 3, order_by: \"quantity\").product(fields: \"name\")"]
  })
  same<NonNullable<NonNullable<typeof shaped.expand>["lines"]>["items"][number]["quantity"], number>(true)
  same<NonNullable<NonNullable<typeof shaped.expand>["lines"]>["more"], boolean>(true)
  void shaped.id
  // @ts-expect-error only the fields that were asked for
  void shaped.total
  const counted = await orders.list({ expand: ["lines(count)", "customer(fields: \"city\")"] })
  same<NonNullable<NonNullable<typeof counted.items[number]["expand"]>["lines"]>["count"], number>(true)
  const filtered = await orders.list({ expand: ["lines(filter: \"quantity > 1\")"] })
  same<NonNullable<NonNullable<typeof filtered.items[number]["expand"]>["lines"]>[number]["quantity"], number>(true)
  const deep = await client.resource("customers").get("1", { expand: ["orders.lines(count)"] })
  same<
    NonNullable<NonNullable<NonNullable<typeof deep.expand>["orders"]>[number]["expand"]>["lines"],
    { readonly count: number } | undefined
  >(true)
  // @ts-expect-error there is no such relation
  await orders.get("1", { expand: ["nope(count)"] })
  // @ts-expect-error nor a path through it
  await orders.get("1", { fields: ["nope.city"] })
  const customer = await client.resource("customers").get("1", { expand: ["orders.owner"] })
  void customer.expand?.orders?.[0]?.total
  // @ts-expect-error The way is called customer.
  await orders.get("1", { expand: ["customer_id"] })
  // @ts-expect-error Products lead to no orders.
  await orders.get("1", { expand: ["lines.orders"] })
}

export const filters = (client: Client<Shop>) => {
  const orders = client.resource("orders")
  orders.where((o) => and(o.status.eq("paid"), or(o.total.ge("100"), o.created_at.gt(now("-7d")), o.due_on.isNull())))
  orders.where((o) => o.status.in(["paid", "shipped"]))
  client.resource("customers").where((c) => or(c.name.contains("acme"), c.name.matches("A*")))
  // @ts-expect-error The field is not filterable.
  orders.where((o) => o.note.eq("x"))
  // @ts-expect-error There is no such field.
  orders.where((o) => o.colour.eq("red"))
  // @ts-expect-error It is none of the enum's values.
  orders.where((o) => o.status.eq("payed"))
  // @ts-expect-error An enum has no order.
  orders.where((o) => o.status.gt("paid"))
  // @ts-expect-error A number contains no text.
  orders.where((o) => o.total.contains("1"))
  // @ts-expect-error A time is no boolean.
  orders.where((o) => o.created_at.eq(true))
  const paid = orders.where((o) => o.status.eq("paid"))
  void orders.list({ filter: paid })
  void orders.list({ filter: "status = paid" })
  // @ts-expect-error It is a filter of orders.
  void client.resource("customers").list({ filter: paid })
}

const slots = defineResource("slots", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable(),
    opens: f.time().filterable(),
    price: f.money().filterable(),
    content: f.bytes({ max: 10 }).filterable(),
    during: f.range("timestamp").filterable(),
    place: f.native("point").filterable().optional()
  }
})

const slotsConfig = defineConfig({ resources: [slots] })

export const kinds = async (client: Client<typeof slotsConfig>) => {
  const all = client.resource("slots")
  const slot = await all.get(1)
  same<typeof slot.during, string>(true)
  same<typeof slot.place, string | null>(true)
  all.where((s) =>
    and(s.opens.ge("09:00"), s.price.lt(10), s.content.eq("AA=="), s.during.contains("2026-01-31T00:00:00Z"))
  )
  all.where((s) => or(s.during.gt("empty"), s.place.isNull()))
  // @ts-expect-error Bytes have no order.
  all.where((s) => s.content.gt("AA=="))
  // @ts-expect-error A native value is compared with nothing.
  all.where((s) => s.place.eq("(1,2)"))
  // @ts-expect-error There are no ranges of texts.
  f.range("text")
}

export const groups = async (client: Client<Shop>) => {
  const orders = client.resource("orders")
  const { groups } = await orders.aggregate({
    group_by: ["status", "month(created_at)", "due_on"],
    measures: ["count", "sum(total)", "count_distinct(customer_id)"],
    having: "count > 1",
    order_by: ["sum(total) desc", "month(created_at)"]
  })
  const [{ group, measures } = {}] = groups as readonly Partial<typeof groups[number]>[]
  same<NonNullable<typeof group>["status"], "draft" | "pending" | "paid" | "shipped" | "cancelled" | "refunded">(true)
  same<NonNullable<typeof group>["month(created_at)"], string | null>(true)
  same<NonNullable<typeof group>["due_on"], string | null>(true)
  same<NonNullable<typeof measures>["count"], number>(true)
  same<NonNullable<typeof measures>["count_distinct(customer_id)"], number>(true)
  same<NonNullable<typeof measures>["sum(total)"], string | null>(true)
  same<Awaited<ReturnType<typeof orders.aggregate>>["groups"][number]["measures"]["count"], number>(true)
  const related = await orders.aggregate({ group_by: ["customer.country", "year(customer.created_at)"] })
  same<typeof related.groups[number]["group"]["customer.country"], Json>(true)
  same<typeof related.groups[number]["group"]["year(customer.created_at)"], string | null>(true)
  void orders.facets({ field: "customer.country" })
  // @ts-expect-error There is no such relation.
  void orders.facets({ field: "buyer.country" })
  // @ts-expect-error It was not asked for.
  void measures?.["avg(total)"]
  // @ts-expect-error There is no such field.
  void orders.aggregate({ group_by: ["colour"] })
  // @ts-expect-error There is no such bucket.
  void orders.aggregate({ group_by: ["decade(created_at)"] })
  // @ts-expect-error There is no such measure.
  void orders.aggregate({ measures: ["stddev(total)"] })
  // @ts-expect-error The order is by what the answer has.
  void orders.aggregate({ group_by: ["status"], order_by: "total" })
}

export const expressions = (client: Client<typeof listed>) => {
  const things = client.resource("things")
  void things.list({ order_by: ["meta.size.width desc", "rank(words, \"lamp\") desc"] })
  // @ts-expect-error It has no paths.
  void things.list({ order_by: "id.size" })
}

export const orders = (client: Client<Shop>) => {
  const orders = client.resource("orders")
  void orders.list({ order_by: ["created_at desc", "id"] })
  // @ts-expect-error The field is not sortable.
  void orders.list({ order_by: "status" })
  // @ts-expect-error There is no such direction.
  void orders.list({ order_by: "id down" })
  void orders.list({ order_by: ["customer.city desc", "id"] })
  // @ts-expect-error There is no such relation.
  void orders.list({ order_by: "nope.city" })
  // @ts-expect-error It leads to several records.
  void orders.list({ order_by: "lines.quantity" })
  // @ts-expect-error There is no such parameter.
  void orders.list({ limit: 10 })
}

export const bodies = (client: Client<Shop>) => {
  const orders = client.resource("orders")
  void orders.create({ customer_id: "1", ship_country: "NO" })
  // @ts-expect-error The country is required.
  void orders.create({ customer_id: "1" })
  // @ts-expect-error The field is read-only.
  void orders.create({ customer_id: "1", ship_country: "NO", id: "7" })
  // @ts-expect-error The service sets the version itself.
  void orders.update("1", { updated_at: "2026-01-01T00:00:00Z" }, { etag: "*" })
  const line = { owner_id: "ann", product_id: "1", unit_price: "1.00" }
  void orders.create({ customer_id: "1", ship_country: "NO", lines: [line, { ...line, quantity: 2 }] })
  // @ts-expect-error The order gives its key to its lines.
  void orders.create({ customer_id: "1", ship_country: "NO", lines: [{ ...line, order_id: "1" }] })
  // @ts-expect-error A line has a price.
  void orders.create({ customer_id: "1", ship_country: "NO", lines: [{ owner_id: "ann", product_id: "1" }] })
  void orders.update("1", { total: { $add: "-0.10" } }, { etag: "*" })
  // @ts-expect-error Nothing can be added to a text.
  void orders.update("1", { note: { $add: "!" } }, { etag: "*" })
  // @ts-expect-error A new record has nothing to add to.
  void orders.create({ customer_id: "1", ship_country: "NO", total: { $add: "1" } })
  // @ts-expect-error A decimal is a text, so that it is exact.
  void orders.update("1", { total: 1.5 }, { etag: "*" })
  // @ts-expect-error It is none of the enum's values.
  void orders.update("1", { status: "payed" }, { etag: "*" })
  // @ts-expect-error A version is named with every change.
  void orders.update("1", { note: null })
  // @ts-expect-error There is no such field.
  void orders.update("1", { colour: "red" }, { etag: "*" })
}

export const versions = async (client: Client<Whole>) => {
  const { items: [version] } = await client.resource("notes_history").list({ filter: (v) => v.id.eq("1") })
  same<NonNullable<typeof version>["history_operation"], "create" | "update" | "delete" | "undelete" | null>(true)
  // A version may be older than the field.
  same<NonNullable<typeof version>["text"], string | null>(true)
  const { items: [named] } = await client.resource("notes_history").list({ expand: ["history_by"] })
  same<NonNullable<NonNullable<typeof named>["expand"]>["history_by"], { readonly name: string } | null | undefined>(
    true
  )
  // @ts-expect-error Only versions have makers.
  void client.resource("notes").list({ expand: ["history_by"] })
  // @ts-expect-error Sensitive values are in no version.
  void version!.secret
  // @ts-expect-error It is not tracked.
  client.resource("other_history")
}

export const batches = async (client: Client<Shop>) => {
  const batch = client.batch()
  const order = batch.create("orders", { customer_id: "1", ship_country: "NO" })
  const line = batch.create("order_lines", { order_id: order, product_id: "1", unit_price: order.value("total") })
  // @ts-expect-error There is no such field to refer to.
  order.value("colour")
  // @ts-expect-error The price is required.
  batch.create("order_lines", { order_id: order, product_id: "1" })
  // @ts-expect-error A version is named with every change.
  batch.update("orders", order, { note: "x" })
  const results = await batch.send()
  same<
    ReturnType<
      typeof results.of<typeof line extends { readonly "~result"?: infer R } ? NonNullable<R> : never>
    >["quantity"],
    number
  >(true)
}

export const files = async (client: Client<Shop>) => {
  await client.upload("orders", "invoice", "text")
  await client.resource("products").upload("image", "text")
  // @ts-expect-error The field takes no files.
  await client.upload("orders", "note", "text")
  // @ts-expect-error The field takes no files.
  await client.resource("products").upload("name", "text")
  // @ts-expect-error There is no file field.
  await client.resource("customers").upload("name", "text")
}

export const lists = async (client: Client<typeof filesConfig>) => {
  await client.upload("galleries", "photos", "text")
  const galleries = client.resource("galleries")
  await galleries.upload("notes", "text")
  // @ts-expect-error The field takes no files.
  await galleries.upload("title", "text")
  const gallery = await galleries.get("1")
  const photos: readonly FileValue[] = gallery.photos
  const notes: readonly FileValue[] | null = gallery.notes
  void notes
  // A create may leave out a list.
  await galleries.create({ title: "a", owner_id: "ann" })
  await galleries.update("1", { photos: photos.map(({ uri }) => uri), notes: null }, { etag: "*" })
  // @ts-expect-error A write takes tickets and uris.
  await galleries.update("1", { photos }, { etag: "*" })
  // @ts-expect-error A list that is required is not null.
  await galleries.update("1", { photos: null }, { etag: "*" })
  // @ts-expect-error Files are not filtered.
  galleries.where((g) => g.photos.isNull())
}

export const untyped = async () => {
  const client = createClient()
  await client.upload("anything", "file", "text")
  const record = await client.resource("anything").get("1")
  const colour: Json | undefined = record["colour"]
  void colour
  void client.resource("anything").list({ filter: (o) => o["colour"]!.eq("red"), order_by: "a, b desc" })
  void client.resource("anything").update("1", { colour: "red" }, { etag: "*" })
}

export const Hooked = () => {
  const { useList, useRecord, useSave } = adminHooks<Shop>()
  const { items } = useList("orders", { filter: (o) => o.status.eq("paid"), fields: ["id", "total"] })
  void items[0]?.total
  // @ts-expect-error It was not asked for.
  void items[0]?.note
  const { data } = useRecord("customers", "1")
  same<NonNullable<typeof data>["kind"], "person" | "company">(true)
  // @ts-expect-error There is no such resource.
  useSave("order")
}

export type Order = RecordIn<Shop, "orders">
