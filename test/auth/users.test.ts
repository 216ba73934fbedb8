import { scryptSync } from "node:crypto"
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { currentRoles, namesOf, rolesWithin } from "../../adapters/auth/accounts.ts"
import type { Auth, AuthOptions } from "../../adapters/auth/auth.ts"
import { adminLock } from "../../adapters/auth/migration.ts"
import {
  createUser,
  deleteUser,
  hasUsers,
  listUsers,
  revokeUser,
  roleChoices,
  setUserBanned,
  setUserRole
} from "../../adapters/auth/users.ts"
import { divideHashing } from "./hashing.ts"
import { ask, codeOf, openStore, password, sessionOf, signIn, type Store } from "./store.ts"

let store: Store
let auth: Auth

beforeAll(async () => {
  store = await openStore()
  auth = store.instance()
})

afterAll(() => store[Symbol.asyncDispose]())

beforeEach(() => store.database.execute(`truncate auth."user", auth.attempt cascade`))

const add = (email: string, role?: string, on = auth) =>
  createUser(on, { email: `${email}@example.org`, password, role })
const roles = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await listUsers(auth)).map(({ banned, email, role }) => [email.split("@")[0], banned ? `${role} (banned)` : role])
  )
const idOf = async (email: string): Promise<string> =>
  (await listUsers(auth)).find((user) => user.email === `${email}@example.org`)?.id ?? "nobody"
/** One admin and one user, and the admin's session. */
const withAdmin = async (options: Partial<AuthOptions> = {}) => {
  const on = store.instance(options)
  await add("admin", undefined, on)
  const cookie = await sessionOf(on, "admin@example.org")
  return {
    on,
    cookie,
    post: (path: string, body: unknown) => ask(on, "POST", `/admin/${path}`, { cookie, body })
  }
}

describe("the roles that a user has now", () => {
  it("are those that are stored, and none for who may not act", async () => {
    const on = store.instance({ roles: ["sales", "editor"], defaultRole: "sales" })
    await add("ann", undefined, on)
    await add("bob", undefined, on)
    const bob = await idOf("bob")
    const of = (id: string) => currentRoles(on, id)
    // Its accounts work in one tenant, and say nothing about another one.
    const annHas = (home: number | undefined, tenant: string | null) =>
      idOf("ann").then((id) => rolesWithin(on, home)(id, tenant))
    expect([await annHas(1, "1"), await annHas(1, null), await annHas(undefined, null)]).toEqual([
      ["admin"],
      ["admin"],
      ["admin"]
    ])
    expect([await annHas(2, "1"), await annHas(undefined, "1")]).toEqual(["elsewhere", "elsewhere"])
    expect(await of(await idOf("ann"))).toEqual(["admin"])
    expect(await of(bob)).toEqual(["sales"])
    await setUserRole(on, { email: "bob@example.org", role: "editor" })
    expect(await of(bob)).toEqual(["editor"])
    await store.database.execute(`update auth."user" set "role" = 'sales, editor,sales' where "id" = '${bob}'`)
    expect(await of(bob)).toEqual(["sales", "editor"])
    await store.database.execute(`update auth."user" set "role" = '' where "id" = '${bob}'`)
    expect(await of(bob)).toBeNull()
    await store.database.execute(`update auth."user" set "role" = 'sales' where "id" = '${bob}'`)
    await setUserBanned(on, { email: "bob@example.org", banned: true })
    expect(await of(bob)).toBeNull()
    // A ban that is over no longer counts.
    await store.database.execute(
      `update auth."user" set "banExpires" = now() - interval '1 second' where "id" = '${bob}'`
    )
    expect(await of(bob)).toEqual(["sales"])
    await store.database.execute(
      `update auth."user" set "banExpires" = now() + interval '1 hour' where "id" = '${bob}'`
    )
    expect(await of(bob)).toBeNull()
    await deleteUser(on, "bob@example.org")
    expect(await of(bob)).toBeNull()
    expect(await of("nobody")).toBeNull()
  })
})

