/**
 * Uploads in pieces (tus 1.0), for long files and poor connections. A piece that broke off goes on where the
 * service says; after some failures in a row without a byte between them the upload gives up.
 */

import { makeAttempts, tusVersion } from "./attempts.ts"
import type { Shared } from "./attempts.ts"
import type { Uploaded } from "./file.ts"
import type { Answer, FetchFunction } from "./transport.ts"

/** Bytes of a piece. */
const pieceBytes = 8 * 2 ** 20

/** How a file goes that the service knows by an address. */
export interface SendOptions {
  readonly name: string
  readonly type: string
  /** Headers by which the service knows that the same upload is begun again, because its answer was lost. */
  readonly once: { readonly [name: string]: string | undefined }
  readonly signal: AbortSignal | undefined
  /** Told of the bytes that have gone. */
  readonly tell: (loaded: number) => void
  /** Makes what sends a piece and tells how much of it has gone; null: the client's own. */
  readonly fetchOf: ((tell: (loaded: number) => void) => FetchFunction) | null
}

const encoded = (text: string): string => {
  let binary = ""
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** Sends a file in pieces. Null: the service knows no such uploads, and the file can go as a whole. */
export const sendPieces = async (
  shared: Shared,
  resource: string,
  field: string,
  file: Blob,
  { fetchOf, name, once, signal, tell, type }: SendOptions
): Promise<Uploaded | null> => {
  const { ConnectionError, ProblemError, send } = shared
  const collection = `/${encodeURIComponent(resource)}:upload`
  const metadata = Object.entries({ filename: name, filetype: type }).filter(([, value]) => value !== "")
    .map(([key, value]) => `${key} ${encoded(value)}`).join(",")
  let begun: Answer<unknown>
  try {
    begun = await send({
      method: "POST",
      path: collection,
      query: { field },
      headers: { ...tusVersion, ...once, "upload-length": String(file.size), "upload-metadata": metadata || null },
      repeatable: true,
      signal
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    // An older service takes the empty body for the file, or another origin does not allow the headers.
    if (error instanceof ConnectionError || (error instanceof ProblemError && error.status === 415)) return null
    throw error
  }
  const id = /[^/]+$/.exec(begun.headers.get("location") ?? "")?.[0]
  if (id === undefined) return null
  const call = { path: `${collection}/${id}`, headers: tusVersion, signal }
  const attempts = makeAttempts(shared, call.path, signal)
  let furthest = 0
  let told = 0
  const say = (loaded: number): void => {
    if (loaded > told) tell(told = loaded)
  }
  const offsetOf = ({ headers }: Answer<unknown>): number => {
    const offset = Number(headers.get("upload-offset") ?? Number.NaN)
    if (Number.isSafeInteger(offset) && offset >= 0 && offset <= file.size) return offset
    throw new ConnectionError(null, "The answer is not the service's.")
  }

  try {
    for (let offset = 0; offset < file.size;) {
      const from = offset
      try {
        offset = offsetOf(
          await send({
            ...call,
            method: "PATCH",
            body: file.slice(from, from + pieceBytes),
            headers: {
              ...tusVersion,
              "content-type": "application/offset+octet-stream",
              "upload-offset": String(from)
            },
            ...(fetchOf === null ? {} : { fetch: fetchOf((loaded) => say(Math.min(from + loaded, file.size))) })
          })
        )
        if (offset <= from) throw new ConnectionError("no progress", "Nothing of the piece has arrived.")
      } catch (error) {
        await attempts.wait(error)
        offset = offsetOf(await attempts.repeated({ ...call, method: "HEAD", repeatable: true }))
      }
      // Beyond all earlier offsets: a service that forgets what it took would be sent the same for ever.
      if (offset > furthest) {
        furthest = offset
        attempts.begin()
      }
      say(offset)
    }
    return (await attempts.repeated<Uploaded>({ ...call, method: "GET" })).data
  } catch (error) {
    attempts.abandon()
    throw error
  } finally {
    attempts.end()
  }
}
