/**
 * The write pipeline, the same for single writes and batch operations. What needs no stored record is decided before the transaction
 * (`prepare*`). `execute` locks, judges, writes and re-checks inside it. Nothing is answered before the commit.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access, Decision } from "../domain/access/access.ts"
import { refusedFields } from "../domain/access/resolve.ts"
import type { Operation } from "../domain/access/rules.ts"
import type { WriteHook } from "../domain/declare/config.ts"
import { evaluate, evaluateKnown } from "../domain/filter/evaluate.ts"
import type { Bindings, FilterTree } from "../domain/filter/tree.ts"
import { always, both } from "../domain/filter/tree.ts"
import type { Field, Model, WireRecord } from "../domain/model/model.ts"
import { accessDenied, invalidParameter, notFound, Problem, problem } from "../domain/problem.ts"
import { etagOf, tagListed } from "../domain/read/etag.ts"
import { keyCondition } from "../domain/read/key.ts"
import { visibleRows } from "../domain/read/list.ts"
import { wireRecord, wireValue } from "../domain/read/record.ts"
import { timestampFromMicros } from "../domain/value/instant.ts"
import type { Cell, Json, Row } from "../domain/value/kind.ts"
import {
  changedValues,
  checkValues,
  invalidRecord,
  merged,
  readCreate,
  readOnlyError,
  readPatch,
  validateRecord
} from "../domain/write/body.ts"
import type { Values } from "../domain/write/body.ts"
import { settleFiles } from "../domain/write/file.ts"
import type { FileValueGiven, Tickets } from "../domain/write/file.ts"
import { preconditionFailed, preconditionHolds, preconditionRequired } from "../domain/write/precondition.ts"
import type { Precondition } from "../domain/write/precondition.ts"
import { RecordsError } from "../ports/records.ts"
import type { ChangeNote, RecordsTransaction } from "../ports/records.ts"
import type { Core } from "./core.ts"
import { claimUploads } from "./file.ts"
import { keepVersion } from "./history.ts"
import { checkLinks } from "./links.ts"

type GivenFiles = readonly FileValueGiven[]

/** One write that passed everything that can be decided without the stored record. */
export type Write =
  | { readonly op: "create"; readonly access: Access; readonly values: Values; readonly files: GivenFiles }
  | {
    readonly op: "update"
    readonly access: Access
    readonly key: readonly string[]
    readonly values: Values
    /** What the body says of files. */
    readonly files: GivenFiles
    readonly precondition: Precondition
    /**
     * The values come from an older version. Those that the caller may not write to this record are left as they are. Those that would
     * change it are checked by their fields as they are today.
     */
    readonly lenient?: boolean
    /** The transaction wrote others before it, so what it sees is not what everybody sees. */
    readonly midway?: boolean
  }
  | {
    readonly op: "delete" | "undelete"
    readonly access: Access
    readonly key: readonly string[]
    readonly precondition: Precondition
    readonly midway?: boolean
  }

export type CreateWrite = Write & { readonly op: "create" }
export type UpdateWrite = Write & { readonly op: "update" }
export type ExistingWrite = Exclude<Write, { op: "create" }>

/** What a write did. `row` has the cells of all columns of the model as written; for a removal, as they were. */
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

/** The key as the record has it. A request may spell it in another way that the database treats as equal. */
export const ownKey = ({ key }: Model, row: Row): readonly string[] => key.map((field) => row[field.index]!)

/** The operation whose rule decides a write. */
export const ruleOf = (op: Write["op"]): Operation => op === "undelete" ? "update" : op

/** For this record, fields that a record-level rule protects are read-only. */
const checkFieldRules = (access: Access, names: Iterable<string>, record: WireRecord): Result.Result<void, Problem> => {
  const refused = refusedFields(access, names, record)
  return refused.length > 0 ? Result.fail(invalidRecord(refused.map(readOnlyError))) : Result.succeed(undefined)
}

