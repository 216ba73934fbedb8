// What every subscription gets of every change, held against what the API answers to the same eyes: role sets × fields × row filters × tenants × owners,
// and owners whose roles change, or who are banned, between a change and its delivery.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defineConfig, defineResource, defineRoles, f, subscription, webhooks, where } from "../../composition/index.ts"
import type { EventEnvelope } from "../../composition/index.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import { deep } from "../support/depth.ts"
import { openEvents, openReceiver } from "../support/events.ts"
import type { EventService, TestReceiver } from "../support/events.ts"

const fields = {
  id: f.integer().bits(64),
  tenant_id: f.integer(),
  owner: f.text().optional(),
  status: f.enum(["draft", "paid"]).filterable(),
  cost: f.integer().optional(),
  note: f.text().optional(),
  pin: f.text().sensitive().optional()
}
const common = { primaryKey: "id", tenant: "tenant_id", owner: "owner", softDelete: "deleted_at", fields } as const
const events = { created: true, updated: true, deleted: true, undeleted: true } as const

/** Decided by capabilities alone. */
const orders = defineResource("orders", {
  table: "orders",
  ...common,
  access: { fields: { cost: { read: ["boss", "few"] } } },
  events
})
/** Decided by a rule that answers a filter, and by rules of fields that are functions. */
const bills = defineResource("bills", {
  table: "bills",
  ...common,
  access: {
    read: ({ caller }) =>
      caller.roles.includes("boss")
        ? true
        : caller.roles.includes("low")
        ? false
        : where`status = "paid" OR owner = caller.id`,
    fields: {
      note: { read: ({ caller }) => caller.roles.length > 1 || caller.roles.includes("boss") },
      cost: { read: ["boss"] }
    }
  },
  events
})

const table = (name: string): string =>
  `create table ${name} (id bigint primary key, tenant_id integer not null, owner text, status text not null, cost integer, note text, pin text, deleted_at timestamptz)`

const declared = {
  boss: ["*"],
  sales: ["orders.read"],
  own: ["orders.read.own", "bills.read"],
  few: ["orders.read(id,status,pin,cost)"],
  low: []
} as const
const names = Object.keys(declared) as ReadonlyArray<keyof typeof declared>
/** Every set of roles; in a quick run each role alone, each two together, and all. */
const roleSets = Array.from(
  { length: 2 ** names.length - 1 },
  (_, bits) => names.filter((__, at) => ((bits + 1) >> at) % 2 === 1)
).filter(({ length }) => deep || length <= 2 || length === names.length)
const nameOf = (roles: readonly string[]): string => `as-${roles.join("-")}`

const got = new Map<string, EventEnvelope[]>()
const keep = (subscriber: string, event: EventEnvelope): void => {
  const known = got.get(subscriber)
  if (known === undefined) got.set(subscriber, [event])
  else known.push(event)
}

const people = new Map<string, readonly string[]>()
const base = "/api/v1/webhook_subscriptions"

let service: EventService
let receiver: TestReceiver

/** One who reads: what a subscription delivers is held against what the API answers them. */
interface Reader {
  readonly subscriber: string
  readonly id: string
  readonly roles: readonly string[]
  /** Null: records of every tenant, each read within its own. */
  readonly tenant: string | null
}
const readers: Reader[] = []

beforeAll(async () => {
  receiver = await openReceiver()
  service = await openEvents({
    schema: `${table("orders")}; ${table("bills")}`,
    config: defineConfig({
      resources: [orders, bills],
      roles: defineRoles(declared as never),
      extends: [webhooks({ allowPrivateAddresses: true, ownerRoles: async ({ id }) => people.get(id) ?? [] })],
      subscriptions: roleSets.flatMap((roles) => [
        subscription(nameOf(roles), {
          events: ["*"],
          as: { roles },
          run: (event) => keep(nameOf(roles), event)
        }),
        subscription(`${nameOf(roles)}-2`, {
          events: ["*"],
          as: { roles },
          tenant: 2,
          payload: "thin",
          run: (event) => keep(`${nameOf(roles)}-2`, event)
        })
      ])
    })
  })
  for (const roles of roleSets) {
    readers.push({ subscriber: nameOf(roles), id: `subscription ${nameOf(roles)}`, roles, tenant: null })
    readers.push({ subscriber: `${nameOf(roles)}-2`, id: `subscription ${nameOf(roles)}-2`, roles, tenant: "2" })
  }
  receiver.answer = ({ event, headers }) => {
    keep(headers["x-sub"]!, event)
    return { status: 204 }
  }
  for (const roles of roleSets) {
    for (const tenant of ["1", "2"]) {
      const id = roles.includes("sales") ? "sam" : "eve"
      readers.push(await subscribe(`${id}-${nameOf(roles)}-${tenant}`, roles, tenant))
    }
  }
})
afterAll(async () => {
  await service?.close()
  await receiver?.close()
})

