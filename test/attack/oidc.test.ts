/** Sign-in with an identity provider: who may come in, who gets an account, and what a lying provider or a stolen code is worth. */

import { Pool } from "pg"
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { issueToken, listUsers, setUserBanned } from "../../adapters/auth/users.ts"
import type { ProviderDeclaration } from "../../core/domain/account/identity-provider.ts"
import { type FakeProvider, openProvider, type Person } from "./provider.ts"
import { authUrl, type Got, type Instance, openStage, password, type Stage } from "./stage.ts"

let stage: Stage
let provider: FakeProvider
let service: Instance

const declared = (more: Partial<ProviderDeclaration> = {}): ProviderDeclaration => ({
  id: "corp",
  name: "Corporation",
  issuer: provider.issuer,
  clientId: provider.client.id,
  clientSecret: provider.client.secret,
  ...more
})

beforeAll(async () => {
  provider = await openProvider()
  stage = await openStage()
  service = stage.instance({ oidc: [declared()] })
  await stage.account(service.auth, "admin")
  await stage.account(service.auth, "ann", "reader")
})

afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

beforeEach(() => {
  provider.lies = {}
  provider.away = false
  provider.floods = ""
  provider.stalls = () => false
})

const start = (at: Instance, body: Record<string, unknown> = {}, token?: string): Promise<Got> =>
  at.ask("POST", "/api/auth/sign-in/social", {
    token,
    body: { provider: "corp", callbackURL: "/admin", errorCallbackURL: "/sign-in", ...body }
  })

const comeBack = (at: Instance, url: URL, cookie: string): Promise<Got> =>
  at.ask("GET", `${url.pathname}${url.search}`, { cookie })

/** A whole sign-in by browser; gives the answer of the callback. */
const signIn = async (person: Person, at = service): Promise<Got> => {
  const started = await start(at)
  expect(started.status, started.text).toBe(200)
  return comeBack(at, provider.authorize(String(started.body["url"]), person), started.cookie)
}

const ann: Person = { sub: "p-ann", email: "ann@example.org", email_verified: true, name: "Ann" }

/** Where the browser is sent, with the error, and that no session began. */
const refused = (answer: Got): string => {
  expect(answer.cookie).not.toContain("session_token")
  expect(answer.status).toBe(302)
  const location = new URL(answer.headers.get("location") ?? "", authUrl)
  expect(location.origin).toBe(authUrl)
  return location.searchParams.get("error") ?? ""
}

const users = async (): Promise<readonly string[]> =>
  (await listUsers(service.auth)).map(({ email, role }) => `${email} ${role}`)

