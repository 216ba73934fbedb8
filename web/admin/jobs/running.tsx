/** Jobs that run: since when, in which process, and the progress that they report. This page only shows them. */

import type { ReactNode } from "react"
import { useReader } from "../field/value.tsx"
import { usePlace } from "../ground/location.ts"
import { Problem } from "../ground/problem.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { type Column, Empty, Facts, Moment, More, Split, Table } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { type BegunJob, useJobs } from "./queues.ts"
import { Payload } from "./search.tsx"

/** How much is done, of how much. */
const Amount = ({ progress }: Pick<BegunJob, "progress">): ReactNode => {
  const w = useMessages().jobs
  const { format } = useLocale()
  if (progress === null) return <span className="dim">–</span>
  const { done, total } = progress
  return total === null ? format.count(done) : w.triesOf(format.count(done), format.count(total))
}

const Detail = ({ job }: { readonly job: BegunJob }): ReactNode => {
  const w = useMessages().jobs
  const { format } = useLocale()
  const { now } = useReader()
  const { progress } = job
  return (
    <>
      <div className={style.head}>
        <h2 className={style.title}>{job.name}</h2>
      </div>
      <h2>{w.progress}</h2>
      {progress === null ? <p className="dim">{w.untold}</p> : (
        <p>
          <Amount progress={progress} />
          {progress.note !== null && (
            <>
              {" · "}
              <bdi>{progress.note}</bdi>
            </>
          )}{" "}
          <span className="dim">
            (<Moment at={progress.at} now={now} />)
          </span>
        </p>
      )}
      <Payload list="running" job={job} />
      <Facts
        facts={[
          [w.tries, w.triesOf(format.count(job.attempt), format.count(job.maxAttempts))],
          [w.since, <Moment key="since" at={job.startedAt} now={now} />],
          [w.worker, <bdi key="worker">{job.worker}</bdi>],
          [w.enqueued, <Moment key="at" at={job.enqueuedAt} now={now} />],
          job.group === null ? null : [w.group, <bdi key="group">{job.group}</bdi>],
          [w.id, <span key="id" dir="ltr" className="mono">{job.id}</span>]
        ]}
      />
    </>
  )
}

export const RunningJobs = (
  { name, search }: { readonly name: string | null; readonly search: string | null }
): ReactNode => {
  const w = useMessages().jobs
  const pw = useMessages().place
  const { now } = useReader()
  const open = usePlace().query.get("id")
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = useJobs<BegunJob>("running", {
    name,
    search
  })
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return null
  const all = data.pages.flatMap(({ jobs }) => jobs)
  const job = all.find(({ id }) => id === open)
  if (all.length === 0 && search !== null) return <Empty title={w.noneFound} text={w.searchHint} />
  if (all.length === 0) return <Empty title={w.noneRunTitle} text={w.noneRunText} guide="jobs" />
  const columns: ReadonlyArray<Column<BegunJob>> = [
    { name: "job", label: w.job, cell: (each) => each.name },
    {
      name: "progress",
      label: w.progress,
      cell: ({ progress }) => (
        <span className={style.marked}>
          <span>
            <Amount progress={progress} />
          </span>
          {progress !== null && progress.note !== null && <bdi className="cut">{progress.note}</bdi>}
        </span>
      )
    },
    { name: "worker", label: w.worker, wide: true, cell: ({ worker }) => worker },
    { name: "since", label: w.since, end: true, cell: ({ startedAt }) => <Moment at={startedAt} now={now} /> }
  ]
  return (
    <Split label={job?.name ?? w.runningTitle} beside={job === undefined ? null : <Detail job={job} />}>
      <Table
        label={w.runningTitle}
        rows={all}
        columns={columns}
        idOf={({ id }) => id}
        nameOf={(each) => each.name}
      />
      {hasNextPage && <More label={pw.more} busy={isFetchingNextPage} onPress={() => void fetchNextPage()} />}
    </Split>
  )
}
