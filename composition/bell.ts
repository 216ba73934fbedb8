/**
 * Tells the parts of this process that work later what the parts that are made earlier have done: jobs were enqueued, changes were committed. It is made
 * before both, so that neither has to know the other. Nobody listens until workers and dispatch have started.
 */

import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export interface BellService {
  /** Jobs of a name were enqueued here. */
  readonly enqueued: (name: string) => void
  /** Changes were committed here. */
  readonly changed: () => void
  /** Who is told of jobs from now on. */
  readonly onEnqueued: (listener: (name: string) => void) => void
  /** Who is told of changes from now on. */
  readonly onChanged: (listener: () => void) => void
}

/** The bell of a process. */
export class Bell extends Context.Service<Bell, BellService>()("resource-admin/Bell") {}

const nobody = (): void => {}

export const makeBell = (): BellService => {
  let workers: (name: string) => void = nobody
  let dispatch: () => void = nobody
  return {
    enqueued: (name) => workers(name),
    changed: () => dispatch(),
    onEnqueued: (listener) => {
      workers = listener
    },
    onChanged: (listener) => {
      dispatch = listener
    }
  }
}

export const bell: Layer.Layer<Bell> = Layer.sync(Bell, makeBell)
