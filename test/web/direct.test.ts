/** Files that the client sends straight to a bucket: what goes where, what is tried again, and what goes another way. */

import * as Context from "effect/Context"
import { createClient } from "resource-admin/client"
import type { UploadProgress } from "resource-admin/client"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { admin, onStage } from "../http/files/stage.ts"
import type { config } from "../http/files/stage.ts"
import { tokenOf } from "../support/composed.ts"

type Through = (request: Request, n: number) => Response | undefined

onStage(
  "files to a bucket",
  (stage) => {
    /** Requests in order, by their place and method. */
    let sent: string[]
    /** What the bucket does with its next requests, in place of taking them. */
    let bucket: Array<() => Response>

    beforeEach(() => {
      sent = []
      bucket = []
      vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
        sent.push(`bucket ${init.method}`)
        const { origin, pathname } = new URL(url)
        expect([origin, init.headers]).toEqual([
          "https://bucket.example",
          { "content-type": "application/octet-stream" }
        ])
        const next = bucket.shift()
        if (next !== undefined) return next()
        const bytes = new Uint8Array(await (init.body as Blob).arrayBuffer())
        const { archive, private: other } = stage().storages
        const storage = archive.files.has(pathname.slice(1)) ? archive : other
        storage.files.set(pathname.slice(1), { bytes, modified: stage().clock.now })
        return new Response(null, { status: 200 })
      })
    })
    afterEach(() => vi.unstubAllGlobals())

    const opened = (through: Through = () => undefined) => {
      const call = makeFetch(stage().service.edge, Context.empty())
      return createClient<typeof config>({
        baseUrl: "http://service.test",
        token: tokenOf(admin),
        retries: 0,
        fetch: async (url, init) => {
          const request = new Request(url, { ...init, duplex: "half" } as RequestInit)
          sent.push(request.method)
          return through(request, sent.length) ?? call(request)
        }
      })
    }
    const file = new File(["straight"], "März.txt", { type: "text/plain" })
    const done = { name: "März.txt", type: "text/plain", size: 8 }

    it("go there, and are confirmed", async () => {
      const seen: UploadProgress[] = []
      const onProgress = (progress: UploadProgress) => void seen.push(progress)
      const client = opened()
      const { file: told, value } = await client.upload("papers", "scan", file, { direct: true, onProgress })
      expect([told, sent]).toEqual([done, ["POST", "bucket PUT", "POST"]])
      expect(seen).toEqual([{ loaded: 0, total: 8 }, { loaded: 8, total: 8 }])
      const paper = await client.resource("papers").create({ title: "direct", owner_id: "ann", scan: value })
      expect(paper.scan).toMatchObject({ name: "März.txt", size: 8 })
    })

    it("go again where the bucket is away for a moment, and the service where its answer is lost", async () => {
      bucket.push(() => {
        throw new TypeError("cut")
      }, () => new Response(null, { status: 503 }))
      const client = opened((_, n) => {
        if (n === 5) throw new TypeError("lost")
        return undefined
      })
      expect((await client.upload("papers", "scan", file, { direct: true })).file).toEqual(done)
      expect(sent).toEqual(["POST", "bucket PUT", "bucket PUT", "bucket PUT", "POST", "POST"])
    })

    describe("end, and the service is told", () => {
      it("where the bucket refuses them", async () => {
        bucket.push(() => new Response(null, { status: 403 }))
        await expect(opened().upload("papers", "scan", file, { direct: true })).rejects.toThrow("with status 403")
        expect(sent).toEqual(["POST", "bucket PUT", "DELETE"])
      })

      it("where the bucket cannot be reached, as without a rule for CORS", async () => {
        // The service is made up, so that no wait takes any time.
        vi.stubGlobal("setTimeout", (run: () => void) => queueMicrotask(run))
        for (let i = 0; i < 9; i++) {
          bucket.push(() => {
            throw new TypeError("Failed to fetch")
          })
        }
        const signed = {
          method: "PUT",
          url: "https://bucket.example/x",
          headers: { "content-type": "application/octet-stream", "content-length": "8" }
        }
        const client = opened(({ method }) =>
          method === "POST"
            ? Response.json(signed, { status: 201, headers: { location: "/x/1" } })
            : new Response(null, { status: 204 })
        )
        await expect(client.upload("papers", "scan", file, { direct: true })).rejects.toThrow("cannot be reached")
        expect(sent).toEqual(["POST", ...Array.from({ length: 6 }, () => "bucket PUT"), "DELETE"])
      })

      it("where their type is refused", async () => {
        await expect(opened().upload("papers", "invoice", file, { direct: true })).rejects.toMatchObject({
          status: 415
        })
        expect(sent).toEqual(["POST", "bucket PUT", "POST", "DELETE"])
      })

      it("where the caller says so", async () => {
        const ending = new AbortController()
        bucket.push(() => {
          ending.abort(new Error("enough"))
          throw new TypeError("aborted")
        })
        await expect(opened().upload("papers", "scan", file, { direct: true, signal: ending.signal })).rejects.toThrow(
          "enough"
        )
        expect(sent).toEqual(["POST", "bucket PUT", "DELETE"])
      })
    })

    it("are refused as whole files are, before anything is sent", async () => {
      const long = new File([new Uint8Array(100_001)], "a.pdf")
      await expect(opened().upload("papers", "invoice", long, { direct: true })).rejects.toMatchObject({ status: 413 })
      expect(sent).toEqual(["POST"])
    })

    it("go as without it where they are a stream", async () => {
      const stream = new Blob(["straight"]).stream()
      await opened().upload("papers", "scan", stream, { direct: true, name: "a.txt" })
      expect(sent).toEqual(["POST"])
    })
  },
  ["fake"],
  true
)

onStage("files to a folder", (stage) => {
  it("go through the service, whole or in pieces", async () => {
    const call = makeFetch(stage().service.edge, Context.empty())
    const sent: string[] = []
    const client = createClient<typeof config>({
      baseUrl: "http://service.test",
      token: tokenOf(admin),
      fetch: (url, init) => {
        sent.push(init.method!)
        return call(new Request(url, init))
      }
    })
    expect((await client.upload("papers", "scan", "text", { direct: true, name: "a.txt" })).file.size).toBe(4)
    const options = { direct: true, resumable: true, name: "a.txt" }
    expect((await client.upload("papers", "scan", "text", options)).file.size).toBe(4)
    expect(sent).toEqual(["POST", "POST", "POST", "POST", "PATCH", "GET"])
  })
}, ["fake"])
