/**
 * What the queue costs, beside a table with `for update skip locked` written by hand and beside pg-boss, in one run on one database. It prints ratios and
 * ends with 1 when a goal is missed: `node --conditions=source bench/jobs.ts [--quick]`.
 */

import { Pool } from "pg"
import { PgBoss } from "pg-boss"
import { pgAddressOf } from "../adapters/postgres/socket.ts"
import { runOn } from "../adapters/queue/connection.ts"
import { defineJob, type Job } from "../adapters/queue/define.ts"
import { startEngine } from "../adapters/queue/engine.ts"
import { enqueuesItself } from "../adapters/queue/enqueue.ts"
import { enqueueOn } from "../adapters/queue/enqueue.ts"
import { makeQueue } from "../adapters/queue/queue.ts"
import { queueStatements } from "../adapters/queue/schema.ts"
import { makeAttempts } from "../core/app/job/attempt.ts"
import type { Workers } from "../core/ports/queue.ts"
import { modelsOf } from "../test/contracts/queue.ts"
import { openDatabase } from "../test/support/postgres.ts"

const quick = process.argv.includes("--quick")
const rounds = quick ? 3 : 5
const many = quick ? 1_000 : 3_000
const clients = 8

const database = await openDatabase(`${queueStatements()};
create table own_jobs (id bigint generated always as identity primary key, name text not null, payload jsonb, run_at timestamptz not null default now(), locked boolean not null default false);
create index own_due on own_jobs (name, run_at) where not locked;`)
const pool = new Pool({ ...pgAddressOf(database.url), max: 16 })
pool.on("error", () => {})
const db = { query: (sql: string, params: readonly unknown[] = []) => pool.query(sql, [...params]) }

const boss = new PgBoss({ ...pgAddressOf(database.url), max: 16, schedule: false, supervise: false } as never)
boss.on("error", () => {})
await boss.start()

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Things a second of work done `count` times. */
const rate = async (count: number, work: () => Promise<void>): Promise<number> => {
  const begin = performance.now()
  await work()
  return count / (performance.now() - begin) * 1_000
}

