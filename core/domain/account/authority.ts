/**
 * Decides who may change an account, and which roles an account has in a tenant. Only `admin` has rights over accounts; rights of roles over resources
 * are access. It never identifies a caller.
 */

import { adminRole, rolesOf } from "../value/role.ts"

/** Whether a role has rights over accounts: to see them, to make, change, ban and delete them, and to end their sessions. */
export const managesAccounts = (role: string): boolean => role === adminRole

/** What is done to an account by an admin. */
export type AccountAct =
  | "read"
  | "change"
  | "ban"
  | "delete"
  | "set-password"
  | "revoke"
  | "send-link"
  | "take-factor"
  | "take-passkeys"

/** Acts that nobody does to the own account: to lock oneself out, or to drop a factor without the password that this needs in one's account. */
const neverOwn: ReadonlySet<AccountAct> = new Set(["ban", "delete", "take-factor", "take-passkeys"])

/** An account as acts look at it. `barred`: it may not sign in now. */
export interface Standing {
  readonly id: string
  /** As stored: comma-separated. */
  readonly role: string
  readonly barred: boolean
}

/** Whether an account is an admin who may sign in. The last one stays. */
export const isActiveAdmin = ({ barred, role }: Omit<Standing, "id">): boolean =>
  !barred && rolesOf(role).some(managesAccounts)

/** Why an act is refused; null: it may happen. */
export type ActRefusal = "not-an-admin" | "own-account"

/** Whether somebody may do something to an account. That the last active admin stays is judged by the change itself, where all accounts are seen. */
export const judgeAct = (act: AccountAct, by: Standing, of: string): ActRefusal | null =>
  !isActiveAdmin(by) ? "not-an-admin" : of === by.id && neverOwn.has(act) ? "own-account" : null

/** The roles that an account has now; null: it may not act. */
export const rolesNow = ({ barred, role }: Omit<Standing, "id">): readonly string[] | null => {
  const roles = barred ? [] : rolesOf(role)
  return roles.length === 0 ? null : roles
}

/** Whether the accounts of a service, which all work in the tenant `home`, are those that a tenant has. Null: no tenant. */
export const isHome = (home: string | number | undefined, tenant: string | null): boolean =>
  tenant === null || tenant === String(home ?? "")
