/** The last hour of jobs on PostgreSQL, minute by minute. Completed jobs are found by their index, and failed ones by that of failed jobs. */

import * as Effect from "effect/Effect"
import { type ActivityMinute, activityMinutes } from "../../core/domain/job/state.ts"
import type { QueueService } from "../../core/ports/queue.ts"
import { type Columns, type Connections, queueError, runOn } from "./connection.ts"
import { instant, ownSchema } from "./sql.ts"

type MinuteRow = Columns & { readonly average: string | null; readonly longest: string | null }

/** Most completed jobs that are read. A run of a schedule that was cancelled has no attempt. */
const mostRead = 1_000_000

const activitySql = (s: string): string => {
  const from = `date_trunc('minute', now()) - interval '${activityMinutes - 1} minutes'`
  const named = `($1::text is null or task_id = (select id from ${s}._private_tasks where identifier = $1::text))`
  return `select ${
    instant("m.at")
  } as at, coalesce(c.count, 0)::text as completed, coalesce(f.count, 0)::text as failed,
  round(c.average * 1000)::text as average, round(c.longest * 1000)::text as longest
from generate_series(${from}, date_trunc('minute', now()), interval '1 minute') m(at)
left join (
  select date_trunc('minute', completed_at) as at, count(*), avg(took) as average, max(took) as longest from (
    select completed_at, greatest(0, extract(epoch from completed_at - started_at)) as took from ${s}.completed
    where completed_at >= ${from} and attempts > 0 and ${named} limit ${mostRead}) done group by 1) c on c.at = m.at
left join (
  select date_trunc('minute', updated_at) as at, count(*) from ${s}._private_jobs
  where attempts >= max_attempts and locked_at is null and updated_at >= ${from} and ${named} group by 1) f on f.at = m.at
order by m.at`
}

export const makeActivity = (pool: Connections, schema: string): Pick<QueueService, "activity"> => {
  const statement = activitySql(ownSchema(schema))
  const number = (text: string | null): number | null => text === null ? null : Number(text)
  return {
    activity: (name) =>
      Effect.map(
        Effect.tryPromise({ try: () => runOn<MinuteRow>(pool, statement, [name]), catch: queueError }),
        ({ rows }) =>
          rows.map((row): ActivityMinute => ({
            at: String(row["at"]),
            completed: Number(row["completed"]),
            failed: Number(row["failed"]),
            averageMs: number(row.average),
            longestMs: number(row.longest)
          }))
      )
  }
}
