/**
 * What the database holds: tables, columns, keys, indexes and extensions, read from the catalogue. Pure data for start-up checks,
 * introspection and the doctor. It judges nothing and changes nothing.
 */

import * as Effect from "effect/Effect"
import type { ServerFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
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
  'readOnly', current_setting('transaction_read_only') = 'on'
)::text from pg_database d where d.datname = current_database()`

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
    'maxLength', case when b.typname in ('bpchar', 'varchar') and m.mod >= 4 then m.mod - 4 end,
    'precision', case when b.typname = 'numeric' and m.mod >= 4 then ((m.mod - 4) >> 16) & 65535 end,
    'scale', case when b.typname = 'numeric' and m.mod >= 4 then (((m.mod - 4) & 2047) # 1024) - 1024
      when b.oid = 'money'::regtype then scale(1::numeric::money::numeric) end,
    'fraction', case when b.typname in ('timestamp', 'timestamptz') and m.mod >= 0 then m.mod end,
    'values', case when b.typtype = 'e' then (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = b.oid) end,
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
  'rows', case when c.reltuples >= 0 then c.reltuples end,
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

export interface Facts {
  readonly server: Effect.Effect<ServerFacts, RecordsError>
  /** The facts of tables in the order asked; null for a table that is not there (or not visible to the role). */
  readonly tables: (names: readonly TableName[]) => Effect.Effect<ReadonlyArray<TableFacts | null>, RecordsError>
  /**
   * Whether these columns tell the rows of a table or view apart now, and are never null. Null: it was not found out within the time of a statement.
   */
  readonly identifies: (name: TableName, columns: readonly string[]) => Effect.Effect<boolean | null, RecordsError>
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
      (rows) => new Map(rows.map(([oid, text]) => [oid, JSON.parse(text!) as TableFacts]))
    )
  return {
    // Asked in a write transaction, because reads are always read-only.
    server: Effect.map(
      postgres.transaction((session) => Effect.catch(session.run(serverSql, [], false), refuse)),
      (rows) => JSON.parse(rows[0]![0]!) as ServerFacts
    ),
    tables: (names) =>
      Effect.gen(function*() {
        if (names.length === 0) return []
        const resolved = yield* read(resolveSql, [
          names.map((name) => name.schema ?? ""),
          names.map((name) => name.table)
        ])
        const oids = resolved.map((row) => row[1] ?? "")
        const found = yield* described([...new Set(oids.filter((oid) => oid !== ""))])
        return oids.map((oid) => found.get(oid) ?? null)
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
    all: (schemas = []) =>
      Effect.gen(function*() {
        const listed = yield* read(listSql, [schemas.length === 0 ? "{}" : schemas])
        if (listed.length === 0) return []
        return [...(yield* described(listed.map((row) => row[0]!))).values()]
      })
  }
}
