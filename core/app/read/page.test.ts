/** A page that has to end early writes none of its items twice, and a long one keeps nobody waiting. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { Core } from "../ground/core.ts"
import { present } from "./page.ts"
import type { Page } from "./page.ts"

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
      warning: {},
      again: Effect.never
    } as unknown as Page
    const core = { options: { maxAnswerBytes: 110_000 } } as Core
    const reply = await Effect.runPromise(Effect.withFiber((fiber) => present(fiber, core, page, {} as never)))
    const { items } = JSON.parse(reply.body as string) as { readonly items: ReadonlyArray<{ readonly id: number }> }
    expect(items.map(({ id }) => id)).toEqual(shown)
    expect(written.length).toBe(new Set(written).size)
  }
)

it.each([[10, 0], [100, 9]])("of %s items of 30 KB lets others have %s turns", async (count, least) => {
  const others: number[] = []
  let turns = 0
  let going = true
  const other = (): void => {
    turns++
    if (going) setImmediate(other)
  }
  setImmediate(other)
  const page = {
    shape: {
      layout: {},
      write: ([row]: readonly string[]) => {
        others.push(turns)
        return { open: `{"id":${row},"text":"${"x".repeat(30_000)}"` }
      }
    },
    expansion: [],
    rows: Array.from({ length: count }, (_, i) => [String(i)]),
    backward: false,
    tail: () => "\"next\":null",
    warning: {},
    again: Effect.never
  } as unknown as Page
  const core = { options: { maxAnswerBytes: 33_554_432 } } as Core
  const reply = await Effect.runPromise(Effect.withFiber((fiber) => present(fiber, core, page, {} as never)))
  going = false
  expect((JSON.parse(reply.body as string) as { readonly items: readonly unknown[] }).items).toHaveLength(count)
  expect(new Set(others).size).toBeGreaterThanOrEqual(least)
})
