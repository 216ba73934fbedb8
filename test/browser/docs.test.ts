/**
 * `/api/docs` in a real Chromium, in front of a real listener: signing in, the reference under its strict policy, trying an operation out, and
 * tokens that run out. The sign-in routes are scripted; the document is that of a real set of models.
 */

import * as Effect from "effect/Effect"
import type { Browser, Page, Request as PageRequest } from "playwright-core"
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { docsRoutes } from "../../adapters/http/docs.ts"
import { makeEdge } from "../../adapters/http/handle.ts"
import { listen } from "../../adapters/http/node.ts"
import type { Listener } from "../../adapters/http/node.ts"
import type { App } from "../../core/app/app.ts"
import { json } from "../../core/app/ground/call.ts"
import { openapiDocument } from "../../core/domain/meta/openapi.ts"
import { TokensError } from "../../core/ports/tokens.ts"
import type { TokensService } from "../../core/ports/tokens.ts"
import { mounted, script } from "../http/edge-app.ts"
import { anyAccess, callerOf, requestOf, shop, shopRoles } from "../support/openapi.ts"
import { chromiumOfProcess, chromiumPath } from "./chromium.ts"

const password = "correct horse battery"

/** Sign-in, sessions and tokens in memory, shaped as the auth server's. */
const scriptedAuth = () => {
  const state = { sessions: new Set<string>(), tokens: new Set<string>(), issued: 0, users: 1 }
  const sessionOf = (request: Request): string | null => {
    const id = /(?:^|; )session=([^;]+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? null
    return id !== null && state.sessions.has(id) ? id : null
  }
  const refuse = (detail: string) =>
    Response.json({
      type: "urn:service:problem:unauthenticated",
      title: "Authentication is required",
      status: 401,
      detail
    }, {
      status: 401,
      headers: { "content-type": "application/problem+json" }
    })
  const handler = async (request: Request): Promise<Response> => {
    const session = sessionOf(request)
    switch (`${request.method} ${new URL(request.url).pathname}`) {
      case "POST /api/auth/sign-in/email": {
        const body = await request.json() as { email: string; password: string }
        if (body.password !== password) return refuse("The email address or the password is wrong.")
        const id = crypto.randomUUID()
        state.sessions.add(id)
        return Response.json({ user: { id: "u1", email: body.email } }, {
          headers: { "set-cookie": `session=${id}; Path=/; HttpOnly; SameSite=Lax` }
        })
      }
      case "GET /api/auth/get-session":
        return Response.json(session === null ? null : { session: {}, user: { id: "u1" } })
      case "GET /api/auth/status":
        return Response.json({ needsAdmin: state.users === 0 })
      case "GET /api/auth/token": {
        if (session === null) return refuse("There is no session.")
        const token = `token-${++state.issued}`
        state.tokens.add(token)
        return Response.json({ token })
      }
      case "POST /api/auth/sign-out":
        state.sessions.clear()
        return Response.json({ success: true })
      default:
        return refuse("No such route.")
    }
  }
  const tokens: TokensService = {
    authenticate: (request) => {
      const token = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? ""
      return state.tokens.has(token)
        ? Effect.succeed(callerOf("admin"))
        : Effect.fail(new TokensError({ reason: "Unauthenticated", why: "not issued here" }))
    }
  }
  return { state, handler, tokens }
}

const soon = <A>(look: () => Promise<A> | A) => expect.poll(look)

/** Enough where what is asked is not what the reference shows: a quarter of it draws in a quarter of the time. */
const few = new Map([["orders", shop.get("orders")!]])

const openServer = async (signIn: "password" | "token") => {
  const shown = { models: shop }
  const auth = scriptedAuth()
  const scripted = script()
  const app: App = {
    ...scripted.app,
    accesses: (caller) => () => anyAccess(caller),
    openapi: (call) =>
      Effect.sync(() => json(200, JSON.stringify(openapiDocument(requestOf(call.caller, shopRoles, shown.models)))))
  }
  const basePath = "/api/v1"
  const edge = makeEdge(app, auth.tokens, {
    basePath,
    ...(signIn === "password" ? { auth: mounted(auth.handler) } : {}),
    extraRoutes: docsRoutes({ basePath, signIn })
  })
  const listener = await listen(edge, { port: 0, graceMs: 200 })
  return { ...auth, shown, routed: scripted.routed, listener, url: `http://127.0.0.1:${listener.port}/api/docs` }
}

describe.skipIf(chromiumPath === null)("/api/docs in Chromium", () => {
  let browser: Browser
  let server: Awaited<ReturnType<typeof openServer>>
  let page: Page
  let complaints: string[]
  let requests: PageRequest[]
  const listeners: Listener[] = []

  beforeAll(async () => {
    browser = await chromiumOfProcess()
  })

  const open = async (signIn: "password" | "token" = "password") => {
    server = await openServer(signIn)
    listeners.push(server.listener)
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
    page.setDefaultTimeout(60_000)
    complaints = []
    requests = []
    await page.exposeFunction("complain", (text: string) => complaints.push(text))
    await page.addInitScript(
      `addEventListener("securitypolicyviolation", (event) => complain("policy: " + event.violatedDirective + " " + event.blockedURI))`
    )
    page.on("pageerror", (error) => complaints.push(`error: ${error.message}`))
    page.on("console", (message) => {
      // Chromium itself notes every answer of 400 and above; those are asked for here.
      const { url } = message.location()
      const expected =
        message.text().startsWith("Failed to load resource: the server responded with a status of 401") && url !== ""
      if (["error", "warning"].includes(message.type()) && !expected) complaints.push(`console: ${message.text()}`)
    })
    page.on("request", (request) => requests.push(request))
  }

  beforeEach(() => open())
  afterEach(async () => {
    await page.context().close()
    for (const listener of listeners.splice(0)) await listener.close()
    expect(complaints).toEqual([])
  })

  /** For a look at the page: `SCREENSHOTS=<folder>`. */
  const shoot = async (name: string) => {
    const folder = process.env["SCREENSHOTS"]
    if (folder !== undefined) await page.screenshot({ path: `${folder}/docs-${name}.png` })
  }
  const signIn = async (secret = password) => {
    await page.getByLabel("Email").fill("ada@example.org")
    await page.getByLabel("Password").fill(secret)
    await page.getByRole("button", { name: "Sign in" }).click()
  }
  const listOrders = () => page.locator("#operations-orders-list_orders")
  const reach = (text: string) => requests.filter((request) => request.url().includes(text))

  it("answers a navigation with 401 and a form that tells nothing of the API", async () => {
    const response = await page.goto(server.url)
    expect(response?.status()).toBe(401)
    expect(response?.headers()["www-authenticate"]).toBe("Bearer")
    const html = await response!.text()
    for (const word of ["orders", "customers", "/v1", "Shop"]) expect(html).not.toContain(word)
    await soon(() => page.getByLabel("Email").isVisible()).toBe(true)
    expect(reach("/api/docs/")).toEqual([])
    expect(reach("openapi.json")).toEqual([])
    await shoot("form")
  })

  it("says why a sign-in failed, and loads nothing", async () => {
    await page.goto(server.url)
    await signIn("wrong")
    await soon(() => page.getByRole("alert").textContent()).toBe("The email address or the password is wrong.")
    expect(await page.getByLabel("Password").inputValue()).toBe("")
    server.state.users = 0
    await signIn("wrong")
    await soon(() => page.getByRole("alert").textContent()).toContain("There is no user yet")
    expect(reach("/api/docs/")).toEqual([])
  })

  // The reference is a megabyte of script, which each load compiles and draws again: a test asks all that one load can tell.
  it("shows the reference after sign-in with bodies, composite keys and schemas, with the token in memory only, and keeps a session over a reload until one signs out", async () => {
    await page.goto(server.url)
    await signIn()
    await listOrders().waitFor()
    expect(await page.locator(".info .title").first().textContent()).toContain("Shop")
    expect(await page.locator(".errors-wrapper").count()).toBe(0)
    expect(await page.locator(".authorize").count()).toBe(0)
    expect(await page.locator(".opblock-tag").allTextContents()).toEqual(
      ["orders", "customers", "lines", "kinds", "batch", "system", "sign-in"].map((tag) => expect.stringContaining(tag))
    )
    for (const request of [...reach("/api/docs/"), ...reach("openapi.json")]) {
      expect(request.headers()["authorization"]).toBe("Bearer token-1")
    }
    expect(reach("/api/docs/").map((request) => new URL(request.url()).pathname).sort()).toEqual([
      "/api/docs/swagger-ui-bundle.js",
      "/api/docs/swagger-ui.css"
    ])
    expect(requests.every((request) => /^(?:http:\/\/127\.0\.0\.1:|data:)/.test(request.url()))).toBe(true)
    expect(await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")).toBe(
      "[{},{},\"\"]"
    )
    expect(await page.evaluate("document.documentElement.outerHTML.includes('token-1')")).toBe(false)
    await shoot("reference")

    // Bodies, composite keys and every schema are rendered without complaint.
    for (
      const id of [
        "orders-create_orders",
        "lines-get_lines",
        "batch-batchWrite",
        "orders-series_orders",
        "kinds-create_kinds"
      ]
    ) {
      const block = page.locator(`#operations-${id}`)
      await block.locator("button.opblock-summary-control").click()
      await block.getByRole("button", { name: "Try it out" }).click()
    }
    const create = page.locator("#operations-orders-create_orders textarea").first()
    expect(JSON.parse(await create.inputValue())).toMatchObject({ status: "draft", total: "12.50" })
    const batch = page.locator("#operations-batch-batchWrite textarea").first()
    expect(JSON.parse(await batch.inputValue())).toMatchObject({ ops: [{ op: "create", resource: "orders" }] })
    // A key of two parts is written as the service reads it: encoded parts, a plain comma.
    const line = page.locator("#operations-lines-get_lines")
    for (const part of ["7", "a/b"]) {
      await line.getByRole("button", { name: "Add string item" }).click()
      await line.locator("tr[data-param-name=key] input").last().fill(part)
    }
    await line.getByRole("button", { name: "Execute" }).click()
    await soon(() => server.routed.at(-1)?.key).toBe("7,a%2Fb")
    await page.locator("section.models h4 button, section.models button").first().click()
    await page.locator("section.models").getByText("orders.Create").waitFor()
    await shoot("schemas")

    server.shown.models = few
    await page.reload()
    await listOrders().waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await soon(() => page.getByLabel("Email").isVisible()).toBe(true)
    expect(server.state.sessions.size).toBe(0)
  })

  const openAndTry = async () => {
    await listOrders().locator("button.opblock-summary-control").click()
    await listOrders().getByRole("button", { name: "Try it out" }).click()
    await listOrders().getByRole("button", { name: "Execute" }).click()
  }
  const answered = () => listOrders().locator(".live-responses-table tbody .response-col_status").first()

  it("calls operations with the token and with a new one when it has run out, and goes back to the form when the session is over", async () => {
    server.shown.models = few
    await page.goto(server.url)
    await signIn()
    await openAndTry()
    await soon(() => answered().textContent()).toContain("200")
    expect(server.routed.map(({ path, use }) => [use, path])).toEqual([["list", "/api/v1/orders"]])
    expect(server.state.issued).toBe(1)
    const shown = await listOrders().locator(".curl-command").textContent()
    expect(shown).toContain("Authorization: Bearer <token>")
    expect(await page.locator("body").textContent()).not.toContain("token-1")

    server.state.tokens.clear()
    await listOrders().getByRole("button", { name: "Execute" }).click()
    await soon(() => server.routed.length).toBe(2)
    await soon(() => answered().textContent()).toContain("200")
    expect(server.state.issued).toBe(2)
    // The browser tells of its requests on a way of its own.
    await soon(() => reach("/api/v1/orders").map((request) => request.headers()["authorization"])).toEqual([
      "Bearer token-1",
      "Bearer token-1",
      "Bearer token-2"
    ])
    await shoot("answer")

    // It starts again for whoever signs in next.
    server.state.sessions.clear()
    server.state.tokens.clear()
    await listOrders().getByRole("button", { name: "Execute" }).click()
    await soon(() => page.getByRole("alert").textContent()).toContain("Please sign in again.")
    expect(await listOrders().count()).toBe(0)
    await signIn()
    await listOrders().waitFor()
    expect(reach("openapi.json")).toHaveLength(2)
    expect(reach("swagger-ui-bundle.js")).toHaveLength(1)
  })

  it("takes a pasted token where sign-in is elsewhere", async () => {
    await page.context().close()
    await open("token")
    server.shown.models = few
    await page.goto(server.url)
    await page.getByLabel("Bearer token").fill("nonsense")
    await page.getByRole("button", { name: "Sign in" }).click()
    await soon(() => page.getByRole("alert").textContent()).toContain("bearer token")
    server.state.tokens.add("pasted")
    await page.getByLabel("Bearer token").fill(" pasted ")
    await page.getByRole("button", { name: "Sign in" }).click()
    await listOrders().waitFor()
    expect(reach("/api/auth")).toEqual([])
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("Bearer token").waitFor()
  })
})
