/**
 * The rows of a list for one filter and order: pages by number, the number of rows, and warnings of the service. A change of filter or order starts
 * again. The old rows stay on the screen until the new ones arrive.
 */

import {
  type KeyboardEvent,
  type ReactNode,
  startTransition,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState
} from "react"
import { ConnectionError } from "../../client/index.ts"
import type { GridHead } from "../grid/head-line.tsx"
import { Pages } from "../grid/pages.ts"
import type { CellPlace } from "../grid/place.ts"
import { firstPageIsThere } from "../ground/first-page.ts"
import { noticeFailure } from "../ground/session.ts"
import { keyOf, keyPartsOf, type Resource } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import type { RowStretch } from "../range/lines.ts"
import { pageSize, parametersOf, type RowsQuery } from "./asked.ts"
import { takeRows } from "./first-rows.ts"
import { atLeast, type Total, totalAfter, totalOf } from "./total.ts"

/** How old the data of a materialized view is: times, or null where they are not known. */
export interface Age {
  readonly at: string | null
  readonly failedAt: string | null
}

/** The heads of groups among the lines of a list. Rows are then counted as lines, heads among them. */
export interface GroupLines {
  /** The number of lines. */
  readonly count: number
  /** The rows among lines, first to last (exclusive). */
  readonly stretches: (first: number, last: number) => readonly RowStretch[]
  /** The head at a line; null: a row. */
  readonly headAt: (line: number) => GridHead | null
  /** How deep rows stand: 2 below one head, 3 below two. */
  readonly level: number
  /** Handles a key on a cell. True if it is handled. `isFirst`: the cell is the first one of its row. */
  readonly onKey: (event: KeyboardEvent, at: CellPlace, isFirst: boolean) => boolean
  /** The groups of a line in words. */
  readonly labelAt: (line: number) => string
  /** Where a row stands within its group. */
  readonly placeAt: (line: number) => GroupPlace | null
  /** Whether a record belongs to another group than the one that shows it. */
  readonly isElsewhere: (record: AnyRecord) => boolean
  /** What the list is grouped by, to be changed. */
  readonly bar: ReactNode
  /** What helps where groups are refused. */
  readonly help: ReactNode
}

export interface GroupPlace {
  /** The condition for the records of the group. */
  readonly condition: string
  readonly index: number
  readonly count: number
  /** Whether the count is an estimate. */
  readonly about: boolean
}

export interface ListRows {
  readonly rowAt: (index: number) => AnyRecord | undefined
  readonly indexOf: (key: string) => number
  readonly inMemory: () => Iterable<AnyRecord>
  readonly failure: unknown
  readonly failureAt: (index: number) => unknown
  readonly total: Total | null
  readonly want: (first: number, last: number, moving: boolean) => void
  readonly retry: () => void
  /** Reads all rows again, beginning with the visible ones. */
  readonly reload: () => void
  readonly replace: (key: string, record: AnyRecord) => void
  /** Puts new values into the rows that are held, by their keys. */
  readonly replaceAll: (records: ReadonlyMap<string, AnyRecord>) => void
  /** What the shown rows were read with, for reading others of the same list. */
  readonly parameters: { readonly filter?: string }
  /** Another value once the rows were read anew. */
  readonly source: unknown
  /** Reads a record again, with those that it leads to. */
  readonly renew: (key: string) => Promise<void>
  /** Drops the page of a record, so that it is read again when it becomes visible. False if the page is visible now. */
  readonly forget: (key: string) => boolean
  /** Null where nothing can count more exactly. */
  readonly countExactly: (() => void) | null
  /** The warning of the first answer (`X-Service-Warning`), or null. */
  readonly warning: string | null
  /** Of a materialized view, as the first answer tells it; null elsewhere. */
  readonly age: Age | null
  /** True until the first answer arrives. */
  readonly loading: boolean
  /** Where the list is grouped. */
  readonly groups?: GroupLines
}