describe("sign-in with a provider", () => {
  it("lets an existing user in by verified address, and by subject from then on", async () => {
    const answer = await signIn(ann)
    expect(answer.status, answer.text).toBe(302)
    expect(answer.headers.get("location")).toBe("/admin")
    const { body } = await service.ask("GET", "/api/auth/token", { cookie: answer.cookie })
    expect(await service.read(String(body["token"]))).toBe(200)
    // The address may change over there: who it is does not.
    const moved = await signIn({ ...ann, email: "annette@elsewhere.example", email_verified: false })
    expect((await service.ask("GET", "/api/auth/get-session", { cookie: moved.cookie })).body["user"]).toMatchObject({
      email: "ann@example.org"
    })
    // Of the provider's tokens nothing is kept.
    const stored = await stage.store.database.rows(
      `select "accessToken", "refreshToken", "idToken" from auth."account" where "providerId" = 'corp'`
    )
    expect(stored).toEqual([[null, null, null]])
  })

  it("asks for a code with PKCE, state and nonce, and says which providers there are", async () => {
    const url = new URL(String((await start(service)).body["url"]))
    expect(url.origin + url.pathname).toBe(`${provider.issuer}/authorize`)
    expect(url.searchParams.get("code_challenge_method")).toBe("S256")
    expect(url.searchParams.get("response_type")).toBe("code")
    expect(url.searchParams.get("redirect_uri")).toBe(`${authUrl}/api/auth/callback/corp`)
    expect(url.searchParams.get("scope")).toBe("openid email profile")
    expect(url.searchParams.get("state")?.length).toBeGreaterThanOrEqual(32)
    expect(url.searchParams.get("nonce")?.length).toBeGreaterThanOrEqual(32)
    expect(url.toString()).not.toContain(provider.client.secret)
    const list = await service.ask("GET", "/api/auth/providers")
    expect(list.body).toEqual({
      providers: [{ id: "corp", name: "Corporation" }],
      twoFactor: true,
      passkeys: false,
      passwordReset: false,
      invitations: false
    })
  })

  it("makes no account for a stranger, whatever the request wishes", async () => {
    const before = await users()
    const stranger = { sub: "p-eve", email: "eve@example.org", email_verified: true }
    expect(refused(await signIn(stranger))).toBe("signup_disabled")
    const started = await start(service, { requestSignUp: true, newUserCallbackURL: "/new" })
    const answer = await comeBack(service, provider.authorize(String(started.body["url"]), stranger), started.cookie)
    expect(refused(answer)).toBe("signup_disabled")
    expect(await users()).toEqual(before)
  })

  it("makes accounts for listed domains where configured, with the default role and never the first", async () => {
    const open = { oidc: [declared({ domains: ["example.org"], createUsers: true })] }
    const at = stage.instance(open)
    const bob = { sub: "p-bob", email: "bob@example.org", email_verified: true, name: "Bob" }
    expect((await signIn(bob, at)).headers.get("location")).toBe("/admin")
    expect(await users()).toContain("bob@example.org user")
    expect(refused(await signIn({ ...bob, sub: "p-2", email: "bob@other.example" }, at))).toBe("domain_not_allowed")
    expect(refused(await signIn({ ...bob, sub: "p-3", email: "carl@example.org", email_verified: false }, at))).toBe(
      "email_not_verified"
    )
    // Who left the domain does not come in again, known or not.
    expect(refused(await signIn({ ...bob, email: "bob@other.example" }, at))).toBe("domain_not_allowed")
    await using empty = await openStage()
    const first = empty.instance(open)
    expect(refused(await signIn(bob, first))).toBe("signup_disabled")
    expect((await first.ask("GET", "/api/auth/status")).body).toEqual({ needsAdmin: true })
  })

  it("makes accounts with as many connections as come at once, waiting for no further one", async () => {
    const pool = new Pool({ connectionString: stage.store.database.url, max: 2, connectionTimeoutMillis: 2_000 })
    const at = stage.instance({
      database: pool,
      oidc: [declared({ domains: ["example.org"], createUsers: true })]
    })
    const people = Array.from({ length: 6 }, (_, n) => ({
      sub: `p-new${n}`,
      email: `new${n}@example.org`,
      email_verified: true
    }))
    const answers = await Promise.all(people.map((person) => signIn(person, at)))
    await pool.end()
    expect(answers.map(({ headers }) => headers.get("location"))).toEqual(people.map(() => "/admin"))
  })

  it("does not let a banned user in, and sets no password", async () => {
    await stage.account(service.auth, "dora", "reader")
    await setUserBanned(service.auth, { email: "dora@example.org", banned: true })
    const answer = await signIn({ sub: "p-dora", email: "dora@example.org", email_verified: true })
    expect(answer.cookie).not.toContain("session_token")
    expect(refused(answer)).toBe("BANNED_USER")
    expect((await service.signIn("bob@example.org")).status).toBe(401)
  })
})

