import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { compileModels } from "../../core/domain/compile/compile.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { checkAccounts, checkRolesHeld } from "./accounts.ts"

const fields = { id: f.integer() }
const notes = defineResource("notes", { primaryKey: "id", fields })
const orders = defineResource("orders", { primaryKey: "id", tenant: "tenant_id", fields })
const bills = defineResource("bills", { primaryKey: "id", tenant: "tenant_id", fields })

const findings = (config: Parameters<typeof defineConfig>[0]) => {
  const compiled = compileModels(defineConfig(config))
  if (Result.isFailure(compiled)) throw new Error(JSON.stringify(compiled.failure))
  return checkAccounts(compiled.success).map(({ check, fix, level, message }) => [level, check, message, fix])
}

const roles = defineRoles({ admin: ["*"], sale: ["notes.read"] })

describe("what accounts cannot have", () => {
  it("finds a role with capabilities that auth.roles does not list", () => {
    expect(findings({ resources: [notes], roles, auth: { roles: ["admin", "sales"] } })).toEqual([[
      "warning",
      "roles",
      "No account can have the role \"sale\": auth.roles does not list it.",
      "Add it to auth.roles, or correct its name: Did you mean \"sales\"?"
    ]])
  })

  it.each<[string, object]>([
    ["no list of roles", {}],
    ["a list with the role", { auth: { roles: ["sale"] } }],
    ["a trusted app that gives it", {
      auth: { roles: ["sales"], apps: [{ issuer: "https://shop.example.org", roles: { clerk: ["sale"] } }] }
    }]
  ])("leaves %s alone", (_, config) => {
    expect(findings({ resources: [notes], roles, ...config })).toEqual([])
  })

  it("finds resources of tenants where accounts have none", () => {
    expect(findings({ resources: [notes, orders, bills] })).toEqual([[
      "error",
      "tenant",
      "The resources orders, bills belong to tenants, and no account has one: every request for them is refused.",
      "Write auth: { tenant: … } for one that all accounts have; authenticate may answer another for each."
    ]])
  })

  it.each<[string, object]>([
    ["a tenant of all accounts", { tenant: 1 }],
    ["a trusted app with a tenant", { apps: [{ issuer: "https://shop.example.org", roles: {}, tenant: 2 }] }]
  ])("leaves tenants alone with %s", (_, auth) => {
    expect(findings({ resources: [orders], auth })).toEqual([])
  })
})

it("names accounts with roles that do not exist", () => {
  const users = [{ email: "a@x.org", role: "admin" }, { email: "b@x.org", role: "sales,boss" }, {
    email: "c@x.org",
    role: "boss"
  }]
  expect(checkRolesHeld(users, ["admin", "sales"]).map(({ fix, message }) => [message, fix])).toEqual([[
    "2 accounts have the role \"boss\", which does not exist: b@x.org, c@x.org.",
    "Give them another one: service users role <EMAIL> sales; or declare the role again."
  ]])
  expect(checkRolesHeld(users, ["admin", "sales", "boss"])).toEqual([])
})
