/**
 * Editing a cell in place. Enter, F2 or a letter begins, Enter and Tab save, Escape cancels. A save names the version that was read. If somebody else
 * saved meanwhile, changes of other fields are merged. For the same field, the user decides. Typed text stays until it is saved.
 */

import { type ReactNode, type RefObject, useRef, useState } from "react"
import { ConnectionError, ProblemError } from "../../client/index.ts"
import type { Draft } from "../field/parse.ts"
import { textOf } from "../field/text.ts"
import { useReader } from "../field/value.tsx"
import type { Column } from "../grid/columns.ts"
import type { CellPlace, GridHandle } from "../grid/grid.tsx"
import { useLastMaker } from "../ground/makers.ts"
import { Dialog } from "../ground/parts.tsx"
import { problemText, sayProblem } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { say } from "../ground/toasts.tsx"
import { useMessages } from "../messages/locale.tsx"
import { fieldLabel, keyOf, keyPartsOf, type Resource, toOneOf } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { fixedBy, fixedText } from "../range/fixed.ts"
import type { ListRows } from "./rows.ts"

interface Conflict {
  readonly key: string
  readonly field: string
  readonly mine: unknown
  readonly theirs: AnyRecord
}

export interface CellEditing {
  readonly place: CellPlace | null
  readonly typed: string | undefined
  /** Begins to edit a cell. False if the field cannot be written; a message then says why. */
  readonly begin: (record: AnyRecord, at: CellPlace, typed?: string) => boolean
  readonly commit: (
    record: AnyRecord,
    field: string,
    draft: Draft | null,
    then: "stay" | "down" | "next" | "before"
  ) => void
  readonly cancel: () => void
  readonly problem: string | null
  readonly isSaving: (key: string) => boolean
  readonly savedAt: number | null
  readonly conflict: ReactNode
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

export const useCellEditing = (
  resource: Resource,
  columns: readonly Column[],
  rows: ListRows,
  handle: RefObject<GridHandle | null>
): CellEditing => {
  const t = useMessages()
  const [place, setPlace] = useState<CellPlace | null>(null)
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const [problem, setProblem] = useState<string | null>(null)
  const [saving, setSaving] = useState<ReadonlySet<string>>(new Set())
  const [savedAt, setSavedAt] = useState<number | null>(null)
  const [conflict, setConflict] = useState<Conflict | null>(null)
  const begun = useRef<AnyRecord | null>(null)

  const mark = (key: string, into: boolean): void =>
    setSaving((before) => {
      const next = new Set(before)
      if (into) next.add(key)
      else next.delete(key)
      return next
    })

  const leave = (then: "stay" | "down" | "next" | "before", at: CellPlace): void => {
    setPlace(null)
    setTyped(undefined)
    setProblem(null)
    handle.current?.focus({
      row: at.row + (then === "down" ? 1 : 0),
      column: at.column + (then === "next" ? 1 : then === "before" ? -1 : 0)
    })
  }

  /** Writes one value on the condition of `etag`, and returns the record as written. */
  const write = async (key: string, field: string, value: unknown, etag: string): Promise<AnyRecord> => {
    const written = await resourceClient(resource.name).update(keyPartsOf(key), { [field]: value }, { etag })
    rows.replace(key, written)
    setSavedAt(Date.now())
    // The answer has no related records, and the row those of the former value. Without a connection they stay until the row is read again.
    if (toOneOf(resource.model, field) !== undefined) rows.renew(key).catch(noticeFailure)
    return written
  }

  const offerUndo = (key: string, field: string, before: unknown, written: AnyRecord): void => {
    say(t.list.savedCell(fieldLabel(resource, field)), {
      undo: async () => {
        try {
          await write(key, field, before ?? null, written.etag)
          say(t.shell.undone)
        } catch (error) {
          sayProblem(error, t)
        }
      }
    })
  }

  const save = async (record: AnyRecord, key: string, field: string, value: unknown, at: CellPlace): Promise<void> => {
    mark(key, true)
    try {
      try {
        offerUndo(key, field, record[field], await write(key, field, value, record.etag))
      } catch (error) {
        if (!(error instanceof ProblemError) || error.status !== 412) throw error
        const theirs = await resourceClient(resource.name).get(keyPartsOf(key))
        // If somebody else changed other fields, both changes are kept. For the same field, the user has to choose.
        if (same(theirs[field], record[field])) {
          offerUndo(key, field, record[field], await write(key, field, value, theirs.etag))
        } else {
          rows.replace(key, theirs)
          if (!same(theirs[field], value)) setConflict({ key, field, mine: value, theirs })
        }
      }
    } catch (error) {
      noticeFailure(error)
      const own = error instanceof ProblemError ? error.fields[field] : undefined
      if (
        own !== undefined || error instanceof ConnectionError || (error instanceof ProblemError && error.status === 401)
      ) {
        // The cell opens again with the typed text.
        begun.current = record
        setTyped(typeof value === "string" ? value : JSON.stringify(value))
        setProblem(own ?? problemText(error, t))
        setPlace(at)
      } else sayProblem(error, t)
    } finally {
      mark(key, false)
    }
  }

  return {
    place,
    typed,
    problem,
    savedAt,
    isSaving: (key) => saving.has(key),
    begin: (record, at, text) => {
      const column = columns[at.column]
      if (column === undefined) return false
      const field = resource.fields.get(column.id)
      const fixed = fixedBy(resource, column.id, record)
      if (fixed !== null && (fixed !== "file" || field?.kind === "files")) {
        if (text === undefined && fixed !== "nameless") {
          say(fixed === "rule" ? t.list.notWritable : fixedText(fixed, resource, column.id, t))
        }
        return false
      }
      begun.current = record
      setTyped(text)
      setProblem(null)
      setPlace(at)
      return true
    },
    commit: (record, field, draft, then) => {
      const at = place
      const key = keyOf(resource, record)
      if (at === null || key === null) return
      if (draft !== null && draft.problem !== null) return setProblem(draft.problem)
      const from = begun.current ?? record
      leave(then, at)
      if (draft !== null && !same(draft.value, from[field])) void save(from, key, field, draft.value, at)
    },
    cancel: () => {
      if (place !== null) leave("stay", place)
    },
    conflict: conflict === null ? null : (
      <ConflictDialog
        resource={resource}
        conflict={conflict}
        onClose={() => setConflict(null)}
        onMine={() => {
          setConflict(null)
          mark(conflict.key, true)
          write(conflict.key, conflict.field, conflict.mine, conflict.theirs.etag)
            .then((written) => offerUndo(conflict.key, conflict.field, conflict.theirs[conflict.field], written))
            .catch((error: unknown) => {
              sayProblem(error, t)
            }).finally(() => mark(conflict.key, false))
        }}
      />
    )
  }
}

interface ConflictProps {
  readonly resource: Resource
  readonly conflict: Conflict
  readonly onClose: () => void
  readonly onMine: () => void
}

const ConflictDialog = ({ conflict, onClose, onMine, resource }: ConflictProps): ReactNode => {
  const t = useMessages()
  const reader = useReader()
  const who = useLastMaker(resource, conflict.key) ?? null
  const field = resource.fields.get(conflict.field)!
  const show = (value: unknown): string => textOf(resource, field, value, reader) || t.field.empty
  return (
    <Dialog
      title={fieldLabel(resource, conflict.field)}
      text={t.list.conflict(who)}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="btn" onClick={onClose}>
            {t.list.keepTheirs}: {show(conflict.theirs[conflict.field])}
          </button>
          <button type="button" className="btn primary" onClick={onMine}>
            {t.list.keepMine}: {show(conflict.mine)}
          </button>
        </>
      }
    />
  )
}
