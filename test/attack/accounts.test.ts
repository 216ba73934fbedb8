/** What stays behind after an account changed: tokens, cookies and sign-ins under way, in every instance; and races for being admin. */

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import {
  createUser,
  deleteUser,
  issueToken,
  listUsers,
  revokeUser,
  setUserBanned,
  setUserRole
} from "../../adapters/auth/users.ts"
import { listen, type Listener } from "../../adapters/http/node.ts"
import { passesUntil } from "../auth/store.ts"
import { authUrl, type Instance, openStage, password, type Stage } from "./stage.ts"

let stage: Stage
let one: Instance
let two: Instance
let admin: string
let email: string
let count = 0

beforeAll(async () => {
  stage = await openStage()
  one = stage.instance()
  two = stage.instance()
  await stage.account(one.auth, "admin")
  admin = (await one.signIn("admin@example.org")).cookie
})

afterAll(() => stage[Symbol.asyncDispose]())

beforeEach(async () => {
  email = await stage.account(one.auth, `user${count += 1}`, "reader")
})

const idOf = async (): Promise<string> => (await listUsers(one.auth)).find((user) => user.email === email)?.id ?? ""

describe("a token replayed", () => {
  const byAdmin = async (path: string, body: Record<string, unknown> = {}): Promise<void> => {
    const answer = await one.ask("POST", `/api/auth/admin/${path}`, {
      cookie: admin,
      body: { userId: await idOf(), ...body }
    })
    expect(answer.status).toBe(200)
  }

  // All changes at once, each to an account of its own: the two seconds pass once.
  it("is refused by both instances within two seconds of a ban, deletion, role change, new password or revocation", async () => {
    const changes: Record<string, () => Promise<unknown>> = {
      ban: () => setUserBanned(one.auth, { email, banned: true }),
      "ban by HTTP": () => byAdmin("ban-user"),
      deletion: () => deleteUser(one.auth, email),
      "deletion by HTTP": () => byAdmin("remove-user"),
      "role change": () => setUserRole(one.auth, { email, role: "writer" }),
      "role change by HTTP": () => byAdmin("set-role", { role: "writer" }),
      "new password": () => byAdmin("set-user-password", { newPassword: "another password" }),
      revocation: () => revokeUser(one.auth, email)
    }
    const used: string[] = []
    for (const change of Object.values(changes)) {
      email = await stage.account(one.auth, `replay${used.length}`, "reader")
      const { token } = await issueToken(one.auth, { email, ttlSeconds: 86_400 })
      expect([await one.read(token), await two.read(token)]).toEqual([200, 200])
      await change()
      used.push(token)
    }
    // All of them in constant use.
    const waited = await passesUntil([one.auth, two.auth], async () => {
      const answers = await Promise.all(used.flatMap((token) => [one.read(token), two.read(token)]))
      return answers.every((status) => status === 401)
    })
    expect(waited).toBeLessThan(2_000)
  })

  it("with the cookie of before opens nothing either", async () => {
    const { cookie } = await one.signIn(email)
    await setUserBanned(one.auth, { email, banned: true })
    for (const instance of [one, two]) {
      expect((await instance.ask("GET", "/api/auth/token", { cookie })).status).toBe(401)
      expect((await instance.ask("GET", "/api/auth/get-session", { cookie })).text).toBe("null")
    }
  })
})

describe("a sign-in that races a change of its account", () => {
  /** Holds the sign-in just before its session begins, makes the change and lets it go. */
  const overtaken = async (change: string): Promise<Awaited<ReturnType<Instance["signIn"]>>> => {
    const client = await stage.store.pool.connect()
    try {
      await client.query(`begin; lock table auth."session" in exclusive mode`)
      const signingIn = two.signIn(email)
      await vi.waitFor(async () => {
        const waiting = await stage.store.database.rows(
          `select 1 from pg_locks where not granted and relation = 'auth.session'::regclass`
            + ` and database = (select oid from pg_database where datname = current_database())`
        )
        expect(waiting).toHaveLength(1)
      }, { timeout: 60_000 })
      await client.query(change.replace("$id", `'${await idOf()}'`))
      await client.query("commit")
      return await signingIn
    } finally {
      client.release()
    }
  }

  it.each([
    ["a ban", `update auth."user" set banned = true where id = $id`],
    ["a new password", `update auth."account" set password = 'another hash' where "userId" = $id`],
    ["a deletion", `delete from auth."user" where id = $id`]
  ])("loses to %s: no session is left, and no cookie is sent", async (_, change) => {
    const id = await idOf()
    const answer = await overtaken(change)
    expect(answer.status, answer.text).toBe(401)
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(await stage.store.database.rows(`select 1 from auth."session" where "userId" = '${id}'`)).toEqual([])
  })

  it("wins when nothing was changed", async () => {
    const answer = await overtaken("select 1")
    expect(answer.status).toBe(200)
    expect((await one.ask("GET", "/api/auth/token", { cookie: answer.cookie })).status).toBe(200)
  })
})

