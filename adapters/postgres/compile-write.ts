/**
 * Writes as statements: lock, insert, update, remove, and the check of a row as it stands. It sets version columns. What is written, and
 * whether it may be, is decided before. Each statement is compiled once and is given keys and values when it runs.
 */

import { BoundedMap } from "../../core/domain/bounded.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import { always } from "../../core/domain/filter/tree.ts"
import { identityOf } from "../../core/domain/model/model.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { keyed } from "../../core/domain/read/key.ts"
import { columnOf, conditionSql, truthSql } from "./compile-filter.ts"
import { textColumn } from "./compile-page.ts"
import { refusedByRule } from "./errors.ts"
import { identifier, listSql, quoted, type Statement, tableOf, Writer } from "./sql.ts"

const ids = new WeakMap<object, number>()
let lastId = 0

/** A number for each object that goes into a statement. Filters and lists of columns are the same objects again and again. */
const idOf = (part: object): number => {
  let id = ids.get(part)
  if (id === undefined) ids.set(part, id = ++lastId)
  return id
}

const byModel = new WeakMap<Model, BoundedMap<string, Statement>>()

/** Rules may answer with new filters each time, so only so many statements of a model are kept. */
const mostKept = 500

/** The statement of that name, compiled when it is not known. Its text stays the same object, so it is found again without being read. */
const statementOf = (
  model: Model,
  name: string,
  trigramSchema: string,
  compile: (writer: Writer) => string
): Statement => {
  let statements = byModel.get(model)
  if (statements === undefined) byModel.set(model, statements = new BoundedMap(mostKept))
  const key = `${name} ${trigramSchema}`
  let statement = statements.get(key)
  if (statement === undefined) {
    const writer = new Writer(trigramSchema)
    statements.set(key, statement = writer.finish(compile(writer)))
  }
  return statement
}

/** The row by key, within the caller's tenant. The key's cells are the first cells that a run is given. */
const keySql = (model: Model, writer: Writer): string =>
  identityOf(model).map((field, i) => {
    const value = i < model.key.length
      ? writer.given(i)
      : writer.add({ of: "operand", operand: { of: "caller", value: "tenant" }, field })
    return `${columnOf("t", field)} = ${value}`
  }).join(" and ")

const list = (columns: readonly Field[]): string =>
  columns.length === 0 ? "1" : columns.map((field) => textColumn("t", field)).join(", ")

/** The cells of a row: columns, then what the checks say about it. */
export interface AnswerColumns {
  readonly columns: readonly Field[]
  readonly checks: readonly FilterTree[]
}

/** The answer of a write; `must` fails the statement when the row as written does not pass. */
export interface WriteAnswer extends AnswerColumns {
  readonly must: FilterTree | null
}

const nameOf = ({ checks, columns }: AnswerColumns): string => {
  let name = String(idOf(columns))
  for (const check of checks) name += ` ${idOf(check)}`
  return name
}

const nameOfWrite = (answer: WriteAnswer): string =>
  answer.must === null ? nameOf(answer) : `${nameOf(answer)} !${idOf(answer.must)}`

const answerSql = ({ checks, columns }: AnswerColumns, writer: Writer): string => {
  let text = columns.length === 0 && checks.length > 0 ? "" : list(columns)
  for (const check of checks) text += `${text === "" ? "" : ", "}${truthSql(check, "t", writer)}::text`
  return text
}

/**
 * Tells the capture of changes who writes, and what the row's own values do not say (see capture.ts). As a last cell of what a statement gives back:
 * rows are captured when the statement has written all of them. The settings end with the transaction.
 */
const noteSql = (model: Model, note: string | null, writer: Writer): string =>
  !model.captured
    ? ""
    : `, set_config('service.actor', ${writer.add({ of: "actor" })}, true)${
      note === null ? "" : ` || set_config('service.change', ${note}, true)`
    }`

const writeAnswerSql = (model: Model, answer: WriteAnswer, note: string | null, writer: Writer): string =>
  checkedAnswerSql(model, answer, writer) + noteSql(model, note, writer)

const checkedAnswerSql = (model: Model, answer: WriteAnswer, writer: Writer): string => {
  const cells = answerSql(answer, writer)
  if (answer.must === null || answer.must.op === "true") return cells
  // The failing cast contains a part of the row. A constant would be cast, and fail, while the statement is planned. Views may answer
  // without a key, and the cast of a null would not fail.
  const nothing = `coalesce(left(${columnOf("t", model.key[0]!)}::text, 0), '')`
  const refused = `(${quoted(refusedByRule)} || ${nothing})::integer`
  return `${cells}, case when ${truthSql(answer.must, "t", writer)} then null else ${refused} end::text`
}

const foundSql = (model: Model, where: FilterTree, writer: Writer): string => {
  const byKey = `from ${tableOf(model)} t where ${keySql(model, writer)}`
  return where.op === "true" ? byKey : `${byKey} and ${conditionSql(where, "t", writer)}`
}