/** A subscription of somebody, made by a boss and given to them, with a credential of theirs that had the roles `kept`. */
const subscribe = async (
  owner: string,
  roles: readonly string[],
  tenant: string,
  kept: readonly string[] = roles
): Promise<Reader> => {
  const made = await service.call({ id: "boss", roles: ["boss"], tenant }, "POST", base, {
    name: owner,
    events: "orders.* bills.*",
    url: receiver.url,
    headers: { "x-sub": owner }
  })
  expect(made.status, made.text).toBe(201)
  const id = made.json["id"] as string
  const { core } = service.events.dispatching.functions
  const sealed = core.seal.seal(`webhook secret ${id}`, receiver.secret)
  await service.database.execute(
    `update webhooks.subscriptions set secret = '${sealed}', owner_id = '${owner}', roles = '${
      JSON.stringify(kept)
    }' where id = ${id}`
  )
  people.set(owner, roles)
  return { subscriber: owner, id: owner, roles, tenant }
}

type Shown = { readonly [field: string]: Json }

/** A record as somebody reads it now: null where they do not see it. */
const read = async (reader: Reader, resource: string, id: string, tenant: string): Promise<Shown | null> => {
  if (reader.tenant !== null && reader.tenant !== tenant) return null
  const { json, status } = await service.call(
    { id: reader.id, roles: reader.roles, tenant },
    "GET",
    `/api/v1/${resource}/${id}`
  )
  if (status !== 200) return null
  const { etag: _, permissions: __, ...shown } = json
  return shown
}

/** All records as somebody sees them now, by id. */
const readAll = async (reader: Reader, resource: string): Promise<ReadonlyMap<string, Shown>> => {
  const seen = new Map<string, Shown>()
  for (const tenant of reader.tenant === null ? ["1", "2"] : [reader.tenant]) {
    const caller = { id: reader.id, roles: reader.roles, tenant }
    const { json, status } = await service.call(caller, "GET", `/api/v1/${resource}`)
    if (status !== 200) continue
    for (const { etag: _, permissions: __, ...shown } of json["items"] as unknown as readonly Shown[]) {
      seen.set(shown["id"] as string, shown)
    }
  }
  return seen
}

const without = (record: Shown, ...hidden: readonly string[]): Shown =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !hidden.includes(name)))

const rowKeys = ["1", "2"].flatMap((tenant) =>
  ["'sam-as-sales-1'", "'eve-as-own-2'", "null"].flatMap((owner) =>
    ["draft", "paid"].map((status) => ({ tenant, owner, status }))
  )
).map((row, at) => ({ ...row, id: String(at + 1) }))

const steps: ReadonlyArray<
  { readonly name: string; readonly operation: string; readonly sql: (resource: string) => string }
> = [
  {
    name: "created",
    operation: "create",
    sql: (resource) =>
      `insert into ${resource} (id, tenant_id, owner, status, cost, note, pin) values ${
        rowKeys.map(({ id, owner, status, tenant }) =>
          `(${id}, ${tenant}, ${owner}, '${status}', ${id}, 'note${id}', 'hush')`
        )
          .join(", ")
      }`
  },
  {
    name: "updated, in all fields",
    operation: "update",
    sql: (resource) => `update ${resource} set cost = cost + 100, note = note || '!', pin = 'hush again'`
  },
  {
    name: "updated, in sensitive fields only",
    operation: "update",
    sql: (resource) => `update ${resource} set pin = 'hush hush'`
  },
  {
    name: "updated, into and out of filters",
    operation: "update",
    sql: (resource) =>
      `update ${resource} set status = case status when 'paid' then 'draft' else 'paid' end,
        owner = case owner when 'sam-as-sales-1' then 'eve-as-own-2' when 'eve-as-own-2' then 'sam-as-sales-1' end`
  },
  { name: "deleted softly", operation: "delete", sql: (resource) => `update ${resource} set deleted_at = now()` },
  { name: "undeleted", operation: "undelete", sql: (resource) => `update ${resource} set deleted_at = null` },
  { name: "deleted", operation: "delete", sql: (resource) => `delete from ${resource}` }
]

