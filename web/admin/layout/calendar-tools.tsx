/** The line above a calendar: what it shows, the ways to other days, the end of spans, and how many records have no day. */

import { useQuery } from "@tanstack/react-query"
import { ChevronLeft, ChevronRight } from "lucide-react"
import type { ReactNode } from "react"
import type { Layout } from "../../../core/domain/model/layout.ts"
import { Link } from "../ground/link.tsx"
import { setQuery } from "../ground/location.ts"
import { Menu } from "../ground/parts.tsx"
import { isDay, printLayout } from "../list/layout.ts"
import type { ListView } from "../list/view.ts"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import style from "./calendar.module.css"
import { both, conditionOf } from "./columns.ts"
import type { DayFields, Span } from "./days.ts"

interface ToolsProps {
  readonly resource: Resource
  readonly view: ListView
  readonly layout: Extract<Layout, { of: "calendar" }>
  readonly fields: DayFields
  /** The shown month or week, in words. */
  readonly period: string
  /** How many records begin on the shown days; null: not counted. */
  readonly total: number | null
  /** Increases when records may have changed. */
  readonly turn: number
  readonly onStep: (by: 1 | -1) => void
  readonly onToday: () => void
}

/** How many records have no day. A calendar whose records may not be counted does without. */
const Without = ({ fields, resource, turn, view }: ToolsProps): ReactNode => {
  const { format, t } = useLocale()
  const { start } = fields
  const filter = both(view.filter, conditionOf(resource, start.name, null))
  const { data } = useQuery<number>({
    queryKey: ["calendar without", resource.name, filter, view.deleted, turn],
    retry: false,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    placeholderData: (before) => before,
    enabled: start.optional,
    queryFn: async ({ signal }) => {
      const { groups } = await resourceClient(resource.name).aggregate({
        measures: ["count"],
        filter,
        ...(view.deleted ? { show_deleted: true } : {})
      }, { signal })
      return Number(groups[0]?.measures["count"] ?? 0)
    }
  })
  if (data === undefined || data === 0) return null
  return (
    <Link to={`/${resource.name}?${String(new URLSearchParams({ filter }))}`} className={style.without}>
      {t.calendar.without(format.count(data), fieldLabel(resource, start.name))}
    </Link>
  )
}

export const CalendarTools = (props: ToolsProps): ReactNode => {
  const { fields, layout, onStep, onToday, period, resource, total } = props
  const { format, t } = useLocale()
  const w = t.calendar
  const span = layout.span ?? "month"
  const ends = resource.model.fields.filter((field) => isDay(field) && field.name !== fields.start.name)
  const put = (by: readonly string[], now: Span): void =>
    setQuery(printLayout({ of: "calendar", by, ...(now === "week" ? { span: now } : {}) }), { replace: false })
  return (
    <div className={style.tools} role="group" aria-label={w.days}>
      <button
        type="button"
        className="btn quiet bare"
        aria-label={w.previous[span]}
        title={w.previous[span]}
        onClick={() => onStep(-1)}
      >
        <ChevronLeft className="icon" aria-hidden="true" data-flips="" />
      </button>
      <button
        type="button"
        className="btn quiet bare"
        aria-label={w.next[span]}
        title={w.next[span]}
        onClick={() => onStep(1)}
      >
        <ChevronRight className="icon" aria-hidden="true" data-flips="" />
      </button>
      <h2 aria-live="polite">{period}</h2>
      <button type="button" className="btn" onClick={onToday}>{w.today}</button>
      {total !== null && <span className="dim num">{w.count(total, format.count(total))}</span>}
      <Without {...props} />
      <span className={style.space} />
      {ends.length > 0 && (
        <Menu
          label={w.until}
          className="btn quiet"
          entries={[null, ...ends].map((field) => ({
            label: field === null ? w.noEnd : fieldLabel(resource, field.name),
            chosen: (fields.end?.name ?? null) === (field?.name ?? null),
            onAction: () => put([fields.start.name, ...(field === null ? [] : [field.name])], span)
          }))}
        >
          {fields.end === null ? w.until : w.untilField(fieldLabel(resource, fields.end.name))}
        </Menu>
      )}
      <span className={style.spans}>
        {(["month", "week"] as const).map((each) => (
          <button
            key={each}
            type="button"
            className="btn"
            aria-pressed={span === each}
            onClick={() => put(layout.by, each)}
          >
            {w[each]}
          </button>
        ))}
      </span>
    </div>
  )
}
