/** Words on products. The key is composite: `/api/v1/product_tags/17,new` is the tag "new" of product 17. */

import { defineResource, f, relation } from "resource-admin"
import { products } from "./products.ts"

export const productTags = defineResource("product_tags", {
  table: "shop.product_tags",
  primaryKey: ["product_id", "tag"],
  tenant: f.integer().column("tenant_id"),
  fields: {
    product_id: relation(products).inverse("tags").filterable().sortable(),
    tag: f.text().max(30).filterable().sortable(),
    added_at: f.timestamp().readOnly().dbDefault()
  },
  validate: [
    ({ tag }) =>
      /^[a-z0-9-]+$/.test(tag) ? null : [{ field: "tag", message: "Use lower-case letters, digits and hyphens." }]
  ]
})
