/**
 * What a process does besides answering: it runs jobs and dispatches changes. Both start together, once, and stop together; a drain dispatches first.
 */

import * as Effect from "effect/Effect"
import type { DispatchLoop } from "../core/app/event/dispatch-loop.ts"
import type { Workers } from "../core/ports/queue.ts"
import type { BellService } from "./bell.ts"

/** Who has nothing to run. */
const idle: Workers = {
  jobs: new Map(),
  wake: () => {},
  wakeAll: () => {},
  drain: () => Effect.succeed({ drained: true, remaining: 0, nextDue: null }),
  hold: () => {},
  isPaused: () => false,
  isReady: () => true,
  stop: () => Promise.resolve()
}

/** What can be started; null: there is nothing of the sort. */
export interface Startable {
  readonly workers: (() => Promise<Workers>) | null
  readonly dispatch: (() => DispatchLoop) | null
  readonly bell: BellService
}

export interface WorkService {
  /** Starts it, once: a second call gives the same, unless the first one failed. */
  readonly start: () => Promise<Workers>
  /** Null until all of it runs. */
  readonly running: () => Workers | null
  /** Stops what was started. */
  readonly stop: () => Promise<void>
}

/** The work of a process, which has not begun. */
export const makeWork = ({ bell, dispatch, workers: startWorkers }: Startable): WorkService => {
  let running: Workers | null = null
  const begin = async (): Promise<Workers> => {
    const workers = startWorkers === null ? idle : await startWorkers()
    bell.onEnqueued(workers.wake)
    if (dispatch === null) return running = workers
    const loop = dispatch()
    bell.onChanged(loop.wake)
    return running = {
      ...workers,
      drain: (milliseconds) =>
        Effect.andThen(
          Effect.ignore(Effect.timeout(loop.drain, milliseconds)),
          workers.drain(milliseconds)
        ),
      stop: async () => {
        await Promise.all([loop.stop(), workers.stop()])
      }
    }
  }
  let starting: Promise<Workers> | undefined
  return {
    start: () =>
      starting ??= begin().catch((error: unknown) => {
        // The database may be away just now: whoever calls again has it tried again.
        starting = undefined
        throw error
      }),
    running: () => running,
    // What is still starting is stopped once it has.
    stop: async () => (await starting?.catch(() => null))?.stop()
  }
}
