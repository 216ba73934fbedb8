/**
 * How a file is sent: as a whole, with progress where the runtime can report it, or in pieces. It is loaded with the first file. Of the client it imports
 * types only: what it shares with the client it is given.
 */

import type { Shared } from "./attempts.ts"
import type { Uploaded, UploadOptions, UploadSource } from "./file.ts"
import { sendPieces } from "./pieces.ts"
import type { SendOptions } from "./pieces.ts"
import type { Call, FetchFunction } from "./transport.ts"

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

/** The longest file that goes as a whole where nobody says otherwise. */
const wholeBytes = 16 * 2 ** 20

const sizeOf = (file: UploadSource): number | null => {
  if (typeof file === "string") return new TextEncoder().encode(file).length
  if (file instanceof Blob) return file.size
  return "byteLength" in file ? file.byteLength : null
}

/** Sends by XMLHttpRequest, the only way to learn of progress in a browser. */
const sendByXhr =
  (until: Shared["until"], onProgress: NonNullable<UploadOptions["onProgress"]>): FetchFunction =>
  (url, { body, headers, method, signal }) => {
    const request = new (globalThis as { readonly XMLHttpRequest?: new() => Xhr }).XMLHttpRequest!()
    const answered = new Promise<void>((resolve, reject) => {
      request.open(method!, url)
      for (const [name, value] of Object.entries(headers)) {
        request.setRequestHeader(name, value)
      }
      request.upload.onprogress = onProgress
      request.onerror = () => reject(new TypeError("The upload failed."))
      request.onload = () => resolve()
      request.send(body)
    })
    return until(signal, answered).then(() => {
      const lines = request.getAllResponseHeaders().matchAll(/^(.+?): (.*?)\r?$/gm)
      // A 204 must not have even an empty body.
      return new Response(request.responseText || null, {
        status: request.status,
        headers: [...lines].map(([, name, value]): [string, string] => [name!, value!])
      })
    }).catch((error: unknown) => {
      request.abort()
      throw error
    })
  }

/** A part of the client, or why it cannot be had. */
const load = <A>({ ConnectionError }: Shared, part: () => Promise<A>): Promise<A> =>
  part().catch((cause: unknown) => {
    throw new ConnectionError(cause)
  })

/** Sends a file for a field of a resource. */
export const upload = async (
  shared: Shared,
  resource: string,
  field: string,
  file: UploadSource,
  options: UploadOptions = {}
): Promise<Uploaded> => {
  const { onProgress, signal } = options
  const name = options.name ?? (file instanceof Blob && "name" in file ? String(file.name) : "")
  const type = options.type ?? (file instanceof Blob ? file.type : "")
  const total = sizeOf(file)
  const told = onProgress !== undefined && total !== null && "XMLHttpRequest" in globalThis
  onProgress?.({ loaded: 0, total })
  const inPieces = options.resumable ?? (total !== null && total > wholeBytes && options.idempotencyKey === undefined)
  if (!(file instanceof ReadableStream)) {
    const how: SendOptions = {
      name,
      type,
      once: shared.idempotent(options.idempotencyKey ?? true).headers,
      signal,
      tell: (loaded) => onProgress?.({ loaded, total }),
      fetchOf: told ? (tell) => sendByXhr(shared.until, ({ loaded }) => tell(loaded)) : null
    }
    let sent: Uploaded | null = null
    if (options.direct === true) {
      const { sendDirect } = await shared.until(signal, load(shared, () => import("./direct.ts")))
      sent = await sendDirect(shared, resource, field, new Blob([file]), how)
    }
    if (sent === null && inPieces) sent = await sendPieces(shared, resource, field, new Blob([file]), how)
    if (sent !== null) return sent
  }
  const { headers, repeatable } = shared.idempotent(options.idempotencyKey)
  const call: Call = {
    method: "POST",
    path: `/${encodeURIComponent(resource)}:upload`,
    query: { field, name },
    body: file,
    headers: { "content-type": type || "application/octet-stream", ...headers },
    // A stream cannot be sent again.
    repeatable: repeatable && total !== null,
    signal
  }
  const { data } = await shared.send<Uploaded>(told ? { ...call, fetch: sendByXhr(shared.until, onProgress) } : call)
  onProgress?.({ loaded: total ?? data.file.size, total })
  return data
}
