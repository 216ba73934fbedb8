// Every kind of route against every state of the database: what needs no write works on while only writes are refused, everything else is a 503 that says
// why and when to try again. Never a 500, never without an end, and what was refused has not happened. One service with a bit of everything serves.
import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import {
  createUser,
  defineConfig,
  defineFunction,
  defineHook,
  defineResource,
  defineRoles,
  defineView,
  f,
  githubSignature,
  localFiles,
  startServer,
  webhooks
} from "../../composition/index.ts"
import type { Server } from "../../composition/index.ts"
import { history } from "../../core/domain/declare/history.ts"
import { solver } from "../../web/client/solve.ts"
import { divideHashing } from "../auth/hashing.ts"
import { openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { disconnect, diskFull, down, endWaiting, held, noConnections, readOnly, standby } from "../support/outages.ts"
import type { Outage } from "../support/outages.ts"
import { migrate, migrationsOf } from "../support/server.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })
divideHashing(16)

const books = defineResource("books", {
  table: "books",
  primaryKey: "id",
  version: "changed_at",
  softDelete: "deleted_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    name: f.text().max(80).filterable().sortable().searched(),
    pages: f.integer().filterable().sortable().default(1),
    printed_at: f.timestamp().optional().filterable(),
    scan: f.file().optional().maxSize("1 MB"),
    changed_at: f.timestamp(),
    deleted_at: f.timestamp().optional()
  },
  events: { created: true, updated: true }
})
/** Written by a form, and by statements that commit by themselves. */
const letters = defineResource("letters", {
  table: "letters",
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    text: f.text().max(200)
  }
})
/** What has a hook that uses its transaction. */
const hooked = defineResource("hooked", {
  table: "hooked",
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    text: f.text().max(200)
  }
})

/** Held by a test, so that whoever asks for it keeps a connection. */
const blocked = defineResource("blocked", {
  table: "blocked",
  primaryKey: "id",
  fields: { id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(), text: f.text() }
})

const told = defineJob<{ readonly n: number }>({ name: "told", run: () => {} })

const hookSecret = "a secret for the hook of the tests"

/** Swallows what its statement threw where the text says so. */
const hook = async (
  { after, resource, transaction }: {
    readonly after: unknown
    readonly resource: string
    readonly transaction: { readonly query: (sql: string, params?: readonly unknown[]) => Promise<unknown> }
  }
): Promise<void> => {
  if (resource !== "hooked") return
  try {
    await told.enqueue(transaction as never, { n: 1 })
    await transaction.query("select count(*) from kept")
  } catch (error) {
    if ((after as { readonly text?: string } | null)?.text !== "swallows") {
      throw new Error("the hook gave up", { cause: error })
    }
  }
}

const configOf = (folder: string) =>
  defineConfig({
    resources: [books, letters, hooked, blocked],
    views: [
      defineView(letters, { forms: [{ name: "letter", fields: ["text"], thanks: "Thanks", perMinute: 1_000 }] })
    ],
    forms: { difficulty: 1 },
    roles: defineRoles({ admin: ["*"], anonymous: ["letters.create"] } as never),
    auth: { twoFactor: true, passkeys: true, mail: true, signInPerMinute: 1_000 },
    jobs: [told],
    hooks: { told: defineHook({ verify: githubSignature({ secret: hookSecret }), run: () => {} }) },
    functions: {
      reads: defineFunction({
        roles: ["admin"],
        run: async (_, { db }) => (await db.query("select count(*)::int as count from letters"))[0]
      }),
      enqueues: defineFunction({
        roles: ["admin"],
        run: async (_, { enqueue }) => ({ id: await enqueue(told, { n: 2 }) })
      }),
      wraps: defineFunction({
        roles: ["admin"],
        run: async (_, { db }) => {
          try {
            await db.query("insert into kept (n) values (1)")
          } catch (cause) {
            throw new Error("the function gave up", { cause })
          }
        }
      }),
      asks: defineFunction({
        roles: ["admin"],
        run: async (_, { records }) => {
          try {
            return { id: (await records("letters").create({ text: "by a function" }))["id"] }
          } catch (cause) {
            throw new Error("the function gave up", { cause })
          }
        }
      }),
      writes: defineFunction({
        roles: ["admin"],
        run: async (_, { records }) => ({ id: (await records("letters").create({ text: "by a function" }))["id"] })
      })
    },
    files: { providers: { private: localFiles({ dir: folder }) } },
    extends: [webhooks({ allowPrivateAddresses: true }), history({ resources: ["books"] })],
    options: { writeHooks: [hook as never], statementTimeoutMs: 60_000 }
  })

const schema = `
create table books (
  id bigint generated by default as identity primary key, name text not null, pages integer not null default 1,
  printed_at timestamptz, scan text, changed_at timestamptz not null default clock_timestamp(), deleted_at timestamptz
);
create table letters (id bigint generated by default as identity primary key, text text not null);
create table hooked (id bigint generated by default as identity primary key, text text not null);
create table blocked (id bigint generated by default as identity primary key, text text not null);
create table kept (n integer);
insert into books (id, name, pages) select i, 'book ' || i, i from generate_series(1, 1000) i;
alter table books alter id restart 10001;
create role app login;
`

