import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { defineConfig } from "../declare/config.ts"
import { f } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { webhooks } from "../declare/webhooks.ts"
import { compileModels } from "./compile.ts"

const notes = (table: string) =>
  defineResource("notes", { table, primaryKey: "id", fields: { id: f.integer().bits(64).dbDefault().readOnly() } })

const compile = (schemas: unknown, table = "notes", extensions: ReturnType<typeof webhooks>[] = []) =>
  compileModels(defineConfig({ resources: [notes(table)], schemas: schemas as never, extends: extensions }))

const refusalsOf = (...given: Parameters<typeof compile>): readonly string[] => {
  const result = compile(...given)
  return Result.isFailure(result) ? result.failure.map(({ fix, message }) => `${message} ${fix}`) : []
}

const schemasOf = (...given: Parameters<typeof compile>) => Result.getOrThrow(compile(...given)).schemas

describe("schemas", () => {
  it("have their usual names, and others where they are given", () => {
    const usual = { auth: "auth", service: "service", jobs: "jobs", webhooks: "webhooks" }
    expect(schemasOf({})).toEqual(usual)
    expect(schemasOf({ auth: "admin_auth" })).toEqual({ ...usual, auth: "admin_auth" })
    expect(schemasOf({ auth: "jobs", jobs: "auth" })).toEqual({ ...usual, auth: "jobs", jobs: "auth" })
    expect(schemasOf({ jobs: "a".repeat(63) }).jobs).toHaveLength(63)
  })

  it.each([
    "Admin",
    "admin-auth",
    "1st",
    "",
    "a".repeat(64),
    "pg_auth",
    "public",
    "information_schema",
    "a\"; drop schema x",
    7,
    null
  ])("refuses %j as a name, and says what to write", (name) => {
    const [refusal, ...more] = refusalsOf({ auth: name })
    expect(more).toEqual([])
    expect(refusal).toMatch(/^schemas\.auth is .*Write lower-case letters.*"admin_auth"/)
  })

  it("refuses two of the same name, a name that has another purpose, and what there is no schema for", () => {
    expect(refusalsOf({ auth: "jobs" })).toEqual([
      expect.stringMatching(/^schemas\.auth and schemas\.jobs are both "jobs"\. .*jobs: "admin_jobs"/)
    ])
    expect(refusalsOf({ service: "history" })).toEqual([expect.stringContaining("\"admin_service\"")])
    expect(refusalsOf({ author: "a" })).toEqual([expect.stringContaining("schemas.author")])
    expect(refusalsOf("auth")).toEqual([expect.stringContaining("not an object")])
  })

  it("refuses a schema of the application, and allows a resource over a table of ours", () => {
    expect(refusalsOf({ auth: "shop" }, "shop.notes")).toEqual([expect.stringContaining("the resource \"notes\"")])
    expect(refusalsOf({ auth: "admin_auth" }, "auth.notes")).toEqual([])
    expect(refusalsOf({ auth: "admin_auth" }, "admin_auth.user")).toEqual([])
  })

  it("are those of the extension webhooks, too", () => {
    const named = (schema?: string) => [webhooks(schema === undefined ? {} : { schema })]
    const compiled = Result.getOrThrow(compile({ webhooks: "admin_hooks" }, "notes", named()))
    expect([compiled.webhooks?.schema, compiled.models.get("webhook_deliveries")?.schema]).toEqual([
      "admin_hooks",
      "admin_hooks"
    ])
    expect(schemasOf({}, "notes", named("hooks")).webhooks).toBe("hooks")
    expect(refusalsOf({ webhooks: "one" }, "notes", named("two"))).toEqual([expect.stringContaining("Keep one")])
    expect(refusalsOf({ jobs: "hooks" }, "notes", named("hooks"))).toEqual([expect.stringContaining("both \"hooks\"")])
  })
})
