/**
 * The mails about accounts: links for a new password, invitations, alerts of sign-ins, and notices of what was disabled. A request only enqueues a job, the same for every address, so neither
 * its answer nor its time tells whether there is an account. The job looks the account up, makes the link and sends the mail. Links are made from
 * the configured address alone, never from a request.
 */

import { randomBytes } from "node:crypto"
import { type AccountMails, linksMax } from "../../core/domain/account/mails.ts"
import { type Bag, isBag } from "../../core/domain/bag.ts"
import { type JobContext, jobDefaults, type JobModel } from "../../core/domain/job/definition.ts"
import type { EnqueuePlan } from "../../core/domain/job/enqueue.ts"
import { FatalJobError } from "../../core/domain/job/failure.ts"
import {
  alertMail,
  disabledMail,
  invitationMail,
  isDisabledReason,
  type LinkMail,
  resetMail
} from "../../core/domain/mail/account.ts"
import type { Mail } from "../../core/domain/mail/message.ts"
import type { Template } from "../../core/domain/mail/template.ts"
import { isOwnName } from "../../core/domain/own-name.ts"
import { problem } from "../../core/domain/problem.ts"
import type { AuthLog } from "./auth-log.ts"
import type { Store } from "./database.ts"
import type { LinkKind, Links } from "./links.ts"
import { barred } from "./migration.ts"

/** Puts jobs into the queue. */
export type EnqueueAccountJobs = (plans: readonly EnqueuePlan[]) => Promise<unknown>

/** A sign-in, as its client described itself. */
export interface SeenSignIn {
  readonly user: string
  /** The name of the browser, from its cookie; null for a browser without a name. */
  readonly device: string | null
  /** The client as limits see it: its network for IPv6. */
  readonly group: string
  readonly address: string | null
  readonly agent: string | null
}

/** A webhook subscription that the service has disabled. */
export interface DisabledWebhook {
  readonly id: string
  readonly name: string
  /** The id of an account. */
  readonly owner: string
  readonly reason: string
  /** Its page; null: there is none. */
  readonly page: string | null
}

export interface AccountMailer {
  readonly mails: AccountMails
  /** The page that links lead to. */
  readonly page: string
  /** The jobs that send the mails, by name. */
  readonly jobs: ReadonlyMap<string, JobModel>
  /** Sets the queue for the jobs. A request that needs the queue before that is a 503. */
  readonly sendBy: (enqueue: EnqueueAccountJobs) => void
  /** Sends a link to an address, if it belongs to an account with a password that may sign in. */
  readonly askReset: (email: string) => Promise<void>
  /** Sends a link to an account. */
  readonly invite: (user: string) => Promise<void>
  /** Refuses with a 429 when an account has as many links as it may. */
  readonly checkRoom: (user: string) => Promise<void>
  /** Sends an alert if the account does not know the client. Then it gives the name for the browser's cookie, else null. */
  readonly notice: (signIn: SeenSignIn) => Promise<string | null>
  /** Sends a notice of a disabled webhook subscription to its owner. Does nothing where notices are off. */
  readonly webhookDisabled: (disabled: DisabledWebhook) => Promise<void>
}

export interface MailerSettings {
  readonly store: Store
  readonly table: (name: string) => string
  readonly links: Links
  readonly mails: AccountMails
  /** The page that links lead to. */
  readonly page: string
  readonly appName: string
  readonly log: AuthLog
  readonly hashOf: (kind: "account" | "client", value: string) => string
}

/** The names of the jobs. Nobody else's begin so. */
const jobNames = {
  reset: "accounts.reset-password",
  invite: "accounts.invite",
  alert: "accounts.sign-in-alert",
  webhook: "accounts.webhook-disabled"
} as const

/** Days for which an account knows a browser after its last sign-in. */
const knownDays = 180

/** Longest description of a browser in a mail. */
const agentMax = 200

const membersOf = (payload: unknown): Bag => isBag(payload) ? payload : {}

const textIn = (payload: unknown, name: string): string => {
  const value = membersOf(payload)[name]
  if (typeof value === "string") return value
  throw new FatalJobError(`The payload needs the text "${name}".`)
}

const serverOf = (mail: Mail | undefined): Mail => {
  if (mail !== undefined) return mail
  throw new FatalJobError("No mail server is configured: set SERVICE_SMTP_URL and SERVICE_MAIL_FROM.")
}

