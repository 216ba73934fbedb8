import { expect, it } from "vitest"
import { en } from "../messages/en.ts"
import { en as first } from "../messages/entry/en.ts"
import { makeFormats } from "../messages/formats.ts"
import { atLeast, type Total, totalAfter, totalText } from "./total.ts"

const about = (count: number): Total => ({ count, accuracy: "estimate" })

it.each<readonly [string, Total, number, "exact" | "more" | "most", Total]>([
  ["goes on where rows follow the last one of an estimate", about(12_000), 12_000, "more", about(12_100)],
  ["goes on while it counts", { count: 10_000, accuracy: "counting" }, 10_000, "more", {
    count: 10_100,
    accuracy: "counting"
  }],
  ["stays where an estimate is beyond the page", about(12_000), 900, "more", about(12_000)],
  ["is exact after the last row", about(12_000), 12_456, "exact", { count: 12_456, accuracy: "exact" }],
  ["is exact after the last row of fewer", about(12_000), 11_240, "exact", { count: 11_240, accuracy: "exact" }],
  ["is no exact number where a page is empty", about(690_000), 689_900, "most", about(689_900)],
  ["is no larger than before where a page is empty", about(600), 700, "most", about(600)],
  ["that is exact stays", { count: 500, accuracy: "exact" }, 600, "more", { count: 500, accuracy: "exact" }]
])("a total %s", (_, before, rows, bound, after) => {
  expect(totalAfter(before, rows, bound, 100)).toEqual(after)
})

it("a later estimate takes back no row that was seen", () => {
  expect(atLeast(about(12_000), 12_300, 100)).toEqual(about(12_400))
  expect(atLeast({ count: 12_000, accuracy: "exact" }, 12_300, 100)).toEqual({ count: 12_000, accuracy: "exact" })
})

const texts = { ...first, ...en }

it.each(
  [
    ["exact", "12,000"],
    ["estimate", en.list.about("12,000")],
    ["counting", `12,000+, ${en.list.counting}`]
  ] as const
)("one that is %s says so", (accuracy, text) => {
  expect(totalText({ count: 12_000, accuracy }, texts, makeFormats("en", texts))).toBe(text)
})
