// A worker in a process of its own, to which nothing else gives work, for faults.test.ts: its database goes away, and after three tries it is told to stop.
import { defineJob } from "../../adapters/queue/define.ts"
import { startEngine } from "../../adapters/queue/engine.ts"
import { makeQueue } from "../../adapters/queue/queue.ts"
import { modelsOf } from "../contracts/queue.ts"

let isAway = false
let tries = 0
const pool = {
  connect: async () => {
    if (isAway) {
      if (++tries === 3) void workers.stop().then(() => process.stdout.write("stopped"))
      throw Object.assign(new Error("away"), { code: "ECONNREFUSED" })
    }
    return {
      query: async (text: string) => {
        // The first of the chores is none of what is looked at here.
        if (text.includes("_level")) throw new Error("There is no schema.")
        return { rows: text.startsWith("select id, identifier") ? [{ id: 1, identifier: "work" }] : [], rowCount: 0 }
      },
      release: () => {}
    }
  }
}
const workers = await startEngine({
  pool,
  queue: makeQueue(pool),
  jobs: modelsOf(defineJob<null>({ name: "work", run: () => {} })),
  attempt: () => Promise.reject(new Error("There are no jobs.")),
  log: () => {},
  pollMs: 10
})
isAway = true
