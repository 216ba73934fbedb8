/**
 * The port to stored records. The domain decides, the adapter executes: plans go in, rows of exact texts come out. Five reading
 * methods and one transaction; no SQL, no field names as text, no decision about access passes through here.
 *
 * Contract (test/contracts/records.ts runs it against every implementation):
 * - Reads run read-only under the statement timeout and see one snapshot per call.
 * - `page` answers rows in the shape's order; nulls last ascending, first descending; text orders by the column's collation
 *   (so that its indexes serve), which in a database we make is code point order.
 * - Interrupting an effect cancels the statement where it runs.
 * - Every failure is a `RecordsError`; whatever is not listed in its reasons dies as a defect.
 */

import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Bindings, FilterTree } from "../domain/filter/tree.ts"
import type { Field, Model } from "../domain/model/model.ts"
import type { AggregatePlan, CountPlan, PagePlan } from "../domain/read/plan.ts"
import type { Cell, Row } from "../domain/value/kind.ts"

/** Why a read or write failed. Column and constraint names stay inside: never put them into an answer. */
export type RecordsReason =
  /** The statement timeout ended it (504). */
  | { readonly _tag: "Timeout" }
  /** No connection, too many connections, server starting or stopping (503). */
  | { readonly _tag: "Unavailable" }
  /** Waited too long for a free connection (503). */
  | { readonly _tag: "Overloaded" }
  /** The connection broke while a commit was under way: the outcome is not known. */
  | { readonly _tag: "OutcomeUnknown" }
  | { readonly _tag: "Unique" }
  | { readonly _tag: "ForeignKey" }
  | { readonly _tag: "NotNull" }
  | { readonly _tag: "Check" }
  /** Serialization failure or deadlock: the whole transaction may be retried. */
  | { readonly _tag: "Conflict" }
  /** Only in a transaction that is `alone`, which has written nothing: what it did needs a lock or a rollback. Run it again, not alone. */
  | { readonly _tag: "Contended" }
  /** The rows are more than one answer may have. Nothing was written, but by a statement that commits by itself (then it is `OutcomeUnknown`). */
  | { readonly _tag: "TooLarge" }
  /** The database is read-only (standby, or default_transaction_read_only). */
  | { readonly _tag: "ReadOnly" }
  /** A value the database refuses though it passed our checks (out of range, bad encoding). */
  | { readonly _tag: "BadValue" }
  /** `regex()` got a pattern the database refuses, or it ran past its own time limit. */
  | { readonly _tag: "BadPattern" }
  | { readonly _tag: "SlowPattern" }
  /** The database lacks what a condition needs: `similar()` without the extension pg_trgm; with a `cause`, what it says it cannot do. */
  | { readonly _tag: "Unsupported" }

export class RecordsError extends Data.TaggedError("RecordsError")<{
  readonly reason: RecordsReason
  readonly cause?: unknown
}> {}

/** What the database's planner thinks of a page or count: for the scan guard. */
export interface PlanEstimate {
  /** Rows of the biggest table that the plan reads from end to end, 0 when there is none. */
  readonly scannedRows: number
  /** The planner's total cost. */
  readonly cost: number
  /** The planner's estimate of rows passing the filter. */
  readonly rows: number
}

export interface RecordsReader {
  readonly page: (plan: PagePlan) => Effect.Effect<readonly Row[], RecordsError>
  /** A count as decimal text. */
  readonly count: (plan: CountPlan) => Effect.Effect<string, RecordsError>
  readonly aggregate: (plan: AggregatePlan) => Effect.Effect<readonly Row[], RecordsError>
  /** The planner's judgement; never runs the query. */
  readonly estimate: (plan: PagePlan | CountPlan | AggregatePlan) => Effect.Effect<PlanEstimate, RecordsError>
}

/**
 * What the values of a row do not say about its change. `nothing`: it is a step of another change and none itself · `reorder`: it ends a reorder that
 * began with these values.
 */
export type Told = { readonly of: "nothing" } | { readonly of: "reorder"; readonly began: Assignments }

/** Values to write: pairs of field and cell. */
export type Assignments = ReadonlyArray<readonly [field: Field, value: Cell]>

/**
 * Writes inside one read-write transaction with a local statement timeout. Rows are cells of `columns` in order. A key names a row of the caller's
 * tenant (`bindings`), where the model has one: it may be unique within each tenant only.
 */
