// The capture of changes and the port to them: what SQL of any sort leaves behind, in which order, and who may take it.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { Client } from "pg"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { makeChanges } from "../../adapters/postgres/changes.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { defineConfig, defineResource, f } from "../../composition/index.ts"
import { eventMigrations } from "../../composition/migrations.ts"
import type { StoredChange } from "../../core/domain/event/change.ts"
import type { ChangesService } from "../../core/ports/changes.ts"
import { openDatabase } from "../support/postgres.ts"
import type { TestDatabase } from "../support/postgres.ts"

const fields = {
  id: f.integer().bits(64),
  name: f.text(),
  code: f.text().optional(),
  total: f.decimal({ precision: 20, scale: 4 }).optional(),
  ratio: f.float().optional(),
  at: f.timestamp().optional(),
  local: f.timestamp().optional(),
  day: f.date().optional(),
  done: f.boolean().optional(),
  tag: f.uuid().optional(),
  data: f.json().optional(),
  raw: f.json().optional(),
  position: f.integer().optional()
}

const { models } = compileOrThrow(defineConfig({
  resources: [
    defineResource("things", { table: "shop.things", primaryKey: "id", fields, events: { created: true } }),
    defineResource("names", {
      table: "shop.things",
      primaryKey: "id",
      fields: { id: f.integer().bits(64), name: f.text(), secret: f.text().sensitive().optional() }
    }),
    defineResource("parts", {
      table: "shop.parts",
      primaryKey: "id",
      fields: { id: f.integer(), name: f.text() },
      events: { updated: true }
    }),
    defineResource("quiet", { table: "shop.quiet", primaryKey: "id", fields: { id: f.integer(), name: f.text() } })
  ]
}))

const schema = `create schema shop;
create table shop.things (id bigint primary key, name text not null, code char(6), total numeric(20,4), ratio double precision, at timestamptz,
  local timestamp, day date, done boolean, tag uuid, data jsonb, raw json, position integer, secret text, hidden bytea);
create table shop.parts (id integer, name text) partition by range (id);
create table shop.parts_low partition of shop.parts for values from (0) to (100);
create table shop.parts_high partition of shop.parts for values from (100) to (200);
create table shop.quiet (id integer primary key, name text);
do $$ begin create role stranger; exception when duplicate_object then null; end $$; grant usage on schema shop to stranger; grant insert, update, delete, select on shop.things to stranger;
${eventMigrations({ models }).map(({ statements }) => statements).join("\n")}`

let database: TestDatabase
let changes: ChangesService
let close: () => Promise<void>
const clients: Client[] = []

beforeAll(async () => {
  database = await openDatabase(schema)
  const scope = Effect.runSync(Scope.make())
  const postgres = await Effect.runPromise(Scope.provide(makePostgres({ url: database.url }), scope))
  changes = makeChanges(postgres, models)
  close = async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await database.drop()
  }
})
afterAll(() => close?.())
beforeEach(() =>
  database.execute(
    "truncate shop.things, shop.parts, shop.quiet; truncate service.change, service.dispatcher, service.recent_change, service.watched"
  )
)
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end()
})

const connect = async (): Promise<Client> => {
  const client = new Client(pgAddressOf(database.url))
  await client.connect()
  clients.push(client)
  return client
}

const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)
const take = async (holder = "a", limit = 1_000): Promise<readonly StoredChange[]> =>
  (await run(changes.take(holder, limit)))!

