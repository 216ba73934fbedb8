/**
 * Changes the order of records by drag and by keyboard. It is available if the list is sorted by an integer that the caller may write, and shows all of
 * its records. A save is one write of all keys with their versions.
 */

import { type KeyboardEvent, type ReactNode, useState } from "react"
import type { CellPlace } from "../grid/grid.tsx"
import type { GridProps } from "../grid/grid.tsx"
import { sayProblem } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { useMessages } from "../messages/locale.tsx"
import { keyOf, keyPartsOf, type Resource } from "../model/catalogue.ts"
import { anyBatch, type AnyRecord } from "../model/client.ts"
import style from "./list.module.css"
import type { ListRows } from "./rows.ts"
import type { OrderKey } from "./state.ts"

/** The maximum number of records of one reorder. */
const most = 500

export interface Reorder {
  /** The field with the position, or null if the list cannot be reordered. */
  readonly field: string | null
  readonly begin: () => void
  readonly rowAt: (index: number) => AnyRecord | undefined
  readonly version: number
  readonly drag: GridProps<AnyRecord>["drag"]
  readonly onKey: (event: KeyboardEvent, at: CellPlace) => boolean
  readonly bar: ReactNode
}

export const useReorder = (resource: Resource, order: readonly OrderKey[], rows: ListRows, total: number): Reorder => {
  const t = useMessages()
  const [moved, setMoved] = useState<readonly AnyRecord[] | null>(null)
  const [version, setVersion] = useState(0)
  const [from, setFrom] = useState<number | null>(null)
  const [over, setOver] = useState<number | null>(null)
  const [busy, setBusy] = useState(false)
  const [first] = order
  const target = first === undefined ? undefined : resource.fields.get(first.field)
  const field = target !== undefined && order.length === 1 && !first!.descending && target.kind === "integer" &&
      target.relation === undefined && target.writable.update && resource.may.update && total > 1 && total <= most
    ? target.name
    : null

  const all = (): readonly AnyRecord[] | null => {
    const records = Array.from({ length: total }, (_, index) => rows.rowAt(index))
    return records.every((record) => record !== undefined) ? records : null
  }
  const put = (records: readonly AnyRecord[] | null): void => {
    setMoved(records)
    setVersion((before) => before + 1)
  }
  const move = (start: number, end: number): void => {
    if (moved === null || end < 0 || end >= moved.length) return
    put(moved.toSpliced(start, 1).toSpliced(end, 0, moved[start]!))
  }
  const save = async (): Promise<void> => {
    if (moved === null || field === null) return
    setBusy(true)
    try {
      const keys = moved.map((record) => keyOf(resource, record)!)
      const batch = anyBatch()
      batch.reorder(
        resource.name,
        field,
        keys.map((key) => keyPartsOf(key)),
        Object.fromEntries(moved.map((record, at) => [keys[at]!, record.etag]))
      )
      await batch.send({ idempotencyKey: true })
      put(null)
      rows.reload()
    } catch (error) {
      noticeFailure(error)
      sayProblem(error, t)
    } finally {
      setBusy(false)
    }
  }

  return {
    field,
    version,
    begin: () => put(all()),
    rowAt: (index) => moved === null ? rows.rowAt(index) : moved[index],
    drag: moved === null ? undefined : {
      from,
      over,
      onStart: setFrom,
      onOver: setOver,
      onDrop: () => {
        if (from !== null && over !== null) move(from, over)
        setFrom(null)
        setOver(null)
      },
      onEnd: () => {
        setFrom(null)
        setOver(null)
      }
    },
    onKey: (event, at) => {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
      if (moved === null || !event.altKey || step === 0) return false
      move(at.row, at.row + step)
      return true
    },
    bar: moved === null ? null : (
      <div className={style.warning} role="status">
        <span className="grow">{t.list.reorderHint}</span>
        <button type="button" className="btn quiet" onClick={() => put(null)}>{t.shell.cancel}</button>
        <button type="button" className="btn primary" disabled={busy} onClick={() => void save()}>
          {t.list.reorderSave}
        </button>
      </div>
    )
  }
}
