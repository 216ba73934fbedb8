import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import type { Auth } from "../../adapters/auth/auth.ts"
import type { Authenticator } from "../../adapters/auth/authenticator.ts"
import { builtInAuthenticator } from "../../adapters/auth/built-in.ts"
import {
  createUser,
  deleteUser,
  issueToken,
  listUsers,
  revokeUser,
  setUserBanned,
  setUserRole
} from "../../adapters/auth/users.ts"
import { holdClock } from "../support/clock.ts"
import {
  ask,
  bearer,
  cookiesOf,
  identify,
  openStore,
  passesUntil,
  password,
  sessionOf,
  type Store,
  tokenOf
} from "./store.ts"

let store: Store
let here: Auth
let there: Auth
let atHere: Authenticator
let atThere: Authenticator
let admin: string
let count = 0
let email = ""

beforeAll(async () => {
  store = await openStore()
  here = store.instance()
  there = store.instance()
  atHere = builtInAuthenticator({ auth: here })
  atThere = builtInAuthenticator({ auth: there })
  await createUser(here, { email: "admin@example.org", password })
  admin = await sessionOf(here, "admin@example.org")
})

afterAll(() => store[Symbol.asyncDispose]())

beforeEach(async () => {
  email = `user${count += 1}@example.org`
  await createUser(here, { email, password, role: "user" })
})

const idOf = async (): Promise<string> => (await listUsers(here)).find((user) => user.email === email)?.id ?? "nobody"

const banThatRanOut = () =>
  store.database.execute(
    `update auth."user" set banned = true, "banExpires" = now() - interval '1 minute' where email = '${email}'`
  )

/** Uses the token all the time at these instances, and answers the milliseconds until all of them refuse it. */
const refusedAfter = (token: string, ...at: readonly Authenticator[]): Promise<number> =>
  passesUntil([here, there], async () => {
    const answers = await Promise.all(at.map((each) => identify(each, token)))
    return answers.every((answer) => answer === "Unauthorized")
  })

const byAdmin = async (path: string, body: Record<string, unknown>) => {
  const answer = await ask(here, "POST", `/admin/${path}`, { cookie: admin, body: { userId: await idOf(), ...body } })
  expect(answer.status).toBe(200)
}

describe("a token in use at another instance stops within two seconds", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["a ban", () => setUserBanned(here, { email, banned: true })],
    ["a deletion", () => deleteUser(here, email)],
    ["a role change", () => setUserRole(here, { email, role: "admin" })],
    ["a revocation", () => revokeUser(here, email)],
    ["a ban by HTTP", () => byAdmin("ban-user", {})],
    ["a deletion by HTTP", () => byAdmin("remove-user", {})],
    ["a role change by HTTP", () => byAdmin("set-role", { role: "admin" })],
    ["a role change by update-user", () => byAdmin("update-user", { data: { role: "admin" } })],
    ["a new password from an admin", () => byAdmin("set-user-password", { newPassword: "another password" })],
    [
      "a first password from an admin",
      async () => {
        await store.database.execute(`delete from auth.account where "userId" = '${await idOf()}'`)
        await byAdmin("set-user-password", { newPassword: "another password" })
      }
    ],
    ["ended sessions", () => byAdmin("revoke-user-sessions", {})],
    [
      "a change by plain SQL",
      () => store.database.execute(`update auth."user" set banned = true where email = '${email}'`)
    ]
  ])("after %s", async (_, change) => {
    const { token } = await issueToken(here, { email, ttlSeconds: 86_400 })
    expect(await identify(atHere, token)).toMatchObject({ user: { roles: ["user"] } })
    expect(await identify(atThere, token)).toMatchObject({ user: { roles: ["user"] } })
    await change()
    expect(await refusedAfter(token, atHere, atThere)).toBeLessThan(2_000)
  })

  it.each<[string, () => Promise<unknown>]>([
    ["a ban by HTTP", () => byAdmin("ban-user", {})],
    ["a ban on the host", () => setUserBanned(here, { email, banned: true })],
    [
      "a later end",
      () => byAdmin("update-user", { data: { banExpires: new Date(Date.now() + 3_600_000).toISOString() } })
    ]
  ])("after %s that follows a ban which ran out", async (_, change) => {
    await banThatRanOut()
    const { token } = await issueToken(here, { email, ttlSeconds: 86_400 })
    expect(await identify(atThere, token)).toMatchObject({ user: { roles: ["user"] } })
    await change()
    expect(await refusedAfter(token, atThere)).toBeLessThan(2_000)
  })

  it("after the user changed the password, while the token of the same second works", async () => {
    const cookie = await sessionOf(here, email)
    const before = await tokenOf(here, cookie)
    expect(await identify(atThere, before)).toMatchObject({ user: { roles: ["user"] } })
    const changed = await ask(here, "POST", "/change-password", {
      cookie,
      body: { currentPassword: password, newPassword: "another password" }
    })
    const after = await tokenOf(here, cookiesOf(changed))
    expect(await refusedAfter(before, atThere)).toBeLessThan(2_000)
    expect(await identify(atThere, after)).toMatchObject({ user: { roles: ["user"] } })
    expect(await identify(atHere, after)).toMatchObject({ user: { roles: ["user"] } })
  })
})

