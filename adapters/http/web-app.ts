/**
 * Serves the admin app as it was built: the page at every address that the app may have, and its hashed files. It knows nothing of the API. It
 * does not tell which resources exist: the page is the same for every name. `/api/meta` decides what a name means for the caller who signed in.
 */

import * as Effect from "effect/Effect"
import { createHash, randomBytes } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import { BoundedMap } from "../../core/domain/bounded.ts"
import { notFound } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import { isHeld } from "../../core/domain/read/etag.ts"
import { codingFor, takesHtml } from "./accept.ts"
import type { ExtraRoute, Visit } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import type { EdgeAnswer, EdgeHeaders } from "./request.ts"

/** The app as its sources are now, in the place of a built one: for whoever works on it. */
export interface LiveApp {
  /** `index.html` or `form.html`, with the nonce's mark and with whole addresses. */
  readonly page: (file: string) => Promise<string>
  /** What is asked for below `-/assets/`: path and query as sent, and the headers of the request. */
  readonly asset: (target: string, headers: EdgeHeaders) => Promise<EdgeAnswer>
  /** Where pages are told of changes: `ws://127.0.0.1:24678`. */
  readonly changes: string
}

/** How the app is served. */
export interface WebAppOptions {
  /** The folder that the build left: pages, and files below `-/assets`. Or the app from its sources. */
  readonly app: string | LiveApp
  /** Where the app lives: `/`, or a path such as `/admin`. */
  readonly path: string
  /** Told to the page, which reads it from an attribute: plain JSON, no secret. */
  readonly config: { readonly [name: string]: unknown }
  /** Origins besides its own that the page may call (sources, buckets), and that it may show images from. */
  readonly connect: readonly string[]
  readonly images: readonly string[]
  /** Folders elsewhere whose scripts the app may run: those of plugins. */
  readonly scripts: readonly string[]
  /** Whether tenants stand at paths, which all take the files of the app from one place. */
  readonly shared?: boolean
  /** By the name of a public form: origins whose pages may frame its page. */
  readonly embeds: ReadonlyMap<string, readonly string[]>
}

/** What the build puts where the nonce of an answer goes. */
const nonceMark = "__NONCE__"

/** The app's own pages beside those of resources: `/-/<name>`, and `/-/<name>/<part>` for the rest. */
export const ownPages: ReadonlySet<string> = new Set([
  "sign-in",
  "reset",
  "account",
  "users",
  "jobs",
  "webhooks",
  "audit",
  "sources",
  "settings",
  "tasks",
  "import",
  "plugins",
  "guides"
])

const mediaTypes: { readonly [extension: string]: string } = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".md": "text/plain; charset=utf-8"
}

/** A page, cut where the nonce goes. */
interface Page {
  readonly parts: readonly string[]
  readonly hash: string
}

const quoted = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("\"", "&quot;").replaceAll("<", "&lt;")

/** What the page is told, with what precedes the service's own paths: `/t/acme` of a tenant, or nothing. */
const toldAt = ({ config, path }: WebAppOptions, cut: string): { readonly [name: string]: unknown } => ({
  ...config,
  path,
  ...(cut === "" ? {} : {
    api: `${cut}${String(config["api"])}`,
    basePath: `${cut}${String(config["basePath"])}`,
    path: path === "/" ? cut : `${cut}${path}`
  })
})

const makePage = (options: WebAppOptions, made: string, cut: string): Page => {
  const base = options.path === "/" ? "/" : `${options.path}/`
  const config = JSON.stringify(toldAt(options, cut))
  // The build's addresses are relative to the page, which stands at many: here they begin at the app's own.
  const text = made
    .replaceAll("\"./-/", `"${quoted(base)}-/`)
    .replace("data-config=\"{}\"", () => `data-config="${quoted(config)}"`)
  return { parts: text.split(nonceMark), hash: createHash("sha256").update(text).digest("base64url").slice(0, 22) }
}

/** What is different about the page of a public form. */
interface FormPolicy {
  readonly embed: readonly string[]
}

