/** Cookies used from elsewhere, limits walked around, accounts guessed: what somebody without a password tries at the sign-in routes. */

import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { setUserBanned } from "../../adapters/auth/users.ts"
import { divideHashing } from "../auth/hashing.ts"
import { authUrl, type Instance, openStage, password, type Sent, type Stage } from "./stage.ts"

let stage: Stage
let service: Instance
let cookie: string

const browser = (site: string, origin: string | null, mode = "cors"): Record<string, string> => ({
  "sec-fetch-site": site,
  "sec-fetch-mode": mode,
  "sec-fetch-dest": "empty",
  ...(origin === null ? {} : { origin })
})

beforeAll(async () => {
  stage = await openStage()
  service = stage.instance()
  await stage.account(service.auth, "admin")
  await stage.account(service.auth, "user", "reader")
  await stage.account(service.auth, "banned", "reader")
  await setUserBanned(service.auth, { email: "banned@example.org", banned: true })
  cookie = (await service.signIn("admin@example.org")).cookie
})

afterAll(() => stage[Symbol.asyncDispose]())

describe("a cookie", () => {
  it("alone never opens the API, wherever it is sent", async () => {
    for (
      const [method, path] of [
        ["GET", "/api/v1/notes"],
        ["GET", "/api/v1/notes/1"],
        ["POST", "/api/v1/notes"],
        ["POST", "/api/v1:batchWrite"],
        ["GET", "/api/meta"],
        ["GET", "/api/openapi.json"]
      ] as const
    ) {
      const answer = await service.ask(method, path, { cookie, headers: { origin: authUrl } })
      expect(answer.status).toBe(401)
    }
    const [, value = ""] = /session_token=([^;]+)/.exec(cookie) ?? []
    for (const token of [value, decodeURIComponent(value), decodeURIComponent(value).split(".")[0] ?? ""]) {
      expect(await service.read(token)).toBe(401)
    }
  })

  it.each<[string, Record<string, string>]>([
    ["another site", browser("cross-site", "https://evil.example")],
    ["a page without an origin (a sandboxed frame)", browser("cross-site", "null")],
    ["a look-alike", browser("cross-site", `${authUrl}.evil.example`)],
    ["a look-alike user part", browser("cross-site", "http://localhost:5173@evil.example")],
    ["another port", browser("same-site", "http://localhost:5174")],
    ["another scheme", browser("cross-site", "https://localhost:5173")],
    ["a CORS origin that is not trusted to sign in", browser("cross-site", "https://panel.example.org")],
    ["a site that hides its origin and sends none", browser("cross-site", null)],
    ["a referrer alone", { referer: "https://evil.example/page" }],
    ["a claimed host", { "origin": "https://evil.example", "host": "evil.example", "x-forwarded-host": "evil.example" }]
  ])("does nothing for %s", async (_, headers) => {
    for (
      const [path, body] of [
        ["/admin/create-user", { email: "mallory@example.org", password, name: "m", role: "admin" }],
        ["/admin/set-role", { userId: "x", role: "admin" }],
        ["/change-password", { currentPassword: password, newPassword: "another password" }],
        ["/update-user", { name: "owned" }],
        ["/sign-out", {}]
      ] as const
    ) {
      const answer = await service.ask("POST", `/api/auth${path}`, { cookie, headers, body })
      expect(answer.status, `${path} ${answer.text}`).toBe(403)
    }
    expect((await service.ask("GET", "/api/auth/get-session", { cookie })).body["user"]).toMatchObject({
      name: "admin"
    })
  })

  it("lets only pages of trusted origins read what the session opens", async () => {
    const reading = ["/token", "/get-session", "/list-sessions", "/admin/list-users"]
    const foreign = ["https://panel.example.org", "https://evil.example", "http://localhost:5174", "null"]
    for (const origin of foreign) {
      for (const path of reading) {
        const answer = await service.ask("GET", `/api/auth${path}`, { cookie, headers: { origin } })
        expect([answer.status, answer.body["code"]], `${path} from ${origin}`).toEqual([403, "INVALID_ORIGIN"])
      }
      const open = await service.ask("GET", "/api/auth/jwks", { cookie, headers: { origin } })
      expect(open.status).toBe(200)
    }
    const trusting = stage.instance({ signInPerMinute: 5, trustedOrigins: ["https://panel.example.org"] })
    for (const path of reading) {
      const own = await service.ask("GET", `/api/auth${path}`, { cookie, headers: { origin: authUrl } })
      const headers = { origin: "https://panel.example.org" }
      const panel = await trusting.ask("GET", `/api/auth${path}`, { cookie, headers })
      expect([own.status, panel.status], path).toEqual([200, 200])
    }
  })

  it("is not used by a form post of another site, nor by a method in disguise", async () => {
    const forms: readonly Sent[] = [
      { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "name=owned" },
      { headers: { "content-type": "text/plain" }, body: "{\"name\":\"owned\"}" },
      { headers: { "content-type": "multipart/form-data; boundary=x" }, body: "--x--" },
      { headers: { "content-type": "application/json, text/plain" }, body: "{\"name\":\"owned\"}" }
    ]
    for (const form of forms) {
      const answer = await service.ask("POST", "/api/auth/update-user", { ...form, cookie })
      expect(answer.status).toBe(415)
    }
    for (const path of ["/sign-out", "/update-user?name=owned", "/admin/set-role?userId=x&role=admin"]) {
      const headers = { "x-http-method-override": "POST", "x-http-method": "POST" }
      expect((await service.ask("GET", `/api/auth${path}`, { cookie, headers })).status).toBe(405)
    }
  })

  it("cannot be forced on a visitor: another site cannot sign them in", async () => {
    const body = { email: "user@example.org", password }
    for (
      const headers of [
        browser("cross-site", "https://evil.example", "navigate"),
        browser("cross-site", "https://evil.example"),
        browser("cross-site", null, "navigate")
      ]
    ) {
      const answer = await service.ask("POST", "/api/auth/sign-in/email", { headers, body })
      expect(answer.status).toBe(403)
      expect(answer.headers.getSetCookie()).toEqual([])
    }
  })

  it("is never handed to another site: no wildcard, no reflected origin, no redirect", async () => {
    const foreign = await service.ask("GET", "/api/auth/get-session", {
      cookie,
      headers: { origin: "https://evil.example" }
    })
    expect(foreign.headers.get("access-control-allow-origin")).toBeNull()
    expect(foreign.headers.get("access-control-allow-credentials")).toBeNull()
    for (
      const callbackURL of [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/%5cevil.example"
      ]
    ) {
      const answer = await service.ask("POST", "/api/auth/sign-in/email", {
        body: { email: "user@example.org", password, callbackURL }
      })
      expect(answer.status, callbackURL).toBe(403)
      expect(answer.headers.get("location")).toBeNull()
    }
  })
})

