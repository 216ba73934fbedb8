/** The jobs of the chaos tests: each leaves a mark, the ordered ones in the order of their group. */

import { defineJob, type Job } from "../../adapters/queue/define.ts"

export const plain = defineJob<number>({
  name: "plain",
  concurrency: 20,
  maxAttempts: 1_000,
  retryDelay: 100,
  maxRetryDelay: 1_000,
  timeout: "1 hour",
  run: async (n, { db }) => void await db.query("insert into marks (grp, n) values ('', $1)", [n])
})

export const grouped = defineJob<{ readonly g: string; readonly n: number }>({
  name: "grouped",
  ordered: true,
  concurrency: 10,
  maxAttempts: 1_000,
  retryDelay: 100,
  maxRetryDelay: 1_000,
  timeout: "1 hour",
  run: async ({ g, n }, { db }) => void await db.query("insert into marks (grp, n) values ($1, $2)", [g, n])
})

export const chaosJobs: readonly Job<never>[] = [plain, grouped]
