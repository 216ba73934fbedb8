/**
 * The port to stored records. The domain decides, the adapter executes: plans go in, rows of exact texts come out. Six reading
 * methods and one transaction; no SQL, no field names as text, no decision about access passes through here.
 *
 * Contract (test/contracts/records.ts runs it against every implementation):
 * - Reads run read-only under the statement timeout and see one snapshot per call.
 * - `page` answers rows in the shape's order; nulls last ascending, first descending; text orders by the column's collation
 *   (so that its indexes serve), which in a database we make is code point order.
 * - Interrupting an effect cancels the statement where it runs.
 * - Every failure is a `RecordsError`; whatever is not listed in its reasons dies as a defect.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Transaction } from "../domain/declare/config.ts"
import type { Bindings, FilterTree } from "../domain/filter/tree.ts"
import { type JobDatabase, type OwnDatabase } from "../domain/job/definition.ts"
import type { Field, Model } from "../domain/model/model.ts"
import type { Outage } from "../domain/outage.ts"
import type { AggregatePlan, CountPlan, PagePlan, RelatedPlan } from "../domain/read/plan.ts"
import type { Cell, Row } from "../domain/value/kind.ts"

/** Why a read or write failed. Column and constraint names stay inside: never put them into an answer. */
export type RecordsReason =
  /** The statement timeout ended it (504). */
  | { readonly _tag: "Timeout" }
  /** The database does nothing now, or no changes (503). */
  | { readonly _tag: Outage }
  /** The connection broke during a commit: whether it happened is not known. */
  | { readonly _tag: "OutcomeUnknown" }
  | { readonly _tag: "Unique" }
  | { readonly _tag: "ForeignKey" }
  | { readonly _tag: "NotNull" }
  | { readonly _tag: "Check" }
  /** The table is partitioned and has no partition for the row. */
  | { readonly _tag: "NoPartition" }
  /** Serialization failure or deadlock: the whole transaction may be retried. */
  | { readonly _tag: "Conflict" }
  /**
   * Only in a transaction that is `alone`. It has written nothing, because what it did needs a lock or a rollback. Run it again, not alone.
   */
  | { readonly _tag: "Contended" }
  /**
   * The rows are more than one answer may have. Nothing was written, except by a statement that commits by itself (then it is
   * `OutcomeUnknown`).
   */
  | { readonly _tag: "TooLarge" }
  /** A value that the database refuses although it passed our checks (out of range, bad encoding). */
  | { readonly _tag: "BadValue" }
  /** The database refuses a pattern of `regex()`, or the pattern ran longer than its own time limit. */
  | { readonly _tag: "BadPattern" }
  | { readonly _tag: "SlowPattern" }
  /**
   * The database lacks what a condition needs: `similar()` without the extension pg_trgm. With a `cause`: what the database says that it
   * cannot do.
   */
  | { readonly _tag: "Unsupported" }

export class RecordsError extends Data.TaggedError("RecordsError")<{
  readonly reason: RecordsReason
  readonly cause?: unknown
  /** Of a violated constraint of the model's own table: its columns, where all are plain ones. For who may read their fields, never for others. */
  readonly columns?: readonly string[]
}> {}

/** What the database's planner thinks of a page or count: for the scan guard. */
export interface PlanEstimate {
  /**
   * Rows of the biggest table that the plan reads from end to end, 0 when there is none. Partitions are one table; where an index serves the query and the
   * planner still reads small ones whole, the biggest of them counts.
   */
  readonly scannedRows: number
  /** Bytes of that table. */
  readonly scannedBytes: number
  /** Its name, or that of its partition; absent where none is known. */
  readonly scannedTable?: { readonly schema: string; readonly table: string }
  /** The planner's total cost: the time, not the work, where several processes share it. */
  readonly cost: number
  /** The cost if the read did not stop as early as the planner expects, but at the end. */
  readonly through: number
  /** Processes that share the work; 1 where none helps. */
  readonly processes: number
  /** The planner's estimate of rows passing the filter. */
  readonly rows: number
}

/** What write hooks get of a transaction: further statements in it, and where jobs that they enqueue are kept. */
export type TransactionHandle = Transaction & Omit<JobDatabase, "query">

