/**
 * The write pipeline: one executor for single writes, batch operations and later the forms. What needs no stored record is decided before the
 * transaction (`prepare*`); `execute` locks, judges, writes and re-checks inside it. Nothing is answered before the commit.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access, Decision } from "../domain/access/access.ts"
import { refusedFields } from "../domain/access/resolve.ts"
import type { Operation } from "../domain/access/rules.ts"
import { evaluate } from "../domain/filter/evaluate.ts"
import type { FilterTree } from "../domain/filter/tree.ts"
import { allOf, always } from "../domain/filter/tree.ts"
import type { WriteHook } from "../domain/model/config.ts"
import { timestampFromMicros } from "../domain/model/instant.ts"
import type { Cell, Field, Json, Row, WireRecord } from "../domain/model/model.ts"
import { invalidParameter, notFound, problem } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import { etagOf, tagListed } from "../domain/read/etag.ts"
import { wireRecord } from "../domain/read/item.ts"
import { visibleRows } from "../domain/read/list.ts"
import type { Bindings } from "../domain/read/plan.ts"
import {
  changedValues,
  invalidRecord,
  merged,
  readCreate,
  readOnlyError,
  readPatch,
  validateRecord
} from "../domain/write/body.ts"
import type { Values } from "../domain/write/body.ts"
import { preconditionFailed, preconditionHolds, preconditionRequired } from "../domain/write/precondition.ts"
import type { Precondition } from "../domain/write/precondition.ts"
import { RecordsError } from "../ports/records.ts"
import type { RecordsTransaction } from "../ports/records.ts"
import { accessDenied } from "./core.ts"
import type { Core } from "./core.ts"
import { keepVersion } from "./history.ts"
import { checkLinks } from "./links.ts"

/** One write that passed everything that can be decided without the stored record. */
export type Write =
  | { readonly op: "create"; readonly access: Access; readonly values: Values }
  | {
    readonly op: "update"
    readonly access: Access
    readonly key: readonly string[]
    readonly values: Values
    readonly precondition: Precondition
    /** Values of an older version: those that the caller may not write to this record are left as they are. */
    readonly lenient?: boolean
  }
  | {
    readonly op: "delete" | "undelete"
    readonly access: Access
    readonly key: readonly string[]
    readonly precondition: Precondition
  }

export type CreateWrite = Write & { readonly op: "create" }
type UpdateWrite = Write & { readonly op: "update" }
type ExistingWrite = Exclude<Write, { op: "create" }>

/** What a write did. `row` has the cells of all columns of the model, as written (of the removed row: as it was). */
export interface Written {
  readonly op: Write["op"]
  readonly access: Access
  readonly row: Row
  readonly before: Row | null
  readonly key: readonly string[]
  /** False when the values equalled the stored ones: nothing was written, no hook ran. */
  readonly changed: boolean
  /** Whether the caller can see the row as written. */
  readonly visible: boolean
}

export const cells = (row: Row) => (field: Field): Cell => row[field.index] ?? null

/** The operation whose rule decides a write. */
export const ruleOf = (op: Write["op"]): Operation => op === "undelete" ? "update" : op

/** Fields that a record-level rule keeps from being written to this record are read-only for it. */
const checkFieldRules = (access: Access, names: Iterable<string>, record: WireRecord): Result.Result<void, Problem> => {
  const refused = refusedFields(access, names, record)
  return refused.length > 0 ? Result.fail(invalidRecord(refused.map(readOnlyError))) : Result.succeed(undefined)
}

export const prepareCreate = (access: Access, body: Json): Result.Result<CreateWrite, Problem> =>
  Result.flatMap(readCreate(access, body), (values) => {
    const record = wireRecord(access.model, (field) => values.get(field) ?? null)
    const allowed = checkFieldRules(access, Object.keys(body as object), record)
    if (Result.isFailure(allowed)) return Result.fail(allowed.failure)
    return Result.map(validateRecord(access, record), (): CreateWrite => ({ op: "create", access, values }))
  })

