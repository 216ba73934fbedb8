/**
 * The routes of one resource: lists and their pages, single records, counts and charts, and the four writes. Parameters and answers have the same names
 * as in the HTTP API, so the API reference describes them, too.
 */

import type { Uploaded, UploadOptions, UploadSource } from "./file.ts"
import { fieldScope, Filter } from "./filter.ts"
import { idempotent, keyText } from "./key.ts"
import { isGiven } from "./transport.ts"
import type { Answer, Call, CallOptions, QueryValue } from "./transport.ts"
import type {
  ArgumentsIn,
  CreateIn,
  ExpandIn,
  FieldIn,
  FieldOf,
  FileFieldOf,
  FilterIn,
  Json,
  KeyOf,
  ListsIn,
  RecordIn,
  ResourceName,
  ScopeOf,
  SortIn,
  UpdateIn
} from "./typed.ts"
import type { WatchEvent, WatchOptions } from "./watch.ts"

/** Which fields and related records the answer has. */
export interface Selection<
  C,
  Name extends ResourceName<C>,
  Field extends FieldIn<C, Name>,
  Path extends ExpandIn<C, Name> = ExpandIn<C, Name>
> {
  /** Of a resource over a function of the database: its arguments. */
  readonly args?: ArgumentsIn<C, Name>
  /** Fields of the records, and paths to fields of related ones. Default: all that the caller may read. `etag` is always included. */
  readonly fields?: readonly Field[]
  /** Relations to follow, each with a shape if wanted: `"lines(page_size: 3).product"`. */
  readonly expand?: readonly Path[]
  /** Includes deleted records. For resources with soft delete only. */
  readonly show_deleted?: boolean
}

/** The parameters of a list. */
export interface ListQuery<
  C,
  Name extends ResourceName<C>,
  Field extends FieldIn<C, Name> = FieldOf<C, Name>,
  Path extends ExpandIn<C, Name> = ExpandIn<C, Name>
> extends Selection<C, Name, Field, Path> {
  readonly filter?: FilterIn<C, Name> | null
  /** An order such as `"total desc"`, or a list of them. The key is added at the end. */
  readonly order_by?: SortIn<C, Name> | readonly SortIn<C, Name>[]
  /** Default 50, at most 500. */
  readonly page_size?: number
  readonly page_token?: string
  /** Adds `total_size`, the exact count. */
  readonly count?: "exact"
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Empty on the last page. */
  readonly next_page_token: string
  readonly total_size_estimate: number
  /** `counting`: the estimate is a lower bound while rows are counted. */
  readonly total_size_accuracy?: "exact" | "estimate" | "counting"
  /** With `count: "exact"`. */
  readonly total_size?: number
  /** Of a materialized view: when its data was as it is shown, and a refresh that has failed since; null: not known, and none. */
  readonly refreshed_at?: string | null
  readonly refresh_failed_at?: string | null
  /** A warning of the service (`X-Service-Warning`) about a scan of a large table. */
  readonly warning?: string
}

/** The page at a row number, with tokens for both directions. */
export interface SeekPage<Item> extends Page<Item> {
  readonly prev_page_token: string
}

/**
 * As a promise: the first page. As an iterable: all records of all pages, `for await (const order of orders.list())`. It requests the next page after
 * the last record of a page was taken.
 */
export interface Listing<Item> extends Promise<Page<Item>>, AsyncIterable<Item> {
  /** Iterates over the pages. */
  readonly pages: () => AsyncIterable<Page<Item>>
}

export interface WriteOptions extends CallOptions {
  /** A dry run: the same checks and the same answer, but nothing is written. */
  readonly dryRun?: boolean
}

interface Once {
  /** With a key, a repeated call has no second effect, and the client retries if no answer arrives. `true` generates a key. */
  readonly idempotencyKey?: string | true | undefined
}

export interface CreateOptions extends WriteOptions, Once {}

export interface ChangeOptions extends WriteOptions {
  /** The version to change, or `"*"` for any. The call fails with a 412 if it is not the current one. */
  readonly etag: string
}

/** What an update does besides changing the record of its key. The idempotency key counts with `allowMissing`. */
export interface Upserting extends Once {
  /** Creates the record if it is missing, also with the etag `"*"`. `data` then holds what a create requires. */
  readonly allowMissing?: boolean
  /** A field declared `unique()`: `key` is its value. */
  readonly match?: string
}

