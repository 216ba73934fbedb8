// Two tenants on one server, each with people of its own: everything that somebody has at the host of one, used at the host of the other.
import { request } from "node:http"
import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createKey } from "../../adapters/auth/api-keys.ts"
import { createUser, issueToken } from "../../adapters/auth/users.ts"
import type { Auth } from "../../composition/index.ts"
import {
  defineConfig,
  defineHook,
  defineResource,
  defineView,
  f,
  fromHost,
  fromPath,
  webhooks
} from "../../composition/index.ts"
import { solver } from "../../web/client/solve.ts"
import type { Answered } from "../support/composed.ts"
import { openServer, type TestServer } from "../support/server.ts"

const notes = defineResource("notes", {
  primaryKey: "id",
  tenant: "tenant_id",
  events: { created: true },
  fields: {
    id: f.integer().readOnly().dbDefault().filterable().sortable(),
    title: f.text().max(60).filterable()
  },
  access: {
    read: ({ caller }) => !caller.roles.includes("anonymous"),
    create: true,
    update: ["admin"],
    delete: ["admin"]
  }
})

const schema =
  `create table notes (id integer generated always as identity primary key, title text not null, tenant_id text not null);
  insert into notes (title, tenant_id) values ('of acme', 'acme'), ('of globex', 'globex-2')`

const messages: Array<readonly [tenant: string | null, body: unknown]> = []

const configOf = (tenant: ReturnType<typeof fromHost>) =>
  defineConfig({
    resources: [notes],
    views: [
      defineView(notes, {}).form({ name: "contact", title: "Write to us", fields: ["title"], thanks: "Thank you." })
    ],
    auth: { tenant, roles: ["user"], mail: true, twoFactor: true, passkeys: true },
    hooks: {
      note: defineHook({
        verify: ({ headers, tenant: of }) =>
          headers.get("x-forged") === null && { id: of === null ? "none" : "the-same-id" },
        run: (message) => void messages.push([message.tenant, message.json()])
      })
    },
    extends: [webhooks({ allowPrivateAddresses: true })],
    options: { tasks: true },
    forms: { difficulty: 1 }
  })

const list = (value: unknown): readonly Answered[] => Array.isArray(value) ? value : []
const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value)

interface Asked {
  readonly cookie?: string
  readonly bearer?: string
  readonly body?: object
  readonly headers?: { readonly [name: string]: string }
}

interface Got {
  readonly status: number
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  readonly text: string
  readonly json: Answered
  readonly cookie: string
}

let server: TestServer

const ask = (
  host: string,
  method: string,
  path: string,
  { bearer, body, cookie, headers = {} }: Asked = {}
): Promise<Got> =>
  new Promise((resolve, reject) => {
    const sent = body === undefined ? null : JSON.stringify(body)
    const asked = request({
      host: "127.0.0.1",
      port: server.server.port,
      method,
      path,
      headers: {
        host,
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(cookie === undefined ? {} : { cookie }),
        ...(sent === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(sent) }),
        ...headers
      }
    }, (answer) => {
      const chunks: Buffer[] = []
      answer.on("data", (chunk: Buffer) => chunks.push(chunk)).once("end", () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text,
          json: (/^[[{]/.test(text) ? JSON.parse(text) : {}) as Answered,
          cookie: (answer.headers["set-cookie"] ?? []).map((each) => each.split(";", 1)[0]).join("; ")
        })
      })
    })
    asked.once("error", reject)
    asked.end(sent ?? undefined)
  })

/** Sends bytes as they are; the whole answer as text. */
const raw = (text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(server.server.port, "127.0.0.1")
    let got = ""
    socket.setEncoding("utf8").on("data", (part) => void (got += part)).once("error", reject)
      .once("close", () => resolve(got))
    socket.write(text)
  })

const statusOf = (answer: string): number => Number(/^HTTP\/1\.[01] (\d+)/.exec(answer)?.[1] ?? 0)

/** Somebody who is signed in at a host. */
interface Person {
  readonly id: string
  readonly cookie: string
  readonly token: string
  readonly key: string
}

const password = "correct horse battery"

