// The Storage port on a real S3 server: its contract, and what only a server shows: wrong keys, conditions, long lists, a bucket that is away.
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client
} from "@aws-sdk/client-s3"
import * as Effect from "effect/Effect"
import { createServer } from "node:net"
import type { AddressInfo, Server } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeBucketStorage } from "../../adapters/storage-s3/storage.ts"
import type { BucketOptions } from "../../adapters/storage-s3/storage.ts"
import type { Bytes, StorageError, StorageService } from "../../core/ports/storage.ts"
import { storageContract } from "../contracts/storage.ts"
import { bucketServerNeeded, hasBucketServer, startBucketServer } from "../support/bucket.ts"
import type { BucketServer } from "../support/bucket.ts"
import { gather, pattern, pieces } from "../support/bytes.ts"

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
    const { accessKeyId, endpoint, secretAccessKey } = server
    client = new S3Client({
      endpoint,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
      requestChecksumCalculation: "WHEN_REQUIRED"
    })
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    await client.send(new CreateBucketCommand({ Bucket: "others" }))
  }, 800_000)
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
    unfinished: async () =>
      (await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads?.length ?? 0
  }))

  const put = (storage: StorageService, path: string, text: string) =>
    Effect.runPromise(storage.put(path, pieces(text), { type: "text/plain", size: null }))
  const refusal = (work: Effect.Effect<unknown, StorageError>) => Effect.runPromise(Effect.flip(work))

  it("keeps to its prefix", async () => {
    await clear()
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: "shop2/other.txt", Body: "not ours" }))
    const storage = makeBucketStorage(options())
    await put(storage, "t1/a.txt", "ours")
    const listed = await Effect.runPromise(storage.list({ prefix: "", after: null, limit: 10 }))
    expect(listed.map(({ path }) => path)).toEqual(["t1/a.txt"])
    const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: "shop/t1/a.txt" }))
    expect(head.ContentType).toBe("text/plain")
  })

  it("lists more than a page of the server", async () => {
    await clear()
    const storage = makeBucketStorage(options({ prefix: "" }))
    const names = Array.from({ length: 1_050 }, (_, i) => `t1/${String(i).padStart(5, "0")}.txt`)
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(names.slice(at, at + 50).map((name) => put(storage, name, "x")))
    }
    const listed = await Effect.runPromise(storage.list({ prefix: "t1/", after: null, limit: 5_000 }))
    expect(listed.map(({ path }) => path)).toEqual(names)
    const rest = await Effect.runPromise(storage.list({ prefix: "t1/", after: names[1_020]!, limit: 5_000 }))
    expect(rest.length).toBe(29)
  })

  it("answers 412 to a put that wants no file there", async () => {
    await clear()
    const storage = makeBucketStorage(options())
    await put(storage, "t1/a.txt", "first")
    const twice = client.send(
      new PutObjectCommand({ Bucket: bucket, Key: "shop/t1/a.txt", Body: "second", IfNoneMatch: "*" })
    )
    await expect(twice).rejects.toMatchObject({ $metadata: { httpStatusCode: 412 } })
    const kept = await Effect.runPromise(storage.read("t1/a.txt", null))
    expect((await gather(kept!.bytes)).toString()).toBe("first")
  })

  it.each([
    ["a wrong secret", { secretAccessKey: "wrong" }],
    ["an unknown key", { accessKeyId: "NOBODY" }],
    ["a bucket that is not there", { bucket: "nowhere" }]
  ])("is denied with %s", async (_, more) => {
    const storage = makeBucketStorage(options(more))
    expect((await refusal(storage.put("t1/a.txt", pieces("x"), { type: "text/plain", size: 1 }))).reason).toBe("Denied")
    expect((await refusal(storage.read("t1/a.txt", null))).reason).toBe("Denied")
    expect((await refusal(storage.list({ prefix: "", after: null, limit: 1 }))).reason).toBe("Denied")
  })

  it("refuses a long body before its first byte, and lets go of it", async () => {
    const storage = makeBucketStorage(options({ secretAccessKey: "wrong" }))
    const { body, state } = watched(12_000_000)
    const error = await refusal(storage.put("t1/a.bin", body, { type: "application/octet-stream", size: 12_000_000 }))
    expect(error.reason).toBe("Denied")
    expect(state.pulled).toBeLessThan(1_000_000)
    await expect.poll(() => state.ended).toBe(true)
  })

  it.each([["shorter", -1], ["longer", 1]])("stores nothing of a body that is %s than announced", async (_, more) => {
    await clear()
    const storage = makeBucketStorage(options())
    for (const size of [3, 3_000_000]) {
      const put = storage.put("t1/a.bin", pattern(size + more), { type: "application/octet-stream", size })
      expect((await refusal(put)).reason).toBe("Body")
      expect(await Effect.runPromise(storage.head("t1/a.bin"))).toBeNull()
    }
  })

  it("serves no link after its time, and none of another path", async () => {
    const storage = makeBucketStorage(options())
    await put(storage, "t1/a.txt", "linked")
    const url = await Effect.runPromise(
      storage.link!("t1/a.txt", { seconds: 600, type: "text/plain", disposition: "inline" })
    )
    const status = async (address: string): Promise<number> => {
      const answer = await fetch(address)
      await answer.body?.cancel()
      return answer.status
    }
    expect(await status(url)).toBe(200)
    expect(await status(url.replace("a.txt", "b.txt"))).toBe(403)
    expect(await status(url.replace("X-Amz-Expires=600", "X-Amz-Expires=86400"))).toBe(403)
    expect(await status(url.split("?")[0]!)).toBe(403)
  })

  it("is unavailable where nobody answers, and works again when somebody does", async () => {
    const away = makeBucketStorage(options({ endpoint: "http://127.0.0.1:9" }))
    expect((await refusal(away.head("t1/a.txt"))).reason).toBe("Unavailable")
    const storage = makeBucketStorage(options())
    await put(storage, "t1/a.txt", "here")
    server.pause()
    const waiting = Effect.runFork(storage.head("t1/a.txt"))
    server.resume()
    expect(await new Promise((done) => waiting.addObserver(done))).toMatchObject({
      _tag: "Success",
      value: { size: 4 }
    })
  })
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
      silenceMs: 1_500,
      waitMs: 500
    })
  })
  afterAll(() => void server.close())

  const type = "application/octet-stream"

  it("is unavailable after its time, and the body is let go", async () => {
    const { body, state } = watched(8_000_000)
    const error = await Effect.runPromise(Effect.flip(storage.put("t1/a.bin", body, { type, size: 8_000_000 })))
    expect(error.reason).toBe("Unavailable")
    // Nobody said that the store wants it.
    expect(state.pulled).toBeLessThan(1_000_000)
    await expect.poll(() => state.ended).toBe(true)
    expect((await Effect.runPromise(Effect.flip(storage.head("t1/a.bin")))).reason).toBe("Unavailable")
  })

  it("holds parts of four bodies of unknown length at once; the others wait, and are then refused", async () => {
    const bodies = Array.from({ length: 10 }, () => watched(20_000_000))
    const refused = bodies.map(({ body }, i) =>
      Effect.runPromise(Effect.flip(storage.put(`t1/${i}.bin`, body, { type, size: null })))
    )
    for (const each of refused) expect((await each).reason).toBe("Unavailable")
    const pulled = bodies.map(({ state }) => state.pulled).sort((a, b) => a - b)
    for (const bytes of pulled.slice(0, 6)) expect(bytes).toBeLessThan(1_000_000)
    for (const bytes of pulled.slice(6)) expect([bytes > 5 * 2 ** 20, bytes < 6 * 2 ** 20]).toEqual([true, true])
    await expect.poll(() => bodies.every(({ state }) => state.ended)).toBe(true)
  })
})