describe("what others call users", () => {
  it("are the names of those who exist, without mail addresses and what turns the words around them", async () => {
    const on = store.instance({})
    for (const name of ["ann", "bob", "cem", "dora"]) await add(name, undefined, on)
    const ids = await Promise.all(["ann", "bob", "cem", "dora"].map(idOf))
    const rename = (at: number, name: string) =>
      store.database.execute(`update auth."user" set "name" = $name$${name}$name$ where "id" = '${ids[at]!}'`)
    await rename(0, "Ann Lee")
    await rename(1, "bob@example.org")
    await rename(2, "\u202emeC")
    await deleteUser(on, "dora@example.org")
    expect(await namesOf(on, [...ids, "nobody", "' or true --"])).toEqual(
      new Map([[ids[0], "Ann Lee"], [ids[2], "meC"]])
    )
    // Nobody else than who was asked for.
    expect(await namesOf(on, [ids[0]!])).toEqual(new Map([[ids[0], "Ann Lee"]]))
    expect(await namesOf(on, [])).toEqual(new Map())
  })
})

describe("the first user", () => {
  it("is an admin, whatever was asked for; later ones are users", async () => {
    expect(await hasUsers(auth)).toBe(false)
    expect((await add("ann", "user")).role).toBe("admin")
    expect((await add("bob")).role).toBe("user")
    expect(await hasUsers(auth)).toBe(true)
  })

  it("is one only, when ten are created at once on two instances", async () => {
    const other = store.instance()
    await Promise.all(Array.from({ length: 10 }, (_, n) => add(`u${n}`, undefined, n % 2 === 0 ? auth : other)))
    expect(Object.values(await roles()).sort()).toEqual(["admin", ...Array.from({ length: 9 }, () => "user")])
  })

  it("is created once, when the same one is created ten times at once", async () => {
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(add("ann"))))
    expect(codes.filter((code) => code === "done")).toHaveLength(1)
    expect(codes.filter((code) => code === "email-taken")).toHaveLength(9)
  })
})

