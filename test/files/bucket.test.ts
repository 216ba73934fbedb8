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
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeBucketStorage } from "../../adapters/storage-s3/storage.ts"
import type { BucketOptions } from "../../adapters/storage-s3/storage.ts"
import type { StorageError, StorageService } from "../../core/ports/storage.ts"
import { storageContract } from "../contracts/storage.ts"
import { bucketServerNeeded, hasBucketServer, startBucketServer } from "../support/bucket.ts"
import type { BucketServer } from "../support/bucket.ts"
import { gather, pieces } from "../support/bytes.ts"

if (process.env["CI"] !== undefined && !hasBucketServer) throw new Error(bucketServerNeeded)

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
  }, 180_000)
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
  }, 120_000)

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
  }, 60_000)
})