export interface DeleteOptions extends WriteOptions {
  readonly etag?: string
}

interface Narrowing<C, Name extends ResourceName<C>> {
  readonly args?: ArgumentsIn<C, Name>
  readonly field: FieldOf<C, Name>
  readonly filter?: FilterIn<C, Name> | null
  readonly show_deleted?: boolean
}

type SeriesMeasure<C, Name extends ResourceName<C>> = "count" | `${"sum" | "avg" | "min" | "max"}:${FieldOf<C, Name>}`

export interface FacetsQuery<C, Name extends ResourceName<C>> extends Omit<Narrowing<C, Name>, "field"> {
  readonly field: FieldIn<C, Name>
  /** Default 50, at most 500. */
  readonly limit?: number
  /** Orders by the measure, the largest first. */
  readonly measure?: SeriesMeasure<C, Name>
}

export interface Facets {
  readonly field: string
  readonly measure?: string
  /** With a measure other than `count`: `measure`, an exact text, or null if there are no values. */
  readonly facets: ReadonlyArray<{ readonly value: Json; readonly count: number; readonly measure?: string | null }>
}

export type Granularity = "hour" | "day" | "week" | "month" | "quarter" | "year"

export interface SeriesQuery<C, Name extends ResourceName<C>> extends Narrowing<C, Name> {
  /** Default `30d`. Or use `from` and `to`. */
  readonly range?: "7d" | "30d" | "90d" | "1y" | "all"
  readonly from?: string
  readonly to?: string
  /** Default `day`. */
  readonly granularity?: Granularity
  /** An IANA name. Default `UTC`. */
  readonly time_zone?: string
  readonly measure?: SeriesMeasure<C, Name>
}

export interface Series {
  readonly field: string
  readonly granularity: Granularity
  readonly time_zone: string
  readonly measure?: string
  /** With the measure `count`: `count`. Else `value`, an exact text, or null if there are no values. */
  readonly points: ReadonlyArray<{ readonly start: string; readonly count?: number; readonly value?: string | null }>
}

export interface HistogramQuery<C, Name extends ResourceName<C>> extends Narrowing<C, Name> {
  /** Default 10, at most 100. */
  readonly buckets?: number
}

export interface Histogram {
  readonly field: string
  /** Bounds are texts for 64-bit integers and decimals, so that they are exact. */
  readonly buckets: ReadonlyArray<{
    readonly from: string | number
    readonly to: string | number
    readonly count: number
  }>
}

/** What groups are told by: a field, one of a related record such as `customer.country`, or a bucket of time such as `month(created_at)`. */
export type GroupIn<C, Name extends ResourceName<C>> = FieldIn<C, Name> | `${Granularity}(${FieldIn<C, Name>})`

/** A measure of a group. `median` and `p95` are values of the field, by nearest rank. */
export type MeasureIn<C, Name extends ResourceName<C>> =
  | "count"
  | `${"count_distinct" | "sum" | "avg" | "min" | "max" | "median" | "p95"}(${FieldOf<C, Name>})`

type Sorts<Key extends string> = `${Key}${"" | " asc" | " desc"}`

export interface AggregateQuery<C, Name extends ResourceName<C>, Group extends string, Measure extends string>
  extends Omit<Narrowing<C, Name>, "field">
{
  /** At most three. Without any there is one group of all records. */
  readonly group_by?: readonly Group[]
  /** Default `count`. */
  readonly measures?: readonly Measure[]
  /** A filter over the measures: `"count > 1 AND sum(total) >= 100"`. */
  readonly having?: string
  readonly order_by?: Sorts<NoInfer<Group | Measure>> | ReadonlyArray<Sorts<NoInfer<Group | Measure>>>
  /** An IANA name, for buckets. Default `UTC`. */
  readonly time_zone?: string
  /** Default 50, at most 1,000. */
  readonly limit?: number
}

