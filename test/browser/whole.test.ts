/** The calls of `test/web/whole.test.ts` from a page in Chromium: changes over a stream, versions, functions, the second factor by the browser's cookie. */

import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type * as Library from "../../web/client/index.ts"
import { openServer } from "../support/server.ts"
import type { TestServer } from "../support/server.ts"
import { codeAt, holdHalfMinute } from "../support/totp.ts"
import type * as Calls from "../web/calls.ts"
import { config, schema } from "../web/whole.ts"
import type { Whole } from "../web/whole.ts"
import { chromiumOfProcess, chromiumPath } from "./chromium.ts"
import { bundlePage } from "./page.ts"

declare const library: typeof Library
declare const calls: typeof Calls
declare const client: Library.Client<Whole>
declare const mount: (client: Library.Client) => void

describe.skipIf(chromiumPath === null)("the client in Chromium, beyond records", () => {
  let service: TestServer
  let browser: Browser
  let files: ReadonlyMap<string, string>
  beforeAll(async () => {
    files = await bundlePage(join(import.meta.dirname, "whole-page.ts"))
    service = await openServer(config, { schema })
    await service.account("admin@example.org", "admin")
    browser = await chromiumOfProcess()
  })
  afterAll(async () => {
    await service?.close()
  })

  /** A page with a client that somebody has signed in with. */
  const signedIn = async (email: string): Promise<Page> => {
    // The page itself comes from no address at all, so that Chromium would ask whether it may call this machine.
    const page = await (await browser.newContext({ permissions: ["local-network-access"] })).newPage()
    await page.route(`${service.url}/-test/**`, (route) => {
      const name = new URL(route.request().url()).pathname.slice("/-test/".length)
      const contentType = name.endsWith(".html") ? "text/html" : "text/javascript"
      return route.fulfill({ status: files.has(name) ? 200 : 404, contentType, body: files.get(name) ?? "" })
    })
    await page.goto(`${service.url}/-test/index.html`)
    await page.waitForFunction(() => "calls" in globalThis)
    await page.evaluate(([email, password]) => {
      Object.assign(globalThis, { client: library.createClient() })
      return client.auth.signIn({ email: email!, password: password! }).then(() => undefined)
    }, [email, service.password])
    return page
  }

  it("hears changes, reads versions, and writes one back over the version it names", async () => {
    const page = await signedIn("admin@example.org")
    expect(await page.evaluate(() => calls.follow(client, library))).toEqual({
      heard: ["create", "update", "update", "delete"],
      sameKey: true,
      versions: [["create", "one"], ["update", "two"]],
      sensitive: false,
      stale: [412, "precondition-failed"],
      restored: "one"
    })
    await page.context().close()
  })

  it("follows a filter by a hook: what entered, changed and left since it was last looked at", async () => {
    const page = await signedIn("admin@example.org")
    await page.evaluate(() => mount(client as Library.Client))
    const nothing = { entered: [], changed: [], left: [], missed: false, error: null }
    const shows = (state: Partial<Record<keyof typeof nothing, unknown>>) =>
      page.locator("#followed").getByText(JSON.stringify({ ...nothing, ...state }), { exact: true }).waitFor()
    await shows({ missed: true })
    await page.locator("#clear").click()
    await shows({})
    const write = (id: string | null, text: string): Promise<string> =>
      page.evaluate(async ([id, text]) => {
        const notes = client.resource("notes")
        return (id === null
          ? await notes.create({ text: text! })
          : await notes.update(id!, { text: text! }, { etag: "*" })).id
      }, [id, text])
    const [one, two] = [await write(null, "open"), await write(null, "closed")]
    await shows({ entered: [one] })
    await write(two, "open")
    await shows({ entered: [one, two] })
    await write(one, "closed")
    await shows({ entered: [two] })
    await page.locator("#clear").click()
    await write(two, "closed")
    await shows({ left: [two] })
    await write(two, "open")
    await shows({ changed: [two] })
    await page.context().close()
  })

  it("calls functions", async () => {
    const page = await signedIn("admin@example.org")
    expect(await page.evaluate(() => calls.call(client, library))).toEqual({
      input: { name: "Eva" },
      user: true,
      unknown: [404, "not-found"]
    })
    await page.context().close()
  })

  it("sets up a second factor and signs in with it", async () => {
    using _ = holdHalfMinute()
    await service.account("two@example.org", "admin")
    const page = await signedIn("two@example.org")
    const { password } = service
    const uri = await page.evaluate((password) => calls.enableFactor(client, password), password)
    await page.evaluate(
      (code) => client.auth.post("/two-factor/verify-totp", { code }).then(() => undefined),
      codeAt(uri, -1)
    )
    await page.evaluate(() => client.resource("notes").create({ text: "there" }).then(() => undefined))
    expect(
      await page.evaluate(
        ([credentials, code]) => calls.signInTwice(client, library, credentials, code),
        [{ email: "two@example.org", password }, codeAt(uri)] as const
      )
    ).toEqual({ asked: true, early: 401, wrong: 401, read: 1 })
    await page.context().close()
  })
})
