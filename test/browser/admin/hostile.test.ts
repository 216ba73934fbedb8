// Data that means harm, in every place that shows it: nothing of it is executed, nothing breaks a page, and what is copied or saved is exact.
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { deep } from "../../support/depth.ts"
import { chromiumPath } from "../chromium.ts"
import { atticSchema, longLabel, withAttic } from "./attic.ts"
import { keys, markup, texts } from "./hostile-texts.ts"
import { boardPage } from "./pages/board.ts"
import { listPage } from "./pages/list.ts"
import { recordPage } from "./pages/record.ts"
import { axe, type OpenOptions, type Role, type Stage, startStage, type Watched } from "./stage.ts"

let stage: Stage

/** The place of a text among the others. */
const positionOf = (what: string): number => [...texts.keys()].indexOf(what)

/** The crate with a text: `crate-0` has the first one. */
const crateOf = (what: string): string => `crate-${positionOf(what)}`

/** The texts of some kinds, and those of all `kinds` in a deep run: a page of records shows one after the other, which takes its time. */
const some = (
  quick: readonly string[],
  kinds: readonly string[] = [...texts.keys()]
): ReadonlyArray<readonly [what: string, text: string]> =>
  [...texts].filter(([what]) => (deep ? kinds : quick).includes(what))

/** A filter that lets through the crates with these texts, in the order of the texts. */
const cratesOf = (chosen: ReturnType<typeof some>): string =>
  `?order=position&filter=${encodeURIComponent(chosen.map(([what]) => `id = "${crateOf(what)}"`).join(" OR "))}`

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage({ schema: atticSchema, change: withAttic })
  const make = async (resource: string, data: object): Promise<void> => {
    const { body, status } = await stage.call("admin", "POST", `/${resource}`, data)
    expect(status, JSON.stringify(body).slice(0, 500)).toBe(201)
  }
  let position = 0
  for (const [, text] of texts) {
    await make("crates", {
      id: `crate-${position}`,
      position: position++,
      name: text,
      body: text,
      data: { text }
    })
  }
  // What a list of files may hold when somebody else wrote it.
  await stage.database.execute(
    `update attic.crates set scans = array[name, 'javascript:globalThis.harmed=1', null, 'https://evil.example/a.pdf?' || id,
    'private:_/x.svg?name=%3Cimg%20src%3Dx%20onerror%3DglobalThis.harmed%3D1%3E']`
  )
  for (const id of keys) await make("crates", { id, position: position++, parent_id: "crate-0" })
  await make("crates", {
    id: "numbers",
    position: position++,
    name: "Numbers",
    state: "N".repeat(200),
    big: "-9223372036854775808",
    amount: `${"9".repeat(40)}.${"1".repeat(20)}`,
    seen_at: "9999-12-31T23:59:59.999999Z",
    day: "0001-01-01",
    data: { list: [1e308, null], deep: JSON.parse("[".repeat(40) + "]".repeat(40)) as unknown }
  })
  for (const [, text] of texts) await make("slips", { crate_id: "numbers", word: text })
  await make("wide", Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`column_${at}`, "W".repeat(at)])))
})
afterAll(() => stage?.stop())

const using = async (options: OpenOptions, work: (page: Page, watched: Watched) => Promise<void>): Promise<void> => {
  const watched = await stage.open(options)
  await watched.context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: stage.url })
  await work(watched.page, watched)
  await unharmed(watched.page)
  await watched.close()
}

const picture = async (page: Page, name: string): Promise<void> => {
  const folder = process.env["SCREENSHOTS"]
  if (folder !== undefined) await page.screenshot({ path: `${folder}/hostile-${name}.png` })
}

