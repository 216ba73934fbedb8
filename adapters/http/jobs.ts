/** The routes of the queue below `/api/jobs`. It decides paths and methods, and nothing about jobs. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Reply } from "../../core/app/ground/call.ts"
import type { QueueApp } from "../../core/app/job/queue.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { parentPath } from "../../core/domain/declare/config.ts"
import { notFound } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import type { ExtraRoute, Visit } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import { decodePercent, readQuery } from "./request.ts"

type Pairs = Parameters<QueueApp["list"]>[1]
type Answer = Effect.Effect<Reply, Problem>

/** What a path has by method. */
type Methods = { readonly [method: string]: (caller: Caller, query: Pairs) => Answer }

/** The methods of a path, by its rest behind `/api/jobs`. Null: there is no such route. */
const methodsOf = (app: QueueApp, rest: string): Methods | null => {
  if (rest === "") return { GET: app.list }
  if (rest === ":pause") return { POST: app.pause }
  if (rest === ":resume") return { POST: app.resume }
  if (rest === "/activity") return { GET: app.activity }
  if (rest === "/failed") return { GET: app.failed, DELETE: app.removeAll }
  if (rest === "/failed:retry") return { POST: app.retryAll }
  if (rest === "/running") return { GET: app.running }
  if (rest === "/pending") return { GET: app.pending }
  const [, list, segment, verb] = /^\/(failed|pending|running)\/([^/:]+)(:[a-z]+)?$/.exec(rest) ?? []
  const id = segment === undefined ? null : decodePercent(segment)
  if (id === null) return null
  if (list === "running") {
    return verb === undefined ? { GET: (caller, query) => app.runningJob(caller, id, query) } : null
  }
  if (list === "pending") {
    if (verb === ":run") return { POST: (caller, query) => app.hurry(caller, id, query) }
    return verb === undefined
      ? {
        GET: (caller, query) => app.pendingJob(caller, id, query),
        DELETE: (caller, query) => app.cancel(caller, id, query)
      }
      : null
  }
  if (verb !== undefined && verb !== ":retry") return null
  return verb === undefined
    ? {
      GET: (caller, query) => app.failedJob(caller, id, query),
      DELETE: (caller, query) => app.remove(caller, id, query)
    }
    : { POST: (caller, query) => app.retry(caller, id, query) }
}

const allowOf = (methods: readonly string[]): string =>
  methods.flatMap((method) => method === "GET" ? ["GET", "HEAD"] : [method]).join(", ")

const withQuery = (visit: Visit, next: (query: Pairs) => Answer): Answer => {
  const query = readQuery(visit.query)
  return Result.isFailure(query) ? Effect.fail(query.failure) : next(query.success)
}

/**
 * The routes of a service whose resources are at `basePath`. Jobs of all tenants stand in one queue, so `operated` leaves them to the operator: an admin is one of
 * a tenant.
 */
export const jobRoutes = (app: QueueApp, basePath: string, operated = false): readonly ExtraRoute[] => {
  const prefix = `${parentPath(basePath)}/jobs`
  const { drain } = app
  return [
    ...(operated ? [] : [{
      prefix,
      access: "caller" as const,
      handle: (visit: Visit, caller: Caller) => {
        const methods = methodsOf(app, visit.path.slice(prefix.length))
        if (methods === null) return Effect.fail(notFound())
        // A method may be any token (RFC 9110, 9.1), also `constructor`, a name that every object has.
        const run = Object.hasOwn(methods, visit.method) ? methods[visit.method] : undefined
        return run === undefined
          ? Effect.fail(methodNotAllowed(allowOf(Object.keys(methods))))
          : withQuery(visit, (query) => run(caller, query))
      }
    }]),
    ...(drain === null ? [] : [{
      prefix: `${prefix}/drain`,
      access: "public" as const,
      anywhere: true as const,
      handle: (visit: Visit) => {
        const bearer = /^Bearer +(\S+)$/i.exec(visit.request.headers.get("authorization") ?? "")?.[1] ?? null
        // A missing token is reported before anything else.
        return Effect.flatMap(drain.permit(bearer), () =>
          visit.path !== `${prefix}/drain`
            ? Effect.fail(notFound())
            : visit.method !== "POST"
            ? Effect.fail(methodNotAllowed("POST"))
            : withQuery(visit, drain.run))
      }
    }])
  ]
}
