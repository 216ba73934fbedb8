/** Jobs that wait for their time or their next try: payload, last error, when they are tried. A job may be run now or cancelled. Running jobs are one of the states to show. */

import { useQueryClient } from "@tanstack/react-query"
import { Ban, Play } from "lucide-react"
import { type ReactNode, useState } from "react"
import { useReader } from "../field/value.tsx"
import { setQuery, usePlace } from "../ground/location.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { Problem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { type Column, Empty, Facts, Moment, More, Split, Table, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { hasGone, jobPath, type PendingJob, useJobs, useQueues } from "./queues.ts"
import { RunningJobs } from "./running.tsx"
import { eachOf, NamePicker, Payload, SearchJobs, useChoice } from "./search.tsx"

/** Runs of schedules have negative ids. One that has not begun has its time. */
const mayHurry = ({ attempts, held, id }: PendingJob): boolean => !held && (attempts > 0 || !id.startsWith("-"))

const Detail = (
  { job, onCancel, onHurry }: {
    readonly job: PendingJob
    readonly onHurry: () => void
    readonly onCancel: () => void
  }
): ReactNode => {
  const w = useMessages().jobs
  const { format } = useLocale()
  const { now } = useReader()
  return (
    <>
      <div className={style.head}>
        <h2 className={style.title}>{job.name}</h2>
        {mayHurry(job) && (
          <button type="button" className="btn" onClick={onHurry}>
            <Play className="icon" aria-hidden="true" /> {w.runNow}
          </button>
        )}
        <button
          type="button"
          className="btn danger bare"
          aria-label={w.cancelJob}
          title={w.cancelJob}
          onClick={onCancel}
        >
          <Ban className="icon" aria-hidden="true" />
        </button>
      </div>
      <h2>{w.lastError}</h2>
      {job.error === ""
        ? <p className="dim">{w.noError}</p>
        : <pre className={`code ${style.bad}`} dir="auto" tabIndex={0} aria-label={w.lastError}>{job.error}</pre>}
      <Payload list="pending" job={job} />
      <Facts
        facts={[
          [w.tries, w.triesOf(format.count(job.attempts), format.count(job.maxAttempts))],
          [w.nextTry, job.held ? w.heldBack : <Moment key="next" at={job.runAt} now={now} />],
          [w.enqueued, <Moment key="at" at={job.enqueuedAt} now={now} />],
          job.group === null ? null : [w.group, <bdi key="group">{job.group}</bdi>],
          [w.id, <span key="id" dir="ltr" className="mono">{job.id}</span>]
        ]}
      />
    </>
  )
}

interface WaitingProps {
  readonly name: string | null
  readonly state: string | null
  readonly search: string | null
}

