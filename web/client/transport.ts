/**
 * The transport: every call goes through it, with its token, its retries and a limit for the size of its answer. It follows no redirect, so a token
 * goes only to the requested address. The files beside it define the paths.
 */

import { ConnectionError, ProblemError, problemOf } from "./problem.ts"
import type { TokenHolder } from "./token.ts"

/** What the client gives to `fetch`: its headers are a plain object. */
export interface FetchInit extends Omit<RequestInit, "headers"> {
  readonly headers: { readonly [name: string]: string }
}

export type FetchFunction = (url: string, init: FetchInit) => Promise<Response>

/** Options that every call takes. */
export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** An object stands for the arguments of a function: each is a parameter of its own, `args.customer`. */
export type QueryValue =
  | string
  | number
  | boolean
  | readonly string[]
  | { readonly [name: string]: unknown }
  | null
  | undefined

/** A call as the rest of the client describes it. */
export interface Call extends CallOptions {
  readonly method: string
  /** Below the resources API (`/orders`), or below its parent with `system`. */
  readonly path: string
  readonly system?: boolean
  readonly query?: { readonly [name: string]: QueryValue } | undefined
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as it is. */
  readonly body?: NonNullable<RequestInit["body"]>
  readonly headers?: { readonly [name: string]: string | null | undefined }
  /** False: no token goes along. */
  readonly token?: boolean
  /** The call may be sent again although nobody knows whether it arrived. GET always may. */
  readonly repeatable?: boolean
  /** Largest answer in bytes; default 64 MiB. */
  readonly maxBytes?: number
  /** Sends this call in place of the client's own. */
  readonly fetch?: FetchFunction
}

/** An answer: `data` is its JSON, or undefined without a body (204, 304). */
export interface Answer<T> {
  readonly status: number
  readonly headers: Headers
  readonly data: T
}

export interface TransportSettings {
  /** URL of the resources API, without a slash at its end. */
  readonly resources: string
  /** Its parent: `/api`. */
  readonly system: string
  readonly fetch: FetchFunction
  readonly tokens: TokenHolder
  /** Most further attempts of a call that may be repeated. */
  readonly retries: number
  /** Told the `X-Meta-Version` of every answer. */
  readonly versions: (version: string) => void
}

export interface Transport {
  readonly send: <T>(call: Call) => Promise<Answer<T>>
  /** The response with its body unread: for streams. A refusal rejects. Only a new token causes a retry. */
  readonly open: (call: Call) => Promise<Response>
  readonly urlOf: (call: Pick<Call, "path" | "system" | "query">) => string
}

/** Where the log of the database stood after a write, if the service reads from replicas. */
const positionHeader = "x-service-position"

/** Longest wait before a retry. A call whose answer asks for a longer wait fails. */
const longestWait = 15_000

/** Rejects with the reason of a signal that has ended, also while something else is awaited. */
export const until = <T>(signal: AbortSignal | null | undefined, work: Promise<T>): Promise<T> => {
  if (signal == null) return work
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason)
    if (signal.aborted) return end()
    signal.addEventListener("abort", end)
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", end))
  })
}

/** Waits; ends early with the reason of the signal. */
export const pause = (milliseconds: number, signal?: AbortSignal | null): Promise<void> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const waiting = new Promise<void>((resolve) => timer = setTimeout(resolve, milliseconds))
  return until(signal, waiting).finally(() => clearTimeout(timer))
}

/** The wait before attempt `n` (from 0): it doubles, with a random part so that clients do not retry at the same time. */
export const backoff = (n: number, longest = longestWait): number =>
  Math.min(longest, 250 * 2 ** n) * (0.5 + Math.random() / 2)

/** The text of a body, at most so many bytes of it. */
const readText = async (response: Response, maxBytes: number): Promise<string> => {
  const reader = response.body?.getReader()
  if (reader === undefined) return response.text()
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text + decoder.decode()
      bytes += value.length
      if (bytes > maxBytes) throw new ConnectionError(null, `The answer has more than ${maxBytes} bytes.`)
      text += decoder.decode(value, { stream: true })
    }
  } finally {
    // After the end this does nothing; before it, the rest must not be sent.
    reader.cancel().catch(() => undefined)
  }
}

const isRedirect = ({ status, type }: Response): boolean =>
  type === "opaqueredirect" || (status >= 300 && status < 400 && status !== 304)

/** JSON in which integers of any size are texts, as the service takes them. */
export const printJson = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => typeof each === "bigint" ? String(each) : each)

