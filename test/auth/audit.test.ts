/** What the audit of a running server has of accounts and keys: who did what to whom, and no secret. */

import { Pool } from "pg"
import { expect, it } from "vitest"
import { createUser, setUserRole } from "../../adapters/auth/users.ts"
import { applyMigrations, authMigrations, serviceMigration } from "../../composition/migrations.ts"
import { startServer } from "../../composition/server.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { openDatabase } from "../support/postgres.ts"
import { divideHashing } from "./hashing.ts"
import { authUrl, password, secret } from "./store.ts"

divideHashing(16)

const notes = defineResource("notes", {
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault(), body: f.text() }
})
const config = defineConfig({ resources: [notes], auth: { twoFactor: true, roles: ["clerk"], tenant: "t1" } })

interface Entry {
  readonly act: string
  readonly who: object | null
  readonly subject: object | null
  readonly details: object
  readonly request: string | null
}

it("has every change of an account and key, with names and roles of that time", async () => {
  await using opened = new AsyncDisposableStack()
  const database = await openDatabase(
    "create table notes (id int generated always as identity primary key, body text not null)"
  )
  opened.defer(database.drop)
  const pool = new Pool({ connectionString: database.url, max: 1 })
  await applyMigrations(pool, [serviceMigration, ...authMigrations(config)])
  await pool.end()
  const env = { DATABASE_URL: database.url, AUTH_SECRET: secret, AUTH_URL: authUrl }
  const server = await startServer(config, { env, port: 0, log: () => {} })
  opened.defer(server.close)
  const { auth } = server
  if (auth === null) throw new Error("the server keeps accounts")
  const { id: ann } = await createUser(auth, { email: "ann@example.org", name: "Ann", password })

  let cookie = ""
  const post = async (path: string, body: object, id: string = crypto.randomUUID()) => {
    const response = await fetch(`${server.address}/api/auth${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", cookie, "x-request-id": id },
      body: JSON.stringify(body)
    })
    const answer = await response.json() as { readonly [name: string]: unknown }
    expect([path, response.status, response.ok ? "" : answer]).toEqual([path, 200, ""])
    if (path === "/sign-in/email") {
      cookie = response.headers.getSetCookie().map((each) => each.split(";", 1)[0] ?? "").join("; ")
    }
    return answer
  }
  await post("/sign-in/email", { email: "ann@example.org", password })
  const { user } = await post("/admin/create-user", {
    email: "bob@example.org",
    name: "Bob",
    password,
    role: "clerk"
  }, "r1")
  const { id: bob } = user as { readonly id: string }
  await post("/admin/set-role", { userId: bob, role: ["admin", "clerk"] })
  await post("/admin/update-user", { userId: bob, data: { name: "Rob" } })
  await post("/admin/set-user-password", { userId: bob, newPassword: "a new password" })
  await post("/admin/ban-user", { userId: bob, banReason: "a private reason" })
  await post("/admin/unban-user", { userId: bob })
  await post("/admin/revoke-user-sessions", { userId: bob })
  await post("/admin/remove-user", { userId: bob })
  const key = await post("/api-keys/create", { name: "Nightly", role: "clerk", expires: "1d" })
  await post("/api-keys/revoke", { id: key["id"] })
  await post("/revoke-other-sessions", {})
  // A program does it, and nobody who is known.
  await setUserRole(auth, { email: "ann@example.org", role: ["admin", "clerk"] })
  await post("/sign-in/email", { email: "ann@example.org", password })

  const { token } = await (await fetch(`${server.address}/api/auth/token`, { headers: { cookie } })).json() as {
    readonly token: string
  }
  const read = async () => {
    const response = await fetch(`${server.address}/api/audit`, { headers: { authorization: `Bearer ${token}` } })
    const text = await response.text()
    return { text, entries: (JSON.parse(text).entries as Entry[]).toReversed() }
  }
  await expect.poll(async () => (await read()).entries.length).toBe(13)
  const { entries, text } = await read()
  const [byAnn, toBob] = [{ id: ann, name: "Ann" }, { kind: "account", id: bob, name: "Bob" }]
  const toRob = { ...toBob, name: "Rob" }
  const nightly = { kind: "key", id: key["id"], name: "Nightly" }
  const toAnn = { kind: "account", id: ann, name: "Ann" }
  expect(entries.map(({ act, details, subject, who }) => [act, who, subject, details])).toEqual([
    ["account.created", null, toAnn, {}],
    ["account.created", byAnn, toBob, { after: ["clerk"] }],
    ["account.role-changed", byAnn, toBob, { before: ["clerk"], after: ["admin", "clerk"] }],
    ["account.changed", byAnn, toBob, { fields: ["name"] }],
    ["account.password-set", byAnn, toRob, {}],
    ["account.banned", byAnn, toRob, {}],
    ["account.unbanned", byAnn, toRob, {}],
    ["account.sessions-ended", byAnn, toRob, {}],
    ["account.deleted", byAnn, toRob, {}],
    ["key.created", byAnn, nightly, { after: ["clerk"] }],
    ["key.revoked", byAnn, nightly, {}],
    ["account.sessions-ended", byAnn, toAnn, {}],
    ["account.role-changed", null, toAnn, {}]
  ])
  expect(entries[1]?.request).toBe("r1")
  expect(await database.rows("select distinct tenant from service.audit")).toEqual([["t1"]])
  for (const hidden of [password, "a new password", "a private reason", String(key["text"]), "example.org"]) {
    expect(text).not.toContain(hidden)
  }
})
