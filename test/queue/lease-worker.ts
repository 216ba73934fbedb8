// A worker in a process of its own, to be killed, frozen and blocked by lease.test.ts: it runs the job `held` on DATABASE_URL with leases of LEASE_MS.
// A try ends when the file GO is there; one with the payload "blocks" lets no event through until then.
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Pool } from "pg"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { defineJob } from "../../adapters/queue/define.ts"
import { startEngine } from "../../adapters/queue/engine.ts"
import { makeQueue } from "../../adapters/queue/queue.ts"
import { guardLeases } from "../../composition/lease-guard.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import { modelsOf } from "../contracts/queue.ts"
import { heldJob } from "./held.ts"

const { DATABASE_URL: url = "", GO: go = "", LEASE_MS: leaseMs = "" } = process.env
const tell = (event: string): void => void process.stdout.write(`${event}\n`)
const nothing = new Int32Array(new SharedArrayBuffer(4))

const jobs = modelsOf(defineJob<string>({
  ...heldJob,
  run: async (payload, { job: { attempt } }) => {
    tell(`began ${payload} ${attempt}`)
    while (!existsSync(go)) {
      if (payload === "blocks") Atomics.wait(nothing, 0, 0, 20)
      else await sleep(20)
    }
  }
}))
const pool = new Pool({ ...pgAddressOf(url), max: 4 })
pool.on("error", () => {})
pool.on("connect", (client) => void client.on("error", () => {}))
await startEngine({
  pool: pool as never,
  queue: makeQueue(pool as never),
  jobs,
  attempt: makeAttempts(jobs, { db: {} as never, mail: undefined }),
  log: (_, event) => tell(event),
  pollMs: 100,
  choreMs: 200,
  leaseMs: Number(leaseMs),
  guard: guardLeases(url)
})
tell("up")
