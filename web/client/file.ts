/**
 * Files: what an upload takes and gives, and the addresses of files in records. An upload is a call of its own. A write then takes the value that it
 * returns.
 */

import { ConnectionError, isObject } from "./problem.ts"
import type { CallOptions } from "./transport.ts"
import type { Json } from "./typed.ts"

/** What can be sent: a `File` or `Blob`, bytes, text, or a stream (where the runtime's `fetch` sends streams). */
export type UploadSource = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string | ReadableStream<Uint8Array>

export interface UploadProgress {
  readonly loaded: number
  /** Bytes in all, or null for a stream. */
  readonly total: number | null
}

export interface UploadOptions extends CallOptions {
  /** The file's name; that of a `File` when left out. */
  readonly name?: string
  /** Its media type; that of a `Blob` when left out. The service looks at the content first. */
  readonly type?: string
  /** Called while the file is sent, and once at the end. Without `XMLHttpRequest` (outside of browsers) only at the beginning and the end. */
  readonly onProgress?: (progress: UploadProgress) => void
  readonly idempotencyKey?: string | true
  /**
   * Sends the file in pieces, which go on where a broken connection ended. Left out, files of more than 16 MiB go so, unless they have an idempotency
   * key. A stream never does.
   */
  readonly resumable?: boolean
  /**
   * Sends the file straight to the bucket of its field, so that the service passes no byte of it on. A page needs a rule for CORS at the bucket. Where the
   * files are in a folder, or the file has more than 5 GiB, it goes as without this. A stream never goes so.
   */
  readonly direct?: boolean
}

/** An uploaded file. `value` is a ticket: for 24 hours it can be the field's value in a create, an update or a batch. */
export interface Uploaded {
  readonly value: string
  readonly file: { readonly name: string; readonly type: string; readonly size: number }
  /** Values that were computed from the file, by field. They are written with it. */
  readonly derived: { readonly [field: string]: Json }
  /** The content was of another type than the name or the media type said. */
  readonly corrected?: { readonly from: string; readonly to: string }
}

/** A file in a record. `missing`: there is a value, but no file for it. */
export interface FileValue {
  readonly uri: string
  readonly name?: string
  readonly type?: string
  readonly size?: number
  readonly url?: string
  readonly placeholder?: string | null
  readonly variants?: {
    readonly [name: string]: {
      readonly url: string
      readonly type: string
      readonly width: number | null
      readonly height: number | null
    }
  }
  readonly missing?: true
}

/**
 * The address of a file, or of one of its variants; of the file itself where it has no such variant. Null without a file. `download`: the browser saves
 * the file and shows it nowhere. The address of a file elsewhere stays as it is.
 */
export const fileUrl = (
  file: FileValue | null | undefined,
  variant?: string | null,
  options?: { readonly download?: boolean }
): string | null => {
  const variants = file?.variants ?? {}
  const url = (Object.hasOwn(variants, variant ?? "") ? variants[variant!] : file)?.url ?? null
  return options?.download === true && url !== null && url !== file!.uri
    ? url + (url.includes("?") ? "&" : "?") + "download=1"
    : url
}

type Members = { readonly [member: string]: unknown }

const eachOf = (members: Members, change: (member: unknown, name: string) => unknown): Members =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member, name)]))

/** Puts the origin of an absolute base before the addresses of files in a record, and in those that came with it. */
export const presenter = (system: string): <T>(record: T) => T => {
  if (!/^https?:/.test(system)) return (record) => record
  const { origin, pathname } = new URL(system)
  /** A file or a variant of one, if it is at this service; anything else as it is. */
  const presentFile = (value: unknown): unknown => {
    if (!isObject(value)) return value
    const { url, variants } = value
    if (typeof url !== "string" || !url.startsWith(`${pathname}/files/`)) return value
    return { ...value, url: origin + url, ...(isObject(variants) ? { variants: eachOf(variants, presentFile) } : {}) }
  }
  const present = <T>(record: T): T => {
    // The answer of a source is not trusted.
    if (!isObject(record)) throw new ConnectionError(null, "The answer is not the service's.")
    return eachOf(record, (value, name) =>
      name === "expand" && isObject(value)
        ? eachOf(value, (each) =>
          Array.isArray(each)
            ? each.map(present)
            // A page of records, which has no version.
            : isObject(each) && !each["etag"] && Array.isArray(each["items"])
            ? { ...each, items: each["items"].map(present) }
            : each === null
            ? null
            : present(each))
        : Array.isArray(value)
        ? value.map(presentOwn)
        : presentOwn(value)) as T
  }
  /** A file has an address of its own kind: `uri`. Other objects are values of JSON fields. */
  const presentOwn = (value: unknown): unknown =>
    isObject(value) && typeof value["uri"] === "string" ? presentFile(value) : value
  return present
}
