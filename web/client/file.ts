/**
 * Files: what an upload takes and gives, and the addresses of files in records. An upload is a call of its own. A write then takes the value that it
 * returns.
 */

import { ConnectionError, isObject } from "./problem.ts"
import type { CallOptions } from "./request.ts"
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

/** The address of a file, or of one of its variants; of the file itself where it has no such variant. Null without a file. */
export const fileUrl = (file: FileValue | null | undefined, variant?: string): string | null => {
  const variants = file?.variants ?? {}
  return (Object.hasOwn(variants, variant ?? "") ? variants[variant!] : file)?.url ?? null
}

/** Puts the origin of an absolute base before the addresses of files in a record, and in those that came with it. */
export const presenter = (system: string): <T>(record: T) => T => {
  if (!/^https?:/.test(system)) return (record) => record
  const { origin, pathname } = new URL(system)
  const files = `${pathname}/files/`
  const absolute = (url: unknown): unknown => typeof url === "string" && url.startsWith(files) ? origin + url : url
  const presentFile = (value: { readonly [member: string]: unknown }) => ({
    ...value,
    url: absolute(value["url"]),
    ...(isObject(value["variants"])
      ? {
        variants: Object.fromEntries(
          Object.entries(value["variants"]).map(([name, variant]) => [
            name,
            isObject(variant) ? { ...variant, url: absolute(variant["url"]) } : variant
          ])
        )
      }
      : {})
  })
  const isFile = (value: unknown): value is { readonly [member: string]: unknown } =>
    isObject(value) && typeof value["uri"] === "string" && absolute(value["url"]) !== value["url"]
  const presentValue = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(presentValue) : isFile(value) ? presentFile(value) : value
  const present = <T>(record: T): T => {
    // The answer of a source is not trusted.
    if (!isObject(record)) throw new ConnectionError(null, "The answer is not the service's.")
    return Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name,
        name === "expand" && isObject(value)
          ? Object.fromEntries(
            Object.entries(value).map(([way, each]) => [
              way,
              Array.isArray(each) ? each.map(present) : each === null ? null : present(each)
            ])
          )
          : presentValue(value)
      ])
    ) as T
  }
  return present
}
