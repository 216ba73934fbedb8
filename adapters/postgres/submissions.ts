/**
 * The port to submissions on PostgreSQL: exact sliding windows of a minute, and used challenges. Both are small tables. Each call also removes some
 * old rows. Ids are keyed digests, so the tables contain no address.
 */

import * as Effect from "effect/Effect"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { SubmissionsError } from "../../core/ports/submissions.ts"
import type { SubmissionsService } from "../../core/ports/submissions.ts"
import type { Postgres, Session } from "./connection.ts"
import { lockSeed, ownSchema } from "./sql.ts"

/** What the port needs, in the schema of that name; safe to run again. */
export const submissionsSchema = (schema: string = defaultSchemas.service): readonly string[] => {
  const s = ownSchema(schema)
  return [
    `create schema if not exists ${s}`,
    `create table if not exists ${s}.form_attempt (
  id text primary key,
  stamps timestamptz[] not null,
  allowed boolean not null,
  at timestamptz not null
)`,
    `create index if not exists form_attempt_at on ${s}.form_attempt (at)`,
    `create table if not exists ${s}.form_challenge (
  id text primary key,
  expires timestamptz not null
)`,
    `create index if not exists form_challenge_expires on ${s}.form_challenge (expires)`
  ]
}

/** Stamps in the future are of a clock that went back since. */
const recent =
  "array(select s from unnest(a.stamps) s where s > clock_timestamp() - interval '1 minute' and s <= clock_timestamp() order by s)"

/** The statements of the port, for a schema's name as SQL. */
const submissionStatements = (s: string) => {
  // Each insert also removes a few expired rows.
  const admitSql = `with old as (delete from ${s}.form_attempt where id in (select id from ${s}.form_attempt` +
    ` where at < now() - interval '2 minutes' order by at limit 20 for update skip locked) and id <> $1)` +
    ` insert into ${s}.form_attempt as a (id, stamps, allowed, at)` +
    ` values ($1, array[clock_timestamp()], true, clock_timestamp())` +
    ` on conflict (id) do update set allowed = cardinality(${recent}) < $2::int,` +
    ` stamps = case when cardinality(${recent}) < $2::int then ${recent} || clock_timestamp() else ${recent} end,` +
    ` at = clock_timestamp()` +
    ` returning allowed::text,` +
    ` greatest(1, ceil(extract(epoch from stamps[1] + interval '1 minute' - clock_timestamp())))::int::text`

  const spendSql = `with old as (delete from ${s}.form_challenge where id in (select id from ${s}.form_challenge` +
    ` where expires < now() order by expires limit 20 for update skip locked) and id <> $1)` +
    ` insert into ${s}.form_challenge (id, expires) values ($1, to_timestamp($2::double precision))` +
    ` on conflict (id) do nothing returning id`

  const missingSql = `select (to_regclass('${s}.form_challenge') is null)::text`

  return { admitSql, missingSql, spendSql }
}

/** The port on given connections. It makes its tables on first use where nobody has. */
export const makeSubmissions = (postgres: Postgres): SubmissionsService => {
  const { service } = postgres.schemas
  const { admitSql, missingSql, spendSql } = submissionStatements(ownSchema(service))
  let prepared = false
  const prepare: Effect.Effect<void, unknown> = Effect.suspend(() =>
    prepared ? Effect.void : Effect.map(
      postgres.transaction((session) =>
        Effect.gen(function*() {
          const [answer] = yield* session.run(missingSql, [], false)
          if (answer?.[0] !== "true") return
          // Two processes at once wait for each other.
          yield* session.run(`select pg_advisory_xact_lock(${lockSeed(8173, service)}, 1)::text`, [], false)
          for (const sql of submissionsSchema(service)) yield* session.run(sql, [], false)
        })
      ),
      () => {
        prepared = true
      }
    )
  )
  const run = (sql: string, params: readonly unknown[]) =>
    Effect.mapError(
      Effect.andThen(prepare, postgres.transaction((session: Session) => session.run(sql, params, true), true)),
      (cause) => new SubmissionsError({ cause })
    )
  return {
    admit: (id, most) =>
      Effect.map(run(admitSql, [id, most]), ([row]) => row?.[0] === "true" ? 0 : Number(row?.[1] ?? 60)),
    spend: (id, expires) => Effect.map(run(spendSql, [id, expires / 1000]), (rows) => rows.length === 1)
  }
}