describe("every answer", () => {
  it.each([
    ["GET", "/api/auth/status"],
    ["GET", "/api/auth/providers"],
    ["GET", "/api/auth/jwks"],
    ["GET", "/api/auth/get-session"],
    ["GET", "/api/auth/token"],
    ["POST", "/api/auth/sign-in/email"],
    ["GET", "/api/auth/nothing"],
    ["DELETE", "/api/auth/token"],
    ["GET", "/api/v1/notes"],
    ["GET", "/livez"],
    ["GET", "/nothing"]
  ])("of %s %s has the security headers", async (method, path) => {
    const { headers } = await service.ask(method, path, path.endsWith("email") ? { body: {} } : {})
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("referrer-policy")).toBe("no-referrer")
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'")
    expect(headers.get("x-powered-by")).toBeNull()
    expect(headers.get("server")).toBeNull()
    if (!path.endsWith("jwks")) expect(headers.get("cache-control")).toBe("no-store")
  })

  it("is 401 without a credential where there is nothing, and 404 with one", async () => {
    const token = String((await service.ask("GET", "/api/auth/token", { cookie })).body["token"])
    for (
      const [method, path] of [
        ["GET", "/api/auth/nothing"],
        ["POST", "/api/auth/nothing"],
        ["GET", "/api/auth/"],
        ["GET", "/api/auth/token/"],
        ["GET", "/api/auth/toString"],
        ["POST", "/api/auth/reset-password"],
        ["POST", "/api/auth/passkey/verify-authentication"]
      ] as const
    ) {
      for (const sent of [{}, { cookie }]) {
        const answer = await service.ask(method, path, sent)
        expect([path, answer.status, answer.headers.get("www-authenticate")]).toEqual([path, 401, "Bearer"])
        expect(answer.body["instance"]).toBe(path)
      }
      expect((await service.ask(method, path, { token })).status).toBe(404)
    }
    // The routes themselves stay open to everybody.
    expect((await service.ask("GET", "/api/auth/providers")).status).toBe(200)
    expect((await service.ask("GET", "/api/auth/jwks")).status).toBe(200)
    expect((await service.ask("GET", "/api/auth/sign-in/email")).status).toBe(405)
  })

  it("of a sign-in is never after a longer body than it takes", async () => {
    const limits: number[] = []
    const reply = await Effect.runPromise(service.edge.handle({
      method: "POST",
      url: `${authUrl}/api/auth/sign-in/email`,
      target: "/api/auth/sign-in/email",
      headers: new Headers({ "content-type": "application/json" }),
      hasBody: true,
      address: "192.0.2.1",
      stream: () => (async function*() {})(),
      body: (limit) => {
        limits.push(limit)
        return Effect.succeed(new Uint8Array())
      }
    }))
    expect(reply.status).toBe(400)
    expect(limits).toEqual([32_768])
  })

  it("of the auth routes has them without our edge, too", async () => {
    const bare = await service.auth.handler(new Request(`${authUrl}/api/auth/status`))
    expect(bare.headers.get("x-content-type-options")).toBe("nosniff")
  })
})

