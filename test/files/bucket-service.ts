/**
 * The whole service on a bucket of a real S3 server that goes away and comes back: uploads, downloads, writes and cleanups meanwhile. bucket.test.ts runs it
 * on its server, which takes long to start.
 */

import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, ListObjectsV2Command } from "@aws-sdk/client-s3"
import type { S3Client } from "@aws-sdk/client-s3"
import * as Context from "effect/Context"
import { connect, createServer } from "node:net"
import type { AddressInfo, Server, Socket } from "node:net"
import { createClient } from "resource-admin/client"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { s3Files } from "../../core/domain/file/provider.ts"
import type { SignedPut } from "../../core/ports/storage.ts"
import { begun, offsetOf, piece } from "../http/files/pieces.ts"
import { makeBucket, sendSigned } from "../support/bucket.ts"
import type { BucketServer } from "../support/bucket.ts"
import { startService, tokenOf } from "../support/composed.ts"
import type { Answer, Answered, TestService } from "../support/composed.ts"

const admin = { id: "root", roles: ["admin"] }
const hour = 3_600_000

/** A way to the server that can be closed: whoever is connected is cut off, and nobody gets through. */
const openGate = async (target: number) => {
  const sockets = new Set<Socket>()
  let open = true
  /** Bytes from clients after which everybody is cut off. */
  let budget = Number.POSITIVE_INFINITY
  const server: Server = createServer((socket) => {
    if (!open) return void socket.resetAndDestroy()
    const beyond = connect(target, "127.0.0.1")
    for (const each of [socket, beyond]) {
      sockets.add(each)
      each.on("error", () => {}).once("close", () => {
        sockets.delete(each)
        socket.destroy()
        beyond.destroy()
      })
    }
    socket.on("data", (chunk) => {
      budget -= chunk.length
      if (budget < 0) close()
    })
    socket.pipe(beyond)
    beyond.pipe(socket)
  })
  const close = (): void => {
    open = false
    for (const socket of sockets) socket.resetAndDestroy()
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close,
    closeAfter: (bytes: number) => void (budget = bytes),
    open: () => {
      open = true
      budget = Number.POSITIVE_INFINITY
    },
    stop: () => {
      close()
      server.close()
    }
  }
}

