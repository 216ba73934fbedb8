// Runs the contract of the queue port on the fake, on PostgreSQL, and on PostgreSQL through PgBouncer in transaction mode.
import { describe, it } from "vitest"
import { FakeQueue } from "../fakes/queue.ts"
import { findPooler } from "../support/pooler.ts"
import { openQueue } from "../support/queue.ts"
import { queueContract } from "./queue.ts"

queueContract("in memory", async () => {
  let fake = new FakeQueue()
  return {
    get queue() {
      return fake.service
    },
    get db() {
      return fake.db
    },
    transaction: (work) => fake.transaction(work),
    start: async (jobs, attempt) => fake.start(jobs, attempt),
    advance: (milliseconds) => fake.advance(milliseconds),
    until: async (holds) => {
      for (let i = 0; i < 5_000; i++) {
        await fake.settle()
        if (await holds()) return
        await fake.advance(100)
      }
      throw new Error("It did not come to that within 500 seconds of the fake's time.")
    },
    now: async () => fake.now,
    loseWorkers: async () => fake.loseWorkers(),
    clear: async () => {
      fake = new FakeQueue()
    },
    close: async () => {}
  }
})

queueContract("PostgreSQL", () => openQueue())

const pooler = findPooler()
if (pooler === null) describe("queue: through PgBouncer", () => it.skip("PgBouncer is not installed", () => {}))
else queueContract("through PgBouncer", () => openQueue(pooler))
