/**
 * `GET /livez` (the process answers) and `GET /readyz` (it may be sent traffic). Neither takes a token, and neither counts as load. `/readyz` says what
 * kind of thing is wrong and no more, because anybody may ask. What readiness means is the caller's effect.
 */

import * as Effect from "effect/Effect"
import { json } from "../../core/app/ground/call.ts"
import type { Reply } from "../../core/app/ground/call.ts"
import { Problem, problem } from "../../core/domain/problem.ts"
import { methodNotAllowed } from "./problem.ts"

/** Whether the service may be sent traffic; `read-only`: reads only, as it should be. A problem says why not. */
export type Readiness = boolean | "read-only" | Problem

const fine = json(200, `{"status":"ok"}`)
const upWith = (reading: boolean, paused: boolean): Reply =>
  json(
    200,
    JSON.stringify({
      status: "ok",
      ...(reading ? { database: "read-only" } : {}),
      ...(paused ? { jobs: "paused" } : {})
    })
  )

const notReady = (): Problem => problem("unavailable", "The service is not ready.", {}, { "retry-after": "5" })

const readyReply = (ready: Readiness, paused: boolean): Effect.Effect<Reply, Problem> =>
  ready instanceof Problem
    ? Effect.fail(ready)
    : ready === false
    ? Effect.fail(notReady())
    : Effect.succeed(upWith(ready === "read-only", paused))

/**
 * The answer when the path is a health path, else null. `method` has HEAD turned into GET already. `paused`: whether jobs of some name are; that is no reason
 * to send no traffic.
 */
export const healthRoute = (
  path: string,
  method: string,
  ready: Effect.Effect<Readiness>,
  paused: () => boolean
): Effect.Effect<Reply, Problem> | null => {
  if (path !== "/livez" && path !== "/readyz") return null
  if (method !== "GET") return Effect.fail(methodNotAllowed("GET, HEAD"))
  return path === "/livez" ? Effect.succeed(fine) : Effect.flatMap(ready, (is) => readyReply(is, paused()))
}
