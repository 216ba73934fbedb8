/**
 * Refreshes of materialized views, and the table that remembers them: PostgreSQL keeps no time of its own. It decides neither who may refresh nor when.
 */

import type { OwnDatabase } from "../../core/domain/job/definition.ts"
import type { Model } from "../../core/domain/model/model.ts"
import { ownSchema, quoted, tableOf } from "./sql.ts"

/** DDL of the table, safe to repeat. */
export const refreshesSchema = (schema: string): readonly string[] => [
  `create schema if not exists ${ownSchema(schema)}`,
  `create table if not exists ${ownSchema(schema)}.refresh (
  view text primary key,
  refreshed_at timestamptz,
  failed_at timestamptz
)`
]

/** Asks for the times of a model's view: the last refresh, and a failure after it. */
export const refreshedSql = (schema: string, model: Model): string =>
  `select refreshed_at::text, failed_at::text from ${ownSchema(schema)}.refresh where view = ${quoted(tableOf(model))}`

const isConcurrent = (view: string): string =>
  // A unique index over plain columns and all rows, of a view that has been filled once (PostgreSQL "REFRESH MATERIALIZED VIEW").
  `select exists (select from pg_index i join pg_class c on c.oid = i.indrelid where i.indrelid = to_regclass(${
    quoted(view)
  }) and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null and c.relispopulated) as concurrent`

const note = (schema: string, view: string, refreshed: string, failed: string): string =>
  `insert into ${ownSchema(schema)}.refresh (view, refreshed_at, failed_at) values (${
    quoted(view)
  }, ${refreshed}, ${failed}) on conflict (view) do update set failed_at = excluded.failed_at` +
  (refreshed === "null" ? "" : ", refreshed_at = excluded.refreshed_at")

/**
 * Refreshes a view. The data is as old as the start of the refresh, so that time is kept, with the refresh itself or not at all. The transaction holds what the refresh
 * holds and nothing longer: it has the time limit, the refresh and one small row.
 */
export const refreshView = async (
  db: OwnDatabase,
  schema: string,
  model: Model,
  timeoutMs: number
): Promise<void> => {
  const view = tableOf(model)
  const [answer] = await db.query<{ readonly concurrent: boolean }>(isConcurrent(view))
  try {
    await db.transaction(async (tx) => {
      await tx.query(`set local statement_timeout = ${Math.ceil(timeoutMs)}`)
      await tx.query(`refresh materialized view ${answer?.concurrent === true ? "concurrently " : ""}${view}`)
      await tx.query(note(schema, view, "transaction_timestamp()", "null"))
    })
  } catch (error) {
    await db.query(note(schema, view, "null", "clock_timestamp()"))
    throw error
  }
}
