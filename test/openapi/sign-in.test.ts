// The routes of second factors and passkeys in the OpenAPI document: there exactly where they are on, and what they take and answer is what a
// running service takes and answers.
import { Validator } from "@seriousme/openapi-schema-validator"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeRoutes } from "../../adapters/auth/routes.ts"
import { createUser, issueToken } from "../../adapters/auth/users.ts"
import { openPool } from "../../composition/database.ts"
import { applyMigrations, authMigrations, serviceMigration } from "../../composition/migrations.ts"
import { type Server, startServer } from "../../composition/server.ts"
import type { AccountMails } from "../../core/domain/account/mails.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { makePasskey } from "../attack/authenticator.ts"
import {
  callerOf,
  documentOf,
  type OpenapiDoc,
  operationsOf,
  parametersOf,
  requestOf,
  shop,
  shopRoles
} from "../support/openapi.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { checker } from "../support/schema.ts"
import { codeAt, holdHalfMinute } from "../support/totp.ts"

const signInOf = (twoFactor: boolean, passkeys: boolean, mails: AccountMails | null = null): OpenapiDoc =>
  documentOf(requestOf(callerOf("admin"), shopRoles, shop, { signIn: { twoFactor, passkeys, mails } }))

/** Routes of a feature, as `METHOD path`. */
const routesOf = (prefix: string, routes: Iterable<string>): readonly string[] =>
  [...routes].filter((route) => route.includes(prefix)).toSorted()

describe("the document", () => {
  const served = [...makeRoutes({ twoFactor: true, passkeys: true }, [])]
    .map(([path, { method }]) => `${method} /api/auth${path}`)

  it.each([[true, false], [false, true], [true, true], [false, false]])(
    "has the routes that are served: second factors %s, passkeys %s",
    (twoFactor, passkeys) => {
      const listed = operationsOf(signInOf(twoFactor, passkeys)).map(([at]) => at)
      expect(routesOf("/two-factor/", listed)).toEqual(twoFactor ? routesOf("/two-factor/", served) : [])
      expect(routesOf("/passkey/", listed)).toEqual(passkeys ? routesOf("/passkey/", served) : [])
      expect(new Set(listed).size).toBe(listed.length)
    }
  )

  it.each([[true, true], [true, false], [false, true], [false, false]])(
    "has the routes of mails that are served: new passwords %s, invitations %s",
    (passwordReset, invitations) => {
      const mails = { passwordReset, invitations, signInAlerts: true, notices: true, page: null }
      const routes = /password-reset|reset-password|invite-user|send-password-link/
      const listed = operationsOf(signInOf(false, false, mails)).map(([at]) => at).filter((at) => routes.test(at))
      const there = [...makeRoutes({ twoFactor: false, passkeys: false, mails }, [])]
        .map(([path, { method }]) => `${method} /api/auth${path}`).filter((at) => routes.test(at))
      expect(listed.toSorted()).toEqual(there.toSorted())
      expect(listed).toHaveLength(
        (passwordReset ? 1 : 0) + (invitations ? 2 : 0) + (passwordReset || invitations ? 1 : 0)
      )
    }
  )

  it("has no route that is not served, and says of each whether it needs a session", () => {
    const mails = { passwordReset: true, invitations: true, signInAlerts: true, notices: true, page: null }
    const routes = makeRoutes({ twoFactor: true, passkeys: true, mails }, [])
    const doc = signInOf(true, true, mails)
    const listed = operationsOf(doc).filter(([at]) => at.includes(" /api/auth/"))
    expect(listed.length).toBeGreaterThan(20)
    for (const [at, operation] of listed) {
      const [method, path = ""] = at.split(" ")
      const route = routes.get(path.slice("/api/auth".length))
      expect(route?.method, at).toBe(method)
      const { security } = operation as { readonly security?: unknown }
      // Whoever has no session may sign out, but nobody would.
      const who = path.endsWith("/sign-out") ? "session" : route?.who
      expect(security, at).toEqual(
        who === "everybody" ? [] : who === "waiting" ? [{}, { session: [] }] : [{ session: [] }]
      )
    }
  })

  it("tells of the second factor at signing in where there may be one", () => {
    const answers = (doc: OpenapiDoc) => JSON.stringify(doc.paths["/api/auth/sign-in/email"])
    expect(answers(signInOf(true, false))).toContain("twoFactorRedirect")
    expect(answers(signInOf(false, true))).not.toContain("twoFactorRedirect")
  })

  it("describes validate_only wherever dry_run is", () => {
    const doc = signInOf(true, true)
    const names = (path: string, method: string) => parametersOf(doc, path, method).map(({ name }) => name)
    let count = 0
    for (const [at] of operationsOf(doc)) {
      const [method = "", path = ""] = at.split(" ")
      const had = names(path, method.toLowerCase())
      expect(had.includes("validate_only"), at).toBe(had.includes("dry_run"))
      if (had.includes("dry_run")) count += 1
    }
    expect(count).toBeGreaterThan(5)
    expect(doc.components.parameters["validate_only"]?.description).toContain("AIP-163")
  })
})

