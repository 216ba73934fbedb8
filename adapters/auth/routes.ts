/**
 * The routes of better-auth that exist here, with what may be sent to each. Every other path is a 404, whatever later versions of
 * better-auth add. It decides nothing about who may call them.
 */

import type { AccountMails } from "../../core/domain/account/mails.ts"
import { rolesOf } from "../../core/domain/account/roles.ts"
import { type Bag, isBag } from "../../core/domain/bag.ts"
import { fitsName, isOneLine } from "../../core/domain/own-name.ts"
import { type Problem, problem } from "../../core/domain/problem.ts"
import { timestampCell } from "../../core/domain/value/instant.ts"
import { assertionOf, passkeyName, registrationOf } from "./webauthn.ts"

/** The JSON object of a request. */
export type Body = Bag

export type Method = "GET" | "POST"

/**
 * Whose attempts a route counts: those of the client, and those of the account named in the body, of the session's user, or of the user who
 * waits for a second factor.
 */
export type Limited = "client" | "account" | "session" | "challenge"

export interface AuthRoute {
  readonly method: Method
  readonly limited?: Limited
  /** The provider that a route belongs to; `named` where the body names it. */
  readonly provider?: { readonly id: string } | "named"
  /** Whether an answer below 400 may begin a session. */
  readonly signsIn?: boolean
}

/** Where a passkey is used. */
export const passkeySignIn = "/passkey/verify-authentication"

/** Where links are asked for. Its answer must not tell whether there is an account. */
export const resetAsking = "/request-password-reset"

/** Where an account is made whose owner sets the password by a link. */
export const inviting = "/admin/invite-user"

const get: AuthRoute = { method: "GET" }
const post: AuthRoute = { method: "POST" }
const limited: AuthRoute = { method: "POST", limited: "client" }
/** Asks for the password again. Whoever has the session must not guess it from many places. */
const guarded: AuthRoute = { method: "POST", limited: "session" }

const always: ReadonlyArray<readonly [string, AuthRoute]> = [
  ["/jwks", get],
  ["/token", get],
  ["/get-session", get],
  ["/list-sessions", get],
  ["/admin/get-user", get],
  ["/admin/roles", get],
  ["/admin/list-users", get],
  ["/sign-in/email", { method: "POST", limited: "account", signsIn: true }],
  ["/sign-up/email", post],
  ["/sign-out", post],
  ["/change-password", guarded],
  ["/update-user", post],
  ["/revoke-session", post],
  ["/revoke-sessions", post],
  ["/revoke-other-sessions", post],
  ["/admin/create-user", post],
  ["/admin/update-user", post],
  ["/admin/set-role", post],
  ["/admin/ban-user", post],
  ["/admin/unban-user", post],
  ["/admin/remove-user", post],
  ["/admin/set-user-password", post],
  ["/admin/has-permission", post],
  ["/admin/list-user-sessions", post],
  ["/admin/revoke-user-session", post],
  ["/admin/revoke-user-sessions", post],
  ["/api-keys/list", get],
  // A key outlives its session, so whoever has somebody's cookie must not make many.
  ["/api-keys/create", guarded],
  ["/api-keys/revoke", post]
]

/** A factor is locked after ten wrong codes that come one after the other. Codes that come at once are counted before they are judged. */
const coded: AuthRoute = { method: "POST", limited: "challenge", signsIn: true }

/** Each takes a password or a code, so each is limited. */
const secondFactor: ReadonlyArray<readonly [string, AuthRoute]> = [
  ["/two-factor/enable", guarded],
  ["/two-factor/disable", guarded],
  ["/two-factor/get-totp-uri", guarded],
  ["/two-factor/generate-backup-codes", guarded],
  ["/two-factor/verify-totp", coded],
  ["/two-factor/verify-backup-code", coded],
  ["/admin/reset-second-factor", post]
]

/** The options keep a challenge in the store, so asking for them is limited, too. */
const withPasskeys: ReadonlyArray<readonly [string, AuthRoute]> = [
  ["/passkey/generate-register-options", { ...get, limited: "client" }],
  ["/passkey/verify-registration", limited],
  ["/passkey/generate-authenticate-options", { ...get, limited: "client" }],
  [passkeySignIn, { ...limited, signsIn: true }],
  ["/passkey/list-user-passkeys", get],
  ["/passkey/update-passkey", post],
  ["/passkey/delete-passkey", post],
  ["/admin/remove-passkeys", post]
]

