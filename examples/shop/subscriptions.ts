/** Who is told of what happens in the shop: the warehouse by its URL, and the sales desk by a mail for each large order. */

import { subscription } from "resource-admin"
import { tellSales } from "./jobs.ts"

export const subscriptions = [
  subscription("warehouse", {
    events: ["orders.paid", "orders.deleted"],
    // Without an address it is kept, and delivers nothing.
    url: process.env["WAREHOUSE_URL"] ?? "",
    enabled: (process.env["WAREHOUSE_URL"] ?? "") !== "",
    ...(process.env["WAREHOUSE_SECRET"] === undefined ? {} : { secret: process.env["WAREHOUSE_SECRET"] }),
    // The order of one record's events matters to a warehouse.
    ordered: true
  }),
  subscription("large-orders", {
    events: ["orders.large_order"],
    // A job of its own: the mail is tried again by itself. The key makes two deliveries of one event one mail.
    run: async ({ data, id }, { db }) => {
      await tellSales.enqueue(db, { order: data.key }, { key: id })
    }
  })
]
