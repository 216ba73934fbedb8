/** Related records keep nobody waiting while they are written, however they were asked for. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { startOthers } from "../../../test/support/turns.ts"
import { always } from "../../domain/filter/tree.ts"
import type { Core } from "../ground/core.ts"
import type { ExpandWay, Expansion } from "./expand-plan.ts"
import { expandRows } from "./expand.ts"

const id = { name: "id", kind: "integer" }
const parent = { name: "parent_id", kind: "integer" }

/** Rows below the record 1, each with the place of its value and its level where the plan gives them. */
const rowsOf = (how: ExpandWay["how"]["of"], count: number) =>
  Array.from(
    { length: count },
    (_, i) => [String(i + 2), "1", ...(how === "all" ? [] : ["0"]), ...(how === "tree" ? ["1"] : [])]
  )

it.each<ExpandWay["how"]>([{ of: "all" }, { of: "page" }, { of: "tree", depth: 3 }])(
  "of 100 items of 30 KB lets others have turns: %j",
  async (how) => {
    const seen: number[] = []
    const others = startOthers()
    const rows = Effect.succeed(rowsOf(how.of, 100))
    const core = {
      records: { page: () => rows, related: () => rows },
      seal: { digest: String },
      options: { maxAnswerBytes: 33_554_432, scanGuard: { mode: "off" } }
    } as unknown as Core
    const layout = { position: new Map([[id, 0], [parent, 1]]) }
    const way = {
      relation: { name: "children", many: true, from: id },
      target: { caller: { id: "u", roles: [] }, restricted: { id: 1 }, rows: always },
      to: parent,
      below: [],
      how,
      shape: {
        layout,
        page: { where: always, order: [], limit: 501 },
        write: ([row]: readonly string[]) => {
          seen.push(others.turns())
          return { open: `{"id":${row},"text":"${"x".repeat(30_000)}"`, etag: "" }
        }
      },
      filter: always,
      inner: null,
      name: []
    }
    const { membersOf } = await Effect.runPromise(
      expandRows(core, [way] as unknown as Expansion, [["1", null]], layout as never)
    )
    others.stop()
    expect(JSON.parse(membersOf(0)).children[how.of === "page" ? "items" : "length"]).toBeTruthy()
    expect(new Set(seen).size).toBeGreaterThanOrEqual(9)
  }
)
