/**
 * What the database holds: tables, columns, keys, indexes and extensions, read from the catalogue. Pure data for start-up checks,
 * introspection and the doctor. It judges nothing and changes nothing.
 */

import * as Effect from "effect/Effect"
import type { FunctionFacts, ServerFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { ownJson } from "../../core/domain/own-json.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import type { Postgres } from "./connection.ts"
import { refuse } from "./errors.ts"
import { identifier } from "./sql.ts"

/** A table to look at; without a schema it is found on the search path, as the statements find it. */
export interface TableName {
  readonly schema: string | null
  readonly table: string
}

const serverSql = `select json_build_object(
  'version', current_setting('server_version_num')::int,
  'database', current_database(),
  'user', current_user,
  'encoding', pg_encoding_to_char(d.encoding),
  'collation', case to_jsonb(d)->>'datlocprovider' when 'b' then 'builtin ' when 'i' then 'icu ' else 'libc ' end
    || coalesce(to_jsonb(d)->>'datlocale', to_jsonb(d)->>'daticulocale', d.datcollate),
  'extensions', coalesce((select json_object_agg(e.extname, n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace), '{}'),
  'readOnly', current_setting('transaction_read_only') = 'on',
  'textSearch', (select json_agg(distinct cfgname) from pg_ts_config)
)::text from pg_database d where d.datname = current_database()`

// The elements of an array may be of a domain, with domains below it. A modifier of the array is one of its elements. A type such as `point` or `int2vector` has
// elements, and is no array of them.
const elementSql =
  `case when b.typelem <> 0 and b.oid = (select l.typarray from pg_type l where l.oid = b.typelem) then (
      with recursive y(type, mod, i) as (
        select b.typelem, m.mod, 0
        union all select o.typbasetype, o.typtypmod, y.i + 1 from y join pg_type o on o.oid = y.type and o.typtype = 'd')
      select json_build_object(
        'base', e.typname,
        'domain', case when y.i > 0 then (select o.typname from pg_type o where o.oid = b.typelem) end,
        'maxLength', case when e.typname in ('bpchar', 'varchar') and y.mod >= 4 then y.mod - 4 end,
        'precision', case when e.typname = 'numeric' and y.mod >= 4 then ((y.mod - 4) >> 16) & 65535 end,
        'scale', case when e.typname = 'numeric' and y.mod >= 4 then (((y.mod - 4) & 2047) # 1024) - 1024
          when e.oid = 'money'::regtype then scale(1::numeric::money::numeric) end,
        'fraction', case when e.typname in ('timestamp', 'timestamptz') and y.mod >= 0 then y.mod end,
        'values', case when e.typtype = 'e' then (select json_agg(v.enumlabel order by v.enumsortorder) from pg_enum v where v.enumtypid = e.oid) end)
      from y join pg_type e on e.oid = y.type order by y.i desc limit 1) end`

// A domain may build on others, so its base type, bounds and `not null` may come from several steps down. A column may be `not null` in the
// catalogue while older rows still hold nulls: such a constraint is not valid yet (PostgreSQL 18).
const columnsSql = `coalesce((select json_agg(json_build_object(
    'name', a.attname,
    'type', format_type(a.atttypid, a.atttypmod),
    'base', b.typname,
    'domain', case when t.typtype = 'd' then t.typname end,
    'checks', coalesce((select json_agg(pg_get_constraintdef(k.oid) order by k.conname)
      from pg_constraint k where k.contypid = any(m.path) and k.contype = 'c'), '[]'),
    'nullable', not (m.strict or a.attnotnull and not exists (select 1 from pg_constraint u
      where u.conrelid = c.oid and u.contype = 'n' and u.conkey = array[a.attnum] and not u.convalidated)),
    'default', case when a.attgenerated = '' then coalesce(pg_get_expr(d.adbin, d.adrelid), t.typdefault) end,
    'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
    'generated', a.attgenerated <> '',
    'virtual', a.attgenerated = 'v',
    'config', case when b.typname = 'tsvector' and a.attgenerated <> '' then substring(pg_get_expr(d.adbin, d.adrelid)
      from 'to_tsvector\\(''(?:pg_catalog\\.)?([a-z_][a-z0-9_]*)''::regconfig') end,
    'maxLength', case when b.typname in ('bpchar', 'varchar') and m.mod >= 4 then m.mod - 4 end,
    'precision', case when b.typname = 'numeric' and m.mod >= 4 then ((m.mod - 4) >> 16) & 65535 end,
    'scale', case when b.typname = 'numeric' and m.mod >= 4 then (((m.mod - 4) & 2047) # 1024) - 1024
      when b.oid = 'money'::regtype then scale(1::numeric::money::numeric) end,
    'fraction', case when b.typname in ('timestamp', 'timestamptz') and m.mod >= 0 then m.mod end,
    'values', case when b.typtype = 'e' then (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = b.oid) end,
    'element', ${elementSql},
    'collation', case when a.attcollation <> t.typcollation then (select l.collname from pg_collation l where l.oid = a.attcollation) end,
    'comment', col_description(c.oid, a.attnum),
    'privileges', json_build_object(
      'select', has_column_privilege(c.oid, a.attnum, 'select'),
      'insert', has_column_privilege(c.oid, a.attnum, 'insert'),
      'update', has_column_privilege(c.oid, a.attnum, 'update'))
  ) order by a.attnum)
  from pg_attribute a
  join pg_type t on t.oid = a.atttypid
  cross join lateral (with recursive x(type, mod, strict, i, path) as (
      select a.atttypid, a.atttypmod, false, 0, array[a.atttypid]
      union all select o.typbasetype, o.typtypmod, x.strict or o.typnotnull, x.i + 1, x.path || o.typbasetype from x join pg_type o on o.oid = x.type and o.typtype = 'd')
    select x.type, x.mod, x.strict, x.path from x order by x.i desc limit 1) m
  join pg_type b on b.oid = m.type
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]')`

const namesOf = (relation: string, numbers: string) =>
  `(select json_agg(a.attname order by k.i) from unnest(${numbers}) with ordinality k(n, i) join pg_attribute a on a.attrelid = ${relation} and a.attnum = k.n)`

const indexesSql = `coalesce((select json_agg(json_build_object(
    'name', i.relname,
    'unique', x.indisunique,
    'primary', x.indisprimary,
    'valid', x.indisvalid and x.indisready,
    'method', m.amname,
    'columns', (select json_agg(json_build_object(
        'name', a.attname,
        'descending', (x.indoption[k.i - 1] & 1) = 1,
        'operators', o.opcname) order by k.i)
      from unnest(x.indkey::int2[]) with ordinality k(n, i)
      left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.n and k.n > 0
      left join pg_opclass o on o.oid = x.indclass[k.i - 1]
      where k.i <= x.indnkeyatts),
    'predicate', pg_get_expr(x.indpred, x.indrelid),
    'definition', pg_get_indexdef(x.indexrelid)
  ) order by i.relname)
  from pg_index x join pg_class i on i.oid = x.indexrelid join pg_am m on m.oid = i.relam
  where x.indrelid = c.oid), '[]')`

/** What makes two foreign keys the same: their columns by name, and where they point. */
const meaningOf = (key: string): string =>
  `${namesOf(`${key}.conrelid`, `${key}.conkey`)}::text, ${key}.confrelid, ${
    namesOf(`${key}.confrelid`, `${key}.confkey`)
  }::text`

/**
 * A table's own foreign keys. Of a partitioned table also those that each of its partitions has without it, as all rows keep to them. A foreign key that
 * points at a partitioned table has copies for that table's partitions, which say nothing more.
 */
const foreignKeyIds = `select f.oid from pg_constraint f where f.conrelid = c.oid and f.contype = 'f'
    union all
    select min(f.oid) from pg_partition_tree(c.oid) p join pg_constraint f on f.conrelid = p.relid and f.contype = 'f'
    where c.relkind = 'p' and p.isleaf
      and not exists (select from pg_constraint o where o.conrelid = c.oid and o.contype = 'f' and (${
  meaningOf("o")
}) = (${meaningOf("f")}))
    group by ${meaningOf("f")}
    having count(distinct f.conrelid) = (select count(*) from pg_partition_tree(c.oid) l where l.isleaf)`

const foreignKeysSql = `coalesce((select json_agg(json_build_object(
    'name', f.conname,
    'columns', ${namesOf("f.conrelid", "f.conkey")},
    'target', json_build_object('schema', tn.nspname, 'table', tc.relname, 'columns', ${
  namesOf("f.confrelid", "f.confkey")
}),
    'onDelete', case f.confdeltype when 'r' then 'restrict' when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default' else 'no action' end
  ) order by f.conname)
  from (${foreignKeyIds}) k join pg_constraint f on f.oid = k.oid
  join pg_class tc on tc.oid = f.confrelid join pg_namespace tn on tn.oid = tc.relnamespace
  where not exists (select from pg_constraint w where w.oid = f.conparentid and w.conrelid = f.conrelid)), '[]')`

/** One JSON text a table: `$1` are relation oids. */
const tablesSql = `select c.oid::text, json_build_object(
  'schema', n.nspname,
  'name', c.relname,
  'kind', case when c.relkind in ('r', 'p') and c.relispartition then 'partition' when c.relkind = 'r' then 'table' when c.relkind = 'p' then 'partitioned'
    when c.relkind = 'v' then 'view' when c.relkind = 'm' then 'materialized view' else 'foreign' end,
  -- of a partitioned table the server keeps a number of rows only when somebody analyzes it
  'rows', case when c.relkind = 'p' then (select sum(l.reltuples) from pg_partition_tree(c.oid) p join pg_class l on l.oid = p.relid
      where p.isleaf and l.reltuples >= 0)
    when c.reltuples >= 0 then c.reltuples end,
  'partitions', (select json_build_object(
      'by', case k.partstrat when 'l' then 'list' when 'r' then 'range' else 'hash' end,
      'columns', (select json_agg(a.attname order by n.i) from unnest(k.partattrs::int2[]) with ordinality n(number, i)
        left join pg_attribute a on a.attrelid = c.oid and a.attnum = n.number and n.number > 0),
      'below', coalesce((select json_agg(distinct a.attname) from pg_partition_tree(c.oid) p
        join pg_partitioned_table l on l.partrelid = p.relid and p.level > 0
        join pg_attribute a on a.attrelid = p.relid and a.attnum = any(l.partattrs::int2[])), '[]'),
      'count', (select count(*) from pg_inherits i where i.inhparent = c.oid),
      'rest', k.partdefid <> 0)
    from pg_partitioned_table k where k.partrelid = c.oid),
  'columns', ${columnsSql},
  'primaryKey', (select ${
  namesOf("p.conrelid", "p.conkey")
} from pg_constraint p where p.conrelid = c.oid and p.contype = 'p'),
  'uniques', coalesce((select json_agg(${namesOf("x.indrelid", "(x.indkey::int2[])[0:x.indnkeyatts - 1]")})
    from pg_index x where x.indrelid = c.oid and x.indisunique and not x.indisprimary and x.indisvalid and x.indpred is null and x.indexprs is null), '[]'),
  'foreignKeys', ${foreignKeysSql},
  'checks', coalesce((select json_agg(json_build_object('name', k.conname, 'definition', pg_get_constraintdef(k.oid)) order by k.conname)
    from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'), '[]'),
  'indexes', ${indexesSql},
  'rowSecurity', c.relrowsecurity,
  'heirs', coalesce((select json_agg(h.relname order by h.relname) from pg_inherits i join pg_class h on h.oid = i.inhrelid
    where i.inhparent = c.oid and not h.relispartition), '[]'),
  'fillsRows', exists (select from pg_trigger g where g.tgrelid = c.oid and not g.tgisinternal
    -- before, for each row, at insert; and neither disabled nor for replicas only
    and g.tgtype & 7 = 7 and g.tgenabled in ('O', 'A')),
  'fills', coalesce((select json_agg(p.prosrc order by g.tgname) from pg_trigger g join pg_proc p on p.oid = g.tgfoid
    join pg_language l on l.oid = p.prolang
    where g.tgrelid = c.oid and not g.tgisinternal and g.tgtype & 7 = 7 and g.tgenabled in ('O', 'A') and g.tgqual is null
    and l.lanname = 'plpgsql'), '[]'),
  'triggers', coalesce((select json_agg(json_build_object(
      'name', p.proname,
      'source', case when l.lanname = 'plpgsql' then p.prosrc end,
      -- arguments end with a zero byte each
      'values', coalesce((select json_agg(v) from unnest(string_to_array(encode(g.tgargs, 'escape'), '\\000')) v where v <> ''), '[]'),
      'everyUpdate', cardinality(g.tgattr::int2[]) = 0 and g.tgqual is null
    ) order by g.tgname)
    from pg_trigger g join pg_proc p on p.oid = g.tgfoid join pg_language l on l.oid = p.prolang
    where g.tgrelid = c.oid and not g.tgisinternal and g.tgtype & 19 = 19 and g.tgenabled in ('O', 'A')), '[]'),
  'reads', coalesce((select json_agg(distinct jsonb_build_object('schema', rn.nspname, 'table', rc.relname))
    from pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
    join pg_class rc on rc.oid = d.refobjid join pg_namespace rn on rn.oid = rc.relnamespace
    where w.ev_class = c.oid and c.relkind in ('v', 'm') and rc.oid <> c.oid and rc.relkind in ('r', 'p', 'v', 'm', 'f')), '[]'),
  'privileges', json_build_object(
    'select', has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'),
    'insert', has_table_privilege(c.oid, 'insert') or has_any_column_privilege(c.oid, 'insert'),
    'update', has_table_privilege(c.oid, 'update') or has_any_column_privilege(c.oid, 'update'),
    'delete', has_table_privilege(c.oid, 'delete')),
  'comment', obj_description(c.oid, 'pg_class')
)::text
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.oid = any($1::oid[]) order by n.nspname, c.relname`

// Each name is resolved on its own. The search path decides about a name without a schema. A schema that the role may not use is treated as
// absent.
const resolveSql = `select i::text, coalesce(case when s = '' then to_regclass(quote_ident(t))::oid else (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = s::name and c.relname = t::name and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and has_schema_privilege(n.oid, 'usage')
  ) end::text, '')
from unnest($1::text[], $2::text[]) with ordinality as x(s, t, i) order by x.i`

const listSql = `select c.oid::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  and (cardinality($1::text[]) = 0 or n.nspname = any($1::text[]))
  and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
order by n.nspname, c.relname`

/** A type as a column of it, by SQL for its name, number and modifier. */
const typeSql = (name: string, type: string, mod: string) =>
  `'name', ${name},
    'type', format_type(${type}, ${mod}),
    'base', b.typname,
    'domain', case when t.typtype = 'd' then t.typname end,
    'nullable', true,
    'default', null,
    'identity', null,
    'generated', false,
    'virtual', false,
    'maxLength', case when b.typname in ('bpchar', 'varchar') and m.mod >= 4 then m.mod - 4 end,
    'precision', case when b.typname = 'numeric' and m.mod >= 4 then ((m.mod - 4) >> 16) & 65535 end,
    'scale', case when b.typname = 'numeric' and m.mod >= 4 then (((m.mod - 4) & 2047) # 1024) - 1024 end,
    'fraction', case when b.typname in ('timestamp', 'timestamptz') and m.mod >= 0 then m.mod end,
    'values', case when b.typtype = 'e' then (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = b.oid) end,
    'collation', null,
    'comment', null,
    'privileges', '{"select":true,"insert":false,"update":false}'::json`

const baseOf = (type: string, mod: string) =>
  `join pg_type t on t.oid = ${type}
  cross join lateral (with recursive d(type, mod, i) as (
      select ${type}, ${mod}, 0 union all select o.typbasetype, o.typtypmod, d.i + 1 from d join pg_type o on o.oid = d.type and o.typtype = 'd')
    select d.type, d.mod from d order by d.i desc limit 1) m
  join pg_type b on b.oid = m.type`

/** One JSON text a function: `$1` are names, each of a schema and a function; `$2` are schemas whose functions are all asked for. */
const functionsSql = `select json_build_object(
  'schema', n.nspname,
  'name', p.proname,
  'kind', case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' when 'w' then 'window' else 'function' end,
  'volatility', case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
  'set', p.proretset,
  'definer', p.prosecdef,
  'fixesPath', exists (select from unnest(p.proconfig) c where c like 'search_path=%'),
  'language', l.lanname,
  'executable', has_function_privilege(p.oid, 'execute') and has_schema_privilege(n.oid, 'usage'),
  'parameters', coalesce((select json_agg(json_build_object(${typeSql("i.name", "i.type", "-1")},
      'schema', tn.nspname,
      'optional', i.place > p.pronargs - p.pronargdefaults) order by i.place)
    from (select coalesce(p.proargnames[k.all_place], '') as name, k.type, row_number() over (order by k.all_place) as place
      from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality k(type, all_place)
      where coalesce(p.proargmodes[k.all_place], 'i') in ('i', 'b', 'v')) i
    ${baseOf("i.type", "-1")} join pg_namespace tn on tn.oid = t.typnamespace), '[]'),
  'rowType', (select json_build_object('schema', rn.nspname, 'table', rc.relname)
    from pg_class rc join pg_namespace rn on rn.oid = rc.relnamespace where rc.reltype = p.prorettype and rc.relkind <> 'c'),
  'columns', coalesce((select json_agg(json_build_object(${typeSql("o.name", "o.type", "o.mod")}) order by o.place)
    from (select a.attname::text as name, a.atttypid as type, a.atttypmod as mod, a.attnum::bigint as place
      from pg_type rt join pg_attribute a on a.attrelid = rt.typrelid
      where rt.oid = p.prorettype and rt.typrelid <> 0 and a.attnum > 0 and not a.attisdropped
      union all select p.proargnames[k.place], k.type, -1, k.place
      from unnest(p.proallargtypes) with ordinality k(type, place) join pg_type rt on rt.oid = p.prorettype
      where rt.typrelid = 0 and p.proargmodes[k.place] in ('o', 'b', 't')) o
    ${baseOf("o.type", "o.mod")} where o.name <> ''), '[]'),
  'signature', pg_get_function_identity_arguments(p.oid),
  'comment', obj_description(p.oid, 'pg_proc')
)::text
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
where exists (select from unnest($1::text[], $2::text[]) as x(s, f) where n.nspname = x.s::name and p.proname = x.f::name)
  or (p.proretset and p.prokind = 'f' and n.nspname = any($3::text[])
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'))
order by n.nspname, p.proname, p.oid`

const treesSql = `select n.nspname, c.relname, c.oid::text, w.ev_action::text
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
where c.oid = any($1::oid[]) order by c.oid`

const placesSql = `select c.oid::text, a.attnum::text, n.nspname, c.relname, a.attname
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
where c.relkind in ('r', 'p', 'v', 'm', 'f') and a.attnum > 0 and not a.attisdropped
  and (c.oid = any($1::oid[]) or exists (select from pg_depend d join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
    where w.ev_class = any($1::oid[]) and d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid))`

/** The queries of views as PostgreSQL keeps them, and what the numbers in them mean. */
export interface QueryTrees {
  readonly views: ReadonlyArray<{
    readonly schema: string
    readonly table: string
    readonly number: string
    /** `pg_rewrite.ev_action` of the rule that makes it a view. */
    readonly tree: string
  }>
  /** Columns of these views, and of all that they read directly. */
  readonly columns: ReadonlyArray<{
    readonly number: string
    readonly column: number
    readonly schema: string
    readonly table: string
    readonly name: string
  }>
}

export interface Facts {
  readonly server: Effect.Effect<ServerFacts, RecordsError>
  /** The facts of tables in the order asked; null for a table that is not there (or not visible to the role). */
  readonly tables: (names: readonly TableName[]) => Effect.Effect<ReadonlyArray<TableFacts | null>, RecordsError>
  /**
   * Whether these columns tell the rows of a table or view apart now, and are never null. Null: it was not found out within the time of a statement.
   */
  readonly identifies: (name: TableName, columns: readonly string[]) => Effect.Effect<boolean | null, RecordsError>
  /** All functions of these names; several may have one. A function without a schema is not found. */
  readonly functions: (names: readonly TableName[]) => Effect.Effect<readonly FunctionFacts[], RecordsError>
  /** All functions of these schemas that give rows, but those of extensions. */
  readonly rowFunctions: (schemas: readonly string[]) => Effect.Effect<readonly FunctionFacts[], RecordsError>
  /** The queries of all views of the given schemas, or of all but the system's. */
  readonly trees: (schemas?: readonly string[]) => Effect.Effect<QueryTrees, RecordsError>
  /** Every table and view of the given schemas, or of all but the system's; extensions' own tables are left out. */
  readonly all: (schemas?: readonly string[]) => Effect.Effect<readonly TableFacts[], RecordsError>
}

/** The facts of the database behind the connections. Read when asked, never kept. */
export const makeFacts = (postgres: Postgres): Facts => {
  const read = (sql: string, params: readonly unknown[]) => postgres.read(sql, params, { prepare: false })
  const described = (oids: readonly string[]) =>
    Effect.map(
      // For some hundred tables the planner estimates so high a cost that a server with JIT would compile the statement for seconds.
      postgres.transaction((session) =>
        Effect.catch(
          Effect.andThen(
            session.run("set local jit = off", [], false),
            session.run(tablesSql, [`{${oids.join(",")}}`], false)
          ),
          refuse
        )
      ),
      (rows) => new Map(rows.map(([oid, text]) => [oid, ownJson<TableFacts>(text!)]))
    )
  const functions = (params: readonly unknown[]) =>
    Effect.map(
      read(functionsSql, params),
      (rows) => rows.map((row) => ownJson<FunctionFacts>(row[0]!))
    )
  return {
    // Asked in a write transaction, because reads are always read-only.
    server: Effect.map(
      postgres.transaction((session) => Effect.catch(session.run(serverSql, [], false), refuse)),
      (rows) => ownJson<ServerFacts>(rows[0]![0]!)
    ),
    tables: (names) =>
      Effect.gen(function*() {
        if (names.length === 0) return []
        const resolved = yield* read(resolveSql, [
          names.map((name) => name.schema ?? ""),
          names.map((name) => name.table)
        ])
        const oids = resolved.map((row) => row[1] ?? "")
        const byOid = yield* described([...new Set(oids.filter((oid) => oid !== ""))])
        return oids.map((oid) => byOid.get(oid) ?? null)
      }),
    identifies: ({ schema, table }, columns) => {
      const from = schema === null ? identifier(table) : `${identifier(schema)}.${identifier(table)}`
      const names = columns.map(identifier)
      const sql =
        `select (not exists (select from ${from} where ${names.map((name) => `${name} is null`).join(" or ")})` +
        ` and not exists (select from ${from} group by ${names.join(", ")} having count(*) > 1))::text`
      return Effect.catch(
        Effect.map(
          postgres.read(sql, [], { prepare: false, timeoutMs: 10_000 }),
          (rows): boolean | null => rows[0]?.[0] === "true"
        ),
        (error) => error.reason._tag === "Timeout" ? Effect.succeed(null) : Effect.fail(error)
      )
    },
    functions: (names) =>
      names.length === 0
        ? Effect.succeed([])
        : functions([names.map(({ schema }) => schema ?? ""), names.map(({ table }) => table), "{}"]),
    rowFunctions: (schemas) => functions(["{}", "{}", schemas]),
    trees: (schemas = []) =>
      Effect.gen(function*() {
        const listed = yield* read(listSql, [schemas.length === 0 ? "{}" : schemas])
        const oids = `{${listed.map((row) => row[0]).join(",")}}`
        const trees = yield* read(treesSql, [oids])
        const places = yield* read(placesSql, [`{${trees.map((row) => row[2]).join(",")}}`])
        return {
          views: trees.map(([schema, table, number, tree]) => ({
            schema: schema!,
            table: table!,
            number: number!,
            tree: tree!
          })),
          columns: places.map(([number, column, schema, table, name]) => ({
            number: number!,
            column: Number(column),
            schema: schema!,
            table: table!,
            name: name!
          }))
        }
      }),
    all: (schemas = []) =>
      Effect.gen(function*() {
        const listed = yield* read(listSql, [schemas.length === 0 ? "{}" : schemas])
        if (listed.length === 0) return []
        return [...(yield* described(listed.map((row) => row[0]!))).values()]
      })
  }
}
