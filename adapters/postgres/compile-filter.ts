/**
 * Filter trees as SQL conditions. A condition may be NULL in SQL where the tree is false. A WHERE clause, AND and OR treat both alike; only
 * negation does not, so it is written `is not true`. Positive comparisons stay plain, so that indexes serve them. Conditions about related
 * records are never NULL and stand bare: only `exists` and `not exists` become joins. It never decides what may be filtered.
 */

import { merged } from "../../core/domain/filter/merge.ts"
import type { Comparison, FilterTree, Operand, RelatedTree, Way } from "../../core/domain/filter/tree.ts"
import { allOf } from "../../core/domain/filter/tree.ts"
import { isRanked, rankText, sortText, valueText } from "../../core/domain/model/expression.ts"
import type { Field, FieldOf, Model } from "../../core/domain/model/model.ts"
import { elementField, identityOf } from "../../core/domain/model/model.ts"
import { fitsMoney } from "../../core/domain/value/exact.ts"
import { identifier, listSql, quoted, tableOf, valueSql, valuesSql, type Writer } from "./sql.ts"

/** A name of a `with` for the rows that pass. Such names hide tables, and no table is called like this one. */
export const passing = "\"rows that pass\""

/** A column of the table that `alias` names, or what a declared path finds in it. */
export const columnOf = (alias: string, field: Field): string =>
  valueText(field, `${alias}.${identifier(field.column)}`)

/** What a column is sorted by. Cells of positions are compared with it as `placeOf` writes them. */
export const sortOf = (alias: string, field: Field): string => sortText(field, columnOf(alias, field))

/** A cell of a position as what the column is sorted by. */
export const placeOf = (field: Field, cell: string): string =>
  isRanked(field) ? sortText(field, `${cell}::text`) : valueSql(field, cell)

/** The tree as a condition on the row `alias`, bracketed where needed. True exactly where the tree holds, else false or NULL. */
export const conditionSql = (tree: FilterTree, alias: string, writer: Writer): string =>
  write(merged(tree), alias, writer)

const write = (tree: FilterTree, alias: string, writer: Writer): string => {
  switch (tree.op) {
    case "true":
      return "true"
    case "false":
      return "false"
    case "and":
    case "or":
      return tree.items.length === 0
        ? String(tree.op === "and")
        : `(${tree.items.map((item) => write(item, alias, writer)).join(` ${tree.op} `)})`
    case "not":
      return negated(tree.item, alias, writer)
    case "null":
      return `${columnOf(alias, tree.field)} is null`
    case "compare":
      return comparison(tree.field, tree.is, tree.value, alias, writer)
    case "pair":
      return pairSql(tree, alias)
    case "in":
      return membership(tree.field, tree.values, alias, writer)
    case "has":
      return elementSql(tree.field, tree.values, alias, writer)
    case "length":
      return `cardinality(${columnOf(alias, tree.field)}) ${tree.is} ${tree.number}`
    case "overlaps":
      writer.stable = false
      return `${columnOf(alias, tree.field)} && ${
        writer.add({ of: "operand", operand: tree.value, field: tree.field })
      }`
    case "match":
      writer.stable = false
      return `${textOf(alias, tree.field)} like ${writer.constant(tree.parts.map(escaped).join("%"))}`
    case "contains":
      writer.stable = false
      return `${textOf(alias, tree.field)} ilike ${writer.constant(`%${escaped(tree.text)}%`)}`
    case "words":
      writer.stable = false
      return `${columnOf(alias, tree.field)} @@ websearch_to_tsquery(${quoted(tree.field.vector!.config)}, ${
        writer.constant(tree.text)
      })`
    case "same":
      writer.stable = false
      return `${textOf(alias, tree.field)} ilike ${writer.constant(escaped(tree.text) + (tree.whole ? "" : "%"))}`
    case "search": {
      if (tree.fields.length === 0) return "false"
      writer.stable = false
      // One parameter serves all fields: a statement has room for 32,767, and a filter for 1,000 words.
      const pattern = writer.constant(`%${escaped(tree.text)}%`)
      const tests = tree.fields.map((field) => `${textOf(alias, field)} ilike ${pattern}`)
      return tests.length === 1 ? tests[0]! : `(${tests.join(" or ")})`
    }
    case "similar": {
      writer.stable = false
      writer.trigram = true
      const column = textOf(alias, tree.field)
      const schema = identifier(writer.trigramSchema)
      const text = writer.constant(tree.text)
      // The operator lets an index serve the condition. The function keeps the threshold at 0.3 even where the setting is lower.
      return `(${column} operator(${schema}.%) ${text} and ${schema}.similarity(${column}, ${text}) >= 0.3::real)`
    }
    case "regex": {
      writer.stable = false
      writer.regex = true
      const text = textOf(alias, tree.field)
      // Inside a `case` the order of tests is fixed; conditions side by side run in whatever order the planner chooses. The `case`
      // withholds the text, not the test: the planner can estimate the test, but not a `case`.
      const seen = tree.only === undefined
        ? text
        : `(case when ${writtenOnce(tree.only, alias, writer)} then ${text} end)`
      return `${seen} ~ ${writer.constant(tree.pattern)}`
    }
    case "some":
      return `exists (${relatedSql(tree, alias, writer)})`
    case "count": {
      // What is beyond the number changes nothing: a parent of very many is not counted to its end.
      const enough = tree.number + 1
      return `((select count(*) from (${relatedSql(tree, alias, writer)} limit ${enough}) c) ${tree.is} ${tree.number})`
    }
  }
}

