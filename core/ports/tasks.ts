/**
 * The port to tasks, the lines of their uploads in parts, and their refusals. The adapter only stores them.
 *
 * Contract (test/contracts/tasks.ts runs it against the fake and PostgreSQL):
 * - Changes `within` a transaction become permanent with its commit, and disappear with its rollback.
 * - `claim` gives a task to one transaction at a time.
 * - The parts and refusals of a task are removed with it.
 * - An upload without a sign of life (`beat`) for a minute has failed: it is not counted, and is read as `failed` until there is one.
 */

import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Caller } from "../domain/access/caller.ts"
import type { Task, TaskError, TaskRefusal, TaskRequest, TaskState } from "../domain/task/task.ts"
import { type RecordsError, type TransactionHandle } from "./records.ts"

/** A change of a task. Members that are left out do not change. */
export interface TaskChange {
  /** When the new state is final, the task gets the time of its end. */
  readonly state?: TaskState
  readonly request?: TaskRequest
  readonly position?: string | null
  readonly total?: number | null
  readonly error?: TaskError | null
  /** Resets its counts and refusals before the new ones are added. */
  readonly restart?: boolean
  /** Added to its counts. */
  readonly done?: number
  readonly written?: number
  readonly refused?: number
  /** Added to its refusals, of which the first 10,000 are kept. */
  readonly refusals?: readonly TaskRefusal[]
  /** Removes the parts of its upload. */
  readonly drop?: boolean
}

/** A transaction of the port to records (its `handle`). */
export type Within = TransactionHandle

export interface TasksService {
  /** Adds a task. False: its owner already has `most` unfinished tasks. It also removes old tasks of all owners. */
  readonly create: (task: Task, most: number, within?: Within) => Effect.Effect<boolean, RecordsError>
  /** A sign of life of who receives an upload. */
  readonly beat: (id: string) => Effect.Effect<void, RecordsError>
  readonly find: (id: string) => Effect.Effect<Task | null, RecordsError>
  /** Tasks of one person in one tenant, newest first, at most 50. */
  readonly list: (owner: Pick<Caller, "id" | "tenant">) => Effect.Effect<readonly Task[], RecordsError>
  /** The task, locked for the rest of the transaction. Null: there is none. */
  readonly claim: (id: string, within: Within) => Effect.Effect<Task | null, RecordsError>
  /** Changes a task if it is in one of the states. False: it is not. */
  readonly change: (
    id: string,
    from: readonly TaskState[],
    change: TaskChange,
    within?: Within
  ) => Effect.Effect<boolean, RecordsError>
  /** Keeps one part of an upload, numbered from 0. False: the task is not `uploading` any more. */
  readonly addPart: (id: string, part: number, text: string) => Effect.Effect<boolean, RecordsError>
  readonly part: (id: string, part: number) => Effect.Effect<string | null, RecordsError>
  /** Refusals in the order in which they were added. */
  readonly refusals: (
    id: string,
    page: { readonly offset: number; readonly limit: number }
  ) => Effect.Effect<readonly TaskRefusal[], RecordsError>
  readonly remove: (id: string) => Effect.Effect<void, RecordsError>
}

/** Bulk changes and imports. */
export class Tasks extends Context.Service<Tasks, TasksService>()("resource-admin/Tasks") {}
