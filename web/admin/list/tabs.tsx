/**
 * The views of a list as tabs: the declared filters and the saved views. The current tab has the filter, order and columns the list has, even if
 * they were set in another way.
 */

import * as Result from "effect/Result"
import { type KeyboardEvent, lazy, type ReactNode, Suspense } from "react"
import { setQuery, usePlace } from "../ground/location.ts"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { printConditions, readConditions } from "../model/conditions.ts"
import { type SavedView, useSavedViews } from "../saved/views.ts"
import { type Layout, printLayout, sameLayout } from "./layout.ts"
import style from "./list.module.css"

const SavedMenu = lazy(() => import("../saved/menu.tsx").then(({ SavedMenu }) => ({ default: SavedMenu })))

/** The canonical text of a filter: the same for filters that differ only in their notation. */
const canonical = (filter: string, resource: Resource): string => {
  const read = readConditions(filter, resource)
  return Result.isSuccess(read) ? printConditions(read.success.map(({ text }) => text)) : filter
}

interface TabsProps {
  readonly resource: Resource
  readonly filter: string
  /** The order as an `order_by` text, empty for the default order. */
  readonly order: string
  readonly columns: readonly string[]
  readonly layout: Layout
  readonly onFilter: (filter: string) => void
}

interface Tab {
  readonly id: string
  readonly name: string
  readonly current: boolean
  readonly mark?: string
  readonly show: () => void
}

export const ViewTabs = ({ columns, filter, layout, onFilter, order, resource }: TabsProps): ReactNode => {
  const t = useMessages()
  const { query } = usePlace()
  const saved = useSavedViews(resource)
  const view = saved.find(({ id }) => id === query.get("view")) ?? null
  const filters = [{ name: t.list.all, filter: "" }, ...resource.view.filters]
  const canonicalFilter = canonical(filter, resource)
  const isAt = view === null ? filters.findIndex((each) => canonical(each.filter, resource) === canonicalFilter) : -1
  const chosen = filter !== "" || query.has("order") || query.has("columns") || layout !== null
  if (filters.length === 1 && saved.length === 0 && !chosen) return null

  const changed = view !== null &&
    (canonical(view.filter, resource) !== canonicalFilter || view.order_by !== order ||
      !sameLayout(view.layout, layout) ||
      (view.columns.length > 0 && view.columns.join() !== columns.join()))
  const tabs: readonly Tab[] = [
    ...filters.map((each, at) => ({
      id: `filter:${each.name}`,
      name: each.name,
      current: at === isAt,
      show: () => {
        if (view !== null) setQuery({ view: null, order: null, columns: null, ...printLayout(null) })
        onFilter(each.filter)
      }
    })),
    ...saved.map((each: SavedView) => ({
      id: each.id,
      name: each.name,
      current: each.id === view?.id,
      ...(each.id === view?.id && changed ? { mark: "•" } : {}),
      show: () =>
        setQuery({
          view: each.id,
          filter: each.filter || null,
          order: each.order_by || null,
          columns: each.columns.join() || null,
          ...printLayout(each.layout)
        }, { replace: false })
    }))
  ]
  const current = tabs.findIndex((tab) => tab.current)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    event.stopPropagation()
    const forward = getComputedStyle(event.currentTarget).direction === "rtl" ? -step : step
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")]
    const next = all[(all.findIndex((each) => each === event.target) + forward + all.length) % all.length]
    next?.focus()
    next?.click()
  }
  return (
    <div className={style.views}>
      <div className={style.tabs} role="tablist" aria-label={resource.view.label.plural} onKeyDown={onKeyDown}>
        {tabs.map((tab, at) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            className={style.tab}
            aria-selected={tab.current}
            tabIndex={at === Math.max(0, current) ? 0 : -1}
            onClick={tab.show}
          >
            <bdi className="cut">{tab.name}</bdi>
            {tab.mark}
          </button>
        ))}
      </div>
      {resource.source === null && (chosen || view !== null) && (
        <Suspense fallback={null}>
          <SavedMenu
            resource={resource.name}
            state={{ filter, order_by: order, columns, layout }}
            view={view}
            changed={changed}
          />
        </Suspense>
      )}
    </div>
  )
}