export const makeMailer = (settings: MailerSettings): AccountMailer => {
  const { appName, hashOf, links, log, mails, page, store, table } = settings
  const [users, verification] = [table("user"), table("verification")]
  let enqueue: EnqueueAccountJobs | null = null

  const put = async (name: string, payload: object, key: string | null): Promise<void> => {
    if (enqueue === null) {
      throw problem("unavailable", "Mails cannot be sent right now.", {}, { "retry-after": "10" })
    }
    await enqueue([{
      name,
      payload: JSON.stringify(payload),
      runAt: null,
      delayMs: null,
      priority: 0,
      key,
      mode: "dedupe",
      group: null,
      ordered: false,
      maxAttempts: jobDefaults.maxAttempts
    }])
  }

  /** Makes a link and mails it. A link that could not be sent is taken back, so that tries do not use up those of the account. */
  const sendLink = async (
    kind: LinkKind,
    template: Template<LinkMail>,
    user: string,
    mail: Mail
  ): Promise<void> => {
    const link = await links.make(kind, user)
    if (link === null) return
    const { email, token } = link
    try {
      const name = kind === "invitation" ? "invitation" : "token"
      await template.send(email, { app: appName, email, link: `${page}#${name}=${token}` }, mail)
    } catch (error) {
      await links.drop(token)
      throw error
    }
    log({ level: "info", event: "link-sent", user, method: kind })
  }

  const reset = async (payload: unknown, { mail }: JobContext): Promise<void> => {
    const email = textIn(payload, "email")
    const server = serverOf(mail)
    // Who signs in only with a provider has no password to forget.
    const [row] = await store.query<{ readonly id: string }>(
      `select u."id" from ${users} u where u."email" = $1 and not ${barred("u")} and exists (`
        + `select 1 from ${table("account")} a where a."userId" = u."id" and a."password" is not null)`,
      [email]
    )
    if (row !== undefined) await sendLink("reset", resetMail, row.id, server)
  }

  const invite = async (payload: unknown, { mail }: JobContext): Promise<void> => {
    const user = textIn(payload, "user")
    const server = serverOf(mail)
    const [row] = await store.query<{ readonly emailVerified: boolean }>(
      `select "emailVerified" from ${users} where "id" = $1`,
      [user]
    )
    if (row === undefined) return
    // Who has set a password by a link before is reminded of it, not invited again.
    if (row.emailVerified) await sendLink("reset", resetMail, user, server)
    else await sendLink("invitation", invitationMail, user, server)
  }

  /** The address of an account that is there and not barred. */
  const addressOf = async (user: string): Promise<string | null> => {
    const [row] = await store.query<{ readonly email: string }>(
      `select "email" from ${users} u where "id" = $1 and not ${barred("u")}`,
      [user]
    )
    return row?.email ?? null
  }

  const alert = async (payload: unknown, { mail }: JobContext): Promise<void> => {
    const [user, at] = [textIn(payload, "user"), textIn(payload, "at")]
    const server = serverOf(mail)
    const { address, agent } = membersOf(payload)
    const email = await addressOf(user)
    if (email === null) return
    await alertMail.send(email, {
      app: appName,
      email,
      at,
      address: typeof address === "string" ? address : null,
      agent: typeof agent === "string" ? agent : null,
      page: mails.passwordReset ? page : null
    }, server)
    log({ level: "info", event: "sign-in-alerted", user })
  }

  const webhook = async (payload: unknown, { mail }: JobContext): Promise<void> => {
    const [user, name, reason] = [textIn(payload, "user"), textIn(payload, "name"), textIn(payload, "reason")]
    if (!isDisabledReason(reason)) throw new FatalJobError("The payload has a reason that this version does not know.")
    const server = serverOf(mail)
    const { page: link } = membersOf(payload)
    const email = await addressOf(user)
    if (email === null) return
    await disabledMail.send(email, {
      app: appName,
      email,
      name,
      reason,
      page: typeof link === "string" ? link : null
    }, server)
    log({ level: "info", event: "owner-notified", user })
  }

  const jobOf = (name: string, run: JobModel["run"]): JobModel => ({
    name,
    maxAttempts: jobDefaults.maxAttempts,
    retryDelayMs: jobDefaults.retryDelayMs,
    maxRetryDelayMs: jobDefaults.maxRetryDelayMs,
    payload: null,
    run,
    retryStepsMs: null,
    // A mail takes a minute at most.
    timeoutMs: 120_000,
    concurrency: 4,
    maxRunning: null,
    rate: null,
    ordered: false,
    schedule: null
  })
  const jobs = [
    ...(mails.passwordReset ? [jobOf(jobNames.reset, reset)] : []),
    ...(mails.invitations ? [jobOf(jobNames.invite, invite)] : []),
    ...(mails.signInAlerts ? [jobOf(jobNames.alert, alert)] : []),
    ...(mails.notices ? [jobOf(jobNames.webhook, webhook)] : [])
  ]

  return {
    mails,
    page,
    jobs: new Map(jobs.map((job) => [job.name, job])),
    sendBy: (given) => {
      enqueue = given
    },
    askReset: (email) => put(jobNames.reset, { email }, email),
    invite: (user) => put(jobNames.invite, { user }, user),
    checkRoom: async (user) => {
      if (await links.count(user) < linksMax) return
      throw problem("too-many-requests", `An account has at most ${linksMax} links an hour.`, {}, {
        "retry-after": "3600"
      })
    },
    notice: async ({ address, agent, device, group, user }) => {
      // A browser is known by its cookie, wherever it is; a program by where it is and what it calls itself, whatever its version.
      const place = `place-${hashOf("client", `${user} ${group} ${(agent ?? "").replace(/[\d.]+/g, "")}`)}`
      const own = device ?? randomBytes(16).toString("base64url")
      const identifiers = [place, `device-${hashOf("client", `${user} ${own}`)}`]
      const rows = await store.query(
        `update ${verification} set "expiresAt" = now() + interval '${knownDays} days', "updatedAt" = now()`
          + ` where "identifier" = any($1) and "value" = $2 and "expiresAt" > now() returning 1`,
        [identifiers, user]
      )
      if (rows.length > 0) return null
      const at = `${new Date().toISOString().slice(0, 19).replace("T", " ")} UTC`
      await put(jobNames.alert, { user, at, address, agent: agent?.slice(0, agentMax) ?? null }, `${user} ${place}`)
      await store.query(
        `insert into ${verification} ("id", "identifier", "value", "expiresAt")`
          + ` select gen_random_uuid()::text, i, $2, now() + interval '${knownDays} days' from unnest($1::text[]) i`,
        [identifiers, user]
      )
      return own
    },
    webhookDisabled: async ({ id, name, owner, page: link, reason }) => {
      if (!mails.notices) return
      // One that was written past the API may have any name.
      const label = isOwnName(name) ? name.trim() : `#${id}`
      await put(jobNames.webhook, { user: owner, name: label, reason, page: link }, null)
    }
  }
}
