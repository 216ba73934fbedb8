/**
 * The warehouse: a second service with data of its own, which the example shop draws `stock` from. It trusts the shop's tokens and lets the shop's pages
 * call it; what the shop's people may do here is decided here.
 */

import { defineConfig, defineResource, defineRoles, defineView, f, relation } from "resource-admin"

/** Where things lie. The shop does not draw it: there a place is shown by its key. */
export const places = defineResource("places", {
  table: "warehouse.places",
  primaryKey: "id",
  fields: {
    id: f.text().max(10).filterable().sortable(),
    hall: f.text().max(40).filterable()
  }
})

export const stock = defineResource("stock", {
  table: "warehouse.stock",
  primaryKey: "id",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    sku: f.text().max(40).filterable().sortable().searched(),
    name: f.text().max(120).searched(),
    place_id: relation(places).filterable(),
    quantity: f.integer().filterable().sortable().default(0),
    reserved: f.integer().default(0),
    counted_on: f.date().optional(),
    note: f.text().max(500).optional(),
    updated_at: f.timestamp()
  },
  validate: [
    ({ quantity, reserved }) =>
      reserved <= quantity ? null : [{ field: "reserved", message: "No more can be reserved than there is." }]
  ]
})

/** `shop`: the shop's public URL, the issuer of its tokens and the origin of its pages. */
export const warehouse = (shop: string) =>
  defineConfig({
    resources: [stock, places],
    views: [
      defineView(stock, {
        label: { singular: "Article", plural: "Stock" },
        columns: ["sku", "name", "place_id", "quantity", "reserved"],
        sort: "sku",
        filters: [{ name: "Empty", filter: "quantity = 0" }],
        title: "name",
        nav: { group: "Warehouse", order: 1, icon: "box" }
      })
    ],
    roles: defineRoles({ admin: ["*"], clerk: ["stock.read", "stock.update", "places.read"], reader: ["stock.read"] }),
    auth: {
      roles: ["admin", "clerk", "reader"],
      apps: [{ issuer: shop, roles: { admin: "clerk", sales: "reader", viewer: "reader" } }]
    },
    options: { cors: { origins: [new URL(shop).origin] } }
  })
