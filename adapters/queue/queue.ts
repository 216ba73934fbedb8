/** The queue on PostgreSQL for every process: enqueuing, counts, failed jobs. It runs no job. */

import * as Effect from "effect/Effect"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { queueSchema } from "../../core/domain/job/definition.ts"
import { type JobCounts, type LastRun, mostBehind } from "../../core/domain/job/state.ts"
import type { Chosen, QueueService } from "../../core/ports/queue.ts"
import { makeActivity } from "./activity.ts"
import { type Columns, type Connections, queueError, runOn } from "./connection.ts"
import { enqueueOn } from "./enqueue.ts"
import { makePending } from "./pending.ts"
import { makeRunning } from "./running.ts"
import { listParameters, payloadColumns, readRows, searchSql } from "./search.ts"
import { instant, isId, ownSchema } from "./sql.ts"

type CountsRow =
  & Columns
  & {
    readonly [time in "next_due" | "oldest_due" | "next_run" | "last_run" | "paused_at"]: string | null
  }
  & { readonly last_state: LastRun["state"] }
type ErrorRow = Columns & { readonly at: string; readonly message: string; readonly stack: string | null }
type FailedRow = Columns & { readonly payload: string | null; readonly group_key: string | null }

// Runs of schedules are the jobs with negative ids; those that were cancelled before they began have had no attempt.
const countsSql = (s: string): string =>
  `select c.name, waiting::text, running::text, retrying::text, failed::text,
  (completed - coalesce(u.count, 0))::text as completed, ${instant("next_due")} as next_due, ${
    instant("oldest_due")
  } as oldest_due, ${instant("n.at")} as next_run, ${instant("l.at")} as last_run, l.state as last_state, ${
    instant("d.paused_at")
  } as paused_at
from ${s}._counts() c join ${s}._private_tasks t on t.identifier = c.name left join ${s}.definitions d on d.task_id = t.id
left join (select task_id, min(run_at) as at from ${s}._private_jobs where id < 0 and attempts = 0 and locked_at is null group by task_id) n
  on n.task_id = t.id
left join (select task_id, count(*) from ${s}.completed where id < 0 and attempts = 0 group by task_id) u on u.task_id = t.id
left join (select distinct on (task_id) task_id, at, state from (
    select task_id, completed_at as at, 'completed' as state from ${s}.completed where id < 0 and attempts > 0
    union all
    select task_id, updated_at, case when locked_at is not null then 'running' when attempts >= max_attempts then 'failed' else 'retrying' end
      from ${s}._private_jobs where id < 0 and (attempts > 0 or locked_at is not null)
  ) begun order by task_id, at desc) l on l.task_id = t.id
order by c.name collate "C"`

const failedSql = (s: string): string =>
  `select f.id::text, name, attempts, ${payloadColumns("payload")}, error, f.group_key, (select count(*) from (
    select from ${s}.groups g join ${s}.group_waiting w on w.task_id = g.task_id and w.group_key = g.group_key
    where g.head = f.id limit ${mostBehind}) behind)::text as behind, ${instant("enqueued_at")} as enqueued_at, ${
    instant("failed_at")
  } as failed_at from (
    select * from ${s}.failed f
    where ($1::text is null or name = $1) and ($2::text is null or (failed_at, id) < ($2::text::timestamptz, $3::text::bigint))
      and ($6::text is null or f.id = $6::text::bigint)
    order by f.failed_at desc, f.id desc limit ${readRows("$7", "$4")}
  ) f where ${searchSql({ id: "f.id", name: "name", payload: "payload", others: ["error", "f.group_key"], text: "$7" })}
  order by f.failed_at desc, f.id desc limit $4::text::integer`

