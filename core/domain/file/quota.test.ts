import { describe, expect, it } from "vitest"
import { countedMs, Quota } from "./quota.ts"

const of = (bytes: number, files: number) => ({ bytes, files })

describe("a quota", () => {
  it("has room beside what is stored and what is under way", () => {
    const quota = new Quota({ maxBytes: 100, maxFiles: 3 })
    quota.count(of(50, 1), 0)
    expect([quota.fits(of(50, 2)), quota.fits(of(51, 1)), quota.fits(of(1, 3))]).toEqual([true, false, false])
    quota.reserve(of(30, 1))
    expect([quota.fits(of(20, 1)), quota.fits(of(21, 1)), quota.fits(of(1, 2))]).toEqual([true, false, false])
    quota.release(of(30, 1))
    quota.add(of(30, 1))
    expect([quota.fits(of(20, 1)), quota.fits(of(21, 1)), quota.fits(of(1, 2))]).toEqual([true, false, false])
    quota.add(of(-80, -2))
    expect(quota.fits(of(100, 3))).toBe(true)
  })

  it("counts what was stored while it was listed", () => {
    const quota = new Quota({ maxBytes: 100, maxFiles: 3 })
    quota.add(of(40, 1))
    quota.begin()
    quota.add(of(20, 1))
    // The list has not seen it.
    quota.count(of(40, 1), 0)
    expect([quota.fits(of(40, 1)), quota.fits(of(41, 1)), quota.fits(of(1, 2))]).toEqual([true, false, false])
  })

  it("is listed again after its time, and never where nothing is limited", () => {
    const quota = new Quota({ maxBytes: null, maxFiles: 1 })
    expect(quota.isStale(0)).toBe(true)
    quota.count(of(0, 0), 1_000)
    expect([quota.isStale(999 + countedMs), quota.isStale(1_000 + countedMs)]).toEqual([false, true])
    expect(new Quota({ maxBytes: null, maxFiles: null }).isStale(0)).toBe(false)
  })
})
