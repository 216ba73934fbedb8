/** The groups of a list and the source of their rows: read for one filter, order and grouping, and counted again after changes. */

import { type RefObject, useEffect, useMemo, useReducer, useRef, useState } from "react"
import type { Layout } from "../../../core/domain/model/layout.ts"
import { weekStart } from "../field/calendar.ts"
import type { GridHandle } from "../grid/grid.tsx"
import { firstPageIsThere } from "../ground/first-page.ts"
import { noticeFailure } from "../ground/session.ts"
import { follow } from "../live/follow.ts"
import { useLocale } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { pageSize, parametersOf } from "./asked.ts"
import { keysOf } from "./group-heads.ts"
import { addedUp, fewGroups, type GroupsAsked, type GroupsFound, readGroups, readSums } from "./group-read.ts"
import { makeRounds } from "./group-rounds.ts"
import { GroupSource } from "./group-source.ts"
import { checked, mostPages } from "./rows.ts"
import type { ListView } from "./view.ts"
import { both } from "./within.ts"

export type ListLayout = Extract<Layout, { of: "list" }>

export interface GroupedProps {
  readonly resource: Resource
  readonly view: ListView
  readonly layout: ListLayout
  readonly handle: RefObject<GridHandle | null>
}

/** Milliseconds after a change until the groups are counted again. */
const restMs = 800
/** So many times as long as counting takes passes until the next time. */
const restTimes = 20

export interface Held {
  readonly source: GroupSource<AnyRecord>
  readonly found: GroupsFound
  /** Rows whose records belong to another group by now. */
  readonly elsewhere: WeakSet<AnyRecord>
}

/** The groups and their rows, for one filter, order and grouping. What was shown before stays until the new groups are there. */
export const useGroups = ({ layout, resource, view }: GroupedProps) => {
  const [, changed] = useReducer((turn: number) => turn + 1, 0)
  const [epoch, setEpoch] = useState(0)
  const [failure, setFailure] = useState<unknown>(undefined)
  const shown = useRef<Held | null>(null)
  const limit = useRef(fewGroups)
  const again = useRef<() => void>(() => {})
  const group = layout.group.join()
  const { format: { locale } } = useLocale()
  const keys = useMemo(() => keysOf(resource, group.split(","), weekStart(locale)), [resource, group, locale])
  const fields = addedUp(resource, view.columns)
  const text = JSON.stringify([resource.name, view.asked, group])
  const sumsText = fields.join()
  const latest = useRef({ fields })
  latest.current = { fields }
  const parameters = useMemo(() => parametersOf(view.asked), [text])

  // No effect of layout: one is made anew when a part of the page that loads hides the list for a moment.
  useEffect(() => {
    const ending = new AbortController()
    const { signal } = ending
    const client = resourceClient(resource.name)
    const asked: GroupsAsked = { resource, query: view.asked, keys }
    const elsewhere = new WeakSet<AnyRecord>()
    let timer: ReturnType<typeof setTimeout> | undefined
    const fail = (error: unknown): void => {
      if (signal.aborted) return
      noticeFailure(error)
      setFailure(error)
      firstPageIsThere()
    }
    let wait = restMs
    const count = (): void => {
      timer = undefined
      const begun = performance.now()
      // Where counting takes long, it is done seldom.
      void read(false).then(() => void (wait = Math.max(restMs, restTimes * (performance.now() - begun))))
    }
    const later = (): void => {
      timer ??= setTimeout(count, wait)
    }
    /** After a change that somebody made here. */
    const soon = (): void => {
      clearTimeout(timer)
      timer = setTimeout(count, restMs)
    }
    const source = new GroupSource<AnyRecord>({
      size: pageSize,
      most: mostPages,
      keyOf: (record) => keyOf(resource, record) ?? record.etag,
      changed: () => {
        if (source.failure !== undefined) fail(source.failure)
        changed()
      },
      miscounted: later,
      load: async (condition, start, size, ended) => {
        const query = { ...parameters, filter: both(view.asked.filter, condition), page_size: size }
        const page = checked(
          "token" in start
            ? await client.list({ ...query, page_token: start.token }, { signal: ended })
            : start.position === 0
            ? await client.search(query, { signal: ended })
            : await client.seek(start.position, query, { signal: ended })
        )
        return { items: page.items, next: page.next_page_token, previous: page.prev_page_token ?? null }
      }
    })
    const read = makeRounds({
      groups: () => readGroups(asked, limit.current, signal),
      sums: (heads, more) =>
        latest.current.fields.length === 0 ? null : readSums(asked, heads, more, latest.current.fields, signal),
      before: () => shown.current?.source === source ? shown.current.found.heads : [],
      holds: (head) => source.holds(head),
      put: (found) => {
        if (signal.aborted) return
        if (shown.current?.source !== source) shown.current?.source.close()
        shown.current = { source, found, elsewhere }
        changed()
      },
      counted: ({ accuracy }) => {
        if (signal.aborted) return
        setFailure(undefined)
        firstPageIsThere()
        if (accuracy === "counting") later()
      },
      failed: (error, isShown) => {
        if (isShown) fail(error)
        else if (!signal.aborted) noticeFailure(error)
      }
    })
    again.current = soon
    void read(true)
    const end = (resource.model.events?.length ?? 0) > 0 ? follow(resource, view.asked.filter, later) : () => {}
    return () => {
      ending.abort()
      clearTimeout(timer)
      end()
      if (shown.current?.source !== source) source.close()
    }
  }, [parameters, epoch, resource, keys, sumsText, changed])

  useEffect(() => () => shown.current?.source.close(), [])
  return { shown, failure, setFailure, setEpoch, limit, again, keys, parameters }
}
