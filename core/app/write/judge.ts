/**
 * Judges a write by the stored record, inside the transaction: the rule, the body for this record, the precondition, and what would change. It also says
 * what a refusal of the database may tell. It changes no record.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access, Decision } from "../../domain/access/access.ts"
import { refusedFields } from "../../domain/access/resolve.ts"
import { evaluateKnown } from "../../domain/filter/evaluate.ts"
import type { Bindings, FilterTree } from "../../domain/filter/tree.ts"
import { always, goesThrough } from "../../domain/filter/tree.ts"
import type { Field, WireRecord } from "../../domain/model/model.ts"
import { accessDenied, notFound, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { etagsOf, tagListed } from "../../domain/read/etag.ts"
import { keyCondition } from "../../domain/read/key.ts"
import { visibleRows } from "../../domain/read/list.ts"
import { wireRecord, wireValue } from "../../domain/read/record.ts"
import { timestampFromMicros } from "../../domain/value/instant.ts"
import type { Cell, Json, Row } from "../../domain/value/kind.ts"
import {
  addedValues,
  changedValues,
  checkValues,
  invalidRecord,
  merged,
  noAdditions,
  readOnlyError,
  validateRecord,
  withRoles
} from "../../domain/write/body.ts"
import type { FieldValues } from "../../domain/write/body.ts"
import { compareFiles } from "../../domain/write/file-values.ts"
import { preconditionFailed, preconditionHolds, preconditionRequired } from "../../domain/write/precondition.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"
import { claimUploads } from "./attach.ts"
import { cells, checkFieldRules, ownKey, ruleOf } from "./intent.ts"
import type { ExistingWrite, UpdateWrite, Write } from "./intent.ts"
import { answered } from "./related.ts"

export type WriteStep<A> = Effect.Effect<A, Problem | RecordsError>
/** What the body of a generator function returns that is a `WriteStep`. */
export type Steps<A> = Effect.fn.Return<A, Problem | RecordsError>

/** A decision after the record was judged. */
export type Verdict = Exclude<Decision, { of: "record" }>

/** The tree that a decision asks the database to judge; other decisions ask nothing. */
export const decisionTree = (decision: Decision): FilterTree => decision.of === "filter" ? decision.tree : always

/** The verdict of a decision on a record. The resolver has turned a rule that throws into a denial. */
export const verdictFor = (decision: Decision, record: () => WireRecord): Verdict =>
  decision.of === "record" ? decision.decide(record()) : decision

/** Continues with a value that may be known already. A write has few questions, and most need no waiting. */
export const whenKnown = <A, B>(answer: A | WriteStep<A>, next: (value: A) => WriteStep<B>): WriteStep<B> =>
  Effect.isEffect(answer) ? Effect.flatMap(answer as WriteStep<A>, next) : next(answer)

/**
 * Whether the current row passes a verdict. `checked` is the database's answer for the filter of the decision itself; it came with the row. Two kinds
 * of filters are asked now: a filter that a record-level rule answered, and a filter through relations. For the second kind the earlier answer may be
 * wrong: a statement does not see its own writes, and a statement that waited for a lock does not see later writes to other tables.
 */
const rowPasses = (
  tx: RecordsTransaction,
  access: Access,
  key: readonly string[],
  verdict: Verdict,
  checked: Cell | undefined,
  bindings: Bindings
): boolean | WriteStep<boolean> =>
  verdict.of !== "filter"
    ? verdict.of === "allow"
    : checked !== undefined && !goesThrough(verdict.tree)
    ? checked === "true"
    : tx.passes({ model: access.model, key, tree: verdict.tree, bindings })

/** Whether the rule of a create passes the row as it was written. */
export const createdPasses = (
  tx: RecordsTransaction,
  access: Access,
  key: readonly string[],
  row: Row,
  bindings: Bindings
): boolean | WriteStep<boolean> => {
  const { decisions, model } = access
  const decision = decisions.create
  const verdict = verdictFor(decision, () => wireRecord(model, cells(row)))
  const checked = decision.of === "record" ? undefined : row[model.columns.length + 1]
  return rowPasses(tx, access, key, verdict, checked, bindings)
}

