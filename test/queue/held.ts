/** The job of lease.test.ts, which several processes run: its timeout is far longer than any lease, and so is the wait for its next try. */

export const heldJob = {
  name: "held",
  ordered: true,
  concurrency: 2,
  timeout: "1 hour",
  retryDelay: "1 hour"
} as const
