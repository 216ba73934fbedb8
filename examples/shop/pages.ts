/** Pages of the admin app that are composed of blocks. Each caller gets the blocks whose records and fields they may see. */

import type { PageDeclaration } from "resource-admin"

export const pages: readonly PageDeclaration[] = [
  {
    name: "today",
    label: "Today",
    resource: "orders",
    blocks: [
      {
        of: "number",
        label: "Paid orders",
        resource: "orders",
        filter: "status = paid OR status = shipped",
        period: { field: "created_at", range: "30d" }
      },
      { of: "number", label: "Orders", resource: "orders", period: { field: "created_at", range: "30d" } },
      {
        of: "number",
        label: "Average order",
        resource: "orders",
        measure: "avg:total",
        period: { field: "created_at", range: "30d" }
      },
      { of: "number", label: "To answer", resource: "messages", filter: "done = false" },
      {
        of: "chart",
        label: "Orders by day",
        resource: "orders",
        chart: { of: "series", field: "created_at", range: "90d" }
      },
      {
        of: "list",
        label: "Overdue",
        resource: "orders",
        filter: "status = pending AND due_on < now()",
        columns: ["id", "customer_id", "due_on", "total"],
        sort: "due_on",
        limit: 5
      },
      { of: "list", label: "Sold out", resource: "products", filter: "stock = 0 AND active = true", limit: 5 },
      {
        of: "text",
        text: "Figures cover the **last 30 days**. A press on one opens [the orders](/orders) behind it."
      }
    ]
  },
  {
    name: "price-list",
    label: "Price list",
    resource: "products",
    blocks: [{
      of: "list",
      label: "Price list",
      resource: "products",
      filter: "active = true",
      columns: ["image", "name", "category", "price"],
      sort: "name",
      limit: 50
    }]
  }
]
