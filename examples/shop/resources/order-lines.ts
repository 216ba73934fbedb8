/**
 * What was ordered. A line repeats its order's owner, so that own-rows rules hold for it too; the database sees to it that both always
 * agree (schema.sql).
 */

import { defineResource, f, relation } from "resource-admin"
import { orders } from "./orders.ts"
import { products } from "./products.ts"

export const orderLines = defineResource("order_lines", {
  table: "shop.order_lines",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  owner: "owner_id",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    order_id: relation(orders).inverse("lines").filterable(),
    // The database takes it from the order where it is not said.
    owner_id: f.text().dbDefault(),
    position: f.integer().sortable().default(1),
    product_id: relation(products).filterable(),
    quantity: f.integer().default(1),
    unit_price: f.decimal({ precision: 10, scale: 2 }),
    discount: f.decimal({ precision: 5, scale: 2 }).default("0.00"),
    // A generated column: the database computes it, nobody writes it.
    total: f.decimal({ precision: 12, scale: 2 }).readOnly().dbDefault(),
    updated_at: f.timestamp()
  },
  validate: [
    ({ discount, quantity }) => [
      ...(quantity > 0 ? [] : [{ field: "quantity", message: "Must be at least 1." }]),
      ...(Number(discount) >= 0 && Number(discount) <= 100
        ? []
        : [{ field: "discount", message: "Must be from 0 to 100 per cent." }])
    ]
  ],
  access: {
    fields: {
      // Decided per record: ten or more of something may be discounted by whoever may write the line.
      discount: { write: (context) => context.caller.roles.includes("admin") || context.record.quantity >= 10 }
    }
  }
})
