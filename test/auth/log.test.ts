/** What a running server writes into its log about sign-in: a line for each thing that happened, and no secret in any of them. */

import { Pool } from "pg"
import { expect, it, vi } from "vitest"
import { createUser } from "../../adapters/auth/users.ts"
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
const config = defineConfig({ resources: [notes], auth: { twoFactor: true } })

/** A server on a database of its own, both until the end of the test. */
const start = async (opened: AsyncDisposableStack, log: (line: string) => void) => {
  const database = await openDatabase(
    "create table notes (id int generated always as identity primary key, body text not null)"
  )
  opened.defer(database.drop)
  const pool = new Pool({ connectionString: database.url, max: 1 })
  await applyMigrations(pool, [serviceMigration, ...authMigrations(config)])
  await pool.end()
  const env = { DATABASE_URL: database.url, AUTH_SECRET: secret, AUTH_URL: authUrl }
  const server = await startServer(config, { env, port: 0, log })
  opened.defer(server.close)
  return server
}

it("a log that throws ends nothing, and its lines go to the console", async () => {
  await using opened = new AsyncDisposableStack()
  const broken = new Error("the disk is full")
  const written = vi.spyOn(console, "error").mockImplementation(() => {})
  opened.defer(async () => written.mockRestore())
  const server = await start(opened, () => {
    throw broken
  })
  expect((await fetch(`${server.address}/livez`)).status).toBe(200)
  await server.close()
  expect(written.mock.calls.map(([line, error]) => [JSON.parse(String(line)).event, error])).toEqual([
    ["listening", broken],
    ["request", broken],
    ["closing", broken]
  ])
})

it("a sign-in is a line of the server's log, without a secret", async () => {
  await using opened = new AsyncDisposableStack()
  const lines: string[] = []
  const server = await start(opened, (line) => lines.push(line))
  if (server.auth === null) throw new Error("the server keeps accounts")
  const { id } = await createUser(server.auth, { email: "ann@example.org", password })

  const signIn = (word: string) =>
    fetch(`${server.address}/api/auth/sign-in/email`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "ann@example.org", password: word })
    })
  expect((await signIn("not the password")).status).toBe(401)
  const signedIn = await signIn(password)
  expect(signedIn.status).toBe(200)
  const cookies = signedIn.headers.getSetCookie().map((cookie) => cookie.split(";", 1)[0] ?? "")
  const answer = await fetch(`${server.address}/api/auth/token`, { headers: { cookie: cookies.join("; ") } })
  const { token } = await answer.json() as { readonly token: string }

  const entries = () => lines.map((line) => JSON.parse(line) as { readonly [name: string]: unknown })
  await expect.poll(() => entries().filter(({ event }) => event === "request").length).toBe(3)
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  const hashed = expect.stringMatching(/^[\w-]{16}$/)
  expect(entries().filter(({ event }) => /^(?:account|sign)-/.test(String(event)))).toEqual([
    { level: "info", time, event: "account-created", user: id },
    { level: "warn", time, event: "sign-in-failed", method: "password", client: hashed, account: hashed },
    { level: "info", time, event: "sign-in-ok", method: "password", client: hashed, account: hashed, user: id }
  ])
  const secrets = [
    "ann@example.org",
    password,
    "not the password",
    secret,
    token,
    ...cookies.map((cookie) => decodeURIComponent(cookie.slice(cookie.indexOf("=") + 1)).split(".", 1)[0] ?? "")
  ]
  expect(secrets.every((text) => text.length > 8)).toBe(true)
  for (const text of secrets) expect(lines.join("\n")).not.toContain(text)
})

it("an alarm is told of whoever has a session or the password, and strangers raise none", async () => {
  await using opened = new AsyncDisposableStack()
  const lines: string[] = []
  const server = await start(opened, (line) => lines.push(line))
  if (server.auth === null) throw new Error("the server keeps accounts")
  const { id } = await createUser(server.auth, { email: "ann@example.org", password })
  const post = (path: string, body: object, cookie = "") =>
    fetch(`${server.address}/api/auth${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", cookie },
      body: JSON.stringify(body)
    })
  const signedIn = await post("/sign-in/email", { email: "ann@example.org", password })
  const cookie = signedIn.headers.getSetCookie().map((each) => each.split(";", 1)[0] ?? "").join("; ")
  const wrong = { currentPassword: "not the password", newPassword: "another password" }
  expect((await post("/change-password", wrong)).status).toBe(401)
  expect((await post("/change-password", {})).status).toBe(400)
  for (const path of ["/two-factor/verify-totp", "/two-factor/verify-backup-code"]) {
    expect((await post(path, { code: "123456" })).status).toBe(401)
  }
  expect((await post("/change-password", wrong, cookie)).status).toBe(400)
  await expect.poll(() => lines.filter((line) => line.includes(`"status":400`)).length).toBe(2)
  const alarms = lines.map((line) => JSON.parse(line)).filter(({ event }) => String(event).endsWith("-failed"))
  expect(alarms).toEqual([{
    level: "warn",
    time: expect.any(String),
    event: "password-change-failed",
    client: expect.stringMatching(/^[\w-]{16}$/),
    user: id
  }])
})
