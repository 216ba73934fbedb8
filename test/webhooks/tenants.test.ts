// Processes of several tenants over one database: each knows the people of its own tenant, and leaves what people of another made to a process that knows them.
import { afterAll, beforeAll, expect, it } from "vitest"
import { defineConfig, defineResource, defineRoles, f, webhooks } from "../../composition/index.ts"
import { type EventService, openEvents, openReceiver, type TestReceiver } from "../support/events.ts"

const orders = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  tenant: "tenant_id",
  fields: { id: f.integer().bits(64), tenant_id: f.integer(), status: f.text().optional() },
  events: { created: true, updated: true }
})
const schema = "create table orders (id bigint primary key, tenant_id integer not null, status text)"
const ann = { id: "ann", roles: ["boss"], tenant: "1" }

/** A process that knows the people of one tenant. */
const processOf = (tenant: string, more: Partial<Parameters<typeof openEvents>[0]> = {}) =>
  openEvents({
    schema,
    config: defineConfig({
      resources: [orders],
      roles: defineRoles({ boss: ["*"] }),
      extends: [webhooks({
        allowPrivateAddresses: true,
        deliveryLog: true,
        ownerRoles: async (owner) => owner.tenant === tenant ? ["boss"] : null
      })]
    }),
    ...more
  })

let home: EventService
let foreign: EventService
let receiver: TestReceiver

beforeAll(async () => {
  receiver = await openReceiver()
  // It answers requests, and works on nothing.
  home = await processOf("1", { runs: false })
  foreign = await processOf("2", { database: home.database })
})
afterAll(async () => {
  await foreign?.close()
  await home?.close()
  await receiver?.close()
})

const subscribe = async (ordered: boolean): Promise<string> => {
  const made = await home.call(ann, "POST", "/api/v1/webhook_subscriptions", {
    name: "s",
    events: "orders.*",
    url: receiver.url,
    ordered
  })
  expect(made.status, made.text).toBe(201)
  const id = made.json["id"] as string
  const sealed = home.events.dispatching.functions.core.seal.seal(`webhook secret ${id}`, receiver.secret)
  await home.database.execute(`update webhooks.subscriptions set secret = '${sealed}' where id = ${id}`)
  return id
}

it("a process of another tenant neither disables a subscription nor loses its events, nor uses up their tries", async () => {
  const ids = [await subscribe(false), await subscribe(true)]
  await home.database.execute(
    "insert into orders values (1, 1, 'a'); update orders set status = 'b'; update orders set status = 'c'; insert into orders values (2, 2, 'd')"
  )
  const jobs = async () => [...await home.jobs("webhooks.deliver"), ...await home.jobs("webhooks.deliver-ordered")]
  const left = "This process does not know the tenant of the subscription."
  let attempts: readonly number[] = []
  await foreign.until(async () => {
    await foreign.advance(600)
    const all = await jobs()
    // While they wait: the next try counts until it is left, too.
    attempts = all.map((job) => job.attempts)
    return all.length >= 4 && all.every(({ error, waits }) => waits && error === left)
  }, "a try of each that is left")
  expect(attempts).toEqual([0, 0, 0, 0])
  expect(receiver.received).toEqual([])
  const worker = await processOf("1", { database: home.database })
  try {
    await home.until(async () => {
      await home.advance(600)
      return (await jobs()).length === 0
    }, "no job")
    const got = receiver.received.map(({ event }) => JSON.stringify([event.data.key, event.data.after!["status"]]))
    expect(got.toSorted()).toEqual(["a", "a", "b", "b", "c", "c"].map((status) => JSON.stringify(["1", status])))
    const tries = await home.database.rows("select try::text || ' ' || outcome from webhooks.attempts")
    expect(new Set(tries.flat())).toEqual(new Set(["1 delivered"]))
    const states = await home.database.rows(
      "select id::text, enabled::text, disabled_reason from webhooks.subscriptions order by id"
    )
    expect(states).toEqual(ids.map((id) => [id, "true", null]))
  } finally {
    await worker.close()
  }
})
