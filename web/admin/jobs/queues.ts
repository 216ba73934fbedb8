/** The types of the service's answers about jobs, and their queries. */

import { useQuery, type UseQueryResult } from "@tanstack/react-query"
import { client } from "../shell/client.ts"

export interface Queue {
  readonly name: string
  readonly declared: boolean
  readonly waiting: number
  readonly running: number
  readonly retrying: number
  readonly failed: number
  readonly completed: number
  readonly nextDue: string | null
  readonly oldestDue: string | null
  readonly schedule: string | null
  readonly timezone: string | null
  readonly nextRun: string | null
  readonly lastRun: { readonly at: string; readonly state: "running" | "retrying" | "failed" | "completed" } | null
}

export interface FailedJob {
  readonly id: string
  readonly name: string
  readonly attempts: number
  readonly error: string
  readonly group: string | null
  readonly waitingBehind: number
  readonly enqueuedAt: string
  readonly failedAt: string
  /** Null in lists where it is long. */
  readonly payload: unknown
  readonly payloadBytes: number
}

export interface PendingJob {
  readonly id: string
  readonly name: string
  readonly state: "waiting" | "retrying"
  readonly attempts: number
  readonly maxAttempts: number
  readonly runAt: string
  /** Empty without one. */
  readonly error: string
  readonly group: string | null
  /** Whether others of its group come first. */
  readonly held: boolean
  readonly enqueuedAt: string
  /** Null in lists where it is long. */
  readonly payload: unknown
  readonly payloadBytes: number
}

/** The counts of every queue. They are read again every `every` milliseconds while the page is visible. */
export const useQueues = (every: number): UseQueryResult<readonly Queue[]> =>
  useQuery({
    queryKey: ["jobs", "queues"],
    staleTime: 2_000,
    refetchInterval: every,
    queryFn: async ({ signal }) =>
      (await client.request<{ readonly jobs: readonly Queue[] }>({
        method: "GET",
        path: "/jobs",
        system: true,
        signal
      }))
        .data.jobs
  })
