/** Second factors from setting up to losing them, and what somebody tries who has the password but not the phone. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { resetSecondFactor, revokeUser, setUserBanned } from "../../adapters/auth/users.ts"
import { codeOf } from "../auth/store.ts"
import { codeAt, holdHalfMinute } from "../support/totp.ts"
import { type Got, type Instance, openStage, password, type Stage } from "./stage.ts"

let stage: Stage
let service: Instance
let count = 0
let date: Disposable

beforeAll(async () => {
  date = holdHalfMinute()
  stage = await openStage()
  service = stage.instance()
  await stage.account(service.auth, "admin")
})

afterAll(async () => {
  date[Symbol.dispose]()
  await stage[Symbol.asyncDispose]()
})

const post = (path: string, cookie: string, body: unknown, at = service, token?: string): Promise<Got> =>
  at.ask("POST", `/api/auth/two-factor/${path}`, { cookie, body, token })

const isSession = async (cookie: string): Promise<boolean> =>
  (await service.ask("GET", "/api/auth/token", { cookie })).status === 200

interface Guarded {
  readonly email: string
  readonly uri: string
  readonly recovery: readonly string[]
  readonly cookie: string
}

/** A user who has set up a second factor. */
const guarded = async (): Promise<Guarded> => {
  const email = await stage.account(service.auth, `two${count += 1}`, "reader")
  const first = await service.signIn(email)
  const enabled = await post("enable", first.cookie, { password })
  expect(enabled.status, enabled.text).toBe(200)
  const uri = String(enabled.body["totpURI"])
  const recovery = enabled.body["backupCodes"] as readonly string[]
  stage.keep(new URL(uri).searchParams.get("secret"))
  // The code of the half minute before is still good, and leaves the later ones for the tests.
  const verified = await post("verify-totp", first.cookie, { code: codeAt(uri, -1) })
  expect(verified.status, verified.text).toBe(200)
  return { email, uri, recovery, cookie: verified.cookie }
}

/** The cookie of a sign-in that waits for its second factor. */
const challenge = async (email: string): Promise<string> => {
  const answer = await service.signIn(email)
  expect(answer.body).toEqual({ twoFactorRedirect: true, twoFactorMethods: ["totp"] })
  expect(answer.cookie).not.toContain("session_token")
  return answer.cookie
}

describe("a second factor", () => {
  it("is off for whoever did not set it up, and does not exist where it is not configured", async () => {
    const email = await stage.account(service.auth, "plain", "reader")
    expect((await service.signIn(email)).cookie).toContain("session_token")
    const without = stage.instance({ twoFactor: false })
    const { cookie } = await without.signIn(email)
    // Whoever has a token learns that a path is none; all others learn nothing.
    const token = String((await without.ask("GET", "/api/auth/token", { cookie })).body["token"])
    for (
      const path of [
        "enable",
        "disable",
        "verify-totp",
        "verify-backup-code",
        "get-totp-uri",
        "generate-backup-codes",
        "send-otp",
        "verify-otp"
      ]
    ) {
      expect((await post(path, cookie, { password }, without)).status).toBe(401)
      expect((await post(path, cookie, { password }, without, token)).status).toBe(404)
    }
    expect(await codeOf(resetSecondFactor(without.auth, email))).toBe("no-second-factor")
    // Codes by mail are never on.
    for (const path of ["send-otp", "verify-otp", "view-backup-codes"]) {
      expect((await post(path, cookie, {}, service, token)).status).toBe(404)
    }
  })

  it("is asked for after the password, and the code opens the session and the API", async () => {
    const { email, uri } = await guarded()
    const waiting = await challenge(email)
    expect(await isSession(waiting)).toBe(false)
    const done = await post("verify-totp", waiting, { code: codeAt(uri) })
    expect(done.status, done.text).toBe(200)
    const token = (await service.ask("GET", "/api/auth/token", { cookie: done.cookie })).body["token"]
    expect(await service.read(String(token))).toBe(200)
  })

  it("takes each recovery code once", async () => {
    const { email, recovery } = await guarded()
    expect(recovery).toHaveLength(10)
    const [code = ""] = recovery
    expect(code.length).toBeGreaterThanOrEqual(12)
    const done = await post("verify-backup-code", await challenge(email), { code })
    expect(await isSession(done.cookie)).toBe(true)
    const again = await post("verify-backup-code", await challenge(email), { code })
    expect(again.status).toBe(401)
    expect(again.cookie).not.toContain("session_token")
    const stored = JSON.stringify(await stage.store.database.rows(`select secret, "backupCodes" from auth."twoFactor"`))
    for (const each of recovery) expect(stored).not.toContain(each)
  })

  it("takes two recovery codes that come at once in two instances, and the same one once", async () => {
    const { email, recovery } = await guarded()
    const other = stage.instance()
    const [one = "", two = "", same = "", last = ""] = recovery
    const waiting = [await challenge(email), await challenge(email), await challenge(email), await challenge(email)]
    const both = await Promise.all([
      post("verify-backup-code", waiting[0]!, { code: one }),
      post("verify-backup-code", waiting[1]!, { code: two }, other)
    ])
    expect(both.map(({ status, text }) => `${status} ${status === 200 ? "" : text}`)).toEqual(["200 ", "200 "])
    const twice = await Promise.all([
      post("verify-backup-code", waiting[2]!, { code: same }),
      post("verify-backup-code", waiting[3]!, { code: same }, other)
    ])
    expect(twice.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401])
    const loser = twice.findIndex(({ status }) => status === 401)
    expect(twice[loser]?.body["code"]).toBe("INVALID_BACKUP_CODE")
    // Its sign-in still waits.
    expect((await post("verify-backup-code", waiting[2 + loser]!, { code: last })).status).toBe(200)
  })

  it("needs the password to be set up, changed or taken away", async () => {
    const { cookie, email } = await guarded()
    const fresh = await service.signIn(await stage.account(service.auth, "fresh", "reader"))
    expect((await post("enable", fresh.cookie, { password: "wrong horse battery" })).status).toBe(400)
    expect((await post("enable", fresh.cookie, {})).status).toBe(400)
    for (const path of ["disable", "generate-backup-codes", "get-totp-uri"]) {
      for (const body of [{ password: "wrong horse battery" }, {}]) {
        expect((await post(path, cookie, body)).status).toBe(400)
      }
      expect((await post(path, "", { password })).status).toBe(401)
    }
    expect((await post("disable", cookie, { password })).status).toBe(200)
    expect((await service.signIn(email)).cookie).toContain("session_token")
  })

  it("can be reset on the host by who knows the user, which ends everything", async () => {
    const { cookie, email } = await guarded()
    await resetSecondFactor(service.auth, email)
    expect(await isSession(cookie)).toBe(false)
    expect((await service.signIn(email)).cookie).toContain("session_token")
    expect(await codeOf(resetSecondFactor(service.auth, "nobody@example.org"))).toBe("unknown-user")
  })
})

