/** The dependencies of tasks: the port, the queue, and the lookup of people's roles. Types only, in the form that hosts provide. */

import type * as Effect from "effect/Effect"
import type { QueueError } from "../../ports/queue.ts"
import type { RecordsError } from "../../ports/records.ts"
import type { RolesNow } from "../../ports/subscriptions.ts"
import type { TasksService, Within } from "../../ports/tasks.ts"

/** Reports something unexpected in one record. */
export type Unexpected = (error: unknown) => void

/** The dependencies of tasks. */
export interface TaskParts {
  readonly tasks: TasksService
  /** Enqueues the job that runs a task. */
  readonly enqueue: (id: string, within?: Within) => Effect.Effect<void, QueueError>
  /** Tells the workers of this process to look for jobs now. */
  readonly wake: () => void
  /** The current roles of a person in a tenant. */
  readonly rolesOf: (id: string, tenant: string | null) => Effect.Effect<RolesNow, RecordsError>
  /** A random id of letters and digits that nobody can guess. */
  readonly newId: () => string
  /** Largest file of an import in bytes. */
  readonly maxImportBytes: number
  /** Called with unexpected errors of a record. */
  readonly unexpected: Unexpected
}
