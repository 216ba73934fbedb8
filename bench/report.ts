/** What a run found, as tables and as the goals they answer. All ratios are medians over the rounds against the first reference. */

import { type Case, cases } from "./cases.ts"
import type { HostileAnswer } from "./hostile.ts"
import type { Measured } from "./load.ts"

/** One measurement of one case. Processor times are milliseconds per request, null where there is no /proc. */
export interface Sample extends Measured {
  readonly serverCpu: number | null
  readonly databaseCpu: number | null
}

export interface Findings {
  readonly at: string
  readonly machine: string
  readonly orders: number
  readonly deepPage: number
  readonly connections: readonly number[]
  readonly systems: readonly string[]
  /** By `system/case/connections`. */
  readonly samples: { readonly [key: string]: readonly Sample[] }
  /** Megabytes resident, by system: before any request, and the most under load. */
  readonly memory: { readonly [system: string]: { readonly idle: number; readonly loaded: number } }
  readonly hostile: readonly HostileAnswer[]
}

type Measure = (sample: Sample) => number | null

const median = (values: ReadonlyArray<number | null>): number | null => {
  const known = values.filter((value) => value !== null && Number.isFinite(value)).sort((a, b) => a! - b!)
  if (known.length === 0) return null
  const half = known.length >> 1
  return known.length % 2 === 1 ? known[half]! : (known[half - 1]! + known[half]!) / 2
}

const geometricMean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)

const print = (value: number | null): string =>
  value === null
    ? "–"
    : value >= 100
    ? value.toFixed(0)
    : value >= 10
    ? value.toFixed(1)
    : value >= 1
    ? value.toFixed(2)
    : value.toFixed(3)

const table = (head: readonly string[], rows: ReadonlyArray<readonly string[]>): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")

export const report = (findings: Findings): string => {
  const { connections, systems } = findings
  const [service, reference, ...others] = systems as readonly [string, string, ...string[]]
  const most = connections.at(-1)!
  const of = (system: string, kind: string, at: number, measure: Measure): number | null =>
    median((findings.samples[`${system}/${kind}/${at}`] ?? []).map(measure))
  const ratio = (kind: string, at: number, measure: Measure, to: string): number | null => {
    const ours = of(service, kind, at, measure)
    const theirs = of(to, kind, at, measure)
    return ours === null || theirs === null || theirs === 0 ? null : ours / theirs
  }
  const kinds = (Object.keys(cases) as Case[]).filter((kind) =>
    of(service, kind, most, (sample) => sample.requests) !== null
  )
  const known = (values: ReadonlyArray<number | null>): readonly number[] => values.filter((value) => value !== null)
  const mean = (at: number, measure: Measure, to: string) =>
    geometricMean(known(kinds.map((kind) => ratio(kind, at, measure, to))))

  const serverCpu: Measure = (sample) => sample.serverCpu
  const allCpu: Measure = (sample) =>
    sample.serverCpu === null || sample.databaseCpu === null ? null : sample.serverCpu + sample.databaseCpu
  const parts: string[] = []
  const rivals = [reference, ...others]

  for (const rival of rivals) {
    parts.push(
      `### Processor time per request at ${most} connections, against the ${rival}\n`,
      table(
        [
          "case",
          `${rival}: server + database ms`,
          `${service}: server + database ms`,
          "server ×",
          "server + database ×"
        ],
        [
          ...kinds.filter((kind) => of(rival, kind, most, serverCpu) !== null).map((kind) => [
            cases[kind],
            ...[rival, service].map((system) =>
              `${print(of(system, kind, most, serverCpu))} + ${
                print(of(system, kind, most, (sample) => sample.databaseCpu))
              }`
            ),
            print(ratio(kind, most, serverCpu, rival)),
            print(ratio(kind, most, allCpu, rival))
          ]),
          ["geometric mean", "", "", print(mean(most, serverCpu, rival)), print(mean(most, allCpu, rival))]
        ]
      )
    )
  }
  for (const at of connections) {
    parts.push(
      `### Answers at ${at} connection${at === 1 ? "" : "s"}\n`,
      table(
        ["case", ...systems.flatMap((system) => [`${system}: per second`, "p50 ms", "p99 ms"])],
        kinds.map((kind) => [
          cases[kind],
          ...systems.flatMap((system) => [
            print(of(system, kind, at, (sample) => sample.perSecond)),
            print(of(system, kind, at, (sample) => sample.p50)),
            print(of(system, kind, at, (sample) => sample.p99))
          ])
        ])
      )
    )
  }
  parts.push(
    "### Memory\n",
    table(
      ["", ...systems],
      (["idle", "loaded"] as const).map((when) => [
        `${when === "idle" ? "after the start" : "most under load"}, MB`,
        ...systems.map((system) => print(findings.memory[system]?.[when] ?? null))
      ])
    )
  )
  if (findings.hostile.length > 0) {
    parts.push(
      "### Filters meant to hurt\n",
      table(
        ["filter", "status", "median of five, ms"],
        findings.hostile.map(({ ms, name, status }) => [name, String(status), print(ms)])
      )
    )
  }

  const least = connections[0]!
  const latency: Measure = (sample) => sample.p50
  const worst = known(kinds.map((kind) => ratio(kind, most, serverCpu, reference)))
  const deep = of(service, "deep", least, latency)
  const first = of(service, "list", least, latency)
  const loaded = rivals.map((rival) => findings.memory[rival]?.loaded ?? 0)
  const goals: ReadonlyArray<readonly [string, number | null, number]> = [
    ["server CPU of the worst case against the reference, ×", worst.length === 0 ? null : Math.max(...worst), 1.25],
    ["geometric mean of all cases, ×", mean(most, serverCpu, reference), 1.1],
    [
      `page ${findings.deepPage} against the first page, p50, ×`,
      deep === null || first === null ? null : deep / first,
      1.2
    ],
    ["`:seek` to 90 % of the rows, p50, ms", of(service, "seek", least, latency), 100],
    [
      "slowest hostile filter, ms",
      findings.hostile.length === 0 ? null : Math.max(...findings.hostile.map(({ ms }) => ms)),
      50
    ],
    ["memory under load against the reference, ×", (findings.memory[service]?.loaded ?? 0) / (loaded[0] ?? 1), 1.2]
  ]
  parts.push(
    "### Goals\n",
    table(
      ["goal", "at most", "found", ""],
      goals.map((
        [name, value, limit]
      ) => [name, String(limit), print(value), value === null ? "not measured" : value <= limit ? "met" : "missed"])
    )
  )
  const head = `${findings.at}, ${findings.machine}, ${findings.orders} orders`
  return `${head}\n\n${parts.map((part) => part.endsWith("\n") ? part : `${part}\n`).join("\n")}`
}
