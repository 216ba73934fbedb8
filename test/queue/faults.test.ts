// Jobs when something goes wrong in the same process or database: races, lost connections, a read-only phase, a blocked event loop, hand-written SQL.
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { type Connections, runOn } from "../../adapters/queue/connection.ts"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import type { OwnDatabase } from "../../core/domain/job/definition.ts"
import type { Workers } from "../../core/ports/queue.ts"
import { modelsOf } from "../contracts/queue.ts"
import { compileCache } from "../support/compiled.ts"
import { type OpenQueue, openQueue } from "../support/queue.ts"

let harness: OpenQueue
const started: Workers[] = []

beforeAll(async () => {
  harness = await openQueue()
  await harness.database.execute(
    "create table marks (job text not null, n integer not null, at timestamptz default clock_timestamp())"
  )
})
afterAll(() => harness?.close())
beforeEach(async () => {
  await harness.clear()
  await harness.database.execute("truncate marks")
})
afterEach(async () => {
  await Promise.all(started.splice(0).map((workers) => workers.stop()))
})

const start = async (...jobs: readonly Job<never>[]): Promise<Workers> => {
  const models = modelsOf(...jobs)
  const db: OwnDatabase = {
    query: async <Row>(sql: string, params: readonly unknown[] = []) =>
      (await runOn(harness.pool as never, sql, params)).rows as readonly Row[],
    transaction: () => Promise.reject(new Error("not here"))
  }
  const workers = await harness.start(models, makeAttempts(models, { db, mail: undefined }))
  started.push(workers)
  return workers
}
const counts = async (name: string) =>
  (await Effect.runPromise(harness.queue.counts)).find((each) => each.name === name)
/** Every connection of the pool answers: none is left that was ended. */
const reconnected = () =>
  harness.until(async () => {
    const answers = Array.from({ length: 12 }, () => harness.pool.query("select 1"))
    return (await Promise.allSettled(answers)).every(({ status }) => status === "fulfilled")
  })
const completed = (name: string, many: number) => async () => (await counts(name))?.completed === many

