import { decodeJwt, decodeProtectedHeader } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Auth } from "../../adapters/auth/auth.ts"
import { builtInAuthenticator } from "../../adapters/auth/built-in.ts"
import { makeLimits } from "../../adapters/auth/limits.ts"
import { createUser, issueToken, setUserBanned } from "../../adapters/auth/users.ts"
import {
  ask,
  authUrl,
  bearer,
  codeOf,
  cookiesOf,
  identify,
  openStore,
  password,
  secret,
  sessionOf,
  signIn,
  type Store,
  tokenOf
} from "./store.ts"

let store: Store
let auth: Auth

beforeAll(async () => {
  store = await openStore()
  auth = store.instance()
  await createUser(auth, { email: "admin@example.org", password })
  await createUser(auth, { email: "user@example.org", password })
  await createUser(auth, { email: "banned@example.org", password })
  await setUserBanned(auth, { email: "banned@example.org", banned: true })
})

afterAll(() => store[Symbol.asyncDispose]())

describe("an empty store", () => {
  it("says that it needs an admin, refuses sign-in, and says so no longer once there is one", async () => {
    await using empty = await openStore()
    const first = empty.instance()
    expect(await ask(first, "GET", "/status")).toMatchObject({ status: 200, body: { needsAdmin: true } })
    expect((await signIn(first, "admin@example.org")).status).toBe(401)
    const signUp = await ask(first, "POST", "/sign-up/email", { body: { email: "a@example.org", password, name: "a" } })
    expect(signUp).toMatchObject({ status: 400, body: { code: "EMAIL_PASSWORD_SIGN_UP_DISABLED" } })
    const create = await ask(first, "POST", "/admin/create-user", {
      body: { email: "a@example.org", password, name: "a" }
    })
    expect(create.status).toBe(401)
    await createUser(first, { email: "admin@example.org", password })
    expect((await ask(first, "GET", "/status")).body).toEqual({ needsAdmin: false })
    expect((await signIn(first, "admin@example.org")).status).toBe(200)
  })
})

