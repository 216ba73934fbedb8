/** The mails about accounts: which a service sends, where their links lead, and how long these are good. It sends nothing. */

import * as Result from "effect/Result"
import { isBag } from "../bag.ts"
import { isOneOf } from "../value/table.ts"
import { type AccountError, refuse } from "./account.ts"
import { isPlainUrl } from "./origin.ts"

/** The mails about accounts as configured (`auth.mail`); all are off unless they are turned on. */
export interface AccountMailDeclaration {
  /** Whether people may ask for a link that lets them set a new password. */
  readonly passwordReset?: boolean | undefined
  /** Whether admins may make accounts whose people set the password themselves, by a link. */
  readonly invitations?: boolean | undefined
  /** Whether people are told of a sign-in with a browser that their account did not know. */
  readonly signInAlerts?: boolean | undefined
  /** Whether people are told when the service disables what they made: webhook subscriptions. */
  readonly notices?: boolean | undefined
  /** The page that links lead to. Default: that of the admin app. The link's token stands behind its `#`. */
  readonly page?: string | undefined
}

/** The mails that a service sends. */
export interface AccountMails {
  readonly passwordReset: boolean
  readonly invitations: boolean
  readonly signInAlerts: boolean
  readonly notices: boolean
  /** Null: that of the admin app. */
  readonly page: string | null
}

/** How long a link is good, in seconds. */
export const linkSeconds = 3_600

/** Most links of one account that are good at the same time. */
export const linksMax = 5

const names = ["passwordReset", "invitations", "signInAlerts", "notices"] as const

const wrong = (message: string) => Result.fail(refuse("invalid-mail", message))

/** A page that a link with a secret may lead to: over https, or on this machine. */
const isSafePage = (page: string): boolean =>
  isPlainUrl(page) && !page.includes("#")
  && (page.startsWith("https:") || /^(?:(?:.+\.)?localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(page).hostname))

/** Reads the declaration; `true` is all of them. Null: no mail is sent about accounts. */
export const readAccountMails = (raw: unknown): Result.Result<AccountMails | null, AccountError> => {
  if (raw === undefined || raw === false) return Result.succeed(null)
  if (raw === true) {
    return Result.succeed({ passwordReset: true, invitations: true, signInAlerts: true, notices: true, page: null })
  }
  if (!isBag(raw)) return wrong("mail must be true, or say which mails: { passwordReset: true }.")
  const unknown = Object.keys(raw).find((name) => name !== "page" && !isOneOf(names, name))
  if (unknown !== undefined) return wrong(`mail has no "${unknown}": there are ${names.join(", ")} and page.`)
  const flag = names.find((name) => raw[name] !== undefined && typeof raw[name] !== "boolean")
  if (flag !== undefined) return wrong(`mail.${flag} must be true or false.`)
  const { page } = raw
  if (page !== undefined && (typeof page !== "string" || !isSafePage(page))) {
    return wrong("mail.page must be an https URL without password, query and fragment.")
  }
  return Result.succeed(
    names.some((name) => raw[name] === true)
      ? {
        passwordReset: raw["passwordReset"] === true,
        invitations: raw["invitations"] === true,
        signInAlerts: raw["signInAlerts"] === true,
        notices: raw["notices"] === true,
        page: typeof page === "string" ? page : null
      }
      : null
  )
}

/** The mails that a declaration asks for, where it is known to hold. */
export const accountMailsOf = (raw: unknown): AccountMails | null => Result.getOrElse(readAccountMails(raw), () => null)
