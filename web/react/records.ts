/**
 * Hooks over the records of one resource: a list that grows page by page, one record, and saving. They cache reads in TanStack Query and invalidate
 * them after writes. The service decides what a caller may see or do.
 */

import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import type { UseQueryResult } from "@tanstack/react-query"
import { useCallback, useMemo } from "react"
import { keyText, ProblemError } from "../client/index.ts"
import type {
  Client,
  CreateIn,
  ExpandIn,
  FieldIn,
  FieldOf,
  FilterIn,
  KeyOf,
  ListQuery,
  Page,
  RecordIn,
  ResourceClient,
  ResourceName,
  Selection,
  UpdateIn
} from "../client/index.ts"
import { resourceKey, useAdmin } from "./client-provider.ts"
import type { MetaState } from "./client-provider.ts"
import { useWatched, type WatchQuery, type WatchState } from "./watch.ts"

export interface Enabled {
  /** False: nothing is read yet. */
  readonly enabled?: boolean
}

/** A list as far as it has been read. */
export interface ListState<Item> {
  readonly items: readonly Item[]
  /** The first page, with the totals. */
  readonly page: Page<Item> | undefined
  readonly error: Error | null
  readonly isPending: boolean
  /** A request is running: for the first page, the next one, or all again. */
  readonly isFetching: boolean
  /** The rows shown belong to the previous query. */
  readonly isPlaceholder: boolean
  readonly hasNextPage: boolean
  readonly fetchNextPage: () => void
  readonly refetch: () => void
}

/** Why a save was not made: somebody else changed the record meanwhile. */
export interface SaveConflict<Item> {
  /** The record as it is now; null when it is gone or the caller sees it no more. */
  readonly current: Item | null
  /** Fields that differ from the version that was edited. */
  readonly changed: readonly string[]
  /** Those of them that the save writes, too: for a person to decide. Without any, saving again on `current.etag` loses nothing. */
  readonly overlap: readonly string[]
}

export interface SaveState<C, Name extends ResourceName<C>> {
  /** Writes changes over the version with this ETag. Null when there was a conflict, which is then in `conflict`; other refusals reject. */
  readonly save: (
    key: KeyOf<C, Name>,
    changes: UpdateIn<C, Name>,
    base: { readonly etag: string } & Partial<RecordIn<C, Name>>
  ) => Promise<RecordIn<C, Name> | null>
  readonly create: (data: CreateIn<C, Name>) => Promise<RecordIn<C, Name>>
  readonly remove: (key: KeyOf<C, Name>, options?: { readonly etag?: string }) => Promise<void>
  readonly isSaving: boolean
  /** The last refusal. Fields of a `ProblemError` are in its `fields`. */
  readonly error: Error | null
  readonly conflict: SaveConflict<RecordIn<C, Name>> | null
  readonly reset: () => void
}

/** The hooks, with the names of a configuration. */
export interface Hooks<C> {
  /** The client: calls about a remote resource go to its source. */
  readonly useClient: () => Client<C>
  /** The client of one resource, own or remote. */
  readonly useResourceClient: <Name extends ResourceName<C>>(resource: Name) => ResourceClient<C, Name>
  /** What the caller sees of the declarations, and how the sources are. */
  readonly useMeta: () => MetaState
  readonly useList: <
    Name extends ResourceName<C>,
    Field extends FieldIn<C, Name> = FieldOf<C, Name>,
    Path extends ExpandIn<C, Name> = ExpandIn<C, Name>
  >(
    resource: Name,
    query?: ListQuery<C, Name, Field, Path>,
    options?: Enabled
  ) => ListState<RecordIn<C, Name, Field, Path>>
  readonly useRecord: <
    Name extends ResourceName<C>,
    Field extends FieldIn<C, Name> = FieldOf<C, Name>,
    Path extends ExpandIn<C, Name> = ExpandIn<C, Name>
  >(
    resource: Name,
    key: KeyOf<C, Name>,
    query?: Selection<C, Name, Field, Path>,
    options?: Enabled
  ) => UseQueryResult<RecordIn<C, Name, Field, Path>, Error>
  readonly useSave: <Name extends ResourceName<C>>(resource: Name) => SaveState<C, Name>
  /** What entered, changed and left a filter since the rows on the screen were read. */
  readonly useWatch: <Name extends ResourceName<C>>(
    resource: Name,
    query?: WatchQuery<C, Name>,
    options?: Enabled
  ) => WatchState
}

type AnyRecord = RecordIn<unknown, string>

const useResourceClient = (resource: string): ResourceClient => {
  const { client } = useAdmin()
  return useMemo(() => client.resource(resource), [client, resource])
}

const filterText = (records: ResourceClient, filter: FilterIn<unknown, string> | null | undefined): string =>
  typeof filter === "function" ? String(records.where(filter)) : String(filter ?? "")

