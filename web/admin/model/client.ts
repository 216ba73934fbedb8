/**
 * The app's client: every call to the service and to its sources goes through it. It uses only the public client package.
 */

import {
  type BatchBuilder,
  type CallOptions,
  type Client,
  createClient,
  type Facets,
  type FetchFunction,
  type Histogram,
  type MetaDocument,
  type Operation,
  type Reference,
  type ResourceClient,
  routedClient,
  type Series,
  type SeriesQuery
} from "../../client/index.ts"
import { config } from "../config.ts"
import { takeToken } from "./begun.ts"

let pasted: string | null = null

/** The token of the last request, and that of a session which has ended: the service takes it until it runs out. */
let used: string | undefined
let ended: string | undefined

/** Sends no token of an ended session. The answer to such a request has the client ask for another token. */
const send: FetchFunction = async (url, init) => {
  const token = init.headers["authorization"]
  if (token !== undefined && token === ended) return new Response(null, { status: 401 })
  used = token ?? used
  return takeToken(url)?.catch(() => globalThis.fetch(url, init)) ?? globalThis.fetch(url, init)
}

/** Another tab has ended the session: the token that this one holds is not sent any more. */
export const endToken = (): void => {
  ended = used
}

/** The client of the service itself. */
export const ownClient: Client = createClient({
  baseUrl: config.basePath,
  fetch: send,
  ...(config.signIn === "token" ? { token: () => pasted } : {})
})

/** Null once the app has read the document: an answer that it did not take may be another user's by the next time. */
let begunMeta: Promise<MetaDocument> | null | undefined

/** Asks for the meta document before the app is there. Null if the app was first. */
export const beginMeta = (): Promise<MetaDocument> | null => begunMeta === null ? null : begunMeta = ownClient.meta()

/** The meta document: the answer to that question, once, and then that to a new one. */
export const readMeta = (): Promise<MetaDocument> => {
  const found = begunMeta
  begunMeta = null
  return found ?? ownClient.meta()
}

let remote: ReadonlyMap<string, Client> = new Map()

/** From now on, sends calls for these resources to their sources. */
export const routeTo = (clients: ReadonlyMap<string, Client>): void => {
  remote = clients
}

/** The client of the service that has the resource. */
export const clientOf = (resource: string): Client => remote.get(resource) ?? ownClient

/** Sends calls for a resource to the service that has it, and all others to the own service. */
export const client: Client = routedClient(ownClient, (resource) => remote.get(resource))

/** Sets a pasted token, if another server has the accounts. The token stays in memory. */
export const pasteToken = (token: string): void => {
  pasted = token
}

/** A record in the app. Its fields are known only from the meta document. */
export interface AnyRecord {
  readonly [field: string]: unknown
  readonly etag: string
  readonly permissions?: {
    readonly update: boolean
    readonly delete: boolean
    readonly fields?: { readonly [field: string]: "edit" | "read" }
  }
}

/** The field and the records of a statistic. */
interface AnyNarrowing {
  readonly field: string
  readonly filter?: string | null
  readonly show_deleted?: boolean
}

interface AnySeriesQuery
  extends AnyNarrowing, Pick<SeriesQuery<unknown, string>, "range" | "from" | "to" | "granularity" | "time_zone">
{
  readonly measure?: string
}

/** The client of a resource with any fields. */
export type AnyResource =
  & Omit<
    ResourceClient,
    | "list"
    | "search"
    | "seek"
    | "get"
    | "create"
    | "update"
    | "delete"
    | "undelete"
    | "restore"
    | "facets"
    | "series"
    | "histogram"
  >
  & {
    readonly list: (query: object, options?: { readonly signal?: AbortSignal }) => Promise<AnyPage>
    readonly search: (query: object, options?: { readonly signal?: AbortSignal }) => Promise<AnyPage>
    readonly seek: (position: number, query: object, options?: { readonly signal?: AbortSignal }) => Promise<AnyPage>
    readonly get: (
      key: readonly string[],
      query?: object,
      options?: { readonly signal?: AbortSignal }
    ) => Promise<AnyRecord>
    readonly create: (data: object, options?: object) => Promise<AnyRecord>
    readonly update: (
      key: readonly string[],
      data: object,
      options: { readonly etag: string; readonly dryRun?: boolean }
    ) => Promise<AnyRecord>
    readonly delete: (key: readonly string[], options?: { readonly etag?: string }) => Promise<void>
    readonly undelete: (key: readonly string[], options?: object) => Promise<AnyRecord>
    readonly restore: (
      key: readonly string[],
      version: string,
      options: { readonly etag: string }
    ) => Promise<AnyRecord>
    readonly facets: (query: AnyNarrowing & { readonly limit?: number }, options?: CallOptions) => Promise<Facets>
    readonly series: (query: AnySeriesQuery, options?: CallOptions) => Promise<Series>
    readonly histogram: (
      query: AnyNarrowing & { readonly buckets?: number },
      options?: CallOptions
    ) => Promise<Histogram>
  }

export interface AnyPage {
  readonly items: readonly AnyRecord[]
  readonly next_page_token: string
  readonly prev_page_token?: string
  readonly total_size_estimate: number
  readonly total_size_accuracy?: "exact" | "estimate" | "counting"
  readonly total_size?: number
  readonly refreshed_at?: string | null
  readonly refresh_failed_at?: string | null
  readonly warning?: string
}

/** The routes of a resource by its name. */
export const resourceClient = (name: string): AnyResource => client.resource(name) as AnyResource

/** A batch over resources with any fields. */
export interface AnyBatch extends Pick<BatchBuilder, "size" | "send"> {
  readonly create: (resource: string, data: object) => Reference & Operation<AnyRecord>
  readonly update: (
    resource: string,
    key: readonly string[],
    data: object,
    options: { readonly etag: string }
  ) => Operation<AnyRecord>
  readonly delete: (resource: string, key: readonly string[], options: { readonly etag: string }) => Operation<null>
  readonly reorder: (
    resource: string,
    field: string,
    keys: readonly (readonly string[])[],
    etags: { readonly [key: string]: string }
  ) => Operation
}

export const anyBatch = (): AnyBatch => client.batch() as AnyBatch
