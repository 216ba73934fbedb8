/** What a range holds, in the line below the list: its size, and count, sum and average of its cells. */

import { type ReactNode, useMemo } from "react"
import { type Area, cellsIn, columnsIn } from "../grid/range.ts"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { heldIn, type RangeLines, rowsOf } from "./lines.ts"
import style from "./range.module.css"
import { type Summary, summaryOf } from "./summary.ts"

/** How many rows were read of how many. */
export interface Reading {
  readonly done: number
  readonly all: number
}

interface StatusProps {
  readonly resource: Resource
  readonly columns: readonly { readonly id: string }[]
  /** Another object once the list was drawn anew. */
  readonly rows: RangeLines & { readonly rowAt: (index: number) => AnyRecord | undefined }
  readonly area: Area | null
  readonly reading: Reading | null
}

/** Most cells that are summed up unasked. */
const mostSummed = 60_000

/** Null where not all rows of the range are there. */
const summed = ({ area, columns, resource, rows }: StatusProps): Summary | null => {
  if (area === null || cellsIn(area) > mostSummed) return null
  const records = heldIn(rows, area)
  if (records === null) return null
  return summaryOf(resource, columns.slice(area.left, area.right + 1).map(({ id }) => id), records)
}

export const RangeStatus = (props: StatusProps): ReactNode => {
  const { area, columns, reading, resource, rows } = props
  const { format, t } = useLocale()
  // Not while the rows only scroll.
  const summary = useMemo(() => summed(props), [area, columns, resource, rows])
  if (reading !== null) return t.range.reading(format.count(reading.done), format.count(reading.all))
  if (area === null) return null
  const amount = (value: string, currency: string | null): string =>
    format.number(value) + (currency === null ? "" : ` ${currency}`)
  const parts = [
    t.range.size(format.count(rowsOf(rows, area)), format.count(columnsIn(area))),
    ...(summary === null
      ? [t.range.partly]
      : [
        t.range.count(format.count(summary.filled)),
        ...(summary.added.length === 0 ? [] : [
          t.list.sum(summary.added.map(({ currency, sum }) => amount(sum, currency)).join(", ")),
          t.range.average(summary.added.map(({ average, currency }) => amount(average, currency)).join(", "))
        ])
      ])
  ]
  const text = parts.join(" · ")
  return <span className={style.status} title={text}>{text}</span>
}
