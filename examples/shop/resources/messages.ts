/** What visitors write to the shop, by the public form `contact`. Whoever answers a message marks it as done. */

import { defineResource, f } from "resource-admin"

export const messages = defineResource("messages", {
  table: "shop.messages",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    name: f.text().max(120).searched(),
    email: f.text().max(254).searched(),
    topic: f.enum(["order", "product", "other"]).filterable().default("other"),
    message: f.text().max(4000).searched(),
    done: f.boolean().filterable().default(false),
    received_at: f.timestamp().readOnly().dbDefault().filterable().sortable(),
    updated_at: f.timestamp()
  },
  validate: [
    ({ email }) => /^\S+@\S+$/.test(email) ? null : [{ field: "email", message: "Must be an email address." }]
  ]
})
