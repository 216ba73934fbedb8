// A lane without a database: how many jobs run, which statements it sends for them, and what it does when one of them fails.
import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import type { Fetched } from "../../adapters/queue/fetched.ts"
import { Lane, type LaneHost } from "../../adapters/queue/lane.ts"
import { modelsOf } from "../contracts/queue.ts"

type Statement = "fetch" | "complete" | "return"

interface Stage {
  readonly lane: Lane
  /** The ids of waiting jobs. */
  readonly waiting: number[]
  readonly begun: string[]
  /** What ends each running job, in the order of their beginnings. */
  readonly ends: Array<() => void>
  readonly sent: Array<readonly [Statement, number]>
  readonly logged: string[]
  readonly released: string[]
}

const kindOf = (sql: string): Statement =>
  sql.startsWith("delete") ? "complete" : sql.includes("attempts - 1") ? "return" : "fetch"

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Waits for what the lane does by itself. */
const quiet = async () => {
  for (let turns = 0; turns < 20; turns++) await turn()
}

/** A lane over a list of jobs. `held` lets a test hold statements back, or fail them. */
const stageOf = (
  concurrency: number,
  held: (kind: Statement) => Promise<void> = async () => {},
  endsAtOnce = false,
  ordered = false
): Stage => {
  const stage = { waiting: [], begun: [], ends: [], sent: [], logged: [], released: [] } as Omit<Stage, "lane">
  const host: LaneHost = {
    schema: "jobs",
    pollMs: 3_600_000,
    owner: "w",
    log: (_, event) => void stage.logged.push(event),
    stopping: false,
    leases: {
      ends: null,
      leaseMs: 30_000,
      take: () => {},
      leave: () => true,
      release: (rows) => void stage.released.push(...rows.map(({ id }) => id))
    },
    run: async (sql, params) => {
      const kind = kindOf(sql)
      const rows = kind === "fetch"
        ? stage.waiting.splice(0, params[2] as number).map((id): Fetched => ({
          id: String(id),
          payload: null,
          priority: 0,
          run_at: new Date(0),
          attempts: 1,
          max_attempts: 10,
          locked_by: "w",
          held_key: null,
          lease_ends: "0"
        }))
        : []
      stage.sent.push([kind, kind === "fetch" ? rows.length : (params[0] as unknown[]).length])
      await held(kind)
      return { rows: rows as never, rowCount: kind === "fetch" ? rows.length : (params[0] as unknown[]).length }
    },
    work: (_, { id }) => {
      stage.begun.push(id)
      return endsAtOnce
        ? Promise.resolve(true)
        : new Promise((resolve) => stage.ends.push(() => resolve(true)))
    }
  }
  const job = modelsOf(defineJob<null>({ name: "each", concurrency, ordered, run: () => {} })).get("each")!
  return { ...stage, lane: new Lane(job, 1, host) }
}

const jobs = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

it("runs as many jobs as the name allows, and fetches for the free places only", async () => {
  const { begun, ends, lane, sent, waiting } = stageOf(3)
  waiting.push(...jobs(5))
  lane.begin()
  await quiet()
  expect([begun, sent]).toEqual([["1", "2", "3"], [["fetch", 3]]])
  ends[1]!()
  await quiet()
  expect([begun, sent.slice(1)]).toEqual([["1", "2", "3", "4"], [["complete", 1], ["fetch", 1]]])
  await lane.finish()
})

it("completes jobs that end at the same moment by one statement", async () => {
  const { ends, lane, released, sent, waiting } = stageOf(4)
  waiting.push(...jobs(4))
  lane.begin()
  await quiet()
  for (const end of ends) end()
  await lane.ended()
  expect(sent.filter(([kind]) => kind === "complete")).toEqual([["complete", 4]])
  expect(released).toEqual(["1", "2", "3", "4"])
  await lane.finish()
})

it("completes together what has ended while a completion was under way", async () => {
  let answer = () => {}
  const { ends, lane, sent, waiting } = stageOf(4, (kind) =>
    kind === "complete"
      ? new Promise((resolve) => {
        answer = resolve
      })
      : Promise.resolve())
  const completions = () => sent.flatMap(([kind, count]) => kind === "complete" ? [count] : [])
  waiting.push(...jobs(4))
  lane.begin()
  await quiet()
  for (const end of ends.slice(0, 3)) {
    end()
    await quiet()
  }
  expect(completions()).toEqual([1])
  answer()
  await quiet()
  expect(completions()).toEqual([1, 2])
  await lane.finish()
})