describe("races for being admin", () => {
  it("make one first admin out of many, and none by HTTP while the store is empty", async () => {
    await using fresh = await openStage()
    const instances = [fresh.instance(), fresh.instance()]
    const [here, there] = instances
    if (here === undefined || there === undefined) throw new Error("no instances")
    for (
      const [path, body] of [
        ["/sign-up/email", { email: "m@example.org", password, name: "m" }],
        ["/admin/create-user", { email: "m@example.org", password, name: "m", role: "admin" }],
        ["/sign-in/email", { email: "m@example.org", password }]
      ] as const
    ) {
      expect([400, 401, 403]).toContain((await here.ask("POST", `/api/auth${path}`, { body })).status)
    }
    expect((await here.ask("GET", "/api/auth/status")).body).toEqual({ needsAdmin: true })
    await Promise.all(
      Array.from(
        { length: 6 },
        (_, index) => createUser((index % 2 === 0 ? here : there).auth, { email: `u${index}@example.org`, password })
      )
    )
    const roles = (await listUsers(here.auth)).map(({ role }) => role)
    expect(roles.filter((role) => role === "admin")).toHaveLength(1)
    expect(roles).toHaveLength(6)
  })

  it("leave one admin when two depose each other by HTTP, on two instances at once", async () => {
    await setUserRole(one.auth, { email, role: "admin" })
    const other = (await one.signIn(email)).cookie
    const [me, them] = [
      (await listUsers(one.auth)).find((user) => user.email === "admin@example.org")?.id ?? "",
      await idOf()
    ]
    const depose = (at: Instance, cookie: string, userId: string, way: number) =>
      at.ask("POST", `/api/auth/admin/${["set-role", "ban-user", "remove-user"][way] ?? ""}`, {
        cookie,
        body: way === 0 ? { userId, role: "user" } : { userId }
      })
    const answers = await Promise.all([depose(one, admin, them, 0), depose(two, other, me, 1)])
    const active = (await listUsers(one.auth)).filter((user) => user.role === "admin" && !user.banned)
    expect(active.length).toBeGreaterThanOrEqual(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    // As it was, for what follows.
    await setUserBanned(one.auth, { email: "admin@example.org", banned: false })
    await setUserRole(one.auth, { email: "admin@example.org", role: "admin" })
    await setUserRole(one.auth, { email, role: "user" })
    admin = (await one.signIn("admin@example.org")).cookie
  })

  it("give nobody a role through their own account", async () => {
    const { cookie } = await one.signIn(email)
    for (
      const [path, body] of [
        ["/update-user", { role: "admin" }],
        ["/update-user", { name: "x", role: "admin", banned: false, tokenEpoch: 0, id: "1", emailVerified: true }],
        ["/admin/set-role", { userId: await idOf(), role: "admin" }],
        ["/admin/update-user", { userId: await idOf(), data: { role: "admin" } }],
        ["/admin/has-permission", { userId: await idOf(), role: "admin", permissions: { user: ["create"] } }]
      ] as const
    ) {
      const answer = await one.ask("POST", `/api/auth${path}`, { cookie, body })
      expect(answer.body["success"]).not.toBe(true)
      expect((await listUsers(one.auth)).find((user) => user.email === email)?.role).toBe("reader")
    }
  })
})

describe("an API apart from the auth server", () => {
  it("verifies tokens by the published keys alone, and nothing else opens it", async () => {
    let listener: Listener | undefined
    try {
      listener = await listen(one.edge, { port: 0 })
      const api = stage.apart({
        jwksUrl: `http://127.0.0.1:${listener.port}/api/auth/jwks`,
        issuer: authUrl,
        tenant: 1
      })
      const signedIn = await one.signIn(email)
      const token = String((await one.ask("GET", "/api/auth/token", { cookie: signedIn.cookie })).body["token"])
      expect(await api.read(token)).toBe(200)
      expect((await api.ask("GET", "/api/v1/notes", { cookie: signedIn.cookie })).status).toBe(401)
      // It has no sign-in routes: they are paths like any other.
      expect((await api.ask("POST", "/api/auth/sign-in/email", { body: { email, password } })).status).toBe(401)
      const elsewhere = stage.apart({
        jwksUrl: `http://127.0.0.1:${listener.port}/api/auth/jwks`,
        issuer: "https://other.example"
      })
      expect(await elsewhere.read(token)).toBe(401)
      // It goes on while the auth server is away, by the keys it knows.
      await listener.close()
      expect(await api.read(token)).toBe(200)
      const unread = stage.apart({ jwksUrl: `http://127.0.0.1:${listener.port}/api/auth/jwks`, issuer: authUrl })
      expect(await unread.read(token)).toBe(503)
    } finally {
      await listener?.close()
    }
  })
})

it("nothing of this is in the log, but what happened is", () => {
  const { found, seen } = stage.leaks()
  expect(seen).toBeGreaterThan(20)
  expect(found).toEqual([])
  expect(stage.log()).not.toContain("@example.org")
  const names = new Set(stage.events.map(({ event }) => event))
  for (
    const name of [
      "token-minted",
      "account-banned",
      "account-deleted",
      "role-changed",
      "password-set",
      "tokens-revoked",
      "sign-in-overtaken"
    ] as const
  ) {
    expect(names).toContain(name)
  }
  const banned = stage.events.filter(({ event }) => event === "account-banned")
  // Who did it stands there for HTTP, and nobody for the host.
  expect(banned.some(({ by }) => by !== undefined)).toBe(true)
  expect(banned.some(({ by }) => by === undefined)).toBe(true)
})