/** A link is as good as a password, so using one is limited. Accounts that are invited are limited by their number, links by account. */
const withMails = ({ invitations, passwordReset }: AccountMails): ReadonlyArray<readonly [string, AuthRoute]> => [
  ...(passwordReset ? [[resetAsking, { method: "POST", limited: "account" }] as const] : []),
  ...(passwordReset || invitations ? [["/reset-password", limited] as const] : []),
  ...(invitations ? [[inviting, post] as const, ["/admin/send-password-link", post] as const] : [])
]

/** The routes by their path below the base path. */
export const makeRoutes = (
  { mails = null, passkeys, twoFactor }: {
    readonly twoFactor: boolean
    readonly passkeys: boolean
    readonly mails?: AccountMails | null
  },
  providers: ReadonlyArray<{ readonly id: string }>
): ReadonlyMap<string, AuthRoute> =>
  new Map([
    ...always,
    ...(twoFactor ? secondFactor : []),
    ...(passkeys ? withPasskeys : []),
    ...(mails === null ? [] : withMails(mails)),
    ...(providers.length === 0 ? [] : [["/sign-in/social", { ...limited, provider: "named" }] as const]),
    ...providers.map(({ id }) => [`/callback/${id}`, { method: "GET", provider: { id }, signsIn: true }] as const)
  ])

/** Fields of a user that an admin may set by `data`; above all not its id. */
const settable = ["name", "email", "emailVerified", "image", "role", "banned", "banReason", "banExpires"]

const isText = (value: unknown): boolean => typeof value === "string"
const isName = (value: unknown): boolean => typeof value === "string" && fitsName(value) && isOneLine(value)
const isTruth = (value: unknown): boolean => typeof value === "boolean"
const orNull = (fits: (value: unknown) => boolean) => (value: unknown): boolean => value === null || fits(value)

/** Longest address of an image, in characters. */
const imageMax = 2_048

/** An address that a page may load an image from. Scripts and files of the visitor's machine are refused. */
const isImage = (value: unknown): boolean =>
  typeof value === "string" && value.length <= imageMax && URL.canParse(value) && new URL(value).protocol === "https:"

const isInstant = (value: unknown): boolean => typeof value === "string" && timestampCell(value) !== null

/** Longest ban with an end: a hundred years. */
const banSecondsMax = 3_155_760_000

/** Fields that better-auth would give to the database unchecked. It checks the rest itself. */
const kinds: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["userId", isText],
  ["name", isName],
  ["image", orNull(isImage)],
  ["emailVerified", isTruth],
  ["banned", isTruth],
  ["banReason", orNull(isText)],
  ["banExpires", orNull(isInstant)],
  ["banExpiresIn", (value) => Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= banSecondsMax]
])

/** The fields as they are; throws a `Problem` for one that its column cannot hold. */
const fitting = (fields: Body): Body => {
  const wrong = Object.keys(fields).find((name) => kinds.get(name)?.(fields[name]) === false)
  if (wrong === undefined) return fields
  throw problem("invalid-record", `The value of ${wrong} is not valid.`, { code: "VALIDATION_ERROR" })
}

/** What accounts can be listed by: their fields that admins see. */
const listedBy: ReadonlySet<unknown> = new Set([
  "id",
  "name",
  "email",
  "emailVerified",
  "image",
  "role",
  "banned",
  "banReason",
  "banExpires",
  "createdAt",
  "updatedAt",
  "twoFactorEnabled"
])

/** Most accounts in one answer. */
const listedMax = 500

/** The query of a listing of accounts. */
export interface Listing {
  /** As better-auth gets it. */
  readonly search: string
  /** Why it cannot be; null when only the database can tell. */
  readonly refusal: Problem | null
  /** What to answer when the database refused it. */
  readonly failed: Problem
}

/**
 * Reads the query of `/admin/list-users`. better-auth answers an empty list whenever the database refuses one. It repeats a limit only
 * after it read the accounts, so a limit is always given.
 */