describe("a token of a session", () => {
  it("stops within two seconds after that session ended, while one of another session works", async () => {
    const [first, second] = [await sessionOf(here, email), await sessionOf(here, email)]
    const [ended, other] = [await tokenOf(here, first), await tokenOf(here, second)]
    expect(await identify(atThere, ended)).toMatchObject({ user: { roles: ["user"] } })
    expect((await ask(here, "POST", "/sign-out", { cookie: first, body: {} })).status).toBe(200)
    expect(await refusedAfter(ended, atHere, atThere)).toBeLessThan(2_000)
    expect(await identify(atThere, other)).toMatchObject({ user: { roles: ["user"] } })
  })
})

describe("revocation", () => {
  it("holds for an instance that was idle, and for one that starts later", async () => {
    const idle = builtInAuthenticator({ auth: store.instance() })
    const { token } = await issueToken(here, { email })
    await identify(idle, token)
    await setUserBanned(here, { email, banned: true })
    // No traffic: the next request comes after the list has gone stale, and must not be served from it.
    using clock = holdClock()
    clock.go(5_000)
    expect(await identify(idle, token)).toBe("Unauthorized")
    expect(await identify(builtInAuthenticator({ auth: store.instance() }), token)).toBe("Unauthorized")
  })

  it("is not what ends a ban that ran out: the next sign-in works, and what it gives counts", async () => {
    await banThatRanOut()
    const token = await tokenOf(here, await sessionOf(here, email))
    expect(await identify(atThere, token)).toMatchObject({ user: { roles: ["user"] } })
    const account = (await listUsers(here)).find((user) => user.email === email)
    expect(account?.banned).toBe(false)
  })

  it("sees a change whose transaction ends long after later ones", async () => {
    const { token } = await issueToken(here, { email })
    const client = await store.pool.connect()
    try {
      await client.query("begin")
      await client.query(`update auth."user" set banned = true where email = $1`, [email])
      // Later transactions end first, and the list is read past them.
      const other = `late-${email}`
      await createUser(here, { email: other, password, role: "user" })
      const { token: sign } = await issueToken(here, { email: other })
      await identify(atThere, sign)
      await revokeUser(here, other)
      expect(await refusedAfter(sign, atThere)).toBeLessThan(2_000)
      expect(await identify(atThere, token)).toMatchObject({ user: { roles: ["user"] } })
      await client.query("commit")
    } finally {
      client.release()
    }
    expect(await refusedAfter(token, atThere)).toBeLessThan(2_000)
  })

  it("leaves the tokens of others and new tokens alone", async () => {
    await createUser(here, { email: `other-${email}`, password, role: "user" })
    const { token: other } = await issueToken(here, { email: `other-${email}` })
    const { token } = await issueToken(here, { email })
    await identify(atThere, token)
    await setUserRole(here, { email, role: "admin" })
    const { token: fresh } = await issueToken(here, { email })
    expect(await refusedAfter(token, atThere)).toBeLessThan(2_000)
    expect(await identify(atThere, other)).toMatchObject({ user: { roles: ["user"] } })
    expect(await identify(atThere, fresh)).toMatchObject({ user: { roles: ["admin"] } })
  })

  it("costs no query a request", async () => {
    const { token } = await issueToken(here, { email })
    using _clock = holdClock()
    await identify(atThere, token)
    const sent = vi.spyOn(there.internals.store, "query")
    for (let n = 0; n < 1_000; n += 1) expect(atThere(bearer(token))).not.toBeInstanceOf(Promise)
    expect(sent.mock.calls.length).toBeLessThanOrEqual(1)
    sent.mockRestore()
  })

  it("keeps judging by the last list for ten seconds while the database is away, then judges nothing", async () => {
    const lost = store.instance()
    const { token } = await issueToken(here, { email })
    const authenticator = builtInAuthenticator({ auth: lost })
    expect(await identify(authenticator, token)).toMatchObject({ user: { roles: ["user"] } })
    using clock = holdClock()
    const down = vi.spyOn(store.pool.constructor.prototype as { connect: () => Promise<never> }, "connect")
      .mockImplementation(() => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })))
    clock.go(5_000)
    expect(await identify(authenticator, token)).toMatchObject({ user: { roles: ["user"] } })
    clock.go(6_000)
    expect(await identify(authenticator, token)).toBe("KeysUnavailable")
    down.mockRestore()
    clock.go(1_000)
    expect(await identify(authenticator, token)).toMatchObject({ user: { roles: ["user"] } })
  })

  it("forgets what can no longer matter", async () => {
    await setUserBanned(here, { email, banned: true })
    await store.database.execute(`update auth.revocation set at = now() - interval '26 hours'`)
    await setUserBanned(here, { email, banned: false })
    expect(await store.database.rows("select count(*) from auth.revocation")).toEqual([["1"]])
  })
})