describe("limits", () => {
  const attempt = (at: Instance, email: string, sent: Sent) => at.signIn(email, "wrong horse battery", sent)

  it("hold per client across two instances, whatever the client writes into headers", async () => {
    const one = stage.instance({ signInPerMinute: 3 })
    const two = stage.instance({ signInPerMinute: 3 })
    const spoofs = ["1.1.1.1", "2.2.2.2, 3.3.3.3", "127.0.0.1", "unknown", "", "::1"]
    const statuses: number[] = []
    for (const [index, forwarded] of spoofs.entries()) {
      const headers = {
        "x-forwarded-for": forwarded,
        "x-real-ip": forwarded,
        "cf-connecting-ip": forwarded,
        "true-client-ip": forwarded,
        "x-client-ip": forwarded,
        "forwarded": `for=${forwarded}`
      }
      const { status } = await attempt(index % 2 === 0 ? one : two, `n${index}@example.org`, {
        from: "198.51.100.7",
        headers
      })
      statuses.push(status)
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429])
  })

  it("take the hop that the proxies vouch for, and the peer when there are too few", async () => {
    const behind = stage.instance({ signInPerMinute: 2 }, 2)
    const from = (forwarded: string) => ({ from: "10.9.9.9", headers: { "x-forwarded-for": forwarded } })
    // The second from the right is the client; what stands left of it is the client's own invention.
    for (const invented of ["a", "1.2.3.4", "5.6.7.8, 9.9.9.9"]) {
      await attempt(behind, "n@example.org", from(`${invented}, 203.0.113.5, 10.0.0.1`))
    }
    expect((await attempt(behind, "n@example.org", from("203.0.113.5, 10.0.0.1"))).status).toBe(429)
    expect((await attempt(behind, "n@example.org", from("203.0.113.6, 10.0.0.1"))).status).toBe(401)
    // Around one proxy: every invented address counts as the same peer.
    const statuses = []
    for (const invented of ["7.7.7.1", "7.7.7.2", "7.7.7.3"]) {
      statuses.push((await attempt(behind, "m@example.org", from(invented))).status)
    }
    expect(statuses).toEqual([401, 401, 429])
  })

  it("hold per account across two instances and many clients, known or not", async () => {
    const one = stage.instance({ signInPerMinute: 2 })
    const two = stage.instance({ signInPerMinute: 2 })
    await stage.account(service.auth, "target", "reader")
    for (const email of ["target@example.org", "unknown@example.org"]) {
      const statuses: number[] = []
      for (let index = 0; index < 6; index += 1) {
        const spelled = index % 2 === 0 ? email : ` ${email.toUpperCase()}`
        const { status } = await attempt(index < 3 ? one : two, spelled, { from: `2001:db8:${index}::1` })
        statuses.push(status === 400 ? 401 : status)
      }
      expect(statuses).toEqual([401, 401, 401, 401, 429, 429])
    }
  })

  it("are not used up for a visitor by a page elsewhere", async () => {
    const strict = stage.instance({ signInPerMinute: 2 })
    const from = "198.51.100.31"
    // What any page may send without asking: a POST without a body.
    for (let index = 0; index < 4; index += 1) {
      const answer = await strict.ask("POST", "/api/auth/sign-in/email", {
        from,
        headers: { origin: "https://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }
      })
      expect([answer.status, answer.body["code"]]).toEqual([403, "INVALID_ORIGIN"])
    }
    const email = await stage.account(strict.auth, "visitor", "reader")
    expect((await strict.signIn(email, password, { from })).status).toBe(200)
  })

  it("cannot be dodged by a strange body: what is not counted for an account is not tried", async () => {
    const strict = stage.instance({ signInPerMinute: 50 })
    for (const email of [["user@example.org"], { email: "user@example.org" }, null, 7, "user@example.org\u0000"]) {
      const answer = await strict.ask("POST", "/api/auth/sign-in/email", {
        body: { email, password },
        from: "198.51.100.9"
      })
      expect([400, 401, 422]).toContain(answer.status)
      expect(answer.headers.getSetCookie()).toEqual([])
    }
  })

  it("refuse texts that no database can hold, wherever they are sent", async () => {
    // A mistake of whoever sent them, so no failure of ours: those are errors in the log.
    for (
      const [path, body] of [
        ["/update-user", { name: "a\0" }],
        ["/update-user", { name: "a\ud800" }],
        ["/update-user", { "name": "a", "ima\0ge": "b" }],
        ["/change-password", { currentPassword: password, newPassword: "\udc00 another password" }],
        ["/admin/ban-user", { userId: "\0" }],
        ["/admin/create-user", { email: "x@example.org", password, name: "x", data: { image: ["\0"] } }]
      ] as const
    ) {
      const answer = await service.ask("POST", `/api/auth${path}`, { cookie, body })
      expect([answer.status, answer.body["code"]], `${path} ${answer.text}`).toEqual([400, "VALIDATION_ERROR"])
    }
  })

  it("refuse what is too large before it is read", async () => {
    const answer = await service.ask("POST", "/api/auth/sign-in/email", {
      body: { email: "user@example.org", password: "x".repeat(40_000) }
    })
    expect(answer.status).toBe(413)
    const long = await service.signIn("user@example.org", "x".repeat(20_000))
    expect(long.status).toBe(400)
  })
})

