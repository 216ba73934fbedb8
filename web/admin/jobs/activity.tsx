/** The last hour of all queues or of one: jobs and durations a minute, as small bars. The numbers beside them say the same in words. */

import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Problem } from "../ground/problem.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import style from "./activity.module.css"

interface Minute {
  readonly at: string
  readonly completed: number
  readonly failed: number
  readonly averageMs: number | null
  readonly longestMs: number | null
}

/** Milliseconds between two reads: a minute, because the bars are minutes. */
const everyMs = 60_000

interface Bar {
  readonly at: string
  readonly value: number
  /** The part of it that is bad. */
  readonly bad: number
  readonly words: string
}

const Bars = ({ bars, label }: { readonly bars: readonly Bar[]; readonly label: string }): ReactNode => {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  return (
    <div className={style.bars} role="img" aria-label={label}>
      {bars.map(({ at, bad, value, words }) => (
        <span key={at} title={words}>
          <i style={{ height: `${value === 0 ? 0 : Math.max(6, value / most * 100)}%` }}>
            {bad > 0 && <b style={{ height: `${bad / value * 100}%` }} />}
          </i>
        </span>
      ))}
    </div>
  )
}

export const Activity = ({ name }: { readonly name: string | null }): ReactNode => {
  const w = useMessages().jobs
  const { format } = useLocale()
  const { data, error, refetch } = useQuery({
    queryKey: ["jobs", "activity", name],
    staleTime: 2_000,
    refetchInterval: everyMs,
    queryFn: async ({ signal }) =>
      (await client.request<{ readonly minutes: readonly Minute[] }>({
        method: "GET",
        path: "/jobs/activity",
        system: true,
        query: { name },
        signal
      })).data.minutes
  })
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data === undefined) return <div className={style.strip} aria-busy="true" />
  const completed = data.reduce((sum, minute) => sum + minute.completed, 0)
  const failed = data.reduce((sum, minute) => sum + minute.failed, 0)
  const took = data.reduce((sum, minute) => sum + (minute.averageMs ?? 0) * minute.completed, 0)
  const longest = Math.max(0, ...data.map(({ longestMs }) => longestMs ?? 0))
  const seconds = (ms: number): string => w.seconds(format.number(Number((Math.round(ms) / 1_000).toPrecision(2))))
  const done = w.doneInHour(completed, format.count(completed), failed, format.count(failed))
  const lasted = completed === 0 ? w.noneDone : w.lasted(seconds(took / completed), seconds(longest))
  return (
    <section className={style.strip} aria-label={w.activity}>
      <div>
        <h2>{w.perMinute}</h2>
        <p>{done}</p>
        <Bars
          label={`${w.perMinute}. ${done}`}
          bars={data.map((minute) => ({
            at: minute.at,
            value: minute.completed + minute.failed,
            bad: minute.failed,
            words: `${format.dateTime(minute.at)}: ${
              w.doneInHour(minute.completed, format.count(minute.completed), minute.failed, format.count(minute.failed))
            }`
          }))}
        />
      </div>
      <div>
        <h2>{w.duration}</h2>
        <p>{lasted}</p>
        <Bars
          label={`${w.duration}. ${lasted}`}
          bars={data.map((minute) => ({
            at: minute.at,
            value: minute.averageMs ?? 0,
            bad: 0,
            words: `${format.dateTime(minute.at)}: ${
              minute.averageMs === null
                ? w.noneDone
                : w.lasted(seconds(minute.averageMs), seconds(minute.longestMs ?? 0))
            }`
          }))}
        />
      </div>
    </section>
  )
}