/** Whether a parameter has a value. Empty texts and lists count as left out. */
export const isGiven = (value: unknown): boolean => value != null && Object(value).length !== 0

export const makeTransport = (settings: TransportSettings): Transport => {
  const { fetch, resources, retries, system, tokens, versions } = settings

  const urlOf: Transport["urlOf"] = (call) => {
    const query = new URLSearchParams()
    const add = (values: object, prefix: string): void => {
      for (const [name, value] of Object.entries(values)) {
        if (name === "args") add(Object(value), "args.")
        else if (isGiven(value)) query.set(prefix + name, String(value))
      }
    }
    add(call.query ?? {}, "")
    const text = query.toString()
    return (call.system === true ? system : resources) + call.path + (text === "" ? "" : `?${text}`)
  }

  /** Of the last write; later ones are greater. Reads bring it, so that a replica shows what was written. */
  let position = ""

  const attempt = async (call: Call, token: string | null): Promise<Response> => {
    const headers: { [name: string]: string } = {}
    const all: Call["headers"] = {
      ...call.headers,
      ...(call.json !== undefined && { "content-type": "application/json" }),
      ...(token !== null && { authorization: `Bearer ${token}` }),
      [positionHeader]: position || null
    }
    for (const [name, value] of Object.entries(all)) if (value != null) headers[name] = value
    let response: Response
    try {
      response = await (call.fetch ?? fetch)(urlOf(call), {
        method: call.method,
        headers,
        redirect: "manual",
        body: call.json === undefined ? call.body ?? null : printJson(call.json),
        signal: call.signal ?? null
      })
    } catch (cause) {
      throw call.signal?.aborted === true ? call.signal.reason : new ConnectionError(cause)
    }
    if (isRedirect(response)) {
      throw new ConnectionError(null, "The answer is a redirect.")
    }
    const written = response.headers.get(positionHeader) ?? ""
    if (written > position) position = written
    const version = response.headers.get("x-meta-version")
    if (version) versions(version)
    return response
  }

  /** One attempt, or two where the token of the first one had expired. */
  const authorized = async (call: Call): Promise<Response> => {
    if (call.token === false) return attempt(call, null)
    const token = await until(call.signal, tokens.token())
    const response = await attempt(call, token)
    if (response.status !== 401 || token === null) return response
    const renewed = await until(call.signal, tokens.token(token))
    if (renewed === token) return response
    response.body?.cancel().catch(() => undefined)
    return attempt(call, renewed)
  }

  const answerOf = async <T>(call: Call): Promise<Answer<T>> => {
    const response = await authorized(call)
    let text: string
    try {
      text = await until(call.signal, readText(response, call.maxBytes ?? 64 * 1024 * 1024))
    } catch (cause) {
      if (call.signal?.aborted === true) throw call.signal.reason
      throw cause instanceof ConnectionError ? cause : new ConnectionError(cause, "The answer broke off.")
    }
    if (!response.ok && response.status !== 304) throw problemOf(response, text)
    let data: unknown
    try {
      data = text === "" ? undefined : JSON.parse(text)
    } catch (cause) {
      throw new ConnectionError(cause, "The answer is not the service's.")
    }
    return { status: response.status, headers: response.headers, data: data as T }
  }

  /** Milliseconds after which the call may be sent again, or null when it may not. */
  const waitAfter = (call: Call, error: unknown, n: number): number | null => {
    const repeatable = call.repeatable ?? call.method === "GET"
    if (error instanceof ConnectionError) return repeatable && error.cause !== null ? backoff(n) : null
    if (!(error instanceof ProblemError)) return null
    const { document, retryAfter, slug, status } = error
    // The service's own 503 means that nothing was written. A proxy's 503 leaves that open.
    const untouched = slug === "unavailable" && document["outcome"] === undefined
    const again = untouched || (repeatable && (
      status === 429 || status === 503 || (status === 409 && retryAfter !== null) ||
      (slug === "" && (status === 502 || status === 504))
    ))
    return again ? retryAfter ?? backoff(n) : null
  }

  return {
    urlOf,
    open: async (call) => {
      const response = await authorized(call)
      if (!response.ok) throw problemOf(response, await readText(response, 1024 * 1024))
      return response
    },
    send: async <T>(call: Call): Promise<Answer<T>> => {
      for (let n = 0;; n++) {
        try {
          return await answerOf<T>(call)
        } catch (error) {
          const wait = n < retries ? waitAfter(call, error, n) : null
          if (wait === null || wait > longestWait) throw error
          await pause(wait, call.signal)
        }
      }
    }
  }
}
