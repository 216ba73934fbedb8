/** The progress and the refusals of a task, for dialogs and pages. */

import { useQueryClient } from "@tanstack/react-query"
import type { ReactNode } from "react"
import type { TaskRefusal } from "../../../core/domain/task/task.ts"
import { useApp } from "../ground/app.ts"
import { sayProblem } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { fieldLabel, labelOf } from "../model/catalogue.ts"
import { type Column, Table } from "../place/parts.tsx"
import { RefusedRecords } from "./refused.tsx"
import { saveAnswer } from "./save.ts"
import style from "./task.module.css"
import { cancelTask, isOver, isWorking, reportOf, type Task, taskKey } from "./tasks.ts"

const tones = {
  uploading: "info",
  uploaded: "info",
  checking: "info",
  checked: "info",
  running: "info",
  completed: "ok",
  cancelled: "warn",
  failed: "bad"
} as const

export const StateBadge = ({ task }: { readonly task: Task }): ReactNode => {
  const w = useMessages().task
  return <span className="badge" data-tone={tones[task.state]}>{w.states[task.state]}</span>
}

interface RefusalsProps {
  /** Name of the resource that was changed. */
  readonly resource: string
  readonly refusals: readonly TaskRefusal[]
  readonly total: number
  /** Whether there is a report with the others. A dry run has none. */
  readonly reported: boolean
}

/** The refusals: of an import by line and column, of a bulk change by reason. */
export const Refusals = ({ refusals, reported, resource, total }: RefusalsProps): ReactNode => {
  const w = useMessages().task
  const { format } = useLocale()
  const target = useApp().catalogue.resources.get(resource)
  if (refusals.length === 0) return null
  const records = refusals.flatMap(({ field, key, line, message }) =>
    line === null && key !== null ? [{ field, key, message }] : []
  )
  const lines = refusals.filter(({ key, line }) => line !== null || key === null)
  const columns: ReadonlyArray<Column<{ readonly at: number; readonly of: TaskRefusal }>> = [
    { name: "place", label: w.line, cell: ({ of }) => of.line === null ? "" : format.count(of.line) },
    {
      name: "column",
      label: w.column,
      cell: ({ of }) =>
        of.column ??
          (of.field === null ? "" : (target === undefined ? labelOf(of.field) : fieldLabel(target, of.field)))
    },
    { name: "message", label: w.message, cell: ({ of }) => <span className={style.message}>{of.message}</span> }
  ]
  return (
    <section className={style.refusals} aria-label={w.refused(format.count(total))}>
      <h2>{w.refused(format.count(total))}</h2>
      <div className={style.scroll} tabIndex={0} role="group" aria-label={w.refused(format.count(total))}>
        <RefusedRecords resource={resource} refusals={records} />
        {lines.length > 0 && (
          <Table
            label={w.refused(format.count(total))}
            rows={lines.map((of, at) => ({ at, of }))}
            columns={columns}
            idOf={({ at }) => String(at)}
          />
        )}
      </div>
      {total > refusals.length && (
        <p className="dim">{w.firstOnly(format.count(refusals.length))} {reported && w.moreReported}</p>
      )}
    </section>
  )
}

/** The progress bar, the counts and the refusals. */
export const Progress = ({ task }: { readonly task: Task }): ReactNode => {
  const w = useMessages().task
  const { format } = useLocale()
  const { done, error, refused, total, written } = task
  return (
    <div className={style.progress}>
      <p role="status">
        <StateBadge task={task} /> {w.progress(format.count(done), total === null ? "…" : format.count(total))}
      </p>
      <progress
        max={Math.max(1, total ?? 1)}
        value={total === null ? undefined : Math.min(done, total)}
        aria-label={w.states[task.state]}
      />
      <p className="dim">
        {task.state === "checking" || task.state === "checked"
          ? w.would(format.count(written), format.count(refused))
          : w.counts(format.count(written), format.count(refused), format.count(Math.max(0, done - written - refused)))}
      </p>
      {error !== null && <p className="hint" data-bad="" role="alert">{error.message}</p>}
      <Refusals refusals={task.refusals ?? []} total={refused} resource={task.resource} reported />
    </div>
  )
}

/** The buttons to stop a running task or to discard a file that waits, and the report if there are refusals. */
export const TaskButtons = ({ task }: { readonly task: Task }): ReactNode => {
  const w = useMessages().task
  const { t } = useLocale()
  const queries = useQueryClient()
  const tried = (work: Promise<unknown>): void => {
    work.catch((error: unknown) => {
      noticeFailure(error)
      sayProblem(error, t)
    })
  }
  return (
    <>
      {!isOver(task) && (
        <button
          type="button"
          className="btn"
          onClick={() => tried(cancelTask(task.id).then((next) => queries.setQueryData(taskKey(task.id), next)))}
        >
          {isWorking(task) ? w.cancel : w.drop}
        </button>
      )}
      {task.refused > 0 && !isWorking(task) && (
        <button
          type="button"
          className="btn"
          onClick={() => tried(saveAnswer(reportOf(task.id), `report-${task.resource}.csv`))}
        >
          {w.report}
        </button>
      )}
    </>
  )
}
