// The service under measurement: the tables of orders, their owners, lines and products, as a project would declare it. It is started by bench/run.ts with
// PORT, DATABASE_URL and KEY_SET, and says "up" once it answers.
import { defineConfig, defineResource, defineRoles, f, where } from "resource-admin"
import { serve } from "./serving.mjs"

const readOnly = { create: false, update: false, delete: false }

const users = defineResource("users", {
  primaryKey: "id",
  fields: { id: f.uuid().filterable().sortable(), tenant_id: f.integer().filterable() },
  access: readOnly
})

const orders = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  owner: "owner_id",
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    tenant_id: f.integer().bits(32).filterable(),
    owner_id: f.relation("users").filterable(),
    customer_id: f.integer().bits(64).filterable(),
    status: f.enum(["draft", "pending", "paid", "shipped", "cancelled", "refunded"]).filterable().sortable().default(
      "draft"
    ),
    total: f.decimal({ precision: 12, scale: 2 }).filterable().sortable(),
    currency: f.currency().default("EUR"),
    note: f.text().optional().searched().filterable(),
    created_at: f.timestamp().readOnly().dbDefault().filterable().sortable(),
    updated_at: f.timestamp().readOnly().dbDefault(),
    deleted_at: f.timestamp().optional().readOnly()
  },
  access: {
    read: ({ caller }) =>
      caller.roles.includes("admin") ? true : where`tenant_id = caller.tenant AND owner_id = caller.id`,
    fields: { note: { read: ["admin"] }, deleted_at: { read: ["admin"] } }
  }
})

const products = defineResource("products", {
  primaryKey: "id",
  softDelete: "deleted_at",
  fields: {
    id: f.integer().bits(64).filterable(),
    name: f.text().filterable().sortable(),
    category: f.text().filterable(),
    deleted_at: f.timestamp().optional()
  },
  access: readOnly
})

const lines = defineResource("lines", {
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).filterable().sortable(),
    order_id: f.relation("orders").filterable(),
    product_id: f.relation("products").filterable(),
    quantity: f.integer().bits(32).filterable(),
    price: f.decimal({ precision: 12, scale: 2 })
  },
  access: readOnly
})

await serve(defineConfig({
  resources: [users, products, orders, lines],
  roles: defineRoles({ admin: ["*"], clerk: ["orders.read", "orders.update"] })
}))