describe("host functions", () => {
  it("list accounts without passwords", async () => {
    await add("ann")
    const [ann] = await listUsers(auth)
    expect(Object.keys(ann ?? {}).sort()).toEqual(["banned", "createdAt", "email", "id", "role"])
    expect(ann?.createdAt).toBeInstanceOf(Date)
  })

  it.each([
    ["ann", password, undefined, "invalid-email"],
    ["ann@example.org", "elevenchars", undefined, "weak-password"],
    ["ann@example.org", "x".repeat(129), undefined, "long-password"],
    ["ann@example.org", password, "boss", "unknown-role"]
  ])("refuse to create %s", async (email, word, role, code) => {
    expect(await codeOf(createUser(auth, { email, password: word, role }))).toBe(code)
    expect(await hasUsers(auth)).toBe(false)
  })

  it.each(["x".repeat(201), "a\nb", "a\u202eb"])(
    "refuse to create somebody whose name the API refuses: %j",
    async (name) => {
      expect(await codeOf(createUser(auth, { email: "ann@example.org", password, name }))).toBe("invalid-name")
      expect(await hasUsers(auth)).toBe(false)
    }
  )

  it("take a name of 200 characters, and the beginning of a longer address", async () => {
    const letters = "x".repeat(220)
    await createUser(auth, { email: "ann@example.org", password, name: "\u{1f600}".repeat(200) })
    await createUser(auth, { email: `${letters}@example.org`, password })
    const { rows } = await store.pool.query(`select "name" from auth."user" order by "createdAt", "email"`)
    expect(rows).toEqual([{ name: "\u{1f600}".repeat(200) }, { name: letters.slice(0, 200) }])
  })

  it("refuse an address that is taken, in any case", async () => {
    await add("ann")
    expect(await codeOf(createUser(auth, { email: "ANN@Example.org", password }))).toBe("email-taken")
  })

  it("say that there is no such user", async () => {
    await add("ann")
    const email = "nobody@example.org"
    expect(await codeOf(setUserRole(auth, { email, role: "user" }))).toBe("unknown-user")
    expect(await codeOf(setUserBanned(auth, { email, banned: true }))).toBe("unknown-user")
    expect(await codeOf(deleteUser(auth, email))).toBe("unknown-user")
    expect(await codeOf(revokeUser(auth, email))).toBe("unknown-user")
  })

  it("set one role or several of the project's list", async () => {
    const project = store.instance({ roles: ["sales", "finance"] })
    expect(roleChoices(project)).toEqual(["admin", "sales", "finance"])
    expect(project.defaultRole).toBeUndefined()
    await add("ann", undefined, project)
    expect(await codeOf(add("bob", undefined, project))).toBe("role-required")
    await add("bob", "sales", project)
    await setUserRole(project, { email: "bob@example.org", role: "sales, finance" })
    expect((await roles())["bob"]).toBe("sales,finance")
    expect(await codeOf(setUserRole(project, { email: "bob@example.org", role: "sales,user" }))).toBe("unknown-role")
    expect(await codeOf(setUserRole(project, { email: "bob@example.org", role: "" }))).toBe("role-required")
  })

  it("ban and unban: sign-in and sessions end, then sign-in works again", async () => {
    await add("ann")
    await add("bob")
    const cookie = await sessionOf(auth, "bob@example.org")
    await setUserBanned(auth, { email: "bob@example.org", banned: true })
    expect((await ask(auth, "GET", "/token", { cookie })).status).toBe(401)
    expect((await signIn(auth, "bob@example.org")).status).toBe(401)
    await setUserBanned(auth, { email: "bob@example.org", banned: false })
    expect((await ask(auth, "GET", "/token", { cookie })).status).toBe(401)
    expect((await signIn(auth, "bob@example.org")).status).toBe(200)
  })

  it("delete with sessions and credentials", async () => {
    await add("ann")
    await add("bob")
    await sessionOf(auth, "bob@example.org")
    await deleteUser(auth, "bob@example.org")
    const rows = await store.database.rows(
      "select (select count(*) from auth.session), (select count(*) from auth.account)"
    )
    expect(rows).toEqual([["0", "1"]])
    expect((await signIn(auth, "bob@example.org")).status).toBe(401)
  })

  it("end sessions by revokeUser", async () => {
    await add("ann")
    const cookie = await sessionOf(auth, "ann@example.org")
    await revokeUser(auth, "ann@example.org")
    expect((await ask(auth, "GET", "/token", { cookie })).status).toBe(401)
    expect((await signIn(auth, "ann@example.org")).status).toBe(200)
  })
})

