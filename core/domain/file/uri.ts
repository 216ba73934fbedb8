/**
 * The stored value of a file field: a URI with provider, path, name, size and variants (docs/guides/files.md#from-upload-to-cleanup). It reads and writes the text, and
 * decides which paths are valid. It knows no provider, and not whether the file exists.
 */

/** A resized copy beside an image. `width` and `height` are null in values that were stored without them. */
export interface StoredVariant {
  readonly name: string
  readonly extension: string
  readonly width: number | null
  readonly height: number | null
}

/** A file at a configured provider. */
export interface StoredFile {
  readonly provider: string
  /** `<tenant or _>/<id>.<extension>`; imports may have more segments. */
  readonly path: string
  /** The uploader's name of the file, else the last segment of the path. */
  readonly name: string
  /** Bytes; null in a plain value that an import wrote. */
  readonly size: number | null
  readonly variants: readonly StoredVariant[]
}

/** Longest stored value and longest path, in characters. */
export const maxStored = 4_096
const maxPath = 512

const providerPattern = /^[a-z][a-z0-9_-]{0,31}$/
/** Schemes that have another meaning to readers of the column. */
const takenSchemes: ReadonlySet<string> = new Set([
  "http",
  "https",
  "ftp",
  "file",
  "data",
  "blob",
  "mailto",
  "s3",
  "javascript",
  "urn"
])

/** Whether a text can be the name of a provider: the scheme of every value stored with it. */
export const isProviderName = (name: string): boolean => providerPattern.test(name) && !takenSchemes.has(name)

