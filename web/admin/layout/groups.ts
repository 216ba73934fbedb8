/** Counts and sums of a board's columns, by `:aggregate`. A board that may not be counted works without. */

import { useQuery } from "@tanstack/react-query"
import { currencyOf, isMeasure } from "../field/kind.ts"
import type { RowsQuery } from "../list/asked.ts"
import type { Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import { both, type Group, sumsByColumn } from "./columns.ts"

interface Asked {
  readonly resource: Resource
  readonly query: Pick<RowsQuery, "filter" | "deleted">
  readonly by: string
  /** The most groups. */
  readonly most: number
  /** Increases when everything is read again. */
  readonly turn: number
}

/** The amount that columns are added up by: the first column of the view that has a currency. */
export const summedBy = (resource: Resource): { readonly field: string; readonly currency: string | null } | null => {
  for (const name of resource.view.columns) {
    const field = resource.fields.get(name)
    const currency = field === undefined ? null : currencyOf(resource, field)
    if (field === undefined || !field.filterable || !isMeasure(resource, field)) continue
    if (currency !== null || field.kind === "money") return { field: name, currency: currency?.name ?? null }
  }
  return null
}

const settings = { retry: false, staleTime: Infinity, refetchOnWindowFocus: false } as const

/** The groups, the most frequent first, and whether there are more. */
export const useCounts = ({ by, most, query, resource, turn }: Asked) =>
  useQuery({
    queryKey: ["layout counts", resource.name, query.filter, query.deleted, by, most, turn],
    ...settings,
    queryFn: ({ signal }) =>
      resourceClient(resource.name).aggregate({
        group_by: [by],
        measures: ["count"],
        order_by: "count desc",
        limit: most,
        filter: query.filter,
        ...(query.deleted ? { show_deleted: true } : {})
      }, { signal })
  })

const none: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map()

/** The sums of the groups, by column and currency. Empty until they are there, and where nothing is added up. */
export const useSums = ({ by, groups, query, resource, turn }: Omit<Asked, "most"> & {
  readonly groups: readonly Group[] | null
}): ReadonlyMap<string, ReadonlyMap<string, string>> => {
  const summed = summedBy(resource)
  const related = resource.fields.get(by)?.relation !== undefined
  const values = groups?.flatMap(({ group }) => group[by] === null ? [] : [plain(group[by])]) ?? []
  const within = related ? textOfSimple({ field: by, is: "oneOf", values }, resource) ?? "" : ""
  const { data } = useQuery({
    queryKey: ["layout sums", resource.name, query.filter, query.deleted, by, within, summed, turn],
    ...settings,
    enabled: summed !== null && groups !== null && groups.length > 0 && (!related || within !== ""),
    queryFn: async ({ signal }) => {
      if (summed === null) return none
      const measure = `sum(${summed.field})` as const
      const answer = await resourceClient(resource.name).aggregate({
        group_by: summed.currency === null ? [by] : [by, summed.currency],
        measures: [measure],
        limit: 1_000,
        filter: both(query.filter, within),
        ...(query.deleted ? { show_deleted: true } : {})
      }, { signal })
      return sumsByColumn(answer.groups, by, measure, summed.currency)
    }
  })
  return data ?? none
}
