/**
 * One batch of a task inside its transaction: records are written through the pipeline of every write. First all together, without those that the
 * rules refuse. If the database then refuses one, that is rolled back and they are written one by one, so that it does not stop the others. A dry run
 * does the same and rolls everything back.
 */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Access } from "../../domain/access/access.ts"
import { allOf, always } from "../../domain/filter/tree.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import type { Model } from "../../domain/model/model.ts"
import { Problem, problem } from "../../domain/problem.ts"
import type { ProblemError } from "../../domain/problem.ts"
import { keyed, writeKey } from "../../domain/read/key.ts"
import { visibleRows } from "../../domain/read/list.ts"
import { mostPerRecord } from "../../domain/task/task.ts"
import type { TaskRefusal } from "../../domain/task/task.ts"
import type { Row } from "../../domain/value/kind.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"
import { writeProblem } from "../ground/refusal.ts"
import { sameShape } from "../write/batch.ts"
import { createMany, execute, executeAll } from "../write/execute.ts"
import type { WriteResult } from "../write/execute.ts"
import { ownKey, ruleOf } from "../write/intent.ts"
import type { CreateWrite, ExistingWrite, Write } from "../write/intent.ts"
import { decisionTree, isAskedAfter, isRefusedValue } from "../write/judge.ts"
import { traceOf } from "../write/transaction.ts"
import type { Trace } from "../write/transaction.ts"
import type { Unexpected } from "./parts.ts"

/** A record of a batch: its place in the report, and its write, or why there is no write. */
export interface Item {
  readonly place: Pick<TaskRefusal, "key" | "line">
  /** The column that a field came from. */
  readonly columnOf?: (field: string) => string | null
  readonly access: Access
  readonly write: Write | Problem | ((tx: RecordsTransaction) => Effect.Effect<Write, Problem | RecordsError>)
}

/** The result of a batch. */
export interface BatchOutcome {
  readonly traces: readonly Trace[]
  readonly written: number
  readonly refused: number
  readonly refusals: readonly TaskRefusal[]
}

/** Carries an outcome out of a savepoint that is rolled back. */
class Undone<A> {
  readonly _tag = "Undone"
  readonly outcome: A
  constructor(outcome: A) {
    this.outcome = outcome
  }
}

/** Most bytes of messages; longer ones are cut. */
const longestMessage = 500

const clean = (text: string): string => text.replaceAll("\0", "").toWellFormed().slice(0, longestMessage)

/** The lines of the report for a record that was refused. */
const refusalsOf = (
  { columnOf, place }: Pick<Item, "columnOf" | "place">,
  refused: Problem
): readonly TaskRefusal[] => {
  const errors = refused.members["errors"] as readonly ProblemError[] | undefined
  const lines: ReadonlyArray<Pick<ProblemError, "field" | "message">> = errors === undefined || errors.length === 0
    ? [{ message: refused.detail }]
    : errors.slice(0, mostPerRecord)
  return lines.map(({ field, message }) => {
    const column = field === undefined ? null : columnOf?.(field) ?? null
    return {
      key: place.key,
      line: place.line,
      column: column === null ? null : clean(column),
      field: field === undefined ? null : clean(field),
      slug: refused.slug,
      message: clean(message)
    }
  })
}

/** Runs work in a savepoint. A dry run also makes the checks of a commit, and then rolls back. */
const inSavepoint = <A, E>(
  tx: RecordsTransaction,
  rehearses: boolean,
  work: Effect.Effect<A, E>
): Effect.Effect<A, E | RecordsError> => {
  const whole = Effect.flatMap(
    work,
    (done): Effect.Effect<A, RecordsError | Undone<A>> =>
      Effect.flatMap(tx.checkDeferred, () => rehearses ? Effect.fail(new Undone(done)) : Effect.succeed(done))
  )
  return Effect.catch(
    tx.savepoint(whole),
    (error): Effect.Effect<A, E | RecordsError> =>
      error instanceof Undone ? Effect.succeed(error.outcome as A) : Effect.fail(error)
  )
}

const writeOf = (tx: RecordsTransaction, { write }: Item): Effect.Effect<Write, Problem | RecordsError> =>
  typeof write === "function" ? write(tx) : write instanceof Problem ? Effect.fail(write) : Effect.succeed(write)

