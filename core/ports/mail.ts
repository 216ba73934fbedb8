/**
 * The port to a mail server. The interface of the service is in the domain, because jobs get it.
 *
 * Contract (test/contracts/mail.ts runs it against every implementation): `send` resolves once the server has taken the mail for every recipient, and
 * rejects with a `MailError` otherwise; it tries once. No text of a message becomes another header.
 */

import * as Context from "effect/Context"
import type { Mail as MailService } from "../domain/mail/message.ts"

export type { MailMessage } from "../domain/mail/message.ts"
export type { MailService }

/** Why a mail was not sent. `message` may name recipients: for the job's error, never for a log line. */
export class MailError extends Error {
  override readonly name = "MailError"
  /** `invalid`: the message itself. `refused`: the server, for good. `later`: the server, for now. `unreachable`: no server that answers. */
  readonly reason: "invalid" | "refused" | "later" | "unreachable"
  constructor(reason: MailError["reason"], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** Where mails go. */
export class Mail extends Context.Service<Mail, MailService>()("resource-admin/Mail") {}
