/** The request to send events of a time range again: its form and its times. Other modules check who asks and what is kept. */

import * as Result from "effect/Result"
import { type Problem, problem, type ProblemError } from "../problem.ts"
import { microsFromCell, timestampCell, timestampFromMicros } from "../value/instant.ts"
import { isJsonObject } from "../value/json-kind.ts"
import type { Json } from "../value/kind.ts"

/** A checked request. Canonical timestamps: from `since` on, before `until`. */
export interface Replay {
  readonly since: string
  readonly until: string
  /** Only deliveries that have failed for good. */
  readonly failedOnly: boolean
}

/** Reads the body of `:replay`. `now` in microseconds; it is the end of a range that names none, and of one that ends later. */
export const readReplay = (body: Json, now: bigint): Result.Result<Replay, Problem> => {
  const errors: ProblemError[] = []
  const refuse = (parameter: string, message: string): void => void errors.push({ parameter, message })
  const given = isJsonObject(body) ? body : null
  if (given === null) refuse("body", "The body must be a JSON object.")
  for (const name of Object.keys(given ?? {}).slice(0, 20)) {
    if (!["since", "until", "failedOnly"].includes(name)) {
      refuse(name.slice(0, 100), "There is no such member. Use since, until and failedOnly.")
    }
  }
  const { failedOnly = false, since = null, until = null } = given ?? {}
  const timeOf = (name: string, value: Json): bigint => {
    const cell = typeof value === "string" ? timestampCell(value) : null
    if (cell === null) refuse(name, `${name} must be a time with a zone, such as 2026-11-27T08:00:00Z.`)
    return cell === null ? 0n : microsFromCell(cell)
  }
  if (given !== null && typeof failedOnly !== "boolean") refuse("failedOnly", "failedOnly must be true or false.")
  const from = given === null ? 0n : timeOf("since", since)
  const named = until === null ? now : timeOf("until", until)
  const to = named < now ? named : now
  if (errors.length === 0 && from >= to) {
    refuse("since", "The range is empty: since must be before until, and in the past.")
  }
  return errors.length > 0
    ? Result.fail(problem("invalid-parameter", errors[0]!.message, { errors }))
    : Result.succeed({
      since: timestampFromMicros(from),
      until: timestampFromMicros(to),
      failedOnly: failedOnly === true
    })
}
