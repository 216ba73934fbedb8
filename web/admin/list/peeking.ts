/**
 * The record that is shown beside its list: which one it is, and how it is opened, walked and closed. The address has its key as `peek`, so that Back closes
 * it. Whoever walks fast passes many records: the address and the reads wait until the walk rests.
 */

import { type ComponentType, useEffect, useRef, useState } from "react"
import type { CellPlace } from "../grid/place.ts"
import { currentPlace, go, goBack, isGuarded, mayLeave, remember, setQuery, usePlace } from "../ground/location.ts"
import { useRoomBeside } from "../ground/narrow.ts"
import { addressOf, isKeyText, keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { addressOfList } from "./left.ts"
import { type Opening, openRecord, type Pressed, rememberPlace } from "./open.ts"

/** Milliseconds without a step until a walk rests. */
const restMs = 150

/** What the panel is told, and whom it tells. */
export interface PeekProps {
  readonly resource: Resource
  readonly keyText: string
  /** The record as the list has it, which is shown until the whole record is read. Undefined where the list has not read it. */
  readonly row: AnyRecord | undefined
  /** The number of its row, or -1 where the list does not know it. */
  readonly index: number
  /** The number of records, as a text; and whether this is the last one. */
  readonly total: string
  readonly last: boolean
  /** Whether the walk rests here, so that the record is read. */
  readonly rests: boolean
  /** When a cell of the list was saved last. */
  readonly savedAt: number | null
  readonly onWalk: (step: 1 | -1) => void
  /** Opens the record as a page. */
  readonly onOpen: (event?: Pressed) => void
  readonly onClose: () => void
  /** Moves the focus to the row. */
  readonly onList: () => void
  /** A version of the record was read or written. */
  readonly onRecord: (record: AnyRecord) => void
  /** The list has one record more or fewer. */
  readonly onChanged: () => void
}

/** The panel. Its code is loaded when it is first shown, and it comes from outside: it is the record's, which stands above lists. */
export type Panel = ComponentType<PeekProps>

export interface Peeking {
  /** The key of the shown record, or null. */
  readonly key: string | null
  /** The number of its row, or -1. */
  readonly index: number
  readonly rests: boolean
  /** Shows a record beside the list; without room for it, as a page. */
  readonly show: (record: AnyRecord, index: number) => void
  /** As `show`; closes the panel if it shows this record. */
  readonly toggle: (record: AnyRecord, index: number) => void
  /** The active cell is another one. The panel follows. */
  readonly follow: (place: CellPlace) => void
  readonly walk: (step: 1 | -1) => void
  readonly close: () => void
  /** Opens a record as a page. What was typed into the panel goes along. */
  readonly open: (record: AnyRecord, index: number, event?: Pressed) => void
}

/** The key in the address, if it can be one of a record's own address. */
const keyIn = (query: URLSearchParams): string | null => {
  const text = query.get("peek")
  return text === null || text === "new" || /[\s/?#]/.test(text) || !isKeyText(text) ? null : text
}

/** The focus returns to the list when the panel goes that had it. */
const useReturn = ({ handle }: Opening, shown: boolean): void =>
  useEffect(() => {
    if (!shown) return
    return () => {
      if (document.activeElement === document.body) handle.current?.focus({})
    }
  }, [shown, handle])

/** Steps over records that are not read: the one that is shown meanwhile, and the end of the walk. */
const useSteps = (asked: string | null, of: Opening) => {
  const [step, setStep] = useState<{ readonly from: string; readonly key: string } | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return {
    /** Null at rest. An address that has changed meanwhile wins. */
    passing: step !== null && step.from === asked ? step.key : null,
    rests: step === null,
    pass: (from: string, key: string, row: number): void => {
      setStep({ from, key })
      clearTimeout(timer.current)
      timer.current = setTimeout(() => {
        setStep(null)
        if (keyIn(currentPlace().query) !== from) return
        rememberPlace(of, row)
        setQuery({ peek: key })
      }, restMs)
    }
  }
}

/** On a narrow window the record of the address is opened as a page. */
const useNoRoom = ({ resource }: Opening, asked: string | null, room: boolean): void => {
  useEffect(() => {
    if (asked === null || room) return
    const { path, query } = currentPlace()
    go(addressOf(resource, asked), { replace: true, force: true, memory: { list: addressOfList(path, query) } })
  }, [asked, room, resource])
}

export const usePeek = (of: Opening): Peeking => {
  const { handle, resource, rows } = of
  const { query } = usePlace()
  const room = useRoomBeside()
  const asked = keyIn(query)
  const { pass, passing, rests } = useSteps(asked, of)
  const key = asked === null || !room ? null : passing ?? asked
  /** The row to follow to, once its record is there. */
  const wanted = useRef<number | null>(null)
  const found = useRef(-1)
  const placed = useRef(false)
  useNoRoom(of, asked, room)
  useReturn(of, key !== null)

  const has = (row: number): boolean => {
    const record = rows.rowAt(row)
    return record !== undefined && keyOf(resource, record) === key
  }
  if (key === null) found.current = -1
  else if (!has(found.current)) found.current = rows.indexOf(key)

  const ask = async (next: string): Promise<void> => {
    if (await mayLeave(currentPlace().path)) setQuery({ peek: next })
    else if (found.current >= 0) handle.current?.focus({ row: found.current })
  }
  const advance = (): void => {
    const row = wanted.current
    const record = row === null ? undefined : rows.rowAt(row)
    if (row === null || record === undefined || asked === null || key === null) return
    wanted.current = null
    const next = keyOf(resource, record)
    if (next === null || next === key) return
    if (isGuarded()) void ask(next)
    else pass(asked, next, row)
  }
  // A row may come later than the active cell.
  useEffect(advance)
  // The row of an address that somebody was sent is the active one, if it is among the first.
  useEffect(() => {
    if (placed.current || rows.total === null) return
    placed.current = true
    if (found.current >= 0) handle.current?.show({ row: found.current })
  })

  const open: Peeking["open"] = (record, index, event) => {
    const text = keyOf(resource, record)
    if (text !== null) openRecord(of, text, index, event, text === key)
  }
  const show: Peeking["show"] = (record, index) => {
    const next = keyOf(resource, record)
    if (next === null || next === key) return
    if (!room) return open(record, index)
    if (key !== null) {
      wanted.current = index
      return advance()
    }
    rememberPlace(of, index)
    setQuery({ peek: next }, { replace: false })
    remember({ peeked: currentPlace().entry })
  }
  const close = (): void => {
    const { entry, memory, path, query: now } = currentPlace()
    // Back to the entry that it was opened from, so that the way back has no page twice.
    if (memory["peeked"] === entry) goBack()
    else go(addressOfList(path, now), { replace: true, memory })
  }
  return {
    key,
    index: found.current,
    rests,
    show,
    open,
    close,
    toggle: (record, index) => {
      if (key !== null && keyOf(resource, record) === key) close()
      else show(record, index)
    },
    follow: ({ row }) => {
      wanted.current = row
      advance()
    },
    walk: (step) => {
      let row = (found.current >= 0 ? found.current : handle.current?.place().row ?? 0) + step
      // Heads of groups are passed.
      while (row >= 0 && rows.groups != null && rows.groups.headAt(row) !== null) row += step
      if (row < 0) return
      // Whoever is in the panel stays there.
      if (document.activeElement?.closest("[data-peek]") == null) handle.current?.focus({ row })
      else handle.current?.show({ row })
    }
  }
}
