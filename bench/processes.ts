/**
 * What more processes bring: the service in several on one database, the load generator's connections spread over them in turn. Nothing is bound to a
 * processor: PostgreSQL and the load generator take their share of the same ones, which is in the report.
 */

import { type Case, cases } from "./cases.ts"
import { brief } from "./comparison.ts"
import { prepareData, sizes } from "./data.ts"
import {
  databaseCpu,
  figure,
  type Measure,
  p50,
  p99,
  print,
  ratio,
  type Sample,
  sampleKey,
  type Samples,
  serverCpu,
  table
} from "./figures.ts"
import { measure, type Running, warm } from "./measure.ts"
import { document } from "./report.ts"
import { onStage, type Options, placeAndTime, serviceOf, worldOf } from "./stage.ts"

export interface ProcessFindings {
  readonly at: string
  readonly machine: string
  readonly orders: number
  readonly connections: number
  readonly counts: readonly number[]
  /** By number of processes, case and connections. */
  readonly samples: Samples
}

const kinds = ["get", "list", "patch"] as const satisfies readonly Case[]

export const processReport = (findings: ProcessFindings): string => {
  const { connections, counts, orders, samples } = findings
  const rows = kinds.flatMap((kind) =>
    counts.map((count) => {
      const of = (measure: Measure, processes = count) => figure(samples, String(processes), kind, connections, measure)
      const rate: Measure = (sample) => sample.perSecond
      return [
        cases[kind],
        String(count),
        print(of(rate)),
        print(ratio(of(rate), of(rate, counts[0]!))),
        `${print(of(serverCpu))} + ${print(of(databaseCpu))}`,
        print(of((sample) => sample.generatorCpu)),
        print(of(p50)),
        print(of(p99))
      ]
    })
  )
  return document(findings, `${orders} orders`, [
    `### Processes of the service, ${connections} connections`,
    table(
      ["case", "processes", "per second", "×", "server + database ms", "load generator ms", "p50 ms", "p99 ms"],
      rows
    )
  ])
}

/** Measures each of these numbers of processes. */
export const processes = async (
  options: Options,
  counts: readonly number[],
  done: (findings: ProcessFindings, text: string) => void
): Promise<void> =>
  onStage(options, false, async (stage) => {
    const { rounds, say, seconds, size, warmUp } = options
    const connections = options.connections.at(-1)!
    const recipe = serviceOf(options, stage.keys, "bench_processes")
    await prepareData(stage.database, size, [recipe.database], say)
    const all = await stage.start(recipe, await worldOf(stage, size), Math.max(...counts))
    for (const kind of kinds) await warm(stage, all, kind, warmUp)
    const some = (count: number): Running => {
      const [first, ...others] = all.processes
      return { ...all, name: String(count), processes: [first, ...others.slice(0, count - 1)] }
    }
    const samples: { [key: string]: Sample[] } = {}
    for (let round = 0; round < rounds; round++) {
      for (const kind of kinds) {
        const line: string[] = []
        for (const count of round % 2 === 0 ? counts : counts.toReversed()) {
          const task = { kind, connections, warmMs: 300, ms: seconds * 1000 }
          const sample = await measure(stage, some(count), task)
          if (sample === null) continue
          ;(samples[sampleKey(String(count), kind, connections)] ??= []).push(sample)
          line.push(`${count}: ${brief(sample)}`)
        }
        say(`round ${round + 1}/${rounds} ${kind}, processes ${line.join("   ")}`)
      }
    }
    const findings: ProcessFindings = { ...placeAndTime(), orders: sizes[size], connections, counts, samples }
    done(findings, processReport(findings))
  })
