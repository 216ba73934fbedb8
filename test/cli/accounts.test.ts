import { createHash } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { notesProject, table } from "./notes.ts"
import { ask, type Running } from "./support.ts"

let database: TestDatabase
const configured = (settings = "") => notesProject({ DATABASE_URL: database.url }, settings)
beforeAll(async () => {
  database = await openDatabase(table)
  await using project = configured()
  expect(JSON.parse((await project.quick("migration", "--apply", "--json")).stdout)).toEqual({
    applied: ["service 4", "auth 8"],
    changed: []
  })
})
afterAll(async () => {
  await database.drop()
})

/** What a command says in JSON. */
interface Printed {
  readonly [name: string]: unknown
  readonly id: string
  readonly text: string
  readonly password: string
}
const printed = ({ stdout }: { readonly stdout: string }): Printed => JSON.parse(stdout) as Printed

/** Waits for an answer that changes within two seconds, and much longer where the machine is slow. */
const becomes = (status: number, request: () => Promise<{ readonly status: number }>): Promise<void> =>
  expect.poll(async () => (await request()).status, { interval: 100 }).toBe(status)

const notesOf = ({ port }: Running, token: string) => () => ask(port, "/api/v1/notes", {}, { token })

const signIn = ({ port }: Running, email: string, password: string) =>
  ask(port, "/api/auth/sign-in/email", {}, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password })
  })

describe("accounts", () => {
  it("are those of a database that writes dates in a way of its own, too", async () => {
    const other = await openDatabase(table)
    await other.execute(`alter database ${other.name} set datestyle = 'German, DMY'`)
    await using project = notesProject({ DATABASE_URL: other.url })
    await project.quick("migration", "--apply")
    const { password } = printed(
      await project.quick("users", "create", "ann@example.com", "--generate-password", "--json")
    )
    expect((await project.quick("users", "list")).stdout).toContain(new Date().toISOString().slice(0, 4))
    const running = await project.start("serve")
    const base = `http://localhost:${running.port}/api/auth`
    const begun = await fetch(`${base}/sign-in/email`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "ann@example.com", password })
    })
    const cookie = begun.headers.getSetCookie().map((each) => each.split(";")[0]).join("; ")
    expect((await fetch(`${base}/token`, { headers: { cookie } })).status).toBe(200)
    await running.end()
    await other.drop()
  })

  it("manages accounts", async () => {
    await using project = configured()
    const users = (...args: string[]) => project.quick("users", ...args)
    expect((await users("list")).stdout).toContain("There is no user yet")
    expect(await users("create", "ann@example.com")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--generate-password")
    })
    expect((await users("create", "ann@example.com", "--generate-password")).stdout).toMatch(
      /\(admin\)[^]*Password: [\w-]{24}\n/
    )
    expect((await users("create", "bob@example.com", "--generate-password", "--role", "user")).code).toBe(0)
    expect(await users("create", "eve@example.com", "--generate-password", "--role", "boss")).toMatchObject({
      code: 1,
      stderr: "There is no role \"boss\". The roles are: admin, user.\n"
    })
    expect((await users("ban", "bob@example.com")).stdout).toBe("bob@example.com (user) is banned.\n")
    expect(await project.quick("token", "bob@example.com")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "The user is banned.\n"
    })
    expect((await users("unban", "bob@example.com")).stdout).toContain("active")
    expect((await users("role", "bob@example.com", "admin,user")).stdout).toContain("(admin,user)")
    expect((await users("revoke", "bob@example.com")).code).toBe(0)
    expect((await users("delete", "bob@example.com")).code).toBe(0)
    expect(await users("delete", "ann@example.com")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("last active admin")
    })
    expect(JSON.parse((await users("list", "--json")).stdout)).toMatchObject([{
      email: "ann@example.com",
      banned: false
    }])
  })

  it("get a new password, which ends what the old one opened", async () => {
    await using project = configured()
    const users = (...args: string[]) => project.quick("users", ...args)
    const [made, running] = await Promise.all([
      users("create", "pat@example.com", "--generate-password", "--role", "user", "--json"),
      project.start("serve")
    ])
    const first = printed(made).password
    expect((await signIn(running, "pat@example.com", first)).status).toBe(200)
    const token = (await project.quick("token", "pat@example.com")).stdout.trim()
    await becomes(200, notesOf(running, token))

    expect(await users("password", "pat@example.com")).toMatchObject({
      code: 1,
      stderr: "Give one of --generate-password and --password-stdin.\n"
    })
    const { stdout } = await project.quick("users", "password", "Pat@example.com", "--generate-password")
    const [, second = ""] = /^Set a new password for pat@example\.com [^\n]*\nPassword: ([\w-]{24})\n$/.exec(stdout) ??
      []
    await becomes(401, notesOf(running, token))
    expect((await signIn(running, "pat@example.com", first)).status).toBe(401)
    expect((await signIn(running, "pat@example.com", second)).status).toBe(200)

    const third = "typed by a person"
    expect(
      await project.serviceWith(`${third}\n`, "users", "password", "pat@example.com", "--password-stdin", "--json")
    ).toMatchObject({ code: 0, stdout: expect.not.stringContaining(third) })
    expect((await signIn(running, "pat@example.com", third)).status).toBe(200)
    expect(await project.serviceWith("short", "users", "password", "pat@example.com", "--password-stdin"))
      .toMatchObject({
        code: 1,
        stderr: "A password needs at least 12 characters.\n"
      })
  })
})

