import { describe, expect, it } from "vitest"
import { en } from "../messages/en.ts"
import { en as entry } from "../messages/entry/en.ts"
import type { Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { cellFor, cellRefusals, planOf, rebased, reversed, targetOf, without } from "./edits.ts"

const t = { ...entry, ...en }
const fieldOf = (name: string, update = true) => ({ name, kind: "text", optional: true, writable: { update } })
const fieldList = [fieldOf("id", false), fieldOf("name"), fieldOf("city")]
const resource = {
  name: "people",
  may: { update: true },
  model: { primaryKey: ["id"], fields: fieldList, relations: [] },
  fields: new Map(fieldList.map((field) => [field.name, field])),
  related: () => undefined
} as unknown as Resource
const recordOf = (id: string, more: object = {}): AnyRecord =>
  ({ id, name: "n", city: "c", etag: `e${id}`, ...more }) as AnyRecord
const area = (top: number, bottom: number, left: number, right: number) => ({ top, bottom, left, right })

describe("the target of a paste", () => {
  it.each([
    [area(2, 2, 1, 1), [["a", "b"], ["c"]], area(2, 3, 1, 2)],
    [area(0, 5, 0, 3), [["a", "b"], ["c", "d"]], area(0, 5, 0, 3)],
    [area(0, 5, 0, 3), [["a"]], area(0, 5, 0, 3)],
    [area(0, 4, 0, 3), [["a", "b"], ["c", "d"]], area(0, 1, 0, 1)],
    [area(0, 0, 0, 0), [[]], area(0, 0, 0, 0)]
  ])("over %j of %j is %j", (over, table, target) => {
    expect(targetOf(over, table)).toEqual(target)
  })

  it("repeats the table, and a shorter row leaves cells alone", () => {
    const table = [["a", "b"], ["c"]]
    expect([0, 1, 2, 3].map((down) => [0, 1].map((across) => cellFor(table, down, across)))).toEqual(
      [["a", "b"], ["c", undefined], ["a", "b"], ["c", undefined]]
    )
  })
})

const plan = (table: readonly (readonly string[])[], records: readonly AnyRecord[], columns = ["id", "name", "city"]) =>
  planOf({
    resource,
    columns,
    records,
    rows: table.length,
    width: table[0]!.length,
    draftFor: (down, across) => {
      const text = table[down]?.[across]
      return text === undefined
        ? undefined
        : { text, draft: text === "bad" ? { value: undefined, problem: "wrong" } : { value: text, problem: null } }
    },
    t
  })

describe("the changes that a table means", () => {
  it("are one write a record with all its cells, and none where the value is there already", () => {
    const records = [recordOf("1"), recordOf("2", { name: "x", city: "y" })]
    expect(plan([["1", "a", "b"], ["2", "x", "y"]], records)).toEqual({
      edits: [{ key: "1", record: records[0], data: { name: "a", city: "b" } }],
      refused: [],
      same: 4
    })
  })

  it("leave out with a reason what cannot be written", () => {
    const locked = recordOf("2", { permissions: { update: false } })
    const partly = recordOf("3", { permissions: { update: true, fields: { city: "read" } } })
    const { edits, refused } = plan([["9", "bad", "x"], ["2", "a", "b"], ["3", "a", "b"]], [
      recordOf("1"),
      locked,
      partly
    ])
    expect(edits.map(({ data, key }) => [key, data])).toEqual([["1", { city: "x" }], ["3", { name: "a" }]])
    expect(refused.map(({ column, text, why }) => [column, text, why])).toEqual([
      ["id", "9", t.list.readOnlyField],
      ["name", "bad", "wrong"],
      ["name", "a", t.list.notWritable],
      ["city", "b", t.list.notWritable],
      ["city", "b", t.record.mayNot]
    ])
  })

  it("say which rows and columns are beyond the list", () => {
    expect(plan([["a", "b"], ["c", "d"]], [recordOf("1")], ["name"]).refused.map(({ why }) => why)).toEqual([
      t.range.beyondRows("1"),
      t.range.beyondColumns("1")
    ])
  })

  it("are taken back on the versions that were written, and lose what the service refuses", () => {
    const { edits } = plan([["1", "a", "b"], ["2", "a", "b"]], [recordOf("1"), recordOf("2", { city: undefined })])
    const written = [recordOf("1", { etag: "new" }), null]
    expect(reversed(edits, written)).toEqual([{ key: "1", record: written[0], data: { name: "n", city: "c" } }])
    const cell = without(edits, 0, { city: "no" }, "other")
    expect(cell.edits.map(({ data }) => data)).toEqual([{ name: "a" }, { name: "a", city: "b" }])
    expect(cell.refused).toMatchObject([{ column: "city", text: "b", why: "no" }])
    const record = without(edits, 0, { elsewhere: "no" }, "other")
    expect([record.edits.length, record.refused[0]]).toMatchObject([1, { column: null, why: "other" }])
    expect(without(cell.edits, 0, { name: "no" }, "other").edits).toHaveLength(1)
  })
})

describe("what is taken back after others changed records", () => {
  const edit = (id: string, data: object) => ({
    key: id,
    record: recordOf(id, { name: "mine", city: "mine" }),
    data: { ...data }
  })
  const back = [edit("1", { name: "a", city: "b" }), edit("2", { name: "a" }), edit("3", { name: "a" })]

  it("are the cells that nobody changed, on the version of now", () => {
    const now = new Map([
      ["1", recordOf("1", { name: "mine", city: "theirs", etag: "x" })],
      // It has its former value already.
      ["2", recordOf("2", { name: "a" })]
    ])
    const { edits, refused } = rebased(back, now, "changed")
    expect(edits.map(({ data, key, record }) => [key, data, record.etag])).toEqual([
      ["1", { name: "a" }, "x"],
      ["3", { name: "a" }, "e3"]
    ])
    expect(refused.map(({ column, record, text, why }) => [record?.["id"], column, text, why])).toEqual([
      ["1", "city", "b", "changed"]
    ])
  })

  it("names each cell of a record that is refused as a whole", () => {
    const [first] = back
    const whole = { record: first!.record, column: null, text: "", why: "gone" }
    expect(cellRefusals(whole, back).map(({ column, text, why }) => [column, text, why])).toEqual([
      ["name", "a", "gone"],
      ["city", "b", "gone"]
    ])
    expect(cellRefusals({ ...whole, column: "name" }, back)).toHaveLength(1)
  })
})
