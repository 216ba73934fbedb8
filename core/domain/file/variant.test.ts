import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { readBytes, readDuration } from "./size.ts"
import { cutOf, ratioText } from "./variant.ts"

describe("variants", () => {
  const pixels = (random: Random, most: number): number => 1 + random.below(most)
  const wish = (random: Random) => {
    const source = { width: pixels(random, 5_000), height: pixels(random, 5_000) }
    const [width, height] = [0, 1].map(() => random.chance(6) ? null : pixels(random, 2_000)) as [
      number | null,
      number | null
    ]
    const cover = random.chance(2) && width !== null && height !== null
    return { source, wanted: { width, height, fit: cover ? "cover" as const : "inside" as const } }
  }
  property("never enlarge, stay in their box, and keep their shape within a pixel", { wish }, { cases: 5_000 }, (
    { wish: { source, wanted } }
  ) => {
    const { fit, height, width } = wanted
    const cut = cutOf(wanted, source)
    const what = JSON.stringify(cut)
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