describe("API keys", () => {
  it("are made, listed and revoked, and open the API meanwhile", async () => {
    await using project = configured()
    const keys = (...args: string[]) => project.quick("keys", ...args)
    const create = (...more: string[]) => keys("create", "kim@example.com", "--name", "nightly import", ...more)
    const [running, none] = await Promise.all([
      project.start("serve"),
      keys("list"),
      project.quick("users", "create", "kim@example.com", "--generate-password", "--role", "user")
    ])
    expect(none).toMatchObject({ code: 0, stdout: "There is no key.\n" })
    expect(await create("--role", "admin")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("admin")
    })
    expect(await create("--role", "user", "--expires", "2y")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("366 days")
    })
    expect((await create()).code).toBe(2)

    const key = printed(await create("--role", "user", "--expires", "45m", "--json"))
    expect(key).toMatchObject({ email: "kim@example.com", role: "user", name: "nightly import", revokedAt: null })
    expect(Date.parse(String(key["expiresAt"])) - Date.parse(String(key["createdAt"]))).toBeLessThan(46 * 60_000)
    const shown = await project.quick(
      "keys",
      "create",
      "kim@example.com",
      "--name",
      "nightly import",
      "--role",
      "user"
    )
    expect(shown.stdout).toMatch(
      /^Created "nightly import" for kim@example\.com \(user\), until \S+Z\.\nKey: sk_[0-9a-f]{16}_[\w-]{48}\n$/
    )
    expect(shown.stderr).toContain("shown this once")

    await becomes(200, notesOf(running, key.text))
    // The use is noted beside the answer.
    await expect.poll(
      () => database.rows(`select "lastUsedAt" is not null from auth."apiKey" where "id" = '${key.id}'`),
      { timeout: 60_000 }
    ).toEqual([["t"]])
    const [all, table, others] = await Promise.all([
      keys("list", "--json"),
      keys("list", "kim@example.com"),
      keys("list", "nobody@example.com")
    ])
    expect(JSON.parse(all.stdout)).toMatchObject([{ id: key.id, name: "nightly import" }, { role: "user" }])
    expect(table.stdout.split("\n")[1]).toMatch(
      new RegExp(`^${key.id} {2}nightly import {2}kim@example\\.com {2}user +active +20\\S+ +20\\S+Z +20\\S+Z$`)
    )
    expect(others.stdout).toBe("There is no key.\n")
    for (const { stdout } of [all, table]) {
      expect(stdout).not.toContain(key.text)
      expect(stdout).not.toContain(createHash("sha256").update(key.text).digest("hex"))
    }

    expect(await keys("revoke", key.id)).toMatchObject({
      code: 0,
      stdout: "Revoked \"nightly import\" of kim@example.com.\n"
    })
    await becomes(401, notesOf(running, key.text))
    expect((await keys("list")).stdout).toMatch(new RegExp(`^${key.id} .* revoked `, "m"))
    expect(await keys("revoke", "0000000000000000")).toMatchObject({
      code: 1,
      stderr: "There is no key with this id.\n"
    })
    expect(running.output()).not.toContain(key.text)
  })
})

