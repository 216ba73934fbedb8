/**
 * Tasks: work that a person starts and that continues after the request, a bulk change or an import. Types and limits only. The use cases decide
 * what a batch does.
 */

import type { Caller } from "../access/caller.ts"
import type { Delimiter, Formulas } from "../read/request.ts"
import type { Json } from "../value/kind.ts"

/** Records of one batch, each of which is one transaction. */
export const batchSize = 500
/** Most records that the dry run of a bulk change tries, and about how long it goes on trying. */
export const previewSize = 5_000
export const previewMs = 1_000
/** Unfinished tasks of one person. */
export const mostOpen = 5
/** Most stored refusals of a task, and most refusals in its document. */
export const mostKept = 10_000
export const mostListed = 200
/** Refusals that one record may have. */
export const mostPerRecord = 20

/**
 * `uploading`: the file of an import is being sent. `uploaded`: the task waits for a check or a start. `checking`: everything is tried and rolled
 * back. `checked`: the check has ended. `running`: batches are written. The other states are final.
 */
export type TaskState =
  | "uploading"
  | "uploaded"
  | "checking"
  | "checked"
  | "running"
  | "completed"
  | "cancelled"
  | "failed"

/** States in which nothing more happens to a task. */
export const ended: readonly TaskState[] = ["completed", "cancelled", "failed"]
/** States in which a job works on it. */
export const working: readonly TaskState[] = ["checking", "running"]

export const bulkOps = ["update", "delete", "undelete"] as const
/** What a bulk change does to each record. */
export type BulkOp = (typeof bulkOps)[number]

/** A change of all records that pass a filter, with some excluded. */
export interface BulkRequest {
  readonly kind: "bulk"
  readonly op: BulkOp
  readonly filter: string
  /** Keys as in URLs. */
  readonly except: readonly string[]
  /** The body of each update; null for the other operations. */
  readonly data: Json
}

/** A column of an uploaded table, or a member of its objects. */
export interface ImportColumn {
  readonly name: string
  /** The first values, as texts. */
  readonly samples: readonly string[]
  /** The field that it is probably meant for. */
  readonly guess: string | null
}

/** How the lines of a file become records. */
export interface ImportPlan {
  /** For each column its field, or null: it is left out. */
  readonly mapping: readonly (string | null)[]
  readonly mode: "create" | "update" | "upsert"
  /** The field by which records are found, or all fields of a key that has several; null where all lines are created. */
  readonly match: string | readonly string[] | null
  /** What happens at the first batch with a refused line. */
  readonly errors: "stop" | "skip"
}

/** The fields by which an import finds records. None: all lines are created. */
export const matchNames = ({ match }: Pick<ImportPlan, "match">): readonly string[] =>
  match === null ? [] : typeof match === "string" ? [match] : match

/** An uploaded file. */
export interface ImportRequest {
  readonly kind: "import"
  readonly format: "csv" | "ndjson"
  readonly delimiter: Delimiter
  readonly formulas: Formulas
  /** The file's name as the client says. */
  readonly name: string | null
  readonly columns: readonly ImportColumn[]
  readonly plan: ImportPlan | null
}

export type TaskRequest = BulkRequest | ImportRequest

/** Why a task ended before it had done everything. */
export interface TaskError {
  readonly slug: string
  readonly message: string
}

/** Seconds without a sign of life after which an upload counts as ended, and between two such signs. */
export const silentSeconds = 60
export const beatSeconds = 15
/** Why an upload ended whose service was killed. */
export const brokenOff: TaskError = {
  slug: "malformed-request",
  message: "The file did not arrive: the service that received it has ended. Send it again."
}

/** A task as it is kept. */
export interface Task {
  readonly id: string
  readonly resource: string
  readonly state: TaskState
  /** Who started it, with the roles that the credential had at that time. */
  readonly owner: Caller
  readonly request: TaskRequest
  /** Where the next batch begins. Null: at the beginning. Its form depends on the kind of task. */
  readonly position: string | null
  /** Records or lines in all, as counted at the start; null: not known. */
  readonly total: number | null
  /** Records or lines processed, and how many of these were written and refused. The others needed no change. */
  readonly done: number
  readonly written: number
  readonly refused: number
  readonly error: TaskError | null
  /** Canonical timestamps. */
  readonly createdAt: string
  readonly endedAt: string | null
}

/** One error of a record. It has the key in a bulk change, and line and column in an import. */
export interface TaskRefusal {
  readonly key: string | null
  readonly line: number | null
  readonly column: string | null
  readonly field: string | null
  readonly slug: string
  readonly message: string
}

/** The document of a task for its owner. */
export const taskDocument = (
  task: Task,
  refusals: readonly TaskRefusal[] | null
): { readonly [name: string]: unknown } => {
  const { createdAt, done, endedAt, error, id, refused, request, resource, state, total, written } = task
  return {
    id,
    resource,
    ...request,
    state,
    total,
    done,
    written,
    refused,
    error,
    created_at: createdAt,
    ended_at: endedAt,
    ...(refusals === null ? {} : { refusals })
  }
}
