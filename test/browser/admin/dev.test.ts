// The `dev` command in a checkout: the admin app from its sources. Files are edited in a copy of the checkout while a page is open, and the page
// changes without being loaded again: what was ticked and typed stays, and nobody has to sign in again.
import { type ChildProcess, spawn } from "node:child_process"
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../support/cluster.ts"
import { chromiumPath } from "../chromium.ts"
import { formPage } from "./pages/form.ts"
import { listPage } from "./pages/list.ts"
import { type Role, type Stage, startStage, type Watched } from "./stage.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
let stage: Stage
let checkout: string
let url: string
let dev: ChildProcess
let said = ""

/** Copies what a checkout is made of, and starts the command there on the stage's database. */
const startDev = async (): Promise<void> => {
  checkout = realpathSync(mkdtempSync(join(tmpdir(), "rs-dev-")))
  for (
    const part of ["adapters", "composition", "core", "examples", "scripts", "web", "package.json", "tsconfig.json"]
  ) {
    cpSync(join(root, part), join(checkout, part), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"), "junction")
  mkdirSync(join(checkout, "data"))
  writeFileSync(join(checkout, "data", "secret"), "kept")
  const port = await freePort()
  url = `http://localhost:${port}`
  const env = {
    AUTH_SECRET: "a secret of the browser tests, long enough",
    PATH: process.env["PATH"] ?? "",
    HOME: process.env["HOME"] ?? "",
    DATABASE_URL: stage.database.url,
    AUTH_URL: url,
    SERVICE_DATA: stage.data
  }
  dev = spawn(
    process.execPath,
    ["--conditions=source", "composition/cli/main.ts", "dev", "--config", "examples/shop/admin.config.ts"],
    { cwd: checkout, env, stdio: ["ignore", "pipe", "pipe"] }
  )
  await new Promise<void>((resolve, reject) => {
    for (const stream of [dev.stdout!, dev.stderr!]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text
        if (said.includes("ready at")) resolve()
      })
    }
    dev.once("exit", (code) => reject(new Error(`It ended (${code}):\n${said}`)))
  })
}

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  await startDev()
})
afterAll(async () => {
  if (dev !== undefined && dev.exitCode === null) {
    const ended = new Promise((done) => dev.once("exit", done))
    dev.kill("SIGTERM")
    await ended
  }
  if (checkout !== undefined) rmSync(checkout, { recursive: true, force: true })
  await stage?.stop()
})

/** A page of its own: one that loads itself again, maybe once more in a moment, is given to nobody else. */
const open = (role: Role | null = "admin", throws = /^$/): Promise<Watched> =>
  stage.open({ role, allow: throws, throws, fresh: true })

/** Replaces a text that must be in the file. */
const edit = (file: string, before: string, after: string): void => {
  const path = join(checkout, file)
  const text = readFileSync(path, "utf8")
  if (!text.includes(before)) throw new Error(`${file} has no ${before}.`)
  writeFileSync(path, text.replace(before, after))
}

/**
 * Waits for what an edit brings. Whoever watches the files may see two edits that follow at once as one, or the first half of one, so the file is
 * touched again until the page has heard of it.
 */
const brings = async (file: string, shown: Locator): Promise<void> => {
  const path = join(checkout, file)
  await expect.poll(async () => {
    utimesSync(path, new Date(), new Date())
    return shown.waitFor({ state: "attached", timeout: 2_000 }).then(() => true, () => false)
  }).toBe(true)
}

/** Holds while the page is the same document as before. */
const mark = (page: Page): Promise<void> => page.evaluate(() => void Object.assign(globalThis, { marked: true }))
const isMarked = (page: Page): Promise<boolean> => page.evaluate(() => "marked" in globalThis)

describe.skipIf(chromiumPath === null)("the admin app in a checkout", () => {
  it("changes in an open page as its files do, and keeps what the page holds", async () => {
    const { close, page, sent } = await open("admin", /500|\[vite\] Failed to reload/)
    const list = listPage(page, url)
    await page.goto(`${url}/orders`)
    await list.row(0).locator("[role=gridcell]").first().waitFor()
    await list.tick(1)
    await list.tick(2)
    const selected = page.getByRole("row", { selected: true })
    await expect.poll(() => selected.count()).toBe(2)
    await mark(page)
    const before = sent.length

    // A component, and then a style.
    const foot = page.locator("footer[data-edited]")
    edit(
      "web/admin/list/foot.tsx",
      "<footer className={style.foot}>",
      "<footer className={style.foot} data-edited=\"\">"
    )
    await brings("web/admin/list/foot.tsx", foot)
    const height = () => foot.evaluate((element) => getComputedStyle(element).height)
    expect(await height()).toBe("36px")
    edit("web/admin/list/list.module.css", "height: 36px", "height: 48px")
    await expect.poll(height).toBe("48px")
    expect(await selected.count()).toBe(2)
    expect(await isMarked(page)).toBe(true)
    // Neither the page nor a session was asked for again. Rows and jobs may be: React runs again the effects of what it replaces, and
    // the number of failed jobs is asked for each minute.
    expect(sent.slice(before).filter((line) => !/\/-\/assets\/|\/api\/(?:v1\/|jobs )/.test(line))).toEqual([])

    // A mistake is shown over the page, and gone when it is mended.
    edit("web/admin/list/foot.tsx", "data-edited=\"\"", "data-edited=")
    const mistake = page.locator("vite-error-overlay")
    await brings("web/admin/list/foot.tsx", mistake)
    edit("web/admin/list/foot.tsx", "data-edited=", "data-edited=\"again\"")
    await brings("web/admin/list/foot.tsx", page.locator("footer[data-edited=again]"))
    expect(await mistake.count()).toBe(0)
    expect(await isMarked(page)).toBe(true)
    await close()
  })

  it("loads the page again where a part cannot be replaced, and the session goes on", async () => {
    // Until the page is loaded again, a replaced part may meet the texts of the old one.
    const { close, page } = await open("admin", /The texts of this page are not loaded/)
    const list = listPage(page, url)
    await list.open("orders")
    edit("web/admin/messages/entry/en.ts", "shortcuts: \"Shortcuts\"", "shortcuts: \"All the keys\"")
    await brings("web/admin/messages/entry/en.ts", page.getByRole("button", { name: "All the keys" }))
    await list.row(0).locator("[role=gridcell]").first().waitFor()
    expect(new URL(page.url()).pathname).toBe("/orders")
    await close()
  })

  it("has public forms, too, with their worker", async () => {
    const { close, page } = await open(null)
    const form = formPage(page, url)
    await form.open("contact")
    await form.input("name").fill("Ruth Adeyemi")
    await form.input("email").fill("ruth@example.com")
    await form.input("message").fill("Where is my shelf?")
    await form.send()
    await page.getByText("Thank you. We answer within two days.").waitFor()
    await close()
  })

  it("lets nobody read other files of the checkout, and writes no line for each module", async () => {
    const read = async (path: string): Promise<number> => (await fetch(`${url}/-/assets${path}`)).status
    expect(await read("/main.tsx")).toBe(200)
    for (const path of [`/@fs${checkout}/data/secret`, `/@fs${checkout}/package.json`, "/@fs/etc/passwd"]) {
      for (const end of ["", "?raw", "?url", "?import&raw"]) expect([path, await read(path + end)]).toEqual([path, 403])
    }
    expect(await (await fetch(`${url}/-/assets/../../../data/secret`)).text()).not.toBe("kept")
    expect(said).toContain("\"path\":\"/orders\"")
    expect(said).not.toContain("/-/assets/")
  })
})