describe("sign-in", () => {
  it("gives a session and from it an EdDSA token of fifteen minutes that the API accepts", async () => {
    const answer = await signIn(auth, "Admin@Example.org")
    expect(answer).toMatchObject({
      status: 200,
      body: { redirect: false, user: { email: "admin@example.org", role: "admin" } }
    })
    expect(answer.text).not.toContain("tokenEpoch")
    const token = await tokenOf(auth, cookiesOf(answer))
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: "EdDSA" })
    const claims = decodeJwt(token)
    expect(claims).toMatchObject({ role: "admin", iss: authUrl, aud: authUrl })
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(900)
    expect(Object.keys(claims).sort()).toEqual(["aud", "epoch", "exp", "iat", "iss", "role", "sid", "sub"])
    const authenticator = builtInAuthenticator({ auth, tenant: 7 })
    expect(await identify(authenticator, token)).toEqual({ user: { id: claims.sub, roles: ["admin"] }, tenant: 7 })
    expect(authenticator(bearer(token))).not.toBeInstanceOf(Promise)
  })

  it("sets a cookie that scripts and other sites do not get, and that https makes secure", async () => {
    const [plain = ""] = (await signIn(auth, "user@example.org")).headers.getSetCookie()
    expect(plain).toMatch(/^service\.session_token=.*; HttpOnly; SameSite=Lax$/)
    const secure = store.instance({ url: "https://admin.example.org" })
    const [cookie = ""] = (await signIn(secure, "user@example.org")).headers.getSetCookie()
    expect(cookie).toMatch(/^__Secure-service\.session_token=.*; Secure/)
  })

  it("leaves no sessions behind that have run out, and the others alone", async () => {
    const live = cookiesOf(await signIn(auth, "user@example.org"))
    await store.database.execute(
      `insert into auth.session ("id", "token", "userId", "expiresAt", "updatedAt")`
        + ` select 'old ' || n, 'old ' || n, u.id, now() - interval '1 second', now()`
        + ` from auth."user" u, generate_series(1, 20) n where u.email = 'user@example.org'`
    )
    await signIn(store.instance(), "admin@example.org")
    expect(await store.database.rows("select count(*) from auth.session where id like 'old %'")).toEqual([["0"]])
    expect((await ask(auth, "GET", "/get-session", { cookie: live })).body).toMatchObject({
      user: { email: "user@example.org" }
    })
  })

  it("publishes the public key only", async () => {
    await issueToken(auth, { email: "user@example.org" })
    const keys = await ask(auth, "GET", "/jwks")
    expect(keys.body).toMatchObject({ keys: [{ kty: "OKP", crv: "Ed25519", alg: "EdDSA" }] })
    expect(keys.text).not.toMatch(/"d"|private/i)
  })

  it("makes one key, however many instances want the first at once", async () => {
    await using fresh = await openStore()
    const instances = [fresh.instance(), fresh.instance(), fresh.instance()]
    const [first] = instances
    if (first === undefined) throw new Error("no instance")
    await createUser(first, { email: "admin@example.org", password })
    await Promise.all(instances.flatMap((each) => [1, 2].map(() => issueToken(each, { email: "admin@example.org" }))))
    expect(await fresh.database.rows("select count(*) from auth.jwks")).toEqual([["1"]])
  })

  it("answers unknown, wrong and banned alike", async () => {
    const cases = [
      ["nobody@example.org", password],
      ["user@example.org", "wrong horse battery"],
      ["banned@example.org", password],
      ["banned@example.org", "wrong horse battery"]
    ] as const
    const answers = new Set<string>()
    for (const [email, word] of cases) {
      const answer = await signIn(auth, email, word)
      const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n")
      answers.add(`${answer.status}\n${headers}\n${answer.text}`)
    }
    expect(answers.size).toBe(1)
    expect([...answers][0]).toContain("INVALID_EMAIL_OR_PASSWORD")
  })

  it.each([
    ["{", "application/json", 400, "malformed-json"],
    ["[]", "application/json", 400, "malformed-json"],
    ["{\"__proto__\":{}}", "application/json", 400, "malformed-json"],
    ["{\"email\":\"a@example.org\",\"email\":\"b@example.org\"}", "application/json", 400, "malformed-json"],
    [`{"email":${"[".repeat(64)}${"]".repeat(64)}}`, "application/json", 400, "malformed-json"],
    ["[".repeat(32_000), "application/json", 400, "malformed-json"],
    ["{}", "application/json", 400, "invalid-record"],
    ["{\"email\":1,\"password\":2}", "application/json", 400, "invalid-record"],
    ["email=a%40example.org&password=b", "application/x-www-form-urlencoded", 415, "unsupported-media-type"],
    ["{\"email\":\"a@example.org\",\"password\":\"b\"}", "text/plain", 415, "unsupported-media-type"],
    [`{"email":"${"a".repeat(40_000)}"}`, "application/json", 413, "payload-too-large"]
  ])("with the body %s as %s is a %i %s", async (body, type, status, slug) => {
    const answer = await ask(auth, "POST", "/sign-in/email", { body, headers: { "content-type": type } })
    expect(answer).toMatchObject({
      status,
      body: { type: `urn:service:problem:${slug}`, status, instance: "/api/auth/sign-in/email" }
    })
    expect(answer.headers.get("content-type")).toBe("application/problem+json")
  })
})