/** Reasons for which a database refuses values of the caller. */
const refusedValues: ReadonlySet<string> = new Set([
  "Unique",
  "ForeignKey",
  "NotNull",
  "Check",
  "NoPartition",
  "BadValue"
])

export const isRefusedValue = (error: unknown): boolean =>
  error instanceof RecordsError && refusedValues.has(error.reason._tag)

/**
 * A row that the caller may not write is a 403, whatever the database says against its values: "taken" would tell of rows that the caller
 * cannot see. `cellOf` gives undefined for what only the database knows. Where the answer depends on such a cell, the database's refusal
 * stands.
 */
export const deniedFirst =
  (tx: RecordsTransaction, tree: FilterTree, cellOf: (field: Field) => Cell | undefined, bindings: Bindings) =>
  (error: RecordsError): WriteStep<never> =>
    isRefusedValue(error)
      ? Effect.flatMap(answered(tx, tree, cellOf, bindings), (whole) =>
        Effect.fail(evaluateKnown(whole, cellOf, bindings) === false ? accessDenied() : error))
      : Effect.fail(error)

/** A write after whose refusal the transaction is asked for more. */
export const askedAfter = <A>(
  tx: RecordsTransaction,
  tree: FilterTree,
  write: Effect.Effect<A, RecordsError>
): Effect.Effect<A, RecordsError> => goesThrough(tree) ? tx.savepoint(write) : write

/**
 * The answer to a create whose values the database refuses. A rule over the record is asked first, as far as the record is known without
 * the database.
 */
export const refusedCreate = (
  tx: RecordsTransaction,
  access: Access,
  values: FieldValues,
  error: RecordsError,
  bindings: Bindings
): WriteStep<never> => {
  let known = true
  const record: { [name: string]: Json } = {}
  const cellOf = (field: Field): Cell | undefined => {
    const { default: given, readOnly, system } = field
    // A value that the database makes is not known: its own default, a computed column, the first version.
    const made = readOnly || system || field === access.model.version || (given !== null && "db" in given)
    return values.has(field) ? values.get(field) : made ? undefined : null
  }
  for (const field of access.model.fields) {
    const { name } = field
    const cell = cellOf(field)
    if (cell !== undefined) record[name] = wireValue(field, cell)
    else {
      const get = (): null => {
        known = false
        return null
      }
      Object.defineProperty(record, name, { enumerable: true, get })
    }
  }
  const verdict = verdictFor(access.decisions.create, () => record)
  if (!known) return Effect.fail(error)
  return verdict.of === "deny"
    ? Effect.fail(accessDenied())
    : deniedFirst(tx, decisionTree(verdict), cellOf, bindings)(error)
}

/**
 * Locks the row of a write. A write without a batch only reads the row, and fails if the row has changed before it is written. 404 when there is no
 * such row that the caller can see. After the row's columns comes the database's answer for the filter of the operation's rule.
 */
export const lockRow = (
  tx: RecordsTransaction,
  { access, key, op }: ExistingWrite,
  bindings: Bindings
): WriteStep<Row> =>
  Effect.flatMap(
    tx.lock({
      model: access.model,
      key,
      where: op === "undelete" ? access.rows : visibleRows(access, always, false),
      columns: access.model.columns,
      checks: [decisionTree(access.decisions[ruleOf(op)])],
      bindings
    }),
    (row) =>
      row === null
        ? Effect.fail(notFound())
        : Effect.flatMap(
          stillSeen(tx, access, key, bindings),
          (seen) => seen ? Effect.succeed(row) : Effect.fail(notFound())
        )
  )

