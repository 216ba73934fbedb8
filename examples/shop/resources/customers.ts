/** Who buys. Deleted customers stay in the table, because their orders do. */

import { defineResource, f } from "resource-admin"

export const customers = defineResource("customers", {
  description: "People and companies that have ordered something, or will.",
  table: "shop.customers",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    kind: f.enum(["person", "company"]).default("person").filterable(),
    name: f.text().max(120).searched().filterable().sortable(),
    email: f.text().max(254).searched().filterable(),
    vat_number: f.text().max(20).optional().label("VAT ID").help("Companies only: DE123456789."),
    country: f.country().filterable(),
    city: f.text().max(80).filterable(),
    credit_limit: f.decimal({ precision: 10, scale: 2 }).default("0.00"),
    customer_since: f.date().dbDefault().filterable().sortable(),
    updated_at: f.timestamp(),
    deleted_at: f.timestamp().optional()
  },
  validate: [
    ({ email }) => /^\S+@\S+$/.test(email) ? null : [{ field: "email", message: "Must be an email address." }],
    ({ kind, vat_number }) =>
      kind === "company" && vat_number === null
        ? [{ field: "vat_number", message: "A company needs its VAT number." }]
        : null
  ],
  access: {
    fields: {
      credit_limit: { read: ["admin", "sales"], write: ["admin"] },
      deleted_at: { read: ["admin"] }
    }
  }
})
