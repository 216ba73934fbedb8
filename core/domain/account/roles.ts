/**
 * The project's list of roles: which there are, which one a new account gets, and which text of roles is good. It never decides what a
 * role may do: that is access.
 */

import * as Result from "effect/Result"
import { adminRole, rolesOf } from "../value/role.ts"
import { type AccountError, refuse } from "./account.ts"

/** The declared roles. `choices` begins with `admin`; `defaultRole` is undefined when a new account must be given a role. */
export interface RoleList {
  readonly choices: readonly string[]
  readonly defaultRole: string | undefined
}

const roleName = /^[a-z0-9_-]{1,64}$/

/**
 * Reads the project's setting (docs/guides/authentication.md#accounts-and-roles). `admin` is always there and comes first. Without a list the roles are
 * `admin` and `user`. Without a default role, the only role besides `admin` is the default.
 */
export const declareRoles = (
  roles: readonly string[] | undefined,
  defaultRole: string | undefined
): Result.Result<RoleList, AccountError> => {
  const choices = [...new Set([adminRole, ...(roles ?? ["user"])])]
  // Plain JavaScript may give anything.
  const wrong = choices.find((role: unknown) => typeof role !== "string" || !roleName.test(role))
  if (wrong !== undefined) {
    return Result.fail(refuse(
      "invalid-roles",
      `The role name ${JSON.stringify(wrong)} is not valid: use lower-case letters, digits, "_" and "-".`
    ))
  }
  if (defaultRole !== undefined && !choices.includes(defaultRole)) {
    return Result.fail(refuse(
      "invalid-roles",
      `The default role ${JSON.stringify(defaultRole)} is not one of the roles: ${choices.join(", ")}.`
    ))
  }
  return Result.succeed({ choices, defaultRole: defaultRole ?? (choices.length === 2 ? choices[1] : undefined) })
}

/** One role or several (a comma-separated text or a list) as the text that is stored; refuses a role outside the list. */
export const readRoles = (
  list: RoleList,
  given: string | readonly string[]
): Result.Result<string, AccountError> => {
  const names = rolesOf(typeof given === "string" ? given : given.join(","))
  const unknown = names.find((name) => !list.choices.includes(name))
  if (unknown !== undefined) {
    return Result.fail(refuse(
      "unknown-role",
      `There is no role ${JSON.stringify(unknown)}. The roles are: ${list.choices.join(", ")}.`
    ))
  }
  return names.length === 0 ? Result.fail(roleRequired(list)) : Result.succeed(names.join(","))
}

/** The role text of a new account. The first account of a store is always an admin. */
export const roleOfNew = (
  list: RoleList,
  given: string | readonly string[] | undefined,
  first: boolean
): Result.Result<string, AccountError> => {
  if (given !== undefined) {
    return Result.map(readRoles(list, given), (text) => first && !rolesOf(text).includes(adminRole) ? adminRole : text)
  }
  if (first) return Result.succeed(adminRole)
  return list.defaultRole === undefined ? Result.fail(roleRequired(list)) : Result.succeed(list.defaultRole)
}

const roleRequired = (list: RoleList): AccountError =>
  refuse("role-required", `A role must be chosen. The roles are: ${list.choices.join(", ")}.`)