/** Fails where a value became more than text, or pushed something out of reach. */
const unharmed = async (page: Page): Promise<void> => {
  const wrong = await page.evaluate(() => {
    const found: string[] = []
    if ("harmed" in globalThis) found.push("A script of a value ran.")
    for (const name of ["href", "src", "action", "formaction"]) {
      for (const element of document.querySelectorAll(`[${name}]`)) {
        const address = element.getAttribute(name) ?? ""
        if (/^[\s\0-\x20]*(?:javascript|data:text|vbscript)/i.test(address)) found.push(`${name}=${address}`)
      }
    }
    for (const made of ["img[src=x]", "svg[onload]", "#app i > b", "#app s", "#app u", "[onerror]"]) {
      if (document.querySelector(made) !== null) found.push(`A value made ${made}.`)
    }
    const over = document.documentElement.scrollWidth - innerWidth
    if (over > 0) found.push(`The page is ${over} pixels too wide.`)
    for (
      const element of document.querySelectorAll("main > header :is(h1, a, button), [role$=dialog] :is(h2, button)")
    ) {
      const { left, right, width } = element.getBoundingClientRect()
      const scrolls = element.closest("[role=tablist], table, [role=listbox]") !== null
      if (width > 0 && !scrolls && (left < -1 || right > innerWidth + 1)) {
        found.push(`Out of sight, ${Math.round(left)} to ${Math.round(right)}: ${element.outerHTML.slice(0, 120)}`)
      }
    }
    return found
  })
  expect(wrong).toEqual([])
}

const clipboard = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText())

/** What a press on a copying command puts there. */
const copied = async (page: Page, press: () => Promise<void>): Promise<string> => {
  await page.evaluate(() => navigator.clipboard.writeText("nothing"))
  await press()
  await expect.poll(() => clipboard(page)).not.toBe("nothing")
  return clipboard(page)
}

