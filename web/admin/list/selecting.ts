/** Selecting rows of a list, one by one, in ranges, or all that match. */

import { useRef, useState } from "react"
import { keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import type { ListRows } from "./rows.ts"
import { isSelected, nothing, type RecordSelection, withKeys } from "./selection.ts"

export interface Selecting {
  readonly selection: RecordSelection
  /** Whether anything is selected. */
  readonly some: boolean
  /** The selected records by their keys, as the list has shown them. A record that the list has not shown is absent. */
  readonly picked: ReadonlyMap<string, AnyRecord>
  readonly has: (record: AnyRecord) => boolean
  /** Selects a row or removes it from the selection. `range`: selects all rows from the last one to this. */
  readonly toggle: (record: AnyRecord, index: number, range: boolean) => void
  /** Selects all rows that match. */
  readonly all: () => void
  readonly clear: () => void
  readonly set: (selection: RecordSelection) => void
}

/** The key of a record, as the selection and the grid know it. */
export const rowKey = (resource: Resource, record: AnyRecord): string => keyOf(resource, record) ?? record.etag

/** `begin`: what was selected when the list was left. */
export const useSelecting = (
  resource: Resource,
  rows: ListRows,
  total: number,
  filter: string,
  begin: Pick<Selecting, "selection" | "picked"> | undefined
): Selecting => {
  const [selection, setSelection] = useState<RecordSelection>(begin?.selection ?? nothing)
  const anchor = useRef<number | null>(null)
  const picked = useRef(new Map<string, AnyRecord>(begin?.picked))
  const key = (record: AnyRecord): string => rowKey(resource, record)
  const has = (record: AnyRecord): boolean => isSelected(selection, key(record))
  return {
    selection,
    some: selection.of === "all" || selection.keys.size > 0,
    picked: picked.current,
    has,
    toggle: (record, index, range) => {
      const from = range && anchor.current !== null ? anchor.current : index
      const into = range ? true : !has(record)
      const keys: string[] = []
      for (let at = Math.min(from, index); at <= Math.max(from, index); at++) {
        const each = rows.rowAt(at)
        if (each === undefined) continue
        keys.push(key(each))
        picked.current.set(key(each), each)
      }
      if (!range) anchor.current = index
      setSelection(withKeys(selection, keys, into))
    },
    all: () => {
      const loaded = [...rows.inMemory()]
      for (const record of loaded) picked.current.set(key(record), record)
      setSelection(
        total <= loaded.length
          ? { of: "some", keys: new Set(loaded.map(key)) }
          : { of: "all", filter, except: new Set() }
      )
    },
    clear: () => setSelection(nothing),
    set: setSelection
  }
}
