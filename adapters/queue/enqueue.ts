/**
 * Enqueuing through whatever runs statements: a write hook's transaction, a pool or client of `pg`, the application's database as jobs get it. One
 * statement, no `NOTIFY`: that would make committing transactions wait for each other.
 */

import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { hearsEnqueued, type JobDatabase, queueSchema } from "../../core/domain/job/definition.ts"
import type { EnqueuePlan } from "../../core/domain/job/enqueue.ts"
import { ownSchema } from "./sql.ts"

/** How a database object says that it enqueues by itself, to wake workers of this process, or as a fake. */
export const enqueuesItself: unique symbol = Symbol.for("resource-admin/enqueue")

export interface EnqueuingDatabase extends JobDatabase {
  readonly [enqueuesItself]?: (plans: readonly EnqueuePlan[]) => Promise<readonly string[]>
}

const text = (value: number | string | null): string | null => value === null ? null : String(value)

/** All are texts. Whichever driver binds them, the casts give the types. */
const parametersOf = (plan: EnqueuePlan): Array<string | null> => [
  plan.name,
  plan.payload,
  plan.runAt === null ? null : plan.runAt.toISOString(),
  plan.delayMs === null ? null : `${plan.delayMs} milliseconds`,
  plan.key,
  plan.mode,
  plan.group,
  String(plan.priority),
  plan.ordered === null ? null : String(plan.ordered),
  text(plan.maxAttempts)
]

/** The parameters of `_enqueue`, as names of our own and types. */
const names = ["name", "payload", "at", "wait", "key", "how", "grp", "urgency", "ordered", "tries"]
const types = ["text", "json", "timestamptz", "interval", "text", "text", "text", "integer", "boolean", "integer"]

const listed = (each: (name: string, type: string, index: number) => string): string =>
  names.map((name, index) => each(name, types[index]!, index)).join(", ")

const oneIn = (s: string): string =>
  `select ${s}._enqueue(${
    listed((_, type, index) => `$${index + 1}::text${type === "text" ? "" : `::${type}`}`)
  })::text as id`

/** Each payload is a text inside of the JSON, so that it stays exactly as it was written. */
const manyIn = (s: string): string =>
  `select ${s}._enqueue(${
    listed((name, type) => type === "text" ? `e.${name}` : `e.${name}::${type}`)
  })::text as id from rows from (json_to_recordset($1::text::json) as (${
    listed((name) => `${name} text`)
  })) with ordinality as e(${names.join(", ")}, position) order by e.position`

/** The statements for the schema of a queue, made once for each. */
const statements = new Map<string, { readonly one: string; readonly many: string }>()

const enqueueStatements = (schema: string): { readonly one: string; readonly many: string } => {
  const earlier = statements.get(schema)
  if (earlier !== undefined) return earlier
  const s = ownSchema(schema)
  const made = { one: oneIn(s), many: manyIn(s) }
  statements.set(schema, made)
  return made
}

/** Runs one statement on a database object, whichever form its answer has. */
const queryOn = async (
  db: JobDatabase,
  sql: string,
  params: readonly unknown[]
): Promise<ReadonlyArray<{ readonly [column: string]: unknown }>> => {
  const answer = await db.query(sql, [...params])
  return "rows" in answer ? answer.rows : answer
}

/** Enqueues jobs and gives their ids in the same order. Rejects as the database does. */
export const enqueueOn = async (db: EnqueuingDatabase, plans: readonly EnqueuePlan[]): Promise<readonly string[]> => {
  if (plans.length === 0) return []
  const own = db[enqueuesItself]
  if (own !== undefined) return own(plans)
  const { many, one } = enqueueStatements(db[queueSchema] ?? defaultSchemas.jobs)
  const rows = plans.length === 1
    ? await queryOn(db, one, parametersOf(plans[0]!))
    : await queryOn(db, many, [
      JSON.stringify(plans.map((plan) => {
        const values = parametersOf(plan)
        return Object.fromEntries(names.map((name, index) => [name, values[index]]))
      }))
    ])
  db[hearsEnqueued]?.(plans.map(({ name }) => name))
  return rows.map(({ id }) => String(id))
}
