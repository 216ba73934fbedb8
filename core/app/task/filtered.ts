/**
 * `PATCH` and `DELETE` of a collection: up to 500 records that pass a filter, in one transaction. All of them are changed or none is: each passes the pipeline
 * of a single write, and the first that is refused is the answer. The precondition is their number. What is more, or goes on where records are refused, is
 * `:bulk`.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { keptFilter } from "../../domain/audit/entry.ts"
import { isBag } from "../../domain/bag.ts"
import { allOf, always } from "../../domain/filter/tree.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import { invalidParameter, Problem, problem } from "../../domain/problem.ts"
import { keyed } from "../../domain/read/key.ts"
import { batchSize } from "../../domain/task/task.ts"
import type { Json, Row } from "../../domain/value/kind.ts"
import { ofRecord } from "../../domain/write/batch.ts"
import { type FilteredRequest, filteredRequest } from "../../domain/write/request.ts"
import { RecordsError, type RecordsTransaction } from "../../ports/records.ts"
import { named, type Noted, noteWithin } from "../ground/audit.ts"
import { json, readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { bindingsAt, type Checks, type Core, pipeline } from "../ground/core.ts"
import { guardPlan, queryKey, relatedName } from "../ground/guard.ts"
import { filteredProblem, writeProblem } from "../ground/refusal.ts"
import { clockOf, during } from "../ground/timing.ts"
import { timeOf } from "../write/batch.ts"
import { Budget } from "../write/budget.ts"
import { execute, executeAll, type WriteResult, writtenOf } from "../write/execute.ts"
import { type ExistingWrite, ownKey, ruleOf } from "../write/intent.ts"
import { decisionTree, isRefusedValue } from "../write/judge.ts"
import { answerWrite, type Outcome } from "../write/single.ts"
import { traceOf } from "../write/transaction.ts"
import { type BulkScope, bulkScope } from "./bulk.ts"
import { holding } from "./task-batch.ts"

type Op = "update" | "delete"

interface Plan {
  readonly op: Op
  readonly request: FilteredRequest
  readonly rest: Call["query"]
  readonly scope: BulkScope
  readonly data: Json
  /** Most records that one such request changes. */
  readonly most: number
}

const planFiltered = function*(
  core: Core,
  call: Call,
  resource: string,
  op: Op,
  body: Uint8Array | null
): Checks<Plan> {
  const { request, rest } = yield* filteredRequest(call.query)
  const match = call.header("if-match")
  if (match !== null && match.trim() !== "*") {
    yield* Result.fail(
      invalidParameter("If-Match", "Records that pass a filter have no version together. Send expected_count.")
    )
  }
  const data: Json = body === null ? null : yield* readJson(body)
  const bulk = { kind: "bulk", op, filter: request.filter, except: [], data } as const
  const scope = yield* bulkScope(core, call.access, resource, bulk)
  // One more is read, so that those beyond are seen.
  const most = Math.max(1, Math.min(batchSize, scope.page.limit))
  return { op, request, rest, scope: { ...scope, page: { ...scope.page, limit: most + 1 } }, data, most }
}

/** What an idempotency key stands for: the records and the change. */
const requested = ({ data, op, request }: Plan): Uint8Array =>
  new TextEncoder().encode(JSON.stringify([op, request.filter, request.expectedCount, data]))

/** What was changed, for the audit: one entry for all records. */
const filteredNote = ({ data, op, request }: Plan, resource: string, records: number): Noted => ({
  act: "records.changed",
  subject: { kind: "resource", id: resource, name: null },
  details: { op, filter: keptFilter(request.filter), fields: isBag(data) ? Object.keys(data) : [], records }
})

const tooMany = (resource: string, most: number): Problem => {
  const message = `More than ${most} records pass the filter.`
  const hint = `Narrow it, or send POST ${resource}:bulk, which changes any number of records.`
  return problem("invalid-parameter", message, { errors: [{ parameter: "filter", message, hint }] })
}

const countRequired = (): Problem =>
  problem(
    "precondition-required",
    "Send expected_count, the number of records that pass the filter. A dry run tells it."
  )

const countFailed = (expected: number, count: number): Problem =>
  problem("precondition-failed", `The filter finds ${count} records, and not ${expected}.`, { count })

/** Locks the rows that pass, in the order of their keys, and reads them with what their rule says of them. */
const lockedRows = Effect.fnUntraced(function*(
  tx: RecordsTransaction,
  call: Call,
  { most, op, scope: { access, page } }: Plan,
  bindings: Bindings
): Effect.fn.Return<readonly Row[], Problem | RecordsError> {
  const { model } = access
  const rows = yield* tx.page({ shape: { ...page, columns: model.key }, bindings })
  if (rows.length > most) return yield* Effect.fail(tooMany(call.path, most))
  if (rows.length === 0) return []
  const where = allOf([keyed(model, rows), page.where])
  yield* tx.lockAll({ model, where, bindings })
  const checks = [decisionTree(access.decisions[ruleOf(op)])]
  return yield* tx.page({ shape: { ...page, where, limit: rows.length, checks }, bindings })
})

/** Records could not be written together. Running one by one finds which of them is refused. */
class GroupFailed {
  readonly _tag = "GroupFailed"
}

