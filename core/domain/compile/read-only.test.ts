import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { columnFacts, tableFacts } from "../../../test/support/catalogue.ts"
import { one, refusalLines } from "../../../test/support/refusals.ts"
import { resolveAccess } from "../access/resolve.ts"
import { defineConfig } from "../declare/config.ts"
import { f } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { compileModels } from "./compile.ts"
import { checkFacts } from "./facts.ts"

const totals = defineResource("totals", {
  readOnly: true,
  primaryKey: "customer",
  fields: { customer: f.integer(), total: f.decimal(), kind: f.enum(["a", "b"]) }
})
const compiled = Result.getOrThrow(compileModels(defineConfig({ resources: [totals] })))
const model = compiled.models.get("totals")!

it("lets nobody write, whatever roles and defaults say", () => {
  const defaults = {
    roles: new Map([["admin", [{ resource: "*", operation: "*", own: false, fields: null }] as const]])
  }
  for (const defaultAccess of ["allow", null] as const) {
    const access = resolveAccess(
      model,
      compiled.rules.get("totals")!,
      { id: "1", roles: ["admin"], tenant: null },
      { ...defaults, defaultAccess }
    )
    const { create, delete: remove, read, update } = access.decisions
    expect([read.of, create.of, update.of, remove.of]).toEqual(["allow", "deny", "deny", "deny"])
    expect([access.restricted.creatable.size, access.restricted.updatable.size]).toEqual([0, 0])
  }
})

it.each([
  [{ readOnly: "yes" }, "a: readOnly is \"yes\", not true or false. → Write readOnly: true."],
  [
    { readOnly: true, access: { read: true, create: ["admin"], update: false } },
    "a: access.create allows a write, and the resource is read-only. → Remove access.create, or readOnly."
  ]
])("refuses %j", (more, line) => {
  expect(refusalLines(one({}, more))[0]).toBe(line)
})

it("asks nothing of columns that only writes need", () => {
  const facts = (kind: "view" | "materialized view" | "table") =>
    checkFacts(compiled.models, {
      server: {
        version: 180_000,
        database: "d",
        user: "u",
        encoding: "UTF8",
        collation: "C",
        extensions: {},
        readOnly: false
      },
      tables: new Map([[
        "totals",
        tableFacts("totals", [
          columnFacts("customer", "int4", { identity: "always" }),
          columnFacts("total", "numeric", { generated: true }),
          columnFacts("kind", "name")
        ], { kind, primaryKey: kind === "table" ? ["customer"] : null })
      ]])
    })
  for (const kind of ["view", "materialized view", "table"] as const) expect(facts(kind)).toEqual([])
})

it.each([
  [{ materialized: "yes" }, "a: materialized is \"yes\"."],
  [{ materialized: { schedule: "hourly" } }, "a: materialized.schedule is \"hourly\", which is no cron pattern"],
  [{ materialized: { schedule: "0 * * * *", timezone: "Mars" } }, "a: materialized.timezone is \"Mars\""],
  [{ materialized: { timeout: "2 days" } }, "a: materialized.timeout is \"2 days\"."],
  [{ materialized: { every: "1h" } }, "a: There is no property materialized.every."],
  [{ materialized: true, readOnly: false }, "a: A materialized view cannot be written, and readOnly is false."],
  [{ materialized: true, access: { refresh: () => true } }, "a: access.refresh is a function"],
  [{ materialized: true, access: { refresh: ["nobody"] } }, "nobody"],
  [{ materialized: true, access: { delete: true } }, "a: access.delete allows a write, and the resource is read-only."],
  [{ access: { refresh: true } }, "a: access.refresh is a rule of materialized views, and this is none."]
])("refuses a materialized view as %j", (more, line) => {
  expect(refusalLines({ ...one({}, more), roles: { admin: ["*"] } }).join("\n")).toContain(line)
})
