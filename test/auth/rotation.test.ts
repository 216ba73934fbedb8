/**
 * Another secret takes the place of the first, with several instances on one database: all learn both, all switch, what is stored is sealed again, and the
 * old secret goes. Whoever was signed in stays so.
 */

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { createKey } from "../../adapters/auth/api-keys.ts"
import type { Auth } from "../../adapters/auth/auth.ts"
import { builtInAuthenticator } from "../../adapters/auth/built-in.ts"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { resealAccounts } from "../../adapters/auth/reseal.ts"
import { createUser } from "../../adapters/auth/users.ts"
import { codeAt, holdHalfMinute } from "../support/totp.ts"
import { ask, bearer, cookiesOf, openStore, password, sessionOf, signIn, type Store } from "./store.ts"

const [old, next] = ["the old secret, of thirty-two letters", "the next secret, of thirty-two letters"]
const email = "ann@example.org"

let store: Store
let date: Disposable
/** Before the rotation; knowing both; after the switch. */
let before: Auth
let knowing: Auth
let switched: Auth
const settings = { twoFactor: true, roles: ["user"], defaultRole: "user" }
/** A process that starts after the old secret is gone. */
const started = (): Auth => store.instance({ ...settings, secret: next, onError: () => {} })

const post = (auth: Auth, path: string, cookie: string | undefined, body: unknown) =>
  ask(auth, "POST", path, { cookie, body })
const tokenStatus = async (auth: Auth, cookie: string) => (await ask(auth, "GET", "/token", { cookie })).status
const opens = async (auth: Auth, key: string): Promise<boolean> => {
  try {
    await builtInAuthenticator({ auth })(bearer(key))
    return true
  } catch {
    return false
  }
}

beforeAll(async () => {
  date = holdHalfMinute()
  store = await openStore(authMigrationSql({ schema: "auth", twoFactor: true }))
  before = store.instance({ ...settings, secret: old })
  knowing = store.instance({ ...settings, secret: [old, next] })
  switched = store.instance({ ...settings, secret: [next, old] })
  await createUser(before, { email: "admin@example.org", password })
  await createUser(before, { email, password, role: "user" })
})
afterAll(async () => {
  date[Symbol.dispose]()
  await store[Symbol.asyncDispose]()
})

/** Sets up a second factor at one instance; gives what an app and a person then have. */
const guarded = async (auth: Auth, address: string) => {
  const cookie = await sessionOf(auth, address)
  const enabled = await post(auth, "/two-factor/enable", cookie, { password })
  const uri = String(enabled.body?.["totpURI"])
  const codes = enabled.body?.["backupCodes"] as readonly string[]
  const done = await post(auth, "/two-factor/verify-totp", cookie, { code: codeAt(uri, -1) })
  expect(done.status, done.text).toBe(200)
  return { uri, codes, session: cookiesOf(done) }
}

/** Whether a code is good at an instance, for a sign-in that begins there. */
const passes = async (auth: Auth, kind: "totp" | "backup-code", code: string, trustDevice = false) =>
  post(auth, `/two-factor/verify-${kind}`, cookiesOf(await signIn(auth, email)), { code, trustDevice })

