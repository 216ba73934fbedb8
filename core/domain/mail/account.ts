/** The contents of mails about accounts. It sends nothing, and knows neither accounts nor links. */

import { defineTemplate, html, type Template } from "./template.ts"

/** What a mail with a link says. */
export interface LinkMail {
  /** The service, as people know it. */
  readonly app: string
  readonly email: string
  readonly link: string
}

/** What a mail about a sign-in says. */
export interface AlertMail {
  readonly app: string
  readonly email: string
  /** When, in UTC. */
  readonly at: string
  /** The client's address, where it is known. */
  readonly address: string | null
  /** What the client calls itself. */
  readonly agent: string | null
  /** Where to ask for a new password. Null: nowhere. */
  readonly page: string | null
}

/** What a mail about a disabled webhook subscription says. */
export interface DisabledMail {
  readonly app: string
  readonly email: string
  /** The subscription, as its owner calls it. */
  readonly name: string
  readonly reason: keyof typeof disabledReasons
  /** Its page. Null: nowhere. */
  readonly page: string | null
}

const disabledReasons = {
  gone: "Its receiver answered 410 Gone, so it wants no more events.",
  "no-access": "You no longer have the access that it needs.",
  failing: "None of its deliveries has succeeded for three days."
} as const

/** Whether a text is a reason that the mail knows. */
export const isDisabledReason = (text: string): text is DisabledMail["reason"] => Object.hasOwn(disabledReasons, text)

const appName = "Shop administration"
const exampleLink = "https://admin.example.com/-/reset#token=…"

const good = "It is good for one hour and for one use."

export const resetMail: Template<LinkMail> = defineTemplate<LinkMail>({
  name: "accounts.reset-password",
  subject: ({ app }) => `Set a new password for ${app}`,
  text: ({ app, email, link }) =>
    `Somebody asked for a new password for the account ${email} at ${app}.\n\nSet it here:\n${link}\n\n${good}\n\n`
    + `If this was not you, do nothing: the password stays as it is.\n`,
  html: ({ app, email, link }) =>
    html`<p>Somebody asked for a new password for the account ${email} at ${app}.</p><p><a href="${link}">Set a new password</a></p><p>${good}</p><p>If this was not you, do nothing: the password stays as it is.</p>`,
  example: { app: appName, email: "ada@example.com", link: exampleLink }
})

export const invitationMail: Template<LinkMail> = defineTemplate<LinkMail>({
  name: "accounts.invite",
  subject: ({ app }) => `Your account at ${app}`,
  text: ({ app, email, link }) =>
    `There is an account for you at ${app}: ${email}.\n\nSet its password here:\n${link}\n\n${good}\n\n`
    + `If the link has expired, ask your administrator for a new one.\n`,
  html: ({ app, email, link }) =>
    html`<p>There is an account for you at ${app}: ${email}.</p><p><a href="${link}">Set its password</a></p><p>${good}</p><p>If the link has expired, ask your administrator for a new one.</p>`,
  example: { app: appName, email: "ada@example.com", link: exampleLink }
})

export const alertMail: Template<AlertMail> = defineTemplate<AlertMail>({
  name: "accounts.sign-in-alert",
  subject: ({ app }) => `New sign-in to ${app}`,
  text: ({ address, agent, app, at, email, page }) =>
    `Somebody signed in to the account ${email} at ${app} with a browser or program that it did not know.\n\n`
    + `Time: ${at}\n${address === null ? "" : `Address: ${address}\n`}${agent === null ? "" : `Browser: ${agent}\n`}\n`
    + `If this was you, do nothing. If not, ${
      page === null ? "tell your administrator." : `set a new password, which ends all sessions:\n${page}`
    }\n`,
  html: ({ address, agent, app, at, email, page }) =>
    html`<p>Somebody signed in to the account ${email} at ${app} with a browser or program that it did not know.</p><p>Time: ${at}${
      address === null ? "" : html`<br>Address: ${address}`
    }${agent === null ? "" : html`<br>Browser: ${agent}`}</p><p>If this was you, do nothing. If not, ${
      page === null
        ? "tell your administrator."
        : html`<a href="${page}">set a new password</a>, which ends all sessions.`
    }</p>`,
  example: {
    app: appName,
    email: "ada@example.com",
    at: "2026-11-23 07:00:00 UTC",
    address: "192.0.2.1",
    agent: "Firefox on Linux",
    page: "https://admin.example.com/-/reset"
  }
})

const nothingSent = "It sends nothing more until it is enabled again. Its failed deliveries can then be sent again."

export const disabledMail: Template<DisabledMail> = defineTemplate<DisabledMail>({
  name: "accounts.webhook-disabled",
  subject: ({ app }) => `A webhook of yours was disabled at ${app}`,
  text: ({ app, email, name, page, reason }) =>
    `The webhook "${name}" of the account ${email} at ${app} was disabled.\n\n${
      disabledReasons[reason]
    }\n\n${nothingSent}\n`
    + (page === null ? "" : `${page}\n`),
  html: ({ app, email, name, page, reason }) =>
    html`<p>The webhook “${name}” of the account ${email} at ${app} was disabled.</p><p>${
      disabledReasons[reason]
    }</p><p>${nothingSent}</p>${page === null ? "" : html`<p><a href="${page}">Open the webhook</a></p>`}`,
  example: {
    app: appName,
    email: "ada@example.com",
    name: "Orders to the warehouse",
    reason: "failing",
    page: "https://admin.example.com/webhook_subscriptions/7"
  }
})

/** The templates of the mails that a service sends. */
export const accountTemplates = (
  mails: {
    readonly passwordReset: boolean
    readonly invitations: boolean
    readonly signInAlerts: boolean
    readonly notices: boolean
  } | null
): ReadonlyArray<Template<never>> =>
  mails === null ? [] : [
    ...(mails.passwordReset ? [resetMail] : []),
    ...(mails.invitations ? [invitationMail] : []),
    ...(mails.signInAlerts ? [alertMail] : []),
    ...(mails.notices ? [disabledMail] : [])
  ]
