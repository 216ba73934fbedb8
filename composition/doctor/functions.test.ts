import * as Result from "effect/Result"
import { expect, it } from "vitest"
import type { FunctionFacts } from "../../core/domain/compile/catalogue.ts"
import { compileModels } from "../../core/domain/compile/compile.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { fn } from "../../core/domain/declare/database-function.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { checkFunctions } from "./functions.ts"

const compiled = Result.getOrThrow(compileModels(defineConfig({
  resources: [
    defineResource("orders_of", { from: fn("shop.orders_of", {}), primaryKey: "id", fields: { id: f.integer() } }),
    defineResource("orders", { primaryKey: "id", fields: { id: f.integer() } })
  ]
})))

const findings = (more: Partial<FunctionFacts>) =>
  checkFunctions(compiled, {
    server: {} as never,
    tables: new Map(),
    names: [],
    functions: new Map([["orders_of", [{
      schema: "shop",
      name: "orders_of",
      kind: "function",
      volatility: "stable",
      set: true,
      definer: false,
      fixesPath: false,
      language: "sql",
      executable: true,
      parameters: [],
      rowType: null,
      columns: [],
      signature: "",
      comment: null,
      ...more
    }]]])
  }).map(({ level, resource, sql }) => [level, resource, ...sql])

it("warns of functions that run with the rights of others on a search path of anybody", () => {
  expect(findings({})).toEqual([])
  expect(findings({ definer: true, fixesPath: true })).toEqual([["note", "orders_of"]])
  expect(findings({ definer: true })).toEqual([
    ["warning", "orders_of", "alter function shop.orders_of() set search_path = shop, pg_temp;"]
  ])
})
