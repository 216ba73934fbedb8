// The capture of changes and the port to them: what SQL of any sort leaves behind, in which order, and who may take it.
import { describe, expect, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { Client } from "pg"
import { makeChanges } from "../../adapters/postgres/changes.ts"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { defineConfig, defineResource, f } from "../../composition/index.ts"
import { eventMigrations } from "../../composition/migrations.ts"
import type { StoredChange } from "../../core/domain/event/change.ts"
import type { ChangesService } from "../../core/ports/changes.ts"
import { Connection, connectionLayer, Database, execute, live, rows } from "../support/layers.ts"

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
    defineResource("kinds", {
      table: "shop.kinds",
      primaryKey: "id",
      fields: {
        id: f.integer(),
        opens: f.time(),
        lasts: f.interval(),
        ip: f.inet(),
        content: f.bytes(),
        price: f.money(),
        during: f.range("timestamp"),
        local: f.range("timestamp"),
        days: f.range("date"),
        place: f.native("point"),
        zoned: f.native("timetz")
      },
      events: { created: true }
    }),
    defineResource("natives", {
      table: "shop.natives",
      primaryKey: "id",
      fields: {
        id: f.integer(),
        waits: f.native("interval[]").readOnly(),
        blobs: f.native("bytea[]").readOnly()
      },
      events: { created: true }
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
create table shop.kinds (id integer primary key, opens time, lasts interval, ip inet, content bytea, price money, during tstzrange, local tsrange,
  days daterange, place point, zoned timetz);
create table shop.natives (id integer primary key, waits interval[], blobs bytea[]);
create table shop.quiet (id integer primary key, name text);
do $$ begin create role stranger; exception when duplicate_object then null; end $$; grant usage on schema shop to stranger; grant insert, update, delete, select on shop.things to stranger;
${eventMigrations({ models }).map(({ statements }) => statements).join("\n")}`

class Changes extends Context.Service<Changes, ChangesService>()("test/postgres/changes/Changes") {}

const changesLayer = Layer.effect(Changes, Effect.map(Connection, (postgres) => makeChanges(postgres, models))).pipe(
  Layer.provideMerge(connectionLayer(schema))
)

const clear = execute(
  "truncate shop.things, shop.parts, shop.kinds, shop.natives, shop.quiet; truncate service.change, service.dispatcher, service.recent_change, service.watched"
)

/** What another program sends on a connection of its own, which ends with the test. */
const connect = Effect.map(
  Effect.acquireRelease(
    Effect.flatMap(Database, ({ url }) =>
      Effect.promise(async () => {
        const client = new Client(pgAddressOf(url))
        await client.connect()
        return client
      })),
    (client) => Effect.promise(() => client.end())
  ),
  (client) => (sql: string, values: readonly unknown[] = []) =>
    Effect.tryPromise({ try: () => client.query(sql, [...values]), catch: (error) => error as Error })
)

const take = Effect.fnUntraced(function*(holder = "a", limit = 1_000) {
  const changes = yield* Changes
  return (yield* changes.take(holder, limit))!
})
/** Takes changes away, and does nothing else. */
const settle = (all: readonly StoredChange[]) =>
  Effect.flatMap(Changes, (changes) => changes.settle(all, () => Effect.void))

type Steps = Generator<Effect.Effect<unknown, unknown, Changes | Connection | Database | Scope.Scope>, void, never>

layer(changesLayer, live)((it) => {
  /** A test that begins with empty tables. */
  const test = (title: string, body: () => Steps) => it.effect(title, () => Effect.andThen(clear, Effect.gen(body)))

  describe("what is captured", () => {
    test("is every value as a read gives it, whatever the writer's settings", function*() {
      const query = yield* connect
      yield* query("set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'; set extra_float_digits = -5")
      yield* query(
        `insert into shop.things values (9007199254740993, 'x', 'ab', 12.5, 0.1, '2026-03-01 00:00:00.120000+01', '2026-03-01 12:00',
      '2026-03-01', true, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{"n": 90071992547409931234567890}', '{"a":1,  "a":2}', 5, 'hush', '\\x00')`
      )
      const [change] = yield* take()
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

    test("is every kind of PostgreSQL in its one form", function*() {
      const query = yield* connect
      yield* query(
        "set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'; set extra_float_digits = -5; set intervalstyle = 'postgres_verbose'; set bytea_output = 'escape'"
      )
      yield* query(
        `insert into shop.kinds values (1, '09:30', '1 year -2 days 3.5 seconds', '10.0.0.1', '\\x00ff', 12.5::numeric,
      '[2026-03-01 00:00+01,)', '[2026-03-01 00:00,2026-03-02 00:00)', '[2026-03-01,2026-03-31]', '(0.1,0.2)', '10:00+05:30')`
      )
      const [change] = yield* take()
      expect(change!.after).toEqual({
        id: "1",
        opens: "09:30:00",
        lasts: "P1Y-2DT3.5S",
        ip: "10.0.0.1",
        content: "AP8=",
        price: "12.50",
        during: "[2026-02-28T23:00:00Z,)",
        local: "[2026-03-01T00:00:00Z,2026-03-02T00:00:00Z)",
        days: "[2026-03-01,2026-04-01)",
        place: "(0.1,0.2)",
        zoned: "10:00:00+05:30"
      })
    })

    test("is the text of a type without a kind as reads give it, whatever it is made of", function*() {
      const query = yield* connect
      yield* query("set intervalstyle = 'postgres_verbose'; set bytea_output = 'escape'")
      yield* query("insert into shop.natives values (1, '{1 mon}', array['\\x00ff'::bytea])")
      const [change] = yield* take()
      const postgres = yield* Connection
      const [read] = yield* postgres.read("select id::text, waits::text, blobs::text from shop.natives", [], {
        prepare: false
      })
      const texts = { id: "1", waits: "{P1M}", blobs: String.raw`{"\\x00ff"}` }
      expect(change!.after).toEqual(texts)
      expect(read).toEqual(Object.values(texts))
    })

    test("is nothing of a write that rolled back, and nothing of one that changes no declared column", function*() {
      const query = yield* connect
      yield* query("insert into shop.things (id, name) values (1, 'a')")
      yield* query(
        "begin; update shop.things set name = 'b'; insert into shop.things (id, name) values (2, 'b'); rollback"
      )
      yield* query("begin; savepoint s; delete from shop.things; rollback to s; commit")
      yield* query("update shop.things set name = name")
      yield* query("update shop.things set hidden = '\\x01'")
      expect((yield* take()).map(({ operation }) => operation)).toEqual(["insert"])
    })

    test("is every row of a statement, in one transaction", function*() {
      const query = yield* connect
      yield* query("insert into shop.things (id, name) select i, 'n' || i from generate_series(1, 100) i")
      yield* query("update shop.things set name = upper(name)")
      yield* query(
        "insert into shop.things (id, name) values (1, 'again'), (101, 'new') on conflict (id) do update set name = excluded.name"
      )
      yield* query("delete from shop.things where id <= 3")
      const all = yield* take()
      expect(all).toHaveLength(100 + 100 + 2 + 3)
      expect(new Set(all.slice(0, 100).map(({ transaction }) => transaction)).size).toBe(1)
      expect(new Set(all.map(({ transaction }) => transaction)).size).toBe(4)
      const seen = all.slice(200).map(({ after, before, operation }) => [operation, before?.["name"], after?.["name"]])
      expect(seen.slice(0, 2)).toEqual([["update", "N1", "again"], ["insert", undefined, "new"]])
      // A statement deletes rows in the order in which it finds them.
      expect(new Set(seen.slice(2).map(String))).toEqual(new Set(["delete,again,", "delete,N2,", "delete,N3,"]))
    })

    test("goes on in partitions, also where they are written to directly or rows move", function*() {
      const query = yield* connect
      yield* query("insert into shop.parts values (1, 'a')")
      yield* query("insert into shop.parts_high values (150, 'b')")
      yield* query("update shop.parts_low set name = 'c'")
      yield* query("update shop.parts set id = 160 where id = 1")
      const all = yield* take()
      expect(all.every(({ relation }) => relation === "shop.parts")).toBe(true)
      expect(all.map(({ operation }) => operation)).toEqual(["insert", "insert", "update", "delete", "insert"])
    })

    test("is one change without rows for TRUNCATE, and nothing of tables without events", function*() {
      const query = yield* connect
      yield* query("insert into shop.quiet values (1, 'a')")
      yield* query("truncate shop.things")
      expect(yield* take()).toMatchObject([{
        relation: "shop.things",
        operation: "truncate",
        before: null,
        after: null
      }])
    })

    test("is what roles write that know nothing of it", function*() {
      const query = yield* connect
      yield* query("set role stranger")
      yield* query("insert into shop.things (id, name) values (1, 'a')")
      expect((yield* Effect.flip(query("select * from service.change"))).message).toContain("permission denied")
      expect(yield* take()).toHaveLength(1)
    })

    test("has the actor that the transaction was given, and no other's", function*() {
      const query = yield* connect
      yield* query("begin")
      yield* query("select set_config('service.actor', '{\"id\":\"u1\",\"roles\":[\"sales\"]}', true)")
      yield* query("insert into shop.things (id, name) values (1, 'a')")
      yield* query("commit")
      yield* query("insert into shop.things (id, name) values (2, 'b')")
      expect((yield* take()).map(({ actor }) => actor)).toEqual([{ id: "u1", roles: ["sales"] }, null])
    })

    test("comes before what triggers of the application do to the same row", function*() {
      yield* execute(`create function shop.shout() returns trigger language plpgsql as $$ begin
        update shop.things set name = upper(name) where id = new.id and name <> upper(name); return null; end $$;
      create trigger "shout" after insert on shop.things for each row execute function shop.shout()`)
      yield* Effect.addFinalizer(() => execute("drop trigger \"shout\" on shop.things"))
      yield* execute("insert into shop.things (id, name) values (1, 'quiet')")
      expect((yield* take()).map(({ after, operation }) => [operation, after?.["name"]])).toEqual([
        ["insert", "quiet"],
        ["update", "QUIET"]
      ])
    })
  })

  describe("the order of changes", () => {
    test("is that of commits for each record, with eight writers, long and rolled back transactions", function*() {
      const records = 10
      yield* execute(
        `insert into shop.things (id, name, position) select i, 'n', 0 from generate_series(1, ${records}) i; truncate service.change`
      )
      const writers = yield* Effect.all(Array.from({ length: 8 }, () => connect), { concurrency: "unbounded" })
      let committed = 0
      const writing = writers.map((query, w) =>
        Effect.gen(function*() {
          for (let i = 0; i < 25; i++) {
            // Two records in one order, so that writers wait for each other and do not deadlock.
            const [first, second] = [1 + (w * 7 + i) % records, 1 + (w * 3 + i * 5) % records].sort((a, b) => a - b)
            yield* query("begin")
            yield* query("update shop.things set position = position + 1, name = $2 where id = $1", [first, `w${w}`])
            if (first !== second) {
              yield* query("update shop.things set position = position + 1 where id = $1", [second])
            }
            if (i % 5 === 4) yield* query("rollback")
            else {
              yield* query("commit")
              committed += first === second ? 1 : 2
            }
          }
        })
      )
      yield* Effect.all(writing, { concurrency: "unbounded" })
      const seen = new Map<string, number>()
      const all: StoredChange[] = []
      for (let part = yield* take("a", 50); part.length > 0; part = yield* take("a", 50)) {
        all.push(...part)
        yield* settle(part)
      }
      expect(all).toHaveLength(committed)
      for (const { after, before } of all) {
        const id = after!["id"]!
        expect(Number(before!["position"])).toBe(seen.get(id) ?? 0)
        seen.set(id, Number(after!["position"]))
      }
      const stored = yield* rows("select id::text, position::text from shop.things")
      for (const [id, position] of stored) expect(String(seen.get(id!) ?? 0)).toBe(position)
    })

    test("does not wait for a transaction that is still open, and loses nothing of it", function*() {
      const slow = yield* connect
      yield* slow("begin; insert into shop.things (id, name) values (1, 'early')")
      yield* execute("insert into shop.things (id, name) values (2, 'late')")
      const first = yield* take()
      expect(first.map(({ after }) => after!["name"])).toEqual(["late"])
      yield* settle(first)
      yield* slow("commit")
      const second = yield* take()
      expect(second.map(({ after }) => after!["name"])).toEqual(["early"])
      expect(BigInt(second[0]!.sequence)).toBeLessThan(BigInt(first[0]!.sequence))
    })
  })

  describe("who takes them", () => {
    const write = execute("insert into shop.things (id, name) select i, 'n' from generate_series(1, 3) i")

    test("is one at a time, until they give it back or are silent for too long", function*() {
      const changes = yield* Changes
      yield* write
      expect(yield* changes.waiting).toBe(true)
      expect(yield* take("a")).toHaveLength(3)
      expect(yield* changes.take("b", 10)).toBeNull()
      expect(yield* take("a", 2)).toHaveLength(2)
      yield* changes.release("b")
      expect(yield* changes.take("b", 10)).toBeNull()
      yield* changes.release("a")
      expect(yield* take("b")).toHaveLength(3)
      yield* execute("update service.dispatcher set until = clock_timestamp() - interval '1 millisecond'")
      expect(yield* take("a")).toHaveLength(3)
      expect(yield* changes.take("b", 10)).toBeNull()
    })

    test("is told an empty list where nothing waits", function*() {
      const changes = yield* Changes
      expect(yield* changes.waiting).toBe(false)
      expect(yield* take()).toEqual([])
    })

    test("removes them together with its work, or not at all", function*() {
      const changes = yield* Changes
      yield* write
      const all = yield* take()
      const failing = changes.settle(all, (tx) =>
        Effect.andThen(
          Effect.promise(() => tx.query("insert into shop.quiet values (1, 'done')")),
          Effect.die(new Error("broken"))
        ))
      expect(Exit.isFailure(yield* Effect.exit(failing))).toBe(true)
      expect(yield* take()).toHaveLength(3)
      expect(yield* rows("select * from shop.quiet")).toEqual([])
      yield* changes.settle(
        all,
        (tx) => Effect.promise(async () => void await tx.query("insert into shop.quiet values (1, 'done')"))
      )
      expect(yield* take()).toEqual([])
      expect(yield* rows("select name from shop.quiet")).toEqual([["done"]])
    })

    test("does no work for changes that another has settled", function*() {
      const changes = yield* Changes
      yield* write
      const all = yield* take()
      yield* settle(all.slice(1, 2))
      const late = yield* Effect.result(changes.settle(all, () => Effect.die("must not run")))
      expect(Result.isFailure(late) && late.failure._tag).toBe("Taken")
      expect(yield* take()).toHaveLength(2)
    })

    test("gets so many that a process can hold them, but always one", function*() {
      yield* execute(
        "insert into shop.things (id, name) select i, (select string_agg(md5(random()::text), '') from generate_series(1, 100000) g where g > i - i) from generate_series(1, 5) i"
      )
      const sizes: number[] = []
      for (let part = yield* take(); part.length > 0; part = yield* take()) {
        sizes.push(part.length)
        yield* settle(part)
      }
      expect(sizes.reduce((sum, size) => sum + size)).toBe(5)
      expect(sizes.length).toBeGreaterThan(1)
    })
  })

  describe("who watches", () => {
    test("gives no more bytes of what was sent on at once than a process can hold", function*() {
      const changes = yield* Changes
      const { position } = yield* changes.last
      // Digits without a pattern, which are not stored shorter than they are.
      yield* execute(
        `insert into service.recent_change (sequence, transaction, at, relation, operation, after)
          select n, '1', now(), 'shop.things', 'insert', jsonb_build_object('id', n::text, 'note', (
            select string_agg(md5(n::text || i), '') from generate_series(1, 32768) i
          )) from generate_series(1, 24) n`
      )
      let found = 0
      let reads = 0
      for (let at = position;; reads++) {
        const part = yield* changes.since(["shop.things"], at, 500)
        if (part.length === 0) break
        expect(part.length).toBeLessThan(24)
        found += part.length
        at = part.at(-1)!.position
      }
      expect(found).toBe(24)
      expect(reads).toBeGreaterThan(1)
    })

    test("finds what was sent on since, of the relations that were watched", function*() {
      const changes = yield* Changes
      yield* execute("insert into shop.things (id, name) values (1, 'unseen')")
      yield* settle(yield* take())
      yield* changes.watch(["shop.things"])
      const { position, seconds } = yield* changes.last
      expect(Math.abs(seconds - Date.now() / 1_000)).toBeLessThan(60)
      yield* execute(
        "insert into shop.things (id, name) values (2, 'a'), (3, 'b'); insert into shop.parts values (1, 'p')"
      )
      yield* settle(yield* take())
      const found = yield* changes.since(["shop.things", "shop.parts"], position, 10)
      expect(found.map(({ change }) => change.after!["name"])).toEqual(["a", "b"])
      expect(yield* changes.since(["shop.things"], found[0]!.position, 10)).toEqual(found.slice(1))
      expect((yield* changes.last).position).toBe(found[1]!.position)
      yield* execute(
        "update service.recent_change set seen_at = now() - interval '11 minutes' where position = (select min(position) from service.recent_change)"
      )
      yield* changes.forget
      expect(yield* changes.since(["shop.things"], position, 10)).toEqual(found.slice(1))
      yield* execute("update service.watched set until = now() - interval '1 second'")
      yield* changes.forget
      expect(yield* rows("select * from service.watched")).toEqual([])
    })
  })

  describe("the migration", () => {
    test("is safe to run again, and says whether it is there", function*() {
      const tables = eventMigrations({ models }).slice(1, 4)
      const present = Effect.forEach(
        tables,
        ({ question }) => Effect.map(rows(question!), ([row]) => row![0] === "t"),
        { concurrency: "unbounded" }
      )
      expect(yield* present).toEqual([true, true, true])
      yield* execute(eventMigrations({ models }).map(({ statements }) => statements).join("\n"))
      expect(yield* present).toEqual([true, true, true])
      yield* execute("alter table shop.things disable trigger \"0_service_changes\"")
      expect(yield* present).toEqual([false, true, true])
      yield* execute("alter table shop.things enable always trigger \"0_service_changes\"")
      expect(yield* present).toEqual([true, true, true])
      yield* execute("drop trigger \"0_service_changes\" on shop.parts")
      expect(yield* present).toEqual([true, false, true])
      yield* execute(tables[1]!.statements)
      expect(yield* present).toEqual([true, true, true])
    })

    test("asks for another trigger when columns are declared that are not captured", function*() {
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
      expect((yield* rows(table!.question!))[0]![0]).toBe("t")
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
      expect((yield* rows(eventMigrations({ models: fewer.models })[1]!.question!))[0]![0]).toBe("f")
    })

    it("is nothing for an application without events", () => {
      expect(eventMigrations({ models: new Map([["quiet", models.get("quiet")!]]) })).toEqual([])
    })
  })
})
