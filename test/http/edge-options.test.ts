// What the options of the edge change, over the fetch handler: overload, readiness, reports, timing, tracing, mounts, and the wrapper's
// own part: limits on streamed bodies and aborts.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"
import { vi } from "vitest"
import { errorLine } from "../../adapters/http/access-log.ts"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { makeEdge } from "../../adapters/http/handle.ts"
import type { ExtraRoute } from "../../adapters/http/handle.ts"
import { clientAddress } from "../../adapters/http/request.ts"
import type { EdgeRequest } from "../../adapters/http/request.ts"
import { json } from "../../core/app/ground/call.ts"
import { mounted, script, secretText, until, viaFetch } from "./edge-app.ts"

const authorized = { authorization: "Bearer user-ada" }
const url = (target: string): string => `http://localhost${target}`

describe("overload", () => {
  it("answers 503 past the limit without a credential check; health stays", async () => {
    const stage = viaFetch({ maxInFlight: 2 })
    const waiting = [stage.ask({ target: "/api/v1/orders/slow" }), stage.ask({ target: "/api/v1/orders/slow" })]
    await until(() => stage.slow.started === 2)
    const authenticated = stage.authenticated.count
    const refused = await stage.ask({ target: "/api/v1/orders" })
    expect(refused.status).toBe(503)
    expect(refused.headers.get("retry-after")).toBe("1")
    expect(JSON.parse(refused.text)).toMatchObject({ type: "urn:service:problem:unavailable" })
    expect(stage.authenticated.count).toBe(authenticated)
    expect((await stage.ask({ target: "/livez", token: null })).status).toBe(200)
    expect((await stage.ask({ target: "/readyz", token: null })).status).toBe(200)
    Deferred.doneUnsafe(stage.gate, Effect.void)
    expect((await Promise.all(waiting)).map((answer) => answer.status)).toEqual([200, 200])
    expect((await stage.ask({ target: "/api/v1/orders" })).status).toBe(200)
  })

  it("counts a request with a body like any other once its body has come", async () => {
    const stage = viaFetch({ maxInFlight: 1 })
    let send = (): void => {}
    const patch = (key: string, body: string | ReadableStream<Uint8Array>) =>
      stage.fetch(
        new Request(url(`/api/v1/orders/${key}`), {
          method: "PATCH",
          headers: { ...authorized, "content-type": "application/json" },
          body,
          duplex: "half"
        })
      )
    // On its way it takes no place of those who are worked on; there is none when it arrives.
    const late = patch(
      "1",
      new ReadableStream({
        start: (controller) => {
          send = () => {
            controller.enqueue(new TextEncoder().encode("{}"))
            controller.close()
          }
        }
      })
    )
    await until(() => stage.authenticated.count === 1)
    expect((await patch("2", "{}")).status).toBe(503)
    const reading = stage.ask({ target: "/api/v1/orders/slow" })
    await until(() => stage.slow.started === 1)
    send()
    expect((await late).status).toBe(503)
    Deferred.doneUnsafe(stage.gate, Effect.void)
    expect((await reading).status).toBe(200)
    expect(stage.routed.map(({ use }) => use)).toEqual(["get"])
  })

  it("works on no more writes at once than on reads", async () => {
    const stage = viaFetch({ maxInFlight: 1 })
    const write = { method: "PATCH", target: "/api/v1/orders/slow", body: "{}" }
    const writing = stage.ask(write)
    await until(() => stage.slow.started === 1)
    expect([(await stage.ask({ target: "/api/v1/orders" })).status, (await stage.ask(write)).status]).toEqual([
      503,
      503
    ])
    Deferred.doneUnsafe(stage.gate, Effect.void)
    expect((await writing).status).toBe(200)
    expect((await stage.ask(write)).status).toBe(200)
  })

  it.each(["boom", "missing", "throws"])("gives its place back after %s", async (key) => {
    const stage = viaFetch({ maxInFlight: 1 })
    await stage.ask({ target: `/api/v1/orders/${key}` })
    await stage.ask({ target: "/api/v1/orders", token: null })
    expect((await stage.ask({ target: "/api/v1/orders" })).status).toBe(200)
  })

  it("gives its place back when the client goes away", async () => {
    const stage = viaFetch({ maxInFlight: 1 })
    const aborter = new AbortController()
    const gone = stage.fetch(new Request(url("/api/v1/orders/slow"), { headers: authorized, signal: aborter.signal }))
    await until(() => stage.slow.started === 1)
    aborter.abort()
    await expect(gone).rejects.toMatchObject({ name: "AbortError" })
    expect(stage.slow).toEqual({ started: 1, interrupted: 1, finished: 0 })
    expect(stage.lines.map((line) => JSON.parse(line))).toMatchObject([{ status: 499, bytes: 0, user: "ada" }])
    expect(stage.errors).toEqual([])
    expect((await stage.ask({ target: "/api/v1/orders" })).status).toBe(200)
  })

  it.live("keeps no place of a request that is interrupted between any two steps, and logs it once", () =>
    Effect.gen(function*() {
      const stage = viaFetch({ maxInFlight: 1 })
      const request: EdgeRequest = {
        method: "GET",
        url: url("/api/v1/orders"),
        target: "/api/v1/orders",
        headers: new Headers(authorized),
        hasBody: false,
        address: null,
        stream: () => (async function*() {})(),
        body: () => Effect.die("not read")
      }
      // A fiber gives way to others after 2,048 steps, wherever it is then.
      const after = (steps: number): Effect.Effect<unknown, unknown> =>
        Effect.suspend(() => steps === 0 ? stage.edge.handle(request) : after(steps - 1))
      const seen = new Set<string>()
      for (let steps = 2_030; steps < 2_050; steps++) {
        yield* Fiber.interrupt(yield* Effect.forkDetach(after(steps), { startImmediately: true }))
        seen.add(stage.lines.splice(0).map((line) => JSON.parse(line).status).join(" and "))
        const { status } = yield* Effect.promise(() => stage.ask({ target: "/api/v1/orders" }))
        expect([steps, status]).toEqual([steps, 200])
        stage.lines.length = 0
      }
      // The last ones did not begin.
      expect([...seen].toSorted()).toEqual(["", "200", "499"])
    }))
})

