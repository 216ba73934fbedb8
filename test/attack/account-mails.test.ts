// Links by mail as an attacker sees them: whether an account exists, whose address stands in a link, whether one works twice, late, or after its account
// changed; and what they do: sessions end, invited people come in, strange sign-ins are told.
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import {
  createUser,
  deleteUser,
  issueToken,
  listUsers,
  revokeUser,
  setUserBanned,
  setUserPassword,
  setUserRole
} from "../../adapters/auth/users.ts"
import { makeOutbox, type Outbox } from "../../adapters/mail/outbox.ts"
import { linkSeconds, linksMax } from "../../core/domain/account/mails.ts"
import type { EnqueuePlan } from "../../core/domain/job/enqueue.ts"
import { passesUntil } from "../auth/store.ts"
import { authUrl, type Got, type Instance, openStage, password, type Sent, type Stage } from "./stage.ts"

const newPassword = "a new and better password"

let stage: Stage
let one: Instance
let outbox: Outbox
let queued: EnqueuePlan[]
let admin: string
let email: string
let count = 0

/** An instance whose jobs wait in `queued` until they are run. */
const mailing = (options: Parameters<Stage["instance"]>[0] = {}): Instance => {
  const instance = stage.instance({ mail: true, ...options })
  instance.auth.mailer!.sendBy((plans) => {
    // One waiting job of a name has a key, as the queue sees to.
    for (const plan of plans) {
      if (!queued.some(({ key, name }) => name === plan.name && key === plan.key)) queued.push(plan)
    }
    return Promise.resolve()
  })
  return instance
}

/** Runs what waits, as a worker does. */
const work = async (mail: Outbox | undefined = outbox, instance = one): Promise<void> => {
  for (const { name, payload } of queued.splice(0)) {
    await instance.auth.mailer!.jobs.get(name)!.run(JSON.parse(payload), { mail } as never)
  }
}

beforeAll(async () => {
  stage = await openStage(authMigrationSql({ schema: "auth", twoFactor: true }))
  queued = []
  outbox = makeOutbox()
  one = mailing()
  await stage.account(one.auth, "admin")
  await createUser(one.auth, { email: "second-admin@example.org", password, role: "admin" })
  admin = (await one.signIn("admin@example.org")).cookie
})

afterAll(() => stage[Symbol.asyncDispose]())

beforeEach(async () => {
  queued = []
  outbox = makeOutbox()
  email = await stage.account(one.auth, `person${count += 1}`, "reader")
})

const idOf = async (address = email): Promise<string> =>
  (await listUsers(one.auth)).find((user) => user.email === address)?.id ?? ""

const askReset = (address: string, sent: Sent = {}, instance = one): Promise<Got> =>
  instance.ask("POST", "/api/auth/request-password-reset", { ...sent, body: { email: address } })

const setPassword = (token: unknown, word: unknown = newPassword, sent: Sent = {}, instance = one): Promise<Got> =>
  instance.ask("POST", "/api/auth/reset-password", { ...sent, body: { token, newPassword: word } })

const asAdmin = (path: string, body: object, cookie = admin): Promise<Got> =>
  one.ask("POST", `/api/auth/admin/${path}`, { cookie, body })

const linkIn = (text: string | null): string => /https?:\/\/\S+/.exec(text ?? "")?.[0] ?? ""

/** The token of the last mail, which must have gone to this address alone. */
const tokenFor = async (address = email): Promise<string> => {
  await work()
  const [mail] = outbox.mails()
  expect(mail?.to).toEqual([address])
  const token = /#(?:token|invitation)=([A-Za-z0-9_-]{43})$/m.exec(linkIn(mail?.text ?? ""))?.[1] ?? ""
  expect(token).not.toBe("")
  stage.keep(token)
  return token
}

const linked = async (address = email): Promise<string> => {
  expect((await askReset(address)).status).toBe(200)
  return tokenFor(address)
}

const refused = { status: 400, body: { code: "INVALID_TOKEN" } }