describe("guessing accounts", () => {
  const kinds = {
    unknown: ["nobody@example.org", password],
    wrong: ["user@example.org", "wrong horse battery"],
    banned: ["banned@example.org", password]
  } satisfies Record<string, readonly [string, string]>
  type Kind = keyof typeof kinds
  const attempt = (kind: Kind, at = service, sent?: Sent) => at.signIn(kinds[kind][0] ?? "", kinds[kind][1], sent)

  /** What an answer looks like but for its request id. */
  const seen = async (kind: Kind): Promise<string> => {
    const answer = await attempt(kind)
    const headers = [...answer.headers].filter(([name]) => name !== "x-request-id").map(([name, value]) =>
      `${name}: ${value}`
    )
    return [answer.status, ...headers, answer.text].join("\n")
  }

  it("tells nothing by the answer", async () => {
    const answers = new Set([await seen("unknown"), await seen("wrong"), await seen("banned")])
    expect(answers.size).toBe(1)
    expect([...answers][0]).toContain("INVALID_EMAIL_OR_PASSWORD")
  })

  it("tells nothing by the way it takes: the database is asked the same", async () => {
    const statements = async (kind: Kind): Promise<readonly string[]> => {
      const texts: string[] = []
      const { pool } = stage.store
      const spied = stage.instance({
        database: {
          connect: async () => {
            const client = await pool.connect()
            return {
              query: (...given: unknown[]) => {
                texts.push(String(given[0]).replaceAll(/\s+/g, " ").slice(0, 200))
                return (client.query as (...all: unknown[]) => unknown)(...given)
              },
              release: () => client.release()
            } as never
          },
          end: () => Promise.resolve()
        }
      })
      await attempt(kind, spied)
      texts.length = 0
      await attempt(kind, spied)
      return texts
    }
    const unknown = await statements("unknown")
    expect(unknown.length).toBeGreaterThan(2)
    expect(await statements("banned")).toEqual(unknown)
    // The same number of statements, which all are look-ups by key.
    expect(await statements("wrong")).toHaveLength(unknown.length)
  })

  it("tells nothing by the time of two hundred tries", async () => {
    const names = ["unknown", "wrong", "banned"] as const
    const times: Record<(typeof names)[number], number[]> = { unknown: [], wrong: [], banned: [] }
    // An eighth of the real cost of hashing: quicker, and what else differs weighs eight times as much.
    divideHashing(8)
    try {
      for (const kind of names) await attempt(kind)
      // In rounds, each in another order and three at once, so that whatever else the machine does meets all kinds alike.
      for (let round = 0; round < 67; round += 1) {
        const order = names.map((_, index) => names[(index + round) % 3] ?? "wrong")
        await Promise.all(order.map(async (kind) => {
          const started = performance.now()
          await attempt(kind)
          times[kind].push(performance.now() - started)
        }))
      }
    } finally {
      divideHashing(16)
    }
    // How often one kind is slower than another, over all pairs: a half says nothing, nearly one or none tells them apart.
    const slower = (one: readonly number[], other: readonly number[]): number =>
      one.flatMap((a) => other.map((b) => a > b ? 1 : a === b ? 0.5 : 0)).reduce((sum: number, each) => sum + each, 0)
      / (one.length * other.length)
    for (const [one, other] of [["unknown", "wrong"], ["unknown", "banned"], ["wrong", "banned"]] as const) {
      const share = slower(times[one], times[other])
      expect(share, `${one} slower than ${other}`).toBeGreaterThan(0.2)
      expect(share, `${one} slower than ${other}`).toBeLessThan(0.8)
    }
  })
})

it("nothing of this is in the log, but what happened is", () => {
  const { found, seen } = stage.leaks()
  expect(seen).toBeGreaterThan(10)
  expect(found).toEqual([])
  expect(stage.log()).not.toContain("@example.org")
  expect(stage.log()).not.toContain("198.51.100.7")
  const names = new Set(stage.events.map(({ event }) => event))
  expect([...names].toSorted()).toEqual([
    "account-banned",
    "account-created",
    "password-change-failed",
    "sign-in-failed",
    "sign-in-limited",
    "sign-in-ok"
  ])
  const failed = stage.events.find(({ event }) => event === "sign-in-failed")
  expect(failed).toEqual({
    level: "warn",
    event: "sign-in-failed",
    method: "password",
    client: expect.stringMatching(/^[\w-]{16}$/),
    account: expect.stringMatching(/^[\w-]{16}$/)
  })
})
