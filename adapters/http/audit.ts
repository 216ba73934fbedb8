/** The route of the audit, `/api/audit`. It decides path and method, and nothing about entries. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { AuditApp } from "../../core/app/audit/audit.ts"
import { parentPath } from "../../core/domain/declare/config.ts"
import { notFound } from "../../core/domain/problem.ts"
import type { ExtraRoute } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import { readQuery } from "./request.ts"

/** The route of a service whose resources are at `basePath`. */
export const auditRoute = (app: AuditApp, basePath: string): ExtraRoute => {
  const prefix = `${parentPath(basePath)}/audit`
  return {
    prefix,
    access: "caller",
    handle: ({ method, path, query }, caller) => {
      if (path !== prefix) return Effect.fail(notFound())
      if (method !== "GET") return Effect.fail(methodNotAllowed("GET, HEAD"))
      const pairs = readQuery(query)
      return Result.isFailure(pairs) ? Effect.fail(pairs.failure) : app.list(caller, pairs.success)
    }
  }
}
