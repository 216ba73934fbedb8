/** Jobs that run on PostgreSQL: since when, in which process, and how far they say that they are. */

import * as Effect from "effect/Effect"
import type { BegunJob } from "../../core/domain/job/state.ts"
import type { QueueService } from "../../core/ports/queue.ts"
import { type Columns, type Connections, queueError, runOn } from "./connection.ts"
import { listParameters, payloadColumns, readRows, searchSql } from "./search.ts"
import { instant, isId, ownSchema } from "./sql.ts"

type RunningRow = Columns & { readonly [text in "note" | "told_at" | "group_key" | "payload"]: string | null }

/** Locked jobs are few: an index of their own has them. The progress of an earlier try is none. */
const listSql = (s: string): string =>
  `select j.id::text, t.identifier as name, j.attempts, j.max_attempts, ${instant("j.updated_at")} as started_at,
  split_part(j.locked_by, ' ', 1) as worker, g.group_key, ${
    instant("j.created_at")
  } as enqueued_at, p.done, p.total, p.note, ${instant("p.at")} as told_at, ${payloadColumns("j.payload")}
from (select * from (
  select * from ${s}._private_jobs where locked_at is not null
    and ($1::text is null or task_id = (select id from ${s}._private_tasks where identifier = $1::text))
    and ($2::text is null or (updated_at, id) > ($2::text::timestamptz, $3::text::bigint))
    and ($6::text is null or id = $6::text::bigint)
  order by updated_at, id limit ${readRows("$7", "$4")}
  ) j where ${
    searchSql({
      id: "id",
      name: `(select identifier from ${s}._private_tasks t where t.id = j.task_id)`,
      payload: "payload",
      others: [`(select group_key from ${s}.groups g where g.head = j.id)`],
      text: "$7"
    })
  } order by updated_at, id limit $4::text::integer
) j join ${s}._private_tasks t on t.id = j.task_id left join ${s}.groups g on g.head = j.id
left join ${s}.progress p on p.id = j.id and p.attempt = j.attempts
order by j.updated_at, j.id`

export const makeRunning = (pool: Connections, schema: string): Pick<QueueService, "running"> => {
  const list = listSql(ownSchema(schema))
  return {
    running: (page) =>
      "id" in page && !isId(page.id) ? Effect.succeed([]) : Effect.map(
        Effect.tryPromise({
          try: () =>
            runOn<RunningRow>(
              pool,
              list,
              listParameters(page, ({ startedAt }) => startedAt)
            ),
          catch: queueError
        }),
        ({ rows }) =>
          rows.map((row): BegunJob => ({
            id: String(row["id"]),
            name: String(row["name"]),
            attempt: Number(row["attempts"]),
            maxAttempts: Number(row["max_attempts"]),
            startedAt: String(row["started_at"]),
            worker: String(row["worker"]),
            progress: row.told_at === null
              ? null
              : {
                done: Number(row["done"]),
                total: row["total"] === null ? null : Number(row["total"]),
                note: row.note,
                at: row.told_at
              },
            group: row.group_key,
            enqueuedAt: String(row["enqueued_at"]),
            payload: row.payload,
            payloadBytes: Number(row["payload_bytes"])
          }))
      )
  }
}
