/**
 * The connection to a bucket, which the files beside it work with: its packages are loaded and its client is made with the first operation. It also says
 * what an error of the store means.
 */

import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3"
import * as Effect from "effect/Effect"
import { isBag } from "../../core/domain/bag.ts"
import { StorageError } from "../../core/ports/storage.ts"

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
export const gatheredBytes = 512 * 1024

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
export class BodyError extends Error {}

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
  const meta = isBag(error) ? error["$metadata"] : undefined
  return isBag(meta) && typeof meta["httpStatusCode"] === "number" ? meta["httpStatusCode"] : null
}

export const failure = (error: unknown): StorageError => {
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

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && error.name !== "NoSuchBucket" && (error.name === "NoSuchKey" || error.name === "NotFound")

/** The client tells its failures by what it throws. What it would print besides is of no use to an operator. */
const silent = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** A client, made when it is first needed. */
export interface BucketConnection {
  readonly bucket: string
  readonly prefix: string
  readonly open: () => ReturnType<typeof connect>
  readonly use: <A>(
    work: (s3: S3, client: S3Client, abortSignal: AbortSignal) => Promise<A>
  ) => Effect.Effect<A, StorageError>
  readonly objectAt: (path: string) => { readonly Bucket: string; readonly Key: string }
  /** What a file is stored with. */
  readonly paramsOf: (path: string, type: string) => {
    readonly Bucket: string
    readonly Key: string
    readonly ContentType: string
    readonly ContentDisposition?: string
  }
}

export type S3 = Awaited<ReturnType<typeof connect>>

const connect = async (options: BucketOptions) => {
  const { silenceMs = 30_000 } = options
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

/** Nothing is connected before it is used. */
export const connectBucket = (options: BucketOptions): BucketConnection => {
  const { bucket, prefix } = options
  let connected: ReturnType<typeof connect> | null = null
  const open = () =>
    connected ??= connect(options).catch((error: unknown) => {
      connected = null
      throw error
    })

  const use = <A>(
    work: (s3: S3, client: S3Client, abortSignal: AbortSignal) => Promise<A>
  ): Effect.Effect<A, StorageError> =>
    Effect.tryPromise({
      try: async (signal) => {
        const s3 = await open()
        return work(s3, s3.client, signal)
      },
      catch: failure
    })

  const objectAt = (path: string): { readonly Bucket: string; readonly Key: string } => ({
    Bucket: bucket,
    Key: prefix + path
  })

  return {
    bucket,
    prefix,
    open,
    use,
    objectAt,
    // A bucket that is linked from elsewhere (`publicUrl`) serves what it was given, and an SVG is a document with scripts.
    paramsOf: (path, type) => ({
      ...objectAt(path),
      ContentType: type,
      ...(type === "image/svg+xml" ? { ContentDisposition: "attachment" } : {})
    })
  }
}