const rights = `
do $$ declare s text; begin
  foreach s in array array['public', 'service', 'auth', 'jobs', 'webhooks', 'history'] loop
    execute format('grant usage on schema %I to app', s);
    execute format('grant all on all tables in schema %I to app', s);
    execute format('grant all on all sequences in schema %I to app', s);
    execute format('grant execute on all functions in schema %I to app', s);
  end loop;
end $$; analyze`

const password = "correct horse battery"
const drainToken = "a.token.for.draining.the.queue"
const metricsToken = "a.token.for.reading.the.metrics"

interface Got {
  readonly status: number
  readonly type: string
  readonly retryAfter: string | null
  readonly body: { readonly [member: string]: never }
  readonly cookie: string
  readonly headers: Headers
}

/** What a route needs of the database: nothing, or nothing once it was asked, to read, or to write. */
type Needs = "nothing" | "read" | "write"

interface Route {
  readonly name: string
  readonly needs: Needs
  /** Makes what the request needs, while all is well; what it gives goes into `ask`. */
  readonly prepare?: () => Promise<unknown>
  readonly ask: (prepared: never) => Promise<Got>
  /** Status in good times. */
  readonly status: number
  /** It writes nothing here, so it needs no room. */
  readonly idle?: true
}

const lines: string[] = []
let standingFactor = ""
let folder: string
let cluster: TestCluster
let server: Server
let bearer = ""
let apiKey = ""
let session = ""
let counter = 0
const next = (): number => ++counter

/** Longer than anything may take here, the statement timeout of a minute included. */
const longest = 90_000

