/** The port to submissions in memory: the same contract, in one process. */

import * as Effect from "effect/Effect"
import type { SubmissionsService } from "../../core/ports/submissions.ts"

export const makeFakeSubmissions = (): SubmissionsService => {
  const attempts = new Map<string, number[]>()
  const spent = new Map<string, number>()
  return {
    admit: (id, most) =>
      Effect.sync(() => {
        const now = Date.now()
        const recent = (attempts.get(id) ?? []).filter((at) => at > now - 60_000)
        const allowed = recent.length < most
        if (allowed) recent.push(now)
        attempts.set(id, recent)
        return allowed ? 0 : Math.max(1, Math.ceil((recent[0]! + 60_000 - now) / 1000))
      }),
    spend: (id, expires) =>
      Effect.sync(() => {
        const known = spent.get(id)
        if (known !== undefined && known > Date.now()) return false
        spent.set(id, expires)
        return true
      })
  }
}
