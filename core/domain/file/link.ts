/**
 * Addresses of files: the path below `/api/files`, what a signature covers, and how long it is valid (docs/guides/files.md#what-is-safe). A port makes the signature.
 */

import { readDuration } from "./size.ts"

/** What a signed link is about. */
export interface Link {
  readonly provider: string
  readonly path: string
  readonly resource: string
  /** The key as it stands in URLs. */
  readonly key: string
  readonly field: string
  /** Unix seconds. */
  readonly expires: number
}

/** Longest lifetime of links in seconds: the default, and the bounds of a declared one. */
export const defaultLinkLifetime = 7_200
const shortest = 300
const longest = 7_200

/** Seconds of a declared lifetime such as `10 minutes`. Null for another value, and for one outside of 5 minutes to 2 hours. */
export const readLinkLifetime = (raw: unknown): number | null => {
  const seconds = Math.floor((readDuration(raw) ?? 0) / 1_000)
  return seconds < shortest || seconds > longest ? null : seconds
}

export const lifetimeFix = "Write a duration from \"5 minutes\" to \"2 hours\"."

/** What a link of a lifetime made at some time has in common with others. All in Unix seconds. */
export interface LinkPeriod {
  /** Links made from `from` until before `until` are the same. */
  readonly from: number
  readonly until: number
  readonly expires: number
}

/**
 * A link ends with the end of the next period, and a period is half a lifetime. So a link is valid for at least half of its lifetime and at most all
 * of it, and browsers and the service keep the links of one period. Of two hours: until the end of the next full hour.
 */
export const linkPeriod = (nowSeconds: number, lifetime = defaultLinkLifetime): LinkPeriod => {
  const period = Math.floor(lifetime / 2)
  const from = Math.floor(nowSeconds / period) * period
  return { from, until: from + period, expires: from + 2 * period }
}

/** The text that is signed. It is a list, so that two different links never give the same text. */
export const signedText = ({ expires, field, key, path, provider, resource }: Link): string =>
  JSON.stringify([provider, path, resource, key, field, expires])

/** A path as it stands in a URL. */
const encodePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/")

/** Address of a file at this service. `root` is `/api`. */
export const fileAddress = (root: string, provider: string, path: string): string =>
  `${root}/files/${provider}/${encodePath(path)}`

/** Address of a file that anyone may open from elsewhere: its `publicUrl` with the path behind it. */
export const publicAddress = (publicUrl: string, prefix: string, path: string): string =>
  `${publicUrl.replace(/\/+$/, "")}/${encodePath(prefix + path)}`

/** The query of a signed link. */
export const linkQuery = ({ expires, field, key, resource }: Link, signature: string): string =>
  `?r=${encodeURIComponent(resource)}&k=${encodeURIComponent(key)}&f=${
    encodeURIComponent(field)
  }&exp=${expires}&sig=${signature}`

type Query = ReadonlyArray<readonly [name: string, value: string]>

/**
 * Whether a link asks for an attachment: `download=1`. It says how a file is answered and not who may have it, so no signature covers it, and whoever
 * has a link may add it.
 */
export const asksDownload = (query: Query): boolean =>
  query.some(([name, value]) => name === "download" && value === "1")

/** What a request for a file asks for. Null when its parameters are not those of a link, with `download=1` or without. */
export const readLink = (
  provider: string,
  path: string,
  query: Query
): { readonly link: Link; readonly signature: string } | null => {
  const values = new Map(query)
  const [resource, key, field, expires, signature] = ["r", "k", "f", "exp", "sig"].map((name) => values.get(name))
  if (values.size !== query.length || query.length !== (asksDownload(query) ? 6 : 5)) return null
  if (resource === undefined || key === undefined || field === undefined || signature === undefined) return null
  if (expires === undefined || !/^[1-9][0-9]{0,11}$/.test(expires)) return null
  return { link: { provider, path, resource, key, field, expires: Number(expires) }, signature }
}
