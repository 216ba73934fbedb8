// Takes the pictures of the admin app in README.md and the guides, from a running shop. What it changes there it puts back.
//
//   node scripts/run.mjs node_modules/vite/bin/vite.js build examples/plugin
//   node scripts/run.mjs node_modules/vite/bin/vite.js preview examples/plugin
//   SERVICE_PLUGINS='["http://localhost:5180/manifest.json"]' npm start -- --with-warehouse
//   node scripts/run.mjs scripts/pictures.mjs --password … [--only name]
//
// The password is the one that the first start printed. Without the plugin or the warehouse their pictures are left as they are.
import { readdirSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { chromium } from "playwright-core"
import sharp from "sharp"
import { findProgram } from "./programs.mjs"

const { values } = parseArgs({
  options: {
    url: { type: "string", default: "http://localhost:5173" },
    email: { type: "string", default: "admin@shop.example" },
    password: { type: "string" },
    only: { type: "string", default: "" }
  }
})
if (values.password === undefined) throw new Error("Give --password, as the first `npm start` printed it.")

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), "docs", "pictures")
/** Bytes that one picture may have, and all of them. */
const most = 150_000
const mostOfAll = 1_500_000

const wide = { width: 1280, height: 800 }
const low = { width: 1280, height: 560 }
const firstRow = "[data-index='0']:not([aria-busy])"
const firstField = "[data-field]"
const list = (filter) => `/orders?filter=${encodeURIComponent(filter)}`

const lines = [
  "Name,E-mail,City,Country,Kind",
  "Anna Berg,anna@example.org,Berlin,DE,person",
  "Bad Example,nobody,Paris,Frankreich,robot",
  "Clara Sol,clara@example.org,Madrid,ES,person"
].join("\n")

/** Somebody else changes the record that is being edited; gives what puts it back. */
const changeBeside = async (page, path, values) => {
  const { token } = await (await page.request.get(`${origin}/api/auth/token`)).json()
  const headers = { authorization: `Bearer ${token}` }
  const read = async () => (await page.request.get(`${origin}/api/v1${path}`, { headers })).json()
  const write = async (data) => {
    const { etag } = await read()
    const answer = await page.request.patch(`${origin}/api/v1${path}`, {
      headers: { ...headers, "if-match": etag },
      data
    })
    if (!answer.ok()) throw new Error(`${path} was not changed: ${answer.status()} ${await answer.text()}`)
  }
  const before = await read()
  await write(values)
  return () => write(Object.fromEntries(Object.keys(values).map((name) => [name, before[name]])))
}
const origin = values.url

/**
 * One picture: where the app is, how it looks, and what somebody did there. `act` may give a function that puts things back. `needs` is what the page
 * has where the shop runs with all that the picture shows.
 */
