/**
 * The port to captured changes on PostgreSQL, in the tables of capture.ts. The dispatching process holds a lease: a row with its name and an end
 * time. The lease needs no session, so it works through a pooler. If a process dies, others wait only until that end.
 */

import * as Effect from "effect/Effect"
import type { StoredChange, StoredRow } from "../../core/domain/event/change.ts"
import type { Models } from "../../core/domain/model/model.ts"
import { ownJson } from "../../core/domain/own-json.ts"
import type { ChangesService } from "../../core/ports/changes.ts"
import { leaseSeconds, Taken } from "../../core/ports/changes.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import { capturedTables } from "./capture.ts"
import type { Postgres, Session } from "./connection.ts"
import { refuse } from "./errors.ts"
import { arrayLiteral, canonicalOf, identifier, ownSchema, type Rows, timestampFromText } from "./sql.ts"
import { type Fate, makeHandle } from "./transaction.ts"

/** Bytes of rows, as stored, that are taken at once. The first change is taken whatever its size. */
const mostBytes = 8 * 2 ** 20

/** Minutes for which changes of watched relations are kept, with a margin for watchers that reconnect. */
const keptMinutes = 10
const watchedMinutes = 12

const columns =
  "c.sequence::text, c.transaction::text, c.at::text, c.relation, c.operation, c.before::text, c.after::text, c.actor::text"

/** How often and how many at once kept changes that have become too old are removed. */
const mostForgotten = 20_000

/** Where changes are kept after their dispatch, and for how long. */
export interface KeepingChanges {
  readonly schema: string
  readonly keptMs: number
}

/** The table of kept changes, safe to make again. */
export const keptChangesSchema = ({ schema }: Pick<KeepingChanges, "schema">): readonly string[] => {
  const s = identifier(schema)
  return [
    `create schema if not exists ${s}`,
    `create table if not exists ${s}.events (
  sequence bigint not null,
  transaction xid8 not null,
  at timestamptz not null,
  relation text not null,
  operation text not null,
  before jsonb,
  after jsonb,
  actor jsonb,
  primary key (at, sequence)
)`
  ]
}

/**
 * Removes kept changes that are too old. They are found by the index, locked, and removed by their places: a join with the table would read all of it each time.
 */
export const outdatedChangesSql = ({ keptMs, schema }: KeepingChanges): string => {
  const events = `${identifier(schema)}.events`
  return `delete from ${events} where ctid = any(array(
  select ctid from ${events} where at < now() - interval '${keptMs} milliseconds'
  order by at, sequence limit ${mostForgotten} for update skip locked
)) returning 1`
}

/** The statements of the port, for a schema's name as SQL. */
const changeStatements = (s: string, keeping: KeepingChanges | null) => {
  const events = keeping === null ? "" : `${identifier(keeping.schema)}.events`
  const takeSql = `with lease as (
  insert into ${s}.dispatcher as d (holder, until) values ($1, clock_timestamp() + interval '${leaseSeconds} seconds')
  on conflict (id) do update set holder = excluded.holder, until = excluded.until
    -- No lease ends later than one that begins now, unless the clock went back since.
    where d.until < clock_timestamp() or d.until > clock_timestamp() + interval '${leaseSeconds} seconds' or d.holder = excluded.holder
  returning 1
)
select ${columns} from lease left join (
  select * from (
    select f.*, sum(coalesce(pg_column_size(f.before), 0) + coalesce(pg_column_size(f.after), 0))
      over (order by f.sequence rows between unbounded preceding and 1 preceding) as ahead
    from (select * from ${s}.change order by sequence limit $2) f
  ) w where coalesce(w.ahead, 0) < ${mostBytes}
) c on true order by c.sequence`

  const settleSql = `with gone as (
  delete from ${s}.change where sequence = any($1::bigint[])
  returning sequence, transaction, at, relation, operation, before, after, actor
), kept as (
  insert into ${s}.recent_change (sequence, transaction, at, relation, operation, before, after, actor)
  select g.* from gone g join ${s}.watched w on w.relation = g.relation and w.until > now()
  where g.operation <> 'truncate' order by g.sequence
)${
    // A sequence that was set back gives a number again, at another time.
    keeping === null ? "" : `, again as (
  insert into ${events} (sequence, transaction, at, relation, operation, before, after, actor)
  select g.* from gone g where g.operation <> 'truncate' on conflict do nothing
)`}
select count(*)::text from gone`

  const sinceSql = `select c.position::text, ${columns} from (
  select f.*, sum(coalesce(pg_column_size(f.before), 0) + coalesce(pg_column_size(f.after), 0))
    over (order by f.position rows between unbounded preceding and 1 preceding) as ahead
  from (
    select * from ${s}.recent_change where relation = any($1::text[]) and position > $2 order by position limit $3
  ) f
) c where coalesce(c.ahead, 0) < ${mostBytes} order by c.position`

  const watchSql = `insert into ${s}.watched (relation, until)
select relation, now() + interval '${watchedMinutes} minutes' from unnest($1::text[]) relation order by relation
on conflict (relation) do update set until = excluded.until`

  const forgetSql = `with old as (
  delete from ${s}.watched where until < now()
) delete from ${s}.recent_change where seen_at < now() - interval '${keptMinutes} minutes'`

  const keptSql = `select ${columns} from (
  select * from (
    select f.*, sum(coalesce(pg_column_size(f.before), 0) + coalesce(pg_column_size(f.after), 0))
      over (order by f.at, f.sequence rows between unbounded preceding and 1 preceding) as ahead
    from (
      select * from ${events} e where e.at >= $1::timestamptz and e.at < $2::timestamptz
        and (e.at, e.sequence) > (coalesce($3::timestamptz, '-infinity'), coalesce($4::bigint, 0))
      order by e.at, e.sequence limit $5
    ) f
  ) w where coalesce(w.ahead, 0) < ${mostBytes}
) c order by c.at, c.sequence`

  const keptSinceSql = `select min(at)::text from ${events}`

  return {
    keptSinceSql,
    keptSql,
    outdatedSql: keeping === null ? "" : outdatedChangesSql(keeping),
    forgetSql,
    settleSql,
    sinceSql,
    takeSql,
    watchSql
  }
}

