/**
 * The example shop with its admin app in a real browser: one server a test file, one Chromium a process, a signed-in page a test. Every page is watched: an
 * error in the console, an exception, or a report against the policy fails the test that it happened in.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { BrowserContext, Page, Request } from "playwright-core"
import { expect } from "vitest"
import { compileOrThrow } from "../../../composition/create-admin.ts"
import { createUser, startServer, webhooks } from "../../../composition/index.ts"
import { followingMigrations } from "../../../composition/migrations.ts"
import type { Server } from "../../../composition/server.ts"
import { ensureWebApp } from "../../../composition/web.ts"
import type { Config } from "../../../core/domain/declare/config.ts"
import type { DeclaredView } from "../../../core/domain/declare/view.ts"
import shop from "../../../examples/shop/admin.config.ts"
import { divideHashing } from "../../auth/hashing.ts"
import { freePort } from "../../support/cluster.ts"
import { deep } from "../../support/depth.ts"
import type { TestDatabase } from "../../support/postgres.ts"
import { migrate, migrationsOf } from "../../support/server.ts"
import { takePage } from "./contexts.ts"
import { emailOf, environmentOf, openShop, password, type Role } from "./shop.ts"

export type { Role } from "./shop.ts"

// All files of a browser run ask so: what one process has hashed, another one checks.
divideHashing(16)

/** Looks that a page must bear besides the usual one: dark, as wide as a phone, right to left. */
export const otherLooks = [
  { theme: "dark", width: 1280, language: "en" },
  { theme: "light", width: 320, language: "en" },
  { theme: "light", width: 1280, language: "ar" }
] as const

export interface OpenOptions {
  /** Null: nobody is signed in. */
  readonly role?: Role | null
  readonly width?: number
  readonly height?: number
  readonly theme?: "light" | "dark"
  readonly language?: string
  readonly touch?: boolean
  /** What the console may say: failures of requests that the test makes fail. */
  readonly allow?: RegExp
  /** Messages of exceptions that may be thrown. */
  readonly throws?: RegExp
  /** A browser that was never here, with an empty cache. */
  readonly fresh?: boolean
}

export interface Watched {
  readonly page: Page
  readonly context: BrowserContext
  /** Everything that the page sent, as method, address and body. */
  readonly sent: string[]
  /** Waits until nothing that the page asked for is under way; a stream of changes always is. */
  readonly quiet: () => Promise<void>
  /** Fails for what went wrong in the page, and closes it. */
  readonly close: () => Promise<void>
  /** Closes it after a failure, whatever state it is in. */
  readonly discard: () => Promise<void>
}

export interface Stage {
  readonly url: string
  readonly server: Server
  readonly database: TestDatabase
  /** The folder of the service's own data, where its files are. */
  readonly data: string
  readonly open: (options?: OpenOptions) => Promise<Watched>
  readonly emailOf: (role: Role) => string
  readonly password: string
  /** A call of the API as somebody, beside the browser. */
  readonly call: (role: Role, method: string, path: string, body?: unknown, etag?: string) => Promise<{
    readonly status: number
    readonly body: Record<string, unknown>
  }>
  readonly stop: () => Promise<void>
}

/** Collects reports against the policy before any script of the page runs. */
const watchPolicy = (): void => {
  const reports: string[] = []
  Object.assign(globalThis, { policyReports: reports })
  addEventListener("securitypolicyviolation", (event) => {
    const { blockedURI, effectiveDirective, sourceFile } = event as unknown as {
      readonly blockedURI: string
      readonly effectiveDirective: string
      readonly sourceFile: string
    }
    reports.push(`${effectiveDirective} ${blockedURI} ${sourceFile}`)
  })
}

export interface StageOptions {
  /** Mails about accounts are on, and kept at `/-/mail` as the `dev` command does. */
  readonly mail?: boolean
  readonly twoFactor?: boolean
  readonly passkeys?: boolean
  /** Settings of the extension `webhooks` in place of the shop's own. */
  readonly webhooks?: Parameters<typeof webhooks>[0]
  readonly port?: number
  /** Variables besides those of every stage. */
  readonly env?: { readonly [name: string]: string }
  /** SQL that runs after the shop's own. */
  readonly schema?: string
  /** The configuration to serve, made from the shop's. */
  readonly change?: (config: Config) => Config
  /** Resources that get the three usual events, so that they can be watched. */
  readonly events?: readonly string[]
  /** Another project in place of the shop. Its database, which the stage drops, gets what it needs and nothing else, and one account: an admin. */
  readonly project?: { readonly config: Config; readonly database: TestDatabase }
  /** What the shop's views say of plugins, by resource. */
  readonly components?: { readonly [resource: string]: object }
}

