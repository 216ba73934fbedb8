// Hooks over HTTP on PostgreSQL: what is taken and what is refused, one job for all copies of a message, both or neither when a transaction breaks, and what
// the job gets.
import { Validator } from "@seriousme/openapi-schema-validator"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHmac } from "node:crypto"
import { connect } from "node:net"
import { Webhook } from "standardwebhooks"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { type Admin, createAdmin } from "../../composition/create-admin.ts"
import {
  defineConfig,
  defineHook,
  defineJob,
  defineResource,
  f,
  githubSignature,
  type HookMessage,
  listen,
  type Listener,
  standardWebhooks,
  stripeSignature,
  type Verdict
} from "../../composition/index.ts"
import { largestBody } from "../../core/domain/hook/declaration.ts"
import { testAuthenticator, type TestCaller, testSecret, tokenOf } from "../support/composed.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

const ada: TestCaller = { id: "ada", roles: ["admin"] }
const sam: TestCaller = { id: "sam", roles: ["sales"] }

const standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const stripeSecret = "whsec_of_an_endpoint_of_the_tests"
const githubSecret = "a secret for the tests of hooks"

/** What the jobs saw, in order. */
const seen: Array<readonly [hook: string, message: HookMessage<unknown>]> = []
const enqueued: unknown[] = []
const signals: AbortSignal[] = []
let answer: () => unknown = () => true

const follow = defineJob<{ readonly of: string | null }>({
  name: "follow",
  run: (payload) => void enqueued.push(payload)
})

const notes = defineResource("notes", { table: "notes", primaryKey: "id", fields: { id: f.integer(), text: f.text() } })

const order = Schema.toStandardSchemaV1(Schema.Struct({ order: Schema.String }))

const hooks = {
  standard: defineHook({
    verify: standardWebhooks({ secret: standardSecret }),
    description: "Takes what the tests send.",
    run: async (message, { db, enqueue, job }) => {
      seen.push(["standard", message])
      const [row] = await db.query<{ readonly one: number }>("select 1 as one")
      await enqueue(follow, { of: `${job.name} ${row!.one} ${message.id}` })
    }
  }),
  stripe: defineHook({
    verify: stripeSignature({ secrets: ["whsec_another_of_the_same_endpoint", stripeSecret] }),
    run: (message) => void seen.push(["stripe", message])
  }),
  github: defineHook({
    verify: githubSignature({ secret: githubSecret }),
    run: (message) => void seen.push(["github", message])
  }),
  own: defineHook({
    verify: ({ signal }) => {
      signals.push(signal)
      return answer() as Verdict
    },
    run: (message) => void seen.push(["own", message])
  }),
  typed: defineHook({
    verify: () => true,
    input: order,
    run: (message) => {
      const text: string = message.input.order
      seen.push(["typed", { ...message, input: text }])
    }
  }),
  json: defineHook({ verify: () => true, run: (message) => void message.json() })
}

const config = defineConfig({
  resources: [notes],
  jobs: [follow],
  hooks,
  options: { cors: { origins: ["https://page.test"] } }
})

let database: TestDatabase
let service: Admin
let listener: Listener
const log: string[] = []

beforeAll(async () => {
  database = await openDatabase(
    `${queueStatements()}\ncreate table notes (id integer primary key, text text not null);`
  )
  service = await createAdmin(config, {
    database: { url: database.url },
    authenticator: testAuthenticator,
    secret: testSecret,
    log: (line) => void log.push(line),
    hookLimits: { verifyMs: 200 }
  })
  listener = await listen(service.edge, { port: 0 })
})
afterEach(async () => {
  answer = () => true
  await database.execute("delete from jobs._private_jobs; delete from service.idempotency_key")
  if (await exists("service.form_attempt")) await database.execute("delete from service.form_attempt")
})
afterAll(async () => {
  await listener.close()
  await service.close()
  await database.drop()
})

