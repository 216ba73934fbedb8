/** Links to the previous and the next record of the list that the page was opened from. */

import { useQuery } from "@tanstack/react-query"
import { ChevronDown, ChevronUp } from "lucide-react"
import type { ReactNode } from "react"
import { shownKeys, useShortcut } from "../ground/keys.ts"
import { type AppAddress, go } from "../ground/location.ts"
import { moveLeft } from "../list/left.ts"
import { both } from "../list/within.ts"
import { useLocale } from "../messages/locale.tsx"
import { addressOf, keyOf, type Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"

interface ListPosition {
  readonly address: string
  readonly query: URLSearchParams
  readonly position: number
  /** The number of records, and whether it is an estimate. */
  readonly total: number
  readonly about: boolean
  /** The condition for the records of the group; empty where the list has no groups. */
  readonly within: string
  /** The lines of the list before the group's first row. */
  readonly lines: number
}

/** The query of a list's address. Null if the page was not opened from a list of this resource. */
const listOf = (
  resource: Resource,
  { memory }: AppAddress
): ListPosition | null => {
  const { about, lines, list, position, total, within } = memory
  if (typeof list !== "string" || typeof position !== "number") return null
  const [path = "", query = ""] = list.split("?")
  return path === `/${resource.name}`
    ? {
      address: list,
      query: new URLSearchParams(query),
      position,
      total: typeof total === "number" ? total : 0,
      about: about === true,
      within: typeof within === "string" ? within : "",
      lines: typeof lines === "number" ? lines : 0
    }
    : null
}

export const Neighbours = (
  { place, resource }: { readonly resource: Resource; readonly place: AppAddress }
): ReactNode => {
  const { format, t } = useLocale()
  const list = listOf(resource, place)
  const position = list?.position ?? 0
  const first = Math.max(0, position - 1)
  const { data } = useQuery({
    queryKey: ["neighbours", resource.name, list?.query.toString(), list?.within, position],
    enabled: list !== null,
    staleTime: 30_000,
    queryFn: ({ signal }) =>
      resourceClient(resource.name).seek(first, {
        filter: both(list?.query.get("filter") ?? "", list?.within ?? ""),
        order_by: list?.query.get("order") ?? resource.view.sort,
        ...(list?.query.get("deleted") === "true" ? { show_deleted: true } : {}),
        page_size: 3,
        fields: resource.model.primaryKey
      }, { signal })
  })
  const before = position > 0 ? data?.items[0] : undefined
  const after = data?.items[position - first + 1]
  const move = (to: typeof before, step: number): void => {
    const key = to === undefined ? null : keyOf(resource, to)
    if (key !== null && list !== null) {
      moveLeft(list.address, list.lines + position + step)
      go(addressOf(resource, key), { replace: true, memory: { ...place.memory, position: position + step } })
    }
  }
  useShortcut("k", () => before === undefined ? false : move(before, -1), list !== null)
  useShortcut("j", () => after === undefined ? false : move(after, 1), list !== null)
  if (list === null || data === undefined) return null
  return (
    <>
      <button
        type="button"
        className="btn quiet bare"
        disabled={before === undefined}
        aria-label={t.record.previous}
        title={`${t.record.previous} ${shownKeys("k").join("")}`}
        onClick={() => move(before, -1)}
      >
        <ChevronUp className="icon" aria-hidden="true" />
      </button>
      <button
        type="button"
        className="btn quiet bare"
        disabled={after === undefined}
        aria-label={t.record.next}
        title={`${t.record.next} ${shownKeys("j").join("")}`}
        onClick={() => move(after, 1)}
      >
        <ChevronDown className="icon" aria-hidden="true" />
      </button>
      {list.total > position && (
        <span className="dim num">
          {t.record.position(
            format.count(position + 1),
            list.about ? t.list.about(format.count(list.total)) : format.count(list.total)
          )}
        </span>
      )}
    </>
  )
}
