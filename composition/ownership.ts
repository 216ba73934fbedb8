/**
 * Finds the objects that a migration would make and that a database already has without the record of applied migrations naming them. Such schemas,
 * tables, functions and triggers belong to somebody else, even under the same names, and are never taken over.
 */

import { identifier, quoted } from "../adapters/postgres/sql.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import type { Schemas } from "../core/domain/declare/schemas.ts"

/** An object that statements make. `table` is that of a trigger, and only a trigger has one. */
export interface MadeObject {
  readonly kind: "schema" | "relation" | "function" | "trigger"
  /** Null: the search path decides. */
  readonly schema: string | null
  readonly name: string
  readonly table: string | null
}

const word = "(?:\"(?:[^\"]|\"\")+\"|[a-z_][a-z0-9_$]*)"
const place = `(?:(${word})\\.)?(${word})`
const maker = new RegExp(
  [
    `create schema if not exists (${word})`,
    `create (?:table|view) if not exists ${place}`,
    `create (?:or replace )?view ${place}`,
    `create (?:unique )?index if not exists (${word}) on ${place}`,
    `create (?:or replace )?function ${place}`,
    `create (?:or replace )?trigger (${word}) (?:before|after) [^;]*? on ${place}`
  ].join("|"),
  "g"
)

/** The name as the catalogue has it. */
const plain = (name: string | undefined): string | null =>
  name === undefined ? null : name.startsWith("\"") ? name.slice(1, -1).replaceAll("\"\"", "\"") : name

/** Every object that statements of ours make; each once. It reads our own style of SQL, not any SQL: a test compares it with a catalogue. */
export const objectsOf = (statements: string): readonly MadeObject[] => {
  const objects = new Map<string, MadeObject>()
  const add = (kind: MadeObject["kind"], schema: string | undefined, name: string, table: string | undefined): void => {
    const made = { kind, schema: plain(schema), name: plain(name) ?? "", table: plain(table) }
    objects.set(JSON.stringify(made), made)
  }
  for (
    const [, schema, tableIn, table, viewIn, view, index, indexIn, , functionIn, called, trigger, of, on] of statements
      .matchAll(maker)
  ) {
    if (schema !== undefined) add("schema", schema, schema, undefined)
    else if (table !== undefined) add("relation", tableIn, table, undefined)
    else if (view !== undefined) add("relation", viewIn, view, undefined)
    else if (index !== undefined) add("relation", indexIn, index, undefined)
    else if (called !== undefined) add("function", functionIn, called, undefined)
    else if (trigger !== undefined) add("trigger", of, trigger, on)
  }
  return [...objects.values()]
}

/**
 * A query of one text column: each of these objects that stands in the database, as people read it. It needs no right to any schema, and gives no
 * rows where there is nothing. `schemas`: a condition under which a schema counts.
 */
export const standingSql = (objects: readonly MadeObject[], schemas = "true"): string => {
  if (objects.length === 0) return "select null::text as what where false"
  const text = (value: string | null): string => value === null ? "null" : quoted(value)
  const values = objects.map(({ kind, name, schema, table }) =>
    `(${[text(kind), text(schema), text(name), text(table)].join(", ")})`
  )
  return `select format('the schema %I', m.schema) as what from (values ${values.join(", ")}) m (kind, schema, name, of)
  join pg_catalog.pg_namespace n on n.nspname = m.schema::name where m.kind = 'schema' and ${schemas}
union all
select format('the %s %I.%I', case c.relkind when 'r' then 'table' when 'p' then 'table' when 'f' then 'table' when 'v' then 'view'
    when 'm' then 'view' when 'S' then 'sequence' when 'c' then 'type' else 'index' end, n.nspname, c.relname)
  from (values ${values.join(", ")}) m (kind, schema, name, of)
  join pg_catalog.pg_class c on c.relname = m.name::name join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where m.kind = 'relation' and (n.nspname = m.schema::name or m.schema is null and pg_catalog.pg_table_is_visible(c.oid))
union all
select distinct format('the function %I.%I', n.nspname, p.proname)
  from (values ${values.join(", ")}) m (kind, schema, name, of)
  join pg_catalog.pg_proc p on p.proname = m.name::name join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where m.kind = 'function' and (n.nspname = m.schema::name or m.schema is null and pg_catalog.pg_function_is_visible(p.oid))
union all
select format('the trigger %I of the table %I.%I', g.tgname, n.nspname, c.relname)
  from (values ${values.join(", ")}) m (kind, schema, name, of)
  join pg_catalog.pg_class c on c.relname = m.of::name join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_trigger g on g.tgrelid = c.oid and g.tgname = m.name::name
  where m.kind = 'trigger' and (n.nspname = m.schema::name or m.schema is null and pg_catalog.pg_table_is_visible(c.oid))`
}

/** The columns of the record of applied migrations, with their types. */
const recordColumns = { name: "text", version: "integer", digest: "text", applied_at: "timestamp with time zone" }

