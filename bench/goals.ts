/** What was aimed at, and whether a run got there: for each reference by itself, and for the service alone. It judges the samples of a run and nothing else. */

import type { Case } from "./cases.ts"
import {
  allCpu,
  figure,
  geometricMean,
  type Measure,
  p50,
  p99,
  print,
  ratio,
  sampleKey,
  serverCpu,
  times
} from "./figures.ts"
import type { Findings } from "./figures.ts"

export interface Goal {
  readonly name: string
  readonly limit: number
  /** Null: this run cannot tell. */
  readonly found: number | null
  /** What of it is above the limit, the worst first, and out of how much; for goals that every case has to meet. */
  readonly over?: { readonly cases: ReadonlyArray<readonly [Case, number]>; readonly of: number }
}

const caseLimit = 1.25
const meanLimit = 1.1
const tailLimit = 1.3
const memoryLimit = 1.2

/** A percentile of fewer requests than this is their slowest. */
export const fewForTail = 100

/** `met`, `missed` or `not measured`; a goal of every case says which miss it. */
export const verdict = ({ found, limit, over }: Goal): string => {
  if (found === null) return "not measured"
  if (found <= limit) return "met"
  if (over === undefined) return "missed"
  return `missed by ${over.cases.length} of ${over.of}: ${
    over.cases.map(([kind, times]) => `${kind} ${print(times)}`).join(", ")
  }`
}

/** The measured cases of a system, in their order. */
export const measuredCases = (
  { samples }: Pick<Findings, "samples">,
  system: string,
  at: number,
  all: readonly Case[]
): readonly Case[] => all.filter((kind) => (samples[sampleKey(system, kind, at)] ?? []).length > 0)

type Ratios = ReadonlyArray<readonly [Case, number]>

const ratios = (
  { samples, systems }: Findings,
  rival: string,
  all: readonly Case[],
  at: number,
  measure: Measure
): Ratios =>
  all.flatMap((kind) => {
    const found = times(samples, [systems[0]!, rival], kind, at, measure)
    return found === null ? [] : [[kind, found] as const]
  })

const eachCase = (name: string, limit: number, ratios: Ratios): Goal => {
  const found = ratios.toSorted(([, a], [, b]) => b - a)
  return {
    name,
    limit,
    found: found[0]?.[1] ?? null,
    over: { cases: found.filter(([, value]) => value > limit), of: found.length }
  }
}

/** So many connections, in words. */
export const connected = (at: number): string => `${at} connection${at === 1 ? "" : "s"}`

/** The goals for processor time against one reference, of the cases that both have, at so many connections. */
export const goalsAt = (
  findings: Findings,
  rival: string,
  all: readonly Case[],
  at: number
): readonly [each: Goal, mean: Goal] => {
  const found = ratios(findings, rival, all, at, serverCpu)
  return [
    eachCase(`server time of each case at ${connected(at)}, × the ${rival}`, caseLimit, found),
    {
      name: `geometric mean of ${found.length} case${found.length === 1 ? "" : "s"} at ${
        connected(at)
      }, × the ${rival}`,
      limit: meanLimit,
      found: geometricMean(found.map(([, value]) => value))
    }
  ]
}

/** What reads of related records may cost, the database's part included, beside SQL by hand. An order is two walks where the reference has one. */
const relatedLimits: { readonly [kind in Case]?: number } = {
  groups: 1.25,
  expand: 1.25,
  related: 1.25,
  exists: 1.25,
  relatedGroups: 1.25,
  sorted: 1.7,
  sortedDeep: 1.7
}

/** A goal for each limit of reads of related records. */
export const relatedGoals = (findings: Findings, rival: string, all: readonly Case[], at: number): readonly Goal[] =>
  [1.25, 1.7].map((limit) =>
    eachCase(
      `server and database time of ${limit === 1.7 ? "orders" : "filters and groups"} through relations at ${
        connected(at)
      }, × the ${rival}`,
      limit,
      ratios(findings, rival, all.filter((kind) => relatedLimits[kind] === limit), at, allCpu)
    )
  )

/** The other goals against one reference: the slowest answers under load, and memory. */
export const goalsAgainst = (
  findings: Findings,
  rival: string,
  all: readonly Case[]
): readonly [tail: Goal, memory: Goal] => {
  const { connections, memory, systems } = findings
  const at = connections.at(-1)!
  return [
    eachCase(
      `p99 of each case at ${connected(at)}, × the ${rival}`,
      tailLimit,
      ratios(findings, rival, all, at, p99)
    ),
    {
      name: `memory under load, × the ${rival}`,
      limit: memoryLimit,
      found: ratio(memory[systems[0]!]?.loaded ?? null, memory[rival]?.loaded ?? null)
    }
  ]
}

/** The goals of the service by itself. Latencies are those of one request at a time. */
export const ownGoals = ({ deepPage, hostile, samples, systems }: Findings): readonly Goal[] => {
  const latency = (kind: Case) => figure(samples, systems[0]!, kind, 1, p50)
  return [
    {
      name: `page ${deepPage} against the first page, p50 at 1 connection, ×`,
      limit: 1.2,
      found: ratio(latency("deep"), latency("list"))
    },
    { name: "`:seek` to 90 % of the rows, p50 at 1 connection, ms", limit: 100, found: latency("seek") },
    {
      name: "slowest hostile filter, ms",
      limit: 50,
      found: hostile.length === 0 ? null : Math.max(...hostile.map(({ ms }) => ms))
    }
  ]
}

/** Cases of which the fullest measurement at so many connections has too few requests for a percentile. */
export const thinTails = ({ samples, systems }: Findings, at: number, all: readonly Case[]): readonly Case[] =>
  all.filter((kind) =>
    systems.some((system) => {
      const counts = (samples[sampleKey(system, kind, at)] ?? []).map(({ requests }) => requests)
      return counts.length > 0 && Math.max(...counts) < fewForTail
    })
  )
