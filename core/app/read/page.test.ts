/** A page that has to end early writes none of its items twice, and a long one keeps nobody waiting. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { startOthers } from "../../../test/support/turns.ts"
import type { Core } from "../ground/core.ts"
import { present } from "./page.ts"
import type { AnswerPage } from "./page.ts"

it.each([[false, [0, 1, 2]], [true, [7, 8, 9]]])(
  "ends early (backward: %s), and writes each item once",
  async (backward, shown) => {
    const written: number[] = []
    const page = {
      shape: {
        layout: {},
        write: ([row]: readonly string[]) => {
          written.push(Number(row))
          return { open: `{"id":${row},"text":"${"x".repeat(30_000)}"` }
        }
      },
      expansion: [],
      rows: Array.from({ length: 10 }, (_, i) => [String(i)]),
      backward,
      tail: () => "\"next\":null",
      warning: {}
    } as unknown as AnswerPage
    const core = { options: { maxAnswerBytes: 110_000 } } as Core
    const reply = await Effect.runPromise(Effect.withFiber((fiber) => present(fiber, core, page, {} as never)))
    const { items } = JSON.parse(reply.body as string) as { readonly items: ReadonlyArray<{ readonly id: number }> }
    expect(items.map(({ id }) => id)).toEqual(shown)
    expect(written.length).toBe(new Set(written).size)
  }
)

it.each([[10, 0], [100, 9]])("of %s items of 30 KB lets others have %s turns", async (count, least) => {
  const seen: number[] = []
  const others = startOthers()
  const page = {
    shape: {
      layout: {},
      write: ([row]: readonly string[]) => {
        seen.push(others.turns())
        return { open: `{"id":${row},"text":"${"x".repeat(30_000)}"` }
      }
    },
    expansion: [],
    rows: Array.from({ length: count }, (_, i) => [String(i)]),
    backward: false,
    tail: () => "\"next\":null",
    warning: {}
  } as unknown as AnswerPage
  const core = { options: { maxAnswerBytes: 33_554_432 } } as Core
  const reply = await Effect.runPromise(Effect.withFiber((fiber) => present(fiber, core, page, {} as never)))
  others.stop()
  expect((JSON.parse(reply.body as string) as { readonly items: readonly unknown[] }).items).toHaveLength(count)
  expect(new Set(seen).size).toBeGreaterThanOrEqual(least)
})
