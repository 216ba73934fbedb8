/**
 * Hostile sources: what another instance may send to an app that draws its resources, and where the person's token must not go. The sources are servers of
 * the test that record every request.
 */

import { createServer } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { ConnectionError, createClient, isSafeSource, mergeMeta, sourceClient, sourceMeta } from "resource-admin/client"
import type { Source } from "resource-admin/client"
import { afterEach, describe, expect, it, vi } from "vitest"
import { isSafeLink } from "../../web/client/source-meta.ts"

interface Recorded {
  readonly url: string
  readonly host: string
  readonly authorization: string | null
}

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** A server that records what reaches it. */
const open = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  const requests: Recorded[] = []
  const server = createServer((request, response) => {
    const { authorization, host = "" } = request.headers
    requests.push({ url: request.url ?? "", host, authorization: authorization ?? null })
    answer(request, response)
  })
  opened.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const token = "the person's token"

const sourceAt = (url: string): Source => ({ url: `${url}/api/v1`, label: "Stock", resources: ["stock", "lots"] })

const own = createClient({ baseUrl: "https://shop.example", token })

const field = (name: string, more: object = {}) => ({
  name,
  kind: "text",
  optional: true,
  readOnly: false,
  writable: { create: true, update: true },
  filterable: true,
  sortable: true,
  searched: false,
  sensitive: false,
  ...more
})

const model = (name: string, more: object = {}) => ({
  name,
  primaryKey: ["id"],
  fields: [field("id"), field("title")],
  relations: [],
  softDelete: false,
  tenantScoped: false,
  owner: null,
  version: null,
  ...more
})

const answerJson = (value: unknown) => (_: IncomingMessage, response: ServerResponse): void => {
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify(value))
}

describe("the token", () => {
  it("goes to the source in a header, and nowhere in an address", async () => {
    const source = await open(answerJson({ items: [], next_page_token: "" }))
    await sourceClient(own, sourceAt(source.url)).resource("stock").list({ filter: "a = b" })
    expect(source.requests).toEqual([
      { url: "/api/v1/stock?filter=a+%3D+b", host: expect.any(String), authorization: `Bearer ${token}` }
    ])
  })

  it("follows no redirect, to whatever host and with whatever status", async () => {
    const thief = await open(answerJson({ items: [], next_page_token: "" }))
    for (const status of [301, 302, 303, 307, 308]) {
      const source = await open((_, response) => {
        response.writeHead(status, { location: `${thief.url}/api/v1/stock` })
        response.end()
      })
      const client = sourceClient(own, sourceAt(source.url), { retries: 0 })
      const calls = await Promise.allSettled([
        client.meta(),
        client.resource("stock").list(),
        client.resource("stock").create({ title: "x" }, { idempotencyKey: true }),
        client.resource("stock").upload("title", "text", { name: "a.txt" })
      ])
      for (const call of calls) {
        expect(call).toMatchObject({ status: "rejected", reason: expect.any(ConnectionError) as unknown })
      }
    }
    expect(thief.requests).toEqual([])
  })

  it("goes over https, and over http to this machine alone", () => {
    for (
      const url of [
        "http://stock.example/api/v1",
        "http://127.0.0.1.example/api/v1",
        "http://10.0.0.1/api/v1",
        "ftp://localhost/api/v1",
        "https://user:password@stock.example/api/v1",
        "javascript:alert(1)",
        "/api/v1",
        ""
      ]
    ) {
      expect(isSafeSource(url), url).toBe(false)
      expect(() => sourceClient(own, { url }), url).toThrow(TypeError)
    }
    for (
      const url of [
        "https://stock.example/api/v1",
        "http://localhost:5174/api/v1",
        "http://127.0.0.1/api/v1",
        "http://[::1]:80/api/v1"
      ]
    ) {
      expect(isSafeSource(url), url).toBe(true)
    }
  })
})

