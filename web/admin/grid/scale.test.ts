import { describe, expect, it } from "vitest"
import { highest, moved, positionFor, scaleFor, spanAt, toPhysical, toVirtual } from "./scale.ts"

describe("the scale of a list", () => {
  const viewport = 600
  const big = scaleFor(31_700_000, viewport)

  it("is the identity where all rows fit", () => {
    const scale = scaleFor(20_000, viewport)
    for (const top of [0, 1, 777.5, 19_400]) expect(toVirtual(scale, top)).toBe(top)
    expect(scale.physical).toBe(19_400)
  })

  it("never needs an element higher than browsers take", () => {
    expect(big.physical + viewport).toBe(highest)
    expect(scaleFor(1e12, viewport).physical + viewport).toBe(highest)
  })

  it("reaches both ends, and goes back and forth without a loss", () => {
    expect(toVirtual(big, 0)).toBe(0)
    expect(toVirtual(big, big.physical)).toBe(big.virtual)
    for (let top = 0; top <= big.physical; top += 12_345.5) {
      expect(Math.abs(toPhysical(big, toVirtual(big, top)) - top)).toBeLessThan(1e-6)
    }
  })

  it("is 1:1 at its ends and for small movements anywhere", () => {
    expect(toVirtual(big, 150_000)).toBe(150_000)
    expect(big.virtual - toVirtual(big, big.physical - 90)).toBe(90)
    const middle = { top: 4_000_000, virtual: toVirtual(big, 4_000_000) }
    expect(moved(big, middle, 4_000_100)).toEqual({ top: 4_000_100, virtual: middle.virtual + 100, jumped: false })
    expect(moved(big, middle, 4_002_000).jumped).toBe(true)
    expect(moved(big, middle, 4_002_000).virtual).toBe(toVirtual(big, 4_002_000))
  })

  it("never leaves the rows", () => {
    expect(moved(big, { top: 500, virtual: 100 }, 0).virtual).toBe(0)
    expect(scaleFor(100, viewport)).toMatchObject({ physical: 0, virtual: 0 })
  })

  it("draws what is seen and a little more", () => {
    expect(spanAt(scaleFor(3400, viewport), { top: 340, virtual: 340 }, 34, 100)).toEqual({
      first: 4,
      last: 36,
      shift: 0
    })
    // One row on, the same are drawn: rows come and go four at a time.
    expect(spanAt(scaleFor(3400, viewport), { top: 374, virtual: 374 }, 34, 100)).toMatchObject({ first: 4, last: 36 })
    expect(spanAt(scaleFor(34_000, viewport), { top: 3_400, virtual: 3_400 }, 34, 1_000, true)).toEqual({
      first: 100,
      last: 118,
      shift: 0
    })
    expect(spanAt(scaleFor(0, viewport), { top: 0, virtual: 0 }, 34, 0)).toEqual({ first: 0, last: 0, shift: 0 })
  })

  it("shows a row by moving as little as can be", () => {
    const scale = scaleFor(34_000, viewport)
    expect(positionFor(scale, 340, 10, 34, 32)).toBe(340)
    expect(positionFor(scale, 340, 2, 34, 32)).toBe(68)
    expect(positionFor(scale, 0, 20, 34, 32)).toBe(20 * 34 + 34 + 32 - 600)
    expect(positionFor(scale, 0, 999, 34, 32)).toBe(scale.virtual)
  })
})
