/** What lies in the shop, by category: a view of the database. Nobody writes through it. */

import { defineResource, f } from "resource-admin"
import { categories } from "./products.ts"

export const stockByCategory = defineResource("stock_by_category", {
  table: "shop.stock_by_category",
  readOnly: true,
  primaryKey: "category",
  tenant: f.integer().column("tenant_id"),
  fields: {
    category: f.enum(categories).filterable().sortable(),
    products: f.integer().bits(64).filterable().sortable(),
    units: f.integer().bits(64).filterable().sortable(),
    // At the prices that customers pay.
    value: f.decimal().filterable().sortable()
  }
})