describe("readiness", () => {
  it("follows the effect, and draining", async () => {
    let ready = false
    const stage = viaFetch({ ready: Effect.sync(() => ready) })
    const readyz = async () => (await stage.ask({ target: "/readyz", token: null })).status
    const first = await stage.ask({ target: "/readyz", token: null })
    expect([first.status, first.headers.get("retry-after")]).toEqual([503, "5"])
    ready = true
    expect(await readyz()).toBe(200)
    stage.edge.drain()
    expect(await readyz()).toBe(503)
    expect((await stage.ask({ target: "/livez", token: null })).status).toBe(200)
    expect((await stage.ask({ target: "/api/v1/orders" })).status).toBe(200)
  })

  it("refuses everything once it has ended, and lets what is under way finish", async () => {
    const stage = viaFetch({ auth: mounted(async () => new Response("{}")) })
    const slow = stage.ask({ target: "/api/v1/orders/slow" })
    await until(() => stage.slow.started === 1)
    stage.edge.end()
    const authenticated = stage.authenticated.count
    for (const target of ["/livez", "/readyz", "/api/v1/orders", "/api/auth/token"]) {
      expect((await stage.ask({ target })).status, target).toBe(503)
    }
    expect(stage.authenticated.count).toBe(authenticated)
    Deferred.doneUnsafe(stage.gate, Effect.void)
    expect((await slow).status).toBe(200)
  })
})