/**
 * Nothing but the app's own files; styles that scripts make carry the nonce; no text ever becomes markup or code (Trusted Types).
 */
const policyOf = ({ app, connect, images, scripts }: WebAppOptions, nonce: string, form: FormPolicy | null): string =>
  [
    "default-src 'none'",
    // The page of a form is for strangers: no plugin runs there. What replaces parts of a live app begins in the page itself.
    ["script-src 'self'", ...typeof app === "string" ? [] : [`'nonce-${nonce}'`], ...form === null ? scripts : []]
      .join(" "),
    `style-src 'self' 'nonce-${nonce}'`,
    ["img-src 'self' blob: data:", ...images].join(" "),
    "media-src 'self' blob:",
    "font-src 'self'",
    ["connect-src 'self'", ...connect, ...typeof app === "string" ? [] : [app.changes]].join(" "),
    "form-action 'self'",
    "base-uri 'none'",
    form === null || form.embed.length === 0 ? "frame-ancestors 'none'" : ["frame-ancestors", ...form.embed].join(" "),
    "require-trusted-types-for 'script'",
    // The page of a form starts one worker. Its only policy takes files of the app and nothing else.
    form === null ? "trusted-types 'none'" : "trusted-types default"
  ].join("; ")

const namePattern = /^[A-Za-z0-9_-]+$/

/** Which page stands at a path below the app's own (`""`, `/orders`, `/orders/17`, `/-/jobs`), or null. */
const pageAt = (path: string): "index.html" | "form.html" | null => {
  if (path === "" || path === "/") return "index.html"
  const [first = "", second, third, ...rest] = path.slice(1).split("/")
  if (rest.length > 0 || second === "" || third === "") return null
  if (first === "-") {
    if (second === "forms") return third === undefined ? null : "form.html"
    return second !== undefined && ownPages.has(second) ? "index.html" : null
  }
  return third === undefined && namePattern.test(first) ? "index.html" : null
}

const onlyGet = (visit: Visit): Problem | null => visit.method === "GET" ? null : methodNotAllowed("GET, HEAD")

/** Whether there is a built app in the folder. */
export const hasWebApp = (folder: string): boolean => existsSync(join(folder, "index.html"))

/** Answers `GET /` with the way to `target`; everything else that nobody else has is refused as it would be without this route. */
export const leadTo = (target: string): ExtraRoute => {
  const answer = (visit: Visit, refusal: Problem): Effect.Effect<EdgeAnswer, Problem> =>
    visit.path === "/" && visit.method === "GET"
      ? Effect.succeed({ status: 302, headers: { location: (visit.place?.cut ?? "") + target }, body: "" })
      : Effect.fail(refusal)
  return { prefix: "/", access: "caller", handle: (visit) => answer(visit, notFound()), refused: answer }
}

/** Where pages and their files come from. */
interface Files {
  readonly hasPage: (file: string) => boolean
  readonly page: (file: string, cut: string) => Effect.Effect<Page>
  /** What the first rows of a list need, as values of `Link` (RFC 8288). */
  readonly early: (cut: string) => readonly string[]
  /** `name`: the part of the path after `-/assets/`. */
  readonly asset: (visit: Visit, name: string) => Effect.Effect<EdgeAnswer, Problem>
}

/** How often a browser is sent on for one file. Browsers follow twenty redirects. */
const mostHops = 16

/** A name that a build gives: with a hash of what is in the file. */
const builtName = /^[A-Za-z0-9_.-]+-[A-Za-z0-9_-]{8}\.[a-z0-9]+$/

/**
 * The answer for a file that this build has not, and another one may have. While versions are deployed one after the other, a page comes from one process and
 * its files are asked for at any (docs/guides/upgrade.md#the-admin-app). So the browser asks again, and the load balancer has another process answer.
 */
const elsewhere = ({ query }: Visit, name: string): EdgeAnswer | null => {
  const hops = query === null ? 0 : Number(/^again=([0-9]{1,2})$/.exec(query)?.[1] ?? Number.NaN)
  return builtName.test(name) && hops < mostHops
    // Relative, because the path as it is known here may lack what stands before it.
    ? { status: 307, headers: { "location": `${name}?again=${hops + 1}`, "cache-control": "no-store" }, body: "" }
    : null
}

