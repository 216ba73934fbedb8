/**
 * The people who work in the shop: one row an account, kept by a trigger of schema.sql, so the key is the account's user id. Orders name
 * their seller by it.
 */

import { defineResource, f, where } from "resource-admin"

export const staff = defineResource("staff", {
  table: "shop.staff",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  version: "updated_at",
  fields: {
    id: f.text().readOnly().filterable(),
    name: f.text().readOnly().dbDefault().searched().filterable().sortable(),
    email: f.text().readOnly().dbDefault().filterable(),
    team: f.enum(["office", "phone", "field"]).default("office").filterable(),
    commission: f.decimal({ precision: 4, scale: 2 }).default("0.00"),
    active: f.boolean().readOnly().dbDefault().filterable(),
    joined_on: f.date().optional(),
    // A picture uploaded here, or the address of one elsewhere.
    photo: f.file().optional().accept(["image/*"]).maxSize("5 MB").externalUrls(),
    updated_at: f.timestamp()
  },
  validate: [
    ({ commission }) => Number(commission) < 0 ? [{ field: "commission", message: "Must not be negative." }] : null
  ],
  access: {
    // A function of the caller alone: it runs once a request and answers a decision or a filter.
    read: ({ caller }) => caller.roles.includes("admin") ? true : where`active = true`,
    create: false,
    update: ["admin"],
    delete: false,
    fields: {
      email: { read: ["admin", "sales"] },
      commission: { read: ["admin"] }
    }
  }
})
