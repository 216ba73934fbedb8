/**
 * The body of an upload as one file: raw, or the only file of a form (RFC 7578). It streams, keeps to the pace that senders must have, and holds only
 * bytes that are on their way. Other modules decide whether a file may be uploaded.
 */

import { Busboy } from "@fastify/busboy"
import type { BusboyFileStream, BusboyInstance } from "@fastify/busboy"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Readable } from "node:stream"
import type { Incoming, IncomingFile } from "../../core/app/ground/call.ts"
import { invalidParameter, isProblem, problem } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import { codingRefusal } from "./request.ts"
import type { EdgeRequest } from "./request.ts"

/** How slow a sender may be. */
export interface Pace {
  /** Most milliseconds without a byte, and the milliseconds of grace at the beginning. */
  readonly graceMs: number
}

/** Bytes a second that a sender must have on average, once the grace is over. */
const leastPerSecond = 16 * 1024

const tooSlow = (): Problem => problem("request-timeout", "The file did not arrive in time.")

/** A body that breaks off when its sender stops or is too slow. */
const paced = (body: AsyncIterable<Uint8Array>, { graceMs }: Pace): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => {
    const source = body[Symbol.asyncIterator]()
    const start = performance.now()
    let received = 0
    let ended = false
    const end = <A>(value: A): A => {
      ended = true
      return value
    }
    return {
      next: () =>
        new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
          const owed = received / leastPerSecond * 1_000 - (performance.now() - start) + graceMs
          const timer = setTimeout(() => {
            end(undefined)
            reject(tooSlow())
            void Promise.resolve(source.return?.()).catch(() => {})
          }, Math.max(0, Math.min(graceMs, owed)))
          source.next().then((next) => {
            clearTimeout(timer)
            if (next.done === true) end(undefined)
            else received += next.value.length
            resolve(next)
          }, (error: unknown) => {
            clearTimeout(timer)
            end(undefined)
            reject(error)
          })
        }),
      return: async () => {
        if (!ended) {
          end(undefined)
          await source.return?.()
        }
        return { done: true, value: undefined }
      }
    }
  }
})

const onlyFile = (): Problem =>
  invalidParameter(
    "body",
    "The form must have exactly one file.",
    "Send the file as the body itself, or in a form with no other file."
  )

const muchText = (): Problem =>
  invalidParameter("body", "The form has too much beside its file.", "Send the file as the body itself.")

const brokenForm = (): Problem => problem("malformed-request", "The body is not a whole multipart form.")

/** Parts of text that a form may have beside its file. They are ignored: upload libraries and plain forms send them without being asked. */
const mostTexts = 50

/** What a form may spend on its parts. Of a limit that is reached, the parser tells before it is passed. */
const limits = {
  parts: mostTexts + 2,
  files: 2,
  fields: mostTexts,
  fieldNameSize: 200,
  fieldSize: 1_024,
  headerPairs: 16,
  headerSize: 16 * 1024
}

/** Bytes that may stand around the file in all, and how many are looked at together there. */
const mostAround = 64 * 1024
const stepAround = 16 * 1024

/** Reads a form up to the beginning of its file; the rest comes with the file's bytes. */
const openForm = (contentType: string, body: AsyncIterable<Uint8Array>): Promise<IncomingFile> =>
  new Promise((resolve, reject) => {
    const source = body[Symbol.asyncIterator]()
    let parser: BusboyInstance
    try {
      parser = new Busboy({ headers: { "content-type": contentType }, limits })
    } catch {
      reject(problem("unsupported-media-type", "The form has no valid boundary."))
      return
    }
    let refusal: Problem | null = null
    let file: BusboyFileStream | null = null
    let ended = false
    let taken = 0
    let wake = (): void => {}
    const fail = (error: Problem): void => {
      refusal ??= error
      ended = true
      file?.destroy(refusal)
      reject(refusal)
      wake()
    }
    parser.on("file", (_field, stream, name, _encoding, type) => {
      if (file !== null) {
        stream.resume()
        return fail(onlyFile())
      }
      file = stream
      stream.on("error", () => {})
      resolve({ name: name === undefined || name === "" ? null : name, type, length: null, bytes: bytesOf(stream) })
    })
    parser.on("partsLimit", () => fail(muchText()))
    parser.on("filesLimit", () => fail(onlyFile()))
    parser.on("fieldsLimit", () => fail(muchText()))
    parser.on("error", () => fail(brokenForm()))
    parser.on("drain", () => wake())
    parser.on("finish", () => {
      ended = true
      if (file === null) fail(onlyFile())
      wake()
    })

    const feed = async (): Promise<void> => {
      try {
        while (!ended) {
          const next = await source.next()
          if (next.done === true) {
            parser.end()
            return
          }
          for (let at = 0; at < next.value.length && !ended;) {
            const piece = file === null ? next.value.subarray(at, at + stepAround) : next.value.subarray(at)
            at += piece.length
            taken += piece.length
            if (!parser.write(piece) && !ended) await new Promise<void>((go) => wake = go)
            if (!ended && taken - (file?.bytesRead ?? 0) > mostAround) fail(muchText())
          }
        }
      } catch (error) {
        fail(isProblem(error) ? error : brokenForm())
      } finally {
        if (ended) await Promise.resolve(source.return?.()).catch(() => {})
      }
    }
    const fed = feed()

    async function* bytesOf(stream: Readable): AsyncGenerator<Uint8Array> {
      let whole = false
      try {
        for await (const chunk of stream) yield chunk
        // What follows the file decides whether it was the only part.
        await fed
        while (!ended) await new Promise<void>((go) => wake = go)
        if (refusal !== null) throw refusal
        whole = true
      } catch (error) {
        throw refusal ?? error
      } finally {
        if (!whole) {
          ended = true
          stream.destroy()
          wake()
          await Promise.resolve(source.return?.()).catch(() => {})
        }
      }
    }
  })

/** The body of an upload, of which nothing is read yet. Fails for what the head alone says: a compressed body is never unpacked. */
export const incomingOf = (request: EdgeRequest, pace: Pace): Result.Result<Incoming, Problem> => {
  const coding = codingRefusal(request)
  if (coding !== null) return Result.fail(coding)
  const type = request.headers.get("content-type")
  const announced = request.headers.get("content-length")
  const length = announced === null ? null : Number(announced)
  const isForm = type !== null && /^multipart\/form-data\b/i.test(type)
  const body = (): AsyncIterable<Uint8Array> => paced(request.stream(), pace)
  return Result.succeed({
    isForm,
    type,
    length: length !== null && Number.isSafeInteger(length) ? length : null,
    open: isForm
      ? Effect.flatMap(
        Effect.promise(() => openForm(type, body()).then((file) => ({ file }), (error: unknown) => ({ error }))),
        (done) =>
          "file" in done
            ? Effect.succeed(done.file)
            : isProblem(done.error)
            ? Effect.fail(done.error)
            : Effect.die(done.error)
      )
      : Effect.sync((): IncomingFile => ({ name: null, type, length, bytes: body() }))
  })
}