/** What the build left in a folder, each file read once. */
const builtFiles = (options: WebAppOptions, folder: string): Files => {
  const assets = new Set(readdirSync(join(folder, "-", "assets")))
  const texts = new Map<string, string>()
  const textOf = (file: string): string => {
    let text = texts.get(file)
    if (text === undefined) texts.set(file, text = readFileSync(join(folder, file), "utf8"))
    return text
  }
  // One of each place: those of tenants that were asked for last.
  const pages = new BoundedMap<string, Page>(1_000)
  const pageOf = (file: string, cut: string): Page => {
    const name = `${cut} ${file}`
    let page = pages.get(name)
    if (page === undefined) pages.set(name, page = makePage(options, textOf(file), cut))
    return page
  }
  const stored = new Map<string, Promise<Uint8Array>>()
  const bytesOf = (name: string): Promise<Uint8Array> => {
    let bytes = stored.get(name)
    if (bytes === undefined) {
      stored.set(name, bytes = readFile(join(folder, "-", "assets", name)))
      bytes.catch(() => stored.delete(name))
    }
    return bytes
  }

  const asset = (visit: Visit, name: string): Effect.Effect<EdgeAnswer, Problem> => {
    const type = mediaTypes[extname(name)]
    if (type === undefined) return Effect.fail(notFound())
    if (!assets.has(name)) {
      const other = elsewhere(visit, name)
      return other === null ? Effect.fail(notFound()) : Effect.succeed(other)
    }
    const coding = codingFor(visit.request.headers.get("accept-encoding"))
    const end = coding === "br" ? ".br" : coding === "gzip" ? ".gz" : ""
    const encoded = end !== "" && assets.has(`${name}${end}`)
    const headers = {
      "cache-control": "public, max-age=31536000, immutable",
      "cross-origin-resource-policy": "same-origin",
      "etag": `"${name}${encoded ? end : ""}"`,
      "vary": "Accept-Encoding"
    }
    if (isHeld(visit.request.headers.get("if-none-match"), headers.etag)) {
      return Effect.succeed({ status: 304, headers, body: null })
    }
    return Effect.map(Effect.promise(() => bytesOf(encoded ? `${name}${end}` : name)), (body) => ({
      status: 200,
      headers: { ...headers, "content-type": type, ...(encoded ? { "content-encoding": coding } : {}) },
      body
    }))
  }

  return {
    hasPage: (file) => existsSync(join(folder, file)),
    page: (file, cut) => Effect.sync(() => pageOf(file, cut)),
    early: earlyLinks(options, folder),
    asset
  }
}

/** The file in which the build names the assets that draw the first rows of a list. */
const firstFile = join("-", "first.json")

/** The token of the session and the files of the first rows: the browser asks for them with the page, and not after a script has run. */
const earlyLinks = ({ config, path }: WebAppOptions, folder: string): (cut: string) => readonly string[] => {
  if (config["signIn"] !== "password" || !existsSync(join(folder, firstFile))) return () => []
  const names: readonly string[] = JSON.parse(readFileSync(join(folder, firstFile), "utf8"))
  const base = `${path === "/" ? "" : path}/-/assets/`
  const assets = names.map((name) =>
    name.endsWith(".css")
      ? `<${base}${name}>; rel=preload; as=style; crossorigin`
      : `<${base}${name}>; rel=modulepreload`
  )
  return (cut) => [
    `<${cut}${String(config["api"])}/auth/token>; rel=preload; as=fetch; crossorigin=use-credentials`,
    ...assets
  ]
}

/** Whether a page may be a list for somebody who is signed in. */
const mayBeList = (visit: Visit, below: string): boolean =>
  visit.request.headers.get("cookie") !== null && /^\/[A-Za-z0-9_]+$/.test(below)

