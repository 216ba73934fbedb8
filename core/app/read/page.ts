/**
 * A page on its way out: items as JSON, what they expand to, and the members after them. A page that would be too large ends early, on the side that it
 * is read towards; nothing here decides what is on it.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Bindings } from "../../domain/filter/tree.ts"
import type { Problem } from "../../domain/problem.ts"
import { itemWith } from "../../domain/read/item.ts"
import type { ListShape } from "../../domain/read/list.ts"
import { byteLength } from "../../domain/value/bytes.ts"
import type { Row } from "../../domain/value/kind.ts"
import { json } from "../ground/call.ts"
import type { Reply } from "../ground/call.ts"
import type { Core } from "../ground/core.ts"
import { allWarnings } from "../ground/guard.ts"
import type { Warning } from "../ground/guard.ts"
import { answerTooLarge } from "../ground/refusal.ts"
import { during, phase } from "../ground/timing.ts"
import type { RequestFiber } from "../ground/timing.ts"
import type { Expansion } from "./expand-plan.ts"
import { expandRows, turnChars } from "./expand.ts"
import type { Expanded } from "./expand.ts"

/** A page that was read. */
export interface AnswerPage {
  readonly shape: ListShape
  readonly expansion: Expansion
  readonly rows: readonly Row[]
  /** Whether it was read towards the beginning: where it has to end early, its first rows are left out. */
  readonly backward: boolean
  /** Writes the members after the items, for the rows that are shown; `cut`: more of them were read. */
  readonly tail: (rows: readonly Row[], cut: boolean) => string
  readonly warning: Warning
}

/** Bytes of an answer that are left for what is not its items: tokens, numbers, names. */
const tailBytes = 16 * 1024

/** Writes the page as the answer to a list. */
export const present = (
  fiber: RequestFiber,
  core: Core,
  page: AnswerPage,
  bindings: Bindings
): Effect.Effect<Reply, Problem> =>
  page.expansion.length === 0
    ? writePage(fiber, core, page, bindings, null)
    : Effect.flatMap(
      phase(fiber, "list.expand", expandRows(core, page.expansion, page.rows, page.shape.layout)),
      (expanded) => writePage(fiber, core, page, bindings, expanded)
    )

const writePage = (
  fiber: RequestFiber,
  core: Core,
  page: AnswerPage,
  bindings: Bindings,
  expanded: Expanded | null
): Effect.Effect<Reply, Problem> => {
  const { backward, rows, shape } = page
  const most = core.options.maxAnswerBytes - tailBytes
  /** Items from where the page begins, each with the comma that may stand beside it. */
  const texts: string[] = []
  let chars = 0
  /** Writes for one turn. Whether that was the last one. */
  const turn = (): boolean => {
    const end = Math.min(most, chars + turnChars)
    while (texts.length < rows.length && chars <= end) {
      const i = backward ? rows.length - 1 - texts.length : texts.length
      const text = itemWith(shape.write(rows[i]!, bindings).open, expanded?.membersOf(i) ?? null)
      texts.push(text)
      chars += text.length + 1
    }
    return texts.length === rows.length || chars > most
  }
  const end = (): Effect.Effect<Reply, Problem> => Effect.fromResult(replyOf(page, texts, chars, most, expanded))
  const first = during(fiber, "list.present", () => Result.succeed(turn()))
  return Result.isSuccess(first) && first.success
    ? end()
    : Effect.flatMap(phase(fiber, "list.present", turns(turn)), end)
}

/** Goes on turn by turn, and lets others have theirs in between. */
const turns = Effect.fnUntraced(function*(turn: () => boolean): Effect.fn.Return<void> {
  do yield* Effect.yieldNow
  while (!turn())
})

/** The answer with as many of the items as have room. */
const replyOf = (
  { backward, rows, tail, warning }: AnswerPage,
  texts: readonly string[],
  chars: number,
  most: number,
  expanded: Expanded | null
): Result.Result<Reply, Problem> => {
  // A character is at most three bytes: what is short is not counted.
  const whole = texts.length === rows.length && chars * 3 <= most
  const count = whole ? texts.length : fitting(texts, most)
  if (count === 0 && rows.length > 0) {
    const less = expanded === null ? "Ask for fewer fields." : "Ask for fewer fields or relations."
    return Result.fail(answerTooLarge(less))
  }
  const items = count === texts.length ? texts : texts.slice(0, count)
  const page = count === rows.length ? rows : backward ? rows.slice(rows.length - count) : rows.slice(0, count)
  const end = tail(page, count < rows.length)
  const headers = expanded === null ? warning : allWarnings([warning, ...expanded.warnings])
  return Result.succeed(json(200, `{"items":[${(backward ? items.toReversed() : items).join(",")}],${end}}`, headers))
}

/** How many of the items have room, from where the page begins. */
const fitting = (texts: readonly string[], bytes: number): number => {
  let left = bytes
  const end = texts.findIndex((text) => (left -= byteLength(text) + 1) < 0)
  return end === -1 ? texts.length : end
}
