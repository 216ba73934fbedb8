/**
 * The app's client: every call to the service and to its sources goes through it. It uses only the public client package.
 */

import { type Client, createClient, type ResourceClient, routedClient } from "../../client/index.ts"
import { config } from "../config.ts"

let pasted: string | null = null

/** The client of the service itself. */
export const ownClient: Client = createClient({
  baseUrl: config.basePath,
  ...(config.signIn === "token" ? { token: () => pasted } : {})
})

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

/** The client of a resource with any fields. */
export type AnyResource =
  & Omit<ResourceClient, "list" | "search" | "seek" | "get" | "create" | "update" | "undelete">
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
    readonly undelete: (key: readonly string[], options?: object) => Promise<AnyRecord>
  }

export interface AnyPage {
  readonly items: readonly AnyRecord[]
  readonly next_page_token: string
  readonly prev_page_token?: string
  readonly total_size_estimate: number
  readonly total_size_accuracy?: "exact" | "estimate" | "counting"
  readonly total_size?: number
  readonly warning?: string
}

/** The routes of a resource by its name. */
export const resourceClient = (name: string): AnyResource => client.resource(name) as unknown as AnyResource
