/**
 * Rows of related records that follow what others do, as lists do: changed rows are shown again and marked where they stand, deleted ones are struck
 * through, and new ones are counted above. No row moves until somebody asks for it.
 */

import { ArrowUp } from "lucide-react"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { follow } from "../live/follow.ts"
import { markerOf, type OnMarks } from "../live/marks.ts"
import { useLocale } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyPage, AnyRecord } from "../model/client.ts"

/** How long is collected before the rows are read. */
const collectMs = 300

interface LiveRelatedProps {
  readonly target: Resource
  /** The filter of the rows. */
  readonly filter: string
  /** The rows as they are shown. */
  readonly page: AnyPage
  /** Reads the same rows again. */
  readonly read: (signal: AbortSignal) => Promise<AnyPage>
  readonly onPage: (page: AnyPage) => void
  readonly onMarks: OnMarks
}

/** The difference between the shown rows and the rows that were read. */
const compare = (target: Resource, earlier: readonly AnyRecord[], now: readonly AnyRecord[]) => {
  const after = new Map(now.map((record) => [keyOf(target, record), record]))
  const before = new Set(earlier.map((record) => keyOf(target, record)))
  const changed: string[] = []
  const gone: string[] = []
  const items = earlier.map((record) => {
    const key = keyOf(target, record)
    const next = after.get(key)
    if (key === null) return record
    if (next === undefined) gone.push(key)
    else if (next.etag !== record.etag) changed.push(key)
    return next ?? record
  })
  return { items, changed, gone, fresh: now.filter((record) => !before.has(keyOf(target, record))).length }
}

export const LiveRelated = (props: LiveRelatedProps): ReactNode => {
  const { filter, onMarks, onPage, target } = props
  const { format, t } = useLocale()
  const [read, setRead] = useState<AnyPage | null>(null)
  const latest = useRef(props)
  useEffect(() => {
    latest.current = props
  })

  useEffect(() => {
    const ending = new AbortController()
    const timers = new Set<ReturnType<typeof setTimeout>>()
    let waiting = false
    const mark = markerOf(timers, (make) => latest.current.onMarks(make))
    const look = async (): Promise<void> => {
      waiting = false
      const now = await latest.current.read(ending.signal)
      // Compared with the rows that are shown now: a save of one's own may have changed them meanwhile.
      const { page } = latest.current
      const { changed, gone, items } = compare(target, page.items, now.items)
      if (changed.length > 0) latest.current.onPage({ ...page, items })
      mark(changed, "changed")
      mark(gone, "gone")
      setRead(now)
    }
    const end = follow(target, filter, () => {
      if (waiting) return
      waiting = true
      const timer = setTimeout(() => {
        timers.delete(timer)
        // After a failure the shown rows stay. The next change reads them again.
        look().catch(() => undefined)
      }, collectMs)
      timers.add(timer)
    })
    return () => {
      end()
      ending.abort()
      for (const timer of timers) clearTimeout(timer)
    }
  }, [target, filter])

  const fresh = read === null ? 0 : compare(target, props.page.items, read.items).fresh
  if (read === null || fresh === 0) return null
  return (
    <button
      type="button"
      className="btn quiet"
      onClick={() => {
        setRead(null)
        onMarks(() => new Map())
        onPage(read)
      }}
    >
      <ArrowUp className="icon" aria-hidden="true" /> {t.live.fresh(fresh, format.count(fresh))}
    </button>
  )
}