/** Groups in order. Measures are exact texts, or null without a value; counts are numbers. The value of a bucket is its first instant. */
export interface Groups<C, Name extends ResourceName<C>, Group extends string, Measure extends string> {
  readonly groups: ReadonlyArray<{
    readonly group: {
      readonly [Each in Group]: Each extends keyof RecordIn<C, Name> ? RecordIn<C, Name>[Each]
        : Each extends `${Granularity}(${string}` ? string | null
        : Json
    }
    readonly measures: {
      readonly [Each in Measure]: Each extends "count" | `count_distinct(${string}` ? number : string | null
    }
  }>
  /** There are more groups than `limit`. */
  readonly more: boolean
}

/** The routes of one resource. */
export interface ResourceClient<C = unknown, Name extends ResourceName<C> = ResourceName<C>> {
  readonly name: Name
  /** The base URL of the resource's API. */
  readonly baseUrl: string
  /** Builds a filter from the fields, for later use. */
  readonly where: (build: (fields: ScopeOf<C, Name>) => Filter<Name>) => Filter<Name>
  /** A page of records, and all pages after it. Long filters and tokens are sent as a `:search`. */
  readonly list: <
    Field extends FieldIn<C, Name> = FieldOf<C, Name>,
    Path extends ExpandIn<C, Name> = ExpandIn<C, Name>
  >(
    query?: ListQuery<C, Name, Field, Path>,
    options?: CallOptions
  ) => Listing<RecordIn<C, Name, Field, Path>>
  /** The same by `POST …:search`, so that the filter appears in no log of addresses. */
  readonly search: <
    Field extends FieldIn<C, Name> = FieldOf<C, Name>,
    Path extends ExpandIn<C, Name> = ExpandIn<C, Name>
  >(
    query?: ListQuery<C, Name, Field, Path>,
    options?: CallOptions
  ) => Listing<RecordIn<C, Name, Field, Path>>
  /** The page that begins at a row number, from 0. Beyond the end: the last page. */
  readonly seek: <
    Field extends FieldIn<C, Name> = FieldOf<C, Name>,
    Path extends ExpandIn<C, Name> = ExpandIn<C, Name>
  >(
    position: number,
    query?: Omit<ListQuery<C, Name, Field, Path>, "page_token" | "count">,
    options?: CallOptions
  ) => Promise<SeekPage<RecordIn<C, Name, Field, Path>>>
  readonly get: <Field extends FieldIn<C, Name> = FieldOf<C, Name>, Path extends ExpandIn<C, Name> = ExpandIn<C, Name>>(
    key: KeyOf<C, Name>,
    query?: Selection<C, Name, Field, Path>,
    options?: CallOptions
  ) => Promise<RecordIn<C, Name, Field, Path>>
  /** The record if its version differs from this one, else null. */
  readonly getIfChanged: (
    key: KeyOf<C, Name>,
    etag: string,
    query?: { readonly fields?: readonly FieldOf<C, Name>[]; readonly show_deleted?: boolean },
    options?: CallOptions
  ) => Promise<RecordIn<C, Name> | null>
  /** The created record. A caller who may not read it gets a record without fields. Lists of records below it are in `expand`. */
  readonly create: (data: CreateIn<C, Name> & ListsIn<C, Name>, options?: CreateOptions) => Promise<RecordIn<C, Name>>
  /** The changed record. Only the fields in `data` change. */
  readonly update: (
    key: KeyOf<C, Name>,
    data: UpdateIn<C, Name>,
    options: ChangeOptions & Upserting
  ) => Promise<RecordIn<C, Name>>
  readonly delete: (key: KeyOf<C, Name>, options?: DeleteOptions) => Promise<void>
  /** Changes up to 500 records that pass a filter, all of them or none. */
  readonly updateWhere: (
    filter: FilterIn<C, Name>,
    data: UpdateIn<C, Name>,
    options: FilteredOptions
  ) => Promise<Filtered>
  readonly deleteWhere: (filter: FilterIn<C, Name>, options: FilteredOptions) => Promise<Filtered>
  /** Restores a soft-deleted record. A 409 if it is not deleted. */
  readonly undelete: (key: KeyOf<C, Name>, options?: DeleteOptions) => Promise<RecordIn<C, Name>>
  /** Restores an earlier version (extension `history`). `version` is its `history_id`. */
  readonly restore: (
    key: KeyOf<C, Name>,
    version: string | number,
    options: ChangeOptions
  ) => Promise<RecordIn<C, Name>>
  readonly facets: (query: FacetsQuery<C, Name>, options?: CallOptions) => Promise<Facets>
  readonly series: (query: SeriesQuery<C, Name>, options?: CallOptions) => Promise<Series>
  readonly histogram: (query: HistogramQuery<C, Name>, options?: CallOptions) => Promise<Histogram>
  /** Measures of groups of records. Long filters are sent in a body. */
  readonly aggregate: <Group extends GroupIn<C, Name> = never, Measure extends MeasureIn<C, Name> = "count">(
    query?: AggregateQuery<C, Name, Group, Measure>,
    options?: CallOptions
  ) => Promise<Groups<C, Name, Group, Measure>>
  /** Of a materialized view: has a job refresh it, and tells its id. The answer does not wait for the job; `refreshed_at` of lists tells when it has ended. */
  readonly refresh: (options?: CallOptions) => Promise<{ readonly job: string }>
  /** Uploads a file. `value` of the answer is the value for a write of the field. */
  readonly upload: (
    field: FileFieldOf<C, Name>,
    file: UploadSource,
    options?: UploadOptions
  ) => Promise<Uploaded>
  /** Changes of records that the caller sees, as they happen, until the signal aborts. With a filter, what enters, changes and leaves it. */
  readonly watch: (options?: WatchOptions<C, Name>) => AsyncIterable<WatchEvent>
}