describe("a rotation of the secret", () => {
  it("signs nobody out, takes no factor, and ends no API key", async () => {
    const { codes, session, uri } = await guarded(before, email)
    const key = (await createKey(before, { email, name: "script", role: "user" })).text
    const trusting = await passes(before, "totp", codeAt(uri), true)
    const device = cookiesOf(trusting).split("; ").find((each) => each.includes("trust_device"))

    // Instances that know both, whichever is first, and whoever began what.
    for (const auth of [before, knowing, switched]) {
      expect(await tokenStatus(auth, session)).toBe(200)
      expect(await opens(auth, key)).toBe(true)
    }
    const begunLate = await sessionOf(switched, "admin@example.org")
    expect(await tokenStatus(knowing, begunLate)).toBe(200)
    expect(await tokenStatus(before, begunLate)).toBe(401)
    expect((await passes(switched, "backup-code", codes[0]!)).status).toBe(200)
    // A used code is used, whichever secret has sealed the rest.
    expect((await passes(knowing, "backup-code", codes[0]!)).status).toBe(401)
    expect((await passes(knowing, "backup-code", codes[1]!)).status).toBe(200)
    // A code that was used at one instance is used at all of them.
    expect((await passes(switched, "totp", codeAt(uri))).status).not.toBe(200)
    const waiting = cookiesOf(await signIn(knowing, email))
    expect((await post(switched, "/two-factor/verify-totp", waiting, { code: codeAt(uri, 1) })).status).toBe(200)
    const trusted = await ask(switched, "POST", "/sign-in/email", { cookie: device, body: { email, password } })
    expect(trusted.body).not.toHaveProperty("twoFactorRedirect")
    const renewed = cookiesOf(trusted)

    // Without the old secret nothing of it is good, as long as nothing was sealed again.
    const early = started()
    expect(await tokenStatus(early, session)).toBe(401)
    expect(await opens(early, key)).toBe(false)
    expect((await passes(early, "totp", codeAt(uri))).status).not.toBe(200)
    // The key that signs tokens is still sealed with the old one.
    expect(await tokenStatus(early, begunLate)).not.toBe(200)

    expect(await resealAccounts(switched, false)).toMatchObject({
      signingKeys: { first: 0, accepted: 1, none: 0 },
      secondFactors: { first: 0, accepted: 2, none: 0 },
      apiKeys: expect.stringMatching(/^20\d\d-.*Z$/)
    })
    for (let again = 0; again < 2; again++) {
      expect(await resealAccounts(switched, true)).toMatchObject({
        signingKeys: { first: 1, accepted: 0, none: 0 },
        secondFactors: { first: 2, accepted: 0, none: 0 }
      })
    }
    // Those with the other order go on, too, until they have switched.
    expect(await tokenStatus(knowing, begunLate)).toBe(200)

    // A session that is used gets a cookie of the next secret within a day.
    vi.setSystemTime(Date.now() + 25 * 3_600_000)
    const refreshed = cookiesOf(await ask(switched, "GET", "/get-session", { cookie: session }))
    const late = started()
    expect(await tokenStatus(late, begunLate)).toBe(200)
    expect(await opens(late, key)).toBe(true)
    expect(await opens(late, `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`)).toBe(false)
    expect((await passes(late, "totp", codeAt(uri))).status).toBe(200)
    expect((await passes(late, "backup-code", codes[2]!)).status).toBe(200)
    const again = await ask(late, "POST", "/sign-in/email", { cookie: renewed, body: { email, password } })
    expect(again.body).not.toHaveProperty("twoFactorRedirect")
    expect(await Promise.all([refreshed, session].map((cookie) => tokenStatus(late, cookie)))).toEqual([200, 401])
  })

  it("takes no cookie and no key of a secret that nobody accepts", async () => {
    const stranger = store.instance({
      ...settings,
      secret: "a secret of somebody else, long enough",
      onError: () => {}
    })
    const cookie = await sessionOf(stranger, "admin@example.org")
    expect(await tokenStatus(switched, cookie)).toBe(401)
    const key = (await createKey(stranger, { email, name: "theirs", role: "user" })).text
    expect(await opens(switched, key)).toBe(false)
  })

  it("makes signing keys that every instance reads which knows both", async () => {
    await store.pool.query(`delete from auth."jwks"`)
    const [one, two] = [
      store.instance({ ...settings, secret: [next, old] }),
      store.instance({ ...settings, secret: [old, next] })
    ]
    const cookie = await sessionOf(one, "admin@example.org")
    expect(await Promise.all([one, two].map((auth) => tokenStatus(auth, cookie)))).toEqual([200, 200])
    expect((await store.pool.query(`select 1 from auth."jwks"`)).rowCount).toBe(1)
  })
})
