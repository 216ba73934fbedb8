import { describe, expect, it } from "vitest"
import { arrange, countAfter, type Moves, sumsAfter, withMove } from "./moved.ts"

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

  it("change counts and sums, each currency by itself", () => {
    const record = (total: string | null, currency = "EUR") => ({ total, currency })
    const moves = new Map([
      ["1", { home: "A", to: "B", saving: false, record: record("10.50") }],
      ["2", { home: "B", to: "A", saving: true, record: record("-2.25", "NOK") }],
      ["3", { home: "A", to: "B", saving: false, record: record(null) }]
    ])
    expect([countAfter(5, moves, "A"), countAfter(0, moves, "B"), countAfter(7, moves, "C")]).toEqual([4, 1, 7])
    const by = { field: "total", currency: "currency" }
    expect([...sumsAfter(new Map([["EUR", "100.00"]]), moves, "A", by)]).toEqual([["EUR", "89.50"], ["NOK", "-2.25"]])
    expect([...sumsAfter(new Map([["NOK", "7.75"]]), moves, "B", by)]).toEqual([["NOK", "10.00"], ["EUR", "10.50"]])
  })
})