/** What a live app makes when it is asked. */
const liveFiles = (options: WebAppOptions, app: LiveApp): Files => ({
  hasPage: () => true,
  page: (file, cut) => Effect.map(Effect.promise(() => app.page(file)), (text) => makePage(options, text, cut)),
  early: () => [],
  asset: ({ request }) => Effect.promise(() => app.asset(request.target, request.headers))
})

/** The routes of the app, for `EdgeOptions.extraRoutes`. A folder must hold a built app. */
export const webAppRoutes = (options: WebAppOptions): readonly ExtraRoute[] => {
  const { app, path } = options
  const prefix = path === "/" ? "" : path
  const files = typeof app === "string" ? builtFiles(options, app) : liveFiles(options, app)

  /**
   * The page, with a nonce of its own. The ETag holds the nonce. So a 304 for a browser's copy comes with the policy that fits that copy, and
   * not with another one.
   */
  const answer = (visit: Visit, file: string, status: number, { hash, parts }: Page): EdgeAnswer => {
    const form = file === "form.html"
      ? { embed: options.embeds.get(visit.path.slice(visit.path.lastIndexOf("/") + 1)) ?? [] }
      : null
    const held = visit.request.headers.get("if-none-match")
    const earlier = held === null ? null : new RegExp(`"${hash}\\.([A-Za-z0-9_-]{22})"`).exec(held)?.[1] ?? null
    const nonce = earlier ?? randomBytes(16).toString("base64url")
    const early = mayBeList(visit, visit.path.slice(prefix.length)) ? files.early(visit.place?.cut ?? "") : []
    const headers = {
      "content-security-policy": policyOf(options, nonce, form),
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "etag": `"${hash}.${nonce}"`,
      ...(early.length > 0 ? { link: early.join(", ") } : {})
    }
    if (earlier !== null && status === 200) return { status: 304, headers, body: null }
    return {
      status,
      headers: { ...headers, "content-type": "text/html; charset=utf-8" },
      body: parts.join(nonce)
    }
  }

  const page = (visit: Visit, file: string, status: number): Effect.Effect<EdgeAnswer> =>
    Effect.map(files.page(file, visit.place?.cut ?? ""), (made) => answer(visit, file, status, made))

  const asset = (visit: Visit): Effect.Effect<EdgeAnswer, Problem> => {
    const refusal = onlyGet(visit)
    return refusal === null
      ? files.asset(visit, visit.path.slice(prefix.length + "/-/assets/".length))
      : Effect.fail(refusal)
  }

  const pages: ExtraRoute = {
    prefix: path,
    access: "public",
    handle: (visit) => {
      const below = visit.path.slice(prefix.length)
      const refusal = onlyGet(visit)
      const file = pageAt(below)
      if (below.startsWith("/-/assets/")) return asset(visit)
      if (file !== null && files.hasPage(file)) {
        if (refusal !== null) return Effect.fail(refusal)
        if (file !== "form.html" || options.embeds.has(below.slice("/-/forms/".length))) return page(visit, file, 200)
        // Strangers come here: the page says that there is no such form, and asks nobody to sign in.
        if (takesHtml(visit.request.headers.get("accept"))) return page(visit, file, 404)
      }
      // Nobody has the address. A browser gets the app, which says so; a program gets the refusal.
      return refusal === null && takesHtml(visit.request.headers.get("accept"))
        ? page(visit, "index.html", 404)
        : Effect.fail(notFound())
    }
  }
  return [
    pages,
    ...path === "/" ? [] : [leadTo(path)],
    // A live app is a file for each module: hundreds a page, which nobody wants to read of.
    ...typeof app === "string" ? [] : [
      {
        ...pages,
        prefix: `${prefix}/-/assets`,
        handle: asset,
        quiet: true,
        anywhere: true
      } as const
    ],
    // Files of the app are the same for all tenants, and stand before their paths.
    ...typeof app === "string" && options.shared === true
      ? [{ ...pages, prefix: `${prefix}/-/assets`, handle: asset, anywhere: true } as const]
      : []
  ]
}
