/**
 * The write pipeline, the same for single writes and batch operations: an intent is judged, written and re-checked, then its version is kept and the
 * hooks run. Nothing is answered before the commit.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../../domain/access/access.ts"
import type { WriteHook } from "../../domain/declare/config.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import { both, goesThrough } from "../../domain/filter/tree.ts"
import { accessDenied, Problem } from "../../domain/problem.ts"
import { wireRecord } from "../../domain/read/record.ts"
import type { Row } from "../../domain/value/kind.ts"
import { merged } from "../../domain/write/body.ts"
import type { FieldValues } from "../../domain/write/body.ts"
import { RecordsError } from "../../ports/records.ts"
import type { ChangeNote, RecordsTransaction } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"
import { claimUploads } from "./attach.ts"
import { keepVersion } from "./history.ts"
import { cells, ownKey } from "./intent.ts"
import type { CreateWrite, ExistingWrite, Write } from "./intent.ts"
import {
  askedAfter,
  createdPasses,
  decisionTree,
  deniedFirst,
  isAskedAfter,
  isRefusedValue,
  lockRow,
  plan,
  refusedCreate,
  whenKnown
} from "./judge.ts"
import type { Steps, Verdict, WriteStep } from "./judge.ts"
import { checkLinks } from "./links.ts"

/** What a write did. `row` has the cells of all columns of the model as written; for a removal, as they were. */
export interface WriteResult {
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

/**
 * Creates with the same access and the same fields go to the database as one statement. Rules are judged on the rows as written, as for a
 * single create.
 */
export const createMany = (
  core: Core,
  tx: RecordsTransaction,
  writes: readonly CreateWrite[],
  bindings: Bindings
): WriteStep<readonly WriteResult[]> => {
  const { access, values } = writes[0]!
  const { model } = access
  // One row may be why another passes, or does not: each is judged before the next is written.
  if (writes.length > 1 && isAskedAfter(access, "create")) {
    return Effect.map(Effect.forEach(writes, (write) => createMany(core, tx, [write], bindings)), (all) => all.flat())
  }
  const must = decisionTree(access.decisions.create)
  const fields = [...values.keys()]
  const insert = askedAfter(
    tx,
    must,
    tx.insert({
      model,
      fields,
      rows: writes.map((write) => fields.map((field) => write.values.get(field) ?? null)),
      columns: model.columns,
      checks: [access.rows, must],
      must,
      bindings
    })
  )
  const links = before(
    claimUploads(core, tx, writes.flatMap((write) => write.files)),
    checkLinks(core, tx, access, writes.map((write) => write.values), bindings)
  )
  // The row of a single create; a group that fails is run again one by one.
  const inserted = Effect.catch(
    links === null ? insert : Effect.andThen(links, insert),
    (error) =>
      error instanceof RecordsError && isRefusedValue(error)
        ? refusedCreate(tx, access, values, error, bindings)
        : Effect.fail(error)
  )
  return Effect.flatMap(inserted, (rows): WriteStep<readonly WriteResult[]> => {
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
const created = (
  core: Core,
  tx: RecordsTransaction,
  access: Access,
  row: Row,
  bindings: Bindings
): WriteStep<WriteResult> => {
  const { decisions, model } = access
  const key = ownKey(model, row)
  return whenKnown(createdPasses(tx, access, key, row, bindings), (passes) => {
    if (!passes) return Effect.fail(accessDenied())
    const answered = row[model.columns.length] === "true"
    const seen = goesThrough(access.rows)
      ? tx.passes({ model, key, tree: access.rows, bindings })
      : answered
    return whenKnown(seen, (sees) => {
      const visible = decisions.read.of !== "deny" && sees
      return done(core, tx, { op: "create", access, row, before: null, key, changed: true, visible }, row)
    })
  })
}

/** Writes values to a locked row. It is a 403 when the row would then no longer pass the row filter or the rule's filter. */
export const apply = (
  core: Core,
  tx: RecordsTransaction,
  { access, key }: ExistingWrite,
  stored: Row,
  set: FieldValues,
  verdict: Verdict,
  bindings: Bindings,
  note?: ChangeNote
): WriteStep<Row> => {
  const { columns } = access.model
  const checks = [access.rows, decisionTree(verdict)] as const
  const must = both(...checks)
  const change = { model: access.model, key, set: [...set], touch: true, columns, checks, must, bindings }
  const updated = askedAfter(tx, must, tx.update(note === undefined ? change : { ...change, note }))
  const links = checkLinks(core, tx, access, [set], bindings)
  return Effect.flatMap(
    Effect.catch(
      links === null ? updated : Effect.andThen(links, updated),
      deniedFirst(tx, must, merged(cells(stored), set), bindings)
    ),
    (row) => {
      const passes = goesThrough(must)
        ? tx.passes({ model: access.model, key, tree: must, bindings })
        : row[columns.length] === "true" && row[columns.length + 1] === "true"
      return whenKnown(passes, (passed) => passed ? Effect.succeed(row) : Effect.fail(accessDenied()))
    }
  )
}

/** Writes what was planned. Null: the row is gone. */
const put = (
  core: Core,
  tx: RecordsTransaction,
  write: ExistingWrite,
  row: Row,
  set: FieldValues,
  verdict: Verdict,
  bindings: Bindings
): WriteStep<Row | null> => {
  if (write.op !== "delete") return apply(core, tx, write, row, set, verdict, bindings)
  const { model } = write.access
  const key = ownKey(model, row)
  // No filter is asked about the row as written, because a filter for live rows would forbid every delete.
  return set.size === 0
    ? Effect.as(tx.remove({ model, key, bindings }), null)
    : tx.update({ model, key, set: [...set], touch: true, columns: model.columns, checks: [], bindings })
}

export const writtenOf = ({ access, op }: ExistingWrite, before: Row, row: Row, changed: boolean): WriteResult => ({
  op,
  access,
  row,
  before,
  key: ownKey(access.model, before),
  changed,
  visible: true
})

/** Whether a write would change nothing. */
const isIdle = (write: ExistingWrite, set: FieldValues): boolean => write.op === "update" && set.size === 0

/** Changes the row that `lockRow` gave for a write. */
export const change = (
  core: Core,
  tx: RecordsTransaction,
  write: ExistingWrite,
  row: Row,
  bindings: Bindings
): WriteStep<WriteResult> => {
  const { judged, set } = plan(core, tx, write, row, bindings)
  return Effect.flatMap(judged, (verdict): WriteStep<WriteResult> =>
    isIdle(write, set)
      ? Effect.succeed(writtenOf(write, row, row, false))
      : Effect.flatMap(
        put(core, tx, write, row, set, verdict, bindings),
        (after) => done(core, tx, writtenOf(write, row, after ?? row, true), after)
      ))
}

/** Writes of the same fields to several rows. */
interface Alike {
  readonly write: ExistingWrite
  readonly verdict: Verdict
  readonly rows: Row[]
  /** The values of each row. */
  readonly sets: FieldValues[]
}

const isAlike = (
  { sets, verdict, write }: Alike,
  other: ExistingWrite,
  set: FieldValues,
  itsVerdict: Verdict
): boolean => {
  const first = sets[0]!
  if (write.op !== other.op || write.access !== other.access || first.size !== set.size) return false
  if (decisionTree(verdict) !== decisionTree(itsVerdict)) return false
  for (const field of first.keys()) if (!set.has(field)) return false
  return true
}

/** The same for rows that change alike: one statement for all. */
const putAll = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  { rows, sets, verdict, write }: Alike,
  bindings: Bindings
): Steps<ReadonlyArray<Row | null>> {
  const { access, op } = write
  const { model } = access
  const { columns } = model
  const first = sets[0]!
  if (rows.length === 1) return [yield* put(core, tx, write, rows[0]!, first, verdict, bindings)]
  const keys = rows.map((row) => ownKey(model, row))
  if (op === "delete" && first.size === 0) {
    yield* tx.removeAll({ model, keys, bindings })
    return rows.map(() => null)
  }
  const checks = op === "delete" ? [] : [access.rows, decisionTree(verdict)]
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
  readonly written: readonly WriteResult[]
  readonly refused: ReadonlyMap<number, Problem>
}

/**
 * Runs writes to records that are there, no two of them to the same. Those that are judged by their own records are all judged first, and those of them that
 * change the same fields are written together. What is refused is left out. A failure while writing ends it, and does not say which write it is of.
 */
export const executeAll = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  writes: readonly ExistingWrite[],
  bindings: Bindings
): Steps<Executed> {
  const written: WriteResult[] = []
  const refused = new Map<number, Problem>()
  const groups: Alike[] = []
  for (const [at, write] of writes.entries()) {
    const judged = yield* Effect.catch(
      Effect.flatMap(lockRow(tx, write, bindings), (row) => {
        const planned = plan(core, tx, write, row, bindings)
        return Effect.map(planned.judged, (verdict) => ({ row, set: planned.set, verdict }))
      }),
      (error) => error instanceof Problem ? Effect.succeed(error) : Effect.fail(error)
    )
    if (judged instanceof Problem) {
      refused.set(at, judged)
      continue
    }
    const { row, set, verdict } = judged
    if (isIdle(write, set)) {
      written.push(writtenOf(write, row, row, false))
      continue
    }
    if (isAskedAfter(write.access, write.op)) {
      // What this one changes may be why the next passes, or does not: the next is judged only then.
      const now = yield* put(core, tx, write, row, set, verdict, bindings)
      written.push(yield* done(core, tx, writtenOf(write, row, now ?? row, true), now))
      continue
    }
    const group = groups.find((each) => isAlike(each, write, set, verdict))
    if (group === undefined) groups.push({ write, verdict, rows: [row], sets: [set] })
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

/** Runs one write inside a transaction. */
export const execute = (core: Core, tx: RecordsTransaction, write: Write, bindings: Bindings): WriteStep<WriteResult> =>
  write.op === "create"
    ? Effect.map(createMany(core, tx, [write], bindings), (written) => written[0]!)
    : Effect.flatMap(lockRow(tx, write, bindings), (row) => change(core, tx, write, row, bindings))

/** Ends a write: does what belongs to it, then says what it did. */
const done = (core: Core, tx: RecordsTransaction, written: WriteResult, after: Row | null): WriteStep<WriteResult> => {
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
): WriteStep<void> => {
  const { caller, model } = access
  const history = model.history === null
    ? Effect.void
    // The row is written already. When the table of versions refuses it, the caller's values are not to blame.
    : Effect.catch(
      keepVersion(core, tx, access, operation, before, after),
      (error) => isRefusedValue(error) ? Effect.die(error) : Effect.fail(error)
    )
  const check = core.checks?.get(model.name)
  const record = (row: Row | null) => row === null ? null : wireRecord(model, cells(row))
  const checked: WriteStep<void> = check === undefined
    ? history
    : Effect.andThen(history, Effect.suspend(() => check(caller, record(before), record(after), tx.handle)))
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
