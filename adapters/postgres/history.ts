/**
 * Tables of versions as statements that are safe to run again. Each table has what every version has, and the columns of the tracked table
 * with their present types. A second statement asks whether a database has them so. It never drops a column and never touches a tracked
 * table.
 */

import type { Model } from "../../core/domain/model/model.ts"
import { identifier, quoted, tableOf } from "./sql.ts"

const sharedColumns = (tracked: Model, versions: Model): readonly string[] => {
  const shared = new Set(versions.columns.map(({ column }) => column))
  return tracked.columns.filter(({ column }) => shared.has(column)).map(({ column }) => column)
}

const indexOf = (versions: Model): string => `${versions.table}_key`.slice(0, 63)

/** What every version has besides the record. */
const ownColumns = ["history_id", "history_operation", "history_at", "history_by", "history_changed"]

/**
 * Asks the catalogue whether the table of versions is as the statements make it: one row, `present`. More columns are fine, because another
 * service may track the same table with more fields. True also where the tracked table does not exist, as nothing can be made then. It
 * needs no right to the table of versions.
 */
export const historyQuestion = (tracked: Model, versions: Model): string => {
  const { tenant } = versions
  // The search path decides about a name without a schema. Other names are looked up here, because that needs no right to the schema.
  const idSql = ({ schema, table }: Model): string =>
    schema === null
      ? `to_regclass(${quoted(identifier(table))})`
      : `(select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${quoted(schema)}::name and c.relname = ${quoted(table)}::name)`
  return `with source as (select ${idSql(tracked)} as id),
kept as (select oid as id, relnamespace as schema from pg_class where oid = ${idSql(versions)}),
had as (
  select attname, atttypid, atttypmod, attnotnull from pg_attribute
  where attrelid = (select id from kept) and attnum > 0 and not attisdropped
)
select (select id from source) is null or (
  (select count(*) from had where attname in (${ownColumns.map(quoted).join(", ")})) = ${ownColumns.length}
  and not exists (
    select from pg_attribute a left join had using (attname)
    where a.attrelid = (select id from source) and a.attnum > 0 and not a.attisdropped
      and a.attname in (${sharedColumns(tracked, versions).map(quoted).join(", ")})
      and (had.attname is null or had.atttypid <> a.atttypid or had.atttypmod <> a.atttypmod)
  )${
    tenant === null ? "" : `
  and exists (select from had where attname = ${quoted(tenant.column)}::name and attnotnull)`
  }
  and exists (
    select from pg_class where relnamespace = (select schema from kept) and relname = ${quoted(indexOf(versions))}::name
  )
) as present`
}

/** The statements for one tracked resource; `versions` is the resource that keeps its versions. */
export const historyStatements = (tracked: Model, versions: Model): readonly string[] => {
  const table = tableOf(versions)
  const key = tracked.key.map(({ column }) => identifier(column)).join(", ")
  const list = sharedColumns(tracked, versions).map(quoted).join(", ")
  const target = quoted(table.replaceAll("%", "%%"))
  return [
    "create schema if not exists history",
    `create table if not exists ${table} (
  history_id bigint generated always as identity primary key,
  history_operation text not null,
  history_at timestamptz not null default clock_timestamp(),
  history_by text
)`,
    // Tables made by earlier versions of the service lack this column. What they hold stays visible.
    `alter table ${table} add column if not exists history_changed text`,
    `do $history$
declare
  needed record;
begin
  for needed in
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, format_type(v.atttypid, v.atttypmod) as kept
    from pg_attribute a
    left join pg_attribute v on v.attrelid = ${quoted(table)}::regclass and v.attname = a.attname and not v.attisdropped
    where a.attrelid = ${quoted(tableOf(tracked))}::regclass and a.attnum > 0 and not a.attisdropped
      and a.attname in (${list})
    order by a.attnum
  loop
    if needed.kept is null then
      execute format('alter table ' || ${target} || ' add column %I %s', needed.name, needed.type);
    elsif needed.kept <> needed.type then
      execute format('alter table ' || ${target} || ' alter column %1$I type %2$s using %1$I::%2$s', needed.name, needed.type);
    end if;
  end loop;
end
$history$`,
    ...(versions.tenant === null
      ? []
      : [`alter table ${table} alter column ${identifier(versions.tenant.column)} set not null`]),
    `create index if not exists ${identifier(indexOf(versions))} on ${table} (${key}, history_id)`
  ]
}
