/** What the doctor says about jobs: names that nothing here runs, and jobs that wait although they are due. */

import type { Client } from "pg"
import { ownSchema } from "../../adapters/postgres/sql.ts"
import { driftOf } from "../../adapters/queue/check.ts"
import { driftSql } from "../../adapters/queue/schema.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import { isOwnJob } from "../../core/domain/compile/jobs.ts"
import type { Finding } from "./finding.ts"

/** Minutes after which a due job should have been taken. */
const lateMinutes = 15

/** The row of a definition is read as JSON: at a lower level of the schema, it says nothing of pauses. */
const countsSql = (s: string): string =>
  `select c.name, waiting::integer, failed::integer, oldest_due < now() - interval '${lateMinutes} minutes' as late,
  left(to_jsonb(d)->>'paused_at', 10) as paused from ${s}._counts() c
join ${s}._private_tasks t on t.identifier = c.name join ${s}.definitions d on d.task_id = t.id`

interface Row {
  readonly name: string
  readonly waiting: number
  readonly failed: number
  readonly late: boolean | null
  /** The day of its pause. */
  readonly paused: string | null
}

export const checkJobs = async (
  client: Pick<Client, "query">,
  { jobs, schemas }: Pick<Compiled, "jobs" | "schemas">
): Promise<readonly Finding[]> => {
  const { rows: [place] } = await client.query<{ readonly usable: boolean }>(
    `select exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1 and p.proname = '_counts'
      and has_schema_privilege(n.oid, 'usage') and has_function_privilege(p.oid, 'execute')) as usable`,
    [schemas.jobs]
  )
  if (place?.usable !== true) return []
  const about = (level: Finding["level"], message: string, fix: string): Finding => ({
    level,
    check: "jobs",
    resource: null,
    field: null,
    message,
    fix,
    sql: []
  })
  const drift = driftOf((await client.query(driftSql(schemas.jobs))).rows)
  const isKnown = (name: string): boolean => jobs.has(name) || isOwnJob(name)
  const { rows } = await client.query<Row>(countsSql(ownSchema(schemas.jobs)))
  // At another level everything may differ, and the check of migrations says so.
  const changed = drift.length === 0 || drift.some((each) => each.startsWith("function _level ")) ? [] : [about(
    "error",
    `The schema ${schemas.jobs} is not as this version makes it: ${drift.join(", ")}.`,
    "Run: service migration --apply"
  )]
  return [
    ...changed,
    ...rows.flatMap(({ failed, late, name, paused, waiting }) => [
      ...(waiting > 0 && !isKnown(name)
        ? [about(
          "warning",
          `${waiting} ${waiting === 1 ? "job" : "jobs"} "${name}" waiting: the configuration has no job of this name.`,
          "Declare it, or delete the jobs: nothing runs them, and they go after 14 days."
        )]
        : []),
      ...(paused !== null
        ? [about(
          "warning",
          `Jobs "${name}" are paused since ${paused}: none of them begins.`,
          `When they may go on: service jobs resume ${name}`
        )]
        : late === true && isKnown(name)
        ? [about(
          "warning",
          `Jobs "${name}" have been due for more than ${lateMinutes} minutes.`,
          "Run a server (not with SERVICE_JOBS=false) or a worker, or give the job a higher concurrency."
        )]
        : []),
      ...(failed > 0
        ? [
          about(
            "note",
            `${failed} ${failed === 1 ? "job" : "jobs"} "${name}" failed.`,
            `See why: service jobs failed --name ${name}`
          )
        ]
        : [])
    ])
  ]
}
