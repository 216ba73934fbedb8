// Indexes of columns whose values a plain index does not serve.
import { expect, it } from "vitest"
import { columnFacts as column, tableFacts } from "../../test/support/catalogue.ts"
import { compileOrThrow } from "../create-admin.ts"
import { defineConfig, defineResource, f } from "../index.ts"
import { checkIndexes } from "./indexes.ts"

it("ranges are served by what they hold, and bytes and native types by no index", () => {
  const compiled = compileOrThrow(defineConfig({
    resources: [
      defineResource("slots", {
        primaryKey: "id",
        fields: {
          id: f.integer(),
          during: f.range("timestamp").filterable().sortable(),
          opens: f.time().filterable(),
          content: f.bytes().filterable(),
          place: f.native("point").filterable()
        }
      })
    ]
  }))
  const model = compiled.models.get("slots")!
  const facts = tableFacts("slots", [
    column("id", "int4"),
    column("during", "tstzrange"),
    column("opens", "time"),
    column("content", "bytea"),
    column("place", "point")
  ])
  const sql = (indexes: typeof facts.indexes) =>
    checkIndexes(model, { ...facts, indexes }, compiled, { large: 1_000, trigrams: false }).flatMap((each) => each.sql)
  expect(sql([])).toEqual([
    "create index concurrently on slots using gist (during);",
    "create index concurrently on slots (opens, id);"
  ])
  const gist = {
    name: "slots_during",
    unique: false,
    primary: false,
    valid: true,
    method: "gist",
    columns: [{ name: "during", descending: false, operators: "range_ops" }],
    predicate: null,
    definition: ""
  }
  expect(sql([gist])).toEqual(["create index concurrently on slots (opens, id);"])
})
