/**
 * Uploads in pieces to a bucket: one multipart upload each, of parts of one size. What has arrived of the next part is kept in objects, each with its
 * offset in its name, so that a cut line loses nothing, and no small request moves more than its own bytes. An object tells the multipart upload. All of
 * them have names that begin with the upload's own. A request holds at most one part in memory, and all requests together a few.
 */

import type { ListObjectsV2CommandOutput, ListPartsCommandOutput, S3Client } from "@aws-sdk/client-s3"
import * as Effect from "effect/Effect"
import type { Bag } from "../../core/domain/bag.ts"
import type { Appended, Bytes, ResumableStorage, UnfinishedTarget } from "../../core/ports/storage.ts"
import { BodyError, failure, isMissing } from "./connection.ts"
import type { BucketConnection, S3 } from "./connection.ts"
import { makeLine } from "./line.ts"

const mebibyte = 2 ** 20

/** A store takes parts of no less than this, and so many of them. */
const leastPart = 5 * mebibyte
const mostParts = 10_000

/** Bytes that all requests hold at once. */
const mostHeld = 48 * mebibyte

/** Pieces that are kept of one part. One more, and they become one. */
const mostPieces = 64

/** Bytes of a part: a thousand parts are listed at once, so long files have larger ones. */
const partBytesOf = (length: number): number =>
  Math.max(leastPart, Math.min(16 * mebibyte, Math.ceil(length / 1_000)), Math.ceil(length / mostParts))

/** The multipart upload, as it is written down. */
interface Multipart {
  readonly key: string
  readonly upload: string
  readonly partBytes: number
}

/** Bytes that are kept in an object. */
interface Piece {
  readonly key: string
  readonly offset: number
  readonly size: number
}

/** All that is known of an upload. Its parts are followed by its pieces, without a gap. */
interface State {
  readonly multipart: Multipart | null
  /** Tags of whole parts, in order. */
  readonly parts: readonly string[]
  readonly pieces: readonly Piece[]
  /** Objects that are stale: of bytes that are in a part, or behind a gap. */
  readonly stale: readonly string[]
  readonly size: number
}

const knownSuffix = ".parts"
const pieceSuffix = /\.p([0-9]{15})$/

const readKnown = (text: string): Multipart => {
  const { key, partBytes, upload }: Bag = JSON.parse(text)
  if (typeof key !== "string" || typeof upload !== "string" || typeof partBytes !== "number") {
    throw new Error("The object of a multipart upload is not of this service.")
  }
  return { key, upload, partBytes }
}

const isGone = (error: unknown): boolean => error instanceof Error && error.name === "NoSuchUpload"

const letGo = async (body: Bytes): Promise<void> => {
  await Promise.resolve(body[Symbol.asyncIterator]().return?.()).catch(() => {})
}

