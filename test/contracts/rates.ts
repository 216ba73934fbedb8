/** The contract of the port to turns of subscriptions, for the fake and for PostgreSQL. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { RatesService, Turn } from "../../core/ports/rates.ts"

/** What the contract needs besides the port. */
export interface RatesStage {
  readonly rates: RatesService
  /** The same turns, of another process. */
  readonly others: RatesService
  /** Lets so many milliseconds pass. */
  readonly pass: (milliseconds: number) => Promise<void>
}

const minute = 60_000

export const ratesContract = (use: () => RatesStage): void => {
  let last = 0
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)
  const subscription = (): string => `s${++last}`
  /** Statements take time themselves: what is said to be in so many milliseconds is so, or a little less. */
  const about = (wait: number, milliseconds: number): void => {
    expect(wait).toBeLessThanOrEqual(milliseconds)
    expect(wait).toBeGreaterThan(milliseconds - minute / 2)
  }

  it("spreads turns, whoever takes them, and gives a place in the line beyond what somebody waits for", async () => {
    const { others, pass, rates } = use()
    const id = subscription()
    expect(await run(rates.take(id, minute, 0))).toEqual({ granted: true, waitMs: 0 })
    const second = await run(others.take(id, minute, minute))
    expect(second.granted).toBe(true)
    about(second.waitMs, minute)
    const [third, fourth] = [await run(rates.take(id, minute, minute)), await run(others.take(id, minute, minute))]
    expect([third.granted, fourth.granted]).toEqual([false, false])
    about(third.waitMs, 2 * minute)
    about(fourth.waitMs, 3 * minute)
    await pass(2 * minute)
    const again = await run(rates.take(id, minute, 0))
    expect(again).toEqual({ granted: true, waitMs: 0 })
    // Another one has turns of its own.
    expect(await run(rates.take(subscription(), minute, 0))).toEqual({ granted: true, waitMs: 0 })
  })

  it("saves no turns for later", async () => {
    const { pass, rates } = use()
    const id = subscription()
    await run(rates.take(id, minute, 0))
    await pass(100 * minute)
    const turns: Turn[] = []
    for (let i = 0; i < 3; i++) turns.push(await run(rates.take(id, minute, 0)))
    expect(turns.map(({ granted }) => granted)).toEqual([true, false, false])
  })

  it("gives places one behind the other, after those that were given before", async () => {
    const { others, pass, rates } = use()
    const id = subscription()
    expect(await run(rates.line(id, minute, 3))).toBe(0)
    about(await run(others.line(id, minute, 2)), 3 * minute)
    about(await run(rates.line(id, minute, 1)), 5 * minute)
    // Places are not turns: who comes at their time finds a free one.
    expect(await run(rates.take(id, minute, 0))).toEqual({ granted: true, waitMs: 0 })
    const late = await run(rates.take(id, minute, 0))
    expect(late.granted).toBe(false)
    about(late.waitMs, 6 * minute)
    await pass(100 * minute)
    expect(await run(rates.line(id, minute, 1))).toBe(0)
  })

  it("gives one turn to all who ask for it at once", async () => {
    const { others, rates } = use()
    const id = subscription()
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, i) => run((i % 2 === 0 ? rates : others).take(id, minute, 0)))
    )
    expect(all.filter(({ granted }) => granted)).toHaveLength(1)
    const places = all.filter(({ granted }) => !granted).map(({ waitMs }) => Math.round(waitMs / minute))
    expect(places.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
}
