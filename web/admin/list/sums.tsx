/**
 * The sums of a list's numbers over all records that it matches, at its foot. They are asked for by a press, because they read every record. Amounts are
 * added up by currency.
 */

import { useQuery } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { problemText } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { plain, short } from "../model/plain.ts"
import { byCurrency, type Sum, sumsText } from "./adding.ts"
import type { RowsQuery } from "./asked.ts"
import style from "./list.module.css"

interface SumsProps {
  readonly resource: Resource
  readonly query: Pick<RowsQuery, "filter" | "deleted">
  /** The names of the fields. */
  readonly fields: readonly string[]
}

const readSums = async ({ fields, query, resource }: SumsProps, signal: AbortSignal): Promise<readonly Sum[]> => {
  const { aggregate } = resourceClient(resource.name)
  const found = await Promise.all([...byCurrency(resource, fields)].map(async ([currency, names]) => {
    const { groups } = await aggregate({
      measures: names.map((name) => `sum(${name})` as const),
      filter: query.filter,
      ...(currency === null ? {} : { group_by: [currency] }),
      ...(query.deleted ? { show_deleted: true } : {})
    }, { signal })
    return groups.flatMap(({ group, measures }) =>
      names.flatMap((field): readonly Sum[] => {
        const value: unknown = measures[`sum(${field})`]
        const code = currency === null ? null : plain(group[currency])
        return typeof value === "string" ? [{ field, value, currency: code }] : []
      })
    )
  }))
  return found.flat()
}

export const Sums = (props: SumsProps): ReactNode => {
  const { fields, query, resource } = props
  const { format, t } = useLocale()
  const [asked, setAsked] = useState(false)
  const { data, error } = useQuery({
    queryKey: ["sums", resource.name, query.filter, query.deleted, fields],
    enabled: asked,
    retry: false,
    queryFn: ({ signal }) =>
      readSums(props, signal).catch((problem: unknown) => {
        noticeFailure(problem)
        throw problem
      })
  })
  const labelOf = (name: string): string => fieldLabel(resource, name)
  const text = !asked
    ? fields.map(labelOf).join(", ")
    : data !== undefined
    ? sumsText(data, labelOf, format)
    : error !== null
    ? short(problemText(error, t), 200)
    : `${fields.map(labelOf).join(", ")}, ${t.list.counting}`
  return (
    <button
      type="button"
      className={style.sums}
      aria-pressed={asked}
      aria-busy={asked && data === undefined && error === null}
      title={asked ? text : undefined}
      onClick={() => setAsked(!asked)}
    >
      <span className="cut">{t.list.sum(text)}</span>
    </button>
  )
}
