/**
 * The turns of subscriptions that have a limit: a row for each, with the time of the next turn and of the next place in the line (GCRA without a burst). A
 * statement takes a turn, so a turn that nobody uses is lost, and no lock is held.
 */

import * as Effect from "effect/Effect"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import type { RatesService } from "../../core/ports/rates.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import type { Postgres } from "./connection.ts"
import { refuse } from "./errors.ts"
import { ownSchema } from "./sql.ts"

/** The table, safe to make again. */
export const ratesSchema = (schema: string = defaultSchemas.service): readonly string[] => {
  const s = ownSchema(schema)
  return [
    `create schema if not exists ${s}`,
    `create table if not exists ${s}.delivery_rate (
  subscription text primary key,
  next_at timestamptz not null,
  line_at timestamptz not null,
  granted boolean not null
) with (fillfactor = 50)`
  ]
}

/** How often rows that say nothing any more are removed, in milliseconds. */
const forgetMs = 3_600_000

/** Turns that lie further ahead than any can, because a clock went back, count for nothing. */
const furthestTurn = "interval '5 minutes'"

/** The port on given connections. */
export const makeRates = (postgres: Postgres): RatesService => {
  const table = `${ownSchema(postgres.schemas.service)}.delivery_rate`
  const step = "($2::float8 * interval '1 millisecond')"
  // One time for the whole statement: the clock goes on within it.
  const now = "(select t from now)"
  const next = `case when r.next_at > ${now} + ${furthestTurn} then ${now} else greatest(r.next_at, ${now}) end`
  const ms = (time: string): string => `(extract(epoch from ${time} - ${now}) * 1000)::float8::text`
  const free = `${next} <= ${now} + $3::float8 * interval '1 millisecond'`
  const takeSql = `with now as materialized (select clock_timestamp() as t)
insert into ${table} as r (subscription, next_at, line_at, granted) select $1, t + ${step}, t, true from now
on conflict (subscription) do update set granted = ${free},
  next_at = case when ${free} then ${next} + ${step} else r.next_at end,
  line_at = case when ${free} then r.line_at else greatest(r.line_at, ${next}) + ${step} end
returning granted::text, case when granted then ${ms(`next_at - ${step}`)} else ${ms(`line_at - ${step}`)} end`
  const lineSql = `with now as materialized (select clock_timestamp() as t)
insert into ${table} as r (subscription, next_at, line_at, granted) select $1, t, t + $3 * ${step}, false from now
on conflict (subscription) do update set line_at = greatest(r.line_at, ${now}) + $3 * ${step}
returning ${ms(`line_at - $3 * ${step}`)}`
  const many = (sql: string, params: readonly unknown[]) =>
    postgres.transaction((session) => Effect.catch(session.run(sql, params, true), refuse), true)
  const one = (sql: string, params: readonly unknown[]): Effect.Effect<ReadonlyArray<string | null>, RecordsError> =>
    Effect.map(many(sql, params), ([row]) => row!)
  const forgetSql = `delete from ${table} where subscription in (
  select subscription from ${table} where next_at < now() - interval '1 day' and line_at < now() - interval '1 day'
  order by subscription limit 1000 for update skip locked
) returning 1`
  let forgotten = -Infinity
  /** Rows of the past say nothing. What is locked is in use. */
  const forget = Effect.suspend(() => {
    if (performance.now() < forgotten + forgetMs) return Effect.void
    forgotten = performance.now()
    return Effect.asVoid(many(forgetSql, []))
  })
  const wait = (text: string | null | undefined): number => Math.max(0, Math.ceil(Number(text ?? 0)))
  return {
    take: (subscription, spacingMs, longestMs) =>
      Effect.map(one(takeSql, [subscription, String(spacingMs), String(longestMs)]), ([granted, ms]) => ({
        granted: granted === "true",
        waitMs: wait(ms)
      })),
    line: (subscription, spacingMs, count) =>
      Effect.andThen(
        forget,
        Effect.map(one(lineSql, [subscription, String(spacingMs), String(count)]), ([ms]) => wait(ms))
      )
  }
}
