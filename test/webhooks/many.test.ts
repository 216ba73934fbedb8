// A table with many subscriptions: every one of them is delivered to, those that ask for little cost little, and others are not held up.
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest"
import { defineConfig, defineResource, defineRoles, f, webhooks } from "../../composition/index.ts"
import { deep } from "../support/depth.ts"
import { openEvents, openReceiver } from "../support/events.ts"
import type { EventService, TestReceiver } from "../support/events.ts"

/** A thousand in a deep run. In a quick one more than the changes that dispatch takes at once, and than the tries that it begins at once. */
const many = deep ? 1_000 : 300

let service: EventService
let receiver: TestReceiver

beforeAll(async () => {
  receiver = await openReceiver()
  service = await openEvents({
    schema: "create table orders (id bigint primary key, region integer not null, status text not null)",
    config: defineConfig({
      resources: [
        defineResource("orders", {
          table: "orders",
          primaryKey: "id",
          fields: { id: f.integer().bits(64), region: f.integer().filterable(), status: f.text() },
          events: { created: true, updated: true }
        })
      ],
      roles: defineRoles({ boss: ["*"] }),
      extends: [webhooks({ allowPrivateAddresses: true, ownerRoles: async () => ["boss"] })]
    })
  })
  const { core } = service.events.dispatching.functions
  // One of each region; made as the resource makes them, with the receiver's secret.
  const rows = Array.from({ length: many }, (_, at) => {
    const sealed = core.seal.seal(`webhook secret ${at + 1}`, receiver.secret)
    return `('s${at}', 'orders.*', '${receiver.url}', 'region = ${at}', 'owner${
      at % 50
    }', '${sealed}', '{"x-sub": "${at}"}')`
  })
  await service.database.execute(
    `insert into webhooks.subscriptions (name, events, url, filter, owner_id, secret, headers) values ${
      rows.join(", ")
    }`
  )
  receiver.answer = () => ({ status: 204, headers: { connection: "keep-alive" } })
})
afterAll(async () => {
  await service?.close()
  await receiver?.close()
})
beforeEach(async () => {
  await service.settled()
  receiver.received.length = 0
})

it("delivers each change to the one whose filter it passes", async () => {
  await service.database.execute(
    `insert into orders select i, i, 'new' from generate_series(0, ${many - 1}) i`
  )
  await service.until(() => receiver.received.length >= many, "all of them")
  await service.settled()
  const pairs = receiver.received.map(({ event, headers }) => [headers["x-sub"], event.data.key])
  expect(pairs.every(([subscription, key]) => subscription === key)).toBe(true)
  expect(new Set(pairs.map(([, key]) => key)).size).toBe(many)
  expect(receiver.received).toHaveLength(many)
})

it(`tells one of a change, and none of ${many - 1} others that it does not concern`, async () => {
  for (let i = 0; i < 3; i++) {
    const before = receiver.received.length
    const answer = await service.call({ id: "ann", roles: ["boss"] }, "POST", "/api/v1/orders", {
      id: 10_000 + i,
      region: 7,
      status: "new"
    })
    expect(answer.status, answer.text).toBe(201)
    await service.until(() => receiver.received.length > before, "its event")
  }
  expect(receiver.received.every(({ headers }) => headers["x-sub"] === "7")).toBe(true)
})

it("tells all of them of one change", async () => {
  await service.database.execute("update webhooks.subscriptions set filter = null")
  await service.database.execute("update orders set status = 'seen' where id = 3")
  service.changed()
  await service.until(
    () => new Set(receiver.received.map(({ headers }) => headers["x-sub"])).size === many,
    "all",
    60_000
  )
  await service.until(async () => (await service.jobs("webhooks.deliver")).length === 0, "no job")
  expect(new Set(receiver.received.map(({ event }) => event.id)).size).toBe(1)
})

it("disables each whose receiver is gone, once", async () => {
  receiver.answer = () => ({ status: 410 })
  await service.database.execute("update orders set status = 'gone' where id = 4")
  service.changed()
  await service.until(
    async () => (await service.database.rows("select 1 from webhooks.subscriptions where enabled")).length === 0,
    "none enabled",
    60_000
  )
  await service.until(
    async () => (await service.jobs("webhooks.deliver")).every(({ error }) => error !== null),
    "all failed",
    60_000
  )
  const before = receiver.received.length
  await service.database.execute("update orders set status = 'after' where id = 4")
  service.changed()
  await service.settled()
  expect(receiver.received).toHaveLength(before)
})
