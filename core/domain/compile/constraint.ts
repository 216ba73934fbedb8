/**
 * What check constraints and triggers say about single columns, read from their text as the database prints it: values, bounds, and columns
 * that change with their row. Whatever has another form than these says nothing.
 */

import type { ColumnFacts, TableFacts, TriggerFacts } from "./catalogue.ts"

/** Literals, quoted names, casts (to be dropped), words, numbers, comparisons, and every other character by itself. */
const checkTokens =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|::[a-z_][a-z0-9_. ]*(?:\([0-9, ]+\))?(?:\[\])?|[A-Za-z_][A-Za-z0-9_$]*|\d+(?:\.\d+)?|[<>]=?|\S/g

/** Parentheses and casts are dropped. Any form in which they matter has further words or signs, and is not read. */
const tokensOf = (definition: string): readonly string[] =>
  (definition.match(checkTokens) ?? []).filter((token) => token !== "(" && token !== ")" && !token.startsWith("::"))

const isColumn = (token: string | undefined, column: string): boolean =>
  token === column || token === `"${column.replaceAll("\"", "\"\"")}"`

/**
 * The values that a check constraint allows a column, where it simply lists them: `status IN ('draft', 'paid')`, as the database prints it.
 * Null for any other constraint.
 */
export const valuesInCheck = (definition: string, column: string): readonly string[] | null => {
  const [check, name, equals, ...rest] = tokensOf(definition)
  if (check !== "CHECK" || equals !== "=" || !isColumn(name, column)) return null
  const listed = rest[0] === "ANY" && rest[1] === "ARRAY" && rest[2] === "[" && rest.at(-1) === "]"
  const items = listed ? rest.slice(3, -1) : rest
  const fits = items.length % 2 === 1 && (listed || items.length === 1) &&
    items.every((item, i) => i % 2 === 0 ? item.startsWith("'") : item === ",")
  return fits ? items.filter((_, i) => i % 2 === 0).map((item) => item.slice(1, -1).replaceAll("''", "'")) : null
}

/** The constraints that a column's value must pass, each with the name under which it speaks of the value. */
const constraintsOf = (table: Pick<TableFacts, "checks">, column: ColumnFacts) => [
  ...table.checks.map(({ definition }) => ({ definition, name: column.name })),
  ...(column.checks ?? []).map((definition) => ({ definition, name: "VALUE" }))
]

/** The values that checks of the table or of the column's domain allow; null where no check lists them. */
export const checkedValues = (table: Pick<TableFacts, "checks">, column: ColumnFacts): readonly string[] | null => {
  for (const { definition, name } of constraintsOf(table, column)) {
    const values = valuesInCheck(definition, name)
    if (values !== null) return values
  }
  return null
}

/** Bounds of a column, as decimal numbers. `above` and `below` are no values themselves. */
export interface Bounds {
  readonly from?: string
  readonly above?: string
  readonly to?: string
  readonly below?: string
  /** Most characters. */
  readonly maxLength?: number
}

const lengths = new Set(["length", "char_length", "character_length"])
const ends: { readonly [sign: string]: keyof Bounds } = { ">=": "from", ">": "above", "<=": "to", "<": "below" }

/** The bounds in a constraint that is nothing but bounds, such as `CHECK (VALUE >= 1901 AND VALUE <= 2155)`; else null. */
export const boundsInCheck = (definition: string, column: string): Bounds | null => {
  const [check, ...tokens] = tokensOf(definition)
  if (check !== "CHECK") return null
  const bounds: { -readonly [end in keyof Bounds]: Bounds[end] } = {}
  while (tokens.length > 0) {
    const measured = lengths.has(tokens[0]!) && isColumn(tokens[1], column) ? tokens.shift() : undefined
    const [name, sign, ...rest] = tokens.splice(0, 2)
    if (!isColumn(name, column) || rest.length > 0) return null
    let number = tokens.shift() ?? ""
    // Negative numbers are printed as '-5'::integer, or with a sign of its own.
    if (number === "-") number += tokens.shift() ?? ""
    number = number.replace(/^'(.*)'$/, "$1")
    const end = sign === undefined ? undefined : ends[sign]
    if (end === undefined || end === "maxLength" || !/^-?\d{1,15}(?:\.\d{1,15})?$/.test(number)) return null
    if (measured === undefined) bounds[end] = number
    else if (end === "to") bounds.maxLength = Number(number)
    else if (end === "below") bounds.maxLength = Number(number) - 1
    else return null
    if (tokens.length > 0 && tokens.shift() !== "AND") return null
  }
  return bounds
}

