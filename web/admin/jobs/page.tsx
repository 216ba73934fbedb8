/** Jobs, for admins: failed jobs, jobs that wait, queues and schedules. All data is read again every few seconds. */

import { useQueryClient } from "@tanstack/react-query"
import { Pause, Play } from "lucide-react"
import type { ReactNode } from "react"
import { useReader } from "../field/value.tsx"
import { Link } from "../ground/link.tsx"
import { Missing, Problem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { type Column, Empty, Listing, Moment, type PageProps, Tabs, Top, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { usePlaces } from "../place/places.ts"
import { Activity } from "./activity.tsx"
import { FailedJobs } from "./failed.tsx"
import { PendingJobs } from "./pending.tsx"
import { type Queue, useQueues } from "./queues.ts"

/** Milliseconds between two reads of an open page. */
export const pollMs = 5_000

const Time = ({ at }: { readonly at: string | null }): ReactNode => {
  const { now } = useReader()
  return at === null ? <span className="dim">–</span> : <Moment at={at} now={now} />
}

const Queues = (): ReactNode => {
  const w = useMessages().jobs
  const { format } = useLocale()
  const queries = useQueryClient()
  const act = useAct()
  const hold = async ({ name, pausedAt }: Queue): Promise<void> => {
    const paused = pausedAt === null
    const done = await act(async () => {
      await client.request({
        method: "POST",
        path: paused ? "/jobs:pause" : "/jobs:resume",
        system: true,
        query: { name }
      })
    })
    if (done) say(paused ? w.pausedNow(name) : w.resumedNow(name))
    await queries.invalidateQueries({ queryKey: ["jobs"] })
  }
  const { data, error, refetch } = useQueues(pollMs)
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return null
  if (data.length === 0) return <Empty title={w.noJobsTitle} text={w.noJobsText} guide="jobs" />
  const count = (name: "waiting" | "running" | "retrying" | "completed", wide = false): Column<Queue> => ({
    name,
    label: w[name],
    end: true,
    wide,
    cell: (queue) =>
      queue[name] === 0 || name === "completed"
        ? format.count(queue[name])
        : (
          <Link to={`/-/jobs/waiting?name=${encodeURIComponent(queue.name)}&state=${name}`}>
            {format.count(queue[name])}
          </Link>
        )
  })
  const columns: ReadonlyArray<Column<Queue>> = [
    {
      name: "name",
      label: w.job,
      cell: ({ declared, name }) => (
        <span className={style.marked}>
          <bdi className="cut">{name}</bdi>
          {!declared && <span className="badge" data-tone="warn">{w.unknown}</span>}
        </span>
      )
    },
    count("waiting"),
    count("running"),
    count("retrying", true),
    {
      name: "failed",
      label: w.failed,
      end: true,
      cell: ({ failed, name }) =>
        failed === 0
          ? format.count(0)
          : (
            <Link className="badge" data-tone="bad" to={`/-/jobs?name=${encodeURIComponent(name)}`}>
              {format.count(failed)}
            </Link>
          )
    },
    count("completed", true),
    { name: "oldest", label: w.oldest, wide: true, cell: ({ oldestDue }) => <Time at={oldestDue} /> },
    { name: "next", label: w.next, wide: true, cell: ({ nextDue }) => <Time at={nextDue} /> },
    {
      name: "state",
      label: w.state,
      end: true,
      cell: (queue) => (
        <span className={`${style.marked} ${style.last}`}>
          {queue.pausedAt !== null && (
            <span className="badge" data-tone="warn">
              {w.pausedSince} <Time at={queue.pausedAt} />
            </span>
          )}
          <button
            type="button"
            className="btn quiet bare"
            aria-label={queue.pausedAt === null ? w.pause(queue.name) : w.resume(queue.name)}
            title={queue.pausedAt === null ? w.pause(queue.name) : w.resume(queue.name)}
            onClick={() => void hold(queue)}
          >
            {queue.pausedAt === null
              ? <Pause className="icon" aria-hidden="true" />
              : <Play className="icon" aria-hidden="true" />}
          </button>
        </span>
      )
    }
  ]
  return (
    <>
      <Activity name={null} />
      <Listing label={w.queues} rows={data} columns={columns} idOf={({ name }) => name} />
    </>
  )
}

const tones = { running: "info", retrying: "warn", failed: "bad", completed: "ok" } as const

const Schedules = (): ReactNode => {
  const w = useMessages().jobs
  const { data, error, refetch } = useQueues(pollMs)
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return null
  const scheduled = data.filter(({ schedule }) => schedule !== null)
  if (scheduled.length === 0) return <Empty title={w.noSchedules} text={w.noSchedulesText} guide="jobs" />
  const columns: ReadonlyArray<Column<Queue>> = [
    { name: "name", label: w.job, cell: ({ name }) => name },
    { name: "pattern", label: w.pattern, cell: ({ schedule }) => <bdi className="mono cut">{schedule}</bdi> },
    { name: "zone", label: w.zone, wide: true, cell: ({ timezone }) => timezone },
    {
      name: "next",
      label: w.nextRun,
      cell: ({ nextRun }) => nextRun === null ? <span className="dim">{w.notSeen}</span> : <Time at={nextRun} />
    },
    {
      name: "last",
      label: w.lastRun,
      cell: ({ lastRun }) =>
        lastRun === null ? <span className="dim">–</span> : (
          <>
            <span className="badge" data-tone={tones[lastRun.state]}>{w.states[lastRun.state]}</span>{" "}
            <Time at={lastRun.at} />
          </>
        )
    }
  ]
  return <Listing label={w.schedules} rows={scheduled} columns={columns} idOf={({ name }) => name} />
}

export const JobsPage = ({ part }: PageProps): ReactNode => {
  const w = useMessages().jobs
  const mails = usePlaces().find(({ name }) => name === "mails")
  const pw = useMessages().place
  const { format } = useLocale()
  const { data } = useQueues(pollMs)
  const failed = data?.reduce((sum, queue) => sum + queue.failed, 0) ?? 0
  if (part !== null && part !== "waiting" && part !== "queues" && part !== "schedules") return <Missing />
  return (
    <>
      <Top title={pw.jobs} {...(failed === 0 ? {} : { note: pw.failedJobs(format.count(failed)) })}>
        {mails !== undefined && (
          <a className="btn quiet" href={mails.to} target="_blank" rel="noreferrer">{mails.label}</a>
        )}
      </Top>
      <Tabs
        label={pw.jobs}
        tabs={[
          { to: "/-/jobs", label: w.failed },
          { to: "/-/jobs/waiting", label: w.waiting },
          { to: "/-/jobs/queues", label: w.queues },
          { to: "/-/jobs/schedules", label: w.schedules }
        ]}
      />
      {part === null
        ? <FailedJobs />
        : part === "waiting"
        ? <PendingJobs />
        : part === "queues"
        ? <Queues />
        : <Schedules />}
    </>
  )
}
