/** API keys: what they open, what they follow, how they end, and what does not get past them. */

import { createHash } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { createKey, listKeys, revokeKey } from "../../adapters/auth/api-keys.ts"
import { builtInAuthenticator } from "../../adapters/auth/built-in.ts"
import { hashOfKey } from "../../adapters/auth/key-text.ts"
import { deleteUser, issueToken, revokeUser, setUserBanned, setUserRole } from "../../adapters/auth/users.ts"
import { readKeyText } from "../../core/domain/account/api-key.ts"
import { bearer, codeOf, passesUntil } from "../auth/store.ts"
import { holdClock } from "../support/clock.ts"
import { type Instance, openStage, type Stage } from "./stage.ts"

let stage: Stage
let one: Instance
let two: Instance
let count = 0

beforeAll(async () => {
  stage = await openStage()
  one = stage.instance()
  two = stage.instance()
  await stage.account(one.auth, "admin")
})

afterAll(() => stage[Symbol.asyncDispose]())

/** A user with the roles and a key of theirs. */
const made = async (role = "reader", held = role) => {
  const email = await stage.account(one.auth, `maker${count += 1}`, held)
  const key = await createKey(one.auth, { email, name: "import", role })
  stage.keep(key.text)
  return { email, key, text: key.text }
}

/** Milliseconds until every one of these, in constant use, is answered as it should be. */
const answeredAfter = (
  ...wanted: ReadonlyArray<readonly [at: Instance, token: string, status: number]>
): Promise<number> =>
  passesUntil([one.auth, two.auth], async () => {
    const answers = await Promise.all(wanted.map(async ([at, token, status]) => await at.read(token) === status))
    return answers.every((each) => each)
  })

/** When the key was last used, as its list says, once that has been noted: the note is written beside the answer. */
const notedUse = (email: string) =>
  vi.waitFor(async () => {
    const [listed] = await listKeys(one.auth, email)
    expect(listed?.lastUsedAt).toBeInstanceOf(Date)
    return listed
  }, { timeout: 60_000 })