describe("the session", () => {
  it("does not end by a sign-out that cannot be read", async () => {
    const cookie = await sessionOf(auth, "user@example.org")
    for (const body of [{ callbackURL: 1 }, { state: ["x"] }, { disableRedirect: "yes" }]) {
      expect((await ask(auth, "POST", "/sign-out", { cookie, body })).status).toBe(400)
    }
    expect((await ask(auth, "GET", "/get-session", { cookie })).body).not.toBeNull()
  })

  it("ends by no cookie whose signature is another's", async () => {
    const cookie = await sessionOf(auth, "user@example.org")
    const forged = cookie.replace(/\.[^.;]*/, `.${"A".repeat(43)}%3D`)
    expect((await ask(auth, "POST", "/sign-out", { cookie: forged, body: {} })).status).toBe(200)
    expect((await ask(auth, "GET", "/get-session", { cookie })).body).not.toBeNull()
  })

  it("ends with sign-out", async () => {
    const cookie = await sessionOf(auth, "user@example.org")
    expect((await ask(auth, "GET", "/token", { cookie })).status).toBe(200)
    const out = await ask(auth, "POST", "/sign-out", { cookie })
    expect([out.status, out.text, out.headers.get("content-type")]).toEqual([
      200,
      "{\"success\":true}",
      "application/json"
    ])
    expect(out.headers.getSetCookie().map((each) => each.split(";", 2).join(";"))).toEqual([
      "service.session_token=; Max-Age=0",
      "service.session_data=; Max-Age=0",
      "service.dont_remember=; Max-Age=0"
    ])
    const refused = await ask(auth, "GET", "/token", { cookie })
    expect(refused).toMatchObject({ status: 401, body: { type: "urn:service:problem:unauthenticated" } })
    expect(refused.headers.get("www-authenticate")).toBe("Bearer")
  })

  it("is not opened by a forged or foreign cookie", async () => {
    const cookie = await sessionOf(auth, "user@example.org")
    const foreign = store.instance({ secret: "another secret of thirty-two characters" })
    expect((await ask(foreign, "GET", "/token", { cookie })).status).toBe(401)
    expect((await ask(auth, "GET", "/token", { cookie: cookie.replace(/\.[^.]{10}/, ".AAAAAAAAAA") })).status).toBe(401)
  })

  it("is no credential for the API, and a token is none for the session", async () => {
    const cookie = await sessionOf(auth, "user@example.org")
    const token = await tokenOf(auth, cookie)
    const authenticator = builtInAuthenticator({ auth })
    const withCookie = { method: "GET", url: authUrl, headers: new Headers({ cookie }) }
    expect(() => authenticator(withCookie)).toThrow("Authorization")
    expect((await ask(auth, "GET", "/token", { headers: { authorization: `Bearer ${token}` } })).status).toBe(401)
  })

  it.each([
    [{ origin: "https://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ referer: "https://evil.example/x" }, 403],
    [{ origin: "https://app.trusted.example" }, 200],
    [{ origin: authUrl }, 200],
    [{}, 200]
  ])("cannot be used by a page of another site: %j is a %i", async (headers, status) => {
    const open = store.instance({ trustedOrigins: ["https://*.trusted.example"] })
    const cookie = await sessionOf(open, "user@example.org")
    expect((await ask(open, "POST", "/update-user", { cookie, body: { name: "Ann" }, headers })).status).toBe(status)
    // Signing in is refused to such pages too.
    expect((await signIn(open, "user@example.org", password, headers)).status).toBe(status)
  })
})

describe("the routes", () => {
  it.each([
    ["GET", "/sign-in/email", 405],
    ["POST", "/token", 405],
    ["DELETE", "/status", 405],
    ["GET", "/", 404],
    ["GET", "", 404],
    ["GET", "/ok", 404],
    ["GET", "/error", 404],
    ["GET", "/reference", 404],
    ["POST", "/sign-jwt", 404],
    ["POST", "/sign-in/social", 404],
    ["POST", "/delete-user", 404],
    ["POST", "/change-email", 404],
    ["POST", "/request-password-reset", 404],
    ["POST", "/reset-password", 404],
    ["POST", "/admin/impersonate-user", 404],
    ["GET", "/token/", 404],
    ["GET", "//token", 404],
    ["GET", "/toString", 404],
    ["GET", "/%74oken", 404],
    ["GET", "/admin/../token", 401]
  ])("%s %s is a %i", async (method, path, status) => {
    const answer = await ask(auth, method, path)
    expect(answer).toMatchObject({ status, body: { status } })
    if (status === 405) expect(answer.headers.get("allow")).toBe(path.startsWith("/sign") ? "POST" : "GET, HEAD")
  })

  it("answer HEAD like GET without a body", async () => {
    expect(await ask(auth, "HEAD", "/status")).toMatchObject({ status: 200, text: "" })
  })

  it("are kept out of caches", async () => {
    for (const path of ["/status", "/token", "/get-session"]) {
      expect((await ask(auth, "GET", path)).headers.get("cache-control")).toBe("no-store")
    }
  })
})

describe("limits", () => {
  beforeEach(() => store.database.execute("truncate auth.attempt"))
  const from = (address: string) => ({ "x-forwarded-for": address })
  const attempts = async (
    on: readonly Auth[],
    count: number,
    email: (n: number) => string,
    address: (n: number) => string
  ) => {
    const statuses: number[] = []
    for (let n = 0; n < count; n += 1) {
      const instance = on[n % on.length]
      if (instance === undefined) throw new Error("no instance")
      statuses.push((await signIn(instance, email(n), "wrong horse battery", from(address(n)))).status)
    }
    return statuses
  }

  it("take five attempts a minute and client, whichever account and instance, then say when to come back", async () => {
    const two = [store.instance({ signInPerMinute: 5 }), store.instance({ signInPerMinute: 5 })]
    const statuses = await attempts(two, 7, (n) => `someone${n}@example.org`, () => "198.51.100.1")
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429])
    const [first] = two
    if (first === undefined) throw new Error("no instance")
    const refused = await signIn(first, "user@example.org", password, from("198.51.100.1"))
    expect(refused).toMatchObject({ status: 429, body: { type: "urn:service:problem:too-many-requests", status: 429 } })
    const wait = Number(refused.headers.get("retry-after"))
    expect(wait).toBeGreaterThan(40)
    expect(wait).toBeLessThanOrEqual(60)
    expect((await signIn(first, "user@example.org", password, from("198.51.100.2"))).status).toBe(200)
  })

  it("take an IPv6 network for one client, and only the last address of the header", async () => {
    const limited = [store.instance({ signInPerMinute: 2 })]
    expect(await attempts(limited, 3, (n) => `six${n}@example.org`, (n) => `2001:db8:9:9::${n}`)).toEqual([
      401,
      401,
      429
    ])
    expect(await attempts(limited, 3, (n) => `spoof${n}@example.org`, (n) => `203.0.113.${n}, 198.51.100.7`))
      .toEqual([401, 401, 429])
  })

  it("take twice as many attempts on one account from everywhere, known or not", async () => {
    const limited = [store.instance({ signInPerMinute: 2 })]
    for (const email of ["user@example.org", "ghost@example.org"]) {
      const statuses = await attempts(
        limited,
        6,
        (n) => n % 2 === 0 ? email : ` ${email.toUpperCase()} `,
        (n) => `192.0.2.${n}`
      )
      // The padded form is no address for better-auth, but it counts for the same account.
      expect(statuses.map((status) => status === 429)).toEqual([false, false, false, false, true, true])
    }
  })

  it("let no more through when the attempts come at once", async () => {
    const limited = store.instance({ signInPerMinute: 5 })
    const all = await Promise.all(
      Array.from({ length: 15 }, (_, n) => signIn(limited, `burst${n}@example.org`, password, from("198.51.100.77")))
    )
    expect(all.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(all.filter(({ status }) => status === 429)).toHaveLength(10)
  })

  it("open again after a minute", async () => {
    const limited = store.instance({ signInPerMinute: 1 })
    const late = from("198.51.100.99")
    expect((await signIn(limited, "late1@example.org", password, late)).status).toBe(401)
    expect((await signIn(limited, "late2@example.org", password, late)).status).toBe(429)
    await store.database.execute(
      `update auth.attempt set stamps = (select array_agg(s - interval '61 seconds') from unnest(stamps) s)`
    )
    expect((await signIn(limited, "late3@example.org", password, late)).status).toBe(401)
  })

  it("do not count attempts of a clock that went ahead", async () => {
    const limited = store.instance({ signInPerMinute: 1 })
    const ahead = from("198.51.100.97")
    expect((await signIn(limited, "ahead1@example.org", password, ahead)).status).toBe(401)
    expect((await signIn(limited, "ahead2@example.org", password, ahead)).status).toBe(429)
    await store.database.execute(
      `update auth.attempt set stamps = (select array_agg(s + interval '1 hour') from unnest(stamps) s)`
    )
    expect((await signIn(limited, "ahead3@example.org", password, ahead)).status).toBe(401)
    expect((await signIn(limited, "ahead4@example.org", password, ahead)).status).toBe(429)
  })

  it("open again for who keeps trying, and not before: what was refused does not count", async () => {
    const limited = store.instance({ signInPerMinute: 2 })
    const eager = from("198.51.100.98")
    const ago = (seconds: number) =>
      store.database.execute(
        `update auth.attempt set stamps = (select array_agg(s - interval '${seconds} seconds') from unnest(stamps) s)`
      )
    const several = () => attempts([limited], 3, (n) => `eager${n}@example.org`, () => eager["x-forwarded-for"])
    expect(await several()).toEqual([401, 401, 429])
    await ago(50)
    expect(await several()).toEqual([429, 429, 429])
    await ago(15)
    expect(await several()).toEqual([401, 401, 429])
  })

  it("let a text be used once in three minutes, whoever asks", async () => {
    const { store: queries } = auth.internals
    const settings = {
      store: queries,
      table: (name: string) => `auth."${name}"`,
      secrets: [secret] as const,
      perClient: 1,
      perAccount: 1
    }
    const [one, two] = [makeLimits(settings), makeLimits(settings)]
    const ago = (seconds: number) => store.database.execute(`update auth.attempt set at = at - interval '${seconds} s'`)
    expect([await one.once("a code"), await two.once("a code"), await two.once("another")]).toEqual([true, false, true])
    await ago(170)
    expect(await one.once("a code")).toBe(false)
    await ago(20)
    expect([await two.once("a code"), await one.once("a code")]).toEqual([true, false])
  })

  it("store no address and no email", async () => {
    await signIn(auth, "private@example.org", password, from("198.51.100.123"))
    const rows = JSON.stringify(await store.database.rows("select key from auth.attempt"))
    expect(rows).not.toMatch(/private|198\.51/)
  })

  it("forget old attempts as fast as they come, however many there are", async () => {
    await store.database.execute(
      `insert into auth.attempt ("key", "stamps", "allowed", "at")`
        + ` select 'old ' || n, '{}', true, now() - interval '6 minutes' from generate_series(1, 2500) n`
    )
    const one = [store.instance()]
    await attempts(one, 3, (n) => `many${n}@example.org`, (n) => `192.0.2.${n}`)
    expect(await store.database.rows("select count(*) from auth.attempt where key like 'old %'")).toEqual([["0"]])
  })
})

describe("a database that is away", () => {
  it("is a 503 with Retry-After, and sign-in works again afterwards", async () => {
    const errors: unknown[] = []
    const away = store.instance({ onError: (cause) => errors.push(cause) })
    const cookie = await sessionOf(away, "user@example.org")
    const broken = store.instance({
      database: {
        connect: () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })),
        end: () => Promise.resolve()
      },
      onError: (cause) => errors.push(cause)
    })
    for (
      const [method, path] of [["GET", "/status"], ["GET", "/token"], ["GET", "/get-session"], [
        "GET",
        "/jwks"
      ]] as const
    ) {
      const answer = await ask(broken, method, path, { cookie })
      expect(answer).toMatchObject({ status: 503, body: { type: "urn:service:problem:unavailable" } })
      expect(answer.headers.get("retry-after")).toMatch(/^[0-9]+$/)
    }
    expect((await signIn(broken, "user@example.org")).status).toBe(503)
    expect(errors.length).toBeGreaterThan(0)
    await store.database.disconnectAll()
    // A pooled connection may meet the news of its end with the next statement: that request is refused, and says so.
    const statuses = new Set<number>()
    await expect.poll(async () => {
      const { status } = await signIn(away, "user@example.org")
      statuses.add(status)
      return status
    }, { interval: 20 }).toBe(200)
    for (const status of statuses) expect([200, 503]).toContain(status)
  })

  it("never refuses a sign-out that has ended its session, whichever connection it does not get", async () => {
    let left = Number.POSITIVE_INFINITY
    const scarce = store.instance({
      database: {
        connect: () =>
          left-- === 0 ? Promise.reject(new Error("timeout exceeded when trying to connect")) : store.pool.connect(),
        end: () => Promise.resolve()
      },
      onError: () => {}
    })
    const outcomes: string[] = []
    for (let got = 0; got < 5; got++) {
      left = Number.POSITIVE_INFINITY
      const cookie = await sessionOf(scarce, "user@example.org")
      const other = await sessionOf(scarce, "user@example.org")
      left = got
      const { headers, status } = await ask(scarce, "POST", "/sign-out", { cookie, body: {} })
      left = Number.POSITIVE_INFINITY
      const stands = async (of: string) => (await ask(scarce, "GET", "/get-session", { cookie: of })).body !== null
      outcomes.push(`${status} ${await stands(cookie) ? "stands" : "ended"}`)
      expect(status === 503).toBe(headers.get("retry-after") === "1")
      expect(await stands(other)).toBe(true)
    }
    expect(new Set(outcomes)).toEqual(new Set(["503 stands", "200 ended"]))
    // It waits for one connection, so nobody who is to wait at all waits twice.
    expect(outcomes.filter((each) => each === "503 stands")).toHaveLength(1)
  })

  it("lets nobody in on a token it cannot judge", async () => {
    const { token } = await issueToken(auth, { email: "user@example.org" })
    const broken = store.instance({
      database: {
        connect: () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })),
        end: () => Promise.resolve()
      }
    })
    expect(await identify(builtInAuthenticator({ auth: broken }), token)).toBe("KeysUnavailable")
  })
})