export const prepareUpdate = (
  access: Access,
  key: readonly string[],
  body: Json,
  precondition: Precondition
): Result.Result<Write, Problem> =>
  Result.map(readPatch(access, body), (values): Write => ({ op: "update", access, key, values, precondition }))

/** `:undelete` of a resource without soft delete is a 400. */
export const prepareUndelete = (
  access: Access,
  key: readonly string[],
  precondition: Precondition
): Result.Result<Write, Problem> =>
  access.model.softDelete === null
    ? Result.fail(invalidParameter("undelete", "This resource has no soft delete: its records cannot be undeleted."))
    : Result.succeed({ op: "undelete", access, key, precondition })

/** A decision once the record has been asked. */
export type Settled = Exclude<Decision, { of: "record" }>

/** The tree that a decision asks the database to judge; other decisions ask nothing. */
const decisionTree = (decision: Decision): FilterTree => decision.of === "filter" ? decision.tree : always

/** Settles a decision against a record; a record-level rule that throws was turned into a denial by the resolver. */
const settle = (decision: Decision, record: () => WireRecord): Settled =>
  decision.of === "record" ? decision.decide(record()) : decision

export type Step<A> = Effect.Effect<A, Problem | RecordsError>
/** What the body of a generator function returns that is a `Step`. */
export type Steps<A> = Effect.fn.Return<A, Problem | RecordsError>

/**
 * Whether the row as it stands passes a settled decision. `checked` is what the database said about the decision's own filter when it gave the
 * row; a filter that a record-level rule answered is asked now.
 */
const rowPasses = (
  tx: RecordsTransaction,
  access: Access,
  key: readonly string[],
  settled: Settled,
  checked: Cell | undefined,
  bindings: Bindings
): Step<boolean> => {
  if (settled.of !== "filter") return Effect.succeed(settled.of === "allow")
  return checked === undefined
    ? tx.passes({ model: access.model, key, tree: settled.tree, bindings })
    : Effect.succeed(checked === "true")
}

/** What a database says against values of the caller. */
const refusedValues: ReadonlySet<string> = new Set(["Unique", "ForeignKey", "NotNull", "Check", "BadValue"])

export const isRefusedValue = (error: unknown): boolean =>
  error instanceof RecordsError && refusedValues.has(error.reason._tag)

/**
 * A row that the caller may not write is a 403, whatever the database has against its values: "taken" would tell of rows that the caller cannot
 * see. `cellOf` gives undefined for what only the database knows; then its refusal stands.
 */
const deniedFirst =
  (tree: FilterTree, cellOf: (field: Field) => Cell | undefined, bindings: Bindings) =>
  (error: RecordsError): Step<never> => {
    if (!isRefusedValue(error)) return Effect.fail(error)
    let known = true
    const passes = evaluate(tree, (field) => {
      const cell = cellOf(field)
      known &&= cell !== undefined
      return cell ?? null
    }, bindings)
    return Effect.fail(known && !passes ? accessDenied() : error)
  }

/** Which readable fields differ between the current row and the version whose tag the client sent; null when that is not known. */
const changedSince = (
  core: Core,
  access: Access,
  key: readonly string[],
  precondition: string,
  row: Row
): readonly string[] | null => {
  const held = core.versions.recent(access.model.name, key)
    .find((old) => tagListed(precondition, etagOf(access.restricted, cells(old), core.seal.digest), false))
  if (held === undefined) return null
  return access.restricted.fields.filter((field) => held[field.index] !== row[field.index]).map((field) => field.name)
}

/**
 * Creates with the same access and the same fields given go to the database as one statement. Rules are judged on the rows as written, as
 * for a single create.
 */
