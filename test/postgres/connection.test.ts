// What only a real server can show: timeouts, cancelled statements, broken connections, poolers, waiting for connections, and the database's own refusals.
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { connect, createServer, type Server, type Socket } from "node:net"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { makePostgres, type Postgres, type PostgresOptions } from "../../adapters/postgres/connection.ts"
import { sqlState } from "../../adapters/postgres/errors.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import type { TransactionHandle } from "../../adapters/postgres/transaction.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import type { PageShape } from "../../core/domain/read/plan.ts"
import type { Cell } from "../../core/domain/value/kind.ts"
import type { RecordsService, RecordsTransaction } from "../../core/ports/records.ts"
import { makeModel } from "../support/model.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

const model = makeModel({
  name: "jobs",
  version: "changed",
  fields: [
    { name: "id", kind: "integer" },
    { name: "name", kind: "text", optional: true },
    { name: "small", kind: "integer", bits: 32, optional: true },
    { name: "parent", kind: "integer", optional: true },
    { name: "late", kind: "integer", optional: true },
    { name: "changed", kind: "timestamp", optional: true }
  ]
})
const f = (name: string): Field => model.byName.get(name)!
const bindings: Bindings = { caller: { id: "u1", tenant: null }, now: 0n, params: [] }
const shape: PageShape = {
  model,
  columns: [f("id"), f("name")],
  where: always,
  order: [{ field: f("id"), descending: false }],
  limit: 10,
  checks: []
}

const schema = `
create table jobs (
  id bigint primary key, name text unique, small smallint check (small <> 13), parent bigint references jobs,
  late bigint references jobs deferrable initially deferred, changed timestamp(3)
);
insert into jobs values (1, 'one'), (2, 'two');
create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the secret of row %', new.id; end $$;
create trigger refuse before insert on jobs for each row when (new.name = 'refused') execute function refuse();
`

