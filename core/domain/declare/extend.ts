/**
 * Additions to resources that were declared elsewhere, such as in a generated file: access rules, validation, owner and tenant, other
 * modifiers of fields. Like every declaration it keeps what was written and judges nothing.
 */

import { isBag } from "../bag.ts"
import type { Json } from "../value/kind.ts"
import type { AnyField, FieldMap } from "./field.ts"
import type { FieldName } from "./record.ts"
import type { Resource, ResourceDeclaration } from "./resource.ts"

/**
 * What may be added to a resource or replaced. A function makes the new declaration of a field from the old one; null removes the field.
 */
export interface Extension<Fields extends FieldMap>
  extends Partial<Omit<ResourceDeclaration<Fields, FieldName<Fields>>, "fields" | "primaryKey">>
{
  readonly primaryKey?: FieldName<Fields> | readonly FieldName<Fields>[]
  readonly fields?: { readonly [Name in FieldName<Fields>]?: null | AnyField | ((field: Fields[Name]) => AnyField) }
}

/**
 * A resource with additions. Its record type stays that of the original.
 *
 * @example
 * extendResource(track, { access: { delete: ["admin"] }, fields: { composer: (field) => field.searched(), bytes: null } })
 */
export const extendResource = <
  Name extends string,
  Fields extends FieldMap,
  Key extends Json,
  Managed extends string,
  Owner extends string
>(
  resource: Resource<Name, Fields, Key, Managed, Owner>,
  extension: Extension<Fields>
): Resource<Name, Fields, Key, Managed, Owner> => {
  const declaration = isBag(resource.declaration) ? resource.declaration : {}
  const { fields: changes, ...more } = extension
  const fields: Record<string, unknown> = isBag(declaration["fields"]) ? { ...declaration["fields"] } : {}
  for (const [name, change] of Object.entries<unknown>(changes ?? {})) {
    // A change of an unknown field becomes a field that startup refuses by name. Else a misspelt null would leave a field shown.
    if (change === null && name in fields) delete fields[name]
    else fields[name] = isChange(change) && name in fields ? change(fields[name]) : change
  }
  return { ...resource, declaration: { ...declaration, ...more, fields } }
}

const isChange = (change: unknown): change is (field: unknown) => unknown => typeof change === "function"

/** A list of resources in which those of the same name are replaced; others are added at the end. */
export const withResources = (
  resources: readonly Resource[],
  ...replacements: readonly Resource[]
): readonly Resource[] => {
  const byName = new Map(replacements.map((resource) => [resource.name, resource]))
  const all = resources.map((resource) => {
    const replacement = byName.get(resource.name)
    byName.delete(resource.name)
    return replacement ?? resource
  })
  return [...all, ...byName.values()]
}
