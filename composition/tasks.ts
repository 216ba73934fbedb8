/** Bulk changes and imports put together: what they are kept and run by, and which roles the people behind them have. */

import * as Effect from "effect/Effect"
import { codeBehind } from "../adapters/http/access-log.ts"
import type { Core } from "../core/app/ground/core.ts"
import { functionsCore } from "../core/app/make-app.ts"
import type { TaskParts } from "../core/app/task/parts.ts"
import { taskJobName } from "../core/app/task/run.ts"
import type { Tasking } from "../core/app/task/tasking.ts"
import type { AccessResolver } from "../core/domain/access/resolve.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { classOf } from "../core/domain/thrown.ts"
import type { QueueService } from "../core/ports/queue.ts"
import type { TasksService } from "../core/ports/tasks.ts"
import { type OwnerRoles, rolesNow } from "./event-parts.ts"
import { newId } from "./files.ts"

export interface TaskOptions {
  readonly compiled: Pick<Compiled, "tasks">
  readonly tasks: TasksService
  readonly queue: QueueService
  readonly wake: (name: string) => void
  readonly ownerRoles: OwnerRoles | undefined
  readonly log?: ((line: string) => void) | undefined
}

/** The parts of tasks; null: there are none, or nobody knows the roles of people. */
export const makeTaskParts = (options: TaskOptions): TaskParts | null => {
  const { compiled: { tasks }, log, ownerRoles, queue, tasks: store, wake } = options
  if (tasks === null || (tasks.ownerRoles === null && ownerRoles === undefined)) return null
  const plan = (id: string) => ({
    name: taskJobName,
    payload: JSON.stringify({ id }),
    runAt: null,
    delayMs: null,
    priority: 0,
    key: id,
    mode: "dedupe" as const,
    group: null,
    ordered: false,
    maxAttempts: null
  })
  return {
    tasks: store,
    enqueue: (id, within) => Effect.asVoid(queue.enqueue([plan(id)], within)),
    wake: () => wake(taskJobName),
    rolesOf: rolesNow(tasks.ownerRoles, ownerRoles),
    newId,
    maxImportBytes: tasks.maxImportBytes,
    // The kind of error and its place, never its text, which may quote values.
    unexpected: (error) =>
      log?.(JSON.stringify({
        level: "error",
        time: new Date().toISOString(),
        event: "task-record",
        error: classOf(error),
        code: codeBehind(error)
      }))
  }
}

/** Tasks over the foundation of a service. */
export const taskingOn = (
  { core, resolver }: { readonly core: Core; readonly resolver: AccessResolver },
  { functions }: Pick<Compiled, "functions">,
  parts: TaskParts
): Tasking => ({ ...parts, core, accesses: functionsCore(core, resolver, functions).accesses })