const exists = async (table: string): Promise<boolean> =>
  (await database.rows(`select to_regclass('${table}') is not null`))[0]![0] === "true"

/** The names and payloads of the jobs that wait. */
const jobs = async (): Promise<
  ReadonlyArray<readonly [name: string, payload: { readonly [member: string]: unknown }]>
> =>
  (await database.rows(
    "select t.identifier, j.payload::text from jobs._private_jobs j join jobs._private_tasks t on t.id = j.task_id order by j.id"
  )).map(([name, payload]) => [name!, JSON.parse(payload!) as { readonly [member: string]: unknown }])

interface Sent {
  readonly hook: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: { readonly [name: string]: string }
}

const post = ({ body = "", headers = {}, hook }: Sent, method = "POST"): Promise<Response> =>
  fetch(`http://127.0.0.1:${listener.port}/api/hooks/${hook}`, {
    method,
    headers,
    ...(method === "POST" ? { body } : {})
  })

const seconds = (): number => Math.floor(Date.now() / 1_000)

let counter = 0
const newId = (): string => `msg_${++counter}`

const standard = (body: string, id = newId(), at = seconds()): Sent => ({
  hook: "standard",
  body,
  headers: {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": new Webhook(standardSecret).sign(id, new Date(at * 1_000), body)
  }
})
const stripe = (body: string, at = seconds()): Sent => ({
  hook: "stripe",
  body,
  headers: {
    "stripe-signature": `t=${at},v1=${createHmac("sha256", stripeSecret).update(`${at}.${body}`).digest("hex")}`
  }
})
const github = (body: string | Uint8Array<ArrayBuffer>, id = newId()): Sent => ({
  hook: "github",
  body,
  headers: {
    "x-github-delivery": id,
    "x-github-event": "push",
    "x-hub-signature-256": `sha256=${createHmac("sha256", githubSecret).update(body).digest("hex")}`
  }
})

const withHeaders = (sent: Sent, headers: { readonly [name: string]: string }): Sent => ({
  ...sent,
  headers: { ...sent.headers, ...headers }
})

