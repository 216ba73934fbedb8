/** What the rows of a list can be grouped by, and what a choice makes of the grouping. Pure. */

import type { MetaField } from "../../client/index.ts"
import { isIdentifier, isLong } from "../field/kind.ts"
import { type Resource, titleField } from "../model/catalogue.ts"
import { columnAt, type Path, pathsFrom } from "../model/paths.ts"
import { isDay, isGrouped, readGroupText, type TimeUnit } from "./layout.ts"

/** Whether several records are likely to have the same value. */
const isShared = (resource: Resource, field: MetaField): boolean =>
  field.relation !== undefined
    ? resource.related(field.name) !== undefined
    : field.kind === "text"
    ? !isLong(field) && field.name !== titleField(resource)?.name && !resource.model.primaryKey.includes(field.name)
    : ["enum", "boolean", "country", "currency", "date", "timestamp"].includes(field.kind) &&
      !isIdentifier(resource, field)

const isOffered = (path: Path): boolean =>
  !path.many && isShared(path.resource, path.field) &&
  (path.ways.length === 0 || (path.field.relation === undefined && !["text", "timestamp"].includes(path.field.kind)))

/** A field that the menu offers, and what it then groups by: months where it is a time. */
export interface Offered {
  readonly text: string
  readonly path: Path
}

/** The fields that the menu offers: own ones, then those of related records. */
export const offeredGroups = (resource: Resource): readonly Offered[] => {
  const own = resource.model.fields.flatMap(({ name }) => columnAt(resource, name) ?? [])
  return [...own, ...pathsFrom(resource, 1, ({ many }) => !many)].filter((path) =>
    isGrouped(resource, path.text) && isOffered(path)
  ).map((path) => ({ path, text: isDay(path.field) ? `month(${path.text})` : path.text }))
}

const fieldOf = (text: string): string => readGroupText(text).field

/** Whether a grouping has a field, by whichever length of time. */
export const hasGroup = (group: readonly string[], text: string): boolean =>
  group.some((each) => fieldOf(each) === fieldOf(text))

/** The grouping after a choice: a field that was chosen goes, and a further field is the second one. */
export const chosenGroups = (group: readonly string[], text: string): readonly string[] =>
  hasGroup(group, text) ? group.filter((each) => fieldOf(each) !== fieldOf(text)) : [...group.slice(0, 1), text]

/** The grouping with another length of time for one of its fields. */
export const withUnit = (group: readonly string[], text: string, unit: TimeUnit): readonly string[] =>
  group.map((each) => each === text ? `${unit}(${fieldOf(text)})` : each)