describe("a key", () => {
  it("opens the API as its maker, is kept as a hash alone, and is shown once", async () => {
    const { email, key, text } = await made()
    expect(text).toMatch(/^sk_[0-9a-f]{16}_[A-Za-z0-9_-]{48}$/)
    expect([await one.read(text), await two.read(text)]).toEqual([200, 200])
    const listed = await notedUse(email)
    expect(listed).toEqual({
      id: readKeyText(text)?.id,
      name: "import",
      email,
      role: "reader",
      createdAt: expect.any(Date),
      expiresAt: expect.any(Date),
      revokedAt: null,
      lastUsedAt: expect.any(Date)
    })
    expect(key.expiresAt.getTime() - Date.now()).toBeGreaterThan(89 * 86_400_000)
    const stored = JSON.stringify(await stage.store.database.rows(`select * from auth."apiKey"`))
    expect(stored).not.toContain(text)
    expect(stored).not.toContain(readKeyText(text)?.secret)
    expect(stored).toContain(createHash("sha256").update(text).digest("hex"))
  })

  it("acts as its maker where rows have owners, and says nothing of itself", async () => {
    const { text } = await made("writer")
    const mine = await one.ask("POST", "/api/v1/notes", { token: text, body: { text: "x" } })
    expect(mine.status).toBe(201)
    const [[id] = []] = await stage.store.database.rows(
      `select "userId" from auth."apiKey" where id = '${readKeyText(text)?.id}'`
    )
    expect(mine.body["owner"]).toBe(id)
    // Not "sk_" alone: what is random may have that in it.
    expect(mine.text).not.toMatch(/sk_[0-9a-f]{8}/)
    expect(mine.text).not.toContain(readKeyText(text)?.secret)
  })

  it("is known without a query and without a promise, and notes its use once a minute", async () => {
    const { email, text } = await made()
    await one.read(text)
    const before = await notedUse(email)
    using _clock = holdClock()
    const query = vi.spyOn(one.auth.internals.store, "query")
    for (let index = 0; index < 50; index += 1) expect(await one.read(text)).toBe(200)
    expect(query.mock.calls.filter(([statement]) => /apiKey/.test(String(statement)))).toEqual([])
    query.mockRestore()
    const authenticator = builtInAuthenticator({ auth: one.auth })
    const request = bearer(text)
    const identity = await authenticator(request)
    expect(authenticator(request)).toBe(identity)
    // Another instance that meets the key within the minute leaves the note alone.
    const noted = vi.spyOn(two.auth.internals.store, "query")
    await two.read(text)
    const update = noted.mock.calls.findIndex(([statement]) => String(statement).startsWith("update"))
    expect(await noted.mock.results[update]?.value).toEqual([])
    noted.mockRestore()
    expect((await listKeys(one.auth, email))[0]?.lastUsedAt).toEqual(before?.lastUsedAt)
    expect(stage.events.filter(({ event, key }) => event === "key-used-first" && key === before?.id)).toHaveLength(1)
  })

  it("never gets wider than its maker", async () => {
    const maker = await stage.account(one.auth, "narrow", "reader,user")
    const wanted = (role: string) => codeOf(createKey(one.auth, { email: maker, name: "x", role }))
    expect(await wanted("admin")).toBe("role-not-held")
    expect(await wanted("writer")).toBe("role-not-held")
    expect(await wanted("reader,admin")).toBe("role-not-held")
    expect(await wanted("boss")).toBe("unknown-role")
    expect(await wanted("")).toBe("role-required")
    expect(await wanted("reader")).toBe("done")
    expect(await codeOf(createKey(one.auth, { email: "admin@example.org", name: "x", role: "reader" }))).toBe("done")
  })

  it.each<[string, Partial<Parameters<typeof createKey>[1]>, string]>([
    ["an unknown user", { email: "nobody@example.org" }, "unknown-user"],
    ["no name", { name: " " }, "invalid-name"],
    ["no end", { expires: "never" }, "invalid-expiry"],
    ["an end far away", { expires: "10000d" }, "invalid-expiry"],
    ["an end in the past", { expires: new Date(0) }, "invalid-expiry"]
  ])("is not made for %s", async (_, wanted, code) => {
    expect(await codeOf(createKey(one.auth, { email: "admin@example.org", name: "x", role: "reader", ...wanted })))
      .toBe(code)
  })

  it("opens nothing on the auth routes", async () => {
    const key = await createKey(one.auth, { email: "admin@example.org", name: "x", role: "admin" })
    expect(await one.read(key.text)).toBe(200)
    for (const path of ["/api/auth/token", "/api/auth/admin/list-users", "/api/auth/list-sessions"]) {
      expect((await one.ask("GET", path, { token: key.text })).status).toBe(401)
      expect((await one.ask("GET", path, { cookie: `service.session_token=${key.text}` })).status).toBe(401)
    }
  })
})

describe("a key in use stops in both instances within two seconds", () => {
  it("of its revocation, and of its maker's ban, deletion or loss of the role", async () => {
    const changes: ReadonlyArray<readonly [number, (it: Awaited<ReturnType<typeof made>>) => Promise<unknown>]> = [
      [401, ({ key }) => revokeKey(one.auth, key.id)],
      [401, ({ email }) => setUserBanned(one.auth, { email, banned: true })],
      [401, ({ email }) => deleteUser(one.auth, email)],
      // A valid credential that may do nothing any more.
      [403, ({ email }) => setUserRole(one.auth, { email, role: "user" })],
      [401, ({ key }) => stage.store.database.execute(`delete from auth."apiKey" where id = '${key.id}'`)],
      [
        401,
        ({ key }) => stage.store.database.execute(`update auth."apiKey" set "expiresAt" = now() where id = '${key.id}'`)
      ]
    ]
    const keys = await Promise.all(changes.map(() => made()))
    for (const { text } of keys) expect([await one.read(text), await two.read(text)]).toEqual([200, 200])
    for (const [index, [, change]] of changes.entries()) await change(keys[index] as Awaited<ReturnType<typeof made>>)
    const wanted = keys.flatMap(({ text }, index) => {
      const status = changes[index]?.[0] ?? 0
      return [[one, text, status], [two, text, status]] as const
    })
    expect(await answeredAfter(...wanted)).toBeLessThan(2_000)
  })

  it("and comes back with its maker, but not after a revocation", async () => {
    const { email, key, text } = await made()
    expect(await two.read(text)).toBe(200)
    await setUserBanned(one.auth, { email, banned: true })
    expect(await answeredAfter([two, text, 401])).toBeLessThan(2_000)
    await setUserBanned(one.auth, { email, banned: false })
    expect(await answeredAfter([two, text, 200])).toBeLessThan(2_000)
    // Ended sessions and tokens say nothing about keys: those are revoked by their own command.
    const { token } = await issueToken(one.auth, { email })
    expect(await two.read(token)).toBe(200)
    await revokeUser(one.auth, email)
    expect(await answeredAfter([two, token, 401])).toBeLessThan(2_000)
    expect(await two.read(text)).toBe(200)
    await revokeKey(one.auth, key.id)
    expect(await answeredAfter([two, text, 401])).toBeLessThan(2_000)
    expect((await listKeys(one.auth, email))[0]?.revokedAt).toBeInstanceOf(Date)
    expect((await revokeKey(one.auth, key.id)).id).toBe(key.id)
    expect(await codeOf(revokeKey(one.auth, "0000000000000000"))).toBe("unknown-key")
  })

  it("keeps only the roles its maker still has", async () => {
    const { email, text } = await made("reader,writer")
    expect((await one.ask("POST", "/api/v1/notes", { token: text, body: {} })).status).toBe(201)
    await setUserRole(one.auth, { email, role: "reader" })
    const narrowed = await passesUntil(
      [one.auth],
      async () => (await one.ask("POST", "/api/v1/notes", { token: text, body: {} })).status === 403
    )
    expect(narrowed).toBeLessThan(2_000)
    expect(await one.read(text)).toBe(200)
  })
})

