/**
 * How deep a run of the tests goes. `npm test` is quick: every rule, fixed seeds, a tenth of the random cases, short faults. `npm run test:deep`
 * sets TEST_DEPTH=deep: fresh seeds, all cases, long faults. Files that only deep runs need are called `*.deep.test.ts`.
 */

/** Whether this run is the deep one. */
export const deep: boolean = process.env["TEST_DEPTH"] === "deep"

/** The seed of every random test of this run. A deep run prints it; `TEST_SEED` repeats it. */
export const seed: number = Number(process.env["TEST_SEED"] ?? 1)

/** How many random cases to run, of `all` that a deep run has: a tenth in a quick run, and never none. */
export const cases = (all: number): number => deep ? all : Math.max(1, Math.ceil(all / 10))