describe("a message", () => {
  it("is a job once it is answered, without what proved it", async () => {
    const sent = withHeaders(standard("{\"type\":\"paid\"}", "msg_first"), {
      "authorization": "Bearer hush",
      "cookie": "session=hush",
      "x-request-id": "r-1"
    })
    const response = await post(sent)
    expect([response.status, await response.text()]).toEqual([202, ""])
    const [[name, payload] = []] = await jobs()
    expect([name, payload]).toMatchObject(["hooks/standard", {
      id: "msg_first",
      text: "{\"type\":\"paid\"}",
      headers: { "webhook-id": "msg_first", "content-type": "application/json", "x-request-id": "r-1" }
    }])
    expect(JSON.stringify(payload)).not.toMatch(/hush|v1,/)
  })

  it("may be as long as a mebibyte, of any bytes", async () => {
    const text = `{"text":"${"é\\\\".repeat(100_000)}"}`
    for (const body of [text, new Uint8Array(largestBody).fill(0xff), new Uint8Array(largestBody).fill(0x22)]) {
      expect((await post(github(body))).status).toBe(202)
    }
    const found = await jobs()
    expect(found[0]![1]["text"]).toBe(text)
    expect(found.slice(1).map(([, { base64 }]) => Buffer.from(String(base64), "base64").length)).toEqual([
      largestBody,
      largestBody
    ])
  })

  it("runs once, and each copy of it is answered alike", async () => {
    const sent = standard("{}")
    const answers = [
      await post(sent),
      await post(sent),
      await post(standard("{\"again\":true}", sent.headers!["webhook-id"]))
    ]
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202])
    expect(await jobs()).toHaveLength(1)
    // Stripe's copies have the id in their bodies, and other times.
    const event = "{\"id\":\"evt_1\",\"pending_webhooks\":1}"
    await post(stripe(event, seconds() - 20))
    await post(stripe(event.replace("1}", "2}")))
    // One without an id is known by its text and its time.
    const at = seconds() - 20
    await post(stripe("not an event", at))
    await post(stripe("not an event", at))
    await post(github("{}", "one"))
    await post(github("{}", "one"))
    await post(github("{}", "two"))
    expect((await jobs()).map(([name]) => name)).toEqual([
      "hooks/standard",
      "hooks/stripe",
      "hooks/stripe",
      "hooks/github",
      "hooks/github"
    ])
    // The same id at another hook is another message. A day later it is one again.
    answer = () => ({ id: "one" })
    await post({ hook: "own" })
    await post({ hook: "own" })
    await database.execute("update service.idempotency_key set stored_at = stored_at - interval '24 hours 1 second'")
    await post({ hook: "own" })
    expect((await jobs()).map(([name]) => name).slice(5)).toEqual(["hooks/own", "hooks/own"])
  })

  it("is one job when its copies come at the same time", async () => {
    const sent = standard("{}")
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(sent)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(await jobs()).toHaveLength(1)
  })

  it("is neither stored nor remembered where its transaction breaks", async () => {
    await post(standard("{}"))
    await database.execute(`delete from jobs._private_jobs; delete from service.idempotency_key;
      create function public.broken() returns trigger language plpgsql as $$ begin raise exception 'broken' using errcode = '57P01'; end $$;
      create trigger broken before insert on service.idempotency_key for each row execute function public.broken()`)
    const sent = standard("{}")
    const response = await post(sent)
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"])
    expect(await jobs()).toEqual([])
    await database.execute(`drop trigger broken on service.idempotency_key;
      create trigger broken before insert on jobs._private_jobs for each row execute function public.broken()`)
    expect((await post(sent)).status).toBe(503)
    expect(await database.rows("select * from service.idempotency_key")).toEqual([])
    await database.execute("drop function public.broken() cascade")
    expect([(await post(sent)).status, (await post(sent)).status, (await jobs()).length]).toEqual([202, 202, 1])
  })
})

