/**
 * Roles as people write them: bundles of capabilities, and the grammar of one capability. Names are not checked here; `compile/roles.ts` does.
 */

import type { Operation } from "../access/rules.ts"

type OwnText = "" | ".own"

type FieldsText = "" | `(${string})`

/**
 * One capability as text.
 *
 * `*` everything · `orders.*` every operation of a resource · `*.read` one operation everywhere · `orders.read` one operation of one
 * resource.
 *
 * A suffix `.own` limits it to records whose owner field is the caller's id. A list `(id,status)` after that limits the fields: the fields of a read,
 * or the fields that a create or update writes. A capability with a list never grants `delete`.
 */
export type CapabilityText = `*${OwnText}${FieldsText}` | `${string}.${Operation | "*"}${OwnText}${FieldsText}`

/** Roles as declared: for each role what it may do. */
export type DeclaredRoles = { readonly [role: string]: readonly CapabilityText[] }

/**
 * Declares roles: `defineRoles({ admin: ["*"], sales: ["orders.read.own", "customers.read"] })`. Once roles are declared, an
 * operation without an explicit rule needs a matching capability (docs/guides/access.md#roles).
 */
export const defineRoles = <const R extends DeclaredRoles>(roles: R): R => roles

const shape = /^(?:(\*)|([^.()\s]+)\.([^.()\s]+))(\.own)?(?:\(([^()]*)\))?$/

/** Parts of a capability text, or null when the text is not of the grammar. Names are not checked. */
export const parseCapability = (
  text: string
): { resource: string; operation: string; own: boolean; fields: readonly string[] | null } | null => {
  const parts = shape.exec(text)
  if (parts === null) return null
  const [, everything, resource, operation, own, list] = parts
  return {
    resource: everything ?? resource ?? "",
    operation: everything ?? operation ?? "",
    own: own !== undefined,
    fields: list === undefined ? null : list.split(",").map((name) => name.trim())
  }
}
