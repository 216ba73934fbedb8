import { describe, expect, it } from "vitest"
import { arrange, countAfter, type Move, type Moves, sumsAfter, withMove } from "./moved.ts"

interface Card {
  readonly id: string
}

const rows = (...ids: readonly string[]) => ({
  count: ids.length,
  rowAt: (index: number): Card | undefined => ids[index] === undefined ? undefined : { id: ids[index] },
  indexOf: (key: string) => ids.indexOf(key)
})

const none: Moves<Card> = new Map()
const move = (moves: Moves<Card>, id: string, at: string, to: string, saving = false): Moves<Card> =>
  withMove(moves, id, { at, to, saving, record: { id } })

const shown = (own: ReturnType<typeof rows>, moves: Moves<Card>, column: string) => {
  const { at, count } = arrange(own, moves, column)
  return Array.from({ length: count }, (_, index) => at(index)?.id)
}

describe("cards that were moved", () => {
  it("stand at the top of their new column, the last one first, and their old column closes up", () => {
    const moves = move(move(none, "b", "A", "B"), "d", "A", "B")
    expect(shown(rows("a", "b", "c", "d", "e"), moves, "A")).toEqual(["a", "c", "e"])
    expect(shown(rows("x", "y"), moves, "B")).toEqual(["d", "b", "x", "y"])
    expect(shown(rows("p"), moves, "C")).toEqual(["p"])
  })

  it("keep the column of their row when they go on, and are no move once they are home", () => {
    const once = move(none, "b", "A", "B")
    const twice = move(once, "b", "B", "C")
    expect(twice.get("b")).toMatchObject({ home: "A", to: "C" })
    expect(shown(rows("a", "b"), twice, "A")).toEqual(["a"])
    expect(shown(rows("x"), twice, "B")).toEqual(["x"])
    expect(shown(rows("a", "b"), move(twice, "b", "C", "A"), "A")).toEqual(["a", "b"])
  })

  it("are shown once where the rows of the new column have them by now", () => {
    const moves = move(none, "b", "A", "B")
    const { at, count, find, row } = arrange(rows("x", "b", "y"), moves, "B")
    expect([count, at(0)?.id, at(1)?.id, at(2)?.id]).toEqual([3, "b", "x", "y"])
    expect([row(0), row(1), row(2)]).toEqual([-1, 0, 2])
    expect([find("b"), find("x"), find("y"), find("z")]).toEqual([0, 1, 2, -1])
  })

  it("are found where they stand", () => {
    const { find } = arrange(rows("a", "b", "c"), move(move(none, "a", "A", "B"), "x", "B", "A"), "A")
    expect([find("x"), find("b"), find("c"), find("a")]).toEqual([0, 1, 2, -1])
  })

  it("that leave stand where they were until they go, and belong to no column meanwhile", () => {
    const leaves = (stands: string | null): Moves<Card> =>
      new Map([["b", { record: { id: "b" }, home: "A", to: null, stands, saving: false }]])
    expect(shown(rows("a", "b", "c"), leaves("A"), "A")).toEqual(["a", "b", "c"])
    expect(arrange(rows("a", "b", "c"), leaves("A"), "A").find("b")).toBe(1)
    expect(countAfter(3, leaves("A"), "A", none)).toBe(2)
    expect(shown(rows("a", "b", "c"), leaves(null), "A")).toEqual(["a", "c"])
  })

  describe("change counts and sums", () => {
    type Amount = { readonly total: string | null; readonly currency: string }
    const of = (
      home: string | null,
      to: string,
      total: string | null,
      currency = "EUR"
    ): Move<Amount> => ({ home, to, stands: to, saving: false, record: { total, currency } })
    const by = { field: "total", currency: "currency" }
    const moves = new Map([
      ["1", of("A", "B", "10.50")],
      ["2", of("B", "A", "-2.25", "NOK")],
      ["3", of("A", "B", null)]
    ])
    const base: Moves<Amount> = new Map()

    it("each currency by itself", () => {
      expect(["A", "B", "C"].map((column) => countAfter(column === "B" ? 0 : 5, moves, column, base))).toEqual([
        4,
        1,
        5
      ])
      expect([...sumsAfter(new Map([["EUR", "100.00"]]), moves, "A", { ...by, base })]).toEqual([
        ["EUR", "89.50"],
        ["NOK", "-2.25"]
      ])
      expect([...sumsAfter(new Map([["NOK", "7.75"]]), moves, "B", { ...by, base })]).toEqual([
        ["NOK", "10.00"],
        ["EUR", "10.50"]
      ])
    })

    it("by what has happened since they were made", () => {
      const now = new Map([...moves, ["1", of("A", "C", "11.50")], ["4", of(null, "B", "1")]] as const)
      expect(["A", "B", "C"].map((column) => countAfter(5, now, column, moves))).toEqual([5, 5, 6])
      expect([...sumsAfter(new Map([["EUR", "20"]]), now, "B", { ...by, base: moves })]).toEqual([["EUR", "10.50"]])
      // A card that came home again is no move any more.
      expect(countAfter(5, new Map(), "A", moves)).toBe(6)
    })
  })
})
