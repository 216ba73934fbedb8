/**
 * Writes as statements: lock, insert, update, remove, and the check of a row as it stands. It sets version columns; what is written and
 * whether it may be is decided by the plan.
 */

import type { FilterTree } from "../../core/domain/filter/tree.ts"
import type { Cell, Field, Model } from "../../core/domain/model/model.ts"
import type { Assignments } from "../../core/ports/records.ts"
import { columnOf, conditionSql, truthSql } from "./compile-filter.ts"
import { textColumn } from "./compile-page.ts"
import { identifier, type Statement, tableOf, Writer } from "./sql.ts"

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

const answerSql = ({ checks, columns }: Answer, writer: Writer): string =>
  checks.length === 0
    ? list(columns)
    : [
      ...(columns.length === 0 ? [] : [list(columns)]),
      ...checks.map((check) => `${truthSql(check, "t", writer)}::text`)
    ].join(", ")

export const lockStatement = (
  model: Model,
  key: readonly string[],
  where: FilterTree,
  answer: Answer,
  trigramSchema: string
): Statement => {
  const writer = new Writer(trigramSchema)
  const tests = [keySql(model, key, writer)]
  if (where.op !== "true") tests.push(conditionSql(where, "t", writer))
  return writer.finish(
    `select ${answerSql(answer, writer)} from ${tableOf(model)} t where ${tests.join(" and ")} for update`
  )
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
  answer: Answer,
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
    `insert into ${tableOf(model)} as t (${into}) values ${tuples.join(", ")} returning ${answerSql(answer, writer)}`
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
  answer: Answer,
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
  const where = keySql(model, key, writer)
  return writer.finish(
    changes.length === 0
      ? `select ${answerSql(answer, writer)} from ${target} where ${where}`
      : `update ${target} set ${changes.join(", ")} where ${where} returning ${answerSql(answer, writer)}`
  )
}

export const removeStatement = (model: Model, key: readonly string[]): Statement => {
  const writer = new Writer()
  return writer.finish(`delete from ${tableOf(model)} t where ${keySql(model, key, writer)} returning 'removed'::text`)
}