export const readListing = (search: string): Listing => {
  const query = new URLSearchParams(search)
  const wrong = (parameter: string, message: string): Problem =>
    problem("invalid-parameter", message, { code: "VALIDATION_ERROR", errors: [{ parameter, message }] })
  const refuse = (names: readonly string[], fits: (value: string) => boolean, message: string): Problem | null => {
    const name = names.find((each) => !query.getAll(each).every(fits))
    return name === undefined ? null : wrong(name, message)
  }
  const refusal = refuse(["sortBy", "filterField"], (value) => listedBy.has(value), "Accounts have no such field.")
    ?? refuse(["limit", "offset"], (value) => /^\d{1,9}$/.test(value), "The parameter must be a whole number.")
  if (Number(query.get("limit")) > listedMax) query.set("limit", String(listedMax))
  // What better-auth uses when none is given.
  if (Number(query.get("limit")) === 0) query.set("limit", "100")
  return {
    search: `?${query.toString()}`,
    refusal,
    failed: wrong(
      ["filterValue", "searchValue"].find((name) => query.has(name)) ?? "sortBy",
      "Accounts cannot be listed by this value."
    )
  }
}

/** Role texts become lists, the form in which better-auth takes several roles. Anything else is left for it to refuse. */
const rolesIn = (role: unknown): unknown => typeof role === "string" ? rolesOf(role) : role

const chosen = (data: unknown): unknown =>
  isBag(data)
    ? fitting(Object.fromEntries(
      settable.filter((name) => Object.hasOwn(data, name)).map((
        name
      ) => [name, name === "role" ? rolesIn(data[name]) : data[name]])
    ))
    : data

const only = (body: Body, names: readonly string[]): Body =>
  Object.fromEntries(names.filter((name) => Object.hasOwn(body, name)).map((name) => [name, body[name]]))

/** The body as better-auth gets it. Throws a `Problem` for a value that cannot be. */
export const adapt = (route: string, body: Body, defaultRole: string | undefined): Body => {
  // better-auth would turn a list into a text and find the user, and the log would not say who it was.
  fitting(only(body, ["userId"]))
  switch (route) {
    case "/change-password":
      // A password change ends every session; this flag gives the caller a new one.
      return { ...body, revokeOtherSessions: true }
    case "/update-user":
    case "/admin/ban-user":
      return fitting(body)
    case "/admin/set-role":
      return { ...body, role: rolesIn(body["role"]) }
    case "/admin/update-user":
      return { ...body, data: chosen(body["data"]) }
    case "/admin/create-user": {
      const { data: given, role, ...rest } = body
      fitting(only(body, ["name"]))
      const data = chosen(given ?? {})
      const wanted = role ?? (isBag(data) ? data["role"] : undefined) ?? defaultRole
      // Without any role an empty list is passed on. It is refused, with the choices, after the caller's rights were checked.
      return { ...rest, data, role: rolesIn(wanted ?? "") }
    }
    case inviting: {
      const { email, name } = body
      // A password that nobody knows: the account's owner sets one by the link.
      return adapt("/admin/create-user", {
        ...only(body, ["email", "role"]),
        name: name ?? (typeof email === "string" ? email.slice(0, Math.max(0, email.indexOf("@"))) : ""),
        password: `${crypto.randomUUID()}${crypto.randomUUID()}`
      }, defaultRole)
    }
    case "/sign-in/social":
      // No scopes, no tokens from elsewhere and no request for an account, because those are settings. What is added comes back with the
      // state.
      return {
        ...only(body, ["provider", "callbackURL", "errorCallbackURL", "loginHint", "disableRedirect"]),
        additionalData: only(body, ["provider"])
      }
    case "/two-factor/enable":
      return { ...only(body, ["password"]), method: "totp" }
    case "/two-factor/verify-totp":
    case "/two-factor/verify-backup-code":
      return only(body, ["code", "trustDevice"])
    case "/passkey/verify-registration": {
      const name = passkeyName(body["name"])
      return { response: registrationOf(body["response"]), ...(name === undefined ? {} : { name }) }
    }
    case passkeySignIn:
      return { response: assertionOf(body["response"]) }
    case "/passkey/update-passkey":
      return { ...only(body, ["id"]), name: passkeyName(body["name"]) ?? "" }
    case "/passkey/delete-passkey":
      return only(body, ["id"])
    default:
      return body
  }
}
