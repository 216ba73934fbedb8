import { describe, expect, it } from "vitest"
import { sizesFor, tileBy } from "./tiling.ts"

describe("the tiles of a gallery", () => {
  it.each([[320, 2], [360, 2], [768, 3], [1_200, 5], [100, 1]])(
    "a window of %i has %i in a line, and nothing beside it",
    (room, across) => {
      const sizes = sizesFor(room, 3)
      expect(sizes.across).toBe(across)
      expect(across * sizes.width + (across + 1) * sizes.gap).toBeLessThanOrEqual(room)
      expect(sizes.line).toBeGreaterThan(sizes.picture + 3 * 20)
    }
  )

  const of = { across: 4, count: 10, page: 2, forward: 1 } as const
  it.each([
    ["ArrowRight", 3, 4],
    ["ArrowLeft", 0, 0],
    ["ArrowDown", 1, 5],
    ["ArrowDown", 7, 9],
    ["ArrowDown", 9, 9],
    ["ArrowUp", 5, 1],
    ["ArrowUp", 2, 2],
    ["PageDown", 1, 9],
    ["PageUp", 9, 1],
    ["PageUp", 6, 2],
    ["Home", 6, 4],
    ["End", 9, 9],
    ["End", 4, 7],
    ["x", 4, null]
  ])("%s leads from %i to %s", (key, from, to) => expect(tileBy({ key, wide: false }, from, of)).toBe(to))

  it("has its first and last tile by wide keys, and runs from the right where people read so", () => {
    expect(tileBy({ key: "End", wide: true }, 1, of)).toBe(9)
    expect(tileBy({ key: "Home", wide: true }, 9, of)).toBe(0)
    expect(tileBy({ key: "ArrowLeft", wide: false }, 3, { ...of, forward: -1 })).toBe(4)
  })
})
