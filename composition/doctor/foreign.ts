/**
 * Objects of somebody else under names of ours, and what an earlier version of the service did to them: it took over a table `auth."user"` that was there. The
 * findings print the SQL that undoes it. Nothing is changed here.
 */

import type { Client } from "pg"
import { ownSchema } from "../../adapters/postgres/sql.ts"
import type { Schemas } from "../../core/domain/declare/schemas.ts"
import { authMigrations, type Migration } from "../migrations.ts"
import {
  foreignAccountsSql,
  foreignRefusal,
  freeNameSql,
  objectsOf,
  recordSql,
  type RefusedObjects
} from "../ownership.ts"
import type { Finding } from "./finding.ts"

export const checkForeign = (foreign: readonly RefusedObjects[]): readonly Finding[] =>
  foreign.map((each) => ({ ...foreignRefusal(each), level: "error", check: "migration", sql: [] }))

const statementsOf = (migrations: readonly Migration[]): string =>
  migrations.map(({ statements }) => statements).join("\n")

/**
 * What undoes it, one statement a row. A table of the same name and shape may be theirs or ours, as both use the same library of accounts. So the
 * transaction tells: ours were made in the one that made the table "apiKey", which only we have.
 */
const undoSql = `with place as (select oid from pg_namespace where nspname = $1),
made as (select k.xmin::text as xmin from pg_constraint k join pg_class c on c.oid = k.conrelid
  where c.relnamespace = (select oid from place) and c.relname = 'apiKey' and k.contype = 'p'),
accounts as (select oid from pg_class where relnamespace = (select oid from place) and relname = 'user'),
ours as (select c.oid, c.relname, c.oid::regclass::text as name from pg_class c join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
  where c.relnamespace = (select oid from place) and k.xmin::text in (select xmin from made) and c.oid not in (select oid from accounts)
    and c.relname = any ($2::text[])),
undo as (
  select 1 as step, t.oid, format('drop trigger %I on %s;', t.tgname, t.tgrelid::regclass) as statement
    from pg_trigger t join pg_proc p on p.oid = t.tgfoid
    where p.pronamespace = (select oid from place) and p.proname = any ($3::text[]) and t.tgrelid not in (select oid from ours)
  union all
  select 2, k.oid, format('alter table %s drop constraint %I;', k.conrelid::regclass, k.conname)
    from pg_constraint k where k.contype = 'f' and k.confrelid in (select oid from accounts) and k.conrelid in (select oid from ours)
  union all
  select 3, i.indexrelid, format('drop index %s;', i.indexrelid::regclass)
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = (select oid from place) and c.relname = any ($2::text[]) and i.indrelid not in (select oid from ours)
      and i.xmin::text in (select xmin from made)
  union all
  select 4, o.oid, format(case when pg_relation_size(o.oid) = 0 then 'drop table %s;' else '-- It has had rows, look first: drop table %s;' end, o.name)
    from ours o
  union all
  select 5, p.oid, format('drop function %s;', p.oid::regprocedure)
    from pg_proc p where p.pronamespace = (select oid from place) and p.proname = any ($3::text[])
)
select statement from undo order by step, oid desc`

/** A table of accounts that is not ours and has our triggers. */
export const checkTakenOver = async (
  client: Client,
  { auth: schema, ...schemas }: Schemas
): Promise<readonly Finding[]> => {
  const { rows: objects } = await client.query<{ what: string }>(foreignAccountsSql(schema))
  const what = objects[0]?.what
  if (what === undefined) return []
  const migrations = authMigrations({
    auth: { twoFactor: true, passkeys: true },
    schemas: { auth: schema, ...schemas }
  })
  const made = objectsOf(statementsOf(migrations))
  const names = (kind: string): readonly string[] => made.filter((one) => one.kind === kind).map(({ name }) => name)
  const { rows } = await client.query<{ statement: string }>(undoSql, [schema, names("relation"), names("function")])
  if (rows.length === 0) return []
  const { rows: [free] } = await client.query<{ name: string }>(freeNameSql("auth", { auth: schema, ...schemas }))
  return [{
    level: "error",
    check: "taken-over",
    resource: null,
    field: null,
    message:
      `An earlier version of this service has put triggers and foreign keys on ${what}, which is not its own: changes of accounts fail.`,
    fix: `These statements undo it. Then name another schema in the configuration: schemas: { auth: "${free!.name}" }.`,
    sql: [
      "begin;",
      ...rows.map(({ statement }) => statement),
      `delete from ${ownSchema(schemas.service)}.migration where name in (${
        migrations.map(({ recordedAs }) => `'${recordedAs}'`).join(", ")
      });`,
      "commit;"
    ]
  }]
}

/** Which of our schemas are there and ours. It needs no right to them, so that the rights to them can be checked. */
export const ownSchemas = async (
  client: Client,
  { auth, service }: Schemas
): Promise<{ readonly service: boolean; readonly auth: boolean }> => {
  const { rows: [record] } = await client.query<{ ours: boolean }>(recordSql(service))
  const { rows: accounts } = await client.query(
    `select from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
     where n.nspname = $1 and c.relname = 'user' and a.attname = 'tokenEpoch' and not a.attisdropped`,
    [auth]
  )
  return { service: record?.ours === true, auth: accounts.length > 0 }
}
