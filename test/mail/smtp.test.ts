// Mail through a real SMTP server in this process: what arrives, what is refused and how, and servers that do not answer.
import { createServer, type Server, type Socket } from "node:net"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { smtpMail } from "../../adapters/mail/smtp.ts"
import type { MailMessage } from "../../core/domain/mail/message.ts"
import type { MailError } from "../../core/ports/mail.ts"
import { makeAuthority } from "../support/certificate.ts"

interface Arrived {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
  readonly secure: boolean
  readonly user: string | undefined
}

const opened: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

const authority = makeAuthority("Mail of tests")

/** A server on a free port of loopback. */
const serve = async (
  options: SMTPServerOptions = {}
): Promise<{ readonly port: number; readonly mails: readonly Arrived[] }> => {
  const mails: Arrived[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.secure === true || options.key !== undefined ? [] : ["STARTTLS"],
    logger: false,
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
          secure: session.secure,
          user: session.user as string | undefined
        })
        done()
      })
    },
    ...options
  })
  server.on("error", () => {})
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  opened.push(() => new Promise((resolve) => server.close(() => resolve())))
  const address = server.server.address()
  return { port: typeof address === "object" && address !== null ? address.port : 0, mails }
}

const from = "Shop <shop@example.com>"
const usual: MailMessage = { to: "ada@example.com", subject: "Hello", text: "Hello" }

const refusal = async (work: Promise<void>): Promise<MailError> => {
  const error: unknown = await work.then(() => new Error("it was sent"), (reason: unknown) => reason)
  expect(error).toMatchObject({ name: "MailError" })
  return error as MailError
}

