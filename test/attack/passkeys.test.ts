/** Passkeys from making one to losing it, and what somebody tries who has an old session, another passkey or a copy of one. */

import { generateKeyPairSync } from "node:crypto"
import { Pool, type PoolClient } from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { deleteUser, removePasskeys, revokeUser, setUserBanned, setUserRole } from "../../adapters/auth/users.ts"
import { codeOf } from "../auth/store.ts"
import { cbor, here, type Item, type Lies, makePasskey, type Passkey } from "./authenticator.ts"
import { authUrl, type Got, type Instance, openStage, password, type Sent, type Stage } from "./stage.ts"

let stage: Stage
let service: Instance
let count = 0

beforeAll(async () => {
  stage = await openStage(authMigrationSql({ schema: "auth", twoFactor: true, passkeys: true }))
  service = stage.instance({ passkeys: true })
  await stage.account(service.auth, "admin")
})

afterAll(() => stage[Symbol.asyncDispose]())

const route = (name: string): string => `/api/auth/passkey/${name}`

const join = (...cookies: readonly string[]): string => cookies.filter((each) => each !== "").join("; ")

const rows = (sql: string) => stage.store.database.rows(sql)

/** A challenge for a new passkey, with the cookie that it belongs to. */
const newOptions = async (cookie: string, at = service) => {
  const got = await at.ask("GET", route("generate-register-options"), { cookie })
  expect(got.status, got.text).toBe(200)
  return { ...got, cookie: join(cookie, got.cookie), challenge: got.body["challenge"] }
}

/** Adds a passkey, or something that says it is one. */
const add = async (cookie: string, passkey: Passkey, lies: Lies = {}, more: object = {}): Promise<Got> => {
  const options = await newOptions(cookie)
  const response = passkey.made(options.challenge, lies)
  return service.ask("POST", route("verify-registration"), { cookie: options.cookie, body: { response, ...more } })
}

const options = async (at = service, sent: Sent = {}) => {
  const got = await at.ask("GET", route("generate-authenticate-options"), sent)
  expect(got.status, got.text).toBe(200)
  return { ...got, challenge: got.body["challenge"] }
}

const verify = (cookie: string, response: unknown, at = service, sent: Sent = {}): Promise<Got> =>
  at.ask("POST", route("verify-authentication"), { ...sent, cookie, body: { response } })

const use = async (passkey: Passkey, lies: Lies = {}, at = service): Promise<Got> => {
  const { challenge, cookie } = await options(at)
  const response = passkey.used(challenge, lies)
  stage.keep(String((response["response"] as { readonly signature: string }).signature))
  return verify(cookie, response, at)
}

interface Holder {
  readonly email: string
  readonly cookie: string
  readonly passkey: Passkey
  /** The id of the passkey's row. */
  readonly row: string
  readonly user: string
}

/** A user with a passkey. */
const holder = async (counter = 0): Promise<Holder> => {
  const email = await stage.account(service.auth, `key${count += 1}`, "reader")
  const { body, cookie } = await service.signIn(email)
  const passkey = makePasskey(counter)
  const added = await add(cookie, passkey, {}, { name: "Phone" })
  expect(added.status, added.text).toBe(200)
  return { email, cookie, passkey, row: String(added.body["id"]), user: String((body["user"] as { id: string }).id) }
}

const sessionsOf = async (user: string): Promise<number> =>
  Number((await rows(`select count(*) from auth."session" where "userId" = '${user}'`))[0]?.[0])

const tokenOf = async (cookie: string): Promise<string> =>
  String((await service.ask("GET", "/api/auth/token", { cookie })).body["token"])

/** The one answer of a passkey that opens nothing. */
const plain = {
  type: "urn:service:problem:unauthenticated",
  title: "Authentication is required",
  status: 401,
  detail: "The passkey was not accepted.",
  instance: "/api/auth/passkey/verify-authentication",
  code: "AUTHENTICATION_FAILED"
}

const expectRefused = (got: Got, why?: string): void => {
  expect(got.status, why).toBe(401)
  expect(got.body, why).toEqual(plain)
  expect(got.headers.get("content-type"), why).toBe("application/problem+json")
  expect(got.cookie, why).not.toContain("session_token")
}

const expectNotAdded = (got: Got, why?: string): void => {
  expect(got.status, `${why} ${got.text}`).toBe(400)
  expect(got.body, why).toMatchObject({
    code: "FAILED_TO_VERIFY_REGISTRATION",
    detail: "The passkey could not be added."
  })
}

