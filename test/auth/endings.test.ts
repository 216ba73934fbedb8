// What each change of an account ends, whoever makes it: the host, a route, SQL by hand. The table of the domain says what, and the store must do it.
import { randomUUID } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import type { Auth } from "../../adapters/auth/auth.ts"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import {
  createUser,
  deleteUser,
  removePasskeys,
  resetSecondFactor,
  revokeUser,
  setUserBanned,
  setUserPassword,
  setUserRole
} from "../../adapters/auth/users.ts"
import { type AccountChange, type CredentialKind, endings } from "../../core/domain/account/ending.ts"
import { codeAt } from "../support/totp.ts"
import { ask, cookiesOf, openStore, password, sessionOf, type Store } from "./store.ts"

let store: Store
let auth: Auth
let admin: string
const other = "another good password"

beforeAll(async () => {
  store = await openStore(authMigrationSql({ schema: "auth", twoFactor: true, passkeys: true }))
  auth = store.instance({ twoFactor: true, passkeys: true, roles: ["sales", "user"], defaultRole: "user" })
  await createUser(auth, { email: "admin@example.org", password })
  admin = await sessionOf(auth, "admin@example.org")
})
afterAll(() => store[Symbol.asyncDispose]())

interface Person {
  readonly id: string
  readonly email: string
}

let people = 0
const person = async (): Promise<Person> => {
  const email = `p${people++}@example.org`
  const { id } = await createUser(auth, { email, password })
  return { id, email }
}

const sql = async (text: string, values: readonly unknown[] = []) => (await store.pool.query(text, [...values])).rows

/** Gives somebody one of each: a session on another device, a sign-in that waits, a trusted device and a link. Who is banned gets no session. */
const equip = async (id: string): Promise<void> => {
  const rows = ["2fa-", "trust-device-", "link-reset-"].map((kind) => `${kind}${randomUUID()}`)
  await sql(
    `insert into auth."verification" ("id", "identifier", "value", "expiresAt")`
      + ` select gen_random_uuid()::text, i, $1, now() + interval '1 hour' from unnest($2::text[]) i`,
    [id, rows]
  )
  await sql(
    `insert into auth."session" ("id", "expiresAt", "token", "updatedAt", "userId")`
      + ` select $2, now() + interval '1 hour', 'other ' || $2, now(), $1 where not (select "banned" from auth."user" where "id" = $1)`,
    [id, randomUUID()]
  )
}

/** What somebody holds, and by which epoch their tokens are judged. */
const held = async (id: string) => {
  const [user] = await sql(`select "tokenEpoch"::text as epoch from auth."user" where "id" = $1`, [id])
  const [row] = await sql(
    `select exists (select 1 from auth."session" where "userId" = $1 and "token" like 'other %') as sessions,`
      + [["waiting", "2fa-"], ["devices", "trust-device-"], ["links", "link-"]].map(([name, kind]) =>
        ` exists (select 1 from auth."verification" where "value" = $1 and "identifier" like '${kind}%') as ${name}`
      ).join(","),
    [id]
  )
  const names = (["sessions", "waiting", "devices", "links"] as const).filter((name) => row[name])
  return { names, epoch: user?.epoch as string | undefined }
}

/** What a change ended of all that somebody held. */
const endedBy = async ({ id }: Person, change: () => Promise<unknown>) => {
  await equip(id)
  const before = await held(id)
  await change()
  const after = await held(id)
  const gone: readonly CredentialKind[] = before.names.filter((name) => !after.names.includes(name))
  return {
    before: before.names,
    ended: new Set<CredentialKind>([...gone, ...(after.epoch === before.epoch ? [] : ["tokens" as const])])
  }
}

const admins = (path: string, body: (to: Person) => object) => async (to: Person) => {
  const answer = await ask(auth, "POST", `/admin/${path}`, { cookie: admin, body: { userId: to.id, ...body(to) } })
  expect(answer.status, answer.text).toBe(200)
}

const byHand = (text: string) => (to: Person) => sql(text, [to.id])

const banned = byHand(`update auth."user" set "banned" = true where "id" = $1`)
const withoutPassword = byHand(`delete from auth."account" where "userId" = $1`)

type Act = (to: Person) => Promise<unknown>

type Case = readonly [change: AccountChange, by: string, make: Act, first?: Act]