const eventNames: { readonly [operation: string]: string } = {
  create: "created",
  update: "updated",
  delete: "deleted",
  undelete: "undeleted"
}

describe("every subscription", () => {
  it.each(["orders", "bills"])("gets of %s what the API shows to the same eyes, and no more", async (resource) => {
    expect(readers).toHaveLength(roleSets.length * 4)
    const everything = { subscriber: "", id: "boss", roles: ["boss"], tenant: null }
    const look = async (): Promise<ReadonlyMap<string, Shown | null>> => {
      const seen = new Map<string, Shown | null>()
      for (const reader of [everything, ...readers]) {
        // Callers of the same roles and id are the same caller to the API.
        const all = await readAll(reader, resource)
        for (const { id } of rowKeys) seen.set(`${reader.subscriber}/${id}`, all.get(id) ?? null)
      }
      return seen
    }
    const fieldsOf = new Map<string, ReadonlySet<string>>()
    for (const reader of readers) {
      const meta = (await service.call({ id: reader.id, roles: reader.roles, tenant: "1" }, "GET", "/api/meta"))
        .json as unknown as {
          readonly models: ReadonlyArray<
            { readonly name: string; readonly fields: ReadonlyArray<{ readonly name: string }> }
          >
        }
      const model = meta.models.find(({ name }) => name === resource)
      fieldsOf.set(reader.subscriber, new Set(model?.fields.map(({ name }) => name) ?? []))
    }
    let before: ReadonlyMap<string, Shown | null> = new Map()
    let told = 0
    let untold = 0
    for (const { name, operation, sql } of steps) {
      got.clear()
      await service.database.execute(sql(resource))
      const now = await look()
      const wanted = readers.flatMap((reader) =>
        rowKeys.flatMap(({ id }) => {
          const sees = (operation === "delete" ? before : now).get(`${reader.subscriber}/${id}`) ?? null
          return sees === null ? [] : [{ reader, id }]
        })
      )
      const expected = wanted.map(({ id, reader }) => `${reader.subscriber}/${id}`).toSorted()
      const arrived = () =>
        [...got].flatMap(([subscriber, all]) => all.map(({ data }) => `${subscriber}/${data.key}`)).toSorted()
      await service.settled()
      await service.until(() => arrived().length >= expected.length, `all events of ${name}`)
      await service.until(async () => (await service.jobs("webhooks.deliver")).length === 0, "no job")
      expect(arrived(), name).toEqual(expected)
      told += expected.length
      untold += readers.length * rowKeys.length - expected.length
      for (const { id, reader } of wanted) {
        const at = `${name}: ${reader.subscriber}/${id}`
        const { data, type } = got.get(reader.subscriber)!.find(({ data }) => data.key === id)!
        const [was, is] = [before, now].map((seen) => seen.get(`${reader.subscriber}/${id}`) ?? null)
        const [whole, holds] = [before.get(`/${id}`) ?? null, now.get(`/${id}`) ?? null]
        expect([at, type, data.operation]).toEqual([at, `${resource}.${eventNames[operation]!}`, operation])
        const text = JSON.stringify(data)
        expect([at, text.includes("hush")]).toEqual([at, false])
        const readable = fieldsOf.get(reader.subscriber)!
        const differing = Object.keys(fields).filter((field) =>
          JSON.stringify(whole?.[field] ?? null) !== JSON.stringify(holds?.[field] ?? null)
        )
        // Softly deleted, the record keeps its values.
        const softly = operation === "undelete" || name === "deleted softly"
        if (!softly) {
          expect([at, [...data.changed].toSorted()]).toEqual([
            at,
            differing.filter((field) => readable.has(field)).toSorted()
          ])
        }
        expect([at, data.changed.filter((field) => !readable.has(field))]).toEqual([at, []])
        if (reader.subscriber.startsWith("as-") && reader.tenant === "2") {
          expect([at, "after" in data, "before" in data]).toEqual([at, false, false])
          continue
        }
        if (operation === "delete") {
          expect([at, data.before]).toEqual([at, without(was ?? {}, "pin")])
          if (name === "deleted") expect([at, data.after]).toEqual([at, null])
          else expect([at, Object.keys(data.after!)]).toEqual([at, Object.keys(without(was ?? {}, "pin"))])
        } else {
          expect([at, data.after]).toEqual([at, without(is ?? {}, "pin")])
          if (operation === "create") expect([at, data.before]).toEqual([at, null])
          else if (!softly) expect([at, data.before]).toEqual([at, was == null ? null : without(was, "pin")])
        }
      }
      before = now
    }
    // The matrix says something only where there is both.
    expect(Math.min(told, untold)).toBeGreaterThan(1_000)
  })
})

