import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { generateKeyPairSync, sign } from "node:crypto"
import { Pool } from "pg"
import { tokensOf, Unauthorized } from "../adapters/auth/authenticator.ts"
import type { AuthDeclaration, AuthenticateFunction, Config } from "../core/domain/declare/config.ts"
import { f } from "../core/domain/declare/field.ts"
import { defineResource } from "../core/domain/declare/resource.ts"
import { assemble, filesSecretsOf, formsSecretsOf, makeAuth, makeAuthenticator, tunnelOrigins } from "./assembly.ts"
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
  return Effect.exit(tokens.authenticate({ method: "GET", url: "http://localhost/", headers: new Headers() }))
}

describe("an authenticate function of the configuration", () => {
  it.effect("says who is calling", () =>
    Effect.gen(function*() {
      const user = { id: "u1", roles: ["sales"] }
      expect(yield* judged(() => ({ user, tenant: 7 }))).toEqual(Exit.succeed({ ...user, tenant: "7" }))
      expect(yield* judged(() => Promise.resolve({ user, tenant: null }))).toEqual(
        Exit.succeed({ ...user, tenant: null })
      )
    }))

  it.effect("refuses a credential by throwing", () =>
    Effect.gen(function*() {
      const exit = yield* judged(() => {
        throw new Unauthorized("no")
      })
      expect(exit).toEqual(Exit.fail(expect.objectContaining({ reason: "Unauthenticated" })))
    }))

  it.effect.each<[string, () => unknown]>([
    ["nothing", () => null],
    ["no user", () => ({})],
    ["a user without an id", () => ({ user: { roles: ["admin"] } })],
    ["an empty id", () => ({ user: { id: "", roles: ["admin"] } })],
    ["an id that is no text", () => ({ user: { id: 7, roles: ["admin"] } })],
    ["a user without roles", () => Promise.resolve({ user: { id: "u1" } })],
    ["roles that are no list", () => ({ user: { id: "u1", roles: "admin" } })],
    ["roles that are no texts", () => ({ user: { id: "u1", roles: [null] } })],
    ["a tenant that is neither text nor number", () => ({ user: { id: "u1", roles: [] }, tenant: {} })]
  ])("lets nobody in when it answers %s: that is a defect", ([, authenticate]) =>
    Effect.gen(function*() {
      const exit = yield* judged(authenticate)
      expect(Exit.hasDies(exit)).toBe(true)
    }))
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

describe("trusted apps of the configuration", () => {
  it.effect("bring their users, with the roles and the tenant that it gives them", () =>
    Effect.gen(function*() {
      const { privateKey, publicKey } = generateKeyPairSync("ed25519")
      const key = { ...publicKey.export({ format: "jwk" }), alg: "EdDSA", kid: "b" }
      const issuer = "https://b.example"
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")
      const signed = (role: string): string => {
        const exp = Math.floor(Date.now() / 1_000) + 300
        const text = `${part({ alg: "EdDSA", kid: "b" })}.${part({ role, sub: "u1", iss: issuer, aud: issuer, exp })}`
        return `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`
      }
      const auth: AuthDeclaration = {
        url: "https://me.example",
        tenant: 1,
        jwksUrl: "https://id.example/jwks",
        issuer: "https://id.example",
        apps: [{ issuer: "https://b.example/", roles: { clerk: "sales" }, tenant: 5, keys: { keys: [key] } }]
      }
      const read = readSettings({ AUTH_SECRET: "s".repeat(44), DATABASE_URL: "postgres://app@db/shop" }, "/project")
      const tokens = tokensOf(makeAuthenticator(assemble({ resources: [notes], auth }, read), null))
      const judge = (role: string) =>
        Effect.exit(tokens.authenticate({
          method: "GET",
          url: "http://localhost/",
          headers: new Headers({ authorization: `Bearer ${signed(role)}` })
        }))
      expect(yield* judge("clerk,boss")).toEqual(Exit.succeed({ id: "u1@b.example", roles: ["sales"], tenant: "5" }))
      expect(yield* judge("boss")).toEqual(Exit.fail(expect.objectContaining({ reason: "Refused" })))
    }))
})

describe("pages elsewhere that may sign in", () => {
  it("are those of the configuration, of TRUSTED_ORIGINS and of the dev command, together and no others", async () => {
    const env = {
      AUTH_SECRET: "s".repeat(44),
      DATABASE_URL: "postgres://app@db/shop",
      TRUSTED_ORIGINS: "https://b.example, https://*.c.example"
    }
    const read = readSettings(env, "/project")
    const auth: AuthDeclaration = { url: "https://me.example", trustedOrigins: ["https://a.example"] }
    const assembly = assemble({ resources: [notes], auth }, read)
    // Nobody asks the database where a page is from.
    const pool = new Pool({ host: "/nowhere" })
    const trusted = async (origins: readonly string[]): Promise<readonly string[]> => {
      const { trusts } = await makeAuth(assembly, read.settings, pool, { origins }).internals.engine()
      return [
        "https://me.example",
        "https://a.example",
        "https://b.example",
        "https://x.c.example",
        "https://c.example",
        "https://d.example",
        "http://a.example",
        "https://demo.trycloudflare.com",
        "https://demo.ngrok-free.app.d.example"
      ].filter(trusts)
    }
    const configured = ["https://me.example", "https://a.example", "https://b.example", "https://x.c.example"]
    expect(await trusted([])).toEqual(configured)
    expect(await trusted(tunnelOrigins)).toEqual([...configured, "https://demo.trycloudflare.com"])
  })
})

describe("secrets", () => {
  const [first, second, third] = ["1", "2", "3"].map((each) => each.repeat(32)) as [string, string, string]
  const secretsOf = (env: Record<string, string>, more: Partial<Config> = {}) => {
    const config: Config = { resources: [notes], ...more }
    const read = readSettings({ AUTH_SECRET: first, DATABASE_URL: "postgres://app@db/shop", ...env }, "/project")
    const assembly = assemble(config, read)
    return {
      own: assembly.secret,
      files: filesSecretsOf(assembly, read.settings),
      forms: formsSecretsOf(assembly, read.settings)
    }
  }

  it("are that of the environment or the configuration, and behind it those that are accepted", () => {
    expect(secretsOf({})).toEqual({ own: [first], files: null, forms: null })
    expect(secretsOf({ AUTH_SECRET_ACCEPTED: `${second}, ${first},\n${third}` }).own).toEqual([first, second, third])
    expect(secretsOf({ AUTH_SECRET_ACCEPTED: second }, { auth: { secret: third } }).own).toEqual([third, second])
  })

  it("of files and forms are their own, or those of the deployment, with those that are accepted for them", () => {
    const env = { AUTH_SECRET_ACCEPTED: second }
    expect(secretsOf({ ...env, SERVICE_FILES_SECRET: third }).files).toEqual([third])
    expect(secretsOf({ ...env, SERVICE_FILES_SECRET: third, SERVICE_FILES_SECRET_ACCEPTED: first }).files)
      .toEqual([third, first])
    // The way to a secret of their own, and back.
    expect(secretsOf({ ...env, SERVICE_FILES_SECRET_ACCEPTED: third }).files).toEqual([first, second, third])
    expect(secretsOf({ ...env, SERVICE_FORMS_SECRET_ACCEPTED: third }).forms).toEqual([first, second, third])
    expect(secretsOf({ SERVICE_FORMS_SECRET: third }).forms).toEqual([third])
  })
})

describe("settings of the environment beside the configuration's options", () => {
  const assembled = (options: Config["options"], env: { readonly [name: string]: string } = {}) =>
    assemble(
      { resources: [notes], ...(options === undefined ? {} : { options }) },
      readSettings({ AUTH_SECRET: "s".repeat(44), DATABASE_URL: "postgres://app@db/shop", ...env }, "/project")
    )

  it("add origins for CORS, each once, and keep what else is said of it", () => {
    const env = { SERVICE_CORS_ORIGINS: "https://b.example, https://a.example" }
    const cors = { origins: ["https://a.example"], maxAgeSeconds: 5 }
    expect(assembled({ cors }, env).compiled.options.cors).toEqual({
      origins: ["https://a.example", "https://b.example"],
      maxAgeSeconds: 5
    })
    expect(assembled(undefined, env).compiled.options.cors?.origins).toEqual(["https://b.example", "https://a.example"])
    expect(assembled({ cors }).compiled.options.cors).toEqual(cors)
  })

  it.each<unknown>([true, { origins: "https://x.example" }])("hide nothing that is wrong with CORS: %j", (cors) => {
    const options = { cors } as unknown as Config["options"]
    expect(() => assembled(options, { SERVICE_CORS_ORIGINS: "https://b.example" })).toThrow("options.cors is ")
  })

  it("count proxies where the configuration does not", () => {
    const env = { SERVICE_TRUSTED_PROXIES: "2" }
    expect(assembled(undefined, env).compiled.options.trustedProxies).toBe(2)
    expect(assembled({ trustedProxies: 1 }, env).compiled.options.trustedProxies).toBe(1)
    expect(assembled(undefined).compiled.options.trustedProxies ?? 0).toBe(0)
  })

  it("name the public URL, which is a local one when nobody does", () => {
    expect(assembled(undefined).url).toBe("http://localhost:5173")
    expect(assembled(undefined, { AUTH_URL: "https://me.example" }).url).toBe("https://me.example")
  })
})
