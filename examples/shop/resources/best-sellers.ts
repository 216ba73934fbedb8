/** What sold best since a day: the rows of a function of the database, which has a default for that day. */

import { defineResource, f, fn, relation } from "resource-admin"
import { products } from "./products.ts"

export const bestSellers = defineResource("best_sellers", {
  from: fn("shop.best_sellers", { since: f.date().dbDefault().help("The last 30 days, if you leave it empty.") }),
  primaryKey: "product_id",
  tenant: f.integer().column("tenant_id"),
  fields: {
    product_id: relation(products).filterable(),
    quantity: f.integer().bits(64).filterable().sortable(),
    orders: f.integer().bits(64).filterable().sortable()
  }
})
