/**
 * A list in groups: its lines are the heads of groups and the rows of those that are not folded. It has the members of a list of rows, so that selecting, editing,
 * opening and live changes work as in any list.
 */

import { type ReactNode, type RefObject, useCallback, useLayoutEffect, useMemo, useRef } from "react"
import type { GridHandle } from "../grid/grid.tsx"
import { keyPartsOf } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { valueAt } from "../model/paths.ts"
import { type GroupKey, partOf } from "./group-heads.ts"
import { useGroupLines } from "./group-lines.tsx"
import type { GroupSource } from "./group-source.ts"
import { groupOfValue } from "./group-time.ts"
import { type Line, type Lines, readFolds } from "./lines.ts"
import type { ListRows } from "./rows.ts"
import { type GroupedProps, useGroups } from "./use-groups.ts"

/** Whether the values of a record are those of a group, as far as they are there. */
const standsIn = (record: AnyRecord, id: string, keys: readonly GroupKey[]): boolean => {
  const parts = id.split("/")
  return keys.every(({ text, time }, at) => {
    const value = valueAt(record, time?.path.text ?? text)
    return value === undefined || partOf(time === null ? value : groupOfValue(time, value)) === parts[at]
  })
}

/** Keeps the first line in sight where it is when lines above it come or go, unless somebody folds. */
const useAnchor = (
  source: GroupSource<AnyRecord> | undefined,
  handle: RefObject<GridHandle | null>,
  folded: string
): () => void => {
  const top = useRef<{ readonly line: number; readonly at: Line | undefined } | null>(null)
  /** The lines that the grid stands on. */
  const known = useRef<{ readonly lines: Lines | undefined; readonly folded: string }>({ lines: undefined, folded })
  const latest = useRef(source)
  latest.current = source
  const hold = useCallback((): void => {
    const lines = latest.current?.lines
    if (lines === undefined || lines !== known.current.lines) return
    const line = handle.current?.seen()[0] ?? 0
    top.current = { line, at: lines.at(line) }
  }, [handle])
  useLayoutEffect(() => {
    const lines = source?.lines
    if (lines === undefined || lines === known.current.lines) return
    const before = top.current
    const folds = known.current.folded !== folded
    known.current = { lines, folded }
    const at = before?.at
    if (!folds && before !== null && at !== undefined && at.of !== "more") {
      const now = at.of === "row" ? lines.lineOfRow(at.head.id, at.index) : lines.lineOf(at.head.id)
      const active = handle.current?.place().row ?? -1
      if (now >= 0 && now !== before.line) {
        handle.current?.scrollTo(now)
        if (active >= before.line) handle.current?.show({ row: active + now - before.line })
      }
    }
    hold()
  })
  return hold
}

const useGroupedRows = (props: GroupedProps): ListRows => {
  const { handle, layout, resource } = props
  const groups = useGroups(props)
  const { again, failure, keys, parameters, setEpoch, setFailure, shown } = groups
  const held = shown.current
  const foldedText = layout.folded?.join() ?? ""
  const folds = useMemo(() => readFolds(layout.folded), [foldedText])
  const lines = held?.source.arrange(held.found.heads, folds, held.found.more)
  const heads = useGroupLines({ groups, folds, lines, handle, layout, resource })
  const holdTop = useAnchor(held?.source, handle, foldedText)

  const replaceAll = useCallback((records: ReadonlyMap<string, AnyRecord>): void => {
    const current = shown.current
    if (current === null) return
    current.source.replaceAll((before, key, head) => {
      const record = records.get(key)
      if (record === undefined) return undefined
      const now = { ...before, ...record }
      if (!standsIn(now, head, keys)) current.elsewhere.add(now)
      return now
    })
    again.current()
  }, [keys, shown, again])

  return {
    rowAt: (index) => shown.current?.source.row(index),
    indexOf: (key) => shown.current?.source.indexOf(key) ?? -1,
    inMemory: () => shown.current?.source.rows() ?? [],
    failure,
    failureAt: (index) => shown.current?.source.failureAt(index),
    total: held?.found.total ?? null,
    want: useCallback((first, last, moving) => {
      holdTop()
      shown.current?.source.want(first, last, moving)
    }, [shown, holdTop]),
    retry: useCallback(() => {
      setFailure(undefined)
      if (shown.current?.source.failure === undefined) setEpoch((before) => before + 1)
      else shown.current.source.retry()
    }, [shown, setEpoch, setFailure]),
    reload: useCallback(() => setEpoch((before) => before + 1), [setEpoch]),
    replace: useCallback((key, record) => replaceAll(new Map([[key, record]])), [replaceAll]),
    replaceAll,
    parameters,
    // Lines that stand elsewhere are other ones for a range of cells.
    source: useMemo(() => ({}), [held?.source, lines?.shape]),
    renew: useCallback(async (key) => {
      const record = await resourceClient(resource.name).get(keyPartsOf(key), {
        fields: parameters.fields,
        expand: parameters.expand
      })
      replaceAll(new Map([[key, record]]))
    }, [parameters, replaceAll, resource]),
    forget: useCallback((key) => shown.current?.source.forget(key) ?? true, [shown]),
    countExactly: null,
    warning: null,
    age: null,
    loading: held === null && failure === undefined,
    groups: heads
  }
}

/** The rows of a list in groups, for the part that draws them. */
export const GroupedRows = (
  { children, ...props }: GroupedProps & { readonly children: (rows: ListRows) => ReactNode }
): ReactNode => children(useGroupedRows(props))
