import { afterEach, expect, it, vi } from "vitest"
import type { DisabledSubscription } from "../core/domain/declare/webhooks.ts"
import { makeTelling } from "./disabled.ts"

const disabled: DisabledSubscription = { id: "7", name: "Desk", owner: "ann", tenant: null, reason: "gone" }

afterEach(() => void vi.useRealTimers())

const telling = (
  onDisabled: ((disabled: DisabledSubscription) => Promise<unknown>) | null,
  mailOwner?: (disabled: DisabledSubscription) => Promise<void>
) => {
  const lines: unknown[] = []
  return {
    lines,
    ...makeTelling({ onDisabled }, mailOwner, (level, event, fields) => void lines.push([level, event, fields]))
  }
}
const untold = (by: string, error: string) => [
  "error",
  "webhook-disabled-untold",
  { subscription: "7", by, error }
]

it("tells both, each once", async () => {
  const calls: unknown[] = []
  const { lines, whenIdle, tell } = telling(
    async (each) => calls.push(["function", each]),
    async (each) => void calls.push(["mail", each])
  )
  await tell(disabled)
  await whenIdle()
  expect(calls).toEqual([["function", disabled], ["mail", disabled]])
  expect(lines).toEqual([])
})

it.each<[string, () => never]>([
  ["throws", () => {
    throw new RangeError("hush")
  }],
  ["rejects", (() => Promise.reject(new RangeError("hush"))) as never]
])("logs the class alone where one %s", async (_, fails) => {
  const { lines, whenIdle, tell } = telling(fails, fails)
  await tell(disabled)
  await whenIdle()
  expect(lines).toEqual([untold("onDisabled", "RangeError"), untold("mail", "RangeError")])
})

it("waits for neither longer than ten seconds, and for the function not at all", async () => {
  vi.useFakeTimers()
  const held: Array<(error: Error) => void> = []
  const never = () => new Promise<never>((_, reject) => void held.push(reject))
  const { lines, whenIdle, tell } = telling(never)
  await tell(disabled)
  const ended = whenIdle()
  await vi.advanceTimersByTimeAsync(9_999)
  expect(lines).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  await ended
  expect(lines).toEqual([untold("onDisabled", "timeout")])
  // What it throws later is nobody's any more.
  held[0]!(new Error("late"))
  await vi.advanceTimersByTimeAsync(1)
  expect(lines).toHaveLength(1)
  const mailing = telling(null, never)
  const told = mailing.tell(disabled)
  await vi.advanceTimersByTimeAsync(10_000)
  await told
  expect(mailing.lines).toEqual([untold("mail", "timeout")])
})
