import { describe, expect, it } from "vitest"
import type { Pending } from "../live/net.ts"
import { earlier, hear, merged, movedMeanwhile, withoutLeft } from "./heard.ts"
import { type Moves, withMove } from "./moved.ts"

interface Card {
  readonly id: string
  readonly etag: string
  readonly status: string
}

const card = (id: string, status: string, etag = "1"): Card => ({ id, status, etag })
const pending = (kind: Pending["kind"] = "changed", operation: Pending["operation"] = "update"): Pending => ({
  kind,
  operation
})

/** A board whose rows are `rows`, by column. */
const heard = (
  rows: { readonly [column: string]: readonly Card[] },
  news: readonly (readonly [string, Pending])[],
  now: readonly Card[],
  moves: Moves<Card> = new Map()
) =>
  hear<Card>({
    moves,
    news: new Map(news),
    now: new Map(now.map((each) => [each.id, each])),
    columnOf: ({ status }) => status,
    cardOf: (key) => {
      const move = moves.get(key)
      if (move !== undefined) return move.stands === null ? null : { column: move.stands, record: move.record }
      for (const [column, cards] of Object.entries(rows)) {
        const record = cards.find(({ id }) => id === key)
        if (record !== undefined) return { column, record }
      }
      return null
    },
    holds: (column, key) => rows[column]?.some(({ id }) => id === key) === true
  })

const rows = { A: [card("a", "A"), card("b", "A")], B: [] }

describe("changes by others on a board", () => {
  it("move a card that is shown, and mark it", () => {
    const { changed, moves } = heard(rows, [["a", pending()]], [card("a", "B", "2")])
    expect(changed).toEqual(["a"])
    expect(moves.get("a")).toMatchObject({ home: "A", to: "B", stands: "B", record: { etag: "2" } })
  })

  it("mark a card that stays, and say nothing of one that is as it was", () => {
    const { changed, moves } = heard(rows, [["a", pending()], ["b", pending()]], [card("a", "A", "2"), card("b", "A")])
    expect([changed, moves.size]).toEqual([["a"], 0])
  })

  it("bring a card that came to be or into the filter, and none that was out of sight", () => {
    const { changed, moves } = heard(rows, [
      ["x", pending("entered", "create")],
      ["y", pending("entered")],
      ["z", pending(null, "undelete")],
      ["deep", pending()]
    ], ["x", "y", "z", "deep"].map((id) => card(id, "B")))
    expect(changed).toEqual(["x", "y", "z"])
    expect([...moves.values()].map(({ home, to }) => [home, to])).toEqual([[null, "B"], [null, "B"], [null, "B"]])
  })

  it("let a card go that was deleted or passes the filter no more, after a moment", () => {
    const { gone, left, moves } = heard(rows, [
      ["a", pending("left", "delete")],
      ["b", pending("left")],
      ["c", pending("left")]
    ], [])
    expect([gone, left]).toEqual([["a"], ["b"]])
    expect(moves.get("a")).toMatchObject({ home: "A", to: null, stands: "A" })
    const after = withoutLeft(moves, ["a", "b"], (key) => key === "b")
    expect([after.get("a")?.stands, after.get("b")?.stands]).toEqual([null, "A"])
    // It is told once.
    expect(heard(rows, [["a", pending("left", "delete")]], [], moves).gone).toEqual([])
    const back = heard(rows, [["a", pending("entered", "undelete")]], [card("a", "A", "3")], after)
    expect([back.changed, back.moves.has("a")]).toEqual([["a"], false])
  })

  it("wait for the answer of a write that is under way", () => {
    const moves = withMove<Card>(new Map(), "a", { at: "A", to: "B", record: card("a", "B"), saving: true })
    expect(heard(rows, [["a", pending()]], [card("a", "C", "2")], moves).moves).toBe(moves)
  })

  it("show a card that comes home where its column was read without it", () => {
    const moves = withMove<Card>(new Map(), "c", { at: "A", to: "B", record: card("c", "B"), saving: false })
    const { moves: now } = heard(rows, [["c", pending()]], [card("c", "A", "2")], moves)
    expect(now.get("c")).toMatchObject({ home: null, to: "A", stands: "A" })
  })
  it("leave alone what was moved here meanwhile", () => {
    const move = (to: string) => ({ record: card("a", to), home: "A", to, stands: to, saving: false })
    const before: Moves<Card> = new Map([["a", move("B")], ["b", move("B")]])
    const here: Moves<Card> = new Map([...before, ["a", move("C")]])
    expect([...merged(here, before, new Map([["c", move("B")]])).entries()].map(([key, { to }]) => [key, to]))
      .toEqual([["a", "C"], ["c", "B"]])
  })
})

describe("cards that were moved while records were read", () => {
  const saving = withMove<Card>(new Map(), "a", { at: "draft", to: "paid", record: card("a", "paid"), saving: true })
  const news = new Map([["a", pending()], ["b", pending("entered", "create")]])

  it.each<[string, Moves<Card>, Moves<Card>, readonly string[]]>([
    ["a write began", new Map(), saving, ["a"]],
    ["a write ended", saving, new Map(), ["a"]],
    ["nothing was written", saving, saving, []]
  ])("are looked at again where %s", (_, from, to, keys) => {
    expect(movedMeanwhile(news, from, to).map(([key]) => key)).toEqual(keys)
  })

  it("keep what was heard of them before and after", () => {
    expect(earlier(pending("entered", "create"), undefined)).toEqual(pending("entered", "create"))
    expect(earlier(pending("entered", "create"), pending("changed", "update"))).toEqual(pending("entered", "update"))
  })
})
