/** The port to turns of subscriptions in memory: the same contract, in one process. */

import * as Effect from "effect/Effect"
import type { RatesService } from "../../core/ports/rates.ts"

export interface FakeRates extends RatesService {
  readonly pass: (milliseconds: number) => void
}

export const makeFakeRates = (): FakeRates => {
  let clock = 0
  const rows = new Map<string, { next: number; line: number }>()
  const rowOf = (subscription: string): { next: number; line: number } => {
    const row = rows.get(subscription) ?? { next: clock, line: clock }
    rows.set(subscription, row)
    return row
  }
  return {
    pass: (milliseconds) => void (clock += milliseconds),
    take: (subscription, spacingMs, longestMs) =>
      Effect.sync(() => {
        const row = rowOf(subscription)
        const turn = Math.max(row.next, clock)
        if (turn - clock <= longestMs) {
          row.next = turn + spacingMs
          return { granted: true, waitMs: turn - clock }
        }
        const place = Math.max(row.line, turn)
        row.line = place + spacingMs
        return { granted: false, waitMs: place - clock }
      }),
    line: (subscription, spacingMs, count) =>
      Effect.sync(() => {
        const row = rowOf(subscription)
        const place = Math.max(row.line, clock)
        row.line = place + count * spacingMs
        return place - clock
      })
  }
}
