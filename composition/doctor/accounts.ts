/**
 * Roles and tenants that the declaration asks for but that the service's own accounts can never have. Pure. Only for services that keep
 * accounts: another authenticator may answer anything.
 */

import type { Compiled } from "../../core/domain/compile/compile.ts"
import { didYouMean } from "../../core/domain/declare/refusal.ts"
import { rolesOf } from "../../core/domain/value/role.ts"
import type { Finding } from "./finding.ts"

/** Most accounts that a finding names. */
const named = 5

/** Accounts with roles that the configuration does not have any more: such a role gives nothing, and nobody sees why. */
export const checkRolesHeld = (
  users: ReadonlyArray<{ readonly email: string; readonly role: string }>,
  roles: readonly string[]
): readonly Finding[] => {
  const lost = new Map<string, string[]>()
  for (const { email, role } of users) {
    for (const name of rolesOf(role)) {
      if (!roles.includes(name)) lost.set(name, [...lost.get(name) ?? [], email])
    }
  }
  return [...lost].map(([role, emails]) => ({
    level: "warning",
    check: "roles",
    resource: null,
    field: null,
    message: `${
      emails.length === 1 ? "An account has" : `${emails.length} accounts have`
    } the role "${role}", which does not exist: ${emails.slice(0, named).join(", ")}${
      emails.length > named ? ", …" : ""
    }.`,
    fix: `Give ${emails.length === 1 ? "it" : "them"} another one: service users role <EMAIL> ${
      roles.at(-1) ?? "admin"
    }; or declare the role again.`,
    sql: []
  }))
}

/** Findings about roles and tenants that no account can have. */
export const checkAccounts = ({ auth, models, roles, tenants }: Compiled): readonly Finding[] => {
  const findings: Finding[] = []
  const say = (level: Finding["level"], check: string, message: string, fix: string): void => {
    findings.push({ level, check, resource: null, field: null, message, fix, sql: [] })
  }
  const apps = auth?.apps ?? []
  const listed = auth?.roles
  if (listed !== undefined && roles !== null) {
    const held = new Set(["admin", "anonymous", ...listed, ...apps.flatMap((app) => Object.values(app.roles).flat())])
    for (const role of roles.keys()) {
      if (held.has(role)) continue
      say(
        "warning",
        "roles",
        `No account can have the role "${role}": auth.roles does not list it.`,
        `Add it to auth.roles, or correct its name: ${didYouMean(role, listed)}`
      )
    }
  }
  const tenanted = [...models.values()].filter((model) => model.tenant !== null).map(({ name }) => name)
  if (
    tenants === null && tenanted.length > 0 && auth?.tenant === undefined &&
    apps.every((app) => app.tenant === undefined)
  ) {
    const [what, them] = tenanted.length === 1 ? ["resource", "belongs"] : ["resources", "belong"]
    say(
      "error",
      "tenant",
      `The ${what} ${
        tenanted.join(", ")
      } ${them} to tenants, and no account has one: every request for them is refused.`,
      "Write auth: { tenant: … } for one that all accounts have; authenticate may answer another for each."
    )
  }
  return findings
}
