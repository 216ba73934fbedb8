import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Auth } from "../../adapters/auth/auth.ts"
import { builtInAuthenticator } from "../../adapters/auth/built-in.ts"
import { createUser, issueToken, listUsers, setUserBanned, setUserPassword } from "../../adapters/auth/users.ts"
import { codeOf, identify, openStore, password, sessionOf, signIn, type Store } from "./store.ts"

const email = "ann@example.org"
const other = "another long password"

let store: Store
let auth: Auth
beforeAll(async () => {
  store = await openStore()
  auth = store.instance()
})
afterAll(() => store[Symbol.asyncDispose]())
beforeEach(async () => {
  await store.database.execute(`truncate auth."user", auth.attempt cascade`)
  await createUser(auth, { email, password })
})

/** Sessions of everybody, and the passwords that accounts have. */
const counts = async () =>
  (await store.database.rows(
    `select (select count(*) from auth.session), (select count(*) from auth.account where "providerId" = 'credential')`
  ))[0]

describe("setUserPassword", () => {
  it("replaces the old one, in any case of the address, and ends sessions and tokens", async () => {
    await sessionOf(auth, email)
    const { token } = await issueToken(auth, { email })
    const authenticate = builtInAuthenticator({ auth })
    expect(await identify(authenticate, token)).toMatchObject({ user: { roles: ["admin"] } })
    expect(await setUserPassword(auth, { email: " Ann@Example.org", password: other })).toMatchObject({ email })
    expect(await counts()).toEqual(["0", "1"])
    await expect.poll(() => identify(authenticate, token)).toBe("Unauthorized")
    expect((await signIn(auth, email)).status).toBe(401)
    expect((await signIn(auth, email, other)).status).toBe(200)
    expect(await identify(authenticate, (await issueToken(auth, { email })).token)).toHaveProperty("user")
  })

  it("gives one to an account that came by an identity provider, and ends what that opened", async () => {
    await sessionOf(auth, email)
    await store.database.execute(`update auth.account set "providerId" = 'corp', "password" = null`)
    const before = (await store.database.rows(`select "tokenEpoch" from auth."user"`))[0]?.[0]
    await setUserPassword(auth, { email, password: other })
    expect(await counts()).toEqual(["0", "1"])
    expect(Number((await store.database.rows(`select "tokenEpoch" from auth."user"`))[0]?.[0])).toBe(Number(before) + 1)
    expect((await signIn(auth, email, other)).status).toBe(200)
  })

  it("makes one password when several are the first at once", async () => {
    await store.database.execute("delete from auth.account")
    const instances = [auth, store.instance()]
    await Promise.all(
      Array.from(
        { length: 8 },
        (_, n) => setUserPassword(instances[n % 2] ?? auth, { email, password: `${other} ${n}` })
      )
    )
    expect(await counts()).toEqual(["0", "1"])
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => signIn(auth, email, `${other} ${n}`)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it("lifts no ban", async () => {
    await createUser(auth, { email: "bob@example.org", password })
    await setUserBanned(auth, { email: "bob@example.org", banned: true })
    expect(await setUserPassword(auth, { email: "bob@example.org", password: other })).toMatchObject({ banned: true })
    expect((await signIn(auth, "bob@example.org", other)).status).toBe(401)
  })

  it.each([
    ["nobody@example.org", other, "unknown-user"],
    ["ann", other, "invalid-email"],
    [email, "elevenchars", "weak-password"],
    [email, "x".repeat(129), "long-password"]
  ])("refuses %s with %s", async (address, word, code) => {
    expect(await codeOf(setUserPassword(auth, { email: address, password: word }))).toBe(code)
    expect(await listUsers(auth)).toHaveLength(1)
    expect((await signIn(auth, email)).status).toBe(200)
  })

  it("is an event with the user's id and nothing else", async () => {
    const events: unknown[] = []
    const told = store.instance({ log: (entry) => events.push(entry) })
    const { id } = await setUserPassword(told, { email, password: other })
    expect(events).toEqual([{ level: "info", event: "password-set", user: id }])
  })
})