const Waiting = ({ name, search, state }: WaitingProps): ReactNode => {
  const w = useMessages().jobs
  const pw = useMessages().place
  const { format } = useLocale()
  const { now } = useReader()
  const open = usePlace().query.get("id")
  const queries = useQueryClient()
  const act = useAct()
  const [cancelling, setCancelling] = useState<readonly PendingJob[] | null>(null)
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = useJobs<PendingJob>("pending", {
    name,
    state,
    search
  })
  const all = data?.pages.flatMap(({ jobs }) => jobs) ?? []
  const { choice, chosen, clear } = useChoice(all)
  const job = all.find(({ id }) => id === open)

  const run = async (of: readonly PendingJob[], method: "POST" | "DELETE"): Promise<void> => {
    setCancelling(null)
    let count = 0
    const done = await act(async () => {
      const one = (job: PendingJob) =>
        client.request({ method, path: jobPath("pending", job, method === "POST" ? ":run" : ""), system: true })
      // One alone says why it is refused.
      count = await eachOf(of, one, (error) => of.length > 1 && hasGone(error))
    })
    if (done) {
      clear()
      const words = method === "POST" ? [w.hurried, w.hurriedSome] as const : [w.cancelled, w.cancelledSome] as const
      say(of.length === 1 ? words[0] : words[1](count, format.count(count)))
    }
    await queries.invalidateQueries({ queryKey: ["jobs"] })
  }

  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return null
  const columns: ReadonlyArray<Column<PendingJob>> = [
    { name: "job", label: w.job, cell: (each) => each.name },
    {
      name: "error",
      label: w.lastError,
      cell: (each) => (
        <span className={style.marked}>
          {each.state === "retrying" && <span className="badge" data-tone="warn">{w.states.retrying}</span>}
          <bdi className="cut">{each.error.split("\n", 1)[0]}</bdi>
        </span>
      )
    },
    {
      name: "tries",
      label: w.tries,
      end: true,
      wide: true,
      cell: ({ attempts, maxAttempts }) => w.triesOf(format.count(attempts), format.count(maxAttempts))
    },
    {
      name: "next",
      label: w.nextTry,
      end: true,
      wide: true,
      cell: ({ held, runAt }) => held ? <span className="dim">{w.heldBack}</span> : <Moment at={runAt} now={now} />
    }
  ]
  return (
    <>
      {chosen.length > 0 && (
        <div className={style.filter} role="group" aria-label={w.chosen(format.count(chosen.length))}>
          <span className="dim">{w.chosen(format.count(chosen.length))}</span>
          <span className="grow" />
          <button
            type="button"
            className="btn"
            onClick={() =>
              void run(chosen, "POST")}
          >
            {w.runSome(format.count(chosen.length))}
          </button>
          <button
            type="button"
            className="btn danger"
            onClick={() =>
              setCancelling(chosen)}
          >
            {w.cancelSome(format.count(chosen.length))}
          </button>
        </div>
      )}
      {all.length === 0
        ? search === null
          ? <Empty title={w.noneWaitTitle} text={w.noneWaitText} guide="jobs" />
          : <Empty title={w.noneFound} text={w.searchHint} />
        : (
          <Split
            label={job?.name ?? w.waitingTitle}
            beside={job === undefined ?
              null :
              <Detail job={job} onHurry={() => void run([job], "POST")} onCancel={() => setCancelling([job])} />}
          >
            <Table
              label={w.waitingTitle}
              rows={all}
              choice={choice}
              columns={columns}
              idOf={({ id }) => id}
              nameOf={(each) => each.name}
            />
            {hasNextPage && <More label={pw.more} busy={isFetchingNextPage} onPress={() => void fetchNextPage()} />}
          </Split>
        )}
      {cancelling !== null && (
        <Dialog
          alert
          title={cancelling.length === 1
            ? w.cancelTitle(cancelling[0]?.name ?? "")
            : w.cancelSomeTitle(format.count(cancelling.length))}
          text={w.cancelText}
          onClose={() => setCancelling(null)}
          footer={
            <>
              <Cancel onPress={() => setCancelling(null)} />
              <button type="button" className="btn danger primary" onClick={() => void run(cancelling, "DELETE")}>
                {cancelling.length === 1 ? w.cancelJob : w.cancelSome(format.count(cancelling.length))}
              </button>
            </>
          }
        />
      )}
    </>
  )
}

/** Jobs that wait or run, by name and state. The address has both. */
export const PendingJobs = (): ReactNode => {
  const w = useMessages().jobs
  const { query } = usePlace()
  const name = query.get("name")
  const state = query.get("state")
  const search = query.get("search")
  const waiting = (useQueues(5_000).data ?? []).filter((queue) => queue.waiting + queue.retrying + queue.running > 0)
  return (
    <>
      {(name !== null || state !== null || search !== null || waiting.length > 0) && (
        <div className={style.filter}>
          <NamePicker names={waiting.map((queue) => queue.name)} />
          <div className="input">
            <select
              aria-label={w.state}
              value={state ?? ""}
              onChange={({ target }) => setQuery({ state: target.value || null, id: null })}
            >
              <option value="">{w.state}</option>
              <option value="waiting">{w.waiting}</option>
              <option value="retrying">{w.retrying}</option>
              <option value="running">{w.running}</option>
            </select>
          </div>
          <SearchJobs />
        </div>
      )}
      {state === "running"
        ? <RunningJobs name={name} search={search} />
        : <Waiting name={name} search={search} state={state} />}
    </>
  )
}