/** What somebody sees of a text in a cell. */
const shown = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}…`

const read = async (id: string, role: Role = "admin") =>
  (await stage.call(role, "GET", `/crates/${encodeURIComponent(id)}`)).body

describe.skipIf(chromiumPath === null)("values that mean harm", () => {
  it("are one line of text each in a list, and a copied cell is what is stored", async () => {
    await using({ height: 1_600 }, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("crates")
      await page.getByRole("heading", { level: 1, name: "<i>Crates</i>" }).waitFor()
      const heights = await page.locator("[data-index]").evaluateAll((rows) =>
        rows.map((row) => row.getBoundingClientRect().height)
      )
      expect(new Set(heights)).toEqual(new Set([34]))
      let row = 0
      const copies = new Map(some(["closing", "isolate", "formula", "lines", "surrogates", "long"]))
      for (const [what, text] of texts) {
        expect([what, await list.cell(row, 1).textContent()]).toEqual([what, shown(text, 500)])
        const inside = await list.cell(row, 1).evaluate((cell) => cell.getBoundingClientRect().width)
        expect([what, inside]).toEqual([what, 260])
        if (copies.has(what)) {
          // The text is the record's link; beside it the cell is chosen.
          await list.cell(row, 1).click({ position: { x: 4, y: 4 } })
          expect([what, await copied(page, () => page.keyboard.press("Control+c"))]).toEqual([what, text])
        }
        row++
      }
      await picture(page, "list")
      await unharmed(page)
      expect(await axe(page)).toEqual([])
    })
  })

  it("are exact where they are numbers and times, whatever the list shows", async () => {
    await using({ height: 1_600 }, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("crates", "?filter=" + encodeURIComponent("id = \"numbers\""))
      const stored = await read("numbers")
      const columns = ["id", "name", "state", "big", "amount", "seen_at", "day"]
      for (const [at, name] of columns.entries()) {
        await list.cell(0, at).click()
        expect(await copied(page, () => page.keyboard.press("Control+c"))).toBe(String(stored[name]))
      }
      await list.cell(0, 8).click()
      expect(JSON.parse(await copied(page, () => page.keyboard.press("Control+c")))).toEqual(stored["data"])
    })
  })

  // The last of them has all that the others have, so a quick run takes it alone.
  it.each<readonly [string, OpenOptions]>(([
    ["a phone", { width: 360, height: 1_600, touch: true }],
    ["dark", { theme: "dark", height: 1_600 }],
    ["a narrow phone, in the dark, right to left", {
      width: 320,
      height: 1_600,
      theme: "dark",
      touch: true,
      language: "ar"
    }]
  ] as const).slice(deep ? 0 : -1))("keep their place on %s", async (_, options) => {
    await using(options, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("crates")
      const rows = await page.locator("[data-index]").evaluateAll((all) =>
        all.map((row) => [row.getBoundingClientRect().height, row.scrollWidth <= row.clientWidth + 1])
      )
      expect(new Set(rows.map(String)).size).toBe(1)
      expect(rows[0]?.[1]).toBe(true)
      await unharmed(page)
      await picture(page, `cards-${options.width ?? 0}-${options.theme ?? options.language ?? "light"}`)
    })
  })

  it("are whole in the inputs of a record and in what it copies", async () => {
    await using({}, async (page) => {
      const record = recordPage(page, stage.url)
      const list = listPage(page, stage.url)
      const chosen = some(["markup", "override", "template", "lines", "zalgo", "invisible", "long"])
      await list.open("crates", cratesOf(chosen))
      await list.cell(0, 0).click()
      await page.keyboard.press("Enter")
      for (const [at, [what, text]] of chosen.entries()) {
        // From one record to the next, as in the list.
        if (at > 0) await page.getByRole("button", { name: "Next record" }).click()
        await expect.poll(() => record.input("position").inputValue()).toBe(String(positionOf(what)))
        const lines = text.replaceAll(/\r\n?/g, "\n")
        expect([what, await record.input("name").inputValue()]).toEqual([what, lines])
        const title = await page.locator("header h1").textContent()
        expect([what, title]).toEqual([what, what === "invisible" ? `#${crateOf(what)}` : shown(text, 200)])
        const json = JSON.parse(await copied(page, () => record.menu("Copy as JSON"))) as Record<string, unknown>
        expect([what, json["name"], json["body"], json["data"]]).toEqual([what, text, text, { text }])
        await unharmed(page)
      }
    })
  })

  it("are text for whoever only reads them", async () => {
    await using({ role: "viewer" }, async (page) => {
      const list = listPage(page, stage.url)
      const chosen = some(["closing", "address", "isolate", "control", "surrogates", "word"])
      await list.open("crates", cratesOf(chosen))
      await list.cell(0, 0).click()
      await page.keyboard.press("Enter")
      for (const [at, [what, text]] of chosen.entries()) {
        if (at > 0) await page.getByRole("button", { name: "Next record" }).click()
        await page.locator("[data-field=position]").getByText(String(positionOf(what)), { exact: true }).waitFor()
        expect([what, await page.locator("[data-field=body] bdi").textContent()]).toEqual([what, text])
        await unharmed(page)
      }
      await picture(page, "read")
    })
  })

  it("stay what they are as keys: each record opens, is saved, and its command runs nothing", async () => {
    await using({ height: 1_600 }, async (page) => {
      const list = listPage(page, stage.url)
      const record = recordPage(page, stage.url)
      await list.open("crates", "?order=position")
      // What an address and a command make of every key, `web/admin/list/copied.test.ts` says.
      for (const [at, id] of keys.entries()) {
        // A quick run has a slash, what a shell runs, and a backslash.
        if (!deep && ![0, 3, 6].includes(at)) continue
        if (at > 0) await page.goBack()
        await list.cell(texts.size + at, 0).click()
        await page.keyboard.press("Enter")
        await record.input("body").waitFor()
        expect(await record.input("position").inputValue()).toBe(String(texts.size + at))
        expect(await page.locator("header h1").textContent()).toBe(`#${id}`)
        await record.input("body").fill(`of ${id}`)
        await record.save()
        await record.toast("Saved").first().waitFor()
        await expect.poll(async () => (await read(id))["body"]).toBe(`of ${id}`)
        const command = await copied(page, () => record.menu("Copy as curl"))
        const arguments_ = execFileSync("sh", ["-c", `TOKEN=t; curl() { printf '%s\\n' "$@"; }; ${command}`], {
          encoding: "utf8"
        })
        expect(arguments_.trimEnd().split("\n")).toEqual([
          "-sS",
          "-H",
          "Authorization: Bearer t",
          `${stage.url}/api/v1/crates/${encodeURIComponent(id)}`
        ])
      }
      expect(existsSync("/tmp/harmed")).toBe(false)
    })
  })

  it("are text in the history, in a restore and in a merge", async () => {
    const first = await read(crateOf("template"))
    const put = async (data: object): Promise<void> => {
      const { etag } = await read(crateOf("template"))
      const { status } = await stage.call("admin", "PATCH", `/crates/${crateOf("template")}`, data, String(etag))
      expect(status).toBe(200)
    }
    for (const [, text] of texts) await put({ body: text, name: `${text} ` })
    await put({ body: first["body"], name: first["name"] })
    await using({ allow: /412/ }, async (page) => {
      const record = recordPage(page, stage.url)
      await record.open("crates", crateOf("template"))
      await record.history.nth(15).waitFor()
      await unharmed(page)
      await picture(page, "history")
      await record.history.nth(2).getByRole("button", { name: "Restore" }).click()
      await record.dialog("Restore this version?").locator("ins").first().waitFor()
      await unharmed(page)
      await page.keyboard.press("Escape")
      for (const [what, text] of some(["markup", "long"], ["markup", "override", "word", "long", "zalgo"])) {
        await record.input("body").fill(text)
        await put({ body: `${texts.get("markup")!}${texts.get("isolate")!}${what}` })
        await record.save()
        const dialog = record.dialog(/saved this crate <b>/)
        await dialog.waitFor()
        const mine = dialog.getByRole("row", { name: /^Body/ }).getByRole("button").last()
        expect(await mine.textContent()).toBe(shown(text, 2_000))
        await unharmed(page)
        await picture(page, `merge-${what}`)
        await dialog.getByRole("button", { name: "Save merged" }).click()
        await dialog.waitFor({ state: "detached" })
        await expect.poll(async () => (await read(crateOf("template")))["body"]).toBe(text)
      }
    })
  })

  it("are created exactly as they were typed, and cannot turn the words of the app around them", async () => {
    await using({ allow: /400/ }, async (page) => {
      const record = recordPage(page, stage.url)
      const all = ["markup", "override", "isolate", "invisible", "joined", "prototype", "long"]
      for (const [what, text] of some(["markup", "override", "invisible", "long"], all)) {
        await record.open("crates", "new")
        await record.input("id").fill(`new ${what}`)
        await record.input("position").fill("900")
        await record.input("name").fill(text)
        await record.save()
        await page.waitForURL(/\/crates\/new%20/)
        const name = what === "invisible" ? `#new ${what}` : shown(text, 200)
        const isolated = what === "override" || what === "isolate" ? `\u2068${name}\u2069` : name
        await expect.poll(() => page.getByRole("status").allTextContents()).toEqual([
          expect.stringContaining(`${isolated} created`)
        ])
        await expect.poll(() => page.title()).toBe(`${isolated.replaceAll(/\s+/g, " ")} · Furniture shop`)
        expect((await read(`new ${what}`))["name"]).toBe(text)
        await unharmed(page)
      }
      await record.menu("Delete")
      await record.alert(/^Delete /).waitFor()
      await unharmed(page)
      await picture(page, "delete")
      await page.keyboard.press("Escape")
      // A refusal that repeats the value stands below the field, as text.
      await record.input("name").fill(`refuse me ${markup}${"W".repeat(500)}`)
      await record.save()
      await record.hint("name").getByText(/^Not this: refuse me <img/).waitFor()
      await unharmed(page)
      await picture(page, "refused")
    })
  })

  it("that no text can be are refused where they stand: half a character, a NUL", async () => {
    await using({ allow: /400/ }, async (page, { sent }) => {
      const record = recordPage(page, stage.url)
      await record.open("crates", crateOf("template"))
      for (const text of ["half \ud800", "nul \0 nul"]) {
        // No keyboard types these: they are put there as a script of somebody's would.
        await record.input("body").evaluate((input, value) => {
          Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")!.set!.call(input, value)
          input.dispatchEvent(new Event("input", { bubbles: true }))
        }, text)
        await record.save()
        await record.hint("body").and(page.locator("[data-bad]")).or(page.getByRole("main").getByRole("alert")).first()
          .waitFor()
        expect(await page.getByText("nobody expected").count()).toBe(0)
        expect(sent.some((line) => line.startsWith("PATCH"))).toBe(true)
      }
      await record.discard()
    })
  })

  it("are text in the palette, and lead to their record", async () => {
    await using({}, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("crates")
      for (const [search, what] of [["onerror", "markup"], ["invoice", "override"], ["WWWWWWWW", "word"]] as const) {
        await page.keyboard.press("Control+k")
        await page.getByRole("combobox", { name: /^Search/ }).fill(search)
        const option = page.getByRole("option").filter({ hasText: shown(texts.get(what)!, 30).replace("…", "") })
          .first()
        await option.waitFor()
        await unharmed(page)
        await picture(page, `palette-${what}`)
        await option.click()
        await page.waitForURL(new RegExp(`/crates/${crateOf(what)}$`))
      }
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox", { name: /^Search/ }).fill(`${markup}\u202e${"W".repeat(5_000)}`)
      await page.getByRole("option").filter({ hasText: "Search <i>crates</i>" }).waitFor()
      await unharmed(page)
      await page.keyboard.press("Enter")
      await page.waitForURL(/\/crates\?filter=/)
      await page.getByRole("heading", { name: "Nothing matches" }).or(page.getByText("0 matching")).or(
        page.getByRole("button", { name: /Clear the filter|Remove/ })
      ).first().waitFor()
    })
  })

  it("are text in the selection: the sum, the change and its refusals, the copies", async () => {
    await using({ allow: /400/, height: 1_600 }, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("crates")
      for (let row = 0; row < texts.size; row++) await list.tick(row)
      const toolbar = page.getByRole("toolbar")
      const copyAs = (name: string) =>
        copied(page, async () => {
          await toolbar.getByRole("button", { name: "Copy" }).click()
          await page.getByRole("menuitem", { name, exact: true }).click()
        })
      const json = JSON.parse(await copyAs("Copy as JSON")) as readonly Record<string, unknown>[]
      expect(json.map(({ name }) => name)).toEqual([...texts.values()])
      // A spreadsheet takes no value for a formula.
      expect(await copyAs("Copy as CSV")).not.toMatch(/(?:^|,)"?[=@]/m)
      await toolbar.getByRole("button", { name: "Edit", exact: true }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Field").selectOption("state")
      await dialog.getByLabel("New value").selectOption("constructor")
      await dialog.getByRole("button", { name: "Check" }).click()
      await dialog.getByText(/records pass/).waitFor()
      await dialog.getByText("constructor").waitFor()
      await unharmed(page)
      await page.keyboard.press("Escape")
      await toolbar.getByRole("button", { name: "Edit", exact: true }).click()
      await dialog.getByLabel("Field").selectOption("name")
      await dialog.getByLabel("New value").fill(`refuse me ${texts.get("override")!}${"W".repeat(2_000)}`)
      await dialog.getByRole("button", { name: "Check" }).click()
      await dialog.getByText(/would be refused/).waitFor()
      await unharmed(page)
      await picture(page, "bulk")
      await page.keyboard.press("Escape")
    })
  })

  it("are rows of a record: one line each, edited as they are", async () => {
    await using({}, async (page, { sent }) => {
      const record = recordPage(page, stage.url)
      await record.open("crates", "numbers")
      const rows = record.rows("Slips").locator("tbody tr")
      await rows.nth(texts.size - 1).waitFor()
      const heights = await rows.evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height))
      expect(new Set(heights).size).toBe(1)
      const at = [...texts.keys()].indexOf("override")
      await rows.nth(at).getByRole("button", { name: "Word" }).click()
      const input = rows.nth(at).getByRole("textbox", { name: "Word" })
      expect(await input.inputValue()).toBe(texts.get("override"))
      await input.fill(`${texts.get("override")!}!`)
      await record.save()
      await record.toast("Saved").first().waitFor()
      expect(sent.filter((line) => line.includes(":batchWrite"))).toHaveLength(1)
      expect(sent.find((line) => line.includes(":batchWrite"))).toContain(JSON.stringify(`${texts.get("override")!}!`))
      await unharmed(page)
      await picture(page, "rows")
    })
  })

  it("are text in filters: as chips, as text, as choices, in the statistics of a column", async () => {
    await using({ allow: /400|414|431/ }, async (page) => {
      const list = listPage(page, stage.url)
      for (const [, text] of some(["override", "word"], ["markup", "override", "word", "zalgo", "lines"])) {
        const filter = `search(${JSON.stringify(text.slice(0, 9_000))})`
        await page.goto(`${stage.url}/crates?filter=${encodeURIComponent(filter)}`)
        await page.getByRole("region", { name: "Filter" }).waitFor()
        await page.getByRole("main").getByRole("status").first().waitFor()
        await unharmed(page)
      }
      await list.open("crates")
      await list.header("State").getByRole("button").first().click({ button: "right" })
      await page.getByRole("button", { name: "Statistics" }).click()
      await page.getByRole("dialog", { name: "State" }).getByRole("button", { name: /new/ }).first().waitFor()
      await unharmed(page)
      await page.keyboard.press("Escape")
      await page.keyboard.press("f")
      await page.getByRole("textbox", { name: /Search/ }).fill(`${markup}\u202e`)
      await page.getByRole("button", { name: /^Search for/ }).click()
      await expect.poll(() => list.query().get("filter")).toContain("onerror")
      await unharmed(page)
    })
  })

  it("are names of views, with what is said about them", async () => {
    await using({ allow: /400/ }, async (page) => {
      const list = listPage(page, stage.url)
      const board = boardPage(page, stage.url)
      const save = async (name: string): Promise<void> => {
        await list.open("crates", "?filter=" + encodeURIComponent("state = \"<b>bold</b>\" OR position >= 0"))
        await board.save.click()
        await board.dialog.getByLabel("Name").fill(name)
        await board.dialog.getByRole("button", { name: "Save" }).click()
      }
      // A name that turns the text around it is refused.
      await save(texts.get("override")!.slice(0, 80))
      await board.dialog.getByRole("alert").first().waitFor()
      await unharmed(page)
      for (const [, text] of some(["markup"], ["markup", "prototype"])) {
        const name = text.slice(0, 80)
        await save(name)
        await page.locator("[role=tab][aria-selected=true]").filter({ hasText: name }).waitFor()
        await unharmed(page)
        await board.options.click()
        await board.option("Delete view").click()
        await page.getByRole("status").getByText(name, { exact: false }).first().waitFor()
        await unharmed(page)
      }
      await picture(page, "views")
    })
  })

  it("are the file of an import: its name, its heads, its lines and their refusals", async () => {
    const cell = (text: string): string => `"${text.replaceAll("\"", "\"\"").slice(0, 400)}"`
    const lines = [
      ["id", "position", ...[...texts.values()].slice(0, 12)].map(cell).join(","),
      ...[...texts.values()].slice(0, 12).map((text, at) =>
        [`imported ${at}`, at === 3 ? text : `${1_000 + at}`, ...Array.from({ length: 12 }, () => text)].map(cell).join(
          ","
        )
      )
    ]
    await using({}, async (page) => {
      await page.goto(`${stage.url}/-/import/crates`)
      await page.locator("input[type=file]").setInputFiles({
        name: `<b>crates\u202evsc.${"n".repeat(120)}.csv`,
        mimeType: "text/csv",
        buffer: Buffer.from(`${lines.join("\r\n")}\r\n`)
      })
      await page.getByRole("table").first().waitFor()
      await unharmed(page)
      expect(await axe(page)).toEqual([])
      await picture(page, "import")
      await page.getByRole("button", { name: "Check all lines" }).click()
      await page.getByText("checked", { exact: true }).waitFor()
      await page.getByRole("region", { name: /refused/ }).waitFor()
      await unharmed(page)
      await picture(page, "import-checked")
      await page.goto(`${stage.url}/-/tasks`)
      await page.getByRole("link", { name: /^Import/ }).first().waitFor()
      await unharmed(page)
    })
  })

  it("are text on composed pages and in links", async () => {
    await using({}, async (page) => {
      const board = boardPage(page, stage.url)
      await board.open("attic")
      await page.getByText("[press](javascript:globalThis.harmed=1)").waitFor()
      await board.block("<b>Crates</b>").getByRole("link").nth(3).waitFor()
      await unharmed(page)
      await picture(page, "board")
      await page.setViewportSize({ width: 320, height: 640 })
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
      await unharmed(page)
      await picture(page, "board-narrow")
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto(`${stage.url}/crates/${crateOf("address")}`)
      const link = page.getByRole("link", { name: "<b>Look up</b>" })
      expect(await link.getAttribute("href")).toBe(
        `https://example.org/${encodeURIComponent(texts.get("address")!)}?q=${crateOf("address")}`
      )
    })
  })
})

