import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { type SilenceWatch, watchSilence, type Wire } from "./silence.ts"

const silenceMs = 1_000
/** A quarter more than the silence: by then it was noticed. */
const long = 1_250

const wireOf = () => ({ bytesRead: 0, bytesWritten: 0, destroyed: false, destroy: vi.fn<Wire["destroy"]>() })

describe("watchSilence", () => {
  let watch: SilenceWatch
  beforeEach(() => {
    vi.useFakeTimers()
    watch = watchSilence(silenceMs)
  })
  afterEach(() => {
    watch.close()
    vi.useRealTimers()
  })

  const lineOf = (...wires: readonly Wire[]) => {
    const line = { due: true, isDue: () => line.due, wires: () => wires }
    watch.add(line)
    return line
  }

  it("closes a line on which an answer is due and nothing passes, not before the time", () => {
    const wire = wireOf()
    lineOf(wire)
    vi.advanceTimersByTime(silenceMs - 1)
    expect(wire.destroy).not.toHaveBeenCalled()
    vi.advanceTimersByTime(long - silenceMs + 1)
    expect(wire.destroy.mock.calls).toMatchObject([[{ code: "ETIMEDOUT" }]])
  })

  it("lets an idle line be, and counts again once it is due", () => {
    const wire = wireOf()
    const line = lineOf(wire)
    line.due = false
    vi.advanceTimersByTime(10 * long)
    line.due = true
    vi.advanceTimersByTime(silenceMs - 1)
    expect(wire.destroy).not.toHaveBeenCalled()
    vi.advanceTimersByTime(long - silenceMs + 1)
    expect(wire.destroy).toHaveBeenCalledOnce()
  })

  it.each(["bytesRead", "bytesWritten"] as const)("counts again when something passes: %s", (way) => {
    const wire = wireOf()
    lineOf(wire)
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(silenceMs - 1)
      wire[way]++
    }
    expect(wire.destroy).not.toHaveBeenCalled()
  })

  it("closes that line only, with all that it runs over", () => {
    const [alive, one, two] = [wireOf(), wireOf(), wireOf()]
    lineOf(alive)
    lineOf(one, two)
    for (let i = 0; i < 4; i++) {
      vi.advanceTimersByTime(long / 4)
      alive.bytesRead++
    }
    expect([alive, one, two].map(({ destroy }) => destroy.mock.calls.length > 0)).toEqual([false, true, true])
  })

  it("looks at no line that was taken away, and at none after it was closed", () => {
    const [gone, late] = [wireOf(), wireOf()]
    watch.remove(lineOf(gone))
    lineOf(late)
    watch.close()
    vi.advanceTimersByTime(10 * long)
    expect(gone.destroy).not.toHaveBeenCalled()
    expect(late.destroy).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })
})