describe("a new password by mail", () => {
  it("is set by the link, ends every session and token, and leaves the old password worthless", async () => {
    const { cookie } = await one.signIn(email)
    const { token: bearer } = await issueToken(one.auth, { email })
    expect(await one.read(bearer)).toBe(200)
    const link = await linked()
    expect(linkIn(outbox.mails()[0]!.text)).toBe(`${authUrl}/-/reset#token=${link}`)
    expect(await setPassword(link)).toMatchObject({ status: 200, body: { status: true } })
    expect((await one.ask("GET", "/api/auth/token", { cookie })).status).toBe(401)
    expect((await one.signIn(email)).status).toBe(401)
    expect((await one.signIn(email, newPassword)).status).toBe(200)
    expect(await passesUntil([one.auth], async () => await one.read(bearer) === 401)).toBeLessThan(2_000)
  })

  it("still asks for the second factor, and forgets trusted devices and waiting sign-ins", async () => {
    const id = await idOf()
    await stage.store.pool.query(
      `insert into auth."verification" ("id", "identifier", "value", "expiresAt") values`
        + ` ($1 || '1', 'trust-device-x', $1, now() + interval '1 day'), ($1 || '2', '2fa-x', $1, now() + interval '1 day')`,
      [id]
    )
    await setPassword(await linked())
    const { rows } = await stage.store.pool.query(`select 1 from auth."verification" where "value" = $1`, [id])
    expect(rows).toEqual([])
  })

  it("answers an unknown, a banned and a known address alike, with the same statements, and mails the known one alone", async () => {
    const banned = await stage.account(one.auth, `banned${count}`, "reader")
    await setUserBanned(one.auth, { email: banned, banned: true })
    const seen: string[] = []
    for (const address of [email, banned, "nobody@example.org"]) {
      const query = vi.spyOn(one.auth.internals.store, "query")
      const { body, headers, status } = await askReset(address)
      const statements = query.mock.calls.map(([text]) => text)
      query.mockRestore()
      const names = [...headers.keys()].filter((name) => !["date", "x-request-id"].includes(name)).toSorted()
      seen.push(JSON.stringify({ status, body, names, statements }))
    }
    expect(new Set(seen).size).toBe(1)
    expect(queued).toHaveLength(3)
    await work()
    expect(outbox.mails().map(({ to }) => to)).toEqual([[email]])
  })

  it("takes the address in any case, and refuses what is none", async () => {
    await askReset(`  ${email.toUpperCase()} `)
    await work()
    expect(outbox.mails()).toHaveLength(1)
    for (const address of ["", "a@b", `${email}\nbcc: x@example.org`, `${email},x@example.org`, { $ne: "" }, null]) {
      expect((await askReset(address as string)).status, JSON.stringify(address)).toBe(400)
    }
    expect(queued).toEqual([])
  })

  it("puts the configured address into links, whatever the request says of hosts and redirections", async () => {
    const headers = { "host": "evil.example", "x-forwarded-host": "evil.example", "forwarded": "host=evil.example" }
    await one.ask("POST", "http://evil.example/api/auth/request-password-reset", {
      headers,
      body: { email, redirectTo: "https://evil.example", callbackURL: "https://evil.example" }
    })
    await work()
    const [mail] = outbox.mails()
    expect(`${mail?.text}${mail?.html}`).not.toContain("evil")
    expect(linkIn(mail?.text ?? "")).toMatch(/^http:\/\/localhost:5173\/-\/reset#token=/)
  })

  it("refuses pages of other origins, before they use up anybody's attempts", async () => {
    const answer = await askReset(email, { headers: { origin: "https://evil.example" } })
    expect(answer).toMatchObject({ status: 403, body: { code: "INVALID_ORIGIN" } })
    expect((await setPassword(await linked(), newPassword, { headers: { origin: "https://evil.example" } })).status)
      .toBe(
        403
      )
    expect((await one.signIn(email)).status).toBe(200)
  })

  it("is not there for who has no password but a provider", async () => {
    await stage.store.pool.query(`delete from auth."account" where "userId" = $1`, [await idOf()])
    await askReset(email)
    await work()
    expect(outbox.mails()).toEqual([])
  })
})

describe("a link", () => {
  it("works once, also for many at once and in several instances", async () => {
    const two = mailing()
    const link = await linked()
    const answers = await Promise.all(
      Array.from(
        { length: 8 },
        (_, index) =>
          setPassword(link, `password number ${index}`, { from: `192.0.2.${index}` }, index % 2 === 0 ? one : two)
      )
    )
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(7)
    const winner = answers.findIndex(({ status }) => status === 200)
    expect((await one.signIn(email, `password number ${winner}`)).status).toBe(200)
    expect(await setPassword(link)).toMatchObject(refused)
  })

  it("ends with the first one that is used", async () => {
    const [first, second] = [await linked(), await linked()]
    expect(second).not.toBe(first)
    expect((await setPassword(second)).status).toBe(200)
    expect(await setPassword(first)).toMatchObject(refused)
  })

  it.each<[string, (address: string) => Promise<unknown>, boolean]>([
    ["a ban", (address) => setUserBanned(one.auth, { email: address, banned: true }), false],
    ["a ban that was lifted", async (address) => {
      await setUserBanned(one.auth, { email: address, banned: true })
      await setUserBanned(one.auth, { email: address, banned: false })
    }, false],
    ["a deletion", (address) => deleteUser(one.auth, address), false],
    ["a revocation", (address) => revokeUser(one.auth, address), false],
    [
      "another password",
      (address) => setUserPassword(one.auth, { email: address, password: "set by the host" }),
      false
    ],
    [
      "another address",
      (address) =>
        stage.store.pool.query(`update auth."user" set "email" = 'moved-' || "email" where "email" = $1`, [address]),
      false
    ],
    ["an hour", () =>
      stage.store.pool.query(
        `update auth."verification" set "expiresAt" = "expiresAt" - interval '${linkSeconds} seconds'`
          + ` where "identifier" like 'link-%'`
      ), false],
    ["almost an hour", () =>
      stage.store.pool.query(
        `update auth."verification" set "expiresAt" = "expiresAt" - interval '${linkSeconds - 30} seconds'`
          + ` where "identifier" like 'link-%'`
      ), true],
    ["another role", (address) => setUserRole(one.auth, { email: address, role: "writer" }), true]
  ])("after %s", async (_, change, works) => {
    const link = await linked()
    await change(email)
    if (works) expect((await setPassword(link)).status).toBe(200)
    else expect(await setPassword(link)).toMatchObject(refused)
  })

  it("that a ban overtakes while it is used does not count", async () => {
    const link = await linked()
    const client = await stage.store.pool.connect()
    try {
      await client.query("begin")
      await client.query(`update auth."user" set "banned" = true where "email" = $1`, [email])
      const setting = setPassword(link)
      await vi.waitFor(async () => {
        const { rows } = await stage.store.pool.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        )
        expect(rows).toHaveLength(1)
      }, { timeout: 60_000 })
      await client.query("commit")
      expect(await setting).toMatchObject(refused)
    } finally {
      client.release()
    }
    await setUserBanned(one.auth, { email, banned: false })
    expect((await one.signIn(email)).status).toBe(200)
  })

  it("is not used up by a password that is refused", async () => {
    const link = await linked()
    expect(await setPassword(link, "short")).toMatchObject({ status: 400, body: { code: "PASSWORD_TOO_SHORT" } })
    expect(await setPassword(link, "x".repeat(129))).toMatchObject({ status: 400, body: { code: "PASSWORD_TOO_LONG" } })
    expect((await setPassword(link)).status).toBe(200)
  })

  it.each([
    ["nothing", undefined],
    ["a number", 1],
    ["a pattern", "%".repeat(43)],
    ["a made-up one", "A".repeat(43)],
    ["an identifier of the store", "link-reset-AAAA"],
    ["a list", ["A".repeat(43)]]
  ])("that is %s is refused", async (_, token) => {
    expect((await setPassword(token)).status).toBe(400)
  })

  it("stands in the store as a hash, and in no log", async () => {
    const link = await linked()
    const { rows } = await stage.store.pool.query<{ all: string }>(
      `select string_agg(v::text, ' ') as all from auth."verification" v`
    )
    expect(rows[0]?.all).toContain("link-reset-")
    expect(rows[0]?.all).not.toContain(link)
    await setPassword("B".repeat(43))
    await setPassword(link)
    expect(stage.leaks().found).toEqual([])
    expect(stage.log()).not.toContain(email)
    const id = await idOf()
    expect(stage.events.filter(({ user }) => user === id).map(({ event, method }) => [event, method])).toEqual([
      ["link-sent", "reset"],
      ["password-set", "reset"]
    ])
    expect(stage.events.some(({ event }) => event === "link-refused")).toBe(true)
  })

  it("that could not be sent is taken back, so that tries leave room for one that can", async () => {
    await askReset(email)
    const [plan] = queued
    const down = { send: () => Promise.reject(new Error("the server is away")), mails: () => [] }
    for (let attempt = 0; attempt < 2 * linksMax; attempt++) {
      queued = [plan!]
      await expect(work(down)).rejects.toThrow("away")
    }
    queued = [plan!]
    expect((await setPassword(await tokenFor())).status).toBe(200)
  })

  it("is not made without a mail server: the job fails for good", async () => {
    const job = one.auth.mailer!.jobs.get("accounts.reset-password")!
    await expect(job.run({ email }, { mail: undefined } as never)).rejects.toMatchObject({ name: "FatalJobError" })
    await expect(job.run({ other: 1 }, { mail: outbox } as never)).rejects.toMatchObject({ name: "FatalJobError" })
  })
})

