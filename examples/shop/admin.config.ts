/** The example shop: what the service is told about it. Tables and indexes are in schema.sql, the data in data.sql. */

import { defineConfig, history, webhooks } from "resource-admin"
import { sharpImages } from "resource-admin/images"
import { functions } from "./functions.ts"
import { confirmOrder, reportOrders, tellCustomers, tellSales, tellStatus } from "./jobs.ts"
import { largeOrder, nightlyReport, orderConfirmation, orderStatus } from "./mails.ts"
import { pages } from "./pages.ts"
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
import { roles } from "./roles.ts"
import { subscriptions } from "./subscriptions.ts"
import { views } from "./views.ts"

export default defineConfig({
  resources: [
    orders,
    orderLines,
    customers,
    products,
    productTags,
    staff,
    shops,
    messages,
    stockByCategory,
    monthlySales,
    bestSellers
  ],
  views,
  functions,
  roles,
  // Everybody who signs in here works in shop 1; what belongs to other shops does not exist for them.
  auth: { tenant: 1, roles: ["admin", "sales", "viewer"] },
  userMenu: [
    { label: "My orders", href: "/orders", roles: ["sales"] },
    { label: "Price list", page: "price-list" },
    { label: "API reference", href: "/api/docs" }
  ],
  pages,
  // Mails are sent by jobs, after the request. Without a mail server they are kept for http://localhost:5173/-/mail.
  jobs: [confirmOrder, tellStatus, tellSales, reportOrders],
  templates: [orderConfirmation, orderStatus, largeOrder, nightlyReport],
  // Files are stored in data/files. Images are made by sharp, which only those install who want it.
  files: { imageProcessor: sharpImages() },
  subscriptions,
  // Admins may subscribe to events, too: no other role has a right to these resources' writes. And who changed what is kept.
  extends: [webhooks(), history({ resources: ["orders", "customers", "products"] })],
  options: {
    writeHooks: [tellCustomers],
    admin: { name: "Furniture shop" },
    // Tables of up to so many rows may be read from end to end; the default is 10,000, which this shop has just outgrown.
    scanGuard: { mode: "reject", seqScanRows: 100_000 },
    serverTiming: true
  }
})