export const prepareCreate = (
  access: Access,
  body: Json,
  tickets: Tickets | null = null
): Result.Result<CreateWrite, Problem> =>
  Result.flatMap(readCreate(access, body, tickets), ({ files, values }) => {
    if (access.fieldWritable.size > 0 || access.model.validate.length > 0) {
      const record = wireRecord(access.model, (field) => values.get(field) ?? null)
      const allowed = Result.flatMap(
        checkFieldRules(access, Object.keys(body as object), record),
        () => validateRecord(access, record)
      )
      if (Result.isFailure(allowed)) return Result.fail(allowed.failure)
    }
    return Result.succeed({ op: "create", access, values, files })
  })

export const prepareUpdate = (
  access: Access,
  key: readonly string[],
  body: Json,
  precondition: Precondition,
  tickets: Tickets | null = null
): Result.Result<UpdateWrite, Problem> =>
  Result.map(
    readPatch(access, body, tickets),
    ({ files, values }): UpdateWrite => ({ op: "update", access, key, values, files, precondition })
  )

/** `:undelete` of a resource without soft delete is a 400. */
export const prepareUndelete = (
  access: Access,
  key: readonly string[],
  precondition: Precondition
): Result.Result<Write, Problem> =>
  access.model.softDelete === null
    ? Result.fail(invalidParameter("undelete", "This resource has no soft delete: its records cannot be undeleted."))
    : Result.succeed({ op: "undelete", access, key, precondition })

/** A decision after the record was judged. */
export type Settled = Exclude<Decision, { of: "record" }>

/** The tree that a decision asks the database to judge; other decisions ask nothing. */
export const decisionTree = (decision: Decision): FilterTree => decision.of === "filter" ? decision.tree : always

/** Settles a decision for a record. The resolver has turned a rule that throws into a denial. */
const settle = (decision: Decision, record: () => WireRecord): Settled =>
  decision.of === "record" ? decision.decide(record()) : decision

export type Step<A> = Effect.Effect<A, Problem | RecordsError>
/** What the body of a generator function returns that is a `Step`. */
export type Steps<A> = Effect.fn.Return<A, Problem | RecordsError>

/**
 * Whether the row as it stands passes a settled decision. `checked` is the database's answer for the decision's own filter, given with the
 * row. A filter that a record-level rule answered is asked now.
 */
const rowPasses = (
  tx: RecordsTransaction,
  access: Access,
  key: readonly string[],
  settled: Settled,
  checked: Cell | undefined,
  bindings: Bindings
): boolean | Step<boolean> =>
  settled.of !== "filter"
    ? settled.of === "allow"
    : checked !== undefined
    ? checked === "true"
    : tx.passes({ model: access.model, key, tree: settled.tree, bindings })

/** Continues with a value that may be known already. A write has few questions, and most need no waiting. */
const then = <A, B>(known: A | Step<A>, next: (value: A) => Step<B>): Step<B> =>
  Effect.isEffect(known) ? Effect.flatMap(known as Step<A>, next) : next(known)

/** Reasons for which a database refuses values of the caller. */
const refusedValues: ReadonlySet<string> = new Set(["Unique", "ForeignKey", "NotNull", "Check", "BadValue"])

export const isRefusedValue = (error: unknown): boolean =>
  error instanceof RecordsError && refusedValues.has(error.reason._tag)

/**
 * A row that the caller may not write is a 403, whatever the database says against its values: "taken" would tell of rows that the caller
 * cannot see. `cellOf` gives undefined for what only the database knows. Where the answer depends on such a cell, the database's refusal
 * stands.
 */
const deniedFirst =
  (tree: FilterTree, cellOf: (field: Field) => Cell | undefined, bindings: Bindings) =>
  (error: RecordsError): Step<never> => {
    const denied = isRefusedValue(error) && evaluateKnown(tree, cellOf, bindings) === false
    return Effect.fail(denied ? accessDenied() : error)
  }

/**
 * The answer to a create whose values the database refuses. A rule over the record is asked first, as far as the record is known without
 * the database.
 */
