/**
 * The dispatch loop: it looks for changes when it is woken and at intervals, holds the lease while it works, and releases it. It decides when to
 * look. dispatch.ts decides what happens to changes.
 */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { isBag } from "../../domain/bag.ts"
import { dispatchChanges, type Dispatching, Lanes, mostChanges } from "./dispatch.ts"

/** The poll interval for changes without a notification: "within two seconds", with a margin. */
const pollMs = 1_500
/** How soon it looks again while another process has the lease. */
const heldMs = 200
/** Wait after a failure of the database, doubling up to the longest. */
const firstWaitMs = 200
const longestWaitMs = 10_000
/** How often expired changes are removed. */
const forgetMs = 60_000

export interface DispatchLoop {
  /** Changes were committed: it looks for them at once. */
  readonly wake: () => void
  /** Dispatches the waiting changes, and tells whether none is left. Fails as the database does. */
  readonly drain: Effect.Effect<void, unknown>
  /** Stops after the current batch. First attempts that take longer continue until their timeout. */
  readonly stop: () => Promise<void>
}

/** Starts the loop. `holder` is the unique name of this process. */
export const startDispatchLoop = (use: Dispatching, holder: string): DispatchLoop => {
  const lanes = new Lanes()
  let woken = false
  let stopping = false
  let ring = (): void => {}
  const wake = (): void => {
    woken = true
    ring()
  }
  const pause = (milliseconds: number): Effect.Effect<void> =>
    Effect.callback((resume) => {
      if (woken || stopping) return resume(Effect.void)
      const timer = Effect.runFork(Effect.andThen(Effect.sleep(milliseconds), Effect.sync(() => ring())))
      ring = () => {
        ring = () => {}
        timer.interruptUnsafe()
        resume(Effect.void)
      }
      return Effect.sync(() => timer.interruptUnsafe())
    })

  /** Dispatches until nothing is left. False: another process has the lease. */
  const work = Effect.fnUntraced(function*() {
    for (;;) {
      const changes = yield* use.changes.take(holder, mostChanges)
      if (changes === null) return false
      if (changes.length === 0) break
      // Another holder took over meanwhile, so the remaining changes are taken again.
      yield* Effect.catchTag(dispatchChanges(use, lanes, changes), "Taken", () => Effect.void)
      if (stopping) break
    }
    yield* use.changes.release(holder)
    return true
  })

  const loop = Effect.gen(function*() {
    let wait = firstWaitMs
    let forgotten = yield* Clock.currentTimeMillis
    while (!stopping) {
      woken = false
      const looked = yield* Effect.exit(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        if (now - forgotten > forgetMs) {
          forgotten = now
          yield* use.changes.forget
        }
        return (yield* use.changes.waiting) ? yield* work() : true
      }))
      if (Exit.isSuccess(looked)) {
        wait = firstWaitMs
        yield* pause(looked.value ? pollMs : heldMs)
      } else {
        use.log("error", "dispatch", { error: nameOf(looked.cause) })
        yield* Effect.sleep(wait)
        wait = Math.min(wait * 2, longestWaitMs)
      }
    }
  })
  const fiber = Effect.runFork(loop)
  return {
    wake,
    drain: Effect.gen(function*() {
      while (yield* use.changes.waiting) {
        wake()
        yield* Effect.sleep(heldMs)
      }
    }),
    stop: () => {
      stopping = true
      ring()
      return Effect.runPromise(Effect.asVoid(Fiber.await(fiber)))
    }
  }
}

/** The kind of a failure, never its text, which may hold values. */
const nameOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  const reason = isBag(error) ? error["reason"] : undefined
  if (isBag(reason) && typeof reason["_tag"] === "string") return reason["_tag"]
  return error instanceof Error ? error.name : typeof error
}
