/** Records of a list as they are now, by their keys. It changes nothing. */

import { Condition } from "../../client/index.ts"
import { keyOf, keyPartsOf, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import type { RowsQuery } from "./asked.ts"

/** The key field to filter by. Null for composite keys and keys that are not filterable: their records are read one by one. */
export const searchedBy = ({ fields, model }: Resource): string | null => {
  const [name, ...more] = model.primaryKey
  return name !== undefined && more.length === 0 && fields.get(name)?.filterable === true ? name : null
}

/** The records of a list among those with these keys. `key`: the field that has them. */
export const listed = async (
  resource: Resource,
  key: string,
  keys: readonly string[],
  query: RowsQuery,
  fields: readonly string[]
): Promise<ReadonlyMap<string, AnyRecord>> => {
  const wanted = String(new Condition(key).in(keys.map((each) => keyPartsOf(each)[0])))
  const { items } = await resourceClient(resource.name).list({
    filter: query.filter === "" ? wanted : `(${query.filter}) AND ${wanted}`,
    fields,
    page_size: keys.length,
    ...(query.expand.length === 0 || fields.length < query.fields.length ? {} : { expand: query.expand }),
    ...(query.deleted ? { show_deleted: true } : {})
  })
  return new Map(items.map((item) => [keyOf(resource, item) ?? "", item]))
}