/**
 * The port that stages of this process have one after the other: to a browser they are one origin, whose scripts it has compiled already. A stage that
 * could not be stopped keeps it.
 */
let usualPort: number | undefined
let taken = false

const portOfStage = async (): Promise<number> => {
  if (taken) return freePort()
  taken = true
  return usualPort ??= await freePort()
}

/** The theme that a page was given last, where it was given one. */
const themes = new WeakMap<Page, "light" | "dark">()

export const startStage = async (options: StageOptions = {}): Promise<Stage> => {
  const { components = {}, events = [], mail = false, passkeys = false, twoFactor = false } = options
  const usual: Config = {
    ...shop,
    resources: shop.resources.map((resource) =>
      events.includes(resource.name)
        ? {
          ...resource,
          declaration: { ...resource.declaration as object, events: { created: true, updated: true, deleted: true } }
        }
        : resource
    ),
    auth: { ...shop.auth, twoFactor, passkeys },
    ...(options.webhooks === undefined ? {} : { extends: [webhooks(options.webhooks)] })
  }
  const { project } = options
  const config = project?.config ?? options.change?.(usual) ?? usual
  const said: string[] = []
  await ensureWebApp((text) => said.push(text))
  const database = project?.database ?? await openShop()
  if (options.schema !== undefined) await database.execute(options.schema)
  const compiled = compileOrThrow(config)
  await migrate(database.url, project === undefined ? followingMigrations(compiled) : migrationsOf(compiled))
  const data = mkdtempSync(join(tmpdir(), "rs-browser-"))
  const port = options.port ?? await portOfStage()
  const url = `http://localhost:${port}`
  const server = await startServer(
    {
      ...config,
      // Another project may name its views, as introspection does; the shop lists them.
      ...(project === undefined
        ? {
          views: ((config.views ?? []) as readonly DeclaredView[]).map((view) => ({
            ...view,
            declaration: { ...view.declaration as object, ...components[view.resource] }
          }))
        }
        : {}),
      auth: { ...config.auth, signInPerMinute: 1_000, mail }
    },
    {
      port,
      dev: mail,
      env: { ...environmentOf(database.url, url), SERVICE_DATA: data, ...options.env },
      log: () => {}
    }
  )
  if (project !== undefined) {
    await createUser(server.auth!, { email: emailOf("admin"), name: "admin", role: "admin", password })
  }

  /** Ends what is open, by a test that failed or goes on. */
  const open = new Set<() => Promise<void>>()
  const sessions = new Map<Role, string>()
  const cookiesOf = async (role: Role): Promise<string> => {
    const known = sessions.get(role)
    if (known !== undefined) return known
    const answer = await fetch(`${url}/api/auth/sign-in/email`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: url },
      body: JSON.stringify({ email: emailOf(role), password })
    })
    if (!answer.ok) throw new Error(`${role} cannot sign in: ${answer.status}`)
    const cookies = answer.headers.getSetCookie().map((each) => each.split(";", 1)[0]!).join("; ")
    sessions.set(role, cookies)
    return cookies
  }

  return {
    url,
    server,
    database,
    data,
    emailOf,
    password,
    call: async (role, method, path, body, etag) => {
      const token = await fetch(`${url}/api/auth/token`, { headers: { cookie: await cookiesOf(role) } })
      const answer = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${(await token.json() as { readonly token: string }).token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(etag === undefined ? {} : { "if-match": etag })
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await answer.text()
      return { status: answer.status, body: text === "" ? {} : JSON.parse(text) as Record<string, unknown> }
    },
    open: async (
      {
        allow,
        throws,
        fresh = false,
        height = 800,
        language = "en",
        role = "admin",
        theme = "light",
        touch = false,
        width = 1280
      } = {}
    ) => {
      const { context, discard, giveBack, page } = await takePage(
        { who: role ?? "nobody", language, touch },
        fresh,
        async (context) => void await context.addInitScript(watchPolicy)
      )
      const end = (): Promise<void> => {
        open.delete(end)
        return discard()
      }
      open.add(end)
      if (role !== null) {
        const pairs = (await cookiesOf(role)).split("; ").map((pair) => pair.split(/=(.*)/s))
        await context.addCookies(pairs.map(([name = "", value = ""]) => ({ name, value, url })))
      }
      const size = page.viewportSize()
      if (size?.width !== width || size.height !== height) await page.setViewportSize({ width, height })
      if (theme !== (themes.get(page) ?? "light")) {
        themes.set(page, theme)
        await page.emulateMedia({ colorScheme: theme })
      }
      page.setDefaultTimeout(60_000)
      const wrong: string[] = []
      const sent: string[] = []
      page.on("console", (message) => {
        if (message.type() !== "error" || allow?.test(message.text()) === true) return
        wrong.push(`console: ${message.text()}`)
      })
      page.on("pageerror", (error) => {
        if (throws?.test(error.message) !== true) wrong.push(`exception: ${error.stack ?? error.message}`)
      })
      const underWay = new Set<Request>()
      page.on("request", (request) => {
        sent.push(`${request.method()} ${request.url()} ${request.postData() ?? ""}`)
        if (!new URL(request.url()).pathname.endsWith(":watch")) underWay.add(request)
      })
      page.on("requestfinished", (request) => underWay.delete(request))
      page.on("requestfailed", (request) => underWay.delete(request))
      const idle = async (): Promise<boolean> => {
        // What has arrived may ask for more: two frames and an idle moment later it has.
        await page.evaluate(() =>
          new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(done))))
        )
        return underWay.size === 0
      }
      return {
        page,
        context,
        sent,
        quiet: () => expect.poll(async () => await idle() && await idle()).toBe(true),
        close: async () => {
          const reports = await page.evaluate(() =>
            (globalThis as unknown as { policyReports: string[] }).policyReports
          )
          // A test may still be changing an answer for which nobody waits.
          await page.unrouteAll({ behavior: "ignoreErrors" })
          open.delete(end)
          await giveBack()
          expect([...wrong, ...reports.map((report) => `policy: ${report}`)]).toEqual([])
        },
        discard: end
      }
    },
    stop: async () => {
      for (const end of open) await end()
      await server.close()
      await database.drop()
      rmSync(data, { recursive: true, force: true })
      if (port === usualPort) taken = false
    }
  }
}

