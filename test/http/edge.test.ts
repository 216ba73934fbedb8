// The edge by scenario, each row over the fetch handler and over a real Node listener: what is routed where, what is refused in which
// order, and what every answer carries. The App behind it is scripted; no resource logic is tested here.
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { EdgeOptions } from "../../adapters/http/handle.ts"
import { json } from "../../core/app/ground/call.ts"
import { mounted, secretText, viaFetch, viaNode } from "./edge-app.ts"
import type { Answered, Stage } from "./edge-app.ts"
import { groups } from "./edge-scenarios.ts"
import type { Scenario } from "./edge-scenarios.ts"

const options: EdgeOptions = {
  cors: { origins: ["https://admin.example.com"], maxAgeSeconds: 77 },
  maxBodyBytes: 1000,
  trustedProxies: 1,
  authStatus: Effect.succeed({ needsAdmin: true }),
  auth: mounted(async (request) => {
    const url = new URL(request.url)
    if (url.pathname.endsWith("/explode")) throw new Error(secretText)
    const headers = new Headers({
      "content-type": "application/json",
      "x-seen-for": request.headers.get("x-forwarded-for") ?? "-"
    })
    headers.append("set-cookie", "a=1; Path=/")
    headers.append("set-cookie", "b=2; Path=/")
    return new Response(JSON.stringify({ method: request.method, path: url.pathname, body: await request.text() }), {
      status: url.pathname.endsWith("/teapot") ? 418 : 200,
      headers
    })
  }, { serves: (path) => !path.endsWith("/nowhere"), maxBodyBytes: 500 }),
  extraRoutes: [
    {
      prefix: "/api/docs",
      access: "caller",
      handle: (visit, caller) =>
        Effect.succeed({
          status: 200,
          headers: { "content-type": "text/html", "content-security-policy": "default-src 'self'" },
          body: `${visit.method} ${visit.path} ${caller.id}`
        })
    },
    {
      prefix: "/api/forms",
      access: "public",
      handle: (visit) => Effect.succeed(json(200, JSON.stringify([visit.path, visit.query, visit.address])))
    }
  ]
}

const at = (target: string): string => `/api/v1${target}`

const check = (scenario: Scenario, answered: Answered, stage: Stage): void => {
  const { headers, status, text } = answered
  expect(status, text.slice(0, 500)).toBe(scenario.status)
  expect(headers.get("x-meta-version")).toMatch(/^models/)
  expect(headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._-]{1,128}$/)
  expect(headers.get("x-content-type-options")).toBe("nosniff")
  expect(headers.get("referrer-policy")).toBe("no-referrer")
  expect(headers.get("content-security-policy")).toMatch(/^default-src '(none'; frame-ancestors 'none|self)'$/)
  expect(headers.get("cache-control")).toMatch(/^(no-store|private, no-cache)$/)
  expect(headers.get("vary")).toMatch(/^Authorization, Origin/)
  expect(headers.get("strict-transport-security")).toBeNull()
  expect(headers.get("content-length")).toBe(status === 204 || status === 304 ? null : String(Buffer.byteLength(text)))
  expect(text).not.toContain(secretText)
  for (const [name, value] of Object.entries(scenario.header ?? {})) expect(headers.get(name), name).toBe(value)
  if (scenario.has !== undefined) expect(text).toContain(scenario.has)
  if (scenario.slug !== undefined) {
    expect(headers.get("content-type")).toBe("application/problem+json")
    const [path] = scenario.target.split("?")
    expect(JSON.parse(text)).toMatchObject({
      type: `urn:service:problem:${scenario.slug}`,
      title: expect.any(String),
      status,
      detail: expect.any(String),
      instance: path
    })
  }
  if (scenario.routed === undefined) return
  expect(stage.routed).toHaveLength(1)
  expect(stage.routed[0]).toMatchObject(scenario.routed)
}

