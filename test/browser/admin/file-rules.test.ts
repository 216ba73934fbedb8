// Files of records in a real browser. The numbers are those of the rules that the app was built to.
import { rmSync } from "node:fs"
import { join } from "node:path"
import type { Locator, Page } from "playwright-core"
import sharp from "sharp"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { recordPage } from "./pages/record.ts"
import { opener, type Stage, startStage } from "./stage.ts"

let stage: Stage
let photo: Buffer

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  photo = await sharp({ create: { width: 640, height: 480, channels: 3, background: "#3b82f6" } }).jpeg().toBuffer()
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [recordPage(page, url)])

let taken = 0
/** A product that no other test uses. */
const product = async (): Promise<Record<string, unknown>> => {
  const { body } = await stage.call("admin", "GET", `/products?page_size=20&order_by=name`)
  return (body["items"] as readonly Record<string, unknown>[])[taken++]!
}
const chooser = (page: Page, field: string) => page.locator(`[data-field="${field}"] input[type=file]`)
/** Until a file is with the service. */
const sentWhole = async (box: Locator, name: string): Promise<void> => {
  await box.getByText(name).waitFor()
  await box.getByRole("button", { name: /^Replace/ }).waitFor()
}
const pdf = Buffer.from("%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n")

describe.skipIf(chromiumPath === null)("files", () => {
  it("are sent with progress, become a part of the write, and set what is derived from them (37, 39, 40, 43)", async () => {
    const { id } = await product()
    await using({}, async (page, record, sent) => {
      await record.open("products", String(id))
      for (const derived of ["image_hash", "image_width", "image_height"]) {
        expect(await record.input(derived).count()).toBe(0)
      }
      await chooser(page, "image").setInputFiles({ name: "chair.jpg", mimeType: "image/jpeg", buffer: photo })
      await sentWhole(record.box("image"), "chair.jpg")
      await page.getByText("1 change").waitFor()
      await record.save()
      await record.toast("Saved").waitFor()
      const write = sent.filter((line) => line.startsWith("PATCH"))
      expect(write).toHaveLength(1)
      expect(write[0]).toMatch(/\{"image":"[^"]+"\}$/)
      await expect.poll(() => record.box("image_width").innerText()).toContain("640")
      const image = record.box("image").locator("img")
      await expect.poll(() => image.getAttribute("src")).toMatch(/^\//)
      // The smallest variant, with its placeholder beneath.
      expect(await image.getAttribute("src")).toMatch(/card/)
      await expect.poll(() => image.evaluate((element) => element.style.backgroundImage)).toMatch(
        /^url\("data:image\/png/
      )
      const link = record.box("image").getByRole("link", { name: "Open" })
      expect(await link.getAttribute("rel")).toBe("noreferrer")
      const saving = page.waitForEvent("download")
      await record.box("image").getByRole("link", { name: "Download" }).click()
      expect((await saving).suggestedFilename()).toMatch(/\.jpg$/)
      await record.box("image").getByText(/^JPEG · /).waitFor()
    })
    await using({}, async (page, record, sent) => {
      await record.open("products", String(id))
      await record.box("image").getByRole("button", { name: "Remove the file" }).click()
      await record.save()
      await record.toast("Saved").waitFor()
      expect(sent.find((line) => line.startsWith("PATCH"))).toMatch(/\{"image":null\}$/)
      // A file that is out of its record cannot be written back: no Undo is promised.
      expect(await page.getByRole("button", { name: /Undo/ }).count()).toBe(0)
    })
  })

  it("are judged by type and size before they are sent (38)", async () => {
    const { body } = await stage.call("admin", "GET", "/orders?page_size=1")
    const [order] = body["items"] as readonly Record<string, unknown>[]
    await using({}, async (page, record, sent) => {
      await record.open("orders", String(order!["id"]))
      await chooser(page, "invoice").setInputFiles({
        name: "a.txt",
        mimeType: "text/plain",
        buffer: Buffer.from("text")
      })
      await record.box("invoice").getByText(/Files of this type are not accepted/).waitFor()
      await chooser(page, "invoice").setInputFiles({
        name: "large.pdf",
        mimeType: "application/pdf",
        buffer: Buffer.concat([pdf, Buffer.alloc(11_000_000)])
      })
      await record.box("invoice").getByText(/too large/).waitFor()
      expect(sent.filter((line) => line.includes(":upload"))).toEqual([])
      // A good one goes through, and private files have a link of their own.
      await chooser(page, "invoice").setInputFiles({ name: "invoice.pdf", mimeType: "application/pdf", buffer: pdf })
      await sentWhole(record.box("invoice"), "invoice.pdf")
      await record.save()
      await record.toast("Saved").waitFor()
      await record.box("invoice").getByRole("link", { name: "Open" }).waitFor()
    })
  })

  it.each([[413, "payload-too-large"], [415, "unsupported-media-type"], [507, "insufficient-storage"]])(
    "say why the service refused one: %i (38)",
    async (status, slug) => {
      const { id } = await product()
      await using({ allow: new RegExp(String(status)) }, async (page, record) => {
        await page.route("**/products:upload*", (route) =>
          route.fulfill({
            status,
            contentType: "application/problem+json",
            body: JSON.stringify({
              type: `urn:service:problem:${slug}`,
              title: "No",
              status,
              detail: `Because of ${slug}.`
            })
          }))
        await record.open("products", String(id))
        await chooser(page, "image").setInputFiles({ name: "a.jpg", mimeType: "image/jpeg", buffer: photo })
        await record.box("image").getByRole("alert").getByText(`Because of ${slug}.`).waitFor()
        expect(await page.getByText("1 change").count()).toBe(0)
      })
    }
  )

  it("tell when their content is of another type than their name (38)", async () => {
    const { id } = await product()
    const png = await sharp(photo).png().toBuffer()
    await using({}, async (page, record) => {
      await record.open("products", String(id))
      await chooser(page, "image").setInputFiles({ name: "really.jpg", mimeType: "image/jpeg", buffer: png })
      await record.box("image").getByText(/The content is image\/png, not image\/jpeg/).waitFor()
    })
  })

  it("can be dropped and pasted, and a sending ends when it is cancelled (37)", async () => {
    const { id } = await product()
    await using({ allow: /ERR_/ }, async (page, record) => {
      await record.open("products", String(id))
      const drop = (kind: "drop" | "paste") =>
        record.box("image").getByRole("group").evaluate((box, [how, bytes]) => {
          const data = new DataTransfer()
          data.items.add(new File([Uint8Array.from(bytes)], `${how}.jpg`, { type: "image/jpeg" }))
          box.dispatchEvent(
            how === "drop"
              ? new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })
              : new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
          )
        }, [kind, [...photo]] as const)
      await page.route("**/products:upload*", () => new Promise(() => {}))
      const ended = page.waitForEvent("requestfailed")
      await drop("drop")
      await record.box("image").getByText("drop.jpg").waitFor()
      await drop("paste")
      await record.box("image").getByText("paste.jpg").waitFor()
      // The second took the place of the first, whose end is nobody's concern.
      await ended
      await record.hint("image").getByText("still being sent").waitFor()
      await record.discard()
      await record.box("image").getByRole("progressbar").waitFor({ state: "detached" })
      expect(await page.getByText("1 change").count()).toBe(0)
      await drop("drop")
      // While it is under way the form cannot be saved, and says why.
      await record.hint("image").getByText("still being sent").waitFor()
      await record.box("image").getByRole("progressbar").waitFor()
      await record.box("image").getByRole("button", { name: "Cancel" }).click()
      await record.box("image").getByRole("progressbar").waitFor({ state: "detached" })
      expect(await page.getByText("1 change").count()).toBe(0)
    })
  })

  it("may stand elsewhere: only https, without a referrer (37, 39, 41, 42)", async () => {
    const { body } = await stage.call("admin", "GET", "/staff?page_size=2&order_by=name")
    const [who] = body["items"] as readonly Record<string, unknown>[]
    await using({}, async (page, record, sent) => {
      let referrer: string | undefined | null = null
      await page.route("https://pictures.example/**", (route) => {
        referrer = route.request().headers()["referer"]
        return route.fulfill({ contentType: "image/jpeg", body: photo })
      })
      await record.open("staff", String(who!["id"]))
      const link = record.box("photo").getByRole("button", { name: "Link" })
      await link.click()
      await record.box("photo").locator("input[type=url]").fill("http://pictures.example/me.jpg")
      await page.keyboard.press("Enter")
      await record.box("photo").getByText(/begins with https/).waitFor()
      await link.click()
      await record.box("photo").locator("input[type=url]").fill("https://pictures.example/me.jpg")
      await page.keyboard.press("Enter")
      await record.save()
      await record.toast("Saved").waitFor()
      expect(sent.find((line) => line.startsWith("PATCH"))).toMatch(/"photo":"https:\/\/pictures\.example\/me\.jpg"/)
      const open = record.box("photo").getByRole("link", { name: "Open" })
      expect(await open.getAttribute("href")).toBe("https://pictures.example/me.jpg")
      expect(await open.getAttribute("rel")).toBe("noreferrer")
      const image = record.box("photo").locator("img")
      if (await image.count() > 0) {
        expect(await image.getAttribute("referrerpolicy")).toBe("no-referrer")
        await expect.poll(() => referrer).toBe(undefined)
      }
    })
  })

  it("are opened by a new link where theirs has ended, also while the record is edited", async () => {
    const { body } = await stage.call("admin", "GET", "/orders?page_size=9&order_by=id&fields=id")
    const { id } = (body["items"] as readonly Record<string, unknown>[])[8]!
    await using({}, async (page, record, sent, quiet) => {
      await record.open("orders", String(id))
      await chooser(page, "invoice").setInputFiles({ name: "invoice.pdf", mimeType: "application/pdf", buffer: pdf })
      await sentWhole(record.box("invoice"), "invoice.pdf")
      await record.save()
      await record.toast("Saved").waitFor()
      const read = new RegExp(`/api/v1/orders/${String(id)}(?:\\?|$)`)
      let ended = true
      await page.route(read, async (route) => {
        const response = await route.fetch()
        const text = await response.text()
        await route.fulfill({ response, body: ended ? text.replace(/exp=\d+/g, "exp=1000000000") : text })
      })
      await page.reload()
      const open = record.box("invoice").getByRole("link", { name: "Open" })
      await expect.poll(() => open.getAttribute("href")).toContain("exp=1000000000")
      await record.input("note").fill("changed")
      await quiet()
      ended = false
      sent.length = 0
      const popup = page.waitForEvent("popup")
      await open.click()
      const opened = await popup
      // Once for the link. A browser may also say that the window is in sight again, which reads the record once more; a circle would read on.
      const reads = sent.filter((line) => read.test(line.split(" ")[1]!))
      expect(reads.length, sent.join("\n")).toBeGreaterThanOrEqual(1)
      expect(reads.length, sent.join("\n")).toBeLessThanOrEqual(2)
      expect(await open.getAttribute("href")).not.toContain("exp=1000000000")
      await opened.close()
      expect(await record.input("note").inputValue()).toBe("changed")
      const saving = page.waitForEvent("download")
      await record.box("invoice").getByRole("link", { name: "Download" }).click()
      expect((await saving).suggestedFilename()).toBe("invoice.pdf")
      // No answer is under way when the page is left.
      await quiet()
    })
  })

  it("that are gone are marked, and a link that has run out is renewed once (39, 44)", async () => {
    const { id } = await product()
    await using({ allow: /404|403/ }, async (page, record, sent, quiet) => {
      await record.open("products", String(id))
      await chooser(page, "image").setInputFiles({ name: "gone.jpg", mimeType: "image/jpeg", buffer: photo })
      await sentWhole(record.box("image"), "gone.jpg")
      await record.save()
      await record.toast("Saved").waitFor()
      await quiet()
      let refused = 0
      await page.route(/\/files\//, (route) => {
        refused++
        return route.fulfill({ status: 403, body: "" })
      })
      sent.length = 0
      await page.reload()
      await expect.poll(() => refused).toBeGreaterThan(0)
      await quiet()
      // Once for the page, once for the link that had run out, and no circle.
      const reads = sent.filter((line) => line.startsWith(`GET ${stage.url}/api/v1/products/${String(id)}`))
      expect(reads).toHaveLength(2)
    })
    rmSync(join(stage.data, "files"), { recursive: true, force: true })
    await using({ allow: /404|403|410/ }, async (_, record) => {
      await record.open("products", String(id))
      await record.box("image").getByText("gone.jpg").waitFor()
    })
  })
})
