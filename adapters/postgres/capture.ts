/**
 * The capture of changes as SQL statements, safe to run again: tables for changes that wait for dispatch, and a trigger for each table of a
 * resource that declares events. The trigger captures every write. It changes no row of the application and reads nothing.
 */

import { createHash } from "node:crypto"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import type { Field, Model, Models } from "../../core/domain/model/model.ts"
import { tableName } from "../../core/domain/model/table.ts"
import type { Cell } from "../../core/domain/value/kind.ts"
import type { ChangeNote } from "../../core/ports/records.ts"
import { textColumn } from "./compile-page.ts"
import { identifier, ownSchema, quoted, tableOf } from "./sql.ts"

/**
 * Triggers after a row run in the order of their names. This trigger runs before those of the application, whose own writes to the same row come
 * later.
 */
export const captureTrigger = (schema: string = defaultSchemas.service): string => `0_${shortOf(schema)}_changes`

const truncateTrigger = (schema: string): string => `0_${shortOf(schema)}_truncated`

/** A name with room for what is put around it: PostgreSQL cuts names after 63 bytes. */
const shortOf = (schema: string): string =>
  schema.length <= 48
    ? schema
    : `${schema.slice(0, 38)}_${createHash("sha256").update(schema).digest("hex").slice(0, 8)}`

/** Tables for waiting changes, for the lease, and for changes that watchers may still ask for. */
export const changeSchema = (schema: string = defaultSchemas.service): readonly string[] => {
  const s = ownSchema(schema)
  return [
    `create schema if not exists ${s}`,
    // The sequence caches no values in connections. So of one record, a later change has a higher number.
    `create table if not exists ${s}.change (
  sequence bigint generated always as identity (cache 1) primary key,
  transaction xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp(),
  relation text not null,
  operation text not null,
  before jsonb,
  after jsonb,
  actor jsonb
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)`,
    `create table if not exists ${s}.dispatcher (
  id boolean primary key default true check (id),
  holder text not null,
  until timestamptz not null
)`,
    `create table if not exists ${s}.watched (
  relation text primary key,
  until timestamptz not null
)`,
    `create table if not exists ${s}.recent_change (
  position bigint generated always as identity (cache 1) primary key,
  seen_at timestamptz not null default clock_timestamp(),
  sequence bigint not null,
  transaction xid8 not null,
  at timestamptz not null,
  relation text not null,
  operation text not null,
  before jsonb,
  after jsonb,
  actor jsonb
)`,
    `create index if not exists recent_change_relation on ${s}.recent_change (relation, position)`,
    `create index if not exists recent_change_seen_at on ${s}.recent_change (seen_at)`
  ]
}

/** A table whose changes are captured, with the columns that its resources declare. */
export interface CapturedTable {
  /** How changes name it. */
  readonly relation: string
  readonly model: Model
  readonly columns: readonly Field[]
}

/** The tables of all resources that declare events. Several resources may be over one table. */
export const capturedTables = (models: Models): readonly CapturedTable[] => {
  const tables = new Map<string, { readonly model: Model; readonly columns: Map<string, Field> }>()
  for (const model of models.values()) {
    if (!model.captured) continue
    const relation = tableName(model)
    let table = tables.get(relation)
    if (table === undefined) tables.set(relation, table = { model, columns: new Map() })
    for (const field of model.columns) table.columns.set(field.column, field)
  }
  return [...tables].map(([relation, { columns, model }]) => ({
    relation,
    model,
    // In a fixed order, so that another order of declarations does not change the trigger.
    columns: [...columns.values()].toSorted((a, b) => a.column < b.column ? -1 : 1)
  }))
}

const functionOf = ({ relation }: CapturedTable): string => {
  const readable = relation.replace(/[^A-Za-z0-9]+/g, "_").slice(0, 40)
  return identifier(`capture_${readable}_${createHash("sha256").update(relation).digest("hex").slice(0, 8)}`)
}

/** The most arguments of a function in PostgreSQL. */
const mostPairs = 50

/** The declared columns of a row as an object of texts, each as a read gives it. */
const rowSql = (alias: string, columns: readonly Field[]): string => {
  const parts: string[] = []
  for (let i = 0; i < columns.length; i += mostPairs) {
    const pairs = columns.slice(i, i + mostPairs).map((field) => `${quoted(field.column)}, ${textColumn(alias, field)}`)
    parts.push(`jsonb_build_object(${pairs.join(", ")})`)
  }
  return parts.join(" || ")
}

/** What the API knows of a change and the row does not show: it is a step of another change, or the values before a reorder. */
export const noteText = (note: ChangeNote): string => {
  if (note.of === "nothing") return "nothing"
  const began: Record<string, Cell> = {}
  for (const [field, cell] of note.began) began[field.column] = cell
  return JSON.stringify(began)
}

