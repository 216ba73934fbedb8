/**
 * The routes of one resource: lists and their pages, single records, counts and charts, and the four writes. Parameters and answers have the names that
 * they have on the wire, so the reference of the API is the reference of these, too.
 */

import type { Uploaded, UploadOptions, UploadSource } from "./file.ts"
import { fieldScope, Filter } from "./filter.ts"
import { idempotencyKey, keyText } from "./key.ts"
import { isGiven } from "./request.ts"
import type { Answer, Call, CallOptions } from "./request.ts"
import type {
  CreateIn,
  ExpandIn,
  FieldOf,
  FilterIn,
  Json,
  KeyOf,
  RecordIn,
  ResourceName,
  ScopeOf,
  SortIn,
  UpdateIn
} from "./typed.ts"
import type { WatchEvent, WatchOptions } from "./watch.ts"

/** Which related records and fields come along. */
export interface Selection<C, Name extends ResourceName<C>, Field extends FieldOf<C, Name>> {
  /** Fields of the records; all that the caller may read when left out. `etag` always comes along. */
  readonly fields?: readonly Field[]
  readonly expand?: readonly ExpandIn<C, Name>[]
  /** Also deleted records; resources with soft delete only. */
  readonly show_deleted?: boolean
}

/** What a list is asked for. */
export interface ListQuery<C, Name extends ResourceName<C>, Field extends FieldOf<C, Name> = FieldOf<C, Name>>
  extends Selection<C, Name, Field>
{
  readonly filter?: FilterIn<C, Name> | null
  /** `"total desc"`, or several of them in a list. The key is added at the end. */
  readonly order_by?: SortIn<C, Name> | readonly SortIn<C, Name>[]
  /** 50 when left out, at most 500. */
  readonly page_size?: number
  readonly page_token?: string
  /** Adds `total_size`, counted in full. */
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
}

/** The page at a row number, with tokens for both directions. */
export interface SeekPage<Item> extends Page<Item> {
  readonly prev_page_token: string
}

/**
 * The first page, as a promise; also all records, from page to page: `for await (const order of orders.list())`. The next page is asked for
 * when the last record of the one before has been taken.
 */
export interface Listing<Item> extends Promise<Page<Item>>, AsyncIterable<Item> {
  /** Page by page. */
  readonly pages: () => AsyncIterable<Page<Item>>
}

export interface WriteOptions extends CallOptions {
  /** Runs everything, answers as if, and writes nothing. */
  readonly dryRun?: boolean
}

export interface CreateOptions extends WriteOptions {
  /** The create happens once: it may be sent again with the same key, and the client does so when no answer came. `true` makes a key. */
  readonly idempotencyKey?: string | true
}

export interface ChangeOptions extends WriteOptions {
  /** The version that is changed; `"*"` for any. When it is not the current one, the call fails with a 412. */
  readonly etag: string
}

export interface DeleteOptions extends WriteOptions {
  readonly etag?: string
}

interface Narrowing<C, Name extends ResourceName<C>> {
  readonly field: FieldOf<C, Name>
  readonly filter?: FilterIn<C, Name> | null
  readonly show_deleted?: boolean
}

export interface FacetsQuery<C, Name extends ResourceName<C>> extends Narrowing<C, Name> {
  /** 50 when left out, at most 500. */
  readonly limit?: number
}

export interface Facets {
  readonly field: string
  readonly facets: ReadonlyArray<{ readonly value: Json; readonly count: number }>
}

export type Granularity = "hour" | "day" | "week" | "month" | "quarter" | "year"

export interface SeriesQuery<C, Name extends ResourceName<C>> extends Narrowing<C, Name> {
  /** `30d` when left out; or `from` and `to`. */
  readonly range?: "7d" | "30d" | "90d" | "1y" | "all"
  readonly from?: string
  readonly to?: string
  /** `day` when left out. */
  readonly granularity?: Granularity
  /** An IANA name; `UTC` when left out. */
  readonly time_zone?: string
  readonly measure?: "count" | `${"sum" | "avg" | "min" | "max"}:${FieldOf<C, Name>}`
}

export interface Series {
  readonly field: string
  readonly granularity: Granularity
  readonly time_zone: string
  readonly measure?: string
  /** `count` of a count; else `value`, exact as text, null where there is none. */
  readonly points: ReadonlyArray<{ readonly start: string; readonly count?: number; readonly value?: string | null }>
}