/**
 * A query of one row about the record of applied migrations in a schema. `schema`: whether the schema is there. `standing`: whether something has the record's
 * name. `ours`: whether it is our record, told by its columns: other tools keep a table `migration`, too.
 */
export const recordSql = (schema: string): string =>
  `select exists (select from pg_catalog.pg_namespace where nspname = ${
    quoted(schema)
  }) as schema, r.oid is not null as standing,
  coalesce(r.relkind = 'r' and (select count(*) = ${
    Object.keys(recordColumns).length
  } from pg_catalog.pg_attribute a where a.attrelid = r.oid and not a.attisdropped
    and (a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)) in (${
    Object.entries(recordColumns).map((pair) => `(${pair.map(quoted).join(", ")})`).join(", ")
  })), false) as ours
from (select) one left join (select c.oid, c.relkind from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = ${quoted(schema)} and c.relname = 'migration') r on true`

/** What of another program stands where the record of applied migrations would be; null where nothing does. */
export const foreignRecord = (
  schema: string,
  state: { readonly schema: boolean; readonly standing: boolean; readonly ours: boolean }
): Foreign | null =>
  state.ours || !state.schema
    ? null
    : {
      option: "service",
      takenOver: false,
      what: [state.standing ? `the table ${schema}.migration` : `the schema ${schema}`]
    }

/** A query that gives the accounts' table of somebody else, as people read it: it lacks the column that everything rests on. */
export const foreignAccountsSql = (schema: string): string =>
  `select format('the table %I.%I', n.nspname, c.relname) as what from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = ${quoted(schema)} and c.relname = 'user' and not exists (
  select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'tokenEpoch' and not a.attisdropped)`

/** A query that gives a schema without the subscriptions that webhooks keep: somebody else's, whatever the record says of another one. */
export const foreignWebhooksSql = (schema: string): string =>
  `select format('the schema %I', n.nspname) as what from pg_catalog.pg_namespace n where n.nspname = ${
    quoted(schema)
  } and not exists (
  select from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
  where c.relnamespace = n.oid and c.relname = 'subscriptions' and a.attname = 'previous_secret' and not a.attisdropped)`

/** The record of applied migrations, made where it is missing. */
export const recordStatements = (schema: string): string =>
  `create schema if not exists ${identifier(schema)};

create table if not exists ${identifier(schema)}.migration (
  name text primary key,
  version integer not null,
  digest text not null,
  applied_at timestamptz not null default now()
);
`

/** What stands in the way of one migration: objects under names that it uses, which the record does not know. */
export interface Foreign {
  /** The schema of ours that should have another name: a key of the option `schemas`; null: it is not for us to name. */
  readonly option: keyof Schemas | null
  readonly what: readonly string[]
  /** Whether an earlier version has written to it all the same. */
  readonly takenOver: boolean
}

/** The same with a name that is free for that schema; null where it is not for us to name. */
export interface RefusedObjects extends Foreign {
  readonly free: string | null
}

/** A query of one row: a name for a schema of ours that nothing has, `admin_auth`, `admin_auth_2`, … `names`: those of our schemas, there or not yet. */
export const freeNameSql = (option: keyof Schemas, names: Schemas): string =>
  `select name from (select n, ${quoted(`admin_${option}`)} || case n when 1 then '' else '_' || n end as name
  from generate_series(1, (select count(*) from pg_catalog.pg_namespace) + ${Object.keys(names).length + 1}) n) free
where name <> all (array[${Object.values(names).map(quoted).join(", ")}])
  and not exists (select from pg_catalog.pg_namespace where nspname = name) order by n limit 1`

/** Which schema of ours a migration writes to. */
export const optionOf = (migration: string): Foreign["option"] =>
  ["auth", "second_factor", "passkey"].includes(migration)
    ? "auth"
    : migration === "jobs"
    ? "jobs"
    : migration.startsWith("webhook")
    ? "webhooks"
    : migration.startsWith("history_") || migration.startsWith("events_")
    ? null
    : "service"

/** As few of them as a person reads. */
const listed = (what: readonly string[]): string =>
  what.length <= 6 ? what.join(", ") : `${what.slice(0, 5).join(", ")} and ${what.length - 5} more`

/** The refusal of a migration, with the way out. */
export const foreignRefusal = ({ free, option, takenOver, what }: RefusedObjects): Refusal => ({
  resource: null,
  field: null,
  message: `The database has ${listed(what)} already, and this service did not make ${
    what.length === 1 ? "it" : "them"
  }. Nothing was changed.`,
  fix: takenOver
    ? "An earlier version has put triggers and foreign keys on it. service doctor prints the SQL that undoes this."
    : free === null
    ? "Rename or move what stands there, if it is yours to move."
    : `Name another schema in the configuration: schemas: { ${option}: "${free}" }${
      option === "auth" ? ", or let the accounts that are there sign in: auth: { jwksUrl }" : ""
    }. docs/guides/existing-database.md says more.`
})
