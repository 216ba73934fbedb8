/**
 * A page on its way out: items as JSON, what they expand to, and the members after them. A page that would be too large ends early, on the side that it
 * is read towards; nothing here decides what is on it.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Bindings } from "../../domain/filter/tree.ts"
import type { Problem } from "../../domain/problem.ts"
import { itemWith, leftOut } from "../../domain/read/item.ts"
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
import { expandRows } from "./expand.ts"
import type { Expanded } from "./expand.ts"

/** A page that was read. */
export interface Page {
  readonly shape: ListShape
  readonly expansion: Expansion
  readonly rows: readonly Row[]
  /** Whether it was read towards the beginning: where it has to end early, its first rows are left out. */
  readonly backward: boolean
  /** Writes the members after the items, for the rows that are shown; `cut`: more of them were read. */
  readonly tail: (rows: readonly Row[], cut: boolean) => string
  readonly warning: Warning
  /** The whole request once more, for rules that ask for columns which were not read. */
  readonly again: Effect.Effect<Reply, Problem>
}

/** Bytes of an answer that are left for what is not its items: tokens, numbers, names. */
const tailBytes = 16 * 1024

/** Writes the page as the answer to a list. */
export const present = (
  fiber: RequestFiber,
  core: Core,
  page: Page,
  bindings: Bindings
): Effect.Effect<Reply, Problem> =>
  page.expansion.length === 0
    ? answer(page, writePage(fiber, core, page, bindings, null))
    : Effect.flatMap(
      phase(fiber, "list.expand", expandRows(core, page.expansion, page.rows, page.shape.layout)),
      (expanded) => answer(page, writePage(fiber, core, page, bindings, expanded))
    )

const answer = (page: Page, written: Result.Result<Reply, Problem>): Effect.Effect<Reply, Problem> =>
  leftOut(page.shape.layout) ? page.again : Effect.fromResult(written)

const writePage = (
  fiber: RequestFiber,
  core: Core,
  page: Page,
  bindings: Bindings,
  expanded: Expanded | null
): Result.Result<Reply, Problem> =>
  during(fiber, "list.present", () => {
    const { rows, shape, tail, warning } = page
    const most = core.options.maxAnswerBytes - tailBytes
    const texts: string[] = []
    // Each once: lists of files have thousands of signatures.
    const write = (i: number): string =>
      texts[i] ??= itemWith(shape.write(rows[i]!, bindings).open, expanded?.membersOf(i) ?? null)
    let items = ""
    for (let i = 0; i < rows.length && items.length <= most; i++) items += (i === 0 ? "" : ",") + write(i)
    const headers = expanded === null ? warning : allWarnings([warning, ...expanded.warnings])
    // A character is at most three bytes: what is short is not counted.
    if (items.length * 3 <= most) return Result.succeed(json(200, `{"items":[${items}],${tail(rows, false)}}`, headers))
    const fitting = fit(rows.length, page.backward, most, write)
    if (fitting.length === 0) {
      const less = expanded === null ? "Ask for fewer fields." : "Ask for fewer fields or relations."
      return Result.fail(answerTooLarge(less))
    }
    const shown = page.backward ? rows.slice(rows.length - fitting.length) : rows.slice(0, fitting.length)
    const end = tail(shown, shown.length < rows.length)
    return Result.succeed(json(200, `{"items":[${fitting.join(",")}],${end}}`, headers))
  })

/** As many of the items as have room, from where the page begins. */
const fit = (count: number, backward: boolean, bytes: number, write: (i: number) => string): readonly string[] => {
  const texts: string[] = []
  let left = bytes
  while (texts.length < count) {
    const text = write(backward ? count - 1 - texts.length : texts.length)
    left -= byteLength(text) + 1
    if (left < 0) break
    texts.push(text)
  }
  return backward ? texts.reverse() : texts
}
