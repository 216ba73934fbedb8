/**
 * Tables of versions as statements, safe to run again: each has what every version has, and the columns of the tracked table with the types that
 * those have now. It never drops a column and never touches a tracked table.
 */

import type { Model } from "../../core/domain/model/model.ts"
import { identifier, quoted, tableOf } from "./sql.ts"

/** The statements for one tracked resource; `versions` is the resource that keeps its versions. */
export const historyStatements = (tracked: Model, versions: Model): readonly string[] => {
  const table = tableOf(versions)
  const shared = new Set(versions.columns.map(({ column }) => column))
  const columns = tracked.columns.filter(({ column }) => shared.has(column)).map(({ column }) => column)
  const key = tracked.key.map(({ column }) => identifier(column)).join(", ")
  const list = columns.map(quoted).join(", ")
  const target = quoted(table.replaceAll("%", "%%"))
  return [
    "create schema if not exists history",
    `create table if not exists ${table} (
  history_id bigint generated always as identity primary key,
  history_operation text not null,
  history_at timestamptz not null default clock_timestamp(),
  history_by text
)`,
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
    `create index if not exists ${identifier(`${versions.table}_key`.slice(0, 63))} on ${table} (${key}, history_id)`
  ]
}
