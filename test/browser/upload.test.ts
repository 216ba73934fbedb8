/** Uploads in a real Chromium, to a running service with file fields: progress as the bytes go, an end in the middle, and what is refused. */

import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { listen } from "../../adapters/http/node.ts"
import type { Listener } from "../../adapters/http/node.ts"
import type * as Library from "../../web/client/index.ts"
import { admin, onStage } from "../http/files/stage.ts"
import { tokenOf } from "../support/composed.ts"
import { chromiumOfProcess, chromiumPath } from "./chromium.ts"
import { bundlePage } from "./page.ts"

declare const library: typeof Library

describe.skipIf(chromiumPath === null)("in Chromium", () => {
  onStage("uploads", (stage) => {
    let listener: Listener
    let browser: Browser
    let page: Page
    let url = ""
    beforeAll(async () => {
      const files = await bundlePage(join(import.meta.dirname, "client-page.ts"))
      listener = await listen(stage().service.edge, { port: 0, host: "127.0.0.1" })
      url = `http://127.0.0.1:${listener.port}`
      browser = await chromiumOfProcess()
      const context = await browser.newContext({ permissions: ["local-network-access"] })
      page = await context.newPage()
      await page.route(`${url}/-test/**`, (route) => {
        const name = new URL(route.request().url()).pathname.slice("/-test/".length)
        const contentType = name.endsWith(".html") ? "text/html" : "text/javascript"
        return route.fulfill({ status: files.has(name) ? 200 : 404, contentType, body: files.get(name) ?? "" })
      })
      await page.goto(`${url}/-test/index.html`)
      await page.waitForFunction(() => "mount" in globalThis)
    })
    afterAll(async () => {
      await page?.context().close()
      await listener?.close()
    })

    it("tell how far they are, and give what a write takes", async () => {
      const seen = await page.evaluate(async (token) => {
        const client = library.createClient({ token })
        const progress: number[] = []
        const file = new File([new Uint8Array(8_000_000).fill(97)], "big.txt", { type: "text/plain" })
        const sent = await client.upload("papers", "scan", file, { onProgress: ({ loaded }) => progress.push(loaded) })
        const paper = await client.resource("papers").create({ title: "Big", owner_id: "ann", scan: sent.value })
        const url = library.fileUrl(paper["scan"] as unknown as Library.FileValue)!
        return { progress, file: sent.file, length: (await (await fetch(url)).arrayBuffer()).byteLength }
      }, tokenOf(admin))
      expect(seen.file).toEqual({ name: "big.txt", type: "text/plain", size: 8_000_000 })
      expect(seen.length).toBe(8_000_000)
      expect(seen.progress[0]).toBe(0)
      expect(seen.progress.at(-1)).toBe(8_000_000)
      expect(seen.progress.length).toBeGreaterThan(2)
      expect(seen.progress).toEqual(seen.progress.toSorted((a, b) => a - b))
    })

    it("end in the middle when they are told to, and say why they are refused", async () => {
      const seen = await page.evaluate(async (token) => {
        const client = library.createClient({ token })
        const ending = new AbortController()
        const file = new File([new Uint8Array(15_000_000).fill(97)], "big.txt", { type: "text/plain" })
        const ended = await client.upload("papers", "scan", file, {
          signal: ending.signal,
          onProgress: ({ loaded }) => {
            if (loaded > 0) ending.abort(new Error("enough"))
          }
        }).then(() => "sent", (error: Error) => error.message)
        const text = new File(["no pdf"], "a.pdf", { type: "application/pdf" })
        const refused = await client.upload("papers", "invoice", text, { onProgress: () => undefined })
          .then(() => null, (error: Library.ProblemError) => [error.status, error.slug])
        return { ended, refused }
      }, tokenOf(admin))
      expect(seen).toEqual({ ended: "enough", refused: [415, "unsupported-media-type"] })
    })

    it("go on in pieces after the network was away, and give what a write takes", async () => {
      const context = page.context()
      let pieces = 0
      const pattern = `${url}/api/v1/papers:upload/*`
      await page.route(pattern, async (route) => {
        if (route.request().method() === "PATCH" && ++pieces === 2) {
          await context.setOffline(true)
          await route.abort("internetdisconnected")
        } else await route.continue()
      })
      await page.evaluate((token) => {
        const client = library.createClient({ token })
        const file = new File([new Uint8Array(20_000_000).fill(98)], "long.txt", { type: "text/plain" })
        const state = { loaded: 0, progress: [] as number[], sent: null as Promise<unknown> | null }
        Object.assign(globalThis, { state })
        state.sent = client.upload("papers", "scan", file, {
          onProgress: ({ loaded }) => {
            state.loaded = loaded
            state.progress.push(loaded)
          }
        }).then(async ({ file, value }) => {
          const paper = await client.resource("papers").create({ title: "Long", owner_id: "ann", scan: value })
          const url = library.fileUrl(paper["scan"] as unknown as Library.FileValue)!
          return { file, length: (await (await fetch(url)).arrayBuffer()).byteLength }
        })
      }, tokenOf(admin))
      const read = <T>(expression: string): Promise<T> => page.evaluate<T>(expression)
      await expect.poll(() => pieces).toBe(2)
      await expect.poll(() => read<boolean>("navigator.onLine")).toBe(false)
      expect(await read<number>("state.loaded")).toBeLessThan(20_000_000)
      await context.setOffline(false)
      const sent = await read<{ file: object; length: number }>("state.sent")
      expect(sent).toEqual({ file: { name: "long.txt", type: "text/plain", size: 20_000_000 }, length: 20_000_000 })
      const progress = await read<number[]>("state.progress")
      expect(progress).toEqual(progress.toSorted((a, b) => a - b))
      expect(progress.at(-1)).toBe(20_000_000)
      expect(pieces).toBe(4)
      await page.unroute(pattern)
    })
  }, ["fake"])
})
