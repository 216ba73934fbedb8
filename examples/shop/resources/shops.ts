/** The shops of this installation, one row a tenant. Everybody sees their own shop only; nobody opens or closes one over the API. */

import { defineResource, f, where } from "resource-admin"

export const shops = defineResource("shops", {
  table: "shop.tenants",
  primaryKey: "id",
  version: "updated_at",
  fields: {
    id: f.integer().readOnly().dbDefault().filterable(),
    name: f.text().max(120),
    country: f.country(),
    currency: f.currency(),
    updated_at: f.timestamp()
  },
  access: {
    // A filter: the database leaves out every other row, in lists, gets and writes alike.
    read: where`id = caller.tenant`,
    create: false,
    update: ["admin"],
    delete: false
  }
})