const refusedCreate = (access: Access, values: Values, error: RecordsError, bindings: Bindings): Step<never> => {
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
  const settled = settle(access.decisions.create, () => record)
  if (!known) return Effect.fail(error)
  return settled.of === "deny"
    ? Effect.fail(accessDenied())
    : deniedFirst(decisionTree(settled), cellOf, bindings)(error)
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
    tagListed(precondition, etagOf(access.restricted, old, core.seal), false) &&
    evaluate(access.rows, cells(old), bindings)
  )
  if (held === undefined) return null
  return access.restricted.fields.filter((field) => held[field.index] !== row[field.index]).map((field) => field.name)
}

/**
 * Creates with the same access and the same fields go to the database as one statement. Rules are judged on the rows as written, as for a
 * single create.
 */
export const createMany = (
  core: Core,
  tx: RecordsTransaction,
  writes: readonly CreateWrite[],
  bindings: Bindings
): Step<readonly Written[]> => {
  const { access, values } = writes[0]!
  const { model } = access
  const must = decisionTree(access.decisions.create)
  const fields = [...values.keys()]
  const insert = tx.insert({
    model,
    fields,
    rows: writes.map((write) => fields.map((field) => write.values.get(field) ?? null)),
    columns: model.columns,
    checks: [access.rows, must],
    must,
    bindings
  })
  const links = before(
    claimUploads(core, tx, writes.flatMap((write) => write.files)),
    checkLinks(core, tx, access, writes.map((write) => write.values), bindings)
  )
  // The row of a single create; a group that fails is run again one by one.
  const inserted = Effect.catch(
    links === null ? insert : Effect.andThen(links, insert),
    (error) =>
      error instanceof RecordsError && isRefusedValue(error)
        ? refusedCreate(access, values, error, bindings)
        : Effect.fail(error)
  )
  return Effect.flatMap(inserted, (rows): Step<readonly Written[]> => {
    if (rows.length !== writes.length) {
      return Effect.die(new Error(`${writes.length} rows were inserted, ${rows.length} came back`))
    }
    return rows.length === 1
      ? Effect.mapEager(created(core, tx, access, rows[0]!, bindings), (written) => [written])
      : Effect.forEach(rows, (row) => created(core, tx, access, row, bindings))
  })
}

/** Two things to do before a write, each of which may be nothing. */
const before = <E>(
  first: Effect.Effect<void, E> | null,
  second: Effect.Effect<void, E> | null
): Effect.Effect<void, E> | null => first === null ? second : second === null ? first : Effect.andThen(first, second)

/** Judges a row that was created. */
const created = (core: Core, tx: RecordsTransaction, access: Access, row: Row, bindings: Bindings): Step<Written> => {
  const { decisions, model } = access
  const decision = decisions.create
  const key = ownKey(model, row)
  const settled = settle(decision, () => wireRecord(model, cells(row)))
  const checked = decision.of === "record" ? undefined : row[model.columns.length + 1]
  return then(rowPasses(tx, access, key, settled, checked, bindings), (passes) => {
    if (!passes) return Effect.fail(accessDenied())
    const visible = decisions.read.of !== "deny" && row[model.columns.length] === "true"
    return done(core, tx, { op: "create", access, row, before: null, key, changed: true, visible }, row)
  })
}

/**
 * Locks the row of a write. A write that stands alone only reads it, and fails when the row has changed before it is written. 404 when
 * there is no such row that the caller can see. After its columns comes the database's answer for the filter of the operation's rule.
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
): Step<Settled> => {
  const { access, key } = write
  const { model } = access
  const decision = access.decisions[ruleOf(write.op)]
  const settled = settle(decision, () => wireRecord(model, cells(row)))
  const checked = decision.of === "record" ? undefined : row[model.columns.length]
  return then(rowPasses(tx, access, key, settled, checked, bindings), (passes) => {
    if (!passes) return Effect.fail(accessDenied())
    const checkedBody = check()
    if (Result.isFailure(checkedBody)) return Effect.fail(checkedBody.failure)
    const refusal = preconditionRefusal(core, write, row, bindings)
    return refusal === null
      ? Effect.succeed(settled)
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
  const etag = etagOf(access.restricted, row, core.seal)
  return preconditionHolds(precondition, etag)
    ? null
    : preconditionFailed(precondition, etag, changedSince(core, access, precondition, row, bindings))
}

/**
 * A 412 among other writes names the committed record. The version inside the transaction disappears with the rollback, and another one,
 * perhaps of the same number, takes its place. When the client holds the committed version, or nothing is committed, only this transaction
 * has another version. Then none is named.
 */