export interface HistogramQuery<C, Name extends ResourceName<C>> extends Narrowing<C, Name> {
  /** 10 when left out, at most 100. */
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

/** The routes of one resource. */
export interface ResourceClient<C = unknown, Name extends ResourceName<C> = ResourceName<C>> {
  readonly name: Name
  /** URL of the resources API that it is of. */
  readonly baseUrl: string
  /** Builds a filter from the fields, for later. */
  readonly where: (build: (fields: ScopeOf<C, Name>) => Filter<Name>) => Filter<Name>
  /** A page of records, and all after it. Long filters and tokens go as a `:search`. */
  readonly list: <Field extends FieldOf<C, Name> = FieldOf<C, Name>>(
    query?: ListQuery<C, Name, Field>,
    options?: CallOptions
  ) => Listing<RecordIn<C, Name, Field>>
  /** The same by `POST …:search`, so that the filter stands in no log of addresses. */
  readonly search: <Field extends FieldOf<C, Name> = FieldOf<C, Name>>(
    query?: ListQuery<C, Name, Field>,
    options?: CallOptions
  ) => Listing<RecordIn<C, Name, Field>>
  /** The page that begins at a row number, from 0; beyond the end the last page. */
  readonly seek: <Field extends FieldOf<C, Name> = FieldOf<C, Name>>(
    position: number,
    query?: Omit<ListQuery<C, Name, Field>, "page_token" | "count">,
    options?: CallOptions
  ) => Promise<SeekPage<RecordIn<C, Name, Field>>>
  readonly get: <Field extends FieldOf<C, Name> = FieldOf<C, Name>>(
    key: KeyOf<C, Name>,
    query?: Selection<C, Name, Field>,
    options?: CallOptions
  ) => Promise<RecordIn<C, Name, Field>>
  /** The record if its version is another than this, else null. */
  readonly getIfChanged: (
    key: KeyOf<C, Name>,
    etag: string,
    query?: { readonly fields?: readonly FieldOf<C, Name>[]; readonly show_deleted?: boolean },
    options?: CallOptions
  ) => Promise<RecordIn<C, Name> | null>
  /** The record as created. A caller who may not read it gets one without fields. */
  readonly create: (data: CreateIn<C, Name>, options?: CreateOptions) => Promise<RecordIn<C, Name>>
  /** The record as changed. Only the fields in `data` change. */
  readonly update: (
    key: KeyOf<C, Name>,
    data: UpdateIn<C, Name>,
    options: ChangeOptions
  ) => Promise<RecordIn<C, Name>>
  readonly delete: (key: KeyOf<C, Name>, options?: DeleteOptions) => Promise<void>
  /** Brings a soft-deleted record back; a 409 when it is not deleted. */
  readonly undelete: (key: KeyOf<C, Name>, options?: DeleteOptions) => Promise<RecordIn<C, Name>>
  /** Writes a kept version back (extension `history`): `version` is its `history_id`. */
  readonly restore: (
    key: KeyOf<C, Name>,
    version: string | number,
    options: ChangeOptions
  ) => Promise<RecordIn<C, Name>>
  readonly facets: (query: FacetsQuery<C, Name>, options?: CallOptions) => Promise<Facets>
  readonly series: (query: SeriesQuery<C, Name>, options?: CallOptions) => Promise<Series>
  readonly histogram: (query: HistogramQuery<C, Name>, options?: CallOptions) => Promise<Histogram>
  /** Sends a file; `value` of the answer is what a write of the field takes. */
  readonly upload: (
    field: FieldOf<C, Name>,
    file: UploadSource,
    options?: UploadOptions
  ) => Promise<Uploaded>
  /** Changes as they happen, of records that the caller sees, until the signal ends. */
  readonly watch: (options?: WatchOptions) => AsyncIterable<WatchEvent>
}

/** From which length on a list goes as a `:search`: addresses have bounds in proxies, bodies have not. */
const longestAddress = 4_000

/** The text of a filter as any of the forms gives it. */
const filterOf = (given: unknown): string => {
  const filter: unknown = typeof given === "function" ? given(fieldScope) : given
  if (filter == null) return ""
  if (typeof filter === "string" || filter instanceof Filter) return filter.toString()
  throw new TypeError("A filter is a text, a Filter, or a function that gives one.")
}

/** The text of an order: keys with commas between them. */
const orderOf = (order: unknown): string =>
  Array.isArray(order) ? order.join(",") : typeof order === "string" ? order : ""

/** Without types: what the typed face is made of. */
interface Query {
  readonly [name: string]: unknown
}

interface Surroundings {
  readonly send: <T>(call: Call) => Promise<Answer<T>>
  readonly urlOf: (call: Pick<Call, "path" | "query">) => string
  /** Makes the addresses of files in records absolute. */
  readonly present: <T>(record: T) => T
  readonly upload: (resource: string, field: string, file: UploadSource, options?: UploadOptions) => Promise<Uploaded>
  readonly watch: (resource: string, options?: WatchOptions) => AsyncIterable<WatchEvent>
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