// The end of a group's first job waits for transactions that have enqueued into the group: they hold up that group only, and never each other.
it("completes each job of an ordered name by a statement of its own", async () => {
  let completions = 0
  const { ends, lane, released, sent, waiting } = stageOf(
    4,
    (kind) => kind === "complete" && completions++ === 0 ? new Promise(() => {}) : Promise.resolve(),
    false,
    true
  )
  waiting.push(...jobs(4))
  lane.begin()
  await quiet()
  for (const end of ends) end()
  await quiet()
  expect([sent.filter(([kind]) => kind === "complete"), released]).toEqual([
    Array.from({ length: 4 }, () => ["complete", 1]),
    ["2", "3", "4"]
  ])
})

it("looks again when somebody enqueues while a fetch is under way", async () => {
  let answer = () => {}
  const { begun, lane, waiting } = stageOf(2, (kind) =>
    kind === "fetch"
      ? new Promise((resolve) => {
        answer = resolve
      })
      : Promise.resolve())
  lane.begin()
  await quiet()
  // The fetch under way has seen no job.
  waiting.push(1)
  lane.wake()
  answer()
  await quiet()
  answer()
  await quiet()
  expect(begun).toEqual(["1"])
  await lane.finish()
})

it("begins no more than freeing the jobs of a dead process allows for, while no completion is sent", async () => {
  const { begun, lane, sent, waiting } = stageOf(
    2,
    (kind) => kind === "complete" ? new Promise(() => {}) : Promise.resolve(),
    true
  )
  lane.took(0.01)
  waiting.push(...jobs(400))
  lane.begin()
  await quiet()
  // Three completions are under way, which send what they have. Behind them wait as many jobs as the bound allows.
  const inFlight = sent.filter(([kind]) => kind === "complete").map(([, count]) => count)
  expect(inFlight).toHaveLength(3)
  expect(begun.length - inFlight.reduce((sum, count) => sum + count)).toBe(lane.mostBegun)
})

it("completes many short jobs by one statement once a completion has arrived", async () => {
  let answered = 0
  const { lane, sent, waiting } = stageOf(
    1,
    (kind) => kind === "complete" && answered++ > 0 ? new Promise(() => {}) : Promise.resolve(),
    true
  )
  lane.took(0.01)
  waiting.push(...jobs(400))
  lane.begin()
  await quiet()
  const [first, ...later] = sent.flatMap(([kind, count]) => kind === "complete" ? [count] : [])
  expect(first).toBeLessThanOrEqual(lane.mostBegun)
  expect(Math.max(...later)).toBeGreaterThanOrEqual(20)
})

it("tells of a completion that failed, leaves its jobs to their leases, and goes on", async () => {
  let fails = true
  const { ends, lane, logged, released, sent, waiting } = stageOf(1, async (kind) => {
    if (kind !== "complete" || !fails) return
    fails = false
    throw new Error("no")
  })
  waiting.push(...jobs(2))
  lane.begin()
  await quiet()
  ends[0]!()
  await quiet()
  ends[1]!()
  await lane.ended()
  expect([logged, released, sent.filter(([kind]) => kind === "complete").length]).toEqual([["jobs-complete"], [
    "1",
    "2"
  ], 2])
  await lane.finish()
})

it("keeps nothing of jobs that were returned", async () => {
  const { lane } = stageOf(1)
  await lane.handBack([{ id: "1" } as Fetched])
  expect(await lane.handBack([{ id: "2" } as Fetched])).toBeUndefined()
})

it("ends with its running jobs completed and the others returned", async () => {
  const { ends, lane, sent, waiting } = stageOf(1)
  lane.took(0.1)
  waiting.push(...jobs(9))
  lane.begin()
  await quiet()
  const finished = lane.finish()
  const ended = lane.ended()
  await quiet()
  ends[0]!()
  await Promise.all([finished, ended])
  expect(sent).toEqual([["fetch", 9], ["return", 8], ["complete", 1]])
})
