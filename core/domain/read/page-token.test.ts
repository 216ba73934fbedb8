import { describe, expect, it } from "vitest"
import { makeField, makeModel } from "../../../test/support/model.ts"
import { always, type OrderKey } from "../filter/tree.ts"
import type { SortKey } from "../model/model.ts"
import { pageContext, readPosition, writePosition } from "./page-token.ts"

const order: readonly SortKey[] = [{ field: makeField({ name: "id", kind: "integer" }), descending: false }]
const other: readonly SortKey[] = [{ field: makeField({ name: "place", kind: "integer" }), descending: false }]
const through = (name: string): readonly OrderKey[] => {
  const target = makeModel({ name: "places", fields: [{ name: "id", kind: "integer" }] })
  const [to] = target.key
  const relation = { name, target: "places", many: false, from: order[0]!.field, to: "id" }
  return order.map((key) => ({ ...key, ways: [{ relation, model: target, to: to!, rows: always }] }))
}
const caller = { id: "ann", roles: ["admin"], tenant: "1" }
const request = { filter: "a = 1", orderBy: "id", showDeleted: false }

describe("a page token", () => {
  it("belongs to its resource, filter, order, deleted rows, tenant and user", () => {
    const contexts = [
      pageContext(caller, "orders", request, order),
      pageContext(caller, "notes", request, order),
      pageContext(caller, "orders", { ...request, filter: "a = 2" }, order),
      pageContext(caller, "orders", { ...request, orderBy: "id desc" }, order),
      pageContext(caller, "orders", { ...request, showDeleted: true }, order),
      pageContext({ ...caller, tenant: "2" }, "orders", request, order),
      pageContext({ ...caller, tenant: null }, "orders", request, order),
      pageContext({ ...caller, id: "bob" }, "orders", request, order),
      pageContext(caller, "orders", request, other),
      pageContext(caller, "orders", request, through("home")),
      pageContext(caller, "orders", request, through("work"))
    ]
    expect(new Set(contexts).size).toBe(contexts.length)
  })

  it("stays valid when the caller's roles change", () => {
    expect(pageContext({ ...caller, roles: [] }, "orders", request, order)).toBe(
      pageContext(caller, "orders", request, order)
    )
  })

  it.each(
    [
      { direction: "after", bothWays: false, cells: ["7"], estimate: null },
      { direction: "before", bothWays: true, cells: [null], estimate: { size: 12_000, roles: "[]" } },
      { direction: "after", bothWays: true, cells: [], estimate: null }
    ] as const
  )("carries its position: %o", (position) => {
    expect(readPosition(writePosition(position), 1)).toEqual(position)
  })

  it("of a later version is told apart, and not misread", () => {
    expect(readPosition("[4,null,\"7\"]", 1)).toBe("newer")
    expect(readPosition("[3,null,\"7\"]", 1)).toMatchObject({ bothWays: true })
  })

  it("with another number of sort columns has no position", () => {
    const text = writePosition({ direction: "after", bothWays: false, cells: ["7", "8"], estimate: null })
    expect(readPosition(text, 1)).toBeNull()
  })
})