describe.skipIf(chromiumPath === null)("declarations without measure", () => {
  it("sixty lists, labels of 200 letters, two hundred columns: all can be reached", async () => {
    await using({}, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("wide")
      expect(await list.grid.getAttribute("aria-colcount")).toBe("202")
      await unharmed(page)
      await list.cell(0, 0).click()
      await page.keyboard.press("End")
      await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("data-column"))).toBe("200")
      expect(await list.cell(0, 200).innerText()).toBe("W".repeat(199))
      await page.getByRole("button", { name: "Columns" }).click()
      await page.getByLabel("Find a column").fill("column 199")
      await page.getByRole("checkbox", { name: "Column 199" }).uncheck()
      await page.keyboard.press("Escape")
      await expect.poll(() => list.grid.getAttribute("aria-colcount")).toBe("201")
      const links = page.getByRole("navigation", { name: "Navigation" }).getByRole("link", { name: /^Drawer/ })
      expect(await links.count()).toBe(48)
      await links.last().click()
      await page.getByRole("heading", { name: /^No drawer/i }).waitFor()
      await picture(page, "wide")
      await page.goto(`${stage.url}/wide/new`)
      await page.locator("[data-field=column_199]").scrollIntoViewIfNeeded()
      await unharmed(page)
      expect(await page.getByRole("heading", { level: 1 }).innerText()).toContain(longLabel.slice(0, 20))
    })
  })

  it("a list without order, rights or rows says so, and sorts nothing", async () => {
    await using({}, async (page) => {
      await page.goto(`${stage.url}/bare`)
      await page.getByRole("heading", { name: "No bare yet" }).waitFor()
      expect(await page.getByRole("toolbar").count()).toBe(0)
      await stage.call("admin", "POST", "/bare", { word: "first" })
      const list = listPage(page, stage.url)
      await list.open("bare")
      await list.header("Word").getByRole("button").first().click()
      await page.getByRole("dialog", { name: "Word" }).waitFor()
      await page.keyboard.press("Escape")
      await page.getByRole("dialog", { name: "Word" }).waitFor({ state: "detached" })
      expect(list.query().get("order")).toBe(null)
      await list.cell(0, 1).click()
      await page.keyboard.press("e")
      await list.toast(/You may not change/).waitFor()
    })
  })

  it("five hundred choices, with the names of every object among them", async () => {
    await using({}, async (page) => {
      const record = recordPage(page, stage.url)
      await record.open("crates", crateOf("template"))
      const options = await record.input("state").locator("option").allTextContents()
      expect(options).toHaveLength(500)
      expect(options.slice(0, 5)).toEqual(["new", "done", "constructor", "toString", "<b>bold</b>"])
      await record.input("state").selectOption("constructor")
      await record.save()
      await record.toast("Saved").first().waitFor()
      expect((await read(crateOf("template")))["state"]).toBe("constructor")
      const list = listPage(page, stage.url)
      await list.open("crates", "?filter=" + encodeURIComponent("state = \"constructor\""))
      await expect.poll(() => list.chips()).toEqual(["State\nis\nconstructor"])
    })
  })
})

