/** A job that a write hook enqueues wakes the workers of its process: after the commit, and only then. */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { defineJob } from "../../adapters/queue/define.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import type { JobDatabase } from "../../core/domain/job/definition.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

const greet = defineJob<number>({ name: "greet", run: () => {} })
const tell = defineJob<number>({ name: "tell", run: () => {} })

const scope = Effect.runSync(Scope.make())
const woken: string[] = []
let database: TestDatabase
let records: RecordsService

beforeAll(async () => {
  database = await openDatabase(queueStatements())
  const postgres = await Effect.runPromise(Scope.provide(makePostgres({ url: database.url }), scope))
  records = makeRecords(postgres, (name) => void woken.push(name))
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await database?.drop()
})

const transaction = <E>(work: (db: JobDatabase) => Promise<void>, end: Effect.Effect<void, E>) =>
  Effect.runPromise(
    Effect.exit(
      records.transaction(({ handle }) => Effect.andThen(Effect.promise(() => work(handle as JobDatabase)), end))
    )
  )

it("wakes each name once, when the transaction has committed", async () => {
  const ended = await transaction(async (db) => {
    await greet.enqueueMany(db, [{ payload: 1 }, { payload: 2 }])
    await greet.enqueue(db, 3)
    await tell.enqueue(db, 4)
    expect(woken).toEqual([])
  }, Effect.void)
  expect(Exit.isSuccess(ended)).toBe(true)
  expect(woken.splice(0)).toEqual(["greet", "tell"])
})

it("wakes nobody for what is rolled back, or for a transaction that enqueues nothing", async () => {
  const ended = await transaction(async (db) => void await greet.enqueue(db, 5), Effect.fail("no"))
  expect(Exit.isFailure(ended)).toBe(true)
  await transaction(async (db) => void await db.query("select 1"), Effect.void)
  expect(woken).toEqual([])
  expect(await database.rows("select count(*)::text from jobs._private_jobs")).toEqual([["4"]])
})
