/**
 * Writes as statements: lock, insert, update, remove, and the check of a row as it stands. It sets version columns; what is written and
 * whether it may be is decided by the plan.
 */

import type { FilterTree } from "../../core/domain/filter/tree.ts"
import type { Cell, Field, Model } from "../../core/domain/model/model.ts"
import type { Assignments } from "../../core/ports/records.ts"
import { columnOf, conditionSql, truthSql } from "./compile-filter.ts"
import { textColumn } from "./compile-page.ts"
import { refusedByRule } from "./errors.ts"
import { identifier, quoted, type Statement, tableOf, Writer } from "./sql.ts"

const keySql = (model: Model, key: readonly string[], writer: Writer): string =>
  model.key.map((field, i) => `${columnOf("t", field)} = ${writer.constant(key[i]!)}`).join(" and ")

const lists = new WeakMap<readonly Field[], string>()

/** The columns as texts; kept for each list, since callers pass the same ones again. */
const list = (columns: readonly Field[]): string => {
  let text = lists.get(columns)
  if (text === undefined) {
    text = columns.length === 0 ? "1" : columns.map((field) => textColumn("t", field)).join(", ")
    lists.set(columns, text)
  }
  return text
}

/** The cells of a row: columns, then what the checks say about it. */
export interface Answer {
  readonly columns: readonly Field[]
  readonly checks: readonly FilterTree[]
}

/** The answer of a write; `must` fails the statement when the row as written does not pass. */
export interface WriteAnswer extends Answer {
  readonly must: FilterTree | null
}

const answerSql = ({ checks, columns }: Answer, writer: Writer): string => {
  let text = columns.length === 0 && checks.length > 0 ? "" : list(columns)
  for (const check of checks) text += `${text === "" ? "" : ", "}${truthSql(check, "t", writer)}::text`
  return text
}

const writeAnswerSql = (model: Model, answer: WriteAnswer, writer: Writer): string => {
  const cells = answerSql(answer, writer)
  if (answer.must === null || answer.must.op === "true") return cells
  // The failing cast takes something from the row: a constant would be cast, and fail, while the statement is planned.
  const refused = `(${quoted(refusedByRule)} || left(${columnOf("t", model.key[0]!)}::text, 0))::integer`
  return `${cells}, case when ${truthSql(answer.must, "t", writer)} then null else ${refused} end::text`
}

const lockedSql = (
  model: Model,
  key: readonly string[],
  where: FilterTree,
  cells: string,
  writer: Writer
): string => {
  const found = `select ${cells} from ${tableOf(model)} t where ${keySql(model, key, writer)}`
  return where.op === "true" ? found : `${found} and ${conditionSql(where, "t", writer)}`
}

export const lockStatement = (
  model: Model,
  key: readonly string[],
  where: FilterTree,
  answer: Answer,
  trigramSchema: string
): Statement => {
  const writer = new Writer(trigramSchema)
  return writer.finish(`${lockedSql(model, key, where, answerSql(answer, writer), writer)} for update`)
}

/**
 * Reads a row without a lock, with its stamp as the last cell: the transaction that wrote this version of it. Every version has another, as long as
 * the table is one of the server's own.
 */
export const stampedStatement = (
  model: Model,
  key: readonly string[],
  where: FilterTree,
  answer: Answer,
  trigramSchema: string
): Statement => {
  const writer = new Writer(trigramSchema)
  return writer.finish(lockedSql(model, key, where, `${answerSql(answer, writer)}, t.xmin::text`, writer))
}

/** The row by key, and still in the version of the stamp where there is one. */
const versionSql = (model: Model, key: readonly string[], stamp: string | null, writer: Writer): string => {
  const found = keySql(model, key, writer)
  return stamp === null ? found : `${found} and t.xmin = ${writer.constant(stamp)}::xid`
}

export const passesStatement = (
  model: Model,
  key: readonly string[],
  tree: FilterTree,
  trigramSchema: string
): Statement => {
  const writer = new Writer(trigramSchema)
  const passes = truthSql(tree, "t", writer)
  return writer.finish(`select (${passes})::text from ${tableOf(model)} t where ${keySql(model, key, writer)}`)
}

/** Parameters of one statement: a limit of the protocol, less what checks may need. */
export const mostParameters = 60_000

export const insertStatement = (
  model: Model,
  fields: readonly Field[],
  rows: ReadonlyArray<readonly Cell[]>,
  answer: WriteAnswer,
  trigramSchema: string
): Statement => {
  const writer = new Writer(trigramSchema)
  // Statements of many rows come in many lengths: not worth keeping prepared.
  writer.stable = rows.length === 1
  // A row without values still needs a column to take its default.
  const names = fields.length === 0 ? [model.key[0]!] : fields
  const tuples = rows.map((row) =>
    fields.length === 0 ? "(default)" : `(${row.map((cell) => writer.add({ of: "cell", cell })).join(", ")})`
  )
  const into = names.map((field) => identifier(field.column)).join(", ")
  return writer.finish(
    `insert into ${tableOf(model)} as t (${into}) values ${tuples.join(", ")} returning ${
      writeAnswerSql(model, answer, writer)
    }`
  )
}

/** How a version column moves on: integers by one, timestamps to now, at least by the smallest step the column can hold. */
export type VersionStep = { readonly of: "integer" } | { readonly of: "timestamp"; readonly microseconds: number }

const nextVersion = (field: Field, step: VersionStep): string => {
  const column = columnOf("t", field)
  return step.of === "integer"
    ? `coalesce(${column}, 0) + 1`
    : `greatest(clock_timestamp(), ${column} + interval '${step.microseconds} microseconds')`
}

export const updateStatement = (
  model: Model,
  key: readonly string[],
  set: Assignments,
  step: VersionStep | null,
  stamp: string | null,
  answer: WriteAnswer,
  trigramSchema: string
): Statement => {
  const writer = new Writer(trigramSchema)
  const { version } = model
  const changes: string[] = []
  for (const [field, value] of set) {
    if (step !== null && field === version) continue
    changes.push(`${identifier(field.column)} = ${writer.add({ of: "cell", cell: value })}`)
  }
  if (step !== null && version !== null) changes.push(`${identifier(version.column)} = ${nextVersion(version, step)}`)
  const target = `${tableOf(model)} t`
  const where = versionSql(model, key, stamp, writer)
  const cells = writeAnswerSql(model, answer, writer)
  return writer.finish(
    changes.length === 0
      ? `select ${cells} from ${target} where ${where}`
      : `update ${target} set ${changes.join(", ")} where ${where} returning ${cells}`
  )
}

export const removeStatement = (model: Model, key: readonly string[], stamp: string | null): Statement => {
  const writer = new Writer()
  const where = versionSql(model, key, stamp, writer)
  return writer.finish(`delete from ${tableOf(model)} t where ${where} returning 'removed'::text`)
}