describe("passkeys", () => {
  it("do not exist where they are not configured", async () => {
    const { cookie, email, passkey } = await holder()
    const without = stage.instance()
    const token = await tokenOf(cookie)
    for (
      const [method, name] of [
        ["GET", "generate-register-options"],
        ["POST", "verify-registration"],
        ["GET", "generate-authenticate-options"],
        ["POST", "verify-authentication"],
        ["GET", "list-user-passkeys"],
        ["POST", "update-passkey"],
        ["POST", "delete-passkey"]
      ] as const
    ) {
      const sent = { cookie, ...(method === "POST" ? { body: {} } : {}) }
      expect((await without.ask(method, route(name), sent)).status, name).toBe(401)
      expect((await without.ask(method, route(name), { ...sent, token })).status, name).toBe(404)
    }
    const { challenge, cookie: waiting } = await options()
    expect((await verify(waiting, passkey.used(challenge), without, { token })).status).toBe(404)
    expect((await without.ask("GET", "/api/auth/providers")).body["passkeys"]).toBe(false)
    expect((await service.ask("GET", "/api/auth/providers")).body["passkeys"]).toBe(true)
    expect(await codeOf(removePasskeys(without.auth, email))).toBe("no-passkeys")
  })

  it("are made with the user verified, and open a session and with it the API", async () => {
    const email = await stage.account(service.auth, "first", "reader")
    const { cookie } = await service.signIn(email)
    const wanted = await newOptions(cookie)
    expect(wanted.body).toMatchObject({
      rp: { id: "localhost", name: "Resource Admin Service" },
      attestation: "none",
      authenticatorSelection: { residentKey: "required", userVerification: "required" }
    })
    const passkey = makePasskey()
    const added = await add(cookie, passkey, {}, { name: " Phone " })
    expect(added.status, added.text).toBe(200)
    expect(added.body).toMatchObject({ name: "Phone", deviceType: "singleDevice" })

    const { body, cookie: waiting } = await options()
    expect(body).toMatchObject({ rpId: "localhost", userVerification: "required" })
    expect(body["allowCredentials"] ?? []).toEqual([])
    expect((await service.ask("GET", "/api/auth/token", { cookie: waiting })).status).toBe(401)
    const opened = await use(passkey)
    expect(opened.status, opened.text).toBe(200)
    expect(await service.read(await tokenOf(opened.cookie))).toBe(200)
    // It is worth a second factor and needs none.
    const enabled = await service.ask("POST", "/api/auth/two-factor/enable", { cookie, body: { password } })
    expect(enabled.status).toBe(200)
    await stage.store.database.execute(`update auth."user" set "twoFactorEnabled" = true where email = '${email}'`)
    expect((await service.signIn(email)).body["twoFactorRedirect"]).toBe(true)
    expect(await service.read(await tokenOf((await use(passkey)).cookie))).toBe(200)
  })

  it("are listed, renamed and taken away by their owner", async () => {
    const { cookie, passkey, row } = await holder()
    const list = async () =>
      JSON.parse((await service.ask("GET", route("list-user-passkeys"), { cookie })).text) as { name: string }[]
    const name = (text: unknown) =>
      service.ask("POST", route("update-passkey"), { cookie, body: { id: row, name: text } })
    expect((await name("Blue key")).status).toBe(200)
    expect(await list()).toMatchObject([{ id: row, name: "Blue key" }])
    expect((await name("x".repeat(201))).body["code"]).toBe("NAME_TOO_LONG")
    for (const text of ["a\nb", "a\u202eb"]) expect((await name(text)).body["code"]).toBe("INVALID_NAME")
    expect((await name("  ")).status).toBe(400)
    expect((await name(["x"])).status).toBe(400)
    expect(await list()).toMatchObject([{ name: "Blue key" }])
    expect((await service.ask("POST", route("delete-passkey"), { cookie, body: { id: row } })).status).toBe(200)
    expect(await list()).toEqual([])
    expectRefused(await use(passkey), "taken away")
  })

  it("count, where the authenticator counts, beyond what an integer holds", async () => {
    const { passkey } = await holder(4_000_000_000)
    for (let round = 0; round < 3; round += 1) expect((await use(passkey)).status).toBe(200)
    const stored = `select "counter" from auth."passkey" where "credentialID" = '${passkey.id.toString("base64url")}'`
    expect(Number((await rows(stored))[0]?.[0])).toBe(4_000_000_003)
  })

  it("work for all pages of the domain they are made for, and for no other", async () => {
    const panel = "http://panel.localhost:5173"
    const wide = stage.instance({
      passkeys: { rpName: "Shop", rpId: "localhost", origins: [here, panel] },
      trustedOrigins: [panel]
    })
    const { cookie, passkey } = await holder()
    expect((await newOptions(cookie, wide)).body["rp"]).toEqual({ id: "localhost", name: "Shop" })
    expect((await use(passkey, { origin: panel }, wide)).status).toBe(200)
    expectRefused(await use(passkey, { origin: panel }), "not configured here")
    // A page that may sign in by password is not therefore one for passkeys.
    const trusting = stage.instance({ passkeys: true, trustedOrigins: [panel] })
    const { challenge, cookie: waiting } = await options(trusting)
    const response = passkey.used(challenge, { origin: panel })
    expectRefused(await verify(waiting, response, trusting, { headers: { origin: panel } }), "trusted, not configured")
    expectRefused(await use(passkey, { origin: "http://evil.localhost:5173" }, wide), "not configured")
  })
})

