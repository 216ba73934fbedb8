// The work of a process: it starts once, and again after a start that failed.
import { expect, it } from "vitest"
import type { Workers } from "../core/ports/queue.ts"
import { makeBell } from "./bell.ts"
import { makeWork } from "./work.ts"

const workersOf = (stopped: () => void): Workers => ({
  ...{} as Workers,
  wake: () => {},
  stop: async () => stopped()
})

it("starts anew when a start has failed, and once when it has not", async () => {
  let starts = 0
  let stops = 0
  const work = makeWork({
    bell: makeBell(),
    dispatch: null,
    workers: async () => {
      if (++starts === 1) throw new Error("The database is away.")
      return workersOf(() => void stops++)
    }
  })
  await expect(work.start()).rejects.toThrow("away")
  expect(work.running()).toBeNull()
  const [first, second] = await Promise.all([work.start(), work.start()])
  expect([first === second, work.running() === first, starts]).toEqual([true, true, 2])
  await work.stop()
  expect(stops).toBe(1)
})