export interface RecordsReader {
  readonly page: (plan: PagePlan) => Effect.Effect<readonly Row[], RecordsError>
  /** Rows of several values at once, in one statement. */
  readonly related: (plan: RelatedPlan) => Effect.Effect<readonly Row[], RecordsError>
  /** A count as decimal text. */
  readonly count: (plan: CountPlan) => Effect.Effect<string, RecordsError>
  readonly aggregate: (plan: AggregatePlan) => Effect.Effect<readonly Row[], RecordsError>
  /**
   * The texts in a column of texts or of lists in all rows, deleted or not, that are one of some texts up to their first `?`: the files that are held,
   * each text once. Of any tenant, or of the one whose cell is given.
   */
  readonly holding: (question: {
    readonly model: Model
    readonly field: Field
    readonly texts: readonly string[]
    readonly tenant?: string
  }) => Effect.Effect<readonly string[], RecordsError>
  /** The planner's judgement; never runs the query. */
  readonly estimate: (
    plan: PagePlan | RelatedPlan | CountPlan | AggregatePlan
  ) => Effect.Effect<PlanEstimate, RecordsError>
}

/**
 * What cannot be seen from the values of a changed row. `nothing`: the write is a step of another change and is none itself · `reorder`: it
 * ends a reorder that began with these values.
 */
export type ChangeNote = { readonly of: "nothing" } | { readonly of: "reorder"; readonly began: Assignments }

/** Values to write: pairs of field and cell. */
export type Assignments = ReadonlyArray<readonly [field: Field, value: Cell]>

/**
 * Writes inside one read-write transaction with a statement timeout of its own. Rows are cells of `columns` in order. Where the model has a
 * tenant, a key names a row of the caller's tenant (`bindings`): a key may be unique within each tenant only.
 */
export interface RecordsTransaction extends RecordsReader {
  /** Reads one row by key within `where` and locks it for update; null when there is none. The cells of `checks` follow the columns. */
  readonly lock: (target: {
    readonly model: Model
    readonly key: readonly string[]
    readonly where: FilterTree
    readonly columns: readonly Field[]
    readonly checks: readonly FilterTree[]
    readonly bindings: Bindings
  }) => Effect.Effect<Row | null, RecordsError>
  /**
   * Locks all rows that pass for update, in the order of their keys. So two callers that lock the same rows wait for each other and do not
   * deadlock. Rows that do not exist, or do not pass, are left out.
   */
  readonly lockAll: (target: {
    readonly model: Model
    readonly where: FilterTree
    readonly bindings: Bindings
  }) => Effect.Effect<void, RecordsError>
  /**
   * Inserts rows in order with one statement. Each row gives the same fields; other fields take the database's default. Answers the rows as
   * written, with the cells of `checks` judged on the row as written (SQL: in RETURNING).
   */
  readonly insert: (rows: {
    readonly model: Model
    readonly fields: readonly Field[]
    readonly rows: ReadonlyArray<readonly Cell[]>
    readonly columns: readonly Field[]
    readonly checks: readonly FilterTree[]
    /** What every row as written must pass in a transaction that is `alone`. Elsewhere it is not judged: there the caller judges by `checks`. */
    readonly must?: FilterTree
    readonly bindings: Bindings
  }) => Effect.Effect<readonly Row[], RecordsError>
  /**
   * Updates one locked row and answers it as written; the cells of `checks` follow the columns. The adapter sets a version column: an
   * integer to the stored value + 1, a timestamp to a value above the stored one (`clock_timestamp()`, at least one smallest step of the
   * column above it).
   */
  readonly update: (change: {
    readonly model: Model
    readonly key: readonly string[]
    readonly set: Assignments
    /** Whether the version column moves (reorder's first pass leaves it). */
    readonly touch: boolean
    readonly columns: readonly Field[]
    /** Judged on the row as written. */
    readonly checks: readonly FilterTree[]
    /** As of `insert`. */
    readonly must?: FilterTree
    /** What is known of the change, where changes are captured. Without it the change is an update. */
    readonly note?: ChangeNote
    readonly bindings: Bindings
  }) => Effect.Effect<Row, RecordsError>
  /**
   * Updates locked rows, no two of them the same, to values of the same fields. Each row has its own values. One statement does it where that gives
   * the same as updating them one by one. Answers them as written in the order of the keys, each as `update` does. A row that is not there is a
   * defect.
   */
  readonly updateAll: (change: {
    readonly model: Model
    readonly keys: ReadonlyArray<readonly string[]>
    readonly fields: readonly Field[]
    /** The cells of the fields for each key. */
    readonly rows: ReadonlyArray<readonly Cell[]>
    readonly columns: readonly Field[]
    readonly checks: readonly FilterTree[]
    readonly bindings: Bindings
  }) => Effect.Effect<readonly Row[], RecordsError>
  readonly remove: (target: {
    readonly model: Model
    readonly key: readonly string[]
    readonly bindings: Bindings
  }) => Effect.Effect<void, RecordsError>
  /** Removes locked rows, otherwise as `updateAll`. */
  readonly removeAll: (target: {
    readonly model: Model
    readonly keys: ReadonlyArray<readonly string[]>
    readonly bindings: Bindings
  }) => Effect.Effect<void, RecordsError>
  /** Whether the row as it stands in this transaction passes the tree. */
  readonly passes: (check: {
    readonly model: Model
    readonly key: readonly string[]
    readonly tree: FilterTree
    readonly bindings: Bindings
  }) => Effect.Effect<boolean, RecordsError>
  /** Runs the body inside a savepoint: a failure undoes only the body's writes. */
  readonly savepoint: <A, E>(body: Effect.Effect<A, E>) => Effect.Effect<A, E | RecordsError>
  /** Checks now what the database would check at the commit (deferred constraints), because a dry run never commits. */
  readonly checkDeferred: Effect.Effect<void, RecordsError>
  /** Holds a lock of this name until the transaction ends: many may share it, one may have it alone. Waits as long as a statement may. */
  readonly hold: (name: string, how: "shared" | "alone") => Effect.Effect<void, RecordsError>
  readonly handle: TransactionHandle
  /**
   * Claims an idempotency key for the rest of the transaction, by an advisory lock that ends with it and by the stored answers of 24 hours.
   * `busy`: another request holds it now. `stored`: it was used before; `request` is the digest of that request.
   */
  readonly claimKey: (key: { readonly scope: string; readonly key: string; readonly now: bigint }) => Effect.Effect<
    { readonly of: "new" } | { readonly of: "busy" } | {
      readonly of: "stored"
      readonly request: string
      readonly answer: string
    },
    RecordsError
  >
  /** Stores the answer for a claimed key. It commits or rolls back with the writes. `answer` is opaque text. */
  readonly storeKey: (stored: {
    readonly scope: string
    readonly key: string
    readonly request: string
    readonly answer: string
    readonly now: bigint
  }) => Effect.Effect<void, RecordsError>
}