describe("what is no key", () => {
  it("is refused without asking the database, however much of it comes", async () => {
    const { text } = await made()
    await one.read(text)
    const other = readKeyText((await made()).text)
    const parts = readKeyText(text)
    if (parts === null || other === null) throw new Error("no key")
    const { id, seal, secret } = parts
    const query = vi.spyOn(one.auth.internals.store, "query")
    const guesses = [
      `sk_${id}_${"A".repeat(48)}`,
      `sk_${id}_${other.secret}${seal}`,
      `sk_${other.id}_${secret}${seal}`,
      `sk_${id}_${secret}${other.seal}`,
      `sk_${id}_${secret}`,
      `sk_${id}_`,
      `sk_${id}`,
      `sk_'; drop table auth."apiKey"; --_${secret}${seal}`,
      // An id may happen to have no letter.
      `sk_${/[a-f]/.test(id) ? id.toUpperCase() : `${id}A`}_${secret}${seal}`,
      `${text}x`,
      `${text}\t`,
      text.slice(3),
      hashOfKey(text),
      ...Array.from({ length: 200 }, (_, index) => `sk_${index.toString(16).padStart(16, "0")}_${"B".repeat(48)}`)
    ]
    for (const guess of guesses) expect(await one.read(guess), guess).toBe(guess === `${text}\t` ? 200 : 401)
    expect(query.mock.calls.filter(([statement]) => /apiKey/.test(String(statement)))).toEqual([])
    query.mockRestore()
    expect(await one.read(text)).toBe(200)
  })

  it("cannot be judged while the database is away: that is a 503, and known keys go on", async () => {
    const [known, unknown] = [await made(), await made()]
    expect(await one.read(known.text)).toBe(200)
    const away = vi.spyOn(one.auth.internals.store, "query").mockRejectedValue(
      Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
    )
    expect(await one.read(unknown.text)).toBe(503)
    expect(await one.read(known.text)).toBe(200)
    away.mockRestore()
    expect(await one.read(unknown.text)).toBe(200)
  })

  it("is a key of another deployment, or one at an API without accounts", async () => {
    const { text } = await made()
    const other = stage.instance({ secret: "another secret of thirty-two characters" })
    expect(await other.read(text)).toBe(401)
    const api = stage.apart({ jwksUrl: "http://127.0.0.1:9/jwks", issuer: "http://localhost:5173" })
    expect(await api.read(text)).toBe(401)
  })
})

it("nothing of this is in the log, but what happened is", () => {
  const { found, seen } = stage.leaks()
  expect(seen).toBeGreaterThan(100)
  expect(found).toEqual([])
  const names = new Set(stage.events.map(({ event }) => event))
  for (const name of ["key-created", "key-revoked", "key-used-first"] as const) expect(names).toContain(name)
})
