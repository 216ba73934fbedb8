/**
 * The queue on a database of its own for tests, straight or through a pooler. Time passes a hundred times as fast for tries, and what is stored is moved into
 * the past where a test wants hours to pass.
 */

import { Pool } from "pg"
import type { PoolClient } from "pg"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { startEngine } from "../../adapters/queue/engine.ts"
import type { EngineOptions } from "../../adapters/queue/engine.ts"
import { makeQueue } from "../../adapters/queue/queue.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import type { JobDatabase } from "../../core/domain/job/definition.ts"
import type { QueueHarness } from "../contracts/queue.ts"
import { openPooler } from "./pooler.ts"
import { openDatabase } from "./postgres.ts"
import type { TestDatabase } from "./postgres.ts"

/** How much faster tries are timed. */
const speed = 100

export interface OpenQueue extends QueueHarness {
  readonly database: TestDatabase
  readonly pool: Pool
  /** What the workers logged, without times. */
  readonly log: ReadonlyArray<{ readonly level: string; readonly event: string; readonly [field: string]: unknown }>
  readonly startWith: (
    options: Pick<EngineOptions, "jobs" | "attempt"> & Partial<EngineOptions>
  ) => ReturnType<typeof startEngine>
}

/** A database on a connection of the pool, as a caller outside of the service has one. */
const on = (client: Pick<PoolClient, "query"> | Pool): JobDatabase => ({
  query: (sql, params = []) => client.query(sql, [...params])
})

export const openQueue = async (pooler: string | null = null): Promise<OpenQueue> => {
  const database = await openDatabase(queueStatements())
  const between = pooler === null ? null : await openPooler(pooler, database)
  const pool = new Pool({ ...pgAddressOf(between?.url ?? database.url), max: 12 })
  pool.on("error", () => {})
  pool.on("connect", (client) => void client.on("error", () => {}))
  const log: Array<{ level: string; event: string }> = []
  const wakes = new Set<(name: string) => void>()
  const queue = makeQueue(pool as never, (name) => wakes.forEach((wake) => wake(name)))
  const startWith: OpenQueue["startWith"] = async (options) => {
    const workers = await startEngine({
      pool: pool as never,
      queue,
      log: (level, event, fields) => void log.push({ level, event, ...fields }),
      pollMs: 100,
      graceMs: 30_000 / speed,
      choreMs: 200,
      timers: {
        now: () => performance.now() * speed,
        after: (milliseconds, call) => {
          const timer = setTimeout(call, milliseconds / speed)
          return () => clearTimeout(timer)
        }
      },
      ...options
    })
    wakes.add(workers.wake)
    return {
      ...workers,
      stop: () => {
        wakes.delete(workers.wake)
        return workers.stop()
      }
    }
  }
  return {
    database,
    pool,
    log,
    queue,
    db: on(pool),
    startWith,
    start: (jobs, attempt) => startWith({ jobs, attempt }),
    transaction: async (work) => {
      const client = await pool.connect()
      try {
        await client.query("begin")
        await work(on(client))
        await client.query("commit")
      } catch (error) {
        await client.query("rollback")
        throw error
      } finally {
        client.release()
      }
    },
    advance: async (milliseconds) => {
      const by = `interval '${milliseconds} milliseconds'`
      await database.execute(`begin;
        set session_replication_role = replica;
        update jobs._private_jobs set run_at = run_at - ${by}, locked_at = locked_at - ${by}, updated_at = updated_at - ${by}, created_at = created_at - ${by};
        update jobs.group_waiting set run_at = run_at - ${by};
        update jobs.completed set completed_at = completed_at - ${by};
        update jobs.chores set done_at = done_at - ${by};
        commit`)
      await new Promise((resolve) => setTimeout(resolve, 250))
    },
    until: async (holds) => {
      const end = performance.now() + 60_000
      while (!await holds()) {
        if (performance.now() > end) throw new Error("It did not come to that within 60 seconds.")
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    },
    now: async () => Date.now(),
    loseWorkers: () =>
      database.execute(
        "begin; set session_replication_role = replica; update jobs._private_jobs set locked_by = 'lost' where locked_by is not null; commit"
      ),
    clear: () =>
      database.execute(
        "begin; set session_replication_role = replica; delete from jobs._private_jobs; delete from jobs.group_waiting; delete from jobs.groups; delete from jobs.completed; delete from jobs.definitions; update jobs.chores set done_at = '-infinity'; commit"
      ),
    close: async () => {
      await pool.end()
      await between?.close()
      await database.drop()
    }
  }
}
