import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { docsRoutes } from "../../adapters/http/docs.ts"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { makeEdge } from "../../adapters/http/handle.ts"
import { script } from "./edge-app.ts"

const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" }
const ada = { authorization: "Bearer user-ada" }

const open = (basePath = "/api/v1", signIn: "password" | "token" = "password") => {
  const { app, tokens } = script()
  const fetch = makeFetch(makeEdge(app, tokens, { basePath, extraRoutes: docsRoutes({ basePath, signIn }) }))
  return (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(new Request(`http://localhost${path}`, { method, headers }))
}
const ask = open()

const original = (name: string) => readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`))

describe("/api/docs without a token", () => {
  it.each(["/api/docs", "/api/docs/"])("is a 401 with a form for browsers at %s", async (path) => {
    const response = await ask(path, html)
    expect(response.status).toBe(401)
    expect(response.headers.get("www-authenticate")).toBe("Bearer")
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(response.headers.get("vary")).toBe("Authorization, Accept")
    expect(await response.text()).toContain("<input name=\"password\"")
  })

  it("gives every answer a nonce of its own and a policy that allows nothing else", async () => {
    const read = async () => {
      const response = await ask("/api/docs", html)
      const policy = response.headers.get("content-security-policy")!
      const [, nonce = ""] = /script-src 'nonce-([^']+)'/.exec(policy)!
      const page = await response.text()
      expect(page.match(/<(?:script|style)[^>]*>/g)).toEqual([`<style nonce="${nonce}">`, `<script nonce="${nonce}">`])
      expect(page).not.toMatch(/ on[a-z]+=| style=|https?:/)
      expect(policy).toBe(
        `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data:; connect-src 'self'; ` +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
      )
      return nonce
    }
    const first = await read()
    expect(Buffer.from(first, "base64")).toHaveLength(16)
    expect(await read()).not.toBe(first)
  })

  it.each([
    ["/api/docs", { accept: "application/json" }, "GET"],
    ["/api/docs", { accept: "*/*" }, "GET"],
    ["/api/docs", { accept: "text/html;q=0, */*" }, "GET"],
    ["/api/docs", {}, "GET"],
    ["/api/docs", html, "POST"],
    ["/api/docs/else", html, "GET"],
    ["/api/docs:else", html, "GET"],
    ["/api/docs/swagger-ui-bundle.js", html, "GET"],
    ["/api/docs/swagger-ui.css", html, "GET"],
    ["/api/docs/swagger-ui-bundle.js/else", html, "GET"],
    ["/api/docs/swagger-ui-bundle.js.LICENSE.txt", html, "GET"],
    ["/api/docs/swagger-ui-bundle.js", { ...html, cookie: "service.session_token=x" }, "GET"]
  ])("is an ordinary 401 at %s with %o by %s", async (path, headers, method) => {
    const response = await ask(path, headers, method)
    expect(response.status).toBe(401)
    expect(response.headers.get("www-authenticate")).toBe("Bearer")
    expect(response.headers.get("content-type")).toBe("application/problem+json")
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'; frame-ancestors")
    expect(await response.json()).toMatchObject({ type: "urn:service:problem:unauthenticated", instance: path })
  })

  it("shows the form for no other refusal of a credential", async () => {
    for (const [token, status] of [["refused", 403], ["keys", 503]] as const) {
      const response = await ask("/api/docs", { ...html, authorization: `Bearer ${token}` })
      expect(response.status).toBe(status)
      expect(response.headers.get("content-type")).toBe("application/problem+json")
    }
  })

  it("is not reached by a resource of that name", async () => {
    expect((await ask("/api/v1/docs", html)).headers.get("content-type")).toBe("application/problem+json")
    expect((await ask("/api/v1/docs", ada)).status).toBe(200)
  })

  it("answers HEAD without a body", async () => {
    const response = await ask("/api/docs", html, "HEAD")
    expect(response.status).toBe(401)
    expect(Number(response.headers.get("content-length"))).toBeGreaterThan(1000)
    expect(await response.text()).toBe("")
  })
})

describe("/api/docs with a token", () => {
  it("is the page, whatever is accepted", async () => {
    for (const headers of [ada, { ...ada, ...html }]) {
      const response = await ask("/api/docs", headers)
      expect(response.status).toBe(200)
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8")
      expect(response.headers.get("x-meta-version")).toBe("models+admin")
      expect(await response.text()).toContain("data-api=\"/api\" data-sign-in=\"password\"")
    }
  })

  it("says who asked in the log", async () => {
    const { app, tokens } = script()
    const lines: string[] = []
    const extraRoutes = docsRoutes({ basePath: "/api/v1", signIn: "token" })
    const fetch = makeFetch(makeEdge(app, tokens, { extraRoutes, log: (line) => void lines.push(line) }))
    for (const headers of [ada, html]) await fetch(new Request("http://localhost/api/docs", { headers }))
    expect(lines.map((line) => JSON.parse(line)).map(({ status, user }) => [status, user])).toEqual([
      [200, "ada"],
      [401, undefined]
    ])
  })

  it("has nothing else below it, and one method", async () => {
    expect((await ask("/api/docs/else", ada)).status).toBe(404)
    expect((await ask("/api/docs/swagger-ui-bundle.js/else", ada)).status).toBe(404)
    expect((await ask("/api/docs/swagger-ui-bundle.js.map", ada)).status).toBe(404)
    expect((await ask("/api/docs/../docs/package.json", ada)).status).toBe(404)
    for (const path of ["/api/docs", "/api/docs/swagger-ui.css"]) {
      const response = await ask(path, ada, "POST")
      expect(response.status).toBe(405)
      expect(response.headers.get("allow")).toBe("GET, HEAD")
    }
  })

  it.each([
    ["swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
    ["swagger-ui.css", "text/css; charset=utf-8"],
    ["swagger-ui-bundle.js.LICENSE.txt", "text/plain; charset=utf-8"]
  ])("serves %s byte for byte in every coding", async (name, type) => {
    const decode = {
      br: (bytes: Uint8Array) => brotliDecompressSync(bytes),
      gzip: (bytes: Uint8Array) => gunzipSync(bytes),
      identity: (bytes: Uint8Array) => Buffer.from(bytes)
    }
    const accepted = [["br, gzip", "br"], ["gzip;q=0.5", "gzip"], ["br;q=0, gzip", "gzip"], ["", "identity"], [
      "deflate",
      "identity"
    ]] as const
    const etags = new Set<string>()
    for (const [accept, coding] of accepted) {
      const headers = accept === "" ? ada : { ...ada, "accept-encoding": accept }
      const response = await ask(`/api/docs/${name}`, headers)
      expect([response.status, response.headers.get("content-type")]).toEqual([200, type])
      expect(response.headers.get("content-encoding")).toBe(coding === "identity" ? null : coding)
      expect(response.headers.get("vary")).toBe("Authorization, Accept-Encoding")
      expect(response.headers.get("cache-control")).toBe("private, no-cache")
      const bytes = new Uint8Array(await response.arrayBuffer())
      expect(response.headers.get("content-length")).toBe(String(bytes.length))
      expect(decode[coding](bytes).equals(original(name))).toBe(true)
      const etag = response.headers.get("etag")!
      etags.add(etag)
      const again = await ask(`/api/docs/${name}`, { ...headers, "if-none-match": `"x", W/${etag}` })
      expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""])
      expect((await ask(`/api/docs/${name}`, { ...headers, "if-none-match": "\"x\"" })).status).toBe(200)
    }
    expect(etags.size).toBe(3)
  })

  it("follows the base path, and asks for a token where sign-in is elsewhere", async () => {
    const moved = open("/shop/rest/v1", "token")
    const page = await (await moved("/shop/rest/docs", html)).text()
    expect(page).toContain("data-api=\"/shop/rest\" data-sign-in=\"token\"")
    expect(page).toContain("<input name=\"token\"")
    expect(page).not.toContain("<input name=\"password\"")
    expect((await moved("/shop/rest/docs/swagger-ui.css", ada)).status).toBe(200)
    expect((await moved("/api/docs", html)).headers.get("content-type")).toBe("application/problem+json")
  })

  it("reports a defect of the authenticator as any other", async () => {
    const { app } = script()
    const errors: unknown[] = []
    const edge = makeEdge(app, { authenticate: () => Effect.die(new Error("broken")) }, {
      extraRoutes: docsRoutes({ basePath: "/api/v1", signIn: "token" }),
      onUnhandledError: (error) => {
        errors.push(error)
      }
    })
    const response = await makeFetch(edge)(new Request("http://localhost/api/docs", { headers: html }))
    expect(response.status).toBe(500)
    expect(errors).toHaveLength(1)
  })
})
