// The page of mails that `dev` keeps: what it shows, to whom, and that a mail's HTML can do nothing there.
import * as Context from "effect/Context"
import { describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { mailRoute } from "../../adapters/http/mail-page.ts"
import { makeOutbox } from "../../adapters/mail/outbox.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineTemplate, html } from "../../core/domain/mail/template.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { testAuthenticator, testSecret } from "../support/composed.ts"

const notes = defineResource("notes", { table: "notes", primaryKey: "id", fields: { id: f.integer() } })
const welcome = defineTemplate<{ readonly name: string }>({
  name: "mails/welcome",
  subject: ({ name }) => `Welcome ${name}`,
  html: ({ name }) => html`<p>${name}</p>`,
  example: { name: "<Ada>" }
})
const bare = defineTemplate({ name: "bare", subject: "s", text: () => "t" })

const open = () => {
  const outbox = makeOutbox(() => new Date("2026-01-02T03:04:05Z"))
  const edge = makeService({
    compiled: compileOrThrow(defineConfig({ resources: [notes], templates: [welcome, bare] })),
    records: makeFakeRecords().service,
    authenticator: testAuthenticator,
    secret: testSecret,
    publicUrl: "http://localhost:5173",
    extraRoutes: [mailRoute({ mails: outbox.mails, templates: [welcome, bare] as never })]
  })
  const fetch = makeFetch(edge, Context.empty())
  const get = async (path: string, headers: Record<string, string> = {}, method = "GET", address = "127.0.0.1") => {
    const response = await fetch(
      new Request(`http://localhost:5173${path}`, { method, headers: { host: "localhost:5173", ...headers } }),
      { address }
    )
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return { get, outbox }
}

describe("the page of mails", () => {
  it("makes the addresses in a text links, and nothing else of it", async () => {
    const { get, outbox } = open()
    const text =
      "Here: https://shop.example/-/reset#token=a_b-c. Or (http://x.example/?a=1&b=\"2\"), javascript:alert(1)"
    await outbox.send({ to: "ada@example.com", subject: "s", text })
    const page = (await get("/-/mail/1")).text
    expect(Array.from(page.matchAll(/<a href="(http[^"]*)"/g), ([, href]) => href)).toEqual([
      "https://shop.example/-/reset#token=a_b-c",
      "http://x.example/?a=1&amp;b="
    ])
    expect(page).not.toContain("href=\"javascript")
  })

  it("says so where mails are sent instead of kept", async () => {
    const edge = makeService({
      compiled: compileOrThrow(defineConfig({ resources: [notes] })),
      records: makeFakeRecords().service,
      authenticator: testAuthenticator,
      secret: testSecret,
      publicUrl: "http://localhost:5173",
      extraRoutes: [mailRoute({ mails: () => [], sent: true, templates: [welcome] as never })]
    })
    const answer = await makeFetch(edge, Context.empty())(
      new Request("http://localhost:5173/-/mail", { headers: { host: "localhost:5173" } }),
      { address: "127.0.0.1" }
    )
    const page = await answer.text()
    expect(page).toContain("Mails are sent")
    expect(page).not.toContain("not sent")
    expect(page).toContain("mails/welcome")
  })

  it("shows what was kept, newest first, escaped, with its HTML in a frame that can do nothing", async () => {
    const { get, outbox } = open()
    expect((await get("/-/mail")).text).toContain("There are none yet.")
    const evil = "<script>alert(1)</script>"
    await outbox.send({ to: "ada@example.com", subject: "First", text: `text ${evil}` })
    await outbox.send({
      to: ["bo@example.com"],
      subject: evil,
      html: `<p>page</p>${evil}`,
      attachments: [{ filename: "a.pdf", content: "x" }]
    })
    const page = await get("/-/mail")
    expect(page.status).toBe(200)
    expect(page.text.indexOf("bo@example.com")).toBeLessThan(page.text.indexOf("ada@example.com"))
    expect(page.text).not.toContain(evil)
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'")
    expect((await get("/-/mail/1")).text).toContain("text &lt;script&gt;")
    const second = await get("/-/mail/2")
    expect(second.text).toContain("<iframe sandbox")
    expect(second.text).toContain("a.pdf")
    expect(second.text).not.toContain(evil)
    const framed = await get("/-/mail/2/html")
    expect(framed.text).toContain("<p>page</p>")
    expect(framed.headers.get("content-security-policy")).toMatch(/^sandbox; default-src 'none'/)
    for (const path of ["/-/mail/3", "/-/mail/1/html", "/-/mail/x", "/-/mail/templates/none", "/-/mail/2/other"]) {
      expect([path, (await get(path)).status]).toEqual([path, 404])
    }
    await expect(outbox.send({ to: "no address", subject: "x", text: "x" })).rejects.toThrow("one address each")
  })

  it("keeps the last hundred mails", async () => {
    const { outbox } = open()
    for (let n = 1; n <= 130; n++) await outbox.send({ to: "a@example.com", subject: `n${n}`, text: "x" })
    expect(outbox.mails()).toHaveLength(100)
    expect(outbox.mails()[0]).toMatchObject({ number: 130, subject: "n130" })
  })

  it("shows templates with their examples", async () => {
    const { get } = open()
    const page = await get("/-/mail")
    expect(page.text).toContain("bare (no example)")
    const preview = await get("/-/mail/templates/mails%2Fwelcome")
    expect(preview.text).toContain("Welcome &lt;Ada&gt;")
    expect((await get("/-/mail/templates/mails%2Fwelcome/html")).text).toBe("<p>&lt;Ada&gt;</p>")
    expect((await get("/-/mail/templates/bare")).status).toBe(404)
  })

  it("is there for this machine only, as mails hold links that open accounts", async () => {
    const { get } = open()
    for (
      const headers of [
        { host: "demo.trycloudflare.com" },
        { host: "localhost.evil.example" },
        { host: "10.0.0.7:5173" },
        { "x-forwarded-for": "203.0.113.7" },
        { "x-forwarded-host": "demo.ngrok.app" },
        { forwarded: "for=203.0.113.7" }
      ]
    ) expect([headers, (await get("/-/mail", headers)).status]).toEqual([headers, 404])
    for (const host of ["127.0.0.1:5173", "[::1]:5173", "LOCALHOST"]) {
      expect((await get("/-/mail", { host })).status).toBe(200)
    }
    // A neighbour who reaches the port names any host.
    for (const address of ["192.168.0.7", "172.17.0.1", "::ffff:10.0.0.7", "fe80::1", "2001:db8::1", "unknown"]) {
      expect([address, (await get("/-/mail", {}, "GET", address)).status]).toEqual([address, 404])
    }
    for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) {
      expect([address, (await get("/-/mail", {}, "GET", address)).status]).toEqual([address, 200])
    }
    expect((await get("/-/mail", {}, "POST")).headers.get("allow")).toBe("GET, HEAD")
  })
})
