// The table of routes: who may, what admins may do to whom, which routes count attempts. Every row is held against a running auth server.
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Auth } from "../../adapters/auth/auth.ts"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { type AuthRoute, makeRoutes } from "../../adapters/auth/routes.ts"
import { createUser } from "../../adapters/auth/users.ts"
import { type AccountAct, judgeAct } from "../../core/domain/account/authority.ts"
import { codeAt } from "../support/totp.ts"
import { type Answer, ask, cookiesOf, openStore, password, sessionOf, type Store } from "./store.ts"

const mails = { passwordReset: true, invitations: true, signInAlerts: false, notices: false, page: null }
const routes = makeRoutes({ twoFactor: true, passkeys: true, mails }, [])
const rows = [...routes]

let store: Store
let auth: Auth
let user: string
let old: string
let adminId: string
let accounts = 0

const account = async (role?: string) => {
  const email = `r${accounts++}@example.org`
  const { id } = await createUser(auth, { email, password, ...(role === undefined ? {} : { role }) })
  return { id, email }
}

beforeAll(async () => {
  store = await openStore(authMigrationSql({ schema: "auth", twoFactor: true, passkeys: true }))
  auth = store.instance({ twoFactor: true, passkeys: true, mail: true, roles: ["user"] })
  auth.mailer?.sendBy(() => Promise.resolve())
  // Two of them, so that the last one is not what refuses.
  const first = await account("admin")
  await account("admin")
  const [other, third] = [await account(), await account()]
  adminId = first.id
  user = await sessionOf(auth, other.email)
  old = await sessionOf(auth, third.email)
  await store.pool.query(`update auth."session" set "createdAt" = now() - interval '1 hour' where "userId" = $1`, [
    third.id
  ])
})
afterAll(() => store[Symbol.asyncDispose]())

/** Bodies that get past the form, so that only the caller can be refused. */
const bodyOf = (path: string, userId: string): object => ({
  userId,
  id: "none",
  token: "none",
  name: "X",
  password,
  newPassword: "another good password",
  currentPassword: "not the password at all",
  role: "user",
  data: { name: "X" },
  code: "000000",
  permissions: { user: ["list"] },
  email: `made-${randomUUID()}@example.org`,
  sessionToken: "none",
  ...(path === "/admin/send-password-link" ? {} : { response: {} })
})

const send = (
  path: string,
  { method }: AuthRoute,
  cookie: string | undefined,
  userId: string = randomUUID()
): Promise<Answer> => {
  const query = path === "/admin/get-user" ? `?id=${userId}` : ""
  return ask(auth, method, `${path}${query}`, method === "GET" ? { cookie } : { cookie, body: bodyOf(path, userId) })
}

/** The session of somebody who has a second factor. */
const withSecondFactor = async (): Promise<string> => {
  const { email } = await account()
  const cookie = await sessionOf(auth, email)
  const begun = await ask(auth, "POST", "/two-factor/enable", { cookie, body: { password } })
  const code = codeAt(String(begun.body?.["totpURI"]))
  const on = await ask(auth, "POST", "/two-factor/verify-totp", { cookie, body: { code } })
  expect(on.status, on.text).toBe(200)
  return cookiesOf(on)
}

const isClosed = ({ status }: Answer): boolean => status === 401 || status === 403

