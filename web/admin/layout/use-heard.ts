/**
 * Changes by others on a board. Cards that are shown are read again, and come, move or leave, each with a mark; counts and sums are made again after them. What
 * is out of sight is not read for it.
 */

import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react"
import { listed, searchedBy } from "../list/again.ts"
import type { RowsQuery } from "../list/asked.ts"
import { follow } from "../live/follow.ts"
import { type LiveMarks, markerOf, markMs } from "../live/marks.ts"
import { netOf, type Pending } from "../live/net.ts"
import { keyOf, keyPartsOf, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { isMissing } from "../model/outcome.ts"
import type { ColumnHandle } from "./column.tsx"
import { columnId } from "./columns.ts"
import { earlier, hear, type Heard, merged, movedMeanwhile, withoutLeft } from "./heard.ts"
import type { Moves } from "./moved.ts"

/** Milliseconds for which changes are collected, and the most records that are looked at one by one. */
const collectMs = 300
const mostKeys = 200
/** Most records that are read one by one. */
const mostSingle = 20
/** Milliseconds after a change until everything is counted again. Where counting takes long, it is done seldom. */
const restMs = 800
const restTimes = 20
/** How often counting waits for cards. */
const mostWaits = 2

interface HeardProps {
  readonly resource: Resource
  readonly query: RowsQuery
  readonly by: string
  readonly handles: ReadonlyMap<string, ColumnHandle>
  readonly moves: Moves<AnyRecord>
  readonly setMoves: (make: (before: Moves<AnyRecord>) => Moves<AnyRecord>) => void
  readonly board: RefObject<HTMLElement | null>
  /** Called with what was heard before it is drawn. */
  readonly onHeard: (heard: Heard<AnyRecord>) => void
  readonly recount: () => Promise<unknown>
}

/** Those of the records that belong to the board, as they are now. */
const present = async (
  resource: Resource,
  query: RowsQuery,
  news: ReadonlyMap<string, Pending>
): Promise<ReadonlyMap<string, AnyRecord>> => {
  const keys = [...news.keys()]
  const key = searchedBy(resource)
  if (keys.length === 0) return new Map()
  if (key !== null) return listed(resource, key, keys, query, query.fields)
  // A filter is not asked for one record: whether it passes is what the change says.
  const asked = keys.filter((each) => news.get(each)?.kind !== "left").slice(0, mostSingle)
  const found = await Promise.all(asked.map(async (each): Promise<readonly (readonly [string, AnyRecord])[]> => {
    try {
      const { expand, fields } = query
      return [[each, await resourceClient(resource.name).get(keyPartsOf(each), { fields, expand })]]
    } catch (error) {
      if (isMissing(error)) return []
      throw error
    }
  }))
  return new Map(found.flat())
}

/** The cards in sight as changes that may have been. */
const inSight = (resource: Resource, { handles, moves }: Pick<HeardProps, "handles" | "moves">): readonly string[] => {
  const seen = [...handles.values()].flatMap((handle) =>
    handle.inSight().flatMap((record) => keyOf(resource, record) ?? [])
  )
  return [...new Set([...moves.keys(), ...seen])].slice(0, mostKeys)
}

export const useHeard = (props: HeardProps): LiveMarks => {
  const { query, resource } = props
  const [marks, setMarks] = useState<LiveMarks>(new Map())
  const latest = useRef(props)
  useLayoutEffect(() => {
    latest.current = props
  })
  const asked = JSON.stringify(query)

  useEffect(() => {
    if ((resource.model.events?.length ?? 0) === 0) return
    const pending = new Map<string, Pending>()
    const timers = new Set<ReturnType<typeof setTimeout>>()
    let missed = false
    let over = false
    let working = false
    let wait = restMs
    let waited = 0
    let counting: ReturnType<typeof setTimeout> | undefined
    const mark = markerOf(timers, setMarks)
    const after = (ms: number, work: () => void): ReturnType<typeof setTimeout> => {
      const timer = setTimeout(() => {
        timers.delete(timer)
        work()
      }, ms)
      timers.add(timer)
      return timer
    }

    const recount = (): void => {
      counting ??= after(wait, () => {
        counting = undefined
        // Whether a write under way is among what is counted, nobody knows.
        if ([...latest.current.moves.values()].some(({ saving }) => saving)) return recount()
        // Cards come first, so that columns are not read again for them. Where changes never end, counts are made all the same.
        if (working && waited < mostWaits) {
          waited++
          return recount()
        }
        waited = 0
        const begun = performance.now()
        void latest.current.recount().finally(() => {
          wait = Math.max(restMs, restTimes * (performance.now() - begun))
        })
      })
    }
    /** Cards that left the board go after a moment, unless somebody stands on them. */
    const release = (keys: readonly string[]): void => {
      if (keys.length === 0) return
      after(markMs, () => {
        const stays = (key: string): boolean =>
          [...latest.current.board.current?.querySelectorAll<HTMLElement>("[data-held], :focus") ?? []].some(
            ({ dataset }) => dataset["key"] === key
          )
        latest.current.setMoves((before) => withoutLeft(before, keys, stays))
        setMarks((before) => new Map([...before].filter(([key]) => !keys.includes(key) || stays(key))))
        release(keys.filter(stays))
      })
    }
    const cardOf = (key: string): { readonly column: string; readonly record: AnyRecord } | null => {
      for (const [column, handle] of latest.current.handles) {
        const record = handle.at(handle.find(key))
        if (record !== undefined) return { column, record }
      }
      const moved = latest.current.moves.get(key)
      return moved?.stands == null ? null : { column: moved.stands, record: moved.record }
    }
    const work = async (): Promise<void> => {
      const { by, handles } = latest.current
      if (missed || pending.size > mostKeys) {
        if (pending.size > mostKeys) { for (const handle of handles.values()) handle.reload() }
        pending.clear()
        for (const key of inSight(resource, latest.current)) pending.set(key, { kind: null, operation: "update" })
      }
      missed = false
      const begun = latest.current.moves
      // Cards that are written wait for the answer of that.
      const news = new Map([...pending].filter(([key]) => begun.get(key)?.saving !== true))
      for (const key of news.keys()) pending.delete(key)
      const now = new Map(await present(resource, query, news))
      if (over) return
      const { moves } = latest.current
      for (const [key, change] of movedMeanwhile(news, begun, moves)) {
        pending.set(key, earlier(change, pending.get(key)))
        news.delete(key)
        now.delete(key)
      }
      const heard = hear({
        moves,
        news,
        now,
        cardOf,
        columnOf: (record) => columnId(record[by]),
        holds: (column, key) => handles.get(column)?.holds(key) === true
      })
      for (const handle of handles.values()) handle.replaceAll(now)
      latest.current.onHeard(heard)
      latest.current.setMoves((before) => merged(before, moves, heard.moves))
      mark(heard.changed, "changed")
      mark(heard.left, "left")
      mark(heard.gone, "gone")
      release([...heard.left, ...heard.gone])
    }
    const soon = (): void => {
      if (working || over) return
      working = true
      after(collectMs, () => {
        // After a failure, the cards stay. The next change tries again.
        work().catch(() => undefined).finally(() => {
          working = false
          if (pending.size > 0 || missed) soon()
        })
      })
    }
    const end = follow(resource, query.filter, (event) => {
      if (event.of === "missed") missed = true
      else {
        const { exact, key, kind, operation } = event
        pending.set(key, netOf(pending.get(key), { kind: exact ? kind : null, operation }))
      }
      soon()
      recount()
    })
    return () => {
      over = true
      end()
      for (const timer of timers) clearTimeout(timer)
      setMarks((before) => before.size === 0 ? before : new Map())
    }
  }, [resource, asked])
  return marks
}