describe("the last active admin", () => {
  const email = "ann@example.org"

  it("cannot be demoted, banned or deleted on the host", async () => {
    await add("ann")
    await add("bob")
    await add("eve", "admin")
    await setUserBanned(auth, { email: "eve@example.org", banned: true })
    expect(await codeOf(setUserRole(auth, { email, role: "user" }))).toBe("last-admin")
    expect(await codeOf(setUserBanned(auth, { email, banned: true }))).toBe("last-admin")
    expect(await codeOf(deleteUser(auth, email))).toBe("last-admin")
    expect(await roles()).toEqual({ ann: "admin", bob: "user", eve: "admin (banned)" })
    await setUserRole(auth, { email, role: "user,admin" })
    await setUserBanned(auth, { email: "eve@example.org", banned: false })
    expect(await codeOf(setUserRole(auth, { email, role: "user" }))).toBe("done")
  })

  it.each(["set-role", "update-user (role)", "update-user (ban)", "ban-user", "remove-user"])(
    "cannot go by HTTP: %s",
    async (path) => {
      const { post } = await withAdmin()
      await add("eve", "admin")
      const admin = await idOf("admin")
      const eve = await idOf("eve")
      // Eve is the second admin; once she is banned, the first cannot go. Nobody may ban or remove themselves anyway.
      const bodies: Record<string, (userId: string) => unknown> = {
        "set-role": (userId) => ({ userId, role: "user" }),
        "update-user (role)": (userId) => ({ userId, data: { role: "user" } }),
        "update-user (ban)": (userId) => ({ userId, data: { banned: true } }),
        "ban-user": (userId) => ({ userId }),
        "remove-user": (userId) => ({ userId })
      }
      const send = (userId: string) => post(path.split(" ")[0] ?? "", bodies[path]?.(userId))
      expect((await send(eve)).status).toBe(200)
      const refused = await send(admin)
      expect([400, 409]).toContain(refused.status)
      if (path === "set-role" || path.includes("(role)")) {
        expect(refused).toMatchObject({
          status: 409,
          body: { code: "LAST_ADMIN" }
        })
      }
      expect((await roles())["admin"]).toBe("admin")
    }
  )

  it("stays when all admins are demoted at once, again and again", async () => {
    for (const name of ["a", "b", "c", "d"]) await add(name, "admin")
    const other = store.instance()
    for (let round = 0; round < 5; round += 1) {
      const codes = await Promise.all(["a", "b", "c", "d"].map((name, n) =>
        codeOf(
          n === 3
            ? setUserBanned(other, { email: `${name}@example.org`, banned: true })
            : setUserRole(n % 2 === 0 ? auth : other, { email: `${name}@example.org`, role: "user" })
        )
      ))
      expect(codes.filter((code) => code === "last-admin")).toHaveLength(1)
      expect(Object.values(await roles()).filter((role) => role === "admin")).toHaveLength(1)
      await store.database.execute(`update auth."user" set role = 'admin', banned = false`)
    }
  })

  it("stays when another demotion is still uncommitted", async () => {
    await add("ann")
    await add("bob", "admin")
    const client = await store.pool.connect()
    try {
      await client.query("begin")
      await client.query(`update auth."user" set role = 'user' where email = $1`, [email])
      const second = codeOf(setUserRole(auth, { email: "bob@example.org", role: "user" }))
      // It must wait: whether it may go on is known when the first has ended.
      const waiting = () =>
        store.database.rows(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        )
      await vi.waitFor(async () => expect(await waiting()).toHaveLength(1), { timeout: 60_000 })
      await client.query("commit")
      expect(await second).toBe("last-admin")
    } finally {
      client.release()
    }
    expect(await roles()).toEqual({ ann: "user", bob: "admin" })
  })

  it.each(["read committed", "repeatable read", "serializable"])(
    "stays whatever transactions see: %s",
    async (level) => {
      await using store = await openStore()
      const auth = store.instance()
      await createUser(auth, { email: "a@example.org", password })
      await createUser(auth, { email: "b@example.org", password, role: "admin" })
      const [one, two] = [await store.pool.connect(), await store.pool.connect()]
      try {
        const demote = (email: string) => `update auth."user" set role = 'user' where email = '${email}@example.org'`
        for (const each of [one, two]) await each.query(`begin isolation level ${level}; select from auth."user"`)
        await one.query(demote("a"))
        const second = two.query(`${demote("b")}; commit`).then(() => "done", () => "refused")
        await one.query("commit")
        expect(await second).toBe("refused")
        expect(await store.database.rows(`select email from auth."user" where role = 'admin'`)).toEqual([
          ["b@example.org"]
        ])
      } finally {
        one.release()
        two.release(true)
      }
    }
  )

  it("stays when two admins demote each other by HTTP at once", async () => {
    const { cookie, on } = await withAdmin()
    await add("eve", "admin")
    const eveCookie = await sessionOf(on, "eve@example.org")
    const [admin, eve] = [await idOf("admin"), await idOf("eve")]
    const answers = await Promise.all([
      ask(on, "POST", "/admin/set-role", { cookie, body: { userId: eve, role: "user" } }),
      ask(on, "POST", "/admin/set-role", { cookie: eveCookie, body: { userId: admin, role: "user" } })
    ])
    expect(answers.map(({ status }) => status)).toContain(200)
    expect(Object.values(await roles()).filter((role) => role === "admin")).toHaveLength(1)
  })
})

