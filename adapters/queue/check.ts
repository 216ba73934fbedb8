/** Whether a database has the schema of the queue as this version needs it, and whether jobs still are what their queues were made for. It changes nothing. */

import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import type { JobModel } from "../../core/domain/job/definition.ts"
import { type Connections, type QueryAnswer, runOn } from "./connection.ts"
import { driftSql, libraryLevel, ownLevel } from "./schema.ts"
import { ownSchema, quoted } from "./sql.ts"

/**
 * `ahead`: one level of our own above, which a program of this level still works with (docs/guides/upgrade.md#what-a-version-promises). `newer`: further,
 * or another level of the library.
 */
export type SchemaLevel = "missing" | "behind" | "current" | "ahead" | "newer"

const levelSql = (schema: string): string =>
  `select (select p.prosrc from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = ${quoted(schema)} and p.proname = '_level') as level,
 (select count(*)::integer from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = ${
    quoted(schema)
  } and c.relname = '_private_jobs' and t.tgname in ('service_lock', 'service_gone') and t.tgenabled <> 'D') as triggers`

/** How the database's schema stands to ours. A library that went further by itself is newer; lost triggers are behind. */
export const checkSchema = async (pool: Connections, schema: string = defaultSchemas.jobs): Promise<SchemaLevel> => {
  const { rows } = await runOn(pool, levelSql(schema))
  const level = /'(\d+)\.(\d+)'/.exec(String(rows[0]?.["level"]))
  if (level === null) return "missing"
  const { rows: migrated } = await runOn(pool, `select max(id)::integer as id from ${ownSchema(schema)}.migrations`)
  const library = Math.max(Number(level[1]), Number(migrated[0]?.["id"] ?? 0))
  const own = Number(level[2])
  if (library > libraryLevel || own > ownLevel + 1) return "newer"
  if (library < libraryLevel || own < ownLevel || rows[0]?.["triggers"] !== 2) return "behind"
  return own > ownLevel ? "ahead" : "current"
}

/** What of our functions and triggers was changed or dropped since the migration made them, as words. */
export const driftOf = (rows: QueryAnswer["rows"]): readonly string[] =>
  rows.map(({ missing, what }) => `${String(what)} ${missing === true ? "is missing" : "was changed"}`).toSorted()

/** The same, asked of a database whose schema is at our level. */
export const findDrift = async (pool: Connections, schema: string = defaultSchemas.jobs): Promise<readonly string[]> =>
  driftOf((await runOn(pool, driftSql(schema))).rows)

/** Jobs whose `ordered` is not what their queue was made with. */
export const findReordered = async (
  pool: Connections,
  jobs: ReadonlyMap<string, JobModel>,
  schema: string = defaultSchemas.jobs
): Promise<readonly JobModel[]> => {
  const s = ownSchema(schema)
  const { rows } = await runOn(
    pool,
    `select t.identifier as name, d.ordered from ${s}.definitions d join ${s}._private_tasks t on t.id = d.task_id where t.identifier = any($1::text[])`,
    [[...jobs.keys()]]
  )
  return rows.flatMap(({ name, ordered }) => {
    const job = jobs.get(String(name))
    return job === undefined || job.ordered === ordered ? [] : [job]
  })
}
