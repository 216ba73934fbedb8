/**
 * The client and its hooks in a real Chromium, against the example shop and the warehouse beside it: two origins, two services, one token. The page is the
 * test's own; everything that it calls is the services.
 */

import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type * as Library from "../../web/client/index.ts"
import { type Checkout, copyCheckout, type Example, startExample } from "../examples/checkout.ts"
import { freePort } from "../support/cluster.ts"
import { deep } from "../support/depth.ts"
import { chromiumOfProcess, chromiumPath } from "./chromium.ts"
import { bundlePage } from "./page.ts"

/** What the page's script puts there. */
declare const library: typeof Library
declare const mount: (client: Library.Client, order: string) => void
/** One client for each page. */
declare const client: Library.Client

let checkout: Checkout
let example: Example
let browser: Browser
let context: BrowserContext
let page: Page
let files: ReadonlyMap<string, string>
const errors: string[] = []
const orderCount = deep ? 10_000 : 1_000
/** The cookies of who is signed in. */
let session: { readonly storageState?: Awaited<ReturnType<BrowserContext["storageState"]>> } = {}

describe.skipIf(chromiumPath === null)("the client in Chromium", () => {
  beforeAll(async () => {
    files = await bundlePage(join(import.meta.dirname, "client-page.ts"))
    checkout = copyCheckout()
    example = await startExample(checkout, await freePort(2), [
      "--demo",
      "--with-warehouse",
      "--scale",
      String(orderCount)
    ])
    browser = await chromiumOfProcess()
  })
  afterAll(async () => {
    await example?.stop()
    checkout?.[Symbol.dispose]()
  })
  beforeEach(async () => {
    errors.length = 0
    // The page itself comes from no address at all, so that Chromium would ask whether it may call this machine.
    context = await browser.newContext({ permissions: ["local-network-access"], ...session })
    page = await context.newPage()
    page.on("pageerror", (error) => errors.push(String(error)))
    await page.route(`${example.url}/-test/**`, (route) => {
      const name = new URL(route.request().url()).pathname.slice("/-test/".length)
      const body = files.get(name)
      if (body === undefined) return route.fulfill({ status: 404, body: "" })
      return route.fulfill({ status: 200, contentType: name.endsWith(".html") ? "text/html" : "text/javascript", body })
    })
    await page.goto(`${example.url}/-test/index.html`)
    await page.waitForFunction(() => "mount" in globalThis)
    await page.evaluate(() => Object.assign(globalThis, { client: library.createClient() }))
  })
  afterEach(async () => {
    await context.close()
    expect(errors).toEqual([])
  })

  /** Once for all tests: the sign-in takes five attempts a minute. */
  const signIn = async (): Promise<void> => {
    if (session.storageState !== undefined) return
    await page.evaluate(
      ([email, password]) => client.auth.signIn({ email: email!, password: password! }).then(() => undefined),
      ["admin@shop.example", example.passwords.get("admin")!] as const
    )
    session = { storageState: await context.storageState() }
  }

  it("signs in by the browser's own cookie, and reads all records from page to page", async () => {
    await signIn()
    const found = await page.evaluate(async (pageSize) => {
      const orders = client.resource("orders")
      const { total_size } = await orders.list({ count: "exact", page_size: 1 })
      const seen = new Set<unknown>()
      for await (const { id } of orders.list({ page_size: pageSize, fields: ["id"], order_by: "created_at desc" })) {
        seen.add(id)
      }
      const session = await client.auth.session()
      return { total_size, seen: seen.size, email: session?.user.email }
    }, orderCount / 20)
    expect(found.seen).toBeGreaterThan(orderCount * 0.97)
    expect(found).toEqual({ total_size: found.seen, seen: found.seen, email: "admin@shop.example" })
  })

  it("calls every route of records", async () => {
    await signIn()
    const answers = await page.evaluate(async () => {
      const { ProblemError, and } = library
      const orders = client.resource("orders")
      const customer = (await client.resource("customers").list({ page_size: 1 })).items[0]!
      const owner = (await client.resource("staff").list({ page_size: 1 })).items[0]!
      const data = { customer_id: customer["id"]!, owner_id: owner["id"]!, ship_country: "NO" }
      const made = await orders.create(data, { idempotencyKey: true })
      const id = made["id"]!
      const changed = await orders.update(id, { note: "one" }, { etag: made.etag })
      const late = await orders.update(id, { note: "two" }, { etag: made.etag }).catch((error: unknown) => error)
      const unchanged = await orders.getIfChanged(id, changed.etag)
      await orders.delete(id, { etag: changed.etag })
      const gone = await orders.get(id).catch((error: unknown) => error)
      const back = await orders.undelete(id)
      const batch = client.batch()
      const order = batch.create("orders", data)
      const removal = batch.delete("orders", id, { etag: back.etag })
      const results = await batch.send()
      return {
        expanded: (await orders.get(results.of(order)["id"]!, { expand: ["customer"] })).expand?.["customer"]?.["name"]
          === customer["name"],
        late: late instanceof ProblemError ? [late.status, late.changed, late.etag === changed.etag] : String(late),
        gone: gone instanceof ProblemError ? gone.slug : String(gone),
        unchanged,
        removed: results.of(removal),
        facets: (await orders.facets({ field: "channel" })).facets.length,
        series: (await orders.series({ field: "created_at", range: "7d" })).points.length,
        histogram: (await orders.histogram({ field: "total", buckets: 5 })).buckets.length,
        groups:
          (await orders.aggregate({ group_by: ["channel", "currency"], measures: ["sum(total)"], limit: 3 })).groups
            .length,
        seek: (await orders.seek(5_000, { page_size: 3 })).items.length,
        search: (await orders.search({
          filter: (o) => and(o["status"]!.eq("paid"), o["total"]!.ge("10")),
          page_size: 4
        })).items.length,
        version: (await client.request({ method: "GET", path: "/orders", query: { page_size: 1 } })).headers.get(
          "x-meta-version"
        )
      }
    })
    expect(answers).toMatchObject({
      expanded: true,
      late: [412, expect.arrayContaining(["note"]), true],
      gone: "not-found",
      unchanged: null,
      removed: null,
      facets: 3,
      histogram: 5,
      groups: 3,
      seek: 3,
      search: 4,
      version: expect.any(String)
    })
    expect(answers.series).toBeGreaterThan(6)
  })

  it("calls the second service straight from the page, with the same token", async () => {
    await signIn()
    const answers = await page.evaluate(async () => {
      const meta = await client.meta()
      const source = meta.sources[0]!
      const remote = library.sourceClient(client, source)
      const drawn = library.sourceMeta(await remote.meta(), source)
      const all = library.routedClient(
        client,
        (name) => drawn.models.some((model) => model.name === name) ? remote : null
      )
      const stock = all.resource("stock")
      const first = (await stock.list({ page_size: 1, order_by: "id" })).items[0]!
      const changed = await stock.update(first["id"]!, { note: "counted" }, { etag: first.etag })
      const batch = all.batch()
      batch.update("stock", first["id"]!, { note: null }, { etag: changed.etag })
      let mixed: unknown = null
      try {
        batch.update("orders", "1", { note: null }, { etag: "*" })
      } catch (error) {
        mixed = error instanceof library.ProblemError ? [error.status, error.slug] : String(error)
      }
      await batch.send()
      const answer = await remote.request({ method: "GET", path: `/stock/${library.keyText(first["id"])}` })
      return {
        label: source.label,
        models: drawn.models.map(({ name, relations }) => [name, relations.length]),
        note: changed["note"],
        mixed,
        etag: answer.headers.get("etag"),
        version: answer.headers.get("x-meta-version")
      }
    })
    expect(answers).toEqual({
      label: "Warehouse",
      models: [["stock", 0]],
      note: "counted",
      mixed: [409, "conflict"],
      etag: expect.stringMatching(/^".+"$/),
      version: expect.any(String)
    })
  })

  it("renews the token once for all calls that were refused with the old one", async () => {
    await signIn()
    await page.evaluate(() => client.meta().then(() => undefined))
    let refusals = 0
    let renewals = 0
    let stale: string | null = null
    await page.route(`${example.url}/api/v1/orders/**`, async (route) => {
      const sent = await route.request().headerValue("authorization")
      stale ??= sent
      if (sent !== stale) return route.continue()
      refusals++
      return route.fulfill({
        status: 401,
        contentType: "application/problem+json",
        body: JSON.stringify({ type: "urn:service:problem:unauthenticated", title: "x", status: 401 })
      })
    })
    page.on("request", (request) => renewals += request.url().endsWith("/api/auth/token") ? 1 : 0)
    const statuses = await page.evaluate(() => {
      // Tokens of one second are one text: a new one is another.
      return new Promise((resolve) => setTimeout(resolve, 1_100)).then(() =>
        Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            client.resource("orders").get(String(n + 1)).then(() =>
              200, (error: Library.ProblemError) => error.status))
        )
      )
    })
    expect(statuses.every((status) => status === 200 || status === 404)).toBe(true)
    expect([refusals, renewals]).toEqual([20, 1])
  })

  it("tells no answer from a refusal, waits for the network to come back, and ends when it is told to", async () => {
    await signIn()
    await page.evaluate(() => client.meta().then(() => undefined))
    await context.setOffline(true)
    expect(
      await page.evaluate(() => {
        const patient = library.createClient({ retries: 0, token: (rejected) => client.token(rejected) })
        return patient.resource("orders").get("1").catch((error: Error) => error.name)
      })
    ).toBe("ConnectionError")
    const waiting = page.evaluate(() => {
      const patient = library.createClient({ retries: 20, token: (rejected) => client.token(rejected) })
      return patient.resource("orders").list({ page_size: 1 }).then(({ items }) => items.length)
    })
    await context.setOffline(false)
    expect(await waiting).toBe(1)
    expect(
      await page.evaluate(() => {
        const ending = new AbortController()
        const call = client.resource("orders").list({ page_size: 500 }, { signal: ending.signal })
        ending.abort(new Error("enough"))
        return call.then(() => "answered", (error: Error) => error.message)
      })
    ).toBe("enough")
  })

  it("solves the proof of work of a form in a worker, in the time that a person waits", async () => {
    const { difficulty, sent, times, workers } = await page.evaluate(async (rounds) => {
      const values = { name: "Eva", email: "eva@example.org", message: "Hello" }
      const sent = await client.submitForm("contact", values).then(() => "sent", (error: Error) => error.message)
      const times: number[] = []
      for (let n = 0; n < rounds; n++) {
        const challenge = await client.formChallenge("contact")
        const begun = performance.now()
        await library.solveChallenge(challenge)
        times.push(Math.round(performance.now() - begun))
      }
      return {
        difficulty: (await client.formChallenge("contact")).difficulty,
        sent,
        times: times.sort((a, b) => a - b),
        workers: performance.getEntriesByType("resource").map(({ name }) =>
          name
        ).filter((name) => name.includes("worker")).length
      }
    }, deep ? 7 : 0)
    expect(sent).toBe("sent")
    expect(workers).toBeGreaterThan(0)
    expect(difficulty).toBe(21)
    // What it costs is a matter of luck and of the machine, so it takes several, with nothing beside them; nobody waits for a minute.
    if (!deep) return
    const median = times[Math.floor(times.length / 2)]
    process.stdout.write(
      `Solving a form's proof of work in Chromium: median ${median} ms, from ${times[0]} to ${times.at(-1)} ms\n`
    )
    expect(median).toBeLessThan(20_000)
  })

  it("gives React the meta with its sources, lists that grow, and conflicts", async () => {
    await signIn()
    const order = await page.evaluate(async () => {
      const { items } = await client.resource("orders").list({ page_size: 1, filter: "status = draft" })
      const id = library.keyText(items[0]!["id"])
      mount(client, id)
      return id
    })
    const text = (id: string) =>
      page.locator(`#${id}`).textContent().then((json) => JSON.parse(json ?? "null") as unknown)
    await expect.poll(() => text("meta")).toMatchObject({
      sources: [["Warehouse", "ready", null]]
    })
    expect(await text("meta")).toMatchObject({ models: expect.arrayContaining(["orders", "stock"]) })
    await expect.poll(() => text("stock")).toEqual([100, 240])
    await page.locator("#more").click()
    await expect.poll(() => text("stock")).toEqual([200, 240])
    await page.locator("#more").click()
    await expect.poll(() => text("stock")).toEqual([240, 240])
    expect(await page.locator("#more").isDisabled()).toBe(true)

    // Somebody else is faster, then nobody is.
    await expect.poll(() => page.locator("#save").isEnabled()).toBe(true)
    await page.evaluate(
      (id) => client.resource("orders").update(id, { note: "theirs" }, { etag: "*" }).then(() => undefined),
      order
    )
    await page.locator("#save").click()
    await expect.poll(async () => (await text("conflict") as readonly unknown[])[0]).toBe(
      "conflict"
    )
    expect(await text("conflict")).toMatchObject(["conflict", false, null, {
      current: { note: "theirs" },
      changed: expect.arrayContaining(["note"]),
      overlap: ["note"]
    }])
    await expect.poll(() => text("record")).toBe("theirs")
    await page.locator("#save").click()
    await expect.poll(async () => (await text("conflict") as readonly unknown[])[0]).toBe("saved")
    await expect.poll(() => text("record")).toBe("mine")
  })
})
