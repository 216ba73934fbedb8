/** The tables of tasks as statements, safe to run again, and the port to what they keep. */

import * as Effect from "effect/Effect"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { ownJson } from "../../core/domain/own-json.ts"
import { brokenOff, ended, mostKept, silentSeconds } from "../../core/domain/task/task.ts"
import type { Task, TaskRefusal } from "../../core/domain/task/task.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import type { TasksService, Within } from "../../core/ports/tasks.ts"
import type { Postgres } from "./connection.ts"
import { refuse } from "./errors.ts"
import { lockSeed, ownSchema } from "./sql.ts"
import { within } from "./within.ts"

/** What the port needs, in the schema of that name. */
export const taskSchema = (schema: string = defaultSchemas.service): readonly string[] => {
  const s = ownSchema(schema)
  return [
    `create schema if not exists ${s}`,
    `create table if not exists ${s}.task (
  id text primary key,
  owner_id text not null,
  tenant_id text,
  roles text not null,
  resource text not null,
  state text not null,
  request text not null,
  position text,
  total bigint,
  done bigint not null default 0,
  written bigint not null default 0,
  refused bigint not null default 0,
  kept integer not null default 0,
  error text,
  created_at timestamptz not null,
  ended_at timestamptz
)`,
    `create index if not exists task_owner on ${s}.task (owner_id, created_at)`,
    `create index if not exists task_created on ${s}.task (created_at)`,
    `create table if not exists ${s}.task_part (
  task text not null references ${s}.task on delete cascade,
  part integer not null,
  lines text not null,
  primary key (task, part)
)`,
    `create table if not exists ${s}.task_refusal (
  task text not null references ${s}.task on delete cascade,
  number integer not null,
  key text,
  line bigint,
  column_name text,
  field text,
  slug text not null,
  message text not null,
  primary key (task, number)
)`
  ]
}

/** Days that a task is kept after its end, and that an upload is kept for somebody to start it. */
const endedDays = 7
const waitingDays = 1

const list = (states: readonly string[]): string => `(${states.map((state) => `'${state}'`).join(", ")})`

const stamp = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

/**
 * The position of an upload is the time of the last sign of life, in seconds. Times ahead of the clock are as old as times behind it, so a clock that went
 * back does not keep an upload alive.
 */
const beatSql = "extract(epoch from clock_timestamp())::text"
const lastBeat = "coalesce(position::numeric, extract(epoch from created_at))"
const dead =
  `case when state = 'uploading' then abs(extract(epoch from clock_timestamp()) - ${lastBeat}) > ${silentSeconds} else false end`
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

const columns =
  `id, owner_id, tenant_id, roles, resource, case when ${dead} then 'failed' else state end as state, request,
  case when state = 'uploading' then null else position end as position, total::text, done::text, written::text,
  refused::text, case when ${dead} then ${literal(JSON.stringify(brokenOff))} else error end as error,
  to_char(created_at at time zone 'UTC', ${stamp}) as created_at,
  to_char(case when ${dead} then to_timestamp(${lastBeat}) else ended_at end at time zone 'UTC', ${stamp}) as ended_at`

/** A row whose columns are all texts. */
type TextRow = { readonly [column: string]: string | null }

const text = (value: string | number | null | undefined): string | null => value == null ? null : String(value)

/** Canonical: without zeros at the end of the fraction. */
const instant = (value: string | null | undefined): string | null => text(value)?.replace(/\.?0+Z$/, "Z") ?? null

const taskOf = (row: TextRow): Task => ({
  id: String(row["id"]),
  resource: String(row["resource"]),
  state: String(row["state"]) as Task["state"],
  owner: {
    id: String(row["owner_id"]),
    roles: ownJson(String(row["roles"])),
    tenant: text(row["tenant_id"])
  },
  request: ownJson(String(row["request"])),
  position: text(row["position"]),
  total: row["total"] === null ? null : Number(row["total"]),
  done: Number(row["done"]),
  written: Number(row["written"]),
  refused: Number(row["refused"]),
  error: row["error"] == null ? null : ownJson(row["error"]),
  createdAt: instant(row["created_at"])!,
  endedAt: instant(row["ended_at"])
})

const refusalOf = (row: TextRow): TaskRefusal => ({
  key: text(row["key"]),
  line: row["line"] === null ? null : Number(row["line"]),
  column: text(row["column_name"]),
  field: text(row["field"]),
  slug: String(row["slug"]),
  message: String(row["message"])
})

type Run = (sql: string, params: readonly unknown[]) => Effect.Effect<readonly TextRow[], RecordsError>

