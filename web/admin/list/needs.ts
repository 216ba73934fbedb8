/** The fields and relations that a list has to request for its columns. Pure. */

import { currencyOf, relationOf } from "../field/kind.ts"
import type { Resource } from "../shell/catalogue.ts"

/** The data that the columns need: their fields, keys and titles, currencies of amounts, related records. */
export const needsOf = (resource: Resource, shown: readonly string[]) => {
  const fields = new Set<string>([
    ...resource.model.primaryKey,
    ...(resource.view.title === null ? [] : [resource.view.title])
  ])
  const expand = new Set<string>()
  for (const name of shown) {
    const field = resource.fields.get(name)
    if (field === undefined) continue
    fields.add(name)
    const currency = currencyOf(resource, field)
    if (currency !== null) fields.add(currency.name)
    const relation = relationOf(resource, field)
    if (relation !== undefined && expand.size < 10) expand.add(relation.name)
  }
  const gone = resource.model.softDelete ? resource.fields.get("deleted_at") : undefined
  if (gone !== undefined) fields.add(gone.name)
  return { fields: [...fields].toSorted(), expand: [...expand].toSorted() }
}
