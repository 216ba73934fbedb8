/**
 * The port to saved views of lists.
 *
 * Contract (test/contracts/saved-views.ts runs it against every implementation):
 * - Stored views are returned unchanged. Nothing is checked here.
 * - `list` gives the person's own views, then those shared with one of their roles, in their tenant only. Each part is ordered by name; at most 500
 *   views in all.
 * - A person has one view of a name and resource in a tenant, and at most 200 views in all. Both limits hold for concurrent calls, too.
 * - `replace` and `remove` apply only to the version that they name. Null means any version. Each replacement gives a new version.
 * - If the database is unavailable, calls fail with a `RecordsError`, and nothing is stored.
 */

import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { SavedViewBody } from "../domain/saved-view/saved-view.ts"
import type { RecordsError } from "./records.ts"

/** The values of a view that a person sets, and its resource. */
export interface SavedViewValues extends SavedViewBody {
  readonly resource: string
}

export interface SavedView extends SavedViewValues {
  readonly id: string
  readonly owner: string
  /** Starts at 1 and increases with each change. */
  readonly version: number
}

/** The person who asks, and their tenant. */
export interface Viewer {
  readonly id: string
  readonly roles: readonly string[]
  readonly tenant: string | null
}

/** The result of a change. `stale`: the view has another version than the named one. */
export type SavedViewChange =
  | { readonly of: "done"; readonly view: SavedView }
  | { readonly of: "stale"; readonly view: SavedView }
  | { readonly of: "absent" }
  | { readonly of: "taken" }

/** Most views of one person. */
export const mostSavedViews = 200

export interface SavedViewsService {
  /** `resource` null: of every resource. */
  readonly list: (viewer: Viewer, resource: string | null) => Effect.Effect<readonly SavedView[], RecordsError>
  /** A view that the viewer owns or that is shared with them, or null. */
  readonly get: (viewer: Viewer, id: string) => Effect.Effect<SavedView | null, RecordsError>
  readonly create: (
    viewer: Viewer,
    values: SavedViewValues
  ) => Effect.Effect<
    { readonly of: "done"; readonly view: SavedView } | { readonly of: "taken" | "full" },
    RecordsError
  >
  readonly replace: (
    viewer: Viewer,
    id: string,
    version: number | null,
    values: SavedViewValues
  ) => Effect.Effect<SavedViewChange, RecordsError>
  readonly remove: (
    viewer: Viewer,
    id: string,
    version: number | null
  ) => Effect.Effect<Exclude<SavedViewChange, { readonly of: "taken" }>, RecordsError>
}

/** Saved views. */
export class SavedViews extends Context.Service<SavedViews, SavedViewsService>()("resource-admin/SavedViews") {}