/** Its tests, in a bucket of their own. */
export const serviceOnBucket = (server: () => BucketServer): void =>
  void describe("a bucket that goes away", () => {
    let gate: Awaited<ReturnType<typeof openGate>>
    let service: TestService
    let client: S3Client
    const clock = { now: Date.now() }

    beforeAll(async () => {
      const { accessKeyId, endpoint, secretAccessKey } = server()
      client = await makeBucket(server(), "service")
      gate = await openGate(Number(new URL(endpoint).port))
      const config = defineConfig({
        resources: [defineResource("docs", {
          primaryKey: "id",
          fields: { id: f.integer().bits(64).readOnly().dbDefault(), file: f.file().optional().maxSize("50 MB") }
        })],
        files: {
          providers: {
            private: s3Files({ bucket: "service", prefix: "shop", endpoint: gate.url, accessKeyId, secretAccessKey })
          }
        }
      })
      service = await startService("fake", { config, schema: "", rows: {} }, { files: { now: () => clock.now } })
    })
    afterAll(async () => {
      await service?.close()
      gate?.stop()
    })

    const keys = async (): Promise<readonly string[]> =>
      ((await client.send(new ListObjectsV2Command({ Bucket: "service" }))).Contents ?? []).map(({ Key }) => Key!)
        .sort()
    const unfinished = async (): Promise<number> =>
      (await client.send(new ListMultipartUploadsCommand({ Bucket: "service" }))).Uploads?.length ?? 0
    const upload = (body: string | Uint8Array<ArrayBuffer>): Promise<Answer> =>
      service.call(admin, "POST", "/api/v1/docs:upload?field=file&name=a.txt", {
        raw: body,
        headers: { "content-type": "text/plain" }
      })
    const create = async (text: string): Promise<Answered> => {
      const { json } = await upload(text)
      const answer = await service.call(admin, "POST", "/api/v1/docs", { body: { file: json["value"] } })
      expect(answer.status, answer.text).toBe(201)
      return answer.json
    }
    const urlOf = (record: Answered): string => record["file"]!["url"] as unknown as string
    const pathOf = (record: Answered): string => `/api/v1/docs/${record["id"] as unknown as string}`
    const write = (path: string, file: unknown): Promise<Answer> =>
      service.call(admin, "PATCH", path, { body: { file }, headers: { "if-match": "*" } })
    const isAway = (answer: Answer): void => {
      expect([answer.status, answer.json["type"], answer.headers.get("retry-after")], answer.text).toEqual([
        503,
        "urn:service:problem:unavailable",
        "5"
      ])
      // Nothing of the storage is told. The path may have a sealed text, in which any letters stand.
      expect(answer.text.replace(/"instance":"[^"]*"/, "")).not.toMatch(/127\.0\.0\.1|shop\/|bucket|ECONN|S3/i)
    }

    it("answers downloads with a link there, with the same type and name, for as long as the own link", async () => {
      const record = await create("some text")
      const answer = await service.call(null, "GET", urlOf(record))
      expect(answer.status).toBe(302)
      const location = new URL(answer.headers.get("location")!)
      const exp = Number(new URL(urlOf(record), "http://x").searchParams.get("exp"))
      expect(Math.abs(Number(location.searchParams.get("X-Amz-Expires")) - (exp - clock.now / 1_000))).toBeLessThan(5)
      const there = await fetch(location)
      expect([there.status, there.headers.get("content-type"), there.headers.get("content-disposition")]).toEqual([
        200,
        "text/plain",
        "attachment; filename=\"a.txt\""
      ])
      expect(await there.text()).toBe("some text")
      const range = await fetch(location, { headers: { range: "bytes=5-8" } })
      expect([range.status, await range.text()]).toEqual([206, "text"])
      await write(pathOf(record), null)
      expect((await service.call(null, "GET", urlOf(record))).status).toBe(404)
    })

    it("refuses uploads while it is away, keeps nothing of one that it leaves in the middle, and goes on", async () => {
      const before = await keys()
      gate.close()
      isAway(await upload("text"))
      gate.open()
      expect(await keys()).toEqual(before)
      // In the middle of a body of several parts.
      gate.closeAfter(8_000_000)
      isAway(await upload(new Uint8Array(25_000_000).fill(65)))
      gate.open()
      expect((await keys()).filter((key) => !key.includes(".cleanup/"))).toEqual(
        before.filter((key) => !key.includes(".cleanup/"))
      )
      expect((await upload("text")).status).toBe(201)
      // What could not be taken back is known to a later cleanup; parts are the lifecycle rule's of the bucket.
      clock.now += 26 * hour
      expect((await service.call(admin, "POST", "/api/files:cleanup")).status).toBe(200)
      expect((await keys()).filter((key) => !before.includes(key))).toEqual([])
      expect(await unfinished()).toBeLessThanOrEqual(1)
    })

    it("refuses writes that take or let go a file, changes nothing, and takes all others", async () => {
      const record = await create("to be kept")
      const { json: ticket } = await upload("another")
      gate.close()
      isAway(await write(pathOf(record), null))
      isAway(await write(pathOf(record), ticket["value"]))
      isAway(await service.call(admin, "DELETE", pathOf(record), { headers: { "if-match": "*" } }))
      isAway(await service.call(admin, "POST", "/api/v1/docs", { body: { file: ticket["value"] } }))
      expect((await service.call(admin, "POST", "/api/v1/docs", { body: {} })).status).toBe(201)
      expect((await write(pathOf(record), record["file"]!["uri"])).status).toBe(200)
      // Links need no bucket: they are made here.
      const seen = await service.get(admin, pathOf(record))
      expect(seen.json["file"]).toMatchObject({ uri: record["file"]!["uri"] })
      expect((await service.call(null, "GET", urlOf(seen.json))).status).toBe(302)
      gate.open()
      // It has failed often enough to be left alone for a while.
      isAway(await write(pathOf(record), ticket["value"]))
      clock.now += 5_001
      expect((await write(pathOf(record), ticket["value"])).status).toBe(200)
      expect((await service.call(admin, "DELETE", pathOf(record), { headers: { "if-match": "*" } })).status).toBe(204)
    })

    it("takes a file in pieces while it comes and goes, and has the parts of none that nobody ends", async () => {
      // It may count as away since the last test.
      clock.now += 5_001
      const served = { service }
      const size = 17_000_003
      const body = Buffer.alloc(size)
      for (let at = 0; at < size; at += 4_099) body[at] = at % 251
      const location = await begun(served, admin, "docs.file", size)
      let breaks = 0
      for (let at = 0; at < size;) {
        // The gate closes within a part, and the service has to say what was stored of the piece.
        if (breaks < 3) gate.closeAfter([100_000, 3_000_000, 8_000_000][breaks]!)
        const answer = await piece(served, admin, location, at, new Uint8Array(body.subarray(at, at + 12_000_000)))
        gate.open()
        clock.now += 5_001
        if (answer.status !== 204) {
          isAway(answer)
          breaks++
        }
        at = await offsetOf(served, admin, location)
      }
      expect(breaks).toBe(3)
      const ticket = await service.get(admin, location)
      expect([ticket.status, ticket.json["file"]]).toEqual([200, {
        name: "file",
        type: "application/octet-stream",
        size
      }])
      const created = await service.call(admin, "POST", "/api/v1/docs", { body: { file: ticket.json["value"] } })
      const found = await fetch((await service.call(null, "GET", urlOf(created.json))).headers.get("location")!)
      expect(Buffer.from(await found.arrayBuffer()).equals(body)).toBe(true)
      expect((await keys()).filter((key) => key.includes(".tmp/") && !key.includes(".tmp/~"))).toEqual([])

      const before = await unfinished()
      const abandoned = await begun(served, admin, "docs.file", size)
      await piece(served, admin, abandoned, 0, new Uint8Array(body.subarray(0, 6_000_000)))
      expect(await unfinished()).toBe(before + 1)
      clock.now += 24.9 * hour
      expect((await service.call(admin, "POST", "/api/files:cleanup")).status).toBe(200)
      expect(await unfinished()).toBe(before + 1)
      clock.now += 1.1 * hour
      expect((await service.call(admin, "POST", "/api/files:cleanup")).status).toBe(200)
      expect(await unfinished()).toBe(before)
      expect((await keys()).filter((key) => key.includes(".tmp/"))).toEqual([])
      // A process may have died before it could write down what it had begun.
      await client.send(new CreateMultipartUploadCommand({ Bucket: "service", Key: "shop/_/nobody.bin" }))
      await client.send(new CreateMultipartUploadCommand({ Bucket: "service", Key: "shop2/_/other.bin" }))
      clock.now += 8 * 24 * hour
      expect((await service.call(admin, "POST", "/api/files:cleanup")).status).toBe(200)
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: "service" }))
      expect(Uploads.map(({ Key }) => Key)).toEqual(["shop2/_/other.bin"])
    }, 120_000)

    it("takes files straight from the client, and what is written after that is nobody's", async () => {
      const call = makeFetch(service.edge, Context.empty())
      const sent: string[] = []
      const open = createClient({
        baseUrl: "http://service.test",
        token: tokenOf(admin),
        fetch: async (url, init) => {
          const answer = await call(new Request(url, init))
          if (url.includes("direct=1")) sent.push(await answer.clone().text())
          return answer
        }
      })
      const text = "straight to the bucket"
      const before = await keys()
      const { file, value } = await open.upload("docs", "file", new File([text], "a.html"), { direct: true })
      expect(file).toEqual({ name: "a.html", type: "text/plain", size: text.length })
      const created = await service.call(admin, "POST", "/api/v1/docs", { body: { file: value } })
      const signed = JSON.parse(sent[0]!) as SignedPut
      expect(await sendSigned(signed, Buffer.from("another of the same size".slice(0, text.length)))).toBe(200)
      const found = await fetch((await service.call(null, "GET", urlOf(created.json))).headers.get("location")!)
      expect(await found.text()).toBe(text)
      const written = (await keys()).filter((key) => !before.includes(key) && !key.includes("/."))
      expect(written).toHaveLength(1)
      expect(written[0]).not.toContain(/\.([^.?]+)\?/.exec(signed.url)![1])
      clock.now += 25.1 * hour
      expect((await service.call(admin, "POST", "/api/files:cleanup")).status).toBe(200)
      expect((await keys()).filter((key) => key.includes(".tmp/"))).toEqual([])
      expect(await keys()).toContain(written[0])
    })

    it("loses nothing to a cleanup that cannot reach it, and the next one does the rest", async () => {
      const kept = await create("held")
      const gone = await create("let go")
      await write(pathOf(gone), null)
      clock.now += 26 * hour
      const before = await keys()
      gate.close()
      const away = await service.call(admin, "POST", "/api/files:cleanup")
      expect([away.status, away.json]).toEqual([200, { deleted: 0, kept: 0 }])
      gate.open()
      expect(await keys()).toEqual(before)
      expect((await service.call(admin, "POST", "/api/files:cleanup")).json["deleted"]).toBeGreaterThanOrEqual(1)
      const left = await keys()
      const nameOf = (record: Answered): string => /_\/[^?]+/.exec(record["file"]!["uri"] as unknown as string)![0]
      expect(left).toContain(`shop/${nameOf(kept)}`)
      expect(left).not.toContain(`shop/${nameOf(gone)}`)
    })
  })