/** Given: the key. */
export const lockStatement = (
  model: Model,
  where: FilterTree,
  answer: AnswerColumns,
  trigramSchema: string
): Statement =>
  statementOf(
    model,
    `lock ${idOf(where)} ${nameOf(answer)}`,
    trigramSchema,
    (writer) => `select ${answerSql(answer, writer)} ${foundSql(model, where, writer)} for update`
  )

/** Locks rows in the order of their keys, and gives back their number only. Its text has the keys of one batch: it is not kept. */
export const lockAllStatement = (model: Model, where: FilterTree, trigramSchema: string): Statement => {
  const writer = new Writer(trigramSchema)
  writer.stable = false
  const order = identityOf(model).map((field) => columnOf("t", field)).join(", ")
  const rows = `select 1 from ${tableOf(model)} t where ${
    conditionSql(where, "t", writer)
  } order by ${order} for update`
  return writer.finish(`select count(*)::text from (${rows}) locked`)
}

/**
 * Reads a row without a lock, with its stamp as the last cell: the transaction that wrote this version of the row. Each version has its own
 * stamp where the table is one of the server's own. Given: the key.
 */
export const stampedStatement = (
  model: Model,
  where: FilterTree,
  answer: AnswerColumns,
  trigramSchema: string
): Statement =>
  statementOf(
    model,
    `stamp ${idOf(where)} ${nameOf(answer)}`,
    trigramSchema,
    (writer) => `select ${answerSql(answer, writer)}, t.xmin::text ${foundSql(model, where, writer)}`
  )

/** Given: the key. */
export const passesStatement = (model: Model, tree: FilterTree, trigramSchema: string): Statement =>
  statementOf(model, `passes ${idOf(tree)}`, trigramSchema, (writer) => {
    const passes = truthSql(tree, "t", writer)
    return `select (${passes})::text ${foundSql(model, always, writer)}`
  })

/** Most parameters of one statement. The driver takes 32,767, and checks may need some. */
export const mostParameters = 30_000

const insertSql = (
  model: Model,
  fields: readonly Field[],
  rows: number,
  answer: WriteAnswer,
  writer: Writer
): string => {
  const stamps = model.columns.filter((field) => field.stamped && !fields.includes(field))
  const times = stamps.map((field) => field.kind === "integer" ? "1" : "clock_timestamp()")
  // A row without values still needs a column, which takes its default.
  const names = fields.length + stamps.length === 0 ? [model.key[0]!] : [...fields, ...stamps]
  const tuples: string[] = []
  for (let row = 0; row < rows; row++) {
    const cells = fields.map((field, i) => writer.value(field, row * fields.length + i))
    tuples.push(names.length > cells.length + times.length ? "(default)" : `(${[...cells, ...times].join(", ")})`)
  }
  const into = names.map((field) => identifier(field.column)).join(", ")
  return `insert into ${tableOf(model)} as t (${into}) values ${tuples.join(", ")} returning ${
    writeAnswerSql(model, answer, null, writer)
  }`
}

const indexes = (fields: readonly Field[]): string => {
  let text = ""
  for (const field of fields) text += ` ${field.index}`
  return text
}

/** Given: the cells of all rows. */
export const insertStatement = (
  model: Model,
  fields: readonly Field[],
  rows: number,
  answer: WriteAnswer,
  trigramSchema: string
): Statement => {
  if (rows === 1) {
    const name = `insert${indexes(fields)} ${nameOfWrite(answer)}`
    return statementOf(model, name, trigramSchema, (writer) => insertSql(model, fields, 1, answer, writer))
  }
  const writer = new Writer(trigramSchema)
  // Statements of many rows come in many lengths, so keeping them prepared does not pay.
  writer.stable = false
  return writer.finish(insertSql(model, fields, rows, answer, writer))
}

/** How a version column advances: integers by one, timestamps to now, or at least by the smallest step that the column can hold. */
export type VersionStep = { readonly of: "integer" } | { readonly of: "timestamp"; readonly microseconds: number }

const nextVersion = (field: Field, step: VersionStep): string => {
  const column = columnOf("t", field)
  return step.of === "integer"
    ? `coalesce(${column}, 0) + 1`
    // Nothing is later than infinity, so that is replaced by the present.
    : `greatest(clock_timestamp(), nullif(${column}, 'infinity') + interval '${step.microseconds} microseconds')`
}

/** The row by key, and where there is a stamp, given as the cell at `index`, in that version. */
const versionSql = (model: Model, index: number | null, writer: Writer): string => {
  const byKey = keySql(model, writer)
  return index === null ? byKey : `${byKey} and t.xmin = ${writer.given(index)}::xid`
}

/**
 * Given: the key, the values of the fields, the stamp if there is one, what the capture of changes is told where `tells`. With a `step` the version
 * column is not among the fields.
 */
