/**
 * Taking over accounts: what runs on while an account is taken back, who a log says it was, whose address a provider vouches for, and what
 * twins and odd bodies leave behind.
 */

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import type { AuthEvent } from "../../adapters/auth/auth-log.ts"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { removePasskeys, revokeUser, setUserPassword, setUserRole } from "../../adapters/auth/users.ts"
import { codeAt } from "../support/totp.ts"
import { makePasskey } from "./authenticator.ts"
import { type FakeProvider, openProvider, type Person } from "./provider.ts"
import { authUrl, type Got, type Instance, openStage, password, type Stage } from "./stage.ts"

let stage: Stage
let one: Instance
let two: Instance
let provider: FakeProvider
let admin: string
let victim: string

beforeAll(async () => {
  provider = await openProvider()
  stage = await openStage(authMigrationSql({ schema: "auth", twoFactor: true, passkeys: true }))
  const oidc = [{
    id: "corp",
    issuer: provider.issuer,
    clientId: provider.client.id,
    clientSecret: provider.client.secret
  }]
  one = stage.instance({ oidc, passkeys: true })
  two = stage.instance({ oidc, passkeys: true })
  admin = await stage.account(one.auth, "admin")
  victim = await stage.account(one.auth, "frank", "reader")
})

afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

const idOf = async (email: string): Promise<string> => {
  const [row] = await stage.store.database.rows(`select id from auth."user" where email = '${email}'`)
  return String(row?.[0])
}

const cookieOf = async (email: string, word = password): Promise<string> => {
  const answer = await one.signIn(email, word)
  expect(answer.status, answer.text).toBe(200)
  return answer.cookie
}

/** Waits until somebody of this database waits for a lock. */
const blocked = () =>
  vi.waitFor(async () => {
    const waiting = await stage.store.database.rows(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    )
    expect(waiting.length).toBeGreaterThan(0)
  }, { timeout: 60_000 })

/** Begins a request, does something while it waits to insert its first row into a table, and lets it go. */
const held = async (table: string, request: () => Promise<Got>, change: () => Promise<unknown>): Promise<Got> => {
  const client = await stage.store.pool.connect()
  try {
    await client.query(`create function auth.hold() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(4711); return new; end $$;
      create trigger a_hold before insert on auth."${table}" for each row execute function auth.hold();
      select pg_advisory_lock(4711)`)
    const running = request()
    await blocked()
    await change()
    await client.query("select pg_advisory_unlock(4711)")
    return await running
  } finally {
    await client.query("select pg_advisory_unlock_all(); drop function auth.hold() cascade")
    client.release()
  }
}

const overtaken = (user: string): boolean =>
  stage.events.some((each) => each.event === "sign-in-overtaken" && each.user === user)

const sessions = async (user: string) =>
  stage.store.database.rows(`select 1 from auth."session" where "userId" = '${user}'`)

const change = (cookie: string, newPassword: string, at = two) =>
  at.ask("POST", "/api/auth/change-password", { cookie, body: { currentPassword: password, newPassword } })

describe("a change of the password that runs on while somebody takes the account back", () => {
  it.each<[string, string, (cookie: string, user: string) => Promise<Got>]>([
    ["its user", "reader", (cookie) => change(cookie, "what the thief wants")],
    [
      "an admin for themselves",
      "admin",
      (cookie, userId) =>
        two.ask("POST", "/api/auth/admin/set-user-password", {
          cookie,
          body: { userId, newPassword: "what the thief wants" }
        })
    ]
  ])("does not overwrite the new password: by %s", async (_, role, thief) => {
    const email = await stage.account(one.auth, `mary-${role}`, role)
    const cookie = await cookieOf(email)
    const user = await idOf(email)
    const client = await stage.store.pool.connect()
    try {
      // As the host function does it, held at its end.
      await client.query(`begin; update auth."account" set "password" = 'the new one' where "userId" = '${user}'`)
      const running = thief(cookie, user)
      await blocked()
      await client.query("commit")
      const answer = await running
      const stored = await stage.store.database.rows(`select "password" from auth."account" where "userId" = '${user}'`)
      expect(stored).toEqual([["the new one"]])
      expect(answer.status, answer.text).toBe(401)
      expect(answer.headers.getSetCookie()).toEqual([])
      expect(await sessions(user)).toEqual([])
    } finally {
      client.release()
    }
  })

  it("keeps no session that begins after it", async () => {
    const cookie = await cookieOf(victim)
    const user = await idOf(victim)
    const answer = await held(
      "session",
      () => change(cookie, "what the thief wants"),
      () => setUserPassword(one.auth, { email: victim, password })
    )
    expect(answer.status, answer.text).toBe(401)
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(await sessions(user)).toEqual([])
    expect(overtaken(user)).toBe(true)
  })

  it("works when nobody does, and gives the new session", async () => {
    const changed = await change(await cookieOf(victim), password)
    expect(changed.status, changed.text).toBe(200)
    expect((await one.ask("GET", "/api/auth/token", { cookie: changed.cookie })).status).toBe(200)
  })

  it("of two at once happens once", async () => {
    const cookie = await cookieOf(victim)
    const answers = await Promise.all([change(cookie, password, one), change(cookie, password, two)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401])
  })
})