describe("a refusal", () => {
  const told = async (response: Response) => {
    const { headers, status } = response
    const { instance: _, ...document } = await response.json() as { readonly [member: string]: unknown }
    return { status, challenge: headers.get("www-authenticate"), type: headers.get("content-type"), document }
  }

  it("is the same whatever is wrong with a signature, and tells the headers", async () => {
    const good = standard("{\"a\":1}")
    const wrong: readonly Sent[] = [
      { ...good, body: "{\"a\":2}" },
      { ...good, headers: {} },
      withHeaders(good, { "webhook-id": "msg_other" }),
      withHeaders(good, { "webhook-timestamp": String(seconds() + 1) }),
      withHeaders(good, { "webhook-signature": "v1,AAAA" }),
      standard("{\"a\":1}", "msg_old", seconds() - 310),
      standard("{\"a\":1}", "msg_early", seconds() + 310)
    ]
    const answers = []
    for (const each of wrong) answers.push(await told(await post(each)))
    expect(answers[0]).toMatchObject({
      status: 401,
      challenge: "Signature headers=\"webhook-id webhook-timestamp webhook-signature\"",
      type: "application/problem+json",
      document: { type: "urn:service:problem:unauthenticated" }
    })
    expect(answers[0]!.document["detail"]).toContain("webhook-id, webhook-timestamp, webhook-signature")
    expect(new Set(answers.map((each) => JSON.stringify(each))).size).toBe(1)
    for (const hook of ["stripe", "github"]) {
      const { challenge, status } = await told(await post({ hook, body: "{}" }))
      expect([status, challenge]).toEqual([
        401,
        hook === "stripe"
          ? "Signature headers=\"stripe-signature\""
          : "Signature headers=\"x-hub-signature-256 x-github-delivery\""
      ])
    }
    expect(await jobs()).toEqual([])
    expect(log.filter((line) => line.includes("hook-denied")).map((line) => JSON.parse(line) as object)).toMatchObject([
      { hook: "standard", reason: "signature" },
      { hook: "standard", reason: "headers" },
      { hook: "standard", reason: "timestamp" },
      { hook: "stripe", reason: "headers" },
      { hook: "github", reason: "headers" }
    ])
  })

  it("is what a function of the application gives that does not say yes", async () => {
    const denies: ReadonlyArray<() => unknown> = [
      () => false,
      () => undefined,
      () => null,
      () => 1,
      () => "yes",
      () => [],
      () => ({ id: 7 }),
      () => ({ id: "" }),
      () => ({ id: "x".repeat(256) }),
      () => {
        throw new Error("hush")
      },
      () => Promise.reject(new Error("hush")),
      () => Promise.resolve(false),
      () => new Promise(() => {})
    ]
    for (const each of denies) {
      answer = each
      const { challenge, status } = await told(await post({ hook: "own", body: "{}" }))
      expect([String(each), status, challenge]).toEqual([String(each), 401, "Signature"])
    }
    // Whoever still waits for something is told to stop.
    expect(signals.at(-1)!.aborted).toBe(true)
    const allows: ReadonlyArray<() => unknown> = [
      () => true,
      () => Promise.resolve(true),
      () => ({}),
      async () => ({ id: "a" })
    ]
    for (const each of allows) {
      answer = each
      expect((await post({ hook: "own", body: "{}" })).status).toBe(202)
    }
    expect((await jobs()).map(([, { id }]) => id)).toEqual([null, null, null, "a"])
    expect(log.join("\n")).not.toContain("hush")
  })

  it("comes before a body is read", async () => {
    const statusOf = async (sent: Sent, method?: string): Promise<number> => (await post(sent, method)).status
    expect(await statusOf({ hook: "nothing" })).toBe(404)
    expect(await statusOf({ hook: "" })).toBe(404)
    expect(await statusOf({ hook: "standard/more" })).toBe(404)
    expect(await statusOf({ hook: "%ff" })).toBe(404)
    expect(await statusOf({ hook: "toString" })).toBe(404)
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const response = await post({ hook: "standard" }, method)
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "POST"])
    }
    const good = standard("{}")
    expect(await statusOf({ ...good, hook: "standard?a=b" })).toBe(400)
    expect(await statusOf(withHeaders(good, { "content-encoding": "gzip" }))).toBe(415)
    expect(await statusOf(withHeaders(good, { "x-long": "x".repeat(17_000) }))).toBe(431)
    expect(await statusOf(github("x".repeat(largestBody + 1)))).toBe(413)
    // Whoever does not say how long a body is, learns it as it comes.
    const chunks = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (let index = 0; index < 17; index++) controller.enqueue(new Uint8Array(65_536))
        controller.close()
      }
    })
    const response = await fetch(`http://127.0.0.1:${listener.port}/api/hooks/github`, {
      method: "POST",
      headers: github("").headers!,
      body: chunks,
      duplex: "half"
    } as RequestInit)
    expect(response.status).toBe(413)
    expect(await jobs()).toEqual([])
  })

  it("goes to pages of other origins, whatever the service allows else", async () => {
    const preflight = await fetch(`http://127.0.0.1:${listener.port}/api/hooks/standard`, {
      method: "OPTIONS",
      headers: { "origin": "https://page.test", "access-control-request-method": "POST" }
    })
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([405, null])
    const sent = await post(withHeaders(standard("{}"), { origin: "https://page.test" }))
    expect(sent.headers.get("access-control-allow-origin")).toBeNull()
    const other = await fetch(`http://127.0.0.1:${listener.port}/api/v1/notes`, {
      headers: { origin: "https://page.test" }
    })
    expect(other.headers.get("access-control-allow-origin")).toBe("https://page.test")
  })

  it("is a head of 100 Continue that is not given", async () => {
    const socket = connect(listener.port, "127.0.0.1")
    const answered = new Promise<string>((resolve) => socket.once("data", (text) => resolve(text.toString())))
    socket.write(
      "POST /api/hooks/standard HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"
    )
    expect(await answered).toMatch(/^HTTP\/1.1 401 /)
    socket.destroy()
  })
})

