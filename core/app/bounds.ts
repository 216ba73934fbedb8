/** Bounds in bytes that hold for what a request makes the service read, keep and send; and the refusals of what does not stay within them. */

import * as Result from "effect/Result"
import { problem } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import { byteLength, rowBytes } from "../domain/value/bytes.ts"
import type { Core } from "./core.ts"

const sizeOf = (bytes: number): string =>
  bytes % 1024 ** 2 === 0 ? `${bytes / 1024 ** 2} MiB` : `${bytes.toLocaleString("en")} bytes`

/** An answer that would be larger than `options.maxAnswerBytes`. `hint` says what makes it smaller. */
export const answerTooLarge = ({ options: { maxAnswerBytes } }: Core, hint: string): Problem => {
  const message = `The answer would be larger than ${sizeOf(maxAnswerBytes)}.`
  return problem("answer-too-large", message, { errors: [{ message, hint }] })
}

const within: Result.Result<void, Problem> = Result.succeed(undefined)

/** What one run of a batch may still read, write, copy and answer. */
export class Budget {
  readonly #core: Core
  #records: number
  #answer: number

  constructor(core: Core) {
    this.#core = core
    this.#records = core.options.maxBatchBytes
    this.#answer = core.options.maxAnswerBytes
  }

  /** Counts cells that were read, or are to be written. */
  spend(cells: Iterable<string | null>): Result.Result<void, Problem> {
    this.#records -= rowBytes(cells)
    if (this.#records >= 0) return within
    const message = `The operations of a batch read, write and copy at most ${
      sizeOf(this.#core.options.maxBatchBytes)
    } of records together.`
    return Result.fail(problem("payload-too-large", message, { errors: [{ message, hint: "Send fewer operations." }] }))
  }

  /** Counts text of the answer. */
  answer(text: string): Result.Result<void, Problem> {
    this.#answer -= byteLength(text) + 1
    return this.#answer >= 0
      ? within
      : Result.fail(answerTooLarge(this.#core, "Send Prefer: return=minimal, or fewer operations."))
  }
}