it.each<[string, string, string, (userId: string) => object]>([
  ["a demotion by a new role", `"role" = 'reader'`, "set-role", (userId) => ({ userId, role: "admin" })],
  [
    "a demotion by a changed account",
    `"role" = 'reader'`,
    "update-user",
    (userId) => ({ userId, data: { role: "admin" } })
  ],
  ["a ban by lifting it", `"banned" = true`, "unban-user", (userId) => ({ userId })],
  ["a ban by a changed account", `"banned" = true`, "update-user", (userId) => ({ userId, data: { banned: false } })]
])("an admin cannot undo %s in the same moment", async (name, change, route, body) => {
  const email = await stage.account(one.auth, name.replaceAll(" ", "-"), "admin")
  const cookie = await cookieOf(email)
  const user = await idOf(email)
  const client = await stage.store.pool.connect()
  try {
    // As another admin or the host does it, held at its end.
    await client.query(`begin; update auth."user" set ${change} where "id" = '${user}'`)
    const running = two.ask("POST", `/api/auth/admin/${route}`, { cookie, body: body(user) })
    await blocked()
    await client.query("commit")
    const answer = await running
    expect(answer.status, answer.text).toBe(403)
    expect(await stage.store.database.rows(`select 1 from auth."user" where "id" = '${user}' and ${change}`))
      .toHaveLength(1)
  } finally {
    client.release()
  }
})

it("an admin who is demoted while they set a password sets none", async () => {
  const email = await stage.account(one.auth, "rolf", "admin")
  const cookie = await cookieOf(email)
  const other = await stage.account(one.auth, "rita", "admin")
  const client = await stage.store.pool.connect()
  try {
    await client.query(`begin; select 1 from auth.account where "userId" = '${await idOf(other)}' for update`)
    const body = { userId: await idOf(other), newPassword: "chosen by them 1234" }
    const running = two.ask("POST", "/api/auth/admin/set-user-password", { cookie, body })
    await blocked()
    await setUserRole(one.auth, { email, role: "reader" })
    await client.query("commit")
    const answer = await running
    expect(answer.status, answer.text).toBe(401)
    expect((await one.signIn(other, body.newPassword)).status).toBe(401)
    expect((await one.signIn(other, password)).status).toBe(200)
  } finally {
    client.release()
  }
})

it.each<[string, string, (userId: string) => object]>([
  ["an account", "create-user", () => ({ email: "new@example.org", name: "New", password, role: "admin" })],
  ["a first password", "set-user-password", (userId) => ({ userId, newPassword: "chosen by them 1234" })]
])("an admin who is demoted while they make %s makes none", async (name, route, body) => {
  const email = await stage.account(one.auth, name.replaceAll(" ", "-"), "admin")
  const cookie = await cookieOf(email)
  // As somebody who only ever signed in with a provider.
  const other = await stage.account(one.auth, `of-${route}`, "admin")
  const userId = await idOf(other)
  await stage.store.database.execute(`delete from auth.account where "userId" = '${userId}'`)
  const { store } = two.auth.internals
  const { query } = store
  let taken = false
  // The session was let in by now, and is looked at again before anything is made.
  const reading = vi.spyOn(store, "query").mockImplementation(async (text, values) => {
    if (!taken && text.includes("'admin' = any")) {
      taken = true
      await setUserRole(one.auth, { email, role: "reader" })
    }
    return query(text, values)
  })
  const answer = await two.ask("POST", `/api/auth/admin/${route}`, { cookie, body: body(userId) })
  reading.mockRestore()
  expect([answer.status, taken], answer.text).toEqual([route === "create-user" ? 403 : 401, true])
  const made =
    `select 1 from auth."user" where email = 'new@example.org' union all select 1 from auth.account where "userId" = '${userId}'`
  expect(await stage.store.database.rows(made)).toEqual([])
})

