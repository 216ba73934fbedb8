/**
 * The Storage port on a bucket of an S3-compatible store. The client's packages are loaded with the first file operation, so nobody without
 * buckets needs to install them. A body whose length is known is passed on as it comes. A store takes parts of no less than 5 MiB, so that much of
 * a longer body of unknown length stands in memory, and only some of these are sent at once. An upload that fails is aborted.
 */

import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3"
import * as Effect from "effect/Effect"
import { Readable } from "node:stream"
import { StorageError } from "../../core/ports/storage.ts"
import type { Bytes, ListedFile, StorageService } from "../../core/ports/storage.ts"

export interface BucketOptions {
  readonly bucket: string
  /** Empty, or ends with `/`. */
  readonly prefix: string
  /** Null: Amazon's own. */
  readonly endpoint: string | null
  readonly region: string
  /** Bucket in the path instead of the host name; null: where the endpoint is an address or `localhost`. */
  readonly pathStyle: boolean | null
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Longest time without a byte, in milliseconds. Default 30,000. */
  readonly silenceMs?: number
  /** Longest time that a body of unknown length waits for others, in milliseconds. Default 5,000. */
  readonly waitMs?: number
}

/** Time to connect, in milliseconds. */
const connectMs = 5_000

/** Bytes that are gathered before anything is sent. What is no longer is one request, which is tried again when it fails. */
const gatheredBytes = 512 * 1024

/** The most that a store takes in one request. */
const mostAtOnce = 5 * 2 ** 30

/** Bytes of a part: a store takes 10,000 parts of at least 5 MiB. */
const partBytes = 5 * 2 ** 20
const mostParts = 10_000

/** Bodies that are sent in parts at once. Each has up to two parts in memory: 40 MiB in all. */
const mostInParts = 4

const packages = async () => {
  try {
    const [client, transfer, presigner] = await Promise.all([
      import("@aws-sdk/client-s3"),
      import("@aws-sdk/lib-storage"),
      import("@aws-sdk/s3-request-presigner")
    ])
    return { ...client, ...transfer, ...presigner }
  } catch (cause) {
    throw new Error(
      "A provider is a bucket, and its packages are not installed: npm install @aws-sdk/client-s3 @aws-sdk/lib-storage @aws-sdk/s3-request-presigner",
      { cause }
    )
  }
}

const isAddress = (endpoint: string): boolean => {
  const { hostname } = new URL(endpoint)
  return /^[0-9.]+$/.test(hostname) || hostname.startsWith("[") || hostname === "localhost" || !hostname.includes(".")
}

/** Wraps what a body throws, to tell it from what the store says. */
class BodyError extends Error {}

/** The error of the body behind what the client made of it. */
const bodyBehind = (error: unknown): BodyError | null => {
  let at = error
  for (let depth = 0; depth < 8 && at instanceof Error; depth++) {
    if (at instanceof BodyError) return at
    at = at.cause
  }
  return null
}

const statusOf = (error: unknown): number | null => {
  if (typeof error !== "object" || error === null || !("$metadata" in error)) return null
  const meta = error.$metadata as { readonly httpStatusCode?: number } | null
  return meta?.httpStatusCode ?? null
}

