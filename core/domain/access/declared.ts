/**
 * What the texts of a configuration may name: every column, and relations to the resources as they are declared. Rules are resolved against the whole target,
 * not against what the caller may read of it: rules that look at each other's resources would never come to an end. Only the tenant and soft delete stay.
 */

import type { FilterScope, Step } from "../filter/read.ts"
import { both } from "../filter/tree.ts"
import { needsArguments } from "../model/database-function.ts"
import type { Model, Models } from "../model/model.ts"
import { liveOnly } from "./reach.ts"
import { tenantRows } from "./resolve.ts"

/** The names that an access rule of a model may use: those of the record itself. */
export const ownScope = (
  { columns, fields, members = [] }: Pick<Model, "columns" | "fields" | "members">
): FilterScope => {
  const names = new Map(columns.flatMap((column) => column.alias === null ? [] : [[column.alias, column] as const]))
  for (const column of [...members, ...columns]) names.set(column.name, column)
  return { names, searched: fields.filter((field) => field.searched), caller: true }
}

/** The same, and those that are reached through relations. */
export const declaredScope = (model: Model, models: Models): FilterScope => through(ownScope, model, models)

/** The names of declared fields and relations, for filters that somebody is going to use. */
export const publicScope = (model: Model, models: Models): FilterScope => through(callerScope, model, models)

const callerScope = ({ fields, members = [] }: Model): FilterScope => {
  const names = new Map(fields.flatMap((field) => field.alias === null ? [] : [[field.alias, field] as const]))
  for (const field of [...members, ...fields]) names.set(field.name, field)
  return { names, searched: fields.filter((field) => field.searched), caller: false }
}

const through = (scopeOf: (model: Model) => FilterScope, model: Model, models: Models): FilterScope => {
  const steps = new Map<string, Step | null>()
  const step = (name: string): Step | null => {
    const before = steps.get(name)
    if (before !== undefined) return before
    const relation = model.relations.get(name)
    const target = relation === undefined ? undefined : models.get(relation.target)
    const to = relation === undefined ? undefined : target?.byName.get(relation.to)
    // Nobody would say with which arguments a rule asks a function.
    const asked = target === undefined || needsArguments(target) ? undefined : target
    const step = relation === undefined || asked === undefined || to === undefined ? null : {
      way: {
        relation,
        model: asked,
        to,
        rows: asked.tenant === null ? liveOnly(asked) : both(tenantRows(asked.tenant), liveOnly(asked))
      },
      scope: through(scopeOf, asked, models)
    }
    steps.set(name, step)
    return step
  }
  return { ...scopeOf(model), relations: { names: () => [...model.relations.keys()], step } }
}