describe("tokens of the host", () => {
  it("have the claims and the key of those from the session", async () => {
    const { expiresAt, token } = await issueToken(auth, { email: "user@example.org", ttlSeconds: 86_400 })
    const own = await tokenOf(auth, await sessionOf(auth, "user@example.org"))
    expect(decodeProtectedHeader(token)).toEqual(decodeProtectedHeader(own))
    const { exp: _exp, iat: _iat, ...claims } = decodeJwt(token)
    // No session is behind it whose end would end the token.
    const { exp: _ownExp, iat: _ownIat, sid: _sid, ...ownClaims } = decodeJwt(own)
    expect(claims).toEqual(ownClaims)
    expect(expiresAt.getTime()).toBe((decodeJwt(token).exp ?? 0) * 1_000)
    expect(await identify(builtInAuthenticator({ auth }), token)).toMatchObject({ user: { roles: ["user"] } })
  })

  it.each([
    ["nobody@example.org", 900, "unknown-user"],
    ["banned@example.org", 900, "banned-user"],
    ["user@example.org", 0, "invalid-lifetime"],
    ["user@example.org", 86_401, "invalid-lifetime"],
    ["user", 900, "invalid-email"]
  ])("for %s living %i seconds are refused: %s", async (email, ttlSeconds, code) => {
    expect(await codeOf(issueToken(auth, { email, ttlSeconds }))).toBe(code)
  })

  it("of another server are refused", async () => {
    await using other = await openStore()
    const elsewhere = other.instance()
    await createUser(elsewhere, { email: "user@example.org", password })
    const { token } = await issueToken(elsewhere, { email: "user@example.org" })
    expect(await identify(builtInAuthenticator({ auth }), token)).toBe("Unauthorized")
  })
})