describe("reports", () => {
  it.each([
    ["throws", () => {
      throw new Error(secretText)
    }],
    ["rejects", async () => Promise.reject(new Error(secretText))]
  ])("a hook that %s does not break the answer", async (_, onUnhandledError) => {
    const stage = viaFetch({ onUnhandledError })
    expect((await stage.ask({ target: "/api/v1/orders/boom" })).status).toBe(500)
    await until(() => stage.lines.length === 2)
    expect(stage.lines.join("\n")).toContain("onUnhandledError failed")
    expect(stage.lines.join("\n")).not.toContain(secretText)
  })

  it("without a hook the log tells the class and the place, never the message", async () => {
    const made = script()
    const lines: string[] = []
    const fetch = makeFetch(makeEdge(made.app, made.tokens, { log: (line) => lines.push(line) }))
    const response = await fetch(new Request(url("/api/v1/orders/throws"), { headers: authorized }))
    expect(response.status).toBe(500)
    const [error] = lines.map((line) => JSON.parse(line))
    expect(error).toMatchObject({ level: "error", event: "unhandled error", error: "TypeError" })
    expect(error.id).toBe(response.headers.get("x-request-id"))
    expect(error.frames[0]).toContain("edge-app.ts")
    expect(lines.join("\n")).not.toContain(secretText)
  })

  it.each([
    ["the database's", { code: "42703" }, "42703"],
    ["the system's", { code: "ECONNRESET" }, "ECONNRESET"],
    ["no other", { code: secretText }, undefined],
    ["none that is no text", { code: 42703 }, undefined]
  ])("the log tells a code from behind an error: %s", (_, behind, code) => {
    const cause = Object.assign(new Error(secretText), behind)
    const line = errorLine("unhandled error", "r1", new Error(secretText, { cause: new Error(secretText, { cause }) }))
    expect(JSON.parse(line).code).toBe(code)
    expect(line).not.toContain(secretText)
  })

  it.each([
    ["looks like a frame", `x\n    at ${secretText} (file:///a.ts:1:1)`, 1],
    ["was changed since", secretText, 0]
  ])("the log has no frame from a message that %s", (_, message, least) => {
    const error = new Error(message)
    if (least === 0) error.message = "another"
    const { frames } = JSON.parse(errorLine("unhandled error", "r1", error))
    expect(frames.length).toBeGreaterThanOrEqual(least)
    expect(JSON.stringify(frames)).not.toContain(secretText)
  })

  it("the log follows no circle of causes", () => {
    const error = new Error(secretText)
    error.cause = error
    expect(JSON.parse(errorLine("unhandled error", "r1", error)).error).toBe("Error")
  })

  it("survives a log that throws, whose lines are not lost", async () => {
    const written = vi.spyOn(console, "error").mockImplementation(() => {})
    const made = script()
    const broken = new Error("the disk is full")
    const log = (): never => {
      throw broken
    }
    const fetch = makeFetch(makeEdge(made.app, made.tokens, { log }))
    for (const [path, status] of [["/api/v1/orders", 200], ["/api/v1/orders/throws", 500]] as const) {
      expect((await fetch(new Request(url(path), { headers: authorized }))).status).toBe(status)
    }
    expect(written.mock.calls.map(([line, error]) => [JSON.parse(String(line)).status, error])).toEqual([
      [200, broken],
      [undefined, broken],
      [500, broken]
    ])
    written.mockRestore()
  })

  it("survives a meta version that throws", async () => {
    const made = script()
    const errors: unknown[] = []
    const app = {
      ...made.app,
      metaVersion: () => {
        throw new Error(secretText)
      }
    }
    const fetch = makeFetch(makeEdge(app, made.tokens, { onUnhandledError: (error) => void errors.push(error) }))
    const response = await fetch(new Request(url("/api/v1/orders"), { headers: authorized }))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain(secretText)
    expect(errors).toHaveLength(1)
  })
})

describe("timing", () => {
  it("is absent unless asked for", async () => {
    expect((await viaFetch().ask({ target: "/api/v1/orders" })).headers.get("server-timing")).toBeNull()
  })

  it("names the phases", async () => {
    const answered = await viaFetch({ serverTiming: true }).ask({ target: "/api/v1/orders" })
    expect(answered.headers.get("server-timing")).toMatch(
      /^authenticate;dur=\d+\.\d\d, list\.parse;dur=\d+\.\d\d, total;dur=\d+\.\d\d$/
    )
  })

  it("makes spans of the same names below a server span that continues the client's trace", async () => {
    const spans: Tracer.NativeSpan[] = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const made = script()
    const fetch = makeFetch(makeEdge(made.app, made.tokens), Context.make(Tracer.Tracer, tracer))
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    const headers = { ...authorized, traceparent, "x-request-id": "r1" }
    await fetch(new Request(url("/api/v1/orders?filter=secret"), { headers }))
    await fetch(new Request(url("/api/v1/orders"), { headers: { ...headers, traceparent: "00-zz" } }))
    expect(spans.map((span) => span.name)).toEqual([
      "HTTP GET",
      "authenticate",
      "list.parse",
      "HTTP GET",
      "authenticate",
      "list.parse"
    ])
    expect(new Set(spans.slice(0, 3).map((span) => span.traceId))).toEqual(
      new Set(["0af7651916cd43dd8448eb211c80319c"])
    )
    expect(spans[3]?.traceId).not.toBe("0af7651916cd43dd8448eb211c80319c")
    expect(Object.fromEntries(spans[0]!.attributes)).toEqual({
      "http.request.method": "GET",
      "url.path": "/api/v1/orders",
      "request.id": "r1",
      "http.response.status_code": 200
    })
    expect(spans.every((span) => span.status._tag === "Ended")).toBe(true)
  })
})

