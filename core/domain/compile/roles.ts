/**
 * Roles as bundles of capabilities: reads the declared texts and checks each against the compiled models, so that a typing error is
 * a startup refusal and never a silent grant or denial. It decides nothing about a request; `resolve.ts` does.
 */

import * as Result from "effect/Result"
import { type Capability, type Operation, operations, type Roles } from "../access/rules.ts"
import { didYouMean, type Refusal, shown } from "../declare/refusal.ts"
import type { Field, Model } from "../model/model.ts"

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

/** What is wrong with a capability; the message goes on from its text. */
const wrong = (resource: string | null, field: string | null, message: string, fix: string): Refusal => ({
  resource,
  field,
  message,
  fix
})

type Targets = ReadonlyArray<readonly [name: string, target: RoleTarget]>

/** The first thing that is wrong with a capability's list of fields. `named`: the one resource it is for; null: all of `targets`. */
const fieldsRefusal = (
  fields: readonly string[],
  operation: Operation | "*",
  named: RoleTarget | null,
  targets: Targets
): Refusal | null => {
  const place = named === null ? null : targets[0]![0]
  if (fields.includes("")) {
    return wrong(
      place,
      null,
      "has an empty name in its list of fields",
      "Name at least one field between the parentheses, or leave the list out for every field."
    )
  }
  if (operation === "delete") {
    const message = "limits the fields of delete, which always removes the whole record"
    return wrong(place, null, message, "Leave out the list of fields.")
  }
  for (const name of fields) {
    if (!targets.some(([, target]) => target.byName.has(name))) {
      const known = targets.flatMap(([, target]) => [...target.byName.keys()])
      return wrong(place, name, `names an unknown field "${name}"`, didYouMean(name, known))
    }
    const field = named?.byName.get(name)
    if (
      (operation === "create" || operation === "update") && named !== null && field !== undefined &&
      neverWritable(named, field, operation)
    ) {
      const message = `gives ${operation} of the field "${name}", which no caller can write`
      return wrong(place, name, message, "Leave the field out of the list.")
    }
  }
  // A limit that does not limit is worse than none: the rule would win and the list would be silently ignored.
  const covered = operation === "*" ? (["read", "create", "update"] as const) : [operation]
  for (const [name, target] of targets) {
    const ruled = covered.find((each) => target.rules[each] !== null)
    if (ruled !== undefined) {
      return wrong(
        name,
        null,
        `limits the fields of ${name}.${ruled}, which has an explicit rule that takes the place of capabilities`,
        "Remove the explicit rule, or limit the fields with access.fields of the resource."
      )
    }
  }
  return null
}

/** One capability, or the first thing that is wrong with its text. */
const compileCapability = (
  text: unknown,
  resources: ReadonlyMap<string, RoleTarget>
): Result.Result<Capability, Refusal> => {
  const parts = typeof text === "string" ? parseCapability(text) : null
  if (parts === null) {
    const fix = "Write it as *, orders.*, *.read or orders.read, with .own and then a list like (id,status) if wanted."
    return Result.fail(wrong(null, null, "is not a capability", fix))
  }
  const { resource, operation, own, fields } = parts
  if (operation !== "*" && !isOperation(operation)) {
    const fix = didYouMean(operation, [...operations, "*"])
    return Result.fail(wrong(null, null, `names an unknown operation "${operation}"`, fix))
  }
  const named = resource === "*" ? null : resources.get(resource)
  if (named === undefined) {
    const fix = didYouMean(resource, resources.keys())
    return Result.fail(wrong(null, null, `names an unknown resource "${resource}"`, fix))
  }
  const targets: Targets = named === null ? [...resources] : [[resource, named]]
  if (own && !targets.some(([, target]) => target.owner !== null)) {
    const message = named === null
      ? "is limited to own records, but no resource has an owner field"
      : "is limited to own records, but the resource has no owner field"
    const place = named === null ? null : resource
    return Result.fail(wrong(place, null, message, "Declare owner on the resource, or leave out .own."))
  }
  const refusal = fields === null ? null : fieldsRefusal(fields, operation, named, targets)
  return refusal === null ? Result.succeed({ resource, operation, own, fields }) : Result.fail(refusal)
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
      if (Result.isSuccess(result)) capabilities.push(result.success)
      else {
        const { message, ...rest } = result.failure
        refusals.push({ ...rest, message: `Role "${role}": ${shown(text)} ${message}.` })
      }
    }
    roles.set(role, capabilities)
  }
  return refusals.length === 0 ? Result.succeed(roles) : Result.fail(refusals)
}