describe("adding a passkey", () => {
  it("needs a session that began a moment ago", async () => {
    const email = await stage.account(service.auth, "old", "reader")
    const old = (await service.signIn(email)).cookie
    const waiting = await newOptions(old)
    const stale = `update auth."session" set "createdAt" = now() - interval '16 minutes' where "userId" =`
      + ` (select "id" from auth."user" where email = '${email}')`
    await stage.store.database.execute(stale)
    const passkey = makePasskey()
    const attempts = async (cookie: string) => [
      await service.ask("GET", route("generate-register-options"), { cookie }),
      await service.ask("POST", route("verify-registration"), {
        cookie: join(cookie, waiting.cookie),
        body: { response: passkey.made(waiting.challenge) }
      })
    ]
    for (const got of await attempts(old)) {
      expect(got.status).toBe(403)
      expect(got.body["code"]).toBe("SESSION_NOT_FRESH")
    }
    // A fresh session of somebody else beside the old one, in either order.
    const other = await service.signIn(await stage.account(service.auth, "thief", "reader"))
    for (const cookie of [join(other.cookie, old), join(old, other.cookie)]) await attempts(cookie)
    const known =
      `select count(*) from auth."passkey" where "userId" = (select "id" from auth."user" where email = '${email}')`
    expect(await rows(known)).toEqual([["0"]])
    for (const got of await attempts("")) expect([401, 403]).toContain(got.status)
    expect((await service.ask("GET", route("list-user-passkeys"))).status).toBe(401)
    // Signing in again is all it takes.
    expect((await add((await service.signIn(email)).cookie, passkey)).status).toBe(200)
  })

  it("is refused when anything of it is wrong, in the same words", async () => {
    const { cookie, passkey: known } = await holder()
    const foreign = await holder()
    const cases: ReadonlyArray<readonly [string, Lies]> = [
      ["another page", { origin: "https://evil.example" }],
      ["a look-alike page", { origin: `${here}.evil.example` }],
      ["another domain", { rpId: "evil.example" }],
      ["a use", { type: "webauthn.get" }],
      ["another challenge", { challenge: "c29tZXRoaW5nIGVsc2U" }],
      ["nobody there", { flags: 0 }],
      ["nobody verified", { flags: 1 }],
      ["a passkey that is known", { id: known.id }],
      ["somebody else's passkey", { id: foreign.passkey.id }],
      ["no object", { attestationObject: Buffer.from("nothing") }],
      ["an empty object", { attestationObject: cbor(new Map()) }],
      ["an object that ends early", { attestationObject: Buffer.from("a168617574684461746159ffff00", "hex") }],
      ["a list without end", { attestationObject: Buffer.from("a163666d749bffffffffffffffff", "hex") }],
      ["lists in lists", {
        attestationObject: Buffer.concat([Buffer.from("a163666d74", "hex"), Buffer.alloc(9_000, 0x81)])
      }],
      ["data that is no bytes", { attestationObject: cbor(new Map([["authData", "text"]])) }]
    ]
    for (const [why, lies] of cases) expectNotAdded(await add(cookie, makePasskey(), lies), why)
    const waiting = await newOptions(cookie)
    for (const response of [undefined, null, 1, [], {}, { response: 1 }, { id: ["x"], response: { transports: 1 } }]) {
      expectNotAdded(
        await service.ask("POST", route("verify-registration"), { cookie: waiting.cookie, body: { response } }),
        JSON.stringify(response)
      )
    }
    // The foreign one still belongs to its owner, and nothing was added.
    expect((await use(foreign.passkey)).body["user"]).toMatchObject({ id: foreign.user })
    expect((await use(known)).status).toBe(200)
  })

  it("takes a challenge once, in time, of its own session and for its own purpose", async () => {
    const { cookie } = await holder()
    const other = await holder()
    const send = (sent: string, challenge: unknown) =>
      service.ask("POST", route("verify-registration"), {
        cookie: sent,
        body: { response: makePasskey().made(challenge) }
      })
    const once = await newOptions(cookie)
    expect((await send(once.cookie, once.challenge)).status).toBe(200)
    expectNotAdded(await send(once.cookie, once.challenge), "twice")
    const late = await newOptions(cookie)
    await stage.store.database.execute(`update auth."verification" set "expiresAt" = now() - interval '1 second'`)
    expectNotAdded(await send(late.cookie, late.challenge), "too late")
    const foreign = await newOptions(other.cookie)
    expectNotAdded(await send(join(cookie, foreign.cookie.replace(other.cookie, "")), foreign.challenge), "another's")
    const signingIn = await options()
    expectNotAdded(await send(join(cookie, signingIn.cookie), signingIn.challenge), "to sign in")
    expectNotAdded(await send(cookie, "x"), "none")
  })

  it("has an end that holds for many that are added at once in two instances", async () => {
    const { cookie, user } = await holder()
    await stage.store.database.execute(
      `insert into auth."passkey" ("id", "publicKey", "userId", "credentialID", "counter", "deviceType", "backedUp")`
        + ` select '${user}' || n, '', '${user}', '${user}' || n, 0, 'singleDevice', false from generate_series(1, 18) n`
    )
    const instances = [service, stage.instance({ passkeys: true })]
    const begun = []
    for (let n = 0; n < 12; n += 1) begun.push(await newOptions(cookie))
    const answers = await Promise.all(
      begun.map((each, n) =>
        instances[n % 2]!.ask("POST", route("verify-registration"), {
          cookie: each.cookie,
          body: { response: makePasskey().made(each.challenge) },
          from: `203.0.113.${n}`
        })
      )
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect([answer.status, answer.body["code"]], answer.text).toEqual([409, "TOO_MANY_PASSKEYS"])
    }
    expect(await rows(`select count(*) from auth."passkey" where "userId" = '${user}'`)).toEqual([["20"]])
  })

  it("begins no session, judges no manufacturer and has an end", async () => {
    const { cookie, user } = await holder()
    const before = await sessionsOf(user)
    const passkey = makePasskey()
    // Judging these would mean to fetch what a certificate names. Where they are dropped, the passkey is as good as any.
    const statement = new Map<Item, Item>([["x5c", [Buffer.from("no certificate")]], ["alg", -7]])
    const made = await add(cookie, passkey, { format: "apple", statement }, {
      createSession: true,
      name: "x".repeat(200)
    })
    expect(made.status, made.text).toBe(200)
    expect(made.cookie).toBe("")
    expect(made.body["session"]).toBeUndefined()
    expect(await sessionsOf(user)).toBe(before)
    expect((await add(cookie, makePasskey(), {}, { name: "x".repeat(201) })).body["code"]).toBe("NAME_TOO_LONG")
    await stage.store.database.execute(
      `insert into auth."passkey" ("id", "publicKey", "userId", "credentialID", "counter", "deviceType", "backedUp")`
        + ` select '${user}' || n, '', '${user}', '${user}' || n, 0, 'singleDevice', false from generate_series(1, 18) n`
    )
    const full = await add(cookie, makePasskey())
    expect([full.status, full.body["code"]]).toEqual([409, "TOO_MANY_PASSKEYS"])
    await deleteUser(service.auth, `key${count}@example.org`)
    expect(await rows(`select count(*) from auth."passkey" where "userId" = '${user}'`)).toEqual([["0"]])
    expectRefused(await use(passkey), "of a deleted user")
  })
})