/** Whether a locked row is the caller's. Where related records say so, they are asked again: the lock may have been waited for. */
export const stillSeen = (
  tx: RecordsTransaction,
  { model, rows }: Access,
  key: readonly string[],
  bindings: Bindings
): WriteStep<boolean> => goesThrough(rows) ? tx.passes({ model, key, tree: rows, bindings }) : Effect.succeed(true)

/** Whether only the database, and only after the write, can say whether a caller may write: what a write is judged by goes through relations. */
export const isAskedAfter = ({ decisions, rows }: Access, op: Write["op"]): boolean =>
  goesThrough(rows) || goesThrough(decisionTree(decisions[op === "create" ? op : ruleOf(op)]))

/**
 * Judges a write by its locked row, in this order: the rule (403), the body for this record (400, `check`), the precondition (428, 412).
 * The rule comes before `check`, whose answer may depend on fields that the caller cannot read.
 */
export const judge = (
  core: Core,
  tx: RecordsTransaction,
  write: ExistingWrite,
  row: Row,
  check: () => Result.Result<void, Problem>,
  bindings: Bindings
): WriteStep<Verdict> => {
  const { access, key } = write
  const { model } = access
  const decision = access.decisions[ruleOf(write.op)]
  const verdict = verdictFor(decision, () => wireRecord(model, cells(row)))
  const checked = decision.of === "record" ? undefined : row[model.columns.length]
  return whenKnown(rowPasses(tx, access, key, verdict, checked, bindings), (passes) => {
    if (!passes) return Effect.fail(accessDenied())
    const checkedBody = check()
    if (Result.isFailure(checkedBody)) return Effect.fail(checkedBody.failure)
    const refusal = preconditionRefusal(core, write, row, bindings)
    return refusal === null
      ? Effect.succeed(verdict)
      : write.midway === true && write.precondition !== null
      ? refusedMidway(core, write, bindings)
      : Effect.fail(refusal)
  })
}

const preconditionRefusal = (
  core: Core,
  write: ExistingWrite,
  row: Row,
  bindings: Bindings
): Problem | null => {
  const { access, op, precondition } = write
  if (precondition === null) return op === "update" ? preconditionRequired() : null
  const tags = etagsOf(access.restricted, row, core.seal)
  return tags.some((tag) => preconditionHolds(precondition, tag))
    ? null
    : preconditionFailed(precondition, tags[0] ?? null, changedSince(core, access, precondition, row, bindings))
}

/**
 * Which readable fields differ between the current row and the version whose tag the client sent; null when that is not known. Tags of
 * different records may be equal, so a version that the caller could not see is never compared.
 */
const changedSince = (
  core: Core,
  access: Access,
  precondition: string,
  row: Row,
  bindings: Bindings
): readonly string[] | null => {
  const held = core.versions.recent(access, ownKey(access.model, row)).find((old) =>
    etagsOf(access.restricted, old, core.seal).some((tag) => tagListed(precondition, tag, false)) &&
    evaluateKnown(access.rows, cells(old), bindings) === true
  )
  if (held === undefined) return null
  return access.restricted.fields.filter((field) => held[field.index] !== row[field.index]).map((field) => field.name)
}

/**
 * A 412 among other writes names the committed record. The version inside the transaction disappears with the rollback, and another one,
 * perhaps of the same number, takes its place. When the client holds the committed version, or nothing is committed, only this transaction
 * has another version. Then none is named.
 */
const refusedMidway = (core: Core, write: ExistingWrite, bindings: Bindings): WriteStep<never> => {
  const { access, key } = write
  const { model } = access
  const where = visibleRows(access, keyCondition(model), false)
  const shape = { model, columns: model.columns, where, order: [], limit: 1, checks: [] }
  return Effect.flatMap(core.records.page({ shape, bindings: { ...bindings, params: key } }), ([row]) => {
    const refusal = row === undefined ? null : preconditionRefusal(core, write, row, bindings)
    return Effect.fail(refusal ?? preconditionFailed(write.precondition ?? "", null, null))
  })
}