describe("who may", () => {
  it.each(rows.filter(([, { who }]) => who !== "everybody" && who !== "waiting"))(
    "%s refuses nobody's request",
    async (path, route) => {
      const answer = await send(path, route, undefined)
      expect([answer.status, answer.body?.["type"]]).toEqual([401, "urn:service:problem:unauthenticated"])
    }
  )

  it.each(rows.filter(([, { who }]) => who === "admin"))(
    "%s refuses a user who is no admin, and tells nothing",
    async (path, route) => {
      for (const id of [adminId, randomUUID()]) {
        const answer = await send(path, route, user, id)
        expect([answer.status, answer.body?.["type"]]).toEqual([403, "urn:service:problem:access-denied"])
      }
    }
  )

  it.each(rows.filter(([, { who }]) => who === "recent"))(
    "%s refuses a session that began long ago",
    async (path, route) => {
      const answer = await send(path, route, old)
      expect([answer.status, answer.body?.["code"]]).toEqual([403, "SESSION_NOT_FRESH"])
    }
  )

  it.each(rows.filter(([, { who }]) => who === "recent" || who === "session"))(
    "%s admits a session",
    async (path, route) => {
      const { email } = await account()
      expect(isClosed(await send(path, route, await sessionOf(auth, email)))).toBe(false)
    }
  )

  it.each(rows.filter(([, { who }]) => who === "password"))(
    "%s wants the password of the session",
    async (path, { method }) => {
      const cookie = await withSecondFactor()
      const body = {
        password: "not the password",
        currentPassword: "not the password",
        newPassword: "another good password"
      }
      const answer = await ask(auth, method, path, { cookie, body })
      expect([answer.status, answer.body?.["code"]]).toEqual([400, "INVALID_PASSWORD"])
    }
  )

  it.each(rows.filter(([, { who }]) => who === "everybody"))("%s asks nobody who they are", async (path, route) => {
    const { body, status } = await send(path, route, undefined)
    // What they sent is refused, not they.
    expect([undefined, "INVALID_EMAIL_OR_PASSWORD", "AUTHENTICATION_FAILED"], `${status}`).toContain(
      status === 401 || status === 403 ? body?.["code"] : undefined
    )
  })
})

describe("what an admin does to an account", () => {
  const acts = rows.flatMap(([path, route]) => route.act === undefined ? [] : [[path, route.act, route] as const])

  it.each(acts)("%s (%s) on another's and on the own one", async (path, act, route) => {
    const { email, id } = await account("admin")
    const cookie = await sessionOf(auth, email)
    const by = { id, role: "admin", barred: false }
    const other = await account()
    const another = await send(path, route, cookie, other.id)
    expect(judgeAct(act, by, other.id)).toBeNull()
    expect(another.status, another.text).toBe(200)
    const own = await send(path, route, cookie, id)
    expect(own.status >= 400, own.text).toBe(judgeAct(act, by, id) !== null)
  })

  it("has a route for every act", () => {
    const all: { readonly [act in AccountAct]: true } = {
      read: true,
      change: true,
      ban: true,
      delete: true,
      "set-password": true,
      revoke: true,
      "send-link": true,
      "take-factor": true,
      "take-passkeys": true
    }
    expect(new Set(acts.map(([, act]) => act))).toEqual(new Set(Object.keys(all)))
  })
})

describe("attempts", () => {
  let limited: Auth
  beforeAll(() => {
    limited = store.instance({ signInPerMinute: 1, twoFactor: true, passkeys: true, mail: true, roles: ["user"] })
    limited.mailer?.sendBy(() => Promise.resolve())
  })

  it.each(rows)("%s counts them where the table says so", async (path, { limited: counts, method }) => {
    const client = { "x-forwarded-for": `2001:db8:${(accounts += 1).toString(16)}::1` }
    const once = () =>
      ask(limited, method, path, { cookie: user, headers: client, ...(method === "GET" ? {} : { body: {} }) })
    const statuses = [(await once()).status, (await once()).status]
    expect(statuses[0]).not.toBe(429)
    expect(statuses[1] === 429).toBe(counts !== undefined)
  })
})

describe("the table and the guide", () => {
  it("know the same routes", () => {
    const guide = readFileSync("docs/guides/authentication.md", "utf8")
    const [, section = ""] = guide.split("## The routes")
    const [table = ""] = section.slice(section.indexOf("| Route | Who |")).split("Nothing else exists")
    const named = new Set([...table.matchAll(/(\/[a-z][a-z0-9/-]*)(?=`| )/g)].map(([, path]) => path))
    // Its own paragraph tells of the one that nobody may use, and the last part of a path stands for those beside it.
    const missing = rows.map(([path]) => path).filter((path) => !named.has(path) && path !== "/sign-up/email")
    expect(missing).toEqual([])
    expect(
      [...named].filter((path) => !routes.has(path ?? "") && !["/sign-in/social", "/callback/"].includes(path ?? ""))
    ).toEqual([])
  })
})
