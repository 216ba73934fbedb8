/** The routes of saved views below `/api/saved-views`. It decides paths and methods, and nothing about views. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { SavedViewsApp } from "../../core/app/saved-view/saved-views.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { parentPath } from "../../core/domain/declare/config.ts"
import { invalidParameter, notFound } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import type { ExtraRoute, Visit } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import { bodyRefusal, decodePercent, type EdgeAnswer, readQuery } from "./request.ts"

/** Largest body in bytes. */
const maxBody = 64 * 1024

type Answer = Effect.Effect<EdgeAnswer, Problem>

const withBody = ({ request }: Visit, next: (body: Uint8Array) => Answer): Answer => {
  const refusal = bodyRefusal(request, maxBody)
  return refusal === null ? Effect.flatMap(request.body(maxBody), next) : Effect.fail(refusal)
}

/** The routes of a service whose resources are at `basePath`. */
export const savedViewRoutes = (app: SavedViewsApp, basePath: string): readonly ExtraRoute[] => {
  const prefix = `${parentPath(basePath)}/saved-views`

  const collection = (visit: Visit, caller: Caller): Answer => {
    const { method, path } = visit
    if (method === "POST") return withBody(visit, (body) => app.create(caller, path, body))
    if (method !== "GET") return Effect.fail(methodNotAllowed("GET, HEAD, POST"))
    const query = readQuery(visit.query)
    return Result.isFailure(query) ? Effect.fail(query.failure) : app.list(caller, query.success)
  }

  const one = (visit: Visit, caller: Caller, id: string): Answer => {
    const ifMatch = visit.request.headers.get("if-match")
    if (visit.method === "PATCH") return withBody(visit, (body) => app.update(caller, id, ifMatch, body))
    return visit.method === "DELETE"
      ? app.remove(caller, id, ifMatch)
      : Effect.fail(methodNotAllowed("PATCH, DELETE"))
  }

  return [{
    prefix,
    access: "caller",
    handle: (visit, caller) => {
      const rest = visit.path.slice(prefix.length)
      const collected = rest === ""
      const id = /^\/[^/]+$/.test(rest) ? decodePercent(rest.slice(1)) : null
      if (!collected && id === null) return Effect.fail(notFound())
      if (visit.query !== null && visit.query !== "" && (visit.method !== "GET" || !collected)) {
        return Effect.fail(
          invalidParameter(visit.query.split(/[=&]/, 1)[0]!.slice(0, 100), "This route takes no parameters.")
        )
      }
      return collected ? collection(visit, caller) : one(visit, caller, id!)
    }
  }]
}
