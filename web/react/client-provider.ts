/**
 * Provides one client to the app, and caches the meta of the service and its sources. The meta is read at once, again when the window gets the
 * focus, and when an answer names another version. A source that fails does not affect the rest.
 */

import { QueryClient, QueryClientProvider, useQueries, useQuery, useQueryClient } from "@tanstack/react-query"
import type { UseQueryResult } from "@tanstack/react-query"
import { createContext, createElement, useContext, useEffect, useMemo, useRef } from "react"
import type { ReactElement, ReactNode } from "react"
import { mergeMeta, routedClient, sourceClient, sourceMeta } from "../client/index.ts"
import type { Client, MetaDocument, ResourceClient, Source, SourceMeta } from "../client/index.ts"

/** The state of a source: `ready` with its meta, also when a later read fails; `error` when it never answered. */
export interface SourceStatus {
  readonly source: Source
  readonly state: "loading" | "ready" | "error"
  /** Why it cannot be read, or could not be read again. */
  readonly error: Error | null
  readonly meta: SourceMeta | null
  readonly retry: () => void
}

export interface MetaState {
  /** The app's own meta with the resources of all sources that are ready; undefined until the app's own is there. */
  readonly data: MetaDocument | undefined
  readonly error: Error | null
  readonly isPending: boolean
  readonly sources: readonly SourceStatus[]
  readonly refetch: () => void
}

interface AdminState {
  /** Routed: calls about a remote resource go to its source. */
  readonly client: Client
  readonly meta: MetaState
}

const Admin = createContext<AdminState | null>(null)

/** Every query of these hooks begins with this. */
export const queryRoot = "resource-admin"

/** The key of queries about a resource. */
export const resourceKey = (client: ResourceClient, ...rest: readonly unknown[]): readonly unknown[] => [
  queryRoot,
  client.baseUrl,
  client.name,
  ...rest
]

const fetchOptions = {
  staleTime: Infinity,
  gcTime: Infinity,
  refetchOnWindowFocus: "always",
  refetchOnReconnect: "always",
  // When the meta is unchanged, a client returns the same object as before.
  structuralSharing: false,
  retry: false
} as const

const noSources: readonly Source[] = []

const isNamed = (value: unknown): value is Source =>
  typeof value === "object" && value !== null && "url" in value && "resources" in value

/** The parts of the state. The state changes only when one of them does. */
const outcomes = (results: ReadonlyArray<UseQueryResult<SourceMeta, Error>>) =>
  results.map(({ data, error, refetch }) => ({ data, error, refetch }))

export interface AdminProviderProps {
  readonly client: Client
  /** The app's own, where it has one. */
  readonly queryClient?: QueryClient
  /** False: nothing is read yet, because nobody is signed in. */
  readonly enabled?: boolean
  readonly children?: ReactNode
}

const MetaProvider = ({ children, client: own, enabled = true }: AdminProviderProps): ReactElement => {
  const queries = useQueryClient()
  const key = useMemo(() => [queryRoot, own.baseUrl, "meta"], [own])
  const mine = useQuery({ ...fetchOptions, enabled, queryKey: key, queryFn: ({ signal }) => own.meta({ signal }) })
  useEffect(() => own.onMetaVersion(() => void queries.invalidateQueries({ queryKey: key })), [own, queries, key])

  const listed = mine.data?.sources
  const sources = useMemo(() => listed === undefined ? noSources : (listed as readonly unknown[]).filter(isNamed), [
    listed
  ])
  const memory = useRef<{ readonly own: Client; readonly clients: Map<string, Client> } | null>(null)
  if (memory.current?.own !== own) memory.current = { own, clients: new Map() }
  const { clients } = memory.current

  /** The client of a source. Throws for one that must not get the token. */
  const clientOf = (source: Source): Client => {
    let client = clients.get(source.url)
    if (client === undefined) {
      client = sourceClient(own, source)
      client.onMetaVersion(() => void queries.invalidateQueries({ queryKey: sourceKey(source) }))
      clients.set(source.url, client)
    }
    return client
  }
  const sourceKey = (source: Source): readonly unknown[] => [...key, source.url, source.resources.join()]

  const read = useQueries({
    combine: outcomes,
    queries: sources.map((source) => ({
      ...fetchOptions,
      enabled,
      queryKey: sourceKey(source),
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) =>
        sourceMeta(await clientOf(source).meta({ signal }), source)
    }))
  })

  const { refetch } = mine
  const state = useMemo((): AdminState => {
    const status = sources.map((source, index): SourceStatus => {
      const { data, error, refetch } = read[index]!
      return {
        source,
        state: data !== undefined ? "ready" : error !== null ? "error" : "loading",
        error,
        meta: data ?? null,
        retry: () => void refetch()
      }
    })
    const names = new Set(mine.data?.models.map(({ name }) => name))
    const remote = new Map<string, Client>()
    for (const { meta, source } of status) {
      const client = clients.get(source.url)
      if (client === undefined) continue
      for (const { name } of meta?.models ?? []) if (!names.has(name) && !remote.has(name)) remote.set(name, client)
    }
    return {
      client: routedClient(own, (resource) => remote.get(resource)),
      meta: {
        data: mine.data === undefined
          ? undefined
          : mergeMeta(mine.data, status.flatMap(({ meta }) => meta === null ? [] : [meta])),
        error: mine.error,
        isPending: mine.isPending,
        sources: status,
        refetch: () => void refetch()
      }
    }
  }, [own, clients, sources, mine.data, mine.error, mine.isPending, refetch, read])

  return createElement(Admin.Provider, { value: state }, children)
}

/** Gives every hook below it the client. Wrap the app in it once. */
export const AdminProvider = (props: AdminProviderProps): ReactElement => {
  const made = useRef<QueryClient | null>(null)
  const client = props.queryClient ?? (made.current ??= new QueryClient())
  return createElement(QueryClientProvider, { client }, createElement(MetaProvider, props))
}

/** The value of the provider. Throws outside of a provider. */
export const useAdmin = (): AdminState => {
  const state = useContext(Admin)
  if (state === null) throw new Error("Wrap the app in <AdminProvider client={…}>.")
  return state
}
