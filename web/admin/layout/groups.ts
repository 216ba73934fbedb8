/** Counts and sums of a board's columns, by `:aggregate`. A board that may not be counted works without. */

import { useQuery } from "@tanstack/react-query"
import { currencyOf, isMeasure } from "../field/kind.ts"
import type { RowsQuery } from "../list/asked.ts"
import type { Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import { both, type Group, sumsByColumn } from "./columns.ts"
import type { Moves } from "./moved.ts"

interface Asked {
  readonly resource: Resource
  readonly query: Pick<RowsQuery, "filter" | "deleted">
  readonly by: string
  /** The most groups. */
  readonly most: number
  /** Another text is another board, which is counted anew. */
  readonly board: string
  /** The moves that are there now: what is counted has them. */
  readonly base: () => Moves<AnyRecord>
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

// What was counted before somebody left the board is not true any more when they come back.
const settings = { retry: false, staleTime: Infinity, gcTime: 0, refetchOnWindowFocus: false } as const

/** The groups, the most frequent first, and whether there are more. */
export const useCounts = ({ base, board, by, most, query, resource }: Asked) =>
  useQuery({
    queryKey: ["layout counts", resource.name, by, most, board],
    ...settings,
    queryFn: async ({ signal }) => {
      const before = base()
      const { groups, more } = await resourceClient(resource.name).aggregate({
        group_by: [by],
        measures: ["count"],
        order_by: "count desc",
        limit: most,
        filter: query.filter,
        ...(query.deleted ? { show_deleted: true } : {})
      }, { signal })
      return { groups, more, base: before }
    }
  })

/** Sums by column and currency, and the moves that they have. */
export interface Summed {
  readonly sums: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly base: Moves<AnyRecord>
}

const none: Summed = { sums: new Map(), base: new Map() }

/** The sums of the groups. Empty until they are there, and where nothing is added up. */
export const useSums = ({ base, board, by, groups, query, resource }: Omit<Asked, "most"> & {
  readonly groups: readonly Group[] | null
}) => {
  const summed = summedBy(resource)
  const related = resource.fields.get(by)?.relation !== undefined
  const values = groups?.flatMap(({ group }) => group[by] === null ? [] : [plain(group[by])]) ?? []
  const within = related ? textOfSimple({ field: by, is: "oneOf", values }, resource) ?? "" : ""
  const { data, refetch } = useQuery({
    queryKey: ["layout sums", resource.name, by, within, summed, board],
    ...settings,
    enabled: summed !== null && groups !== null && groups.length > 0 && (!related || within !== ""),
    queryFn: async ({ signal }): Promise<Summed> => {
      if (summed === null) return none
      const before = base()
      const measure = `sum(${summed.field})` as const
      const answer = await resourceClient(resource.name).aggregate({
        group_by: summed.currency === null ? [by] : [by, summed.currency],
        measures: [measure],
        limit: 1_000,
        filter: both(query.filter, within),
        ...(query.deleted ? { show_deleted: true } : {})
      }, { signal })
      return { sums: sumsByColumn(answer.groups, by, measure, summed.currency), base: before }
    }
  })
  return { ...data ?? none, again: data === undefined ? null : refetch }
}
