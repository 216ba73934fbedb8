/**
 * The port to the audit: entries that are added and read, and never changed.
 *
 * Contract (test/contracts/audit.ts runs it against the fake and PostgreSQL):
 * - An entry that is added within a transaction is there when that commits, and never was when it rolls back.
 * - A page has the newest entries first, each once, also of those that were added in one moment. What is added meanwhile is on none of the later pages.
 * - Entries that are older than the days they are kept are on no page, and `forget` removes them.
 */

import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { AuditAct, AuditEntry, AuditPosition, NewAuditEntry } from "../domain/audit/entry.ts"
import type { RecordsError, TransactionHandle } from "./records.ts"

/** Entries that are asked for. */
export interface AuditPage {
  /** Entries of this tenant alone. Null: those without one. */
  readonly tenant: string | null
  /** The id of whoever did it. */
  readonly actor: string | null
  readonly acts: readonly AuditAct[] | null
  /** RFC 3339: from this time on, and before this one. */
  readonly since: string | null
  readonly until: string | null
  /**
   * A part of a name or an id of who did it or what it was done to, ignoring case; or the whole id of a request or key. It looks at the next
   * `mostSearchedEntries` entries that the rest of the page asks for.
   */
  readonly search: string | null
  /** The resources that a search may find entries by. An entry about records of any other is found by its other texts only. */
  readonly searched: readonly string[]
  readonly after: AuditPosition | null
  readonly limit: number
}

export interface AuditService {
  /** `within`: a transaction of the records. */
  readonly add: (entries: readonly NewAuditEntry[], within?: TransactionHandle) => Effect.Effect<void, RecordsError>
  readonly page: (page: AuditPage) => Effect.Effect<readonly AuditEntry[], RecordsError>
  /** Removes entries that are older than they are kept. Tells how many. */
  readonly forget: Effect.Effect<number, RecordsError>
}

/** Who did what. */
export class Audit extends Context.Service<Audit, AuditService>()("resource-admin/Audit") {}
