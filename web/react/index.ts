/**
 * `resource-admin/react`: the client in React, on TanStack Query. Peers are `react` and `@tanstack/react-query`.
 */

import { adminHooks } from "./records.ts"

export { AdminProvider, queryRoot } from "./client-provider.ts"
export type { AdminProviderProps, MetaState, SourceStatus } from "./client-provider.ts"
export { adminHooks } from "./records.ts"
export type { Hooks, ListState, SaveConflict, SaveState } from "./records.ts"
export type { Watched, WatchQuery, WatchState } from "./watch.ts"

/** The hooks without the types of a configuration: any name, JSON values. */
export const { useClient, useList, useMeta, useRecord, useResourceClient, useSave, useWatch } = adminHooks<unknown>()
