/** The arithmetic of the reports: medians over the rounds, ratios, geometric means, and how numbers and tables are printed. It measures nothing. */

import type { HostileAnswer } from "./hostile.ts"
import type { Measured } from "./load.ts"

/** One measurement of one case. Processor times are milliseconds per request, null where there is no /proc. */
export interface Sample extends Measured {
  /** All processes of the system together. */
  readonly serverCpu: number | null
  readonly databaseCpu: number | null
  /** What the load generator itself took. */
  readonly generatorCpu: number
  /** Megabytes resident when it ended, all processes of the system together; null where there is no /proc. */
  readonly memory: number | null
}

/** All samples of a run, by {@link sampleKey}. */
export interface Samples {
  readonly [key: string]: readonly Sample[]
}

export const sampleKey = (system: string, what: string, connections: number): string =>
  `${system}/${what}/${connections}`

export type Measure = (sample: Sample) => number | null

export const serverCpu: Measure = (sample) => sample.serverCpu
export const databaseCpu: Measure = (sample) => sample.databaseCpu
export const allCpu: Measure = (sample) =>
  sample.serverCpu === null || sample.databaseCpu === null ? null : sample.serverCpu + sample.databaseCpu
export const p50: Measure = (sample) => sample.p50
export const p99: Measure = (sample) => sample.p99

/** The median of what is known; null of nothing. */
export const median = (values: ReadonlyArray<number | null>): number | null => {
  const known = values.filter((value) => value !== null && Number.isFinite(value)).sort((a, b) => a! - b!)
  if (known.length === 0) return null
  const half = known.length >> 1
  return known.length % 2 === 1 ? known[half]! : (known[half - 1]! + known[half]!) / 2
}

/** Null of nothing. */
export const geometricMean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)

/** How many times `b` is in `a`; null where one is not known or `b` is nothing. */
export const ratio = (a: number | null, b: number | null): number | null =>
  a === null || b === null || b === 0 ? null : a / b

/** The median of a measure over the rounds. */
export const figure = (samples: Samples, system: string, what: string, at: number, measure: Measure): number | null =>
  median((samples[sampleKey(system, what, at)] ?? []).map(measure))

/**
 * How many times the one system's measure is in the other's: the median over the rounds of what each round found. The systems take their turns within
 * seconds of each other, so that a busy minute of the machine is in both of a round's figures.
 */
export const times = (
  samples: Samples,
  [a, b]: readonly [string, string],
  what: string,
  at: number,
  measure: Measure
): number | null => {
  const others = samples[sampleKey(b, what, at)] ?? []
  return median(
    (samples[sampleKey(a, what, at)] ?? []).map((sample, round) => {
      const other = others[round]
      return other === undefined ? null : ratio(measure(sample), measure(other))
    })
  )
}

export const print = (value: number | null): string =>
  value === null
    ? "–"
    : value >= 100
    ? value.toFixed(0)
    : value >= 10
    ? value.toFixed(1)
    : value >= 1
    ? value.toFixed(2)
    : value.toFixed(3)

export const table = (head: readonly string[], rows: ReadonlyArray<readonly string[]>): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")

/** Everything a run found. */
export interface Findings {
  readonly at: string
  readonly machine: string
  readonly orders: number
  readonly deepPage: number
  readonly connections: readonly number[]
  /** The service first, then the references. */
  readonly systems: readonly string[]
  readonly samples: Samples
  /** Megabytes resident, by system: before any request, and the most under load. Empty where there is no /proc. */
  readonly memory: { readonly [system: string]: { readonly idle: number; readonly loaded: number } }
  readonly hostile: readonly HostileAnswer[]
}