export const mostPages = 60
/** The answer. Throws if it holds no records, as when a proxy has answered in the service's place. */
export const checked = (page: AnyPage): AnyPage => {
  if (!Array.isArray(page?.items) || page.items.some((item) => typeof item !== "object" || item === null)) {
    throw new ConnectionError(null, "The answer is not the service's.")
  }
  return page
}

interface Held {
  readonly parameters: { readonly filter?: string }
  readonly pages: Pages<AnyRecord>
  total: Total | null
  /** So many rows were seen, and more follow. */
  least: number
  warning: string | null
  age: Age | null
}

const ageOf = ({ refresh_failed_at: failedAt, refreshed_at: at }: AnyPage): Age | null =>
  at === undefined ? null : { at, failedAt: failedAt ?? null }

/** The exact number of rows. */
const countRows = async (
  resource: Resource,
  parameters: ReturnType<typeof parametersOf>,
  signal?: AbortSignal
): Promise<Total> =>
  totalOf(
    await resourceClient(resource.name).list({
      ...parameters,
      fields: resource.model.primaryKey.slice(0, 1),
      expand: undefined,
      page_size: 1,
      count: "exact"
    }, signal === undefined ? {} : { signal })
  )

/** Puts new values into the rows that are held. */
const putAll = (held: Held | null, records: ReadonlyMap<string, AnyRecord>): void =>
  held?.pages.replaceAll((before, key) => {
    const now = records.get(key)
    return now === undefined ? undefined : { ...before, ...now }
  })

/** What is known of the shown rows besides themselves. `parameters`: those of the rows to come. */
const shownOf = (held: Held | null, parameters: { readonly filter?: string }) => ({
  total: held?.total ?? null,
  parameters: held?.parameters ?? parameters,
  source: held,
  warning: held?.warning ?? null,
  age: held?.age ?? null
})

/** Reads the first page, or takes over one that was asked for already: rows that are there are drawn together with the list, before it is painted. */
const begunOr = async (
  resource: Resource,
  parameters: ReturnType<typeof parametersOf>,
  signal: AbortSignal,
  arrive: (page: AnyPage) => void
): Promise<void> => {
  const begun = takeRows(resource, parameters)
  if (begun?.page !== undefined) return arrive(begun.page)
  // `:search` takes filters of any length, and its filters appear in no log of addresses.
  const rows = resourceClient(resource.name)
  arrive(await (begun?.answer ?? rows.search({ ...parameters, page_size: pageSize }, { signal })))
}