const cases: readonly Case[] = [
  ["address", "a route", admins("update-user", ({ id }) => ({ data: { email: `${id.toLowerCase()}@example.net` } }))],
  ["address", "hand", byHand(`update auth."user" set "email" = 'new-' || "email" where "id" = $1`)],
  ["ban", "the host", ({ email }) => setUserBanned(auth, { email, banned: true })],
  ["ban", "a route", admins("ban-user", () => ({}))],
  ["ban", "a route for fields", admins("update-user", () => ({ data: { banned: true } }))],
  ["ban", "hand", banned],
  ["unban", "the host", ({ email }) => setUserBanned(auth, { email, banned: false }), banned],
  ["unban", "a route", admins("unban-user", () => ({})), banned],
  ["role", "the host", ({ email }) => setUserRole(auth, { email, role: "sales" })],
  ["role", "a route", admins("set-role", () => ({ role: "sales" }))],
  ["role", "hand", byHand(`update auth."user" set "role" = 'sales' where "id" = $1`)],
  ["password", "the host", ({ email }) => setUserPassword(auth, { email, password: other })],
  ["password", "a route", admins("set-user-password", () => ({ newPassword: other }))],
  ["password", "its owner", async ({ email }) => {
    const cookie = await sessionOf(auth, email)
    const body = { currentPassword: password, newPassword: other }
    expect((await ask(auth, "POST", "/change-password", { cookie, body })).status).toBe(200)
  }],
  [
    "password",
    "the host, as the first one",
    ({ email }) => setUserPassword(auth, { email, password: other }),
    withoutPassword
  ],
  [
    "password",
    "a route, as the first one",
    admins("set-user-password", () => ({ newPassword: other })),
    withoutPassword
  ],
  ["factor-taken", "the host", ({ email }) => resetSecondFactor(auth, email)],
  ["factor-taken", "a route", admins("reset-second-factor", () => ({}))],
  ["passkeys-taken", "the host", ({ email }) => removePasskeys(auth, email)],
  ["passkeys-taken", "a route", admins("remove-passkeys", () => ({}))],
  ["revocation", "the host", ({ email }) => revokeUser(auth, email)],
  ["revocation", "a route", admins("revoke-user-sessions", () => ({}))],
  ["deletion", "the host", ({ email }) => deleteUser(auth, email)],
  ["deletion", "a route", admins("remove-user", () => ({}))],
  ["deletion", "hand", byHand(`delete from auth."user" where "id" = $1`)]
]

describe("a change of an account ends what the table says, and nothing else", () => {
  it.each(cases.map(([change, by, make, first]) => [change, by, make, first] as const))(
    "%s, by %s",
    async (change, _, make, first) => {
      const to = await person()
      await first?.(to)
      const { before, ended } = await endedBy(to, () => make(to))
      const holds = (name: CredentialKind): boolean => name === "tokens" || before.includes(name)
      expect([...ended].toSorted()).toEqual(endings[change].filter(holds).toSorted())
    }
  )

  it("factor-off, by its owner", async () => {
    const to = await person()
    let cookie = await sessionOf(auth, to.email)
    const begun = await ask(auth, "POST", "/two-factor/enable", { cookie, body: { password } })
    const code = codeAt(String(begun.body?.["totpURI"]))
    const on = await ask(auth, "POST", "/two-factor/verify-totp", { cookie, body: { code } })
    expect(on.status, on.text).toBe(200)
    cookie = cookiesOf(on)
    const { ended } = await endedBy(to, async () => {
      expect((await ask(auth, "POST", "/two-factor/disable", { cookie, body: { password } })).status).toBe(200)
    })
    expect([...ended]).toEqual(endings["factor-off"])
  })

  it("has a case for every change", () => {
    expect(new Set([...cases.map(([change]) => change), "factor-off"])).toEqual(new Set(Object.keys(endings)))
  })
})

describe("a session that begins at the same moment", () => {
  it.each<[string, (to: Person) => Promise<unknown>]>([
    ["a revocation on the host", ({ email }) => revokeUser(auth, email)],
    ["a revocation by a route", admins("revoke-user-sessions", () => ({}))],
    ["a second factor that is taken away", ({ email }) => resetSecondFactor(auth, email)],
    ["passkeys that are taken away", ({ email }) => removePasskeys(auth, email)]
  ])("does not outlive %s", async (_, change) => {
    const to = await person()
    const client = await store.pool.connect()
    try {
      await client.query("begin")
      await client.query(
        `insert into auth."session" ("id", "expiresAt", "token", "updatedAt", "userId") values ($1, now() + interval '1 hour', $1, now(), $2)`,
        [randomUUID(), to.id]
      )
      const changed = change(to)
      await vi.waitFor(async () => {
        const waiting = await sql(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
        expect(waiting).toHaveLength(1)
      }, { timeout: 60_000 })
      await client.query("commit")
      await changed
    } finally {
      client.release()
    }
    expect(await sql(`select 1 from auth."session" where "userId" = $1`, [to.id])).toEqual([])
  })
})
