// Leases of running jobs: workers that are killed, frozen and blocked, a deaf job past its timeout, and what a process sends while it holds jobs and while not.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { choreMs } from "../../adapters/queue/engine.ts"
import type { Fetched } from "../../adapters/queue/fetched.ts"
import { Leases } from "../../adapters/queue/lease.ts"
import { partsOf, renewAllSql, renewSql, silenceOf, viewsOf } from "../../adapters/queue/renewal.ts"
import { guardLeases } from "../../composition/lease-guard.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import { leaseMs, pollMs, takeUpMs } from "../../core/domain/job/definition.ts"
import type { Workers } from "../../core/ports/queue.ts"
import { modelsOf } from "../contracts/queue.ts"
import { leash } from "../support/cluster.ts"
import { compileCache } from "../support/compiled.ts"
import { type OpenQueue, openQueue } from "../support/queue.ts"
import { heldJob } from "./held.ts"

let harness: OpenQueue
let folder: string
const started: Workers[] = []
const children = new Set<ChildProcess>()

beforeAll(async () => {
  harness = await openQueue()
})
afterAll(() => harness?.close())
beforeEach(async () => {
  await harness.clear()
  folder = mkdtempSync(join(tmpdir(), "leases-"))
})
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL")
  await Promise.all(started.splice(0).map((workers) => workers.stop()))
  rmSync(folder, { recursive: true })
})

/** A worker of another process, and what it has told. */
const startWorker = (milliseconds: number) => {
  const [program, ...args] = [
    ...leash,
    process.execPath,
    "--conditions=source",
    fileURLToPath(new URL("lease-worker.ts", import.meta.url))
  ]
  const child = spawn(program!, args, {
    env: {
      ...process.env,
      ...compileCache,
      DATABASE_URL: harness.database.url,
      GO: join(folder, "go"),
      LEASE_MS: String(milliseconds)
    },
    stdio: ["ignore", "pipe", "inherit"]
  })
  children.add(child)
  child.once("exit", () => children.delete(child))
  const told: string[] = []
  createInterface({ input: child.stdout }).on("line", (line) => told.push(line))
  const tells = (line: string) => harness.until(() => told.includes(line))
  return { child, tells }
}

/** Workers of this process; gives the tries that have begun. */
const startHere = async (milliseconds: number, run: () => Promise<void> | void = () => {}) => {
  const began: string[] = []
  const jobs = modelsOf(defineJob<string>({
    ...heldJob,
    run: (payload, { job: { attempt } }) => {
      began.push(`${payload} ${attempt}`)
      return run()
    }
  }))
  const attempt = makeAttempts(jobs, { db: {} as never, mail: undefined })
  started.push(await harness.startWith({ jobs, attempt, leaseMs: milliseconds }))
  return began
}

const held = defineJob<string>({ ...heldJob, run: () => {} })
const one = async (sql: string): Promise<string | null> => (await harness.database.rows(sql))[0]?.[0] ?? null
const completed = (count: number) => async () =>
  await one("select count(*)::text from jobs.completed") === String(count)
/** The next try is due now, not in a few seconds. */
const hurry = () =>
  harness.until(async () =>
    await one(
      "with due as (update jobs._private_jobs set run_at = now() where locked_at is null and attempts > 0 returning 1) select count(*)::text from due"
    ) !== "0"
  )

