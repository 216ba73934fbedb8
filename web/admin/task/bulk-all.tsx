/** One change of all matching records. The user chooses it, a dry run tries it on the first records, and the service runs it as a task with progress. */

import { type ReactNode, useEffect, useState } from "react"
import { Dialog } from "../ground/parts.tsx"
import { Problem } from "../ground/problem.tsx"
import { useRun } from "../ground/run.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { ChangeDialog, ChangedWords, type ChangeStep, useChange } from "./change.tsx"
import { type BulkBody, type BulkOp, type BulkPreview, isOver, previewBulk, startBulk, useTask } from "./tasks.ts"
import { Progress, Refusals, TaskButtons } from "./view.tsx"

interface BulkAllProps {
  readonly resource: Resource
  readonly op: BulkOp
  readonly filter: string
  readonly except: ReadonlySet<string>
  /** The number of records as the list counts them. */
  readonly count: number
  readonly onClose: () => void
  /** Called after records were written. */
  readonly onDone: () => void
}

type Step = ChangeStep<{ readonly preview: BulkPreview }> | { readonly at: "begun"; readonly id: string }

/** A running task. If the dialog is closed, the service goes on. */
const Begun = (
  { id, onClose, title }: { readonly id: string; readonly title: string; readonly onClose: () => void }
): ReactNode => {
  const w = useMessages().task
  const { data: task, error, refetch } = useTask(id)
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          {task !== undefined && <TaskButtons task={task} />}
          <button type="button" className="btn primary" onClick={onClose}>{w.close}</button>
        </>
      }
    >
      {task !== undefined && <Progress task={task} />}
      {task !== undefined && !isOver(task) && <p className="dim">{w.background}</p>}
      {task === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
    </Dialog>
  )
}

export const BulkAllDialog = ({ count, except, filter, onClose, onDone, op, resource }: BulkAllProps): ReactNode => {
  const w = useMessages().task
  const { format, t } = useLocale()
  const change = useChange(resource)
  const busy: Step = { at: "busy", done: 0, all: count }
  const [step, setStep] = useState<Step>(op === "update" ? { at: "choose" } : busy)
  const { run } = useRun((error) => setStep({ at: "failed", error }))
  /** The idempotency key: a repeated request starts no second task. */
  const [key] = useState(() => crypto.randomUUID())
  const body: BulkBody = {
    op,
    filter,
    except: [...except],
    ...(op === "update" ? { data: change.data } : {})
  }

  const preview = (): Promise<void> =>
    run(async (signal) => {
      setStep(busy)
      setStep({ at: "tried", preview: await previewBulk(resource.name, body, signal) })
    })
  const start = (): Promise<void> =>
    run(async () => {
      setStep(busy)
      setStep({ at: "begun", id: (await startBulk(resource.name, body, key)).id })
    })

  useEffect(() => {
    // Only an update has something to choose; the others are tried at once.
    if (op !== "update") void preview()
  }, [])

  const title = op === "update"
    ? t.list.bulkEdit(count, format.count(count))
    : op === "delete"
    ? t.list.bulkDelete(count, format.count(count))
    : t.list.undelete
  if (step.at === "begun") {
    return <Begun id={step.id} title={title} onClose={onDone} />
  }
  const report = step.at === "tried" ? step.preview : null
  // Records that were not tried may still be changed, unless every tried record is refused.
  const hopeless = report?.written === 0 && [report.total, report.refused].includes(report.tried)
  return (
    <ChangeDialog
      resource={resource}
      op={op}
      title={title}
      change={change}
      step={step}
      check={w.check}
      onCheck={() => void preview()}
      go={report === null || hopeless ? null : {
        label: w.applyAll[op](format.count(report.total)),
        onPress: () => void start()
      }}
      onClose={onClose}
    >
      {report !== null && (
        <>
          {op === "update" && <ChangedWords change={change} resource={resource} />}
          <p role="status">
            {report.total === 0
              ? w.none
              : `${w.matching(report.total, format.count(report.total))} ${
                report.tried < report.total ? w.tried(report.tried, format.count(report.tried)) : w.triedAll
              } `}
            {report.total > 0 && w.would(format.count(report.written), format.count(report.refused))}
          </p>
          <Refusals refusals={report.refusals} total={report.refused} resource={resource.name} reported={false} />
        </>
      )}
    </ChangeDialog>
  )
}