export const useRows = (resource: Resource, query: RowsQuery, initialRow: number): ListRows => {
  // Rows are read when they are drawn. This only makes the list be drawn again.
  const [, changed] = useReducer((turn: number) => turn + 1, 0)
  const [epoch, setEpoch] = useState(0)
  const [failure, setFailure] = useState<unknown>(undefined)
  const held = useRef<Held | null>(null)
  const view = useRef<Held | null>(null)
  const sight = useRef<readonly [number, number]>([initialRow, initialRow + 40])
  const dragging = useRef(false)
  const text = JSON.stringify([resource.name, query])

  const parameters = useMemo(() => parametersOf(query), [text])

  // Before the page is painted, which takes as long as the service takes for the rows.
  useLayoutEffect(() => {
    const rows = resourceClient(resource.name)
    const ending = new AbortController()
    const { signal } = ending
    const fail = (error: unknown): void => {
      if (signal.aborted) return
      noticeFailure(error)
      setFailure(error)
      firstPageIsThere()
    }
    const pages = new Pages<AnyRecord>({
      size: pageSize,
      most: mostPages,
      keyOf: (record) => keyOf(resource, record) ?? record.etag,
      changed: () => {
        const error = pages.failure
        if (error !== undefined) fail(error)
        // While the thumb is dragged, its next movement comes first: rows that arrive are for a place that it has passed.
        if (dragging.current) startTransition(changed)
        else changed()
      },
      reached: (rows, bound) => {
        const before = current.total
        if (before === null) return
        if (bound === "more") current.least = Math.max(current.least, rows)
        current.total = totalAfter(before, rows, bound, pageSize)
        // The estimate was wrong. The list goes on as far as it is known, and the service counts meanwhile.
        if (current.total !== before && current.total.accuracy === "estimate") countOnce()
      },
      load: async (start, size, ended) => {
        const page = checked(
          "position" in start
            ? await rows.seek(start.position, { ...parameters, page_size: size }, { signal: ended })
            : await rows.list({ ...parameters, page_size: size, page_token: start.token }, { signal: ended })
        )
        return { items: page.items, next: page.next_page_token, previous: page.prev_page_token ?? null }
      }
    })
    const current: Held = { parameters, pages, total: null, least: 0, warning: null, age: null }
    let counted = false
    const countOnce = (): void => {
      if (counted) return
      counted = true
      // Whoever may not have it counted goes on with what is known.
      countRows(resource, parameters, signal).then((total) => {
        current.total = total
        changed()
      }, () => undefined)
    }
    const countLater = async (wait: number): Promise<void> => {
      // While the service counts, the estimate is only a lower bound. It is requested again, at growing intervals.
      await new Promise((done) => setTimeout(done, wait))
      if (signal.aborted || current.total?.accuracy !== "counting") return
      const page = await rows.list({
        ...parameters,
        fields: resource.model.primaryKey.slice(0, 1),
        expand: undefined,
        page_size: 1
      }, { signal })
      current.total = atLeast(totalOf(page), current.least, pageSize)
      changed()
      if (current.total.accuracy === "counting" && wait < 20_000) await countLater(wait * 2)
    }
    held.current = current
    const arrive = (answer: AnyPage): void => {
      if (signal.aborted) return
      const page = checked(answer)
      current.total = totalOf(page)
      current.warning = page.warning ?? null
      current.age = ageOf(page)
      view.current?.pages.close()
      view.current = current
      setFailure(undefined)
      current.pages.put(0, { items: page.items, next: page.next_page_token, previous: null })
      firstPageIsThere()
      if (current.total.accuracy === "counting") countLater(700).catch(() => undefined)
      const [from, to] = sight.current
      const last = Math.min(to, current.total.count)
      if (last > pageSize && from < current.total.count) current.pages.want(from, last, false)
    }
    begunOr(resource, parameters, signal, arrive).catch(fail)
    return () => {
      ending.abort()
      if (held.current === current && view.current !== current) current.pages.close()
    }
  }, [parameters, epoch, resource, changed])

  useEffect(() => () => view.current?.pages.close(), [])

  const want = useCallback((from: number, to: number, moving: boolean) => {
    sight.current = [from, to]
    dragging.current = moving
    view.current?.pages.want(from, to, moving)
  }, [])

  return {
    rowAt: (index) => view.current?.pages.row(index),
    indexOf: (key) => view.current?.pages.indexOf(key) ?? -1,
    inMemory: () => view.current?.pages.rows() ?? [],
    failure,
    failureAt: (index) => view.current?.pages.failureAt(index),
    want,
    retry: useCallback(() => {
      setFailure(undefined)
      if (view.current === held.current && view.current !== null) view.current.pages.retry()
      else setEpoch((before) => before + 1)
    }, []),
    reload: useCallback(() => setEpoch((before) => before + 1), []),
    replace: useCallback(
      (key, record) => view.current?.pages.replace(key, (before) => ({ ...before, ...record })),
      []
    ),
    replaceAll: useCallback((records) => putAll(view.current, records), []),
    renew: useCallback(async (key) => {
      const record = await resourceClient(resource.name).get(keyPartsOf(key), {
        fields: parameters.fields,
        expand: parameters.expand
      })
      view.current?.pages.replace(key, (before) => ({ ...before, ...record }))
    }, [parameters, resource]),
    forget: useCallback((key) => view.current?.pages.forget(key) ?? true, []),
    countExactly: useCallback(() => {
      const current = view.current
      if (current === null) return
      countRows(resource, parameters).then((total) => {
        current.total = total
        changed()
      }, (error: unknown) => {
        noticeFailure(error)
        setFailure(error)
      })
    }, [parameters, resource, changed]),
    ...shownOf(view.current, parameters),
    loading: view.current === null && failure === undefined
  }
}