describe("connections", () => {
  let database: TestDatabase
  const scopes: Scope.Closeable[] = []

  beforeAll(async () => {
    database = await openDatabase(schema)
  })
  afterAll(() => database?.drop())
  afterEach(async () => {
    for (const scope of scopes.splice(0)) await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const open = async (
    options: Partial<PostgresOptions> = {}
  ): Promise<{ readonly postgres: Postgres; readonly records: RecordsService }> => {
    const scope = Effect.runSync(Scope.make())
    scopes.push(scope)
    const postgres = await Effect.runPromise(Scope.provide(makePostgres({ url: database.url, ...options }), scope))
    return { postgres, records: makeRecords(postgres) }
  }

  const reasonOf = async (effect: Effect.Effect<unknown, unknown>): Promise<unknown> => {
    const exit = await Effect.runPromise(Effect.exit(effect))
    if (Exit.isSuccess(exit)) return "success"
    const error: unknown = Cause.squash(exit.cause)
    return typeof error === "object" && error !== null && "reason" in error
      ? (error.reason as { readonly _tag: string })._tag
      : error
  }
  /** The SQLSTATE of a defect: a read that writes can never work, so it is no failure that a caller could wait out. */
  const stateOf = async (effect: Effect.Effect<unknown, unknown>): Promise<string | null> => {
    const exit = await Effect.runPromise(Effect.exit(effect))
    if (Exit.isSuccess(exit) || !Cause.hasDies(exit.cause)) throw new Error("It is no defect.")
    return sqlState(Cause.squash(exit.cause) as SqlError)
  }
  const names = (records: RecordsService) =>
    Effect.map(records.page({ shape, bindings }), (rows) => rows.map((row) => row[1]))
  /** Succeeds with both rows as they were made. */
  const unchanged = (records: RecordsService) =>
    Effect.map(names(records), (found) => expect(found).toEqual(["one", "two"]))
  const lock = (tx: RecordsTransaction, id: string) =>
    tx.lock({ model, key: [id], where: always, columns: [f("id")], checks: [], bindings })
  const rename = (tx: RecordsTransaction, id: string, name: string) =>
    tx.update({ model, key: [id], set: [[f("name"), name]], touch: false, columns: [f("name")], checks: [], bindings })
  const activity = (pattern: string) =>
    database.rows(
      `select pid::text from pg_stat_activity where datname = current_database() and state = 'active' and query like '${pattern}' and pid <> pg_backend_pid()`
    )
  const once = async (condition: () => Promise<boolean>): Promise<void> => {
    for (const begin = performance.now(); performance.now() - begin < 60_000;) {
      if (await condition()) return
      await new Promise((later) => setTimeout(later, 5))
    }
    expect.fail("it never happened")
  }
  /** The outcome under a short time limit. Where the machine stands still for so long the limit ends anything, and rightly: then once more. */
  const reasonInTime = async (effect: Effect.Effect<unknown, unknown>): Promise<unknown> => {
    for (;;) {
      const reason = await reasonOf(effect)
      if (reason !== "Timeout") return reason
    }
  }

  describe.each([["direct", false], ["pooler", true]] as const)("%s", (_, pooler) => {
    it("ends a statement at its timeout", async () => {
      const { postgres, records } = await open({ pooler, statementTimeoutMs: 150 })
      expect(await reasonOf(postgres.read("select pg_sleep(3600)::text", [], { prepare: true }))).toBe("Timeout")
      // Waiting for a lock counts, too.
      const waited = await reasonOf(
        records.transaction((tx) => Effect.andThen(lock(tx, "1"), records.transaction((other) => lock(other, "1"))))
      )
      expect(waited).toBe("Timeout")
      expect(await reasonInTime(unchanged(records))).toBe("success")
    })

    it("reads long and short answers after one that was too long", async () => {
      const { postgres } = await open({ pooler, readConnections: 1, answerBytes: 1 })
      const read = (characters: number) =>
        reasonInTime(Effect.map(
          postgres.read(`select repeat('x', ${characters})`, [], { prepare: true }),
          (rows) => expect(rows[0]?.[0]).toHaveLength(characters)
        ))
      for (let i = 0; i < 2; i++) {
        expect(await read(14_000_000)).toBe("TooLarge")
        for (const characters of [9_000_000, 1, 9_000_000]) expect(await read(characters)).toBe("success")
      }
    })

    it("reads read-only", async () => {
      const { postgres } = await open({ pooler })
      expect(await stateOf(postgres.read("delete from jobs returning id::text", [], { prepare: false }))).toBe("25006")
      expect(await reasonOf(postgres.read("select nextval('pg_temp.none')::text", [], { prepare: false }))).not.toBe(
        "success"
      )
    })

    it("cancels the statement of an interrupted read where it runs, and the connection serves on", async () => {
      const { postgres, records } = await open({ pooler, readConnections: 1 })
      const fiber = Effect.runFork(postgres.read("select pg_sleep(3600)::text as interrupted", [], { prepare: false }))
      await once(async () => (await activity("%as interrupted%")).length === 1)
      await Effect.runPromise(Fiber.interrupt(fiber))
      expect(await activity("%as interrupted%")).toEqual([])
      expect(await Effect.runPromise(names(records))).toEqual(["one", "two"])
    })

    it("rolls an interrupted transaction back while its statement runs", async () => {
      const { postgres, records } = await open({ pooler, writeConnections: 1 })
      const fiber = Effect.runFork(
        postgres.transaction((session) =>
          Effect.andThen(
            session.run("update jobs set name = 'gone' where id = 1", [], true),
            session.run("select pg_sleep(3600)::text as midway", [], false)
          )
        )
      )
      await once(async () => (await activity("%as midway%")).length === 1)
      await Effect.runPromise(Fiber.interrupt(fiber))
      await Effect.runPromise(records.transaction((tx) => rename(tx, "2", "two")))
      expect(await Effect.runPromise(names(records))).toEqual(["one", "two"])
    })

    it("recovers by itself from connections that the server ended", async () => {
      const { records } = await open({ pooler, readConnections: 3, writeConnections: 3 })
      const many = Effect.all(Array.from({ length: 9 }, () => names(records)), { concurrency: "unbounded" })
      await Effect.runPromise(many)
      await Effect.runPromise(records.transaction((tx) => lock(tx, "1")))
      await database.disconnectAll()
      // The news may still be on its way: a request may meet it, the next does not.
      await once(async () => (await reasonOf(names(records))) === "success")
      expect(await reasonOf(many)).toBe("success")
      await once(async () => (await reasonOf(records.transaction((tx) => lock(tx, "1")))) === "success")
    })

    it("says unavailable when a connection breaks within a transaction, and outcome unknown when it breaks at the commit", async () => {
      const { records } = await open({ pooler })
      const broken = records.transaction((tx) =>
        Effect.gen(function*() {
          yield* rename(tx, "1", "lost")
          yield* Effect.promise(() => database.disconnectAll())
          yield* rename(tx, "1", "lost too")
        })
      )
      expect(await reasonOf(broken)).toBe("Unavailable")
      await once(async () => (await reasonOf(records.ping)) === "success")
      const committed = records.transaction((tx) =>
        Effect.andThen(rename(tx, "1", "lost"), Effect.promise(() => database.disconnectAll()))
      )
      expect(await reasonOf(committed)).toBe("OutcomeUnknown")
      await once(async () => (await reasonOf(names(records))) === "success")
      expect(await Effect.runPromise(names(records))).toEqual(["one", "two"])
    })

    it("commits a statement that stands alone, and nothing of one that fails", async () => {
      const { records } = await open({ pooler })
      await Effect.runPromise(records.transaction((tx) => rename(tx, "2", "alone"), true))
      expect(await Effect.runPromise(names(records))).toEqual(["one", "alone"])
      expect(await reasonOf(records.transaction((tx) => rename(tx, "2", "one"), true))).toBe("Unique")
      await Effect.runPromise(records.transaction((tx) => rename(tx, "2", "two"), true))
      expect(await Effect.runPromise(names(records))).toEqual(["one", "two"])
    })

    it("locks nothing where a write stands alone, and says when it has to", async () => {
      const { records } = await open({ pooler })
      const late = records.transaction((tx) =>
        Effect.gen(function*() {
          yield* lock(tx, "2")
          if (!pooler) yield* records.transaction((other) => rename(other, "2", "between"))
          yield* rename(tx, "2", "late")
        }), true)
      expect(await reasonOf(late)).toBe(pooler ? "success" : "Contended")
      expect(await Effect.runPromise(names(records))).toEqual(["one", pooler ? "late" : "between"])
      await Effect.runPromise(records.transaction((tx) => rename(tx, "2", "two"), true))
      // The versions of a view's rows have no stamps.
      await database.rows("create view seen_jobs as select * from jobs")
      const view = { ...model, table: "seen_jobs" }
      const seen = { model: view, key: ["2"], where: always, columns: [f("id")], checks: [], bindings }
      expect(await reasonOf(records.transaction((tx) => tx.lock(seen), true))).toBe(pooler ? "success" : "Contended")
      await database.rows("drop view seen_jobs")
    })

    it("leaves nothing behind of a write that stands alone and gives back no row", async () => {
      const { records } = await open({ pooler })
      const table = { ...model, table: "shy" }
      const insert = (tx: RecordsTransaction) =>
        tx.insert({ model: table, fields: [f("id")], rows: [["3"]], columns: [f("id")], checks: [], bindings })
      const update = (tx: RecordsTransaction) =>
        tx.update({
          model: table,
          key: ["1"],
          set: [[f("name"), "x"]],
          touch: false,
          columns: [],
          checks: [],
          bindings
        })
      const remove = (tx: RecordsTransaction) => tx.remove({ model: table, key: ["1"], bindings })
      const see = (tx: RecordsTransaction) =>
        tx.lock({ model: table, key: ["1"], where: always, columns: [f("id")], checks: [], bindings })
      await database.execute(`
        create table shy (id bigint primary key, name text, small smallint, parent bigint, late bigint, changed timestamp(3));
        create table shy_left (what text);
        insert into shy values (1, 'one');
        create function keep() returns trigger language plpgsql as
          $$ begin insert into shy_left values (tg_op); return null; end $$;
        create trigger keep before insert or update or delete on shy for each row execute function keep()`)
      for (const write of [insert, update, remove]) {
        await reasonOf(records.transaction((tx) => Effect.andThen(see(tx), write(tx)), true))
        if (!pooler) expect(await reasonOf(records.transaction(write, true))).toBe("Contended")
      }
      // An insert that is kept is for the caller to refuse: with the pooler it is in a transaction, and comes back as no row.
      expect(await database.rows("select what from shy_left")).toEqual(pooler ? [["INSERT"]] : [])
      await database.execute("drop table shy, shy_left; drop function keep")
    })

    it("locks by the policies for locking", async () => {
      const { records } = await open({ pooler })
      const table = { ...model, table: "guarded" }
      const seen = { model: table, key: ["1"], where: always, columns: [f("id")], checks: [], bindings }
      await database.execute("create table guarded (like jobs); alter table guarded enable row level security")
      expect(await reasonOf(records.transaction((tx) => tx.lock(seen), true))).toBe(pooler ? "success" : "Contended")
      await database.execute("drop table guarded")
    })

    it("takes a row that a policy refuses for one that breaks a rule, and missing rights for a defect", async () => {
      const role = `policed_${Math.random().toString(36).slice(2)}`
      await database.execute(`
        create table policed (like jobs);
        create table denied (like jobs);
        alter table policed enable row level security;
        create policy few on policed using (true) with check (id < 5);
        create role ${role};
        grant select, insert on policed to ${role}`)
      const options = `${database.url.includes("?") ? "&" : "?"}options=${encodeURIComponent(`-c role=${role}`)}`
      const { records } = await open({ pooler, url: database.url + options })
      const insert = (table: string, id: string) =>
        records.transaction((tx) =>
          tx.insert({
            model: { ...model, table },
            fields: [f("id")],
            rows: [[id]],
            columns: [f("id")],
            checks: [],
            bindings
          })
        )
      expect(await reasonOf(insert("policed", "4"))).toBe("success")
      expect(await reasonOf(insert("policed", "5"))).toBe("Check")
      expect(Exit.hasDies(await Effect.runPromiseExit(insert("denied", "4")))).toBe(true)
      await database.execute(`drop table policed, denied; drop role ${role}`)
    })

    it("counts the rows of a page without asking for columns that are not the model's", async () => {
      const role = `reader_${Math.random().toString(36).slice(2)}`
      await database.execute(`
        create table partly (like jobs, secret text);
        insert into partly (id, name) values (1, 'one'), (2, 'two');
        create role ${role};
        grant select (id, name, small, parent, late, changed) on partly to ${role}`)
      const options = `${database.url.includes("?") ? "&" : "?"}options=${encodeURIComponent(`-c role=${role}`)}`
      const { records } = await open({ pooler, url: database.url + options })
      const partly = { ...shape, model: { ...model, table: "partly" } }
      const page = records.page({ shape: partly, bindings, counted: 5 })
      expect(await Effect.runPromise(page)).toEqual([["1", "one", "2"], ["2", "two", "2"]])
      await database.execute(`drop table partly; drop role ${role}`)
    })

    it("keeps the plan of a page that is asked for again and again, for its own values", async () => {
      const { records } = await open({ pooler, readConnections: 1 })
      const where: FilterTree = { op: "compare", field: f("name"), is: ">", value: { of: "literal", text: "it's" } }
      const some = { ...shape, where }
      const last = async () =>
        (await database.rows(
          "select query from pg_stat_activity where datname = current_database() and query like '%\"name\" >%'" +
            " and pid <> pg_backend_pid() order by state_change desc limit 1"
        ))[0]![0]
      for (let run = 1; run <= 8; run++) {
        expect((await Effect.runPromise(records.page({ shape: some, bindings }))).map((row) => row[1])).toEqual([
          "one",
          "two"
        ])
        if (!pooler) expect(await last()).toContain(run <= 5 ? "> $1" : "> 'it''s'")
      }
      // Other values are planned for themselves.
      const other = { ...some, where: { ...where, value: { of: "literal", text: "p" } } as const }
      expect((await Effect.runPromise(records.page({ shape: other, bindings }))).map((row) => row[1])).toEqual(["two"])
      // Nor does one caller get the rows of another whose values make the same text, one after the other.
      const param = (is: ">" | "<", index: number): FilterTree => ({
        op: "compare",
        field: f("name"),
        is,
        value: { of: "param", index }
      })
      const between = { ...shape, where: { op: "and", items: [param(">", 0), param("<", 1)] } as const }
      const names = async (...params: readonly string[]) =>
        (await Effect.runPromise(records.page({ shape: between, bindings: { ...bindings, params } }))).map((row) =>
          row[1]
        )
      for (let run = 1; run <= 8; run++) expect(await names("o", "nz")).toEqual([])
      expect(await names("on", "z")).toEqual(["one", "two"])
    })

    it("says outcome unknown when the connection of a statement that commits by itself breaks", async () => {
      const { records } = await open({ pooler })
      const held = Effect.runSync(Deferred.make<void>())
      const holder = Effect.runFork(
        records.transaction((tx) =>
          Effect.andThen(Effect.andThen(lock(tx, "1"), Deferred.succeed(held, undefined)), Effect.never)
        )
      )
      await Effect.runPromise(Deferred.await(held))
      const waiting = reasonOf(records.transaction((tx) => rename(tx, "1", "lost"), true))
      await once(async () => (await activity("update %")).length === 1)
      // Not the holder's: with it the lock would go, and the statement might be done before its own connection ends.
      const [[pid = ""] = []] = await activity("update %")
      await database.rows(`select pg_terminate_backend(${pid})`)
      expect(await waiting).toBe(pooler ? "Unavailable" : "OutcomeUnknown")
      await Effect.runPromise(Fiber.interrupt(holder))
      await once(async () => (await reasonOf(names(records))) === "success")
      expect(await Effect.runPromise(names(records))).toEqual(["one", "two"])
    })

    it("finishes a commit that was asked for before the interruption", async () => {
      const { records } = await open({ pooler })
      await Effect.runPromise(Effect.gen(function*() {
        const last = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          records.transaction((tx) => Effect.andThen(rename(tx, "2", "kept"), Deferred.succeed(last, undefined)))
        )
        yield* Deferred.await(last)
        yield* Fiber.interrupt(fiber)
      }))
      const [, second] = await Effect.runPromise(names(records))
      expect(["kept", "two"]).toContain(second)
      await Effect.runPromise(records.transaction((tx) => rename(tx, "2", "two")))
    })

    it("gives up waiting for a connection", async () => {
      const { postgres, records } = await open({ pooler, writeConnections: 1, waitMs: 40 })
      const outcome = await Effect.runPromise(
        records.transaction((tx) =>
          Effect.andThen(
            lock(tx, "1"),
            Effect.promise(() => reasonOf(records.transaction((other) => lock(other, "2"))))
          )
        )
      )
      expect(outcome).toBe("Overloaded")
      expect(await reasonOf(records.transaction((tx) => lock(tx, "2")))).toBe("success")
      expect(postgres.pools()[1]).toMatchObject({ busy: 0, waiting: 0, timeouts: 1 })
    })

    it("gives up for each that waits when its own time is over", async () => {
      const { postgres, records } = await open({ pooler, writeConnections: 1, waitMs: 40 })
      const outcome = (id: string) => reasonOf(records.transaction((tx) => lock(tx, id)))
      const release = Deferred.makeUnsafe<void>()
      const holds = reasonOf(records.transaction(() => Deferred.await(release)))
      await once(async () => postgres.pools()[1]!.busy === 1)
      const early = outcome("1")
      const clock = performance.now.bind(performance)
      const later = vi.spyOn(performance, "now").mockImplementation(() => clock() + 60_000)
      const late = outcome("2")
      later.mockRestore()
      expect(postgres.pools()[1]!.waiting).toBe(2)
      expect(await early).toBe("Overloaded")
      expect(postgres.pools()[1]).toMatchObject({ busy: 1, waiting: 1, timeouts: 1 })
      Deferred.doneUnsafe(release, Exit.void)
      expect(await Promise.all([holds, late])).toEqual(["success", "success"])
    })

    it("gives no place to one that is interrupted while it waits", async () => {
      const { postgres, records } = await open({ pooler, writeConnections: 1 })
      const release = Deferred.makeUnsafe<void>()
      const holds = reasonOf(records.transaction(() => Deferred.await(release)))
      await once(async () => postgres.pools()[1]!.busy === 1)
      const fiber = Effect.runFork(records.transaction((tx) => lock(tx, "1")))
      expect(postgres.pools()[1]!.waiting).toBe(1)
      await Effect.runPromise(Fiber.interrupt(fiber))
      expect(postgres.pools()[1]!.waiting).toBe(0)
      Deferred.doneUnsafe(release, Exit.void)
      expect(await holds).toBe("success")
      expect(postgres.pools()[1]).toMatchObject({ busy: 0, waiting: 0, timeouts: 0 })
    })

    it("passes on the place of one that is interrupted in the moment it gets it, or while it works there", async () => {
      let given = (): void => {}
      const { postgres, records } = await open({ pooler, readConnections: 1, onWait: () => given() })
      const read = (sql: string) => postgres.read(sql, [], { prepare: false })
      const waiting = async (sql: string) => {
        const holds = Effect.runPromise(read("select pg_sleep(0.1)::text"))
        await once(async () => postgres.pools()[0]!.busy === 1)
        const fiber = Effect.runFork(read(sql))
        expect(postgres.pools()[0]!.waiting).toBe(1)
        return { fiber, holds }
      }

      const first = await waiting("select '1'")
      given = () => first.fiber.interruptUnsafe()
      await first.holds
      expect(Exit.hasInterrupts(await Effect.runPromise(Fiber.await(first.fiber)))).toBe(true)
      given = () => {}
      await Effect.runPromise(unchanged(records))

      const second = await waiting("select pg_sleep(3600)::text as interrupted")
      await second.holds
      await once(async () => (await activity("%as interrupted%")).length === 1)
      await Effect.runPromise(Fiber.interrupt(second.fiber))
      await Effect.runPromise(unchanged(records))
      expect(postgres.pools()[0]).toMatchObject({ busy: 0, waiting: 0, timeouts: 0 })
    })

    it("keeps no place of one that is interrupted between any two steps", async () => {
      const { postgres, records } = await open({ pooler, readConnections: 1 })
      await Effect.runPromise(unchanged(records))
      // A fiber gives way to others after 2,048 steps, wherever it is then.
      const after = (steps: number): Effect.Effect<unknown, unknown> =>
        Effect.suspend(() => steps === 0 ? postgres.read("select '1'", [], { prepare: false }) : after(steps - 1))
      for (let steps = 2_030; steps < 2_050; steps++) {
        const fiber = Effect.runFork(after(steps))
        fiber.interruptUnsafe()
        await Effect.runPromise(Fiber.await(fiber))
        expect([steps, postgres.pools()[0]!.busy]).toEqual([steps, 0])
      }
      await Effect.runPromise(unchanged(records))
    })

    it("serves more requests at once than it has connections", async () => {
      const { records } = await open({ pooler, readConnections: 2 })
      const all = await Effect.runPromise(
        Effect.all(Array.from({ length: 60 }, () => names(records)), { concurrency: "unbounded" })
      )
      expect(all).toHaveLength(60)
      expect(new Set(all.map(String)).size).toBe(1)
    })

    it("goes on when a column changes its type under a prepared statement", async () => {
      const { records } = await open({ pooler, readConnections: 1 })
      const small = records.page({ shape: { ...shape, columns: [f("small")] }, bindings })
      await Effect.runPromise(small)
      await database.execute("alter table jobs alter small type bigint")
      expect(await reasonOf(small)).toBe("success")
      await database.execute("alter table jobs alter small type smallint")
      expect(await reasonOf(small)).toBe("success")
    })

    it("names what the database refuses", async () => {
      const { records } = await open({ pooler })
      const insert = (values: { readonly [name: string]: Cell }) =>
        reasonOf(records.transaction((tx) =>
          tx.insert({
            model,
            fields: Object.keys(values).map(f),
            rows: [Object.values(values)],
            columns: [],
            checks: [],
            bindings
          })
        ))
      expect(await insert({ id: "1" })).toBe("Unique")
      expect(await insert({ id: "3", name: "two" })).toBe("Unique")
      expect(await insert({ id: null })).toBe("NotNull")
      expect(await insert({ id: "3", small: "13" })).toBe("Check")
      expect(await insert({ id: "3", small: "70000" })).toBe("BadValue")
      expect(await insert({ id: "3", parent: "99" })).toBe("ForeignKey")
      // Deferred: the commit refuses.
      expect(await insert({ id: "3", late: "99" })).toBe("ForeignKey")
      // A dry run asks before that.
      const dry = records.transaction((tx) => {
        const row = ["3", "99"]
        const late = tx.insert({
          model,
          fields: [f("id"), f("late")],
          rows: [row],
          columns: [],
          checks: [],
          bindings
        })
        return Effect.andThen(late, Effect.andThen(tx.checkDeferred, Effect.fail("not reached")))
      })
      expect(await reasonOf(dry)).toBe("ForeignKey")
      expect(await insert({ id: "3", name: "refused" })).toBe("Check")
      expect(await insert({ id: "3", name: "a\0b" })).toBe("BadValue")
      expect(await Effect.runPromise(records.count({ model, where: always, bindings, cap: null }))).toBe("2")
    })

    it("bounds a regular expression by a limit of its own", async () => {
      // The statement's own limit would come long after the end of the test.
      const { records } = await open({ pooler, statementTimeoutMs: 600_000 })
      await database.execute("insert into jobs select i, repeat('x', 40) || i from generate_series(100, 3000) i")
      try {
        const where = {
          op: "regex",
          field: f("name"),
          pattern: "^(x*)(x*)(x*)(x*)(x*)\\1\\2\\3\\4\\5[0-9]+y?$"
        } as const
        expect(await reasonOf(records.count({ model, where, bindings, cap: null }))).toBe("SlowPattern")
        expect(await reasonOf(records.transaction((tx) => tx.count({ model, where, bindings, cap: null })))).toBe(
          "SlowPattern"
        )
        const bad = { ...where, pattern: "a{2,1}" } as const
        let reason: unknown
        // A machine that stands still makes any pattern a slow one.
        await once(async () => {
          reason = await reasonOf(records.count({ model, where: bad, bindings, cap: null }))
          return reason !== "SlowPattern"
        })
        expect(reason).toBe("BadPattern")
        expect(await reasonOf(records.estimate({ model, where: bad, bindings, cap: null }))).toBe("BadPattern")
      } finally {
        await database.execute("delete from jobs where id >= 100")
      }
    })

    it("moves a version of coarse precision by a step it can hold", async () => {
      const { records } = await open({ pooler })
      await database.execute("update jobs set changed = '2100-01-01 00:00:00.999' where id = 1")
      const touch = (tx: RecordsTransaction) =>
        tx.update({ model, key: ["1"], set: [], touch: true, columns: [f("changed")], checks: [], bindings })
      expect(await Effect.runPromise(records.transaction((tx) => Effect.all([touch(tx), touch(tx)])))).toEqual([
        ["2100-01-01T00:00:01Z"],
        ["2100-01-01T00:00:01.001Z"]
      ])
    })

    it("gives hooks a handle that ends with the transaction", async () => {
      const { records } = await open({ pooler })
      let kept: TransactionHandle | undefined
      await Effect.runPromise(Effect.exit(records.transaction((tx) =>
        Effect.gen(function*() {
          const handle = tx.handle as TransactionHandle
          kept = handle
          yield* rename(tx, "1", "inside")
          expect(yield* Effect.promise(() => handle.query("select name, id from jobs where id = $1", ["1"]))).toEqual([{
            name: "inside",
            id: 1n
          }])
          yield* Effect.promise(() => handle.query("insert into jobs (id) values (50)"))
          return yield* Effect.fail("no")
        })
      )))
      await expect(kept!.query("select 1")).rejects.toThrow("has ended")
      expect(await Effect.runPromise(names(records))).toEqual(["one", "two"])
    })
  })

  it("says read-only when the database is", async () => {
    await database.execute(`alter database ${database.name} set default_transaction_read_only = on`)
    try {
      const { records } = await open()
      expect(await reasonOf(records.transaction((tx) => rename(tx, "1", "x")))).toBe("ReadOnly")
      expect(await reasonOf(records.ping)).toBe("success")
    } finally {
      await database.execute(
        `begin read write; alter database ${database.name} reset default_transaction_read_only; commit`
      )
    }
  })

  it("writes floats in full, however many digits the database is set to", async () => {
    await database.execute(`alter database ${database.name} set extra_float_digits = 0`)
    try {
      for (const pooler of [false, true]) {
        const { postgres } = await open({ pooler })
        const sql = "select 0.30000000000000004::float8::text"
        expect(await Effect.runPromise(postgres.read(sql, [], { prepare: false }))).toEqual([["0.30000000000000004"]])
        const written = postgres.transaction((session) => session.run(sql, [], false))
        expect(await Effect.runPromise(written)).toEqual([["0.30000000000000004"]])
      }
    } finally {
      await database.execute(`alter database ${database.name} reset extra_float_digits`)
    }
  })

  it("compares with null as SQL does, however the database is set", async () => {
    const settings = { transform_null_equals: "on", array_nulls: "off" }
    for (const [name, value] of Object.entries(settings)) {
      await database.execute(`alter database ${database.name} set ${name} = ${value}`)
    }
    try {
      for (const pooler of [false, true]) {
        const { postgres } = await open({ pooler })
        const sql = "select count(*)::text from (values (null), ('NULL')) v (x) where x = null or x = any('{NULL}')"
        expect(await Effect.runPromise(postgres.read(sql, [], { prepare: false }))).toEqual([["0"]])
        const written = postgres.transaction((session) => session.run(sql, [], false))
        expect(await Effect.runPromise(written)).toEqual([["0"]])
      }
    } finally {
      for (const name of Object.keys(settings)) await database.execute(`alter database ${database.name} reset ${name}`)
    }
  })

  it("says unavailable where nobody answers, and builds without a database", async () => {
    const { records } = await open({ url: "postgres://postgres@127.0.0.1:1/none" })
    expect(await reasonOf(records.ping)).toBe("Unavailable")
    const missing = await open({ url: database.url.replace(database.name, "no_such_database") })
    expect(await reasonOf(missing.records.ping)).toBe("Unavailable")
    expect(await reasonOf(missing.records.transaction(() => Effect.void))).toBe("Unavailable")
  })

  it("keeps no setting and no statement on a connection", async () => {
    const { postgres } = await open({ pooler: true, writeConnections: 1 })
    const look = postgres.transaction((session) =>
      session.run("select pg_backend_pid()::text, (select count(*)::text from pg_prepared_statements)", [], true)
    )
    await Effect.runPromise(look)
    const plain = await Effect.runPromise(look)
    expect(plain[0]![1]).toBe("0")
    const outside = await database.rows(
      "select name from pg_settings where name = 'statement_timeout' and setting <> '0'"
    )
    expect(outside).toEqual([])
  })

  describe("finds a pooler out", () => {
    let server: Server | undefined
    const sockets = new Set<Socket>()
    afterEach(async () => {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      await new Promise<void>((resolve) => server === undefined ? resolve() : server.close(() => resolve()))
      server = undefined
    })

    const int32 = (value: number): Buffer => {
      const bytes = Buffer.alloc(4)
      bytes.writeInt32BE(value)
      return bytes
    }
    const framed = (body: Buffer): Buffer => Buffer.concat([int32(body.length + 4), body])
    const known = new Set([
      "user",
      "database",
      "client_encoding",
      "datestyle",
      "timezone",
      "standard_conforming_strings",
      "application_name"
    ])

    /** Swallows what the server says from now on. */
    let mute = false
    /** Likewise, but for the first bytes of what it says next. */
    let muteAfter: number | null = null

    /** A pooler as far as the start-up packet goes: other parameters than these are refused, as PgBouncer does, dropped, or passed on. */
    const listen = async (manner: "refuse" | "ignore" | "pass"): Promise<string> => {
      const target = new URL(database.url.replace("@/", "@localhost/"))
      const created = createServer((client) => {
        sockets.add(client)
        client.once("data", (first) => {
          const parts = first.subarray(8).toString("latin1").split("\0").slice(0, -2)
          const pairs = Array.from(
            { length: Math.floor(parts.length / 2) },
            (_, i) => [parts[2 * i]!, parts[2 * i + 1]!] as const
          )
          const strange = pairs.find(([name]) => !known.has(name))
          if (strange !== undefined && manner === "refuse") {
            // A FATAL error, as it goes over the wire.
            const text = `SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: ${strange[0]}\0\0`
            client.end(Buffer.concat([Buffer.from("E"), framed(Buffer.from(text, "latin1"))]))
            return
          }
          const upstream = connect(`${target.searchParams.get("host")}/.s.PGSQL.${target.searchParams.get("port")}`)
          sockets.add(upstream)
          const kept = pairs.filter(([name]) => manner === "pass" || known.has(name)).flat().map((part) => `${part}\0`)
            .join("")
          upstream.write(framed(Buffer.concat([int32(196_608), Buffer.from(`${kept}\0`, "latin1")])))
          client.pipe(upstream)
          upstream.on("data", (bytes) => {
            if (mute) return
            client.write(muteAfter === null ? bytes : bytes.subarray(0, muteAfter))
            mute = muteAfter !== null
          })
          upstream.on("end", () => client.end())
          client.on("error", () => upstream.destroy())
          upstream.on("error", () => client.destroy())
        })
        client.on("error", () => client.destroy())
      })
      server = created
      await new Promise<void>((resolve) => created.listen(0, "127.0.0.1", resolve))
      const address = created.address()
      return `postgres://postgres@127.0.0.1:${
        typeof address === "object" && address !== null ? address.port : 0
      }/${database.name}`
    }

    it("not in a server that passes them, and gives up on one that falls silent", async () => {
      const { records } = await open({ url: await listen("pass"), statementTimeoutMs: 300, silenceMs: 60 })
      // A machine that stands still for a moment is silence as well: the next answer counts.
      const served = () => once(async () => (await reasonOf(unchanged(records))) === "success")
      await served()
      mute = true
      expect(await reasonOf(names(records))).toBe("Unavailable")
      mute = false
      await served()
      const silent = records.transaction((tx) =>
        Effect.andThen(
          rename(tx, "1", "one"),
          Effect.sync(() => {
            mute = true
          })
        )
      )
      let reason: unknown
      // Until it has come as far as the commit.
      await once(async () => {
        reason = await reasonOf(silent)
        return mute
      })
      expect(reason).toBe("OutcomeUnknown")
      mute = false
      await served()
    })

    it.each([1, 20])("and gives up on one that falls silent after %i bytes of its answer", async (bytes) => {
      mute = false
      const { records } = await open({ url: await listen("pass"), statementTimeoutMs: 300, silenceMs: 60 })
      await once(async () => (await reasonOf(unchanged(records))) === "success")
      // The silence of a connection that idles is none.
      await new Promise((later) => setTimeout(later, 150))
      muteAfter = bytes
      expect(await reasonOf(names(records))).toBe("Unavailable")
      muteAfter = null
      mute = false
      await once(async () => (await reasonOf(unchanged(records))) === "success")
    })

    it("and holds a transaction that waits for something else", async () => {
      mute = false
      const { records } = await open({ url: await listen("pass"), statementTimeoutMs: 300, silenceMs: 60 })
      // A statement that takes so long is silence: the next try counts. The pause between two is none.
      await once(async () =>
        (await reasonOf(
          records.transaction((tx) =>
            Effect.andThen(Effect.delay(rename(tx, "1", "one"), 200), Effect.delay(rename(tx, "1", "one"), 200))
          )
        )) === "success"
      )
    })

    it.each(["refuse", "ignore"] as const)("that meets unknown startup parameters by this: %s", async (manner) => {
      const { postgres, records } = await open({ url: await listen(manner), statementTimeoutMs: 300 })
      expect(await reasonInTime(unchanged(records))).toBe("success")
      expect(await reasonOf(postgres.read("select pg_sleep(3600)::text", [], { prepare: true }))).toBe("Timeout")
      expect(await stateOf(postgres.read("delete from jobs returning id::text", [], { prepare: true }))).toBe("25006")
      expect(await reasonInTime(records.transaction((tx) => rename(tx, "1", "one")))).toBe("success")
    })
  })
})
