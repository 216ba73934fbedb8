/**
 * The write pipeline: one executor for single writes, batch operations and later the forms. What needs no stored record is decided before the
 * transaction (`prepare*`); `execute` locks, judges, writes and re-checks inside it. Nothing is answered before the commit.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access, Decision } from "../domain/access/access.ts"
import { refusedFields } from "../domain/access/resolve.ts"
import type { Operation } from "../domain/access/rules.ts"
import type { FilterTree } from "../domain/filter/tree.ts"
import { always } from "../domain/filter/tree.ts"
import type { WriteHook } from "../domain/model/config.ts"
import type { Cell, Field, Json, Row, WireRecord } from "../domain/model/model.ts"
import { notFound, problem } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import { etagOf, tagListed } from "../domain/read/etag.ts"
import { itemWriter, layoutOf, wireRecord } from "../domain/read/item.ts"
import type { ItemWriter } from "../domain/read/item.ts"
import { visibleRows } from "../domain/read/list.ts"
import type { Bindings } from "../domain/read/plan.ts"
import { changedValues, invalidRecord, merged, readCreate, readOnlyError, readPatch, validateRecord } from "../domain/write/body.ts"
import type { Values } from "../domain/write/body.ts"
import { preconditionFailed, preconditionHolds, preconditionRequired } from "../domain/write/precondition.ts"
import type { Precondition } from "../domain/write/precondition.ts"
import type { RecordsError, RecordsTransaction } from "../ports/records.ts"
import { accessDenied } from "./core.ts"
import type { Core } from "./core.ts"

/** One write that passed everything that can be decided without the stored record. */
export type Write =
  | { readonly op: "create"; readonly access: Access; readonly values: Values }
  | {
    readonly op: "update"
    readonly access: Access
    readonly key: readonly string[]
    readonly values: Values
    readonly precondition: Precondition
  }
  | {
    readonly op: "delete" | "undelete"
    readonly access: Access
    readonly key: readonly string[]
    readonly precondition: Precondition
  }

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