/** What a change of the records that pass a filter did. */
export interface Filtered {
  /** How many passed. */
  readonly count: number
  /** How many of them differ from before. */
  readonly changed: number
}

export interface FilteredOptions extends CallOptions, Once {
  /** How many records must pass. Required unless it is a dry run, which tells the number. */
  readonly expectedCount?: number
  readonly dryRun?: boolean
}

/** Lists with longer addresses are sent as a `:search`, because proxies limit the length of addresses. */
const longestAddress = 4_000

/** The text of a filter in any of its forms. */
const filterOf = (given: unknown): string => {
  const filter: unknown = typeof given === "function" ? given(fieldScope) : given
  if (filter == null) return ""
  if (typeof filter === "string" || filter instanceof Filter) return filter.toString()
  throw new TypeError("A filter is a text, a Filter or a function.")
}

/** The text of an order: its keys, separated by commas. */
const orderOf = (order: unknown): string =>
  Array.isArray(order) ? order.join(",") : typeof order === "string" ? order : ""

/** The parameters of a list or a chart, as far as they are known here. */
interface Query {
  readonly filter?: unknown
  readonly order_by?: QueryValue
  readonly position?: QueryValue
  readonly page_token?: QueryValue
}

interface Surroundings {
  readonly send: <T>(call: Call) => Promise<Answer<T>>
  readonly urlOf: (call: Pick<Call, "path" | "query">) => string
  /** Makes the addresses of files in records absolute. */
  readonly present: <T>(record: T) => T
  readonly upload: (resource: string, field: string, file: UploadSource, options?: UploadOptions) => Promise<Uploaded>
  readonly watch: (path: string, filter: string, options?: WatchOptions) => AsyncIterable<WatchEvent>
}

interface AnyRecord {
  readonly etag: string
}

const listing = <Item>(load: (token: string | undefined) => Promise<Page<Item>>): Listing<Item> => {
  const first = load(undefined)
  async function* pages(): AsyncGenerator<Page<Item>> {
    for (let page = await first;; page = await load(page.next_page_token)) {
      yield page
      if (page.next_page_token === "") return
    }
  }
  async function* items(): AsyncGenerator<Item> {
    for await (const page of pages()) yield* page.items
  }
  return Object.assign(first, { pages, [Symbol.asyncIterator]: items })
}