/** The port on given connections. Its tables are made by the migration. */
export const makeTaskStore = (postgres: Postgres): TasksService => {
  const s = ownSchema(postgres.schemas.service)
  const seed = lockSeed(8175, postgres.schemas.service)
  /** Runs work with statements: in the caller's transaction, or in one of its own. */
  const on = <A>(
    handle: Within | undefined,
    work: (run: Run) => Effect.Effect<A, RecordsError>
  ): Effect.Effect<A, RecordsError> =>
    handle === undefined
      ? postgres.transaction((session) =>
        work((sql, params) =>
          Effect.catch(session.objects(sql, params), refuse) as Effect.Effect<readonly TextRow[], RecordsError>
        )
      )
      : work(within<TextRow>(handle))
  const one = (sql: string, params: readonly unknown[]) => on(undefined, (run) => run(sql, params))

  return {
    create: (task, most, handle) =>
      on(handle, (run) =>
        Effect.gen(function*() {
          const { createdAt, id, owner, request, resource, state, total } = task
          // Two starts of one person at once wait for each other, so that they are counted.
          yield* run(`select pg_advisory_xact_lock(hashtextextended($1, ${seed}))::text`, [
            `${owner.id} ${owner.tenant ?? ""}`
          ])
          yield* run(
            `delete from ${s}.task where id in (select id from ${s}.task where created_at < now() - interval '${waitingDays} days'
              and (ended_at < now() - interval '${endedDays} days' or state in ('uploading', 'uploaded', 'checked'))
              order by created_at limit 20 for update skip locked)`,
            []
          )
          const rows = yield* run(
            `insert into ${s}.task (id, owner_id, tenant_id, roles, resource, state, request, total, created_at, position)
              select $1, $2, $3, $4, $5, $6, $7, $8::bigint, $9::timestamptz, case when $6 = 'uploading' then ${beatSql} end
              where (select count(*) from ${s}.task
                where owner_id = $2 and tenant_id is not distinct from $3 and state not in ${
              list(ended)
            } and not ${dead}) < $10::integer
              returning id`,
            [
              id,
              owner.id,
              owner.tenant,
              JSON.stringify(owner.roles),
              resource,
              state,
              JSON.stringify(request),
              text(total),
              createdAt,
              String(most)
            ]
          )
          return rows.length === 1
        })),
    beat: (id) =>
      Effect.asVoid(one(`update ${s}.task set position = ${beatSql} where id = $1 and state = 'uploading'`, [id])),
    find: (id) =>
      Effect.map(
        one(`select ${columns} from ${s}.task where id = $1`, [id]),
        ([row]) => row === undefined ? null : taskOf(row)
      ),
    list: ({ id, tenant }) =>
      Effect.map(
        one(
          `select ${columns} from ${s}.task where owner_id = $1 and tenant_id is not distinct from $2
            order by ${s}.task.created_at desc, id limit 50`,
          [id, tenant]
        ),
        (rows) => rows.map(taskOf)
      ),
    claim: (id, handle) =>
      Effect.map(
        within<TextRow>(handle)(`select ${columns} from ${s}.task where id = $1 for update`, [id]),
        ([row]) => row === undefined ? null : taskOf(row)
      ),
    change: (id, from, change, handle) =>
      on(handle, (run) =>
        Effect.gen(function*() {
          const sets: string[] = []
          const params: unknown[] = [id]
          const set = (column: string, value: string | null, type = "text"): void => {
            params.push(value)
            sets.push(`${column} = $${params.length}::${type}`)
          }
          const add = (column: string, more: number | undefined): void => {
            if (change.restart === true) set(column, String(more ?? 0), "bigint")
            else if (more !== undefined) {
              params.push(String(more))
              sets.push(`${column} = ${column} + $${params.length}::bigint`)
            }
          }
          if (change.state !== undefined) {
            set("state", change.state)
            if (ended.includes(change.state)) sets.push("ended_at = clock_timestamp()")
          }
          if (change.request !== undefined) set("request", JSON.stringify(change.request))
          if (change.position !== undefined) set("position", change.position)
          else if (change.state !== undefined) {
            sets.push("position = case when state = 'uploading' then null else position end")
          }
          if (change.total !== undefined) set("total", text(change.total), "bigint")
          if (change.error !== undefined) set("error", change.error === null ? null : JSON.stringify(change.error))
          add("done", change.done)
          add("written", change.written)
          add("refused", change.refused)
          if (change.restart === true) sets.push("kept = 0")
          const changed = yield* run(
            `update ${s}.task set ${sets.length === 0 ? "id = id" : sets.join(", ")} where id = $1 and state in ${
              list(from)
            }
              returning kept::text`,
            params
          )
          const [row] = changed
          if (row === undefined) return false
          if (change.restart === true) yield* run(`delete from ${s}.task_refusal where task = $1`, [id])
          const count = Number(row["kept"])
          const more = (change.refusals ?? []).slice(0, mostKept - count)
          if (more.length > 0) {
            yield* run(
              `insert into ${s}.task_refusal (task, number, key, line, column_name, field, slug, message)
                select $1, $2::integer + r.place, r.key, r.line, r."column", r.field, r.slug, r.message from rows from
                (json_to_recordset($3::json) as (key text, line bigint, "column" text, field text, slug text, message text))
                with ordinality as r(key, line, "column", field, slug, message, place)`,
              [id, String(count), JSON.stringify(more)]
            )
            yield* run(`update ${s}.task set kept = kept + $2::integer where id = $1`, [id, String(more.length)])
          }
          if (change.drop === true) yield* run(`delete from ${s}.task_part where task = $1`, [id])
          return true
        })),
    addPart: (id, part, lines) =>
      Effect.map(
        // The lock lets nobody cancel the task before the part is there to be removed.
        one(
          `insert into ${s}.task_part (task, part, lines)
            select id, $2::integer, $3 from ${s}.task where id = $1 and state = 'uploading' for share returning task`,
          [id, String(part), lines]
        ),
        (rows) => rows.length === 1
      ),
    part: (id, part) =>
      Effect.map(
        one(`select lines from ${s}.task_part where task = $1 and part = $2::integer`, [id, String(part)]),
        ([row]) => row === undefined ? null : String(row["lines"])
      ),
    refusals: (id, { limit, offset }) =>
      Effect.map(
        one(
          `select key, line::text, column_name, field, slug, message from ${s}.task_refusal where task = $1 order by number offset $2::integer limit $3::integer`,
          [id, String(offset), String(limit)]
        ),
        (rows) => rows.map(refusalOf)
      ),
    remove: (id) => Effect.asVoid(one(`delete from ${s}.task where id = $1`, [id]))
  }
}
