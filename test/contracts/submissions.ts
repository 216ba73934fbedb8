/** The contract of the port to submissions, for the fake and for PostgreSQL. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { SubmissionsService } from "../../core/ports/submissions.ts"

export const submissionsContract = (use: () => SubmissionsService): void => {
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)

  it("lets as many through in a minute as it is told, and says when the next one may come", async () => {
    const waits: number[] = []
    for (let n = 0; n < 5; n++) waits.push(await run(use().admit("few", 3)))
    expect(waits.slice(0, 3)).toEqual([0, 0, 0])
    for (const wait of waits.slice(3)) {
      expect(wait).toBeGreaterThan(50)
      expect(wait).toBeLessThanOrEqual(60)
    }
    expect(await run(use().admit("another", 3))).toBe(0)
  })

  it("counts those that come at once exactly", async () => {
    const waits = await Promise.all(Array.from({ length: 40 }, () => run(use().admit("many", 7))))
    expect(waits.filter((wait) => wait === 0).length).toBe(7)
  })

  it("lets an id be used once, by one of all who try at once", async () => {
    const expires = Date.now() + 60_000
    const spent = await Promise.all(Array.from({ length: 20 }, () => run(use().spend("challenge", expires))))
    expect(spent.filter((first) => first).length).toBe(1)
    expect(await run(use().spend("challenge", expires))).toBe(false)
    expect(await run(use().spend("another", expires))).toBe(true)
  })

  it("forgets what has expired when others come", async () => {
    expect(await run(use().spend("old", Date.now() - 1_000))).toBe(true)
    expect(await run(use().spend("new", Date.now() + 60_000))).toBe(true)
    expect(await run(use().spend("old", Date.now() + 60_000))).toBe(true)
  })
}