describe("what is captured", () => {
  it("is every value as a read gives it, whatever the writer's settings", async () => {
    const client = await connect()
    await client.query("set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'; set extra_float_digits = -5")
    await client.query(
      `insert into shop.things values (9007199254740993, 'x', 'ab', 12.5, 0.1, '2026-03-01 00:00:00.120000+01', '2026-03-01 12:00',
      '2026-03-01', true, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{"n": 90071992547409931234567890}', '{"a":1,  "a":2}', 5, 'hush', '\\x00')`
    )
    const [change] = await take()
    expect(change).toMatchObject({ relation: "shop.things", operation: "insert", before: null, actor: null })
    expect(change!.after).toEqual({
      id: "9007199254740993",
      name: "x",
      code: "ab",
      total: "12.5000",
      ratio: "0.1",
      at: "2026-02-28T23:00:00.12Z",
      local: "2026-03-01T12:00:00Z",
      day: "2026-03-01",
      done: "true",
      tag: "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
      data: "{\"n\": 90071992547409931234567890}",
      raw: "{\"a\":1,  \"a\":2}",
      position: "5",
      secret: "hush"
    })
    expect(change!.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/)
  })

  it("is nothing of a write that rolled back, and nothing of one that changes no declared column", async () => {
    const client = await connect()
    await client.query("insert into shop.things (id, name) values (1, 'a')")
    await client.query(
      "begin; update shop.things set name = 'b'; insert into shop.things (id, name) values (2, 'b'); rollback"
    )
    await client.query("begin; savepoint s; delete from shop.things; rollback to s; commit")
    await client.query("update shop.things set name = name")
    await client.query("update shop.things set hidden = '\\x01'")
    expect((await take()).map(({ operation }) => operation)).toEqual(["insert"])
  })

  it("is every row of a statement, in one transaction", async () => {
    const client = await connect()
    await client.query("insert into shop.things (id, name) select i, 'n' || i from generate_series(1, 100) i")
    await client.query("update shop.things set name = upper(name)")
    await client.query(
      "insert into shop.things (id, name) values (1, 'again'), (101, 'new') on conflict (id) do update set name = excluded.name"
    )
    await client.query("delete from shop.things where id <= 3")
    const all = await take()
    expect(all).toHaveLength(100 + 100 + 2 + 3)
    expect(new Set(all.slice(0, 100).map(({ transaction }) => transaction)).size).toBe(1)
    expect(new Set(all.map(({ transaction }) => transaction)).size).toBe(4)
    expect(all.slice(200).map(({ after, before, operation }) => [operation, before?.["name"], after?.["name"]]))
      .toEqual([
        ["update", "N1", "again"],
        ["insert", undefined, "new"],
        ["delete", "again", undefined],
        ["delete", "N2", undefined],
        ["delete", "N3", undefined]
      ])
  })

  it("goes on in partitions, also where they are written to directly or rows move", async () => {
    const client = await connect()
    await client.query("insert into shop.parts values (1, 'a')")
    await client.query("insert into shop.parts_high values (150, 'b')")
    await client.query("update shop.parts_low set name = 'c'")
    await client.query("update shop.parts set id = 160 where id = 1")
    const all = await take()
    expect(all.every(({ relation }) => relation === "shop.parts")).toBe(true)
    expect(all.map(({ operation }) => operation)).toEqual(["insert", "insert", "update", "delete", "insert"])
  })

  it("is one change without rows for TRUNCATE, and nothing of tables without events", async () => {
    const client = await connect()
    await client.query("insert into shop.quiet values (1, 'a')")
    await client.query("truncate shop.things")
    expect(await take()).toMatchObject([{ relation: "shop.things", operation: "truncate", before: null, after: null }])
  })

  it("is what roles write that know nothing of it", async () => {
    const client = await connect()
    await client.query("set role stranger")
    await client.query("insert into shop.things (id, name) values (1, 'a')")
    await expect(client.query("select * from service.change")).rejects.toThrow("permission denied")
    expect(await take()).toHaveLength(1)
  })

  it("has the actor that the transaction was given, and no other's", async () => {
    const client = await connect()
    await client.query("begin")
    await client.query("select set_config('service.actor', '{\"id\":\"u1\",\"roles\":[\"sales\"]}', true)")
    await client.query("insert into shop.things (id, name) values (1, 'a')")
    await client.query("commit")
    await client.query("insert into shop.things (id, name) values (2, 'b')")
    expect((await take()).map(({ actor }) => actor)).toEqual([{ id: "u1", roles: ["sales"] }, null])
  })

  it("comes before what triggers of the application do to the same row", async () => {
    await database.execute(`create function shop.shout() returns trigger language plpgsql as $$ begin
        update shop.things set name = upper(name) where id = new.id and name <> upper(name); return null; end $$;
      create trigger "shout" after insert on shop.things for each row execute function shop.shout()`)
    try {
      await database.execute("insert into shop.things (id, name) values (1, 'quiet')")
      expect((await take()).map(({ after, operation }) => [operation, after?.["name"]])).toEqual([
        ["insert", "quiet"],
        ["update", "QUIET"]
      ])
    } finally {
      await database.execute("drop trigger \"shout\" on shop.things")
    }
  })
})

