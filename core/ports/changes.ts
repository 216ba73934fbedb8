/**
 * The port to captured changes: those that wait for dispatch, and those that watchers may still ask for. A write to a captured table stores a
 * change here, in the same transaction.
 *
 * Contract (test/contracts/changes.ts):
 * - A change is there when its transaction has committed, and never was when it rolled back.
 * - Of one record, a later change has a higher sequence. Changes of different records may appear out of that order, as transactions commit in any.
 * - One holder at a time takes changes. A holder that does not renew the lease loses it after `leaseSeconds`.
 * - Where changes are kept, `settle` keeps them in its transaction, and they are there for so long, in the order of their times.
 * - `settle` removes changes and does the related work in one transaction, or neither: it fails with `Taken` when one of them is gone.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Transaction } from "../domain/declare/config.ts"
import type { StoredChange } from "../domain/event/change.ts"
import type { RecordsError } from "./records.ts"

/** How long a holder may be silent before another takes over. */
export const leaseSeconds = 10

/** Another holder took over and has removed some of the changes. */
export class Taken extends Data.TaggedError("Taken")<{}> {}

/** A place among kept changes. */
export interface KeptPosition {
  /** Canonical timestamp. */
  readonly at: string
  readonly sequence: string
}

export interface ChangesService {
  /** Whether changes wait. */
  readonly waiting: Effect.Effect<boolean, RecordsError>
  /**
   * Takes or renews the lease and gives the oldest changes, at most `limit` and not many more bytes than a process can hold; null where another
   * holder has it.
   */
  readonly take: (holder: string, limit: number) => Effect.Effect<readonly StoredChange[] | null, RecordsError>
  /** Gives the lease back. */
  readonly release: (holder: string) => Effect.Effect<void, RecordsError>
  /** Removes changes and runs the work in one transaction. Changes of watched relations are kept for watchers. */
  readonly settle: (
    changes: readonly StoredChange[],
    work: (transaction: Transaction) => Effect.Effect<void, RecordsError>
  ) => Effect.Effect<void, RecordsError | Taken>
  /** Announces that somebody watches: changes of these relations are kept for the next minutes. */
  readonly watch: (relations: readonly string[]) => Effect.Effect<void, RecordsError>
  /**
   * The last position, and the database's time in unix seconds. Changes after a position of the last ten minutes are available if somebody watched.
   */
  readonly last: Effect.Effect<{ readonly position: string; readonly seconds: number }, RecordsError>
  /**
   * Changes of relations after a position, in the order in which they were sent on, at most `limit`, and not many more bytes than a process can hold: none
   * says that there are no more.
   */
  readonly since: (
    relations: readonly string[],
    position: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<{ readonly position: string; readonly change: StoredChange }>, RecordsError>
  /** The time of the oldest change that is kept after its dispatch; null: none is. */
  readonly keptSince: Effect.Effect<string | null, RecordsError>
  /** Kept changes from a time on and before another, in the order of their times, after a position; at most `limit`, and not many more bytes than a process can hold. */
  readonly between: (
    range: { readonly since: string; readonly until: string; readonly after: KeptPosition | null },
    limit: number
  ) => Effect.Effect<readonly StoredChange[], RecordsError>
  /** Removes expired changes. */
  readonly forget: Effect.Effect<void, RecordsError>
}

/** Captured changes. */
export class Changes extends Context.Service<Changes, ChangesService>()("resource-admin/Changes") {}