it("a second factor that is given while the password changes opens nothing", async () => {
  const email = await stage.account(one.auth, "hugo", "reader")
  const { cookie } = await one.signIn(email)
  const post = (path: string, sent: string, body: object) =>
    two.ask("POST", `/api/auth/two-factor/${path}`, { cookie: sent, body })
  const enabled = await post("enable", cookie, { password })
  expect((await post("verify-totp", cookie, { code: codeAt(String(enabled.body["totpURI"])) })).status).toBe(200)
  const waiting = await one.signIn(email)
  expect(waiting.body["twoFactorRedirect"]).toBe(true)
  const [code] = enabled.body["backupCodes"] as readonly string[]
  const answer = await held(
    "session",
    () => post("verify-backup-code", waiting.cookie, { code }),
    () => setUserPassword(one.auth, { email, password })
  )
  expect(answer.status, answer.text).toBe(401)
  expect(answer.headers.getSetCookie()).toEqual([])
  expect(await sessions(await idOf(email))).toEqual([])
  expect(overtaken(await idOf(email))).toBe(true)
})

it.each<[string, (email: string) => Promise<unknown>]>([
  ["password", (email) => setUserPassword(one.auth, { email, password })],
  ["revocation", (email) => revokeUser(one.auth, email)]
])("a token that is fetched while a new %s ends its session opens nothing", async (name, takeBack) => {
  const email = await stage.account(one.auth, `jane-${name}`, "reader")
  const cookie = await cookieOf(email)
  const { store } = two.auth.internals
  const { query } = store
  let taken = false
  // The session was read by now, the account is read next.
  const reading = vi.spyOn(store, "query").mockImplementation(async (text, values) => {
    if (!taken && text.includes("tokenEpoch")) {
      taken = true
      await takeBack(email)
    }
    return query(text, values)
  })
  const answer = await two.ask("GET", "/api/auth/token", { cookie })
  reading.mockRestore()
  expect(taken).toBe(true)
  expect(answer.status, answer.text).toBe(401)
  expect(answer.body).not.toHaveProperty("token")
})

it("a passkey that is added while all are taken away is none", async () => {
  const email = await stage.account(one.auth, "iris", "reader")
  const { cookie } = await one.signIn(email)
  const path = "/api/auth/passkey/"
  const options = await two.ask("GET", `${path}generate-register-options`, { cookie })
  const response = makePasskey().made(options.body["challenge"])
  const answer = await held(
    "passkey",
    () => two.ask("POST", `${path}verify-registration`, { cookie: `${cookie}; ${options.cookie}`, body: { response } }),
    () => removePasskeys(one.auth, email)
  )
  expect(answer.status, answer.text).toBe(401)
  expect(await stage.store.database.rows(`select 1 from auth."passkey"`)).toEqual([])
})

describe("a password guessed with somebody's session", () => {
  it("is limited for the account, from however many places", async () => {
    const at = stage.instance({ signInPerMinute: 2 })
    const cookie = await cookieOf(await stage.account(one.auth, "gail", "reader"))
    const guess = (place: number, path = "/change-password") =>
      at.ask("POST", `/api/auth${path}`, {
        cookie,
        from: `198.51.100.${place}`,
        body: { currentPassword: "a wrong guess at it", newPassword: password, password: "a wrong guess at it" }
      })
    for (const path of ["/change-password", "/two-factor/enable"]) {
      const statuses = []
      for (let place = 0; place < 6; place += 1) statuses.push((await guess(place, path)).status)
      expect(statuses, path).toEqual([400, 400, 400, 400, 429, 429])
    }
    // Others are limited by what they do themselves.
    const other = await at.ask("POST", "/api/auth/change-password", {
      cookie: await cookieOf(admin),
      from: "203.0.113.9",
      body: { currentPassword: "a wrong guess at it", newPassword: password }
    })
    expect(other.status).toBe(400)
  })
})

