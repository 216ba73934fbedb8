/**
 * Hooks under attack, without a secret: floods of requests that nobody signed, forged addresses, bodies that take memory and time, and questions about secrets
 * by answers. What is signed goes on.
 */

import { createHmac } from "node:crypto"
import { connect } from "node:net"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { Fetch } from "../../adapters/http/fetch.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { type Admin, createAdmin } from "../../composition/create-admin.ts"
import {
  defineConfig,
  defineHook,
  defineResource,
  defineRoles,
  defineView,
  f,
  githubSignature,
  listen
} from "../../composition/index.ts"
import { testAuthenticator, testSecret } from "../support/composed.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

const secret = "a secret for the attack on hooks"
const mebibyte = 1024 * 1024

let verifying: Array<(verdict: boolean) => void> = []

const run = (): void => {}
const config = defineConfig({
  resources: [],
  hooks: {
    github: defineHook({ verify: githubSignature({ secret }), run }),
    other: defineHook({ verify: githubSignature({ secret }), run }),
    slow: defineHook({ verify: () => new Promise<boolean>((resolve) => void verifying.push(resolve)), run })
  },
  options: { trustedProxies: 1 }
})

const signups = defineResource("signups", {
  table: "signups",
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault(), email: f.text() }
})
const withForm = defineConfig({
  resources: [signups],
  views: [defineView(signups, {}).form({ name: "join", fields: ["email"], thanks: "Welcome." })],
  roles: defineRoles({ admin: ["*"], anonymous: ["signups.create"] }),
  hooks: { github: defineHook({ verify: githubSignature({ secret }), run }) }
})

let database: TestDatabase
/** Two instances over one database. */
let instances: readonly Admin[] = []

beforeAll(async () => {
  database = await openDatabase(queueStatements())
  const open = (): Promise<Admin> =>
    createAdmin(config, {
      database: { url: database.url },
      authenticator: testAuthenticator,
      secret: testSecret,
      hookLimits: { deniedPerMinute: 5, heldBytes: 6 * mebibyte, heldBytesEach: 3 * mebibyte, verifyMs: 60_000 }
    })
  instances = [await open(), await open()]
  // The tables that are made on first use are there.
  await post(instances[0]!.fetch, "{}", { client: "192.0.2.250" })
  await post(instances[0]!.fetch, "{}", { client: "192.0.2.251", signature: "sha256=" })
})
afterEach(async () => {
  for (const resolve of verifying) resolve(false)
  verifying = []
  await database.execute("delete from service.form_attempt")
})
afterAll(async () => {
  await Promise.all(instances.map((each) => each.close()))
  await database.drop()
})

const sign = (body: string | Uint8Array): string => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`

let counter = 0

interface Options {
  readonly hook?: string
  readonly client?: string
  readonly signature?: string
  readonly forwarded?: string
  readonly signal?: AbortSignal
  readonly length?: number
}

const requestOf = (
  body: string | ReadableStream<Uint8Array>,
  { client = "192.0.2.1", forwarded, hook = "github", length, signal, signature }: Options
): Request =>
  new Request(`http://service.test/api/hooks/${hook}`, {
    method: "POST",
    headers: {
      "x-github-delivery": `delivery-${++counter}`,
      "x-hub-signature-256": signature ?? (typeof body === "string" ? sign(body) : "sha256="),
      "x-forwarded-for": forwarded ?? client,
      ...(length === undefined ? {} : { "content-length": String(length) })
    },
    body,
    ...(signal === undefined ? {} : { signal }),
    ...(typeof body === "string" ? {} : { duplex: "half" })
  } as RequestInit)

const post = (fetch: Fetch, body: string | ReadableStream<Uint8Array>, options: Options = {}): Promise<Response> =>
  fetch(requestOf(body, options), { address: "10.0.0.1" })

const wrong = `sha256=${"0".repeat(64)}`

describe("who has no secret", () => {
  it("is refused before a body is read once too many of their requests were denied, on every instance and for one hook", async () => {
    const [first, second] = instances.map(({ fetch }) => fetch) as [Fetch, Fetch]
    const client = "192.0.2.2"
    const statuses = []
    for (let index = 0; index < 8; index++) {
      const response = await post(index % 2 === 0 ? first : second, "{}", { client, signature: wrong })
      statuses.push(response.status)
      if (response.status === 429) expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
    // Their body is not asked for, and their signature not looked at.
    let asked = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        asked++
        controller.enqueue(new Uint8Array(1_024))
      }
    }, { highWaterMark: 0 })
    expect((await post(first, body, { client })).status).toBe(429)
    expect((await post(first, "{}", { client })).status).toBe(429)
    expect(asked).toBe(0)
    // An address that they write themselves is not believed: the proxy's is the last one.
    expect((await post(first, "{}", { forwarded: `192.0.2.99, ${client}` })).status).toBe(429)
    // Everybody else goes on, and so do other hooks.
    expect((await post(first, "{}", { client: "192.0.2.3" })).status).toBe(202)
    expect((await post(first, "{}", { client, hook: "other" })).status).toBe(202)
  })

  it("counts as one client from all addresses of a network, and is not counted while what they send is signed", async () => {
    const { fetch } = instances[1]!
    const statuses = []
    for (let index = 0; index < 7; index++) {
      statuses.push((await post(fetch, "{}", { client: `2001:db8::${index + 1}`, signature: wrong })).status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429])
    for (let index = 0; index < 20; index++) {
      expect((await post(fetch, "{}", { client: "192.0.2.4" })).status).toBe(202)
    }
  })

  it("learns nothing by trying: each answer but its time is the same", async () => {
    const { fetch } = instances[0]!
    const good = sign("{}")
    const guesses = [
      wrong,
      good.slice(0, -1),
      `${good}0`,
      `${good.slice(0, -1)}${good.endsWith("0") ? "1" : "0"}`,
      good.replace("sha256", "sha1"),
      good.slice("sha256=".length)
    ]
    const answers = []
    for (const [index, signature] of guesses.entries()) {
      const response = await post(fetch, "{}", { client: `192.0.2.${10 + index}`, signature })
      const headers = [...response.headers].filter(([name]) => name !== "x-request-id")
      answers.push(JSON.stringify([response.status, headers, await response.text()]))
    }
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).not.toMatch(/0000|secret|hmac/i)
  })

  it("has nothing parsed: what would cost much as JSON is refused by its signature", async () => {
    const { fetch } = instances[0]!
    for (const body of ["[".repeat(mebibyte), `{"a":"${"\\u0000".repeat(170_000)}"}`]) {
      expect((await post(fetch, body, { client: "192.0.2.30", signature: wrong })).status).toBe(401)
    }
    expect(await database.rows("select count(*) from jobs._private_jobs where payload::text like '%[[[%'")).toEqual([[
      "0"
    ]])
  })
})

