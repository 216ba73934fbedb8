// How the built admin app is served: which addresses are pages, what a page carries, hashed files, and the way to the reference without the app.
import * as Effect from "effect/Effect"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync, brotliDecompressSync } from "node:zlib"
import { afterAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { makeEdge } from "../../adapters/http/handle.ts"
import { leadTo, webAppRoutes } from "../../adapters/http/web-app.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { webRoutes } from "../../composition/web.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { s3Files } from "../../core/domain/file/provider.ts"
import { script } from "./edge-app.ts"

const folder = mkdtempSync(join(tmpdir(), "resource-admin-web-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, "-", "assets"), { recursive: true })
const page = (name: string) =>
  `<title>${name}</title><meta property="csp-nonce" nonce="__NONCE__"><script src="./-/assets/app-1.js" nonce="__NONCE__"></script><body data-config="{}">`
writeFileSync(join(folder, "index.html"), page("app"))
writeFileSync(join(folder, "form.html"), page("form"))
writeFileSync(join(folder, "-", "assets", "app-1.js"), "let app")
writeFileSync(join(folder, "-", "assets", "app-1.js.br"), brotliCompressSync("let app"))
writeFileSync(join(folder, "-", "assets", "plain-1.js"), "let plain")
writeFileSync(join(folder, "-", "manifest.json"), "{}")
writeFileSync(join(folder, "-", "first.json"), JSON.stringify(["plain-1.js", "plain-1.css"]))

const html = { accept: "text/html,*/*;q=0.8" }

const open = (path = "/") => {
  const { app, tokens } = script()
  const routes = webAppRoutes({
    app: folder,
    path,
    config: { name: "A & \"B\" <c>", api: "/api", signIn: "password" },
    connect: ["https://stock.example.org"],
    images: ["https://files.example.org"],
    scripts: ["https://plugins.example.org/map/"],
    embeds: new Map([["contact", []], ["visit", ["https://www.example.org"]]])
  })
  const fetch = makeFetch(makeEdge(app, tokens, { extraRoutes: routes }))
  return (at: string, headers: Record<string, string> = html, method = "GET") =>
    fetch(new Request(`http://localhost${at}`, { method, headers }))
}
const ask = open()

it("tells a tenant's page where its tenant is, and takes the files of all tenants from one place", async () => {
  const { app, tokens } = script()
  const routes = webAppRoutes({
    app: folder,
    path: "/admin",
    config: { name: "App", api: "/api", basePath: "/api/v1", signIn: "password" },
    connect: [],
    images: [],
    scripts: [],
    shared: true,
    embeds: new Map()
  })
  const place = { tenant: "acme", url: "http://localhost/t/acme", origin: "http://localhost", cut: "/t/acme" }
  const tenants = {
    byHost: false,
    placeOf: (_: string | null, at: string) => Effect.succeed(at.startsWith("/t/acme") ? place : null),
    authOf: () => null
  }
  const fetch = makeFetch(makeEdge(app, tokens, { extraRoutes: routes, tenants }))
  const get = (at: string, headers = {}) =>
    fetch(new Request(`http://localhost${at}`, { headers: { ...html, ...headers } }))
  const page = await get("/t/acme/admin/orders", { cookie: "session=1" })
  const text = await page.text()
  expect(page.status).toBe(200)
  for (const [name, at] of [["api", "/t/acme/api"], ["basePath", "/t/acme/api/v1"], ["path", "/t/acme/admin"]]) {
    expect(text).toContain(`&quot;${name}&quot;:&quot;${at}&quot;`)
  }
  expect(text).toContain("src=\"/admin/-/assets/app-1.js\"")
  expect(page.headers.get("link")).toContain("</t/acme/api/auth/token>")
  expect(await (await get("/admin/-/assets/app-1.js")).text()).toBe("let app")
  expect((await get("/admin/orders")).status).toBe(404)
})

describe("the pages of the admin app", () => {
  it.each([
    "/",
    "/orders",
    "/orders?filter=status%20%3D%20paid",
    "/orders/17",
    "/orders/a%2Fb,c",
    "/price-list",
    "/-/jobs"
  ])(
    "is the app at %s, without a credential",
    async (path) => {
      const response = await ask(path)
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"])
      expect(await response.text()).toContain("<title>app</title>")
    }
  )

  it("is the same page for every name, so that no stranger learns which resources there are", async () => {
    const plain = async (path: string) => (await (await ask(path)).text()).replaceAll(/nonce="[^"]+"/g, "")
    expect(await plain("/secret_projects")).toBe(await plain("/no-such-thing"))
  })

  it("has browsers ask early for the token and the first rows of a list, where somebody may be signed in", async () => {
    const linkOf = async (path: string, headers = {}) => (await ask(path, { ...html, ...headers })).headers.get("link")
    const cookie = { cookie: "session=1" }
    expect(await linkOf("/orders", cookie)).toBe(
      "</api/auth/token>; rel=preload; as=fetch; crossorigin=use-credentials, " +
        "</-/assets/plain-1.js>; rel=modulepreload, </-/assets/plain-1.css>; rel=preload; as=style; crossorigin"
    )
    expect(await Promise.all([linkOf("/orders"), linkOf("/orders/1", cookie), linkOf("/-/reset", cookie)]))
      .toEqual([null, null, null])
    expect(await linkOf("/-/forms/contact", cookie)).toBeNull()
  })

  it("is the form's page at a form's address", async () => {
    expect(await (await ask("/-/forms/contact")).text()).toContain("<title>form</title>")
  })

  it.each([
    "/a/b/c",
    "/-/nothing",
    "/-",
    "/orders/",
    "/wp-login.php",
    "/.env",
    "/-/forms",
    "/-/forms/a/b",
    "//",
    "/%6frders"
  ])(
    "says not found with a 404 at %s",
    async (path) => {
      const response = await ask(path)
      expect(response.status).toBe(404)
      expect(await response.text()).toContain("<title>app</title>")
      const program = await ask(path, { accept: "application/json" })
      expect([program.status, program.headers.get("content-type")]).toEqual([404, "application/problem+json"])
    }
  )

  it.each(["/api", "/api/v1/orders", "/api/nothing", "/api/v1"])("leaves the API as it is: 401 at %s", async (path) => {
    expect((await ask(path)).status).toBe(401)
  })

  it("carries a strict policy with a nonce of its own", async () => {
    const read = async () => {
      const response = await ask("/")
      const policy = response.headers.get("content-security-policy")!
      const nonce = /'nonce-([A-Za-z0-9_-]{22})'/.exec(policy)![1]!
      expect(policy).toBe(
        `default-src 'none'; script-src 'self' https://plugins.example.org/map/; style-src 'self' 'nonce-${nonce}'; img-src 'self' blob: data: https://files.example.org; ` +
          "media-src 'self' blob:; font-src 'self'; connect-src 'self' https://stock.example.org; form-action 'self'; base-uri 'none'; " +
          "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
      )
      const text = await response.text()
      expect(text.match(/nonce="[^"]+"/g)).toEqual([`nonce="${nonce}"`, `nonce="${nonce}"`])
      return nonce
    }
    expect(await read()).not.toBe(await read())
  })

  it("lets a form's page start a worker, and be framed by the origins of that form alone", async () => {
    const policy = async (name: string) => (await ask(`/-/forms/${name}`)).headers.get("content-security-policy")!
    expect(await policy("contact")).toContain(
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types default"
    )
    expect(await policy("visit")).toContain("frame-ancestors https://www.example.org; ")
    expect(await policy("unknown")).toContain("frame-ancestors 'none'; ")
  })

  it.each(["unknown", "Contact", "contact%20"])(
    "says to a stranger with a 404 that there is no form %s",
    async (name) => {
      const response = await ask(`/-/forms/${name}`)
      expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("<title>form</title>")])
      const program = await ask(`/-/forms/${name}`, { accept: "application/json" })
      expect([program.status, program.headers.get("content-type")]).toEqual([404, "application/problem+json"])
    }
  )

  it("tells a browser that its copy is good with the policy of that copy", async () => {
    const first = await ask("/")
    const etag = first.headers.get("etag")!
    const again = await ask("/orders", { ...html, "if-none-match": etag })
    expect([again.status, again.headers.get("etag")]).toEqual([304, etag])
    expect(again.headers.get("content-security-policy")).toBe(first.headers.get("content-security-policy"))
    for (const held of ["\"x.AAAAAAAAAAAAAAAAAAAAAA\"", etag.replace(/\.[^"]+/, ".' *"), "*"]) {
      expect((await ask("/", { ...html, "if-none-match": held })).status, held).toBe(200)
    }
  })

  it("carries its configuration as text of an attribute, whatever stands in it", async () => {
    const text = await (await ask("/")).text()
    const [, config = ""] = /data-config="([^"]*)"/.exec(text)!
    expect(JSON.parse(config.replaceAll("&quot;", "\"").replaceAll("&lt;", "<").replaceAll("&amp;", "&"))).toEqual({
      name: "A & \"B\" <c>",
      api: "/api",
      signIn: "password",
      path: "/"
    })
  })

  it("takes GET and HEAD only", async () => {
    expect((await ask("/", html, "HEAD")).status).toBe(200)
    const refused = await ask("/orders", html, "POST")
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"])
  })
})

describe("the files of the admin app", () => {
  it("are kept for good, compressed where the browser takes that", async () => {
    const response = await ask("/-/assets/app-1.js", { "accept-encoding": "gzip, br" })
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
    expect([response.headers.get("content-type"), response.headers.get("content-encoding")]).toEqual([
      "text/javascript; charset=utf-8",
      "br"
    ])
    expect(brotliDecompressSync(Buffer.from(await response.arrayBuffer())).toString()).toBe("let app")
    const plain = await ask("/-/assets/plain-1.js", { "accept-encoding": "br" })
    expect([plain.headers.get("content-encoding"), await plain.text()]).toEqual([null, "let plain"])
    const held = await ask("/-/assets/app-1.js", { "if-none-match": "\"app-1.js\"" })
    expect(held.status).toBe(304)
  })

  it.each([
    "/-/assets/",
    "/-/assets/none.js",
    "/-/assets/..%2Fmanifest.json",
    "/-/assets/app-1.js.br",
    "/-/manifest.json"
  ])(
    "are no others: 404 at %s",
    async (path) => {
      expect((await ask(path, { accept: "*/*" })).status).toBe(404)
    }
  )
})

describe("the app at another path", () => {
  const there = open("/admin")

  it("has its addresses below that path, and / leads there", async () => {
    expect(await (await there("/admin/orders")).text()).toContain("src=\"/admin/-/assets/app-1.js\"")
    expect((await there("/admin/-/assets/app-1.js")).status).toBe(200)
    const root = await there("/")
    expect([root.status, root.headers.get("location")]).toEqual([302, "/admin"])
    expect((await there("/orders")).status).toBe(401)
  })
})

describe("without the app", () => {
  it("leads to the reference, and nothing else changes", async () => {
    const { app, tokens } = script()
    const fetch = makeFetch(makeEdge(app, tokens, { extraRoutes: [leadTo("/api/docs")] }))
    const get = (path: string) => fetch(new Request(`http://localhost${path}`))
    expect((await get("/")).headers.get("location")).toBe("/api/docs")
    expect((await get("/orders")).status).toBe(401)
  })

  it.each<[string, false | { readonly path: string }, string, string, string]>([
    ["it is switched off", false, "/api/v1", folder, "/api/docs"],
    ["it is not built", { path: "/" }, "/api/v1", join(folder, "nothing"), "/api/docs"],
    ["the API is elsewhere", false, "/shop/v2", folder, "/shop/docs"]
  ])("leads to the reference where %s", async (_, admin, basePath, built, target) => {
    const compiled = compileOrThrow(defineConfig({
      resources: [defineResource("orders", { primaryKey: "id", fields: { id: f.integer() } })],
      options: { admin, basePath }
    }))
    const { app, tokens } = script()
    const fetch = makeFetch(makeEdge(app, tokens, { extraRoutes: webRoutes(compiled, "token", built) }))
    const root = await fetch(new Request("http://localhost/"))
    expect([root.status, root.headers.get("location")]).toEqual([302, target])
  })
})

describe("the policy of the app", () => {
  it("lets the page call sources and the places of files, and show images from there, and nothing else", async () => {
    const place = { accessKeyId: "key", secretAccessKey: "secret" }
    const compiled = compileOrThrow(defineConfig({
      resources: [defineResource("orders", {
        primaryKey: "id",
        fields: {
          id: f.integer(),
          invoice: f.file().optional().storage("archive"),
          photo: f.file().optional().storage("media"),
          paper: f.file().optional()
        }
      })],
      files: {
        providers: {
          archive: s3Files({ bucket: "papers", region: "eu-central-1", ...place }),
          media: s3Files({
            bucket: "shop",
            endpoint: "https://s3.example.net",
            public: true,
            publicUrl: "https://cdn.example.net/a",
            ...place
          }),
          // No field names it.
          spare: s3Files({ bucket: "spare", endpoint: "https://spare.example.net", ...place })
        }
      },
      options: { sources: [{ url: "https://stock.example.org/api/v1", label: "Stock", resources: ["stock"] }] }
    }))
    const { app, tokens } = script()
    const fetch = makeFetch(makeEdge(app, tokens, { extraRoutes: webRoutes(compiled, "token", folder) }))
    const policy =
      (await fetch(new Request("http://localhost/", { headers: html }))).headers.get("content-security-policy") ?? ""
    const places =
      "https://stock.example.org https://papers.s3.eu-central-1.amazonaws.com https://cdn.example.net https://s3.example.net https://shop.s3.example.net"
    const rules = policy.split("; ")
    expect(rules.filter((rule) => /^(?:connect|img)-src/.test(rule))).toEqual([
      `img-src 'self' blob: data: ${places}`,
      `connect-src 'self' ${places}`
    ])
    expect(rules).toContain("script-src 'self'")
  })
})

describe("a file of another version", () => {
  it("is asked for again at another process, as often as a browser goes, and then is no file", async () => {
    let at = "/-/assets/part-a1_B2-c3.js"
    const hops: string[] = []
    for (;;) {
      const response = await ask(at, { accept: "*/*" })
      if (response.status === 404) break
      expect([response.status, response.headers.get("cache-control")]).toEqual([307, "no-store"])
      const { pathname, search } = new URL(response.headers.get("location") ?? "", `http://localhost${at}`)
      at = pathname + search
      hops.push(at)
    }
    expect(hops).toHaveLength(16)
    expect([hops[0], hops.at(-1)]).toEqual([
      "/-/assets/part-a1_B2-c3.js?again=1",
      "/-/assets/part-a1_B2-c3.js?again=16"
    ])
  })

  it("is answered by the process that has it, and by one below a path of its own", async () => {
    writeFileSync(join(folder, "-", "assets", "late-a1_B2-c3.js"), "let late")
    // A build is read when a process starts.
    const other = open()
    const sent = await ask("/-/assets/late-a1_B2-c3.js", { accept: "*/*" })
    expect(sent.status).toBe(307)
    expect(await (await other(`/-/assets/${sent.headers.get("location")}`, { accept: "*/*" })).text()).toBe("let late")
    const below = await open("/admin")("/admin/-/assets/gone-a1_B2-c3.css", { accept: "*/*" })
    expect(below.headers.get("location")).toBe("gone-a1_B2-c3.css?again=1")
  })

  it.each([
    "/-/assets/part.js",
    "/-/assets/part-a1_B2-c3.exe",
    "/-/assets/..%2Fpart-a1_B2-c3.js",
    "/-/assets/part-a1_B2-c3.js?again=x"
  ])(
    "is none: 404 at %s",
    async (path) => {
      expect((await ask(path, { accept: "*/*" })).status).toBe(404)
    }
  )
})
