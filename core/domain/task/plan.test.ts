// What an import may be asked for, and what its lines become.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import { callerOf, open } from "../../../test/support/openapi.ts"
import type { Json } from "../value/kind.ts"
import { createBody, readPlan, updateBody } from "./mapping.ts"
import type { ImportRequest } from "./task.ts"

const access = accessOf(
  makeModel({
    name: "customers",
    fields: [
      { name: "id", kind: "integer", readOnly: true, default: { db: true } },
      { name: "email", filterable: true },
      { name: "note", filterable: false },
      { name: "made_at", kind: "timestamp", readOnly: true, filterable: true }
    ]
  }),
  callerOf("admin"),
  open
)

const columns = ["A", "B"].map((name) => ({ name, samples: [], guess: null }))
const request: ImportRequest = {
  kind: "import",
  format: "csv",
  delimiter: "comma",
  formulas: "escape",
  name: null,
  columns,
  plan: null
}

const refusal = (body: Json): unknown => {
  const read = readPlan(access, request, body)
  return Result.isSuccess(read)
    ? null
    : (read.failure.members["errors"] as ReadonlyArray<{ readonly parameter: string }>).map(({ parameter }) =>
      parameter
    )
}

describe("the plan of an import", () => {
  it("assigns columns to fields, and finds records by a field that can be filtered, or by the key", () => {
    expect(refusal({ mapping: ["email", null] })).toBeNull()
    expect(refusal({ mode: "upsert", match: "email", mapping: ["email", "note"] })).toBeNull()
    expect(refusal({ mode: "update", mapping: ["id", "note"] })).toBeNull()
  })

  it.each<readonly [string, Json, readonly string[]]>([
    ["a field twice", { mapping: ["email", "email"] }, ["mapping[1]"]],
    ["a field that is not there", { mapping: ["email", "secret"] }, ["mapping[1]"]],
    ["a field that cannot be written", { mapping: ["email", "made_at"] }, ["mapping[1]"]],
    ["no column", { mapping: [null, null] }, ["mapping"]],
    ["fewer columns than there are", { mapping: ["email"] }, ["mapping"]],
    ["records by a field that cannot be filtered", { mode: "update", match: "note", mapping: ["email", "note"] }, [
      "match"
    ]],
    [
      "records by several fields that are no key",
      { mode: "update", match: ["id", "email"], mapping: ["email", null] },
      ["match"]
    ],
    ["records by a field without a column", { mode: "update", match: "email", mapping: ["note", null] }, ["match"]],
    ["records where all are new", { mode: "create", match: "email", mapping: ["email", null] }, ["match"]]
  ])("takes not %s", (_, body, parameters) => expect(refusal(body)).toEqual(parameters))
})

it("a new record takes defaults for empty values, and one that was found keeps what it was found by", () => {
  expect(createBody({ email: "a@example.com", note: null })).toEqual({ email: "a@example.com" })
  expect(updateBody({ email: "a@example.com", note: null }, ["email"])).toEqual({ note: null })
})
