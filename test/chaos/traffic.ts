/**
 * Mixed traffic that keeps a record of what it was told, and compares it with the database afterwards: every acknowledged write is there, every
 * batch whole or absent, every answer a right one or an honest 503. It causes no fault itself.
 */

import { expect } from "vitest"
import type { TestCluster } from "../support/cluster.ts"
import { deep } from "../support/depth.ts"
import { startLoad } from "../support/load.ts"
import type { Outcome, Received, Sent } from "../support/load.ts"
import { ask, clientOf, lives, untilTrueOf } from "./fixture.ts"
import type { Sign } from "./fixture.ts"

export interface Traffic {
  /** Answers so far that were no success. */
  readonly refused: readonly Outcome[]
  /** Acknowledged requests so far. */
  readonly done: () => number
  /** Ends it and compares. */
  readonly finish: () => Promise<void>
}

let runs = 0

/** Asks the accounts' connections, which tokens hardly ever do. */
const status = "/api/auth/status"

const wrong = ({ received, sent }: Outcome): string | null => {
  if (received === null) return null // the connection broke: nothing was promised
  const place = `${sent.method} ${sent.path}: ${received.status} ${received.body.slice(0, 300)}`
  if (received.status === 503) return received.headers["retry-after"] === undefined ? `${place}: no Retry-After` : null
  // A statement that waited for a lock, or for a database that stood still, may run into its time limit.
  if (received.status === 504) return null
  if (received.status >= 300) return place
  if (sent.method !== "GET" || sent.path === status) return null
  const { amount, name } = JSON.parse(received.body) as { readonly amount?: number; readonly name?: string }
  return name === `seed ${sent.path.split("/").at(-1)}` && amount === Number(sent.path.split("/").at(-1)) ? null : place
}

/** Starts reads, single writes and batches of three at a port that may come and go. */
export const startTraffic = (port: number, cluster: TestCluster, bearer: string, connections = 8): Traffic => {
  const run = `run ${process.pid} ${++runs}`
  const { get, send } = clientOf(bearer)
  const created: string[] = []
  const batches: string[] = []
  const problems: string[] = []
  const refused: Outcome[] = []
  let done = 0
  const names = new Map<Sent, string>()
  const load = startLoad(port, {
    connections,
    keep: false,
    // In a quick run a write is always under way, and the processors are left to others.
    pauseMs: deep ? 0 : 20,
    next: (client, count) => {
      const name = `${run} ${client} ${count}`
      if (count % 4 === 1) {
        const sent = send("POST", "/entries", { name, amount: 1 })
        names.set(sent, name)
        return sent
      }
      if (count % 4 === 3) {
        const operations = [1, 2, 3].map((part) => ({
          op: "create",
          resource: "entries",
          data: { name: `${name} part ${part}`, amount: part }
        }))
        const sent = send("POST", ":batchWrite", { operations })
        names.set(sent, name)
        return sent
      }
      if (count % 8 === 2) return { method: "GET", path: status }
      return get(`/entries/${1 + (client * 31 + count) % 200}`)
    },
    heard: (outcome) => {
      const { received, sent } = outcome
      const name = names.get(sent)
      names.delete(sent)
      const problem = wrong(outcome)
      if (problem !== null) problems.push(problem)
      if (received === null || received.status >= 300) return void refused.push(outcome)
      done++
      if (name !== undefined) (sent.path.endsWith(":batchWrite") ? batches : created).push(name)
    }
  })
  return {
    refused,
    done: () => done,
    finish: async () => {
      await load.stop()
      expect(problems.slice(0, 5)).toEqual([])
      const rows = await cluster.rows(`select name from entries where name like '${run} %'`)
      const stored = new Set(rows.map(([name]) => name))
      expect(created.filter((name) => !stored.has(name))).toEqual([])
      expect(batches.filter((name) => [1, 2, 3].some((part) => !stored.has(`${name} part ${part}`)))).toEqual([])
      const parts = new Map<string, number>()
      for (const name of stored) {
        const batch = name?.split(" part ")
        if (batch?.length === 2) parts.set(batch[0]!, (parts.get(batch[0]!) ?? 0) + 1)
      }
      expect([...parts].filter(([, count]) => count !== 3)).toEqual([])
      expect(rows.length).toBe(stored.size)
      expect(done).toBeGreaterThan(0)
    }
  }
}

let probes = 0

/**
 * Milliseconds until reads, writes and readiness all work; Infinity when they never do. `signs`: of what the service needs for that, which has to
 * go on all the while.
 */
export const recovery = (port: number, bearer: string, signs: readonly Sign[]): Promise<number> => {
  const { get, send } = clientOf(bearer)
  const fine = (received: Received | null, status: number): boolean => received?.status === status
  return untilTrueOf([lives(port), ...signs], async () => {
    const answers = await Promise.all([
      ask(port, get("/entries/1")),
      ask(port, { method: "GET", path: "/readyz" }),
      ask(port, send("POST", "/entries", { name: `probe ${process.pid} ${++probes}`, amount: 0 }))
    ])
    return fine(answers[0] ?? null, 200) && fine(answers[1] ?? null, 200) && fine(answers[2] ?? null, 201)
  })
}

/** What the service promises: it works again so soon after the cause has ended, by itself. */
export const recoveryMs = 5_000
