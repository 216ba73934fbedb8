/**
 * Files: upload, with progress where the runtime can report it, and the addresses of files in records. An upload is a call of its own. A write then
 * takes the value that it returns.
 */

import { idempotencyKey } from "./key.ts"
import { ConnectionError, isObject, problemOf } from "./problem.ts"
import { until } from "./request.ts"
import type { Call, CallOptions, Transport } from "./request.ts"
import type { TokenHolder } from "./token.ts"
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
  const variants = file?.variants
  const of = variant !== undefined && variants !== undefined && Object.hasOwn(variants, variant)
    ? variants[variant]
    : undefined
  return of?.url ?? file?.url ?? null
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
  const present = <T>(record: T): T => {
    // The answer of a source is not trusted.
    if (!isObject(record)) throw new ConnectionError(null, "The answer is not the service's.")
    let changed: { [member: string]: unknown } | null = null
    for (const [name, value] of Object.entries(record)) {
      const next = isFile(value)
        ? presentFile(value)
        : name === "expand" && isObject(value)
        ? Object.fromEntries(
          Object.entries(value).map(([way, each]) => [
            way,
            Array.isArray(each) ? each.map(present) : present(each)
          ])
        )
        : value
      if (next !== value) (changed ??= { ...record })[name] = next
    }
    return (changed ?? record) as T
  }
  return present
}

/** The part of `XMLHttpRequest` that is used: this file also runs where there is none. */
interface Xhr {
  open: (method: string, url: string) => void
  setRequestHeader: (name: string, value: string) => void
  send: (body: unknown) => void
  abort: () => void
  getResponseHeader: (name: string) => string | null
  getAllResponseHeaders: () => string
  readonly status: number
  readonly responseText: string
  readonly upload: { onprogress: ((event: { readonly loaded: number; readonly total: number }) => void) | null }
  onload: (() => void) | null
  onerror: (() => void) | null
}

const sizeOf = (file: UploadSource): number | null => {
  if (typeof file === "string") return new TextEncoder().encode(file).length
  if (file instanceof Blob) return file.size
  return "byteLength" in file ? file.byteLength : null
}

/** Sends by XMLHttpRequest, the only way to learn of progress in a browser. */
const sendByXhr = (
  call: { readonly url: string; readonly headers: { readonly [name: string]: string } },
  file: UploadSource,
  options: UploadOptions
): Promise<Response> => {
  const request = new (globalThis as unknown as { XMLHttpRequest: new() => Xhr }).XMLHttpRequest()
  const answered = new Promise<Response>((resolve, reject) => {
    request.open("POST", call.url)
    for (const [name, value] of Object.entries(call.headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded, total }) => options.onProgress?.({ loaded, total })
    request.onerror = () => reject(new ConnectionError(new TypeError("The upload failed.")))
    request.onload = () => {
      const headers = new Headers()
      for (const line of request.getAllResponseHeaders().trim().split(/[\r\n]+/)) {
        const [name = "", ...rest] = line.split(": ")
        if (name !== "") headers.append(name, rest.join(": "))
      }
      // A status outside of this range is no answer to an upload.
      if (request.status < 200 || request.status > 599) reject(new ConnectionError(null))
      else resolve(new Response(request.responseText, { status: request.status, headers }))
    }
    request.send(file)
  })
  return until(options.signal, answered).catch((error: unknown) => {
    request.abort()
    throw error
  })
}

/** Sends a file for a field of a resource. */
export const makeUpload = (transport: Transport, tokens: TokenHolder) =>
async (
  resource: string,
  field: string,
  file: UploadSource,
  options: UploadOptions = {}
): Promise<Uploaded> => {
  const { onProgress, signal } = options
  const name = options.name ?? (file instanceof Blob && "name" in file ? String(file.name) : "")
  const type = options.type ?? (file instanceof Blob ? file.type : "")
  const total = sizeOf(file)
  const key = idempotencyKey(options.idempotencyKey)
  const call: Call = {
    method: "POST",
    path: `/${encodeURIComponent(resource)}:upload`,
    query: { field, name },
    body: file,
    headers: { "content-type": type === "" ? "application/octet-stream" : type, "idempotency-key": key },
    // A stream cannot be sent again.
    repeatable: key !== undefined && total !== null,
    signal
  }
  onProgress?.({ loaded: 0, total })
  if (onProgress === undefined || total === null || !("XMLHttpRequest" in globalThis)) {
    const { data } = await transport.send<Uploaded>(call)
    onProgress?.({ loaded: total ?? data.file.size, total })
    return data
  }
  const attempt = async (token: string | null): Promise<Response> => {
    const headers: { [name: string]: string } = token === null ? {} : { authorization: `Bearer ${token}` }
    for (const [header, value] of Object.entries(call.headers ?? {})) if (value != null) headers[header] = value
    return sendByXhr({ url: transport.urlOf(call), headers }, file, options)
  }
  const token = await until(signal, tokens.token())
  let response = await attempt(token)
  if (response.status === 401 && token !== null) {
    const renewed = await until(signal, tokens.token(token))
    if (renewed !== token) response = await attempt(renewed)
  }
  const text = await response.text()
  if (!response.ok) throw problemOf(response, text)
  onProgress({ loaded: total, total })
  return JSON.parse(text) as Uploaded
}