/** The routes of a resource, over a transport. */
export const makeResourceClient = (around: Surroundings, name: string): ResourceClient => {
  const { present, send, upload, urlOf, watch } = around
  const path = `/${encodeURIComponent(name)}`
  const record = (key: unknown): string => `${path}/${keyText(key)}`

  const page = <T extends Page<unknown>>({ data, headers }: Answer<T>): T => {
    const warning = headers.get("x-service-warning")
    return { ...data, items: data.items.map(present), ...(warning === null ? {} : { warning }) }
  }

  const asked = (verb: string, query: Query, options?: CallOptions) => ({
    method: "GET",
    path: path + verb,
    query: { ...query, filter: filterOf(query.filter), order_by: orderOf(query.order_by) },
    signal: options?.signal
  })

  const read = async <T>(verb: string, query: Query, options?: CallOptions): Promise<T> =>
    (await send<T>(asked(verb, query, options))).data

  /** By GET, or with the parameters in a body, where the address would be too long. */
  const ask = <T>(
    verb: string,
    query: Query,
    options?: CallOptions,
    inBody = false
  ): Promise<Answer<T>> => {
    const call = asked(verb, query, options)
    if (!inBody && urlOf(call).length <= longestAddress) return send(call)
    const json = Object.fromEntries(Object.entries(call.query).filter(([, value]) => isGiven(value)))
    return send({ ...call, method: "POST", path: path + (verb || ":search"), query: {}, json, repeatable: true })
  }

  const list = (query: Query, options: CallOptions | undefined, asSearch: boolean): Listing<AnyRecord> =>
    listing(async (token) =>
      page(
        await ask<Page<AnyRecord>>(
          "",
          { ...query, page_token: token ?? query.page_token },
          options,
          asSearch
        )
      )
    )

  /** A record; null where it is still what the ETag stands for. */
  const one = async (key: unknown, query: object, options?: CallOptions, etag?: string): Promise<AnyRecord | null> => {
    const { data, status } = await send<AnyRecord>({
      method: "GET",
      path: record(key),
      query: { ...query },
      headers: { "if-none-match": etag },
      signal: options?.signal
    })
    return status === 304 ? null : present(data)
  }

  const write = async (
    method: string,
    path: string,
    options: (WriteOptions & Once & { readonly etag?: string }) | undefined,
    more: Partial<Call> = {}
  ): Promise<never> => {
    const once = idempotent(options?.idempotencyKey)
    const { data, headers } = await send<AnyRecord | undefined>({
      ...more,
      ...once,
      headers: { ...once.headers, "if-match": options?.etag },
      method,
      path,
      query: { ...more.query, dry_run: options?.dryRun },
      signal: options?.signal
    })
    return (data === undefined ? { etag: headers.get("etag") ?? "" } : present(data)) as never
  }

  const filtered = async (
    method: string,
    filter: unknown,
    options: FilteredOptions,
    json?: unknown
  ): Promise<Filtered> =>
    write(method, path, options, { json, query: { filter: filterOf(filter), expected_count: options.expectedCount } })

  const client: ResourceClient = {
    name,
    baseUrl: urlOf({ path: "" }),
    where: (build) => build(fieldScope as never),
    list: (query = {}, options) => list(query, options, false) as never,
    search: (query = {}, options) => list(query, options, true) as never,
    seek: async (position, query = {}, options) => page(await send(asked(":seek", { ...query, position }, options))),
    get: async (key, query = {}, options) => await one(key, query, options) as never,
    getIfChanged: async (key, etag, query = {}, options) => await one(key, query, options, etag) as never,
    create: async (json, options) => write("POST", path, options, { json }),
    update: async (key, json, { allowMissing, idempotencyKey, match, ...options }) =>
      // Without `allowMissing` the service takes no key, and a repeated increment would count twice.
      write("PATCH", record(key), allowMissing === true ? { ...options, idempotencyKey } : options, {
        json,
        query: { allow_missing: allowMissing, match }
      }),
    delete: async (key, options) => {
      await write("DELETE", record(key), options)
    },
    updateWhere: (filter, data, options) => filtered("PATCH", filter, options, data),
    deleteWhere: (filter, options) => filtered("DELETE", filter, options),
    undelete: async (key, options) => write("POST", `${record(key)}:undelete`, options),
    restore: async (key, version, options) =>
      write("POST", `${record(key)}:restore`, options, { json: { version: String(version) } }),
    facets: (query, options) => read(":facets", query, options),
    series: (query, options) => read(":series", query, options),
    histogram: (query, options) => read(":histogram", query, options),
    aggregate: async (query = {}, options) => (await ask(":aggregate", query, options)).data as never,
    refresh: async (options) => write("POST", `${path}:refresh`, options),
    upload: (field, file, options) => upload(name, field, file, options),
    watch: (options) => watch(path, filterOf(options?.filter), options)
  }
  return client
}
