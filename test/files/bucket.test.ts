// The Storage port on a real S3 server: its contract, and what only a server shows: wrong keys, conditions, long lists, a bucket that is away. Then the
// whole service on it.
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutBucketCorsCommand,
  PutObjectCommand
} from "@aws-sdk/client-s3"
import type { CORSRule, S3Client } from "@aws-sdk/client-s3"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { createServer } from "node:net"
import type { AddressInfo, Server } from "node:net"
import type { BucketOptions } from "../../adapters/storage-s3/connection.ts"
import { makeBucketStorage } from "../../adapters/storage-s3/storage.ts"
import type { Bytes, StorageError, StorageService } from "../../core/ports/storage.ts"
import { storageContract } from "../contracts/storage.ts"
import { examplesOf } from "../docs/blocks.ts"
import {
  bucketPage,
  bucketServerNeeded,
  hasBucketServer,
  makeBucket,
  sendSigned,
  startBucketServer
} from "../support/bucket.ts"
import type { BucketServer } from "../support/bucket.ts"
import { gather, pattern, pieces } from "../support/bytes.ts"
import { serviceOnBucket } from "./bucket-service.ts"

if (process.env["CI"] !== undefined && !hasBucketServer) throw new Error(bucketServerNeeded)

/** A body that knows how much of it was taken, and whether it was let go. */
const watched = (size: number) => {
  const state = { pulled: 0, ended: false }
  async function* body(): Bytes {
    try {
      for await (const chunk of pattern(size)) {
        state.pulled += chunk.length
        yield chunk
      }
    } finally {
      state.ended = true
    }
  }
  return { body: body(), state }
}

