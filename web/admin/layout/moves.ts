/**
 * Moving cards: a write of one field on the condition of the version that is shown. The card stands in its new column at once, and goes back with the reason
 * where the service refuses. What somebody else changed meanwhile is kept; where they moved the card themselves, theirs counts.
 */

import { useRef, useState } from "react"
import { ProblemError } from "../../client/index.ts"
import { problemText } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { say } from "../ground/toasts.tsx"
import { useMessages } from "../messages/locale.tsx"
import { type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { isolated } from "../model/plain.ts"
import { columnId } from "./columns.ts"
import { type Moves, withMove } from "./moved.ts"
import { writeMoved } from "./written.ts"

export interface Moving {
  readonly moves: Moves<AnyRecord>
  readonly setMoves: (make: (before: Moves<AnyRecord>) => Moves<AnyRecord>) => void
  /** Moves a card from the column where it stands. */
  readonly move: (
    key: string,
    record: AnyRecord,
    at: string,
    to: { readonly id: string; readonly value: unknown }
  ) => void
}

interface MovingProps {
  readonly resource: Resource
  readonly by: string
  readonly fields: readonly string[]
  readonly expand: readonly string[]
  readonly labelOf: (id: string) => string
  /** The record as it is now, for the rows that have it. */
  readonly onWritten: (key: string, record: AnyRecord) => void
  /** A card stands in a column. */
  readonly onPlaced: (key: string, column: string) => void
}

export const useMoves = (props: MovingProps): Moving => {
  const t = useMessages()
  const w = t.layout
  const [moves, setMoves] = useState<Moves<AnyRecord>>(new Map())
  const latest = useRef(props)
  latest.current = props
  const { by, resource } = props

  const place = (key: string, record: AnyRecord, at: string, to: string, saving: boolean): void => {
    latest.current.onWritten(key, record)
    setMoves((before) => withMove(before, key, { at, to, record, saving }))
    latest.current.onPlaced(key, to)
  }

  const run = async (
    key: string,
    record: AnyRecord,
    at: string,
    to: { readonly id: string; readonly value: unknown },
    undoes: boolean
  ): Promise<void> => {
    const title = isolated(titleOf(resource, record))
    place(key, { ...record, [by]: to.value }, at, to.id, true)
    try {
      const { expand, fields } = latest.current
      const { theirs, written } = await writeMoved({
        resource,
        key,
        record,
        values: { [by]: to.value },
        fields,
        expand
      })
      if (theirs !== undefined) {
        const now = columnId(theirs[by])
        place(key, theirs, to.id, now, false)
        say(w.movedByOther(title, latest.current.labelOf(now)))
        return
      }
      place(key, written, at, to.id, false)
      if (undoes) return void say(t.shell.undone)
      say(w.moved(title, latest.current.labelOf(to.id)), {
        undo: () => run(key, written, to.id, { id: at, value: record[by] }, true)
      })
    } catch (error) {
      noticeFailure(error)
      place(key, record, to.id, at, false)
      const own = error instanceof ProblemError ? Object.values(error.fields)[0] : undefined
      say(w.notMoved(title, own ?? problemText(error, t)), { tone: "bad" })
    }
  }

  return { moves, setMoves, move: (key, record, at, to) => void run(key, record, at, to, false) }
}