/** What a write would do to its locked row: the values that would change, and whether it may. */
interface RowChange {
  readonly set: FieldValues
  readonly judged: WriteStep<Verdict>
}

export const plan = (
  core: Core,
  tx: RecordsTransaction,
  write: ExistingWrite,
  row: Row,
  bindings: Bindings
): RowChange => {
  const { model } = write.access
  switch (write.op) {
    case "update":
      return changeOf(core, tx, write, row, bindings)
    case "undelete": {
      const softDelete = model.softDelete!
      const judged = judge(core, tx, write, row, nothingToCheck, bindings)
      return {
        set: new Map([[softDelete, null]]),
        judged: row[softDelete.index] === null
          ? Effect.andThen(judged, Effect.fail(problem("conflict", "The record is not deleted.")))
          : judged
      }
    }
    case "delete": {
      const judged = judge(core, tx, write, row, nothingToCheck, bindings)
      const { softDelete } = model
      return {
        set: softDelete === null ? noValues : new Map([[softDelete, timestampFromMicros(bindings.now)]]),
        judged
      }
    }
  }
}

const changeOf = (core: Core, tx: RecordsTransaction, write: UpdateWrite, row: Row, bindings: Bindings): RowChange => {
  const { access, adds = noAdditions, files } = write
  const given = write.lenient === true ? writableValues(access, row, write.values) : write.values
  const added = adds.size === 0 ? nothingAdded : addedValues(cells(row), adds)
  const values = adds.size === 0 ? given : new Map([...given, ...added.values])
  const fileChanges = files.length === 0 ? noFileChanges : compareFiles(files, row)
  const set = withRoles(
    access,
    changedValues(cells(row), fileChanges.derived.size === 0 ? values : new Map([...values, ...fileChanges.derived]))
  )
  const judged = judge(core, tx, write, row, () => {
    const errors = [...fileChanges.errors, ...added.errors]
    if (write.fixed !== undefined) {
      for (const field of changedValues(cells(row), write.fixed).keys()) errors.push(readOnlyError(field.name))
    }
    if (errors.length > 0) return Result.fail(invalidRecord(errors))
    const fits = write.lenient === true ? checkValues(set) : fitting
    return Result.isFailure(fits) ? fits : checkPatch(access, row, values, set)
  }, bindings)
  const claim = claimUploads(core, tx, files.filter(({ field }) => set.has(field)))
  return { set, judged: claim === null ? judged : Effect.tap(judged, () => claim) }
}

/** The values of fields that the rules allow to be written to the stored record. */
const writableValues = (access: Access, stored: Row, values: FieldValues): FieldValues => {
  const names = [...values.keys()].map((field) => field.name)
  const refused = refusedFields(access, names, wireRecord(access.model, cells(stored)))
  return new Map([...values].filter(([field]) => !refused.includes(field.name)))
}

/**
 * Checks field rules that look at the record, for all fields of the body. When something changes, it also runs the validate rules on the
 * record as it would be.
 */
export const checkPatch = (
  access: Access,
  stored: Row,
  values: FieldValues,
  set: FieldValues
): Result.Result<void, Problem> => {
  const { model } = access
  if (access.fieldWritable.size > 0) {
    const names = [...values.keys()].map((field) => field.name)
    const allowed = checkFieldRules(access, names, wireRecord(model, cells(stored)))
    if (Result.isFailure(allowed)) return allowed
  }
  return set.size === 0 || model.validate.length === 0
    ? Result.succeed(undefined)
    : validateRecord(access, wireRecord(model, merged(cells(stored), set)))
}

const noFileChanges = compareFiles([], [])
const nothingAdded = addedValues(() => null, noAdditions)
const noValues: FieldValues = new Map()

const fitting: Result.Result<void, Problem> = Result.succeed(undefined)
const nothingToCheck = () => fitting