describe("the order of changes", () => {
  it("is that of commits for each record, with eight writers, long and rolled back transactions", async () => {
    const records = 10
    await database.execute(
      `insert into shop.things (id, name, position) select i, 'n', 0 from generate_series(1, ${records}) i; truncate service.change`
    )
    const writers = await Promise.all(Array.from({ length: 8 }, connect))
    let committed = 0
    await Promise.all(writers.map(async (client, w) => {
      for (let i = 0; i < 25; i++) {
        // Two records in one order, so that writers wait for each other and do not deadlock.
        const [first, second] = [1 + (w * 7 + i) % records, 1 + (w * 3 + i * 5) % records].sort((a, b) => a - b)
        await client.query("begin")
        await client.query("update shop.things set position = position + 1, name = $2 where id = $1", [first, `w${w}`])
        if (first !== second) {
          await client.query("update shop.things set position = position + 1 where id = $1", [second])
        }
        if (i % 5 === 4) await client.query("rollback")
        else {
          await client.query("commit")
          committed += first === second ? 1 : 2
        }
      }
    }))
    const seen = new Map<string, number>()
    const all: StoredChange[] = []
    for (let part = await take("a", 50); part.length > 0; part = await take("a", 50)) {
      all.push(...part)
      await run(changes.settle(part, () => Effect.void))
    }
    expect(all).toHaveLength(committed)
    for (const { after, before } of all) {
      const id = after!["id"]!
      expect(Number(before!["position"])).toBe(seen.get(id) ?? 0)
      seen.set(id, Number(after!["position"]))
    }
    const rows = await database.rows("select id::text, position::text from shop.things")
    for (const [id, position] of rows) expect(String(seen.get(id!) ?? 0)).toBe(position)
  })

  it("does not wait for a transaction that is still open, and loses nothing of it", async () => {
    const slow = await connect()
    await slow.query("begin; insert into shop.things (id, name) values (1, 'early')")
    await database.execute("insert into shop.things (id, name) values (2, 'late')")
    const first = await take()
    expect(first.map(({ after }) => after!["name"])).toEqual(["late"])
    await run(changes.settle(first, () => Effect.void))
    await slow.query("commit")
    const second = await take()
    expect(second.map(({ after }) => after!["name"])).toEqual(["early"])
    expect(BigInt(second[0]!.sequence)).toBeLessThan(BigInt(first[0]!.sequence))
  })
})

describe("who takes them", () => {
  const write = () => database.execute("insert into shop.things (id, name) select i, 'n' from generate_series(1, 3) i")

  it("is one at a time, until they give it back or are silent for too long", async () => {
    await write()
    expect(await run(changes.waiting)).toBe(true)
    expect(await take("a")).toHaveLength(3)
    expect(await run(changes.take("b", 10))).toBeNull()
    expect(await take("a", 2)).toHaveLength(2)
    await run(changes.release("b"))
    expect(await run(changes.take("b", 10))).toBeNull()
    await run(changes.release("a"))
    expect(await take("b")).toHaveLength(3)
    await database.execute("update service.dispatcher set until = clock_timestamp() - interval '1 millisecond'")
    expect(await take("a")).toHaveLength(3)
    expect(await run(changes.take("b", 10))).toBeNull()
  })

  it("is told an empty list where nothing waits", async () => {
    expect(await run(changes.waiting)).toBe(false)
    expect(await take()).toEqual([])
  })

  it("removes them together with its work, or not at all", async () => {
    await write()
    const all = await take()
    const failing = changes.settle(all, (tx) =>
      Effect.andThen(
        Effect.promise(() => tx.query("insert into shop.quiet values (1, 'done')")),
        Effect.die(new Error("broken"))
      ))
    expect(Exit.isFailure(await Effect.runPromiseExit(failing))).toBe(true)
    expect(await take()).toHaveLength(3)
    expect(await database.rows("select * from shop.quiet")).toEqual([])
    await run(
      changes.settle(
        all,
        (tx) => Effect.promise(async () => void await tx.query("insert into shop.quiet values (1, 'done')"))
      )
    )
    expect(await take()).toEqual([])
    expect(await database.rows("select name from shop.quiet")).toEqual([["done"]])
  })

  it("does no work for changes that another has settled", async () => {
    await write()
    const all = await take()
    await run(changes.settle(all.slice(1, 2), () => Effect.void))
    const late = await run(Effect.result(changes.settle(all, () => Effect.die("must not run"))))
    expect(Result.isFailure(late) && late.failure._tag).toBe("Taken")
    expect(await take()).toHaveLength(2)
  })

  it("gets so many that a process can hold them, but always one", async () => {
    await database.execute(
      "insert into shop.things (id, name) select i, (select string_agg(md5(random()::text), '') from generate_series(1, 100000) g where g > i - i) from generate_series(1, 5) i"
    )
    const sizes: number[] = []
    for (let part = await take(); part.length > 0; part = await take()) {
      sizes.push(part.length)
      await run(changes.settle(part, () => Effect.void))
    }
    expect(sizes.reduce((sum, size) => sum + size)).toBe(5)
    expect(sizes.length).toBeGreaterThan(1)
  })
})