  const page = <T extends Page<unknown>>({ data }: Answer<T>): T => ({ ...data, items: data.items.map(present) })

  const read = async <T>(verb: string, query: Query, options?: CallOptions): Promise<T> => {
    const { data } = await send<T>({
      method: "GET",
      path: path + verb,
      query: { ...query, filter: filterOf(query["filter"]) },
      signal: options?.signal
    })
    return data
  }

  const list = (query: Query, options: CallOptions | undefined, asSearch: boolean): Listing<AnyRecord> => {
    const asked: Query = { ...query, filter: filterOf(query["filter"]), order_by: orderOf(query["order_by"]) }
    return listing(async (token) => {
      const whole = token === undefined ? asked : { ...asked, page_token: token }
      const call = { method: "GET", path, query: whole as NonNullable<Call["query"]>, signal: options?.signal }
      if (!asSearch && urlOf(call).length <= longestAddress) return page(await send<Page<AnyRecord>>(call))
      const json = Object.fromEntries(Object.entries(whole).filter(([, value]) => isGiven(value)))
      const { path: at, signal } = call
      return page(await send<Page<AnyRecord>>({ method: "POST", path: `${at}:search`, json, signal, repeatable: true }))
    })
  }

  const write = async (call: Call, options: WriteOptions | undefined): Promise<AnyRecord> => {
    const { data, headers } = await send<AnyRecord | undefined>({
      ...call,
      query: { dry_run: options?.dryRun },
      signal: options?.signal
    })
    return data === undefined ? { etag: headers.get("etag") ?? "" } : present(data)
  }

  const client: ResourceClient = {
    name,
    baseUrl: urlOf({ path: "" }),
    where: (build) => build(fieldScope as never),
    list: (query = {}, options) => list({ ...query }, options, false) as never,
    search: (query = {}, options) => list({ ...query }, options, true) as never,
    seek: async (position, query = {}, options) => {
      const { order_by, ...rest } = query
      const data = await read<SeekPage<never>>(":seek", { ...rest, order_by: orderOf(order_by), position }, options)
      return { ...data, items: data.items.map(present) }
    },
    get: async (key, query = {}, options) => {
      const { data } = await send<AnyRecord>({
        method: "GET",
        path: record(key),
        query: { ...query },
        signal: options?.signal
      })
      return present(data) as never
    },
    getIfChanged: async (key, etag, query = {}, options) => {
      const { data, status } = await send<AnyRecord>({
        method: "GET",
        path: record(key),
        query: { ...query },
        headers: { "if-none-match": etag },
        signal: options?.signal
      })
      return status === 304 ? null : present(data) as never
    },
    create: async (data, options) => {
      const key = idempotencyKey(options?.idempotencyKey)
      return await write({
        method: "POST",
        path,
        json: data,
        headers: { "idempotency-key": key },
        repeatable: key !== undefined
      }, options) as never
    },
    update: async (key, data, options) =>
      await write({
        method: "PATCH",
        path: record(key),
        json: data,
        headers: { "if-match": options.etag }
      }, options) as never,
    delete: async (key, options) => {
      await write({ method: "DELETE", path: record(key), headers: { "if-match": options?.etag } }, options)
    },
    undelete: async (key, options) =>
      await write({
        method: "POST",
        path: `${record(key)}:undelete`,
        headers: { "if-match": options?.etag }
      }, options) as never,
    restore: async (key, version, options) =>
      await write({
        method: "POST",
        path: `${record(key)}:restore`,
        json: { version: String(version) },
        headers: { "if-match": options.etag }
      }, options) as never,
    facets: (query, options) => read(":facets", { ...query }, options),
    series: (query, options) => read(":series", { ...query }, options),
    histogram: (query, options) => read(":histogram", { ...query }, options),
    upload: (field, file, options) => upload(name, field, file, options),
    watch: (options) => watch(name, options)
  }
  return client
}