const failure = (error: unknown): StorageError => {
  if (error instanceof StorageError) return error
  const body = bodyBehind(error)
  if (body !== null) return new StorageError({ reason: "Body", cause: body.cause })
  const name = error instanceof Error ? error.name : ""
  const full = name === "QuotaExceeded" || name === "EntityTooLarge" || name === "InsufficientStorage" ||
    statusOf(error) === 507
  const status = statusOf(error)
  const denied = status === 401 || status === 403 || name === "NoSuchBucket" || name === "InvalidAccessKeyId"
  return new StorageError({ reason: full ? "Full" : denied ? "Denied" : "Unavailable", cause: error })
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && error.name !== "NoSuchBucket" && (error.name === "NoSuchKey" || error.name === "NotFound")

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
interface Begun {
  /** Null: there is more than may be gathered. */
  readonly whole: Uint8Array | null
  readonly bytes: Bytes
}

const begin = async (source: AsyncGenerator<Uint8Array>): Promise<Begun> => {
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

/** Lets so many work at once. The others wait in line, for a limited time. */
const makeLine = (atOnce: number, waitMs: number) => {
  let working = 0
  const waiting = new Set<() => void>()
  return async <A>(work: () => Promise<A>): Promise<A> => {
    if (working < atOnce) working++
    else {
      await new Promise<void>((resolve, reject) => {
        const turn = (): void => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(() => {
          waiting.delete(turn)
          reject(new StorageError({ reason: "Unavailable", cause: new Error("too many bodies of unknown length") }))
        }, waitMs)
        waiting.add(turn)
      })
    }
    try {
      return await work()
    } finally {
      const [next] = waiting
      if (next === undefined) working--
      else {
        waiting.delete(next)
        next()
      }
    }
  }
}

/** The client tells its failures by what it throws. What it would print besides is of no use to an operator. */
const silent = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** The storage of one bucket or a part of it. Nothing is connected before it is used. */
export const makeBucketStorage = (options: BucketOptions): StorageService => {
  const { bucket, prefix, silenceMs = 30_000, waitMs = 5_000 } = options
  const inLine = makeLine(mostInParts, waitMs)
  const connect = async () => {
    const loaded = await packages()
    const config: S3ClientConfig = {
      region: options.region,
      credentials: { accessKeyId: options.accessKeyId, secretAccessKey: options.secretAccessKey },
      maxAttempts: 2,
      requestHandler: {
        connectionTimeout: connectMs,
        socketTimeout: silenceMs,
        httpsAgent: { maxSockets: 200 },
        httpAgent: { maxSockets: 200 }
      },
      // What is not gathered cannot be sent twice: the store refuses it before its first byte, on a connection of its own.
      expectContinueHeader: gatheredBytes,
      logger: silent,
      // Older servers know no checksums at the end of a body.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      ...(options.endpoint === null
        ? { forcePathStyle: options.pathStyle ?? false }
        : { endpoint: options.endpoint, forcePathStyle: options.pathStyle ?? isAddress(options.endpoint) })
    }
    return { ...loaded, client: new loaded.S3Client(config) }
  }
  let connected: ReturnType<typeof connect> | null = null
  const open = () =>
    connected ??= connect().catch((error: unknown) => {
      connected = null
      throw error
    })

  const use = <A>(
    work: (s3: Awaited<ReturnType<typeof connect>>, client: S3Client, abortSignal: AbortSignal) => Promise<A>
  ): Effect.Effect<A, StorageError> =>
    Effect.tryPromise({
      try: async (signal) => {
        const s3 = await open()
        return work(s3, s3.client, signal)
      },
      catch: failure
    })

  const keyOf = (path: string): { readonly Bucket: string; readonly Key: string } => ({
    Bucket: bucket,
    Key: prefix + path
  })

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
          // A bucket that is linked from elsewhere (`publicUrl`) serves what it was given, and an SVG is a document with scripts.
          const params = {
            ...keyOf(path),
            ContentType: type,
            ...(type === "image/svg+xml" ? { ContentDisposition: "attachment" } : {})
          }
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
              await inLine(() =>
                new Upload({
                  client,
                  params: { ...params, Body: stream },
                  queueSize: 1,
                  partSize,
                  leavePartsOnError: false
                })
                  .done()
              )
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
              ...keyOf(path),
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
          const answer = await client.send(new HeadObjectCommand(keyOf(path)), { abortSignal })
          return { size: answer.ContentLength ?? 0, modified: answer.LastModified?.getTime() ?? 0 }
        } catch (error) {
          if (isMissing(error)) return null
          throw error
        }
      }),
    // One by one, because some servers take a list of deletes only with a checksum that the client does not send.
    remove: (path) =>
      use(async ({ DeleteObjectCommand }, client, abortSignal) => {
        await client.send(new DeleteObjectCommand(keyOf(path)), { abortSignal })
      }),
    list: ({ after, limit, prefix: wanted }) =>
      use(async ({ ListObjectsV2Command }, client, abortSignal) => {
        const found: ListedFile[] = []
        let last = after
        while (found.length < limit) {
          const answer = await client.send(
            new ListObjectsV2Command({
              Bucket: bucket,
              Prefix: prefix + wanted,
              MaxKeys: Math.min(1_000, limit - found.length),
              ...(last === null ? {} : { StartAfter: prefix + last })
            }),
            { abortSignal }
          )
          for (const { Key = "", LastModified, Size = 0 } of answer.Contents ?? []) {
            last = Key.slice(prefix.length)
            found.push({ path: last, size: Size, modified: LastModified?.getTime() ?? 0 })
          }
          if (answer.IsTruncated !== true || (answer.Contents ?? []).length === 0) break
        }
        return found
      }),
    link: (path, { disposition, seconds, type }) =>
      use(({ getSignedUrl, GetObjectCommand }, client) =>
        getSignedUrl(
          client,
          new GetObjectCommand({
            ...keyOf(path),
            ResponseContentType: type,
            ResponseContentDisposition: disposition
          }),
          { expiresIn: Math.max(1, Math.min(Math.floor(seconds), 604_800)) }
        )
      )
  }
}
