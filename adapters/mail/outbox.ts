/** Mails kept in memory for development, where no mail server is configured: the last hundred, for the page `/-/mail`. Nothing leaves the process. */

import * as Result from "effect/Result"
import { checkMessage } from "../../core/domain/mail/message.ts"
import type { CheckedMessage } from "../../core/domain/mail/message.ts"
import { MailError, type MailService } from "../../core/ports/mail.ts"

/** A mail that would have been sent. */
export interface KeptMail extends CheckedMessage {
  /** Counts from 1. */
  readonly number: number
  readonly at: Date
}

export interface Outbox extends MailService {
  /** Newest first. */
  readonly mails: () => readonly KeptMail[]
}

const most = 100

export const makeOutbox = (now: () => Date = () => new Date()): Outbox => {
  let all: readonly KeptMail[] = []
  let number = 0
  return {
    mails: () => all,
    send: async (message) => {
      const checked = checkMessage(message)
      if (Result.isFailure(checked)) throw new MailError("invalid", checked.failure)
      all = [{ ...checked.success, number: ++number, at: now() }, ...all].slice(0, most)
    }
  }
}
