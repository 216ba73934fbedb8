/** Resources that nobody writes through the service: what says so, and what then cannot be said. It decides no access of reads. */

import type { CompiledRules, Operation } from "../access/rules.ts"
import type { Bag } from "../bag.ts"
import { type Report, shown } from "../declare/refusal.ts"

const writes: readonly Operation[] = ["create", "update", "delete"]

/** Reads `readOnly`. */
export const readReadOnly = (resource: string, { readOnly }: Bag, report: Report): boolean => {
  if (readOnly !== undefined && typeof readOnly !== "boolean") {
    report(resource, null, `readOnly is ${shown(readOnly)}, not true or false.`, "Write readOnly: true.")
  }
  return readOnly === true
}

/** The rules of a read-only resource. One that could allow a write contradicts it. */
export const closed = (resource: string, rules: CompiledRules, report: Report): CompiledRules => {
  const never = { of: "constant", allow: false } as const
  for (const operation of writes) {
    const rule = rules[operation]
    if (rule === null || (rule.of === "constant" && !rule.allow)) continue
    report(
      resource,
      null,
      `access.${operation} allows a write, and the resource is read-only.`,
      `Remove access.${operation}, or readOnly.`
    )
  }
  return { ...rules, create: never, update: never, delete: never }
}