describe("a lease", () => {
  it("takes a killed worker's job to another within half a minute after its end, by the defaults", () => {
    expect(leaseMs).toBe(30_000)
    expect(partsOf(leaseMs)).toEqual({ renewMs: 10_000, againMs: 2_000, silentMs: 15_000, lookMs: 1_500 })
    // The chores come after a quarter of the time, give or take a tenth.
    expect(choreMs / 4 * 1.1 + takeUpMs + pollMs).toBeLessThan(30_000)
  })

  it("of a worker that was killed holds its group only until it ends, whatever timeout and delays", async () => {
    for (const payload of ["first", "second", "third"]) await held.enqueue(harness.db, payload, { group: "g" })
    const { child, tells } = startWorker(1_000)
    await tells("began first 1")
    child.kill("SIGKILL")
    const began = await startHere(1_000)
    await hurry()
    await harness.until(completed(3))
    expect(began).toEqual(["first 2", "second 1", "third 1"])
  })

  it("that a frozen process could not renew is lost: once awake, it completes nothing", async () => {
    const gate = Promise.withResolvers<void>()
    await held.enqueue(harness.db, "first", { group: "g" })
    await held.enqueue(harness.db, "second", { group: "g" })
    const { child, tells } = startWorker(1_000)
    await tells("began first 1")
    child.kill("SIGSTOP")
    const began = await startHere(600_000, () => gate.promise)
    await hurry()
    await harness.until(() => began.length === 1)
    writeFileSync(join(folder, "go"), "")
    child.kill("SIGCONT")
    await tells("jobs-lost")
    expect(await one("select string_agg(attempts || ' ' || (locked_at is not null), ',') from jobs._private_jobs"))
      .toBe(
        "2 true"
      )
    child.kill("SIGKILL")
    gate.resolve()
    await harness.until(completed(2))
    expect(began).toEqual(["first 2", "second 1"])
  })

  it("of a job that blocks its event loop is renewed by a thread: no other worker begins it", async () => {
    await held.enqueue(harness.db, "blocks", { group: "g" })
    const { tells } = startWorker(6_000)
    await tells("began blocks 1")
    // Nobody frees jobs yet, so it does not matter how late the thread begins.
    await harness.until(async () =>
      await one(
        "select (locked_at + interval '4 hours' > updated_at + interval '12.3 seconds')::text from jobs._private_jobs where locked_at is not null"
      ) === "true"
    )
    const began = await startHere(600_000)
    const before = await one("select locked_at::text from jobs._private_jobs")
    await harness.until(async () => await one("select locked_at::text from jobs._private_jobs") !== before)
    writeFileSync(join(folder, "go"), "")
    await harness.until(completed(1))
    expect(began).toEqual([])
    expect(await one("select attempts::text from jobs.completed")).toBe("1")
  })

  it("is renewed until the timeout of its try at the latest: a deaf job is freed then", async () => {
    await startHere(600_000)
    await started.splice(0)[0]!.stop()
    await held.enqueue(harness.db, "deaf", { group: "deaf" })
    await held.enqueue(harness.db, "alive", { group: "alive" })
    await harness.database.execute(`begin; set local session_replication_role = replica;
      update jobs._private_jobs set attempts = 1, locked_by = 'w', locked_at = now() - interval '3 hours 59 minutes 50 seconds',
        updated_at = now() - case payload::text when '"deaf"' then interval '61 minutes' else interval '59 minutes 50 seconds' end;
      commit`)
    const ends = () =>
      harness.database.rows(
        "select payload::text, round(extract(epoch from locked_at + interval '4 hours' - updated_at))::text from jobs._private_jobs order by 1"
      )
    const ids = (await harness.database.rows("select id::text from jobs._private_jobs")).map(([id]) => id)
    for (
      const renew of [
        () => harness.pool.query(renewSql("jobs"), ["30 seconds", ids, ["w", "w"], [1, 1]]),
        () => harness.pool.query(renewAllSql("jobs"), ["30 seconds", ["w", "other"]])
      ]
    ) {
      await renew()
      // An hour and the margin of ten seconds.
      expect(await ends()).toEqual([["\"alive\"", "3610"], ["\"deaf\"", "3610"]])
    }
    expect(await one("select jobs._free_dead()::text")).toBe("1")
    expect(
      await harness.database.rows("select payload::text, last_error from jobs._private_jobs where locked_at is null")
    ).toEqual([["\"deaf\"", "The try ran past its timeout, or its worker died."]])
  })

  it("ends with all others of its process, so that what was only fetched ahead is freed with what ran", async () => {
    const gate = Promise.withResolvers<void>()
    const began = await startHere(600_000, () => gate.promise)
    for (const group of ["a", "b"]) {
      await held.enqueue(harness.db, group, { group })
      await harness.until(() => began.includes(`${group} 1`))
    }
    expect(await one("select count(distinct locked_at)::text from jobs._private_jobs where locked_at is not null"))
      .toBe(
        "1"
      )
    gate.resolve()
  })

  it("of a worker of an earlier version ends with the timeout: it locks with the time, and renews nothing", async () => {
    await startHere(600_000)
    await started.splice(0)[0]!.stop()
    await held.enqueue(harness.db, "old", { group: "g" })
    await harness.database.execute("update jobs._private_jobs set attempts = 1, locked_by = 'old', locked_at = now()")
    expect(await one("select (locked_at + interval '4 hours' - updated_at)::text from jobs._private_jobs")).toBe(
      "01:00:10"
    )
  })
})

