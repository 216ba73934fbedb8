/**
 * `GET /livez` (the process answers) and `GET /readyz` (it may be sent traffic). Neither takes a token nor tells a detail, and neither
 * counts as load. What readiness means is the caller's effect.
 */

import * as Effect from "effect/Effect"
import { json } from "../../core/app/call.ts"
import type { Reply } from "../../core/app/call.ts"
import { problem } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import { methodNotAllowed } from "./problem.ts"

const fine = Effect.succeed(json(200, `{"status":"ok"}`))

const notReady = (): Problem => problem("unavailable", "The service is not ready.", {}, { "retry-after": "5" })

/** The answer when the path is a health path, else null. `method` has HEAD turned into GET already. */
export const healthRoute = (
  path: string,
  method: string,
  ready: Effect.Effect<boolean>
): Effect.Effect<Reply, Problem> | null => {
  if (path !== "/livez" && path !== "/readyz") return null
  if (method !== "GET") return Effect.fail(methodNotAllowed("GET, HEAD"))
  return path === "/livez" ? fine : Effect.flatMap(ready, (yes) => yes ? fine : Effect.fail(notReady()))
}