export interface RecordsTransaction extends RecordsReader {
  /** Reads one row by key within `where` and locks it for update; null when there is none. Cells of `checks` follow the columns. */
  readonly lock: (target: {
    readonly model: Model
    readonly key: readonly string[]
    readonly where: FilterTree
    readonly columns: readonly Field[]
    readonly checks: readonly FilterTree[]
    readonly bindings: Bindings
  }) => Effect.Effect<Row | null, RecordsError>
  /**
   * Locks all rows that pass for update, in the order of their keys, so that two that lock the same rows wait for each other and do not deadlock.
   * Rows that are not there, or do not pass, are left out.
   */
  readonly lockAll: (target: {
    readonly model: Model
    readonly where: FilterTree
    readonly bindings: Bindings
  }) => Effect.Effect<void, RecordsError>
  /**
   * Inserts rows in order with one statement; each row gives the same fields. Fields not given take the database's default. Answers the rows
   * as written, with the cells of `checks` judged on the row as written (SQL: in RETURNING).
   */
  readonly insert: (rows: {
    readonly model: Model
    readonly fields: readonly Field[]
    readonly rows: ReadonlyArray<readonly Cell[]>
    readonly columns: readonly Field[]
    readonly checks: readonly FilterTree[]
    /** What every row as written must pass where nothing can be undone afterwards (see `alone`). */
    readonly must?: FilterTree
    readonly bindings: Bindings
  }) => Effect.Effect<readonly Row[], RecordsError>
  /**
   * Updates one locked row and answers it as written, cells of `checks` after the columns. A version column is set by the adapter: timestamps to a value above the stored one
   * (`clock_timestamp()`, at least the stored one and the smallest step that the column holds), integers to stored + 1.
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
    /** What is to be known of the change where changes are captured; without it, it is an update. */
    readonly told?: Told
    readonly bindings: Bindings
  }) => Effect.Effect<Row, RecordsError>
  readonly remove: (target: {
    readonly model: Model
    readonly key: readonly string[]
    readonly bindings: Bindings
  }) => Effect.Effect<void, RecordsError>
  /** Whether the row as it stands in this transaction passes the tree. */
  readonly passes: (check: {
    readonly model: Model
    readonly key: readonly string[]
    readonly tree: FilterTree
    readonly bindings: Bindings
  }) => Effect.Effect<boolean, RecordsError>
  /** Runs the body inside a savepoint: its failure undoes its writes only. */
  readonly savepoint: <A, E>(body: Effect.Effect<A, E>) => Effect.Effect<A, E | RecordsError>
  /** Judges now what the database would judge at the commit (deferred constraints): a dry run never gets there. */
  readonly checkDeferred: Effect.Effect<void, RecordsError>
  /** What write hooks get: the adapter's own handle for further statements in this transaction. */
  readonly handle: unknown
  /**
   * Claims an idempotency key for the rest of the transaction (an advisory lock that ends with it, and the stored answers of 24 hours).
   * `busy`: a twin holds it now. `stored`: it was used before; `request` is the digest of the request it was used for.
   */
  readonly claimKey: (key: { readonly scope: string; readonly key: string; readonly now: bigint }) => Effect.Effect<
    { readonly of: "new" } | { readonly of: "busy" } | {
      readonly of: "stored"
      readonly request: string
      readonly answer: string
    },
    RecordsError
  >
  /** Stores the answer for a claimed key; it is committed or rolled back with the writes. `answer` is opaque text. */
  readonly storeKey: (stored: {
    readonly scope: string
    readonly key: string
    readonly request: string
    readonly answer: string
    readonly now: bigint
  }) => Effect.Effect<void, RecordsError>
}

export interface RecordsService extends RecordsReader {
  /**
   * A page that ends early: the first rows of it (the last ones of a page `before` a position) that have at most so many bytes together, and one row in
   * any case. `cut`: the page has more. For pages that fail with `TooLarge`; it does not count rows on the way.
   */
  readonly pageWithin: (
    plan: Omit<PagePlan, "counted">,
    bytes: number
  ) => Effect.Effect<{ readonly rows: readonly Row[]; readonly cut: boolean }, RecordsError>
  /**
   * Runs the body in one transaction: commits on success, rolls back on failure, defect or interruption. Only `Conflict` before any
   * commit is retried by the caller; `OutcomeUnknown` never is.
   *
   * `alone` is the caller's word that the body writes with one statement, at its end, and that nothing fails after it but by `must`. Each
   * statement may then commit by itself: `lock` only reads, and the write of a row that has changed since, or that would not pass `must`,
   * fails with `Contended`.
   */
  readonly transaction: <A, E>(
    body: (tx: RecordsTransaction) => Effect.Effect<A, E>,
    alone?: boolean
  ) => Effect.Effect<A, E | RecordsError>
  /** Fails unless the database answers. */
  readonly ping: Effect.Effect<void, RecordsError>
}
