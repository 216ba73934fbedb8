/** Bodies of uploads as they pass: their beginning decides the type, and they are counted, hashed and limited on their way. */

import * as Effect from "effect/Effect"
import { isProblem, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { Bytes } from "../../ports/storage.ts"

/** The beginning of a body, and the whole body including that beginning. */
export interface BodyStart {
  readonly head: Uint8Array
  /** Whether the head is the whole. */
  readonly whole: boolean
  readonly bytes: Bytes
}

export const concat = (chunks: readonly Uint8Array[], size: number): Uint8Array => {
  if (chunks.length === 1) return chunks[0]!
  const all = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

/** Reads the first bytes, which decide the type. The rest is read only when it is needed. */
export const begin = async (body: Bytes, wanted: number): Promise<BodyStart> => {
  const source = body[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let size = 0
  let ended = false
  while (size < wanted && !ended) {
    const next = await source.next()
    if (next.done === true) ended = true
    else {
      chunks.push(next.value)
      size += next.value.length
    }
  }
  const head = concat(chunks, size)
  async function* bytes(): Bytes {
    try {
      if (head.length > 0) yield head
      if (!ended) {
        for (;;) {
          const next = await source.next()
          if (next.done === true) break
          yield next.value
        }
        ended = true
      }
    } finally {
      if (!ended) await source.return?.()
    }
  }
  return { head, whole: ended, bytes: bytes() }
}

/** What was counted while the body went to the storage. */
export interface Meter {
  size: number
  hash: { readonly update: (chunk: Uint8Array) => void } | null
}

/** Passes a body on. It throws a refusal at the first chunk beyond a limit, and at the end of a body that is shorter or longer than announced. */
export async function* metered(
  body: Bytes,
  length: number | null,
  meter: Meter,
  limits: ReadonlyArray<readonly [fits: (size: number) => boolean, refuse: () => unknown]>
): Bytes {
  const lies = () => problem("malformed-request", "The body is not as long as Content-Length says.")
  for await (const chunk of body) {
    meter.size += chunk.length
    for (const [fits, refuse] of limits) if (!fits(meter.size)) throw refuse()
    if (length !== null && meter.size > length) throw lies()
    meter.hash?.update(chunk)
    yield chunk
  }
  if (length !== null && meter.size < length) throw lies()
}

/** A body that ends only after a promise has resolved. A storage shows a file with its last byte, and by then its delete is scheduled. */
export async function* after(body: Bytes, done: Promise<void>): Bytes {
  yield* body
  await done
}

/** What the body throws is a refusal for its sender. Any other failure is a defect. */
export const reading = <A>(work: () => Promise<A>): Effect.Effect<A, Problem> =>
  Effect.flatMap(
    Effect.promise(() => work().then((value) => ({ value }), (error: unknown) => ({ error }))),
    (done) =>
      "value" in done
        ? Effect.succeed(done.value)
        : isProblem(done.error)
        ? Effect.fail(done.error)
        : Effect.die(done.error)
  )
