// Runs the contract of the records port on the fake, on PostgreSQL, and on PostgreSQL through PgBouncer in transaction mode.
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Client } from "pg"
import { describe, expect, it } from "vitest"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { idempotencySchema } from "../../adapters/postgres/idempotency.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import type { TransactionHandle } from "../../adapters/postgres/transaction.ts"
import { type FakeHandle, makeFakeRecords } from "../fakes/records.ts"
import { findPooler, openPooler } from "../support/pooler.ts"
import { openDatabase } from "../support/postgres.ts"
import {
  answerBytes,
  bindings,
  contractConstraints,
  contractIndexes,
  contractSchema,
  equals,
  f,
  type RecordsHarness,
  shapeOf,
  update
} from "./records-tables.ts"
import { recordsContract } from "./records.ts"

recordsContract(
  "in memory",
  Effect.sync((): RecordsHarness => {
    const make = () => makeFakeRecords({ answerBytes, constraints: contractConstraints, indexes: contractIndexes })
    let fake = make()
    return {
      get records() {
        return fake.service
      },
      // The tables are emptied by taking a new fake.
      clear: Effect.sync(() => {
        fake = make()
      }),
      waiting: Effect.sync(() => fake.waiting()),
      aloneLock: "reads",
      byHandle: (handle) => {
        const { statements } = handle as FakeHandle
        return {
          rename: (id, name) => Effect.asVoid(update(statements, id, { name })),
          nameOf: (id) =>
            Effect.map(
              statements.page({ shape: shapeOf([], { columns: [f("name")], where: equals(f("id"), id) }), bindings }),
              ([row]) => row?.[0] ?? null
            )
        }
      }
    }
  })
)

/** What must be found out quickly: that two wait for each other. */
const impatient = (name: string) => `alter database ${name} set deadlock_timeout = '50ms'`

/** The contract's tables on a database of their own. `through`: the program of a pooler in between. */
const onPostgres = (through: string | null): Effect.Effect<RecordsHarness, never, Scope.Scope> =>
  Effect.gen(function*() {
    const database = yield* Effect.acquireRelease(
      Effect.promise(() => openDatabase(`${idempotencySchema().join(";\n")};\n${contractSchema}`)),
      ({ drop }) => Effect.promise(drop)
    )
    yield* Effect.promise(() => database.execute(impatient(database.name)))
    // Transactions of a test that wait for each other need a connection each.
    const pooler = through === null ? null : yield* Effect.acquireRelease(
      Effect.promise(() => openPooler(through, database, 12)),
      ({ close }) => Effect.promise(close)
    )
    const client = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const made = new Client(pgAddressOf(database.url))
        await made.connect()
        return made
      }),
      (made) => Effect.promise(() => made.end())
    )
    const query = (sql: string) =>
      Effect.promise(() => client.query<{ readonly waiting: number }>(sql).then(({ rows }) => rows))
    const postgres = yield* makePostgres({ url: pooler?.url ?? database.url, answerBytes: 1 })
    return {
      records: makeRecords(postgres),
      clear: query("delete from shelves; delete from things; delete from pairs; delete from service.idempotency_key"),
      waiting: Effect.map(
        query(
          "select count(*)::integer as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        ),
        ([row]) => row!.waiting
      ),
      // Behind a pooler the time limit belongs to a transaction, so there is one, and it locks.
      aloneLock: pooler === null ? "reads" : "locks",
      byHandle: (handle) => {
        const { query } = handle as TransactionHandle
        return {
          rename: (id, name) =>
            Effect.asVoid(Effect.tryPromise(() => query("update things set name = $2 where id = $1", [id, name]))),
          nameOf: (id) =>
            Effect.map(
              Effect.tryPromise(() => query("select name from things where id = $1", [id])),
              ([row]) => row?.["name"] as string | null
            )
        }
      }
    }
  })

recordsContract("PostgreSQL", onPostgres(null))

const program = findPooler()
if (program !== null) recordsContract("through PgBouncer", onPostgres(program))
else {
  const missing = "PgBouncer is not installed (Debian: apt-get install pgbouncer)"
  describe("records: through PgBouncer", () => {
    it.skipIf(process.env["CI"] !== "true")(missing, () => expect.fail(missing))
  })
}
