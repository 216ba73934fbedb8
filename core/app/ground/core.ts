/** What every use case stands on: compiled models, the access resolver, the ports, and the options that matter to reading and writing. */

import type { Clock } from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import type { Caller } from "../../domain/access/caller.ts"
import type { Operation } from "../../domain/access/rules.ts"
import type { WriteHook } from "../../domain/declare/config.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import type { Models, WireRecord } from "../../domain/model/model.ts"
import { accessDenied, isReadOnly, notFound, tenantRequired } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { argumentsOfQuery } from "../../domain/read/arguments.ts"
import type { ScanGuard } from "../../domain/read/guard.ts"
import { leftOut } from "../../domain/read/item.ts"
import type { ItemTools, Layout } from "../../domain/read/item.ts"
import type { RecordsError, RecordsService, TransactionHandle } from "../../ports/records.ts"
import type { ReplicasService } from "../../ports/replicas.ts"
import type { SealService } from "../../ports/seal.ts"
import { type Auditing, named } from "./audit.ts"
import type { Call, Reply } from "./call.ts"
import type { RowEstimates } from "./estimate.ts"
import type { Files } from "./files.ts"
import type { Judgements } from "./guard.ts"
import type { RequestFiber } from "./timing.ts"
import type { RecentVersions } from "./versions.ts"

/** The options that reading and writing depend on. */
export interface CoreOptions {
  /** Path of the resources API, for example `/api/v1`. */
  readonly basePath: string
  readonly scanGuard: ScanGuard
  /** Whether list items of a resource carry `permissions`. */
  readonly rowPermissions: (resource: string) => boolean
  readonly writeHooks: readonly WriteHook[]
  /** Longest time of a write hook, as of a statement. A batch as a whole has four times as long. */
  readonly statementTimeoutMs: number
  /** Most bytes of one answer. */
  readonly maxAnswerBytes: number
  /** Most bytes of records that one batch reads, writes and copies. */
  readonly maxBatchBytes: number
  /** The schema of the queue. */
  readonly queueSchema: string
}

/**
 * A check of a record as it is written, with its writer. `before` is null for a create, `after` for a delete. What it notes in the audit, it notes within the
 * transaction.
 */
export type RecordCheck = (
  caller: Caller,
  before: WireRecord | null,
  after: WireRecord | null,
  within: TransactionHandle
) => Effect.Effect<void, Problem | RecordsError>

/** What other people call those who have an account, by id. Whose name is not for others, or who has no account, is not in it. */
export type NamesOf = (
  ids: readonly string[],
  tenant: string | null
) => Effect.Effect<ReadonlyMap<string, string>, RecordsError>

/** What a use case is given besides its call. */
export interface Core {
  readonly models: Models
  readonly records: RecordsService
  /** Where reads may go besides; absent: nowhere. */
  readonly replicas?: ReplicasService
  readonly seal: SealService
  readonly options: CoreOptions
  readonly estimates: RowEstimates
  readonly judgements: Judgements
  readonly versions: RecentVersions
  /** Checks of single resources, which an extension brings: run after a write of one, before the commit. Their problems refuse it. */
  readonly checks?: ReadonlyMap<string, RecordCheck>
  /** Absent where the accounts are kept elsewhere. */
  readonly namesOf?: NamesOf
  /** Where acts are noted. Absent: nobody keeps an audit. */
  readonly audit?: Auditing
  /** Told after a commit that left captured changes. */
  readonly changed?: () => void
  /** What records are written with. */
  readonly items: ItemTools
  /** Null: no resource has a file field. */
  readonly files: Files | null
}

/** Work that writes records of resources. Where a check may note one of them, it knows what the caller is called. */
export const namedFor = <A, E>(
  core: Core,
  { caller }: Pick<Call, "caller">,
  resources: readonly string[],
  work: Effect.Effect<A, E>
): Effect.Effect<A, E> => resources.some((name) => core.checks?.has(name) === true) ? named(core, caller, work) : work

/** Access that allows the operation for at least some records, or 404, 403 `tenant-required`, 403 `access-denied`. */
export const permitted = (
  call: Pick<Call, "access">,
  resource: string,
  operation: Operation
): Result.Result<Access, Problem> => {
  const access = call.access(resource)
  if (access === null) return Result.fail(notFound())
  if (access.tenantMissing) return Result.fail(tenantRequired())
  if (access.decisions[operation].of === "deny") {
    return Result.fail(access.model.readOnly === true && operation !== "read" ? isReadOnly() : accessDenied())
  }
  return Result.succeed(access)
}

const noParams: readonly string[] = []

/** The request's instant and caller, for operands. */
export const bindingsAt = (clock: Clock, caller: Caller, params: readonly string[] = noParams): Bindings => ({
  caller,
  now: BigInt(clock.currentTimeMillisUnsafe()) * 1000n,
  params
})

/** The same of a read, with the arguments of the function whose rows are read. */
export const bindingsOf = (clock: Clock, { args, caller }: Call, params?: readonly string[]): Bindings =>
  args === undefined ? bindingsAt(clock, caller, params) : { ...bindingsAt(clock, caller, params), args }

/** The call without the arguments in its query, which it has as cells. */
export const withArguments = (call: Call, { model }: Access): Result.Result<Call, Problem> =>
  model.function === undefined
    ? Result.succeed(call)
    : Result.map(argumentsOfQuery(model, call.query), ({ args, rest }) => ({ ...call, query: rest, args: args! }))

/**
 * A use case in two halves: what is decided at once, and what is done then. All checks of the first half are one step of the runtime
 * together.
 */
export const pipeline = <Plan, A>(
  decide: (fiber: RequestFiber) => Result.Result<Plan, Problem>,
  act: (plan: Plan, fiber: RequestFiber) => Effect.Effect<A, Problem>
): Effect.Effect<A, Problem> =>
  Effect.withFiber((fiber) => {
    const plan = decide(fiber)
    return Result.isFailure(plan) ? Effect.fail(plan.failure) : act(plan.success, fiber)
  })

/**
 * A use case that shows records. A rule that asked for a column which was not read has denied: then all of it is done once more, and reads that column.
 * Nobody has seen the first answer.
 */
export const readPipeline = <Plan extends { readonly shape: { readonly layout: Layout } }>(
  decide: (fiber: RequestFiber) => Result.Result<Plan, Problem>,
  act: (plan: Plan, fiber: RequestFiber) => Effect.Effect<Reply, Problem>
): Effect.Effect<Reply, Problem> => {
  const whole: Effect.Effect<Reply, Problem> = pipeline(decide, (plan, fiber) => {
    const { layout } = plan.shape
    const reply = act(plan, fiber)
    return layout.rules === null
      ? reply
      : Effect.flatMap(reply, (answer) => leftOut(layout) ? whole : Effect.succeed(answer))
  })
  return whole
}

/** The checks of the first half, each of which may refuse. `Result.gen` runs them. */
export type Checks<A> = Generator<Result.Result<unknown, Problem>, A, never>
