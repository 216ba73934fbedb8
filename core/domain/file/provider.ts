/**
 * Providers: where file bytes are stored, as configuration and environment declare it (docs/guides/files.md#providers). It reads declarations
 * and `file://` and `s3://` addresses. It opens nothing.
 */

import { type Bag, isBag } from "../bag.ts"
import { lifetimeFix, readLinkLifetime } from "./link.ts"
import { readBytes, readDuration } from "./size.ts"

/** A folder on local disk. */
export interface LocalProvider {
  readonly of: "local"
  readonly dir: string
}

/** A bucket of an S3-compatible store. Keys are null where they come from the environment. */
export interface BucketProvider {
  readonly of: "s3"
  readonly bucket: string
  /** Empty, or ends with `/`. */
  readonly prefix: string
  readonly endpoint: string | null
  readonly region: string
  /** Bucket in the path instead of the host name; null: where the endpoint is an address or `localhost`. */
  readonly pathStyle: boolean | null
  readonly accessKeyId: string | null
  readonly secretAccessKey: string | null
}

/** A provider as it is configured. */
export interface Provider {
  readonly name: string
  readonly place: LocalProvider | BucketProvider
  readonly public: boolean
  /** The base URL of links to public files. Null: the service itself. */
  readonly publicUrl: string | null
  /** Milliseconds between the removal of a file from a row and its delete. Null: the default. */
  readonly retention: number | null
  readonly maxBytes: number | null
  readonly maxFiles: number | null
  /** Longest lifetime of links to its private files in seconds. Null: the default. */
  readonly linkLifetime: number | null
}

/** What `localFiles` and `s3Files` give: as written. The service checks it when it starts. */
export interface FileProviderDeclaration {
  readonly _tag: "FileProvider"
  readonly of: "local" | "s3"
  readonly options: unknown
}

export interface LocalFilesOptions {
  /** Folder; a relative one is taken from the project's folder. */
  readonly dir: string
  /** Anyone with the link may open files. */
  readonly public?: boolean
  /** The base URL of links to public files in place of the service: a CDN in front of the folder. */
  readonly publicUrl?: string
  /** How long a file stays after its row no longer holds it: `1d`, `12 hours`, `0`. */
  readonly retention?: string | 0
  /** Most bytes it may hold: a number, or a text such as `20 GB`. */
  readonly maxBytes?: number | string
  readonly maxFiles?: number
  /** The longest that links to its private files are valid: from `5 minutes` to `2 hours`, the default. */
  readonly linkLifetime?: string
}

export interface S3FilesOptions extends Omit<LocalFilesOptions, "dir"> {
  readonly bucket: string
  readonly prefix?: string
  /** URL of an S3-compatible server; without it, Amazon's. */
  readonly endpoint?: string
  /** Default `us-east-1`. */
  readonly region?: string
  /** Bucket in the path instead of the host name. */
  readonly pathStyle?: boolean
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
}

/** A folder on local disk as a provider (docs/guides/files.md#providers). */
export const localFiles = (options: LocalFilesOptions): FileProviderDeclaration => ({
  _tag: "FileProvider",
  of: "local",
  options
})

/** A bucket of an S3-compatible store as a provider (docs/guides/files.md#providers). It needs the packages `@aws-sdk/client-s3`, `@aws-sdk/lib-storage` and `@aws-sdk/s3-request-presigner`. */
export const s3Files = (options: S3FilesOptions): FileProviderDeclaration => ({
  _tag: "FileProvider",
  of: "s3",
  options
})

/** The default retention: none for public files, a day for others. */
export const defaultRetention = (isPublic: boolean): number => isPublic ? 0 : 86_400_000

type Say = (message: string, fix: string) => void

const isHttpUrl = (raw: unknown): raw is string => {
  if (typeof raw !== "string" || !URL.canParse(raw)) return false
  const url = new URL(raw)
  return /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" && url.search === "" &&
    url.hash === ""
}

