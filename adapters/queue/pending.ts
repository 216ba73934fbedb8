/** Jobs that wait on PostgreSQL: what they are, one made due now, one removed. What a worker has or takes at this moment is left alone and never waited for. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { readSchedule } from "../../core/domain/job/schedule.ts"
import type { PendingJob } from "../../core/domain/job/state.ts"
import { QueueError, type QueueService } from "../../core/ports/queue.ts"
import { type Columns, type Connections, queueError, runOn } from "./connection.ts"
import { runId } from "./engine.ts"
import { listParameters, payloadColumns, readRows, searchSql } from "./search.ts"
import { instant, isId, ownSchema } from "./sql.ts"

type PendingRow = Columns & Pick<PendingJob, "state" | "payload"> & { readonly group_key: string | null }
type PlannedRow = Columns & { readonly schedule: string | null; readonly run_at: Date; readonly now: Date }
type HurriedRow = Columns & { readonly name: string | null }

/** Both lists are cut before they are put together, and payloads are measured after that. */
const listSql = (s: string): string => {
  const part = (columns: string, table: string, open: string, waits: string, ...searched: readonly string[]): string =>
    `(select id, task_id, payload, max_attempts, run_at, created_at, ${columns} from (
      select * from ${s}.${table}
      where ${open} and ($1::text is null or task_id = (select id from ${s}._private_tasks where identifier = $1::text))
        and ($8::text is null or ($8::text = 'waiting') = (${waits}))
        and ($2::text is null or (run_at, id) > ($2::text::timestamptz, $3::text::bigint))
        and ($6::text is null or id = $6::text::bigint)
      order by run_at, id limit ${readRows("$7", "$4")}
    ) j where ${
      searchSql({
        id: "id",
        name: `(select identifier from ${s}._private_tasks t where t.id = j.task_id)`,
        payload: "payload",
        others: searched,
        text: "$7"
      })
    }
    order by run_at, id limit $4::text::integer)`
  return `select p.id::text, t.identifier as name, case when p.error is null then 'waiting' else 'retrying' end as state, p.attempts, p.max_attempts,
  ${
    instant("p.run_at")
  } as run_at, coalesce(p.error, '') as error, coalesce(p.group_key, g.group_key) as group_key, p.held,
  ${instant("p.created_at")} as enqueued_at, ${payloadColumns("p.payload")}
from (
  ${
    part(
      "attempts, last_error as error, null as group_key, false as held",
      "_private_jobs",
      "is_available",
      "last_error is null",
      "last_error",
      // A key stands behind the name and one more character.
      `substr(key, length((select identifier from ${s}._private_tasks t where t.id = j.task_id)) + 2)`,
      `(select group_key from ${s}.groups g where g.head = j.id)`
    )
  }
  union all
  ${part("0, null, group_key, true", "group_waiting", "true", "true", "group_key")}
  order by run_at, id limit $4::text::integer
) p join ${s}._private_tasks t on t.id = p.task_id left join ${s}.groups g on g.head = p.id
order by p.run_at, p.id`
}

// Runs of schedules are the jobs with negative ids. One that was made due earlier would keep the next one from being made.
const hurrySql = (s: string): string =>
  `with seen as (select id < 0 and attempts = 0 as planned from ${s}._private_jobs where id = $1::text::bigint and is_available),
free as (select id from ${s}._private_jobs where id = $1::text::bigint and is_available and (id > 0 or attempts > 0) for update skip locked),
hurried as (update ${s}._private_jobs j set run_at = least(j.run_at, now()) from free where j.id = free.id returning j.task_id)
select (select t.identifier from hurried h join ${s}._private_tasks t on t.id = h.task_id) as name, exists (select from seen) as seen,
  exists (select from seen where planned) as planned, exists (select from ${s}.group_waiting where id = $1::text::bigint) as held`

/**
 * What ends the head of a group locks the group before it takes the next, so the group is locked here, too: that one would begin in spite of its
 * removal. A run of a schedule that has not begun leaves a row without attempts, so that no worker makes it again.
 */
const withdrawSql = (s: string): string =>
  `with seen as (
  select from ${s}._private_jobs where id = $1::text::bigint and is_available
  union all
  select from ${s}.group_waiting where id = $1::text::bigint),
free as (select id from ${s}._private_jobs where id = $1::text::bigint and is_available for update skip locked),
behind as (
  select w.id from ${s}.group_waiting w join ${s}.groups g on g.task_id = w.task_id and g.group_key = w.group_key
  where w.id = $1::text::bigint for no key update of g skip locked),
gone as (delete from ${s}._private_jobs j using free where j.id = free.id returning j.id, j.task_id, j.run_at, j.attempts),
left_out as (delete from ${s}.group_waiting w using behind where w.id = behind.id returning w.id),
skipped as (
  insert into ${s}.completed (id, task_id, attempts, run_at, started_at, completed_at)
  select id, task_id, 0, run_at, run_at, run_at from gone where id < 0 and attempts = 0)
select exists (select from gone) or exists (select from left_out) as gone, exists (select from seen) as seen`

