/** The saved filters of a view as tabs. The one whose filter is shown is the current one, however it came to be shown. */

import * as Result from "effect/Result"
import type { KeyboardEvent, ReactNode } from "react"
import { printConditions, readConditions } from "../filter/conditions.ts"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../shell/catalogue.ts"
import style from "./list.module.css"

/** The same text for the same filter, however it was written. */
const canonical = (filter: string, resource: Resource): string => {
  const read = readConditions(filter, resource)
  return Result.isSuccess(read) ? printConditions(read.success.map(({ text }) => text)) : filter
}

interface TabsProps {
  readonly resource: Resource
  readonly filter: string
  readonly onFilter: (filter: string) => void
}

export const ViewTabs = ({ filter, onFilter, resource }: TabsProps): ReactNode => {
  const t = useMessages()
  if (resource.view.filters.length === 0) return null
  const shown = canonical(filter, resource)
  const tabs = [{ name: t.list.all, filter: "" }, ...resource.view.filters]
  const current = tabs.findIndex((tab) => canonical(tab.filter, resource) === shown)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    event.stopPropagation()
    const forward = getComputedStyle(event.currentTarget).direction === "rtl" ? -step : step
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")]
    const next = all[(all.indexOf(event.target as HTMLElement) + forward + all.length) % all.length]
    next?.focus()
    next?.click()
  }
  return (
    <div className={style.tabs} role="tablist" aria-label={resource.view.label.plural} onKeyDown={onKeyDown}>
      {tabs.map((tab, at) => (
        <button
          key={tab.name}
          type="button"
          role="tab"
          className={style.tab}
          aria-selected={at === current}
          tabIndex={at === Math.max(0, current) ? 0 : -1}
          onClick={() => onFilter(tab.filter)}
        >
          {tab.name}
        </button>
      ))}
    </div>
  )
}