describe("an owner whose roles change between a change and its delivery", () => {
  const sets: ReadonlyArray<readonly string[]> = [["boss"], ["sales"], ["own"], ["few"], ["low"], []]

  it("is delivered to as who they are then", async () => {
    await service.database.execute("truncate webhooks.subscriptions cascade; truncate orders; truncate bills")
    await service.settled()
    got.clear()
    const pairs = sets.slice(0, 4).flatMap((from) =>
      sets.filter((to) => to !== from).map((to, at) => ({ from, to, owner: `p-${from.join("")}-${at}` }))
    )
    const holders: Array<Reader & { readonly to: readonly string[] }> = []
    for (const { from, owner, to } of pairs) {
      holders.push({ ...await subscribe(owner, from, "1", [...from, ...to]), to })
    }
    receiver.answer = () => ({ status: 500 })
    await service.database.execute(
      `insert into orders (id, tenant_id, owner, status, cost, note, pin) values ${
        pairs.map(({ owner }, at) => `(${900 + at}, 1, '${owner}', 'paid', 7, 'n', 'hush')`).join(", ")
      }`
    )
    await service.settled()
    // Who sees all sees each row; who sees their own, one.
    const deliveries = pairs.reduce((sum, { from }) => sum + (from[0] === "own" ? 1 : pairs.length), 0)
    await service.until(async () => {
      const jobs = await service.jobs("webhooks.deliver")
      return jobs.length === deliveries && jobs.every(({ payload }) => payload["error"] !== undefined)
    }, "a job for each")
    for (const { id, to } of holders) people.set(id, to)
    // Some may be tried again meanwhile: in vain.
    await service.until(
      async () =>
        (await service.database.rows("select 1 from jobs._private_jobs where locked_at is not null")).length === 0,
      "no try under way"
    )
    receiver.answer = ({ event, headers }) => {
      keep(headers["x-sub"]!, event)
      return { status: 204 }
    }
    await service.advance(90_000)
    await service.until(
      async () =>
        (await service.jobs("webhooks.deliver")).every(({ error }) =>
          error !== null && error !== "The receiver answered 500."
        ),
      "all tries",
      60_000
    )
    for (const reader of holders) {
      const events = got.get(reader.subscriber) ?? []
      const [row] = await service.database.rows(
        `select enabled::text, disabled_reason from webhooks.subscriptions where owner_id = '${reader.id}'`
      )
      if (reader.to.length === 0) {
        expect([reader.id, events.length, ...row!]).toEqual([
          reader.id,
          0,
          "false",
          "The owner of the subscription no longer has access."
        ])
        continue
      }
      expect([reader.id, row![0]]).toEqual([reader.id, "true"])
      const now = { ...reader, roles: reader.to }
      const expected = new Map<string, Shown>()
      for (let at = 0; at < pairs.length; at++) {
        const id = String(900 + at)
        const first = reader.roles[0] === "own" ? pairs[at]!.owner === reader.id : true
        const shown = first ? await read(now, "orders", id, "1") : null
        if (shown !== null) expected.set(id, without(shown, "pin"))
      }
      expect([reader.id, new Map(events.map(({ data }) => [data.key, data.after]))]).toEqual([reader.id, expected])
    }
  })
})