/**
 * How the tests of a file open pages: each has a page of its own, with page objects from `parts`, and what went wrong in the page fails the test.
 * `usual` is what all of them are opened with.
 */
export const opener = <const Parts extends readonly unknown[]>(
  stage: () => Stage,
  parts: (page: Page, url: string) => Parts | Promise<Parts>,
  usual: OpenOptions = {}
) =>
async (
  options: OpenOptions,
  work: (page: Page, ...rest: [...parts: Parts, sent: string[], quiet: Watched["quiet"]]) => Promise<void>
): Promise<void> => {
  const { close, discard, page, quiet, sent } = await stage().open({ ...usual, ...options })
  try {
    await work(page, ...await parts(page, stage().url), sent, quiet)
  } catch (error) {
    await discard()
    throw error
  }
  await close()
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/**
 * Every violation of WCAG 2.2 AA and of best practice on the page as it is, as texts; or of some rules only. The script goes around Trusted Types, so it
 * is no tag.
 */
export const axe = async (page: Page, rules?: readonly string[]): Promise<readonly string[]> => {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(axeSource)
  return page.evaluate(async (runOnly) => {
    interface Found {
      readonly id: string
      readonly help: string
      readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
    }
    const { axe } = globalThis as unknown as {
      readonly axe: { readonly run: (options: object) => Promise<{ readonly violations: readonly Found[] }> }
    }
    const { violations } = await axe.run({ runOnly, resultTypes: ["violations"], preload: false })
    return violations.map(({ help, id, nodes }) =>
      `${id}: ${help}\n  ${
        nodes.slice(0, 3).map(({ failureSummary = "", html }) => `${html.slice(0, 200)} ${failureSummary}`).join("\n  ")
      }`
    )
  }, rules ?? ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
}

/** As `axe`, for a state like one that `reach.test.ts` looks at: only in a deep run is it asked a second time. */
export const axeAgain = (page: Page): Promise<readonly string[]> => deep ? axe(page) : Promise.resolve([])