const refusedMidway = (core: Core, write: ExistingWrite, bindings: Bindings): Step<never> => {
  const { access, key } = write
  const { model } = access
  const where = visibleRows(access, keyCondition(model), false)
  const shape = { model, columns: model.columns, where, order: [], limit: 1, checks: [] }
  return Effect.flatMap(core.records.page({ shape, bindings: { ...bindings, params: key } }), ([row]) => {
    const refusal = row === undefined ? null : preconditionRefusal(core, write, row, bindings)
    return Effect.fail(refusal ?? preconditionFailed(write.precondition ?? "", null, null))
  })
}

/** Writes values to a locked row. It is a 403 when the row would then no longer pass the row filter or the rule's filter. */
export const apply = (
  core: Core,
  tx: RecordsTransaction,
  { access, key }: ExistingWrite,
  stored: Row,
  set: Values,
  settled: Settled,
  bindings: Bindings,
  note?: ChangeNote
): Step<Row> => {
  const { columns } = access.model
  const checks = [access.rows, decisionTree(settled)] as const
  const must = both(...checks)
  const change = { model: access.model, key, set: [...set], touch: true, columns, checks, must, bindings }
  const updated = tx.update(note === undefined ? change : { ...change, note })
  const links = checkLinks(core, tx, access, [set], bindings)
  return Effect.flatMap(
    Effect.catch(
      links === null ? updated : Effect.andThen(links, updated),
      deniedFirst(must, merged(cells(stored), set), bindings)
    ),
    (row) =>
      row[columns.length] === "true" && row[columns.length + 1] === "true"
        ? Effect.succeed(row)
        : Effect.fail(accessDenied())
  )
}

/** What a write would do to its locked row: the values that would change, and whether it may. */
interface Planned {
  readonly set: Values
  readonly judged: Step<Settled>
}

