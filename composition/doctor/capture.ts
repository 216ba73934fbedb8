/** What the doctor says about captured changes: triggers that nobody needs any more, and changes that nobody sends on. */

import type { Client } from "pg"
import { capturedTables, captureTrigger, leftoverSql } from "../../adapters/postgres/capture.ts"
import { ownSchema } from "../../adapters/postgres/sql.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import type { Finding } from "./finding.ts"

/** Minutes after which a change should have been sent on. */
const lateMinutes = 5

const waitingSql = (s: string): string =>
  `select count(*)::integer as count from (
  select from ${s}.change where at < now() - interval '${lateMinutes} minutes' limit 100000) c`

export const checkCapture = async (
  client: Pick<Client, "query">,
  { models, schemas }: Pick<Compiled, "models" | "schemas">
): Promise<readonly Finding[]> => {
  const about = (message: string, fix: string | null, sql: readonly string[] = []): Finding => ({
    level: "warning",
    check: "events",
    resource: null,
    field: null,
    message,
    fix,
    sql
  })
  const tables = capturedTables(models)
  const { rows } = await client.query<{ readonly relation: string }>(leftoverSql(tables, schemas.service))
  const findings = rows.map(({ relation }) =>
    about(`Changes of ${relation} are captured, but no resource over it declares events.`, null, [
      `drop trigger "${captureTrigger(schemas.service)}" on ${relation};`
    ])
  )
  const { rows: [place] } = await client.query<{ readonly readable: boolean }>(
    // By the catalogue: to_regclass fails for a role that may not use the schema.
    `select coalesce(bool_or(has_schema_privilege(c.relnamespace, 'usage') and has_table_privilege(c.oid, 'select')), false) as readable
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = 'change'`,
    [schemas.service]
  )
  if (place?.readable !== true) return findings
  const { rows: [waiting] } = await client.query<{ readonly count: number }>(waitingSql(ownSchema(schemas.service)))
  const count = waiting?.count ?? 0
  return count === 0 ? findings : [
    ...findings,
    about(
      `${count} changes have waited for more than ${lateMinutes} minutes to be sent to those who subscribe.`,
      "Run a server or a worker of this configuration (not with SERVICE_JOBS=false), or see its log for why it does not send them."
    )
  ]
}