describe.skipIf(chromiumPath === null)("addresses that lie", () => {
  it("lead to what is there or to nothing, and break no page", async () => {
    await using({ allow: /40[04]/ }, async (page) => {
      const paths = ["/crates/%ED%A0%80", "/crates/%00", "/__proto__", "/-/tasks/%ZZ"]
      const morePaths = [
        "/crates/%ZZ",
        "/crates/%E0%A4%A",
        "/crates/,",
        "/orders/1%27%20OR%201",
        "/constructor",
        "/-/constructor",
        "/-/__proto__"
      ]
      for (const path of deep ? [...paths, ...morePaths] : paths) {
        await page.goto(stage.url + path)
        await page.locator(".missing h1").or(page.getByRole("main").getByRole("alert")).first().waitFor()
        expect([path, await page.getByText("nobody expected").count()]).toEqual([path, 0])
        await unharmed(page)
      }
      const queries = [
        "columns=constructor,__proto__,name:p,name:-5,name:99999999999&order=constructor+desc,,,,+name&view=__proto__",
        "filter=%ED%A0%80",
        "deleted=maybe&filter=__proto__+%3D+1"
      ]
      const moreQueries = [
        "columns=constructor,__proto__,name:p,name:-5,name:99999999999",
        "order=constructor+desc,,,,+name",
        "view=__proto__",
        "filter=%00",
        `filter=${encodeURIComponent(`name = "\u202e${markup}"`)}`,
        `filter=${"(".repeat(2_000)}`
      ]
      for (const query of deep ? [...queries, ...moreQueries] : queries) {
        await page.goto(`${stage.url}/crates?${query}`)
        await page.getByRole("grid").waitFor()
        await unharmed(page)
      }
      await page.goto(
        `${stage.url}/crates/new?name=${encodeURIComponent(markup)}&__proto__=1&constructor=2&state=nothing`
      )
      const record = recordPage(page, stage.url)
      await record.input("name").waitFor()
      expect(await record.input("name").inputValue()).toBe(markup)
    })
  })
})