/** A change that comes first must not refer to a record that is created after it, and is not judged by it. */
const keepsOrder = (access: Access): boolean =>
  access.model.fields.some(({ relation }) => relation === access.model.name) || isAskedAfter(access, "create") ||
  isAskedAfter(access, "update")

/**
 * Writes all records. Creates with the same fields share a statement, and so do changes of the same fields. Where creates and changes alternate, the
 * creates come first if no rule can tell: they then share statements, too. What is refused before it is written is left out; a failure while writing ends it.
 */
const together = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  items: readonly Item[],
  bindings: Bindings
): Effect.fn.Return<BatchOutcome, Problem | RecordsError> {
  const done: WriteResult[] = []
  /** Problems by the place of their item. */
  const refused = new Map<number, Problem>()
  let creates: CreateWrite[] = []
  let changes: Array<{ readonly at: number; readonly write: ExistingWrite }> = []
  const create = Effect.fnUntraced(function*(): Effect.fn.Return<void, Problem | RecordsError> {
    const made = creates
    creates = []
    if (made.length > 0) done.push(...(yield* createMany(core, tx, made, bindings)))
  })
  const flush = Effect.fnUntraced(function*(): Effect.fn.Return<void, Problem | RecordsError> {
    yield* create()
    const changed = changes
    changes = []
    if (changed.length === 0) return
    const executed = yield* executeAll(core, tx, changed.map(({ write }) => write), bindings)
    done.push(...executed.written)
    for (const [place, each] of executed.refused) refused.set(changed[place]!.at, each)
  })
  // Hooks see every write as it happens.
  const groups = core.options.writeHooks.length === 0
  for (const [at, item] of items.entries()) {
    // Lookups in the transaction have to see the earlier writes.
    if (typeof item.write === "function") yield* flush()
    const write = yield* Effect.catch(
      writeOf(tx, item),
      (error) => error instanceof Problem ? Effect.succeed(error) : Effect.fail(error)
    )
    if (write instanceof Problem) refused.set(at, write)
    else if (write.op === "create") {
      if (!groups || (changes.length > 0 && keepsOrder(write.access))) yield* flush()
      else if (creates.length > 0 && !sameShape(creates[0]!, write)) yield* create()
      creates.push(write)
    } else {
      if (!groups) yield* flush()
      changes.push({ at, write })
    }
  }
  yield* flush()
  const problems = [...refused].toSorted(([a], [b]) => a - b)
  return {
    ...outcomeOf(done),
    refused: refused.size,
    refusals: problems.flatMap(([at, each]) => refusalsOf(items[at]!, each))
  }
})

/** Rows of one resource that are already locked, with the answer that `lock` would give for each. */
export const holding = (tx: RecordsTransaction, model: Model, rows: readonly Row[]): RecordsTransaction => {
  const byKey = new Map(rows.map((row) => [writeKey(ownKey(model, row)), row]))
  return {
    page: (plan) => tx.page(plan),
    related: (plan) => tx.related(plan),
    count: (plan) => tx.count(plan),
    aggregate: (plan) => tx.aggregate(plan),
    holding: (question) => tx.holding(question),
    estimate: (plan) => tx.estimate(plan),
    lockAll: (target) => tx.lockAll(target),
    insert: (insertion) => tx.insert(insertion),
    update: (change) => tx.update(change),
    updateAll: (change) => tx.updateAll(change),
    remove: (target) => tx.remove(target),
    removeAll: (target) => tx.removeAll(target),
    passes: (check) => tx.passes(check),
    savepoint: (body) => tx.savepoint(body),
    checkDeferred: tx.checkDeferred,
    hold: (name, how) => tx.hold(name, how),
    handle: tx.handle,
    claimKey: (key) => tx.claimKey(key),
    storeKey: (stored) => tx.storeKey(stored),
    lock: (target) => {
      const key = writeKey(target.key)
      const row = target.model === model ? byKey.get(key) : undefined
      // A row is given once. A second read must see the written row.
      if (row === undefined) return tx.lock(target)
      byKey.delete(key)
      return Effect.succeed(row)
    }
  }
}

/**
 * Locks the rows of a batch with one statement, in the order of their keys, and reads them with another. So the queries that a single write needs
 * for its row are already answered for all rows.
 */
