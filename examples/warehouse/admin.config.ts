/** The warehouse by itself: `service dev --config examples/warehouse/admin.config.ts`. `SHOP_URL` says where the shop is that it trusts. */

import { warehouse } from "./config.ts"

export default warehouse(process.env["SHOP_URL"] ?? "http://localhost:5173")
