/**
 * How many jobs of a name may begin in a time, over all processes. The queue keeps one instant for each name (GCRA): when the next start is due. This file has the
 * numbers that it goes by, and no clock.
 */

import type { Duration } from "../value/duration.ts"

/** As it is declared: `{ jobs: 100, per: "1 minute" }`. */
export interface RateDeclaration {
  /** The most jobs that begin in any time of this length; 1 to 100,000. */
  readonly jobs: number
  /** From one second to 30 days. */
  readonly per: Duration
  /** How many may begin at the same moment after a quiet time; 1 to `jobs`. Default: what is due within a tenth of a second, at least 1. */
  readonly burst?: number
}

/** A checked rate. */
export interface Rate {
  readonly jobs: number
  readonly perMs: number
  readonly burst: number
}

export const mostOfRate = 100_000
export const shortestPer = 1_000
export const longestPer = 30 * 86_400_000

/** Starts that are due within so many milliseconds come together: each process looks no more often than half as long. */
const togetherMs = 100

/** How long a process waits at least before it looks for what a rate held back. */
export const leastWaitMs = togetherMs / 2

/** The usual burst of a rate. */
export const usualBurst = ({ jobs, perMs }: Pick<Rate, "jobs" | "perMs">): number =>
  Math.max(1, Math.floor(jobs * togetherMs / perMs))

/**
 * Microseconds from one start to the next. A burst is part of the rate: whenever it comes, no time of `per` has more than `jobs` starts. So the others are that
 * much further apart.
 */
export const apartUs = ({ burst, jobs, perMs }: Rate): number => Math.ceil(perMs * 1_000 / (jobs - burst + 1))
