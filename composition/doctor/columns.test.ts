import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { where } from "../../core/domain/access/where.ts"
import type { TableFacts } from "../../core/domain/compile/catalogue.ts"
import { compileModels } from "../../core/domain/compile/compile.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { columnFacts, tableFacts } from "../../test/support/catalogue.ts"
import { checkColumns } from "./columns.ts"

const table = tableFacts("lines", [])

const orders = defineResource("orders", { primaryKey: "id", tenant: "tenant_id", fields: { id: f.integer() } })

const fields = { id: f.integer(), order_id: relation("orders"), owner_id: f.text() }

/** The fields of lines that point into a tenant's records and are shown to every tenant. */
const open = (more: object, config: object = {}): ReadonlyArray<string | null> => {
  const lines = defineResource("lines", { primaryKey: "id", owner: "owner_id", fields, ...more })
  const compiled = compileModels(defineConfig({ resources: [orders, lines], ...config }))
  if (Result.isFailure(compiled)) throw new Error(JSON.stringify(compiled.failure))
  return checkColumns(compiled.success.models.get("lines")!, table, compiled.success, "app")
    .filter(({ check }) => check === "tenant").map(({ field }) => field)
}

describe("a resource without tenant that points at one of tenants", () => {
  it.each<[string, object, object]>([
    ["without roles", {}, {}],
    ["by a capability", {}, { roles: defineRoles({ admin: ["*"] }) }],
    ["by a list of roles", { access: { read: ["admin"] } }, {}]
  ])("is found where its rows are read whole: %s", (_, more, config) => {
    expect(open(more, config)).toEqual(["order_id"])
  })

  it.each<[string, object, object]>([
    ["a tenant of its own", { tenant: "tenant_id" }, {}],
    ["a filter", { access: { read: where`owner_id = caller.id` } }, {}],
    ["a function", { access: { read: () => true } }, {}],
    ["own rows", {}, { roles: defineRoles({ sales: ["lines.read.own"] }) }],
    ["nobody", { access: { read: false } }, {}]
  ])("is left alone with %s", (_, more, config) => {
    expect(open(more, config)).toEqual([])
  })
})

it("a required column without a field fails every create, unless a trigger may fill it", () => {
  const notes = defineResource("notes", {
    primaryKey: "id",
    fields: { id: f.integer().bits(64).readOnly().dbDefault() }
  })
  const compiled = Result.getOrThrow(compileModels(defineConfig({ resources: [notes] })))
  const required = (more: Partial<TableFacts>) =>
    checkColumns(
      compiled.models.get("notes")!,
      tableFacts("notes", [columnFacts("id", "int8", { identity: "by default" }), columnFacts("number", "text")], more),
      compiled,
      "app"
    ).filter(({ check }) => check === "required").map(({ level }) => level)
  expect(required({})).toEqual(["error"])
  expect(required({ fillsRows: true })).toEqual(["warning"])
})