const send = async (
  method: string,
  path: string,
  { body, headers = {}, as = bearer, cookie, raw }: {
    readonly body?: unknown
    readonly raw?: string
    readonly headers?: { readonly [name: string]: string }
    readonly as?: string | null
    readonly cookie?: string
  } = {}
): Promise<Got> => {
  const response = await fetch(`${server.address}${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(as === null || as === "" || cookie !== undefined ? {} : { authorization: `Bearer ${as}` }),
      ...(cookie === undefined ? {} : { cookie }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers
    },
    ...(raw === undefined ? {} : { body: raw }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(longest)
  })
  const stream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
  if (stream) await response.body?.cancel()
  const text = stream ? "" : await response.text()
  let parsed: Got["body"] = {}
  try {
    parsed = JSON.parse(text) as Got["body"]
  } catch {
    // No JSON.
  }
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    retryAfter: response.headers.get("retry-after"),
    body: parsed,
    headers: response.headers,
    cookie: response.headers.getSetCookie().map((each) => each.split(";")[0]).join("; ")
  }
}

const api = (path: string): string => `/api/v1/${path}`
const auth = (path: string): string => `/api/auth/${path}`
const get = (path: string) => () => send("GET", path)
const inSession = (method: string, path: string, body?: unknown) => () =>
  send(method, auth(path), { cookie: session, ...(body === undefined ? {} : { body }) })

const signIn = async (email = "ada@example.org"): Promise<string> => {
  const { cookie, status } = await send("POST", auth("sign-in/email"), { as: null, body: { email, password } })
  if (status !== 200) throw new Error(`sign-in: ${status}`)
  return cookie
}

const etagOf = async (path: string): Promise<string> => (await send("GET", api(path))).headers.get("etag") ?? ""

/** A book that nobody touched yet. */
const aBook = async (): Promise<{ readonly id: number; readonly etag: string }> => {
  const id = next()
  return { id, etag: await etagOf(`books/${id}`) }
}

const aTask = async (): Promise<string> =>
  String(
    (await send("POST", api("letters:import"), { raw: "text\nx\n", headers: { "content-type": "text/csv" } }))
      .body["id"]
  )

const aView = async (): Promise<{ readonly id: string; readonly etag: string }> => {
  const made = await send("POST", "/api/saved-views", {
    body: { resource: "books", name: `view ${next()}`, filter: "" }
  })
  return { id: String(made.body["id"]), etag: String(made.body["etag"]) }
}

const aSubscription = async (): Promise<string> =>
  String((await send("POST", api("webhook_subscriptions"), { body: subscriptionBody() })).body["id"])
const subscriptionBody = () => ({
  name: `subscription ${next()}`,
  events: "books.created",
  url: "https://127.0.0.1:9/hook",
  enabled: false
})

const aFailedJob = async (): Promise<string> => {
  const [[id = ""] = []] = await cluster.rows(
    `with made as (select jobs._enqueue('told', '{"n":3}'::json, null, null, null, null, null, 0, null, null) as id) select id::text from made`
  )
  await cluster.execute(
    `update jobs._private_jobs set attempts = max_attempts, last_error = 'failed' where id = ${id}`
  )
  return id ?? ""
}

const aProof = async () => {
  const { body } = await send("GET", "/api/forms/letter:challenge")
  const { challenge, difficulty } = body as unknown as { readonly challenge: string; readonly difficulty: number }
  return { challenge, solution: solver(challenge, difficulty)(2 ** 31)! }
}

const aUser = async (): Promise<string> => {
  const made = await send("POST", auth("admin/create-user"), {
    cookie: session,
    body: { email: `user${next()}@example.org`, password, name: "User", role: "admin" }
  })
  return String((made.body["user"] as unknown as { readonly id: string }).id)
}

const passkey = {
  id: "AAAA",
  rawId: "AAAA",
  type: "public-key",
  response: { clientDataJSON: "e30", authenticatorData: "AAAA", signature: "AAAA" },
  clientExtensionResults: {}
}

const task = "/api/tasks"

const signatureOf = (body: string): string => `sha256=${createHmac("sha256", hookSecret).update(body).digest("hex")}`

const message = (body: string, signature = signatureOf(body)) =>
  send("POST", "/api/hooks/told", {
    as: null,
    raw: body,
    headers: { "x-hub-signature-256": signature, "x-github-delivery": `delivery-${next()}` }
  })

/** A request for a route that changes something of what `prepare` made. */
const changing = <A>(
  name: string,
  status: number,
  prepare: () => Promise<A>,
  ask: (prepared: A) => Promise<Got>
): Route => ({ name, needs: "write", status, prepare, ask: ask as Route["ask"] })
const reading = (name: string, ask: () => Promise<Got>, status = 200): Route => ({ name, needs: "read", status, ask })
const writing = (name: string, status: number, ask: () => Promise<Got>): Route => ({
  name,
  needs: "write",
  status,
  ask
})
const needless = (name: string, ask: () => Promise<Got>, status = 200): Route => ({
  name,
  needs: "nothing",
  status,
  ask
})

let standing: {
  readonly link: string
  readonly task: string
  readonly view: { readonly id: string; readonly etag: string }
  readonly subscription: string
} = { link: "", task: "", view: { id: "", etag: "" }, subscription: "" }

const routes: readonly Route[] = [
  needless("livez", get("/livez")),
  needless("meta", get("/api/meta")),
  needless("openapi", get("/api/openapi.json")),
  needless("form", get("/api/forms/letter")),
  needless("challenge of a form", get("/api/forms/letter:challenge")),
  needless(
    "upload of a file",
    () => send("POST", api("books:upload?field=scan"), { raw: "text", headers: { "content-type": "text/plain" } }),
    201
  ),
  needless(
    "upload of a file in pieces",
    () =>
      send("POST", api("books:upload?field=scan"), {
        raw: "text",
        headers: { "tus-resumable": "1.0.0", "upload-length": "4", "content-type": "application/offset+octet-stream" }
      }),
    201
  ),
  reading("list", get(api("books?page_size=3"))),
  reading("list with a filter", get(api("books?page_size=3&filter=pages%20%3E%20990"))),
  reading("count", get(api("books?page_size=1&count=exact"))),
  reading("get", get(api("books/1"))),
  reading("get by API key", () => send("GET", api("books/1"), { as: apiKey })),
  reading("search", () => send("POST", api("books:search"), { body: { filter: "pages > 990" } })),
  reading("facets", get(api("books:facets?field=pages"))),
  reading("series", get(api("books:series?field=printed_at&granularity=day"))),
  reading("histogram", get(api("books:histogram?field=pages"))),
  reading("aggregate", get(api("books:aggregate?group_by=pages&limit=5"))),
  reading("aggregate by a body", () => send("POST", api("books:aggregate"), { body: { measures: ["sum(pages)"] } })),
  reading("seek", get(api("books:seek?position=5"))),
  reading("export", get(api("letters:export?format=csv"))),
  reading("sizes", get("/api/sizes?resources=books,letters")),
  reading("versions", get(api("books_history?page_size=3"))),
  reading("link of a file", () => send("GET", standing.link, { as: null })),
  writing("watch", 200, get(api("books:watch"))),
  writing("create", 201, () => send("POST", api("books"), { body: { name: "new" } })),
  writing("create alone", 201, () => send("POST", api("letters"), { body: { text: "new" } })),
  writing(
    "create with a key",
    201,
    () => send("POST", api("letters"), { body: { text: "keyed" }, headers: { "idempotency-key": `key-${next()}` } })
  ),
  writing("create with a hook", 201, () => send("POST", api("hooked"), { body: { text: "throws" } })),
  writing("create with a hook that swallows", 201, () => send("POST", api("hooked"), { body: { text: "swallows" } })),
  changing(
    "patch",
    200,
    aBook,
    ({ etag, id }) => send("PATCH", api(`books/${id}`), { body: { pages: 2_000 + id }, headers: { "if-match": etag } })
  ),
  changing(
    "replace the file",
    200,
    aBook,
    ({ etag, id }) =>
      send("PATCH", api(`books/${id}`), { body: { scan: null, name: `without ${id}` }, headers: { "if-match": etag } })
  ),
  changing("delete", 204, aBook, ({ id }) => send("DELETE", api(`books/${id}`))),
  changing(
    "undelete",
    200,
    async () => {
      const { id } = await aBook()
      await send("DELETE", api(`books/${id}`))
      return id
    },
    (id) => send("POST", api(`books/${id}:undelete`))
  ),
  changing(
    "restore",
    200,
    async () => {
      const { etag, id } = await aBook()
      const rename = (name: string, held: string) =>
        send("PATCH", api(`books/${id}`), { body: { name }, headers: { "if-match": held } })
      const first = await rename(`renamed ${id}`, etag)
      const second = await rename(`renamed again ${id}`, first.headers.get("etag") ?? "")
      const [[version = ""] = []] = await cluster.rows(
        `select history_id::text from history.books where id = ${id} order by history_at limit 1`
      )
      return { id, version, etag: second.headers.get("etag") ?? "" }
    },
    ({ etag, id, version }) =>
      send("POST", api(`books/${id}:restore`), { body: { version }, headers: { "if-match": etag } })
  ),
  writing("batch", 200, () =>
    send("POST", `/api/v1:batchWrite`, {
      body: {
        operations: [
          { op: "create", resource: "books", data: { name: "in a batch" } },
          { op: "create", resource: "letters", data: { text: "in a batch" } }
        ]
      }
    })),
  writing("batch with a hook", 200, () =>
    send("POST", `/api/v1:batchWrite`, {
      body: { operations: [{ op: "create", resource: "hooked", data: { text: "in a batch" } }] }
    })),
  writing(
    "bulk",
    202,
    () => send("POST", api("books:bulk"), { body: { op: "update", filter: "pages = 900", data: { pages: 901 } } })
  ),
  writing(
    "import",
    201,
    () => send("POST", api("letters:import"), { raw: "text\none\ntwo\n", headers: { "content-type": "text/csv" } })
  ),
  reading("tasks", get(task)),
  reading("task", () => send("GET", `${task}/${standing.task}`)),
  changing("cancel a task", 200, aTask, (id) => send("POST", `${task}/${id}:cancel`)),
  changing(
    "check a task",
    202,
    aTask,
    (id) => send("POST", `${task}/${id}:check`, { body: { mapping: ["text"], mode: "create" } })
  ),
  changing(
    "form",
    204,
    aProof,
    (proof) => send("POST", "/api/forms/letter", { as: null, body: { values: { text: "by a visitor" }, proof } })
  ),
  { ...writing("files:cleanup", 200, () => send("POST", "/api/files:cleanup")), idle: true },
  writing("message to a hook", 202, () => message(JSON.stringify({ n: next() }))),
  writing("message that nobody signed", 401, () => message("{}", "sha256=")),
  reading("function that reads", () => send("POST", "/api/functions/reads", { body: {} })),
  writing("function that enqueues", 200, () => send("POST", "/api/functions/enqueues", { body: {} })),
  writing("function that wraps what the database says", 204, () => send("POST", "/api/functions/wraps", { body: {} })),
  writing("function that wraps a refusal", 200, () => send("POST", "/api/functions/asks", { body: {} })),
  writing("function that writes a record", 200, () => send("POST", "/api/functions/writes", { body: {} })),
  reading("jobs", get("/api/jobs")),
  reading("failed jobs", get("/api/jobs/failed")),
  changing("retry a job", 204, aFailedJob, (id) => send("POST", `/api/jobs/failed/${id}:retry`)),
  changing("retry the jobs of a name", 200, aFailedJob, () => send("POST", "/api/jobs/failed:retry?name=told")),
  writing("resume the jobs of a name", 200, () => send("POST", "/api/jobs:resume?name=told")),
  changing("remove a job", 204, aFailedJob, (id) => send("DELETE", `/api/jobs/failed/${id}`)),
  reading("subscriptions", get(api("webhook_subscriptions"))),
  reading("deliveries", get(api("webhook_deliveries"))),
  writing("create a subscription", 201, () => send("POST", api("webhook_subscriptions"), { body: subscriptionBody() })),
  reading("test a subscription", () => send("POST", api(`webhook_subscriptions/${standing.subscription}:test`))),
  reading(
    "reveal the secret of a subscription",
    () => send("POST", api(`webhook_subscriptions/${standing.subscription}:revealSecret`))
  ),
  changing(
    "enable a subscription",
    204,
    aSubscription,
    (id) => send("POST", api(`webhook_subscriptions/${id}:enable`))
  ),
  changing(
    "rotate a secret",
    204,
    aSubscription,
    (id) => send("POST", api(`webhook_subscriptions/${id}:rotateSecret`))
  ),
  reading("saved views", get("/api/saved-views?resource=books")),
  writing(
    "save a view",
    201,
    () => send("POST", "/api/saved-views", { body: { resource: "books", name: `view ${next()}`, filter: "pages > 1" } })
  ),
  changing(
    "change a view",
    200,
    aView,
    ({ etag, id }) =>
      send("PATCH", `/api/saved-views/${id}`, { body: { filter: "pages > 2" }, headers: { "if-match": etag } })
  ),
  changing(
    "delete a view",
    204,
    aView,
    ({ etag, id }) => send("DELETE", `/api/saved-views/${id}`, { headers: { "if-match": etag } })
  ),
  needless("status of sign-in", () => send("GET", auth("status"), { as: null })),
  needless("providers", () => send("GET", auth("providers"), { as: null })),
  reading("keys of tokens", () => send("GET", auth("jwks"), { as: null })),
  reading("session", inSession("GET", "get-session")),
  reading("token", inSession("GET", "token")),
  reading("sessions", inSession("GET", "list-sessions")),
  reading("users", inSession("GET", "admin/list-users")),
  reading("roles", inSession("GET", "admin/roles")),
  reading("API keys", inSession("GET", "api-keys/list")),
  reading("passkeys", inSession("GET", "passkey/list-user-passkeys")),
  writing(
    "sign in",
    200,
    () => send("POST", auth("sign-in/email"), { as: null, body: { email: "ada@example.org", password } })
  ),
  writing(
    "sign in with a wrong password",
    401,
    () =>
      send("POST", auth("sign-in/email"), { as: null, body: { email: "ada@example.org", password: "wrong password!" } })
  ),
  changing("sign out", 200, () => signIn(), (cookie) => send("POST", auth("sign-out"), { cookie, body: {} })),
  {
    ...changing("session that is to be renewed", 200, async () => {
      const cookie = await signIn("old@example.org")
      await cluster.execute(
        `update auth.session set "expiresAt" = now() + interval '1 day' where "userId" = (select id from auth."user" where email = 'old@example.org')`
      )
      return cookie
    }, (cookie) => send("GET", auth("get-session"), { cookie })),
    needs: "read"
  },
  changing(
    "change the password",
    200,
    () => signIn("eve@example.org"),
    (cookie) =>
      send("POST", auth("change-password"), { cookie, body: { currentPassword: password, newPassword: password } })
  ),
  writing("create a user", 200, () =>
    send("POST", auth("admin/create-user"), {
      cookie: session,
      body: { email: `made${next()}@example.org`, password, name: "Made", role: "admin" }
    })),
  changing(
    "set a role",
    200,
    aUser,
    (userId) => send("POST", auth("admin/set-role"), { cookie: session, body: { userId, role: "admin" } })
  ),
  changing(
    "ban a user",
    200,
    aUser,
    (userId) => send("POST", auth("admin/ban-user"), { cookie: session, body: { userId } })
  ),
  changing(
    "remove a user",
    200,
    aUser,
    (userId) => send("POST", auth("admin/remove-user"), { cookie: session, body: { userId } })
  ),
  writing("invite a user", 200, () =>
    send("POST", auth("admin/invite-user"), {
      cookie: session,
      body: { email: `invited${next()}@example.org`, role: "admin" }
    })),
  writing(
    "create an API key",
    200,
    () => send("POST", auth("api-keys/create"), { cookie: session, body: { name: `key ${next()}`, role: "admin" } })
  ),
  writing(
    "ask for a password link",
    200,
    () => send("POST", auth("request-password-reset"), { as: null, body: { email: "ada@example.org" } })
  ),
  writing(
    "use a password link",
    400,
    () => send("POST", auth("reset-password"), { as: null, body: { token: "x".repeat(40), newPassword: password } })
  ),
  writing(
    "begin a second factor",
    200,
    () => send("POST", auth("two-factor/enable"), { cookie: standingFactor, body: { password } })
  ),
  writing(
    "a code of a second factor",
    401,
    () => send("POST", auth("two-factor/verify-totp"), { as: null, body: { code: "000000" } })
  ),
  writing(
    "begin to add a passkey",
    200,
    () => send("GET", auth("passkey/generate-register-options"), { cookie: session })
  ),
  writing(
    "begin to use a passkey",
    200,
    () => send("GET", auth("passkey/generate-authenticate-options"), { as: null })
  ),
  writing(
    "use a passkey",
    401,
    () => send("POST", auth("passkey/verify-authentication"), { as: null, body: { response: passkey } })
  )
]

/** Runs jobs beside the first one, and sends no mail. */
let working: Server | null = null
const startWorking = async (): Promise<Server> => {
  const config = configOf(folder)
  return working ??= await startServer({ ...config, auth: { ...config.auth, mail: false } }, {
    port: 0,
    folder,
    log: (line) => void lines.push(line),
    env: { ...env, SERVICE_JOBS: "true" }
  })
}
let env: { readonly [name: string]: string } = {}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "states-"))
  cluster = await openCluster()
  await cluster.execute(schema)
  const config = configOf(folder)
  await migrate(cluster.url, migrationsOf(compileOrThrow(config)))
  await cluster.execute(rights)
  env = {
    DATABASE_URL: cluster.urlOf({ user: "app" }),
    AUTH_URL: "http://localhost:5173",
    AUTH_SECRET: "a secret of the tests, long enough for everything",
    SERVICE_JOBS: "false",
    SERVICE_WAIT_MS: "200",
    SERVICE_READ_CONNECTIONS: "2",
    SERVICE_WRITE_CONNECTIONS: "2",
    SERVICE_AUTH_CONNECTIONS: "2",
    SERVICE_JOBS_CONNECTIONS: "2",
    SERVICE_FILES_CLEANUP_MINUTES: "0",
    SERVICE_JOBS_DRAIN_TOKEN: drainToken,
    SERVICE_METRICS_TOKEN: metricsToken,
    SERVICE_DATA: folder
  }
  server = await startServer(config, { port: 0, folder, log: (line) => void lines.push(line), env })
  for (const name of ["ada", "eve", "old", "fay"]) {
    await createUser(server.auth!, { email: `${name}@example.org`, name, role: "admin", password })
  }
  session = await signIn()
  standingFactor = await signIn("fay@example.org")
  bearer = String((await send("GET", auth("token"), { cookie: session })).body["token"])
  apiKey = String(
    (await send("POST", auth("api-keys/create"), { cookie: session, body: { name: "key", role: "admin" } }))
      .body["text"]
  )
  const ticket = await send("POST", api("books:upload?field=scan"), {
    raw: "a scan",
    headers: { "content-type": "text/plain" }
  })
  const made = await send("POST", api("books"), { body: { name: "with a scan", scan: ticket.body["value"] } })
  const link = new URL(String((made.body["scan"] as unknown as { readonly url: string }).url), server.address)
  standing = {
    link: link.pathname + link.search,
    task: await aTask(),
    view: await aView(),
    subscription: await aSubscription()
  }
  // Both write something or ask once, the first time.
  await send("POST", api(`webhook_subscriptions/${standing.subscription}:revealSecret`))
  await send("GET", auth("status"), { as: null })
})
afterAll(async () => {
  await working?.close()
  await server?.close()
  await cluster?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** What stands in the tables, but for what is written before anything is decided: counts of attempts, and challenges. */
const contents = async (): Promise<string> => {
  const tables = await cluster.rows(
    `select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and n.nspname in ('public', 'service', 'auth', 'jobs', 'webhooks', 'history')
     and c.relname not in ('attempt', 'verification', 'submission_limit', 'used_challenge') order by 1`
  )
  const rows = await Promise.all(tables.map(async ([table]) => [
    table,
    (await cluster.rows(`select coalesce(json_agg(t::text order by t::text), '[]')::text from ${table} t`))[0]![0]
  ]))
  return JSON.stringify(rows, null, 1)
}

interface Tried {
  readonly route: Route
  readonly got: Got | { readonly failed: string }
}

const tidy = (): Promise<void> => cluster.execute(`delete from service.task where id <> '${standing.task}'`)

/** Asks a route; what never answers is told, too. */
const tryRoute = async (route: Route, prepared: unknown): Promise<Tried> => {
  try {
    return { route, got: await route.ask(prepared as never) }
  } catch (error) {
    return { route, got: { failed: String(error) } }
  }
}

/** Waits until every pool serves again: each meets its broken connections first. */
const recovered = async (): Promise<void> => {
  const asked = [
    get(api("books/1")),
    () => send("POST", api("letters"), { body: { text: "recovered" } }),
    inSession("GET", "get-session"),
    get("/api/jobs"),
    () => send("POST", auth("request-password-reset"), { as: null, body: { email: "ada@example.org" } }),
    get(api("letters:export?format=csv")),
    get("/readyz")
  ]
  for (const ask of asked) {
    await expect.poll(async () => (await ask()).status, { timeout: 60_000, interval: 50 }).toBeLessThan(300)
  }
}

/** What a state lets through, and what it says of the rest. */
interface State {
  readonly name: string
  readonly outage: () => Outage
  /** What works as in good times. */
  readonly serves: readonly Needs[]
  readonly says: RegExp
  /** The word of the log for it. */
  readonly cause: string
  /** What `/readyz` answers. */
  readonly ready: readonly [status: number, body: object]
  readonly atOnce?: boolean
  /** The routes that it is about, where others go on. */
  readonly only?: RegExp
  /** Whether writes that write nothing work. */
  readonly idle?: true
  /** Waits until the state holds, as the service sees it. */
  readonly holds?: () => Promise<void>
}

const statusOf = ({ got }: Tried): string =>
  "failed" in got
    ? got.failed
    : `${got.status}, retry after ${got.retryAfter}, ${JSON.stringify(got.body).slice(0, 200)}`

/** Why an answer is not what the state asks for, or null. */
const judge = (state: State, tried: Tried): string | null => {
  const { got, route } = tried
  if ("failed" in got) return statusOf(tried)
  const { detail, type } = got.body as { readonly detail?: string; readonly type?: string }
  const refused = got.status === 503 && got.type === "application/problem+json" && /^\d+$/.test(got.retryAfter ?? "") &&
    type === "urn:service:problem:unavailable"
  if (state.serves.includes(route.needs)) {
    // Revocations that were read ten seconds ago are not trusted, so credentials are not either.
    const unknowable = !state.serves.includes("read") && refused && /Credentials cannot be checked/.test(detail ?? "")
    return got.status === route.status || unknowable ? null : statusOf(tried)
  }
  if (route.idle === true && state.idle === true) return got.status === route.status ? null : statusOf(tried)
  // Visitors are told nothing about the database.
  const told = route.name === "form" ? /^The (service cannot answer|disk|database)/ : state.says
  return refused && (told.test(detail ?? "") || /Credentials cannot be checked/.test(detail ?? ""))
    ? null
    : statusOf(tried)
}

const expectState = async (state: State): Promise<void> => {
  await recovered()
  const prepared: unknown[] = []
  const asked = routes.filter(({ name }) => state.only?.test(name) ?? true)
  for (const route of asked) prepared.push(await route.prepare?.())
  const before = await contents()
  const logged = lines.length
  const outage = state.outage()
  await outage.begin()
  const tried: Tried[] = []
  let after = ""
  try {
    await state.holds?.()
    // A session that was there before may answer once more as it did.
    const [status, body] = state.ready
    await expect.poll(() => send("GET", "/readyz", { as: null }), { timeout: 60_000, interval: 50 })
      .toMatchObject({ status, body })
    if (state.atOnce === true) tried.push(...await Promise.all(asked.map((route, at) => tryRoute(route, prepared[at]))))
    else for (const [at, route] of asked.entries()) tried.push(await tryRoute(route, prepared[at]))
  } finally {
    await outage.end()
    after = await contents()
    await tidy()
  }
  expect(tried.flatMap((each) => {
    const wrong = judge(state, each)
    return wrong === null ? [] : [`${each.route.name} (${each.route.needs}): ${wrong}`]
  })).toEqual([])
  expect(after).toBe(before)
  const log = entries().slice(logged)
  const refused = log.filter(({ event, status }) => event === "request" && status === 503)
  expect(refused.filter(({ slug }) => slug !== "unavailable")).toEqual([])
  expect(refused.map(({ cause }) => cause)).toContain(state.cause)
  // What hooks and functions meet is no state of the database.
  if (state.cause !== "outcome-unknown") {
    expect(lasting(entries())).toContain(state.cause)
  }
}

/** The lines of the log. */
const entries = (): ReadonlyArray<{ readonly [member: string]: unknown }> => lines.map((line) => JSON.parse(line))

/** The states that have begun and not ended, as the log tells them. */
const lasting = (log: ReturnType<typeof entries>): readonly unknown[] => {
  const states = new Set<unknown>()
  for (const { event, state } of log) {
    if (event === "outage") states.add(state)
    if (event === "outage-over") states.delete(state)
  }
  return [...states]
}

describe("in good times", () => {
  it.each(routes.map((route) => [`${route.name} (${route.needs})`, route] as const))("%s works", async (_, route) => {
    const { body, status } = await route.ask(await route.prepare?.() as never)
    expect({ status, body: status === route.status ? null : body }).toEqual({ status: route.status, body: null })
    await tidy()
  })
})

const serving = { status: "ok" }
const states: readonly State[] = [
  {
    name: "the database is down",
    outage: () => down(cluster),
    serves: ["nothing"],
    says: /^The database cannot be reached at the moment\.$/,
    cause: "unavailable",
    ready: [503, { detail: "The database cannot be reached at the moment." }]
  },
  {
    name: "the database is read-only",
    outage: () => readOnly(cluster),
    serves: ["nothing", "read"],
    says: /^The database accepts no changes at the moment\.$/,
    cause: "read-only",
    ready: [503, { detail: "The database accepts no changes at the moment." }]
  },
  {
    name: "the database is a standby",
    outage: () => standby(cluster),
    serves: ["nothing", "read"],
    says: /^The database accepts no changes at the moment\.$/,
    cause: "read-only",
    ready: [503, { detail: "The database accepts no changes at the moment." }]
  },
  {
    name: "the database has no connection left",
    outage: () => noConnections(cluster),
    serves: ["nothing"],
    says: /^The database has no connection left at the moment\.$/,
    cause: "no-connections",
    ready: [503, { detail: "The database has no connection left at the moment." }]
  },
  {
    name: "the disk of the database is full",
    outage: () => diskFull(cluster),
    serves: ["nothing", "read"],
    says: /^The disk of the database is full\./,
    cause: "disk-full",
    idle: true,
    ready: [200, serving]
  }
]

/** Requests hold every connection of every pool, waiting for tables. */
const busy = (): Outage => {
  const tables = held(cluster, ["blocked", "auth.passkey", "jobs.completed"])
  let blockers: ReadonlyArray<Promise<Got>> = []
  const twice = (ask: () => Promise<Got>) => [ask(), ask()]
  return {
    begin: async () => {
      await tables.begin()
      blockers = [
        ...twice(get(api("blocked"))),
        ...twice(() => send("POST", api("blocked"), { body: { text: "x" } })),
        ...twice(inSession("GET", "passkey/list-user-passkeys")),
        ...twice(get("/api/jobs")),
        ...twice(get("/api/jobs"))
      ]
      await expect.poll(
        async () =>
          (await cluster.rows("select 1 from pg_stat_activity where usename = 'app' and wait_event_type = 'Lock'"))
            .length,
        { timeout: 60_000, interval: 20 }
      ).toBe(blockers.length)
    },
    end: async () => {
      await disconnect(cluster)
      await Promise.allSettled(blockers)
      await tables.end()
    }
  }
}

/** Whoever waits for a table loses its connection, while all tables of `which` are held. */
const ending = (which: string): Outage => {
  let end = (): Promise<unknown> => Promise.resolve()
  return {
    begin: async () => {
      const tables = await cluster.rows(
        `select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind in ('r', 'p') and n.nspname in ('public', 'service', 'auth', 'jobs', 'webhooks', 'history') and ${which}`
      )
      const taken = held(cluster, tables.map(([table]) => table!))
      await taken.begin()
      const loop = endWaiting(cluster)
      end = async () => {
        await loop.stop()
        await taken.end()
      }
    },
    end: async () => void await end()
  }
}

const broken = /^The (database cannot be reached at the moment\.|connection to the database broke during the commit\.)/
const cutOff: readonly State[] = [
  {
    name: "no connection is free in time",
    outage: busy,
    serves: ["nothing"],
    says: /^Too many requests are waiting for the database\.$/,
    cause: "overloaded",
    ready: [200, serving],
    idle: true,
    atOnce: true
  },
  {
    name: "backends end in the middle",
    // What tells whose credentials count is read now and then, and stays readable.
    outage: () => ending("c.relname <> 'revocation'"),
    serves: ["nothing"],
    says: broken,
    cause: "unavailable",
    ready: [200, serving],
    idle: true
  },
  {
    name: "backends end while hooks and functions use their transactions",
    outage: () => ending("c.relname in ('kept', '_private_jobs')"),
    serves: ["nothing"],
    says: broken,
    cause: "unavailable",
    ready: [200, serving],
    only: /hook|function that (enqueues|wraps what)/
  }
]

describe("while", () => {
  it.each(cutOff.map((state) => [state.name, state] as const))("%s", (_, state) => expectState(state))

  it.each(states.map((state) => [state.name, state] as const))("%s", (_, state) => expectState(state))
})

describe("a process that runs jobs", () => {
  const drain = async (): Promise<Response> =>
    fetch(`${(await startWorking()).address}/api/jobs/drain?seconds=1`, {
      method: "POST",
      headers: { authorization: `Bearer ${drainToken}` },
      signal: AbortSignal.timeout(longest)
    })

  it.each(states.map((state) => [state.name, state] as const))("says at a drain that %s", async (_, state) => {
    await expect.poll(async () => (await drain()).status, { timeout: 60_000, interval: 50 }).toBe(200)
    const outage = state.outage()
    await outage.begin()
    try {
      const answer = await drain()
      const body = await answer.json() as { readonly detail?: string }
      // It frees jobs of dead workers first, of which there are none: that needs no room.
      if (state.idle === true) expect(answer.status).toBe(200)
      else {
        expect([answer.status, body.detail]).toEqual([503, expect.stringMatching(state.says)])
        expect(answer.headers.get("retry-after")).toMatch(/^\d+$/)
      }
    } finally {
      await outage.end()
    }
  })
})

describe("whoever watches over it", () => {
  it("reads in the log when each state ends", async () => {
    await recovered()
    await expect.poll(() => lasting(entries()), { timeout: 60_000, interval: 100 }).toEqual([])
  })

  it("reads in the metrics what was refused and why, what waits, and what lasts", async () => {
    expect((await send("GET", "/metrics", { as: null })).status).toBe(401)
    expect((await send("GET", "/metrics")).status).toBe(401)
    expect((await send("GET", "/metrics/x", { as: metricsToken })).status).toBe(404)
    const answer = await fetch(`${server.address}/metrics`, {
      headers: { authorization: `Bearer ${metricsToken}`, accept: "application/openmetrics-text; version=1.0.0" }
    })
    expect(answer.headers.get("content-type")).toMatch(/^application\/openmetrics-text/)
    const text = await answer.text()
    for (const cause of ["unavailable", "read-only", "no-connections", "disk-full", "overloaded"]) {
      expect(text).toMatch(new RegExp(`^service_refusals_total\\{.*slug="unavailable",cause="${cause}"\\} [1-9]`, "m"))
      expect(text).toContain(`service_outage{state="${cause}"} 0\n`)
    }
    for (const name of ["service_events_waiting", "service_events_oldest_age_seconds", "service_jobs_held_by_dead"]) {
      expect(text).toMatch(new RegExp(`^${name} [0-9]`, "m"))
    }
    expect(text).toMatch(/^service_tasks_count\{task_state="\w+"\} [1-9]/m)
    expect(text).toMatch(
      /^http_server_request_duration_seconds_bucket\{.*http_route="\/api\/v1\/books\/\{key\}".*le="\+Inf"\} /m
    )
    expect(text).toContain("service_database_up 1\n")
    // No client chooses a label.
    expect(text).toContain("http_route=\"/api/tasks/{key}:cancel\"")
    expect(text).not.toMatch(/\/api\/tasks\/(?!\{key\})/)
    expect(text).toMatch(/# EOF\n$/)
    expect(text).not.toContain(metricsToken)
  })
})
