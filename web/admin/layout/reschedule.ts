/**
 * Moving records to other days: one write of their dates on the condition of the version that is shown. The record stands on its new day at once, and goes back
 * with the reason where the service refuses.
 */

import { useRef, useState } from "react"
import { ProblemError } from "../../client/index.ts"
import { writingOf } from "../field/moment.ts"
import { problemText } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { say } from "../ground/toasts.tsx"
import { useLocale } from "../messages/locale.tsx"
import { type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { isolated } from "../model/plain.ts"
import { type DayFields, daysOf, formerOf, movedBy } from "./days.ts"
import type { DayReader } from "./reading.ts"
import { writeMoved } from "./written.ts"

interface RescheduleProps {
  readonly resource: Resource
  readonly fields: DayFields
  readonly reader: DayReader<AnyRecord>
  /** What is asked of records. */
  readonly needs: { readonly fields: readonly string[]; readonly expand: readonly string[] }
  /** A record stands on a day. */
  readonly onPlaced: (key: string, day: string) => void
}

/** Whether a record may be moved: only where each of its dates may be changed. */
export const canReschedule = (resource: Resource, { end, start }: DayFields, record: AnyRecord): boolean =>
  resource.may.update && record.permissions?.update !== false &&
  [start, ...(end === null || record[end.name] == null ? [] : [end])].every(({ name, writable }) =>
    writable.update && record.permissions?.fields?.[name] !== "read"
  )

export const useReschedule = (props: RescheduleProps) => {
  const { format, t } = useLocale()
  const [moves, setMoves] = useState<ReadonlyMap<string, AnyRecord>>(new Map())
  const latest = useRef(props)
  latest.current = props
  const { fields, resource } = props
  const writing = writingOf(format.locale)
  const dayOf = (record: AnyRecord): string | undefined => daysOf(record, fields, writing.day)?.first

  const place = (key: string, record: AnyRecord | null): void =>
    setMoves((before) => {
      const next = new Map(before)
      if (record === null) next.delete(key)
      else next.set(key, record)
      return next
    })

  const run = async (
    key: string,
    record: AnyRecord,
    values: { readonly [field: string]: unknown },
    undoes: boolean
  ): Promise<void> => {
    const { needs, onPlaced, reader } = latest.current
    const from = dayOf(record)
    if (from === undefined) return
    const title = isolated(titleOf(resource, record))
    const next = { ...record, ...values }
    const to = dayOf(next) ?? from
    place(key, next)
    reader.recount(from, to)
    onPlaced(key, to)
    try {
      const { theirs, written } = await writeMoved({ resource, key, record, values, ...needs })
      place(key, null)
      if (theirs !== undefined) {
        const now = dayOf(theirs)
        reader.recount(to, now ?? from)
        reader.put(theirs)
        onPlaced(key, now ?? from)
        say(t.layout.movedByOther(title, now === undefined ? t.calendar.noDay : format.date(now)))
      } else {
        reader.put(written)
        const undo = () => run(key, written, formerOf(record, values), true)
        say(undoes ? t.shell.undone : t.layout.moved(title, format.date(to)), undoes ? {} : { undo })
      }
      void reader.refresh(new Set([key]))
    } catch (error) {
      noticeFailure(error)
      place(key, null)
      reader.recount(to, from)
      onPlaced(key, from)
      const own = error instanceof ProblemError ? Object.values(error.fields)[0] : undefined
      say(t.layout.notMoved(title, own ?? problemText(error, t)), { tone: "bad" })
    }
  }

  const move = (key: string, record: AnyRecord, days: number): void => {
    const values = movedBy(record, fields, days, writing)
    if (values !== null) return void run(key, record, values, false)
    say(t.layout.notMoved(isolated(titleOf(resource, record)), t.calendar.noDay), { tone: "bad" })
  }

  return {
    /** Records on their way to another day, by their keys. */
    moves,
    /** Moves a record so many days. */
    move
  }
}
