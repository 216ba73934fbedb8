/**
 * The queue of a service on PostgreSQL: the checks before workers start, the workers, and the database that jobs work on. Nothing is connected, and no
 * library loaded, until somebody asks for it.
 */

import { hostname } from "node:os"
import { checkSchema, findDrift, findReordered } from "../adapters/queue/check.ts"
import { type QueryAnswer, runOn } from "../adapters/queue/connection.ts"
import type { Connections } from "../adapters/queue/connection.ts"
import { enqueueOn, enqueuesItself } from "../adapters/queue/enqueue.ts"
import type { EnqueuingDatabase } from "../adapters/queue/enqueue.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { defaultSchemas } from "../core/domain/declare/schemas.ts"
import { hearsEnqueued, type JobModel, type OwnDatabase, queueSchema } from "../core/domain/job/definition.ts"
import type { JobCounts } from "../core/domain/job/state.ts"
import type { QueueService, RunAttempt, Workers } from "../core/ports/queue.ts"
import { eventLine } from "./log.ts"
import { StartupError } from "./startup-error.ts"

/** A database that runs statements, and in which jobs are enqueued so that workers of this process start them at once. */
export type AdminDatabase = OwnDatabase & EnqueuingDatabase

const refusal = (message: string, fix: string): Refusal => ({ resource: null, field: null, message, fix })

/** What keeps jobs from being run or enqueued in a database; empty: nothing. */
export const refuseQueue = async (
  pool: Connections,
  jobs: ReadonlyMap<string, JobModel>,
  schema: string = defaultSchemas.jobs
): Promise<readonly Refusal[]> => {
  const level = await checkSchema(pool, schema)
  switch (level) {
    case "missing":
    case "behind":
      return [
        refusal(
          `The schema ${schema} is missing or out of date in the database.`,
          "Run: service migration --apply, with a role that may create schemas; or apply the file that service migration writes."
        )
      ]
    case "newer":
      return [
        refusal(
          `The schema ${schema} was made by a newer version of the service.`,
          "Run that version or a newer one; a schema does not go back."
        )
      ]
    case "current":
    case "ahead": {
      // What the next level has instead is not ours to judge.
      const drift = level === "current" ? await findDrift(pool, schema) : []
      if (drift.length > 0) {
        return [
          refusal(
            `The schema ${schema} is not as this version made it: ${drift.join(", ")}.`,
            "Run: service migration --apply, or apply the file that service migration writes."
          )
        ]
      }
      return (await findReordered(pool, jobs, schema)).map(({ name, ordered }) =>
        refusal(
          `The job "${name}" is ${ordered ? "ordered" : "not ordered"} now, and its queue was made ${
            ordered ? "without" : "with"
          } order.`,
          `Finish or delete its jobs, then run: select ${schema}.delete_queue('${name}')`
        )
      )
    }
  }
}

/** `query` as jobs have it. Whoever writes a statement says what its rows are. */
const queryBy = (run: (sql: string, params: readonly unknown[]) => Promise<QueryAnswer>) =>
async <Row>(
  sql: string,
  params: readonly unknown[] = []
): Promise<readonly Row[]> => (await run(sql, params)).rows as readonly Row[]

/** The application's database for jobs: plain statements and transactions on a pool. */
export const makeDatabase = (pool: Connections, woken: (name: string) => void, schema: string): AdminDatabase => {
  const rowsOf = queryBy((sql, params) => runOn(pool, sql, params))
  return {
    query: rowsOf,
    transaction: async (work) => {
      const connection = await pool.connect()
      let broken = true
      const enqueued = new Set<string>()
      try {
        await connection.query("begin")
        const query = queryBy((sql, params) => connection.query(sql, [...params]))
        const heard = (names: readonly string[]): void => names.forEach((name) => enqueued.add(name))
        const tx = { query, [hearsEnqueued]: heard, [queueSchema]: schema }
        const given = await work(tx)
        await connection.query("commit")
        broken = false
        enqueued.forEach(woken)
        return given
      } catch (error) {
        broken = await connection.query("rollback").then(() => false, () => true)
        throw error
      } finally {
        connection.release(broken)
      }
    },
    [enqueuesItself]: async (plans) => {
      const ids = await enqueueOn({ query: rowsOf, [queueSchema]: schema }, plans)
      for (const { name } of plans) woken(name)
      return ids
    }
  }
}

/** What workers are started with. */
export interface WorkersOptions {
  /** The schema of the queue. */
  readonly schema: string
  /** The database's URL. */
  readonly url: string
  /** Connections of the queue itself. */
  readonly pool: Connections
  readonly queue: QueueService
  readonly jobs: ReadonlyMap<string, JobModel>
  readonly attempt: RunAttempt
  /** Takes finished JSON lines. */
  readonly log?: ((line: string) => void) | undefined
  /** Gets the counts of the queues, each minute. */
  readonly counted?: ((counts: readonly JobCounts[]) => void) | undefined
}

/** Checks the schema and starts the workers of this process. Throws `StartupError`. */
export const startWorkers = async (
  { attempt, counted, jobs, log = () => {}, pool, queue, schema, url }: WorkersOptions
): Promise<Workers> => {
  const refusals = await refuseQueue(pool, jobs, schema)
  if (refusals.length > 0) throw new StartupError(refusals)
  const { startEngine } = await import("../adapters/queue/engine.ts")
  const { guardLeases } = await import("./lease-guard.ts")
  return startEngine({
    schema,
    who: `${hostname().replaceAll(/\s/g, "")}:${process.pid}`,
    pool,
    queue,
    jobs,
    attempt,
    guard: guardLeases(url),
    log: (level, event, fields) => log(eventLine(level, event, fields)),
    ...(counted === undefined ? {} : { counted })
  })
}
