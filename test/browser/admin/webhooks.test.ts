// The page of webhooks in a real browser, with a receiver beside it: subscriptions, tests, secrets, deliveries, the log.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { verifyStandardWebhook } from "../../../composition/index.ts"
import { chromiumPath } from "../chromium.ts"
import { webhooksPage } from "./pages/webhooks.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage
let receiver: Server
let at: string
/** What it answers: a status and a text. */
let answer: readonly [number, string] = [204, ""]
const received: Array<{ readonly headers: Headers; readonly body: string }> = []

const markup = "<img src=x onerror=\"document.title='taken'\">"

beforeAll(async () => {
  if (chromiumPath === null) return
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const headers = new Headers()
      for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value))
      received.push({ headers, body: Buffer.concat(chunks).toString() })
      response.writeHead(answer[0], { "content-type": "text/html" }).end(answer[1])
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  at = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  stage = await startStage({ webhooks: { deliveryLog: true, allowPrivateAddresses: true } })
})
afterAll(async () => {
  await stage?.stop()
  receiver?.close()
})

const using = opener(() => stage, (page, url) => [webhooksPage(page, url)])

const subscribe = async (name: string, more: object = {}) =>
  (await stage.call("admin", "POST", "/webhook_subscriptions", { name, events: "orders.*", url: at, ...more })).body