/** A run of a schedule that waits, with what makes the next one. */
const plannedSql = (s: string): string =>
  `select t.identifier as name, d.schedule, j.max_attempts, j.run_at, clock_timestamp() as now
from ${s}._private_jobs j join ${s}._private_tasks t on t.id = j.task_id join ${s}.definitions d on d.task_id = j.task_id
where j.id = $1::text::bigint and j.id < 0 and j.attempts = 0 and j.locked_at is null`

const conflict = new QueueError({ reason: { _tag: "Conflict" } })
const refuse = (message: string): QueueError => new QueueError({ reason: { _tag: "Refused", message } })

/** `woken` is told which names have due jobs. */
export const makePending = (
  pool: Connections,
  woken: (name: string) => void,
  schema: string
): Pick<QueueService, "pending" | "hurry" | "withdraw"> => {
  const s = ownSchema(schema)
  const statements = { list: listSql(s), hurry: hurrySql(s), withdraw: withdrawSql(s), planned: plannedSql(s) }
  const run = <Row extends Columns = Columns>(sql: string, params: readonly unknown[]) =>
    Effect.tryPromise({ try: () => runOn<Row>(pool, sql, params), catch: queueError })

  /**
   * Gives an effect that adds the next run of a schedule, for a waiting run that somebody removes. Running it twice adds one run only. So a schedule
   * always has a next run.
   */
  const planNext = Effect.fnUntraced(
    function*(id: string): Effect.fn.Return<Effect.Effect<unknown, QueueError>, QueueError> {
      const [row] = (yield* run<PlannedRow>(statements.planned, [id])).rows
      if (row === undefined || row.schedule === null) return Effect.void
      // As workers write it: the pattern, and its time zone behind the last space.
      const [, pattern = "", zone = ""] = /^(.*) (\S+)$/.exec(row.schedule) ?? []
      const schedule = readSchedule(pattern, zone)
      // Its worker knows a pattern that this version does not.
      if (Result.isFailure(schedule)) return Effect.void
      const after = Math.max(row.run_at.getTime(), row.now.getTime())
      const next = schedule.success.next(new Date(after))
      if (next === null) return Effect.void
      const name = String(row["name"])
      return run(`select ${s}._enqueue_run($1::text, $2::bigint, $3::timestamptz, $4::integer)`, [
        name,
        runId(name, next),
        next.toISOString(),
        row["max_attempts"]
      ])
    }
  )

  return {
    pending: (page) =>
      "id" in page && !isId(page.id) ? Effect.succeed([]) : Effect.map(
        run<PendingRow>(
          statements.list,
          [...listParameters(page, ({ runAt }) => runAt), "id" in page ? null : page.state]
        ),
        ({ rows }) =>
          rows.map((row): PendingJob => ({
            id: String(row["id"]),
            name: String(row["name"]),
            state: row.state,
            attempts: Number(row["attempts"]),
            maxAttempts: Number(row["max_attempts"]),
            runAt: String(row["run_at"]),
            error: String(row["error"]),
            group: row.group_key,
            held: row["held"] === true,
            enqueuedAt: String(row["enqueued_at"]),
            payload: row.payload,
            payloadBytes: Number(row["payload_bytes"])
          }))
      ),
    hurry: Effect.fnUntraced(function*(id) {
      if (!isId(id)) return false
      const [row] = (yield* run<HurriedRow>(statements.hurry, [id])).rows
      if (row?.["held"] === true) return yield* Effect.fail(refuse("Other jobs of its group come first."))
      if (row?.["planned"] === true) {
        return yield* Effect.fail(refuse("A run of a schedule begins at its time. Enqueue the job to have it run now."))
      }
      if (row?.["seen"] !== true) return false
      if (row.name === null) return yield* Effect.fail(conflict)
      woken(row.name)
      return true
    }),
    withdraw: Effect.fnUntraced(function*(id) {
      if (!isId(id)) return false
      const next = id.startsWith("-") ? yield* planNext(id) : Effect.void
      yield* next
      const [row] = (yield* run(statements.withdraw, [id])).rows
      if (row?.["gone"] === true) {
        // A paused name makes no run while one is due.
        yield* next
        return true
      }
      if (row?.["seen"] === true) return yield* Effect.fail(conflict)
      return false
    })
  }
}