describe("signing in with a passkey", () => {
  it("is refused when anything of it is wrong, in the same words", async () => {
    const { passkey, user } = await holder(5)
    const other = await holder()
    const before = await sessionsOf(user)
    const cases: ReadonlyArray<readonly [string, Lies]> = [
      ["another page", { origin: "https://evil.example" }],
      ["a look-alike page", { origin: `${here}.evil.example` }],
      ["another domain", { rpId: "evil.example" }],
      ["a registration", { type: "webauthn.create" }],
      ["another challenge", { challenge: "c29tZXRoaW5nIGVsc2U" }],
      ["nobody there", { flags: 4 }],
      ["nobody verified", { flags: 1 }],
      ["a counter that went back", { counter: 4 }],
      ["a counter that stood still", { counter: 5 }],
      ["no counter", { counter: 0 }],
      ["another's passkey by the own key", { id: other.passkey.id }],
      ["an unknown passkey", { id: Buffer.from("nobody has this one") }],
      ["another key", { key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey }]
    ]
    for (const [why, lies] of cases) expectRefused(await use(passkey, lies), why)
    expectRefused(await use(makePasskey()), "never added")
    const waiting = await options()
    const good = passkey.used(waiting.challenge)
    for (
      const response of [
        {},
        { ...good, id: { $ne: "" } },
        { ...good, id: [good["id"]] },
        { ...good, rawId: "x" },
        { ...good, type: "password" },
        { ...good, response: null },
        { ...good, response: { ...good["response"] as object, signature: "" } },
        { ...good, response: { ...good["response"] as object, clientDataJSON: "e30" } },
        { ...good, response: { ...good["response"] as object, authenticatorData: "" } }
      ]
    ) {
      const { cookie } = await options()
      expectRefused(await verify(cookie, response), JSON.stringify(response).slice(0, 80))
    }
    for (const response of [undefined, null, "x", 1, []]) expectRefused(await verify(waiting.cookie, response))
    expect(await sessionsOf(user)).toBe(before)
    expect((await use(passkey)).status).toBe(200)
  })

  it("takes a challenge once, in time, with its cookie and for its own purpose", async () => {
    const { cookie, passkey, user } = await holder()
    const before = await sessionsOf(user)
    const once = await options()
    const response = passkey.used(once.challenge)
    expectRefused(await verify("", response), "without its cookie")
    expectRefused(await verify("service.passkey=forged.forged", response), "with a forged one")
    expect((await verify(once.cookie, response)).status).toBe(200)
    expectRefused(await verify(once.cookie, response), "twice")
    const late = await options()
    await stage.store.database.execute(`update auth."verification" set "expiresAt" = now() - interval '1 second'`)
    expectRefused(await verify(late.cookie, passkey.used(late.challenge)), "too late")
    const adding = await newOptions(cookie)
    expectRefused(await verify(adding.cookie, passkey.used(adding.challenge)), "to add one")
    const [one, two] = [await options(), await options()]
    expectRefused(await verify(one.cookie, passkey.used(two.challenge)), "of another sign-in")
    // At once, too, and in two instances.
    const raced = await options()
    const twin = stage.instance({ passkeys: true })
    const same = passkey.used(raced.challenge)
    const answers = await Promise.all([service, twin, service, twin].map((at) => verify(raced.cookie, same, at)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await sessionsOf(user)).toBe(before + 2)
  })

  it("is for one of two copies that use the same count at once", async () => {
    const { passkey, user } = await holder(9)
    const before = await sessionsOf(user)
    for (let round = 0; round < 5; round += 1) {
      const [one, two] = [await options(), await options()]
      const counter = 100 + round
      const answers = await Promise.all([
        verify(one.cookie, passkey.used(one.challenge, { counter })),
        verify(two.cookie, passkey.used(two.challenge, { counter }))
      ])
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401])
      expectRefused(answers.find(({ status }) => status === 401) as Got)
    }
    expect(await sessionsOf(user)).toBe(before + 5)
    await expect(stage.store.database.execute(`update auth."passkey" set "counter" = 3 where "userId" = '${user}'`))
      .rejects.toThrow()
  })

  it("is refused for the banned, whose tokens end too, and works again afterwards", async () => {
    const { email, passkey } = await holder()
    const opened = await use(passkey)
    const token = await tokenOf(opened.cookie)
    const waiting = await options()
    await setUserBanned(service.auth, { email, banned: true })
    expectRefused(await verify(waiting.cookie, passkey.used(waiting.challenge)), "banned meanwhile")
    expectRefused(await use(passkey), "banned")
    expect((await service.ask("GET", "/api/auth/token", { cookie: opened.cookie })).status).toBe(401)
    await expect.poll(() => service.read(token)).toBe(401)
    await setUserBanned(service.auth, { email, banned: false })
    expect(await service.read(await tokenOf((await use(passkey)).cookie))).toBe(200)
    expect(await service.read(token)).toBe(401)
  })

  it("gives tokens that end with a new role or a revocation, like all others", async () => {
    const { email, passkey } = await holder()
    for (
      const change of [
        () => setUserRole(service.auth, { email, role: "writer" }),
        () => revokeUser(service.auth, email)
      ]
    ) {
      const token = await tokenOf((await use(passkey)).cookie)
      expect(await service.read(token)).toBe(200)
      await change()
      await expect.poll(() => service.read(token)).toBe(401)
    }
    expect(await service.read(await tokenOf((await use(passkey)).cookie))).toBe(200)
  })

  it("ends when the passkey is taken away while it runs", async () => {
    const { passkey, row, user } = await holder()
    const before = await sessionsOf(user)
    const client = await stage.store.pool.connect()
    try {
      await client.query("begin")
      await client.query(`delete from auth."passkey" where "id" = $1`, [row])
      const running = use(passkey)
      // It waits for the row.
      const waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%passkey%'"
        + " and datname = current_database()"
      await expect.poll(() => rows(waiting)).toEqual([["1"]])
      await client.query("commit")
      expectRefused(await running)
    } finally {
      client.release()
    }
    expect(await sessionsOf(user)).toBe(before)
    expect(stage.events.some((each) => each.event === "sign-in-overtaken" && each.user === user)).toBe(true)
  })

  it("is taken away on the host by who knows the user, which ends everything", async () => {
    const { cookie, email, passkey } = await holder()
    const opened = await use(passkey)
    await removePasskeys(service.auth, email)
    for (const each of [cookie, opened.cookie]) {
      expect((await service.ask("GET", "/api/auth/token", { cookie: each })).status).toBe(401)
    }
    expectRefused(await use(passkey))
    expect((await service.signIn(email)).status).toBe(200)
    expect(await codeOf(removePasskeys(service.auth, "nobody@example.org"))).toBe("unknown-user")
  })
})