/** The port on given connections, for the tables whose changes are captured. */
export const makeChanges = (
  postgres: Postgres,
  models: Models,
  keeping: KeepingChanges | null = null
): ChangesService => {
  const s = ownSchema(postgres.schemas.service)
  const { forgetSql, keptSinceSql, keptSql, outdatedSql, settleSql, sinceSql, takeSql, watchSql } = changeStatements(
    s,
    keeping
  )
  const spelled = new Map(
    capturedTables(models).map(({ columns: all, relation }) => [
      relation,
      all.flatMap((field) => {
        const canonical = canonicalOf(field)
        return canonical === null ? [] : [[field.column, canonical] as const]
      })
    ])
  )
  const rowOf = (relation: string, text: string | null): StoredRow | null => {
    if (text === null) return null
    const row = ownJson<{ [column: string]: string | null }>(text)
    for (const [column, canonical] of spelled.get(relation) ?? []) {
      const cell = row[column]
      if (typeof cell === "string") row[column] = canonical(cell)
    }
    return row
  }
  const changeOf = (cells: ReadonlyArray<string | null>): StoredChange => {
    const [sequence, transaction, at, relation, operation, before, after, actor] = cells
    return {
      sequence: sequence!,
      transaction: transaction!,
      at: timestampFromText(at!),
      relation: relation!,
      operation: operation as StoredChange["operation"],
      before: rowOf(relation!, before ?? null),
      after: rowOf(relation!, after ?? null),
      actor: actor === null || actor === undefined ? null : ownJson<StoredChange["actor"]>(actor)
    }
  }
  const statement = (
    session: Session,
    sql: string,
    params: readonly unknown[] = []
  ): Effect.Effect<Rows, RecordsError> => Effect.catch(session.run(sql, params, true), refuse)
  const write = (sql: string, params: readonly unknown[] = []): Effect.Effect<Rows, RecordsError> =>
    postgres.transaction((session) => statement(session, sql, params), true)
  const read = (sql: string, params: readonly unknown[] = []): Effect.Effect<Rows, RecordsError> =>
    postgres.read(sql, params, { prepare: true })
  return {
    waiting: Effect.map(read(`select exists (select from ${s}.change)::text`), ([row]) => row?.[0] === "true"),
    take: (holder, limit) =>
      Effect.map(
        write(takeSql, [holder, String(limit)]),
        (rows) => rows.length === 0 ? null : rows.flatMap((row) => row[0] === null ? [] : [changeOf(row)])
      ),
    release: (holder) =>
      Effect.asVoid(write(`update ${s}.dispatcher set until = '-infinity' where holder = $1`, [holder])),
    settle: (changes, work) =>
      postgres.transaction<void, RecordsError | Taken>((session) => {
        const fate: Fate = { open: true, met: null, enqueued: null }
        const settled = Effect.flatMap(
          statement(session, settleSql, [arrayLiteral(changes.map(({ sequence }) => sequence))]),
          ([row]): Effect.Effect<void, RecordsError | Taken> =>
            Number(row?.[0]) === changes.length
              ? work(makeHandle(session, fate, postgres.schemas.jobs))
              : Effect.fail(new Taken())
        )
        return Effect.ensuring(settled, Effect.sync(() => void (fate.open = false)))
      }),
    watch: (relations) => Effect.asVoid(write(watchSql, [arrayLiteral(relations)])),
    last: Effect.map(
      read(
        `select coalesce(max(position), 0)::text, extract(epoch from now())::bigint::text from ${s}.recent_change`
      ),
      ([row]) => ({ position: row?.[0] ?? "0", seconds: Number(row?.[1] ?? 0) })
    ),
    since: (relations, position, limit) =>
      Effect.map(
        read(sinceSql, [arrayLiteral(relations), position, String(limit)]),
        (rows) => rows.map(([at, ...change]) => ({ position: at!, change: changeOf(change) }))
      ),
    keptSince: keeping === null ? Effect.succeed(null) : Effect.map(
      read(keptSinceSql),
      ([row]) => row?.[0] == null ? null : timestampFromText(row[0])
    ),
    between: ({ after, since, until }, limit) =>
      keeping === null ? Effect.succeed([]) : Effect.map(
        read(keptSql, [since, until, after?.at ?? null, after?.sequence ?? null, String(limit)]),
        (rows) => rows.map(changeOf)
      ),
    forget: Effect.gen(function*() {
      yield* write(forgetSql)
      if (keeping === null) return
      // Many may have been captured since the last time.
      while ((yield* write(outdatedSql)).length === mostForgotten);
    })
  }
}