describe("a provider that lies", () => {
  const verified = { sub: "p-liar", email: "admin@example.org", email_verified: true }

  it.each<[string, FakeProvider["lies"]]>([
    ["an ID token signed by somebody else", { foreignKey: true }],
    ["an ID token without a signature", { unsigned: true }],
    ["an ID token that is an HMAC with its public key", { symmetric: "key" }],
    ["an ID token that is an HMAC with the client's secret", { symmetric: "secret" }],
    ["no ID token at all", { noIdToken: true }],
    ["another issuer in the token", { claims: { iss: "https://evil.example" } }],
    ["a token for another client", { claims: { aud: "another" } }],
    ["a token for several clients that names none", { claims: { aud: ["admin-panel", "another"] } }],
    ["a token made out to another client", { claims: { aud: ["admin-panel", "another"], azp: "another" } }],
    ["an expired token", { claims: { exp: 1 } }],
    ["a token made in an hour", { claims: { iat: Math.floor(Date.now() / 1_000) + 3_600 } }],
    ["a token that does not say when it was made", { claims: { iat: null } }],
    ["a token that never ends", { claims: { exp: null } }],
    ["another nonce", { claims: { nonce: "of an earlier sign-in" } }],
    ["no nonce", { claims: { nonce: null } }],
    ["no subject", { claims: { sub: null } }],
    ["no address anywhere", { claims: { email: null }, userInfo: { email: null } }],
    ["user info of another subject", { claims: { email: null }, userInfo: { sub: "p-other" } }],
    ["an address that is none", { claims: { email: "admin@example.org\u0000" } }],
    ["a subject that cannot be stored", { claims: { sub: "p-\u0000" } }],
    ["a subject without end", { claims: { sub: "p".repeat(100_000) } }]
  ])("with %s opens nothing", async (_, lies) => {
    provider.lies = lies
    expect(refused(await signIn(verified))).toBe("unable_to_get_user_info")
  })

  it.each([false, undefined, null, "false", 0, 1, "yes"])(
    "with email_verified %j is not believed about an address",
    async (email_verified) => {
      expect(refused(await signIn({ ...verified, email_verified }))).toBe("signup_disabled")
    }
  )

  it("with user info for an address that the token lacks is believed when the subject is the same", async () => {
    provider.lies = { claims: { email: null, email_verified: null } }
    expect((await signIn(ann)).headers.get("location")).toBe("/admin")
  })

  it("about a name is believed as far as it can be stored", async () => {
    const at = stage.instance({ oidc: [declared({ domains: ["example.org"], createUsers: true })] })
    const person = { sub: "p-nul", email: "nul@example.org", email_verified: true, name: "Nul\u0000" }
    const { cookie } = await signIn(person, at)
    expect((await at.ask("GET", "/api/auth/get-session", { cookie })).body["user"]).toMatchObject({ name: "nul" })
  })

  it.each<[string, (issuer: string) => FakeProvider["lies"]["description"]]>([
    ["another issuer", () => ({ issuer: "https://evil.example" })],
    ["a token endpoint without https", () => ({ token_endpoint: "http://evil.example/token" })],
    ["no keys", () => ({ jwks_uri: null })]
  ])("about itself (%s) is not used, and passwords work on", async (_, description) => {
    provider.lies = { description: description(provider.issuer) ?? {} }
    const errors: unknown[] = []
    const at = stage.instance({ oidc: [declared()], onError: (cause) => void errors.push(cause) })
    const answer = await start(at)
    expect(answer.status).toBe(503)
    expect(answer.headers.get("retry-after")).toBe("10")
    expect(errors.length).toBeGreaterThan(0)
    expect((await at.signIn("ann@example.org")).status).toBe(200)
  })
})

