/**
 * The verified caller of a request. Made by an authenticator only; no code path makes one without a verified credential. It never changes: what
 * follows from it is remembered by it.
 */

export interface Caller {
  /** User id (the token's `sub`). */
  readonly id: string
  readonly roles: readonly string[]
  /** The tenant the caller works in, as text, or null when it has none. */
  readonly tenant: string | null
}

/** The role of whoever sends a public form. Nobody who is signed in can hold it, and no token can carry it. */
export const anonymousRole = "anonymous"

/** The caller of public forms (spec 2, Public form declaration): the one caller without a credential, who gets to the routes of forms only. */
export const visitor = (tenant: string | null): Caller =>
  Object.freeze({ id: "visitor", roles: Object.freeze([anonymousRole]), tenant })

/** Who made a change, as histories name them: the user's id, or `Visitor`. */
export const makerOf = (caller: Caller): string => caller.roles.includes(anonymousRole) ? "Visitor" : caller.id

/** Stable text of a role set: equal exactly for callers whose roles are equal as sets (JSON, so that no role name can pose as two). */
export const rolesKey = (caller: Caller): string => {
  let key = keys.get(caller)
  if (key === undefined) keys.set(caller, key = keyOf(caller.roles))
  return key
}

const keys = new WeakMap<Caller, string>()

const keyOf = (roles: readonly string[]): string =>
  JSON.stringify(roles.length < 2 ? roles : [...new Set(roles)].sort())