/** A prefix without a slash at its beginning and with one at its end. Null when a segment is empty or consists of dots. */
const readPrefix = (raw: string): string | null => {
  const plain = raw.replace(/^\/+|\/+$/g, "")
  if (plain === "") return ""
  return plain.split("/").every((segment) => /^[A-Za-z0-9_.!*'()-]+$/.test(segment) && !/^\.+$/.test(segment))
    ? `${plain}/`
    : null
}

const localNames = ["dir", "public", "publicUrl", "retention", "maxBytes", "maxFiles", "linkLifetime"]
const bucketNames = [
  "bucket",
  "prefix",
  "endpoint",
  "region",
  "pathStyle",
  "accessKeyId",
  "secretAccessKey",
  ...localNames.slice(1)
]

/** Reads the options of a provider, declared or from the environment. Reports every mistake in them. */
const readOptions = (name: string, of: "local" | "s3", options: Bag, at: string, say: Say): Provider | null => {
  let fits = true
  const wrong = (key: string, fix: string): void => {
    fits = false
    say(`${at} has a ${key} that is not valid.`, fix)
  }
  const names = of === "local" ? localNames : bucketNames
  for (const key of Object.keys(options)) {
    if (!names.includes(key)) {
      fits = false
      say(`${at} has an unknown option ${JSON.stringify(key.slice(0, 40))}.`, `It takes ${names.join(", ")}.`)
    }
  }
  const text = (key: string): string | null => {
    const raw = options[key]
    if (raw === undefined) return null
    if (typeof raw === "string" && raw.trim() !== "") return raw
    wrong(key, `Write ${key} as a text.`)
    return null
  }
  const flag = (key: string): boolean | null => {
    const raw = options[key]
    if (raw === undefined || typeof raw === "boolean") return raw ?? null
    wrong(key, `Write ${key}: true or false.`)
    return null
  }
  const url = (key: string): string | null => {
    const raw = options[key]
    if (raw === undefined || isHttpUrl(raw)) return raw ?? null
    wrong(key, `Write an http(s) URL without user name, password and query.`)
    return null
  }
  const { maxBytes, maxFiles, retention } = options
  const most = maxBytes === undefined ? null : readBytes(maxBytes)
  if (maxBytes !== undefined && most === null) {
    wrong("maxBytes", "Write a whole number of bytes, or a text such as \"20 GB\".")
  }
  const files = typeof maxFiles === "number" && Number.isSafeInteger(maxFiles) && maxFiles >= 0 ? maxFiles : null
  if (maxFiles !== undefined && files === null) wrong("maxFiles", "Write a whole number.")
  const duration = retention === undefined ? null : readDuration(retention)
  if (retention !== undefined && duration === null) {
    wrong("retention", "Write a duration such as \"1d\", \"12 hours\" or \"0\".")
  }
  const publicUrl = url("publicUrl")
  const isPublic = flag("public") ?? name === "public"
  const lifetime = options["linkLifetime"]
  const linkLifetime = lifetime === undefined ? null : readLinkLifetime(lifetime)
  if (lifetime !== undefined && linkLifetime === null) wrong("linkLifetime", lifetimeFix)
  if (lifetime !== undefined && isPublic) wrong("linkLifetime", "Remove it: links of public files have no end.")
  const shared = {
    name,
    public: isPublic,
    publicUrl,
    retention: duration,
    maxBytes: most,
    maxFiles: files,
    linkLifetime
  }
  if (of === "local") {
    const dir = text("dir")
    if (options["dir"] === undefined) wrong("dir", "Write dir with the path of a folder.")
    return dir === null || !fits ? null : { ...shared, place: { of, dir } }
  }
  const bucket = text("bucket")
  if (bucket === null || !/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket)) {
    wrong("bucket", "Write the name of the bucket.")
  }
  const prefix = readPrefix(text("prefix") ?? "")
  if (prefix === null) wrong("prefix", "Write a path of letters, digits, - and _ such as \"shop/files\".")
  const [accessKeyId, secretAccessKey] = [text("accessKeyId"), text("secretAccessKey")]
  if ((accessKeyId === null) !== (secretAccessKey === null)) {
    wrong(accessKeyId === null ? "accessKeyId" : "secretAccessKey", "Give both keys of the pair, or neither.")
  }
  const endpoint = url("endpoint")
  const region = text("region") ?? "us-east-1"
  const pathStyle = flag("pathStyle")
  return bucket === null || prefix === null || !fits
    ? null
    : { ...shared, place: { of, bucket, prefix, endpoint, region, pathStyle, accessKeyId, secretAccessKey } }
}

/** Reads a declared provider. Reports what is wrong with it. */
export const readProvider = (name: string, raw: unknown, say: Say): Provider | null => {
  if (!isBag(raw) || raw["_tag"] !== "FileProvider" || (raw["of"] !== "local" && raw["of"] !== "s3")) {
    say(`files.providers.${name} is no provider.`, "Write localFiles({ dir: \"…\" }) or s3Files({ bucket: \"…\" }).")
    return null
  }
  const { of, options } = raw
  if (!isBag(options)) {
    say(`files.providers.${name} has no options.`, "Write localFiles({ dir: \"…\" }) or s3Files({ bucket: \"…\" }).")
    return null
  }
  return readOptions(name, of, options, `files.providers.${name}`, say)
}

/** Query keys of addresses, and the options that they stand for. */
const localKeys: { readonly [key: string]: string } = {
  public: "public",
  public_url: "publicUrl",
  retention: "retention",
  max_bytes: "maxBytes",
  max_files: "maxFiles",
  link_lifetime: "linkLifetime"
}
const bucketKeys: { readonly [key: string]: string } = {
  ...localKeys,
  endpoint: "endpoint",
  region: "region",
  path_style: "pathStyle"
}

const flags: { readonly [text: string]: boolean } = { "1": true, "true": true, "0": false, "false": false }

/**
 * Reads `file://<dir>?…` or `s3://<bucket>/<prefix>?…` (docs/guides/files.md#providers). `variable` names the variable in messages.
 * Messages never repeat its value, because it may contain a key.
 */
export const readProviderAddress = (name: string, address: string, variable: string, say: Say): Provider | null => {
  const [, scheme, place = "", query = ""] = /^(file|s3):\/\/([^?#]*)(?:\?([^#]*))?$/.exec(address.trim()) ?? []
  if (scheme === undefined) {
    say(
      `${variable} is no address of files.`,
      "Write file://<folder> or s3://<bucket>/<prefix>, with options in the query."
    )
    return null
  }
  const keys = scheme === "file" ? localKeys : bucketKeys
  const options: Record<string, unknown> = {}
  for (const [key, value] of new URLSearchParams(query)) {
    const option = Object.hasOwn(keys, key) ? keys[key]! : null
    if (option === null) {
      const secret = /key|secret|token|password/i.test(key)
      say(
        secret
          ? `${variable} has a credential in its address.`
          : `${variable} has an unknown option ${JSON.stringify(key.slice(0, 40))}.`,
        secret
          ? `Set ${variable}_ACCESS_KEY_ID and ${variable}_SECRET_ACCESS_KEY instead.`
          : `It takes ${Object.keys(keys).join(", ")}.`
      )
      return null
    }
    options[option] = option === "public" || option === "pathStyle"
      ? flags[value] ?? value
      : option === "maxFiles" && /^[0-9]{1,15}$/.test(value)
      ? Number(value)
      : option === "maxBytes" && /^[0-9]{1,15}$/.test(value)
      ? Number(value)
      : value
  }
  let decoded: string
  try {
    decoded = decodeURIComponent(place)
  } catch {
    say(`${variable} is not valid percent-encoded UTF-8.`, "Percent-encode special characters of the path.")
    return null
  }
  if (scheme === "file") return readOptions(name, "local", { ...options, dir: decoded }, variable, say)
  if (place.includes("@")) {
    say(
      `${variable} has a credential in its address.`,
      `Set ${variable}_ACCESS_KEY_ID and ${variable}_SECRET_ACCESS_KEY instead.`
    )
    return null
  }
  const slash = decoded.indexOf("/")
  const bucket = slash === -1 ? decoded : decoded.slice(0, slash)
  const prefix = slash === -1 ? "" : decoded.slice(slash + 1)
  return readOptions(name, "s3", { ...options, bucket, ...(prefix === "" ? {} : { prefix }) }, variable, say)
}

/** The variable that configures a provider: its name in upper case, `-` as `_`. */
export const providerVariable = (name: string): string => `SERVICE_FILES_${name.toUpperCase().replaceAll("-", "_")}`

/** The providers that exist without configuration, in a folder of the service. */
export const defaultProvider = (name: "private" | "public", folder: string): Provider => ({
  name,
  place: { of: "local", dir: `${folder}/files/${name}` },
  public: name === "public",
  publicUrl: null,
  retention: null,
  maxBytes: null,
  maxFiles: null,
  linkLifetime: null
})
