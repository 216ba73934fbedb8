/**
 * The routes as one table: method, path, who may, whose attempts count, what a request changes. Every other path is a 404, whatever later versions of
 * better-auth add. It decides nothing: better-auth and the own routes admit callers, and test/auth/routes.test.ts holds them against this table.
 */

import type { Limited } from "../../core/domain/account/attempt.ts"
import type { AccountAct } from "../../core/domain/account/authority.ts"
import type { AccountChange } from "../../core/domain/account/ending.ts"
import type { AccountMails } from "../../core/domain/account/mails.ts"
import type { AuthEventName } from "./auth-log.ts"

export type Method = "GET" | "POST"

/**
 * `recent`: a session that began a short time ago · `password`: a session, with the password again · `waiting`: a sign-in that waits for its second factor,
 * or a session · `admin`: the session of one.
 */
export type Who = "everybody" | "session" | "recent" | "password" | "waiting" | "admin"

export interface AuthRoute {
  readonly method: Method
  readonly who: Who
  /** Absent: nobody counts. */
  readonly limited?: Limited
  /** Whether it says the same to everybody. Then no session is looked at, and pages of any origin may read it. */
  readonly plain?: true
  /** How somebody signs in by it, for the log. An answer below 400 may begin a session. */
  readonly signsIn?: string
  /** Whether it makes a session from another one, or from a sign-in that waits. */
  readonly renews?: true
  /** Whether the store keeps something for it that comes back: a challenge, a state, a link. */
  readonly keeps?: true
  /** The provider that a route belongs to; `named` where the body names it. */
  readonly provider?: { readonly id: string } | "named"
  /** What an admin does by it to the account that `userId` names. */
  readonly act?: AccountAct
  /** The change that the route makes when it succeeds; core/domain/account/ending.ts lists the sessions and tokens that this ends. */
  readonly changes?: AccountChange
  /** Whether no trigger of the store sees that change. */
  readonly unseen?: true
  /** What it means for an account, for the log. */
  readonly event?: AuthEventName
}

export const passwordSignIn = "/sign-in/email"

export const providerSignIn = "/sign-in/social"

/** Where a passkey is used. */
export const passkeySignIn = "/passkey/verify-authentication"

export const passkeyAdding = "/passkey/verify-registration"

/** Where links are asked for. Its answer must not tell whether there is an account. */
export const resetAsking = "/request-password-reset"

/** Where an account is made whose owner sets the password by a link. */
export const inviting = "/admin/invite-user"

/** What a service has besides passwords. */
export interface RouteFeatures {
  readonly twoFactor: boolean
  readonly passkeys: boolean
  readonly mails?: AccountMails | null
}

type Feature = "always" | "twoFactor" | "passkeys" | "passwordReset" | "invitations" | "links"

type Row = readonly [when: Feature, method: Method, path: string, who: Who, more?: Omit<AuthRoute, "method" | "who">]

/** A factor is locked after ten wrong codes that come one after the other. Codes that come at once are counted before they are judged. */
const code = (signsIn: string) => ({ limited: "challenge", signsIn, renews: true }) as const

/** Whoever has the session must not guess its password from many places. */
const guarded = { limited: "session" } as const

