// Whatever the rate, no time of its length has more starts than it allows.
import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { apartUs, type Rate, usualBurst } from "./rate.ts"

/** The times of starts by the rule that the queue follows, when more are wanted than may begin at each of some times. All in microseconds. */
const startsOf = (rate: Rate, times: readonly number[]): readonly number[] => {
  const apart = apartUs(rate)
  const starts: number[] = []
  let next = 0
  for (const now of times) {
    next = Math.min(Math.max(next, now), now + apart * rate.burst)
    const allowed = Math.floor(rate.burst - (next - now) / apart)
    for (let n = 0; n < allowed; n++) starts.push(now)
    next += apart * allowed
  }
  return starts
}

const looks = (random: Random): { readonly rate: Rate; readonly times: readonly number[] } => {
  const jobs = 1 + random.below(60)
  const rate = { jobs, perMs: 1_000 + random.below(60_000), burst: 1 + random.below(jobs) }
  let at = 0
  return { rate, times: Array.from({ length: 200 }, () => at += random.below(2 * apartUs(rate))) }
}

describe("a rate", () => {
  property("has no more starts in any of its times, with any burst, whenever somebody looks", { looks }, {
    cases: 2_000
  }, ({
    looks: { rate, times }
  }) => {
    const starts = startsOf(rate, times)
    for (const [index, start] of starts.entries()) {
      const after = starts[index + rate.jobs]
      if (after !== undefined) expect(after - start >= rate.perMs * 1_000).toBe(true)
    }
  })

  it("spreads starts evenly, and lets those of a tenth of a second come together", () => {
    for (
      const [jobs, perMs, burst, apart] of [
        [1, 1_000, 1, 1_000_000],
        [100, 60_000, 1, 600_000],
        [10, 1_000, 1, 100_000],
        [1_000, 1_000, 100, 1_110],
        [100_000, 1_000, 10_000, 12],
        [100_000, 86_400_000, 1, 864_000]
      ] as const
    ) {
      expect([usualBurst({ jobs, perMs }), apartUs({ jobs, perMs, burst })]).toEqual([burst, apart])
    }
    expect(apartUs({ jobs: 1_000, perMs: 86_400_000, burst: 1_000 })).toBe(86_400_000_000)
  })
})
