/** What the shop does after a request: mails to customers, and a report each morning. A write hook enqueues in the write's own transaction. */

import * as Schema from "effect/Schema"
import { type ChangeOf, defineJob, FatalJobError, type Mail } from "resource-admin"
import { largeOrder, nightlyReport, orderConfirmation, orderStatus } from "./mails.ts"
import type { orders } from "./resources/orders.ts"

/** Any library that follows Standard Schema will do (zod, valibot, arktype); this one comes with the service. */
const ofOrder = Schema.toStandardSchemaV1(Schema.Struct({ order: Schema.String }))
const ofStatus = Schema.toStandardSchemaV1(Schema.Struct({ order: Schema.String, status: Schema.String }))

const needed = (mail: Mail | undefined): Mail => {
  if (mail === undefined) throw new FatalJobError("No mail server is configured: set SERVICE_SMTP_URL.")
  return mail
}

/** The order with who bought it; undefined when it was removed meanwhile. */
const orderSql = `select o.id::text as order, o.total::text as total, o.currency, c.name, c.email
from shop.orders o join shop.customers c on c.id = o.customer_id where o.id = $1 and o.deleted_at is null`

interface OrderRow {
  readonly order: string
  readonly total: string
  readonly currency: string
  readonly name: string
  readonly email: string
}

/** One mail for each new order. */
export const confirmOrder = defineJob({
  name: "orders/confirm",
  payload: ofOrder,
  concurrency: 5,
  run: async ({ order }, { db, mail }) => {
    const [row] = await db.query<OrderRow>(orderSql, [order])
    if (row !== undefined) await orderConfirmation.send(row.email, row, needed(mail))
  }
})

/** A mail for each new status of an order: ordered, so that "shipped" never comes before "paid" to the same customer. */
export const tellStatus = defineJob({
  name: "orders/status",
  payload: ofStatus,
  ordered: true,
  concurrency: 5,
  run: async ({ order, status }, { db, mail }) => {
    const [row] = await db.query<OrderRow>(orderSql, [order])
    if (row !== undefined) await orderStatus.send(row.email, { ...row, status }, needed(mail))
  }
})

/** A mail to the sales desk, enqueued by a subscription to large orders. */
export const tellSales = defineJob({
  name: "orders/large",
  payload: ofOrder,
  run: async ({ order }, { db, mail }) => {
    const [row] = await db.query<OrderRow>(orderSql, [order])
    if (row !== undefined) await largeOrder.send("sales@shop.example", row, needed(mail))
  }
})

/** Each morning at seven, whatever the clocks do in March and October. */
export const reportOrders = defineJob({
  name: "orders/report",
  schedule: "0 7 * * *",
  timezone: "Europe/Berlin",
  run: async (_, { db, mail }) => {
    const shops = await db.query<{ readonly name: string; readonly orders: string }>(
      `select s.name, count(o.id)::text as orders from shop.tenants s
       left join shop.orders o on o.tenant_id = s.id and o.created_at >= now() - interval '1 day' group by s.id order by s.name`
    )
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
    await nightlyReport.send("accounts@shop.example", { day, shops }, needed(mail))
  }
})

/** Runs in the transaction of every write: a job is there exactly if the order is. */
export const tellCustomers = async (change: ChangeOf<typeof orders> | { readonly resource: string }): Promise<void> => {
  if (change.resource !== "orders") return
  const { after, before, operation, transaction } = change as ChangeOf<typeof orders>
  if (after === null) return
  const order = String(after.id)
  if (operation === "create") await confirmOrder.enqueue(transaction, { order })
  else if (before !== null && before.status !== after.status) {
    await tellStatus.enqueue(transaction, { order, status: after.status }, { group: String(after.customer_id) })
  }
}