describe("the thread that guards leases", () => {
  it("connects when the loop is silent, renews what its process holds, and leaves when the loop is heard of again", async () => {
    await held.enqueue(harness.db, "ours", { group: "a" })
    await held.enqueue(harness.db, "theirs", { group: "b" })
    await harness.database.execute(
      "update jobs._private_jobs set attempts = 1, locked_at = now() - interval '4 hours', locked_by = payload::text"
    )
    const logged: string[] = []
    const memory = new SharedArrayBuffer(16)
    const { beat, held: count } = viewsOf(memory)
    const guard = guardLeases(harness.database.url)({
      schema: "jobs",
      leaseMs: 3_000,
      memory,
      log: (_, event) => void logged.push(event)
    })
    const connections = () =>
      one(
        "select count(*)::text from pg_stat_activity where datname = current_database() and application_name = 'service'"
      )
    try {
      guard.tell(["\"ours\"", "nobody"])
      Atomics.store(beat, 0, process.hrtime.bigint() - 3_600_000_000_000n)
      Atomics.store(count, 0, 1)
      const moved =
        "select string_agg(payload::text, ',') from jobs._private_jobs where locked_at > updated_at - interval '4 hours'"
      await harness.until(async () => await one(moved) === "\"ours\"")
      await harness.until(async () => await connections() === "1")
      Atomics.store(beat, 0, process.hrtime.bigint() + 3_600_000_000_000n)
      await harness.until(async () => await connections() === "0")
      expect([await one(moved), logged]).toEqual(["\"ours\"", []])
    } finally {
      await guard.stop()
    }
  })

  it("does not keep its process alive, and tells once that it cannot connect", async () => {
    const program = `import { guardLeases } from ${
      JSON.stringify(new URL("../../composition/lease-guard.ts", import.meta.url).href)
    }
      const memory = new SharedArrayBuffer(16)
      new Int32Array(memory, 8, 1)[0] = 1
      await new Promise((told) => {
        const waits = setInterval(() => {}, 1000)
        guardLeases("postgres://nobody@127.0.0.1:1/none?sslmode=disable")({ schema: "jobs", leaseMs: 300, memory, log: (...line) => {
          console.log(JSON.stringify(line))
          clearInterval(waits)
          told()
        } }).tell(["w"])
      })`
    const child = spawn(process.execPath, ["--conditions=source", "--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    children.add(child)
    const lines: string[] = []
    createInterface({ input: child.stdout }).on("line", (line) => lines.push(line))
    const code = await new Promise((resolve) => child.once("close", resolve))
    children.delete(child)
    expect([code, lines]).toEqual([0, ["[\"warn\",\"jobs-lease-guard\",{\"code\":\"ECONNREFUSED\"}]"]])
  })
})

describe("a process that holds jobs", () => {
  const sent: unknown[][] = []
  const events: string[] = []
  let answer: () => ReadonlyArray<{ readonly [column: string]: unknown }> = () => []
  const make = (guard?: ConstructorParameters<typeof Leases>[0]["guard"]) =>
    new Leases({
      schema: "jobs",
      leaseMs,
      log: (_, event) => void events.push(event),
      guard,
      pool: {
        connect: async () => ({
          query: async (_, values = []) => {
            sent.push(values)
            return { rows: answer(), rowCount: 0 }
          },
          release: () => {}
        })
      }
    })
  const row = (id: string) => ({ id, locked_by: "w", attempts: 1, lease_ends: "1000030.5" }) as unknown as Fetched
  const ours = (...ids: readonly string[]) => () => ids.map((id) => ({ id, attempts: 1, ends: "1000040.5" }))

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] })
    sent.length = 0
    events.length = 0
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it("renews them all by one statement each ten seconds, and sends nothing and waits for nothing while it has none", async () => {
    const leases = make()
    const [a, b] = [row("1"), row("2")]
    expect(vi.getTimerCount()).toBe(0)
    leases.take([a, b], "w", performance.now())
    expect(leases.ends).toBe("1000030.5")
    answer = ours("1", "2")
    await vi.advanceTimersByTimeAsync(9_999)
    expect(sent).toEqual([])
    await vi.advanceTimersByTimeAsync(20_001)
    expect(sent).toEqual(Array.from({ length: 3 }, () => ["30000 milliseconds", ["1", "2"], ["w", "w"], [1, 1]]))
    expect(leases.ends).toBe("1000040.5")
    leases.release([a, b])
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(sent).toHaveLength(3)
    expect(vi.getTimerCount()).toBe(0)
    expect(leases.ends).toBeNull()
  })

  it("repeats soon what failed, and says so once", async () => {
    const leases = make()
    leases.take([row("1")], "w", performance.now())
    answer = () => {
      throw Object.assign(new Error("gone"), { code: "57P01" })
    }
    await vi.advanceTimersByTimeAsync(16_000)
    expect([sent.length, events]).toEqual([4, ["jobs-lease"]])
    // What is fetched now cannot end with the others: that would be too soon.
    expect(leases.ends).toBeNull()
    answer = ours("1")
    await vi.advanceTimersByTimeAsync(2_000)
    expect([sent.length, leases.ends]).toEqual([5, "1000040.5"])
    await leases.stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  it("ends the tries of jobs that it has lost, not of those whose completion is under way", async () => {
    const leases = make()
    const rows = ["1", "2", "3"].map(row)
    const lost: string[] = []
    leases.take(rows, "w", performance.now())
    for (const each of rows) leases.begin(each, () => lost.push(each.id))
    leases.leave(rows[2]!)
    answer = ours("1")
    await vi.advanceTimersByTimeAsync(10_000)
    expect([lost, events]).toEqual([["2"], ["jobs-lease-lost"]])
    expect(rows.map((each) => leases.leave(each))).toEqual([true, false, false])
    await leases.stop()
  })

  it("tells its guard whose jobs it holds, and shows when it last renewed; it has none before its first job", async () => {
    const told: Array<readonly string[]> = []
    let memory: SharedArrayBuffer | null = null
    let stopped = 0
    const leases = make((guarded) => {
      memory = guarded.memory
      return { tell: (owners) => void told.push(owners), stop: async () => void stopped++ }
    })
    expect(memory).toBeNull()
    const [a, b] = [row("1"), row("2")]
    leases.take([a], "w", performance.now())
    leases.take([b], "w", performance.now())
    leases.take([row("3")], "v", performance.now())
    expect(told).toEqual([["w"], ["w", "v"]])
    const silence = silenceOf(memory!)
    expect(silence).not.toBeNull()
    answer = () => {
      throw new Error("gone")
    }
    await vi.advanceTimersByTimeAsync(10_000)
    expect(silenceOf(memory!)).toBeGreaterThan(silence!)
    const failing = silenceOf(memory!)!
    answer = ours("1", "2", "3")
    const last = process.hrtime.bigint()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(silenceOf(memory!)).toBeLessThan(failing + Number(process.hrtime.bigint() - last) / 1e6)
    await leases.stop()
    expect([silenceOf(memory!), stopped]).toEqual([null, 1])
  })
})
