/**
 * Roles as bundles of capabilities: reads the declared texts and checks each against the compiled models. So a typing error is a startup
 * refusal, never a silent grant or denial. What a caller may do is decided by `access/resolve.ts`.
 */

import * as Result from "effect/Result"
import { type Capability, type CompiledRules, type Operation, operations, type Roles } from "../access/rules.ts"
import { isTextList } from "../bag.ts"
import { didYouMean, quoteValue, type Refusal } from "../declare/refusal.ts"
import { parseCapability } from "../declare/roles.ts"
import { type Field, type Model, neverWritable } from "../model/model.ts"
import type { Say } from "./check.ts"

/** What `compileRoles` needs to know of a resource: parts of its model, and its rules. */
export interface RoleTarget
  extends Pick<Model, "byName" | "owner" | "key" | "tenant" | "softDelete" | "vectors" | "version">
{
  readonly rules: CompiledRules
}

/** What lists of fields may name: declared fields, and search vectors. */
const namesIn = ({ byName, vectors = [] }: RoleTarget): ReadonlyMap<string, Field> =>
  vectors.length === 0 ? byName : new Map([...byName, ...vectors.map((vector) => [vector.name, vector] as const)])

const roleName = /^[a-z0-9_-]+$/

const isOperation = (text: string): text is Operation => operations.some((operation) => operation === text)

/** What is wrong with a capability. The message continues a sentence that begins with the capability's text. */
const wrong = (resource: string | null, field: string | null, message: string, fix: string): Refusal => ({
  resource,
  field,
  message,
  fix
})

type Targets = ReadonlyArray<readonly [name: string, target: RoleTarget]>

/** The first thing that is wrong with a capability's list of fields. `named` is the one resource it is for; null means all of `targets`. */
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
    if (!targets.some(([, target]) => namesIn(target).has(name))) {
      const names = targets.flatMap(([, target]) => [...namesIn(target).keys()])
      return wrong(place, name, `names an unknown field "${name}"`, didYouMean(name, names))
    }
    const field = named === null ? undefined : namesIn(named).get(name)
    if (
      (operation === "create" || operation === "update") && named !== null && field !== undefined &&
      neverWritable(named, field, operation)
    ) {
      const message = `gives ${operation} of the field "${name}", which no caller can write`
      return wrong(place, name, message, "Leave the field out of the list.")
    }
  }
  // The explicit rule would win, and the list of fields would silently have no effect.
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
        refusals.push({ ...rest, message: `Role "${role}": ${quoteValue(text)} ${message}.` })
      }
    }
    roles.set(role, capabilities)
  }
  return refusals.length === 0 ? Result.succeed(roles) : Result.fail(refusals)
}

/** Role names a configuration declares, or null when it declares none and any name may stand in a rule. */
export type KnownRoles = ReadonlySet<string> | null

/** Refuses names of roles that no role set declares. */
export const refuseUnknownRoles = (
  names: readonly string[],
  roles: KnownRoles,
  path: string,
  say: (message: string, fix: string) => void
): void => {
  for (const name of names) {
    if (name === "") say(`${path} has an empty role name.`, "Name a role, or remove it.")
    else if (roles !== null && !roles.has(name)) {
      say(`${path} names the role "${name}", which is not declared.`, didYouMean(name, roles))
    }
  }
}

/** Reads `roles` of a view, page, menu entry or source: null is everybody. */
export const readRoles = (raw: unknown, path: string, roles: KnownRoles, say: Say): readonly string[] | null => {
  if (raw === undefined) return null
  if (!isTextList(raw) || raw.length === 0) {
    say(
      `${path} is ${quoteValue(raw)}, not a list of roles.`,
      "List at least one role, or leave roles out for everybody."
    )
    return null
  }
  refuseUnknownRoles(raw, roles, path, say)
  return [...raw]
}
