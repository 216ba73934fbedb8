/** Keys of one's own over HTTP, and what admins take from others: who may, what is refused, what the log says. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { type Instance, openStage, password, type Stage } from "./stage.ts"

let stage: Stage
let one: Instance

const passkeys = { rpName: "Tests" }

beforeAll(async () => {
  stage = await openStage(authMigrationSql({ schema: "auth", twoFactor: true, passkeys: true }))
  one = stage.instance({ passkeys, signInPerMinute: 1_000 })
  await stage.account(one.auth, "admin", "admin")
})
afterAll(() => stage[Symbol.asyncDispose]())

const cookieOf = async (email: string): Promise<string> => (await one.signIn(email)).cookie
const idOf = async (email: string): Promise<string> =>
  String((await stage.store.database.rows(`select "id" from auth."user" where "email" = '${email}'`))[0]![0])

const post = (path: string, cookie: string | undefined, body: unknown = {}) =>
  one.ask("POST", `/api/auth${path}`, { body, cookie })

describe("API keys of one's own", () => {
  it("are made with roles one has, shown once, listed and revoked, and opened by nobody else", async () => {
    const ann = await cookieOf(await stage.account(one.auth, "ann", "reader"))
    const ben = await cookieOf(await stage.account(one.auth, "ben", "reader"))
    const made = await post("/api-keys/create", ann, { name: "import", role: "reader", expires: "30d" })
    expect([made.status, made.headers.get("cache-control")]).toEqual([200, "no-store"])
    const { id, text } = made.body as { readonly id: string; readonly text: string }
    expect(await one.read(text)).toBe(200)
    const listed = await one.ask("GET", "/api/auth/api-keys/list", { cookie: ann })
    expect(listed.body).toMatchObject({ keys: [{ id, name: "import", role: "reader", revokedAt: null }] })
    expect(listed.text).not.toContain(text.slice(20))
    expect((await one.ask("GET", "/api/auth/api-keys/list", { cookie: ben })).body).toEqual({ keys: [] })
    expect((await post("/api-keys/revoke", ben, { id })).status).toBe(404)
    expect((await post("/api-keys/revoke", ben, { id: "0000000000000000" })).text).toBe(
      (await post("/api-keys/revoke", ben, { id })).text
    )
    expect(await one.read(text)).toBe(200)
    const revoked = await post("/api-keys/revoke", ann, { id })
    expect(revoked.body).toMatchObject({ id, revokedAt: expect.any(String) })
    await expect.poll(() => one.read(text), { timeout: 20_000 }).toBe(401)
  })

  it("need a session: no bearer token, no key, no session whose begin is long past", async () => {
    const email = await stage.account(one.auth, "cara", "reader")
    const cookie = await cookieOf(email)
    const token = String((await one.ask("GET", "/api/auth/token", { cookie })).body["token"])
    const body = { name: "x", role: "reader" }
    for (const sent of [{ body }, { body, token }, { body, cookie: "service.session_token=made.up" }]) {
      expect((await one.ask("POST", "/api/auth/api-keys/create", sent)).status).toBe(401)
    }
    expect((await one.ask("GET", "/api/auth/api-keys/list")).status).toBe(401)
    // A token of the list of sessions is no cookie: nobody but the service can sign it.
    const [session] = JSON.parse((await one.ask("GET", "/api/auth/list-sessions", { cookie })).text) as [
      { token: string }
    ]
    const forged = `service.session_token=${encodeURIComponent(`${session.token}.AAAA`)}`
    expect((await post("/api-keys/create", forged, body)).status).toBe(401)
    await stage.store.database.execute(
      `update auth."session" set "createdAt" = now() - interval '16 minutes' where "token" = '${session.token}'`
    )
    expect(await post("/api-keys/create", cookie, body)).toMatchObject({
      status: 403,
      body: { code: "SESSION_NOT_FRESH" }
    })
    expect((await one.ask("GET", "/api/auth/api-keys/list", { cookie })).status).toBe(200)
  })

  it("refuse roles that one does not have, ends too far away, names that are none, and the 51st", async () => {
    const email = await stage.account(one.auth, "dora", "reader")
    const cookie = await cookieOf(email)
    const make = (body: object) => post("/api-keys/create", cookie, { name: "n", role: "reader", ...body })
    expect(await make({ role: "admin" })).toMatchObject({ status: 403, body: { code: "ROLE_NOT_HELD" } })
    expect(await make({ role: "reader,writer" })).toMatchObject({ status: 403 })
    for (
      const [body, code] of [
        [{ role: "nobody" }, "UNKNOWN_ROLE"],
        [{ expires: "400d" }, "INVALID_EXPIRY"],
        [{ expires: 3 }, "VALIDATION_ERROR"],
        [{ name: "" }, "VALIDATION_ERROR"],
        [{ name: { $ne: "" } }, "VALIDATION_ERROR"],
        [{ name: "a\u0007b" }, "INVALID_NAME"],
        [{ name: "x".repeat(201) }, "INVALID_NAME"]
      ] as const
    ) {
      expect([JSON.stringify(body), await make(body)]).toMatchObject([expect.any(String), {
        status: 400,
        body: { code }
      }])
    }
    await stage.store.database.execute(
      `insert into auth."apiKey" ("id", "name", "userId", "roles", "hash", "expiresAt") select 'k' || n, 'n', '${await idOf(
        email
      )}', 'reader', 'h' || n, now() + interval '1 day' from generate_series(1, 50) n`
    )
    expect(await make({})).toMatchObject({ status: 409, body: { code: "TOO_MANY_KEYS" } })
  })

  it("are not made by pages of others, and count like guesses of the password", async () => {
    const few = stage.instance({ passkeys, signInPerMinute: 3 })
    const cookie = await cookieOf(await stage.account(one.auth, "emil", "reader"))
    const foreign = { cookie, body: { name: "x", role: "reader" }, headers: { origin: "https://evil.example" } }
    expect((await one.ask("POST", "/api/auth/api-keys/create", foreign)).status).toBe(403)
    const statuses = []
    for (let n = 0; n < 12; n++) {
      statuses.push((await few.ask("POST", "/api/auth/api-keys/create", { cookie, body: {} })).status)
    }
    expect(statuses).toContain(429)
  })
})

describe("what admins do for others", () => {
  it("is for admins: nobody else learns roles or takes a factor", async () => {
    const victim = await idOf(await stage.account(one.auth, "fay", "reader"))
    const reader = await cookieOf(await stage.account(one.auth, "gil", "reader"))
    for (const cookie of [undefined, reader]) {
      const status = cookie === undefined ? 401 : 403
      expect((await one.ask("GET", "/api/auth/admin/roles", { cookie })).status).toBe(status)
      for (const path of ["/admin/reset-second-factor", "/admin/remove-passkeys"]) {
        expect((await post(path, cookie, { userId: victim })).status).toBe(status)
      }
    }
    const admin = await cookieOf("admin@example.org")
    expect((await one.ask("GET", "/api/auth/admin/roles", { cookie: admin })).body).toEqual({
      roles: ["admin", "reader", "writer", "user"],
      defaultRole: "user"
    })
  })

  it("takes a lost factor and passkeys away, ends sessions and tokens, and names the admin in the log", async () => {
    const email = await stage.account(one.auth, "hugo", "reader")
    const id = await idOf(email)
    const cookie = await cookieOf(email)
    const token = String((await one.ask("GET", "/api/auth/token", { cookie })).body["token"])
    await stage.store.database.execute(`update auth."user" set "twoFactorEnabled" = true where "id" = '${id}'`)
    expect((await one.signIn(email)).body).toMatchObject({ twoFactorRedirect: true })
    const admin = await cookieOf("admin@example.org")
    expect((await post("/admin/reset-second-factor", admin, { userId: id })).body).toEqual({ status: true })
    expect((await one.ask("GET", "/api/auth/list-sessions", { cookie })).status).toBe(401)
    await expect.poll(() => one.read(token), { timeout: 20_000 }).toBe(401)
    expect((await one.signIn(email)).body).toMatchObject({ user: { email } })
    expect((await post("/admin/remove-passkeys", admin, { userId: id })).status).toBe(200)
    const by = await idOf("admin@example.org")
    expect(stage.events).toContainEqual(expect.objectContaining({ event: "second-factor-off", user: id, by }))
    expect(stage.events).toContainEqual(expect.objectContaining({ event: "passkey-removed", user: id, by }))
  })

  it("refuses one's own account, unknown ones and bodies that are none", async () => {
    const admin = await cookieOf("admin@example.org")
    const own = await idOf("admin@example.org")
    expect(await post("/admin/reset-second-factor", admin, { userId: own })).toMatchObject({
      status: 403,
      body: { code: "OWN_ACCOUNT" }
    })
    expect((await post("/admin/reset-second-factor", admin, { userId: "nobody" })).status).toBe(404)
    for (const userId of [undefined, "", 7, { id: own }, [own]]) {
      expect((await post("/admin/reset-second-factor", admin, { userId })).status).toBe(400)
    }
  })

  it("leaves no secret in the log", () => {
    expect(password.length).toBeGreaterThan(0)
    expect(stage.leaks().found).toEqual([])
  })
})
