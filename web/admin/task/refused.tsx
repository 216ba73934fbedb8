/** Records that a change of many refuses: each reason once, below it the records by their titles, with links to those that the user sees. */

import type { ReactNode } from "react"
import { useRecordNames } from "../field/titles.ts"
import { useApp } from "../ground/app.ts"
import { hrefOf } from "../ground/location.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { fieldLabel, labelOf } from "../model/catalogue.ts"
import { short } from "../model/plain.ts"
import { mostShown } from "../place/parts.tsx"
import style from "./task.module.css"

/** A record that is refused, by its key as in addresses. `field`: what the reason is about. */
export interface RefusedRecord {
  readonly key: string
  readonly field: string | null
  readonly message: string
}

interface RefusedRecordsProps {
  /** Name of the resource that was to be changed. */
  readonly resource: string
  readonly refusals: readonly RefusedRecord[]
}

export const RefusedRecords = ({ refusals, resource }: RefusedRecordsProps): ReactNode => {
  const w = useMessages().task
  const { format } = useLocale()
  const target = useApp().catalogue.resources.get(resource)
  const { addressOf, nameOf } = useRecordNames(refusals.map(({ key }) => ({ resource, key })))
  const reasons = [...Map.groupBy(refusals, ({ field, message }) => JSON.stringify([field, message])).values()]
    .toSorted((a, b) => b.length - a.length)
  return reasons.map(([first, ...others]) => {
    if (first === undefined) return null
    const { field, message } = first
    const keys = new Set([first, ...others].map(({ key }) => key))
    const label = field === null ? null : target === undefined ? labelOf(field) : fieldLabel(target, field)
    const reason = short(message, mostShown)
    return (
      <section key={`${field} ${message}`} className={style.reason}>
        <h3>
          {label !== null && `${label}: `}
          <bdi>{reason}</bdi> <span className="dim">{w.records(keys.size, format.count(keys.size))}</span>
        </h3>
        <ul>
          {[...keys].map((key) => {
            const of = { resource, key }
            const address = addressOf(of)
            return (
              <li key={key}>
                {address === undefined
                  ? <bdi>{nameOf(of)}</bdi>
                  : (
                    // The dialog stays, with what was typed into it.
                    <a href={hrefOf(address)} target="_blank" rel="noreferrer" dir="auto">{nameOf(of)}</a>
                  )}
              </li>
            )
          })}
        </ul>
      </section>
    )
  })
}