/** Does something `count` times from several clients, each waiting for its own. */
const spread = (count: number, one: (n: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const client = async (): Promise<void> => {
    while (next < count) await one(next++)
  }
  return Promise.all(Array.from({ length: clients }, client)).then(() => {})
}

const until = async (holds: () => boolean): Promise<void> => {
  const end = performance.now() + 60_000
  while (!holds()) {
    if (performance.now() > end) throw new Error("It took longer than a minute.")
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const services = {
  db: { query: async () => [], transaction: () => Promise.reject(new Error("none")) },
  mail: undefined
} as never
const start = (pollMs: number, ...jobs: readonly Job<never>[]): Promise<Workers> => {
  const models = modelsOf(...jobs)
  const queue = makeQueue(pool)
  return startEngine({
    pool: pool,
    queue,
    jobs: models,
    attempt: makeAttempts(models, services),
    log: () => {},
    pollMs
  })
}

interface Round {
  readonly [measure: string]: number
}

const enqueueing = async (): Promise<Round> => {
  const job = defineJob<{ n: number }>({ name: "enqueue", run: () => {} })
  const ours = await rate(many, () => spread(many, (n) => job.enqueue(db, { n })))
  const direct = await rate(
    many,
    () => spread(many, (n) => db.query("insert into own_jobs (name, payload) values ('a', $1) returning id", [{ n }]))
  )
  await boss.createQueue("enqueue")
  const theirs = await rate(many, () => spread(many, (n) => boss.send("enqueue", { n })))
  await database.execute("delete from jobs._private_jobs; truncate own_jobs, jobs.completed")
  await boss.deleteAllJobs("enqueue")
  return { ours, direct, theirs }
}

/** Ten at once, a job a statement where the other can do no better. */
const singles = async (): Promise<Round> => {
  let done = 0
  const job = defineJob<number>({ name: "single", concurrency: 10, run: () => void done++ })
  await job.enqueueMany(db, Array.from({ length: many }, (_, payload) => ({ payload })))
  let workers: Workers | undefined
  const ours = await rate(many, async () => {
    workers = await start(2_000, job)
    await until(() => done === many)
  })
  await workers!.stop()
  await db.query("insert into own_jobs (name) select 'a' from generate_series(1, $1)", [many])
  const direct = await rate(many, () =>
    Promise.all(Array.from({ length: 10 }, async () => {
      for (;;) {
        const { rows } = await db.query(
          "update own_jobs set locked = true where id = (select id from own_jobs where name = 'a' and not locked and run_at <= now() order by run_at limit 1 for update skip locked) returning id"
        )
        if (rows.length === 0) return
        await db.query("delete from own_jobs where id = $1", [rows[0].id])
      }
    })).then(() => {}))
  await boss.createQueue("single")
  await boss.insert("single", Array.from({ length: many }, (_, n) => ({ data: { n } })))
  const theirs = await rate(many, () =>
    Promise.all(Array.from({ length: 10 }, async () => {
      for (;;) {
        const [next] = await boss.fetch("single")
        if (next === undefined) return
        await boss.complete("single", next.id)
      }
    })).then(() => {}))
  await boss.deleteAllJobs("single")
  return { ours, direct, theirs }
}

/** Fifty at once; the other's best of one worker and ten, in batches of fifty. */
const batches = async (): Promise<Round> => {
  const count = many * 4
  let done = 0
  const job = defineJob<number>({ name: "short", concurrency: 50, run: () => void done++ })
  for (let from = 0; from < count; from += 1_000) {
    await job.enqueueMany(db, Array.from({ length: Math.min(1_000, count - from) }, (_, payload) => ({ payload })))
  }
  let workers: Workers | undefined
  const ours = await rate(count, async () => {
    workers = await start(2_000, job)
    await until(() => done === count)
  })
  await workers!.stop()
  const loops = async (parallel: number): Promise<number> => {
    const name = `short${parallel}`
    await boss.createQueue(name)
    for (let from = 0; from < count; from += 1_000) {
      await boss.insert(name, Array.from({ length: Math.min(1_000, count - from) }, (_, n) => ({ data: { n } })))
    }
    const found = await rate(count, () =>
      Promise.all(Array.from({ length: parallel }, async () => {
        for (;;) {
          const jobs = await boss.fetch(name, { batchSize: 50 })
          if (jobs.length === 0) return
          await boss.complete(name, jobs.map((each: { readonly id: string }) => each.id))
        }
      })).then(() => {}))
    await boss.deleteAllJobs(name)
    return found
  }
  const one = await loops(1)
  const ten = await loops(10)
  return { ours, one, ten, theirs: Math.max(one, ten) }
}

/** Milliseconds from an enqueue outside of a transaction to the start in the same process. */
const starting = async (): Promise<number> => {
  let begun = 0
  const job = defineJob({ name: "start", run: () => void (begun = performance.now()) })
  const workers = await start(2_000, job)
  const own = {
    ...db,
    [enqueuesItself]: async (plans: Parameters<typeof enqueueOn>[1]) => {
      const ids = await enqueueOn(db, plans)
      workers.wake("start")
      return ids
    }
  }
  const times: number[] = []
  for (let i = 0; i < 60; i++) {
    await new Promise((resolve) => setTimeout(resolve, 15))
    begun = 0
    const from = performance.now()
    await job.enqueue(own)
    await until(() => begun > 0)
    times.push(begun - from)
  }
  await workers.stop()
  return median(times)
}

/** CPU of this process and of PostgreSQL while fifty names wait for jobs, as a share of a core. */
const idling = async (): Promise<{ readonly node: number; readonly statements: number }> => {
  let statements = 0
  const counting = {
    connect: async () => {
      const client = await pool.connect()
      return {
        query: (text: string, values?: unknown[]) => {
          statements++
          return client.query(text, values)
        },
        release: (broken?: boolean | Error) => client.release(broken)
      }
    }
  }
  const models = modelsOf(
    ...Array.from({ length: 50 }, (_, index) => defineJob({ name: `idle${index}`, concurrency: 5, run: () => {} }))
  )
  const workers = await startEngine({
    pool: counting,
    queue: makeQueue(pool),
    jobs: models,
    attempt: makeAttempts(models, services),
    log: () => {}
  })
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  const seconds = 10
  statements = 0
  const before = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  const { system, user } = process.cpuUsage(before)
  const found = { node: (system + user) / 1e6 / seconds, statements: statements / seconds }
  await workers.stop()
  return found
}

/** How much slower enqueue and fetch are with a million waiting jobs, of the same name and of another. */
const backlog = async (): Promise<{ readonly enqueue: number; readonly fetch: number }> => {
  const job = defineJob<{ n: number }>({ name: "backlog", run: () => {} })
  await job.enqueue(db, { n: 0 })
  const { rows } = await runOn(pool, "select id from jobs._private_tasks where identifier = 'backlog'")
  const fetching = async (): Promise<number> => {
    const times: number[] = []
    for (let i = 0; i < 60; i++) {
      const begin = performance.now()
      await db.query(
        `with j as (select id from jobs._private_jobs where is_available and run_at <= now() and task_id = $1 order by priority, run_at, id limit 1 for update skip locked)
         update jobs._private_jobs jobs set attempts = jobs.attempts + 1, locked_by = 'bench', locked_at = now() from j where jobs.id = j.id returning jobs.id`,
        [rows[0]!["id"]]
      )
      times.push(performance.now() - begin)
    }
    return median(times)
  }
  const count = 2_000
  const enqueue = () => rate(count, () => spread(count, (n) => job.enqueue(db, { n })))
  await enqueue()
  await database.execute("vacuum (analyze) jobs._private_jobs")
  await fetching()
  const [fast, quickFetch] = [await enqueue(), await fetching()]
  await database.execute(
    `insert into jobs._private_jobs (task_id, payload, run_at) select ${
      String(rows[0]!["id"])
    }, '{}', now() - interval '1 day' from generate_series(1, ${quick ? 200_000 : 1_000_000})`
  )
  await database.execute("vacuum (analyze) jobs._private_jobs")
  await fetching()
  await enqueue()
  const [slow, slowFetch] = [await enqueue(), await fetching()]
  await database.execute("truncate jobs._private_jobs")
  return { enqueue: fast / slow, fetch: slowFetch / quickFetch }
}

const goals: Array<readonly [name: string, value: number, least: number | null, most: number | null]> = []
const figures = async (name: string, measure: () => Promise<Round>): Promise<Round> => {
  const all: Round[] = []
  await measure()
  for (let round = 0; round < rounds; round++) all.push(await measure())
  const found = Object.fromEntries(Object.keys(all[0]!).map((key) => [key, median(all.map((each) => each[key]!))]))
  process.stdout.write(
    `${name.padEnd(12)} ${Object.entries(found).map(([key, value]) => `${key} ${Math.round(value)}/s`).join("  ")}\n`
  )
  return found
}

const enqueued = await figures("enqueue", enqueueing)
goals.push(["enqueue / pg-boss", enqueued["ours"]! / enqueued["theirs"]!, 1.5, null])
const single = await figures("one by one", singles)
goals.push(["one by one / pg-boss", single["ours"]! / single["theirs"]!, 1, null])
const batch = await figures("fifty", batches)
goals.push(["fifty / pg-boss's best", batch["ours"]! / batch["theirs"]!, 0.8, null])
goals.push(["start in ms", await starting(), null, 20])
const idle = await idling()
process.stdout.write(`idle         ${idle.statements.toFixed(1)} statements/s with 50 names\n`)
goals.push(["idle share of a core", idle.node, null, 0.02])
const behind = await backlog()
goals.push(["enqueue with a backlog", behind.enqueue, null, 1.5], ["fetch with a backlog", behind.fetch, null, 1.5])

let missed = 0
for (const [name, value, least, most] of goals) {
  const met = (least === null || value >= least) && (most === null || value <= most)
  if (!met) missed++
  process.stdout.write(
    `${met ? "met   " : "MISSED"} ${name.padEnd(24)} ${value.toFixed(3)} (${
      least === null ? `at most ${most}` : `at least ${least}`
    })\n`
  )
}
await boss.stop({ graceful: false })
await pool.end()
await database.drop()
process.exitCode = missed === 0 ? 0 : 1
process.exit()
