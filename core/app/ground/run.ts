/** Effects as the code of jobs, which the queue calls and whose errors it reads. */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type EventFailure, failureText } from "../../domain/event/receivers.ts"
import { FatalJobError } from "../../domain/job/failure.ts"

const isFailure = (error: unknown): error is EventFailure =>
  typeof error === "object" && error !== null && "place" in error && "error" in error

/** Runs an effect for a job: resolves, or rejects with an error that the queue understands. */
export const runJob = async (effect: Effect.Effect<unknown, unknown>, signal: AbortSignal): Promise<void> => {
  const exit = await Effect.runPromiseExit(effect, { signal })
  if (Exit.isSuccess(exit)) return
  const error = Cause.squash(exit.cause)
  if (isFailure(error)) throw new Error(failureText(error))
  if (typeof error === "string") throw new FatalJobError(error)
  throw error
}
