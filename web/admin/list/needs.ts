/** The fields and relations that a list has to request for its columns. Pure. */

import { currencyOf } from "../field/kind.ts"
import { expandsFor, makerNeeds, mostExpanded, type Resource, titleNeeds } from "../model/catalogue.ts"

/** The data that the columns need: their fields, keys and titles, currencies of amounts, related records. */
export const needsOf = (resource: Resource, shown: readonly string[]) => {
  const fields = new Set(titleNeeds(resource).fields)
  for (const name of shown) {
    const field = resource.fields.get(name)
    if (field === undefined) continue
    fields.add(name)
    const currency = currencyOf(resource, field)
    if (currency !== null) fields.add(currency.name)
  }
  // The relations of the title come first.
  const expand = [...fields.has("history_by") ? makerNeeds(resource) : [], ...expandsFor(resource, fields)]
    .slice(0, mostExpanded)
  const gone = resource.model.softDelete ? resource.fields.get("deleted_at") : undefined
  if (gone !== undefined) fields.add(gone.name)
  return { fields: [...fields].toSorted(), expand: expand.toSorted() }
}
