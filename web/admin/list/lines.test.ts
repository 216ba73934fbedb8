import { expect, it } from "vitest"
import { related } from "../../../test/support/related.ts"
import { type Head, headsOf, keysOf } from "./group-heads.ts"
import { isFolded, linesOf, printFolds, readFolds, withFold } from "./lines.ts"

const orders = related.resources.get("orders")!
const count = ({ count }: Head): number => count

const groups = (rows: ReadonlyArray<readonly [string, string | null, number]>) =>
  rows.map(([status, note, count]) => ({ group: { status, note }, measures: { count } }))

const heads = headsOf(
  orders,
  keysOf(orders, ["status", "note"]),
  groups([["draft", "a", 2], ["draft", null, 1], ["paid", "a", 1_000_000]]),
  false
)

const shown = (folded: readonly string[], more = false): readonly string[] => {
  const lines = linesOf(heads, readFolds(folded), count, more)
  return Array.from({ length: Math.min(lines.count, 9) }, (_, at) => {
    const line = lines.at(at)!
    return line.of === "more" ? "more" : line.of === "head" ? line.head.id : `${line.head.id} ${line.index}`
  })
}

it("has a line for each head, and for the rows of groups that are not folded", () => {
  expect(shown([])).toEqual([
    "draft",
    "draft/a",
    "draft/a 0",
    "draft/a 1",
    "draft/!",
    "draft/! 0",
    "paid",
    "paid/a",
    "paid/a 0"
  ])
  expect(shown(["draft"]).slice(0, 3)).toEqual(["draft", "paid", "paid/a"])
  expect(shown(["*"], true)).toEqual(["draft", "paid", "more"])
  expect(shown(["*", "draft", "draft/!"])).toEqual(["draft", "draft/a", "draft/!", "draft/! 0", "paid"])
})

it("finds lines and rows, and the rows of a part", () => {
  const lines = linesOf(heads, readFolds([]), count, false)
  expect(lines.count).toBe(1_000_008)
  expect(lines.at(1_000_007)).toMatchObject({ of: "row", index: 999_999 })
  expect([lines.at(-1), lines.at(lines.count)]).toEqual([undefined, undefined])
  expect([lines.lineOf("paid/a"), lines.lineOf("gone")]).toEqual([7, -1])
  expect(lines.lineOfRow("draft/!", 0)).toBe(5)
  expect(linesOf(heads, readFolds(["draft/!"]), count, false).lineOfRow("draft/!", 0)).toBe(-1)
  expect(lines.stretches(3, 500).map(({ first, head, last }) => [head.id, first, last])).toEqual([
    ["draft/a", 1, 2],
    ["draft/!", 0, 1],
    ["paid/a", 0, 492]
  ])
  expect(linesOf([], readFolds([]), count, false)).toMatchObject({ count: 0 })
})

it("names the folded groups, or all but the unfolded ones", () => {
  const one = withFold(readFolds([]), "draft", true)
  expect([printFolds(one), isFolded(one, "draft"), isFolded(one, "paid")]).toEqual([["draft"], true, false])
  expect(printFolds(withFold(one, "draft", false))).toEqual([])
  const all = readFolds(["*"])
  expect([printFolds(withFold(all, "paid", false)), isFolded(all, "paid")]).toEqual([["*", "paid"], true])
  expect(printFolds(withFold(withFold(all, "paid", false), "paid", true))).toEqual(["*"])
})
