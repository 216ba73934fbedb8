/** Names of tables and columns as SQL writes them: quoted where SQL would read them otherwise. */

/** Words that PostgreSQL does not take as names (`pg_get_keywords()` of 18, categories R and T). */
const reserved: ReadonlySet<string> = new Set(
  ("all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column "
    + "concurrently constraint create cross current_catalog current_date current_role current_schema current_time "
    + "current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from "
    + "full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit localtime "
    + "localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references returning "
    + "right select session_user similar some symmetric system_user table tablesample then to trailing true union unique user "
    + "using variadic verbose when where window with").split(" ")
)

/** A name as SQL would write it: quoted where it must be. */
export const quotedName = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : `"${name.replaceAll("\"", "\"\"")}"`

/** A model's table as SQL would write it. */
export const tableName = (table: { readonly schema: string | null; readonly table: string }): string =>
  table.schema === null ? quotedName(table.table) : `${quotedName(table.schema)}.${quotedName(table.table)}`

/** A text constant as SQL, the same under either setting of standard_conforming_strings. */
export const quotedText = (text: string): string =>
  text.includes("\\")
    ? `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`
    : `'${text.replaceAll("'", "''")}'`