const rows: readonly Row[] = [
  ["always", "GET", "/status", "everybody", { plain: true }],
  ["always", "GET", "/providers", "everybody", { plain: true }],
  ["always", "GET", "/jwks", "everybody", { plain: true }],
  ["always", "POST", passwordSignIn, "everybody", { limited: "account", signsIn: "password" }],
  ["always", "POST", "/sign-up/email", "everybody", { event: "account-created" }],
  ["always", "POST", "/sign-out", "everybody"],
  ["always", "GET", "/get-session", "everybody"],
  ["always", "GET", "/token", "session"],
  ["always", "GET", "/list-sessions", "session"],
  ["always", "POST", "/revoke-session", "session", { event: "sessions-ended" }],
  ["always", "POST", "/revoke-sessions", "session", { event: "sessions-ended" }],
  ["always", "POST", "/revoke-other-sessions", "session", { event: "sessions-ended" }],
  ["always", "POST", "/update-user", "session"],
  ["always", "POST", "/change-password", "password", {
    ...guarded,
    renews: true,
    changes: "password",
    event: "password-changed"
  }],
  ["always", "GET", "/api-keys/list", "session"],
  // A key outlives its session, so whoever has somebody's cookie must not make many.
  ["always", "POST", "/api-keys/create", "recent", guarded],
  ["always", "POST", "/api-keys/revoke", "session"],

  ["always", "GET", "/admin/roles", "admin"],
  ["always", "GET", "/admin/list-users", "admin"],
  ["always", "POST", "/admin/invited", "admin"],
  ["always", "GET", "/admin/get-user", "admin"],
  ["always", "POST", "/admin/has-permission", "admin"],
  ["always", "POST", "/admin/create-user", "admin", { event: "account-created" }],
  ["always", "POST", "/admin/update-user", "admin", { act: "change", event: "account-changed" }],
  ["always", "POST", "/admin/set-role", "admin", { act: "change", changes: "role", event: "role-changed" }],
  ["always", "POST", "/admin/ban-user", "admin", { act: "ban", changes: "ban", event: "account-banned" }],
  ["always", "POST", "/admin/unban-user", "admin", { act: "change", changes: "unban", event: "account-unbanned" }],
  ["always", "POST", "/admin/remove-user", "admin", { act: "delete", changes: "deletion", event: "account-deleted" }],
  // A user's first password is a new row. The trigger on changed rows does not see it.
  ["always", "POST", "/admin/set-user-password", "admin", {
    act: "set-password",
    changes: "password",
    unseen: true,
    event: "password-set"
  }],
  ["always", "POST", "/admin/list-user-sessions", "admin", { act: "read" }],
  ["always", "POST", "/admin/revoke-user-session", "admin", { event: "sessions-ended" }],
  ["always", "POST", "/admin/revoke-user-sessions", "admin", {
    act: "revoke",
    changes: "revocation",
    unseen: true,
    event: "tokens-revoked"
  }],

  ["twoFactor", "POST", "/two-factor/verify-totp", "waiting", code("totp")],
  ["twoFactor", "POST", "/two-factor/verify-backup-code", "waiting", code("recovery-code")],
  ["twoFactor", "POST", "/two-factor/enable", "password", guarded],
  ["twoFactor", "POST", "/two-factor/disable", "password", {
    ...guarded,
    renews: true,
    changes: "factor-off",
    event: "second-factor-off"
  }],
  ["twoFactor", "POST", "/two-factor/get-totp-uri", "password", guarded],
  ["twoFactor", "POST", "/two-factor/generate-backup-codes", "password", { ...guarded, event: "recovery-codes-made" }],
  ["twoFactor", "POST", "/admin/reset-second-factor", "admin", { act: "take-factor", changes: "factor-taken" }],

  ["passkeys", "GET", "/passkey/generate-authenticate-options", "everybody", { limited: "client", keeps: true }],
  ["passkeys", "POST", passkeySignIn, "everybody", { limited: "client", signsIn: "passkey" }],
  ["passkeys", "GET", "/passkey/generate-register-options", "recent", { limited: "client", keeps: true }],
  ["passkeys", "POST", passkeyAdding, "recent", { limited: "client", event: "passkey-added" }],
  ["passkeys", "GET", "/passkey/list-user-passkeys", "session"],
  ["passkeys", "POST", "/passkey/update-passkey", "session"],
  ["passkeys", "POST", "/passkey/delete-passkey", "session", { event: "passkey-removed" }],
  ["passkeys", "POST", "/admin/remove-passkeys", "admin", { act: "take-passkeys", changes: "passkeys-taken" }],

  ["passwordReset", "POST", resetAsking, "everybody", { limited: "account", keeps: true }],
  // A link is as good as a password.
  ["links", "POST", "/reset-password", "everybody", { limited: "client", changes: "password" }],
  // Links are limited by account.
  ["invitations", "POST", inviting, "admin", { keeps: true, event: "account-invited" }],
  ["invitations", "POST", "/admin/send-password-link", "admin", { keeps: true, act: "send-link" }]
]

/** The routes by their path below the base path. */
export const makeRoutes = (
  { mails = null, passkeys, twoFactor }: RouteFeatures,
  providers: ReadonlyArray<{ readonly id: string }>
): ReadonlyMap<string, AuthRoute> => {
  const { invitations = false, passwordReset = false } = mails ?? {}
  const has = { always: true, twoFactor, passkeys, passwordReset, invitations, links: passwordReset || invitations }
  const social: AuthRoute = { method: "POST", who: "everybody", limited: "client", keeps: true, provider: "named" }
  return new Map<string, AuthRoute>([
    ...rows.flatMap(([when, method, path, who, more]) => has[when] ? [[path, { method, who, ...more }] as const] : []),
    ...(providers.length === 0 ? [] : [[providerSignIn, social] as const]),
    ...providers.map(({ id }) =>
      [
        `/callback/${id}`,
        { method: "GET", who: "everybody", provider: { id }, signsIn: id } satisfies AuthRoute
      ] as const
    )
  ])
}