/** Uploads in pieces of one bucket. */
export const makePieces = (connection: BucketConnection, waitMs: number): ResumableStorage => {
  const { objectAt, open, paramsOf, prefix, use } = connection
  const inLine = makeLine(mostHeld, waitMs)

  const remove = async (s3: S3, key: string): Promise<void> => {
    await s3.client.send(new s3.DeleteObjectCommand({ Bucket: connection.bucket, Key: key }))
  }
  const removeAll = async (s3: S3, keys: readonly string[]): Promise<void> => {
    for (let at = 0; at < keys.length; at += 8) await Promise.all(keys.slice(at, at + 8).map((key) => remove(s3, key)))
  }

  /** Objects that belong to an upload. */
  const objectsOf = async ({ ListObjectsV2Command }: S3, client: S3Client, name: string, signal?: AbortSignal) => {
    const objects: Array<{ readonly key: string; readonly size: number }> = []
    let after: string | undefined
    do {
      const answer: ListObjectsV2CommandOutput = await client.send(
        new ListObjectsV2Command({
          Bucket: connection.bucket,
          Prefix: objectAt(name).Key,
          ...(after === undefined ? {} : { StartAfter: after })
        }),
        signal === undefined ? {} : { abortSignal: signal }
      )
      for (const { Key = "", Size = 0 } of answer.Contents ?? []) objects.push({ key: Key, size: Size })
      after = answer.IsTruncated === true ? objects.at(-1)?.key : undefined
    } while (after !== undefined)
    return objects
  }

  const readObject = async ({ GetObjectCommand }: S3, client: S3Client, key: string): Promise<Uint8Array | null> => {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: connection.bucket, Key: key }))
      return Body === undefined ? null : await Body.transformToByteArray()
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  /** Tags of the whole parts, in order. Null: there is no such multipart upload any more. */
  const partsOf = async (s3: S3, client: S3Client, multipart: Multipart): Promise<readonly string[] | null> => {
    const tags: string[] = []
    let after: string | undefined
    try {
      for (;;) {
        const answer: ListPartsCommandOutput = await client.send(
          new s3.ListPartsCommand({
            Bucket: connection.bucket,
            Key: multipart.key,
            UploadId: multipart.upload,
            ...(after === undefined ? {} : { PartNumberMarker: after })
          })
        )
        for (const { ETag, PartNumber, Size } of answer.Parts ?? []) {
          // The last part of a finish that was interrupted is shorter, and made again.
          if (PartNumber !== tags.length + 1 || Size !== multipart.partBytes || ETag === undefined) return tags
          tags.push(ETag)
        }
        if (answer.IsTruncated !== true || answer.NextPartNumberMarker === undefined) return tags
        after = answer.NextPartNumberMarker
      }
    } catch (error) {
      if (isGone(error)) return null
      throw error
    }
  }

  const knownOf = async (s3: S3, client: S3Client, name: string): Promise<Multipart | null> => {
    const text = await readObject(s3, client, objectAt(name).Key + knownSuffix)
    return text === null ? null : readKnown(new TextDecoder().decode(text))
  }

  const stateOf = async (s3: S3, client: S3Client, name: string, signal?: AbortSignal): Promise<State | null> => {
    const own = objectAt(name).Key
    const objects = await objectsOf(s3, client, name, signal)
    if (!objects.some(({ key }) => key === own)) return null
    const multipart = objects.some(({ key }) => key === own + knownSuffix) ? await knownOf(s3, client, name) : null
    const parts = multipart === null ? [] : await partsOf(s3, client, multipart)
    if (parts === null) return null
    let size = parts.length * (multipart?.partBytes ?? 0)
    const pieces: Piece[] = []
    const stale: string[] = []
    for (const { key, size: bytes } of objects) {
      const digits = pieceSuffix.exec(key.slice(own.length))?.[1]
      if (digits === undefined) continue
      if (Number(digits) === size && bytes > 0) {
        pieces.push({ key, offset: size, size: bytes })
        size += bytes
      } else stale.push(key)
    }
    return { multipart, parts, pieces, stale, size }
  }

  const pieceKey = (name: string, offset: number): string =>
    `${objectAt(name).Key}.p${String(offset).padStart(15, "0")}`

  /** Reads pieces into the beginning of a buffer. */
  const readPieces = async (s3: S3, pieces: readonly Piece[], into: Uint8Array): Promise<void> => {
    let at = 0
    for (const { key, size } of pieces) {
      const bytes = await readObject(s3, s3.client, key)
      if (bytes?.length !== size) throw new Error("A piece of an upload is not there any more.")
      into.set(bytes, at)
      at += size
    }
  }

  const beginParts = async (s3: S3, name: string, { length, path, type }: UnfinishedTarget): Promise<Multipart> => {
    const begun = await s3.client.send(new s3.CreateMultipartUploadCommand(paramsOf(path, type)))
    if (begun.UploadId === undefined) throw new Error("The store has begun no multipart upload.")
    const multipart = { key: objectAt(path).Key, upload: begun.UploadId, partBytes: partBytesOf(length) }
    await s3.client.send(
      new s3.PutObjectCommand({
        Bucket: connection.bucket,
        Key: objectAt(name).Key + knownSuffix,
        Body: JSON.stringify(multipart),
        ContentType: "application/json"
      })
    )
    return multipart
  }

  const sendPart = async (s3: S3, multipart: Multipart, number: number, bytes: Uint8Array): Promise<string> => {
    const { ETag } = await s3.client.send(
      new s3.UploadPartCommand({
        Bucket: connection.bucket,
        Key: multipart.key,
        UploadId: multipart.upload,
        PartNumber: number,
        Body: bytes
      })
    )
    if (ETag === undefined) throw new Error("The store has given a part no tag.")
    return ETag
  }

  /** Adds a body to what is there. */
  const add = async (
    s3: S3,
    name: string,
    state: State,
    body: Bytes,
    target: UnfinishedTarget | null,
    partBytes: number
  ): Promise<number> => {
    let { multipart, pieces } = state
    let parts = state.parts.length
    let { size } = state
    /** Bytes in pieces, and bytes of the body behind them. */
    let held = pieces.reduce((sum, piece) => sum + piece.size, 0)
    let fresh = 0
    const buffer = Buffer.allocUnsafe(partBytes)
    const pass = async (): Promise<void> => {
      if (target === null) throw new Error("More has arrived than there may be without a target.")
      multipart ??= await beginParts(s3, name, target)
      await readPieces(s3, pieces, buffer)
      await sendPart(s3, multipart, ++parts, buffer)
      await removeAll(s3, pieces.map(({ key }) => key))
      pieces = []
      size += fresh
      held = fresh = 0
    }
    let broken: { readonly cause: unknown } | null = null
    const source = body[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await source.next().catch((cause: unknown) => {
          broken = { cause }
          return null
        })
        if (next === null || next.done === true) break
        for (let at = 0; at < next.value.length;) {
          const taken = next.value.subarray(at, at + partBytes - held - fresh)
          buffer.set(taken, held + fresh)
          at += taken.length
          fresh += taken.length
          if (held + fresh === partBytes) await pass()
        }
      }
    } catch (error) {
      await Promise.resolve(source.return?.()).catch(() => {})
      throw error
    }
    if (fresh > 0) {
      const put = (key: string, bytes: Uint8Array) =>
        s3.client.send(new s3.PutObjectCommand({ Bucket: connection.bucket, Key: key, Body: bytes }))
      const [first] = pieces
      if (first === undefined || pieces.length < mostPieces) {
        await put(pieceKey(name, size), buffer.subarray(held, held + fresh))
      } else {
        await readPieces(s3, pieces, buffer)
        await put(first.key, buffer.subarray(0, held + fresh))
        await removeAll(s3, pieces.slice(1).map(({ key }) => key))
      }
      size += fresh
    }
    const failed = broken as { readonly cause: unknown } | null
    if (failed !== null) throw new BodyError("the body failed", failed)
    return size
  }

  const append = async (
    name: string,
    offset: number,
    body: Bytes,
    target: UnfinishedTarget | null
  ): Promise<Appended | null> => {
    let begun = false
    try {
      const s3 = await open()
      const state = await stateOf(s3, s3.client, name)
      if (state === null) return null
      if (state.size !== offset) return { size: state.size, matched: false }
      // A piece of the same offset could be longer than what comes now.
      await removeAll(s3, state.stale)
      const partBytes = state.multipart?.partBytes ?? (target === null ? leastPart : partBytesOf(target.length))
      const most = target === null ? 65_536 : target.length - state.parts.length * partBytes
      const weight = Math.max(1, Math.min(partBytes, most))
      return await inLine(weight, async () => {
        begun = true
        return { size: await add(s3, name, state, body, target, partBytes), matched: true }
      })
    } finally {
      if (!begun) await letGo(body)
    }
  }

  const abort = async (s3: S3, client: S3Client, name: string, signal?: AbortSignal): Promise<void> => {
    const own = objectAt(name).Key
    const objects = await objectsOf(s3, client, name, signal)
    const multipart = objects.some(({ key }) => key === own + knownSuffix) ? await knownOf(s3, client, name) : null
    if (multipart !== null) await end(s3, client, multipart.key, multipart.upload)
    const ours = objects.map(({ key }) => key).filter((key) =>
      key === own || key === own + knownSuffix || pieceSuffix.test(key.slice(own.length))
    )
    // Its own object goes last: until then it can be asked to go again.
    await removeAll(s3, ours.filter((key) => key !== own))
    if (ours.includes(own)) await remove(s3, own)
  }

  const end = async (s3: S3, client: S3Client, key: string, upload: string): Promise<void> => {
    try {
      await client.send(new s3.AbortMultipartUploadCommand({ Bucket: connection.bucket, Key: key, UploadId: upload }))
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }

  /** The size of a visible file. */
  const sizeOf = async ({ HeadObjectCommand }: S3, client: S3Client, path: string): Promise<number | null> => {
    try {
      return (await client.send(new HeadObjectCommand(objectAt(path)))).ContentLength ?? 0
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  const finish = async (s3: S3, client: S3Client, name: string, target: UnfinishedTarget): Promise<number | null> => {
    const state = await stateOf(s3, client, name)
    if (state === null) return null
    const { multipart, parts, pieces, size } = state
    if (size !== target.length) {
      if (await sizeOf(s3, client, target.path) !== target.length) throw new Error("Not all of the upload is there.")
      await abort(s3, client, name)
      return target.length
    }
    const rest = pieces.reduce((sum, piece) => sum + piece.size, 0)
    const bytes = Buffer.allocUnsafe(rest)
    await readPieces(s3, pieces, bytes)
    if (multipart === null) {
      await client.send(new s3.PutObjectCommand({ ...paramsOf(target.path, target.type), Body: bytes }))
    } else {
      const tags = rest === 0 ? parts : [...parts, await sendPart(s3, multipart, parts.length + 1, bytes)]
      await client.send(
        new s3.CompleteMultipartUploadCommand({
          Bucket: connection.bucket,
          Key: multipart.key,
          UploadId: multipart.upload,
          MultipartUpload: { Parts: tags.map((ETag, i) => ({ ETag, PartNumber: i + 1 })) }
        })
      )
    }
    await abort(s3, client, name)
    return size
  }

  return {
    begin: (name) =>
      use(async ({ PutObjectCommand }, client, abortSignal) => {
        await client.send(new PutObjectCommand({ ...objectAt(name), Body: "" }), { abortSignal })
      }),
    size: (name) => use(async (s3, client, signal) => (await stateOf(s3, client, name, signal))?.size ?? null),
    start: (name, most) =>
      use(async (s3, client, signal) => {
        const state = await stateOf(s3, client, name, signal)
        if (state === null) return null
        const held = state.pieces.reduce((sum, piece) => sum + piece.size, 0)
        const bytes = Buffer.allocUnsafe(held)
        await readPieces(s3, state.pieces, bytes)
        return bytes.subarray(0, most)
      }),
    append: (name, offset, body, target) =>
      Effect.tryPromise({ try: () => append(name, offset, body, target), catch: failure }),
    finish: (name, target) =>
      Effect.tryPromise({
        try: async () => {
          const s3 = await open()
          return inLine(partBytesOf(target.length), () => finish(s3, s3.client, name, target))
        },
        catch: failure
      }),
    abort: (name) => use((s3, client, signal) => abort(s3, client, name, signal)),
    forget: (before) =>
      use(async (s3, client, abortSignal) => {
        const answer = await client.send(
          new s3.ListMultipartUploadsCommand({ Bucket: connection.bucket, Prefix: prefix }),
          { abortSignal }
        )
        for (const { Initiated, Key = "", UploadId } of answer.Uploads ?? []) {
          if (UploadId !== undefined && Initiated !== undefined && Initiated.getTime() < before) {
            await end(s3, client, Key, UploadId)
          }
        }
      })
  }
}
