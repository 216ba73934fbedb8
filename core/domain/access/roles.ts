/**
 * Roles as bundles of capabilities: reads the declared texts and checks each against the compiled models, so that a typing error is
 * a startup refusal and never a silent grant or denial. It decides nothing about a request; `resolve.ts` does.
 */

import * as Result from "effect/Result"
import type { Field, Model } from "../model/model.ts"
import { didYouMean, type Refusal, shown } from "../model/refusal.ts"
import { type Capability, type Operation, operations, type Roles } from "./rules.ts"

type OwnText = "" | ".own"
type FieldsText = "" | `(${string})`

/**
 * One capability as text.
 *
 * `*` everything · `orders.*` every operation of a resource · `*.read` one operation everywhere · `orders.read` one operation of
 * one resource. A suffix `.own` limits it to records whose owner field is the caller's id; a list `(id,status)` after that limits
 * the fields: those read, or those written by create and update. A capability with a list never gives `delete`.
 */
export type CapabilityText = `*${OwnText}${FieldsText}` | `${string}.${Operation | "*"}${OwnText}${FieldsText}`

/** Roles as declared: for each role what it may do. */
export type DeclaredRoles = { readonly [role: string]: readonly CapabilityText[] }

/**
 * Declares roles: `defineRoles({ admin: ["*"], sales: ["orders.read.own", "customers.read"] })`. Once roles are declared, an
 * operation without an explicit rule needs a matching capability (spec 1, Authorization, 1).
 */
export const defineRoles = <const R extends DeclaredRoles>(roles: R): R => roles

/** What `compileRoles` needs to know of a resource; a compiled `Model` is one. */
export type RoleTarget = Pick<
  Model,
  "byName" | "owner" | "rules" | "key" | "tenant" | "softDelete" | "version"
>

const roleName = /^[a-z0-9_-]+$/
const shape = /^(?:(\*)|([^.()\s]+)\.([^.()\s]+))(\.own)?(?:\(([^()]*)\))?$/

const isOperation = (text: string): text is Operation => operations.some((operation) => operation === text)

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

/**
 * True when no caller can ever write the field with this operation, whatever the rules: read-only fields, the tenant, soft-delete
 * and version columns (under whatever field name), system columns, and the primary key once the record exists.
 */
export const neverWritable = (
  model: Pick<Model, "key" | "tenant" | "softDelete" | "version">,
  field: Field,
  operation: "create" | "update"
): boolean =>
  field.readOnly || field.system ||
  field.column === model.tenant?.column ||
  field.column === model.softDelete?.column ||
  field.column === model.version?.column ||
  (operation === "update" && model.key.some((key) => key.column === field.column))

/** Every problem of one capability text, as `message` and `fix`; or the capability. */
const compileCapability = (
  text: unknown,
  resources: ReadonlyMap<string, RoleTarget>
): { capability: Capability } | { resource: string | null; field: string | null; message: string; fix: string } => {
  const grammar =
    "Write it as *, orders.*, *.read or orders.read, with .own and then a list like (id,status) if wanted."
  const parts = typeof text === "string" ? parseCapability(text) : null
  if (parts === null) {
    return { resource: null, field: null, message: "is not a capability", fix: grammar }
  }
  const { resource, operation, own, fields } = parts
  if (operation !== "*" && !isOperation(operation)) {
    return {
      resource: null,
      field: null,
      message: `names an unknown operation "${operation}"`,
      fix: didYouMean(operation, [...operations, "*"])
    }
  }
  const named = resource === "*" ? null : resources.get(resource)
  if (named === undefined) {
    return {
      resource: null,
      field: null,
      message: `names an unknown resource "${resource}"`,
      fix: didYouMean(resource, resources.keys())
    }
  }
  const targets = named === null ? [...resources] : [[resource, named] as const]
  const place = named === null ? null : resource
  if (own && !targets.some(([, target]) => target.owner !== null)) {
    return {
      resource: place,
      field: null,
      message: named === null
        ? "is limited to own records, but no resource has an owner field"
        : "is limited to own records, but the resource has no owner field",
      fix: "Declare owner on the resource, or leave out .own."
    }
  }
  if (fields !== null) {
    if (fields.some((name) => name === "")) {
      return {
        resource: place,
        field: null,
        message: "has an empty name in its list of fields",
        fix: "Name at least one field between the parentheses, or leave the list out for every field."
      }
    }
    if (operation === "delete") {
      return {
        resource: place,
        field: null,
        message: "limits the fields of delete, which always removes the whole record",
        fix: "Leave out the list of fields."
      }
    }
    for (const name of fields) {
      const holders = targets.filter(([, target]) => target.byName.has(name))
      if (holders.length === 0) {
        return {
          resource: place,
          field: name,
          message: `names an unknown field "${name}"`,
          fix: didYouMean(name, targets.flatMap(([, target]) => [...target.byName.keys()]))
        }
      }
      if ((operation === "create" || operation === "update") && named !== null) {
        const field = named.byName.get(name)
        if (field !== undefined && neverWritable(named, field, operation)) {
          return {
            resource: place,
            field: name,
            message: `gives ${operation} of the field "${name}", which no caller can write`,
            fix: "Leave the field out of the list."
          }
        }
      }
    }
    // A limit that does not limit is worse than none: the rule would win and the list would be silently ignored.
    const covered = operation === "*" ? (["read", "create", "update"] as const) : [operation]
    for (const [name, target] of targets) {
      const ruled = covered.find((each) => target.rules[each] !== null)
      if (ruled !== undefined) {
        return {
          resource: name,
          field: null,
          message:
            `limits the fields of ${name}.${ruled}, which has an explicit rule that takes the place of capabilities`,
          fix: "Remove the explicit rule, or limit the fields with access.fields of the resource."
        }
      }
    }
  }
  return { capability: { resource, operation, own, fields } }
}

/**
 * Compiles declared roles against the compiled models. Every problem is reported, in declared order: unknown resources, operations
 * and fields, `.own` without an owner field, lists that could not take effect, and malformed role names.
 */
export const compileRoles = (
  declared: { readonly [role: string]: readonly string[] },
  resources: ReadonlyMap<string, RoleTarget>
): Result.Result<Roles, readonly Refusal[]> => {
  const refusals: Refusal[] = []
  const roles = new Map<string, readonly Capability[]>()
  if (typeof declared !== "object" || declared === null || Array.isArray(declared)) {
    return Result.fail([{
      resource: null,
      field: null,
      message: "The roles are not an object of lists.",
      fix: "Write roles: defineRoles({ admin: [\"*\"] })."
    }])
  }
  for (const [role, texts] of Object.entries(declared)) {
    if (!roleName.test(role)) {
      refusals.push({
        resource: null,
        field: null,
        message: `Role "${role}" is not a valid role name.`,
        fix: "Use lower-case letters, digits, _ and -."
      })
    }
    if (!Array.isArray(texts)) {
      refusals.push({
        resource: null,
        field: null,
        message: `Role "${role}" is not a list of capabilities.`,
        fix: `Write ${role}: ["orders.read"], or [] for a role that may do nothing by itself.`
      })
      continue
    }
    const capabilities: Capability[] = []
    for (const text of texts) {
      const result = compileCapability(text, resources)
      if ("capability" in result) capabilities.push(result.capability)
      else {
        refusals.push({
          resource: result.resource,
          field: result.field,
          message: `Role "${role}": ${shown(text)} ${result.message}.`,
          fix: result.fix
        })
      }
    }
    roles.set(role, capabilities)
  }
  return refusals.length === 0 ? Result.succeed(roles) : Result.fail(refusals)
}