describe("who watches", () => {
  it("finds what was sent on since, of the relations that were watched", async () => {
    await database.execute("insert into shop.things (id, name) values (1, 'unseen')")
    await run(changes.settle(await take(), () => Effect.void))
    await run(changes.watch(["shop.things"]))
    const { position, seconds } = await run(changes.last)
    expect(Math.abs(seconds - Date.now() / 1_000)).toBeLessThan(60)
    await database.execute(
      "insert into shop.things (id, name) values (2, 'a'), (3, 'b'); insert into shop.parts values (1, 'p')"
    )
    await run(changes.settle(await take(), () => Effect.void))
    const found = await run(changes.since(["shop.things", "shop.parts"], position, 10))
    expect(found.map(({ change }) => change.after!["name"])).toEqual(["a", "b"])
    expect(await run(changes.since(["shop.things"], found[0]!.position, 10))).toEqual(found.slice(1))
    expect((await run(changes.last)).position).toBe(found[1]!.position)
    await database.execute(
      "update service.recent_change set seen_at = now() - interval '11 minutes' where position = (select min(position) from service.recent_change)"
    )
    await run(changes.forget)
    expect(await run(changes.since(["shop.things"], position, 10))).toEqual(found.slice(1))
    await database.execute("update service.watched set until = now() - interval '1 second'")
    await run(changes.forget)
    expect(await database.rows("select * from service.watched")).toEqual([])
  })
})

describe("the migration", () => {
  it("is safe to run again, and says whether it is there", async () => {
    const [, ...tables] = eventMigrations({ models })
    const present = async () =>
      Promise.all(tables.map(async ({ question }) => (await database.rows(question!))[0]![0] === "t"))
    expect(await present()).toEqual([true, true])
    await database.execute(eventMigrations({ models }).map(({ statements }) => statements).join("\n"))
    expect(await present()).toEqual([true, true])
    await database.execute("alter table shop.things disable trigger \"0_service_changes\"")
    expect(await present()).toEqual([false, true])
    await database.execute("alter table shop.things enable always trigger \"0_service_changes\"")
    expect(await present()).toEqual([true, true])
    await database.execute("drop trigger \"0_service_changes\" on shop.parts")
    expect(await present()).toEqual([true, false])
    await database.execute(tables[1]!.statements)
    expect(await present()).toEqual([true, true])
  })

  it("asks for another trigger when columns are declared that are not captured", async () => {
    const more = compileOrThrow(defineConfig({
      resources: [
        defineResource("things", {
          table: "shop.things",
          primaryKey: "id",
          fields: { ...fields, secret: f.text().optional() },
          events: { created: true }
        })
      ]
    }))
    // Another resource over the table declared the column before, and so it is there already.
    const [, table] = eventMigrations({ models: more.models })
    expect((await database.rows(table!.question!))[0]![0]).toBe("t")
    const fewer = compileOrThrow(defineConfig({
      resources: [
        defineResource("things", {
          table: "shop.things",
          primaryKey: "id",
          fields: { id: fields.id },
          events: { created: true }
        })
      ]
    }))
    expect((await database.rows(eventMigrations({ models: fewer.models })[1]!.question!))[0]![0]).toBe("f")
  })

  it("is nothing for an application without events", () => {
    expect(eventMigrations({ models: new Map([["quiet", models.get("quiet")!]]) })).toEqual([])
  })
})
