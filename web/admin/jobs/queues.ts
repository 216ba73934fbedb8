/** The types of the service's answers about jobs, and their queries. */

import { useInfiniteQuery, useQuery, type UseQueryResult } from "@tanstack/react-query"
import type * as state from "../../../core/domain/job/state.ts"
import type { JobCounts } from "../../../core/domain/job/state.ts"
import { ProblemError } from "../../client/index.ts"
import { client } from "../model/client.ts"

export interface Queue extends JobCounts {
  readonly declared: boolean
  readonly schedule: string | null
  readonly timezone: string | null
}

/** A job as answers have it: its payload is JSON, and null in lists where it is long. */
type Told<Job> = Omit<Job, "payload"> & {
  readonly payload: unknown
  /** Of its tries that failed. Lists have none. */
  readonly errors?: readonly state.JobError[]
}

export type FailedJob = Told<state.FailedJob>
export type PendingJob = Told<state.PendingJob>
export type BegunJob = Told<state.BegunJob>

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

/** Where jobs are listed one by one. */
type List = "failed" | "pending" | "running"

interface JobPage<Job> {
  readonly jobs: readonly Job[]
  readonly next_page_token: string | null
}

/** The most pages that are read again automatically. With more pages open, the button reads them again. */
const polledPages = 2

/** Jobs of a list in pages. The first ones are read again every five seconds. */
export const useJobs = <Job>(
  list: List,
  of: { readonly name: string | null; readonly state?: string | null; readonly search?: string | null }
) =>
  useInfiniteQuery({
    queryKey: ["jobs", list, of],
    staleTime: 2_000,
    initialPageParam: "",
    queryFn: async ({ pageParam, signal }): Promise<JobPage<Job>> =>
      (await client.request<JobPage<Job>>({
        method: "GET",
        path: `/jobs/${list}`,
        system: true,
        query: { ...of, page_size: 50, page_token: pageParam },
        signal
      })).data,
    getNextPageParam: ({ next_page_token }) => next_page_token ?? undefined,
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 1) > polledPages ? false : 5_000
  })

/** The path of a job of a list, or of an action on it. */
export const jobPath = (list: List, { id }: { readonly id: string }, verb = ""): string =>
  `/jobs/${list}/${encodeURIComponent(id)}${verb}`

/** Tries of a job that have ended. */
const triesOf = (job: BegunJob | FailedJob | PendingJob): number => "attempts" in job ? job.attempts : job.attempt - 1

/**
 * A job with its payload and its errors: a list leaves out long payloads, and all errors but the last. Both stay as they are until its next try ends, so that they are
 * asked for once, and not when lists are read again after the job was deleted or tried again.
 */
export const useWhole = <Job extends BegunJob | FailedJob | PendingJob>(list: List, job: Job): Job =>
  useQuery({
    queryKey: ["whole job", list, job.id, triesOf(job)],
    staleTime: Number.POSITIVE_INFINITY,
    // A payload that is null itself has four bytes.
    enabled: triesOf(job) > 0 || (job.payload === null && job.payloadBytes > 4),
    queryFn: async ({ signal }): Promise<Job> =>
      (await client.request<Job>({ method: "GET", path: jobPath(list, job), system: true, signal })).data
  }).data ?? job

/** Whether a job was refused because it has gone on meanwhile: nobody has it, or somebody else has it now. */
export const hasGone = (error: unknown): boolean =>
  error instanceof ProblemError && (error.status === 404 || error.status === 409)