const plan = (core: Core, tx: RecordsTransaction, write: ExistingWrite, row: Row, bindings: Bindings): Planned => {
  const { model } = write.access
  switch (write.op) {
    case "update":
      return planUpdate(core, tx, write, row, bindings)
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

const planUpdate = (core: Core, tx: RecordsTransaction, write: UpdateWrite, row: Row, bindings: Bindings): Planned => {
  const { access, files } = write
  const values = write.lenient === true ? writableValues(access, row, write.values) : write.values
  const settled = files.length === 0 ? nothingSettled : settleFiles(files, row)
  const set = changedValues(
    cells(row),
    settled.derived.size === 0 ? values : new Map([...values, ...settled.derived])
  )
  const judged = judge(core, tx, write, row, () => {
    if (settled.errors.length > 0) return Result.fail(invalidRecord(settled.errors))
    const fits = write.lenient === true ? checkValues(set) : fitting
    return Result.isFailure(fits) ? fits : checkPatch(access, row, values, set)
  }, bindings)
  const claim = claimUploads(core, tx, files.filter(({ field }) => set.has(field)))
  return { set, judged: claim === null ? judged : Effect.tap(judged, () => claim) }
}

/** Writes what was planned. Null: the row is gone. */
const put = (
  core: Core,
  tx: RecordsTransaction,
  write: ExistingWrite,
  row: Row,
  set: Values,
  settled: Settled,
  bindings: Bindings
): Step<Row | null> => {
  if (write.op !== "delete") return apply(core, tx, write, row, set, settled, bindings)
  const { model } = write.access
  const key = ownKey(model, row)
  // No filter is asked about the row as written, because a filter for live rows would forbid every delete.
  return set.size === 0
    ? Effect.as(tx.remove({ model, key, bindings }), null)
    : tx.update({ model, key, set: [...set], touch: true, columns: model.columns, checks: [], bindings })
}

const writtenOf = ({ access, op }: ExistingWrite, before: Row, row: Row, changed: boolean): Written => ({
  op,
  access,
  row,
  before,
  key: ownKey(access.model, before),
  changed,
  visible: true
})

/** Whether a write would change nothing. */
const isIdle = (write: ExistingWrite, set: Values): boolean => write.op === "update" && set.size === 0

const change = (core: Core, tx: RecordsTransaction, write: ExistingWrite, bindings: Bindings): Step<Written> =>
  Effect.flatMap(lockRow(tx, write, bindings), (row) => {
    const { judged, set } = plan(core, tx, write, row, bindings)
    return Effect.flatMap(judged, (settled): Step<Written> =>
      isIdle(write, set)
        ? Effect.succeed(writtenOf(write, row, row, false))
        : Effect.flatMap(
          put(core, tx, write, row, set, settled, bindings),
          (after) => done(core, tx, writtenOf(write, row, after ?? row, true), after)
        ))
  })

/** Writes of the same fields to several rows. */
interface Alike {
  readonly write: ExistingWrite
  readonly settled: Settled
  readonly rows: Row[]
  /** The values of each row. */
  readonly sets: Values[]
}

const isAlike = ({ sets, settled, write }: Alike, other: ExistingWrite, set: Values, itsSettled: Settled): boolean => {
  const first = sets[0]!
  if (write.op !== other.op || write.access !== other.access || first.size !== set.size) return false
  if (decisionTree(settled) !== decisionTree(itsSettled)) return false
  for (const field of first.keys()) if (!set.has(field)) return false
  return true
}

/** The same for rows that change alike: one statement for all. */
const putAll = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  { rows, sets, settled, write }: Alike,
  bindings: Bindings
): Steps<ReadonlyArray<Row | null>> {
  const { access, op } = write
  const { model } = access
  const { columns } = model
  const first = sets[0]!
  if (rows.length === 1) return [yield* put(core, tx, write, rows[0]!, first, settled, bindings)]
  const keys = rows.map((row) => ownKey(model, row))
  if (op === "delete" && first.size === 0) {
    yield* tx.removeAll({ model, keys, bindings })
    return rows.map(() => null)
  }
  const checks = op === "delete" ? [] : [access.rows, decisionTree(settled)]
  const links = op === "delete" ? null : checkLinks(core, tx, access, sets, bindings)
  if (links !== null) yield* links
  const fields = [...first.keys()]
  const after = yield* tx.updateAll({
    model,
    keys,
    fields,
    rows: sets.map((set) => fields.map((field) => set.get(field) ?? null)),
    columns,
    checks,
    bindings
  })
  const passed = after.every((row) => checks.every((_, i) => row[columns.length + i] === "true"))
  return passed ? after : yield* Effect.fail(accessDenied())
})

/** What became of several writes: what was written, and which were refused, by their places. */
interface Executed {
  readonly written: readonly Written[]
  readonly refused: ReadonlyMap<number, Problem>
}

/**
 * Runs writes to records that are there, no two of them to the same. All are judged first; those that are refused are left out, and those that change
 * the same fields are written together. A failure while writing ends it, and does not say which write it is of.
 */
export const executeAll = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  writes: readonly ExistingWrite[],
  bindings: Bindings
): Steps<Executed> {
  const written: Written[] = []
  const refused = new Map<number, Problem>()
  const groups: Alike[] = []
  for (const [at, write] of writes.entries()) {
    const judged = yield* Effect.catch(
      Effect.flatMap(lockRow(tx, write, bindings), (row) => {
        const planned = plan(core, tx, write, row, bindings)
        return Effect.map(planned.judged, (settled) => ({ row, set: planned.set, settled }))
      }),
      (error) => error instanceof Problem ? Effect.succeed(error) : Effect.fail(error)
    )
    if (judged instanceof Problem) {
      refused.set(at, judged)
      continue
    }
    const { row, set, settled } = judged
    if (isIdle(write, set)) {
      written.push(writtenOf(write, row, row, false))
      continue
    }
    const group = groups.find((each) => isAlike(each, write, set, settled))
    if (group === undefined) groups.push({ write, settled, rows: [row], sets: [set] })
    else {
      group.rows.push(row)
      group.sets.push(set)
    }
  }
  for (const group of groups) {
    const after = yield* putAll(core, tx, group, bindings)
    for (const [i, row] of group.rows.entries()) {
      const now = after[i] ?? null
      written.push(yield* done(core, tx, writtenOf(group.write, row, now ?? row, true), now))
    }
  }
  return { written, refused }
})

