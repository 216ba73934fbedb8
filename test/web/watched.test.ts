/** What the hook that follows a filter has of the events so far. The events themselves are tested where they come from. */

import type { WatchEvent } from "resource-admin/client"
import { describe, expect, it } from "vitest"
import { unwatched, watched } from "../../web/react/watch.ts"
import { property } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"

type Kind = Extract<WatchEvent, { event: "change" }>["data"]["kind"]

const event = (kind: Kind, key: string): WatchEvent => ({
  id: "1-1",
  event: "change",
  data: { key, kind, operation: "update", sequence: "1" }
})

const after = (...kinds: readonly Kind[]) => {
  const { changed, entered, left } = kinds.reduce((state, kind) => watched(state, event(kind, "7")), unwatched)
  return { changed: [...changed], entered: [...entered], left: [...left] }
}
const none = { changed: [], entered: [], left: [] }

describe("watched", () => {
  it.each<[readonly Kind[], Partial<typeof none> | { readonly [set: string]: readonly string[] }]>([
    [[], {}],
    [["entered"], { entered: ["7"] }],
    [["entered", "changed", "changed"], { entered: ["7"] }],
    [["entered", "left"], {}],
    [["entered", "left", "entered"], { entered: ["7"] }],
    [["changed"], { changed: ["7"] }],
    [["changed", "left"], { left: ["7"] }],
    [["left"], { left: ["7"] }],
    [["left", "entered"], { changed: ["7"] }],
    [["left", "entered", "left"], { left: ["7"] }]
  ])("%j", (kinds, sets) => {
    expect(after(...kinds)).toEqual({ ...none, ...sets })
  })

  it("says where changes may be missing", () => {
    expect(watched(unwatched, { id: "", event: "reset", data: {} }).missed).toBe(true)
    expect(watched(unwatched, event("entered", "7")).missed).toBe(false)
  })

  it("keeps the sets that nothing changes, so that what is drawn from them is not drawn again", () => {
    const one = watched(watched(unwatched, event("entered", "1")), event("changed", "2"))
    const next = watched(one, event("changed", "2"))
    expect([next.entered === one.entered, next.changed === one.changed, next.left === one.left]).toEqual([
      true,
      true,
      true
    ])
    expect(watched(one, event("changed", "1"))).toBe(one)
  })
})

/** Who is in a filter at first, and how records then enter and leave it. */
const walk = (random: Random) => ({
  first: random.some(["1", "2", "3"]),
  steps: random.many(0, 20, () => ({ key: random.pick(["1", "2", "3", "4"]), is: random.chance(2) }))
})

property(
  "is what the rows on the screen lack and have too much",
  { walk },
  { cases: 2_000 },
  ({ walk: { first, steps } }) => {
    const members = new Set(first)
    let state = unwatched
    for (const { is, key } of steps) {
      const was = members.has(key)
      if (!was && !is) continue
      state = watched(state, event(is ? was ? "changed" : "entered" : "left", key))
      if (is) members.add(key)
      else members.delete(key)
    }
    const screen = new Set(first)
    expect([...state.entered].toSorted()).toEqual([...members].filter((key) => !screen.has(key)).toSorted())
    expect([...state.left].toSorted()).toEqual([...screen].filter((key) => !members.has(key)).toSorted())
  }
)
