/**
 * The verified caller of a request. Only an authenticator makes one, from a verified credential. A caller never changes, so results that
 * depend on it are cached under the object itself.
 */

import { adminRole } from "../value/role.ts"

export interface Caller {
  /** User id (the token's `sub`). */
  readonly id: string
  readonly roles: readonly string[]
  /** The tenant the caller works in, as text, or null when it has none. */
  readonly tenant: string | null
}

/** The role of whoever sends a public form. Nobody who is signed in can hold it, and no token can carry it. */
export const anonymousRole = "anonymous"

/**
 * The caller of public forms (docs/guides/forms.md). It is the one caller without a credential, and it reaches the routes of
 * forms only.
 */
export const visitor = (tenant: string | null): Caller =>
  Object.freeze({ id: "visitor", roles: Object.freeze([anonymousRole]), tenant })

/** Who made a change, as histories name them: the user's id, or `Visitor`. */
export const makerOf = (caller: Caller): string => caller.roles.includes(anonymousRole) ? "Visitor" : caller.id

/** Whether a role is among those, or could be handed out by them: `admin` may give every role, as with API keys. */
const within = (held: readonly string[]) => (role: string): boolean => held.includes(role) || held.includes(adminRole)

/** Whether somebody with the roles `held` has all of `wanted`. */
export const coversRoles = (held: readonly string[], wanted: readonly string[]): boolean => wanted.every(within(held))

/** The roles that two sets have in common: what acts later has those that its credential had, and never more than its owner has then. */
export const sharedRoles = (before: readonly string[], now: readonly string[]): readonly string[] => [
  ...new Set([...before.filter(within(now)), ...now.filter(within(before))])
]

/** A text that stands for a set of roles: equal exactly for callers with equal sets. It is JSON, so that no role name can look like two. */
export const rolesKey = (caller: Caller): string => {
  let key = keys.get(caller)
  if (key === undefined) keys.set(caller, key = setText(caller.roles))
  return key
}

const keys = new WeakMap<Caller, string>()

const setText = (roles: readonly string[]): string =>
  JSON.stringify(roles.length < 2 ? roles : [...new Set(roles)].sort())