const begin = async (auth: Auth, host: string, below: string, email: string): Promise<Person> => {
  const { id } = await createUser(auth, { email, password, role: "admin" })
  const signedIn = await ask(host, "POST", `${below}/api/auth/sign-in/email`, { body: { email, password } })
  expect([host, signedIn.status, signedIn.text]).toMatchObject([host, 200, expect.any(String)])
  const token = await ask(host, "GET", `${below}/api/auth/token`, { cookie: signedIn.cookie })
  expect(token.status, token.text).toBe(200)
  const key = await createKey(auth, { email, name: "a key", role: "admin" })
  return { id, cookie: signedIn.cookie, token: textOf(token.json["token"]), key: key.text }
}

const authOf = (tenant: string): Auth => {
  const auth = server.server.tenantAuths?.get(tenant)
  if (auth === undefined) throw new Error("the server keeps accounts of each tenant")
  return auth
}

const log: string[] = []

describe("by host", () => {
  let ann: Person
  let bob: Person
  let twin: Person

  beforeAll(async () => {
    server = await openServer(
      configOf(fromHost({ suffix: ".shop.test", tenants: ["acme", "globex-2"], hosts: { "acme.example": "acme" } })),
      {
        schema,
        log: (line) => void log.push(line),
        env: {
          AUTH_URL: "https://admin.test:8443",
          SERVICE_SMTP_URL: "smtp://127.0.0.1:1",
          SERVICE_MAIL_FROM: "a@b.test"
        }
      }
    )
    ann = await begin(authOf("acme"), "acme.example", "", "ann@example.org")
    bob = await begin(authOf("globex-2"), "globex-2.shop.test", "", "bob@example.org")
    // The same address at another tenant is another person.
    twin = await begin(authOf("globex-2"), "globex-2.shop.test", "", "ann@example.org")
  })
  afterAll(() => server?.close())

  const [acme, globex] = ["acme.example", "globex-2.shop.test"]

  it("people have the records of their tenant, at each of its hosts", async () => {
    const titles = async (host: string, bearer: string) =>
      list((await ask(host, "GET", "/api/v1/notes", { bearer })).json["items"]).map(({ title }) => title)
    for (const host of [acme, "acme.shop.test", "ACME.Shop.Test.:8443"]) {
      for (const bearer of [ann.token, ann.key]) expect(await titles(host, bearer)).toEqual(["of acme"])
    }
    for (const bearer of [bob.token, bob.key]) expect(await titles(globex, bearer)).toEqual(["of globex"])
    expect(twin.id).not.toBe(ann.id)
  })

  it("a token, a key, a session and a token of the host are nothing at another tenant's host", async () => {
    const minted = await issueToken(authOf("acme"), { email: "ann@example.org" })
    for (const bearer of [ann.token, ann.key, minted.token]) {
      expect((await ask(acme, "GET", "/api/meta", { bearer })).status).toBe(200)
      for (
        const path of [
          "/api/meta",
          "/api/v1/notes",
          "/api/audit",
          "/api/tasks",
          "/api/v1/notes:watch",
          "/api/v1/notes:export?format=csv"
        ]
      ) {
        expect([path, (await ask(globex, "GET", path, { bearer })).status]).toEqual([path, 401])
      }
    }
    expect((await ask(acme, "GET", "/api/auth/get-session", { cookie: ann.cookie })).json["user"]!["email"]).toBe(
      "ann@example.org"
    )
    expect((await ask(globex, "GET", "/api/auth/get-session", { cookie: ann.cookie })).text).toBe("null")
    for (const path of ["/token", "/list-sessions", "/api-keys/list", "/admin/list-users", "/admin/roles"]) {
      expect([path, (await ask(acme, "GET", `/api/auth${path}`, { cookie: ann.cookie })).status]).toEqual([path, 200])
      expect([path, (await ask(globex, "GET", `/api/auth${path}`, { cookie: ann.cookie })).status]).toEqual([path, 401])
    }
  })

  it("a password signs in at its own host alone, also where both have the address", async () => {
    await authOf("acme").internals.engine()
    const signIn = (host: string, email: string, word = password) =>
      ask(host, "POST", "/api/auth/sign-in/email", { body: { email, password: word } })
    expect((await signIn(acme, "bob@example.org")).status).toBe(401)
    expect((await signIn(globex, "bob@example.org")).status).toBe(200)
    const changed = "another good password"
    const sent = { cookie: twin.cookie, body: { currentPassword: password, newPassword: changed } }
    const fresh = await ask(globex, "POST", "/api/auth/change-password", sent)
    expect(fresh.status, fresh.text).toBe(200)
    expect((await signIn(acme, "ann@example.org")).status).toBe(200)
    expect((await signIn(acme, "ann@example.org", changed)).status).toBe(401)
    expect((await signIn(globex, "ann@example.org", changed)).status).toBe(200)
  })

  it("an admin sees and changes the people of one tenant alone", async () => {
    const emails = async (host: string, cookie: string) =>
      list((await ask(host, "GET", "/api/auth/admin/list-users", { cookie })).json["users"]).map(({ email }) =>
        textOf(email)
      ).toSorted()
    expect(await emails(acme, ann.cookie)).toEqual(["ann@example.org"])
    expect(await emails(globex, bob.cookie)).toEqual(["ann@example.org", "bob@example.org"])
    const acts: ReadonlyArray<readonly [string, object]> = [
      ["set-role", { userId: bob.id, role: "user" }],
      ["ban-user", { userId: bob.id }],
      ["remove-user", { userId: bob.id }],
      ["set-user-password", { userId: bob.id, newPassword: "taken over by ann" }],
      ["update-user", { userId: bob.id, data: { name: "Taken" } }],
      ["revoke-user-sessions", { userId: bob.id }],
      ["list-user-sessions", { userId: bob.id }],
      ["reset-second-factor", { userId: bob.id }],
      ["send-password-link", { userId: bob.id }]
    ]
    for (const [path, body] of acts) {
      const answer = await ask(acme, "POST", `/api/auth/admin/${path}`, { cookie: ann.cookie, body })
      if (answer.status === 200) {
        expect([path, JSON.stringify(answer.json)]).not.toEqual([path, expect.stringContaining(bob.id)])
      } else {expect([path, answer.status]).toEqual([
          path,
          expect.toSatisfy((status: number) => [400, 403, 404].includes(status))
        ])}
    }
    expect((await ask(globex, "GET", "/api/auth/get-session", { cookie: bob.cookie })).json["user"]).toMatchObject({
      id: bob.id,
      role: "admin",
      name: "bob"
    })
    expect((await ask(globex, "GET", "/api/meta", { bearer: bob.token })).status).toBe(200)
  })

  it("keys are listed and revoked by their owner at their own host", async () => {
    const [, id] = ann.key.split("_")
    const answer = await ask(globex, "POST", "/api/auth/api-keys/revoke", { cookie: bob.cookie, body: { id } })
    expect(answer.status).toBe(404)
    expect((await ask(acme, "GET", "/api/meta", { bearer: ann.key })).status).toBe(200)
  })

  it("whose first account is still to be made is said of each tenant", async () => {
    for (const host of [acme, globex]) {
      expect((await ask(host, "GET", "/api/auth/status")).json).toEqual({ needsAdmin: false })
    }
  })

  it("pages of one tenant's host cannot use the sessions of another's", async () => {
    const at = (host: string, cookie: string, origin: string) =>
      ask(host, "GET", "/api/auth/token", { cookie, headers: { origin, "sec-fetch-site": "same-site" } })
    expect((await at(globex, bob.cookie, "https://globex-2.shop.test:8443")).status).toBe(200)
    expect((await at(acme, ann.cookie, "https://acme.shop.test:8443")).status).toBe(200)
    expect((await at(acme, ann.cookie, "https://acme.example:8443")).status).toBe(200)
    for (
      const origin of [
        "https://acme.example:8443",
        "https://acme.shop.test:8443",
        "https://admin.test:8443",
        "https://shop.test:8443"
      ]
    ) {
      expect([origin, (await at(globex, bob.cookie, origin)).status]).toEqual([origin, 403])
    }
  })

  it("a cookie of the parent domain, as another host can set it, is nobody's session", async () => {
    // The same name, with the cookie of a session elsewhere: alone, before and behind the own one.
    const session = (given: string) => ask(globex, "GET", "/api/auth/get-session", { cookie: given })
    expect((await session(ann.cookie)).text).toBe("null")
    for (const both of [`${ann.cookie}; ${bob.cookie}`, `${bob.cookie}; ${ann.cookie}`]) {
      const { text } = await session(both)
      expect(text).not.toContain("ann@example.org")
    }
    for (
      const line
        of (await ask(globex, "POST", "/api/auth/sign-in/email", { body: { email: "bob@example.org", password } }))
          .headers["set-cookie"] ?? []
    ) {
      expect(line).not.toMatch(/domain=/i)
      expect(line).toMatch(/httponly/i)
    }
  })

  it("mails lead to the tenant's own host, and their links work there alone", async () => {
    const { rows } = server.database
    expect(
      (await ask(globex, "POST", "/api/auth/request-password-reset", { body: { email: "bob@example.org" } })).status
    ).toBe(200)
    expect(authOf("globex-2").mailer?.page).toBe("https://globex-2.shop.test:8443/-/reset")
    expect(authOf("acme").mailer?.page).toBe("https://acme.example:8443/-/reset")
    const waiting = async () =>
      (await rows(
        "select j.payload::text from jobs._private_jobs j join jobs._private_tasks t on t.id = j.task_id where t.identifier = 'accounts.reset-password'"
      )).map(([payload]) => JSON.parse(textOf(payload)) as object)
    // It waits for its next try: nobody answers for the mail server.
    await expect.poll(waiting).toEqual([{ email: "bob@example.org", tenant: "globex-2" }])
    const link = await authOf("globex-2").internals.links.make("reset", bob.id)
    const body = { token: link?.token, newPassword: "set by a link of mine" }
    expect((await ask(acme, "POST", "/api/auth/reset-password", { body })).status).toBe(400)
    expect((await ask(globex, "POST", "/api/auth/reset-password", { body: { ...body, newPassword: password } })).status)
      .toBe(200)
    const again = await ask(globex, "POST", "/api/auth/sign-in/email", { body: { email: "bob@example.org", password } })
    bob = {
      ...bob,
      cookie: again.cookie,
      token: textOf((await ask(globex, "GET", "/api/auth/token", { cookie: again.cookie })).json["token"])
    }
  })

  it("passkeys are made for the tenant's own host", async () => {
    for (const host of [acme, globex]) {
      const { json } = await ask(host, "GET", "/api/auth/passkey/generate-authenticate-options")
      expect(json["rpId"]).toBe(host)
    }
  })

  it("attempts at one tenant lock nobody out of another", async () => {
    const key = async (auth: Auth) => auth.internals.hashOf("account", "ann@example.org")
    expect(await key(authOf("acme"))).not.toBe(await key(authOf("globex-2")))
    const { rows } = server.database
    expect(await rows("select count(*)::int from auth_acme.attempt")).not.toEqual([["0"]])
  })

  it("a form writes into the tenant of its host, and a challenge is good there alone", async () => {
    const proof = async (host: string) => {
      const { json } = await ask(host, "GET", "/api/forms/contact:challenge")
      const challenge = textOf(json["challenge"])
      return { challenge, solution: solver(challenge, Number(json["difficulty"]))(2 ** 31) }
    }
    const submit = async (host: string, from: string, title: string) =>
      (await ask(host, "POST", "/api/forms/contact", { body: { values: { title }, proof: await proof(from) } })).status
    expect(await submit(globex, globex, "from a visitor")).toBe(204)
    expect(await submit(acme, globex, "with a challenge of globex")).toBe(400)
    const { rows } = server.database
    expect(await rows("select title, tenant_id from notes where title like 'from%' or title like 'with%'")).toEqual([
      ["from a visitor", "globex-2"]
    ])
  })

  it("a message of another system says whose host was called, and one id is another message at each", async () => {
    for (const host of [acme, globex, globex]) {
      expect((await ask(host, "POST", "/api/hooks/note", { body: { of: host } })).status).toBe(202)
    }
    await expect.poll(() => messages.length).toBe(2)
    expect(new Map(messages)).toEqual(new Map([["acme", { of: acme }], ["globex-2", { of: globex }]]))
  })

  it("subscriptions, tasks and the audit are those of one tenant", async () => {
    const made = await ask(acme, "POST", "/api/v1/webhook_subscriptions", {
      bearer: ann.token,
      body: { name: "mine", events: "notes.created", url: "http://127.0.0.1:9/x" }
    })
    expect(made.status, made.text).toBe(201)
    const place = `/api/v1/webhook_subscriptions/${textOf(made.json["id"])}`
    expect((await ask(globex, "GET", place, { bearer: bob.token })).status).toBe(404)
    for (const verb of ["test", "rotateSecret", "revealSecret", "disable"]) {
      expect([verb, (await ask(globex, "POST", `${place}:${verb}`, { bearer: bob.token, body: {} })).status]).toEqual([
        verb,
        404
      ])
    }
    const task = await ask(acme, "POST", "/api/v1/notes:bulk", {
      bearer: ann.token,
      body: { op: "update", filter: "title = \"of acme\"", data: { title: "of acme" } }
    })
    expect(task.status, task.text).toBe(202)
    const id = textOf(task.json["id"])
    expect((await ask(acme, "GET", `/api/tasks/${id}`, { bearer: ann.token })).status).toBe(200)
    expect((await ask(globex, "GET", `/api/tasks/${id}`, { bearer: bob.token })).status).toBe(404)
    expect((await ask(globex, "POST", `/api/tasks/${id}:cancel`, { bearer: bob.token, body: {} })).status).toBe(404)
    expect((await ask(globex, "GET", "/api/tasks", { bearer: bob.token })).json["tasks"]).toEqual([])
    await expect.poll(async () => (await ask(acme, "GET", `/api/tasks/${id}`, { bearer: ann.token })).json["state"])
      .toBe("completed")
    const who = async (host: string, bearer: string) =>
      new Set(
        list((await ask(host, "GET", "/api/audit", { bearer })).json["entries"]).map(({ who: by }) =>
          by?.["id"] ?? null
        )
      )
    expect(await who(acme, ann.token)).toContain(ann.id)
    expect(await who(acme, ann.token)).not.toContain(bob.id)
    expect(await who(globex, bob.token)).not.toContain(ann.id)
  })

  it("every line of the log about somebody says whose accounts they are in", () => {
    const about = (event: string) =>
      log.map((line) => JSON.parse(line) as Answered).filter((line) => line["event"] === event)
    for (const event of ["sign-in-ok", "account-created", "key-created", "password-changed"]) {
      expect(about(event).length, event).toBeGreaterThan(0)
      for (const { tenant, user } of about(event)) expect(tenant).toBe(user === ann.id ? "acme" : "globex-2")
    }
    for (const { tenant } of about("request")) expect([undefined, "acme", "globex-2"]).toContain(tenant)
  })

  describe("hostile requests", () => {
    const head = (line: string, ...lines: readonly string[]) =>
      raw([line, ...lines, "connection: close", "", ""].join("\r\n"))
    const bearer = () => `authorization: Bearer ${ann.token}`

    it("with two hosts, or another one in the target, are a 400", async () => {
      for (
        const [line, ...lines] of [
          ["GET /api/meta HTTP/1.1", "host: acme.example", "host: globex-2.shop.test"],
          ["GET http://globex-2.shop.test/api/meta HTTP/1.1", "host: acme.example"],
          ["GET HTTP://acme.example@globex-2.shop.test/api/meta HTTP/1.1", "host: acme.example"],
          ["GET http://acme.example:81/api/meta HTTP/1.1", "host: acme.example"],
          ["GET /api/meta HTTP/1.1", "host: acme.example, globex-2.shop.test"],
          ["GET /api/meta HTTP/1.1", "host: acme.example/globex-2.shop.test"],
          ["GET /api/meta HTTP/1.1"]
        ] as const
      ) {
        const answer = await head(line, ...lines, bearer())
        expect([line, lines, statusOf(answer)]).toEqual([line, lines, 400])
      }
      expect(statusOf(await head("GET http://acme.example/api/meta HTTP/1.1", "host: acme.example", bearer()))).toBe(
        200
      )
    })

    it("without a host, or with one that nobody has, are a 404", async () => {
      expect(statusOf(await head("GET /api/meta HTTP/1.0", bearer()))).toBe(404)
      for (
        const host of [
          "",
          "[::1]",
          "127.0.0.1",
          "shop.test",
          "x.acme.shop.test",
          "acme%2eexample",
          "acme.example..",
          "acme_.shop.test",
          "*.shop.test",
          "constructor"
        ]
      ) {
        expect([host, statusOf(await head("GET /api/meta HTTP/1.1", `host: ${host}`, bearer()))]).toEqual([host, 404])
      }
    })

    it("with forwarded hosts are at the host they came to", async () => {
      const answer = await ask(acme, "GET", "/api/meta", {
        bearer: ann.token,
        headers: { "x-forwarded-host": globex, "forwarded": `host=${globex}`, "x-forwarded-server": globex }
      })
      expect(answer.json["user"]).toMatchObject({ tenant: "acme" })
    })

    it("cannot put another address into links", async () => {
      const { json } = await ask("acme.shop.test:9999", "GET", "/api/openapi.json", { bearer: ann.token })
      expect(json["servers"]).toEqual([{ url: "https://acme.example:8443" }])
    })
  })

  it("who sends too much to a form or a hook at one host is refused there alone", async () => {
    const until429 = async (send: () => Promise<Got>) => {
      for (let sent = 0; sent < 100; sent++) if ((await send()).status === 429) return
      throw new Error("nothing was too much")
    }
    const submit = (host: string) => ask(host, "POST", "/api/forms/contact", { body: {} })
    await until429(() => submit(globex))
    expect((await submit(acme)).status).toBe(400)
    const forged = { "x-forged": "1" }
    await until429(() => ask(globex, "POST", "/api/hooks/note", { body: {}, headers: forged }))
    expect((await ask(globex, "POST", "/api/hooks/note", { body: {} })).status).toBe(429)
    expect((await ask(acme, "POST", "/api/hooks/note", { body: {} })).status).toBe(202)
  })

  it("jobs and metrics are the operator's", async () => {
    for (
      const path of ["/api/jobs", "/api/jobs/failed", "/api/jobs/pending", "/api/jobs/running", "/api/jobs/activity"]
    ) {
      expect([path, (await ask(acme, "GET", path, { bearer: ann.token })).status]).toEqual([path, 404])
    }
    expect((await ask(acme, "GET", "/api/meta", { bearer: ann.token })).json).not.toHaveProperty("jobs")
    for (const host of ["127.0.0.1", acme]) expect((await ask(host, "GET", "/livez")).status).toBe(200)
  })
})

