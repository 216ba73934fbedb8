/** A number of a composed page: a count or a measure, over all records or over a period, with the change to the period before. */

import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { measuredIn } from "../chart/unit.ts"
import { averageOf, extremeOf, sumOf } from "../field/decimal.ts"
import { Link } from "../ground/link.tsx"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { type BlockOf, listOf } from "./block-source.ts"
import style from "./board.module.css"

type Block = BlockOf<"number">
type Period = NonNullable<Block["period"]>

const days = { "7d": 7, "30d": 30, "90d": 90, "1y": 365 } as const
const dayMs = 86_400_000

/** The bounds of the period `back` periods before the current one, in the form of the field's kind. The end is exclusive. */
const boundsOf = ({ field, range }: Period, resource: Resource, back: number) => {
  const span = days[range] * dayMs
  const end = Date.now() - back * span
  // For dates, whole days count, and the last one is today.
  return resource.fields.get(field)?.kind === "date"
    ? {
      from: new Date(end - span + dayMs).toISOString().slice(0, 10),
      to: new Date(end + dayMs).toISOString().slice(0, 10)
    }
    : { from: new Date(end - span).toISOString(), to: new Date(end).toISOString() }
}

/** The number of one period as exact text. Null if there is none. */
const measured = async (
  block: Pick<Block, "filter" | "measure" | "measured"> & { readonly period: Period },
  resource: Resource,
  back: number,
  signal: AbortSignal
): Promise<string | null> => {
  const rows = resourceClient(resource.name)
  const around = {
    field: block.period.field,
    granularity: "year" as const,
    ...boundsOf(block.period, resource, back)
  }
  const points = async (measure: string, filter = block.filter) =>
    (await rows.series({ ...around, filter, measure: measure }, { signal })).points
  const counted = async (filter?: string): Promise<number> =>
    (await points("count", filter)).reduce((total, { count = 0 }) => total + count, 0)
  const values = async (measure: string): Promise<readonly string[]> =>
    (await points(measure)).flatMap(({ value }) => value ?? [])
  const of = block.measure.split(":", 1)[0]
  switch (of) {
    case "min":
    case "max":
      return extremeOf(await values(block.measure), of)
    case "sum": {
      const sums = await values(block.measure)
      return sums.length === 0 ? "0" : sumOf(sums)
    }
    case "avg": {
      const present = `${block.measured}:*`
      const [sums, count] = await Promise.all([
        values(`sum:${block.measured}`),
        counted(block.filter === "" ? present : `(${block.filter}) AND ${present}`)
      ])
      const total = sumOf(sums)
      return count === 0 || total === null ? null : averageOf(total, count)
    }
    default:
      return String(await counted())
  }
}

export const NumberBlock = ({ block, resource }: { readonly block: Block; readonly resource: Resource }): ReactNode => {
  const { format, t } = useLocale()
  const w = t.board
  const { period } = block
  const { data, error } = useQuery({
    queryKey: ["number", block],
    queryFn: async ({ signal }) => {
      if (period !== null) {
        const { filter, only, unit } = await measuredIn(resource, block.measured, { filter: block.filter }, signal)
        const [now, before] = await Promise.all(
          [0, 1].map((back) => measured({ ...block, filter, period }, resource, back, signal))
        )
        return { now: now!, before: before!, more: false, unit: unit !== null && only ? t.chart.only(unit) : unit }
      }
      const page = await resourceClient(resource.name).list(
        { filter: block.filter, page_size: 1, fields: resource.model.primaryKey.slice(0, 1) },
        { signal }
      )
      const count = page.total_size ?? page.total_size_estimate
      return {
        now: String(count),
        before: null,
        more: page.total_size_accuracy !== "exact" && page.total_size === undefined,
        unit: null
      }
    }
  })
  const before = data?.before == null ? 0 : Number(data.before)
  const change = data?.now == null || before === 0 ? null : (Number(data.now) - before) / Math.abs(before)
  return (
    <div className={style.block} role="group" aria-label={block.label} aria-busy={data === undefined && error === null}>
      <h2 className={style.label}>
        <Link to={listOf(block)}>{block.label}</Link>
      </h2>
      <p className={style.number}>
        {error !== null && data === undefined
          ? <span className="dim">{w.failed}</span>
          : data === undefined
          ? " "
          : data.now === null
          ? "–"
          : `${data.more ? "≈ " : ""}${format.number(data.now)}${data.unit === null ? "" : ` ${data.unit}`}`}
      </p>
      {period !== null && (
        <p className="dim">
          {w.last(days[period.range], format.count(days[period.range]))}
          {change !== null && (
            <>
              {" · "}
              <span className={style.change} data-tone={change >= 0 ? "ok" : "bad"}>
                {w.change(format.percent(change))}
              </span>
            </>
          )}
        </p>
      )}
    </div>
  )
}