describe("a service with both", () => {
  const email = "ada@example.org"
  const password = "correct horse battery"
  let database: TestDatabase
  let server: Server
  let doc: OpenapiDoc

  beforeAll(async () => {
    database = await openDatabase("create table notes (id bigint primary key);")
    const config = defineConfig({
      resources: [defineResource("notes", { primaryKey: "id", fields: { id: f.integer().bits(64) } })],
      auth: { twoFactor: true, passkeys: true, signInPerMinute: 1_000 }
    })
    const pool = openPool(database.url, 1)
    await applyMigrations(pool, [serviceMigration, ...authMigrations({ auth: config.auth })])
    await pool.end()
    server = await startServer(config, {
      env: { DATABASE_URL: database.url, AUTH_SECRET: "0123456789abcdef0123456789abcdef" },
      port: 0,
      log: () => {}
    })
    await createUser(server.auth!, { email, password })
    const { token } = await issueToken(server.auth!, { email, ttlSeconds: 600 })
    const answer = await fetch(`${server.address}/api/openapi.json`, { headers: { authorization: `Bearer ${token}` } })
    doc = await answer.json() as OpenapiDoc
  })
  afterAll(async () => {
    await server?.close()
    await database?.drop()
  })

  type Body = { readonly [name: string]: unknown }

  const pointerOf = (...parts: readonly string[]): string =>
    parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

  /** Sends a request whose body, status and answer must be what the document says. */
  const ask = async (method: "GET" | "POST", route: string, cookie: string, status: number, body?: Body) => {
    const path = `/api/auth${route}`
    const { check } = checker(doc, false)
    const operation = ["paths", path, method.toLowerCase()]
    const json = ["content", "application/json", "schema"]
    if (body !== undefined && status === 200) check(pointerOf(...operation, "requestBody", ...json), body)
    const response = await fetch(`${server.address}${path}`, {
      method,
      headers: {
        ...(cookie === "" ? {} : { cookie }),
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const answer: unknown = await response.json()
    expect({ route, status: response.status, answer }).toMatchObject({ route, status })
    expect(Object.keys(doc.paths[path]![method.toLowerCase()]!.responses), route).toContain(String(status))
    if (status === 200) check(pointerOf(...operation, "responses", "200", ...json), answer)
    else check("/components/schemas/ProblemDetails", answer)
    const cookies = response.headers.getSetCookie().map((each) => each.split(";", 1)[0]!)
    const described = doc.paths[path]![method.toLowerCase()]!.responses[status] as { readonly headers?: object }
    if (cookies.length > 0) expect(Object.keys(described.headers ?? {}), route).toContain("Set-Cookie")
    return {
      body: answer as Body,
      cookie: [cookie, ...cookies.filter((each) => !each.endsWith("="))].filter((each) => each !== "").join("; "),
      /** Without what was sent. */
      given: cookies.filter((each) => !each.endsWith("=")).join("; ")
    }
  }
  const signIn = () => ask("POST", "/sign-in/email", "", 200, { email, password })

  it("has a document that is OpenAPI 3.1 and tells of them", async () => {
    expect(await new Validator().validate(doc as unknown as Record<string, unknown>)).toEqual({ valid: true })
    expect(Object.keys(doc.paths)).toContain("/api/auth/two-factor/verify-totp")
    expect(Object.keys(doc.paths)).toContain("/api/auth/passkey/verify-authentication")
  })

  it("takes and answers for passkeys what the document says", async () => {
    const { given: session } = await signIn()
    await ask("GET", "/passkey/generate-register-options", "", 401)
    const wanted = await ask("GET", "/passkey/generate-register-options", session, 200)
    const passkey = makePasskey()
    const response = passkey.made(wanted.body["challenge"])
    const added = await ask("POST", "/passkey/verify-registration", wanted.cookie, 200, { response, name: "Phone" })
    await ask("POST", "/passkey/verify-registration", wanted.cookie, 400, { response })
    const challenge = await ask("GET", "/passkey/generate-authenticate-options", "", 200)
    const used = passkey.used(challenge.body["challenge"])
    await ask("POST", "/passkey/verify-authentication", challenge.cookie, 200, { response: used })
    await ask("POST", "/passkey/verify-authentication", challenge.cookie, 401, { response: used })
    await ask("GET", "/passkey/list-user-passkeys", session, 200)
    const id = String(added.body["id"])
    await ask("POST", "/passkey/update-passkey", session, 200, { id, name: "Blue key" })
    await ask("POST", "/passkey/update-passkey", session, 400, { id, name: " " })
    await ask("POST", "/passkey/delete-passkey", session, 200, { id })
    await ask("POST", "/passkey/delete-passkey", session, 404, { id })
  })

  it("takes and answers for second factors what the document says", async () => {
    using _date = holdHalfMinute()
    const { given: first } = await signIn()
    await ask("POST", "/two-factor/enable", first, 400, { password: "wrong horse battery" })
    await ask("POST", "/two-factor/enable", "", 401, { password })
    const enabled = await ask("POST", "/two-factor/enable", first, 200, { password })
    const uri = String(enabled.body["totpURI"])
    await ask("POST", "/two-factor/verify-totp", first, 401, { code: "000000" })
    // The code of the half minute before is still good.
    const { given: session } = await ask("POST", "/two-factor/verify-totp", first, 200, { code: codeAt(uri, -1) })
    await ask("POST", "/two-factor/get-totp-uri", session, 200, { password })
    const { body } = await ask("POST", "/two-factor/generate-backup-codes", session, 200, { password })
    const waiting = await signIn()
    expect(waiting.body).toMatchObject({ twoFactorRedirect: true })
    await ask("POST", "/two-factor/verify-totp", waiting.given, 200, { code: codeAt(uri), trustDevice: false })
    const [code] = body["backupCodes"] as readonly string[]
    await ask("POST", "/two-factor/verify-backup-code", (await signIn()).given, 200, { code: code! })
    await ask("POST", "/two-factor/verify-backup-code", (await signIn()).given, 401, { code: code! })
    await ask("POST", "/two-factor/disable", session, 200, { password })
  })
})