describe("mounts", () => {
  it("takes another base path, and puts the system endpoints beside it", async () => {
    const stage = viaFetch({ basePath: "/shop/admin/v2" })
    const statuses = async (...targets: string[]) => {
      const answers = []
      for (const target of targets) answers.push((await stage.ask({ target })).status)
      return answers
    }
    expect(await statuses("/shop/admin/v2/orders", "/shop/admin/meta", "/api/v1/orders", "/api/meta")).toEqual([
      200,
      200,
      404,
      404
    ])
    expect(stage.routed.map((routed) => routed.use)).toEqual(["list", "meta"])
  })

  it("takes a base path of one segment", async () => {
    const stage = viaFetch({ basePath: "/v1" })
    await stage.ask({ target: "/v1/orders" })
    await stage.ask({ target: "/meta" })
    expect(stage.routed.map((routed) => routed.use)).toEqual(["list", "meta"])
  })

  it.each(["", "/", "/api/v1/", "api", "/a//b", "/a b"])("refuses the base path %j", (basePath) => {
    expect(() => viaFetch({ basePath })).toThrow(RangeError)
  })

  it.each([
    "*",
    "null",
    "https://a.example/",
    "https://a.example:443",
    "a.example",
    "https://*.example",
    "ftp://a.example"
  ])(
    "refuses the origin %j",
    (origin) => {
      expect(() => viaFetch({ cors: { origins: [origin] } })).toThrow(RangeError)
    }
  )

  it("varies by origin only when origins are configured", async () => {
    const answered = await viaFetch().ask({ target: "/livez", headers: { origin: "https://admin.example.com" } })
    expect(answered.headers.get("vary")).toBe("Authorization")
    expect(answered.headers.get("access-control-allow-origin")).toBeNull()
  })

  it("asks for https only when the public URL has it", async () => {
    const answered = await viaFetch({ publicUrl: "https://admin.example.com/" }).ask({ target: "/livez" })
    expect(answered.headers.get("strict-transport-security")).toBe("max-age=31536000")
  })

  it.each([
    [undefined, ""],
    ["https://admin.example.com/", ""],
    ["https://example.com/shop/admin", "/shop/admin"],
    ["https://example.com/shop/admin/", "/shop/admin"],
    ["https://example.com/ap", "/ap"],
    // It is in the service's own paths: no proxy takes it off.
    ["https://example.com/api", ""],
    ["https://example.com/api/v1", ""]
  ])("has in Location what a proxy in front of %s takes off", async (publicUrl, prefix) => {
    const stage = viaFetch(publicUrl === undefined ? {} : { publicUrl })
    for (const target of ["/api/v1/orders", "/api/v1/orders:upload"]) {
      const headers = target.endsWith(":upload") ? { "tus-resumable": "1.0.0" } : {}
      const answered = await stage.ask({ method: "POST", target, headers, body: "{}" })
      expect(answered.headers.get("location")).toBe(`${prefix}${target}/7`)
    }
  })

  it("gives the root route what is outside the API, and nothing of the API", async () => {
    const stage = viaFetch({
      extraRoutes: [{
        prefix: "/",
        access: "public",
        handle: (visit) => Effect.succeed(json(200, JSON.stringify(visit.path)))
      }]
    })
    const outcome = async (target: string) => (await stage.ask({ target, token: null })).status
    expect(await outcome("/")).toBe(200)
    expect(await outcome("/-/forms/contact")).toBe(200)
    expect(await outcome("/apix")).toBe(200)
    for (const target of ["/api", "/api/nope", "/api/v1", "/api/v1/orders", "/api/meta"]) {
      expect(await outcome(target)).toBe(401)
    }
  })

  it("gives a path to the longest prefix that it continues", async () => {
    const route = (prefix: string) => ({
      prefix,
      access: "public",
      handle: () => Effect.succeed(json(200, JSON.stringify(prefix)))
    } as const)
    const stage = viaFetch({ extraRoutes: [route("/f"), route("/f/own"), route("/")] })
    for (
      const [target, prefix] of [["/f/own/1", "/f/own"], ["/f/owner", "/f"], ["/f", "/f"], ["/form", "/"]] as const
    ) {
      expect((await stage.ask({ target, token: null })).text, target).toBe(JSON.stringify(prefix))
    }
  })

  it("tells the sign-in routes no address that nobody vouches for, and their clients nothing of a connection", async () => {
    let seen: string | null = ""
    const stage = viaFetch({
      auth: mounted(async (request) => {
        seen = request.headers.get("x-forwarded-for")
        return new Response("{}", { headers: { "transfer-encoding": "chunked", "keep-alive": "timeout=9" } })
      })
    })
    const target = "/api/auth/token"
    const { headers } = await stage.ask({ target, token: null, headers: { "x-forwarded-for": "6.6.6.6" } })
    expect([seen, headers.get("transfer-encoding"), headers.get("keep-alive")]).toEqual([null, null, null])
  })

  it("takes no more of a sign-in than of any other request", async () => {
    const stage = viaFetch({ maxBodyBytes: 10, auth: mounted(async () => new Response("{}")) })
    const ask = async (length: number): Promise<number> =>
      (await stage.ask({ method: "POST", target: "/api/auth/sign-in/email", token: null, body: "x".repeat(length) }))
        .status
    expect([await ask(10), await ask(11)]).toEqual([200, 413])
  })

  it("leaves sign-in paths without a handler to the credential check", async () => {
    const stage = viaFetch()
    expect((await stage.ask({ target: "/api/auth/token", token: null })).status).toBe(401)
    expect((await stage.ask({ target: "/api/auth/status" })).status).toBe(404)
  })
})

