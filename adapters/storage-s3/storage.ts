/**
 * The Storage port on a bucket of an S3-compatible store. The client's packages are loaded with the first file operation, so nobody without
 * buckets needs to install them. A body whose length is known is passed on as it comes. A store takes parts of no less than 5 MiB, so that much of
 * a longer body of unknown length stands in memory, and only some of these are sent at once. An upload that fails is aborted.
 * `pieces.ts` has uploads in pieces.
 */

import * as Effect from "effect/Effect"
import { Readable } from "node:stream"
import type { Bytes, ListedFile, StorageService } from "../../core/ports/storage.ts"
import { BodyError, connectBucket, failure, gatheredBytes, isMissing } from "./connection.ts"
import type { BucketOptions } from "./connection.ts"
import { makeLine } from "./line.ts"
import { makePieces } from "./pieces.ts"

/** The most that a store takes in one request. */
const mostAtOnce = 5 * 2 ** 30

/** Bytes of a part: a store takes 10,000 parts of at least 5 MiB. */
const partBytes = 5 * 2 ** 20
const mostParts = 10_000

/** Bodies that are sent in parts at once. Each has up to two parts in memory: 40 MiB in all. */
const mostInParts = 4

/** A body whose failure is known by its mark; so is another length than was announced. `seen` is told of it first. */
async function* marked(
  body: Bytes,
  size: number | null,
  seen: (error: BodyError) => void
): AsyncGenerator<Uint8Array> {
  let passed = 0
  try {
    for await (const chunk of body) {
      passed += chunk.length
      if (size !== null && passed > size) throw new Error("the body is longer than was announced")
      yield chunk
    }
    if (size !== null && passed < size) throw new Error("the body is shorter than was announced")
  } catch (cause) {
    const error = new BodyError("the body failed", { cause })
    seen(error)
    throw error
  }
}

/** The beginning of a body, and the whole of it. */
interface BodyStart {
  /** Null: there is more than may be gathered. */
  readonly whole: Uint8Array | null
  readonly bytes: Bytes
}

const begin = async (source: AsyncGenerator<Uint8Array>): Promise<BodyStart> => {
  const chunks: Uint8Array[] = []
  let size = 0
  while (size <= gatheredBytes) {
    const next = await source.next()
    if (next.done === true) return { whole: Buffer.concat(chunks), bytes: source }
    chunks.push(next.value)
    size += next.value.length
  }
  async function* bytes(): Bytes {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk
    yield* source
  }
  return { whole: null, bytes: bytes() }
}

