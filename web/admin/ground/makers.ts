/** Who made the versions of a record, by name as far as the reader may know it. */

import { useQuery } from "@tanstack/react-query"
import { useMessages } from "../messages/locale.tsx"
import { expandedOf, isHistory, keyPartsOf, makerNeeds, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { isolated, plain, short } from "../model/plain.ts"
import { useApp } from "./app.ts"

/** The resource of the versions, if the caller sees it. */
export const useVersions = (resource: Resource): Resource | undefined => {
  const { catalogue } = useApp()
  const history = catalogue.resources.get(`${resource.name}_history`)
  return history !== undefined && isHistory(history) && history.may.read && history.source === resource.source
    ? history
    : undefined
}

/** Versions of a record, as a filter of their resource. */
export const versionsOf = (resource: Resource, versions: Resource, keyText: string): string => {
  const parts = keyPartsOf(keyText)
  return resource.model.primaryKey.map((field, index) =>
    textOfSimple({ field, is: "is", values: [parts[index] ?? ""] }, versions)
  ).join(" AND ")
}

/** How the service names the maker of a form's submission. */
const visitor = "Visitor"

/** Gives who made a version: their name, or null where the reader is told none. */
export const useMakers = (versions: Resource | undefined): (version: AnyRecord) => string | null => {
  const t = useMessages()
  const { user } = useApp()
  return (version) => {
    const id = plain(version["history_by"])
    if (id === visitor) return t.record.visitor
    // Where the accounts are kept elsewhere, people still know themselves.
    const own = versions?.source === null && id === user.id ? user.name : null
    return plain(expandedOf(version, "history_by")?.["name"]) || own
  }
}

/** The name of the person who made the last version of a record. Null if no version tells the reader; undefined while it is read. */
export const useLastMaker = (resource: Resource, keyText: string | null): string | null | undefined => {
  const versions = useVersions(resource)
  const makerOf = useMakers(versions)
  const { data, isLoading } = useQuery({
    queryKey: ["history", resource.name, keyText, "last"],
    enabled: versions !== undefined && keyText !== null,
    staleTime: 0,
    queryFn: async ({ signal }) => {
      const { items } = await resourceClient(versions!.name).list({
        filter: versionsOf(resource, versions!, keyText!),
        order_by: "history_id desc",
        page_size: 1,
        fields: ["history_id", "history_by"],
        expand: makerNeeds(versions!)
      }, { signal })
      return items[0] ?? null
    }
  })
  if (isLoading) return undefined
  const name = data === undefined || data === null ? null : makerOf(data)
  return name === null ? null : isolated(short(name, 200))
}
