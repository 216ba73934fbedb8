/**
 * Bodies as better-auth gets them: only members that a route takes, with values that their columns can hold. It decides nothing about who may send them.
 */

import { isBag } from "../../core/domain/bag.ts"
import { fitsName, isOneLine } from "../../core/domain/own-name.ts"
import { problem } from "../../core/domain/problem.ts"
import { timestampCell } from "../../core/domain/value/instant.ts"
import { rolesOf } from "../../core/domain/value/role.ts"
import type { Body } from "./auth-body.ts"
import { inviting, passkeyAdding, passkeySignIn, providerSignIn } from "./routes.ts"
import { assertionOf, passkeyName, registrationOf } from "./webauthn.ts"

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

type Adapter = (body: Body, defaultRole: string | undefined) => Body

const newUser: Adapter = ({ data: given, role, ...rest }, defaultRole) => {
  fitting(only(rest, ["name"]))
  const data = chosen(given ?? {})
  const wanted = role ?? (isBag(data) ? data["role"] : undefined) ?? defaultRole
  // Without any role an empty list is passed on. It is refused, with the choices, after the caller's rights were checked.
  return { ...rest, data, role: rolesIn(wanted ?? "") }
}

const codeOnly: Adapter = (body) => only(body, ["code", "trustDevice"])

/** What is made of the body of a route; of any other route it is passed on as it is. */
const adapters: ReadonlyMap<string, Adapter> = new Map<string, Adapter>([
  // A password change ends every session; this flag gives the caller a new one.
  ["/change-password", (body) => ({ ...body, revokeOtherSessions: true })],
  ["/update-user", fitting],
  ["/admin/ban-user", fitting],
  ["/admin/set-role", (body) => ({ ...body, role: rolesIn(body["role"]) })],
  ["/admin/update-user", (body) => ({ ...body, data: chosen(body["data"]) })],
  ["/admin/create-user", newUser],
  [inviting, (body, defaultRole) => {
    const { email, name } = body
    // A password that nobody knows: the account's owner sets one by the link.
    return newUser({
      ...only(body, ["email", "role"]),
      name: name ?? (typeof email === "string" ? email.slice(0, Math.max(0, email.indexOf("@"))) : ""),
      password: `${crypto.randomUUID()}${crypto.randomUUID()}`
    }, defaultRole)
  }],
  // No scopes, no tokens from elsewhere and no request for an account, because those are settings. What is added comes back with the state.
  [providerSignIn, (body) => ({
    ...only(body, ["provider", "callbackURL", "errorCallbackURL", "loginHint", "disableRedirect"]),
    additionalData: only(body, ["provider"])
  })],
  ["/two-factor/enable", (body) => ({ ...only(body, ["password"]), method: "totp" })],
  ["/two-factor/verify-totp", codeOnly],
  ["/two-factor/verify-backup-code", codeOnly],
  [passkeyAdding, (body) => {
    const name = passkeyName(body["name"])
    return { response: registrationOf(body["response"]), ...(name === undefined ? {} : { name }) }
  }],
  [passkeySignIn, (body) => ({ response: assertionOf(body["response"]) })],
  ["/passkey/update-passkey", (body) => ({ ...only(body, ["id"]), name: passkeyName(body["name"]) ?? "" })],
  ["/passkey/delete-passkey", (body) => only(body, ["id"])]
])

/** The body as better-auth gets it. Throws a `Problem` for a value that cannot be. */
export const adapt = (path: string, body: Body, defaultRole: string | undefined): Body => {
  // better-auth would turn a list into a text and find the user, and the log would not say who it was.
  fitting(only(body, ["userId"]))
  return adapters.get(path)?.(body, defaultRole) ?? body
}