export const updateStatement = (
  model: Model,
  fields: readonly Field[],
  step: VersionStep | null,
  stamped: boolean,
  answer: WriteAnswer,
  trigramSchema: string,
  tells = false
): Statement => {
  const pace = step === null ? "" : step.of === "timestamp" ? `step ${step.microseconds}` : "step"
  const name = `update${indexes(fields)} ${pace} ${stamped} ${tells} ${nameOfWrite(answer)}`
  return statementOf(model, name, trigramSchema, (writer) => {
    const { key } = model
    const where = versionSql(model, stamped ? key.length + fields.length : null, writer)
    const note = tells ? writer.given(key.length + fields.length + (stamped ? 1 : 0)) : null
    const cells = writeAnswerSql(model, answer, note, writer)
    const values = fields.map((field, i) => writer.value(field, key.length + i))
    return updateSql(model, fields, values, step, null, where, cells)
  })
}

/** An update of the rows that a condition names, to values as SQL. `from`: what else the values and the condition are taken from. */
const updateSql = (
  model: Model,
  fields: readonly Field[],
  values: readonly string[],
  step: VersionStep | null,
  from: string | null,
  where: string,
  cells: string
): string => {
  const { version } = model
  const changes = fields.map((field, i) => `${identifier(field.column)} = ${values[i]!}`)
  if (step !== null && version !== null) {
    changes.push(`${identifier(version.column)} = ${nextVersion(version, step)}`)
  }
  const target = `${tableOf(model)} t`
  return changes.length === 0
    ? `select ${cells} from ${target}${from === null ? "" : `, ${from}`} where ${where}`
    : `update ${target} set ${changes.join(", ")}${
      from === null ? "" : ` from ${from}`
    } where ${where} returning ${cells}`
}

/** Rows by a condition on their keys, within the caller's tenant: a value of its own, also where the keys have it, as no list of values finds a partition. */
const keysSql = (model: Model, keys: readonly string[], writer: Writer): string =>
  [
    ...keys,
    ...model.tenant === null
      ? []
      : [
        `${columnOf("t", model.tenant)} = ${
          writer.add({ of: "operand", operand: { of: "caller", value: "tenant" }, field: model.tenant })
        }`
      ]
  ].join(" and ")

/**
 * Given: for each row its key and its values of the fields of `own`, then the values of the other fields, which all rows get. The cells of the key
 * come before those of the answer. Its text depends on the number of rows: it is not kept.
 */
export const updateAllStatement = (
  model: Model,
  fields: readonly Field[],
  own: readonly Field[],
  rows: number,
  step: VersionStep | null,
  { checks, columns }: AnswerColumns,
  trigramSchema: string
): Statement => {
  const writer = new Writer(trigramSchema)
  writer.stable = false
  const each = [...model.key, ...own]
  // The first row gives the list the types of the columns. No key is null, so it finds nothing.
  const typed = (field: Field): string => {
    const none = `(null::${tableOf(model)}).${identifier(field.column)}`
    return field.kind === "list" ? listSql(field.of, none) : none
  }
  const tuples = [`(${each.map(typed).join(", ")})`]
  for (let row = 0; row < rows; row++) {
    tuples.push(`(${each.map((field, i) => writer.value(field, row * each.length + i)).join(", ")})`)
  }
  const from = `(values ${tuples.join(", ")}) given (${each.map((_, i) => `c${i}`).join(", ")})`
  let shared = rows * each.length
  const values = fields.map((field) => {
    const at = own.indexOf(field)
    return at < 0 ? writer.value(field, shared++) : `given.c${model.key.length + at}`
  })
  const where = keysSql(model, model.key.map((field, i) => `${columnOf("t", field)} = given.c${i}`), writer)
  const answer: WriteAnswer = { columns: [...model.key, ...columns], checks, must: null }
  return writer.finish(
    updateSql(model, fields, values, step, from, where, writeAnswerSql(model, answer, null, writer))
  )
}

export const removeAllStatement = (
  model: Model,
  keys: ReadonlyArray<readonly string[]>,
  trigramSchema: string
): Statement => {
  const writer = new Writer(trigramSchema)
  writer.stable = false
  return writer.finish(
    `delete from ${tableOf(model)} t where ${
      keysSql(model, [conditionSql(keyed(model, keys), "t", writer)], writer)
    } returning 'removed'::text${noteSql(model, null, writer)}`
  )
}

/** Given: the key, and the stamp if there is one. */
export const removeStatement = (model: Model, stamped: boolean, trigramSchema: string): Statement =>
  statementOf(
    model,
    `remove ${stamped}`,
    trigramSchema,
    (writer) =>
      `delete from ${tableOf(model)} t where ${
        versionSql(model, stamped ? model.key.length : null, writer)
      } returning 'removed'::text${noteSql(model, null, writer)}`
  )
