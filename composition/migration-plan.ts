/**
 * What migrations would do to a database that is in use: which locks each statement takes, on which tables, whether programs of the version before go on
 * working, and about how long it takes. It reads statements, asks the catalogue about the tables, and changes nothing. A statement that it cannot read is
 * said to be unknown, never harmless.
 */

import { quoted } from "../adapters/postgres/sql.ts"
import type { Query } from "./migrations.ts"

/** What a lock keeps others from (https://www.postgresql.org/docs/current/explicit-locking.html). */
export type Blocks = "nothing" | "schema changes" | "writes" | "reads and writes"

/** What has to be done with the rows that are there. */
export type Work = "none" | "scan" | "index" | "rewrite" | "unknown"

/** What one statement does, as far as its text tells. */
export interface ReadStatement {
  /** Its beginning, on one line. */
  readonly text: string
  /** The table that it locks, as it is written; null: none that is there before. */
  readonly table: string | null
  readonly blocks: Blocks
  readonly work: Work
  /** The index that it makes: where that is there already, there is nothing to do. */
  readonly index: string | null
  /** The columns that it adds if they are not there. */
  readonly columns: readonly string[]
  /** Whether programs of the version before may need what it takes away or narrows; null: not known. */
  readonly contracts: boolean | null
}

/** One step of a plan. */
export interface PlannedStep {
  readonly statement: string
  readonly table: string | null
  /** Of the table with its indexes; null: there is no such table yet, or none is named. */
  readonly bytes: number | null
  readonly blocks: Blocks
  readonly work: Work
  /** Null: not known. */
  readonly milliseconds: number | null
}

/** Bytes a second that an estimate counts with, deliberately low: a disk of a small server, nothing in memory. */
export const paces = { scan: 100e6, index: 20e6, rewrite: 20e6 } as const

/** Statements of a script, without comments before them. Quotes, dollar quotes and comments are respected. */
export const splitStatements = (script: string): readonly string[] => {
  const token = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[A-Za-z_]\w*)?\$)[^]*?\1|;/g
  const statements: string[] = []
  let from = 0
  for (const match of script.matchAll(token)) {
    if (match[0] !== ";") continue
    statements.push(script.slice(from, match.index))
    from = match.index + 1
  }
  return [...statements, script.slice(from)].map((text) =>
    text.replace(/^(?:\s+|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)+/, "").trim()
  )
    .filter((text) => text !== "")
}

const word = "(?:\"(?:[^\"]|\"\")+\"|[A-Za-z_][\\w$]*)"
const name = `(${word}(?:\\.${word})?)`

const pattern = (text: string): RegExp => new RegExp(`^${text.replaceAll("NAME", name).replaceAll(" ", "\\s+")}`, "i")

const patterns = {
  nothing: pattern(
    "(?:create (?:or replace )?(?:function|procedure|schema|sequence|type|domain)|grant|revoke|comment|set|select pg_advisory|begin|commit)\\b"
  ),
  dropCode: pattern("drop (?:function|procedure|aggregate|type|domain|schema|sequence)\\b"),
  table: pattern("create (?:unlogged )?table (?:if not exists )?NAME"),
  index: pattern(
    `create (?:unique )?index (?<how>concurrently )?(?:if not exists )?(?:(?<index>${word}) )?on (?:only )?NAME`
  ),
  alter: pattern("alter table (?:if exists )?(?:only )?NAME"),
  trigger: pattern("create (?:or replace )?(?:constraint )?trigger [^;]*? on NAME"),
  dropTrigger: pattern(`drop trigger (?:if exists )?${word} on NAME`),
  view: pattern("create (?:or replace )?view (?:if not exists )?NAME"),
  dropRelation: pattern("drop (?<kind>table|view|materialized view) (?:if exists )?NAME"),
  dropIndex: pattern(`drop index (?<how>concurrently )?(?:if exists )?NAME`),
  rows: pattern("(?:delete from|update|insert into) (?:only )?NAME"),
  /** A block of ours that gives rights alone. */
  grants: /^do\s+\$grants\$/i,
  advisory: /^do\s+(\$\w*\$)\s*begin\s+perform\s+pg_advisory_xact_lock\([^)]*\);\s*end;?\s*\1$/i
}