describe("the log", () => {
  const by = async (cookie: (real: string, other: string) => string): Promise<AuthEvent["by"]> => {
    const real = await cookieOf(admin)
    const rival = await stage.account(one.auth, `rival${stage.events.length}`, "admin")
    const other = await cookieOf(rival)
    const answer = await one.ask("POST", "/api/auth/admin/set-role", {
      cookie: cookie(real, other),
      body: { userId: await idOf(victim), role: "writer" }
    })
    expect(answer.status, answer.text).toBe(200)
    return stage.events.findLast(({ event }) => event === "role-changed")?.by
  }

  const forge = (cookie: string) => cookie.replace(/\.[^.]*$/, ".x")

  it.each<[string, (real: string, other: string) => string]>([
    ["one cookie", (real) => real],
    ["another's session under the name that https has", (real, other) => `__Secure-${forge(other)}; ${real}`],
    ["nobody's session under the name that https has", (real) => `__Secure-service.session_token=x.y; ${real}`],
    ["another's session after it", (real, other) => `${real}; ${forge(other)}`]
  ])("names the admin whose session it is: %s", async (_, cookie) => {
    expect(await by(cookie)).toBe(await idOf(admin))
  })

  it.each(["update-user", "set-user-password", "revoke-user-sessions", "remove-user"])(
    "names whom it happened to: %s takes an id as a text alone",
    async (path) => {
      const email = await stage.account(one.auth, `named${stage.events.length}`, "writer")
      const id = await idOf(email)
      const cookie = await cookieOf(admin)
      const send = (userId: unknown) =>
        one.ask("POST", `/api/auth/admin/${path}`, {
          cookie,
          body: { userId, data: { name: "Named" }, newPassword: "another password of theirs" }
        })
      const before = stage.events.length
      expect((await send([id])).body).toMatchObject({ status: 400, code: "VALIDATION_ERROR" })
      expect(stage.events.slice(before)).toEqual([])
      expect((await send(id)).status).toBe(200)
      expect(stage.events.slice(before)).toMatchObject([{ user: id, by: await idOf(admin) }])
    }
  )

  it.each<[string, (real: string, other: string) => string]>([
    ["white space", (real, other) => `${real.replace("=", " =")}; ${forge(other)}`],
    ["quotes", (real) => real.replace(/=(.*)$/, `="$1"`)]
  ])("names nobody else for a cookie with %s, which is none", async (_, cookie) => {
    const answer = await one.ask("GET", "/api/auth/get-session", { cookie: cookie(await cookieOf(admin), "a=b") })
    expect(answer.text).toBe("null")
  })
})

describe("an address of a provider", () => {
  const signIn = async (person: Person): Promise<Got> => {
    const started = await one.ask("POST", "/api/auth/sign-in/social", {
      body: { provider: "corp", callbackURL: "/admin", errorCallbackURL: "/sign-in" }
    })
    const back = provider.authorize(String(started.body["url"]), person)
    return one.ask("GET", `${back.pathname}${back.search}`, { cookie: started.cookie })
  }
  const error = (answer: Got) => new URL(answer.headers.get("location") ?? "", authUrl).searchParams.get("error")

  it.each(["fran\u212A@example.org", "frank@example.org\u2003"])(
    "is not somebody's because lower case or trimming makes it theirs: %j",
    async (email) => {
      const answer = await signIn({ sub: `p-${email}`, email, email_verified: true })
      expect(answer.cookie).not.toContain("session_token")
      expect(error(answer)).toBe("unable_to_get_user_info")
    }
  )

  it("that anybody can claim does not tell whether there is an account", async () => {
    const [known, unknown] = [
      await signIn({ sub: "p-known", email: victim, email_verified: false }),
      await signIn({ sub: "p-unknown", email: "nobody@example.org", email_verified: false })
    ]
    expect(error(known)).toBe(error(unknown))
    expect([known.status, unknown.status]).toEqual([302, 302])
  })
})

it("a second factor that is set up twice at once is one", async () => {
  for (const name of ["jane", "kate", "lena"]) {
    const email = await stage.account(one.auth, name, "reader")
    const { cookie } = await one.signIn(email)
    const enable = (at: Instance) => at.ask("POST", "/api/auth/two-factor/enable", { cookie, body: { password } })
    const answers = await Promise.all([one, two, one, two].map(enable))
    for (const { status, text } of answers) expect([200, 409], text).toContain(status)
    const factors = `select count(*) from auth."twoFactor" where "userId" = '${await idOf(email)}'`
    expect(await stage.store.database.rows(factors)).toEqual([["1"]])
  }
})

describe("what a body names", () => {
  it.each(["constructor", "toString", "__proto__", "hasOwnProperty"])("is no %s, and raises no alarm", async (name) => {
    const answer = await one.ask("POST", "/api/auth/admin/has-permission", {
      cookie: await cookieOf(admin),
      body: `{"permissions":{"${name}":["a"]}}`
    })
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body["type"]).toBe("urn:service:problem:malformed-json")
  })

  it("as address is one that sign-in and the host know", async () => {
    const cookie = await cookieOf(admin)
    const email = `${"a".repeat(250)}@example.org`
    const post = (path: string, body: object) => one.ask("POST", `/api/auth/admin/${path}`, { cookie, body })
    const created = await post("create-user", { email, password, name: "Long", role: "reader" })
    const changed = await post("update-user", { userId: await idOf(victim), data: { email } })
    for (const answer of [created, changed]) {
      expect(answer.status, answer.text).toBe(400)
      expect(answer.body["code"]).toBe("INVALID_EMAIL")
    }
  })
})
