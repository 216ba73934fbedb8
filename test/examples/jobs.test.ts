// Every job of the example shop on its own tables: what it reads is there, and its mail says what it should.
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeOutbox } from "../../adapters/mail/outbox.ts"
import { openPool } from "../../composition/database.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import { prepareShop } from "../../examples/shop/database.ts"
import { confirmOrder, reportOrders, tellSales, tellStatus } from "../../examples/shop/jobs.ts"
import { modelsOf } from "../contracts/queue.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

let database: TestDatabase

beforeAll(async () => {
  database = await openDatabase()
  await prepareShop(database.url, 200)
})
afterAll(() => database?.drop())

it.each(
  [
    ["orders/confirm", { order: "1" }, /^Your order 1$/, "orderer"],
    ["orders/status", { order: "1", status: "shipped" }, /^Order 1 is shipped$/, "orderer"],
    ["orders/large", { order: "1" }, /1/, "sales@shop.example"],
    ["orders/report", null, /./, "accounts@shop.example"]
  ] as const
)("%s sends its mail", async (name, payload, subject, to) => {
  const pool = openPool(database.url, 1)
  const outbox = makeOutbox()
  const [orderer] = await database.rows(
    "select c.email, c.name from shop.orders o join shop.customers c on c.id = o.customer_id where o.id = 1"
  )
  try {
    const query = async (sql: string, params: readonly unknown[] = []) => {
      const client = await pool.connect()
      try {
        return (await client.query<Record<string, unknown>>(sql, [...params])).rows
      } finally {
        client.release()
      }
    }
    const attempt = makeAttempts(modelsOf(confirmOrder, tellStatus, tellSales, reportOrders), {
      db: { query } as never,
      mail: outbox
    })
    const timers = { now: () => performance.now(), after: () => () => {} }
    const onStop = () => () => {}
    expect(await attempt({ id: "1", name, payload, attempt: 1, maxAttempts: 10, onStop, timers, progress: () => {} }))
      .toEqual({
        of: "completed"
      })
  } finally {
    await pool.end()
  }
  const [mail] = outbox.mails()
  expect(mail?.subject).toMatch(subject)
  expect(mail?.to).toEqual([to === "orderer" ? orderer![0] : to])
  expect(`${mail?.text}`).toContain(name === "orders/report" ? ":" : to === "orderer" ? orderer![1]! : "1")
})
