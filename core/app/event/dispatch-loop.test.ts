// What dispatch does by itself, and how much at once.
import * as Effect from "effect/Effect"
import { afterEach, expect, it, vi } from "vitest"
import { startDispatchLoop } from "./dispatch-loop.ts"
import { type Dispatching, Lanes } from "./dispatch.ts"

afterEach(() => void vi.useRealTimers())

it("a subscription has 32 tries at once, and another one its own", () => {
  const lanes = new Lanes()
  expect(Array.from({ length: 33 }, () => lanes.enter("a")).lastIndexOf(true)).toBe(31)
  expect(lanes.enter("b")).toBe(true)
  lanes.leave("a")
  expect([lanes.enter("a"), lanes.enter("a")]).toEqual([true, false])
})

it("a dispatch forgets old changes each minute, and lets go of its lease where nothing is left", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] })
  const done = { forgotten: 0, released: 0 }
  const changes = {
    waiting: Effect.succeed(true),
    take: () => Effect.succeed([]),
    release: () => Effect.sync(() => void done.released++),
    forget: Effect.sync(() => void done.forgotten++)
  }
  const loop = startDispatchLoop({ changes, log: () => {} } as unknown as Dispatching, "me")
  try {
    await vi.advanceTimersByTimeAsync(10_000)
    expect([done.forgotten, done.released > 0]).toEqual([0, true])
    await vi.advanceTimersByTimeAsync(55_000)
    expect(done.forgotten).toBe(1)
    await vi.advanceTimersByTimeAsync(120_000)
    expect(done.forgotten).toBe(2 + 1)
  } finally {
    await loop.stop()
  }
})
