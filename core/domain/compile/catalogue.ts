/**
 * What a database holds, as data: tables, columns, keys, indexes and the server itself, as its catalogue describes them. An adapter reads
 * it. Start-up checks, introspection and the doctor judge it.
 */

/** What a column is. The names of types are PostgreSQL's own. */
export interface ColumnFacts {
  readonly name: string
  /** As `format_type` writes it: `numeric(12,2)`, `character varying(80)`, `shop.status`. */
  readonly type: string
  /** The type's own name without modifiers; for a domain that of its base type: `int8`, `text`, `timestamptz`, `bpchar`, `status`. */
  readonly base: string
  /** Name of the domain when the column is of one. */
  readonly domain: string | null
  /** Check constraints of its domain and of the domains below it. They call the value VALUE. */
  readonly checks?: readonly string[]
  /** Whether rows may hold null. True also while a `not null` is not validated yet. */
  readonly nullable: boolean
  /** SQL of the default, the column's own or its domain's, or null. */
  readonly default: string | null
  readonly identity: "always" | "by default" | null
  readonly generated: boolean
  /** Generated when it is read (PostgreSQL 18): no index holds it. */
  readonly virtual: boolean
  /** The configuration of text search that makes the words of a generated `tsvector`, where its expression names one. */
  readonly config?: string | null
  /** Characters of char(n) and varchar(n), or null. */
  readonly maxLength: number | null
  /** Of numeric(p,s), or null. `scale` also of money: what lc_monetary says. */
  readonly precision: number | null
  readonly scale: number | null
  /** Fraction digits of timestamp(p), or null. */
  readonly fraction: number | null
  /** Labels of an enum type in their order, or null. */
  readonly values: readonly string[] | null
  /** Of arrays: their elements. */
  readonly element?: ElementFacts | null
  /** A collation other than the database's, or null. */
  readonly collation: string | null
  readonly comment: string | null
  readonly privileges: { readonly select: boolean; readonly insert: boolean; readonly update: boolean }
}

/** What the elements of a column of arrays are, as of a column of theirs. */
export type ElementFacts = Pick<
  ColumnFacts,
  "base" | "domain" | "maxLength" | "precision" | "scale" | "fraction" | "values"
>

/** What an index is. */
export interface IndexFacts {
  readonly name: string
  readonly unique: boolean
  readonly primary: boolean
  /** False while it is being built, or after that failed. */
  readonly valid: boolean
  /** `btree`, `gin`, … */
  readonly method: string
  /** Key columns in order; null stands for an expression. */
  readonly columns: ReadonlyArray<
    { readonly name: string | null; readonly descending: boolean; readonly operators: string }
  >
  /** SQL of a partial index's condition, or null. */
  readonly predicate: string | null
  readonly definition: string
}

/** What a foreign key is. */
export interface ForeignKeyFacts {
  readonly name: string
  readonly columns: readonly string[]
  readonly target: { readonly schema: string; readonly table: string; readonly columns: readonly string[] }
  readonly onDelete: "no action" | "restrict" | "cascade" | "set null" | "set default"
}

/** A trigger that runs before each row is updated. */
export interface TriggerFacts {
  /** The name of its function. */
  readonly name: string
  /** The function's text in PL/pgSQL; null in another language. */
  readonly source: string | null
  /** What the trigger gives its function. */
  readonly values: readonly string[]
  /** Whether it runs at every update, not only at those of some columns or under a condition. */
  readonly everyUpdate: boolean
}

/** How a partitioned table is divided. */
export interface PartitionFacts {
  readonly by: "list" | "range" | "hash"
  /** The columns of the partition key in order; null stands for an expression. */
  readonly columns: ReadonlyArray<string | null>
  /** Columns by which partitions are divided further. */
  readonly below?: readonly string[]
  /** Direct partitions. */
  readonly count: number
  /** Whether one of them takes the rows that no other is for. */
  readonly rest: boolean
}

/** What a table or view is. */
export interface TableFacts {
  readonly schema: string
  readonly name: string
  /** `function`: what a function of the database gives, as columns. */
  readonly kind: "table" | "partitioned" | "partition" | "view" | "materialized view" | "foreign" | "function"
  /** The planner's estimate; null when the table was never analyzed. Of a partitioned table the sum of its partitions. */
  readonly rows: number | null
  /** How a partitioned table is divided; null for others. */
  readonly partitions?: PartitionFacts | null
  readonly columns: readonly ColumnFacts[]
  /** Columns of the primary key in order, or null. */
  readonly primaryKey: readonly string[] | null
  /** Columns of each further unique constraint or full unique index. */
  readonly uniques: ReadonlyArray<readonly string[]>
  readonly foreignKeys: readonly ForeignKeyFacts[]
  readonly checks: ReadonlyArray<{ readonly name: string; readonly definition: string }>
  readonly indexes: readonly IndexFacts[]
  readonly rowSecurity: boolean
  /** Tables that inherit from it, except partitions. Their rows are also rows of this table, but its key does not cover them. */
  readonly heirs: readonly string[]
  /** Whether a trigger runs before each row is inserted, which may give columns their values. */
  readonly fillsRows?: boolean
  /** The PL/pgSQL of triggers that run before each row is inserted. */
  readonly fills?: readonly string[]
  /** Triggers that run before each row is updated. */
  readonly triggers?: readonly TriggerFacts[]
  /** Of a view: the tables and views that it reads. */
  readonly reads?: ReadonlyArray<{ readonly schema: string; readonly table: string }>
  readonly privileges: {
    readonly select: boolean
    readonly insert: boolean
    readonly update: boolean
    readonly delete: boolean
  }
  readonly comment: string | null
}

/** What a function of the database is. Its types are described as those of columns are. */
export interface FunctionFacts {
  readonly schema: string
  readonly name: string
  readonly kind: "function" | "procedure" | "aggregate" | "window"
  readonly volatility: "immutable" | "stable" | "volatile"
  /** Whether it gives any number of rows. */
  readonly set: boolean
  /** Whether it runs with the rights of its owner. */
  readonly definer: boolean
  /** Whether it sets its own search path. */
  readonly fixesPath: boolean
  readonly language: string
  /** Whether the database role may call it. */
  readonly executable: boolean
  /** Parameters that a call gives, in order. An unnamed one has an empty name. */
  readonly parameters: ReadonlyArray<ColumnFacts & { readonly schema: string; readonly optional: boolean }>
  /** The table whose rows it gives, or null. */
  readonly rowType: { readonly schema: string; readonly table: string } | null
  /** Columns of its rows; empty where they have no names. */
  readonly columns: readonly ColumnFacts[]
  /** As `create function` takes them: `integer, since date`. */
  readonly signature: string
  readonly comment: string | null
}

/** What the server and the database are. */
export interface ServerFacts {
  /** `server_version_num`: 180004. */
  readonly version: number
  readonly database: string
  readonly user: string
  readonly encoding: string
  /** How the database orders text: `builtin C.UTF-8`, `libc en_US.UTF-8`, `icu und`. */
  readonly collation: string
  /** Installed extensions and the schema each is in. */
  readonly extensions: { readonly [name: string]: string }
  /** A standby, or set to be read-only. */
  readonly readOnly: boolean
  /** Names of configurations of text search. Absent in facts that were not asked for them. */
  readonly textSearch?: readonly string[]
}
