/**
 * What goes on after a break: the attempts at one upload that the service knows by an address. It waits between them, gives up after some failures in a
 * row, and ends an upload that nobody goes on with.
 */

import type * as keys from "./key.ts"
import type * as problems from "./problem.ts"
import type * as requests from "./transport.ts"
import type { Answer, Call, Transport } from "./transport.ts"

/** Failures in a row, each with a longer wait before the next attempt: about four minutes in all. */
const mostFailures = 20

/** The longest wait before an attempt in milliseconds, whatever a proxy asks for. */
const mostWait = 60_000

/** What an upload shares with the client. */
export interface Shared extends Pick<Transport, "send"> {
  readonly ConnectionError: typeof problems.ConnectionError
  readonly ProblemError: typeof problems.ProblemError
  readonly idempotent: typeof keys.idempotent
  readonly backoff: typeof requests.backoff
  readonly pause: typeof requests.pause
  readonly until: typeof requests.until
}

export interface Attempts {
  /** Waits before the next attempt, or throws what ends all attempts. */
  readonly wait: (error: unknown, most?: number) => Promise<void>
  readonly repeated: <T>(one: Call) => Promise<Answer<T>>
  /** Something has worked: failures count from none. */
  readonly begin: () => void
  /** Nobody goes on with the upload. If that cannot be said, it expires. */
  readonly abandon: () => void
  /** The upload is over, and no longer the page's. */
  readonly end: () => void
}

/** The version of the protocol of uploads in pieces, as a header. */
export const tusVersion = { "tus-resumable": "1.0.0" }

/** `path`: the address of the upload. */
export const makeAttempts = (
  { backoff, ConnectionError, pause, ProblemError, send, until }: Shared,
  path: string,
  signal: AbortSignal | undefined
): Attempts => {
  /** Whether the same upload may work a little later. */
  const passes = (error: unknown): boolean =>
    error instanceof ConnectionError
      ? error.cause !== null
      : error instanceof ProblemError && [408, 409, 423, 429, 502, 503, 504].includes(error.status)

  const page = globalThis as {
    readonly navigator?: { readonly onLine?: boolean }
    readonly addEventListener?: (name: string, listener: (event: { readonly persisted?: boolean }) => void) => void
    readonly removeEventListener?: (name: string, listener: object) => void
  }

  /** Waits until the browser has a network again, where it says that it has none. */
  const online = async (): Promise<void> => {
    const { addEventListener, navigator, removeEventListener } = page
    if (navigator?.onLine !== false || addEventListener === undefined) return
    let back = (): void => {}
    const waiting = new Promise<void>((resolve) => back = resolve)
    addEventListener("online", back)
    await until(signal, waiting).finally(() => removeEventListener?.("online", back))
  }

  const abandon = (more: Pick<Call, "fetch"> = {}): void => {
    send({ path, headers: tusVersion, ...more, method: "DELETE" }).catch(() => undefined)
  }
  // A closed page would leave an upload that counts among those of its person for a day. A page that the browser keeps may come back.
  const leave = ({ persisted }: { readonly persisted?: boolean }): void => {
    if (persisted !== true) abandon({ fetch: (input, init) => fetch(input, { ...init, keepalive: true }) })
  }
  page.addEventListener?.("pagehide", leave)

  let failures = 0
  const wait = async (error: unknown, most = mostFailures): Promise<void> => {
    if (signal?.aborted === true) throw signal.reason
    if (!passes(error) || failures >= most) throw error
    // The end of a long file may take the service minutes, in which it asks for one second each time.
    const asked = error instanceof ProblemError ? error.retryAfter ?? 0 : 0
    await pause(Math.min(Math.max(asked, backoff(failures)), mostWait), signal)
    failures++
    await online()
  }

  return {
    wait,
    repeated: async <T>(one: Call): Promise<Answer<T>> => {
      for (;;) {
        try {
          return await send<T>(one)
        } catch (error) {
          await wait(error)
        }
      }
    },
    begin: () => void (failures = 0),
    abandon: () => abandon(),
    end: () => page.removeEventListener?.("pagehide", leave)
  }
}