describe("a callback", () => {
  it("of a sign-in that another browser began is refused (login CSRF), and so is a replay", async () => {
    const mine = await start(service)
    const theirs = await start(service)
    const back = provider.authorize(String(mine.body["url"]), ann)
    expect(refused(await comeBack(service, back, theirs.cookie))).toBe("state_mismatch")
    expect(refused(await comeBack(service, back, ""))).toBe("state_mismatch")
    expect((await comeBack(service, back, mine.cookie)).headers.get("location")).toBe("/admin")
    expect(refused(await comeBack(service, back, mine.cookie))).toBe("state_mismatch")
  })

  it("that never comes leaves nothing behind for good", async () => {
    const at = stage.instance({ oidc: [declared()] })
    await stage.store.pool.query(
      `insert into auth."verification" ("id", "identifier", "value", "expiresAt")`
        + ` select 'left' || n, 'auth-state:left' || n, '{}', now() - interval '1 minute' from generate_series(1, 5) n`
    )
    expect((await start(at)).status).toBe(200)
    expect(await stage.store.database.rows(`select id from auth."verification" where id like 'left%'`)).toEqual([])
  })

  it("of one provider does not end a sign-in that began with another (mix-up)", async () => {
    await using lying = await openProvider()
    const { client, issuer } = lying
    const at = stage.instance({
      oidc: [declared(), { id: "lying", issuer, clientId: client.id, clientSecret: client.secret }]
    })
    const started = await start(at, { provider: "lying" })
    // The other provider hands on what it was sent, so that state, challenge and nonce are those that it knows.
    const handedOn = new URL(String(started.body["url"]))
    handedOn.searchParams.set("redirect_uri", `${authUrl}/api/auth/callback/corp`)
    const back = provider.authorize(handedOn.href, ann)
    const asked = provider.asked.get("/token")
    expect(refused(await comeBack(at, back, started.cookie))).toBe("state_mismatch")
    // The code was shown to nobody.
    expect(provider.asked.get("/token")).toBe(asked)
    expect(lying.asked.get("/token")).toBeUndefined()
    const alone = await start(at, { provider: "lying" })
    const own = lying.authorize(String(alone.body["url"]), ann)
    expect((await comeBack(at, own, alone.cookie)).headers.get("location")).toBe("/admin")
  })

  it("has no state that a page could have made for its visitor, whether or not CORS lets it call the API", async () => {
    for (const origin of ["https://panel.example.org", "https://evil.example", "null"]) {
      const answer = await service.ask("POST", "/api/auth/sign-in/social", {
        headers: { origin },
        body: { provider: "corp" }
      })
      expect([answer.status, answer.body["code"]], origin).toEqual([403, "INVALID_ORIGIN"])
      expect(answer.headers.getSetCookie()).toEqual([])
    }
    const own = { headers: { origin: authUrl }, body: { provider: "corp" } }
    expect((await service.ask("POST", "/api/auth/sign-in/social", own)).status).toBe(200)
  })

  it("with made-up parts is refused", async () => {
    const started = await start(service)
    const back = provider.authorize(String(started.body["url"]), ann)
    for (
      const [name, value] of [["state", "x"], ["state", ""], ["code", "x"], ["iss", "https://evil.example"]] as const
    ) {
      const url = new URL(back)
      url.searchParams.set(name, value)
      expect(refused(await comeBack(service, url, started.cookie))).not.toBe("")
    }
    expect((await service.ask("GET", "/api/auth/callback/other?code=x&state=y")).status).toBe(401)
    expect((await service.ask("GET", "/api/auth/callback/corp?code=x&state=%00")).status).toBe(400)
    expect((await service.ask("POST", "/api/auth/callback/corp", { body: { code: "x" } })).status).toBe(405)
  })

  it("never leads away from this site", async () => {
    const elsewhere = [
      "https://evil.example",
      "//evil.example",
      "/\\evil.example",
      "javascript:alert(1)",
      "/..//evil.example",
      "/.//evil.example",
      "/%2e%2e//evil.example",
      "/%2E//evil.example",
      "/a/..//evil.example",
      "/a/../..//evil.example",
      "/\t/evil.example",
      "/%2f/evil.example",
      "/%2f%2fevil.example",
      "/%5cevil.example",
      "/%252f/evil.example",
      "///evil.example",
      "http://localhost:5173@evil.example",
      "http://evil.example@localhost:5173/",
      "sign-in"
    ]
    for (const address of elsewhere) {
      for (const [name, code] of [["callbackURL", "CALLBACK"], ["errorCallbackURL", "ERROR_CALLBACK"]] as const) {
        const answer = await start(service, { [name]: address })
        expect([answer.status, answer.body["code"]], `${name} ${address}`).toEqual([403, `INVALID_${code}_URL`])
      }
    }
    // Odd addresses of this service stay on it.
    for (const address of ["/a/../admin?x=//evil.example#//evil.example", "/a//b", `${authUrl}/admin`]) {
      const started = await start(service, { callbackURL: address })
      const answer = await comeBack(service, provider.authorize(String(started.body["url"]), ann), started.cookie)
      expect(new URL(answer.headers.get("location") ?? "", authUrl).origin, address).toBe(authUrl)
    }
  })

  it("that brings an error says a documented one, and no text of anybody else", async () => {
    const said = async (error: string): Promise<string> => {
      const started = await start(service)
      const back = provider.authorize(String(started.body["url"]), ann)
      back.searchParams.delete("code")
      back.searchParams.set("error", error)
      back.searchParams.set("error_description", "Call 555-1234")
      const answer = await comeBack(service, back, started.cookie)
      expect(answer.status, answer.text).toBe(302)
      expect(answer.headers.get("location")).not.toContain("555")
      return refused(answer)
    }
    expect(await said("access_denied")).toBe("access_denied")
    expect(await said("Your account was hacked, call us")).toBe("provider_error")
    expect(await said("internal_server_error")).toBe("provider_error")
  })

  it("takes no ID token from the client, no scopes, and no provider that is not configured", async () => {
    const answer = await start(service, {
      idToken: { token: "x.y.z" },
      scopes: ["everything"],
      additionalParams: { prompt: "none" }
    })
    const url = new URL(String(answer.body["url"]))
    expect(url.searchParams.get("scope")).toBe("openid email profile")
    expect(url.searchParams.get("prompt")).toBeNull()
    for (const id of ["google", "github", "__proto__", "", null, ["corp"]]) {
      expect((await start(service, { provider: id })).status).toBe(404)
    }
    const none = stage.instance()
    expect((await start(none)).status).toBe(401)
    const { token } = await issueToken(none.auth, { email: await stage.account(none.auth, "asker") })
    expect((await start(none, {}, token)).status).toBe(404)
  })
})

