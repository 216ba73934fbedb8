/** The verified caller of a request. Made by an authenticator only; no code path makes one without a verified credential. */

export interface Caller {
  /** User id (the token's `sub`). */
  readonly id: string
  readonly roles: readonly string[]
  /** The tenant the caller works in, as text, or null when it has none. */
  readonly tenant: string | null
}

/** Stable text of a role set: equal exactly for callers whose roles are equal as sets (JSON, so that no role name can pose as two). */
export const rolesKey = (caller: Caller): string =>
  JSON.stringify(caller.roles.length < 2 ? caller.roles : [...new Set(caller.roles)].sort())
