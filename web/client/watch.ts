/**
 * Follows the changes of a resource (Server-Sent Events over `fetch`, because `EventSource` cannot send a token). It resumes after a lost
 * connection and never ends by itself. The service decides which changes the caller sees.
 */

import { ConnectionError, ProblemError } from "./problem.ts"
import { backoff, pause, until } from "./request.ts"
import type { CallOptions, Transport } from "./request.ts"
import type { FilterIn, ResourceName } from "./typed.ts"

export interface WatchOptions<C = unknown, Name extends ResourceName<C> = ResourceName<C>> extends CallOptions {
  /** Only records that pass it, in the form that lists take. Not through relations. */
  readonly filter?: FilterIn<C, Name> | null
  /** Resumes after this event, if the service still has the later ones. */
  readonly after?: string
}

/**
 * What happened. `open`: a connection stands, and every change from here on is told; read what is shown after the first one. `change`: to one record that
 * the caller sees and that passes the filter, or did so before; nothing but its key is told. `reset`: changes were missed, so what was read before is to be
 * read again.
 */
export type WatchEvent =
  | {
    readonly id: string
    readonly event: "change"
    readonly data: {
      /** As it stands in URLs. */
      readonly key: string
      readonly operation: "create" | "update" | "delete" | "undelete" | "reorder"
      /** Of this resource's changes, later ones are higher. */
      readonly sequence: string
      /** What it did to the records that the caller sees and that pass the filter: the record is new among them, is another now, or is none of them any more. */
      readonly kind: "entered" | "changed" | "left"
    }
  }
  | { readonly id: string; readonly event: "open" | "reset"; readonly data: object }

interface RawEvent {
  readonly id: string | null
  readonly event: string
  readonly data: string
  readonly retry: number | null
}

/** Longest event, in characters. */
const longestEvent = 1024 * 1024

/** The events of a stream (HTML standard, "Server-sent events"). Comments, which keep the connection open, give nothing. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal | null
): AsyncGenerator<RawEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  let id: string | null = null
  let event = ""
  let data: string[] = []
  let retry: number | null = null
  try {
    for (;;) {
      const { done, value } = await until(signal, reader.read())
      if (done) return
      rest += decoder.decode(value, { stream: true })
      for (;;) {
        const line = /\r\n|\n|\r(?!$)/.exec(rest)
        if (line === null) break
        const text = rest.slice(0, line.index)
        rest = rest.slice(line.index + line[0].length)
        if (text === "") {
          if (data.length > 0 || id !== null || retry !== null) {
            yield { id, event: event || "message", data: data.join("\n"), retry }
          }
          id = null
          event = ""
          data = []
          retry = null
          continue
        }
        const [, name, content = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(text)!
        if (name === "data") data.push(content)
        else if (name === "event") event = content
        else if (name === "id" && !content.includes("\0")) id = content
        else if (name === "retry" && /^\d+$/.test(content)) retry = Number(content)
      }
      if (rest.length + data.join().length > longestEvent) {
        throw new ConnectionError(null, "An event of the stream is too long.")
      }
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

/** Longest wait between two connections. */
const longestWait = 30_000

export const makeWatch = (transport: Transport) =>
  async function*(resource: string, filter: string, options: WatchOptions = {}): AsyncGenerator<WatchEvent> {
    const { signal } = options
    let last = options.after ?? null
    let wait: number | null = null
    for (let failures = 0;;) {
      try {
        const response = await transport.open({
          method: "GET",
          path: `/${encodeURIComponent(resource)}:watch`,
          query: { filter },
          headers: { accept: "text/event-stream", "last-event-id": last },
          signal
        })
        let opened = false
        for await (const { data, event, id, retry } of readEvents(response.body!, signal)) {
          failures = 0
          if (retry !== null) wait = retry
          if (id !== null) last = id
          if (!opened && data === "" && id !== null) {
            opened = true
            yield { id, event: "open", data: {} }
          }
          // Unknown events of later versions are ignored.
          if (event === "change" || event === "reset") {
            yield { id: last ?? "", event, data: JSON.parse(data) as never }
          }
        }
      } catch (error) {
        if (signal?.aborted === true) return
        const passing = !(error instanceof ProblemError) || error.status === 429 || error.status >= 502
        if (!passing) throw error
        if (error instanceof ProblemError && error.retryAfter !== null) wait = Math.max(wait ?? 0, error.retryAfter)
      }
      if (signal?.aborted === true) return
      try {
        await pause(Math.min(longestWait, Math.max(wait ?? 0, backoff(failures++, longestWait))), signal)
      } catch {
        return
      }
    }
  }
