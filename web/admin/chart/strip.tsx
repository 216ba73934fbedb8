/** The chart of a view above its list: a number with its change, bars of a series or a histogram, and the most frequent values. A click filters. */

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { ChevronDown } from "lucide-react"
import type { ReactNode } from "react"
import type { MetaView } from "../../client/index.ts"
import { isState, toneOf } from "../field/kind.ts"
import { enumText, textOf } from "../field/text.ts"
import { useReader } from "../field/value.tsx"
import { useLocale } from "../messages/locale.tsx"
import { useToggle } from "../messages/preferences.ts"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { textOfSimple, withCondition } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import style from "./chart.module.css"
import { measuredIn } from "./unit.ts"

type Chart = NonNullable<MetaView["chart"]>

interface StripProps {
  readonly resource: Resource
  readonly filter: string
  readonly deleted: boolean
  readonly onFilter: (filter: string) => void
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const days: Readonly<Record<string, number>> = { "7d": 7, "30d": 30, "90d": 90, "1y": 365 }

/** A bar: its height relative to the highest, its text, and its action. */
interface Bar {
  readonly id: string
  readonly share: number
  readonly words: string
  readonly last?: boolean
  readonly onPress?: () => void
}

const Bars = ({ bars, label }: { readonly bars: readonly Bar[]; readonly label: string }): ReactNode => (
  <div className={style.bars} role="group" aria-label={label}>
    {bars.map(({ id, last, onPress, share, words }) => (
      <button key={id} type="button" title={words} aria-label={words} tabIndex={-1} onClick={onPress}>
        <i
          data-last={last === true ? "" : undefined}
          style={{ height: `${Math.max(share > 0 ? 4 : 0, share * 100)}%` }}
        />
      </button>
    ))}
  </div>
)

/** The strip, and the button that folds it. A folded one asks for nothing. */
export const ChartStrip = (props: StripProps): ReactNode => {
  const { resource } = props
  const { t } = useLocale()
  const [folded, toggle] = useToggle(`chart:${resource.name}`)
  const words = folded ? t.chart.unfold : t.chart.fold
  return (
    <div className={style.frame}>
      {!folded && <PlainChart {...props} />}
      <button
        type="button"
        className={folded ? style.folded : style.fold}
        aria-expanded={!folded}
        aria-label={words}
        title={words}
        onClick={toggle}
      >
        <ChevronDown className="icon" aria-hidden="true" />
        {folded && labelOf(resource)}
      </button>
    </div>
  )
}

/** What the chart of a view is about. */
const labelOf = (resource: Resource): string => {
  const chart = resource.view.chart!
  if (chart.of !== "series") return fieldLabel(resource, chart.field)
  const { measured } = chart
  return measured === null || !resource.fields.has(measured)
    ? resource.view.label.plural
    : fieldLabel(resource, measured)
}

/** The chart alone. */
export const PlainChart = (props: StripProps): ReactNode => {
  const chart = props.resource.view.chart!
  switch (chart.of) {
    case "series":
      return <Series {...props} chart={chart} />
    case "histogram":
      return <Histogram {...props} chart={chart} />
    case "facets":
      return <Facets {...props} chart={chart} />
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

const Series = (
  { chart, deleted, filter, onFilter, resource }: StripProps & { readonly chart: Extract<Chart, { of: "series" }> }
): ReactNode => {
  const { format, t } = useLocale()
  const rows = resourceClient(resource.name)
  const shown = { filter, ...(deleted ? { show_deleted: true } : {}) }
  const span = days[chart.range]
  const { data } = useQuery({
    queryKey: ["chart", resource.name, chart, filter, deleted],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const measured = await measuredIn(resource, chart.measured, shown, signal)
      const { points } = await rows.series({
        ...shown,
        field: chart.field,
        filter: measured.filter,
        range: chart.range,
        granularity: chart.granularity,
        measure: chart.measure,
        time_zone: zone
      }, { signal })
      return { ...measured, points }
    }
  })
  const before = useQuery({
    queryKey: ["chart-before", resource.name, chart, data?.filter, deleted],
    enabled: span !== undefined && data !== undefined,
    queryFn: ({ signal }) => {
      const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
      return rows.series({
        ...shown,
        field: chart.field,
        filter: data!.filter,
        from: day(2 * span!),
        to: day(span! + 1),
        granularity: chart.granularity,
        measure: chart.measure,
        time_zone: zone
      }, { signal })
    }
  })
  const state = resource.model.fields.find((field) => field.filterable && isState(field))
  if (data === undefined) return <div className={style.strip} aria-busy="true" />
  const valueOf = (point: { readonly count?: number; readonly value?: string | null }): number =>
    point.count ?? Number(point.value ?? 0)
  const values = data.points.map(valueOf)
  const most = Math.max(...values, 0) || 1
  const total = sum(values)
  const former = before.data === undefined ? null : sum(before.data.points.map(valueOf))
  const change = former === null || former === 0 ? null : (total - former) / former
  const adds = chart.measure === "count" || chart.measure.startsWith("sum:")
  const label = labelOf(resource)
  return (
    <section className={style.strip} aria-label={label}>
      <div className={style.figure}>
        <p className="dim">{span === undefined ? label : t.chart.over(label, span)}</p>
        <p className={style.number}>
          {adds ? format.short(total) : format.short(values.at(-1) ?? 0)}
          {data.unit !== null && <small className="dim">{` ${data.only ? t.chart.only(data.unit) : data.unit}`}</small>}
        </p>
        {change !== null && adds && (
          <p className={style.change} data-tone={change >= 0 ? "ok" : "bad"}>
            {t.chart.change(format.percent(change), span!)}
          </p>
        )}
      </div>
      <Bars
        label={label}
        bars={data.points.map((point, at) => ({
          id: point.start,
          share: valueOf(point) / most,
          last: at === data.points.length - 1,
          words: `${format.dateTime(point.start).replace(/,? 00:00$/, "")}: ${
            format.number(point.value ?? point.count ?? 0)
          }`,
          onPress: () => {
            const next = data.points[at + 1]?.start
            const field = resource.fields.get(chart.field)!
            const bound = (iso: string): string => field.kind === "date" ? iso.slice(0, 10) : iso
            const texts = [
              textOfSimple({ field: chart.field, is: "atLeast", values: [bound(point.start)] }, resource),
              next === undefined
                ? null
                : textOfSimple({ field: chart.field, is: "under", values: [bound(next)] }, resource)
            ]
            onFilter([filter, ...texts].filter((text) => text !== null && text !== "").join(" AND "))
          }
        }))}
      />
      {state !== undefined && (
        <States resource={resource} field={state.name} filter={filter} deleted={deleted} onFilter={onFilter} />
      )}
    </section>
  )
}

/** Most states of a bar. The service counts no more than these, and those are read as none. */
const mostStates = 50

/** All states as one bar of parts, and in words below it. A press on either filters. */
const States = (
  { deleted, field: name, filter, onFilter, resource }: StripProps & { readonly field: string }
): ReactNode => {
  const { format, t } = useLocale()
  const { data } = useQuery({
    queryKey: ["states", resource.name, name, filter, deleted],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      resourceClient(resource.name).facets({
        field: name,
        filter,
        limit: mostStates,
        ...(deleted ? { show_deleted: true } : {})
      }, { signal })
  })
  const label = t.chart.by(fieldLabel(resource, name))
  if (data === undefined) return <div className={style.side} />
  const all = sum(data.facets.map(({ count }) => count)) || 1
  const states = data.facets.map(({ count, value }) => ({
    id: plain(value),
    count,
    tone: toneOf(plain(value)),
    word: value === null ? t.field.empty : enumText(plain(value)),
    onPress: value === null
      ? undefined
      : () => onFilter(withCondition(filter, { field: name, is: "is", values: [plain(value)] }, resource))
  }))
  return (
    <div className={style.side}>
      <div className={style.stack} aria-hidden="true">
        {states.map(({ count, id, onPress, tone, word }) => (
          <i
            key={id}
            data-tone={tone}
            style={{ flexGrow: count / all }}
            title={`${word}: ${format.count(count)} (${format.share(count / all)})`}
            onClick={onPress}
          />
        ))}
      </div>
      <div className={style.states} role="group" aria-label={label}>
        <span className="dim">{label}</span>
        {states.map(({ count, id, onPress, tone, word }) => (
          <button key={id} type="button" data-tone={tone} disabled={onPress === undefined} onClick={onPress}>
            <span className="cut">{word}</span> <small>{format.short(count)}</small>
          </button>
        ))}
      </div>
    </div>
  )
}

const Histogram = (
  { chart, deleted, filter, onFilter, resource }: StripProps & { readonly chart: Extract<Chart, { of: "histogram" }> }
): ReactNode => {
  const { format } = useLocale()
  const { data } = useQuery({
    queryKey: ["chart", resource.name, chart, filter, deleted],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      resourceClient(resource.name).histogram({
        field: chart.field,
        buckets: chart.buckets,
        filter,
        ...(deleted ? { show_deleted: true } : {})
      }, { signal })
  })
  if (data === undefined) return <div className={style.strip} aria-busy="true" />
  const most = Math.max(...data.buckets.map(({ count }) => count), 0) || 1
  const ends = data.buckets.length === 0
    ? ""
    : `${format.number(data.buckets[0]!.from)} – ${format.number(data.buckets.at(-1)!.to)}`
  return (
    <section className={style.strip} aria-label={fieldLabel(resource, chart.field)}>
      <div className={style.figure}>
        <p className="dim">{fieldLabel(resource, chart.field)}</p>
        <p className={style.range}>{ends}</p>
      </div>
      <Bars
        label={fieldLabel(resource, chart.field)}
        bars={data.buckets.map(({ count, from, to }) => ({
          id: String(from),
          share: count / most,
          words: `${format.number(from)} – ${format.number(to)}: ${format.count(count)}`,
          onPress: () => {
            const texts = [
              textOfSimple({ field: chart.field, is: "atLeast", values: [String(from)] }, resource),
              textOfSimple({ field: chart.field, is: "atMost", values: [String(to)] }, resource)
            ]
            onFilter([filter, ...texts].filter((text) => text !== null && text !== "").join(" AND "))
          }
        }))}
      />
    </section>
  )
}

const Facets = (
  { chart, deleted, filter, onFilter, resource }: StripProps & { readonly chart: Extract<Chart, { of: "facets" }> }
): ReactNode => {
  const { format } = useLocale()
  const reader = useReader()
  const field = resource.fields.get(chart.field)!
  const { data } = useQuery({
    queryKey: ["chart", resource.name, chart, filter, deleted],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      resourceClient(resource.name).facets({
        field: chart.field,
        limit: chart.limit,
        filter,
        ...(deleted ? { show_deleted: true } : {})
      }, { signal })
  })
  if (data === undefined) return <div className={style.strip} aria-busy="true" />
  const most = Math.max(...data.facets.map(({ count }) => count), 0) || 1
  return (
    <section className={style.strip} aria-label={fieldLabel(resource, chart.field)}>
      <div className={style.figure}>
        <p className="dim">{fieldLabel(resource, chart.field)}</p>
      </div>
      <div className={style.columns}>
        {data.facets.map(({ count, value }) => {
          const text = textOf(resource, field, value, reader)
          return (
            <button
              key={plain(value)}
              type="button"
              title={`${text}: ${format.count(count)}`}
              disabled={value === null}
              onClick={() =>
                onFilter(withCondition(filter, { field: field.name, is: "is", values: [plain(value)] }, resource))}
            >
              <i style={{ width: `${(count / most) * 100}%` }} />
              <span className="cut">{text}</span>
              <small className="num dim">{format.short(count)}</small>
            </button>
          )
        })}
      </div>
    </section>
  )
}