export const lockedTogether = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  items: readonly Item[],
  bindings: Bindings
): Effect.fn.Return<RecordsTransaction, RecordsError> {
  const [first] = items
  const keys: Array<readonly string[]> = []
  let op: ExistingWrite["op"] = "update"
  for (const { write } of items) {
    if (typeof write === "function" || write instanceof Problem || write.op === "create") continue
    op = write.op
    keys.push(write.key)
  }
  if (first === undefined || keys.length < 2) return tx
  const { access } = first
  const { model } = access
  const where = allOf([keyed(model, keys), visibleRows(access, always, op === "undelete")])
  yield* tx.lockAll({ model, where, bindings })
  // A hook may change one of them before its turn comes.
  if (core.options.writeHooks.length > 0) return tx
  const rows = yield* tx.page({
    shape: {
      model,
      columns: model.columns,
      where,
      order: model.key.map((field) => ({ field, descending: false })),
      limit: keys.length,
      checks: [decisionTree(access.decisions[ruleOf(op)])]
    },
    bindings
  })
  return holding(tx, model, rows)
})

/** A failure of one record that does not affect the others. */
const isOwn = (error: Problem | RecordsError): boolean => error instanceof Problem || isRefusedValue(error)

const unexpectedProblem = (): Problem => problem("internal-error", "An unexpected error occurred with this record.")

/** Writes one record after the other. Each refused record is rolled back by itself. */
const oneByOne = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  items: readonly Item[],
  bindings: Bindings,
  rehearses: boolean,
  unexpected: Unexpected
): Effect.fn.Return<BatchOutcome, RecordsError> {
  const done: WriteResult[] = []
  const refusals: TaskRefusal[] = []
  let refused = 0
  for (const item of items) {
    const one = Effect.flatMap(
      writeOf(tx, item),
      (write) =>
        Effect.catch(
          execute(core, tx, write, bindings),
          (error): Effect.Effect<never, Problem | RecordsError> =>
            error instanceof RecordsError && isRefusedValue(error)
              ? writeProblem(item.access, write.op)(error)
              : Effect.fail(error)
        )
    )
    const exit = yield* Effect.exit(inSavepoint(tx, rehearses, one))
    if (Exit.isSuccess(exit)) {
      done.push(exit.value)
      continue
    }
    if (Exit.hasInterrupts(exit)) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
    const [reason] = exit.cause.reasons
    let refusal: Problem
    if (reason !== undefined && Cause.isFailReason(reason)) {
      const { error } = reason
      if (error instanceof Problem) refusal = error
      // A deferred constraint, which is checked at the end of the record.
      else if (isRefusedValue(error)) refusal = yield* Effect.flip(writeProblem(item.access, "update")(error))
      else return yield* Effect.fail(error)
    } else {
      unexpected(Cause.squash(exit.cause))
      refusal = unexpectedProblem()
    }
    refused++
    refusals.push(...refusalsOf(item, refusal))
  }
  return { ...outcomeOf(done), refused, refusals }
})

const outcomeOf = (done: readonly WriteResult[]): BatchOutcome => ({
  traces: done.map(traceOf),
  written: done.filter(({ changed }) => changed).length,
  refused: 0,
  refusals: []
})

/** Writes the records of one batch. It fails only for reasons that affect the whole batch. */
export const writeBatch = (
  core: Core,
  tx: RecordsTransaction,
  items: readonly Item[],
  bindings: Bindings,
  rehearses: boolean,
  unexpected: Unexpected
): Effect.Effect<BatchOutcome, RecordsError> => {
  const single = oneByOne(core, tx, items, bindings, rehearses, unexpected)
  if (items.length < 2) return single
  return Effect.catchCause(
    inSavepoint(tx, rehearses, together(core, tx, items, bindings)),
    (cause): Effect.Effect<BatchOutcome, RecordsError> => {
      const [reason] = cause.reasons
      const mayGoOn = cause.reasons.length === 1 &&
        (Cause.isDieReason(reason!) || (Cause.isFailReason(reason!) && isOwn(reason.error)))
      return mayGoOn ? single : Effect.failCause(cause as Cause.Cause<RecordsError>)
    }
  )
}

/** Tries the records of one batch. Afterwards no write and no lock of them remains. */
export const tryBatch = (
  core: Core,
  tx: RecordsTransaction,
  items: readonly Item[],
  bindings: Bindings,
  unexpected: Unexpected
): Effect.Effect<BatchOutcome, RecordsError> =>
  inSavepoint(
    tx,
    true,
    Effect.flatMap(
      lockedTogether(core, tx, items, bindings),
      (held) => writeBatch(core, held, items, bindings, true, unexpected)
    )
  )
