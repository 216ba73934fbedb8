// The service under measurement: one resource over the table of orders, as a project would declare it. It is started by bench/run.ts with
// PORT, DATABASE_URL and KEY_SET, and says "up" once it answers.
import {
  createAdmin,
  defineConfig,
  defineResource,
  defineRoles,
  f,
  jwtAuthenticator,
  listen,
  where
} from "resource-admin"

const orders = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  owner: "owner_id",
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    tenant_id: f.integer().bits(32).filterable(),
    owner_id: f.uuid().filterable(),
    customer_id: f.integer().bits(64).filterable(),
    status: f.enum(["draft", "pending", "paid", "shipped", "cancelled", "refunded"]).filterable().sortable().default(
      "draft"
    ),
    total: f.decimal({ precision: 12, scale: 2 }).filterable().sortable(),
    currency: f.currency().default("EUR"),
    note: f.text().optional().searched().filterable(),
    created_at: f.timestamp().readOnly().dbDefault().filterable().sortable(),
    updated_at: f.timestamp().readOnly().dbDefault(),
    deleted_at: f.timestamp().optional().readOnly()
  },
  access: {
    read: ({ caller }) =>
      caller.roles.includes("admin") ? true : where`tenant_id = caller.tenant AND owner_id = caller.id`,
    fields: { note: { read: ["admin"] }, deleted_at: { read: ["admin"] } }
  }
})

const port = Number(process.env.PORT)
const config = defineConfig({
  resources: [orders],
  roles: defineRoles({ admin: ["*"], clerk: ["orders.read", "orders.update"] })
})
const admin = await createAdmin(config, {
  database: { url: process.env.DATABASE_URL },
  secret: "a secret that measurements need not keep",
  publicUrl: `http://127.0.0.1:${port}`,
  authenticator: jwtAuthenticator({
    keys: JSON.parse(process.env.KEY_SET),
    issuer: "bench",
    audience: "bench",
    rolesClaim: "role",
    tenantClaim: "tenant"
  })
})
const listener = await listen(admin.edge, { port })
const stop = async () => {
  await listener.close()
  await admin.close()
}
process.once("SIGTERM", () => void stop())
console.log("up")