const addsColumns =
  /\badd\s+(?:column\s+)?if\s+not\s+exists\s+("(?:[^"]|"")+"|\w+)|\badd\s+column\s+("(?:[^"]|"")+"|\w+)/gi

/** What an `alter table` does beside its lock. */
const alteration = (text: string): Pick<ReadStatement, "blocks" | "work" | "contracts" | "columns"> => {
  const is = (form: RegExp): boolean => form.test(text)
  const columns = [...text.matchAll(addsColumns)].map(([, one, other]) => (one ?? other ?? "").replaceAll("\"", ""))
  const lock = { blocks: "reads and writes", columns } as const
  if (is(/\balter\s+(?:column\s+)?\S+\s+(?:set\s+data\s+)?type\b/i)) {
    return { ...lock, work: "rewrite", contracts: true }
  }
  if (is(/\bset\s+(?:logged|unlogged|tablespace|access\s+method)\b/i)) {
    return { ...lock, work: "rewrite", contracts: false }
  }
  if (is(/\bvalidate\s+constraint\b/i)) return { ...lock, blocks: "schema changes", work: "scan", contracts: false }
  if (is(/\bdrop\s+(?:column|constraint)\b|\brename\b|\bset\s+schema\b/i)) {
    return { ...lock, work: "none", contracts: true }
  }
  if (is(/\bset\s+not\s+null\b/i)) return { ...lock, work: "scan", contracts: true }
  if (is(/\badd\s+(?:constraint\s+\S+\s+)?(?:primary\s+key|unique)\b/i)) {
    return { ...lock, work: "index", contracts: true }
  }
  if (is(/\badd\s+(?:constraint\b|check\b|foreign\s+key\b)/i)) {
    return { ...lock, work: is(/\bnot\s+valid\b/i) ? "none" : "scan", contracts: true }
  }
  if (columns.length > 0) {
    // A default that is another one for each row is written into each; a column that must be given is missed by programs of before.
    const volatile = is(/\bdefault\s+(?!now\(\)|current_)[a-z_.]+\(|\bgenerated\b|\bserial\b/i)
    return { ...lock, work: volatile ? "rewrite" : "none", contracts: is(/\bnot\s+null\b/i) && !is(/\bdefault\b/i) }
  }
  return is(
      /\b(?:set|drop)\s+default\b|\bset\s+statistics\b|\bset\s*\(|\benable\b|\bdisable\b|\bowner\s+to\b|\bdrop\s+not\s+null\b/i
    )
    ? { ...lock, work: "none", contracts: false }
    : { ...lock, work: "unknown", contracts: null }
}

/** What a statement does, from its text. */
export const readStatement = (statement: string): ReadStatement => {
  const text = statement.replace(/\s+/g, " ").slice(0, 120)
  const done: ReadStatement = {
    text,
    table: null,
    blocks: "nothing",
    work: "none",
    index: null,
    columns: [],
    contracts: false
  }
  const found = (form: RegExp): RegExpExecArray | null => form.exec(statement)
  const last = (match: RegExpExecArray): string | null => match.at(-1) ?? null
  let match: RegExpExecArray | null
  if ([patterns.advisory, patterns.grants, patterns.nothing].some((form) => form.test(statement))) return done
  if (found(patterns.dropCode) !== null) return { ...done, contracts: true }
  if (found(patterns.table) !== null) return done
  if ((match = found(patterns.index)) !== null) {
    const table = match[3] ?? null
    return {
      ...done,
      table,
      index: match.groups?.["index"] ?? null,
      blocks: match.groups?.["how"] === undefined ? "writes" : "schema changes",
      work: "index",
      // Programs of before may write what it refuses.
      contracts: /^create\s+unique/i.test(statement)
    }
  }
  if ((match = found(patterns.alter)) !== null) return { ...done, table: last(match), ...alteration(statement) }
  if ((match = found(patterns.trigger)) !== null) return { ...done, table: last(match), blocks: "writes" }
  if ((match = found(patterns.dropTrigger)) !== null) {
    return { ...done, table: last(match), blocks: "reads and writes", contracts: null }
  }
  if ((match = found(patterns.view)) !== null) return { ...done, table: last(match), blocks: "reads and writes" }
  if ((match = found(patterns.dropRelation)) !== null) {
    return { ...done, table: last(match), blocks: "reads and writes", contracts: true }
  }
  if ((match = found(patterns.dropIndex)) !== null) {
    return {
      ...done,
      table: last(match),
      blocks: match.groups?.["how"] === undefined ? "reads and writes" : "schema changes"
    }
  }
  if ((match = found(patterns.rows)) !== null) {
    return { ...done, table: last(match), blocks: "schema changes", work: "scan" }
  }
  return { ...done, blocks: "reads and writes", work: "unknown", contracts: null }
}

interface Facts {
  /** With its indexes. */
  readonly bytes: number
  readonly heap: number
  readonly hasIndex: boolean
  readonly columns: ReadonlySet<string>
}

/** What the catalogue says of what a statement names; null: there is no such table. For an index that goes the facts are those of its table. */
const factsOf = async (query: Query, { index, table }: ReadStatement): Promise<Facts | null> => {
  if (table === null) return null
  const dot = table.lastIndexOf(".")
  const place = dot < 0 || index === null ? index : `${table.slice(0, dot)}.${index}`
  const [row] = await query(
    `select pg_total_relation_size(c.oid)::text as bytes, pg_relation_size(c.oid)::text as heap,
  ${place === null ? "false" : `to_regclass(${quoted(place)}) is not null`} as has_index,
  array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
from pg_catalog.pg_class c
where c.oid = coalesce((select n.indrelid from pg_catalog.pg_index n where n.indexrelid = to_regclass(${
      quoted(table)
    })), to_regclass(${quoted(table)}))`
  )
  if (row === undefined) return null
  const { bytes, columns, has_index: hasIndex, heap } = row
  return {
    bytes: Number(bytes),
    heap: Number(heap),
    hasIndex: hasIndex === true,
    columns: new Set(Array.isArray(columns) ? columns.map(String) : [])
  }
}

const millisecondsOf = (work: Work, facts: Facts): number | null =>
  work === "unknown"
    ? null
    : work === "none"
    ? 0
    : Math.ceil((work === "rewrite" ? facts.bytes : facts.heap) * 1_000 / paces[work])

/** What is left of a statement's work in this database. */
const workLeft = ({ columns, index, work }: ReadStatement, facts: Facts): Work =>
  (index !== null && facts.hasIndex) || (columns.length > 0 && columns.every((each) => facts.columns.has(each)))
    ? "none"
    : work

/** The steps of a script that meet something which is there already, or that cannot be read, in order. */
export const planSteps = async (query: Query, script: string): Promise<readonly PlannedStep[]> => {
  const steps: PlannedStep[] = []
  for (const statement of splitStatements(script)) {
    const read = readStatement(statement)
    const { blocks, table, text } = read
    const facts = await factsOf(query, read)
    if (facts !== null) {
      const work = workLeft(read, facts)
      steps.push({
        statement: text,
        table,
        bytes: facts.bytes,
        blocks,
        work,
        milliseconds: millisecondsOf(work, facts)
      })
    } else if (read.work === "unknown" && table === null) {
      steps.push({ statement: text, table: null, bytes: null, blocks, work: "unknown", milliseconds: null })
    }
  }
  return steps
}

/** Whether programs of the version before may miss what a script takes away; null: not known. */
export const contracts = (script: string): boolean | null => {
  const read = splitStatements(script).map((statement) => readStatement(statement).contracts)
  return read.includes(true) ? true : read.includes(null) ? null : false
}

/** The sum of estimates; null where one of them is not known. */
export const wholeTime = (steps: readonly PlannedStep[]): number | null =>
  steps.reduce<number | null>(
    (sum, { milliseconds }) => sum === null || milliseconds === null ? null : sum + milliseconds,
    0
  )