export const prepareCreate = (access: Access, body: Json): Result.Result<Write, Problem> =>
  Result.flatMap(readCreate(access, body), (values) => {
    const record = wireRecord(access.model, (field) => values.get(field) ?? null)
    const allowed = checkFieldRules(access, Object.keys(body as object), record)
    if (Result.isFailure(allowed)) return Result.fail(allowed.failure)
    return Result.map(validateRecord(access, record), (): Write => ({ op: "create", access, values }))
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
    ? Result.fail(problem("invalid-parameter", "This resource has no soft delete: its records cannot be undeleted.", {
      errors: [{ parameter: "", message: "This resource has no soft delete." }]
    }))
    : Result.succeed({ op: "undelete", access, key, precondition })

/** The tree that a decision asks the database to judge; other decisions ask nothing. */
const decisionTree = (decision: Decision): FilterTree => decision.of === "filter" ? decision.tree : always

/** The conditions a row must meet as written: the caller's own row filter and the rule's filter. */
const writtenChecks = (access: Access, decision: Decision): readonly FilterTree[] => [access.rows, decisionTree(decision)]

/** Settles a decision against a record; a record-level rule that throws was turned into a denial by the resolver. */
const settle = (decision: Decision, record: () => WireRecord): Exclude<Decision, { of: "record" }> =>
  decision.of === "record" ? decision.decide(record()) : decision

export type Step<A> = Effect.Effect<A, Problem | RecordsError>

/** A filter that a record-level rule answered holds for the stored row, too. */
const storedPasses = (
  tx: RecordsTransaction,
  access: Access,
  key: readonly string[],
  bindings: Bindings,
  original: Decision,
  settled: Exclude<Decision, { of: "record" }>,
  checked: boolean
): Step<boolean> => {
  if (settled.of === "deny") return Effect.succeed(false)
  if (settled.of === "allow") return Effect.succeed(true)
  return original.of === "record"
    ? tx.passes({ model: access.model, key, tree: settled.tree, bindings })
    : Effect.succeed(checked)
}

/** Which readable fields differ between the current row and the version whose tag the client sent; null when that is not known. */
const changedSince = (core: Core, access: Access, key: readonly string[], precondition: string, row: Row): readonly string[] | null => {
  const held = core.versions.recent(access.model.name, key)
    .find((old) => tagListed(precondition, etagOf(access.restricted, cells(old), core.seal.digest), false))
  if (held === undefined) return null
  return access.restricted.fields.filter((field) => held[field.index] !== row[field.index]).map((field) => field.name)
}

const create = (core: Core, tx: RecordsTransaction, write: Write & { op: "create" }, bindings: Bindings): Step<Written> =>
  Effect.map(createMany(core, tx, [write], bindings), (written) => written[0]!)

/**
 * Creates with the same access and the same fields given go to the database as one statement. Rules are judged on the rows as written, as
 * for a single create.
 */
export const createMany = (
  core: Core,
  tx: RecordsTransaction,
  writes: ReadonlyArray<Write & { op: "create" }>,
  bindings: Bindings
): Effect.Effect<readonly Written[], Problem | RecordsError> =>
  Effect.gen(function*() {
    const { access, values } = writes[0]!
    const { model } = access
    const decision = access.decisions.create
    const fields = [...values.keys()]
    const rows = yield* tx.insert({
      model,
      fields,
      rows: writes.map((write) => fields.map((field) => write.values.get(field) ?? null)),
      columns: model.columns,
      checks: writtenChecks(access, decision),
      bindings
    })
    const results: Written[] = []
    for (const row of rows) {
      const key = model.key.map((field) => row[field.index]!)
      const settled = settle(decision, () => wireRecord(model, cells(row)))
      const allowed = yield* storedPasses(tx, access, key, bindings, decision, settled, row[model.columns.length + 1] === "true")
      if (!allowed) return yield* Effect.fail(accessDenied())
      const visible = access.decisions.read.of !== "deny" && row[model.columns.length] === "true"
      yield* runHooks(core, tx, access, "create", null, row)
      results.push({ op: "create", access, row, before: null, key, changed: true, visible })
    }
    return results
  })

/** The locked row of a write, judged: 404, 403, then 428 and 412 (decisions: order of checks). */
export const locked = (
  core: Core,
  tx: RecordsTransaction,
  write: Exclude<Write, { op: "create" }>,
  bindings: Bindings,
  check: (row: Row) => Effect.Effect<void, Problem>
): Step<{ readonly row: Row; readonly settled: Exclude<Decision, { of: "record" }> }> =>
  Effect.gen(function*() {
    const { access, key } = write
    const { model } = access
    const decision = access.decisions[ruleOf(write.op)]
    const row = yield* tx.lock({
      model,
      key,
      where: write.op === "undelete" ? access.rows : visibleRows(access, always, false),
      columns: model.columns,
      checks: [decisionTree(decision)],
      bindings
    })
    if (row === null) return yield* Effect.fail(notFound())
    yield* check(row)
    const settled = settle(decision, () => wireRecord(model, cells(row)))
    const allowed = yield* storedPasses(tx, access, key, bindings, decision, settled, row[model.columns.length] === "true")
    if (!allowed) return yield* Effect.fail(accessDenied())
    if (write.op === "update" && write.precondition === null) return yield* Effect.fail(preconditionRequired())
    const etag = etagOf(access.restricted, cells(row), core.seal.digest)
    if (!preconditionHolds(write.precondition, etag)) {
      return yield* Effect.fail(preconditionFailed(etag, changedSince(core, access, key, write.precondition ?? "", row)))
    }
    return { row, settled }
  })

/** Writes values to a locked row and checks the row as written: leaving the own row filter or the rule's filter is a 403. */
export const apply = (
  tx: RecordsTransaction,
  write: Exclude<Write, { op: "create" }>,
  set: Values,
  settled: Exclude<Decision, { of: "record" }>,
  bindings: Bindings
): Step<Row> =>
  Effect.gen(function*() {
    const { access, key } = write
    const columns = access.model.columns
    const row = yield* tx.update({
      model: access.model,
      key,
      set: [...set],
      touch: true,
      columns,
      checks: [access.rows, decisionTree(settled)],
      bindings
    })
    if (row[columns.length] !== "true" || row[columns.length + 1] !== "true") return yield* Effect.fail(accessDenied())
    return row
  })

const update = (core: Core, tx: RecordsTransaction, write: Write & { op: "update" }, bindings: Bindings): Step<Written> =>
  Effect.gen(function*() {
    const { access, key, values } = write
    const { row, settled } = yield* locked(core, tx, write, bindings, (stored) => checkPatch(access, stored, values))
    const set = changedValues(cells(row), values)
    if (set.size === 0) return { op: "update", access, row, before: row, key, changed: false, visible: true }
    const after = yield* apply(tx, write, set, settled, bindings)
    yield* runHooks(core, tx, access, "update", row, after)
    return { op: "update", access, row: after, before: row, key, changed: true, visible: true }
  })

/** Field rules that look at the record, and the validate rules on the record as it would be. */
export const checkPatch = (access: Access, stored: Row, values: Values): Effect.Effect<void, Problem> =>
  Effect.suspend(() => {
    const { model } = access
    if (access.fieldWritable.size > 0) {
      const names = [...values.keys()].map((field) => field.name)
      const allowed = checkFieldRules(access, names, wireRecord(model, cells(stored)))
      if (Result.isFailure(allowed)) return Effect.fail(allowed.failure)
    }
    if (model.validate.length === 0) return Effect.void
    return Effect.fromResult(validateRecord(access, wireRecord(model, merged(cells(stored), values))))
  })

const remove = (core: Core, tx: RecordsTransaction, write: Write & { op: "delete" | "undelete" }, bindings: Bindings): Step<Written> =>
  Effect.gen(function*() {
    const { access, key } = write
    const { model } = access
    const { softDelete } = model
    const { row, settled } = yield* locked(core, tx, write, bindings, () => Effect.void)
    let after: Row | null = null
    if (write.op === "undelete") {
      if (softDelete !== null && row[softDelete.index] === null) {
        return yield* Effect.fail(problem("conflict", "The record is not deleted."))
      }
      after = yield* apply(tx, write, new Map([[softDelete!, null]]), settled, bindings)
    } else if (softDelete !== null) {
      // A rule on the row as written cannot ask for a live row: the stored row was judged, and the row filter still is.
      after = yield* apply(tx, write, new Map([[softDelete, instantCell(bindings.now)]]), { of: "allow" }, bindings)
    } else yield* tx.remove({ model, key })
    yield* runHooks(core, tx, access, write.op, row, after)
    return { op: write.op, access, row: after ?? row, before: row, key, changed: true, visible: true }
  })

/** Microseconds since the epoch as a timestamp cell. */
const instantCell = (micros: bigint): string => {
  const fraction = String(micros % 1_000_000n).padStart(6, "0").replace(/0+$/, "")
  const seconds = new Date(Number(micros / 1000n)).toISOString().slice(0, 19)
  return `${seconds}${fraction === "" ? "" : `.${fraction}`}Z`
}

/** Runs one write inside a transaction. */
export const execute = (core: Core, tx: RecordsTransaction, write: Write, bindings: Bindings): Step<Written> => {
  switch (write.op) {
    case "create":
      return create(core, tx, write, bindings)
    case "update":
      return update(core, tx, write, bindings)
    case "delete":
    case "undelete":
      return remove(core, tx, { ...write, op: write.op }, bindings)
  }
}

/** Hooks run after the write, one by one; a throw is a defect that rolls the transaction back. */
export const runHooks = (
  core: Core,
  tx: RecordsTransaction,
  access: Access,
  operation: Write["op"],
  before: Row | null,
  after: Row | null
): Effect.Effect<void> => {
  if (core.options.writeHooks.length === 0) return Effect.void
  const { caller, model } = access
  const record = (row: Row | null) => row === null ? null : wireRecord(model, cells(row))
  const change = {
    operation,
    resource: model.name,
    before: record(before),
    after: record(after),
    caller,
    transaction: tx.handle
  } as Parameters<WriteHook>[0]
  return Effect.forEach(
    core.options.writeHooks,
    (hook) => Effect.promise(async () => hook(change)),
    { discard: true }
  )
}

/** To be called once the transaction has committed. */
export const committed = (core: Core, written: Written): void => {
  if (!written.changed) return
  core.estimates.touch(written.access.model.name)
  if (written.before !== null) core.versions.remember(written.access.model.name, written.key, written.before)
}

const writers = new WeakMap<Access["restricted"], ItemWriter>()

/** The record of a write as the answer shows it: readable fields and ETag. */
export const writtenRecord = (core: Core, written: Written, bindings: Bindings): { readonly json: string; readonly etag: string } => {
  const { access } = written
  let write = writers.get(access.restricted)
  if (write === undefined) {
    const shown = { fields: access.restricted.fields, permissions: "none" } as const
    const all = new Map(access.model.columns.map((field) => [field, field.index]))
    write = itemWriter(access, shown, { ...layoutOf(access, shown, []), columns: access.model.columns, position: all }, core.seal.digest)
    writers.set(access.restricted, write)
  }
  const item = write(written.row, bindings)
  return { json: `${item.open}}`, etag: item.etag }
}

const maxTries = 4

/**
 * Runs a body in a transaction; serialization failures and deadlocks run it again, up to three times (decisions: Writes). What the body remembers
 * outside the transaction must be reset by itself.
 */
export const inTransaction = <A, E>(
  core: Core,
  body: (tx: RecordsTransaction) => Effect.Effect<A, E | RecordsError>
): Effect.Effect<A, E | RecordsError> => {
  const attempt = (left: number): Effect.Effect<A, E | RecordsError> =>
    Effect.catch(core.records.transaction(body), (error) =>
      left > 1 && isConflict(error) ? attempt(left - 1) : Effect.fail(error))
  return attempt(maxTries)
}

const isConflict = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "RecordsError" &&
  "reason" in error && (error as RecordsError).reason._tag === "Conflict"