describe("others", () => {
  it("cannot see, name or take away somebody's passkey, nor learn that there is one", async () => {
    const { passkey, row } = await holder()
    const { cookie } = await holder()
    for (const name of ["delete-passkey", "update-passkey"]) {
      const answers = []
      for (const id of [row, "nothing"]) {
        answers.push(await service.ask("POST", route(name), { cookie, body: { id, name: "Mine" } }))
      }
      expect(answers.map(({ status }) => status), name).toEqual([404, 404])
      expect(answers[0]?.body).toEqual(answers[1]?.body)
      expect((await service.ask("POST", route(name), { body: { id: row, name: "Mine" } })).status).toBe(401)
    }
    const list = await service.ask("GET", route("list-user-passkeys"), { cookie })
    expect(list.text).not.toContain(row)
    expect((await use(passkey)).status).toBe(200)
  })

  it("cannot use it from another site", async () => {
    const { passkey } = await holder()
    const { challenge, cookie } = await options()
    const response = passkey.used(challenge)
    for (
      const headers of [{ origin: "https://evil.example" }, { origin: "null" }, { "sec-fetch-site": "cross-site" }]
    ) {
      const got = await verify(cookie, response, service, { headers })
      expect(got.status, JSON.stringify(headers)).toBe(403)
      expect(got.cookie).not.toContain("session_token")
    }
    const form = await service.ask("POST", route("verify-authentication"), {
      cookie,
      body: JSON.stringify({ response }),
      headers: { "content-type": "text/plain" }
    })
    expect(form.status).toBe(415)
    expect((await verify(cookie, response, service, { headers: { origin: authUrl } })).status).toBe(200)
  })

  it("use up nobody's attempts with an image on their page", async () => {
    const at = stage.instance({ passkeys: true, signInPerMinute: 2 })
    const path = route("generate-authenticate-options")
    for (const site of ["cross-site", "same-site", "cross-site"]) {
      const headers = { "sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }
      expect((await at.ask("GET", path, { from: "198.51.100.32", headers })).status).toBe(403)
    }
    const own = { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" }
    expect((await at.ask("GET", path, { from: "198.51.100.32", headers: own })).status).toBe(200)
  })

  it("are limited per client, across two instances", async () => {
    const [one, two] = [0, 1].map(() => stage.instance({ passkeys: true, signInPerMinute: 3 })) as [Instance, Instance]
    const sent = { from: "198.51.100.30" }
    const statuses: number[] = []
    const asked: number[] = []
    for (let index = 0; index < 5; index += 1) {
      const at = index % 2 === 0 ? one : two
      statuses.push((await verify("", {}, at, sent)).status)
      asked.push((await at.ask("GET", route("generate-authenticate-options"), sent)).status)
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429])
    expect(asked).toEqual([200, 200, 200, 429, 429])
    const { cookie } = await holder()
    const adding: number[] = []
    for (let index = 0; index < 4; index += 1) {
      const { status } = await one.ask("POST", route("verify-registration"), { ...sent, cookie, body: {} })
      adding.push(status)
    }
    expect(adding).toEqual([400, 400, 400, 429])
  })

  it("leave no challenges behind", async () => {
    await stage.store.database.execute(
      `insert into auth."verification" ("id", "identifier", "value", "expiresAt")`
        + ` select 'old' || n, 'old', '', now() - interval '1 minute' from generate_series(1, 50) n`
    )
    await options(stage.instance({ passkeys: true }))
    expect(await rows(`select count(*) from auth."verification" where "identifier" = 'old'`)).toEqual([["0"]])
  })

  it("are told that the database is away, not that the passkey is wrong", async () => {
    const { cookie: session, passkey } = await holder()
    const pool = new Pool({ connectionString: stage.store.database.url, max: 4 })
    let gone: RegExp | null = null
    const away = (): Error => Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
    // Fails every statement from the first that fits on.
    let down = false
    const known = new WeakMap<PoolClient, PoolClient>()
    const flaky = {
      connect: async () => {
        if (down) throw away()
        const client = await pool.connect()
        const before = known.get(client)
        if (before !== undefined) return before
        const watched = new Proxy(client, {
          get: (target, name) => {
            const value: unknown = Reflect.get(target, name)
            if (name !== "query") return typeof value === "function" ? value.bind(target) : value
            return (text: unknown, ...rest: readonly unknown[]) => {
              down ||= gone !== null && gone.test(String(text))
              return down ? Promise.reject(away()) : Reflect.apply(value as () => unknown, target, [text, ...rest])
            }
          }
        })
        known.set(client, watched)
        return watched
      },
      end: () => pool.end()
    }
    const errors: unknown[] = []
    const broken = stage.instance({
      passkeys: true,
      database: flaky as never,
      onError: (cause) => errors.push(cause)
    })
    try {
      const waiting = await options(broken)
      const adding = await newOptions(session, broken)
      gone = /update .*"passkey"/
      expect((await verify(waiting.cookie, passkey.used(waiting.challenge), broken)).status).toBe(503)
      down = false
      gone = /insert into .*"passkey"/
      const made = await broken.ask("POST", route("verify-registration"), {
        cookie: adding.cookie,
        body: { response: makePasskey().made(adding.challenge) }
      })
      expect(made.status, made.text).toBe(503)
      expect(errors.length).toBeGreaterThan(0)
    } finally {
      await pool.end()
    }
  })
})

it("nothing of this is in the log, but what happened is", async () => {
  const { email, passkey, row, user } = await holder()
  await use(passkey)
  await use(passkey, { origin: "https://evil.example" })
  const { cookie } = await service.signIn(email)
  await service.ask("POST", route("delete-passkey"), { cookie, body: { id: row } })
  expect(stage.events.filter((each) => each.user === user && each.event !== "account-created")).toEqual([
    expect.objectContaining({ event: "sign-in-ok", method: "password" }),
    { level: "info", event: "passkey-added", user, passkey: row },
    expect.objectContaining({ level: "info", event: "sign-in-ok", method: "passkey" }),
    expect.objectContaining({ event: "sign-in-ok", method: "password" }),
    { level: "info", event: "passkey-removed", user, passkey: row }
  ])
  expect(stage.events.some((each) => each.event === "sign-in-failed" && each.method === "passkey")).toBe(true)
  const { found, seen } = stage.leaks()
  expect(seen).toBeGreaterThan(100)
  expect(found).toEqual([])
})