describe.skipIf(!hasBucketServer)(`a real S3 server${hasBucketServer ? "" : ` (${bucketServerNeeded})`}`, () => {
  let server: BucketServer
  let client: S3Client
  const bucket = "files"

  beforeAll(async () => {
    server = await startBucketServer()
    client = await makeBucket(server, bucket)
    await client.send(new CreateBucketCommand({ Bucket: "others" }))
  })
  afterAll(() => server?.stop())

  const options = (more: Partial<BucketOptions> = {}): BucketOptions => ({
    bucket,
    prefix: "shop/",
    region: "us-east-1",
    pathStyle: null,
    endpoint: server.endpoint,
    accessKeyId: server.accessKeyId,
    secretAccessKey: server.secretAccessKey,
    ...more
  })
  const clear = async (): Promise<void> => {
    for (;;) {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
      if (Contents.length === 0) return
      await Promise.all(Contents.map(({ Key }) => client.send(new DeleteObjectCommand({ Bucket: bucket, Key }))))
    }
  }

  storageContract("bucket", async () => ({
    storage: makeBucketStorage(options()),
    clear,
    close: async () => {},
    opensLinks: true,
    send: sendSigned,
    unfinished: async () =>
      (await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads?.length ?? 0
  }))

  const put = (storage: StorageService, path: string, text: string) =>
    storage.put(path, pieces(text), { type: "text/plain", size: null })
  const refusal = (work: Effect.Effect<unknown, StorageError>) => Effect.flip(work)

  it.live("keeps to its prefix", () =>
    Effect.gen(function*() {
      yield* Effect.promise(clear)
      yield* Effect.promise(() =>
        client.send(new PutObjectCommand({ Bucket: bucket, Key: "shop2/other.txt", Body: "not ours" }))
      )
      const storage = makeBucketStorage(options())
      yield* put(storage, "t1/a.txt", "ours")
      const listed = yield* storage.list({ prefix: "", after: null, limit: 10 })
      expect(listed.map(({ path }) => path)).toEqual(["t1/a.txt"])
      const head = yield* Effect.promise(() =>
        client.send(new HeadObjectCommand({ Bucket: bucket, Key: "shop/t1/a.txt" }))
      )
      expect(head.ContentType).toBe("text/plain")
    }))

  it.live("lists more than a page of the server", () =>
    Effect.gen(function*() {
      yield* Effect.promise(clear)
      const storage = makeBucketStorage(options({ prefix: "" }))
      const names = Array.from({ length: 2 * bucketPage + 25 }, (_, i) => `t1/${String(i).padStart(5, "0")}.txt`)
      yield* Effect.forEach(names, (name) => put(storage, name, "x"), { concurrency: 50 })
      const listed = yield* storage.list({ prefix: "t1/", after: null, limit: 5_000 })
      expect(listed.map(({ path }) => path)).toEqual(names)
      const most = yield* storage.list({ prefix: "t1/", after: names[10]!, limit: bucketPage + 5 })
      expect(most.map(({ path }) => path)).toEqual(names.slice(11, bucketPage + 16))
    }))

  it.live("answers 412 to a put that wants no file there", () =>
    Effect.gen(function*() {
      yield* Effect.promise(clear)
      const storage = makeBucketStorage(options())
      yield* put(storage, "t1/a.txt", "first")
      const twice = client.send(
        new PutObjectCommand({ Bucket: bucket, Key: "shop/t1/a.txt", Body: "second", IfNoneMatch: "*" })
      )
      yield* Effect.promise(() => expect(twice).rejects.toMatchObject({ $metadata: { httpStatusCode: 412 } }))
      const kept = yield* storage.read("t1/a.txt", null)
      expect((yield* Effect.promise(() => gather(kept!.bytes))).toString()).toBe("first")
    }))

  it.live.each<readonly [what: string, more: Partial<BucketOptions>]>([
    ["a wrong secret", { secretAccessKey: "wrong" }],
    ["an unknown key", { accessKeyId: "NOBODY" }],
    ["a bucket that is not there", { bucket: "nowhere" }]
  ])("is denied with %s", ([, more]) =>
    Effect.gen(function*() {
      const storage = makeBucketStorage(options(more))
      expect((yield* refusal(storage.put("t1/a.txt", pieces("x"), { type: "text/plain", size: 1 }))).reason).toBe(
        "Denied"
      )
      expect((yield* refusal(storage.read("t1/a.txt", null))).reason).toBe("Denied")
      expect((yield* refusal(storage.list({ prefix: "", after: null, limit: 1 }))).reason).toBe("Denied")
    }))

  it.live("refuses a long body before its first byte, and lets go of it", () =>
    Effect.gen(function*() {
      const storage = makeBucketStorage(options({ secretAccessKey: "wrong" }))
      const { body, state } = watched(12_000_000)
      const error = yield* refusal(
        storage.put("t1/a.bin", body, { type: "application/octet-stream", size: 12_000_000 })
      )
      expect(error.reason).toBe("Denied")
      expect(state.pulled).toBeLessThan(1_000_000)
      yield* Effect.promise(() => expect.poll(() => state.ended).toBe(true))
    }))

  it.live.each<readonly [how: string, more: number]>([["shorter", -1], ["longer", 1]])(
    "stores nothing of a body that is %s than announced",
    ([, more]) =>
      Effect.gen(function*() {
        yield* Effect.promise(clear)
        const storage = makeBucketStorage(options())
        for (const size of [3, 3_000_000]) {
          const put = storage.put("t1/a.bin", pattern(size + more), { type: "application/octet-stream", size })
          expect((yield* refusal(put)).reason).toBe("Body")
          expect(yield* storage.head("t1/a.bin")).toBeNull()
        }
      })
  )

  it.live("serves no link after its time, and none of another path", () =>
    Effect.gen(function*() {
      const storage = makeBucketStorage(options())
      yield* put(storage, "t1/a.txt", "linked")
      const url = yield* storage.link!("t1/a.txt", { seconds: 600, type: "text/plain", disposition: "inline" })
      const status = (address: string) =>
        Effect.promise(async () => {
          const answer = await fetch(address)
          await answer.body?.cancel()
          return answer.status
        })
      expect(yield* status(url)).toBe(200)
      expect(yield* status(url.replace("a.txt", "b.txt"))).toBe(403)
      expect(yield* status(url.replace("X-Amz-Expires=600", "X-Amz-Expires=86400"))).toBe(403)
      expect(yield* status(url.split("?")[0]!)).toBe(403)
    }))

  it.live("takes nothing along of what the sender of an object said of it", () =>
    Effect.gen(function*() {
      yield* Effect.promise(clear)
      const storage = makeBucketStorage(options())
      const signed = yield* storage.direct!.presignPut(".tmp/a", { size: 3, seconds: 900 })
      const said = { "content-encoding": "gzip", "cache-control": "max-age=9", "content-disposition": "inline" }
      expect(yield* Effect.promise(() => sendSigned(signed, Buffer.from("<b>"), said))).toBe(200)
      expect(yield* storage.direct!.copy(".tmp/a", "t1/a.svg", "image/svg+xml")).toBe(true)
      const head = yield* Effect.promise(() =>
        client.send(new HeadObjectCommand({ Bucket: bucket, Key: "shop/t1/a.svg" }))
      )
      expect(head).toMatchObject({ ContentType: "image/svg+xml", ContentDisposition: "attachment", ContentLength: 3 })
      expect([head.ContentEncoding, head.CacheControl]).toEqual([undefined, undefined])
      // What it wrote cannot be read with the same signature.
      const read = yield* Effect.promise(() => fetch(signed.url))
      expect(read.status).toBe(403)
      yield* Effect.promise(() => read.text())
    }))

  it.live("lets pages of one origin send, by the rule of the guide", () =>
    Effect.gen(function*() {
      const rule = JSON.parse(examplesOf("docs/guides/files.md", "json")[0]!.text) as CORSRule[]
      yield* Effect.promise(() =>
        client.send(new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration: { CORSRules: rule } }))
      )
      const signed = yield* makeBucketStorage(options()).direct!.presignPut(".tmp/a", { size: 3, seconds: 900 })
      const asks = (origin: string) =>
        Effect.promise(async () => {
          const answer = await fetch(signed.url, {
            method: "OPTIONS",
            headers: {
              origin,
              "access-control-request-method": "PUT",
              "access-control-request-headers": "content-type"
            }
          })
          await answer.text()
          return answer.headers.get("access-control-allow-origin")
        })
      expect(yield* asks(rule[0]!.AllowedOrigins![0]!)).toBe(rule[0]!.AllowedOrigins![0])
      expect(yield* asks("https://elsewhere.example")).toBeNull()
    }))

  it.live("is unavailable where nobody answers, and works again when somebody does", () =>
    Effect.gen(function*() {
      const away = makeBucketStorage(options({ endpoint: "http://127.0.0.1:9" }))
      expect((yield* refusal(away.head("t1/a.txt"))).reason).toBe("Unavailable")
      const storage = makeBucketStorage(options())
      yield* put(storage, "t1/a.txt", "here")
      server.pause()
      const waiting = yield* Effect.forkChild(storage.head("t1/a.txt"), { startImmediately: true })
      server.resume()
      expect(yield* Fiber.await(waiting)).toMatchObject({
        _tag: "Success",
        value: { size: 4 }
      })
    }))

  serviceOnBucket(() => server)
})

