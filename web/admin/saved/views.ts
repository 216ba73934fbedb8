/** Saved views of a list. They are read once and cached, and changed on the condition of the version that was read. */

import { type QueryClient, useQuery } from "@tanstack/react-query"
import type { Layout } from "../../../core/domain/model/layout.ts"
import { useFirstPage } from "../ground/first-page.ts"
import type { Resource } from "../model/catalogue.ts"
import { ownClient } from "../model/client.ts"

export interface SavedView {
  readonly id: string
  readonly resource: string
  readonly name: string
  readonly filter: string
  readonly order_by: string
  readonly columns: readonly string[]
  readonly chart: unknown
  readonly layout: Layout
  readonly shared_with: "me" | readonly string[]
  readonly owner: string
  /** True if the service left out a part that the user may not see. */
  readonly incomplete: boolean
  readonly etag: string
}

export type ViewValues = Pick<SavedView, "name" | "filter" | "order_by" | "columns" | "layout" | "shared_with">

/** What a list shows, as a view keeps it. */
export type ViewState = Omit<ViewValues, "name" | "shared_with">

const path = "/saved-views"
const viewsKey = (resource: string): readonly string[] => ["saved-views", resource]

/** The views of a resource. Empty while they are loaded, and for resources of sources, because the service cannot store views of them. */
export const useSavedViews = ({ may, name, source }: Resource): readonly SavedView[] => {
  const hasFirstPage = useFirstPage()
  const { data } = useQuery({
    queryKey: viewsKey(name),
    enabled: hasFirstPage && may.read && source === null,
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      (await ownClient.request<{ readonly items: readonly SavedView[] }>({
        method: "GET",
        path,
        system: true,
        query: { resource: name },
        signal
      })).data.items
  })
  return data ?? []
}

/** Saves a new view, or changes one. */
export const saveView = async (
  queries: QueryClient,
  resource: string,
  values: Partial<ViewValues>,
  view: SavedView | null
): Promise<SavedView> => {
  const { data } = await ownClient.request<SavedView>(
    view === null
      ? { method: "POST", path, system: true, json: { resource, ...values } }
      : {
        method: "PATCH",
        path: `${path}/${view.id}`,
        system: true,
        json: values,
        headers: { "if-match": view.etag }
      }
  )
  await queries.invalidateQueries({ queryKey: viewsKey(resource) })
  return data
}

export const removeView = async (queries: QueryClient, view: SavedView): Promise<void> => {
  await ownClient.request({
    method: "DELETE",
    path: `${path}/${view.id}`,
    system: true,
    headers: { "if-match": view.etag }
  })
  await queries.invalidateQueries({ queryKey: viewsKey(view.resource) })
}