describe.skipIf(chromiumPath === null)("a service that", () => {
  const search = "**/api/v1/crates:search"
  const answers: ReadonlyArray<
    readonly [string, { readonly status?: number; readonly contentType?: string; readonly body: string }]
  > = [
    ["fails in HTML", { status: 502, contentType: "text/html", body: markup }],
    ["answers no JSON", { body: markup }],
    ["answers null", { body: "null" }],
    ["answers another form", { body: JSON.stringify({ items: "x", total_size_estimate: "many" }) }],
    ["answers no records", {
      body: JSON.stringify({ items: [null, 7, "x", []], next_page_token: "", total_size_estimate: 4 })
    }],
    ["refuses with markup", {
      status: 400,
      contentType: "application/problem+json",
      body: JSON.stringify({ type: "urn:x", status: 400, title: markup, detail: `${markup}\u202e${"W".repeat(5_000)}` })
    }]
  ]

  it("answers what is no list breaks no page: it is said, and tried again", async () => {
    await using({ allow: /40\d|50\d/ }, async (page) => {
      let answer = answers[0]![1]
      let asked = 0
      await page.route(search, (route) => {
        asked++
        return route.fulfill({ contentType: "application/json", ...answer })
      })
      await page.goto(`${stage.url}/crates`)
      const alert = page.getByRole("main").getByRole("alert")
      for (const [what, next] of answers) {
        answer = next
        const before = asked
        if (what !== answers[0]![0]) await alert.getByRole("button", { name: "Try again" }).click()
        if (before > 0) await expect.poll(() => asked, { message: what }).toBeGreaterThan(before)
        await alert.getByRole("button", { name: "Try again" }).waitFor()
        await unharmed(page)
      }
      await page.unroute(search)
      await alert.getByRole("button", { name: "Try again" }).click()
      await listPage(page, stage.url).row(0).and(page.locator(":not([aria-busy])")).waitFor()
    })
  })

  it("counts more rows than there are, or none that can be, shows what came", async () => {
    await using({ allow: /40\d/ }, async (page) => {
      let count = 0
      await page.route(search, async (route) => {
        const answer = await route.fetch()
        const body = await answer.json() as object
        await route.fulfill({
          response: answer,
          json: { ...body, next_page_token: "more", total_size_estimate: count }
        })
      })
      for (const wrong of deep ? [Number.MAX_SAFE_INTEGER, 1e300, -5, 0.5] : [1e300, -5]) {
        count = wrong
        await page.goto(`${stage.url}/crates`)
        await page.getByRole("grid").waitFor()
        await page.getByRole("heading", { level: 1 }).waitFor()
        await unharmed(page)
      }
    })
  })

  it("is slow keeps what is there until the new is there", async () => {
    await using({}, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("crates")
      let release = (): void => {}
      const held = new Promise<void>((done) => release = done)
      await page.route(search, async (route) => {
        await held
        await route.continue()
      })
      await list.tab("New").click()
      await expect.poll(() => list.query().get("filter")).toBe("state = new")
      await list.row(0).and(page.locator(":not([aria-busy])")).waitFor()
      release()
      await list.tab("New").and(page.locator("[aria-selected=true]")).waitFor()
      await page.unrouteAll({ behavior: "wait" })
    })
  })
})