describe("client address", () => {
  const address = (proxies: number, forwarded: string | null) =>
    clientAddress({
      method: "GET",
      url: "",
      target: "",
      headers: { get: () => forwarded, entries: () => [] },
      hasBody: false,
      address: "10.0.0.1",
      stream: () => (async function*() {})(),
      body: () => Effect.die("unused")
    }, proxies)
  it.each([
    [0, "1.1.1.1, 2.2.2.2", "10.0.0.1"],
    [1, "1.1.1.1, 2.2.2.2", "2.2.2.2"],
    [2, "1.1.1.1, 2.2.2.2", "1.1.1.1"],
    // Fewer hops than proxies: somebody went around one, and writes what they like.
    [2, "1.1.1.1", "10.0.0.1"],
    [3, "1.1.1.1, 2.2.2.2", "10.0.0.1"],
    [1, null, "10.0.0.1"],
    [1, " , ", "10.0.0.1"],
    [1, "1.1.1.1, forged", "10.0.0.1"],
    [1, "[2001:db8::7]:443", "2001:db8::7"]
  ])("behind %i proxies with %j it is %s", (proxies, forwarded, expected) => {
    expect(address(proxies, forwarded)).toBe(expected)
  })
})

describe("fetch", () => {
  const streaming = (
    pull: (controller: ReadableStreamDefaultController<Uint8Array>) => void,
    cancel?: () => void,
    signal: AbortSignal | null = null
  ) =>
    new Request(url("/api/v1/orders"), {
      signal,
      method: "POST",
      headers: { ...authorized, "content-type": "application/json" },
      body: new ReadableStream<Uint8Array>({ pull, cancel: () => cancel?.() }),
      duplex: "half"
    })

  it("stops reading a streamed body at the limit", async () => {
    const stage = viaFetch({ maxBodyBytes: 10 })
    let pulled = 0
    let cancelled = false
    const response = await stage.fetch(streaming((controller) => {
      pulled++
      controller.enqueue(new Uint8Array(4))
    }, () => {
      cancelled = true
    }))
    expect(response.status).toBe(413)
    expect(pulled).toBeLessThan(6)
    expect(cancelled).toBe(true)
    expect(stage.routed).toEqual([])
  })

  it("stops reading a streamed body whose client has gone away", async () => {
    const stage = viaFetch()
    let pulled = 0
    let cancelled = false
    const aborter = new AbortController()
    const gone = stage.fetch(streaming((controller) => {
      if (pulled++ === 0) controller.enqueue(new Uint8Array(4))
    }, () => {
      cancelled = true
    }, aborter.signal))
    await until(() => pulled === 2)
    aborter.abort()
    await expect(gone).rejects.toMatchObject({ name: "AbortError" })
    expect(cancelled).toBe(true)
    expect(stage.routed).toEqual([])
  })

  it("joins the chunks", async () => {
    const stage = viaFetch()
    const chunks = [`{"a":`, `"é`, `"}`]
    await stage.fetch(streaming((controller) => {
      const next = chunks.shift()
      if (next === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(next))
    }))
    expect(stage.routed[0]?.body).toBe(`{"a":"é"}`)
  })

  it("answers 400 when the body breaks off", async () => {
    const stage = viaFetch()
    const response = await stage.fetch(streaming((controller) => controller.error(new Error(secretText))))
    expect(response.status).toBe(400)
    expect(await response.text()).not.toContain(secretText)
    expect(stage.errors).toEqual([])
  })

  it("refuses by Content-Length without reading", async () => {
    const stage = viaFetch({ maxBodyBytes: 10 })
    const request = streaming(() => undefined)
    request.headers.set("content-length", "11")
    expect((await stage.fetch(request)).status).toBe(413)
    expect(request.bodyUsed).toBe(false)
  })

  it("does nothing for a request that is aborted already", async () => {
    const stage = viaFetch()
    const request = new Request(url("/api/v1/orders"), { headers: authorized, signal: AbortSignal.abort() })
    await expect(stage.fetch(request)).rejects.toMatchObject({ name: "AbortError" })
    expect(stage.routed).toEqual([])
  })

  it("aborts the mounted handler's request too", async () => {
    let aborted = false
    let started = false
    const stage = viaFetch({
      auth: mounted((request) =>
        new Promise((_, reject) => {
          started = true
          request.signal.addEventListener("abort", () => {
            aborted = true
            reject(request.signal.reason)
          })
        })
      )
    })
    const aborter = new AbortController()
    const gone = stage.fetch(new Request(url("/api/auth/token"), { signal: aborter.signal }))
    await until(() => started)
    aborter.abort()
    await expect(gone).rejects.toMatchObject({ name: "AbortError" })
    expect(aborted).toBe(true)
  })

  const who: ExtraRoute = {
    prefix: "/who",
    access: "public",
    handle: (visit) => Effect.succeed(json(200, JSON.stringify([visit.address, visit.query])))
  }

  it("ignores a fragment and takes the peer's address from its host", async () => {
    const stage = viaFetch({ extraRoutes: [who] })
    const response = await stage.fetch(new Request("http://localhost/who?a#b"), { address: "192.0.2.7" })
    expect(await response.json()).toEqual(["192.0.2.7", "a"])
  })

  it.each([[0, "192.0.2.7"], [1, "198.51.100.2"], [2, "203.0.113.1"]])(
    "tells routes the address that %i trusted proxies saw",
    async (trustedProxies, address) => {
      const stage = viaFetch({ extraRoutes: [who], trustedProxies })
      const headers = { "x-forwarded-for": "203.0.113.1, 198.51.100.2" }
      const response = await stage.fetch(new Request("http://localhost/who", { headers }), { address: "192.0.2.7" })
      expect(await response.json()).toEqual([address, null])
    }
  )
})

describe("large bodies that come at once", () => {
  it("are read one a turn of the event loop, so that others come in between", async () => {
    const { app, tokens } = script()
    const order: string[] = []
    const working = {
      ...app,
      create: (...given: Parameters<typeof app.create>) => {
        order.push("body")
        // What another connection brings: it waits for the end of this turn.
        setTimeout(() => order.push("other"), 0)
        return app.create(...given)
      }
    }
    const edge = makeEdge(working, tokens, { maxBodyBytes: 1_000_000 })
    const body = Buffer.from(JSON.stringify({ text: "x".repeat(100_000) }))
    const request = (): EdgeRequest => ({
      method: "POST",
      url: "http://service.test/api/v1/orders",
      target: "/api/v1/orders",
      headers: new Headers({ authorization: "Bearer user-ada", "content-type": "application/json" }),
      hasBody: true,
      address: null,
      body: () => Effect.succeed(body),
      stream: async function*() {
        yield body
      }
    })
    const replies = await Promise.all([1, 2, 3].map(() => Effect.runPromise(edge.handle(request()))))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(order).toEqual(["body", "other", "body", "other", "body", "other"])
  })
})
