/**
 * Follows the changes of a resource (Server-Sent Events over `fetch`, because `EventSource` cannot send a token). It resumes after a lost
 * connection and never ends by itself. The service decides which changes the caller sees.
 */

import { ConnectionError, ProblemError } from "./problem.ts"
import { backoff, pause, until } from "./transport.ts"
import type { CallOptions, Transport } from "./transport.ts"
import type { FilterIn, ResourceName } from "./typed.ts"

export interface WatchOptions<C = unknown, Name extends ResourceName<C> = ResourceName<C>> extends CallOptions {
  /** Only records that pass it, in the form that lists take. */
  readonly filter?: FilterIn<C, Name> | null
  /** Resumes after this event, if the service still has the later ones. */
  readonly after?: string
}

/**
 * An event of the stream. `open`: the connection works, and every later change is told; read the shown records after the first `open`. `change`: a
 * record changed that the caller sees and that passes the filter, or did so before; the event holds its key only. `reset`: changes were missed, so
 * read everything again.
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

/** An event as it was sent; empty texts and 0 are what it lacks. */
interface RawEvent {
  readonly id: string
  readonly event: string
  readonly data: string
  readonly retry: number
}

/** Longest event, in characters. */
const longestEvent = 1024 * 1024

/** How long nothing may come. The service sends something every ten seconds, and a connection may be gone without a word. */
const silentMs = 60_000

/** The events of a stream (HTML standard, "Server-sent events"). What only keeps the connection open is an event without data. */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal | null
): AsyncGenerator<RawEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  let id = ""
  let event = ""
  let data = ""
  let retry = 0
  try {
    for (;;) {
      const { done, value } = await until(signal, until(AbortSignal.timeout(silentMs), reader.read()))
      if (done) return
      rest += decoder.decode(value, { stream: true })
      for (;;) {
        const line = /\r\n|\n|\r(?!$)/.exec(rest)
        if (line === null) break
        const text = rest.slice(0, line.index)
        rest = rest.slice(line.index + line[0].length)
        if (text === "") {
          yield { id, event, data, retry }
          id = event = data = ""
          retry = 0
          continue
        }
        const [, name, content = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(text)!
        if (name === "data") data += `${content}\n`
        else if (name === "event") event = content
        else if (name === "id" && !content.includes("\0")) id = content
        else if (name === "retry") retry = Number(content) || 0
      }
      if (rest.length + data.length > longestEvent) {
        throw new ConnectionError(null, "The event is too long.")
      }
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

/** Longest wait between two connections. */
const longestWait = 30_000

/** `path`: of the resource. */
export const makeWatch = (transport: Transport) =>
  async function*(path: string, filter: string, { after, signal }: WatchOptions = {}): AsyncGenerator<WatchEvent> {
    let last = after ?? ""
    let wait = 0
    for (let failures = 0;;) {
      try {
        const response = await transport.open({
          method: "GET",
          path: `${path}:watch`,
          query: { filter },
          headers: { accept: "text/event-stream", "last-event-id": last || null },
          signal
        })
        let opened = false
        for await (const { data, event, id, retry } of readEvents(response.body!, signal)) {
          failures = 0
          wait = retry || wait
          last = id || last
          if (!opened && data === "" && id !== "") {
            opened = true
            yield { id, event: "open", data: {} }
          }
          // Unknown events of later versions are ignored.
          if (event === "change" || event === "reset") {
            yield { id: last, event, data: JSON.parse(data) }
          }
        }
      } catch (error) {
        if (error instanceof ProblemError) {
          if (error.status !== 429 && error.status < 502 && signal?.aborted !== true) throw error
          wait = Math.max(wait, error.retryAfter ?? 0)
        }
      }
      try {
        // An aborted signal ends it at once.
        await pause(Math.min(longestWait, Math.max(wait, backoff(failures++, longestWait))), signal)
      } catch {
        return
      }
    }
  }