describe("limits", () => {
  it("hold for a client, and for an address from all clients together, known or not", async () => {
    const limited = mailing({ signInPerMinute: 2 })
    const statuses = async (address: string, from: (index: number) => string): Promise<readonly number[]> => {
      const all: number[] = []
      for (let index = 0; index < 6; index++) all.push((await askReset(address, { from: from(index) }, limited)).status)
      return all
    }
    expect(await statuses(email, () => "198.51.100.1")).toEqual([200, 200, 429, 429, 429, 429])
    for (const address of [await stage.account(one.auth, `limited${count}`, "reader"), "stranger@example.org"]) {
      expect(await statuses(address, (index) => `198.51.101.${index}`)).toEqual([200, 200, 200, 200, 429, 429])
      expect((await askReset(address, { from: "198.51.101.77" }, limited)).headers.get("retry-after")).toMatch(/^\d+$/)
      count += 1
    }
    const guesses = await Promise.all(
      Array.from({ length: 5 }, () => setPassword("C".repeat(43), newPassword, { from: "198.51.100.9" }, limited))
    )
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(3)
  })

  it("keep an account from more than five links an hour, without a word", async () => {
    for (let index = 0; index < linksMax + 3; index++) {
      expect((await askReset(email, { from: `198.51.102.${index}` })).status).toBe(200)
      await work()
    }
    expect(outbox.mails()).toHaveLength(linksMax)
  })

  it("make one mail of requests that come before the first was sent", async () => {
    await Promise.all(Array.from({ length: 5 }, () => askReset(email)))
    await work()
    expect(outbox.mails()).toHaveLength(1)
  })
})

