/** Mail in memory, with a server that tests can make refuse, or take away. It keeps what it has taken. */

import * as Result from "effect/Result"
import { checkMessage } from "../../core/domain/mail/message.ts"
import type { CheckedMessage } from "../../core/domain/mail/message.ts"
import { MailError, type MailService } from "../../core/ports/mail.ts"

/** A mail that was taken. */
export interface TakenMail extends CheckedMessage {
  /** Whom it went to: those of all kinds that were not refused, as plain addresses. */
  readonly recipients: readonly string[]
}

export interface FakeMail extends MailService {
  /** Oldest first. */
  readonly taken: () => readonly TakenMail[]
  /** Makes the server refuse an address, for good or for now. */
  readonly refuse: (address: string, how: "refused" | "later") => void
  /** Takes the server away, or brings it back. */
  readonly away: (gone: boolean) => void
  /** How often the server was asked to take a mail. */
  readonly tries: () => number
}

/** The plain address of `Ada <ada@example.com>`. */
export const plainAddress = (address: string): string => /<([^<>]+)>$/.exec(address)?.[1] ?? address

export const makeFakeMail = (): FakeMail => {
  const taken: TakenMail[] = []
  const refused = new Map<string, "refused" | "later">()
  let gone = false
  let tries = 0
  return {
    taken: () => taken,
    refuse: (address, how) => void refused.set(address, how),
    away: (now) => {
      gone = now
    },
    tries: () => tries,
    send: async (message) => {
      const checked = checkMessage(message)
      if (Result.isFailure(checked)) throw new MailError("invalid", checked.failure)
      if (gone) throw new MailError("unreachable", "There is no mail server.")
      tries++
      const { bcc, cc, to } = checked.success
      const all = [...to, ...cc, ...bcc].map(plainAddress)
      const recipients = all.filter((address) => !refused.has(address))
      if (recipients.length > 0) taken.push({ ...checked.success, recipients })
      if (recipients.length === all.length) return
      const final = all.every((address) => refused.get(address) !== "later")
      throw new MailError(final ? "refused" : "later", `The mail server refused ${all.length - recipients.length}.`)
    }
  }
}