export const createMany = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  writes: readonly CreateWrite[],
  bindings: Bindings
): Steps<readonly Written[]> {
  const { access, values } = writes[0]!
  const { model } = access
  const decision = access.decisions.create
  const fields = [...values.keys()]
  const insert = tx.insert({
    model,
    fields,
    rows: writes.map((write) => fields.map((field) => write.values.get(field) ?? null)),
    columns: model.columns,
    checks: [access.rows, decisionTree(decision)],
    must: decisionTree(decision),
    bindings
  })
  // The row of a single create; a group that fails is run again one by one.
  const rows = yield* Effect.catch(
    Effect.andThen(checkLinks(core, tx, access, writes.map((write) => write.values), bindings), insert),
    deniedFirst(decisionTree(decision), (field) => values.get(field), bindings)
  )
  if (rows.length !== writes.length) {
    return yield* Effect.die(new Error(`${writes.length} rows were inserted, ${rows.length} came back`))
  }
  const results: Written[] = []
  for (const row of rows) {
    const key = model.key.map((field) => row[field.index]!)
    const settled = settle(decision, () => wireRecord(model, cells(row)))
    const checked = decision.of === "record" ? undefined : row[model.columns.length + 1]
    if (!(yield* rowPasses(tx, access, key, settled, checked, bindings))) return yield* Effect.fail(accessDenied())
    const visible = access.decisions.read.of !== "deny" && row[model.columns.length] === "true"
    yield* runHooks(core, tx, access, "create", null, row)
    results.push({ op: "create", access, row, before: null, key, changed: true, visible })
  }
  return results
})

/**
 * Locks the row of a write (one that stands alone only reads it, and fails when it writes to a row that has changed since); 404 when there is none that the caller can see. Behind its columns stands what the database says about the filter
 * of the operation's rule.
 */
export const lockRow = (tx: RecordsTransaction, { access, key, op }: ExistingWrite, bindings: Bindings): Step<Row> =>
  Effect.flatMap(
    tx.lock({
      model: access.model,
      key,
      where: op === "undelete" ? access.rows : visibleRows(access, always, false),
      columns: access.model.columns,
      checks: [decisionTree(access.decisions[ruleOf(op)])],
      bindings
    }),
    (row) => row === null ? Effect.fail(notFound()) : Effect.succeed(row)
  )

/**
 * Judges a write by its locked row (decisions: order of checks): the rule (403), what the body says about this record (400, `check`), then the
 * precondition (428, 412). The rule goes before `check`, whose answer may depend on fields that the caller cannot read.
 */
export const judge = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  write: ExistingWrite,
  row: Row,
  check: () => Result.Result<void, Problem>,
  bindings: Bindings
): Steps<Settled> {
  const { access, key, precondition } = write
  const { model } = access
  const decision = access.decisions[ruleOf(write.op)]
  const settled = settle(decision, () => wireRecord(model, cells(row)))
  const checked = decision.of === "record" ? undefined : row[model.columns.length]
  if (!(yield* rowPasses(tx, access, key, settled, checked, bindings))) return yield* Effect.fail(accessDenied())
  yield* Effect.fromResult(check())
  if (write.op === "update" && precondition === null) return yield* Effect.fail(preconditionRequired())
  const etag = etagOf(access.restricted, cells(row), core.seal.digest)
  if (!preconditionHolds(precondition, etag)) {
    return yield* Effect.fail(preconditionFailed(etag, changedSince(core, access, key, precondition ?? "", row)))
  }
  return settled
})

/** Writes values to a locked row. Leaving the own row filter or the rule's filter by that is a 403. */
export const apply = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  { access, key }: ExistingWrite,
  stored: Row,
  set: Values,
  settled: Settled,
  bindings: Bindings
): Steps<Row> {
  const { columns } = access.model
  const checks = [access.rows, decisionTree(settled)]
  const must = allOf(checks)
  const updated = tx.update({ model: access.model, key, set: [...set], touch: true, columns, checks, must, bindings })
  const linked = Effect.andThen(checkLinks(core, tx, access, [set], bindings), updated)
  const row = yield* Effect.catch(linked, deniedFirst(must, merged(cells(stored), set), bindings))
  if (row[columns.length] !== "true" || row[columns.length + 1] !== "true") return yield* Effect.fail(accessDenied())
  return row
})