describe("an invitation", () => {
  it("makes an account that nobody can enter but by the link", async () => {
    const address = `invited${count}@example.org`
    const answer = await asAdmin("invite-user", { email: address.toUpperCase(), name: "Ivy", role: "writer" })
    expect(answer).toMatchObject({ status: 200, body: { user: { email: address, name: "Ivy", role: "writer" } } })
    expect(answer.text).not.toMatch(/password/i)
    const link = await tokenFor(address)
    expect(linkIn(outbox.mails()[0]!.text)).toBe(`${authUrl}/-/reset#invitation=${link}`)
    for (const word of ["", "undefined", "null", password]) {
      expect((await one.signIn(address, word)).status).not.toBe(200)
    }
    // Until then it waits for its owner, which only admins learn.
    const { id } = answer.body["user"] as { readonly id: string }
    const invited = (cookie?: string) => asAdmin("invited", { users: [id, "nobody"] }, cookie)
    expect((await invited()).body).toEqual({ users: [id] })
    expect((await asAdmin("invited", { users: id })).status).toBe(400)
    expect((await asAdmin("invited", { users: Array.from({ length: 501 }, () => id) })).status).toBe(400)
    expect((await setPassword(link)).status).toBe(200)
    expect((await one.signIn(address, newPassword)).status).toBe(200)
    expect((await invited()).body).toEqual({ users: [] })
    const { rows } = await stage.store.pool.query(`select "emailVerified" from auth."user" where "email" = $1`, [
      address
    ])
    expect(rows).toEqual([{ emailVerified: true }])
    expect(stage.events.some(({ by, event }) => event === "account-invited" && by !== undefined)).toBe(true)
  })

  it("takes the name from the address and the default role where none is given", async () => {
    const answer = await asAdmin("invite-user", { email: `plain${count}@example.org` })
    expect(answer.body).toMatchObject({ user: { name: `plain${count}`, role: "user" } })
  })

  it("is for admins only, and makes no account that exists or cannot be", async () => {
    const { cookie } = await one.signIn(email)
    queued = []
    const body = { email: `more${count}@example.org` }
    expect((await asAdmin("invite-user", body, cookie)).status).toBe(403)
    expect((await asAdmin("send-password-link", { userId: await idOf() }, cookie)).status).toBe(403)
    expect((await asAdmin("invited", { users: [] }, cookie)).status).toBe(403)
    for (const path of ["invite-user", "invited", "send-password-link"]) {
      expect((await one.ask("POST", `/api/auth/admin/${path}`, { body: { ...body, userId: "x" } })).status).toBe(401)
    }
    expect((await asAdmin("invite-user", { email })).body).toMatchObject({
      status: 400,
      code: "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"
    })
    expect((await asAdmin("invite-user", { email: "no address" })).status).toBe(400)
    expect((await asAdmin("invite-user", { ...body, role: "chief" })).status).toBe(400)
    expect((await asAdmin("invite-user", { ...body, name: 1 })).status).toBe(400)
    expect(queued).toEqual([])
    expect(await idOf(body.email)).toBe("")
  })

  it("leaves no account behind when the job cannot be enqueued", async () => {
    const broken = stage.instance({ mail: true, onError: () => {} })
    const { cookie } = await broken.signIn("admin@example.org")
    const answer = await broken.ask("POST", "/api/auth/admin/invite-user", {
      cookie,
      body: { email: `lost${count}@example.org` }
    })
    expect(answer.status).toBe(503)
    expect(await idOf(`lost${count}@example.org`)).toBe("")
  })

  it("is sent again, five times an hour; to a known person it is a link for a new password", async () => {
    const address = `again${count}@example.org`
    await asAdmin("invite-user", { email: address })
    const userId = await idOf(address)
    for (let sent = 0; sent < linksMax; sent++) {
      await work()
      expect((await asAdmin("send-password-link", { userId })).status).toBe(sent < linksMax - 1 ? 200 : 429)
    }
    expect(outbox.mails().map(({ subject }) => subject)).toEqual(
      Array.from({ length: linksMax }, () => "Your account at Resource Admin Service")
    )
    await setPassword(/invitation=(\S+)/.exec(outbox.mails()[0]!.text!)![1])
    expect((await asAdmin("send-password-link", { userId })).status).toBe(200)
    await work()
    expect(outbox.mails()[0]?.subject).toBe("Set a new password for Resource Admin Service")
  })

  it("goes to nobody who is banned or unknown", async () => {
    const userId = await idOf()
    await setUserBanned(one.auth, { email, banned: true })
    expect(await asAdmin("send-password-link", { userId })).toMatchObject({
      status: 409,
      body: { code: "BANNED_USER" }
    })
    expect((await asAdmin("send-password-link", { userId: "nobody" })).status).toBe(404)
    expect((await asAdmin("send-password-link", { userId: ["x"] })).status).toBe(400)
    expect(queued).toEqual([])
  })
})

