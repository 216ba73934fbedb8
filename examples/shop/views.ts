/** How the admin app shows the shop. Views grant nothing: whatever a caller may not read is left out of theirs. */

import { defineView } from "resource-admin"
import { bestSellers } from "./resources/best-sellers.ts"
import { customers } from "./resources/customers.ts"
import { messages } from "./resources/messages.ts"
import { monthlySales } from "./resources/monthly-sales.ts"
import { orderLines } from "./resources/order-lines.ts"
import { orders } from "./resources/orders.ts"
import { productTags } from "./resources/product-tags.ts"
import { products } from "./resources/products.ts"
import { shops } from "./resources/shops.ts"
import { staff } from "./resources/staff.ts"
import { stockByCategory } from "./resources/stock-by-category.ts"

export const views = [
  // Two views of one resource: the first whose roles fit is the caller's.
  defineView(orders, {
    name: "my_orders",
    roles: ["sales"],
    label: { singular: "Order", plural: "My orders" },
    columns: ["id", "customer_id", "status", "total", "currency", "due_on", "created_at"],
    sort: "created_at desc",
    filters: [
      { name: "To do", filter: "status = draft OR status = pending" },
      { name: "Overdue", filter: "status = pending AND due_on < now()" }
    ],
    search: ["note", "status", "created_at"],
    nav: { group: "Sales", order: 1, icon: "cart", recent: { sort: "created_at desc", limit: 5 } }
  }),
  defineView(orders, {
    label: { singular: "Order", plural: "Orders" },
    columns: ["id", "customer_id", "owner_id", "status", "channel", "total", "currency", "created_at"],
    sort: "created_at desc",
    filters: [
      { name: "Open", filter: "status = draft OR status = pending" },
      { name: "Large", filter: "total >= 1000" },
      { name: "This week", filter: "created_at > now() - 7d" }
    ],
    search: ["note", "status", "channel", "ship_country", "total", "created_at"],
    layout: [
      { label: "Order", fields: ["id", "status", "channel", "customer_id", "owner_id"] },
      { label: "Amounts", fields: ["total", "currency", "due_on", "invoice"] },
      { label: "Delivery", fields: ["ship_country", "note"] },
      { label: "Inside", fields: ["internal_note", "created_at", "updated_at"] }
    ],
    chart: { of: "series", field: "created_at", granularity: "day", range: "30d", measure: "sum:total" },
    title: "id",
    nav: { group: "Sales", order: 1, icon: "cart", recent: { sort: "created_at desc", limit: 5 } }
  }),
  defineView(customers, {
    label: { singular: "Customer", plural: "Customers" },
    columns: ["name", "kind", "email", "city", "country", "customer_since"],
    sort: "name",
    filters: [{ name: "Companies", filter: "kind = company" }, { name: "Abroad", filter: "NOT country = DE" }],
    search: ["name", "email", "country", "city"],
    chart: { of: "facets", field: "country", limit: 10 },
    // Drawn by examples/plugin where it is loaded.
    cells: { country: "map" },
    title: "name",
    links: [{ label: "Write a mail", href: "mailto:{email}" }, {
      label: "Find on a map",
      href: "https://www.openstreetmap.org/search?query={city}"
    }],
    nav: { group: "Sales", order: 2, icon: "people" }
  }),
  defineView(products, {
    label: { singular: "Product", plural: "Products" },
    columns: ["image", "sku", "name", "category", "price", "cost", "stock", "active"],
    sort: "name",
    filters: [
      { name: "Sold out", filter: "stock = 0 AND active = true" },
      { name: "Costly", filter: "cost >= 200" }
    ],
    search: ["name", "sku", "category", "price", "materials"],
    layout: [
      { label: "Product", fields: ["image", "name", "sku", "category", "description"] },
      { label: "Price and stock", fields: ["price", "cost", "stock", "active"] },
      { label: "Details", fields: ["materials", "measures", "image_width", "image_height", "updated_at"] }
    ],
    chart: { of: "histogram", field: "price", buckets: 20 },
    title: "name",
    nav: { group: "Catalogue", order: 1, icon: "box" }
  }),
  defineView(productTags, {
    label: { singular: "Tag", plural: "Tags" },
    title: "tag",
    nav: { group: "Catalogue", order: 2 }
  }),
  // Lines are shown within their order.
  defineView(orderLines, {
    columns: ["position", "product_id", "quantity", "unit_price", "discount", "total"],
    // People drag lines into another order.
    sort: "position",
    nav: false
  }),
  defineView(staff, {
    label: { singular: "Colleague", plural: "Staff" },
    columns: ["photo", "name", "email", "team", "active"],
    sort: "name",
    title: "name",
    nav: { group: "Shop", order: 1, icon: "badge" }
  }),
  // Anybody may write to the shop: the form is at /-/forms/contact.
  defineView(messages, {
    label: { singular: "Message", plural: "Messages" },
    columns: ["received_at", "name", "topic", "done"],
    sort: "received_at desc",
    filters: [{ name: "To answer", filter: "done = false" }],
    links: [{ label: "Answer by mail", href: "mailto:{email}" }],
    actions: [{ label: "Mark as done", function: "answered", on: "selection" }],
    title: "name",
    nav: { group: "Shop", order: 3, icon: "mail" }
  }).form({
    name: "contact",
    title: "Write to us",
    fields: ["name", "email", "topic", "message"],
    thanks: "Thank you. We answer within two days."
  }),
  // What the database computes.
  defineView(monthlySales, {
    label: { singular: "Month", plural: "Monthly sales" },
    columns: ["month", "currency", "orders", "total"],
    sort: "month desc",
    nav: { group: "Sales", order: 3, icon: "chart" }
  }),
  defineView(bestSellers, {
    label: { singular: "Product", plural: "Best sellers" },
    columns: ["product_id", "quantity", "orders"],
    sort: "quantity desc",
    nav: { group: "Catalogue", order: 3, icon: "star" }
  }),
  defineView(stockByCategory, {
    label: { singular: "Category", plural: "Stock" },
    columns: ["category", "products", "units", "value"],
    nav: { group: "Catalogue", order: 4, icon: "warehouse" }
  }),
  defineView(shops, { label: { singular: "Shop", plural: "Shop" }, title: "name", nav: { group: "Shop", order: 2 } })
]