describe.each(["repeatable read", "serializable"])("a database that is %s by default", (level) => {
  const strict = async () => {
    const opened = await openStore()
    await opened.database.execute(
      `alter database ${opened.database.name} set default_transaction_isolation = '${level}'`
    )
    const waiting = () =>
      opened.database.rows(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
      )
    const waits = (count: number) =>
      vi.waitFor(async () => expect(await waiting()).toHaveLength(count), { timeout: 60_000 })
    return { ...opened, waits, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
  }

  it("has one first admin, also when two accounts are created at once", async () => {
    await using strictly = await strict()
    const on = strictly.instance()
    const client = await strictly.pool.connect()
    try {
      await client.query("begin")
      await client.query("select pg_advisory_xact_lock($1)", [adminLock])
      const made = Promise.all([add("ann", undefined, on), add("bob", undefined, on)])
      await strictly.waits(2)
      await client.query("commit")
      expect((await made).map(({ role }) => role).sort()).toEqual(["admin", "user"])
    } finally {
      client.release(true)
    }
  })

  it("lets a change wait for another one instead of failing", async () => {
    await using strictly = await strict()
    const on = strictly.instance()
    await add("ann", undefined, on)
    await add("bob", undefined, on)
    const client = await strictly.pool.connect()
    try {
      await client.query("begin")
      await client.query(`update auth."user" set name = 'Bob' where email = 'bob@example.org'`)
      const changed = setUserRole(on, { email: "bob@example.org", role: "admin" })
      changed.catch(() => {})
      await strictly.waits(1)
      await client.query("commit")
      expect((await changed).role).toBe("admin")
    } finally {
      client.release(true)
    }
  })
})

describe("the admin routes", () => {
  it("need the session of an admin", async () => {
    const { on } = await withAdmin()
    await add("bob")
    const cookie = await sessionOf(on, "bob@example.org")
    const body = { email: "new@example.org", password, name: "New", role: "admin" }
    expect((await ask(on, "POST", "/admin/create-user", { body })).status).toBe(401)
    expect((await ask(on, "POST", "/admin/create-user", { body, cookie })).status).toBe(403)
    expect((await ask(on, "GET", "/admin/list-users", { cookie })).status).toBe(403)
    expect(
      (await ask(on, "POST", "/admin/set-role", { body: { userId: await idOf("bob"), role: "admin" }, cookie })).status
    ).toBe(403)
    expect((await ask(on, "POST", "/update-user", { body: { role: "admin", name: "B" }, cookie })).status)
      .toBeGreaterThanOrEqual(400)
    expect(await roles()).toEqual({ admin: "admin", bob: "user" })
  })

  it("give admin rights to no other role", async () => {
    const { on } = await withAdmin({ roles: ["manager", "user"] })
    await add("max", "manager,user", on)
    const cookie = await sessionOf(on, "max@example.org")
    expect((await ask(on, "GET", "/admin/list-users", { cookie })).status).toBe(403)
    const asked = await ask(on, "POST", "/admin/has-permission", {
      cookie,
      body: { permissions: { user: ["create"] } }
    })
    expect([asked.status, asked.body?.["code"]]).toEqual([403, "YOU_ARE_NOT_ALLOWED_TO_ASK_FOR_PERMISSIONS"])
    expect((await ask(on, "POST", "/admin/has-permission", { body: { permissions: { user: ["create"] } } })).status)
      .toBe(401)
  })

  it("list at most 500 accounts, and take images by https only", async () => {
    const { cookie, on, post } = await withAdmin()
    const listed = await ask(on, "GET", "/admin/list-users?limit=100000", { cookie })
    expect(listed.body?.["limit"]).toBe(500)
    for (const image of ["javascript:alert(1)", "http://a.example/x.png", "data:image/png;base64,AAAA", "x.png", 7]) {
      for (
        const answer of [
          await ask(on, "POST", "/update-user", { body: { image }, cookie }),
          await post("create-user", { email: "i@example.org", password, name: "I", role: "user", data: { image } })
        ]
      ) expect([answer.status, answer.body?.["code"]], String(image)).toEqual([400, "VALIDATION_ERROR"])
    }
    expect((await ask(on, "POST", "/update-user", { body: { image: "https://a.example/x.png" }, cookie })).status)
      .toBe(200)
  })

  it("take no name that is too long, of several lines, or turned around", async () => {
    const { cookie, on, post } = await withAdmin()
    for (const name of ["x".repeat(201), "a\nb", "a\u2028b", "a\u202eb", "a\u2067b"]) {
      for (
        const answer of [
          await ask(on, "POST", "/update-user", { body: { name }, cookie }),
          await post("create-user", { email: "n@example.org", password, name, role: "user" })
        ]
      ) expect([answer.status, answer.body?.["code"]], name).toEqual([400, "VALIDATION_ERROR"])
    }
    expect((await ask(on, "POST", "/update-user", { body: { name: "x".repeat(200) }, cookie })).status).toBe(200)
  })

  it("create users with one role, several, or the default", async () => {
    const { post } = await withAdmin({ roles: ["sales", "finance"], defaultRole: "sales" })
    const create = (name: string, more: object) =>
      post("create-user", { email: `${name}@example.org`, password, name, ...more })
    expect((await create("a", {})).status).toBe(200)
    expect((await create("b", { role: "finance" })).status).toBe(200)
    expect((await create("c", { role: "sales, finance" })).status).toBe(200)
    expect((await create("d", { role: ["finance", "admin"] })).status).toBe(200)
    expect((await create("e", { data: { role: "finance" } })).status).toBe(200)
    expect(await roles()).toEqual({
      admin: "admin",
      a: "sales",
      b: "finance",
      c: "sales,finance",
      d: "finance,admin",
      e: "finance"
    })
    for (const email of ["a@example.org", "c@example.org"]) expect((await signIn(auth, email)).status).toBe(200)
  })

  it("refuse a role outside the list, however it is written", async () => {
    const { post } = await withAdmin({ roles: ["sales", "finance"] })
    await add("bob", "sales", store.instance({ roles: ["sales", "finance"] }))
    const userId = await idOf("bob")
    for (const role of ["boss", "sales,boss", "constructor", "__proto__", ["sales", "boss"], "", [], 7, { a: 1 }]) {
      const answers = [
        await post("create-user", { email: "new@example.org", password, name: "n", role }),
        await post("set-role", { userId, role }),
        await post("update-user", { userId, data: { role } })
      ]
      expect(answers.map(({ status }) => status), JSON.stringify(role)).toEqual([400, 400, 400])
    }
    expect(await roles()).toEqual({ admin: "admin", bob: "sales" })
  })

  it("name the choices when a role must be chosen", async () => {
    const { post } = await withAdmin({ roles: ["sales", "finance"] })
    const answer = await post("create-user", { email: "new@example.org", password, name: "n" })
    expect(answer).toMatchObject({ status: 400, body: { type: "urn:service:problem:invalid-record" } })
    expect(String(answer.body?.["detail"])).toContain("admin, sales, finance")
  })

  it("let nobody choose an id or other stored columns", async () => {
    const { post } = await withAdmin()
    await post("create-user", {
      email: "bob@example.org",
      password,
      name: "b",
      data: { id: "chosen", tokenEpoch: 5, createdAt: "2000-01-01" }
    })
    const bob = (await listUsers(auth)).find(({ email }) => email === "bob@example.org")
    expect(bob?.id).toMatch(/^[A-Za-z0-9]{32}$/)
    await post("update-user", { userId: bob?.id, data: { id: "chosen", name: "Bob" } })
    expect(await idOf("bob")).toBe(bob?.id)
  })

  it("refuse values that their columns cannot hold, and change nothing", async () => {
    const { cookie, on, post } = await withAdmin({ onError: () => {} })
    await add("user")
    const userId = await idOf("user")
    const stored = () => store.database.rows(`select * from auth."user" order by "email"`)
    const before = await stored()
    const wrong: ReadonlyArray<Record<string, unknown>> = [
      { name: null },
      { name: 5 },
      { image: { a: 1 } },
      { emailVerified: "x" },
      { banned: "yes" },
      { banned: null },
      { banReason: 5 },
      { banExpires: "tomorrow" },
      { banExpires: "2026-02-30T00:00:00Z" },
      { banExpires: 1 }
    ]
    const answers = [
      ...await Promise.all(wrong.map((data) => post("update-user", { userId, data }))),
      ...await Promise.all(
        wrong.map((data) => post("create-user", { email: "bob@example.org", password, name: "b", data }))
      ),
      ...await Promise.all([-5, 0, 0.5, 1e300, "5"].map((banExpiresIn) => post("ban-user", { userId, banExpiresIn }))),
      await ask(on, "POST", "/update-user", { cookie, body: { name: null } }),
      await ask(on, "POST", "/update-user", { cookie, body: { name: "x", image: [1] } })
    ]
    expect(answers.map(({ body, status }) => [status, body?.["code"]])).toEqual(
      answers.map(() => [400, "VALIDATION_ERROR"])
    )
    expect(await stored()).toEqual(before)
    const soon = new Date(Date.now() + 60_000).toISOString()
    const good = { name: "N", image: null, banned: true, banReason: null, banExpires: soon }
    expect((await post("update-user", { userId, data: good })).body).toMatchObject(good)
    expect((await post("ban-user", { userId, banExpiresIn: 3_600 })).status).toBe(200)
  })

  it("show accounts without what is ours alone", async () => {
    const { cookie, on } = await withAdmin()
    const answer = await ask(on, "GET", "/admin/list-users", { cookie })
    expect(answer.body).toMatchObject({ total: 1, users: [{ email: "admin@example.org" }] })
    expect(answer.text).not.toMatch(/tokenEpoch|password/)
  })

  it("list accounts as asked, and say what cannot be asked", async () => {
    const { cookie, on } = await withAdmin()
    await add("bob")
    const list = (query: string, session: string | undefined = cookie) =>
      ask(on, "GET", `/admin/list-users?${query}`, { cookie: session })
    const emails = async (query: string) =>
      ((await list(query)).body as unknown as { readonly users: readonly { readonly email: string }[] })
        .users.map(({ email }) => email)
    const [admin, bob] = ["admin@example.org", "bob@example.org"]
    expect(await emails("sortBy=email&sortDirection=desc&limit=0")).toEqual([bob, admin])
    expect(await emails("sortBy=createdAt&limit=1&offset=1")).toEqual([bob])
    expect(await emails("filterField=role&filterValue=admin")).toEqual([admin])
    expect(await emails("searchValue=nobody")).toEqual([])
    for (
      const [query, parameter] of [
        ["sortBy=nope", "sortBy"],
        ["sortBy=", "sortBy"],
        ["sortBy=tokenEpoch", "sortBy"],
        ["filterField=nope&filterValue=x", "filterField"],
        ["filterField=createdAt&filterValue=x", "filterValue"],
        ["searchValue=%00", "searchValue"],
        ["sortBy=twoFactorEnabled", "sortBy"],
        ["limit=-1", "limit"],
        ["limit=1.5", "limit"],
        ["offset=99999999999999999999", "offset"]
      ] as const
    ) {
      const answer = await list(query)
      expect([query, answer.status, answer.body?.["type"]]).toEqual([
        query,
        400,
        "urn:service:problem:invalid-parameter"
      ])
      expect(answer.body?.["errors"]).toEqual([{ parameter, message: answer.body?.["detail"] }])
    }
    // Who may not list accounts is told so first.
    expect((await list("sortBy=nope", "")).status).toBe(401)
    expect((await list("sortBy=nope", await sessionOf(on, bob))).status).toBe(403)
  })

  it("refuse a text that no account can have", async () => {
    const { cookie, on } = await withAdmin()
    for (const query of ["id=%00", "id=x&a%00b=y"]) {
      expect(await ask(on, "GET", `/admin/get-user?${query}`, { cookie })).toMatchObject({
        status: 400,
        body: { type: "urn:service:problem:invalid-parameter" }
      })
    }
  })

  it("tell an address that is taken", async () => {
    const { post } = await withAdmin()
    expect((await post("create-user", { email: "Admin@example.org", password, name: "x" })).status).toBe(400)
  })
})

describe("a password", () => {
  it("is stored as scrypt at its full cost, and checked so", async () => {
    divideHashing(1)
    try {
      await add("ann")
      const [[stored = ""] = []] = await store.database.rows(`select password from auth."account"`)
      const [salt = "", hash] = String(stored).split(":")
      expect(salt.length).toBeGreaterThanOrEqual(32)
      const again = scryptSync(password, salt, 64, { N: 16_384, r: 16, p: 1, maxmem: 64 * 1024 * 1024 })
      expect(again.toString("hex")).toBe(hash)
      expect((await signIn(auth, "ann@example.org")).status).toBe(200)
    } finally {
      divideHashing(16)
    }
  })
})

describe("twelve characters", () => {
  const short = "elevenchars"

  it("on every path that sets a password", async () => {
    const { cookie, on, post } = await withAdmin()
    await add("bob")
    const bob = await sessionOf(on, "bob@example.org")
    const userId = await idOf("bob")
    const create = (more: object) => post("create-user", { email: "new@example.org", name: "n", ...more })
    const change = (newPassword: string) =>
      ask(on, "POST", "/change-password", { cookie: bob, body: { currentPassword: password, newPassword } })
    for (
      const answer of [
        await create({ password: short }),
        await create({ password: "" }),
        await create({}),
        await create({ password: "x".repeat(129) }),
        await create({ password: 123456789012 }),
        await post("set-user-password", { userId, newPassword: short }),
        await change(short),
        await post("update-user", { userId, data: { password: short } })
      ]
    ) expect(answer.status).toBe(400)
    expect(await roles()).toEqual({ admin: "admin", bob: "user" })
    expect((await signIn(on, "bob@example.org")).status).toBe(200)
    expect((await create({ password: "twelve chars" })).status).toBe(200)
    expect((await post("set-user-password", { userId, newPassword: "other twelve" })).status).toBe(200)
    expect((await signIn(on, "bob@example.org", "other twelve")).status).toBe(200)
    expect((await ask(on, "GET", "/token", { cookie })).status).toBe(200)
  })

  it("and a password change ends every other session but gives its maker a new one", async () => {
    const { on } = await withAdmin()
    await add("bob")
    const here = await sessionOf(on, "bob@example.org")
    const there = await sessionOf(on, "bob@example.org")
    const changed = await ask(on, "POST", "/change-password", {
      cookie: here,
      body: { currentPassword: password, newPassword: "another password", revokeOtherSessions: false }
    })
    expect(changed.status).toBe(200)
    expect((await ask(on, "GET", "/token", { cookie: there })).status).toBe(401)
    const cookie = changed.headers.getSetCookie().map((each) => each.split(";", 1)[0]).join("; ")
    expect((await ask(on, "GET", "/token", { cookie })).status).toBe(200)
  })

  it("and guesses of the current password are limited", async () => {
    await add("ann")
    const on = store.instance({ signInPerMinute: 3 })
    const cookie = await sessionOf(on, "ann@example.org")
    const guess = () =>
      ask(on, "POST", "/change-password", {
        cookie,
        body: { currentPassword: "wrong", newPassword: "another password" }
      })
    const statuses = [await guess(), await guess(), await guess(), await guess()].map(({ status }) => status)
    expect(statuses).toEqual([400, 400, 400, 429])
  })
})
