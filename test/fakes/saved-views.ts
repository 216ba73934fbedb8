/** The port to saved views in memory: the same contract, in one process. */

import * as Effect from "effect/Effect"
import { mostSavedViews, type SavedView, type SavedViewsService, type Viewer } from "../../core/ports/saved-views.ts"

export const makeFakeSavedViews = (): SavedViewsService => {
  const views = new Map<string, { readonly tenant: string | null; readonly view: SavedView }>()
  const seen = (viewer: Viewer): readonly SavedView[] =>
    [...views.values()].flatMap(({ tenant, view }) =>
      tenant === viewer.tenant &&
        (view.owner === viewer.id || view.sharedWith?.some((role) => viewer.roles.includes(role)) === true)
        ? [view]
        : []
    )
  const find = (viewer: Viewer, id: string): SavedView | undefined => seen(viewer).find((view) => view.id === id)
  const isTaken = (tenant: string | null, owner: string, resource: string, name: string, id: string | null): boolean =>
    [...views.values()].some(({ tenant: of, view }) =>
      of === tenant && view.owner === owner && view.resource === resource && view.name === name && view.id !== id
    )
  return {
    list: (viewer, resource) =>
      Effect.sync(() =>
        seen(viewer).filter((view) => resource === null || view.resource === resource).toSorted((a, b) =>
          Number(a.owner !== viewer.id) - Number(b.owner !== viewer.id) ||
          (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1)
        ).slice(0, 500)
      ),
    get: (viewer, id) => Effect.sync(() => find(viewer, id) ?? null),
    create: (viewer, values) =>
      Effect.sync(() => {
        if (isTaken(viewer.tenant, viewer.id, values.resource, values.name, null)) return { of: "taken" } as const
        if ([...views.values()].filter(({ view }) => view.owner === viewer.id).length >= mostSavedViews) {
          return { of: "full" } as const
        }
        const view: SavedView = { ...values, id: crypto.randomUUID(), owner: viewer.id, version: 1 }
        views.set(view.id, { tenant: viewer.tenant, view })
        return { of: "done", view } as const
      }),
    replace: (viewer, id, version, values) =>
      Effect.sync(() => {
        const view = find(viewer, id)
        if (view === undefined) return { of: "absent" } as const
        if (version !== null && version !== view.version) return { of: "stale", view } as const
        if (isTaken(viewer.tenant, view.owner, values.resource, values.name, id)) return { of: "taken" } as const
        const next: SavedView = { ...view, ...values, resource: view.resource, version: view.version + 1 }
        views.set(id, { tenant: viewer.tenant, view: next })
        return { of: "done", view: next } as const
      }),
    remove: (viewer, id, version) =>
      Effect.sync(() => {
        const view = find(viewer, id)
        if (view === undefined) return { of: "absent" } as const
        if (version !== null && version !== view.version) return { of: "stale", view } as const
        views.delete(id)
        return { of: "done", view } as const
      })
  }
}