describe("passkeys", () => {
  it("get their table when they are turned on, and are taken away", async () => {
    await using plain = configured()
    await using project = configured("auth: { passkeys: true }")
    expect((await project.quick("migration", "--apply")).stdout).toBe("Applied passkey 2\n")
    await project.quick("users", "create", "pat@example.com", "--generate-password", "--role", "user")
    await database.execute(
      `insert into auth."passkey" ("id", "publicKey", "userId", "credentialID", "counter", "deviceType", "backedUp")`
        + ` select 'k', 'p', "id", 'c', 0, 'multiDevice', true from auth."user" where email = 'pat@example.com'`
    )
    const remove = (of: typeof project) => of.quick("users", "remove-passkeys", "pat@example.com")
    expect(await remove(plain)).toMatchObject({ code: 1, stderr: "Passkeys are not configured.\n" })
    expect((await remove(project)).stdout).toContain("Took the passkeys of pat@example.com away")
    expect(await database.rows(`select count(*) from auth."passkey"`)).toEqual([["0"]])
  })
})

describe("second factors", () => {
  it("get their table when they are turned on, lose nothing when they are turned off, and are reset", async () => {
    await using plain = configured()
    await using project = configured("auth: { twoFactor: true }")
    const [refused, unserved] = await Promise.all([
      project.quick("users", "list"),
      project.quick("serve", "--port", "0")
    ])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("service migration --apply") })
    expect(unserved).toMatchObject({ code: 1, stderr: expect.stringContaining("(second_factor)") })
    expect(JSON.parse((await project.quick("migration", "--json")).stdout)).toEqual({
      written: ["db/migrations/001_service.sql", "db/migrations/002_auth.sql", "db/migrations/003_second_factor.sql"]
    })
    expect((await project.quick("migration", "--apply")).stdout).toBe("Applied second_factor 2\n")
    await database.execute(project.read("db/migrations/003_second_factor.sql"))
    const [again, off] = await Promise.all([
      project.quick("migration", "--apply"),
      plain.quick("migration", "--apply")
    ])
    expect([again.stdout, off.stdout]).toEqual(
      Array.from({ length: 2 }, () => "Nothing to apply: the database is up to date.\n")
    )

    await project.quick("users", "create", "lou@example.com", "--generate-password", "--role", "user")
    await database.execute(`
      update auth."user" set "twoFactorEnabled" = true where email = 'lou@example.com';
      insert into auth."twoFactor" ("id", "secret", "backupCodes", "userId")
        select 'f', 's', 'b', "id" from auth."user" where email = 'lou@example.com'`)
    const reset = (of: typeof project, email: string) => of.quick("users", "reset-second-factor", email)
    const [unset, unknown] = await Promise.all([reset(plain, "lou@example.com"), reset(project, "x@example.com")])
    expect(unset).toMatchObject({ code: 1, stderr: "Second factors are not configured.\n" })
    expect(unknown).toMatchObject({ code: 1, stderr: "There is no user with this email address.\n" })
    expect((await reset(project, "lou@example.com")).stdout).toContain("Took the second factor of lou@example.com away")
    expect(
      await database.rows(
        `select u."twoFactorEnabled", f."id" from auth."user" u left join auth."twoFactor" f on f."userId" = u."id"`
          + ` where email = 'lou@example.com'`
      )
    ).toEqual([["f", null]])
  })
})