describe("by path", () => {
  let ann: Person
  let bob: Person

  beforeAll(async () => {
    server = await openServer(
      configOf(fromPath({ prefix: "/t", tenants: ["acme", "globex-2"] })),
      {
        schema,
        env: {
          AUTH_URL: "https://admin.test:8443",
          SERVICE_SMTP_URL: "smtp://127.0.0.1:1",
          SERVICE_MAIL_FROM: "a@b.test"
        }
      }
    )
    ann = await begin(authOf("acme"), "any.host", "/t/acme", "ann@example.org")
    bob = await begin(authOf("globex-2"), "any.host", "/t/globex-2", "bob@example.org")
  })
  afterAll(() => server?.close())

  const at = (tenant: string, method: string, path: string, more: Asked = {}) =>
    ask("any.host", method, `/t/${tenant}${path}`, more)

  it("everything stands below the tenant's path, and nothing beside it", async () => {
    for (const bearer of [ann.token, ann.key]) {
      expect((await at("acme", "GET", "/api/v1/notes", { bearer })).json["items"]).toMatchObject([{ title: "of acme" }])
      expect((await at("globex-2", "GET", "/api/v1/notes", { bearer })).status).toBe(401)
    }
    for (
      const path of [
        "/api/v1/notes",
        "/t/api/v1/notes",
        "/t/nobody/api/v1/notes",
        "/t/acme/t/acme/api/v1/notes",
        "/t/%61cme/api/v1/notes",
        "/"
      ]
    ) {
      expect([path, (await ask("any.host", "GET", path, { bearer: ann.token })).status]).toEqual([path, 404])
    }
    const made = await at("globex-2", "POST", "/api/v1/notes", { bearer: bob.token, body: { title: "new" } })
    expect(made.headers["location"]).toBe(`/t/globex-2/api/v1/notes/${textOf(made.json["id"])}`)
    expect((await ask("any.host", "GET", textOf(made.headers["location"]), { bearer: bob.token })).json["title"]).toBe(
      "new"
    )
    expect((await at("acme", "GET", "/api/openapi.json", { bearer: ann.token })).json["servers"]).toEqual([{
      url: "https://admin.test:8443/t/acme"
    }])
  })

  it("a session's cookie is for its tenant's path", async () => {
    const signedIn = await at("acme", "POST", "/api/auth/sign-in/email", {
      body: { email: "ann@example.org", password }
    })
    for (const line of signedIn.headers["set-cookie"] ?? []) {
      expect(line).toMatch(/; path=\/t\/acme(?:\/api\/auth)?(?:;|$)/i)
    }
    expect((await at("acme", "GET", "/api/auth/token", { cookie: signedIn.cookie })).status).toBe(200)
    expect((await at("globex-2", "GET", "/api/auth/token", { cookie: signedIn.cookie })).status).toBe(401)
    expect(authOf("acme").mailer?.page).toBe("https://admin.test:8443/t/acme/-/reset")
  })
})
