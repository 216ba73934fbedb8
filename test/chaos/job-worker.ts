// A worker of the chaos tests: it runs the jobs of `jobs.test.ts` on DATABASE_URL until it is told to stop, or killed.
import { Pool } from "pg"
import { runOn } from "../../adapters/queue/connection.ts"
import { startEngine } from "../../adapters/queue/engine.ts"
import { makeQueue } from "../../adapters/queue/queue.ts"
import { guardLeases } from "../../composition/lease-guard.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import type { OwnDatabase } from "../../core/domain/job/definition.ts"
import { modelsOf } from "../contracts/queue.ts"
import { chaosJobs } from "./jobs.ts"

const pool = new Pool({ connectionString: process.env["DATABASE_URL"], max: 8, connectionTimeoutMillis: 3_000 })
pool.on("error", () => {})
pool.on("connect", (client) => void client.on("error", () => {}))
const query: OwnDatabase["query"] = async <Row>(sql: string, params: readonly unknown[] = []) =>
  (await runOn(pool as never, sql, params)).rows as readonly Row[]
const jobs = modelsOf(...chaosJobs)
const start = async (): Promise<Awaited<ReturnType<typeof startEngine>>> => {
  try {
    return await startEngine({
      pool: pool as never,
      queue: makeQueue(pool as never),
      jobs,
      attempt: makeAttempts(jobs, { db: { query, transaction: (work) => work({ query }) }, mail: undefined }),
      log: () => {},
      pollMs: 200,
      graceMs: 3_000,
      choreMs: 1_000,
      leaseMs: 10_000,
      guard: guardLeases(process.env["DATABASE_URL"]!)
    })
  } catch {
    // The database is away just now.
    await new Promise((resolve) => setTimeout(resolve, 200))
    return start()
  }
}
const workers = await start()
process.once("SIGTERM", () => {
  void workers.stop().then(() => pool.end()).then(() => process.exit(0))
})
// After the line above: whoever reads this may tell the worker to stop.
process.stdout.write("up\n")
