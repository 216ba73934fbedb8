/**
 * The edge as a web-standard handler, for tests and for hosts that speak `Request` and `Response`. It adapts and decides nothing.
 */

import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Problem } from "../../core/domain/problem.ts"
import type { Edge } from "./handle.ts"
import { brokenBody, tooLarge } from "./request.ts"
import type { EdgeReply, EdgeRequest } from "./request.ts"

/** What the host knows and a `Request` does not say. */
export interface ConnectionInfo {
  /** Address of the peer. */
  readonly address?: string
}

/** Rejects only with the signal's reason, when the request's own signal aborts. */
export type Fetch = (request: Request, connection?: ConnectionInfo) => Promise<Response>

const readLimited = async (
  body: ReadableStream<Uint8Array>,
  limit: number,
  signal: AbortSignal
): Promise<Uint8Array | null> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  const reader = body.getReader()
  // The answer does not wait until the source has stopped.
  const stop = (): void => void reader.cancel().catch(() => undefined)
  // A source may not know that its client has gone away.
  signal.addEventListener("abort", stop, { once: true })
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.byteLength
    if (size > limit) {
      stop()
      return null
    }
    chunks.push(value)
  }
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0]
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

const bodyOf = (request: Request, limit: number): Effect.Effect<Uint8Array, Problem> => {
  const { body } = request
  if (body === null) return Effect.succeed(new Uint8Array(0))
  return Effect.flatMap(
    Effect.tryPromise({ try: (signal) => readLimited(body, limit, signal), catch: brokenBody }),
    (bytes) => bytes === null ? Effect.fail(tooLarge(limit)) : Effect.succeed(bytes)
  )
}

/** The body as it comes. If it breaks off, that is a refusal. A reader who stops early releases the source. */
async function* streamOf(request: Request): AsyncGenerator<Uint8Array> {
  if (request.body === null) return
  const reader = request.body.getReader()
  const stop = (): void => void reader.cancel().catch(() => undefined)
  request.signal.addEventListener("abort", stop, { once: true })
  let ended = false
  try {
    for (;;) {
      let next: Awaited<ReturnType<typeof reader.read>>
      try {
        next = await reader.read()
      } catch {
        ended = true
        throw brokenBody()
      }
      if (next.done) {
        ended = true
        if (request.signal.aborted) throw brokenBody()
        return
      }
      yield next.value
    }
  } finally {
    request.signal.removeEventListener("abort", stop)
    if (!ended) stop()
  }
}

/** A body for a web response, pulled as it is read. */
const readableOf = (bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> => {
  const source = bytes[Symbol.asyncIterator]()
  return new ReadableStream({
    pull: async (controller) => {
      const next = await source.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: async () => void await source.return?.()
  }, { highWaterMark: 0 })
}

const targetOf = (url: string): string => {
  const slash = url.indexOf("/", url.indexOf("://") + 3)
  const hash = url.indexOf("#", slash)
  return hash === -1 ? url.slice(slash) : url.slice(slash, hash)
}

const edgeRequest = (request: Request, connection: ConnectionInfo | undefined): EdgeRequest => ({
  method: request.method,
  url: request.url,
  target: targetOf(request.url),
  get host() {
    return new URL(request.url).host
  },
  headers: request.headers,
  hasBody: request.body !== null,
  address: connection?.address ?? null,
  body: (limit) => bodyOf(request, limit),
  stream: () => streamOf(request)
})

const responseOf = (reply: EdgeReply): Response => {
  const headers = new Headers(reply.headers)
  for (const cookie of reply.cookies) headers.append("set-cookie", cookie)
  const body = reply.stream === null ? reply.body : readableOf(reply.stream.bytes)
  // No answer is made in shared memory, which the web's types do not take.
  return new Response(body as Exclude<typeof body, Uint8Array> | Uint8Array<ArrayBuffer>, {
    status: reply.status,
    headers
  })
}

/** `context` is what the effects run in: a tracer, a logger. */
export const makeFetch = (edge: Edge, context: Context.Context<never> = Context.empty()): Fetch => {
  const runFork = Effect.runForkWith(context)
  return (request, connection) =>
    new Promise((resolve, reject) => {
      const plain = edgeRequest(request, connection)
      const fail = (error: unknown): void => resolve(responseOf(edge.failed(plain, error)))
      if (request.signal.aborted) return reject(request.signal.reason)
      runFork(edge.handle(plain), { signal: request.signal }).addObserver((exit) => {
        if (Exit.isFailure(exit)) {
          return request.signal.aborted ? reject(request.signal.reason) : fail(Cause.squash(exit.cause))
        }
        try {
          resolve(responseOf(exit.value))
        } catch (error) {
          fail(error)
        }
      })
    })
}