describe("mail", () => {
  it("arrives with text, HTML, names in any script, copies and files", async () => {
    const { mails, port } = await serve()
    const bytes = new Uint8Array(3 * 1024 * 1024).map((_, index) => index % 251)
    await smtpMail({ url: `smtp://127.0.0.1:${port}`, from }).send({
      to: ["Ada Löwe <ada@example.com>", "bo@example.com"],
      cc: "cy@example.com",
      bcc: "hidden@example.com",
      replyTo: "help@example.com",
      subject: "Grüße 👋 שלום",
      text: "Schöne Grüße",
      html: "<p>Schöne <b>Grüße</b></p>",
      attachments: [
        { filename: "Übersicht.bin", content: bytes },
        { filename: "a.txt", content: "plain", contentType: "text/plain" }
      ]
    })
    expect(mails).toHaveLength(1)
    const [{ from: sender, raw, to }] = mails as [Arrived]
    expect([sender, to]).toEqual(["shop@example.com", [
      "ada@example.com",
      "bo@example.com",
      "cy@example.com",
      "hidden@example.com"
    ]])
    expect(raw).toContain("Reply-To: help@example.com")
    expect(raw).not.toContain("hidden@example.com")
    expect(raw).toMatch(/Subject: =\?UTF-8\?[BQ]\?/)
    expect(raw.replaceAll("\r\n", "")).toContain(Buffer.from(bytes).toString("base64").slice(0, 4_000))
    expect(raw).toMatch(/filename\*0?\*?=.*%C3%9Cbersicht|filename="=\?UTF-8/i)
  })

  it("has no header that somebody's name or text made", async () => {
    const { mails, port } = await serve()
    const mail = smtpMail({ url: `smtp://127.0.0.1:${port}`, from })
    await mail.send({ ...usual, text: "x\r\n.\r\nMAIL FROM:<eve@example.com>\r\nSubject: evil" })
    for (
      const more of [{ to: "a@b.c\r\nBcc: eve@example.com" }, { subject: "a\nBcc: eve@example.com" }, {
        replyTo: "a@b\r\nX: y"
      }]
    ) {
      expect((await refusal(mail.send({ ...usual, ...more }))).reason).toBe("invalid")
    }
    expect(mails).toHaveLength(1)
    const [head] = mails[0]!.raw.split("\r\n\r\n")
    expect(head).not.toMatch(/eve|evil/)
    expect(mails[0]!.to).toEqual(["ada@example.com"])
  })

  it("is refused as the server refuses it: for good or for now, one recipient or all", async () => {
    const { mails, port } = await serve({
      onRcptTo: ({ address }, _, done) => {
        const code = /^refuse(\d+)@/.exec(address)?.[1]
        done(code === undefined ? null : Object.assign(new Error("no such box"), { responseCode: Number(code) }))
      },
      onMailFrom: ({ address }, _, done) => done(address === "bad@example.com" ? new Error("not you") : null)
    })
    const mail = smtpMail({ url: `smtp://127.0.0.1:${port}`, from })
    expect((await refusal(mail.send({ ...usual, to: "refuse550@example.com" }))).reason).toBe("refused")
    expect((await refusal(mail.send({ ...usual, to: "refuse451@example.com" }))).reason).toBe("later")
    const partly = await refusal(mail.send({ ...usual, to: ["ada@example.com", "refuse550@example.com"] }))
    expect([partly.reason, partly.message]).toEqual(["refused", expect.stringContaining("refused 1 of the recipients")])
    expect((await refusal(smtpMail({ url: `smtp://127.0.0.1:${port}`, from: "bad@example.com" }).send(usual))).reason)
      .toBe("refused")
    expect(mails.map(({ to }) => to)).toEqual([["ada@example.com"]])
  })

  it("is refused when the content is: too large, or not now", async () => {
    const answers = [552, 451]
    const { port } = await serve({
      onData: (stream, _, done) => {
        stream.resume()
        stream.on("end", () => done(Object.assign(new Error("content"), { responseCode: answers.shift()! })))
      }
    })
    const mail = smtpMail({ url: `smtp://127.0.0.1:${port}`, from })
    expect([(await refusal(mail.send(usual))).reason, (await refusal(mail.send(usual))).reason]).toEqual([
      "refused",
      "later"
    ])
  })

  it("signs in where the URL has a name, and says when that is refused", async () => {
    const { mails, port } = await serve({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ password, username }, _, done) =>
        password === "p/w:ü" ? done(null, { user: username }) : done(new Error("wrong"))
    })
    await smtpMail({ url: `smtp://shop%40example.com:${encodeURIComponent("p/w:ü")}@127.0.0.1:${port}`, from }).send(
      usual
    )
    expect(mails[0]!.user).toBe("shop@example.com")
    const wrong = await refusal(smtpMail({ url: `smtp://shop:geheim@127.0.0.1:${port}`, from }).send(usual))
    expect(wrong.reason).toBe("refused")
    expect(wrong.message).not.toContain("geheim")
  })

  describe("with TLS", () => {
    const pair = authority.forServer(["localhost"], ["127.0.0.1"])
    it("is encrypted where the server can, from the first byte or after STARTTLS", async () => {
      const upgrading = await serve({ key: pair.key, cert: pair.certificate })
      await smtpMail({ url: `smtp://127.0.0.1:${upgrading.port}?tls=required&verify=false`, from }).send(usual)
      expect(upgrading.mails[0]!.secure).toBe(true)
      const secure = await serve({ secure: true, key: pair.key, cert: pair.certificate })
      await smtpMail({ url: `smtps://127.0.0.1:${secure.port}?verify=false`, from }).send(usual)
      expect(secure.mails[0]!.secure).toBe(true)
    })

    it("goes to nobody whose certificate is not trusted, and in clear text to nobody who should encrypt", async () => {
      const secure = await serve({ secure: true, key: pair.key, cert: pair.certificate })
      expect((await refusal(smtpMail({ url: `smtps://127.0.0.1:${secure.port}`, from }).send(usual))).reason).toBe(
        "unreachable"
      )
      const plain = await serve()
      const refused = await refusal(smtpMail({ url: `smtp://127.0.0.1:${plain.port}?tls=required`, from }).send(usual))
      expect(refused.reason).not.toBe("invalid")
      expect([secure.mails, plain.mails]).toEqual([[], []])
    })
  })

  describe("to a server that is not one", () => {
    const sockets = new Set<Socket>()
    let silent: Server
    let port = 0
    beforeAll(async () => {
      silent = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => {})
      })
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve))
      const address = silent.address()
      port = typeof address === "object" && address !== null ? address.port : 0
    })
    afterAll(() => {
      for (const socket of sockets) socket.destroy()
      silent.close()
    })

    it("ends after the time limit where nobody answers, and at once where nobody listens", async () => {
      const begun = performance.now()
      expect((await refusal(smtpMail({ url: `smtp://127.0.0.1:${port}`, from, timeoutMs: 200 }).send(usual))).reason)
        .toBe("unreachable")
      expect(performance.now() - begun).toBeLessThan(10_000)
      const gone = createServer()
      await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve))
      const address = gone.address()
      const free = typeof address === "object" && address !== null ? address.port : 0
      await new Promise((resolve) => gone.close(resolve))
      expect((await refusal(smtpMail({ url: `smtp://127.0.0.1:${free}`, from }).send(usual))).reason).toBe(
        "unreachable"
      )
    })
  })
})
