/** What was sold in each month and currency: a materialized view, so lists say how old it is. It is refreshed each night, and when an admin asks. */

import { defineResource, f } from "resource-admin"

export const monthlySales = defineResource("monthly_sales", {
  table: "shop.monthly_sales",
  materialized: { schedule: "0 3 * * *" },
  primaryKey: ["month", "currency"],
  tenant: f.integer().column("tenant_id"),
  fields: {
    month: f.date().filterable().sortable(),
    currency: f.currency().filterable(),
    orders: f.integer().bits(64).filterable().sortable(),
    total: f.decimal().filterable().sortable()
  },
  access: { refresh: ["admin"] }
})
