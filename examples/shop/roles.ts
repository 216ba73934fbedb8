/** Who may do what, from afar. Rules of the resources narrow it: an operation with a rule there is decided by that rule alone. */

import { defineRoles } from "resource-admin"

export const roles = defineRoles({
  admin: ["*"],
  sales: [
    "customers.read",
    "customers.create",
    "customers.update",
    "products.read",
    "product_tags.read",
    "best_sellers.read",
    "stock_by_category.read",
    "orders.read.own",
    "orders.create.own",
    "order_lines.*.own",
    "messages.read",
    "messages.update(done)"
  ],
  viewer: ["*.read"],
  // Visitors, who are not signed in: the form "contact" (views.ts) and nothing else.
  anonymous: ["messages.create(name,email,topic,message)"]
})
