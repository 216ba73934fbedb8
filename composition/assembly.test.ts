import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { describe, expect, it } from "vitest"
import { tokensOf, Unauthorized } from "../adapters/auth/authenticator.ts"
import type { AuthDeclaration, AuthenticateFunction, Config } from "../core/domain/model/config.ts"
import { f } from "../core/domain/model/field.ts"
import { defineResource } from "../core/domain/model/resource.ts"
import { assemble, makeAuthenticator } from "./assembly.ts"
import { readSettings } from "./environment.ts"
import { StartupError } from "./startup-error.ts"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault() }
})

/** What becomes of a request whose credential the configuration's own function judges; it may come from plain JavaScript. */
const judged = (authenticate: () => unknown) => {
  const config: Config = { resources: [notes], authenticate: authenticate as AuthenticateFunction }
  const read = readSettings({ AUTH_SECRET: "s".repeat(44), DATABASE_URL: "postgres://app@db/shop" }, "/project")
  const tokens = tokensOf(makeAuthenticator(assemble(config, read), null))
  return Effect.runPromiseExit(tokens.authenticate({ method: "GET", url: "http://localhost/", headers: new Headers() }))
}

describe("an authenticate function of the configuration", () => {
  it("says who is calling", async () => {
    const user = { id: "u1", roles: ["sales"] }
    expect(await judged(() => ({ user, tenant: 7 }))).toEqual(Exit.succeed({ ...user, tenant: "7" }))
    expect(await judged(() => Promise.resolve({ user, tenant: null }))).toEqual(Exit.succeed({ ...user, tenant: null }))
  })

  it("refuses a credential by throwing", async () => {
    const exit = await judged(() => {
      throw new Unauthorized("no")
    })
    expect(exit).toEqual(Exit.fail(expect.objectContaining({ reason: "Unauthenticated" })))
  })

  it.each<[string, () => unknown]>([
    ["nothing", () => null],
    ["no user", () => ({})],
    ["a user without an id", () => ({ user: { roles: ["admin"] } })],
    ["an empty id", () => ({ user: { id: "", roles: ["admin"] } })],
    ["an id that is no text", () => ({ user: { id: 7, roles: ["admin"] } })],
    ["a user without roles", () => Promise.resolve({ user: { id: "u1" } })],
    ["roles that are no list", () => ({ user: { id: "u1", roles: "admin" } })],
    ["roles that are no texts", () => ({ user: { id: "u1", roles: [null] } })],
    ["a tenant that is neither text nor number", () => ({ user: { id: "u1", roles: [] }, tenant: {} })]
  ])("lets nobody in when it answers %s: that is a defect", async (_, authenticate) => {
    const exit = await judged(authenticate)
    expect(Exit.hasDies(exit)).toBe(true)
  })
})

describe("AUTH_URL of the environment", () => {
  const refused = (auth: AuthDeclaration, env: { readonly [name: string]: string }): string => {
    try {
      assemble({ resources: [notes], auth }, readSettings({ AUTH_SECRET: "s".repeat(44), ...env }, "/project"))
      return ""
    } catch (error) {
      if (error instanceof StartupError) return error.message
      throw error
    }
  }
  const env = { AUTH_URL: "https://me.example" }

  it("is what a trusted app must not be", () => {
    const apps = [{ issuer: "https://me.example/", roles: {} }]
    expect(refused({ apps }, env)).toContain("auth.apps[0].issuer is this app itself.")
    expect(refused({ apps }, {})).toBe("")
    expect(refused({ apps, url: "https://other.example" }, env)).toBe("")
  })

  it("is what passkeys must be made for", () => {
    expect(refused({ passkeys: { rpId: "other.example" } }, env)).toContain("auth.passkeys cannot work on https://me")
    expect(refused({ passkeys: true }, env)).toBe("")
  })
})