describe.skipIf(chromiumPath === null)("webhooks", () => {
  it("that are not there yet say what they are for, with one thing to do and the guide", async () => {
    await using({}, async (page, hooks) => {
      const guide = page.getByRole("main").getByRole("link", { name: "Read the guide" })
      await hooks.open("/log")
      await page.getByText(/with its request and its answer/).waitFor()
      expect(await guide.getAttribute("href")).toBe("/-/guides/webhooks")
      await hooks.open("/deliveries")
      await page.getByText(/wait for another try/).waitFor()
      expect(await guide.getAttribute("href")).toBe("/-/guides/webhooks")
      await page.getByRole("main").getByRole("link", { name: "Log" }).last().click()
      await page.getByRole("heading", { name: "No deliveries yet" }).waitFor()
      await page.getByRole("main").getByRole("link", { name: "Subscriptions" }).last().click()
      await page.getByText(/signed, and tries again until they arrive/).waitFor()
      await guide.click()
      await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor()
      await page.waitForFunction(() => [...document.images].some(({ naturalWidth }) => naturalWidth > 600))
      expect(await axeAgain(page)).toEqual([])
      // A link to a part of another guide leads to that part.
      await page.getByRole("link", { name: "All guides" }).click()
      await page.getByRole("link", { name: "Filters and orders" }).click()
      await page.getByRole("navigation", { name: "On this page" }).getByRole("link").last().click()
      await page.waitForFunction(() => document.activeElement?.tagName === "H2")
      expect(new URL(page.url()).hash).toBe(`#${await page.evaluate(() => document.activeElement!.id)}`)
      await page.goBack()
      await page.goBack()
      await page.goBack()
      await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor()
      await page.goBack()
      expect(await guide.getAttribute("href")).toBe("/-/guides/webhooks")
      await page.getByRole("main").getByRole("button", { name: "New subscription", exact: true }).last().click()
      await hooks.dialog.getByLabel("Name").waitFor()
    })
  })

  it("that the service has disabled are counted in the sidebar of their owner, until they are enabled", async () => {
    const { id } = await subscribe("Refused")
    await subscribe("By hand", { enabled: false })
    await stage.database.execute(
      `update webhooks.subscriptions set enabled = false, disabled_reason = 'The receiver answered 410 Gone.' where id = ${
        String(id)
      }`
    )
    await using({}, async (page, hooks) => {
      await hooks.open()
      const badge = page.getByRole("link", { name: "Webhooks" }).getByTitle("1 disabled by the service")
      await badge.waitFor()
      await hooks.openRow("Refused")
      await hooks.button("Enable").click()
      await badge.waitFor({ state: "detached" })
    })
    // What others own is nothing to the viewer.
    await stage.database.execute(
      `update webhooks.subscriptions set enabled = false, disabled_reason = 'The receiver answered 410 Gone.' where id = ${
        String(id)
      }`
    )
    await using({ role: "viewer" }, async (page, hooks) => {
      await hooks.open()
      await hooks.openRow("Refused")
      expect(await page.getByTitle(/disabled by the service/).count()).toBe(0)
    })
    await stage.database.execute(`delete from webhooks.subscriptions where id = ${String(id)}`)
  })

  it("send failed deliveries of a time range again, and say what the service does not keep", async () => {
    await subscribe("Ranged")
    await using({ allow: /409/ }, async (page, hooks) => {
      await hooks.open()
      await hooks.openRow("Ranged")
      await hooks.button("Send a time range again").click()
      await page.getByLabel("From").fill("2026-01-01T00:00:00")
      expect(await axeAgain(page)).toEqual([])
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByText("0 deliveries are sent again now").waitFor()
      await hooks.button("Send a time range again").click()
      await page.getByLabel("From").fill("2026-01-01T00:00:00")
      await page.getByLabel("Only deliveries that have used up their tries").uncheck()
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByText(/Delivered events are not kept here/).waitFor()
      await page.getByRole("button", { name: "Cancel" }).click()
    })
  })

  it("are shown to who may read subscriptions: a viewer sees no addresses and no buttons, a seller nothing (64)", async () => {
    await subscribe("Quiet", { headers: { authorization: "Bearer hidden-credential" } })
    await using({ role: "sales", allow: /404/ }, async (page, hooks, sent) => {
      await page.goto(`${stage.url}/-/webhooks`)
      await page.getByRole("heading", { name: "Not found" }).waitFor()
      expect(await page.getByRole("link", { name: "Webhooks" }).count()).toBe(0)
      expect(sent.filter((each) => each.includes("webhook_"))).toEqual([])
      expect(await hooks.row("Quiet").count()).toBe(0)
    })
    await using({ role: "viewer" }, async (page, hooks) => {
      await hooks.open()
      await hooks.openRow("Quiet")
      expect(await page.getByRole("button", { name: "New subscription" }).count()).toBe(0)
      for (const name of ["Edit", "Send a test event", "Show the secret", "Disable", "Delete"]) {
        expect([name, await hooks.button(name).count()]).toEqual([name, 0])
      }
      const all = await page.evaluate(() => document.documentElement.outerHTML)
      expect(all).not.toContain("hidden-credential")
      expect(all).not.toContain(at)
    })
  })

  it("are made with ticked events and a filter; refusals stand at their fields (64)", async () => {
    await using({ allow: /400/ }, async (page, hooks) => {
      await hooks.open()
      await page.getByRole("heading", { name: "A receiver" }).waitFor()
      await page.keyboard.press("n")
      await hooks.fill({ name: "Warehouse", url: "ftp://nowhere.example/x" })
      await hooks.save()
      await hooks.dialog.getByText("Name at least one event.").waitFor()
      await hooks.dialog.getByText(/it is not an http\(s\) URL/).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await hooks.fill({ url: at, events: ["orders.created", "orders.updated"] })
      await hooks.dialog.getByLabel("Filter").fill("stattus = paid")
      await hooks.save()
      await hooks.dialog.getByText(/Did you mean/).waitFor()
      // Completion as in lists; Escape ends it and leaves the dialog.
      await hooks.dialog.getByRole("button", { name: "Edit with completion" }).click()
      const text = hooks.dialog.getByRole("textbox", { name: "Filter as text" })
      // By keys, as people do: the editor takes a selection that a script makes only some time after the focus.
      await text.click()
      await page.keyboard.press("Control+a")
      await page.keyboard.type("stat")
      await page.getByRole("option", { name: /status/ }).waitFor()
      await page.keyboard.press("Escape")
      await page.keyboard.press("Control+a")
      await page.keyboard.insertText("status = paid")
      await expect.poll(() => text.innerText()).toBe("status = paid")
      await hooks.dialog.getByRole("button", { name: "Apply" }).click()
      await hooks.dialog.getByLabel("Headers").fill("x-shop: 1")
      await hooks.dialog.getByLabel("Deliveries per minute").fill("600")
      await hooks.dialog.getByLabel("Waits before retries").fill("10 soon")
      await hooks.save()
      await hooks.dialog.getByText(/The waits must be a list/).waitFor()
      await hooks.dialog.getByLabel("Waits before retries").fill("10, 300")
      await hooks.save()
      await hooks.row("Warehouse").getByText("enabled").waitFor()
      await hooks.detail.getByText("orders.created, orders.updated").waitFor()
      await hooks.detail.getByText("status = paid").waitFor()
      await hooks.button("Edit").click()
      expect(await hooks.dialog.getByRole("checkbox", { name: "orders.created", exact: true }).isChecked()).toBe(true)
      expect(await hooks.dialog.getByLabel("Headers").inputValue()).toBe("x-shop: 1")
      expect(await hooks.dialog.getByLabel("Deliveries per minute").inputValue()).toBe("600")
      expect(await hooks.dialog.getByLabel("Waits before retries").inputValue()).toBe("10 300")
      await hooks.fill({ name: "Depot" })
      await hooks.save()
      await hooks.row("Depot").waitFor()
    })
  })

  it("are merged with what another saved meanwhile, and ask before changes are lost", async () => {
    const { id } = await subscribe("Merged", { filter: "status = paid" })
    const path = `/webhook_subscriptions/${String(id)}`
    const patch = async (values: object): Promise<void> => {
      const { etag } = (await stage.call("admin", "GET", path)).body
      expect((await stage.call("admin", "PATCH", path, values, String(etag))).status).toBe(200)
    }
    const kept = async () => {
      const { filter, max_per_minute, name } = (await stage.call("admin", "GET", path)).body
      return [name, filter, max_per_minute]
    }
    await using({ allow: /412/ }, async (page, hooks) => {
      await hooks.open()
      await hooks.openRow("Merged")
      await hooks.button("Edit").click()
      await hooks.fill({ name: "Mine" })
      await patch({ filter: "status = draft", max_per_minute: 7 })
      await hooks.save()
      await hooks.row("Mine").waitFor()
      expect(await kept()).toEqual(["Mine", "status = draft", 7])
      // Both changed the name: the person chooses. What only one of them changed is kept.
      await hooks.detail.getByText("status = draft").waitFor()
      await hooks.button("Edit").click()
      await hooks.fill({ name: "Mine again" })
      await patch({ name: "Theirs", max_per_minute: 8 })
      await hooks.save()
      const merge = page.getByRole("dialog", { name: /somebody|else|changed/i })
      await merge.getByRole("button", { name: "Theirs", exact: true }).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await merge.getByRole("button", { name: "Back to editing" }).click()
      expect(await hooks.dialog.getByLabel("Name").inputValue()).toBe("Mine again")
      await hooks.save()
      await merge.getByRole("button", { name: "Theirs", exact: true }).click()
      await merge.getByRole("button", { name: /^Save/ }).click()
      await hooks.row("Theirs").waitFor()
      expect(await kept()).toEqual(["Theirs", "status = draft", 8])
      // Without changes it closes at once; with some it asks, also on the way back.
      await hooks.button("Edit").click()
      await page.keyboard.press("Escape")
      await hooks.dialog.waitFor({ state: "detached" })
      await hooks.button("Edit").click()
      await hooks.fill({ name: "Lost" })
      const question = page.getByRole("alertdialog", { name: "Close without saving?" })
      await page.keyboard.press("Escape")
      await question.getByRole("button", { name: "Go on editing" }).click()
      expect(await hooks.dialog.getByLabel("Name").inputValue()).toBe("Lost")
      await hooks.dialog.getByRole("button", { name: "Cancel" }).click()
      expect(await axeAgain(page)).toEqual([])
      await question.getByRole("button", { name: "Discard" }).click()
      await hooks.dialog.waitFor({ state: "detached" })
      expect(await kept()).toEqual(["Theirs", "status = draft", 8])
    })
  })

  it("send a test event, and show the request and the answer as text (66)", async () => {
    await subscribe("Tested")
    answer = [200, markup]
    await using({}, async (page, hooks) => {
      await hooks.open()
      await hooks.openRow("Tested")
      await hooks.button("Send a test event").click()
      await hooks.detail.getByText("delivered", { exact: true }).waitFor()
      expect(await page.getByLabel("Answer", { exact: true }).innerText()).toBe(markup)
      const request = await page.getByLabel("Request").innerText()
      expect(request).toContain(`POST ${at}`)
      expect(request).toContain("webhook-signature: v1,")
      expect(request).toContain("\"test\": true")
      expect(await page.locator("img[src=x]").count()).toBe(0)
      answer = [503, "away"]
      await hooks.button("Send a test event").click()
      await hooks.detail.getByText("The receiver answered 503.").waitFor()
      expect(await axeAgain(page)).toEqual([])
    })
  })

  it("show the secret when asked, and rotate it: both sign for a day (65)", async () => {
    await subscribe("Secretive")
    answer = [204, ""]
    await using({}, async (page, hooks) => {
      await hooks.open()
      await hooks.openRow("Secretive")
      const read = async (): Promise<string> => {
        await hooks.button("Show the secret").click()
        return hooks.detail.getByRole("status", { name: "Secret" }).innerText()
      }
      const first = await read()
      expect(first).toMatch(/^whsec_/)
      await hooks.button("Rotate the secret").click()
      await page.getByText(/For 24 hours every request carries both signatures/).waitFor()
      await hooks.confirm("Rotate the secret")
      await hooks.toast("There is a new secret.").waitFor()
      const second = await read()
      expect(second).not.toBe(first)
      received.length = 0
      await hooks.button("Send a test event").click()
      await hooks.detail.getByText("delivered", { exact: true }).waitFor()
      for (const secret of [first, second]) {
        expect(() => verifyStandardWebhook(received[0]!, secret)).not.toThrow()
      }
      await hooks.button("Hide it").click()
      const kept = await page.evaluate(() =>
        JSON.stringify([localStorage, sessionStorage, document.cookie, history.state]) +
        document.documentElement.outerHTML
      )
      expect(kept).not.toContain(second)
    })
  })

  it("say why one is disabled, and start afresh when enabled (67)", async () => {
    const { id } = await subscribe("Gone")
    answer = [410, ""]
    await using({}, async (_, hooks) => {
      await hooks.open()
      await hooks.openRow("Gone")
      await hooks.button("Disable").click()
      await hooks.detail.getByText("It was disabled by hand.").waitFor()
      await hooks.button("Enable").click()
      await hooks.button("Disable").waitFor()
      const { body } = await stage.call("admin", "GET", "/orders?page_size=1&filter=status%20%3D%20draft")
      const [order] = body["items"] as ReadonlyArray<{ readonly id: number; readonly etag: string }>
      await stage.call("admin", "PATCH", `/orders/${order!.id}`, { note: "told" }, order!.etag)
      await hooks.detail.getByText(/It is disabled: The receiver answered 410 Gone\./).waitFor()
      await hooks.row("Gone").getByText("disabled").waitFor()
      answer = [204, ""]
      await hooks.button("Enable").click()
      await hooks.row("Gone").getByText("enabled").waitFor()
      expect(id).toBeDefined()
    })
  })

  it("list deliveries that wait with their error, and every try with its answer (68)", async () => {
    await stage.database.execute("delete from webhooks.subscriptions")
    await subscribe("Failing")
    answer = [500, `no ${markup}`]
    const { body } = await stage.call("admin", "GET", "/orders?page_size=1&filter=status%20%3D%20draft")
    const [order] = body["items"] as ReadonlyArray<{ readonly id: number; readonly etag: string }>
    const changed = await stage.call("admin", "PATCH", `/orders/${order!.id}`, { note: "again" }, order!.etag)
    expect(changed.status).toBe(200)
    await using({}, async (page, hooks) => {
      await hooks.open("/deliveries")
      await hooks.row("orders.updated").getByText("retrying").waitFor()
      await hooks.openRow("orders.updated")
      await hooks.detail.getByText("The receiver answered 500.").first().waitFor()
      await hooks.open("/log")
      await hooks.row("500").getByRole("button").first().click()
      expect(await page.getByLabel("Answer", { exact: true }).innerText()).toBe(`no ${markup}`)
      expect(await page.locator("img[src=x]").count()).toBe(0)
      expect(await axeAgain(page)).toEqual([])
    })
  })

  it("name subscription, URL and record of each try, narrowed by the address and reached from the subscription", async () => {
    await stage.database.execute("delete from webhooks.subscriptions")
    await subscribe("Other", { events: "orders.created" })
    // One try, and no other while anybody looks.
    const once = { retry_steps: [86_400] }
    const { id } = await subscribe("Named", { ...once, headers: { authorization: "Bearer hush-hush" } })
    answer = [500, "not today"]
    const { body } = await stage.call("admin", "GET", "/orders?page_size=1&filter=status%20%3D%20draft")
    const [order] = body["items"] as ReadonlyArray<{ readonly id: number; readonly etag: string }>
    const title = new RegExp(`^#${order!.id} \\S`)
    await stage.call("admin", "PATCH", `/orders/${order!.id}`, { note: "named" }, order!.etag)
    const secrets = async (page: Page) =>
      expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toMatch(/hush-hush|whsec_/)
    await using({ allow: /40[34]/ }, async (page, hooks) => {
      await hooks.open()
      await hooks.openRow("Named")
      await hooks.detail.getByRole("link", { name: "Deliveries" }).click()
      await hooks.openRow("orders.updated")
      expect(new URL(page.url()).searchParams.get("subscription")).toBe(String(id))
      await hooks.row("retrying").getByText(title).waitFor()
      await hooks.detail.getByRole("link", { name: "Named" }).waitFor()
      await hooks.detail.getByText(at, { exact: true }).waitFor()
      expect(await hooks.detail.getByRole("link", { name: title }).getAttribute("href")).toBe(`/orders/${order!.id}`)
      const tries = hooks.detail.getByRole("region", { name: "Tries" })
      expect(await tries.getByLabel("Answer", { exact: true }).innerText()).toBe("not today")
      expect(await tries.getByLabel("Headers of the answer").innerText()).toBe("content-type: text/html")
      await tries.getByRole("button", { name: "Show what was sent" }).click()
      expect(await tries.getByLabel("What was sent").innerText()).toContain("\"note\": \"named\"")
      await secrets(page)
      expect(await axeAgain(page)).toEqual([])
      // Of another subscription there is nothing; everything is one press away.
      await page.getByLabel("Subscription").selectOption({ label: "Other" })
      await page.getByRole("heading", { name: "Nothing matches" }).waitFor()
      await page.getByRole("button", { name: "Show everything" }).first().click()
      expect(new URL(page.url()).search).toBe("")
      await page.getByLabel("Event").selectOption("orders.updated")
      await page.getByLabel("State").selectOption("retrying")
      await page.getByLabel("Resource").selectOption({ label: "Orders" })
      await hooks.row("retrying").getByText(title).waitFor()
      await page.goto(
        `${stage.url}/-/webhooks/log?subscription=${String(id)}&state=failed&event=orders.updated&resource=none`
      )
      await page.getByRole("heading", { name: "Nothing matches" }).waitFor()
      await page.getByLabel("Resource").selectOption({ label: "Orders" })
      await hooks.row("failed").getByText(title).waitFor()
      await hooks.openRow("orders.updated")
      expect(await hooks.detail.getByRole("link", { name: title }).getAttribute("href")).toBe(`/orders/${order!.id}`)
      await hooks.detail.getByText(at, { exact: true }).waitFor()
      // What the address says and cannot be says nothing.
      await page.goto(`${stage.url}/-/webhooks/deliveries?subscription=x&state=done`)
      await hooks.row("retrying").getByText(title).waitFor()
    })
    // A viewer reads the log, and neither addresses nor what was sent or answered.
    await using({ role: "viewer" }, async (page, hooks, sent) => {
      await hooks.open(`/log?subscription=${String(id)}`)
      await hooks.openRow("orders.updated")
      await hooks.detail.getByRole("link", { name: title }).waitFor()
      expect(await hooks.button("Show what was sent").count()).toBe(0)
      for (const label of ["Answer", "Headers of the answer"]) expect(await page.getByLabel(label).count()).toBe(0)
      expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(at)
      expect(sent.filter((each) => /%3Apayload|:payload|answer|url=/.test(each))).toEqual([])
    })
    // A record that is not there any more is plain text.
    await stage.database.execute("update webhooks.attempts set key = '999999999'")
    await using({}, async (_, hooks) => {
      await hooks.open("/log")
      await hooks.openRow("orders.updated")
      await hooks.detail.getByText("#999999999", { exact: true }).waitFor()
      expect(await hooks.detail.getByRole("link", { name: /^#/ }).count()).toBe(0)
    })
  })

  it("send what has failed again: one, and all of a subscription (66, 68)", async () => {
    await stage.database.execute("delete from webhooks.subscriptions")
    await subscribe("Resent")
    answer = [500, "not now"]
    const { body } = await stage.call("admin", "GET", "/orders?page_size=3")
    const orders = body["items"] as ReadonlyArray<{ readonly id: number; readonly etag: string }>
    for (const { etag, id } of orders) {
      const changed = await stage.call("admin", "PATCH", `/orders/${id}`, { note: "once more" }, etag)
      expect(changed.status).toBe(200)
    }
    const states = async () =>
      ((await stage.call("admin", "GET", "/webhook_deliveries")).body["items"] as ReadonlyArray<
        { readonly state: string }
      >).map(({ state }) => state)
    await expect.poll(states).toEqual(["retrying", "retrying", "retrying"])
    // Their tries are used up.
    await stage.database.execute(
      "begin; set session_replication_role = replica; update jobs._private_jobs set attempts = max_attempts where id > 0; commit"
    )
    await using({}, async (page, hooks) => {
      await hooks.open("/deliveries")
      await expect.poll(() => hooks.row("failed").count()).toBe(3)
      received.length = 0
      answer = [204, ""]
      await hooks.row("failed").first().getByRole("button").click()
      await hooks.button("Resend").click()
      await hooks.toast("1 delivery is sent again now").waitFor()
      await expect.poll(() => hooks.row("failed").count()).toBe(2)
      await expect.poll(() => received.length).toBe(1)
      await hooks.open()
      await hooks.openRow("Resent")
      await hooks.button("Resend failed ones").click()
      await hooks.toast("2 deliveries are sent again now").waitFor()
      await expect.poll(() => received.length).toBe(3)
      expect(new Set(received.map(({ headers }) => headers.get("webhook-id"))).size).toBe(3)
      await hooks.button("Resend failed ones").click()
      await hooks.toast("0 deliveries are sent again now").waitFor()
      await hooks.open("/deliveries")
      await page.getByRole("heading", { name: "No delivery is waiting, and none has failed" }).waitFor()
    })
  })
})
