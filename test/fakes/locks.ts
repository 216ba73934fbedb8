/**
 * The locks of the records fake: of rows, which one transaction has, and of names, which many may share. Whoever waits goes in turn. A circle of
 * those who wait for rows is noticed at once. It knows no rows.
 */

import * as Effect from "effect/Effect"
import { RecordsError } from "../../core/ports/records.ts"

/** Who has locks until it ends. */
export interface LockOwner {
  readonly held: Set<string>
  /** Whom it waits for, to notice deadlocks. */
  waitsFor: LockOwner | null
}

interface Lock {
  owner: LockOwner
  readonly queue: Array<{ readonly owner: LockOwner; readonly go: () => void }>
}

/** A lock of a name: many share it, or one has it alone. */
interface Hold {
  readonly owners: Map<LockOwner, "shared" | "alone">
  readonly queue: Array<{ readonly owner: LockOwner; readonly how: "shared" | "alone"; readonly go: () => void }>
}

/** The locks of one fake. */
export interface FakeLocks {
  /** Takes a lock until its owner ends, waiting for whoever has it. Fails with `Conflict` where nobody could ever go on. */
  readonly acquire: (owner: LockOwner, name: string) => Effect.Effect<void, RecordsError>
  /** Takes a lock that nobody has, or that is the owner's already. */
  readonly tryAcquire: (owner: LockOwner, name: string) => boolean
  /** Holds a name until its owner ends. Nobody here waits for rows while alone, so that no circle can come of it. */
  readonly hold: (owner: LockOwner, name: string, how: "shared" | "alone") => Effect.Effect<void>
  /** Lets go of everything. */
  readonly release: (owner: LockOwner) => void
  /** How many wait now. */
  readonly waiting: () => number
}

const without = <A>(queue: A[], waiter: A): void => {
  const at = queue.indexOf(waiter)
  if (at >= 0) queue.splice(at, 1)
}

const fits = ({ owners }: Hold, owner: LockOwner, how: "shared" | "alone"): boolean =>
  [...owners].every(([other, has]) => other === owner || (how === "shared" && has === "shared"))

export const makeFakeLocks = (): FakeLocks => {
  const locks = new Map<string, Lock>()
  const holds = new Map<string, Hold>()

  const tryAcquire = (owner: LockOwner, name: string): boolean => {
    const lock = locks.get(name)
    if (lock !== undefined) return lock.owner === owner
    locks.set(name, { owner, queue: [] })
    owner.held.add(name)
    return true
  }

  /** Lets those go on who need not wait any more. */
  const admit = (held: Hold): void => {
    while (held.queue.length > 0 && fits(held, held.queue[0]!.owner, held.queue[0]!.how)) held.queue.shift()!.go()
  }

  return {
    tryAcquire,
    acquire: (owner, name) =>
      Effect.callback<void, RecordsError>((resume) => {
        if (tryAcquire(owner, name)) return resume(Effect.void)
        const lock = locks.get(name)!
        for (let other: LockOwner | null = lock.owner; other !== null; other = other.waitsFor) {
          if (other === owner) return resume(Effect.fail(new RecordsError({ reason: { _tag: "Conflict" } })))
        }
        owner.waitsFor = lock.owner
        const waiter = {
          owner,
          go: () => {
            owner.waitsFor = null
            owner.held.add(name)
            resume(Effect.void)
          }
        }
        lock.queue.push(waiter)
        return Effect.sync(() => {
          owner.waitsFor = null
          without(lock.queue, waiter)
        })
      }),
    hold: (owner, name, how) =>
      Effect.callback<void>((resume) => {
        const held: Hold = holds.get(name) ?? { owners: new Map(), queue: [] }
        holds.set(name, held)
        const go = (): void => {
          if (held.owners.get(owner) !== "alone") held.owners.set(owner, how)
          resume(Effect.void)
        }
        if (held.owners.has(owner) ? fits(held, owner, how) : held.queue.length === 0 && fits(held, owner, how)) {
          return go()
        }
        const waiter = { owner, how, go }
        held.queue.push(waiter)
        return Effect.sync(() => {
          without(held.queue, waiter)
          admit(held)
        })
      }),
    release: (owner) => {
      for (const held of holds.values()) if (held.owners.delete(owner)) admit(held)
      for (const name of owner.held) {
        const lock = locks.get(name)!
        const next = lock.queue.shift()
        if (next === undefined) {
          locks.delete(name)
          continue
        }
        lock.owner = next.owner
        for (const waiter of lock.queue) waiter.owner.waitsFor = next.owner
        next.go()
      }
      owner.held.clear()
    },
    waiting: () => [...locks.values(), ...holds.values()].reduce((sum, { queue }) => sum + queue.length, 0)
  }
}
