import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { compileModels } from "../../core/domain/compile/compile.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { columnFacts, tableFacts } from "../../test/support/catalogue.ts"
import { checkIndexes } from "./indexes.ts"

/** What is said of the tenant in an index of notes, which belong to tenants, about places. */
const said = (indexed: readonly string[], places: object = {}, inverse: string | false = "notes") => {
  const to = relation("places")
  const notes = defineResource("notes", {
    primaryKey: "id",
    tenant: "tenant_id",
    fields: { id: f.integer(), place_id: inverse === "notes" ? to : to.inverse(inverse) }
  })
  const resources = [defineResource("places", { primaryKey: "id", fields: { id: f.integer() }, ...places }), notes]
  const compiled = compileModels(defineConfig({ resources }))
  if (Result.isFailure(compiled)) throw new Error(JSON.stringify(compiled.failure))
  const table = tableFacts("notes", ["id", "place_id", "tenant_id"].map((name) => columnFacts(name, "int4")))
  const index = (columns: readonly string[]) => ({
    name: columns.join("_"),
    unique: false,
    primary: false,
    valid: true,
    method: "btree",
    columns: columns.map((name) => ({ name, descending: false, operators: "int4_ops" })),
    predicate: null,
    definition: ""
  })
  const facts = { ...table, indexes: [index(["tenant_id", "id"]), index(indexed)] }
  return checkIndexes(compiled.success.models.get("notes")!, facts, compiled.success, { large: 10, trigrams: false })
    .filter(({ check }) => check === "tenant").flatMap(({ sql }) => sql)
}

describe("the index of a way back to records of several tenants", () => {
  it("goes on with the tenant", () => {
    expect(said(["place_id"])).toEqual(["create index concurrently on notes (place_id, tenant_id, id);"])
    expect(said(["place_id", "id"])).toHaveLength(1)
    expect(said(["place_id", "tenant_id"])).toEqual([])
    expect(said(["tenant_id", "place_id"])).toEqual([])
  })

  it("need not where nobody goes that way, or where both belong to tenants", () => {
    expect(said(["place_id"], {}, false)).toEqual([])
    expect(said(["place_id"], { tenant: "tenant_id" })).toEqual([])
  })
})

it("the index of a list has the operators of the server", () => {
  const lists = defineResource("lists", {
    primaryKey: "id",
    fields: { id: f.integer(), sizes: f.array(f.integer()).filterable() }
  })
  const compiled = Result.getOrThrow(compileModels(defineConfig({ resources: [lists] })))
  const told = (operators: string) => {
    const table = tableFacts("lists", [columnFacts("id", "int4"), columnFacts("sizes", "_int4")])
    const index = {
      name: "lists_sizes",
      unique: false,
      primary: false,
      valid: true,
      method: "gin",
      columns: [{ name: "sizes", descending: false, operators }],
      predicate: null,
      definition: ""
    }
    const facts = { ...table, indexes: [index] }
    return checkIndexes(compiled.models.get("lists")!, facts, compiled, { large: 10, trigrams: false })
      .filter(({ field }) => field === "sizes").flatMap(({ sql }) => sql)
  }
  expect(told("array_ops")).toEqual([])
  expect(told("gin__int_ops")).toEqual(["create index concurrently on lists using gin (sizes);"])
})