describe("with the password alone", () => {
  it("no route gives a session, token or anything of the account", async () => {
    const { email, uri } = await guarded()
    const waiting = await challenge(email)
    for (const path of ["/token", "/list-sessions", "/admin/list-users"]) {
      expect((await service.ask("GET", `/api/auth${path}`, { cookie: waiting })).status).toBe(401)
    }
    expect((await service.ask("GET", "/api/auth/get-session", { cookie: waiting })).text).toBe("null")
    for (
      const [path, body] of [
        ["disable", { password }],
        ["enable", { password }],
        ["get-totp-uri", { password }],
        ["generate-backup-codes", { password }],
        ["verify-totp", { code: "" }],
        ["verify-totp", { code: ["000000"] }],
        ["verify-totp", {}],
        ["verify-backup-code", { code: "", disableSession: true }]
      ] as const
    ) {
      expect((await post(path, waiting, body)).status, path).toBeGreaterThanOrEqual(400)
    }
    const again = await challenge(email)
    const forged = again.replace(/two_factor=[^;.]+/, "two_factor=2fa-forged")
    expect((await post("verify-totp", forged, { code: codeAt(uri) })).status).toBe(401)
  })

  it("a challenge takes five codes, an account ten in a row", async () => {
    const { email, uri } = await guarded()
    const statuses: number[] = []
    for (let round = 0; round < 2; round += 1) {
      const waiting = await challenge(email)
      for (let index = 0; index < 6; index += 1) {
        statuses.push((await post("verify-totp", waiting, { code: "000000" })).status)
      }
    }
    expect(statuses.slice(0, 6)).toEqual([401, 401, 401, 401, 401, 400])
    // The eleventh wrong code in a row never comes to be judged, nor does the right one.
    const locked = await post("verify-totp", await challenge(email), { code: codeAt(uri) })
    expect(locked.status, locked.text).toBe(429)
    expect(Number(locked.headers.get("retry-after"))).toBeGreaterThan(0)
  })

  it("many sign-ins that wait at once take no more codes of an account, from however many places", async () => {
    const { cookie, email } = await guarded()
    const waiting: string[] = []
    for (let index = 0; index < 24; index += 1) waiting.push(await challenge(email))
    const instances = [stage.instance({ signInPerMinute: 5 }), stage.instance({ signInPerMinute: 5 })]
    // A session of one's own beside the challenge, which its signature does not open, is nobody to count for.
    const own = (await service.signIn(await stage.account(service.auth, "guesser", "reader"))).cookie
    const guesses = waiting.map((each, place) =>
      (instances[place % 2] ?? service).ask("POST", "/api/auth/two-factor/verify-totp", {
        cookie: place % 3 === 0 ? `${own.replace(/\.[^.]*$/, ".x")}; ${each}` : each,
        from: `203.0.113.${place}`,
        body: { code: "000000" }
      })
    )
    const judged = (await Promise.all(guesses)).filter(({ body }) => body["code"] === "INVALID_CODE")
    expect(judged.length).toBeLessThanOrEqual(10)
    expect(await isSession(cookie)).toBe(true)
  })

  it("codes are limited per client, across two instances", async () => {
    const [one, two] = [stage.instance({ signInPerMinute: 3 }), stage.instance({ signInPerMinute: 3 })]
    const statuses: number[] = []
    for (let index = 0; index < 5; index += 1) {
      const at = index % 2 === 0 ? one : two
      const { status } = await at.ask("POST", "/api/auth/two-factor/verify-totp", {
        body: { code: "000000" },
        from: "198.51.100.20"
      })
      statuses.push(status)
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429])
  })

  it("a code that was seen is worth nothing: it works once", async () => {
    const { email, uri } = await guarded()
    const code = codeAt(uri, 1)
    const [first, second] = [await challenge(email), await challenge(email)]
    expect((await post("verify-totp", first, { code })).status).toBe(200)
    const replayed = await post("verify-totp", second, { code })
    expect(replayed.status).toBe(401)
    expect(replayed.body["code"]).toBe("INVALID_CODE")
    expect(replayed.headers.getSetCookie()).toEqual([])
    const [[sessions] = []] = await stage.store.database.rows(
      `select count(*) from auth."session" s join auth."user" u on u.id = s."userId" where u.email = '${email}'`
    )
    // The one of setting up and the one of the first use.
    expect(sessions).toBe("2")
  })

  it("a sign-in that waits dies with the account's ban, revocation or new password", async () => {
    const { email, uri } = await guarded()
    for (
      const change of [
        () => revokeUser(service.auth, email),
        () =>
          stage.store.database.execute(
            `update auth."account" set password = password || 'x' where "userId" = (select id from auth."user" where email = '${email}')`
          ),
        () => setUserBanned(service.auth, { email, banned: true })
      ]
    ) {
      if (change.toString().includes("Banned")) {
        await stage.store.database.execute(
          `update auth."account" set password = regexp_replace(password, 'x$', '') where "userId" = (select id from auth."user" where email = '${email}')`
        )
      }
      const waiting = await challenge(email)
      await change()
      const late = await post("verify-totp", waiting, { code: codeAt(uri, 1) })
      expect(late.status).toBe(401)
      expect(late.cookie).not.toContain("session_token")
    }
  })

  it("a trusted device is forgotten with a new password", async () => {
    const { email, uri } = await guarded()
    const done = await post("verify-totp", await challenge(email), { code: codeAt(uri), trustDevice: true })
    const device = done.cookie.split("; ").find((each) => each.includes("trust_device")) ?? ""
    const body = { email, password }
    const trusted = await service.ask("POST", "/api/auth/sign-in/email", { cookie: device, body })
    expect(trusted.cookie).toContain("session_token")
    const renewed = trusted.cookie.split("; ").find((each) => each.includes("trust_device")) ?? ""
    await revokeUser(service.auth, email)
    const after = await service.ask("POST", "/api/auth/sign-in/email", { cookie: renewed, body })
    expect(after.body["twoFactorRedirect"]).toBe(true)
    // Somebody else's device is nobody's second factor.
    const other = await guarded()
    const foreign = await service.ask("POST", "/api/auth/sign-in/email", {
      cookie: renewed,
      body: { email: other.email, password }
    })
    expect(foreign.body["twoFactorRedirect"]).toBe(true)
  })

  it("a device that was trusted with one factor is not trusted with the next", async () => {
    const { cookie, email, uri } = await guarded()
    const done = await post("verify-totp", await challenge(email), { code: codeAt(uri), trustDevice: true })
    const device = done.cookie.split("; ").find((each) => each.includes("trust_device")) ?? ""
    const off = await post("disable", cookie, { password })
    expect(off.status, off.text).toBe(200)
    const enabled = await post("enable", off.cookie, { password })
    const on = await post("verify-totp", off.cookie, { code: codeAt(String(enabled.body["totpURI"])) })
    expect(on.status, on.text).toBe(200)
    const after = await service.ask("POST", "/api/auth/sign-in/email", { cookie: device, body: { email, password } })
    expect(after.body["twoFactorRedirect"]).toBe(true)
  })
})

it("nothing of this is in the log, but what happened is", () => {
  const { found, seen } = stage.leaks()
  expect(seen).toBeGreaterThan(100)
  // Six digits may stand in any number; longer secrets may not stand anywhere.
  expect(found.filter((each) => !/^\d{6}$/.test(each))).toEqual([])
  const names = new Set(stage.events.map(({ event }) => event))
  for (
    const name of [
      "second-factor-on",
      "second-factor-off",
      "second-factor-wanted",
      "second-factor-failed",
      "sign-in-ok"
    ] as const
  ) {
    expect(names).toContain(name)
  }
  expect(stage.events.some(({ event, method }) => event === "sign-in-ok" && method === "totp")).toBe(true)
  expect(stage.events.some(({ event, method }) => event === "sign-in-ok" && method === "recovery-code")).toBe(true)
})