/** The value that a condition asks of the tenant's column; null where it asks none of every row. */
const tenantValue = (tenant: Field, where: FilterTree): Operand | null => {
  const conjuncts = where.op === "and" ? where.items : [where]
  for (const tree of conjuncts) {
    if (tree.op === "compare" && tree.is === "=" && tree.field === tenant) return tree.value
  }
  return null
}

/**
 * Joins the rows `t` with the keys of rows that were found by a condition. `other` names the place of each part of the key. The tenant stands here as the
 * value that the condition asks for: by the place alone no planner knows that the rows are in one partition.
 */
export const sameRows = (
  model: Model,
  where: FilterTree,
  other: (field: Field, at: number) => string,
  writer: Writer
): string =>
  identityOf(model).map((field, at) => {
    const value = field === model.tenant ? tenantValue(field, where) : null
    return `${columnOf("t", field)} = ${
      value === null ? other(field, at) : valueSql(field, writer.add({ of: "operand", operand: value, field }))
    }`
  }).join(" and ")

/** Joins what the caller sees at the end of a way to the rows `near`, as `far`. */
export const joinSql = (
  kind: "join" | "left join",
  { model, relation, rows, to }: Way,
  near: string,
  far: string,
  writer: Writer
): string => {
  const seen = rows.op === "true" ? "" : ` and ${conditionSql(rows, far, writer)}`
  return ` ${kind} ${tableOf(model)} ${far} on ${columnOf(far, to)} = ${columnOf(near, relation.from)}${seen}`
}

/** The related records that pass, as a query of rows without columns. */
const relatedSql = ({ item, way }: RelatedTree, alias: string, writer: Writer): string => {
  const { model, relation, rows, to } = way
  const inner = writer.alias()
  const given = writer.sources.length
  // As one tree: what the caller sees and what they ask for may go through the same relation.
  const condition = allOf([rows, item])
  const tests = condition.op === "true" ? "" : ` and ${conditionSql(condition, inner, writer)}`
  // A plan for any value does not know how rare one is, and here it decides from which table a join begins.
  if (writer.sources.length > given) writer.stable = false
  return `select 1 from ${tableOf(model)} ${inner} where ${columnOf(inner, to)} = ${
    columnOf(alias, relation.from)
  }${tests}`
}

/**
 * A condition that occurs several times in one statement, written with the same parameters each time. There is room for 32,767 parameters.
 */
