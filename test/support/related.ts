/** The catalogue of a small shop with relations in both directions, as its meta document makes it: for tests of the admin app's functions. */

import { catalogueOf } from "../../web/admin/model/catalogue.ts"
import type { MetaDocument, MetaField } from "../../web/client/index.ts"

export const metaField = (name: string, kind: string, more: object = {}) => ({
  name,
  kind,
  optional: false,
  readOnly: false,
  writable: { create: true, update: true },
  filterable: true,
  sortable: true,
  searched: false,
  sensitive: false,
  ...more
} as unknown as MetaField)

const toOne = (name: string, resource: string, field = `${name}_id`) => ({
  name,
  resource,
  many: false,
  field,
  targetField: "id"
})

const toMany = (name: string, targetField: string) => ({ name, resource: name, many: true, field: "id", targetField })

const model = (name: string, fields: readonly MetaField[], relations: readonly object[] = []) => ({
  name,
  primaryKey: ["id"],
  fields: [metaField("id", "integer", { bits: 64 }), ...fields],
  relations,
  softDelete: false,
  tenantScoped: false,
  owner: null,
  version: null
})

/** `lost` leads to a resource that the caller does not see. */
export const related = catalogueOf({
  user: { id: "u", roles: ["admin"], tenant: null },
  models: [
    model("orders", [
      metaField("status", "enum", { values: ["draft", "paid"] }),
      metaField("note", "text", { optional: true }),
      metaField("customer_id", "integer", { optional: true, relation: "customers", label: "Buyer" })
    ], [toOne("customer", "customers"), toOne("lost", "nowhere", "customer_id"), toMany("lines", "order_id")]),
    model("customers", [
      metaField("name", "text"),
      metaField("country", "country"),
      metaField("photo", "file", { filterable: false, sortable: false })
    ], [toMany("orders", "customer_id")]),
    model("lines", [
      metaField("order_id", "integer", { relation: "orders" }),
      metaField("product_id", "integer", { relation: "products" }),
      metaField("quantity", "integer")
    ], [toOne("order", "orders"), toOne("product", "products")]),
    model("products", [metaField("name", "text", { label: "Called" })])
  ],
  views: {},
  transfers: {},
  permissions: {},
  userMenu: [],
  pages: [],
  sources: []
} as unknown as MetaDocument)
