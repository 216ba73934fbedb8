/**
 * The queue on a database of its own for tests, straight or through a pooler. Time passes a hundred times as fast for tries, and what is stored is moved into
 * the past where a test wants hours to pass.
 */

import { Pool } from "pg"
import type { PoolClient } from "pg"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import type { Connections } from "../../adapters/queue/connection.ts"
import { startEngine } from "../../adapters/queue/engine.ts"
import type { EngineOptions } from "../../adapters/queue/engine.ts"
import { makeQueue } from "../../adapters/queue/queue.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import type { JobDatabase } from "../../core/domain/job/definition.ts"
import type { QueueHarness } from "../contracts/queue.ts"
import { openPooler } from "./pooler.ts"
import { openDatabase } from "./postgres.ts"
import type { TestDatabase } from "./postgres.ts"
import { waitUntil } from "./until.ts"

/** How much faster tries are timed. */
const speed = 100

/** How often workers look for jobs; chores are done about as often. */
const pollMs = 25

export interface OpenQueue extends QueueHarness {
  /** Waits until all workers have looked for jobs and done their chores. */
  readonly looked: () => Promise<void>
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

/** A pool on which the rounds of chores are counted. Each round asks once whether those of the day are due. */
const counting = (pool: Connections): { readonly pool: Connections; readonly rounds: () => number } => {
  let rounds = 0
  return {
    rounds: () => rounds,
    pool: {
      connect: async () => {
        const connection = await pool.connect()
        return {
          query: (text, values) => {
            if (text.includes("._claim(") && values?.[0] === "day") rounds++
            return connection.query(text, values)
          },
          release: (failure) => connection.release(failure)
        }
      }
    }
  }
}

export const openQueue = async (pooler: string | null = null): Promise<OpenQueue> => {
  const database = await openDatabase(queueStatements())
  const between = pooler === null ? null : await openPooler(pooler, database)
  const pool = new Pool({ ...pgAddressOf(between?.url ?? database.url), max: 12 })
  pool.on("error", () => {})
  pool.on("connect", (client) => void client.on("error", () => {}))
  const log: Array<{ level: string; event: string }> = []
  const wakes = new Set<(name: string) => void>()
  const queue = makeQueue(pool as never, (name) => wakes.forEach((wake) => wake(name)))
  const working = new Set<() => number>()
  const startWith: OpenQueue["startWith"] = async (options) => {
    const counted = counting(options.pool ?? pool as never)
    const workers = await startEngine({
      queue,
      log: (level, event, fields) => void log.push({ level, event, ...fields }),
      pollMs,
      graceMs: 30_000 / speed,
      choreMs: 4 * pollMs,
      timers: {
        now: () => performance.now() * speed,
        after: (milliseconds, call) => {
          const timer = setTimeout(call, milliseconds / speed)
          return () => clearTimeout(timer)
        }
      },
      ...options,
      pool: counted.pool
    })
    wakes.add(workers.wake)
    working.add(counted.rounds)
    return {
      ...workers,
      stop: () => {
        wakes.delete(workers.wake)
        working.delete(counted.rounds)
        return workers.stop()
      }
    }
  }
  const looked: OpenQueue["looked"] = async () => {
    // Between two of them from now on lies a whole round of chores, and more time than between two looks.
    const begun = new Map([...working].map((rounds) => [rounds, rounds()]))
    await waitUntil(() => [...begun].every(([rounds, before]) => !working.has(rounds) || rounds() >= before + 2))
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
      await looked()
    },
    until: (holds) => waitUntil(holds),
    looked,
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
