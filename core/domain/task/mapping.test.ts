import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { Random } from "../../../test/generators/random.ts"
import { cell } from "../../../test/generators/value.ts"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import { callerOf, open } from "../../../test/support/openapi.ts"
import { wireFromCell } from "../value/cell.ts"
import { csvValue } from "./csv.ts"
import { guessMapping, readLine, readPlan } from "./mapping.ts"
import type { ImportRequest } from "./task.ts"

const access = accessOf(
  makeModel({
    name: "customers",
    fields: [
      { name: "customer_id", kind: "integer", readOnly: true, default: { db: true } },
      { name: "name", label: "E-mail" },
      { name: "email", label: "Name of the customer" },
      { name: "net", label: "Net price", alias: "amount" },
      { name: "odd", label: "—" }
    ]
  }),
  callerOf("admin"),
  open
)

it("guesses fields by name, alias and label, and the key by ID", () => {
  expect(guessMapping(access, ["ID", "Name", "name of the customer", "NET-PRICE", "?", "Other"])).toEqual([
    "customer_id",
    "name",
    "email",
    "net",
    null,
    null
  ])
  // A name goes before another field's label, and each field is used once.
  expect(guessMapping(access, ["e_mail", "amount", "Net price", "Customer ID"])).toEqual([
    "email",
    "net",
    null,
    "customer_id"
  ])
})

it("reads a list out of a cell as an export writes it, and names the element that is wrong", () => {
  const lists = accessOf(
    makeModel({
      name: "things",
      fields: [
        { name: "id", kind: "integer", bits: 32 },
        { name: "tags", kind: "list", optional: true },
        { name: "sizes", kind: "list", of: { kind: "integer", bits: 64 }, optional: true }
      ]
    }),
    callerOf("admin"),
    open
  )
  const columns = ["id", "tags", "sizes"].map((name) => ({ name }))
  const request = { columns, formulas: "escape" } as unknown as ImportRequest
  const plan = { mapping: ["id", "tags", "sizes"], mode: "create", match: ["id"], errors: "skip" } as const
  const read = (...values: readonly (string | null)[]) => readLine(lists, request, plan, { values, line: 1 } as never)
  expect(Result.getOrThrow(read("1", "[\"=a\",\"b,c\"]", "[1, \"9007199254740993\"]")).body).toEqual({
    id: 1,
    tags: ["=a", "b,c"],
    sizes: ["1", "9007199254740993"]
  })
  expect(Result.getOrThrow(read("1", null, "[]")).body).toEqual({ id: 1, tags: null, sizes: [] })
  const refused = read("1", "a, b", "[1, 1.5]")
  expect(Result.isFailure(refused) && refused.failure).toMatchObject([
    { field: "tags", message: "Expected JSON." },
    { field: "sizes[1]" }
  ])
})

const kinds = accessOf(
  makeModel({
    name: "slots",
    fields: [
      { name: "id", kind: "integer", bits: 32 },
      { name: "opens", kind: "time" },
      { name: "lasts", kind: "interval" },
      { name: "ip", kind: "inet" },
      { name: "net", kind: "cidr" },
      { name: "mac", kind: "macaddr" },
      { name: "content", kind: "bytes" },
      { name: "price", kind: "money" },
      { name: "seats", kind: "range", type: "integer" },
      { name: "weights", kind: "range", type: "decimal" },
      { name: "during", kind: "range", type: "timestamp" },
      { name: "place", kind: "native", type: "point" }
    ]
  }),
  callerOf("admin"),
  open
)
const { fields } = kinds.restricted

const request: ImportRequest = {
  kind: "import",
  format: "csv",
  delimiter: "comma",
  formulas: "escape",
  name: null,
  columns: fields.map(({ name }) => ({ name, guess: name, samples: [] })),
  plan: null
}

it("reads of every kind what an export wrote", () => {
  const random = new Random(5)
  const mapping = fields.map(({ name }) => name)
  for (let turn = 0; turn < 200; turn++) {
    const cells = fields.map((field) => cell(random, field))
    const written = fields.map((field, i) => csvValue(field.kind, "comma", "escape")(cells[i]!))
    const values = written.map((text) => text.startsWith("\"") ? text.slice(1, -1).replaceAll("\"\"", "\"") : text)
    const read = readLine(kinds, request, { mapping, mode: "create", match: null, errors: "stop" }, { line: 2, values })
    expect(read).toMatchObject({
      success: { body: Object.fromEntries(fields.map((field, i) => [field.name, wireFromCell(field, cells[i]!)])) }
    })
  }
})

it("finds no record by values that are equal in several texts", () => {
  for (const match of ["lasts", "seats", "content", "place"]) {
    expect(readPlan(kinds, request, { mode: "update", match })).toMatchObject({
      failure: { detail: `Records cannot be found by the field "${match}".` }
    })
  }
})