/** The storage of one bucket or a part of it. Nothing is connected before it is used. */
export const makeBucketStorage = (options: BucketOptions): StorageService => {
  const { bucket, prefix, waitMs = 5_000 } = options
  const inLine = makeLine(mostInParts, waitMs)
  const connection = connectBucket(options)
  const { objectAt, open, paramsOf, use } = connection

  return {
    put: (path, body, { most, size, type }) =>
      Effect.tryPromise({
        try: async () => {
          const { client, PutObjectCommand, Upload } = await open()
          const ending = new AbortController()
          let broken: BodyError | null = null
          const whole = marked(body, size, (error) => {
            broken = error
            ending.abort()
          })
          const begun = await begin(whole)
          const params = paramsOf(path, type)
          if (begun.whole !== null) {
            await client.send(new PutObjectCommand({ ...params, Body: begun.whole }))
            return begun.whole.length
          }
          let stored = 0
          async function* counted(): Bytes {
            for await (const chunk of begun.bytes) {
              stored += chunk.length
              yield chunk
            }
          }
          const stream = Readable.from(counted(), { objectMode: false })
          // Its failure is known: it was marked.
          stream.on("error", () => {})
          try {
            if (size !== null && size <= mostAtOnce) {
              const command = new PutObjectCommand({ ...params, Body: stream, ContentLength: size })
              await client.send(command, { abortSignal: ending.signal })
            } else {
              const partSize = Math.max(partBytes, Math.ceil((size ?? most ?? 0) / (mostParts - 1)))
              await inLine(1, () =>
                new Upload({
                  client,
                  params: { ...params, Body: stream },
                  queueSize: 1,
                  partSize,
                  leavePartsOnError: false
                })
                  .done())
            }
          } catch (error) {
            throw broken ?? error
          } finally {
            stream.destroy()
            // It may not have been read at all. Where its sender is waited for, it ends when the sender does.
            whole.return(undefined).catch(() => {})
          }
          return stored
        },
        catch: failure
      }),
    read: (path, range) =>
      use(async ({ GetObjectCommand }, client) => {
        try {
          const answer = await client.send(
            new GetObjectCommand({
              ...objectAt(path),
              ...(range === null ? {} : { Range: `bytes=${range.start}-${range.end}` })
            })
          )
          const total = /\/([0-9]+)$/.exec(answer.ContentRange ?? "")?.[1]
          return {
            size: total === undefined ? answer.ContentLength ?? 0 : Number(total),
            modified: answer.LastModified?.getTime() ?? 0,
            bytes: answer.Body as Readable
          }
        } catch (error) {
          if (isMissing(error)) return null
          throw error
        }
      }),
    head: (path) =>
      use(async ({ HeadObjectCommand }, client, abortSignal) => {
        try {
          const answer = await client.send(new HeadObjectCommand(objectAt(path)), { abortSignal })
          return { size: answer.ContentLength ?? 0, modified: answer.LastModified?.getTime() ?? 0 }
        } catch (error) {
          if (isMissing(error)) return null
          throw error
        }
      }),
    // One by one, because some servers take a list of deletes only with a checksum that the client does not send.
    remove: (path) =>
      use(async ({ DeleteObjectCommand }, client, abortSignal) => {
        await client.send(new DeleteObjectCommand(objectAt(path)), { abortSignal })
      }),
    list: ({ after, limit, prefix: wanted }) =>
      use(async ({ ListObjectsV2Command }, client, abortSignal) => {
        const files: ListedFile[] = []
        let last = after
        while (files.length < limit) {
          const answer = await client.send(
            new ListObjectsV2Command({
              Bucket: bucket,
              Prefix: prefix + wanted,
              MaxKeys: Math.min(1_000, limit - files.length),
              ...(last === null ? {} : { StartAfter: prefix + last })
            }),
            { abortSignal }
          )
          for (const { Key = "", LastModified, Size = 0 } of answer.Contents ?? []) {
            last = Key.slice(prefix.length)
            files.push({ path: last, size: Size, modified: LastModified?.getTime() ?? 0 })
          }
          if (answer.IsTruncated !== true || (answer.Contents ?? []).length === 0) break
        }
        return files
      }),
    link: (path, { disposition, seconds, type }) =>
      use(({ getSignedUrl, GetObjectCommand }, client) =>
        getSignedUrl(
          client,
          new GetObjectCommand({
            ...objectAt(path),
            ResponseContentType: type,
            ResponseContentDisposition: disposition
          }),
          { expiresIn: Math.max(1, Math.min(Math.floor(seconds), 604_800)) }
        )
      ),
    resumable: makePieces(connection, waitMs),
    direct: {
      presignPut: (path, { seconds, size }) =>
        use(async ({ getSignedUrl, PutObjectCommand }, client) => {
          // The object is read by nobody, but some buckets are public: it shows itself as nothing that a browser opens.
          const headers = { "content-type": "application/octet-stream", "content-length": String(size) }
          const url = await getSignedUrl(
            client,
            new PutObjectCommand({ ...objectAt(path), ContentType: headers["content-type"], ContentLength: size }),
            { expiresIn: seconds, signableHeaders: new Set(["host", ...Object.keys(headers)]) }
          )
          return { url, headers }
        }),
      copy: (from, to, type) =>
        use(async ({ CopyObjectCommand }, client, abortSignal) => {
          const { Bucket, Key } = objectAt(from)
          try {
            await client.send(
              new CopyObjectCommand({
                ...paramsOf(to, type),
                CopySource: [Bucket, ...Key.split("/")].map(encodeURIComponent).join("/"),
                MetadataDirective: "REPLACE"
              }),
              { abortSignal }
            )
            return true
          } catch (error) {
            if (isMissing(error)) return false
            throw error
          }
        })
    }
  }
}