export const writtenOnce = (tree: FilterTree, alias: string, writer: Writer): string => {
  const earlier = writer.written.get(tree)
  if (earlier?.alias === alias) return earlier.sql
  const sql = conditionSql(tree, alias, writer)
  writer.written.set(tree, { alias, sql })
  return sql
}

/** The tree as a value that is never NULL. */
export const truthSql = (tree: FilterTree, alias: string, writer: Writer): string => {
  const plan = merged(tree)
  return plan.op === "true" || plan.op === "false"
    ? plan.op
    : plan.op === "not" || plan.op === "null" || plan.op === "some" || plan.op === "count"
    ? write(plan, alias, writer)
    : `((${write(plan, alias, writer)}) is true)`
}

const negated = (item: FilterTree, alias: string, writer: Writer): string => {
  switch (item.op) {
    case "true":
      return "false"
    case "false":
      return "true"
    case "null":
      return `${columnOf(alias, item.field)} is not null`
    case "some":
    case "count":
      return `(not ${write(item, alias, writer)})`
    default:
      return `((${write(item, alias, writer)}) is not true)`
  }
}

/**
 * Text operators work on the value as text, without the padding of char(n) and the case folding of citext. For text and varchar that costs
 * nothing.
 */
const textOf = (alias: string, field: Field): string => `${columnOf(alias, field)}::text`

const comparison = (field: Field, is: Comparison, value: Operand, alias: string, writer: Writer): string => {
  const column = columnOf(alias, field)
  if (is !== "=" && field.kind === "enum") return enumComparison(field, is, value, alias, writer)
  const inline = constantOf(field, value)
  if (inline !== null) return `${column} ${is} ${inline}`
  if (is !== "=" || !structural(field, value)) writer.stable = false
  const given = writer.add({ of: "operand", operand: value, field })
  // What is no amount of money would be rounded to one.
  if (isBeyondMoney(field, value)) return `${column}::numeric ${is} ${given}::numeric`
  const plain = `${column} ${is} ${valueSql(field, given)}`
  if (!isPadded(field, value)) return plain
  // Equality stays plain, so that indexes serve it. No text of a char(n) column ends in a blank.
  return is === "="
    ? `(${plain} and ${keepsBlanks(column)})`
    : `(case when ${keepsBlanks(column)} then ${plain} else ${column}::text ${is} ${
      writer.add({ of: "operand", operand: value, field })
    } end)`
}

/**
 * Two columns, compared as their cells are. Texts of two columns may have two collations, between which the database does not choose. Of a column of
 * single precision the number counts that is shown, not the binary one.
 */
const pairSql = (
  { field, is, other }: Extract<FilterTree, { readonly op: "pair" }>,
  alias: string
): string => {
  const side = (each: Field): string => {
    if (is !== "=" && each.kind === "enum") return rankText(each.values, columnOf(alias, each))
    switch (each.kind) {
      case "text":
      case "enum":
      case "currency":
      case "country":
        return `${textOf(alias, each)} collate "C"`
      case "float":
        return `${textOf(alias, each)}::float8`
      default:
        return columnOf(alias, each)
    }
  }
  return `${side(field)} ${is} ${side(other)}`
}

/**
 * An enum below or above a value, by the declared order. The values that pass are few, and an index on the column serves them. Where the value is known
 * only when the statement runs, places in the order are compared.
 */
const enumComparison = (
  field: FieldOf<"enum">,
  is: Comparison,
  value: Operand,
  alias: string,
  writer: Writer
): string => {
  const column = columnOf(alias, field)
  const at = value.of === "literal" ? field.values.indexOf(value.text) : -1
  if (at === -1) {
    writer.stable = false
    const operand = `${writer.add({ of: "operand", operand: value, field })}::text`
    return `${rankText(field.values, column)} ${is} ${rankText(field.values, operand)}`
  }
  const end = at + (is === "<=" || is === ">" ? 1 : 0)
  const matching = is === "<" || is === "<=" ? field.values.slice(0, end) : field.values.slice(end)
  return matching.length === 0 ? "false" : `${column} in (${matching.map(quoted).join(", ")})`
}

