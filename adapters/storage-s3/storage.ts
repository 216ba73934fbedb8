/**
 * The Storage port on a bucket of an S3-compatible store. The client's packages are loaded with the first file operation, so nobody without
 * buckets needs to install them. Bodies of unknown length are sent in parts, two of them in memory. An upload that fails is aborted.
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
}

/** Time to connect, and time without a byte, in milliseconds. */
const connectMs = 5_000
const silenceMs = 30_000

/** Bytes of a part: a store takes 10,000 parts of at least 5 MiB. */
const partBytes = 5 * 2 ** 20
const mostParts = 10_000

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

async function* marked(body: Bytes, seen: (error: BodyError) => void): Bytes {
  try {
    yield* body
  } catch (cause) {
    const error = new BodyError("the body failed", { cause })
    seen(error)
    throw error
  }
}

/** The storage of one bucket or a part of it. Nothing is connected before it is used. */
export const makeBucketStorage = (options: BucketOptions): StorageService => {
  const { bucket, prefix } = options
  const connect = async () => {
    const loaded = await packages()
    const config: S3ClientConfig = {
      region: options.region,
      credentials: { accessKeyId: options.accessKeyId, secretAccessKey: options.secretAccessKey },
      maxAttempts: 2,
      requestHandler: {
        connectionTimeout: connectMs,
        requestTimeout: silenceMs,
        httpsAgent: { maxSockets: 200 },
        httpAgent: { maxSockets: 200 }
      },
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
    put: (path, body, { size, type }) =>
      Effect.tryPromise({
        try: async () => {
          const { client, Upload } = await open()
          let stored = 0
          let broken: BodyError | null = null
          async function* counted(): Bytes {
            for await (const chunk of marked(body, (error) => broken = error)) {
              stored += chunk.length
              yield chunk
            }
          }
          const upload = new Upload({
            client,
            params: { ...keyOf(path), Body: Readable.from(counted(), { objectMode: false }), ContentType: type },
            queueSize: 1,
            partSize: Math.max(partBytes, Math.ceil((size ?? 0) / (mostParts - 1))),
            leavePartsOnError: false
          })
          try {
            await upload.done()
          } catch (error) {
            throw broken ?? error
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
