/** Why a value is refused, in words that callers read. */

import * as Result from "effect/Result"

/**
 * Why a value is refused. `type`: not this kind of value · `max`: text too long · `enum`: not one of the values · `required`: null ·
 * `invalid`: the right kind, but not acceptable. `message` is one sentence that never repeats the value. `at`: the element of a list, from 0, that is
 * refused.
 */
export interface ValueProblem {
  readonly code: "type" | "max" | "enum" | "invalid" | "required"
  readonly message: string
  readonly at?: number
}

/** A value, or why it is refused. */
export type Read<A> = Result.Result<A, ValueProblem>

export const refuse = (code: ValueProblem["code"], message: string): Read<never> => Result.fail({ code, message })