for (const driver of ["fetch", "node"] as const) {
  describe(`edge over ${driver}`, () => {
    let stage: Stage
    let close: () => Promise<void> = async () => undefined
    beforeAll(async () => {
      if (driver === "fetch") {
        stage = viaFetch(options)
        return
      }
      const made = await viaNode(options)
      stage = made
      close = made.listener.close
    })
    afterAll(() => close())

    for (const [group, scenarios] of Object.entries(groups)) {
      describe(group, () => {
        it.each(scenarios)("$name", async (scenario) => {
          stage.routed.length = 0
          stage.lines.length = 0
          check(scenario, await stage.ask(scenario), stage)
          expect(stage.lines).toHaveLength(1)
        })

        const readable = scenarios.filter((scenario) => (scenario.method ?? "GET") === "GET")
        if (readable.length === 0) return
        it("HEAD answers like GET without the body", async () => {
          for (const scenario of readable) {
            const get = await stage.ask({ ...scenario, headers: { "x-request-id": "one", ...scenario.headers } })
            const head = await stage.ask({
              ...scenario,
              headers: { "x-request-id": "one", ...scenario.headers },
              method: "HEAD"
            })
            expect(head.text).toBe("")
            expect(head.status).toBe(get.status)
            const comparable = (headers: Headers) => [...headers].filter(([name]) => name !== "date")
            expect(comparable(head.headers), scenario.name).toEqual(comparable(get.headers))
          }
        })
      })
    }

    it("gives every request its own id when the client's is not usable", async () => {
      const ids = new Set<string | null>()
      for (const sent of ["a b", "x".repeat(129), "é", ""]) {
        ids.add(
          (await stage.ask({ target: at("/orders"), headers: { "x-request-id": sent } })).headers.get("x-request-id")
        )
      }
      expect(ids.size).toBe(4)
      for (const id of ids) expect(id).toMatch(/^[\da-f-]{36}$/)
    })

    it.each(["boom", "throws", "inside-interrupt", "bad-header"])(
      "hides what went wrong and reports it once: %s",
      async (key) => {
        stage.errors.length = 0
        const answered = await stage.ask({
          target: at(`/orders/${key}?token=s3cret`),
          headers: { "x-request-id": "r1" }
        })
        expect(answered.status).toBe(500)
        expect(JSON.parse(answered.text)).toEqual({
          type: "urn:service:problem:internal-error",
          title: "Internal error",
          status: 500,
          detail: "An unexpected error occurred.",
          instance: at(`/orders/${key}`)
        })
        expect(answered.headers.get("x-request-id")).toBe("r1")
        expect(answered.headers.get("x-meta-version")).not.toBeNull()
        expect(stage.errors).toHaveLength(1)
        expect(stage.errors[0]?.[1]).toEqual({ requestId: "r1", method: "GET", path: at(`/orders/${key}`) })
      }
    )

    it("escapes what a log line takes from outside", async () => {
      stage.lines.length = 0
      await stage.ask({ target: at(`/orders/"${"k".repeat(600)}`), token: `user-a"b` })
      const entry = JSON.parse(stage.lines[0]!)
      expect(entry.user).toBe(`a"b`)
      expect(entry.path.length).toBeLessThan(600)
    })

    it("logs one line a request and nothing secret", async () => {
      stage.lines.length = 0
      const token = "user-bea.s3cret"
      await stage.ask({
        target: at("/orders/1?filter=s3cret"),
        token,
        headers: { "x-request-id": "r2", "cookie": "c=s3cret" }
      })
      await stage.ask({ method: "POST", target: at("/orders"), body: `{"a":"s3cret"}` })
      await stage.ask({ target: at("/orders/boom?filter=s3cret") })
      await stage.ask({ target: at("/orders?x=%zz-s3cret"), token: "s3cret" })
      await stage.ask({ target: "/api/auth/reset-password/S3CRETs3cret?x=s3cret" })
      expect(stage.lines).toHaveLength(5)
      const entries = stage.lines.map((line) => JSON.parse(line))
      expect(entries[0]).toEqual({
        level: "info",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        event: "request",
        id: "r2",
        method: "GET",
        path: at("/orders/1"),
        status: 200,
        ms: expect.any(Number),
        bytes: 13,
        user: "bea.s3cret"
      })
      expect(entries.map((entry) => entry.status)).toEqual([200, 200, 500, 401, 200])
      expect(entries[4].path).toBe("/api/auth/reset-password/*")
      expect(stage.lines.slice(1).join("\n").toLowerCase()).not.toContain("s3cret")
      expect(stage.lines.join("\n")).not.toContain(secretText)
    })
  })
}
