/** Bulk changes and imports: their types, and the calls that begin, check, cancel and report them. */

import { useQuery } from "@tanstack/react-query"
import type { ImportColumn, ImportPlan, TaskRefusal, TaskState } from "../../../core/domain/task/task.ts"
import type { Resource } from "../model/catalogue.ts"
import { client } from "../model/client.ts"

/** What a bulk change does to each record. */
export type BulkOp = Resource["transfers"]["bulk"][number]

/** How an import turns lines into records, as it is sent. */
export type Plan = Omit<ImportPlan, "match"> & Partial<Pick<ImportPlan, "match">>

export interface Task {
  readonly id: string
  readonly resource: string
  readonly kind: "bulk" | "import"
  readonly state: TaskState
  readonly total: number | null
  readonly done: number
  readonly written: number
  readonly refused: number
  readonly error: { readonly slug: string; readonly message: string } | null
  readonly created_at: string
  readonly ended_at: string | null
  readonly refusals?: readonly TaskRefusal[]
  /** Of bulk changes. */
  readonly op?: BulkOp
  /** Of imports. */
  readonly name?: string | null
  readonly columns?: readonly ImportColumn[]
  readonly plan?: Plan | null
}

export interface BulkBody {
  readonly op: BulkOp
  readonly filter: string
  readonly except: readonly string[]
  readonly data?: { readonly [field: string]: unknown }
}

export interface BulkPreview {
  readonly total: number
  readonly tried: number
  readonly written: number
  readonly refused: number
  readonly refusals: readonly TaskRefusal[]
}

/** Whether a job works on a task. */
export const isWorking = ({ state }: Pick<Task, "state">): boolean => state === "running" || state === "checking"

/** Whether a task has ended. */
export const isOver = ({ state }: Pick<Task, "state">): boolean =>
  state === "completed" || state === "cancelled" || state === "failed"

export const previewBulk = async (resource: string, json: BulkBody, signal: AbortSignal): Promise<BulkPreview> =>
  (await client.request<BulkPreview>({
    method: "POST",
    path: `/${resource}:bulk`,
    query: { dry_run: true },
    json,
    signal,
    repeatable: true
  })).data

export const startBulk = async (resource: string, json: BulkBody, key: string): Promise<Task> =>
  (await client.request<Task>({
    method: "POST",
    path: `/${resource}:bulk`,
    json,
    headers: { "idempotency-key": key },
    repeatable: true
  })).data

/** Uploads a file. Its extension decides between CSV and NDJSON. */
export const uploadFile = async (resource: string, file: File, signal: AbortSignal): Promise<Task> => {
  const format = /\.(?:ndjson|jsonl)$/i.test(file.name) ? "ndjson" : "csv"
  return (await client.request<Task>({
    method: "POST",
    path: `/${resource}:import`,
    query: { format, name: file.name },
    body: file,
    headers: { "content-type": format === "csv" ? "text/csv" : "application/x-ndjson" },
    signal
  })).data
}

const taskPath = (id: string): string => `/tasks/${encodeURIComponent(id)}`

/** Checks an import, or starts it. */
export const planTask = async (id: string, verb: "check" | "start", plan: Plan): Promise<Task> =>
  (await client.request<Task>({ method: "POST", path: `${taskPath(id)}:${verb}`, system: true, json: plan })).data

export const cancelTask = async (id: string): Promise<Task> =>
  (await client.request<Task>({ method: "POST", path: `${taskPath(id)}:cancel`, system: true, repeatable: true })).data

export const reportOf = (id: string) => ({
  method: "GET",
  path: `${taskPath(id)}:report`,
  system: true,
  query: { format: "csv" }
})

export const taskKey = (id: string) => ["task", id] as const

/** A task. It is read again each second while a job works on it. */
export const useTask = (id: string) =>
  useQuery({
    queryKey: taskKey(id),
    queryFn: async ({ signal }) =>
      (await client.request<Task>({ method: "GET", path: taskPath(id), system: true, signal })).data,
    refetchInterval: ({ state: { data } }) => data !== undefined && isWorking(data) ? 1_000 : false
  })

/** The caller's tasks. */
export const useTasks = () =>
  useQuery({
    queryKey: ["tasks"],
    queryFn: async ({ signal }) =>
      (await client.request<{ readonly tasks: readonly Task[] }>({
        method: "GET",
        path: "/tasks",
        system: true,
        signal
      }))
        .data.tasks,
    refetchInterval: 5_000
  })
