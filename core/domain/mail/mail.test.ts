// Messages, server addresses and templates: what they accept, what they refuse, what they escape.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { checkMessage } from "./message.ts"
import type { MailMessage } from "./message.ts"
import { readMailServer, smtpProblem } from "./server.ts"
import { defineTemplate, html, readTemplates } from "./template.ts"

const usual: MailMessage = { to: "ada@example.com", subject: "Hello", text: "Hello" }
const problemOf = (more: object): string => {
  const checked = checkMessage({ ...usual, ...more })
  return Result.isFailure(checked) ? checked.failure : ""
}

describe("a message", () => {
  it("is taken with names, lists, files and any script", () => {
    expect(Result.getOrThrow(checkMessage({
      to: ["Ada Löve <ada@example.com>", "bo@例え.jp"],
      subject: "Grüße 👋",
      html: "<p>שלום</p>",
      replyTo: "\"Shop, Berlin\" <a@b>".replace(",", ""),
      attachments: [{ filename: "Ä.pdf", content: new Uint8Array(3), contentType: "application/pdf" }]
    }))).toMatchObject({
      to: ["Ada Löve <ada@example.com>", "bo@例え.jp"],
      cc: [],
      bcc: [],
      text: null,
      html: "<p>שלום</p>"
    })
  })

  it("is refused where a line break, a second address or nothing stands", () => {
    for (
      const more of [
        { to: "ada@example.com\r\nBcc: eve@example.com" },
        { to: "ada@example.com, eve@example.com" },
        { to: "ada@example.com;eve@example.com" },
        { to: "Ada\n <ada@example.com>" },
        { to: "ada" },
        { to: [] },
        { to: Array.from({ length: 101 }, (_, i) => `a${i}@example.com`) },
        { cc: "a@b\n".repeat(2) },
        { replyTo: "x@y\r\nX: 1" },
        { subject: "a\r\nBcc: eve@example.com" },
        { subject: " " },
        { subject: "x".repeat(999) },
        { text: undefined },
        { text: 1 },
        { from: "eve@example.com" },
        { attachments: [{ filename: "a\r\nb", content: "" }] },
        { attachments: [{ filename: "a", path: "/etc/passwd" }] },
        { attachments: [{ filename: "a", content: "", contentType: "text/plain\r\nX: 1" }] },
        { text: "x".repeat(26 * 1024 * 1024) }
      ]
    ) expect(problemOf(more), JSON.stringify(more).slice(0, 80)).not.toBe("")
    expect(problemOf({})).toBe("")
  })
})

describe("the URL of a mail server", () => {
  it("asks for TLS everywhere but on loopback, unless it says otherwise", () => {
    const read = (url: string) => Result.getOrThrow(readMailServer(url))
    expect(read("smtp://mail.example.com")).toEqual({
      host: "mail.example.com",
      port: 587,
      secure: false,
      requireTls: true,
      loopback: false,
      verify: true,
      user: null
    })
    expect(read("smtps://a%40b:p%2Fw@mail.example.com")).toMatchObject({
      port: 465,
      secure: true,
      user: { name: "a@b", password: "p/w" }
    })
    expect(read("smtp://localhost:1025")).toMatchObject({ requireTls: false, loopback: true })
    expect(read("smtp://[::1]:1025?tls=required")).toMatchObject({ host: "::1", requireTls: true })
    expect(read("smtp://mail.example.com?tls=optional&verify=false")).toMatchObject({
      requireTls: false,
      verify: false
    })
  })

  it("is refused without repeating its password", () => {
    for (
      const url of [
        "mail.example.com",
        "http://x:geheim@y",
        "smtp://x:geheim@y/path",
        "smtp://x:geheim@y?pool=true",
        "smtp://x:geheim%ZZ@y",
        "smtp://"
      ]
    ) {
      const problem = smtpProblem(url)
      expect([url, problem === null]).toEqual([url, false])
      expect(JSON.stringify(problem)).not.toContain("geheim")
    }
  })
})

describe("a template", () => {
  it("escapes every value that html did not make, and addresses that run something", () => {
    const evil = "<img src=x onerror=\"alert(1)\">'`&"
    expect(html`<p title="${evil}">${evil}</p>`.text).toBe(
      "<p title=\"&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&#96;&amp;\">&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&#96;&amp;</p>"
    )
    expect(html`${[1, "<", html`<b>${"&"}</b>`, null, undefined, true, false, 2n]}`.text).toBe("1&lt;<b>&amp;</b>2")
    for (
      const address of [
        "javascript:alert(1)",
        " JAVASCRIPT:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "java\nscript:x"
      ]
    ) {
      expect(html`<a href="${address}">`.text).toBe("<a href=\"#\">")
    }
    for (const address of ["https://a.example/?a=1&b=2", "mailto:a@b", "/path", "#top", "cid:logo"]) {
      expect(html`<a href="${address}">`.text).toBe(`<a href="${address.replace("&", "&amp;")}">`)
    }
    // An object of the same form, such as parsed JSON, is escaped or refused.
    expect(() => html`${{ _tag: "Html", text: "<script>" }}`).toThrow(TypeError)
  })

  it("renders, sends and previews; a subject stays one line", async () => {
    const sent: MailMessage[] = []
    const mail = { send: async (message: MailMessage) => void sent.push(message) }
    const welcome = defineTemplate<{ readonly name: string }>({
      name: "welcome",
      subject: ({ name }) => `Welcome, ${name}`,
      text: ({ name }) => `Dear ${name}`,
      html: ({ name }) => html`<p>${name}</p>`,
      example: { name: "Ada" }
    })
    await welcome.send("ada@example.com", { name: "A\r\nBcc: eve@example.com" }, mail, { cc: "bo@example.com" })
    expect(sent).toEqual([{
      to: "ada@example.com",
      cc: "bo@example.com",
      subject: "Welcome, A Bcc: eve@example.com",
      text: "Dear A\r\nBcc: eve@example.com",
      html: "<p>A\r\nBcc: eve@example.com</p>"
    }])
    expect(await welcome.preview()).toMatchObject({ subject: "Welcome, Ada" })
    await expect(welcome.send("a@b", { name: "x" }, undefined)).rejects.toThrow("No mail server is configured")
    const plain = defineTemplate({ name: "plain", subject: "s", html: () => "<b>" as never })
    await expect(plain.render({})).rejects.toThrow("a plain text would not be escaped")
    expect(() => defineTemplate({ name: "none", subject: "s" })).toThrow("needs text or html")
    expect(Result.isFailure(readTemplates([welcome, welcome]))).toBe(true)
    expect(Result.isFailure(readTemplates([{}]))).toBe(true)
  })
})