const useList = (
  resource: string,
  query: ListQuery<unknown, string> = {},
  { enabled = true }: Enabled = {}
): ListState<AnyRecord> => {
  const records = useResourceClient(resource)
  const { filter, ...rest } = query
  const text = filterText(records, filter)
  const { data, error, fetchNextPage, hasNextPage, isFetching, isPending, isPlaceholderData, refetch } =
    useInfiniteQuery({
      enabled,
      queryKey: resourceKey(records, "list", text, rest),
      queryFn: ({ pageParam, signal }) =>
        records.list({ ...rest, filter: text, ...(pageParam === "" ? {} : { page_token: pageParam }) }, { signal })
          // A plain promise: the cache must not hold an iterable.
          .then((page) => page),
      initialPageParam: rest.page_token ?? "",
      getNextPageParam: (page) => page.next_page_token === "" ? undefined : page.next_page_token,
      placeholderData: keepPreviousData
    })
  return useMemo(() => ({
    items: data?.pages.flatMap(({ items }) => items) ?? [],
    page: data?.pages[0],
    error,
    isPending,
    isFetching,
    isPlaceholder: isPlaceholderData,
    hasNextPage,
    fetchNextPage: () => void fetchNextPage(),
    refetch: () => void refetch()
  }), [data, error, isPending, isFetching, isPlaceholderData, hasNextPage, fetchNextPage, refetch])
}

const recordKey = (records: ResourceClient, key: KeyOf<unknown, string>, ...rest: readonly unknown[]) =>
  resourceKey(records, "get", keyText(key), ...rest)

const useRecord = (
  resource: string,
  key: KeyOf<unknown, string>,
  query: Selection<unknown, string, string> = {},
  { enabled = true }: Enabled = {}
): UseQueryResult<AnyRecord, Error> => {
  const records = useResourceClient(resource)
  return useQuery({
    enabled,
    queryKey: recordKey(records, key, query),
    queryFn: ({ signal }) => records.get(key, query, { signal })
  })
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/** Rejects a save, so that its state holds the reason. */
class Conflicted extends Error {
  readonly conflict: SaveConflict<AnyRecord>
  constructor(cause: ProblemError, conflict: SaveConflict<AnyRecord>) {
    super(cause.message, { cause })
    this.conflict = conflict
  }
}

interface Save {
  readonly key: KeyOf<unknown, string>
  readonly changes: { readonly [field: string]: unknown }
  readonly base: { readonly etag: string } & { readonly [field: string]: unknown }
}

const conflictOf = async (records: ResourceClient, save: Save, error: ProblemError): Promise<Conflicted> => {
  const current = await records.get(save.key).catch((reason: unknown) => {
    if (reason instanceof ProblemError && reason.status === 404) return null
    throw reason
  })
  const { base, changes } = save
  const changed = error.changed ??
    Object.keys(current ?? {}).filter((field) =>
      !["etag", "permissions", "expand"].includes(field) && field in base && !same(base[field], current?.[field])
    )
  return new Conflicted(error, {
    current,
    changed,
    // Equal values from somebody else are no conflict.
    overlap: changed.filter((field) => field in changes && !same(changes[field], current?.[field]))
  })
}

const useSave = (resource: string): SaveState<unknown, string> => {
  const records = useResourceClient(resource)
  const queries = useQueryClient()
  const wrote = useCallback(() => queries.invalidateQueries({ queryKey: resourceKey(records) }), [queries, records])
  const saving = useMutation({
    mutationFn: async (save: Save) => {
      try {
        return await records.update(save.key, save.changes as never, { etag: save.base.etag })
      } catch (error) {
        if (!(error instanceof ProblemError && error.status === 412)) throw error
        throw await conflictOf(records, save, error)
      }
    },
    onSettled: wrote
  })
  const creating = useMutation({
    mutationFn: (data: CreateIn<unknown, string>) => records.create(data, { idempotencyKey: true }),
    onSuccess: wrote
  })
  const removing = useMutation({
    mutationFn: ({ etag, key }: { readonly key: KeyOf<unknown, string>; readonly etag?: string | undefined }) =>
      records.delete(key, etag === undefined ? {} : { etag }),
    onSuccess: wrote
  })
  const error = saving.error ?? creating.error ?? removing.error
  return {
    save: async (key, changes, base) => {
      try {
        return await saving.mutateAsync({ key, changes, base })
      } catch (reason) {
        if (reason instanceof Conflicted) return null
        throw reason
      }
    },
    create: (data) => creating.mutateAsync(data),
    remove: (key, options) => removing.mutateAsync({ key, etag: options?.etag }),
    isSaving: saving.isPending || creating.isPending || removing.isPending,
    error: error instanceof Conflicted ? null : error,
    conflict: error instanceof Conflicted ? error.conflict : null,
    reset: () => {
      saving.reset()
      creating.reset()
      removing.reset()
    }
  }
}

const useWatch = (
  resource: string,
  { filter }: WatchQuery<unknown, string> = {},
  { enabled = true }: Enabled = {}
): WatchState => {
  const records = useResourceClient(resource)
  return useWatched(records, filterText(records, filter), enabled)
}

const hooks: Hooks<unknown> = {
  useClient: () => useAdmin().client,
  useResourceClient: useResourceClient as Hooks<unknown>["useResourceClient"],
  useMeta: () => useAdmin().meta,
  useList: useList as Hooks<unknown>["useList"],
  useRecord: useRecord as Hooks<unknown>["useRecord"],
  useSave,
  useWatch
}

/** The hooks with the types of a configuration: `const { useList } = adminHooks<typeof config>()`. */
export const adminHooks = <C>(): Hooks<C> => hooks as Hooks<C>