describe("an alert", () => {
  const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
  const signIn = (from: string, cookie?: string, agent = firefox): Promise<Got> =>
    one.signIn(email, password, { from, cookie, headers: { "user-agent": agent } })
  const deviceOf = (answer: Got): string => /service\.device=[A-Za-z0-9_-]{22}/.exec(answer.cookie)?.[0] ?? ""

  it("tells of a browser that the account does not know, once, wherever it goes later", async () => {
    const first = await signIn("203.0.113.1")
    expect(deviceOf(first)).not.toBe("")
    expect(first.headers.getSetCookie().find((text) => text.startsWith("service.device"))).toMatch(
      /; Max-Age=34560000; Path=\/api\/auth; HttpOnly; SameSite=Lax$/
    )
    await work()
    expect(outbox.mails()).toMatchObject([{ to: [email], subject: "New sign-in to Resource Admin Service" }])
    const { text } = outbox.mails()[0]!
    expect(text).toContain("203.0.113.1")
    expect(text).toContain(firefox)
    expect(text).toContain(`${authUrl}/-/reset\n`)
    const later = await signIn("203.0.113.99", deviceOf(first), firefox.replaceAll("140", "141"))
    expect(deviceOf(later)).toBe("")
    await work()
    expect(outbox.mails()).toHaveLength(1)
  })

  it("knows a program by where it is and what it calls itself, whatever its version", async () => {
    await signIn("203.0.113.2", undefined, "nightly/1.0")
    await signIn("203.0.113.2", undefined, "nightly/1.1")
    await work()
    expect(outbox.mails()).toHaveLength(1)
    await signIn("203.0.113.3", undefined, "nightly/1.1")
    await signIn("203.0.113.2", undefined, "other/1.1")
    await work()
    expect(outbox.mails()).toHaveLength(3)
  })

  it("does not take another account's device for its own, nor a made-up one", async () => {
    const other = await stage.account(one.auth, `other${count}`, "reader")
    const stranger = await one.signIn(other, password, { from: "203.0.113.4", headers: { "user-agent": firefox } })
    queued = []
    await signIn("203.0.113.5", deviceOf(stranger))
    await signIn("203.0.113.6", `service.device=${"A".repeat(22)}`)
    await work()
    expect(outbox.mails().map(({ to }) => to)).toEqual([[email], [email]])
  })

  it("never keeps anybody from signing in", async () => {
    const broken = stage.instance({ mail: true, onError: () => {} })
    expect((await broken.signIn(email, password, { from: "203.0.113.7" })).status).toBe(200)
  })

  it("tells of nothing that failed", async () => {
    await one.signIn(email, "a wrong password", { from: "203.0.113.8" })
    expect(queued).toEqual([])
  })
})

describe("without mails", () => {
  it("there is none of it, and the sign-in page is told", async () => {
    const plain = stage.instance()
    expect((await plain.ask("GET", "/api/auth/providers")).body).toMatchObject({
      passwordReset: false,
      invitations: false
    })
    expect((await one.ask("GET", "/api/auth/providers")).body).toMatchObject({ passwordReset: true, invitations: true })
    for (const path of ["request-password-reset", "reset-password", "admin/invite-user", "admin/send-password-link"]) {
      expect((await plain.ask("POST", `/api/auth/${path}`, { body: { email } })).status, path).toBe(401)
    }
    const some = stage.instance({ mail: { passwordReset: true, page: "https://panel.example.org/reset" } })
    expect([...some.auth.mailer!.jobs.keys()]).toEqual(["accounts.reset-password"])
    expect(some.auth.mailer!.page).toBe("https://panel.example.org/reset")
    expect(() => stage.instance({ mail: { page: "http://panel.example.org", passwordReset: true } })).toThrow("https")
    expect(() => stage.instance({ mail: { other: true } as never })).toThrow("other")
  })
})
