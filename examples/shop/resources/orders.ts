/** The orders. Each belongs to the seller who looks after it, and sellers work on their own orders only. */

import { defineResource, f, relation, where } from "resource-admin"
import { customers } from "./customers.ts"
import { staff } from "./staff.ts"

export const orders = defineResource("orders", {
  table: "shop.orders",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  owner: "owner_id",
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    customer_id: relation(customers).filterable(),
    owner_id: relation(staff).filterable(),
    status: f.enum(["draft", "pending", "paid", "shipped", "cancelled", "refunded"]).filterable().default("draft"),
    channel: f.enum(["web", "phone", "store"]).filterable().default("web"),
    total: f.decimal({ precision: 12, scale: 2 }).filterable().sortable().default("0.00"),
    currency: f.currency().filterable().default("EUR"),
    ship_country: f.country().filterable(),
    due_on: f.date().optional().filterable().sortable(),
    note: f.text().max(2000).optional().searched().multiline(),
    invoice: f.file().optional().accept(["application/pdf"]).maxSize("10 MB"),
    internal_note: f.text().max(2000).optional().sensitive(),
    created_at: f.timestamp().readOnly().dbDefault().filterable().sortable().alias("created"),
    updated_at: f.timestamp(),
    deleted_at: f.timestamp().optional()
  },
  validate: [
    ({ total }) => Number(total) < 0 ? [{ field: "total", message: "Must not be negative." }] : null,
    ({ due_on, status }) =>
      status === "pending" && due_on === null
        ? [{ field: "due_on", message: "A pending order needs the day on which payment is due." }]
        : null
  ],
  access: {
    // Read and create have no rule: roles.ts decides them.
    // A function of the record: decided for each record, inside the write transaction. It reads the record only where it must, so that
    // everybody else has their answer at once.
    update: (context) => {
      const { caller } = context
      if (caller.roles.includes("admin")) return true
      if (!caller.roles.includes("sales")) return false
      const { owner_id, status } = context.record
      return owner_id === caller.id && status !== "shipped"
    },
    // A function of the caller that answers a filter.
    delete: ({ caller }) =>
      caller.roles.includes("admin")
        ? true
        : caller.roles.includes("sales") && where`status = "draft" AND owner_id = caller.id`,
    fields: {
      internal_note: { read: ["admin", "sales"] },
      deleted_at: { read: ["admin"] }
    }
  },
  events: {
    created: true,
    updated: true,
    deleted: true,
    large_order: { on: ["create"], match: ({ after }) => Number(after?.total) >= 1000 },
    paid: {
      on: ["update"],
      match: ({ after, before }) => before?.status !== "paid" && after?.status === "paid"
    }
  }
})
