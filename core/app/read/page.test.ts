/** A page that has to end early writes none of its items twice. */

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
