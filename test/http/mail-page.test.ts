// The page of mails that `dev` keeps: what it shows, to whom, and that a mail's HTML can do nothing there.
import * as Context from "effect/Context"
import { describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { mailRoute } from "../../adapters/http/mail-page.ts"
import { makeOutbox } from "../../adapters/mail/outbox.ts"
import { compileOrThrow, makeService } from "../../composition/create-admin.ts"
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
  const get = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const response = await fetch(
      new Request(`http://localhost:5173${path}`, { method, headers: { host: "localhost:5173", ...headers } })
    )
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return { get, outbox }
}

describe("the page of mails", () => {
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
    expect((await get("/-/mail", {}, "POST")).headers.get("allow")).toBe("GET, HEAD")
  })
})
