/** A job that a write hook enqueues wakes the workers of its process: after the commit, and only then. */

import { expect, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { defineJob } from "../../adapters/queue/define.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { runFunction } from "../../core/app/function/function.ts"
import { type FunctionDeclaration, refuse } from "../../core/domain/function/declaration.ts"
import type { JobDatabase } from "../../core/domain/job/definition.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import { Connection, connectionLayer, live, rows } from "../support/layers.ts"

const greet = defineJob<number>({ name: "greet", run: () => {} })
const tell = defineJob<number>({ name: "tell", run: () => {} })

const woken: string[] = []

class Records extends Context.Service<Records, RecordsService>()("test/queue/wake/Records") {}

const recordsLayer = Layer.effect(
  Records,
  Effect.map(Connection, (postgres) => makeRecords(postgres, (name) => void woken.push(name)))
).pipe(Layer.provideMerge(connectionLayer(`${queueStatements()}; ${queueStatements(undefined, "other")}`)))

/** How a transaction ended that does this work and then that. */
const transaction = <E>(work: (db: JobDatabase) => Promise<void>, end: Effect.Effect<void, E>) =>
  Effect.flatMap(Records, (records) =>
    Effect.exit(
      records.transaction(({ handle }) => Effect.andThen(Effect.promise(() => work(handle as JobDatabase)), end))
    ))

/** Calls an API function whose queue is in a schema. */
const call = (schema: string, run: FunctionDeclaration<unknown, unknown>["run"]) =>
  Effect.flatMap(Records, (records) =>
    Effect.exit(runFunction(
      {
        core: { records, options: { queueSchema: schema } } as never,
        functions: new Map(),
        app: {} as never,
        accesses: () => () => null
      },
      { name: "call", input: null, roles: true, description: null, run },
      { id: "ann", roles: [], tenant: null },
      { headers: { get: () => null }, body: "" },
      undefined
    )))

layer(recordsLayer, live)((it) => {
  it.effect("wakes the workers of what an API function enqueues, with its own word for it or the job's", () =>
    Effect.gen(function*() {
      const ended = yield* call("jobs", async (_, { db, enqueue }) => {
        await enqueue(greet, 1)
        await tell.enqueue(db, 2)
        expect(woken).toEqual([])
      })
      expect(Exit.isSuccess(ended)).toBe(true)
      expect(woken.splice(0)).toEqual(["greet", "tell"])
      const failed = yield* call("jobs", async (_, { enqueue }) => {
        await enqueue(greet, 1)
        throw refuse("conflict", "no")
      })
      expect([Exit.isFailure(failed), woken]).toEqual([true, []])
    }))

  it.effect("enqueues from an API function into the queue of the configuration", () =>
    Effect.gen(function*() {
      const ended = yield* call("other", (_, { enqueue }) => enqueue(greet, 1))
      expect(Exit.isSuccess(ended)).toBe(true)
      expect(woken.splice(0)).toEqual(["greet"])
      expect(yield* rows("select count(*)::text from other._private_jobs")).toEqual([["1"]])
    }))

  it.effect("wakes each name once, when the transaction has committed", () =>
    Effect.gen(function*() {
      const ended = yield* transaction(async (db) => {
        await greet.enqueueMany(db, [{ payload: 1 }, { payload: 2 }])
        await greet.enqueue(db, 3)
        await tell.enqueue(db, 4)
        expect(woken).toEqual([])
      }, Effect.void)
      expect(Exit.isSuccess(ended)).toBe(true)
      expect(woken.splice(0)).toEqual(["greet", "tell"])
    }))

  it.effect("wakes nobody for what is rolled back, or for a transaction that enqueues nothing", () =>
    Effect.gen(function*() {
      const ended = yield* transaction(async (db) => void await greet.enqueue(db, 5), Effect.fail("no"))
      expect(Exit.isFailure(ended)).toBe(true)
      yield* transaction(async (db) => void await db.query("select 1"), Effect.void)
      expect(woken).toEqual([])
      expect(yield* rows("select count(*)::text from jobs._private_jobs")).toEqual([["6"]])
    }))
})
