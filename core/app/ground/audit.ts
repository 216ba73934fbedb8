/**
 * Notes in the audit what callers did. An act in a transaction of the records is noted within it: both are kept, or neither is. Any other act is done by the time
 * that it is noted. If its note cannot be kept, it stays done, and the log says what was lost.
 */

import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Caller } from "../../domain/access/caller.ts"
import { boundedEntry, type NewAuditEntry } from "../../domain/audit/entry.ts"
import type { AuditService } from "../../ports/audit.ts"
import type { RecordsError, TransactionHandle } from "../../ports/records.ts"

/** What an entry says of the request besides its caller. */
export interface AskedBy {
  readonly id: string
  /** The id of its API key; null: it came with none. */
  readonly key: () => string | null
}

/** The request that a fiber works for, where it may be noted. The edge provides it. */
export const Asked = Context.Reference<AskedBy | null>("resource-admin/app/Asked", { defaultValue: () => null })

/** What a caller is called, where it was asked before a transaction of theirs. */
const Named = Context.Reference<{ readonly id: string; readonly name: string | null } | null>(
  "resource-admin/app/Named",
  {
    defaultValue: () => null
  }
)

/** Where notes go. */
export interface Auditing {
  readonly store: AuditService
  /** Told of entries that could not be kept, and why. */
  readonly lost: (entries: readonly NewAuditEntry[], error: unknown) => void
}

/** An act and what it was done to. */
export type Noted = Pick<NewAuditEntry, "act" | "subject"> & Partial<Pick<NewAuditEntry, "details">>

/** What notes are made with. */
export interface Notes {
  readonly audit?: Auditing
  /** What people are called now, by id. */
  readonly namesOf?: (
    ids: readonly string[],
    tenant: string | null
  ) => Effect.Effect<ReadonlyMap<string, string>, RecordsError>
}

/** What the caller is called now. Nothing fails because the name is not known. */
const nameOf = ({ namesOf }: Notes, { id, tenant }: Caller): Effect.Effect<string | null> =>
  namesOf === undefined
    ? Effect.succeed(null)
    : Effect.map(Effect.catch(namesOf([id], tenant), () => Effect.succeed(new Map<string, string>())), (names) =>
      names.get(id) ?? null)

/**
 * Asks what the caller is called, then does work that notes in transactions. A transaction must not ask: it would hold its locks and its connection while it
 * waits for the database of accounts.
 */
export const named = <A, E>(use: Notes, caller: Caller, work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  use.audit === undefined
    ? work
    : Effect.flatMap(
      nameOf(use, caller),
      (name) => Effect.provideService(work, Named, { id: caller.id, name })
    )

const entriesOf = (
  { id, tenant }: Caller,
  name: string | null,
  acts: readonly Noted[],
  asked: AskedBy | null
): readonly NewAuditEntry[] => {
  const actor = { id, name }
  const [key, request] = [asked?.key() ?? null, asked?.id ?? null]
  return acts.map((noted) => boundedEntry({ details: {}, ...noted, actor, tenant, key, request }))
}

/** Notes acts that are done. Never fails. */
export const keepNotes = (
  { lost, store }: Auditing,
  entries: readonly NewAuditEntry[]
): Effect.Effect<void> =>
  Effect.catchCause(store.add(entries), (cause) => Effect.sync(() => lost(entries, Cause.squash(cause))))

/** Notes what a caller has done. It goes on when the caller goes away. `asked`: the request, where that is not the fiber's. */
export const note = (
  use: Notes,
  caller: Caller,
  acts: readonly Noted[],
  asked?: AskedBy | null
): Effect.Effect<void> => {
  const { audit } = use
  if (audit === undefined) return Effect.void
  return Effect.uninterruptible(Effect.flatMap(Asked, (own) =>
    Effect.flatMap(
      nameOf(use, caller),
      (name) => keepNotes(audit, entriesOf(caller, name, acts, asked ?? own))
    )))
}

/** Notes what a caller does in a transaction, with the name that `named` has asked for before it. */
export const noteWithin = (
  use: Notes,
  caller: Caller,
  acts: readonly Noted[],
  within: TransactionHandle
): Effect.Effect<void, RecordsError> => {
  const { audit } = use
  if (audit === undefined) return Effect.void
  return Effect.flatMap(Asked, (asked) =>
    Effect.flatMap(Named, (known) => {
      const name = known?.id === caller.id ? known.name : null
      return audit.store.add(entriesOf(caller, name, acts, asked), within)
    }))
}
