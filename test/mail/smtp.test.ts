// Mail through a real SMTP server in this process, beyond the port's contract: senders, sign-in, TLS, contents that are refused, and servers that do not answer.
import { createServer, type Server, type Socket } from "node:net"
import type { SMTPServerOptions } from "smtp-server"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { smtpMail } from "../../adapters/mail/smtp.ts"
import type { MailMessage } from "../../core/domain/mail/message.ts"
import type { MailError } from "../../core/ports/mail.ts"
import { makeAuthority } from "../support/certificate.ts"
import { type MailServer, readLetter, serveMail } from "../support/smtp.ts"

const opened: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

const authority = makeAuthority("Mail of tests")

/** A server that is closed with the test. */
const serve = async (options: SMTPServerOptions = {}): Promise<MailServer> => {
  const server = await serveMail(options)
  opened.push(server.close)
  return server
}

const from = "Shop <shop@example.com>"
const usual: MailMessage = { to: "ada@example.com", subject: "Hello", text: "Hello" }

const refusal = async (work: Promise<void>): Promise<MailError> => {
  const error: unknown = await work.then(() => new Error("it was sent"), (reason: unknown) => reason)
  expect(error).toMatchObject({ name: "MailError" })
  return error as MailError
}

describe("mail", () => {
  it("has the sender that the settings name, and is refused where the server does not take that one", async () => {
    const { mails, port } = await serve({
      onMailFrom: ({ address }, _, done) => done(address === "bad@example.com" ? new Error("not you") : null)
    })
    await smtpMail({ url: `smtp://127.0.0.1:${port}`, from }).send(usual)
    expect(mails.map((mail) => mail.from)).toEqual(["shop@example.com"])
    expect(readLetter(mails[0]!.raw).headers.get("from")).toBe(from)
    const refused = await refusal(smtpMail({ url: `smtp://127.0.0.1:${port}`, from: "bad@example.com" }).send(usual))
    expect(refused.reason).toBe("refused")
    expect(mails).toHaveLength(1)
  })

  it("says how many of the recipients were refused", async () => {
    const { port } = await serve({
      onRcptTo: ({ address }, _, done) => done(address === "no@example.com" ? new Error("no such box") : null)
    })
    const mail = smtpMail({ url: `smtp://127.0.0.1:${port}`, from })
    const partly = await refusal(mail.send({ ...usual, to: ["ada@example.com", "no@example.com"] }))
    expect(partly.message).toContain("refused 1 of the recipients")
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

    it("ends after the time limit where nobody answers", async () => {
      const begun = performance.now()
      expect((await refusal(smtpMail({ url: `smtp://127.0.0.1:${port}`, from, timeoutMs: 200 }).send(usual))).reason)
        .toBe("unreachable")
      expect(performance.now() - begun).toBeLessThan(10_000)
    })
  })
})
