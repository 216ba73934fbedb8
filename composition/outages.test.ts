import * as Effect from "effect/Effect"
import { expect, it, vi } from "vitest"
import { RecordsError } from "../core/ports/records.ts"
import { watchOutages } from "./outages.ts"

it("tells a state once when it begins and once when it ends, as the database and its refusals say", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] })
  try {
    const lines: Array<{ readonly [name: string]: unknown }> = []
    const changes: unknown[] = []
    let takes: "writes" | "reads" | "nothing" = "reads"
    const heard = watchOutages({
      ping: Effect.suspend(() =>
        takes === "nothing" ? Effect.fail(new RecordsError({ reason: { _tag: "Unavailable" } })) : Effect.succeed(takes)
      ),
      log: (line) => lines.push(JSON.parse(line)),
      onChange: (...change) => changes.push(change)
    })
    const told = () => lines.splice(0).map(({ event, refused, state }) => [event, state, refused])
    heard("unique")
    heard("read-only")
    heard("read-only")
    expect(told()).toEqual([["outage", "read-only", undefined]])
    // Nothing is refused any more, but the database still takes no changes.
    await vi.advanceTimersByTimeAsync(20_000)
    expect(told()).toEqual([])
    takes = "nothing"
    heard("unavailable")
    expect(told()).toEqual([["outage", "unavailable", undefined]])
    await vi.advanceTimersByTimeAsync(20_000)
    expect(told()).toEqual([["outage-over", "read-only", 2]])
    takes = "writes"
    await vi.advanceTimersByTimeAsync(20_000)
    expect(told()).toEqual([["outage-over", "unavailable", 1]])
    expect(changes).toEqual([
      ["read-only", true],
      ["unavailable", true],
      ["read-only", false],
      ["unavailable", false]
    ])
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
