/** A service whose orders are watched, over fakes and on PostgreSQL: who sees which orders, and how a client follows a list. */

import * as Context from "effect/Context"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { Http } from "../../composition/layers/http.ts"
import { build } from "../../composition/layers/live.ts"
import { Work } from "../../composition/layers/work.ts"
import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { Fakes, Memory } from "../fakes/memory.ts"
import { type Answered, type TestCaller, testSecret } from "../support/composed.ts"
import { type EventService, openEvents } from "../support/events.ts"
import { type Heard, listen } from "../support/stream.ts"
import { waitUntil } from "../support/until.ts"

const customers = defineResource("customers", {
  table: "customers",
  primaryKey: "id",
  fields: { id: f.integer().filterable(), country: f.text().filterable() },
  access: { read: ({ caller }) => caller.roles.includes("boss") || where`country != "XX"` }
})

const orders = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  owner: "owner_id",
  softDelete: "deleted_at",
  version: "rev",
  fields: {
    id: f.integer().filterable().sortable(),
    owner_id: f.text().filterable(),
    customer_id: relation(customers).optional().filterable(),
    status: f.enum(["open", "paid", "shipped"]).filterable(),
    total: f.decimal({ precision: 12, scale: 2 }).filterable(),
    note: f.text().optional().filterable().searched(),
    secret: f.text().optional().filterable(),
    deleted_at: f.timestamp().optional(),
    rev: f.integer()
  },
  access: {
    read: ({ caller }) => caller.roles.includes("boss") || where`owner_id = caller.id`,
    create: true,
    update: true,
    delete: true,
    fields: { secret: { read: ["boss"] } }
  },
  events: { updated: true }
})

export const config = defineConfig({
  resources: [customers, orders],
  roles: defineRoles({ boss: ["customers.*", "orders.*"], clerk: ["customers.*", "orders.*"] })
})

export const schema = `
  create table customers (id integer primary key, country text not null);
  create table orders (
    id integer primary key, tenant_id integer not null, owner_id text not null, customer_id integer references customers, status text not null,
    total numeric(12, 2) not null, note text, secret text, deleted_at timestamptz, rev integer not null default 1
  )`

export const boss: TestCaller = { id: "boss", roles: ["boss"], tenant: "1" }
export const ann: TestCaller = { id: "ann", roles: ["clerk"], tenant: "1" }
/** Of the other tenant. */
export const eve: TestCaller = { id: "eve", roles: ["boss"], tenant: "2" }

export interface WatchStage {
  readonly fetch: (caller: TestCaller, path: string, init?: RequestInit) => Promise<Response>
  readonly until: EventService["until"]
  /** Ends all that was issued to somebody so far; only over fakes. */
  readonly revoke: (id: string) => void
  readonly events: EventService | null
  readonly close: () => Promise<void>
}

export const inMemory = async (): Promise<WatchStage> => {
  const service = await build(Memory, {
    compiled: compileOrThrow(config),
    accounts: null,
    authenticator: () => {
      throw new Error("Tokens are asked, and nobody else.")
    },
    secret: testSecret,
    publicUrl: "http://service.test",
    webFolder: "no-admin-app"
  })
  const { changes, tokens } = Context.get(service.made, Fakes)
  // Marks of a stream are taken by the database's clock, which is the process's one here.
  changes.pass(Math.floor(Date.now() / 1_000))
  const { fetch } = Context.get(service.made, Http)
  const known = new Map<string, string>()
  const tokenOf = (caller: TestCaller): string => {
    const name = JSON.stringify(caller)
    const token = known.get(name) ?? tokens.issue({ ...caller, tenant: caller.tenant ?? null }, 3_600)
    known.set(name, token)
    return token
  }
  await Context.get(service.made, Work).start()
  return {
    fetch: (caller, path, init = {}) =>
      fetch(
        new Request(`http://service.test${path}`, {
          ...init,
          headers: { authorization: `Bearer ${tokenOf(caller)}`, ...init.headers as object }
        })
      ),
    until: waitUntil,
    revoke: (id) => {
      tokens.revoke(id)
      for (const name of known.keys()) if ((JSON.parse(name) as TestCaller).id === id) known.delete(name)
    },
    events: null,
    close: () => service.close()
  }
}

export const onPostgres = async (): Promise<WatchStage> => {
  const events = await openEvents({ config, schema })
  return {
    fetch: events.fetch,
    until: events.until,
    revoke: () => {},
    events,
    close: () => events.close()
  }
}

/** What people do with orders. */
export const handsOf = ({ fetch, until }: WatchStage) => {
  const call = async (caller: TestCaller, method: string, path: string, body?: object, etag?: string) => {
    const answer = await fetch(caller, path, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(etag === undefined ? {} : { "if-match": etag })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return { etag: answer.headers.get("etag")!, json: (text === "" ? null : JSON.parse(text)) as Answered }
  }
  const etagOf = async (caller: TestCaller, id: number): Promise<string> =>
    (await call(caller, "GET", `/api/v1/orders/${id}?show_deleted=true`)).etag
  return {
    customer: (id: number, country: string) => call(boss, "POST", "/api/v1/customers", { id, country }),
    move: async (id: number, country: string) => {
      const { etag } = await call(boss, "GET", `/api/v1/customers/${id}`)
      return call(boss, "PATCH", `/api/v1/customers/${id}`, { country }, etag)
    },
    create: (caller: TestCaller, id: number, more: object = {}) =>
      call(caller, "POST", "/api/v1/orders", { id, owner_id: "ann", status: "open", total: "1.00", ...more }),
    change: async (caller: TestCaller, id: number, values: object) =>
      call(caller, "PATCH", `/api/v1/orders/${id}`, values, await etagOf(caller, id)),
    remove: async (caller: TestCaller, id: number) =>
      call(caller, "DELETE", `/api/v1/orders/${id}`, undefined, await etagOf(caller, id)),
    undelete: (caller: TestCaller, id: number) => call(caller, "POST", `/api/v1/orders/${id}:undelete`),
    keys: async (caller: TestCaller, filter: string): Promise<readonly string[]> => {
      const query = new URLSearchParams({ filter, fields: "id", page_size: "500" })
      const { json } = await call(caller, "GET", `/api/v1/orders?${query.toString()}`)
      return (json["items"] as unknown as ReadonlyArray<{ readonly id: number }>).map(({ id }) => String(id)).toSorted()
    },
    watch: (caller: TestCaller, filter?: string, lastId?: string): Promise<Heard> =>
      listen(
        (path, init) => fetch(caller, path, init),
        until,
        filter === undefined ? "/api/v1/orders:watch" : `/api/v1/orders:watch?filter=${encodeURIComponent(filter)}`,
        lastId
      )
  }
}

/** Events as short texts: `entered 7`, `reset`. */
export const told = ({ events }: Heard): readonly string[] =>
  events.map(({ data, event }) => event === "change" ? `${data["kind"] as string} ${data["key"] as string}` : event)
