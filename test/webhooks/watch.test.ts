// `:watch`: who sees which changes go by, how a stream is taken up again, and how many there may be.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { defineConfig, defineResource, f } from "../../composition/index.ts"
import { openEvents } from "../support/events.ts"
import type { EventService } from "../support/events.ts"
import { type Heard, listen } from "../support/stream.ts"

const orders = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  tenant: "tenant_id",
  owner: "owner",
  fields: { id: f.integer().bits(64), tenant_id: f.integer(), owner: f.text().optional(), note: f.text().optional() },
  access: { read: ({ caller }) => caller.roles.includes("all") },
  events: { updated: true }
})
const quiet = defineResource("quiet", { table: "quiet", primaryKey: "id", fields: { id: f.integer() } })

let service: EventService
beforeAll(async () => {
  service = await openEvents({
    schema:
      "create table orders (id bigint primary key, tenant_id integer not null, owner text, note text); create table quiet (id integer primary key)",
    config: defineConfig({ resources: [orders, quiet] })
  })
})
afterAll(() => service?.close())

const ann = { id: "ann", roles: ["all"], tenant: "1" }
const open: Heard[] = []
afterEach(async () => {
  for (const each of open.splice(0)) each.close()
  await service.until(() => service.events.watching.count() === 0, "no watcher")
  await service.database.execute("truncate orders")
  await service.settled()
})

const watch = async (
  caller: { readonly id: string; readonly roles: readonly string[]; readonly tenant?: string },
  lastId?: string
): Promise<Heard> => {
  const heard = await listen(
    (path, init) => service.fetch(caller, path, init),
    service.until,
    "/api/v1/orders:watch",
    lastId
  )
  open.push(heard)
  return heard
}

/** Changes by SQL are looked for now and then, or when somebody says so. */
const change = async (sql: string) => {
  await service.database.execute(sql)
  service.changed()
}
const insert = (id: number, tenant = 1) => change(`insert into orders (id, tenant_id) values (${id}, ${tenant})`)

describe(":watch", () => {
  it("tells of changes by key, operation and sequence, and of nothing in them", async () => {
    const heard = await watch(ann)
    await insert(1)
    await change("update orders set note = 'hush' where id = 1; delete from orders where id = 1")
    await service.until(() => heard.events.length === 3, "three changes")
    expect(heard.events.map(({ data, event }) => [event, data["key"], data["operation"], data["kind"]])).toEqual([
      ["change", "1", "create", "entered"],
      ["change", "1", "update", "changed"],
      ["change", "1", "delete", "left"]
    ])
    expect(Object.keys(heard.events[0]!.data)).toEqual(["key", "operation", "sequence", "kind"])
    const sequences = heard.events.map(({ data }) => BigInt(data["sequence"] as string))
    expect(sequences[0]! < sequences[1]! && sequences[1]! < sequences[2]!).toBe(true)
  })

  it("tells nobody of what they may not see", async () => {
    const [mine, others] = [await watch(ann), await watch({ ...ann, id: "eve", tenant: "2" })]
    await insert(1, 2)
    await insert(2, 1)
    await service.until(() => mine.events.length === 1 && others.events.length === 1, "one each")
    expect([mine.events[0]!.data["key"], others.events[0]!.data["key"]]).toEqual(["2", "1"])
  })

  it("goes on where it was left", async () => {
    const first = await watch(ann)
    await insert(1)
    await service.until(() => first.events.length === 1, "one change")
    first.close()
    await insert(2)
    await insert(3)
    await service.settled()
    const second = await watch(ann, first.events[0]!.id)
    await insert(4)
    await service.until(() => second.events.length === 3, "three changes")
    expect(second.events.map(({ data }) => data["key"])).toEqual(["2", "3", "4"])
  })

  it.each(["1-1", "x", "99999999999999999999-5", ""])("says so when it cannot go on from %j", async (mark) => {
    const heard = await watch(ann, mark === "" ? "0-0" : mark)
    expect(heard.events.map(({ event }) => event)).toEqual(["reset"])
    await insert(1)
    await service.until(() => heard.events.length === 2, "a change")
  })

  it.each<[string, object, string, number]>([
    ["who may not read", { id: "low", roles: [], tenant: "1" }, "orders", 403],
    ["who has no tenant", { id: "ann", roles: ["all"] }, "orders", 403],
    ["a resource without events", ann, "quiet", 400],
    ["a resource that is not there", ann, "nothing", 404]
  ])("is refused for %s", async (_, caller, resource, status) => {
    expect((await service.fetch(caller as typeof ann, `/api/v1/${resource}:watch`)).status).toBe(status)
  })

  it("is bounded for each caller", async () => {
    const all = []
    for (let i = 0; i < 16; i++) all.push(await watch(ann))
    const refused = await service.fetch(ann, "/api/v1/orders:watch")
    expect(refused.status).toBe(429)
    expect(refused.headers.get("retry-after")).toBe("10")
    expect((await watch({ ...ann, id: "bob" })).status).toBe(200)
    all[0]!.close()
    await service.until(() => service.events.watching.count() === 16, "one fewer")
    expect((await watch(ann)).status).toBe(200)
  })

  it("answers HEAD without a stream, and takes no parameter but a filter", async () => {
    expect((await service.fetch(ann, "/api/v1/orders:watch", { method: "HEAD" })).status).toBe(200)
    expect(service.events.watching.count()).toBe(0)
    expect((await service.fetch(ann, "/api/v1/orders:watch?order_by=id")).status).toBe(400)
    expect((await service.fetch(ann, "/api/v1/orders:watch", { method: "POST" })).status).toBe(405)
  })
})
