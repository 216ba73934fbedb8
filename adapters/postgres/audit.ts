/** The port to the audit on PostgreSQL: one table in a schema of the service, to which rows are added and from which old ones are removed. */

import * as Effect from "effect/Effect"
import { type AuditEntry, mostSearchedEntries, type NewAuditEntry } from "../../core/domain/audit/entry.ts"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { ownJson } from "../../core/domain/own-json.ts"
import type { AuditService } from "../../core/ports/audit.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import type { Postgres } from "./connection.ts"
import { refuse } from "./errors.ts"
import { lockSeed, ownSchema } from "./sql.ts"
import { within } from "./within.ts"

/** What the port needs, in the schema of that name; safe to run again. */
export const auditSchema = (schema: string = defaultSchemas.service): readonly string[] => {
  const s = ownSchema(schema)
  return [
    `create schema if not exists ${s}`,
    `create table if not exists ${s}.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  act text not null,
  actor_id text,
  actor_name text,
  tenant text,
  key text,
  subject_kind text,
  subject_id text,
  subject_name text,
  details jsonb not null,
  request text
)`,
    `create index if not exists audit_at on ${s}.audit (at, id)`,
    `create index if not exists audit_actor on ${s}.audit (actor_id, at, id)`,
    `create index if not exists audit_act on ${s}.audit (act, at, id)`,
    `create index if not exists audit_tenant on ${s}.audit (tenant, at, id)`
  ]
}

/** Whoever may use the table of saved views, which is older, may add entries, read them and remove old ones. Nobody gets the right to change one. */
export const auditGrants = (schema: string): readonly string[] => {
  const s = ownSchema(schema)
  return [
    `do $grants$
declare r record;
begin
  for r in select a.grantee::regrole::text as name from pg_class c, aclexplode(c.relacl) a where c.oid = to_regclass('${s}.saved_view')
    and a.privilege_type = 'DELETE' and a.grantee not in (0, c.relowner)
  loop
    execute format('grant select, insert, delete on ${s}.audit to %s', r.name);
  end loop;
end $grants$`
  ]
}

/** Old entries that one statement removes. */
const forgottenAtOnce = 1_000

const columns = [
  "act",
  "actor_id",
  "actor_name",
  "tenant",
  "key",
  "subject_kind",
  "subject_id",
  "subject_name",
  "request"
] as const

const valuesOf = ({ act, actor, details, key, request, subject, tenant }: NewAuditEntry) => ({
  act,
  actor_id: actor?.id ?? null,
  actor_name: actor?.name ?? null,
  tenant,
  key,
  subject_kind: subject?.kind ?? null,
  subject_id: subject?.id ?? null,
  subject_name: subject?.name ?? null,
  request,
  details
})

const stamp = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

/** The statements of the port. */
const auditStatements = (schema: string, days: number) => {
  const table = `${ownSchema(schema)}.audit`
  const old = `at < now() - interval '${days} days'`
  // Without a lock of the rows, which needs the right to change them.
  const forgetSql = `delete from ${table} where id in (
  select id from ${table} where ${old} order by at, id limit ${forgottenAtOnce}) returning id::text`
  const listed = columns.map((name) => `e.${name}`).join(", ")
  const addSql = `insert into ${table} (${columns.join(", ")}, details) select ${listed}, e.details
from json_to_recordset($1::text::json) as e(${columns.map((name) => `${name} text`).join(", ")}, details jsonb)`
  const has = (...names: readonly string[]): string =>
    names.map((name) => `strpos(lower(${name}), lower($6)) > 0`).join(" or ")
  const isSearched =
    `subject_kind is distinct from 'resource' or subject_id in (select json_array_elements_text($10::text::json))`
  // An index is not used for "is not distinct from".
  const pageSql = (tenant: string | null): string =>
    `select json_build_object('id', id::text, 'at', to_char(at at time zone 'UTC', ${stamp}), 'act', act,
  'actor', case when actor_id is not null then json_build_object('id', actor_id, 'name', actor_name) end, 'tenant', tenant, 'key', key,
  'subject', case when subject_id is not null then json_build_object('kind', subject_kind, 'id', subject_id, 'name', subject_name) end,
  'details', details, 'request', request)::text
from (
  select * from ${table}
  where not ${old} and ${
      tenant === null ? "$1::text is null and tenant is null" : "tenant = $1::text"
    } and ($2::text is null or actor_id = $2)
    and ($3::text is null or act in (select json_array_elements_text($3::text::json)))
    and ($4::text is null or at >= $4::text::timestamptz) and ($5::text is null or at < $5::text::timestamptz)
    and ($7::text is null or (at, id) < ($7::text::timestamptz, $8::text::bigint))
  order by at desc, id desc limit case when $6::text is null then $9::text::bigint else ${mostSearchedEntries} end
) e where $6::text is null or request = $6 or key = $6 or ${has("actor_id", "actor_name")}
  or ((${isSearched}) and (${has("subject_id", "subject_name")}))
order by at desc, id desc limit $9::text::bigint`
  return { addSql, forgetSql, pageSql, table }
}

