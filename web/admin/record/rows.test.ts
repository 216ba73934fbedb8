import { describe, expect, it } from "vitest"
import {
  addRow,
  changeAdded,
  changeRow,
  dropAdded,
  emptyRows,
  refusalsLeft,
  removeRow,
  rowOperations,
  rowProblems,
  rowRefusals,
  rowsCount
} from "./rows.ts"

const facts = { resource: "order_lines", field: "order_id", value: "17" }
const line = { id: "5", quantity: 1, etag: "\"e5\"" }
const fine = (value: unknown) => ({ value, problem: null })

/** A batch that records its operations. */
const recorder = () => {
  const ops: unknown[] = []
  const add = (op: string) => (...rest: readonly unknown[]) => ops.push([op, ...rest])
  return { ops, batch: { create: add("create"), update: add("update"), delete: add("delete") } as never }
}

describe("rows of related records", () => {
  it("count as changes only while they differ", () => {
    const changed = changeRow(emptyRows, "lines", facts, "5", line, "quantity", fine(3))
    expect(rowsCount(changed)).toBe(1)
    expect(changeRow(changed, "lines", facts, "5", line, "quantity", fine(1))).toEqual({})
  })

  it("are written with the version that was shown, and new ones with their parent", () => {
    let rows = changeRow(emptyRows, "lines", facts, "5", line, "quantity", fine(3))
    rows = removeRow(rows, "lines", facts, "6", { id: "6", etag: "\"e6\"" })
    rows = addRow(rows, "lines", facts, { quantity: 1 })
    rows = changeAdded(rows, "lines", 1, "product_id", fine("9"))
    const { batch, ops } = recorder()
    rowOperations(batch, rows, null)
    expect(ops).toEqual([
      ["update", "order_lines", ["5"], { quantity: 3 }, { etag: "\"e5\"" }],
      ["delete", "order_lines", ["6"], { etag: "\"e6\"" }],
      ["create", "order_lines", { quantity: 1, product_id: "9", order_id: "17" }]
    ])
  })

  it("point at a record that the same batch makes", () => {
    const rows = addRow(emptyRows, "lines", { ...facts, value: undefined }, { quantity: 2 })
    const { batch, ops } = recorder()
    rowOperations(batch, rows, { $ref: "r0" })
    expect(ops).toEqual([["create", "order_lines", { quantity: 2, order_id: { $ref: "r0" } }]])
  })

  it("come back when a removal or an addition is taken back", () => {
    const removed = removeRow(emptyRows, "lines", facts, "5", line)
    expect(removeRow(removed, "lines", facts, "5", line)).toEqual({})
    const added = addRow(emptyRows, "lines", facts, {})
    expect(dropAdded(added, "lines", 1)).toEqual({})
  })

  it("name what cannot be sent, but not of removed rows", () => {
    const bad = { value: undefined, problem: "Write a whole number." }
    const rows = changeRow(emptyRows, "lines", facts, "5", line, "quantity", bad)
    expect(rowProblems(rows)).toEqual({ "lines/5/quantity": "Write a whole number." })
    expect(rowProblems(removeRow(rows, "lines", facts, "5", line))).toEqual({})
  })
})

describe("refusals of rows", () => {
  const added = (values: object) => addRow(emptyRows, "lines", facts, { quantity: 1, ...values })

  it("belong to the row whose operation was refused, in the order of the batch", () => {
    const rows = addRow(
      removeRow(changeRow(emptyRows, "lines", facts, "5", line, "quantity", fine(3)), "lines", facts, "6", line),
      "lines",
      facts,
      { quantity: -3 }
    )
    const { batch, ops } = recorder()
    rowOperations(batch, rows, null)
    expect(ops).toHaveLength(3)
    expect(rowRefusals(rows, 2, { quantity: "Must be at least 1." }, "Refused.")).toEqual({
      "lines/+1/quantity": "Must be at least 1."
    })
    expect(rowRefusals(rows, 0, { quantity: "Too many." }, "Refused.")).toEqual({ "lines/5/quantity": "Too many." })
    expect(rowRefusals(rows, 1, {}, "It is in use.")).toEqual({ "lines/6/": "It is in use." })
    // The operation before the rows is the record's own.
    expect(rowRefusals(rows, -1, { note: "Too long." }, "Refused.")).toBe(null)
    expect(rowRefusals(rows, 3, {}, "Refused.")).toBe(null)
  })

  it("hold until their value changes, or their row is gone", () => {
    const before = added({ quantity: -3 })
    const refused = { "lines/+1/quantity": "Must be at least 1.", "lines/+1/": "It is in use." }
    expect(refusalsLeft(refused, before, changeAdded(before, "lines", 1, "price", fine("2.00")))).toEqual({
      "lines/+1/quantity": "Must be at least 1."
    })
    expect(refusalsLeft(refused, before, changeAdded(before, "lines", 1, "quantity", fine(3)))).toEqual({})
    expect(refusalsLeft(refused, before, dropAdded(before, "lines", 1))).toEqual({})
    const stored = changeRow(emptyRows, "lines", facts, "a/5", line, "quantity", fine(-3))
    const said = { "lines/a/5/quantity": "Must be at least 1." }
    expect(refusalsLeft(said, stored, addRow(stored, "lines", facts, {}))).toEqual(said)
    expect(refusalsLeft(said, stored, changeRow(stored, "lines", facts, "a/5", line, "quantity", fine(1)))).toEqual({})
  })
})
