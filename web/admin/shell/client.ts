/** The one client of the app: every call to the service goes through it. It has nothing that a customer's page could not have, too. */

import { type Client, createClient, type ResourceClient } from "../../client/index.ts"
import { config } from "../config.ts"

let pasted: string | null = null

export const client: Client = createClient({
  baseUrl: config.basePath,
  ...(config.signIn === "token" ? { token: () => pasted } : {})
})

/** Takes the token that somebody pasted, where accounts live elsewhere. It stays in memory. */
export const pasteToken = (token: string): void => {
  pasted = token
}

/** A record as the app handles it: names and values are known from the meta document only. */
export interface AnyRecord {
  readonly [field: string]: unknown
  readonly etag: string
  readonly permissions?: {
    readonly update: boolean
    readonly delete: boolean
    readonly fields?: { readonly [field: string]: "edit" | "read" }
  }
}

/** One of the routes of a resource, with records of any fields. */
export type AnyResource = Omit<ResourceClient, "list" | "seek" | "get" | "create" | "update" | "undelete"> & {
  readonly list: (query: object, options?: { readonly signal?: AbortSignal }) => Promise<AnyPage>
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
}

/** The routes of a resource by its name. */
export const resourceClient = (name: string): AnyResource => client.resource(name) as unknown as AnyResource