const update = Effect.fnUntraced(
  function*(core: Core, tx: RecordsTransaction, write: UpdateWrite, bindings: Bindings): Steps<Written> {
    const { access, key } = write
    const row = yield* lockRow(tx, write, bindings)
    const values = write.lenient === true ? writableValues(access, row, write.values) : write.values
    const set = changedValues(cells(row), values)
    const settled = yield* judge(core, tx, write, row, () => checkPatch(access, row, values, set), bindings)
    if (set.size === 0) return { op: "update", access, row, before: row, key, changed: false, visible: true }
    const after = yield* apply(core, tx, write, row, set, settled, bindings)
    yield* runHooks(core, tx, access, "update", row, after)
    return { op: "update", access, row: after, before: row, key, changed: true, visible: true }
  }
)

/** The values of those fields that no rule keeps from being written to the stored record. */
const writableValues = (access: Access, stored: Row, values: Values): Values => {
  const names = [...values.keys()].map((field) => field.name)
  const refused = refusedFields(access, names, wireRecord(access.model, cells(stored)))
  return new Map([...values].filter(([field]) => !refused.includes(field.name)))
}

/**
 * Field rules that look at the record, for all fields that the body names, and, when something changes, the validate rules on the record as it
 * would be.
 */
export const checkPatch = (access: Access, stored: Row, values: Values, set: Values): Result.Result<void, Problem> => {
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

const nothingToCheck = () => Result.succeed(undefined)

const undelete = Effect.fnUntraced(
  function*(core: Core, tx: RecordsTransaction, write: ExistingWrite, bindings: Bindings): Steps<Written> {
    const { access, key } = write
    const softDelete = access.model.softDelete!
    const row = yield* lockRow(tx, write, bindings)
    const settled = yield* judge(core, tx, write, row, nothingToCheck, bindings)
    if (row[softDelete.index] === null) return yield* Effect.fail(problem("conflict", "The record is not deleted."))
    const after = yield* apply(core, tx, write, row, new Map([[softDelete, null]]), settled, bindings)
    yield* runHooks(core, tx, access, "undelete", row, after)
    return { op: "undelete", access, row: after, before: row, key, changed: true, visible: true }
  }
)

const remove = Effect.fnUntraced(
  function*(core: Core, tx: RecordsTransaction, write: ExistingWrite, bindings: Bindings): Steps<Written> {
    const { access, key } = write
    const { model } = access
    const row = yield* lockRow(tx, write, bindings)
    yield* judge(core, tx, write, row, nothingToCheck, bindings)
    let after: Row | null = null
    if (model.softDelete === null) yield* tx.remove({ model, key })
    else {
      // No filter is asked about the row as written: one that wants live rows would forbid every delete.
      const set = [[model.softDelete, timestampFromMicros(bindings.now)]] as const
      after = yield* tx.update({ model, key, set, touch: true, columns: model.columns, checks: [], bindings })
    }
    yield* runHooks(core, tx, access, "delete", row, after)
    return { op: "delete", access, row: after ?? row, before: row, key, changed: true, visible: true }
  }
)

/** Runs one write inside a transaction. */
export const execute = (core: Core, tx: RecordsTransaction, write: Write, bindings: Bindings): Step<Written> => {
  switch (write.op) {
    case "create":
      return Effect.map(createMany(core, tx, [write], bindings), (written) => written[0]!)
    case "update":
      return update(core, tx, write, bindings)
    case "delete":
      return remove(core, tx, write, bindings)
    case "undelete":
      return undelete(core, tx, write, bindings)
  }
}

/** Keeps the version that a write made, then runs the hooks, one by one; a throw is a defect that rolls the transaction back. */
export const runHooks = (
  core: Core,
  tx: RecordsTransaction,
  access: Access,
  operation: Write["op"],
  before: Row | null,
  after: Row | null
): Effect.Effect<void, RecordsError> => {
  const { caller, model } = access
  const kept = model.history === null ? Effect.void : keepVersion(core, tx, access, operation, (after ?? before)!)
  if (core.options.writeHooks.length === 0) return kept
  const record = (row: Row | null) => row === null ? null : wireRecord(model, cells(row))
  const change = {
    operation,
    resource: model.name,
    before: record(before),
    after: record(after),
    caller,
    transaction: tx.handle
  } as Parameters<WriteHook>[0]
  return Effect.andThen(
    kept,
    Effect.forEach(core.options.writeHooks, (hook) => Effect.promise(async () => hook(change)), { discard: true })
  )
}
