import { expect, it } from "vitest"
import type { Column } from "./columns.ts"
import { stubsOf, tracksOf } from "./stubs.ts"

const column = (end: boolean): Column => ({ id: "c", label: "C", width: 100, flexible: false, end, pinned: false })
const layer = (from: string, length: number) =>
  `linear-gradient(var(--mute-soft) 0 0) ${from}px center / ${length}px 10px no-repeat`

it("puts a stub into each column, at the side of its values", () => {
  const tracks = tracksOf("40px 124px 324px 200px")
  expect(stubsOf(tracks, [column(true), column(false)], 40, false)).toBe(
    [layer("left 92", 60), layer("left 176", 180)].join(", ")
  )
})

it("follows the direction of the columns, and leaves out one without room", () => {
  expect(stubsOf(tracksOf("124px 20px 124px"), [column(false), column(false), column(false)], 0, true)).toBe(
    [layer("right 12", 60), layer("right 156", 60)].join(", ")
  )
  expect(tracksOf("none")).toEqual([])
})
