/**
 * What examples of the documentation use and do not declare: the reader's own things, on the tables of the example shop. typescript.test.ts makes them global
 * for the examples alone. It needs `DATABASE_URL`, with the shop's tables.
 */

import { Pool } from "pg"
import { createAuth, defineFunction, defineResource, defineRoles, f } from "resource-admin"
import { createClient } from "resource-admin/client"
import { makeOutbox } from "../../adapters/mail/outbox.ts"

export const orders = defineResource("orders", {
  table: "shop.orders",
  primaryKey: "id",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    customer_id: f.integer().bits(64).filterable(),
    owner_id: f.text().filterable(),
    status: f.enum(["draft", "pending", "paid", "shipped", "cancelled", "refunded"]).filterable().sortable(),
    total: f.decimal({ precision: 12, scale: 2 }).filterable().sortable(),
    currency: f.currency().filterable(),
    note: f.text().max(2000).optional().searched(),
    parcel: f.text().column("internal_note").optional(),
    created_at: f.timestamp().readOnly().dbDefault().filterable().sortable(),
    updated_at: f.timestamp()
  },
  events: { created: true, updated: true, deleted: true }
})

export const customers = defineResource("customers", {
  table: "shop.customers",
  primaryKey: "id",
  fields: { id: f.integer().bits(64).readOnly().dbDefault(), name: f.text().max(120).searched() }
})

export const resources = [orders, customers] as const
export const roles = defineRoles({ admin: ["*"], sales: ["orders.*"], finance: ["*.read"] })

export const ship = defineFunction({ roles: true, run: () => undefined })

export const secret = "a secret of the tests, long enough"
export const password = "correct horse battery"
export const url = "http://localhost:5173"
export const pool = new Pool({ connectionString: process.env["DATABASE_URL"] })
export const auth = createAuth({ database: pool, secret, url, roles: ["sales", "finance"], tenant: 1 })

export const token = "a token"
/** run.ts has one that is answered. */
export const client = createClient({ baseUrl: url, token })
export const mail = makeOutbox()

export const customer = { name: "Ada", email: "ada@example.com" }
export const link = "https://shop.example/start"
export const clientSecret = "a secret of the provider"
export const directory = { user: (id: string) => Promise.resolve({ id, roles: ["sales"] }) }