/** `woken` is told which names have new jobs. */
export const makeQueue = (
  pool: Connections,
  woken: (name: string) => void = () => {},
  schema: string = defaultSchemas.jobs
): QueueService => {
  const s = ownSchema(schema)
  const statements = { counts: countsSql(s), failed: failedSql(s) }
  const run = <Row extends Columns = Columns>(sql: string, params: readonly unknown[] = []) =>
    Effect.tryPromise({ try: () => runOn<Row>(pool, sql, params), catch: queueError })
  const own = {
    query: (sql: string, params: readonly unknown[] = []) => runOn(pool, sql, params),
    [queueSchema]: schema
  }
  const choose = (verb: "_retry" | "_remove", chosen: Chosen) =>
    "id" in chosen && !isId(chosen.id)
      ? Effect.succeed(0)
      : Effect.map(
        run(`select ${s}.${verb}($1::text::bigint, $2::text)::text as count`, [
          "id" in chosen ? chosen.id : null,
          "name" in chosen ? chosen.name : null
        ]),
        ({ rows }) => Number(rows[0]?.["count"] ?? 0)
      )
  return {
    enqueue: (plans, within) =>
      Effect.tap(
        Effect.tryPromise({ try: () => enqueueOn(within ?? own, plans), catch: queueError }),
        () =>
          Effect.sync(() => {
            if (within === undefined) { for (const { name } of plans) woken(name) }
          })
      ),
    counts: Effect.map(run<CountsRow>(statements.counts), ({ rows }) =>
      rows.map((row): JobCounts => ({
        name: String(row["name"]),
        waiting: Number(row["waiting"]),
        running: Number(row["running"]),
        retrying: Number(row["retrying"]),
        failed: Number(row["failed"]),
        completed: Number(row["completed"]),
        nextDue: row.next_due,
        oldestDue: row.oldest_due,
        nextRun: row.next_run,
        lastRun: row.last_run === null ? null : { at: row.last_run, state: row.last_state },
        pausedAt: row.paused_at
      }))),
    failed: (page) =>
      "id" in page && !isId(page.id) ? Effect.succeed([]) : Effect.map(
        run<FailedRow>(
          statements.failed,
          listParameters(page, ({ failedAt }) => failedAt)
        ),
        ({ rows }) =>
          rows.map((row) => ({
            id: String(row["id"]),
            name: String(row["name"]),
            attempts: Number(row["attempts"]),
            payload: row.payload,
            payloadBytes: Number(row["payload_bytes"]),
            error: String(row["error"]),
            group: row.group_key,
            waitingBehind: Number(row["behind"]),
            enqueuedAt: String(row["enqueued_at"]),
            failedAt: String(row["failed_at"])
          }))
      ),
    errors: (id) =>
      isId(id)
        ? Effect.map(
          run<ErrorRow>(
            `select ${
              instant("at")
            } as at, attempt, message, stack from ${s}.errors where id = $1::text::bigint order by number desc`,
            [id]
          ),
          ({ rows }) =>
            rows.map(({ at, attempt, message, stack }) => ({ at, attempt: Number(attempt), message, stack }))
        )
        : Effect.succeed([]),
    retry: (chosen) =>
      Effect.tap(choose("_retry", chosen), (count) =>
        Effect.sync(() => {
          if (count > 0 && "name" in chosen) woken(chosen.name)
        })),
    remove: (chosen) => choose("_remove", chosen),
    freeDead: Effect.map(run(`select ${s}._free_dead()::text as count`), ({ rows }) => Number(rows[0]?.["count"] ?? 0)),
    pause: (name, paused, ordered) =>
      Effect.map(
        run<{ readonly since: string | null }>(
          `select ${instant("since")} as since from ${s}._pause($1::text, $2::text::boolean, $3::text::boolean)`,
          [
            name,
            ordered === null ? null : String(ordered),
            String(paused)
          ]
        ),
        ({ rows: [row] }) => row === undefined ? null : { pausedAt: row.since }
      ),
    ...makeActivity(pool, schema),
    ...makePending(pool, woken, schema),
    ...makeRunning(pool, schema),
    cancel: (ids) =>
      Effect.asVoid(
        run(
          `delete from ${s}._private_jobs where id = any($1::text[]::bigint[]) and attempts = 0 and locked_at is null`,
          [ids]
        )
      ),
    nextDue: Effect.map(
      run<{ readonly due: string | null }>(`select ${instant(`${s}.next_due()`)} as due`),
      ({ rows }) => rows[0]?.due ?? null
    )
  }
}
