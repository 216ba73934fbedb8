/** What the rows of a list can be grouped by, and what a choice makes of the grouping. Pure. */

import type { MetaField } from "../../client/index.ts"
import { isIdentifier, isLong } from "../field/kind.ts"
import { type Resource, titleField } from "../model/catalogue.ts"
import { columnAt, type Path, pathsFrom } from "../model/paths.ts"
import { isGrouped } from "./layout.ts"

/** Whether several records are likely to have the same value. */
const isShared = (resource: Resource, field: MetaField): boolean =>
  field.relation !== undefined
    ? resource.related(field.name) !== undefined
    : field.kind === "text"
    ? !isLong(field) && field.name !== titleField(resource)?.name && !resource.model.primaryKey.includes(field.name)
    : ["enum", "boolean", "country", "currency", "date"].includes(field.kind) && !isIdentifier(resource, field)

const isOffered = (path: Path): boolean =>
  !path.many && isShared(path.resource, path.field) &&
  (path.ways.length === 0 || (path.field.relation === undefined && path.field.kind !== "text"))

/** The fields that the menu offers: own ones, then those of related records. */
export const offeredGroups = (resource: Resource): readonly Path[] => {
  const own = resource.model.fields.flatMap(({ name }) => columnAt(resource, name) ?? [])
  return [...own, ...pathsFrom(resource, 1, ({ many }) => !many)].filter((path) =>
    isGrouped(resource, path.text) && isOffered(path)
  )
}

/** The grouping after a choice: what was chosen goes, and a further field is the second one. */
export const chosenGroups = (group: readonly string[], text: string): readonly string[] =>
  group.includes(text) ? group.filter((each) => each !== text) : [...group.slice(0, 1), text]
