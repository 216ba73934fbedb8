/** The port to captured changes in memory: the same contract, in one process. What is written and when time passes is said by the test. */

import * as Effect from "effect/Effect"
import type { Transaction } from "../../core/domain/declare/config.ts"
import type { StoredChange } from "../../core/domain/event/change.ts"
import { type ChangesService, leaseSeconds, Taken } from "../../core/ports/changes.ts"
import type { RecordsError } from "../../core/ports/records.ts"

/** A change before its transaction has committed. */
export type Written = Pick<StoredChange, "relation" | "operation" | "before" | "after">

export interface FakeChanges extends ChangesService {
  /** Begins a transaction. Numbers are given as rows are written; they are there for others once it has committed. */
  readonly begin: () => { readonly write: (change: Written) => void; readonly commit: () => void }
  readonly pass: (seconds: number) => void
}

const keptSeconds = 600
const eventSeconds = 3_600
const watchedSeconds = 720

/** `transaction`: what the work of `settle` gets. It is called for each, and what it gives back is told how it ended. */
export const makeFakeChanges = (
  transaction: () => { readonly handle: Transaction; readonly end: (committed: boolean) => void }
): FakeChanges => {
  let clock = 0
  let sequence = 0
  let transactions = 0
  let position = 0
  let lease: { readonly holder: string; readonly until: number } | null = null
  let waiting: StoredChange[] = []
  let kept: StoredChange[] = []
  let recent: Array<{ readonly position: string; readonly change: StoredChange; readonly at: number }> = []
  const watched = new Map<string, number>()
  const inOrder = (): readonly StoredChange[] =>
    kept.toSorted((a, b) => a.at === b.at ? Number(a.sequence) - Number(b.sequence) : a.at < b.at ? -1 : 1)
  const bySequence = (a: StoredChange, b: StoredChange): number => Number(a.sequence) - Number(b.sequence)
  return {
    begin: () => {
      const own: StoredChange[] = []
      const id = String(++transactions)
      return {
        write: (change) =>
          void own.push({
            ...change,
            sequence: String(++sequence),
            transaction: id,
            at: new Date(clock * 1_000).toISOString(),
            actor: null
          }),
        commit: () => void (waiting = [...waiting, ...own].toSorted(bySequence))
      }
    },
    pass: (seconds) => void (clock += seconds),
    waiting: Effect.sync(() => waiting.length > 0),
    take: (holder, limit) =>
      Effect.sync(() => {
        if (
          lease !== null && lease.holder !== holder && lease.until >= clock && lease.until <= clock + leaseSeconds
        ) return null
        lease = { holder, until: clock + leaseSeconds }
        return waiting.slice(0, limit)
      }),
    release: (holder) => Effect.sync(() => void (lease?.holder === holder && (lease = null))),
    settle: (changes, work) =>
      Effect.suspend((): Effect.Effect<void, RecordsError | Taken> => {
        const gone = new Set(changes.map((each) => each.sequence))
        const found = waiting.filter((each) => gone.has(each.sequence))
        if (found.length !== changes.length) return Effect.fail(new Taken())
        const { end, handle } = transaction()
        return Effect.map(Effect.tapError(work(handle), () => Effect.sync(() => end(false))), () => {
          end(true)
          waiting = waiting.filter((each) => !gone.has(each.sequence))
          for (const change of found) {
            if (change.operation !== "truncate") kept.push(change)
            if (change.operation === "truncate" || (watched.get(change.relation) ?? -1) < clock) continue
            recent.push({ position: String(++position), change, at: clock })
          }
        })
      }),
    watch: (relations) =>
      Effect.sync(() => {
        for (const relation of relations) watched.set(relation, clock + watchedSeconds)
      }),
    keptSince: Effect.sync(() => inOrder()[0]?.at ?? null),
    between: ({ after, since, until }, limit) =>
      Effect.sync(() =>
        inOrder().filter(({ at, sequence }) =>
          at >= since && at < until &&
          (after === null || at > after.at || (at === after.at && Number(sequence) > Number(after.sequence)))
        ).slice(0, limit)
      ),
    last: Effect.sync(() => ({ position: String(position), seconds: clock })),
    since: (relations, after, limit) =>
      Effect.sync(() =>
        recent.filter((each) => Number(each.position) > Number(after) && relations.includes(each.change.relation))
          .slice(0, limit).map(({ change, position: at }) => ({ change, position: at }))
      ),
    forget: Effect.sync(() => {
      kept = kept.filter(({ at }) => Date.parse(at) / 1_000 >= clock - eventSeconds)
      recent = recent.filter(({ at }) => at >= clock - keptSeconds)
      for (const [relation, until] of watched) if (until < clock) watched.delete(relation)
    })
  }
}