const isBeyondMoney = (field: Field, value: Operand): boolean =>
  field.kind === "money" && (value.of !== "literal" || !fitsMoney(field, value.text))

const isPadded = (field: Field, value: Operand): boolean =>
  field.kind === "text" && value.of === "literal" && value.text.endsWith(" ")

/**
 * Whether the column's type keeps blanks at the end of values: comparisons with char(n) ignore those of both sides. The planner reads this
 * as a constant and leaves out what it rules out. Only char(n) may be compared as text; for `citext` that would be another comparison.
 */
export const keepsBlanks = (column: string): string =>
  `octet_length((case when false then ${column} else ' ' end)::text) = 1`

const membership = (field: Field, values: readonly Operand[], alias: string, writer: Writer): string => {
  if (values.length === 0) return "false"
  if (values.length === 1) return comparison(field, "=", values[0]!, alias, writer)
  const column = columnOf(alias, field)
  const inline = values.map((value) => constantOf(field, value))
  if (inline.every((text) => text !== null)) return `${column} in (${inline.join(", ")})`
  writer.stable = false
  const any = (operands: readonly Operand[]) =>
    `any(${valuesSql(field, writer.add({ of: "operands", operands, field }))})`
  if (values.some((value) => isBeyondMoney(field, value))) {
    return `${column}::numeric = any(${writer.add({ of: "operands", operands: values, field })}::numeric[])`
  }
  const padded = values.filter((value) => isPadded(field, value))
  if (padded.length === 0) return `${column} = ${any(values)}`
  const rest = values.filter((value) => !isPadded(field, value))
  const tests = `${column} = ${any(padded)} and ${keepsBlanks(column)}`
  return rest.length === 0 ? `(${tests})` : `(${column} = ${any(rest)} or (${tests}))`
}

/**
 * A list with one of the values: by the operators that a GIN index serves, which `= any(column)` is not. The operators are those of the server: the
 * extension `intarray` has its own for integers, and they fail on nulls.
 */
const elementSql = (field: FieldOf<"list">, values: readonly Operand[], alias: string, writer: Writer): string => {
  if (values.length === 0) return "false"
  writer.stable = false
  const of = elementField(field)
  const column = columnOf(alias, field)
  const among = (operands: readonly Operand[]): string =>
    `${column} operator(pg_catalog.${operands.length === 1 ? "@>" : "&&"}) ${
      writer.add({ of: "elements", operands, field: of })
    }`
  if (of.kind === "money") {
    const given = writer.add({ of: "elements", operands: values, field: of })
    // What is no amount of money would be rounded to one. The cast of the column means nothing but for a domain, whose arrays are compared with no others.
    return values.some((value) => isBeyondMoney(of, value))
      ? `${column}::numeric[] operator(pg_catalog.&&) ${given}::numeric[]`
      : `${column}::money[] operator(pg_catalog.&&) ${listSql(of, given)}`
  }
  const padded = values.filter((value) => isPadded(of, value))
  if (padded.length === 0) return among(values)
  const rest = values.filter((value) => !isPadded(of, value))
  const tests = `${among(padded)} and ${keepsBlanks(`${column}[1]`)}`
  return rest.length === 0 ? `(${tests})` : `(${among(rest)} or (${tests}))`
}

/**
 * Values of small sets are written into the text, so that partial indexes serve and each value has a plan of its own. Only declared enum
 * values and booleans: their number bounds the number of statements.
 */
const constantOf = (field: Field, value: Operand): string | null =>
  value.of !== "literal"
    ? null
    : field.kind === "boolean"
    ? value.text === "true" ? "true" : value.text === "false" ? "false" : null
    : field.kind === "enum" && field.values.includes(value.text)
    ? quoted(value.text)
    : null

/** Equality that has an index and that every request contains: the key's parts and the caller's own values. */
const structural = (field: Field, value: Operand): boolean =>
  value.of === "caller" || (value.of === "param" && !field.optional)

const special = /[\\%_]/g

/** A literal part of a LIKE pattern. */
const escaped = (text: string): string => text.replace(special, "\\$&")