/** The narrower of two bounds at each end. */
const tighter = (a: Bounds, b: Bounds): Bounds => {
  const low = (of: Bounds) => Number(of.above ?? of.from ?? -Infinity)
  const high = (of: Bounds) => Number(of.below ?? of.to ?? Infinity)
  const { above, from } = low(b) >= low(a) ? b : a
  const { below, to } = high(b) <= high(a) ? b : a
  const maxLength = Math.min(a.maxLength ?? Infinity, b.maxLength ?? Infinity)
  return {
    ...(above === undefined ? from === undefined ? {} : { from } : { above }),
    ...(below === undefined ? to === undefined ? {} : { to } : { below }),
    ...(maxLength === Infinity ? {} : { maxLength })
  }
}

/** The bounds of a column by its domain and its table, and the domain's constraints that say something else. */
export const boundsOf = (
  table: Pick<TableFacts, "checks">,
  column: ColumnFacts
): { readonly bounds: Bounds; readonly others: readonly string[] } => {
  let bounds: Bounds = {}
  const others: string[] = []
  for (const { definition, name } of constraintsOf(table, column)) {
    const limits = boundsInCheck(definition, name)
    if (limits !== null) bounds = tighter(bounds, limits)
    else if (name === "VALUE" && valuesInCheck(definition, name) === null) others.push(definition)
  }
  return { bounds, others }
}

/** The time of a change, or one more than before. */
const renewing =
  /^(?:now\(\)|(?:transaction|statement|clock)_timestamp\(\)|current_timestamp\b.*|localtimestamp\b.*|timezone\(.*|\(?(?:now\(\)|current_timestamp)\)?\s+at\s+time\s+zone\s.*|(?:coalesce\()?(?:new|old)\s*\.\s*"?\w+"?(?:,\s*0\))?\s*\+\s*1)$/i

/**
 * The columns that triggers renew with every update of a row: by a function in PL/pgSQL that assigns the time or the next number, or by the
 * extension `moddatetime`. A trigger for updates of some columns only does not renew with every one.
 */
export const renewedColumns = (triggers: readonly TriggerFacts[]): ReadonlySet<string> => {
  const renewed = new Set<string>()
  for (const { everyUpdate, name, source, values } of triggers) {
    if (!everyUpdate) continue
    if (name === "moddatetime") values.forEach((value) => renewed.add(value))
    const code = (source ?? "").replaceAll(/--[^\n]*|\/\*[^]*?\*\//g, " ")
    for (const [, quoted, plain, value] of code.matchAll(/\bnew\s*\.\s*(?:"([^"]+)"|(\w+))\s*:?=\s*([^;]+);/gi)) {
      if (renewing.test(value!.trim())) renewed.add(quoted ?? plain!.toLowerCase())
    }
  }
  return renewed
}

/**
 * The columns that triggers before an insert give a value, perhaps only where there is none: assigned at the beginning of a statement, so that no comparison is
 * taken for one.
 */
export const filledColumns = (sources: readonly string[]): ReadonlySet<string> => {
  const filled = new Set<string>()
  for (const source of sources) {
    const code = source.replaceAll(/--[^\n]*|\/\*[^]*?\*\//g, " ")
    const assigned = /(?:;|\bbegin|\bthen|\belse)\s*new\s*\.\s*(?:"([^"]+)"|(\w+))\s*:?=/gi
    for (const [, quoted, plain] of code.matchAll(assigned)) filled.add(quoted ?? plain!.toLowerCase())
  }
  return filled
}
