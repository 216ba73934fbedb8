/** The dependencies of tasks, and the start of a task: its row and its job, in one transaction. */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Caller } from "../../domain/access/caller.ts"
import { keptFilter } from "../../domain/audit/entry.ts"
import { isBag } from "../../domain/bag.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { mostOpen, taskDocument } from "../../domain/task/task.ts"
import type { Task, TaskRequest, TaskState } from "../../domain/task/task.ts"
import { timestampFromMicros } from "../../domain/value/instant.ts"
import type { RecordsError, RecordsTransaction } from "../../ports/records.ts"
import type { Within } from "../../ports/tasks.ts"
import { type Noted, noteWithin } from "../ground/audit.ts"
import { json } from "../ground/call.ts"
import type { Accesses, Call } from "../ground/call.ts"
import type { Core } from "../ground/core.ts"
import { queueProblem } from "../ground/refusal.ts"
import type { Outcome } from "../write/single.ts"
import type { TaskParts } from "./parts.ts"

export interface Tasking extends TaskParts {
  readonly core: Core
  readonly accesses: (caller: Caller) => Accesses
}

const tooMany = (): Problem =>
  problem(
    "too-many-requests",
    `You have ${mostOpen} tasks that have not ended. Wait for one, or cancel it.`,
    {},
    { "retry-after": "10" }
  )

/** A new task of the caller. */
export const newTask = Effect.fnUntraced(function*(
  use: Tasking,
  call: Call,
  made: {
    readonly resource: string
    readonly request: TaskRequest
    readonly state: TaskState
    readonly total: number | null
  }
): Effect.fn.Return<Task> {
  const now = yield* Clock.currentTimeMillis
  const { id, roles, tenant } = call.caller
  return {
    id: use.newId(),
    owner: { id, roles: [...roles], tenant },
    position: null,
    done: 0,
    written: 0,
    refused: 0,
    error: null,
    createdAt: timestampFromMicros(BigInt(now) * 1000n),
    endedAt: null,
    ...made
  }
})

/** Stores a task, or refuses because its owner has too many. */
export const keepTask = (use: Tasking, task: Task, within?: Within): Effect.Effect<void, Problem | RecordsError> =>
  Effect.flatMap(use.tasks.create(task, mostOpen, within), (isRoom) => isRoom ? Effect.void : Effect.fail(tooMany()))

/** The URL of a task. */
export const taskPath = (use: Tasking, id: string): string => {
  const { basePath } = use.core.options
  return `${basePath.slice(0, basePath.lastIndexOf("/"))}/tasks/${id}`
}

/** What starts of a task, for the audit: names of fields, and no value. */
export const taskNote = ({ id, request, resource, total }: Task): Noted => {
  const subject = { kind: "resource", id: resource, name: null } as const
  if (request.kind === "bulk") {
    const { data, filter, op } = request
    const fields = isBag(data) ? Object.keys(data) : []
    return {
      act: "records.changed",
      subject,
      details: { op, filter: keptFilter(filter), fields, records: total, task: id }
    }
  }
  const fields = (request.plan?.mapping ?? []).filter((name) => name !== null)
  const details = { mode: request.plan?.mode ?? null, format: request.format, fields, records: total, task: id }
  return { act: "records.imported", subject, details }
}

/** Begins a task in a transaction: stores it, and enqueues its job. */
export const beginTask = Effect.fnUntraced(function*(
  use: Tasking,
  call: Call,
  made: Parameters<typeof newTask>[2],
  tx: RecordsTransaction
): Effect.fn.Return<Outcome, Problem | RecordsError> {
  const task = yield* newTask(use, call, made)
  yield* keepTask(use, task, tx.handle)
  yield* Effect.mapError(use.enqueue(task.id, tx.handle), queueProblem)
  yield* noteWithin(use.core, call.caller, [taskNote(task)], tx.handle)
  return {
    reply: json(202, JSON.stringify(taskDocument(task, null)), { location: taskPath(use, task.id) }),
    written: []
  }
})
