/** Failed jobs: payload, error, and the jobs that wait for each. They can be retried or deleted: one, all of a name, or all. */

import { useQueryClient } from "@tanstack/react-query"
import { RotateCcw, Trash2 } from "lucide-react"
import { type ReactNode, useState } from "react"
import { useReader } from "../field/value.tsx"
import { usePlace } from "../ground/location.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { Problem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { type Column, Empty, Facts, Moment, More, Split, Table, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { type FailedJob, hasGone, jobPath, useJobs, useQueues } from "./queues.ts"
import { eachOf, NamePicker, Payload, SearchJobs, useChoice } from "./search.tsx"

/** The jobs of an action: one job, or all of some names. */
type Chosen = { readonly jobs: ReadonlyArray<{ readonly id: string; readonly name: string }> } | {
  readonly names: readonly string[]
  readonly count: number
}

const sizeOf = (chosen: Chosen): number => "jobs" in chosen ? chosen.jobs.length : chosen.count

const path = (chosen: { readonly id: string } | null, verb: string): string =>
  chosen === null ? `/jobs/failed${verb}` : jobPath("failed", chosen, verb)

const Detail = (
  { job, onDelete, onRetry }: { readonly job: FailedJob; readonly onRetry: () => void; readonly onDelete: () => void }
): ReactNode => {
  const w = useMessages().jobs
  const pw = useMessages().place
  const { format } = useLocale()
  const { now } = useReader()
  return (
    <>
      <div className={style.head}>
        <h2 className={style.title}>{job.name}</h2>
        <button type="button" className="btn" onClick={onRetry}>
          <RotateCcw className="icon" aria-hidden="true" /> {w.retry}
        </button>
        <button type="button" className="btn danger bare" aria-label={pw.delete} title={pw.delete} onClick={onDelete}>
          <Trash2 className="icon" aria-hidden="true" />
        </button>
      </div>
      {job.group !== null && job.waitingBehind > 0 && (
        <p className="note">{w.behind(job.group, job.waitingBehind, format.count(job.waitingBehind))}</p>
      )}
      <h2>{w.lastError}</h2>
      <pre className={`code ${style.bad}`} dir="auto" tabIndex={0} aria-label={w.lastError}>{job.error}</pre>
      <Payload list="failed" job={job} />
      <Facts
        facts={[
          [w.tries, format.count(job.attempts)],
          [w.enqueued, <Moment key="at" at={job.enqueuedAt} now={now} />],
          [w.failedAt, <Moment key="at" at={job.failedAt} now={now} />],
          job.group === null ? null : [w.group, <bdi key="group">{job.group}</bdi>],
          [w.id, <span key="id" dir="ltr" className="mono">{job.id}</span>]
        ]}
      />
    </>
  )
}

export const FailedJobs = (): ReactNode => {
  const w = useMessages().jobs
  const pw = useMessages().place
  const { format } = useLocale()
  const { now } = useReader()
  const { query } = usePlace()
  const name = query.get("name")
  const search = query.get("search")
  const open = query.get("id")
  const queries = useQueryClient()
  const act = useAct()
  const [deleting, setDeleting] = useState<Chosen | null>(null)
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = useJobs<FailedJob>("failed", {
    name,
    search
  })
  const queues = useQueues(5_000).data ?? []
  const failing = queues.filter(({ failed }) => failed > 0)
  const all = data?.pages.flatMap(({ jobs }) => jobs) ?? []
  const job = all.find(({ id }) => id === open)
  const { choice, chosen: picked, clear } = useChoice(all)
  const chosen: Chosen = picked.length > 0 ? { jobs: picked } : {
    names: name === null ? failing.map((queue) => queue.name) : [name],
    count: failing.reduce((sum, queue) => name === null || queue.name === name ? sum + queue.failed : sum, 0)
  }

  const run = async (of: Chosen, method: "POST" | "DELETE"): Promise<void> => {
    setDeleting(null)
    const verb = method === "POST" ? ":retry" : ""
    let count = 0
    const done = await act(async () => {
      if ("jobs" in of) {
        const one = (job: { readonly id: string }) => client.request({ method, path: path(job, verb), system: true })
        // One alone says why it is refused.
        count = await eachOf(of.jobs, one, (error) => of.jobs.length > 1 && hasGone(error))
        return
      }
      for (const each of of.names) {
        const answer = await client.request<{ readonly count: number }>({
          method,
          path: path(null, verb),
          system: true,
          query: { name: each }
        })
        count += answer.data.count
      }
    })
    if (done) say(method === "POST" ? w.retried(count, format.count(count)) : w.deleted(count, format.count(count)))
    if (done) clear()
    await queries.invalidateQueries({ queryKey: ["jobs"] })
  }

  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return null
  const columns: ReadonlyArray<Column<FailedJob>> = [
    { name: "job", label: w.job, cell: (each) => each.name },
    {
      name: "error",
      label: w.error,
      cell: ({ error, waitingBehind }) => (
        <span className={style.marked}>
          {waitingBehind > 0 && <span className="badge" data-tone="warn">{w.holds(format.count(waitingBehind))}</span>}
          <bdi className="cut">{error.split("\n", 1)[0]}</bdi>
        </span>
      )
    },
    { name: "tries", label: w.tries, end: true, wide: true, cell: ({ attempts }) => format.count(attempts) },
    { name: "failed", label: w.failedAt, end: true, cell: ({ failedAt }) => <Moment at={failedAt} now={now} /> }
  ]
  return (
    <>
      {(name !== null || search !== null || failing.length > 0) && (
        <div className={style.filter}>
          <NamePicker names={failing.map((queue) => queue.name)} />
          <SearchJobs />
          <span className="grow" />
          {(picked.length > 0 || (search === null && sizeOf(chosen) > 0)) && (
            <>
              <button type="button" className="btn" onClick={() => void run(chosen, "POST")}>
                {picked.length > 0 ? w.retrySome(format.count(picked.length)) : w.retryAll}
              </button>
              <button type="button" className="btn danger" onClick={() => setDeleting(chosen)}>
                {picked.length > 0 ? w.deleteSome(format.count(picked.length)) : w.deleteAll}
              </button>
            </>
          )}
        </div>
      )}
      {all.length === 0
        ? search === null
          ? <Empty title={w.noneTitle} text={w.noneText} guide="jobs" />
          : <Empty title={w.noneFound} text={w.searchHint} />
        : (
          <Split
            label={job?.name ?? w.failedTitle}
            beside={job === undefined ?
              null :
              (
                <Detail
                  job={job}
                  onRetry={() => void run({ jobs: [job] }, "POST")}
                  onDelete={() => setDeleting({ jobs: [job] })}
                />
              )}
          >
            <Table
              label={w.failedTitle}
              rows={all}
              choice={choice}
              columns={columns}
              idOf={({ id }) => id}
              nameOf={(each) => each.name}
            />
            {hasNextPage && <More label={pw.older} busy={isFetchingNextPage} onPress={() => void fetchNextPage()} />}
          </Split>
        )}
      {deleting !== null && (
        <Dialog
          alert
          title={"jobs" in deleting && deleting.jobs.length === 1
            ? w.deleteOne(deleting.jobs[0]?.name ?? "")
            : w.deleteTitle(sizeOf(deleting), format.count(sizeOf(deleting)))}
          text={w.deleteText}
          onClose={() => setDeleting(null)}
          footer={
            <>
              <Cancel onPress={() => setDeleting(null)} />
              <button type="button" className="btn danger primary" onClick={() => void run(deleting, "DELETE")}>
                {pw.delete}
              </button>
            </>
          }
        />
      )}
    </>
  )
}
