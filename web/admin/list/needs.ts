/** The fields and relations that a list has to request for its columns. Pure. */

import { currencyOf } from "../field/kind.ts"
import { expandsFor, makerNeeds, mostExpanded, type Resource, titleNeeds } from "../model/catalogue.ts"
import { columnAt, type Path } from "../model/paths.ts"

/** Most relations that one request follows, together and one after the other. */
const mostFollowed = 20
const mostDeep = 4

/** The relations that paths follow, each with those before it. */
const followed = (ways: Iterable<readonly string[]>): ReadonlySet<string> =>
  new Set([...ways].flatMap((names) => names.map((_, at) => names.slice(0, at + 1).join("."))))

/** What columns of related records need: paths of fields, with the currencies of amounts, and the relations that give other records their titles. */
const farNeeds = (paths: readonly Path[]) => {
  const fields = new Set<string>()
  const expand = new Set<string>()
  const chains: (readonly string[])[] = []
  for (const { field, resource, text, ways } of paths) {
    const names = ways.map(({ name }) => name)
    // An address may name any number of columns: those that no request could ask for stay empty.
    if (followed([...chains, names]).size > mostFollowed) continue
    chains.push(names)
    const before = ways.map(({ name }) => `${name}.`).join("")
    fields.add(text)
    const currency = currencyOf(resource, field)
    if (currency !== null) fields.add(before + currency.name)
    for (const way of expandsFor(resource, [field.name])) expand.add(before + way)
  }
  return { fields: [...fields], expand: [...expand], chains }
}

/** The data that the columns need: their fields, keys and titles, currencies of amounts, related records. */
export const needsOf = (resource: Resource, columns: readonly string[]) => {
  const fields = new Set(titleNeeds(resource).fields)
  const far = farNeeds(columns.flatMap((name) => resource.fields.has(name) ? [] : columnAt(resource, name) ?? []))
  for (const name of columns) {
    const field = resource.fields.get(name)
    if (field === undefined) continue
    fields.add(name)
    const currency = currencyOf(resource, field)
    if (currency !== null) fields.add(currency.name)
  }
  // The relations of the title come first.
  const wanted = [
    ...fields.has("history_by") ? makerNeeds(resource) : [],
    ...expandsFor(resource, fields),
    ...far.expand
  ]
  // A column comes before the title of a record: what is more than a request follows is shown as a key.
  const expand: string[] = []
  for (const way of new Set(wanted)) {
    const next = [...expand, way].map((each) => each.split("."))
    const fits = next.at(-1)!.length <= mostDeep && followed([...far.chains, ...next]).size <= mostFollowed
    if (fits && expand.length < mostExpanded) expand.push(way)
  }
  const gone = resource.model.softDelete ? resource.fields.get("deleted_at") : undefined
  if (gone !== undefined) fields.add(gone.name)
  return { fields: [...fields, ...far.fields].toSorted(), expand: expand.toSorted() }
}
