/**
 * Fields of related records by their paths, such as `customer.country`: what the caller's meta names, and nothing else. A relation that is hidden, or whose
 * target is, leads nowhere. Pure.
 */

import type { MetaField, MetaRelation } from "../../client/index.ts"
import { expandedOf, fieldLabel, labelOf, type Resource, toOneOf } from "./catalogue.ts"

/** A field of a record, or of one that the record leads to. */
export interface Path {
  /** The names of the relations and the field, with periods. */
  readonly text: string
  /** The relations on the way. Empty for a field of the record itself. */
  readonly ways: readonly MetaRelation[]
  /** The resource that has the field. */
  readonly resource: Resource
  readonly field: MetaField
  /** Whether the way may lead to several records. */
  readonly many: boolean
}

/** A relation, and the resource that it leads to. */
export interface PathWay {
  readonly relation: MetaRelation
  readonly target: Resource
}

/** The relations that can be followed from a resource. */
export const waysOf = (resource: Resource): readonly PathWay[] =>
  resource.model.relations.flatMap((relation) => {
    const target = resource.target(relation.name)
    return target?.fields.has(relation.targetField) === true && resource.fields.has(relation.field)
      ? [{ relation, target }]
      : []
  })

interface End {
  readonly ways: readonly MetaRelation[]
  readonly resource: Resource
}

/** The end of a path of relations; `names` is empty for the resource itself. Undefined if one of them is not there. */
export const endOf = (resource: Resource, names: readonly string[]): End | undefined => {
  const ways: MetaRelation[] = []
  let at = resource
  for (const name of names) {
    const way = waysOf(at).find(({ relation }) => relation.name === name)
    if (way === undefined) return undefined
    ways.push(way.relation)
    at = way.target
  }
  return { ways, resource: at }
}

/** The field that a name or a path stands for. Undefined if the caller does not see it. */
export const fieldAt = (resource: Resource, text: string): Path | undefined => {
  const own = resource.fields.get(text)
  if (own !== undefined) return { text, ways: [], resource, field: own, many: false }
  const names = text.split(".")
  const last = names.pop()!
  const end = names.length === 0 ? undefined : endOf(resource, names)
  const field = end?.resource.fields.get(last)
  return end === undefined || field === undefined
    ? undefined
    : { text, ways: end.ways, resource: end.resource, field, many: end.ways.some(({ many }) => many) }
}

/** Most relations on the way to a column. */
const mostColumnWays = 3

/** The column of a list: a field, or a path through relations to one record. */
export const columnAt = (resource: Resource, text: string): Path | undefined => {
  const path = fieldAt(resource, text)
  return path === undefined || path.many || path.ways.length > mostColumnWays ? undefined : path
}

/** What people call a relation: its foreign key's label, or its name. */
export const relationLabel = (resource: Resource, { field, many, name }: MetaRelation): string =>
  !many && resource.fields.get(field)?.relation !== undefined && toOneOf(resource.model, field)?.name === name
    ? fieldLabel(resource, field)
    : labelOf(name)

/** The labels of the relations of a path, and of its field. */
export const pathLabels = (resource: Resource, { field, resource: last, ways }: Path): readonly string[] => {
  const labels: string[] = []
  let at: Resource | undefined = resource
  for (const way of ways) {
    if (at === undefined) break
    labels.push(relationLabel(at, way))
    at = at.target(way.name)
  }
  return [...labels, fieldLabel(last, field.name)]
}

/** The label of a column: `Customer · Country`. */
export const columnLabel = (resource: Resource, path: Path): string => pathLabels(resource, path).join(" · ")

/** The paths from a resource through up to `most` relations, without its own fields. A relation back to where the way came from is left out. */
export const pathsFrom = (
  resource: Resource,
  most: number,
  follows: (relation: MetaRelation) => boolean = () => true
): readonly Path[] => {
  const paths: Path[] = []
  const walk = (at: Resource, ways: readonly MetaRelation[], seen: readonly Resource[]): void => {
    if (ways.length === most) return
    for (const { relation, target } of waysOf(at)) {
      if (!follows(relation) || (ways.length > 0 && seen.includes(target))) continue
      const next = [...ways, relation]
      const text = next.map(({ name }) => name).join(".")
      const many = next.some((way) => way.many)
      for (const field of target.model.fields) {
        paths.push({ text: `${text}.${field.name}`, ways: next, resource: target, field, many })
      }
      walk(target, next, [...seen, target])
    }
  }
  walk(resource, [], [resource])
  return paths
}

type Values = { readonly [field: string]: unknown }

/** The record at the end of the names of relations, as it came by `expand`. Null where there is none. */
export const recordAt = (record: Values, names: readonly string[]): Values | null => {
  let at: Values | null = record
  for (const name of names) at = at === null ? null : expandedOf(at, name)
  return at
}

/** The value of a field or path in a record. Undefined if it did not come. */
export const valueAt = (record: Values, text: string): unknown => {
  const names = text.split(".")
  const last = names.pop()!
  return text in record ? record[text] : recordAt(record, names)?.[last]
}
