import { describe, expect, it } from "vitest"
import { readBytes, readDuration } from "./size.ts"
import { cutOf, ratioText } from "./variant.ts"

describe("variants", () => {
  it("never enlarge, stay in their box, and keep their shape within a pixel", () => {
    let seed = 7
    const next = (most: number): number => 1 + (seed = (seed * 48_271) % 2_147_483_647) % most
    for (let i = 0; i < 5_000; i++) {
      const source = { width: next(5_000), height: next(5_000) }
      const [width, height] = [i % 5 === 0 ? null : next(2_000), i % 7 === 0 ? null : next(2_000)]
      const fit = i % 2 === 0 && width !== null && height !== null ? "cover" : "inside"
      const cut = cutOf({ width, height, fit }, source)
      const what = JSON.stringify([source, width, height, fit, cut])
      expect(cut.width >= 1 && cut.height >= 1, what).toBe(true)
      expect(cut.width <= (width ?? Infinity) && cut.height <= (height ?? Infinity), what).toBe(true)
      expect(cut.width <= source.width && cut.height <= source.height, what).toBe(true)
      const { from } = cut
      expect(
        from.left >= 0 && from.left + from.width <= source.width && from.top >= 0 &&
          from.top + from.height <= source.height,
        what
      )
        .toBe(true)
      if (fit === "inside") expect([from.width, from.height], what).toEqual([source.width, source.height])
      // One side is as long as it can be.
      const scale = Math.min(1, (width ?? Infinity) / from.width, (height ?? Infinity) / from.height)
      expect(Math.abs(cut.width - from.width * scale) <= 1 && Math.abs(cut.height - from.height * scale) <= 1, what)
        .toBe(true)
    }
  })

  it.each([
    [{ width: 1_920, height: 1_080 }, 4, "1.7778"],
    [{ width: 1, height: 1 }, 4, "1.0000"],
    [{ width: 1, height: 3 }, 2, "0.33"],
    [{ width: 2, height: 3 }, 0, "1"],
    [{ width: 1, height: 2_000 }, 2, "0.00"],
    [{ width: 65_535, height: 1 }, 10, "65535.0000000000"]
  ])("ratio of %j with %i places is %s", (pixels, decimals, text) => expect(ratioText(pixels, decimals)).toBe(text))
})

describe("sizes and durations", () => {
  it.each<[unknown, number | null]>([
    [0, 0],
    [1_000, 1_000],
    ["512", 512],
    ["512 KiB", 524_288],
    ["1.5 GB", 1_500_000_000],
    ["50MB", 50_000_000],
    ["1 MiB", 1_048_576],
    ["10 mb", 10_000_000],
    ["2 tib", 2_199_023_255_552],
    [-1, null],
    [1.5, null],
    ["", null],
    ["MB", null],
    ["-1 MB", null],
    ["1,5 GB", null],
    ["1e9", null],
    ["1 XB", null],
    ["1 constructor", null],
    ["9999999 TiB", null],
    [null, null],
    [{}, null]
  ])("%j is %j bytes", (raw, bytes) => expect(readBytes(raw)).toBe(bytes))

  it.each<[unknown, number | null]>([
    ["0", 0],
    [0, 0],
    ["1d", 86_400_000],
    ["12 hours", 43_200_000],
    ["90 min", 5_400_000],
    ["2 weeks", 1_209_600_000],
    ["1.5h", 5_400_000],
    ["5", null],
    [5, null],
    ["", null],
    ["forever", null],
    ["9999999 days", null],
    ["-1d", null]
  ])("%j is %j milliseconds", (raw, milliseconds) => expect(readDuration(raw)).toBe(milliseconds))
})