const pictures = [
  {
    name: "admin-list",
    path: list("(status = paid OR status = pending) AND total >= 100"),
    ready: firstRow,
    act: async (page) => {
      for (const row of [2, 3, 5]) await page.locator(`[data-index="${row}"] [data-column="-1"]`).click()
    }
  },
  {
    name: "admin-record",
    theme: "dark",
    path: "/products/3",
    ready: "[data-field='image'] img",
    act: (page) => page.locator("[data-field='stock'] input").first().fill("48")
  },
  { name: "admin-phone", size: { width: 390, height: 760 }, path: "/orders", ready: firstRow },
  {
    name: "admin-palette",
    theme: "dark",
    size: low,
    path: "/orders",
    ready: firstRow,
    act: async (page) => {
      await page.keyboard.press("Control+k")
      await page.locator("[role=dialog] input").fill("tara")
    }
  },
  {
    name: "admin-merge",
    size: low,
    path: "/orders/17",
    ready: firstField,
    act: async (page) => {
      // The page is to learn of the other write by its own save.
      await page.route("**/*:watch", (route) => route.abort())
      await page.reload()
      await page.locator(firstField).first().waitFor()
      const note = page.locator("[data-field='note'] textarea")
      await note.fill("Leave with the neighbour on the second floor.")
      const restore = await changeBeside(page, "/orders/17", { note: "Ring twice.", channel: "phone" })
      await page.keyboard.press("Control+s")
      await page.getByRole("dialog").waitFor()
      return restore
    }
  },
  {
    name: "admin-calendar",
    path: "/orders?layout=calendar&by=created_at,due_on&filter=" +
      encodeURIComponent("status = pending OR status = paid"),
    ready: "[role=gridcell] [data-key]"
  },
  {
    name: "admin-gallery",
    path: "/products?layout=gallery&by=image",
    ready: "[role=gridcell][data-key] img"
  },
  {
    name: "admin-groups",
    path: "/orders?group=status,currency&folded=draft/EUR",
    ready: "[role=row][aria-level]"
  },
  { name: "admin-board", path: "/today", ready: "main [role=group]" },
  {
    name: "bulk-preview",
    size: low,
    path: list("status = pending"),
    ready: firstRow,
    act: async (page) => {
      await page.getByRole("checkbox", { name: "Select all" }).check()
      const toolbar = page.getByRole("toolbar")
      await toolbar.getByRole("button", { name: "Edit" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByRole("combobox").first().selectOption("channel")
      await dialog.getByRole("combobox").last().selectOption("phone")
      await dialog.getByRole("button", { name: "Check" }).click()
      await dialog.getByRole("button", { name: /^Change/ }).waitFor()
    }
  },
  {
    name: "import-check",
    path: "/-/import/customers",
    ready: "input[type=file]",
    attached: true,
    act: async (page) => {
      const file = { name: "customers.csv", mimeType: "text/csv", buffer: Buffer.from(lines) }
      await page.locator("input[type=file]").setInputFiles(file)
      await page.getByRole("button", { name: "Check all lines" }).click()
      await page.getByRole("button", { name: "Download the report" }).waitFor()
      return () => page.getByRole("button", { name: "Discard the file" }).click()
    }
  },
  {
    name: "files",
    size: { width: 900, height: 360 },
    path: "/products/3",
    ready: "[data-field='image'] img",
    clip: "[data-field='image']"
  },
  {
    name: "form",
    signedIn: false,
    size: { width: 720, height: 640 },
    path: "/-/forms/contact",
    ready: "#form form",
    act: async (page) => {
      await page.getByLabel("Name").fill("Mikkel Sørensen")
      await page.getByLabel("Message").fill("The left leg of the lounge chair came loose after a week.")
      await page.getByRole("button", { name: "Send" }).click()
      await page.locator("[data-bad]").first().waitFor()
    }
  },
  { name: "jobs", size: low, path: "/-/jobs/queues", ready: "main table" },
  {
    name: "webhooks",
    path: "/-/webhooks",
    ready: "main h1",
    act: async (page) => {
      await page.getByRole("button", { name: /New subscription/ }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Name").fill("Warehouse")
      for (const event of ["orders.paid", "orders.deleted"]) {
        await dialog.getByRole("checkbox", { name: event, exact: true }).check()
      }
      await dialog.getByLabel("URL").fill("https://hooks.warehouse.example/orders")
      await dialog.getByLabel("Filter").fill("total > 1000")
    }
  },
  { name: "account", size: { width: 1280, height: 640 }, path: "/-/account", ready: "main input[type=password]" },
  {
    name: "users",
    size: { width: 1280, height: 640 },
    path: "/-/users",
    ready: "main table button",
    act: async (page) => {
      await page.locator("main table button").last().click()
      await page.getByRole("complementary").waitFor()
    }
  },
  { name: "plugins", size: low, path: "/customers", ready: firstRow, needs: "[role=grid] svg circle" },
  { name: "sources", size: low, path: "/stock", ready: "main", needs: firstRow }
]

const browser = await chromium.launch({ executablePath: findProgram("chromium"), args: ["--no-sandbox"] })
const contextOf = async ({ size = wide, theme = "light" }, storageState) => {
  const context = await browser.newContext({
    viewport: size,
    colorScheme: theme,
    reducedMotion: "reduce",
    hasTouch: size.width < 720,
    locale: "en-GB",
    ...(storageState === undefined ? {} : { storageState })
  })
  await context.grantPermissions(["local-network-access"], { origin }).catch(() => undefined)
  return context
}
try {
  const first = await contextOf({})
  const answer = await first.request.post(`${origin}/api/auth/sign-in/email`, {
    data: { email: values.email, password: values.password },
    headers: { origin }
  })
  if (!answer.ok()) throw new Error(`Signing in was refused: ${answer.status()} ${await answer.text()}`)
  const session = await first.storageState()
  for (const picture of pictures) {
    const { act, attached, clip, name, needs, path, ready, signedIn = true } = picture
    if (!name.includes(values.only)) continue
    const context = await contextOf(picture, signedIn ? session : undefined)
    const page = await context.newPage()
    await page.goto(origin + path)
    await page.locator(ready).first().waitFor({ state: attached ? "attached" : "visible" })
    if (needs !== undefined) {
      const there = await page.locator(needs).first().waitFor({ timeout: 10_000 }).then(() => true, () => false)
      if (!there) {
        process.stdout.write(`docs/pictures/${name}.png is left: the shop runs without what it shows.\n`)
        await context.close()
        continue
      }
    }
    const restore = await act?.(page)
    // Pictures of records, fonts and figures settle.
    await page.waitForTimeout(1_500)
    const bytes = await (clip === undefined ? page : page.locator(clip)).screenshot()
    const file = join(folder, `${name}.png`)
    await sharp(bytes).png({ palette: true, colours: 128, effort: 10, compressionLevel: 9 }).toFile(file)
    const { size } = statSync(file)
    if (size > most) throw new Error(`${name}.png has ${size} bytes, more than ${most}.`)
    process.stdout.write(`docs/pictures/${name}.png: ${Math.round(size / 1000)} kB\n`)
    await restore?.()
    await context.close()
  }
} finally {
  await browser.close()
}
const all = readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
if (all > mostOfAll) throw new Error(`The pictures have ${all} bytes together, more than ${mostOfAll}.`)
process.stdout.write(`All pictures: ${Math.round(all / 1000)} kB\n`)