/** Control characters, backslashes and characters that change the direction of writing. Lone surrogates have no UTF-8. */
const unwanted = /[\u0000-\u001f\u007f-\u009f\\\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

/**
 * Whether a path is valid: at least a folder and a name, no segment that is empty or begins with a dot (`..`, `.cleanup`, temporary names), and
 * nothing that a file system or a URL reads in another way.
 */
export const isStoredPath = (path: string): boolean => {
  if (path.length > maxPath || unwanted.test(path) || !path.isWellFormed()) return false
  const segments = path.split("/")
  return segments.length >= 2 && segments.every((segment) => segment !== "" && !segment.startsWith("."))
}

/** Extension of a path or name in lower case, without its dot; empty when there is none. */
export const extensionOf = (path: string): string => {
  const name = path.slice(path.lastIndexOf("/") + 1)
  const dot = name.lastIndexOf(".")
  return dot < 1 ? "" : name.slice(dot + 1).toLowerCase()
}

/** Where a variant of a file is stored (docs/guides/files.md#images). */
export const variantPath = (path: string, name: string, extension: string): string => `${path}.${name}.${extension}`

/** Digits of an encoded tenant in one segment: a file system takes 255 bytes for it. */
const mostDigits = 240

/**
 * The folder of a tenant: its text where it is plain, `_` without a tenant. Other texts are encoded, so that they cannot form a path: in one segment, or in
 * two of which the first ends with `~`.
 */
export const tenantFolder = (tenant: string | null): string =>
  tenant === null
    ? "_"
    : /^(?!_$)[A-Za-z0-9_-]{1,64}$/.test(tenant)
    ? tenant
    : encodedFolder(Array.from(new TextEncoder().encode(tenant), (byte) => byte.toString(16).padStart(2, "0")).join(""))

const encodedFolder = (digits: string): string =>
  digits.length <= mostDigits ? `~${digits}` : `~${digits.slice(0, mostDigits)}~/~${digits.slice(mostDigits)}`

/** The tenant of a path, from the folder that `tenantFolder` made. Null for `_` and for a folder of no tenant. */
export const tenantOfFolder = (path: string): string | null => {
  const folder = path.slice(0, path.indexOf("/"))
  if (folder === "_") return null
  if (!folder.startsWith("~")) return folder
  const [, first, second = ""] = /^~((?:[0-9a-f]{2})*)(?:~\/~((?:[0-9a-f]{2})+))?\//.exec(path) ?? []
  if (first === undefined) return null
  const bytes = Uint8Array.from((first + second).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  return new TextDecoder().decode(bytes)
}

const wholeNumber = /^(?:0|[1-9][0-9]{0,14})$/

const readSizes = (text: string | undefined): ReadonlyArray<readonly [number, number]> | null => {
  if (text === undefined) return []
  const sizes: Array<readonly [number, number]> = []
  for (const each of text.split(",")) {
    const [, width, height] = /^([1-9][0-9]{0,5})x([1-9][0-9]{0,5})$/.exec(each) ?? []
    if (width === undefined || height === undefined) return null
    sizes.push([Number(width), Number(height)])
  }
  return sizes
}

const readVariants = (text: string | undefined, sizesText: string | undefined): readonly StoredVariant[] | null => {
  if (text === undefined) return sizesText === undefined ? [] : null
  const sizes = readSizes(sizesText)
  const listed = text.split(",")
  if (sizes === null || (sizes.length > 0 && sizes.length !== listed.length)) return null
  const variants: StoredVariant[] = []
  for (const [i, each] of listed.entries()) {
    const [, name, extension] = /^([a-z][a-z0-9_]{0,39})\.([a-z0-9]{1,10})$/.exec(each) ?? []
    if (name === undefined || extension === undefined) return null
    variants.push({ name, extension, width: sizes[i]?.[0] ?? null, height: sizes[i]?.[1] ?? null })
  }
  return variants
}

const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** The parameters after the path. Null when they are not of the right form. The first of several with one name counts. Unknown names are ignored. */
const readMembers = (query: string): ReadonlyMap<string, string> | null => {
  const parameters = new Map<string, string>()
  for (const part of query.split("&")) {
    const equals = part.indexOf("=")
    const value = equals < 1 ? null : decoded(part.slice(equals + 1))
    if (value === null) return null
    if (!parameters.has(part.slice(0, equals))) parameters.set(part.slice(0, equals), value)
  }
  return parameters
}

/** Reads a stored value. Null when it has another form (such as an https URL). */
export const readStored = (text: string): StoredFile | null => {
  if (text.length > maxStored) return null
  const colon = text.indexOf(":")
  const provider = text.slice(0, colon)
  if (colon < 1 || !isProviderName(provider)) return null
  const mark = text.indexOf("?", colon)
  const path = mark === -1 ? text.slice(colon + 1) : text.slice(colon + 1, mark)
  if (!isStoredPath(path)) return null
  const fallback = path.slice(path.lastIndexOf("/") + 1)
  if (mark === -1) return { provider, path, name: fallback, size: null, variants: [] }
  const parameters = readMembers(text.slice(mark + 1))
  if (parameters === null) return null
  const size = parameters.get("size")
  const variants = readVariants(parameters.get("variants"), parameters.get("sizes"))
  if (variants === null || (size !== undefined && !wholeNumber.test(size))) return null
  return {
    provider,
    path,
    name: parameters.get("name") || fallback,
    size: size === undefined ? null : Number(size),
    variants
  }
}

/** Writes a value as it is stored. */
export const writeStored = ({ name, path, provider, size, variants }: StoredFile): string => {
  const sized = variants.every(({ height, width }) => width !== null && height !== null)
  const copies = variants.length === 0
    ? ""
    : `&variants=${variants.map((each) => `${each.name}.${each.extension}`).join(",")}` +
      (sized ? `&sizes=${variants.map((each) => `${each.width}x${each.height}`).join(",")}` : "")
  return `${provider}:${path}?name=${encodeURIComponent(name)}${size === null ? "" : `&size=${size}`}${copies}`
}

/** The paths that a value names at its provider: the file and its variants. */
export const pathsOf = ({ path, variants }: StoredFile): readonly [string, ...string[]] => [
  path,
  ...variants.map(({ extension, name }) => variantPath(path, name, extension))
]

/** Longest external URL in characters. */
const maxExternal = 2_048

/**
 * Whether a text is an https URL that a field with `externalUrls()` takes: absolute, with a host, no user name or password, no spaces and nothing
 * that a URL escapes (docs/guides/files.md#what-a-write-takes).
 */
export const isExternalUrl = (text: string): boolean => {
  if (text.length > maxExternal || !/^https:\/\/[^/?#\\]/i.test(text) || /[^\x21-\x7e]|["<>`{}\\^]/.test(text)) {
    return false
  }
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  const query = /\?[^#]*/.exec(text)?.[0] ?? ""
  return url.protocol === "https:" && url.hostname !== "" && url.username === "" && url.password === "" &&
    !/^https:\/\/[^/?#]*@/i.test(text) && (query === "?" ? "" : query) === url.search
}

/** Name and extension that are shown for an external URL, from the last segment of its path. */
export const externalName = (text: string): { readonly name: string; readonly extension: string } => {
  const { pathname } = new URL(text)
  const segment = pathname.slice(pathname.lastIndexOf("/") + 1)
  const name = decoded(segment) ?? segment
  return { name: name === "" || unwanted.test(name) ? segment || "file" : name, extension: extensionOf(segment) }
}
