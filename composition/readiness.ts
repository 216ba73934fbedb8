/** Whether the service may be sent traffic: whether its databases answer. */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { Readiness } from "../adapters/http/health.ts"
import { outageOf, outageProblem } from "../core/domain/outage.ts"
import { because, problem } from "../core/domain/problem.ts"
import type { Problem } from "../core/domain/problem.ts"
import type { RecordsService } from "../core/ports/records.ts"

/** The accounts cannot be read now. */
export const noAccounts = (): Problem =>
  because(problem("unavailable", "The accounts cannot be read now.", {}, { "retry-after": "5" }), "Accounts")

/** Milliseconds that an answer about readiness stands. */
const readyMs = 250

/**
 * Whether the databases answer, and take changes unless this process serves reads only. They are asked once for everybody who wants to know at the same time, as
 * anybody may ask.
 */
export const makeReadiness = (
  ping: RecordsService["ping"],
  accounts: Effect.Effect<boolean> = Effect.succeed(true),
  readsOnly = false
): Effect.Effect<Readiness> => {
  const records = Effect.matchCause(ping, {
    onFailure: (cause): Readiness => {
      const error = Cause.squash(cause)
      const outage = outageOf(error)
      return outage === null ? false : outageProblem(outage, error)
    },
    onSuccess: (takes): Readiness => takes === "writes" || (readsOnly ? "read-only" : outageProblem("ReadOnly"))
  })
  const asked = Effect.map(
    Effect.all([records, accounts], { concurrency: 2 }),
    ([first, second]): Readiness => (first === true || first === "read-only") && !second ? noAccounts() : first
  )
  let answer: Promise<Readiness> | undefined
  let until = Number.POSITIVE_INFINITY
  return Effect.promise(() => {
    if (answer === undefined || performance.now() > until) {
      until = Number.POSITIVE_INFINITY
      answer = Effect.runPromise(asked).finally(() => {
        until = performance.now() + readyMs
      })
    }
    return answer
  })
}
