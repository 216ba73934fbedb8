/** What one batch may cost in bytes: the records that it reads, writes and copies, and its answer. */

import * as Result from "effect/Result"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { byteLength, rowBytes } from "../../domain/value/bytes.ts"
import type { CoreOptions } from "../ground/core.ts"
import { answerTooLarge } from "../ground/refusal.ts"

const sizeOf = (bytes: number): string =>
  bytes % 1024 ** 2 === 0 ? `${bytes / 1024 ** 2} MiB` : `${bytes.toLocaleString("en")} bytes`

const affordable: Result.Result<void, Problem> = Result.succeed(undefined)

/** What one run of a batch may still read, write, copy and answer, in bytes. */
export class Budget {
  readonly #most: number
  #records: number
  #answer: number

  constructor({ maxAnswerBytes, maxBatchBytes }: CoreOptions) {
    this.#most = maxBatchBytes
    this.#records = maxBatchBytes
    this.#answer = maxAnswerBytes
  }

  /** Counts the cells of a read, or of a write before it runs. */
  spend(cells: Iterable<string | null>): Result.Result<void, Problem> {
    this.#records -= rowBytes(cells)
    if (this.#records >= 0) return affordable
    const message = `The operations of a batch read, write and copy at most ${sizeOf(this.#most)} of records together.`
    return Result.fail(problem("payload-too-large", message, { errors: [{ message, hint: "Send fewer operations." }] }))
  }

  /** Counts text of the answer. */
  answer(text: string): Result.Result<void, Problem> {
    this.#answer -= byteLength(text) + 1
    return this.#answer >= 0
      ? affordable
      : Result.fail(answerTooLarge("Send Prefer: return=minimal, or fewer operations."))
  }
}