/** Timestamps as cells, null where there is none: the last refresh, and the last one that failed since. */
export interface Refreshed {
  readonly at: string | null
  readonly failedAt: string | null
}

export interface RecordsService extends RecordsReader {
  /**
   * A page that ends early, for pages that fail with `TooLarge`: the first rows of it (for a page `before` a position the last ones) that
   * have at most so many bytes together, and at least one row. `cut`: the page has more. It does not count rows.
   */
  readonly pageWithin: (
    plan: Omit<PagePlan, "counted">,
    bytes: number
  ) => Effect.Effect<{ readonly rows: readonly Row[]; readonly cut: boolean }, RecordsError>
  /**
   * Runs the body in one transaction: commits on success, rolls back on failure, defect or interruption. The caller retries only a
   * `Conflict` before any commit, never an `OutcomeUnknown`.
   *
   * With `alone` the caller promises that the body writes with one statement, at its end, and that nothing fails after it except by `must`.
   * Each statement may then commit by itself, and `lock` may only read. A write fails with `Contended` when the row has changed since. It always
   * does so when the row would not pass `must`: nobody looks at what it answers before it counts.
   */
  readonly transaction: <A, E>(
    body: (tx: RecordsTransaction) => Effect.Effect<A, E>,
    alone?: boolean
  ) => Effect.Effect<A, E | RecordsError>
  /**
   * Whether the model's table has a valid index of the kind that begins with these columns; one of some rows only counts where `partial`. Null: the rows are
   * those of a view, a function or another database, for which no index can be made. No columns: whether one can.
   */
  readonly indexed: (index: {
    readonly model: Model
    readonly columns: readonly Field[]
    readonly method: "btree" | "gin" | "gist"
    readonly partial: boolean
  }) => Effect.Effect<boolean | null, RecordsError>
  /** What is known of the refreshes of a model's materialized view: those that `refresh` made. */
  readonly refreshed: (model: Model) => Effect.Effect<Refreshed, RecordsError>
  /**
   * Refreshes a model's materialized view on the database that jobs work on, without keeping readers away where one of its indexes allows that. It ends after
   * so many milliseconds; a rejection means that the view is as it was.
   */
  readonly refresh: (db: OwnDatabase, model: Model, timeoutMs: number) => Promise<void>
  /** Fails unless the database answers. */
  readonly ping: Effect.Effect<"writes" | "reads", RecordsError>
}

/** Stored records. */
export class Records extends Context.Service<Records, RecordsService>()("resource-admin/Records") {}
