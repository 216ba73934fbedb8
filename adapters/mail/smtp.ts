/** Mails through an SMTP server, by nodemailer. Each mail has one connection and one try. Jobs give it more tries. */

import * as Result from "effect/Result"
import { Buffer } from "node:buffer"
import { type Bag, isBag } from "../../core/domain/bag.ts"
import { checkMessage } from "../../core/domain/mail/message.ts"
import { readMailServer } from "../../core/domain/mail/server.ts"
import type { MailServer } from "../../core/domain/mail/server.ts"
import { MailError, type MailMessage, type MailService } from "../../core/ports/mail.ts"

/** Longest silence of the server, and longest wait for its name, its connection and its greeting. */
const timeoutMs = 15_000

/** Longest time of one mail from beginning to end, for a server that keeps answering, but slowly. */
const wholeMs = 60_000

export interface SmtpOptions {
  /** `smtp://user:password@host:587`, `smtps://…`. TLS is required unless the host is loopback or `?tls=optional` stands there. */
  readonly url: string
  /** The sender: `Shop <shop@example.com>`. */
  readonly from: string
  /** Another limit than 15 seconds for each step. */
  readonly timeoutMs?: number
}

/** What a failure of nodemailer means: its `responseCode` is the server's answer. */
const reasonOf = (error: unknown): MailError["reason"] => {
  const { code, responseCode }: Bag = isBag(error) ? error : {}
  if (typeof responseCode === "number") return responseCode >= 500 ? "refused" : "later"
  return code === "EENVELOPE" || code === "EMESSAGE" ? "refused" : "unreachable"
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message.split("\n", 1)[0]!.slice(0, 500) : "The mail server failed."

const transportOf = async (server: MailServer, limitMs: number) => {
  const { createTransport } = await import("nodemailer")
  return createTransport({
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: server.requireTls,
    // A server on loopback often has a certificate that was made for development.
    ignoreTLS: server.loopback && !server.requireTls,
    tls: { rejectUnauthorized: server.verify, minVersion: "TLSv1.2" },
    ...(server.user === null ? {} : { auth: { user: server.user.name, pass: server.user.password } }),
    connectionTimeout: limitMs,
    greetingTimeout: limitMs,
    socketTimeout: limitMs,
    dnsTimeout: limitMs,
    disableFileAccess: true,
    disableUrlAccess: true
  })
}

type Transport = Awaited<ReturnType<typeof transportOf>>

const deliver = async (transport: Transport, from: string, message: MailMessage): Promise<void> => {
  const checked = checkMessage(message)
  if (Result.isFailure(checked)) throw new MailError("invalid", checked.failure)
  const { attachments, bcc, cc, html, replyTo, subject, text, to } = checked.success
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new MailError("unreachable", "The mail server took too long.")), wholeMs)
  })
  try {
    const sent = await Promise.race([
      transport.sendMail({
        from,
        to: [...to],
        cc: [...cc],
        bcc: [...bcc],
        subject,
        ...(replyTo === null ? {} : { replyTo }),
        ...(text === null ? {} : { text }),
        ...(html === null ? {} : { html }),
        attachments: attachments.map(({ cid, content, contentType, filename }) => ({
          filename,
          content: typeof content === "string" ? content : Buffer.from(content),
          ...(contentType === undefined ? {} : { contentType }),
          ...(cid === undefined ? {} : { cid })
        }))
      }),
      late
    ])
    const { rejected = [], rejectedErrors = [] } = sent as {
      readonly rejected?: readonly unknown[]
      readonly rejectedErrors?: readonly unknown[]
    }
    if (rejected.length > 0) {
      // Some recipients may have got it. A retry sends to them again.
      throw new MailError(
        rejectedErrors.every((error) => reasonOf(error) === "refused") ? "refused" : "later",
        `The mail server refused ${rejected.length} of the recipients: ${rejectedErrors.map(messageOf).join("; ")}`
      )
    }
  } catch (error) {
    if (error instanceof MailError) throw error
    throw new MailError(reasonOf(error), messageOf(error), { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Mail through an SMTP server. Throws a `RangeError` when the URL cannot be used; the server is not asked before the first mail.
 *
 * @example
 * createAdmin(config, { mail: smtpMail({ url: "smtp://user:password@mail.example.com:587", from: "Shop <shop@example.com>" }) })
 */
export const smtpMail = ({ from, timeoutMs: limitMs = timeoutMs, url }: SmtpOptions): MailService => {
  const server = readMailServer(url)
  if (Result.isFailure(server)) {
    throw new RangeError(`The URL of the mail server ${server.failure.message} ${server.failure.fix}`)
  }
  let transport: Promise<Transport> | undefined
  return { send: async (message) => deliver(await (transport ??= transportOf(server.success, limitMs)), from, message) }
}
