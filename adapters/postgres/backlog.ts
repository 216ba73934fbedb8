/** How much work waits in the tables of the service, for whoever watches over it: changes that are not dispatched, tasks, and jobs of dead processes. */

import type { Schemas } from "../../core/domain/declare/schemas.ts"
import { ownSchema } from "./sql.ts"

/** Which tables there are to look at. */
export interface BacklogParts {
  readonly events: boolean
  readonly tasks: boolean
  readonly jobs: boolean
}

export interface Backlog {
  /** Changes that wait for dispatch, counted up to 100,000, and the age of the first in seconds. */
  readonly events: { readonly count: number; readonly age: number } | null
  /** Tasks that have not ended, by state. */
  readonly tasks: ReadonlyMap<string, number> | null
  /** Jobs whose process has given no sign of life for its lease. */
  readonly held: number | null
}

/** Most changes that are counted: whoever waits behind so many waits long. */
const mostCounted = 100_000

interface Row {
  readonly kind: string
  readonly name: string
  readonly count: string
  readonly age: string
}

/** One statement over what is there. `jobs`: leases end four hours after `locked_at`. */
const backlogSql = ({ jobs, service }: Schemas, parts: BacklogParts): string => {
  const [s, q] = [ownSchema(service), ownSchema(jobs)]
  return [
    ...(parts.events
      ? [
        `select 'events' as kind, '' as name, (select count(*) from (select from ${s}.change limit ${mostCounted}) c)::text as count,
  coalesce((select extract(epoch from now() - at) from ${s}.change order by sequence limit 1), 0)::text as age`
      ]
      : []),
    ...(parts.tasks
      ? [
        `select 'tasks' as kind, state as name, count(*)::text as count, '0' as age from ${s}.task where ended_at is null group by state`
      ]
      : []),
    ...(parts.jobs
      ? [
        `select 'held' as kind, '' as name, count(*)::text as count, '0' as age from ${q}._private_jobs where locked_at < now() - interval '4 hours'`
      ]
      : [])
  ].join("\nunion all\n")
}

/** Reads the backlog with one statement of the given connection. */
export const readBacklog = async (
  query: (sql: string) => Promise<readonly Row[]>,
  schemas: Schemas,
  parts: BacklogParts
): Promise<Backlog> => {
  const sql = backlogSql(schemas, parts)
  const rows = sql === "" ? [] : await query(sql)
  const of = (kind: string): readonly Row[] => rows.filter((row) => row.kind === kind)
  const [events] = of("events")
  const [held] = of("held")
  return {
    events: events === undefined ? null : { count: Number(events.count), age: Math.max(0, Number(events.age)) },
    tasks: parts.tasks ? new Map(of("tasks").map(({ count, name }) => [name, Number(count)])) : null,
    held: held === undefined ? null : Number(held.count)
  }
}