/** Settings that the texts of these columns depend on. Each setting makes the function slower, so only these are set. */
const settingsOf = ({ columns }: CapturedTable): readonly string[] => {
  const has = (...kinds: ReadonlyArray<Field["kind"]>): boolean =>
    columns.some((field) => kinds.includes(field.kind === "list" ? field.of.kind : field.kind))
  return [
    ...(has("timestamp", "range", "native") ? ["set timezone = 'UTC'"] : []),
    ...(has("timestamp", "date", "range", "native") ? ["set datestyle = 'ISO, MDY'"] : []),
    ...(has("float", "native") ? ["set extra_float_digits = 1"] : []),
    ...(has("interval", "native") ? ["set intervalstyle = 'iso_8601'"] : []),
    ...(has("native") ? ["set bytea_output = 'hex'"] : [])
  ]
}

const bodyOf = (table: CapturedTable, s: string): string => `
-- ${["text", ...settingsOf(table)].join(", ")}
declare
  told text := nullif(current_setting('service.change', true), '');
  operation text := lower(tg_op);
  before jsonb;
  after jsonb;
begin
  if operation = 'truncate' then
    insert into ${s}.change (relation, operation, actor)
      values (${quoted(table.relation)}, operation, nullif(current_setting('service.actor', true), '')::jsonb);
    return null;
  end if;
  if told is not null then
    perform set_config('service.change', '', true);
    if told = 'nothing' then return null; end if;
  end if;
  if operation <> 'insert' then before := ${rowSql("old", table.columns)}; end if;
  if operation <> 'delete' then after := ${rowSql("new", table.columns)}; end if;
  if told is not null then
    operation := 'reorder';
    before := before || told::jsonb;
  end if;
  if before is distinct from after then
    insert into ${s}.change (relation, operation, before, after, actor)
      values (${
  quoted(table.relation)
}, operation, before, after, nullif(current_setting('service.actor', true), '')::jsonb);
  end if;
  return null;
end
`

/** The statements for one table. */
export const captureStatements = (table: CapturedTable, schema: string = defaultSchemas.service): readonly string[] => {
  const s = ownSchema(schema)
  const name = `${s}.${functionOf(table)}`
  const of = quoted(tableOf(table.model))
  const trigger = (trigger: string, when: string): string =>
    `create or replace trigger ${identifier(trigger)} after ${when} execute function ${name}()`
  return [
    // Anyone who may write to the table may have its changes captured. Texts have the form of reads, whatever the writer's settings.
    `create or replace function ${name}() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp ${settingsOf(table).join(" ")} as $capture$${bodyOf(table, s)}$capture$`,
    `revoke all on function ${name}() from public`,
    trigger(captureTrigger(schema), `insert or update or delete on ${tableOf(table.model)} for each row`),
    `do $capture$ begin
  if (select relkind from pg_class where oid = ${of}::regclass) in ('r', 'p') then
    ${trigger(truncateTrigger(schema), `truncate on ${tableOf(table.model)} for each statement`)};
  end if;
end $capture$`
  ]
}

/**
 * Asks the catalogue whether the capture of a table is as the statements would make it: one row, `present`. Also true where the table does not
 * exist, because then nothing can be made.
 */
export const captureQuestion = (table: CapturedTable, own: string = defaultSchemas.service): string => {
  const { schema, table: name } = table.model
  const id = schema === null
    ? `to_regclass(${quoted(identifier(name))})`
    : `(select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${quoted(schema)}::name and c.relname = ${quoted(name)}::name)`
  const digest = createHash("md5").update(bodyOf(table, ownSchema(own))).digest("hex")
  return `with source as (select ${id} as id)
select (select id from source) is null or exists (
  select from pg_trigger g join pg_proc p on p.oid = g.tgfoid join pg_namespace n on n.oid = p.pronamespace
  where g.tgrelid = (select id from source) and g.tgname = ${
    quoted(captureTrigger(own))
  }::name and g.tgenabled in ('O', 'A')
    and n.nspname = ${quoted(own)} and md5(p.prosrc) = ${quoted(digest)} and p.prosecdef
) as present`
}

/** Finds triggers on tables whose resources no longer declare events: `relation` of each. */
export const leftoverSql = (tables: readonly CapturedTable[], schema: string = defaultSchemas.service): string =>
  `select g.tgrelid::regclass::text as relation from pg_trigger g
where g.tgname = ${quoted(captureTrigger(schema))}::name and not g.tgisinternal and g.tgparentid = 0
  and g.tgrelid <> all (array[${
    tables.map(({ model }) => `to_regclass(${quoted(tableOf(model))})::oid`).join(", ")
  }]::oid[])
order by 1`