describe("a store that takes connections and says nothing", () => {
  let server: Server
  let storage: StorageService

  beforeAll(async () => {
    server = createServer((socket) => socket.on("error", () => {}).resume())
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    storage = makeBucketStorage({
      bucket: "files",
      prefix: "",
      region: "us-east-1",
      pathStyle: null,
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      accessKeyId: "key",
      secretAccessKey: "secret",
      silenceMs: 600,
      waitMs: 200
    })
  })
  afterAll(() => void server.close())

  const type = "application/octet-stream"

  it.live("is unavailable after its time, and the body is let go", () =>
    Effect.gen(function*() {
      const { body, state } = watched(8_000_000)
      const error = yield* Effect.flip(storage.put("t1/a.bin", body, { type, size: 8_000_000 }))
      expect(error.reason).toBe("Unavailable")
      // Nobody said that the store wants it.
      expect(state.pulled).toBeLessThan(1_000_000)
      yield* Effect.promise(() => expect.poll(() => state.ended).toBe(true))
      expect((yield* Effect.flip(storage.head("t1/a.bin"))).reason).toBe("Unavailable")
    }))

  it.live("holds parts of four bodies of unknown length at once; the others wait, and are then refused", () =>
    Effect.gen(function*() {
      const bodies = Array.from({ length: 10 }, () => watched(20_000_000))
      const refused = yield* Effect.forEach(
        bodies,
        ({ body }, i) => Effect.flip(storage.put(`t1/${i}.bin`, body, { type, size: null })),
        { concurrency: "unbounded" }
      )
      for (const { reason } of refused) expect(reason).toBe("Unavailable")
      const pulled = bodies.map(({ state }) => state.pulled).sort((a, b) => a - b)
      for (const bytes of pulled.slice(0, 6)) expect(bytes).toBeLessThan(1_000_000)
      for (const bytes of pulled.slice(6)) expect([bytes > 5 * 2 ** 20, bytes < 6 * 2 ** 20]).toEqual([true, true])
      yield* Effect.promise(() => expect.poll(() => bodies.every(({ state }) => state.ended)).toBe(true))
    }))
})