describe("its job", () => {
  it("runs with the message and what jobs have, and fails for good where the message is no use", async () => {
    seen.length = enqueued.length = 0
    const workers = await service.startJobs()
    await post(standard("\u{feff}{\"type\":\"paid\"}", "msg_run"))
    await post(github(Uint8Array.from([0, 0xff]), "run"))
    await post({ hook: "typed", body: "{\"order\":\"17\"}" })
    await post({ hook: "typed", body: "{\"order\":17}" })
    await post({ hook: "json", body: "a=b" })
    await Effect.runPromise(workers.drain(30_000))
    expect(enqueued).toEqual([{ of: "hooks/standard 1 msg_run" }])
    const of = (name: string) => seen.filter(([hook]) => hook === name).map(([, message]) => message)
    expect(
      of("standard").map(({ body, headers, id, json, receivedAt }) => [
        id,
        body,
        json(),
        headers["webhook-id"],
        Math.abs(receivedAt.getTime() - Date.now()) < 60_000
      ])
    ).toEqual([["msg_run", "\u{feff}{\"type\":\"paid\"}", { type: "paid" }, "msg_run", true]])
    expect(of("github").map(({ body, headers }) => [body, headers["x-github-event"]])).toEqual([
      [Uint8Array.from([0, 0xff]), "push"]
    ])
    expect(of("typed").map(({ input }) => input)).toEqual(["17"])
    const failed = await service.fetch(
      new Request("http://service.test/api/jobs/failed", { headers: { authorization: `Bearer ${tokenOf(ada)}` } })
    )
    const { jobs: list } = await failed.json() as {
      readonly jobs: ReadonlyArray<{ readonly [member: string]: unknown }>
    }
    expect(list.map(({ attempts, name, payload }) => [name, attempts, (payload as { readonly text: string }).text]))
      .toEqual(expect.arrayContaining([["hooks/typed", 1, "{\"order\":17}"], ["hooks/json", 1, "a=b"]]))
    expect(list).toHaveLength(2)
    const denied = await service.fetch(
      new Request("http://service.test/api/jobs/failed", { headers: { authorization: `Bearer ${tokenOf(sam)}` } })
    )
    expect(denied.status).toBe(403)
  })
})

describe("documents", () => {
  const read = async (caller: TestCaller, path: string): Promise<string> =>
    (await service.fetch(
      new Request(`http://service.test/api/${path}`, { headers: { authorization: `Bearer ${tokenOf(caller)}` } })
    )).text()

  it("describe the routes to admins, and hold no secret", async () => {
    const document = JSON.parse(await read(ada, "openapi.json")) as {
      readonly paths: { readonly [path: string]: { readonly post: { readonly [member: string]: unknown } } }
    }
    expect(await new Validator().validate(JSON.parse(JSON.stringify(document)) as never)).toEqual({ valid: true })
    expect(Object.keys(document.paths).filter((path) => path.startsWith("/api/hooks/"))).toEqual(
      Object.keys(hooks).map((name) => `/api/hooks/${name}`)
    )
    expect(document.paths["/api/hooks/standard"]!.post).toMatchObject({
      security: [],
      summary: "Takes what the tests send.",
      parameters: [{ name: "webhook-id" }, { name: "webhook-timestamp" }, { name: "webhook-signature" }]
    })
    expect(await read(sam, "openapi.json")).not.toContain("/hooks")
    const all = `${JSON.stringify(document)}${await read(ada, "meta")}${log.join("\n")}`
    for (const secret of [standardSecret, stripeSecret, githubSecret]) expect(all).not.toContain(secret.slice(6))
  })
})