describe("jobs under faults", () => {
  it("are one for 300 racing enqueues with one key, and each there for 300 into one group", async () => {
    const keyed = defineJob<number>({ name: "keyed", run: () => {} })
    const ordered = defineJob<number>({ name: "ordered", ordered: true, run: () => {} })
    const many = Array.from({ length: 300 }, (_, n) => n)
    const ids = await Promise.all(
      many.map((n) => keyed.enqueue(harness.db, n, { key: "one", mode: n % 2 === 0 ? "dedupe" : "replace" }))
    )
    expect(new Set(ids).size).toBe(1)
    const group = await Promise.all(many.map((n) => ordered.enqueue(harness.db, n, { group: "one" })))
    expect(new Set(group).size).toBe(300)
    expect([(await counts("keyed"))?.waiting, (await counts("ordered"))?.waiting]).toEqual([1, 300])
    // Racing with workers that finish and promote, none is lost and none gets stuck.
    const seen: string[] = []
    const running = defineJob<number>({
      name: "ordered",
      ordered: true,
      concurrency: 3,
      run: (_, { job }) => void seen.push(job.id)
    })
    await start(running)
    await start(running)
    await Promise.all(many.map((n) => ordered.enqueue(harness.db, n, { group: n % 3 === 0 ? "one" : "two" })))
    await harness.until(completed("ordered", 600))
    expect(new Set(seen).size).toBe(600)
  })

  it("leave nothing when the transaction that enqueued them is rolled back, group and all", async () => {
    const ordered = defineJob<number>({ name: "ordered", ordered: true, run: () => {} })
    const keyed = defineJob<number>({ name: "keyed", run: () => {} })
    await expect(harness.transaction(async (tx) => {
      await ordered.enqueue(tx, 1, { group: "g" })
      await ordered.enqueue(tx, 2, { group: "g" })
      await keyed.enqueue(tx, 1, { key: "k" })
      throw new Error("no")
    })).rejects.toThrow("no")
    expect(await harness.database.rows("select count(*)::text from jobs._private_jobs")).toEqual([["0"]])
    expect(
      await harness.database.rows(
        "select (select count(*) from jobs.groups)::text, (select count(*) from jobs.group_waiting)::text"
      )
    ).toEqual([["0", "0"]])
  })

  it("do not start before the transaction that deduped into them has committed", async () => {
    const seen: number[] = []
    const keyed = defineJob<number>({ name: "keyed", run: (n) => void seen.push(n) })
    await keyed.enqueue(harness.db, 1, { key: "k" })
    await harness.transaction(async (tx) => {
      await keyed.enqueue(tx, 2, { key: "k" })
      await start(keyed)
      // It is due, and the workers look for jobs.
      await harness.looked()
      expect(seen).toEqual([])
    })
    await harness.until(() => seen.length === 1)
  })

  it("all run, in order within a group, while every connection is cut again and again", async () => {
    const work = defineJob<number>({
      name: "work",
      concurrency: 10,
      retryDelay: 0,
      timeout: "1 hour",
      run: async (n, { db }) => void await db.query("insert into marks (job, n) values ('work', $1)", [n])
    })
    const ordered = defineJob<number>({
      name: "ordered",
      ordered: true,
      retryDelay: 0,
      maxAttempts: 100,
      run: async (n, { db }) => void await db.query("insert into marks (job, n) values ('ordered', $1)", [n])
    })
    await work.enqueueMany(harness.db, Array.from({ length: 600 }, (_, payload) => ({ payload })))
    await ordered.enqueueMany(
      harness.db,
      Array.from({ length: 60 }, (_, payload) => ({ payload, options: { group: "g" } }))
    )
    await start(work, ordered)
    for (let cut = 0; cut < 6; cut++) {
      await new Promise((resolve) => setTimeout(resolve, 60))
      await harness.database.disconnectAll()
    }
    // What was fetched and lost on the way back to the worker is a dead worker's job.
    await harness.until(async () => {
      const alone = await harness.database.rows(
        "select count(*)::text from jobs._private_jobs where locked_at is null and attempts < max_attempts"
      )
      if (alone[0]?.[0] === "0") await harness.advance(3_700_000)
      return (await counts("work"))?.completed === 600 && (await counts("ordered"))?.completed === 60
    })
    expect(await harness.database.rows("select count(distinct n)::text from marks where job = 'work'")).toEqual([[
      "600"
    ]])
    // A repeated one repeats before its next begins.
    const order = (await harness.database.rows("select n::text from marks where job = 'ordered' order by at")).map((
      [n]
    ) => Number(n))
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(new Set(order).size).toBe(60)
  })

  it("use up no attempt of what a dead worker had only fetched ahead", async () => {
    const attempts = new Map<number, number>()
    const work = defineJob<number>({
      name: "ahead",
      concurrency: 2,
      retryDelay: 0,
      maxAttempts: 5,
      run: (n, { job }) => void attempts.set(n, job.attempt)
    })
    const once = defineJob<number>({ name: "once", maxAttempts: 1, run: () => {} })
    const many = Array.from({ length: 30 }, (_, payload) => ({ payload }))
    await work.enqueueMany(harness.db, many)
    await once.enqueueMany(harness.db, many.slice(0, 10))
    await harness.database.execute(
      "update jobs._private_jobs set attempts = attempts + 1, locked_by = 'dead', locked_at = now() - interval '2 days'"
    )
    await start(work, once)
    await harness.until(completed("ahead", 30))
    // It had two at once. Twice as many count as begun, because what it completed last may still have been on its way.
    expect([...attempts].toSorted(([a], [b]) => a - b).map(([, attempt]) => attempt)).toEqual(
      many.map(({ payload }) => payload < 4 ? 2 : 1)
    )
    // A job with a single attempt never runs twice.
    expect(await counts("once")).toMatchObject({ failed: 10, completed: 0 })
  })

  it("wait while the database takes no writes, and use up no try", async () => {
    const attempts: number[] = []
    let held: Promise<void> | null = null
    const work = defineJob<number>({
      name: "work",
      retryDelay: 0,
      run: async (n, { db, job }) => {
        attempts.push(job.attempt)
        await held
        if (attempts.length === 1) {
          await harness.database.execute(
            `alter database ${harness.database.name} set default_transaction_read_only = on`
          )
          await harness.database.disconnectAll()
          await reconnected()
        }
        await db.query("insert into marks (job, n) values ('work', $1)", [n])
      }
    })
    await work.enqueue(harness.db, 1)
    await start(work)
    await harness.until(() => attempts.length >= 3)
    // A try whose connection is ended counts, so none is in the database meanwhile: the next one waits.
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    const before = attempts.length
    await harness.until(() => attempts.length > before)
    await harness.database.execute(
      `set transaction read write; alter database ${harness.database.name} reset default_transaction_read_only`
    )
    await harness.database.disconnectAll()
    await reconnected()
    resolve()
    await harness.until(completed("work", 1))
    expect(new Set(attempts)).toEqual(new Set([1]))
    expect(await harness.database.rows("select n::text from marks")).toEqual([["1"]])
  })

  it("count as failed when they blocked the process longer than their timeout", async () => {
    const work = defineJob({
      name: "work",
      timeout: "20 seconds",
      maxAttempts: 1,
      run: () => {
        // 400 milliseconds of this process, a hundred times as fast as the clock of tries.
        const end = performance.now() + 400
        while (performance.now() < end);
      }
    })
    await start(work)
    await work.enqueue(harness.db)
    await harness.until(async () => (await counts("work"))?.failed === 1)
    expect((await Effect.runPromise(harness.queue.failed({ name: null, after: null, limit: 1 })))[0]!.error).toContain(
      "longer than its timeout"
    )
  })

  it("are enqueued by triggers and refused by SQL as by code", async () => {
    const seen: unknown[] = []
    const told = defineJob({ name: "told", run: (payload) => void seen.push(payload) })
    await harness.database.execute(`
      create table if not exists things (id integer);
      create or replace function tell() returns trigger language plpgsql as $$ begin
        perform jobs.enqueue('told', jsonb_build_object('id', new.id), key => new.id::text);
        return new;
      end $$;
      create or replace trigger tell after insert on things for each row execute function tell();
      insert into things values (1), (1), (2)`)
    await start(told)
    await harness.until(completed("told", 2))
    expect(seen).toEqual([{ id: 1 }, { id: 2 }])
    const ordered = defineJob<number>({ name: "ordered", ordered: true, run: () => {} })
    await start(ordered)
    for (
      const [sql, message] of [
        ["select jobs.enqueue('ordered')", /needs a group/],
        ["select jobs.enqueue('ordered', key => 'k', group_key => 'g')", /takes no key/],
        ["select jobs.enqueue('told', group_key => 'g')", /takes no group/],
        ["select jobs.enqueue('a b')", /A job's name has/],
        ["select jobs.enqueue('told', priority => 40000)", /priority/],
        ["select jobs.enqueue('told', run_at => 'infinity')", /not infinity/],
        ["select jobs.enqueue('told', to_jsonb(repeat('x', 300000)))", /at most 262144/],
        [
          "select jobs.delete_queue('ordered'); select jobs.enqueue('ordered', group_key => 'g'); select jobs.delete_queue('ordered')",
          /has jobs: finish or delete/
        ]
      ] as const
    ) await expect(harness.database.execute(sql)).rejects.toThrow(message)
    // A name that nobody knows waits, with the library's tries.
    await harness.database.execute("select jobs.enqueue('unknown')")
    expect(
      await harness.database.rows(
        "select max_attempts::text from jobs._private_jobs where key is null and max_attempts = 25"
      )
    ).toEqual([["25"]])
    expect(await counts("unknown")).toMatchObject({ waiting: 1 })
  })

  it("go on after the clock of the database went ahead and back: chores are due that were done in the future", async () => {
    const claim = async (chore: string, since: string) =>
      (await harness.database.rows(`select jobs._claim('${chore}', '${since}')::text`))[0]?.[0]
    for (const [chore, since] of [["minute", "54 seconds"], ["day", "23 hours 55 minutes"]] as const) {
      await harness.database.execute(
        `update jobs.chores set done_at = now() + interval '1 day' where name = '${chore}'`
      )
      expect([await claim(chore, since), await claim(chore, since)]).toEqual(["true", "false"])
      // Of many at once one does it.
      await harness.database.execute(
        `update jobs.chores set done_at = now() + interval '1 day' where name = '${chore}'`
      )
      const all = await Promise.all(Array.from({ length: 8 }, () => claim(chore, since)))
      expect(all.filter((mine) => mine === "true")).toHaveLength(1)
    }
  })

  it("are one run each second for five workers, and one for all that were missed", async () => {
    const runs: string[] = []
    const tick = defineJob({ name: "tick", schedule: "* * * * * *", run: (_, { job }) => void runs.push(job.id) })
    const all = await Promise.all(Array.from({ length: 5 }, () => start(tick)))
    await harness.until(() => runs.length >= 2)
    await Promise.all(all.map((workers) => workers.stop()))
    expect(new Set(runs).size).toBe(runs.length)
    const before = runs.length
    // Many of its times have passed without a worker.
    const due = "select count(*)::text from jobs._private_jobs where run_at <= now()"
    await harness.until(async () => (await harness.database.rows(due))[0]![0] === "1")
    await harness.database.execute("update jobs._private_jobs set run_at = run_at - interval '1 hour'")
    const again = await start(tick)
    await harness.until(() => runs.length > before)
    await again.stop()
    expect(new Set(runs).size).toBe(runs.length)
    expect(
      await harness.database.rows(
        "select count(*)::text from (select run_at from jobs.completed union all select run_at from jobs._private_jobs) r where run_at < now() - interval '10 minutes'"
      )
    ).toEqual([["1"]])
  })

  it("that were fetched ahead are handed back when their workers are busy longer than usual, and at the end", async () => {
    const gate = Promise.withResolvers<void>()
    let quick = 0
    let held = 0
    const stopped = Promise.withResolvers<void>()
    const short = defineJob<"quick" | "held">({
      name: "short",
      concurrency: 2,
      timeout: "1 day",
      run: async (kind) => {
        if (kind === "quick") {
          if (++quick === 421) stopped.resolve(workers.stop())
          return
        }
        held++
        await gate.promise
      }
    })
    const all = (kind: "quick" | "held", length: number) => Array.from({ length }, () => ({ payload: kind }))
    await short.enqueueMany(harness.db, [...all("quick", 400), ...all("held", 40)])
    const locked = async () =>
      Number(
        (await harness.database.rows("select count(*) from jobs._private_jobs where locked_at is not null"))[0]![0]
      )
    // Those that are handed back: they stood in the same statement as quick ones before them.
    let returned = 0
    const watching: Connections = {
      connect: async () => {
        const client = await harness.pool.connect()
        return {
          query: (text, values) => {
            if (text.includes("set attempts = jobs.attempts - 1")) returned += (values![0] as readonly string[]).length
            return client.query<Record<string, unknown>>(text, values)
          },
          release: (failure) => client.release(failure)
        }
      }
    }
    const models = modelsOf(short)
    const attempt = makeAttempts(models, { db: {} as never, mail: undefined })
    const workers = await harness.startWith({ jobs: models, attempt, pool: watching as never, pollMs: 100 })
    started.push(workers)
    await harness.until(() => held === 2)
    // One statement: what was returned is fetched ahead again at the next poll.
    await harness.until(async () => {
      const [[all, running, tried] = []] = await harness.database.rows(
        "select count(*)::text, count(locked_at)::text, max(attempts) filter (where locked_at is null)::text from jobs._private_jobs"
      )
      return returned > 0 && all === String(440 - quick) && running === "2" && tried === "0"
    })
    gate.resolve()
    await harness.until(completed("short", 440))
    expect([quick, held]).toEqual([400, 40])

    await short.enqueueMany(harness.db, Array.from({ length: 2_000 }, () => ({ payload: "quick" as const })))
    workers.wake("short")
    // The first of these that runs after twenty others stops its workers, however late this loop hears that they are enqueued.
    await stopped.promise
    expect(await locked()).toBe(0)
    const done = quick
    expect(await counts("short")).toMatchObject({ running: 0, retrying: 0, failed: 0, completed: done + 40 })
    expect(await harness.database.rows("select max(attempts)::text from jobs._private_jobs")).toEqual([["0"]])
    await start(short)
    await harness.until(completed("short", 2_440))
    expect(quick).toBe(2_400)
  })

  it("with keys keep them until they begin: they are not fetched ahead, and what was is handed back with its key", async () => {
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const keyed = defineJob<string>({
      name: "keyed",
      concurrency: 2,
      timeout: "1 day",
      run: async (text) => {
        begun.push(text)
        if (text !== "quick") await gate.promise
      }
    })
    await keyed.enqueueMany(harness.db, Array.from({ length: 200 }, () => ({ payload: "quick" })))
    await keyed.enqueueMany(
      harness.db,
      Array.from({ length: 40 }, (_, n) => ({ payload: `first ${n}`, options: { key: `k${n}` } }))
    )
    await start(keyed)
    // Quick jobs that were handed back may wait behind these two: what counts is that no key was taken from a job that waits.
    await harness.until(async () =>
      begun.filter((text) => text !== "quick").length === 2 &&
      (await harness.database.rows("select count(*) from jobs._private_jobs where key is not null"))[0]![0] === "38"
    )
    expect(await counts("keyed")).toMatchObject({ running: 2 })
    await keyed.enqueue(harness.db, "again", { key: "k30" })
    await keyed.enqueue(harness.db, "second 31", { key: "k31", mode: "replace" })
    // Which two have begun depends on the fetch that brought them.
    const running = begun.find((text) => text !== "quick")!
    await keyed.enqueue(harness.db, "beside a running one", { key: running.replace("first ", "k") })
    gate.resolve()
    await harness.until(completed("keyed", 241))
    expect(begun).not.toContain("again")
    expect(begun).not.toContain("first 31")
    expect(begun.filter((text) => text === "second 31" || text === "beside a running one")).toHaveLength(2)
  })

  it.each(["before it arrives", "on its way back"])(
    "are completed once, and run once, when the connection breaks at the completion alone: %s",
    async (moment) => {
      const ran = new Map<number, number>()
      const work = defineJob<number>({
        name: "work",
        concurrency: 5,
        timeout: "1 day",
        run: (n) => void ran.set(n, (ran.get(n) ?? 0) + 1)
      })
      const models = modelsOf(work)
      let cuts = 0
      const cutting: Connections = {
        connect: async () => {
          const client = await harness.pool.connect()
          return {
            query: async (text, values) => {
              const cut = text.startsWith("delete from jobs._private_jobs jobs using") && cuts < 6
              if (cut) cuts++
              if (cut && moment === "before it arrives") throw Object.assign(new Error("cut"), { code: "ECONNRESET" })
              const rows = await client.query<Record<string, unknown>>(text, values)
              if (cut) throw Object.assign(new Error("cut"), { code: "ECONNRESET" })
              return rows
            },
            release: (failure) => client.release(failure)
          }
        }
      }
      await work.enqueueMany(harness.db, Array.from({ length: 200 }, (_, payload) => ({ payload })))
      const workers = await harness.startWith({
        jobs: models,
        attempt: makeAttempts(models, { db: {} as never, mail: undefined }),
        pool: cutting as never
      })
      started.push(workers)
      await harness.until(completed("work", 200))
      expect(cuts).toBeGreaterThan(0)
      expect([...ran.values()].filter((times) => times !== 1)).toEqual([])
      expect(ran.size).toBe(200)
      expect(await counts("work")).toMatchObject({ running: 0, retrying: 0, failed: 0 })
    }
  )

  it("are waited for while the database is away, by a process that nothing else keeps", async () => {
    const file = fileURLToPath(new URL("away-worker.ts", import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=source", file], {
      env: { ...process.env, ...compileCache }
    })
    expect(stdout).toBe("stopped")
  })

  it("end with their process while the database is away, even those that ignore their signal", async () => {
    const deaf = defineJob<null>({ name: "deaf", run: () => new Promise(() => {}) })
    const models = modelsOf(deaf)
    let away = false
    const pool: Connections = {
      connect: () =>
        away
          ? Promise.reject(Object.assign(new Error("away"), { code: "ECONNREFUSED" }))
          : harness.pool.connect() as never
    }
    const db: OwnDatabase = {
      query: () => Promise.resolve([]),
      transaction: () => Promise.reject(new Error("not here"))
    }
    const attempt = makeAttempts(models, { db, mail: undefined })
    const workers = await harness.startWith({ jobs: models, attempt, pool, graceMs: 10 })
    await deaf.enqueue(harness.db, null)
    await harness.until(async () => (await counts("deaf"))?.running === 1)
    away = true
    await workers.stop()
    // Its lease ends by itself, and another process gets it.
    expect(await counts("deaf")).toMatchObject({ running: 1, failed: 0 })
  })

  it.each([["an hour slow", -3_600_000], ["an hour fast", 3_600_000], ["a day slow", -86_400_000]])(
    "start by the database's clock where that of the worker is %s, also when it is put right",
    async (_, wrong) => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + wrong })
      try {
        const runs: string[] = []
        const done: string[] = []
        const tick = defineJob({ name: "tick", schedule: "* * * * * *", run: (_, { job }) => void runs.push(job.id) })
        const work = defineJob<string>({ name: "work", run: (text) => void done.push(text) })
        await start(tick, work)
        await work.enqueue(harness.db, "later", { delay: 1_500 })
        await work.enqueue(harness.db, "now")
        await harness.until(() => done.length === 1)
        expect(done).toEqual(["now"])
        await harness.until(() => done.length === 2 && runs.length >= 2)
        vi.setSystemTime(performance.timeOrigin + performance.now())
        const before = runs.length
        // Before it runs, each has made the next one.
        await harness.until(() => runs.length > before)
        // Each run is one of the last seconds: none of another hour was made up, and none came twice.
        expect(new Set(runs).size).toBe(runs.length)
        expect(runs.length).toBeLessThanOrEqual(12)
        expect(
          await harness.database.rows(
            "select count(*)::text from (select run_at from jobs.completed union all select run_at from jobs._private_jobs) r where abs(extract(epoch from run_at - now())) > 60"
          )
        ).toEqual([["0"]])
      } finally {
        vi.useRealTimers()
      }
    }
  )
})
