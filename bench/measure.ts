/** One measurement of one case of one system, with what it costs the processors, and the warm-up before the first of them. */

import { type Case, cheaper, type Dialect, readEtags, type State } from "./cases.ts"
import { type Database, sql } from "./data.ts"
import type { Sample } from "./figures.ts"
import { load } from "./load.ts"
import { type CpuTime, cpuTime, memory, spent } from "./machine.ts"

/** A system that answers: one process, or several that share the load. */
export interface Running {
  readonly name: string
  readonly dialect: Dialect
  readonly database: string
  readonly processes: readonly [Process, ...Process[]]
  readonly state: State
}

export interface Process {
  readonly port: number
  readonly pid: number
}

/** Where the systems' databases are. */
export interface Host {
  readonly database: Database
  /** Process id of PostgreSQL's first process. */
  readonly postmaster: number
  readonly say: (line: string) => void
}

export interface Task {
  readonly kind: Case
  readonly connections: number
  readonly warmMs: number
  readonly ms: number
  /** The cheap variant of the case. */
  readonly cheap?: boolean
  readonly fewest?: number
  readonly longestMs?: number
}

/** Whether processor time and memory can be read here. */
const hasProc = process.platform === "linux"

/** Megabytes resident of all processes of a system; null where it cannot be read. */
export const memoryOf = ({ processes }: Running): number | null =>
  hasProc ? processes.reduce((sum, { pid }) => sum + memory(pid), 0) : null

const ownMs = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

interface Reading {
  readonly servers: readonly CpuTime[]
  readonly database: CpuTime
  readonly own: number
}

/** Measures once; null where the system has no such thing. Rows that were created are taken back. */
export const measure = async (host: Host, one: Running, task: Task): Promise<Sample | null> => {
  const { cheap = false, connections, kind, ...times } = task
  const { dialect, processes, state } = one
  if (dialect.request(kind, state, 0) === null) return null
  // Read again: the answers that the end of the last measurement cut off took their ETags with them.
  if (kind === "patch") await readEtags(dialect, state, connections)
  const read = (): Reading => ({
    servers: processes.map(({ pid }) => cpuTime(pid)),
    database: cpuTime(host.postmaster),
    own: ownMs()
  })
  let before: Reading | undefined
  let after: Reading | undefined
  const [first, ...others] = processes
  const measured = await load({
    ports: [first.port, ...others.map(({ port }) => port)],
    connections,
    ...times,
    next: (slot) => dialect.request(kind, state, slot, cheap)!,
    after: kind === "patch" ? (_, request, answer) => state.remember(request, answer) : undefined,
    begin: () => void (before = read()),
    end: () => void (after = read())
  })
  const resident = memoryOf(one)
  if (kind === "create" || kind === "batch") {
    await sql(
      host.database,
      one.database,
      `delete from orders where id > ${state.world.orders}`,
      "vacuum orders"
    )
  }
  if (measured.failed > 0) {
    host.say(`! ${one.name} ${kind}: ${measured.failed} failed, the first: ${measured.firstFailure}`)
  }
  const each = (total: (from: Reading, to: Reading) => number): number =>
    total(before!, after!) / Math.max(1, measured.requests)
  return {
    ...measured,
    serverCpu: hasProc
      ? each((from, to) => to.servers.reduce((sum, times, i) => sum + spent(from.servers[i]!, times), 0))
      : null,
    databaseCpu: hasProc ? each((from, to) => spent(from.database, to.database)) : null,
    generatorCpu: each((from, to) => to.own - from.own),
    memory: resident
  }
}

export interface WarmUp {
  /** Seconds that each case takes at least, and at most. */
  readonly seconds: number
  readonly limit: number
}

/** Requests of a kind after which the compilers are done with it, for each process, and how many connections send them. */
const warmRequests = 20_000
const warmConnections = 32

/**
 * Real requests that come before cheap ones. PostgreSQL plans a prepared statement five times before it decides, for good, whether to go on
 * doing so: ten connections are to have decided it by what is measured.
 */
const realFirst = 100

/**
 * Warms one case of one system: for so many seconds and until so many requests were answered, or until the limit. Where a case has a cheaper
 * variant, that makes up the number.
 */
export const warm = async (
  host: Host,
  one: Running,
  kind: Case,
  { limit, seconds }: WarmUp
): Promise<readonly Sample[]> => {
  const wanted = warmRequests * one.processes.length
  const begin = performance.now()
  const real = await measure(host, one, {
    kind,
    connections: warmConnections,
    warmMs: 0,
    ms: Math.min(seconds, limit) * 1000,
    fewest: cheaper[kind] === undefined ? wanted : realFirst,
    longestMs: limit * 1000
  })
  if (real === null) return []
  const told = `warmed ${one.name} ${kind}: ${real.requests} requests`
  const left = wanted - real.requests
  const leftMs = limit * 1000 - (performance.now() - begin)
  if (left <= 0 || leftMs <= 0 || cheaper[kind] === undefined) {
    host.say(told)
    return [real]
  }
  const cheap = await measure(host, one, {
    kind,
    connections: warmConnections,
    warmMs: 0,
    ms: 0,
    cheap: true,
    fewest: left,
    longestMs: leftMs
  })
  host.say(`${told}, and ${cheap?.requests ?? 0} ${cheaper[kind]}`)
  return cheap === null ? [real] : [real, cheap]
}
