/**
 * The rows of a list under one filter and order: pages by number, how many there are, and what the service says about that. A change of filter or order
 * begins anew; what was there stays on the screen until the new is there.
 */

import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { Pages } from "../grid/pages.ts"
import { keyOf, type Resource } from "../shell/catalogue.ts"
import { type AnyPage, type AnyRecord, client, resourceClient } from "../shell/client.ts"
import { noticeFailure } from "../shell/session.ts"

export interface RowsQuery {
  readonly filter: string
  readonly order: string
  /** What comes along with each record, sorted so that the same set is the same text. */
  readonly fields: readonly string[]
  readonly expand: readonly string[]
  readonly deleted: boolean
}

export interface Total {
  readonly count: number
  readonly accuracy: "exact" | "estimate" | "counting"
}

export interface Rows {
  readonly rowAt: (index: number) => AnyRecord | undefined
  readonly indexOf: (key: string) => number
  readonly kept: () => Iterable<AnyRecord>
  readonly failure: unknown
  readonly failureAt: (index: number) => unknown
  readonly total: Total | null
  /** Raised by every change of rows. */
  readonly version: number
  readonly want: (first: number, last: number, moving: boolean) => void
  readonly retry: () => void
  /** Reads everything anew, from the rows in sight. */
  readonly reload: () => void
  readonly replace: (key: string, record: AnyRecord) => void
  readonly countExactly: () => void
  /** What the service warned about with the first answer (`X-Service-Warning`), or null. */
  readonly warning: string | null
  /** The first answer is not there yet. */
  readonly loading: boolean
}

const pageSize = 100
const mostPages = 60
/** What an estimate stops at while the service goes on counting. */
const countingAt = 10_000

const totalOf = (page: AnyPage): Total => {
  if (page.total_size !== undefined) return { count: page.total_size, accuracy: "exact" }
  const count = page.total_size_estimate
  return {
    count,
    accuracy: page.total_size_accuracy ??
      (count < countingAt ? "exact" : count === countingAt ? "counting" : "estimate")
  }
}

interface Held {
  readonly pages: Pages<AnyRecord>
  total: Total | null
  warning: string | null
}

/** The first page of a list, with what the service warns about. It goes as a `:search`: filters of any length, and none in a log of addresses. */
const firstPage = async (
  resource: string,
  body: object,
  signal: AbortSignal
): Promise<{ readonly page: AnyPage; readonly warning: string | null }> => {
  const { data, headers } = await client.request<AnyPage>({
    method: "POST",
    path: `/${encodeURIComponent(resource)}:search`,
    json: body,
    repeatable: true,
    signal
  })
  return { page: data, warning: headers.get("x-service-warning") }
}

export const useRows = (resource: Resource, query: RowsQuery, initialRow: number): Rows => {
  const [version, setVersion] = useState(0)
  const [epoch, setEpoch] = useState(0)
  const [failure, setFailure] = useState<unknown>(undefined)
  const held = useRef<Held | null>(null)
  const shown = useRef<Held | null>(null)
  const sight = useRef<readonly [number, number]>([initialRow, initialRow + 40])
  const changed = useCallback(() => setVersion((before) => before + 1), [])
  const text = JSON.stringify([resource.name, query])

  const parameters = useMemo(() => ({
    filter: query.filter,
    order_by: query.order,
    fields: query.fields,
    ...(query.expand.length === 0 ? {} : { expand: query.expand }),
    ...(query.deleted ? { show_deleted: true } : {})
  }), [text])

  useEffect(() => {
    const rows = resourceClient(resource.name)
    const ending = new AbortController()
    const { signal } = ending
    const current: Held = { pages: undefined as never, total: null, warning: null }
    const fail = (error: unknown): void => {
      if (signal.aborted) return
      noticeFailure(error)
      setFailure(error)
    }
    const countLater = async (wait: number): Promise<void> => {
      // The estimate is a bound while the service counts: it is asked again, more seldom each time.
      await new Promise((done) => setTimeout(done, wait))
      if (signal.aborted || current.total?.accuracy !== "counting") return
      const page = await rows.list({
        ...parameters,
        fields: resource.model.primaryKey.slice(0, 1),
        expand: undefined,
        page_size: 1
      }, { signal })
      current.total = totalOf(page)
      changed()
      if (current.total.accuracy === "counting" && wait < 20_000) await countLater(wait * 2)
    }
    ;(current as { pages: Pages<AnyRecord> }).pages = new Pages<AnyRecord>({
      size: pageSize,
      most: mostPages,
      keyOf: (record) => keyOf(resource, record) ?? record.etag,
      changed: () => {
        const error = current.pages.failure
        if (error !== undefined) fail(error)
        changed()
      },
      ended: (count) => {
        if (current.total?.accuracy === "exact") return
        current.total = { count, accuracy: "exact" }
      },
      load: async (start, size, ended) => {
        const page = "position" in start
          ? await rows.seek(start.position, { ...parameters, page_size: size }, { signal: ended })
          : await rows.list({ ...parameters, page_size: size, page_token: start.token }, { signal: ended })
        return { items: page.items, next: page.next_page_token, previous: page.prev_page_token ?? null }
      }
    })
    held.current = current
    firstPage(resource.name, { ...parameters, page_size: pageSize }, signal).then(({ page, warning }) => {
      current.total = totalOf(page)
      current.warning = warning
      shown.current?.pages.close()
      shown.current = current
      setFailure(undefined)
      current.pages.put(0, { items: page.items, next: page.next_page_token, previous: null })
      if (current.total.accuracy === "counting") countLater(700).catch(() => undefined)
      const [from, to] = sight.current
      const last = Math.min(to, current.total.count)
      if (last > pageSize && from < current.total.count) current.pages.want(from, last, false)
    }, fail)
    return () => {
      ending.abort()
      if (held.current === current && shown.current !== current) current.pages.close()
    }
  }, [parameters, epoch, resource, changed])

  useEffect(() => () => shown.current?.pages.close(), [])

  const want = useCallback((from: number, to: number, moving: boolean) => {
    sight.current = [from, to]
    shown.current?.pages.want(from, to, moving)
  }, [])

  return {
    rowAt: (index) => shown.current?.pages.row(index),
    indexOf: (key) => shown.current?.pages.indexOf(key) ?? -1,
    kept: () => shown.current?.pages.kept() ?? [],
    failure,
    failureAt: (index) => shown.current?.pages.failureAt(index),
    total: shown.current?.total ?? null,
    version,
    want,
    retry: useCallback(() => {
      setFailure(undefined)
      if (shown.current === held.current && shown.current !== null) shown.current.pages.retry()
      else setEpoch((before) => before + 1)
    }, []),
    reload: useCallback(() => setEpoch((before) => before + 1), []),
    replace: useCallback(
      (key, record) => shown.current?.pages.replace(key, (before) => ({ ...before, ...record })),
      []
    ),
    countExactly: useCallback(() => {
      const current = shown.current
      if (current === null) return
      resourceClient(resource.name).list({
        ...parameters,
        fields: resource.model.primaryKey.slice(0, 1),
        expand: undefined,
        page_size: 1,
        count: "exact"
      }).then((page) => {
        current.total = totalOf(page)
        changed()
      }, (error: unknown) => {
        noticeFailure(error)
        setFailure(error)
      })
    }, [parameters, resource, changed]),
    warning: shown.current?.warning ?? null,
    loading: shown.current === null && failure === undefined
  }
}