describe("at once in two instances", () => {
  const linked = (sub: string) =>
    stage.store.database.rows(
      `select "userId" from auth."account" where "providerId" = 'corp' and "accountId" = '${sub}'`
    )

  it("first sign-ins of one person make one link, and all of them get in", async () => {
    await stage.account(service.auth, "twin", "reader")
    const instances = [service, stage.instance({ oidc: [declared()] })]
    const twin = { sub: "p-twin", email: "twin@example.org", email_verified: true }
    const answers = await Promise.all([0, 1, 0, 1].map((n) => signIn(twin, instances[n])))
    expect(answers.map(({ headers }) => headers.get("location"))).toEqual(answers.map(() => "/admin"))
    expect(await linked("p-twin")).toHaveLength(1)
    expect((await signIn(twin)).headers.get("location")).toBe("/admin")
  })

  it("first sign-ins that make the account make one, and all of them get in", async () => {
    const open = { oidc: [declared({ domains: ["example.org"], createUsers: true })] }
    const instances = [stage.instance(open), stage.instance(open)]
    const both = { sub: "p-both", email: "both@example.org", email_verified: true }
    const answers = await Promise.all([0, 1, 0, 1].map((n) => signIn(both, instances[n])))
    expect(answers.map(({ headers }) => headers.get("location"))).toEqual(answers.map(() => "/admin"))
    expect(await linked("p-both")).toHaveLength(1)
  })

  it("a state is good for one callback", async () => {
    const instances = [service, stage.instance({ oidc: [declared()] })]
    for (const round of [1, 2, 3]) {
      const started = await start(service)
      const back = provider.authorize(String(started.body["url"]), ann)
      const asked = provider.asked.get("/token") ?? 0
      const answers = await Promise.all([0, 1, 0, 1].map((n) => comeBack(instances[n]!, back, started.cookie)))
      const begun = answers.filter(({ cookie }) => cookie.includes("session_token"))
      expect(begun, `round ${round}`).toHaveLength(1)
      for (const answer of answers) if (!begun.includes(answer)) expect(refused(answer)).toBe("state_mismatch")
      expect(provider.asked.get("/token")).toBe(asked + 1)
    }
  })

  it("links that were made twice before are one after the migration", async () => {
    const migration = authMigrationSql({ schema: "auth", twoFactor: true })
    const [[id] = []] = await stage.store.database.rows(
      `select "id" from auth."user" where "email" = 'ann@example.org'`
    )
    await stage.store.database.execute(`
      drop index auth."account_provider_key";
      alter table auth."account" disable trigger "guard_link";
      delete from auth."account" where "accountId" = 'p-ann';
      insert into auth."account" ("id", "accountId", "providerId", "userId", "createdAt", "updatedAt") values
        ('first', 'p-ann', 'corp', '${id}', now() - interval '1 minute', now()),
        ('second', 'p-ann', 'corp', '${id}', now(), now());
      alter table auth."account" enable trigger "guard_link";
    `)
    const tolerant = stage.instance({ oidc: [declared()], onError: () => {} })
    expect((await signIn(ann, tolerant)).cookie).not.toContain("session_token")
    await stage.store.database.execute(migration)
    expect(await stage.store.database.rows(`select "id" from auth."account" where "accountId" = 'p-ann'`))
      .toEqual([["first"]])
    expect((await signIn(ann)).headers.get("location")).toBe("/admin")
  })
})

