// What only a real server can show: timeouts, cancelled statements, broken connections, poolers, waiting for connections, and the database's own refusals.
import { describe, expect, layer } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { SqlError } from "effect/sql/SqlError"
import { connect, createServer, type Socket } from "node:net"
import { vi } from "vitest"
import { makePostgres, type PostgresOptions } from "../../adapters/postgres/connection.ts"
import { sqlState } from "../../adapters/postgres/errors.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import type { TransactionHandle } from "../../adapters/postgres/transaction.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import { hastyMs, wholeMs } from "../../core/domain/read/guard.ts"
import type { PageShape } from "../../core/domain/read/plan.ts"
import type { Cell } from "../../core/domain/value/kind.ts"
import type { RecordsService, RecordsTransaction } from "../../core/ports/records.ts"
import { Database, databaseLayer, execute, live, rows } from "../support/layers.ts"
import { makeModel } from "../support/model.ts"

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

layer(databaseLayer(schema), live)("connections", (it) => {
  /** Connections that end with the test. */
  const open = Effect.fnUntraced(function*(options: Partial<PostgresOptions> = {}) {
    const { url } = yield* Database
    const postgres = yield* makePostgres({ url, ...options })
    return { postgres, records: makeRecords(postgres) }
  })

  const reasonOf = <R>(effect: Effect.Effect<unknown, unknown, R>): Effect.Effect<unknown, never, R> =>
    Effect.map(Effect.exit(effect), (exit) => {
      if (Exit.isSuccess(exit)) return "success"
      const error: unknown = Cause.squash(exit.cause)
      return typeof error === "object" && error !== null && "reason" in error
        ? (error.reason as { readonly _tag: string })._tag
        : error
    })
  /** The SQLSTATE of a defect: a read that writes can never work, so it is no failure that a caller could wait out. */
  const stateOf = (effect: Effect.Effect<unknown, unknown>): Effect.Effect<string | null> =>
    Effect.map(Effect.exit(effect), (exit) => {
      if (Exit.isSuccess(exit) || !Cause.hasDies(exit.cause)) throw new Error("It is no defect.")
      return sqlState(Cause.squash(exit.cause) as SqlError)
    })
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
    rows(
      `select pid::text from pg_stat_activity where datname = current_database() and state = 'active' and query like '${pattern}' and pid <> pg_backend_pid()`
    )
  const once = Effect.fnUntraced(function*<R>(condition: Effect.Effect<boolean, never, R>) {
    for (const begin = performance.now(); performance.now() - begin < 60_000;) {
      if (yield* condition) return
      yield* Effect.sleep(5)
    }
    expect.fail("it never happened")
  })
  /** Waits until an effect succeeds. */
  const onceSucceeds = (effect: Effect.Effect<unknown, unknown>) =>
    once(Effect.map(reasonOf(effect), (reason) => reason === "success"))
  /** Waits until one statement like that runs. */
  const onceRuns = (pattern: string) => once(Effect.map(activity(pattern), (found) => found.length === 1))
  /** The outcome under a short time limit. Where the machine stands still for so long the limit ends anything, and rightly: then once more. */
  const reasonInTime = Effect.fnUntraced(function*(effect: Effect.Effect<unknown, unknown>) {
    for (;;) {
      const reason = yield* reasonOf(effect)
      if (reason !== "Timeout") return reason
    }
  })
  /** Runs beside the test, and has come as far as it can without a wait. */
  const beside = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

  describe.each([["direct", false], ["pooler", true]] as const)("%s", (_, pooler) => {
    it.effect("ends a statement at its timeout", () =>
      Effect.gen(function*() {
        const { postgres, records } = yield* open({ pooler, statementTimeoutMs: 150 })
        expect(yield* reasonOf(postgres.read("select pg_sleep(3600)::text", [], { prepare: true }))).toBe("Timeout")
        // Waiting for a lock counts, too.
        const waited = yield* reasonOf(
          records.transaction((tx) => Effect.andThen(lock(tx, "1"), records.transaction((other) => lock(other, "1"))))
        )
        expect(waited).toBe("Timeout")
        expect(yield* reasonInTime(unchanged(records))).toBe("success")
      }))

    it.effect("reads under a time limit of the read's own, however many come at once, and under the usual one after that", () =>
      Effect.gen(function*() {
        const { postgres } = yield* open({ pooler, readConnections: 1 })
        const asked = "select current_setting('statement_timeout'), pg_backend_pid()::text"
        const read = (timeoutMs?: number, prepare = true) =>
          postgres.read(asked, [], { prepare, ...timeoutMs === undefined ? {} : { timeoutMs } })
        const limits = (timeoutMs: number) =>
          Effect.map(
            Effect.all(Array.from({ length: 5 }, () => read(timeoutMs)), { concurrency: "unbounded" }),
            (found) => expect(found.map(([row]) => row![0])).toEqual(Array(5).fill(`${timeoutMs}ms`))
          )
        for (const timeoutMs of [hastyMs, wholeMs, 100]) {
          expect(yield* reasonInTime(limits(timeoutMs))).toBe("success")
          expect((yield* read())[0]![0]).toBe("15s")
        }
        const ended = postgres.read("select pg_sleep(3600)::text", [], { prepare: true, timeoutMs: hastyMs })
        expect(yield* reasonOf(ended)).toBe("Timeout")
        const deleted = "delete from jobs where id = 99 returning id::text"
        expect(yield* stateOf(postgres.read(deleted, [], { prepare: true, timeoutMs: wholeMs }))).toBe("25006")
        if (pooler) return
        // One statement is all that the server gets, on a connection that is open by now and has planned before, also where the statement is new.
        for (const prepare of [true, false]) {
          let pid: string | null = null
          const alone = Effect.map(read(hastyMs, prepare), ([row]) => pid = row![1]!)
          yield* once(Effect.gen(function*() {
            expect(yield* reasonInTime(alone)).toBe("success")
            const [last] = yield* rows(`select query from pg_stat_activity where pid = ${pid}`)
            return last![0] === asked
          }))
        }
      }))

    it.effect("reads long and short answers after one that was too long", () =>
      Effect.gen(function*() {
        const { postgres } = yield* open({ pooler, readConnections: 1, answerBytes: 1 })
        const read = (characters: number) =>
          reasonInTime(Effect.map(
            postgres.read(`select repeat('x', ${characters})`, [], { prepare: true }),
            (rows) => expect(rows[0]?.[0]).toHaveLength(characters)
          ))
        for (let i = 0; i < 2; i++) {
          expect(yield* read(14_000_000)).toBe("TooLarge")
          for (const characters of [9_000_000, 1, 9_000_000]) expect(yield* read(characters)).toBe("success")
        }
      }))

    it.effect("reads read-only", () =>
      Effect.gen(function*() {
        const { postgres } = yield* open({ pooler })
        expect(yield* stateOf(postgres.read("delete from jobs returning id::text", [], { prepare: false }))).toBe(
          "25006"
        )
        expect(yield* reasonOf(postgres.read("select nextval('pg_temp.none')::text", [], { prepare: false }))).not.toBe(
          "success"
        )
      }))

    it.effect("cancels the statement of an interrupted read where it runs, and the connection serves on", () =>
      Effect.gen(function*() {
        const { postgres, records } = yield* open({ pooler, readConnections: 1 })
        const fiber = yield* beside(postgres.read("select pg_sleep(3600)::text as interrupted", [], { prepare: false }))
        yield* onceRuns("%as interrupted%")
        yield* Fiber.interrupt(fiber)
        expect(yield* activity("%as interrupted%")).toEqual([])
        expect(yield* names(records)).toEqual(["one", "two"])
      }))

    it.effect("rolls an interrupted transaction back while its statement runs", () =>
      Effect.gen(function*() {
        const { postgres, records } = yield* open({ pooler, writeConnections: 1 })
        const fiber = yield* beside(
          postgres.transaction((session) =>
            Effect.andThen(
              session.run("update jobs set name = 'gone' where id = 1", [], true),
              session.run("select pg_sleep(3600)::text as midway", [], false)
            )
          )
        )
        yield* onceRuns("%as midway%")
        yield* Fiber.interrupt(fiber)
        yield* records.transaction((tx) => rename(tx, "2", "two"))
        expect(yield* names(records)).toEqual(["one", "two"])
      }))

    it.effect("recovers by itself from connections that the server ended", () =>
      Effect.gen(function*() {
        const database = yield* Database
        const { records } = yield* open({ pooler, readConnections: 3, writeConnections: 3 })
        const many = Effect.all(Array.from({ length: 9 }, () => names(records)), { concurrency: "unbounded" })
        yield* many
        yield* records.transaction((tx) => lock(tx, "1"))
        yield* Effect.promise(() => database.disconnectAll())
        // The news may still be on its way: a request may meet it, the next does not.
        yield* onceSucceeds(names(records))
        expect(yield* reasonOf(many)).toBe("success")
        yield* onceSucceeds(records.transaction((tx) => lock(tx, "1")))
      }))

    it.effect("says unavailable when a connection breaks within a transaction, and outcome unknown when it breaks at the commit", () =>
      Effect.gen(function*() {
        const database = yield* Database
        const { records } = yield* open({ pooler })
        const broken = records.transaction((tx) =>
          Effect.gen(function*() {
            yield* rename(tx, "1", "lost")
            yield* Effect.promise(() => database.disconnectAll())
            yield* rename(tx, "1", "lost too")
          })
        )
        expect(yield* reasonOf(broken)).toBe("Unavailable")
        yield* onceSucceeds(records.ping)
        const committed = records.transaction((tx) =>
          Effect.andThen(rename(tx, "1", "lost"), Effect.promise(() => database.disconnectAll()))
        )
        expect(yield* reasonOf(committed)).toBe("OutcomeUnknown")
        yield* onceSucceeds(names(records))
        expect(yield* names(records)).toEqual(["one", "two"])
      }))

    it.effect("commits a statement that stands alone, and nothing of one that fails", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
        yield* records.transaction((tx) => rename(tx, "2", "alone"), true)
        expect(yield* names(records)).toEqual(["one", "alone"])
        expect(yield* reasonOf(records.transaction((tx) => rename(tx, "2", "one"), true))).toBe("Unique")
        yield* records.transaction((tx) => rename(tx, "2", "two"), true)
        expect(yield* names(records)).toEqual(["one", "two"])
      }))

    it.effect("locks nothing where a write stands alone, and says when it has to", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
        const late = records.transaction((tx) =>
          Effect.gen(function*() {
            yield* lock(tx, "2")
            if (!pooler) yield* records.transaction((other) => rename(other, "2", "between"))
            yield* rename(tx, "2", "late")
          }), true)
        expect(yield* reasonOf(late)).toBe(pooler ? "success" : "Contended")
        expect(yield* names(records)).toEqual(["one", pooler ? "late" : "between"])
        yield* records.transaction((tx) => rename(tx, "2", "two"), true)
        // The versions of a view's rows have no stamps.
        yield* rows("create view seen_jobs as select * from jobs")
        const view = { ...model, table: "seen_jobs" }
        const seen = { model: view, key: ["2"], where: always, columns: [f("id")], checks: [], bindings }
        expect(yield* reasonOf(records.transaction((tx) => tx.lock(seen), true))).toBe(pooler ? "success" : "Contended")
        yield* rows("drop view seen_jobs")
      }))

    it.effect("leaves nothing behind of a write that stands alone and gives back no row", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
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
        yield* execute(`
        create table shy (id bigint primary key, name text, small smallint, parent bigint, late bigint, changed timestamp(3));
        create table shy_left (what text);
        insert into shy values (1, 'one');
        create function keep() returns trigger language plpgsql as
          $$ begin insert into shy_left values (tg_op); return null; end $$;
        create trigger keep before insert or update or delete on shy for each row execute function keep()`)
        for (const write of [insert, update, remove]) {
          yield* reasonOf(records.transaction((tx) => Effect.andThen(see(tx), write(tx)), true))
          if (!pooler) expect(yield* reasonOf(records.transaction(write, true))).toBe("Contended")
        }
        // An insert that is kept is for the caller to refuse: with the pooler it is in a transaction, and comes back as no row.
        expect(yield* rows("select what from shy_left")).toEqual(pooler ? [["INSERT"]] : [])
        yield* execute("drop table shy, shy_left; drop function keep")
      }))

    it.effect("locks by the policies for locking", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
        const table = { ...model, table: "guarded" }
        const seen = { model: table, key: ["1"], where: always, columns: [f("id")], checks: [], bindings }
        yield* execute("create table guarded (like jobs); alter table guarded enable row level security")
        expect(yield* reasonOf(records.transaction((tx) => tx.lock(seen), true))).toBe(pooler ? "success" : "Contended")
        yield* execute("drop table guarded")
      }))

    it.effect("takes a row that a policy refuses for one that breaks a rule, and missing rights for a defect", () =>
      Effect.gen(function*() {
        const role = `policed_${Math.random().toString(36).slice(2)}`
        yield* execute(`
        create table policed (like jobs);
        create table denied (like jobs);
        alter table policed enable row level security;
        create policy few on policed using (true) with check (id < 5);
        create role ${role};
        grant select, insert on policed to ${role}`)
        const database = yield* Database
        const options = `${database.url.includes("?") ? "&" : "?"}options=${encodeURIComponent(`-c role=${role}`)}`
        const { records } = yield* open({ pooler, url: database.url + options })
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
        expect(yield* reasonOf(insert("policed", "4"))).toBe("success")
        expect(yield* reasonOf(insert("policed", "5"))).toBe("Check")
        expect(Exit.hasDies(yield* Effect.exit(insert("denied", "4")))).toBe(true)
        yield* execute(`drop table policed, denied; drop role ${role}`)
      }))

    it.effect("counts the rows of a page without asking for columns that are not the model's", () =>
      Effect.gen(function*() {
        const role = `reader_${Math.random().toString(36).slice(2)}`
        yield* execute(`
        create table partly (like jobs, secret text);
        insert into partly (id, name) values (1, 'one'), (2, 'two');
        create role ${role};
        grant select (id, name, small, parent, late, changed) on partly to ${role}`)
        const database = yield* Database
        const options = `${database.url.includes("?") ? "&" : "?"}options=${encodeURIComponent(`-c role=${role}`)}`
        const { records } = yield* open({ pooler, url: database.url + options })
        const partly = { ...shape, model: { ...model, table: "partly" } }
        const page = records.page({ shape: partly, bindings, counted: 5 })
        expect(yield* page).toEqual([["1", "one", "2"], ["2", "two", "2"]])
        yield* execute(`drop table partly; drop role ${role}`)
      }))

    it.effect("keeps the plan of a page that is asked for again and again, for its own values", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler, readConnections: 1 })
        const where: FilterTree = { op: "compare", field: f("name"), is: ">", value: { of: "literal", text: "it's" } }
        const some = { ...shape, where }
        const last = Effect.map(
          rows(
            "select query from pg_stat_activity where datname = current_database() and query like '%\"name\" >%'" +
              " and pid <> pg_backend_pid() order by state_change desc limit 1"
          ),
          ([row]) => row![0]
        )
        for (let run = 1; run <= 8; run++) {
          expect((yield* records.page({ shape: some, bindings })).map((row) => row[1])).toEqual([
            "one",
            "two"
          ])
          if (!pooler) expect(yield* last).toContain(run <= 5 ? "> $1" : "> 'it''s'")
        }
        // Other values are planned for themselves.
        const other = { ...some, where: { ...where, value: { of: "literal", text: "p" } } as const }
        expect((yield* records.page({ shape: other, bindings })).map((row) => row[1])).toEqual(["two"])
        // Nor does one caller get the rows of another whose values make the same text, one after the other.
        const param = (is: ">" | "<", index: number): FilterTree => ({
          op: "compare",
          field: f("name"),
          is,
          value: { of: "param", index }
        })
        const between = { ...shape, where: { op: "and", items: [param(">", 0), param("<", 1)] } as const }
        const names = (...params: readonly string[]) =>
          Effect.map(
            records.page({ shape: between, bindings: { ...bindings, params } }),
            (rows) => rows.map((row) => row[1])
          )
        for (let run = 1; run <= 8; run++) expect(yield* names("o", "nz")).toEqual([])
        expect(yield* names("on", "z")).toEqual(["one", "two"])
      }))

    it.effect("says outcome unknown when the connection of a statement that commits by itself breaks", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
        const held = yield* Deferred.make<void>()
        const holder = yield* beside(
          records.transaction((tx) =>
            Effect.andThen(Effect.andThen(lock(tx, "1"), Deferred.succeed(held, undefined)), Effect.never)
          )
        )
        yield* Deferred.await(held)
        const waiting = yield* beside(reasonOf(records.transaction((tx) => rename(tx, "1", "lost"), true)))
        yield* onceRuns("update %")
        // Not the holder's: with it the lock would go, and the statement might be done before its own connection ends.
        const [[pid = ""] = []] = yield* activity("update %")
        yield* rows(`select pg_terminate_backend(${pid})`)
        expect(yield* Fiber.join(waiting)).toBe(pooler ? "Unavailable" : "OutcomeUnknown")
        yield* Fiber.interrupt(holder)
        yield* onceSucceeds(names(records))
        expect(yield* names(records)).toEqual(["one", "two"])
      }))

    it.effect("finishes a commit that was asked for before the interruption", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
        yield* Effect.gen(function*() {
          const last = yield* Deferred.make<void>()
          const fiber = yield* Effect.forkChild(
            records.transaction((tx) => Effect.andThen(rename(tx, "2", "kept"), Deferred.succeed(last, undefined)))
          )
          yield* Deferred.await(last)
          yield* Fiber.interrupt(fiber)
        })
        const [, second] = yield* names(records)
        expect(["kept", "two"]).toContain(second)
        yield* records.transaction((tx) => rename(tx, "2", "two"))
      }))

    it.effect("gives up waiting for a connection", () =>
      Effect.gen(function*() {
        const { postgres, records } = yield* open({ pooler, writeConnections: 1, waitMs: 40 })
        const outcome = yield* records.transaction((tx) =>
          Effect.andThen(
            lock(tx, "1"),
            reasonOf(records.transaction((other) => lock(other, "2")))
          )
        )
        expect(outcome).toBe("Overloaded")
        expect(yield* reasonOf(records.transaction((tx) => lock(tx, "2")))).toBe("success")
        expect(postgres.pools()[1]).toMatchObject({ busy: 0, waiting: 0, timeouts: 1 })
      }))

    it.effect("gives up for each that waits when its own time is over", () =>
      Effect.gen(function*() {
        const { postgres, records } = yield* open({ pooler, writeConnections: 1, waitMs: 40 })
        const outcome = (id: string) => reasonOf(records.transaction((tx) => lock(tx, id)))
        const release = yield* Deferred.make<void>()
        const holds = yield* beside(reasonOf(records.transaction(() => Deferred.await(release))))
        yield* once(Effect.sync(() => postgres.pools()[1]!.busy === 1))
        const early = yield* beside(outcome("1"))
        const clock = performance.now.bind(performance)
        const later = vi.spyOn(performance, "now").mockImplementation(() => clock() + 60_000)
        const late = yield* beside(outcome("2"))
        later.mockRestore()
        expect(postgres.pools()[1]!.waiting).toBe(2)
        expect(yield* Fiber.join(early)).toBe("Overloaded")
        expect(postgres.pools()[1]).toMatchObject({ busy: 1, waiting: 1, timeouts: 1 })
        yield* Deferred.succeed(release, undefined)
        expect(yield* Effect.all([Fiber.join(holds), Fiber.join(late)])).toEqual(["success", "success"])
      }))

    it.effect("gives no place to one that is interrupted while it waits", () =>
      Effect.gen(function*() {
        const { postgres, records } = yield* open({ pooler, writeConnections: 1 })
        const release = yield* Deferred.make<void>()
        const holds = yield* beside(reasonOf(records.transaction(() => Deferred.await(release))))
        yield* once(Effect.sync(() => postgres.pools()[1]!.busy === 1))
        const fiber = yield* beside(records.transaction((tx) => lock(tx, "1")))
        expect(postgres.pools()[1]!.waiting).toBe(1)
        yield* Fiber.interrupt(fiber)
        expect(postgres.pools()[1]!.waiting).toBe(0)
        yield* Deferred.succeed(release, undefined)
        expect(yield* Fiber.join(holds)).toBe("success")
        expect(postgres.pools()[1]).toMatchObject({ busy: 0, waiting: 0, timeouts: 0 })
      }))

    it.effect("passes on the place of one that is interrupted in the moment it gets it, or while it works there", () =>
      Effect.gen(function*() {
        let given = (): void => {}
        const { postgres, records } = yield* open({ pooler, readConnections: 1, onWait: () => given() })
        const read = (sql: string) => postgres.read(sql, [], { prepare: false })
        const waiting = (sql: string) =>
          Effect.gen(function*() {
            const holds = yield* beside(read("select pg_sleep(0.1)::text"))
            yield* once(Effect.sync(() => postgres.pools()[0]!.busy === 1))
            const fiber = yield* beside(read(sql))
            expect(postgres.pools()[0]!.waiting).toBe(1)
            return { fiber, holds }
          })

        const first = yield* waiting("select '1'")
        given = () => first.fiber.interruptUnsafe()
        yield* Fiber.join(first.holds)
        expect(Exit.hasInterrupts(yield* Fiber.await(first.fiber))).toBe(true)
        given = () => {}
        yield* unchanged(records)

        const second = yield* waiting("select pg_sleep(3600)::text as interrupted")
        yield* Fiber.join(second.holds)
        yield* onceRuns("%as interrupted%")
        yield* Fiber.interrupt(second.fiber)
        yield* unchanged(records)
        expect(postgres.pools()[0]).toMatchObject({ busy: 0, waiting: 0, timeouts: 0 })
      }))

    it.effect("keeps no place of one that is interrupted between any two steps", () =>
      Effect.gen(function*() {
        const { postgres, records } = yield* open({ pooler, readConnections: 1 })
        yield* unchanged(records)
        // A fiber gives way to others after 2,048 steps, wherever it is then.
        const after = (steps: number): Effect.Effect<unknown, unknown> =>
          Effect.suspend(() => steps === 0 ? postgres.read("select '1'", [], { prepare: false }) : after(steps - 1))
        for (let steps = 2_030; steps < 2_050; steps++) {
          yield* Fiber.interrupt(yield* beside(after(steps)))
          expect([steps, postgres.pools()[0]!.busy]).toEqual([steps, 0])
        }
        yield* unchanged(records)
      }))

    it.effect("serves more requests at once than it has connections", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler, readConnections: 2 })
        const all = yield* Effect.all(Array.from({ length: 60 }, () => names(records)), { concurrency: "unbounded" })
        expect(all).toHaveLength(60)
        expect(new Set(all.map(String)).size).toBe(1)
      }))

    it.effect("goes on when a column changes its type under a prepared statement", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler, readConnections: 1 })
        const small = records.page({ shape: { ...shape, columns: [f("small")] }, bindings })
        yield* small
        yield* execute("alter table jobs alter small type bigint")
        expect(yield* reasonOf(small)).toBe("success")
        yield* execute("alter table jobs alter small type smallint")
        expect(yield* reasonOf(small)).toBe("success")
      }))

    it.effect("names what the database refuses", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
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
        expect(yield* insert({ id: "1" })).toBe("Unique")
        expect(yield* insert({ id: "3", name: "two" })).toBe("Unique")
        expect(yield* insert({ id: null })).toBe("NotNull")
        expect(yield* insert({ id: "3", small: "13" })).toBe("Check")
        expect(yield* insert({ id: "3", small: "70000" })).toBe("BadValue")
        expect(yield* insert({ id: "3", parent: "99" })).toBe("ForeignKey")
        // Deferred: the commit refuses.
        expect(yield* insert({ id: "3", late: "99" })).toBe("ForeignKey")
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
        expect(yield* reasonOf(dry)).toBe("ForeignKey")
        expect(yield* insert({ id: "3", name: "refused" })).toBe("Check")
        expect(yield* insert({ id: "3", name: "a\0b" })).toBe("BadValue")
        expect(yield* records.count({ model, where: always, bindings, cap: null })).toBe("2")
      }))

    it.effect("bounds a regular expression by a limit of its own", () =>
      Effect.gen(function*() {
        // The statement's own limit would come long after the end of the test.
        const { records } = yield* open({ pooler, statementTimeoutMs: 600_000 })
        yield* execute("insert into jobs select i, repeat('x', 40) || i from generate_series(100, 3000) i")
        yield* Effect.addFinalizer(() => execute("delete from jobs where id >= 100"))
        const where = {
          op: "regex",
          field: f("name"),
          pattern: "^(x*)(x*)(x*)(x*)(x*)\\1\\2\\3\\4\\5[0-9]+y?$"
        } as const
        expect(yield* reasonOf(records.count({ model, where, bindings, cap: null }))).toBe("SlowPattern")
        expect(yield* reasonOf(records.transaction((tx) => tx.count({ model, where, bindings, cap: null })))).toBe(
          "SlowPattern"
        )
        const bad = { ...where, pattern: "a{2,1}" } as const
        let reason: unknown
        // A machine that stands still makes any pattern a slow one.
        yield* once(Effect.gen(function*() {
          reason = yield* reasonOf(records.count({ model, where: bad, bindings, cap: null }))
          return reason !== "SlowPattern"
        }))
        expect(reason).toBe("BadPattern")
        expect(yield* reasonOf(records.estimate({ model, where: bad, bindings, cap: null }))).toBe("BadPattern")
      }))

    it.effect("moves a version of coarse precision by a step it can hold", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
        yield* execute("update jobs set changed = '2100-01-01 00:00:00.999' where id = 1")
        const touch = (tx: RecordsTransaction) =>
          tx.update({ model, key: ["1"], set: [], touch: true, columns: [f("changed")], checks: [], bindings })
        expect(yield* records.transaction((tx) => Effect.all([touch(tx), touch(tx)]))).toEqual([
          ["2100-01-01T00:00:01Z"],
          ["2100-01-01T00:00:01.001Z"]
        ])
      }))

    it.effect("gives hooks a handle that ends with the transaction", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ pooler })
        let kept: TransactionHandle | undefined
        yield* Effect.exit(records.transaction((tx) =>
          Effect.gen(function*() {
            const handle = tx.handle as TransactionHandle
            kept = handle
            yield* rename(tx, "1", "inside")
            expect(yield* Effect.promise(() => handle.query("select name, id from jobs where id = $1", ["1"]))).toEqual(
              [{
                name: "inside",
                id: 1n
              }]
            )
            yield* Effect.promise(() => handle.query("insert into jobs (id) values (50)"))
            return yield* Effect.fail("no")
          })
        ))
        yield* Effect.promise(() => expect(kept!.query("select 1")).rejects.toThrow("has ended"))
        expect(yield* names(records)).toEqual(["one", "two"])
      }))
  })

  it.effect("says read-only when the database is", () =>
    Effect.gen(function*() {
      const { name } = yield* Database
      yield* execute(`alter database ${name} set default_transaction_read_only = on`)
      yield* Effect.addFinalizer(() =>
        execute(`begin read write; alter database ${name} reset default_transaction_read_only; commit`)
      )
      const { records } = yield* open()
      expect(yield* reasonOf(records.transaction((tx) => rename(tx, "1", "x")))).toBe("ReadOnly")
      expect(yield* reasonOf(records.ping)).toBe("success")
    }))

  it.effect("writes floats in full, however many digits the database is set to", () =>
    Effect.gen(function*() {
      const database = yield* Database
      yield* execute(`alter database ${database.name} set extra_float_digits = 0`)
      yield* Effect.addFinalizer(() => execute(`alter database ${database.name} reset extra_float_digits`))
      for (const pooler of [false, true]) {
        const { postgres } = yield* open({ pooler })
        const sql = "select 0.30000000000000004::float8::text"
        expect(yield* postgres.read(sql, [], { prepare: false })).toEqual([["0.30000000000000004"]])
        const written = postgres.transaction((session) => session.run(sql, [], false))
        expect(yield* written).toEqual([["0.30000000000000004"]])
      }
    }))

  it.effect("compares with null as SQL does, however the database is set", () =>
    Effect.gen(function*() {
      const settings = { transform_null_equals: "on", array_nulls: "off" }
      const database = yield* Database
      for (const [name, value] of Object.entries(settings)) {
        yield* execute(`alter database ${database.name} set ${name} = ${value}`)
        yield* Effect.addFinalizer(() => execute(`alter database ${database.name} reset ${name}`))
      }
      for (const pooler of [false, true]) {
        const { postgres } = yield* open({ pooler })
        const sql = "select count(*)::text from (values (null), ('NULL')) v (x) where x = null or x = any('{NULL}')"
        expect(yield* postgres.read(sql, [], { prepare: false })).toEqual([["0"]])
        const written = postgres.transaction((session) => session.run(sql, [], false))
        expect(yield* written).toEqual([["0"]])
      }
    }))

  it.effect("says unavailable where nobody answers, and builds without a database", () =>
    Effect.gen(function*() {
      const database = yield* Database
      const { records } = yield* open({ url: "postgres://postgres@127.0.0.1:1/none" })
      expect(yield* reasonOf(records.ping)).toBe("Unavailable")
      const missing = yield* open({ url: database.url.replace(database.name, "no_such_database") })
      expect(yield* reasonOf(missing.records.ping)).toBe("Unavailable")
      expect(yield* reasonOf(missing.records.transaction(() => Effect.void))).toBe("Unavailable")
    }))

  it.effect("keeps no setting and no statement on a connection", () =>
    Effect.gen(function*() {
      const { postgres } = yield* open({ pooler: true, writeConnections: 1 })
      const look = postgres.transaction((session) =>
        session.run("select pg_backend_pid()::text, (select count(*)::text from pg_prepared_statements)", [], true)
      )
      yield* look
      const plain = yield* look
      expect(plain[0]![1]).toBe("0")
      const outside = yield* rows(
        "select name from pg_settings where name = 'statement_timeout' and setting <> '0'"
      )
      expect(outside).toEqual([])
    }))

  describe("finds a pooler out", () => {
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
    /** Keeps new connections waiting, in `held`. */
    let holdsNew = false
    const held: Array<() => void> = []

    /** A pooler as far as the start-up packet goes: other parameters than these are refused, as PgBouncer does, dropped, or passed on. */
    const listen = Effect.fnUntraced(function*(manner: "refuse" | "ignore" | "pass") {
      const database = yield* Database
      const target = new URL(database.url.replace("@/", "@localhost/"))
      const sockets = new Set<Socket>()
      const created = createServer((client) => {
        sockets.add(client)
        const begin = (first: Buffer): void => {
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
        }
        if (holdsNew) held.push(() => void client.once("data", begin))
        else client.once("data", begin)
        client.on("error", () => client.destroy())
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => created.listen(0, "127.0.0.1", resolve))),
        () =>
          Effect.promise(() => {
            for (const socket of sockets) socket.destroy()
            return new Promise<void>((resolve) => created.close(() => resolve()))
          })
      )
      const address = created.address()
      return `postgres://postgres@127.0.0.1:${
        typeof address === "object" && address !== null ? address.port : 0
      }/${database.name}`
    })

    it.effect("not in a server that passes them, and gives up on one that falls silent", () =>
      Effect.gen(function*() {
        const { records } = yield* open({ url: yield* listen("pass"), statementTimeoutMs: 300, silenceMs: 60 })
        // A machine that stands still for a moment is silence as well: the next answer counts.
        const served = onceSucceeds(unchanged(records))
        yield* served
        mute = true
        expect(yield* reasonOf(names(records))).toBe("Unavailable")
        mute = false
        yield* served
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
        yield* once(Effect.gen(function*() {
          reason = yield* reasonOf(silent)
          return mute
        }))
        expect(reason).toBe("OutcomeUnknown")
        mute = false
        yield* served
      }))

    it.effect.each([1, 20])(
      "and gives up on one that falls silent after %i bytes of its answer",
      (bytes) =>
        Effect.gen(function*() {
          mute = false
          const { records } = yield* open({ url: yield* listen("pass"), statementTimeoutMs: 300, silenceMs: 60 })
          yield* onceSucceeds(unchanged(records))
          // The silence of a connection that idles is none.
          yield* Effect.sleep(150)
          muteAfter = bytes
          expect(yield* reasonOf(names(records))).toBe("Unavailable")
          muteAfter = null
          mute = false
          yield* onceSucceeds(unchanged(records))
        })
    )

    it.effect("and reads under a short limit on what is open, where no more connections open", () =>
      Effect.gen(function*() {
        mute = false
        const { postgres } = yield* open({ url: yield* listen("pass"), readConnections: 1, pooler: false })
        const sql = "select current_setting('statement_timeout'), pg_backend_pid()::text"
        const read = postgres.read(sql, [], { prepare: true, timeoutMs: hastyMs })
        const usual = yield* postgres.read(sql, [], { prepare: true })
        // The effect is made while none is open, and looks for one when it runs.
        holdsNew = true
        yield* Effect.addFinalizer(() => Effect.sync(() => void (holdsNew = false)))
        let found: typeof usual = []
        expect(yield* reasonInTime(Effect.map(read, (rows) => found = rows))).toBe("success")
        expect(found).toEqual([[`${hastyMs}ms`, usual[0]![1]]])
        yield* once(Effect.sync(() => held.length > 0))
        holdsNew = false
        for (const go of held.splice(0)) go()
        yield* once(Effect.map(Effect.exit(read), (exit) => Exit.isSuccess(exit) && exit.value[0]![1] !== usual[0]![1]))
      }))

    it.effect("and holds a transaction that waits for something else", () =>
      Effect.gen(function*() {
        mute = false
        const { records } = yield* open({ url: yield* listen("pass"), statementTimeoutMs: 300, silenceMs: 60 })
        // A statement that takes so long is silence: the next try counts. The pause between two is none.
        yield* onceSucceeds(
          records.transaction((tx) =>
            Effect.andThen(Effect.delay(rename(tx, "1", "one"), 200), Effect.delay(rename(tx, "1", "one"), 200))
          )
        )
      }))

    it.effect.each(["refuse", "ignore"] as const)(
      "that meets unknown startup parameters by this: %s",
      (manner) =>
        Effect.gen(function*() {
          const { postgres, records } = yield* open({ url: yield* listen(manner), statementTimeoutMs: 300 })
          expect(yield* reasonInTime(unchanged(records))).toBe("success")
          expect(yield* reasonOf(postgres.read("select pg_sleep(3600)::text", [], { prepare: true }))).toBe("Timeout")
          expect(yield* stateOf(postgres.read("delete from jobs returning id::text", [], { prepare: true }))).toBe(
            "25006"
          )
          expect(yield* reasonInTime(records.transaction((tx) => rename(tx, "1", "one")))).toBe("success")
        })
    )
  })
})