type Writes = Effect.Effect<readonly WriteResult[], Problem | RecordsError | GroupFailed>

/** Writes all with few statements. */
const together = (
  core: Core,
  tx: RecordsTransaction,
  rows: readonly Row[],
  writes: readonly ExistingWrite[],
  bindings: Bindings
): Writes =>
  Effect.flatMap(
    Effect.catchDefect(
      Effect.mapError(
        executeAll(core, holding(tx, writes[0]!.access.model, rows), writes, bindings),
        (error) => error instanceof Problem || isRefusedValue(error) ? new GroupFailed() : error
      ),
      // A row that was gone when its turn came, for instance.
      () => Effect.fail(new GroupFailed())
    ),
    ({ refused, written }): Writes => {
      for (const [at, refusal] of refused) return Effect.fail(ofRecord(writes[at]!.key)(refusal))
      return Effect.succeed(written)
    }
  )

/** Writes one record after the other. Each is locked again, because hooks and triggers may have changed it with an earlier one. */
const oneByOne = (
  core: Core,
  tx: RecordsTransaction,
  rows: readonly Row[],
  writes: readonly ExistingWrite[],
  bindings: Bindings
): Writes =>
  Effect.forEach(writes, (write, at) => {
    const { access, key, op } = write
    const { model } = access
    return Effect.catch(
      execute(core, tx, write, bindings),
      (error): Effect.Effect<WriteResult, Problem | RecordsError> => {
        if (isRefusedValue(error)) {
          return Effect.mapError(writeProblem(access, op)(error as RecordsError), ofRecord(key))
        }
        const refusal = Effect.fail(ofRecord(key)(error))
        if (op !== "delete" || !(error instanceof Problem) || error.slug !== "not-found") {
          return refusal
        }
        // It was there. If the delete of an earlier one took it along, it is done.
        return Effect.flatMap(
          tx.passes({ model, key, tree: always, bindings }),
          (there) => there ? refusal : Effect.succeed(writtenOf(write, rows[at]!, rows[at]!, true))
        )
      }
    )
  })

/** `PATCH` and `DELETE /{resource}?filter=…`: 200 with how many records passed, and how many of them were changed. */
export const changeFiltered = (
  core: Core,
  call: Call,
  resource: string,
  op: Op,
  body: Uint8Array | null
): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) => during(fiber, "filtered.plan", () => Result.gen(() => planFiltered(core, call, resource, op, body))),
    Effect.fnUntraced(function*(plan, fiber) {
      const { request: { expectedCount }, rest, scope } = plan
      const { access, filter, page } = scope
      const at = bindingsAt(clockOf(fiber), call.caller)
      const key = queryKey(core, access, "filtered", relatedName(access, filter), plan.request.filter)
      yield* guardPlan(core, access, key, { shape: page, bindings: at }, filter)
      const refused = (error: RecordsError) =>
        patternReasons.has(error.reason._tag) ? filteredProblem(filter)(error) : writeProblem(access, op)(error)
      const run = Effect.fnUntraced(function*(
        grouped: boolean,
        tx: RecordsTransaction,
        bindings: Bindings,
        rehearses: boolean
      ): Effect.fn.Return<Outcome, Problem | RecordsError | GroupFailed> {
        if (expectedCount === null && !rehearses) return yield* Effect.fail(countRequired())
        const rows = yield* lockedRows(tx, call, plan, bindings)
        const count = rows.length
        if (expectedCount !== null && count !== expectedCount) {
          return yield* Effect.fail(countFailed(expectedCount, count))
        }
        const budget = new Budget(core.options)
        for (const row of rows) yield* Effect.fromResult(budget.spend([...row, ...row]))
        const writes = rows.map((row): ExistingWrite => ({
          ...scope.write(row) as ExistingWrite,
          key: ownKey(access.model, row),
          precondition: "*"
        }))
        const write = grouped ? together : oneByOne
        const written = count === 0 ? [] : yield* write(core, tx, rows, writes, bindings)
        const changed = written.filter((each) => each.changed).length
        if (changed > 0) yield* noteWithin(core, call.caller, [filteredNote(plan, resource, changed)], tx.handle)
        return { reply: json(200, JSON.stringify({ count, changed })), written: written.map(traceOf) }
      })
      const inTime = timeOf(fiber, core)
      const answer = (grouped: boolean) =>
        answerWrite<GroupFailed>(
          fiber,
          core,
          { ...call, query: rest },
          requested(plan),
          (tx, bindings, rehearses) => inTime(run(grouped, tx, bindings, rehearses)),
          false,
          refused
        )
      const apart = Effect.catch(
        answer(false),
        (error) => error instanceof GroupFailed ? Effect.die(error) : Effect.fail(error)
      )
      // Hooks see every write as it happens.
      const changing = core.options.writeHooks.length > 0
        ? apart
        : Effect.catch(answer(true), (error) => error instanceof GroupFailed ? apart : Effect.fail(error))
      return yield* named(core, call.caller, changing)
    })
  )

/** Failures that the caller's own filter is to blame for. */
const patternReasons: ReadonlySet<RecordsError["reason"]["_tag"]> = new Set([
  "Unsupported",
  "BadPattern",
  "SlowPattern"
])
