/** The edge of the service, which ends with its scope: no request begins any more, and those under way have ten seconds to finish. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Fetch, makeFetch } from "../../adapters/http/fetch.ts"
import type { Edge } from "../../adapters/http/handle.ts"
import { Queue } from "../../core/ports/queue.ts"
import { Records } from "../../core/ports/records.ts"
import { SavedViews } from "../../core/ports/saved-views.ts"
import { Submissions } from "../../core/ports/submissions.ts"
import { Tokens } from "../../core/ports/tokens.ts"
import { Deployment } from "../deployment.ts"
import { makeServiceEdge } from "../edge.ts"
import { Uses } from "./core.ts"
import { Events } from "./events.ts"
import { Tasking, Work } from "./work.ts"

/** How the service is asked. */
export class Http extends Context.Service<Http, {
  /** Answers a web-standard request. */
  readonly fetch: Fetch
  /** For listeners that bring request objects of their own. */
  readonly edge: Edge
}>()("resource-admin/Http") {}

/** Milliseconds that running requests have to finish. */
const graceMs = 10_000

/** `fetch` with an end: after it no request begins, and those under way are waited for. */
const makeEnding = (edge: Edge, fetch: Fetch): { readonly fetch: Fetch; readonly end: () => Promise<void> } => {
  let running = 0
  let allDone = (): void => {}
  const done = (): void => {
    if (--running === 0) allDone()
  }
  return {
    fetch: (request, connection) => {
      const response = fetch(request, connection)
      running++
      response.then(done, done)
      return response
    },
    end: async () => {
      edge.end()
      if (running === 0) return
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, graceMs)
        allDone = () => {
          clearTimeout(late)
          resolve()
        }
      })
    }
  }
}

export const http = Layer.effect(
  Http,
  Effect.gen(function*() {
    const { context = Context.empty(), tasks: _, ...told } = yield* Deployment
    const { running } = yield* Work
    const tasks = yield* Tasking
    const events = yield* Events
    const edge = makeServiceEdge(
      {
        ...told,
        ...(tasks === null ? {} : { tasks }),
        tokens: yield* Tokens,
        records: yield* Records,
        submissions: yield* Submissions,
        savedViews: yield* SavedViews,
        jobs: { queue: yield* Queue, workers: running }
      },
      yield* Uses,
      events
    )
    const { end, fetch } = makeEnding(edge, makeFetch(edge, context))
    yield* Effect.addFinalizer(() => Effect.promise(end))
    // Answers that last end first.
    yield* Effect.addFinalizer(() => Effect.sync(events.watching.close))
    return { edge, fetch }
  })
)