describe("a meta document", () => {
  it("that is huge is not read to its end", async () => {
    let sent = 0
    const chunk = Buffer.alloc(256 * 1024, "x")
    const source = await open((_, response) => {
      response.setHeader("content-type", "application/json")
      response.write("{\"models\":[\"")
      const more = (): void => {
        while (sent < 200 && !response.destroyed) {
          sent++
          if (!response.write(chunk)) return void response.once("drain", more)
        }
        response.end("\"]}")
      }
      more()
    })
    await expect(sourceClient(own, sourceAt(source.url), { retries: 0 }).meta()).rejects.toThrow(
      /more than 8388608 bytes/
    )
    // Of 50 MiB, the bound and what lay in the buffers of two sockets.
    expect(sent * chunk.length).toBeLessThan(24 * 2 ** 20)
  })

  it("that never comes ends by itself after ten seconds", async () => {
    const source = await open(() => undefined)
    const ending = new AbortController()
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(ending.signal)
    try {
      const calls = [undefined, { signal: new AbortController().signal }].map((options) =>
        sourceClient(own, sourceAt(source.url)).meta(options)
      )
      expect(timeout.mock.calls).toEqual([[10_000], [10_000]])
      ending.abort(new DOMException("over", "TimeoutError"))
      for (const call of await Promise.allSettled(calls)) {
        expect(call).toMatchObject({ status: "rejected", reason: { name: "TimeoutError" } })
      }
    } finally {
      timeout.mockRestore()
    }
  })

  it("that never comes ends when the caller says so", async () => {
    const source = await open(() => undefined)
    const call = sourceClient(own, sourceAt(source.url)).meta({ signal: AbortSignal.timeout(50) })
    await expect(call).rejects.toMatchObject({ name: "TimeoutError" })
  })

  it("of ten thousand resources gives those that the app draws", () => {
    const models = Array.from({ length: 10_000 }, (_, n) => model(`r${n}`))
    const drawn = sourceMeta({ models: [...models, model("stock"), model("stock")] }, sourceAt("https://s.example"))
    expect(drawn.models.map(({ name }) => name)).toEqual(["stock"])
    expect(Object.keys(drawn.permissions)).toEqual(["stock"])
  })

  it("keeps texts as texts, and loses links that are none", () => {
    const script = "<img src=x onerror=alert(1)>"
    const drawn = sourceMeta({
      models: [model("stock")],
      views: {
        stock: {
          name: script,
          label: { singular: script, plural: 7 },
          columns: ["title", "nothing", 7, "__proto__"],
          filters: [{ name: "a", filter: "b" }, { name: 1 }, "x"],
          layout: [{ label: script, fields: ["id", "hidden"] }, 3],
          chart: { of: "facets", field: "hidden" },
          title: "hidden",
          nav: { order: "first", icon: 7, recent: { sort: "id", limit: 1e9 } },
          links: [
            { label: "good", href: "https://example.org/{id}" },
            { label: "mail", href: "mailto:a@example.org" },
            { label: "path", href: "/stock/{id}?a={id}" },
            { label: "not drawn", href: "/orders" },
            { label: "page", href: "/reports" },
            { label: "script", href: "javascript:alert(1)" },
            { label: "script", href: "java\nscript:alert(1)" },
            { label: "data", href: "data:text/html,x" },
            { label: "elsewhere", href: "//evil.example" },
            { label: "no text", href: { toString: "x" } }
          ],
          actions: [
            { label: "Count", function: "count", on: "record", confirm: null },
            { label: "Number", function: 7, on: "record" },
            { label: "Nowhere", function: "count" },
            { label: "Everywhere", function: "count", on: "list", confirm: null },
            { label: "Mute", function: "count", on: "selection", confirm: { text: "x" } }
          ],
          cells: ["map"]
        }
      }
    }, sourceAt("https://s.example"))
    const view = drawn.views["stock"]! as unknown as { readonly [member: string]: unknown }
    expect(view).toMatchObject({
      name: script,
      label: { singular: script, plural: "stock" },
      columns: ["title"],
      filters: [{ name: "a", filter: "b" }],
      layout: [{ label: script, fields: ["id"] }],
      chart: null,
      title: null,
      nav: { order: 0, icon: null, recent: { sort: "id", limit: 20 } }
    })
    expect((view["links"] as ReadonlyArray<{ readonly label: string }>).map(({ label }) => label))
      .toEqual(["good", "mail", "path"])
    expect(view["actions"]).toEqual([
      { label: "Count", function: "count", confirm: null, on: "record" },
      { label: "Mute", function: "count", confirm: null, on: "selection" }
    ])
    expect(view["cells"]).toEqual({})
    for (
      const href of [
        "javascript:x",
        " javascript:x",
        "\u0001javascript:x",
        "vbscript:x",
        "data:,x",
        "//x",
        "/\\x",
        "file:///x",
        "x"
      ]
    ) {
      expect(isSafeLink(href), href).toBe(false)
    }
  })

  it("leads to nothing that is not drawn, and takes no name of the app's", () => {
    const relations = [
      { name: "lot", resource: "lots", many: false, field: "id", targetField: "id" },
      { name: "secret", resource: "secrets", many: false, field: "id", targetField: "id" },
      { name: "odd", resource: "lots", many: true, field: "hidden", targetField: "id" }
    ]
    const fields = [field("id"), field("lot_id", { relation: "lots" }), field("secret_id", { relation: "secrets" })]
    const part = sourceMeta(
      {
        models: [model("stock", { fields, relations }), model("lots"), model("secrets"), model("orders")],
        permissions: {
          stock: { read: true, delete: "yes", conditional: ["read", "everything"] },
          orders: { read: true }
        },
        pages: [{ name: "x", label: "x", href: "/x" }],
        userMenu: [{ label: "x", href: "/x" }]
      },
      { ...sourceAt("https://s.example"), resources: ["stock", "lots", "orders"] }
    )
    const [stock] = part.models
    expect(stock!.relations.map(({ name }) => name)).toEqual(["lot"])
    expect(stock!.fields.map(({ relation }) => relation)).toEqual([undefined, "lots", undefined])
    expect(part.permissions["stock"]).toEqual({
      read: true,
      create: false,
      update: false,
      delete: false,
      conditional: ["read"]
    })
    const mine = {
      user: {},
      models: [model("orders", { owner: "me" })],
      views: {},
      permissions: { orders: { read: false } },
      userMenu: [],
      pages: [],
      sources: []
    }
    const merged = mergeMeta(mine as never, [part])
    expect(merged.models.map(({ name }) => name)).toEqual(["orders", "stock", "lots"])
    expect(merged.models[0]!.owner).toBe("me")
    expect(merged.permissions["orders"]).toEqual({ read: false })
    expect([merged.pages, merged.userMenu]).toEqual([[], []])
  })

  it("of any other form gives nothing, and never throws", () => {
    const deep = JSON.parse(`${"[".repeat(3_000)}${"]".repeat(3_000)}`) as unknown
    const polluted = JSON.parse(
      `{"models":[{"name":"stock","fields":[{"name":"a","kind":"text","__proto__":{"x":1},"constructor":1}],"primaryKey":["a"]}],"views":{"__proto__":{"stock":{}}}}`
    ) as unknown
    for (
      const meta of [
        null,
        7,
        "x",
        [],
        { models: 7 },
        { models: [null, 7, { name: 7 }, { name: "__proto__" }] },
        { models: [{ name: "stock" }], views: { stock: deep } },
        { models: [{ name: "stock", fields: deep, relations: deep, primaryKey: deep }] },
        polluted
      ]
    ) {
      const drawn = sourceMeta(meta, sourceAt("https://s.example"))
      expect(drawn.models.length).toBeLessThanOrEqual(1)
      expect(({} as { readonly x?: unknown }).x).toBeUndefined()
    }
    const [stock] = sourceMeta(polluted, sourceAt("https://s.example")).models
    expect(Object.keys(stock!.fields[0]!)).not.toContain("constructor")
  })
})