/** The values of fields that the rules allow to be written to the stored record. */
const writableValues = (access: Access, stored: Row, values: Values): Values => {
  const names = [...values.keys()].map((field) => field.name)
  const refused = refusedFields(access, names, wireRecord(access.model, cells(stored)))
  return new Map([...values].filter(([field]) => !refused.includes(field.name)))
}

/**
 * Checks field rules that look at the record, for all fields of the body. When something changes, it also runs the validate rules on the
 * record as it would be.
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

const nothingSettled = settleFiles([], [])
const noValues: Values = new Map()

const fitting: Result.Result<void, Problem> = Result.succeed(undefined)
const nothingToCheck = () => fitting

/** Runs one write inside a transaction. */
export const execute = (core: Core, tx: RecordsTransaction, write: Write, bindings: Bindings): Step<Written> =>
  write.op === "create"
    ? Effect.map(createMany(core, tx, [write], bindings), (written) => written[0]!)
    : change(core, tx, write, bindings)

/** Ends a write: does what belongs to it, then says what it did. */
const done = (core: Core, tx: RecordsTransaction, written: Written, after: Row | null): Step<Written> => {
  const { access, before, op } = written
  return access.model.history === null && core.options.writeHooks.length === 0 &&
      core.checks?.has(access.model.name) !== true
    ? Effect.succeed(written)
    : Effect.as(runHooks(core, tx, access, op, before, after), written)
}

/**
 * Keeps the version that a write made, then runs the hooks one by one. A hook that throws, or takes longer than a statement may, is a
 * defect that rolls the transaction back. A hook's handle ends with the transaction.
 */
export const runHooks = (
  core: Core,
  tx: RecordsTransaction,
  access: Access,
  operation: Write["op"],
  before: Row | null,
  after: Row | null
): Step<void> => {
  const { caller, model } = access
  const kept = model.history === null
    ? Effect.void
    // The row is written already. When the table of versions refuses it, the caller's values are not to blame.
    : Effect.catch(
      keepVersion(core, tx, access, operation, before, after),
      (error) => isRefusedValue(error) ? Effect.die(error) : Effect.fail(error)
    )
  const check = core.checks?.get(model.name)
  const record = (row: Row | null) => row === null ? null : wireRecord(model, cells(row))
  const checked: Step<void> = check === undefined
    ? kept
    : Effect.andThen(kept, Effect.suspend(() => check(caller, record(before), record(after))))
  if (core.options.writeHooks.length === 0) return checked
  // A new one for each hook, so that the next one does not see what a hook did to its records.
  const change = () =>
    ({
      operation,
      resource: model.name,
      before: record(before),
      after: record(after),
      caller,
      transaction: tx.handle
    }) as Parameters<WriteHook>[0]
  const run = (hook: WriteHook, index: number): Effect.Effect<void> =>
    Effect.timeoutOrElse(Effect.promise(async () => hook(change())), {
      duration: core.options.statementTimeoutMs,
      orElse: () => Effect.die(hookStuck(core, hook, index))
    })
  return Effect.andThen(checked, Effect.forEach(core.options.writeHooks, run, { discard: true }))
}

const hookStuck = (core: Core, { name }: WriteHook, index: number): Error => {
  const hook = `options.writeHooks[${index}]${name === "" ? "" : ` (${name})`}`
  return new Error(`${hook} has not ended after ${core.options.statementTimeoutMs} ms, the time that a statement has.`)
}