describe("bodies that are on their way", () => {
  /** A body that begins and does not end until it is told to. */
  const unfinished = () => {
    let end = (): void => {}
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(new Uint8Array(10))
        end = () => controller.close()
      }
    })
    return { body, end: () => end() }
  }

  it("take so much memory and no more, of all together and of each client", async () => {
    const { fetch } = instances[0]!
    // Signed in form, so that the head alone does not deny them.
    const hold = (client: string) => {
      const { body, end } = unfinished()
      return { end, answered: post(fetch, body, { client, signature: wrong }) }
    }
    const one = Array.from({ length: 3 }, () => hold("192.0.2.40"))
    const response = await post(fetch, "{}", { client: "192.0.2.40" })
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"])
    // Another one still gets in: a short body that says so takes no more than it has.
    const others = Array.from({ length: 2 }, () => hold("192.0.2.41"))
    expect((await post(fetch, "{}", { client: "192.0.2.42", length: 2 })).status).toBe(202)
    others.push(hold("192.0.2.42"))
    expect((await post(fetch, "{}", { client: "192.0.2.43", length: 2 })).status).toBe(503)
    for (const { end } of [...one, ...others]) end()
    const statuses = await Promise.all([...one, ...others].map(async ({ answered }) => (await answered).status))
    expect(new Set(statuses)).toEqual(new Set([401]))
    expect((await post(fetch, "{}", { client: "192.0.2.40" })).status).toBe(202)
  })

  it("give their room back when their client goes away, and when nobody answers whether they are good", async () => {
    const { fetch } = instances[0]!
    const gone = new AbortController()
    const left = Array.from(
      { length: 3 },
      () => post(fetch, unfinished().body, { client: "192.0.2.50", signature: wrong, signal: gone.signal })
    )
    expect((await post(fetch, "{}", { client: "192.0.2.50" })).status).toBe(503)
    gone.abort()
    await Promise.allSettled(left)
    expect((await post(fetch, "{}", { client: "192.0.2.50" })).status).toBe(202)

    const asked = Array.from({ length: 3 }, () => post(fetch, "{}", { client: "192.0.2.51", hook: "slow" }))
    while (verifying.length < 3) await new Promise((resolve) => setImmediate(resolve))
    expect((await post(fetch, "{}", { client: "192.0.2.51" })).status).toBe(503)
    for (const resolve of verifying) resolve(true)
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([202, 202, 202])
    expect((await post(fetch, "{}", { client: "192.0.2.51" })).status).toBe(202)
  })

  it("keep nobody from being served who sends none, be they of hooks or of forms", async () => {
    const admin = await createAdmin(withForm, {
      database: { url: database.url },
      authenticator: testAuthenticator,
      secret: testSecret,
      maxInFlight: 2
    })
    try {
      for (const path of ["hooks/github", "forms/join"]) {
        const begun = Array.from({ length: 2 }, (_, index) => {
          const { body, end } = unfinished()
          const headers = {
            "content-type": "application/json",
            "x-github-delivery": `${index}`,
            "x-hub-signature-256": wrong
          }
          const request = new Request(
            `http://service.test/api/${path}`,
            { method: "POST", headers, body, duplex: "half" } as RequestInit
          )
          return { end, answered: admin.fetch(request, { address: "10.0.0.1" }) }
        })
        const asked = await admin.fetch(new Request("http://service.test/api/forms/join"))
        expect([path, asked.status]).toEqual([path, 200])
        for (const { end } of begun) end()
        for (const { answered } of begun) expect((await answered).status).toBeLessThan(500)
      }
    } finally {
      await admin.close()
    }
  })

  it("have as long as all bodies have, and are cut off", async () => {
    const listener = await listen(instances[0]!.edge, { port: 0, requestTimeoutMs: 200, headersTimeoutMs: 200 })
    try {
      const socket = connect(listener.port, "127.0.0.1")
      const answered = new Promise<string>((resolve) => {
        let text = ""
        socket.on("data", (chunk) => text += chunk.toString()).on("close", () => resolve(text))
      })
      socket.write(
        `POST /api/hooks/github HTTP/1.1\r\nHost: x\r\nX-Github-Delivery: 1\r\nX-Hub-Signature-256: ${wrong}\r\nContent-Length: 100\r\n\r\nabc`
      )
      expect(await answered).toMatch(/^HTTP\/1.1 408 /)
    } finally {
      await listener.close()
    }
  })
})
