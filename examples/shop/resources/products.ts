/** What is sold. What a product costs the shop is not for everybody. */

import { defineResource, f, imageSize } from "resource-admin"

/** For lists, and for the page of a product. */
export const cardVariant = { width: 400, height: 300, fit: "cover", format: "webp", quality: 80 } as const
export const fullVariant = { width: 1_600, height: null, fit: "inside", format: "webp", quality: 82 } as const

export const categories = ["lighting", "seating", "storage", "tables", "textiles"] as const

export const products = defineResource("products", {
  table: "shop.products",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    sku: f.text().max(40).unique().filterable(),
    name: f.text().max(120).searched().filterable().sortable(),
    description: f.text().max(4000).optional().searched(),
    category: f.enum(categories).filterable(),
    price: f.decimal({ precision: 10, scale: 2 }).filterable().sortable(),
    cost: f.decimal({ precision: 10, scale: 2 }).optional().filterable(),
    stock: f.integer().default(0).filterable(),
    active: f.boolean().default(true).filterable(),
    materials: f.array(f.text().max(40)).max(10).filterable().default([]),
    // Paths that filters and orders know: `measures.weight > 20`.
    measures: f.json({
      paths: {
        width: f.decimal().filterable().sortable(),
        height: f.decimal().filterable().sortable(),
        weight: f.decimal().filterable().sortable()
      }
    }).optional(),
    // Asked by `search(words, "wooden lamps")` and `rank(…)`. No record shows it.
    words: f.searchVector({ config: "english" }),
    image: f.file().optional().public().accept(["image/*"]).maxSize("10 MB").placeholder("image_hash")
      .derive({ image_width: imageSize("width"), image_height: imageSize("height") })
      .variants({ card: { width: 400, height: 300, fit: "cover", quality: 80 }, full: { width: 1_600, quality: 82 } }),
    // An upload sets these three, and nobody else can.
    image_hash: f.text().readOnly().optional(),
    image_width: f.integer().readOnly().optional(),
    image_height: f.integer().readOnly().optional(),
    updated_at: f.timestamp(),
    deleted_at: f.timestamp().optional()
  },
  validate: [
    ({ price, stock }) => [
      ...(Number(price) > 0 ? [] : [{ field: "price", message: "Must be above zero." }]),
      ...(stock >= 0 ? [] : [{ field: "stock", message: "Must not be negative." }])
    ]
  ],
  access: {
    create: ["admin"],
    update: ["admin"],
    delete: ["admin"],
    fields: {
      // For a viewer this field does not exist: not in records, filters, facets, errors or the API document.
      cost: { read: ["admin", "sales"] },
      deleted_at: { read: ["admin"] }
    }
  }
})
