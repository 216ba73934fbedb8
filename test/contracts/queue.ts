/**
 * The contract of the queue port, one suite for every implementation: the states and options of docs/guides/jobs.md. Times are those of the harness: in memory
 * they pass at once, on PostgreSQL what is stored is moved into the past.
 */

import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest"
import { enqueueSuite } from "./queue-enqueue.ts"
import { keysSuite } from "./queue-keys.ts"
import { limitsSuite } from "./queue-limits.ts"
import { pausesSuite } from "./queue-pauses.ts"
import { schedulesSuite } from "./queue-schedules.ts"
import { searchSuite } from "./queue-search.ts"
import { triesSuite } from "./queue-tries.ts"
import { waitingSuite } from "./queue-waiting.ts"
import { makeWords, type QueueHarness } from "./queue-words.ts"
import { workersSuite } from "./queue-workers.ts"

export { modelsOf, type QueueHarness } from "./queue-words.ts"

/** Runs the suite. `make` is called once. */
export const queueContract = (name: string, make: () => Promise<QueueHarness>): void => {
  describe(`queue: ${name}`, () => {
    let made: QueueHarness
    const words = makeWords({
      get queue() {
        return made.queue
      },
      get db() {
        return made.db
      },
      transaction: (work) => made.transaction(work),
      start: (jobs, attempt) => made.start(jobs, attempt),
      advance: (milliseconds) => made.advance(milliseconds),
      until: (holds) => made.until(holds),
      now: () => made.now(),
      loseWorkers: () => made.loseWorkers(),
      clear: () => made.clear(),
      close: () => made.close()
    })

    beforeAll(async () => {
      made = await make()
    })
    afterAll(() => made?.close())
    beforeEach(() => made.clear())
    afterEach(words.end)

    enqueueSuite(words)
    keysSuite(words)
    triesSuite(words)
    waitingSuite(words)
    searchSuite(words)
    limitsSuite(words)
    schedulesSuite(words)
    pausesSuite(words)
    workersSuite(words)
  })
}