describe("a provider that is away", () => {
  it("is a 503 for its own users, holds up nobody else, and is asked again after ten seconds", async () => {
    provider.away = true
    const at = stage.instance({ oidc: [declared()], onError: () => {} })
    expect((await start(at)).status).toBe(503)
    const asked = provider.asked.get("/.well-known/openid-configuration")
    expect((await start(at)).status).toBe(503)
    expect(provider.asked.get("/.well-known/openid-configuration")).toBe(asked)
    expect((await at.ask("POST", "/api/auth/sign-in/email", { body: { email: "ann@example.org", password } })).status)
      .toBe(200)
    provider.away = false
    const clock = performance.now.bind(performance)
    const spy = vi.spyOn(performance, "now").mockImplementation(() => clock() + 11_000)
    expect((await start(at)).status).toBe(200)
    spy.mockRestore()
  })
})

it("a provider that has a new key is believed at once", async () => {
  await using other = await openProvider()
  const { client, issuer } = other
  const at = stage.instance({ oidc: [{ id: "corp", issuer, clientId: client.id, clientSecret: client.secret }] })
  const enter = async (): Promise<Got> => {
    const started = await start(at)
    return comeBack(at, other.authorize(String(started.body["url"]), ann), started.cookie)
  }
  expect((await enter()).headers.get("location")).toBe("/admin")
  await other.rotate()
  expect((await enter()).headers.get("location")).toBe("/admin")
  expect(other.asked.get("/jwks")).toBe(2)
  other.lies = { foreignKey: true }
  expect(refused(await enter())).toBe("unable_to_get_user_info")
})

describe("a provider that is slow", () => {
  it("holds up neither users of another nor passwords, and is a 503 for its own", async () => {
    await using slow = await openProvider()
    slow.stalls = () => true
    const { client, issuer } = slow
    const at = stage.instance({
      oidc: [{ id: "slow", issuer, clientId: client.id, clientSecret: client.secret }, declared()],
      onError: () => {}
    })
    const waiting = start(at, { provider: "slow" })
    expect((await at.signIn("ann@example.org")).status).toBe(200)
    expect((await signIn(ann, at)).headers.get("location")).toBe("/admin")
    expect((await waiting).status).toBe(503)
  })

  it("after it described itself is not asked to do so again", async () => {
    await using slow = await openProvider()
    slow.stalls = (_, nth) => nth > 1
    const { client, issuer } = slow
    const at = stage.instance({ oidc: [{ id: "corp", issuer, clientId: client.id, clientSecret: client.secret }] })
    const started = await start(at)
    expect(started.status, started.text).toBe(200)
    const back = slow.authorize(String(started.body["url"]), ann)
    expect((await comeBack(at, back, started.cookie)).headers.get("location")).toBe("/admin")
  })

  it("to exchange a code sends its user back with an error", async () => {
    await using slow = await openProvider()
    slow.stalls = (path) => path === "/token"
    const { client, issuer } = slow
    const at = stage.instance({ oidc: [{ id: "corp", issuer, clientId: client.id, clientSecret: client.secret }] })
    const started = await start(at)
    const back = slow.authorize(String(started.body["url"]), ann)
    expect(refused(await comeBack(at, back, started.cookie))).toBe("invalid_code")
  })

  it.each(["/.well-known/openid-configuration", "/token", "/jwks", "/userinfo"])(
    "because its answer at %s never ends is read to a bound",
    async (path) => {
      await using endless = await openProvider()
      endless.floods = path
      endless.lies = { claims: { email: null } }
      const { client, issuer } = endless
      const at = stage.instance({
        oidc: [{ id: "corp", issuer, clientId: client.id, clientSecret: client.secret }],
        onError: () => {}
      })
      const started = await start(at)
      if (started.status === 200) {
        const back = endless.authorize(String(started.body["url"]), ann)
        expect(refused(await comeBack(at, back, started.cookie))).not.toBe("")
      } else expect(started.status).toBe(503)
      // Bounds are far below; what the sockets hold between the two comes on top.
      expect(endless.flooded()).toBeLessThan(32_000_000)
    }
  )
})

it("nothing of this is in the log, but what happened is", () => {
  for (const each of provider.secrets) stage.keep(each)
  const { found, seen } = stage.leaks()
  expect(seen).toBeGreaterThan(50)
  expect(found).toEqual([])
  expect(stage.events.some(({ event, method }) => event === "sign-in-ok" && method === "corp")).toBe(true)
  expect(stage.events.some(({ event, method }) => event === "sign-in-failed" && method === "corp")).toBe(true)
})
