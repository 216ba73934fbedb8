/**
 * Uploads in pieces (tus 1.0), for long files and poor connections. A piece that broke off goes on where the
 * service says; after some failures in a row without a byte between them the upload gives up.
 */

import type { Uploaded } from "./file.ts"
import type * as keys from "./key.ts"
import type * as problems from "./problem.ts"
import type * as requests from "./request.ts"
import type { Answer, Call, FetchFunction, Transport } from "./request.ts"

/** Bytes of a piece. */
const pieceBytes = 8 * 2 ** 20

/** Failures in a row, each with a longer wait before the next attempt: about four minutes in all. */
const mostFailures = 20

/** What it shares with the client. */
export interface Shared extends Pick<Transport, "send"> {
  readonly ConnectionError: typeof problems.ConnectionError
  readonly ProblemError: typeof problems.ProblemError
  readonly idempotent: typeof keys.idempotent
  readonly backoff: typeof requests.backoff
  readonly pause: typeof requests.pause
  readonly until: typeof requests.until
}

export interface PiecesOptions {
  readonly name: string
  readonly type: string
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
  { backoff, ConnectionError, pause, ProblemError, send, until }: Shared,
  resource: string,
  field: string,
  file: Blob,
  { fetchOf, name, signal, tell, type }: PiecesOptions
): Promise<Uploaded | null> => {
  /** Whether the same upload may work a little later. */
  const passes = (error: unknown): boolean =>
    error instanceof ConnectionError
      ? error.cause !== null
      : error instanceof ProblemError && [408, 409, 423, 429, 502, 503, 504].includes(error.status)

  /** Waits until the browser has a network again, where it says that it has none. */
  const online = async (): Promise<void> => {
    const { addEventListener, navigator, removeEventListener } = globalThis as {
      readonly navigator?: { readonly onLine?: boolean }
      readonly addEventListener?: (name: "online", listener: () => void) => void
      readonly removeEventListener?: (name: "online", listener: () => void) => void
    }
    if (navigator?.onLine !== false || addEventListener === undefined) return
    let back = (): void => {}
    const waiting = new Promise<void>((resolve) => back = resolve)
    addEventListener("online", back)
    await until(signal, waiting).finally(() => removeEventListener?.("online", back))
  }

  const collection = `/${encodeURIComponent(resource)}:upload`
  const version = { "tus-resumable": "1.0.0" }
  const metadata = Object.entries({ filename: name, filetype: type }).filter(([, value]) => value !== "")
    .map(([key, value]) => `${key} ${encoded(value)}`).join(",")
  let begun: Answer<unknown>
  try {
    begun = await send({
      method: "POST",
      path: collection,
      query: { field },
      headers: { ...version, "upload-length": String(file.size), "upload-metadata": metadata || null },
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
  const call = { path: `${collection}/${id}`, headers: version, signal }

  let failures = 0
  let told = 0
  const say = (loaded: number): void => {
    if (loaded > told) tell(told = loaded)
  }
  /** Waits before the next attempt, or throws what ends all attempts. */
  const wait = async (error: unknown): Promise<void> => {
    if (signal?.aborted === true) throw signal.reason
    if (!passes(error) || failures >= mostFailures) throw error
    const asked = error instanceof ProblemError ? error.retryAfter : null
    await pause(asked ?? backoff(failures), signal)
    failures++
    await online()
  }
  const repeated = async <T>(one: Call): Promise<Answer<T>> => {
    for (;;) {
      try {
        return await send<T>(one)
      } catch (error) {
        await wait(error)
      }
    }
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
              ...version,
              "content-type": "application/offset+octet-stream",
              "upload-offset": String(from)
            },
            ...(fetchOf === null ? {} : { fetch: fetchOf((loaded) => say(Math.min(from + loaded, file.size))) })
          })
        )
      } catch (error) {
        await wait(error)
        offset = offsetOf(await repeated({ ...call, method: "HEAD", repeatable: true }))
      }
      if (offset > from) failures = 0
      say(offset)
    }
    return (await repeated<Uploaded>({ ...call, method: "GET" })).data
  } catch (error) {
    // Nobody goes on with it. If that cannot be said, it expires.
    send({ ...call, method: "DELETE", signal: undefined }).catch(() => undefined)
    throw error
  }
}
