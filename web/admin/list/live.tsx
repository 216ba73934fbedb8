/**
 * Shows changes by others in a list. It hears of the records that pass the list's filter. Changed rows are read again and marked, also those that left the
 * filter; deleted ones are struck through, and new ones are counted above the list. No row moves. The list is read again when the user asks for it.
 */

import { ArrowUp } from "lucide-react"
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react"
import type { GridHandle } from "../grid/grid.tsx"
import { follow } from "../live/follow.ts"
import { type LiveMarks, markerOf, type OnMarks } from "../live/marks.ts"
import { netOf, type Pending } from "../live/net.ts"
import { useLocale } from "../messages/locale.tsx"
import { keyOf, keyPartsOf, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { isMissing } from "../model/outcome.ts"
import { listed, searchedBy } from "./again.ts"
import type { RowsQuery } from "./asked.ts"
import style from "./live.module.css"
import type { ListRows } from "./rows.ts"

/** Milliseconds for which changes are collected, and the most changes that are handled one by one. */
const collectMs = 300
const mostKeys = 200
/** Rows above and below the visible ones that are read again at once. */
const margin = 20

interface LiveListProps {
  readonly resource: Resource
  readonly rows: ListRows
  readonly query: RowsQuery
  readonly handle: RefObject<GridHandle | null>
  readonly marks: LiveMarks
  readonly onMarks: OnMarks
}

/** The current records by key. Null: the caller no longer sees the record. Absent: it was not read, or the read failed. */
const readAgain = async (
  resource: Resource,
  keys: readonly string[],
  query: RowsQuery
): Promise<ReadonlyMap<string, AnyRecord | null>> => {
  const key = searchedBy(resource)
  if (key !== null) {
    // A row that no longer matches the filter stays visible, with its current values.
    const now = await listed(resource, key, keys, { ...query, filter: "" }, query.fields)
    return new Map(keys.map((each) => [each, now.get(each) ?? null]))
  }
  const answers = await Promise.allSettled(
    keys.slice(0, margin).map((each) =>
      resourceClient(resource.name).get(keyPartsOf(each), { fields: query.fields, expand: query.expand })
    )
  )
  const now = new Map<string, AnyRecord | null>()
  for (const [at, each] of answers.entries()) {
    if (each.status === "fulfilled") now.set(keys[at]!, each.value)
    else if (isMissing(each.reason)) now.set(keys[at]!, null)
  }
  return now
}

const unchanged = (before: AnyRecord | undefined, after: AnyRecord): boolean => before?.etag === after.etag

/** Those of the rows that passed the filter before and do not now, as far as that can be said. */
const outsideOf = async (
  resource: Resource,
  query: RowsQuery,
  seen: ReadonlyMap<string, Pending>
): Promise<ReadonlySet<string>> => {
  // Where deleted records are shown, too, one that is deleted stays in the list.
  const left = [...seen].flatMap(([key, { kind, operation }]) =>
    kind === "left" && !(query.deleted && operation === "delete") ? [key] : []
  )
  const asked = [...seen].flatMap(([key, { kind }]) => kind === null ? [key] : [])
  const key = searchedBy(resource)
  if (query.filter === "" || key === null || asked.length === 0) return new Set(left)
  const passing = await listed(resource, key, asked, query, resource.model.primaryKey)
  return new Set([...left, ...asked.filter((each) => !passing.has(each))])
}

/** Shows rows as they are now. `out`: those that pass the filter no more. */
const putInPlace = (
  own: ListRows,
  now: ReadonlyMap<string, AnyRecord | null>,
  out: ReadonlySet<string>,
  marks: LiveMarks
) => {
  const changed: string[] = []
  const left: string[] = []
  const gone: string[] = []
  for (const [key, after] of now) {
    const same = after !== null && unchanged(own.rowAt(own.indexOf(key)), after)
    if (after !== null && !same) own.replace(key, after)
    if (after === null) gone.push(key)
    else if (out.has(key)) left.push(key)
    else if (!same || marks.get(key) === "left") changed.push(key)
  }
  return { changed, left, gone }
}

export const LiveList = (props: LiveListProps): ReactNode => {
  const { handle, marks, query, resource, rows } = props
  const { format, t } = useLocale()
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const [other, setOther] = useState(false)
  const latest = useRef(props)
  useEffect(() => {
    latest.current = props
  })
  const asked = JSON.stringify(query)

  useEffect(() => {
    setFresh(new Set())
    setOther(false)
    const pending = new Map<string, Pending>()
    const timers = new Set<ReturnType<typeof setTimeout>>()
    let missed = false
    let over = false
    let working = false

    const mark = markerOf(timers, (make) => latest.current.onMarks(make))

    /** Reads visible rows again. Other rows are dropped, and read again when they become visible. */
    const renew = async (
      news: ReadonlyArray<readonly [string, Pending]>,
      own: ListRows,
      [first, last]: readonly [number, number]
    ): Promise<void> => {
      const seen = new Map(news.filter(([key]) => {
        const at = own.indexOf(key)
        const near = at >= first - margin && at <= last + margin
        return near || !own.forget(key)
      }))
      if (seen.size === 0) return
      const [now, out] = await Promise.all([
        readAgain(resource, [...seen.keys()], query),
        outsideOf(resource, query, seen)
      ])
      if (over) return
      const { changed, gone, left } = putInPlace(own, now, out, latest.current.marks)
      mark(changed, "changed")
      mark(left, "left")
      mark(gone, "gone")
    }

    /** Counts the records that match the list's filter, where the service tells of all. */
    const count = async (created: readonly string[], keys: readonly string[]): Promise<void> => {
      if (query.filter === "") {
        if (created.length > 0) setFresh((before) => new Set([...before, ...created]))
        return
      }
      const key = searchedBy(resource)
      if (key === null) {
        if (created.length > 0) setOther(true)
        return
      }
      if (keys.length === 0) return
      const records = await listed(resource, key, keys, query, resource.model.primaryKey)
      if (!over && records.size > 0) setFresh((before) => new Set([...before, ...records.keys()]))
    }

    const work = async (): Promise<void> => {
      const { handle, rows: own } = latest.current
      const seen = handle.current?.seen() ?? [0, 0]
      if (missed && searchedBy(resource) !== null) {
        for (let at = seen[0]; at <= seen[1]; at++) {
          const record = own.rowAt(at)
          const key = record === undefined ? null : keyOf(resource, record)
          if (key !== null && !pending.has(key)) pending.set(key, { kind: null, operation: "update" })
        }
      }
      missed = false
      const changed = [...pending]
      pending.clear()
      if (changed.length > mostKeys) {
        // After so many changes, the whole list has to be read again.
        setOther(true)
        return
      }
      const news = changed.filter(([key]) => own.indexOf(key) >= 0)
      const others = changed.filter(([key]) => own.indexOf(key) < 0)
      const removed = changed.flatMap(([key, { kind, operation }]) =>
        kind === "left" || operation === "delete" ? [key] : []
      )
      setFresh((before) =>
        removed.some((key) => before.has(key)) ? new Set([...before].filter((key) => !removed.includes(key))) : before
      )
      await renew(news, own, seen)
      const entered = others.flatMap(([key, { kind }]) => kind === "entered" ? [key] : [])
      if (entered.length > 0) setFresh((before) => new Set([...before, ...entered]))
      const arrived = others.filter(([, { kind, operation }]) => kind === null && operation !== "delete")
      await count(
        arrived.flatMap(([key, { operation }]) => operation === "create" || operation === "undelete" ? [key] : []),
        arrived.map(([key]) => key)
      )
    }

    const soon = (): void => {
      if (working || over) return
      working = true
      const timer = setTimeout(() => {
        timers.delete(timer)
        // After a failure, the shown rows stay. The next change tries again.
        work().catch(() => undefined).finally(() => {
          working = false
          if (pending.size > 0 || missed) soon()
        })
      }, collectMs)
      timers.add(timer)
    }

    const end = follow(resource, query.filter, (event) => {
      if (event.of === "missed") missed = true
      else {
        const { exact, key, kind, operation } = event
        pending.set(key, netOf(pending.get(key), { kind: exact ? kind : null, operation }))
      }
      soon()
    })
    return () => {
      over = true
      end()
      for (const timer of timers) clearTimeout(timer)
      latest.current.onMarks((before) => before.size === 0 ? before : new Map())
    }
  }, [resource, asked])

  if (fresh.size === 0 && !other) return <span role="status" />
  const show = (): void => {
    setFresh(new Set())
    setOther(false)
    if (marks.size > 0) props.onMarks(() => new Map())
    rows.reload()
    handle.current?.scrollTo(0)
  }
  return (
    <span role="status">
      <button type="button" className={`btn primary ${style.fresh}`} onClick={show}>
        <ArrowUp className="icon" aria-hidden="true" />
        {other ? t.live.other : t.live.fresh(fresh.size, format.count(fresh.size))}
      </button>
    </span>
  )
}
