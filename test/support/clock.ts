/**
 * The clock that ages in memory go by, held still: only the test moves it, and no pause of the machine does. The timers are held with it and never
 * fire, so that whoever gives the database a time to answer waits until it has answered. Let go, it runs on from where it stands: it never goes back.
 */

import { vi } from "vitest"

export interface HeldClock extends Disposable {
  /** Milliseconds that have passed since it was held. */
  readonly passed: () => number
  readonly go: (milliseconds: number) => void
}

const real = performance.now.bind(performance)
let lead = 0
let held: number | null = null

export const holdClock = (): HeldClock => {
  performance.now = () => held ?? real() + lead
  const start = performance.now()
  held = start
  // Drivers take back timers of before, too.
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"],
    shouldClearNativeTimers: true
  })
  let passed = 0
  return {
    passed: () => passed,
    go: (milliseconds) => {
      passed += milliseconds
      held = start + passed
    },
    [Symbol.dispose]: () => {
      vi.useRealTimers()
      lead = Math.max(lead, start + passed - real())
      held = null
    }
  }
}
