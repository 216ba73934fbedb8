/**
 * Who is told when the service has disabled a subscription that a person made: its owner, by a mail, and the function of the configuration. Neither can fail
 * or hold up what disabled it.
 */

import type { EventLog } from "../core/app/event/delivery-attempt.ts"
import type { DisabledSubscription, Webhooks } from "../core/domain/declare/webhooks.ts"
import { classOf } from "../core/domain/thrown.ts"

/** Has a mail sent to the owner. */
export type MailOwner = (disabled: DisabledSubscription) => Promise<void>

/** How long each may take, in milliseconds. */
const tellingMs = 10_000

export interface Telling {
  /** Resolves once the mail waits in the queue, or does not. The function of the configuration runs beside. */
  readonly tell: (disabled: DisabledSubscription) => Promise<void>
  /** Everything that was begun has ended. */
  readonly whenIdle: () => Promise<void>
}

/** The log names who could not be told, and the class of an error, never its text. */
export const makeTelling = (
  { onDisabled }: Pick<Webhooks, "onDisabled">,
  mailOwner: MailOwner | undefined,
  log: EventLog
): Telling => {
  const running = new Set<Promise<void>>()
  const begin = (by: string, { id }: DisabledSubscription, work: () => unknown): Promise<void> => {
    const failed = (error: string): void => log("error", "webhook-disabled-untold", { subscription: id, by, error })
    const told = new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        failed("timeout")
        resolve()
      }, tellingMs)
      // A throw before the first await is one, too.
      Promise.resolve().then(work).then(
        () => {},
        // Too late to be told twice.
        (thrown: unknown) => running.has(told) && failed(classOf(thrown))
      ).finally(() => {
        clearTimeout(timer)
        resolve()
      })
    }).finally(() => running.delete(told))
    running.add(told)
    return told
  }
  return {
    tell: (disabled) => {
      if (onDisabled !== null) void begin("onDisabled", disabled, () => onDisabled(disabled))
      return mailOwner === undefined ? Promise.resolve() : begin("mail", disabled, () => mailOwner(disabled))
    },
    whenIdle: async () => {
      while (running.size > 0) await Promise.all(running)
    }
  }
}
