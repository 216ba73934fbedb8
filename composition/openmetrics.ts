/**
 * Metrics as text for a scraper: OpenMetrics 1.0, or the older text format of Prometheus (0.0.4), in which counters keep their `_total` and nothing says where the
 * text ends. Names follow OpenTelemetry's rules for Prometheus: `http.server.request.duration` in seconds is `http_server_request_duration_seconds`.
 *
 * https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
 */

import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/** The media types of both formats. */
export const mediaTypes = {
  openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  text: "text/plain; version=0.0.4; charset=utf-8"
} as const

/** Units that attributes name, and how names end with them. */
const units: { readonly [unit: string]: string } = { s: "seconds", By: "bytes" }

const plainName = (name: string): string => name.replace(/[^a-zA-Z0-9_:]/g, "_")

const escaped = (text: string): string =>
  text.replace(/[\\"\n]/g, (character) => character === "\n" ? "\\n" : `\\${character}`)

type Labels = ReadonlyArray<readonly [name: string, value: string]>

const labelsText = (labels: Labels): string =>
  labels.length === 0 ? "" : `{${labels.map(([name, value]) => `${plainName(name)}="${escaped(value)}"`).join(",")}}`

const numberText = (value: number | bigint): string =>
  value === Infinity ? "+Inf" : value === -Infinity ? "-Inf" : String(value)

/** The samples of one series below the name of its family. */
const samplesOf = (name: string, series: Metric.Metric.Snapshot, labels: Labels): readonly string[] => {
  const sample = (end: string, value: number | bigint, more: Labels = []): string =>
    `${name}${end}${labelsText([...labels, ...more])} ${numberText(value)}`
  switch (series.type) {
    case "Counter":
      return [sample("_total", series.state.count)]
    case "Gauge":
      return [sample("", series.state.value)]
    case "Histogram": {
      const { buckets, count, sum } = series.state
      return [
        ...buckets.filter(([bound]) => bound !== Infinity).map(([bound, below]) =>
          sample("_bucket", below, [["le", numberText(bound)]])
        ),
        sample("_bucket", count, [["le", "+Inf"]]),
        sample("_count", count),
        sample("_sum", sum)
      ]
    }
    default:
      throw new Error(`${series.id} is a ${series.type}, which has no text here.`)
  }
}

/** All metrics of a registry. `open`: as OpenMetrics. */
export const metricsText = (context: Context.Context<never>, open: boolean): string => {
  const families = Map.groupBy(
    Metric.snapshotUnsafe(context),
    ({ attributes, id }) => {
      const unit = units[attributes?.["unit"] ?? ""]
      return unit === undefined ? plainName(id) : `${plainName(id)}_${unit}`
    }
  )
  const lines: string[] = []
  for (const [name, all] of families) {
    const [first] = all
    if (first === undefined) continue
    const type = first.type.toLowerCase()
    const told = !open && type === "counter" ? `${name}_total` : name
    const unit = units[first.attributes?.["unit"] ?? ""]
    lines.push(`# TYPE ${told} ${type}`)
    if (open && unit !== undefined) lines.push(`# UNIT ${told} ${unit}`)
    if (first.description !== undefined) lines.push(`# HELP ${told} ${escaped(first.description)}`)
    for (const series of all) {
      const labels = Object.entries(series.attributes ?? {}).filter(([key]) => key !== "unit")
      lines.push(...samplesOf(name, series, labels))
    }
  }
  if (open) lines.push("# EOF")
  return `${lines.join("\n")}\n`
}