/** The port on given connections. It makes its table on first use where nobody has. `days`: how long entries are kept. */
export const makeAudit = (postgres: Postgres, days: number): AuditService => {
  const { service } = postgres.schemas
  const { addSql, forgetSql, pageSql, table } = auditStatements(service, days)
  let stands = false
  type Run = (sql: string, params: readonly unknown[]) => Effect.Effect<ReadonlyArray<unknown>, RecordsError>
  /** Makes the table by the statements of a transaction. */
  const ensure = Effect.fnUntraced(function*(run: Run): Effect.fn.Return<void, RecordsError> {
    const found = yield* run(`select 1 as there where to_regclass($1::text) is not null`, [table])
    if (found.length > 0) return
    // Two processes at once wait for each other.
    yield* run(`select pg_advisory_xact_lock(${lockSeed(8173, service)}, 1)::text`, [])
    for (const sql of auditSchema(service)) yield* run(sql, [])
  })
  const transaction = <A>(work: (run: Run) => Effect.Effect<A, RecordsError>, alone: boolean) =>
    postgres.transaction(
      (session) => work((sql, params) => Effect.catch(session.run(sql, params, false), refuse)),
      alone
    )
  const prepared: Effect.Effect<void, RecordsError> = Effect.suspend(() =>
    stands ? Effect.void : Effect.map(transaction(ensure, false), () => {
      stands = true
    })
  )
  /** Whether there is a table to read. A read makes none: a standby takes no changes. */
  const found: Effect.Effect<boolean, RecordsError> = Effect.suspend(() =>
    stands
      ? Effect.succeed(true)
      : Effect.map(
        postgres.read("select 1 where to_regclass($1::text) is not null", [table], { prepare: false }),
        (rows) => rows.length > 0
      )
  )
  return {
    add: (entries, handle) => {
      if (entries.length === 0) return Effect.void
      const params = [JSON.stringify(entries.map(valuesOf))]
      return Effect.asVoid(
        handle === undefined
          ? Effect.andThen(prepared, transaction((run) => run(addSql, params), true))
          // Whether the table stays is decided by the transaction, so it is looked for the next time, too.
          : Effect.andThen(
            Effect.suspend(() => stands ? Effect.void : ensure(within<unknown>(handle))),
            within<unknown>(handle)(addSql, params)
          )
      )
    },
    page: ({ actor, acts, after, limit, search, searched, since, tenant, until }) =>
      Effect.flatMap(found, (isThere) =>
        isThere
          ? Effect.map(
            postgres.read(pageSql(tenant), [
              tenant,
              actor,
              acts === null ? null : JSON.stringify(acts),
              since,
              until,
              search,
              after?.at ?? null,
              after?.id ?? null,
              String(limit),
              JSON.stringify(searched)
            ], { prepare: false }),
            (rows) => rows.flatMap(([text]) => text == null ? [] : [ownJson<AuditEntry>(text)])
          )
          : Effect.succeed([])),
    forget: Effect.andThen(
      prepared,
      Effect.gen(function*() {
        let all = 0
        for (;;) {
          const { length } = yield* transaction((run) => run(forgetSql, []), true)
          all += length
          if (length < forgottenAtOnce) return all
        }
      })
    )
  }
}
