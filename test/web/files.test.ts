/** Files through the client, against a running service: sending one, writing it into a record, its addresses, and what is refused. */

import * as Context from "effect/Context"
import { createClient, fileUrl, ProblemError } from "resource-admin/client"
import type { UploadProgress } from "resource-admin/client"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { presenter } from "../../web/client/file.ts"
import { tus } from "../http/files/pieces.ts"
import { admin, onStage } from "../http/files/stage.ts"
import type { config } from "../http/files/stage.ts"
import { tokenOf } from "../support/composed.ts"

it("a record that leads to none is read through an absolute address, too", async () => {
  const record = {
    id: "1",
    etag: "\"a\"",
    expand: { owner: null, parts: [{ id: "2", scans: [{ uri: "private:_/a.pdf", url: "/api/files/x" }] }] }
  }
  const client = createClient({
    baseUrl: "http://service.test",
    token: "t",
    fetch: () => Promise.resolve(Response.json(record, { headers: { etag: "\"a\"" } }))
  })
  expect((await client.resource("things").get("1"))["expand"]).toEqual({
    owner: null,
    parts: [{ id: "2", scans: [{ uri: "private:_/a.pdf", url: "http://service.test/api/files/x" }] }]
  })
})

onStage("files through the client", (stage) => {
  const open = () => {
    const call = makeFetch(stage().service.edge, Context.empty())
    return createClient<typeof config>({
      baseUrl: "http://service.test",
      token: tokenOf(admin),
      fetch: (url, init) => call(new Request(url, init))
    })
  }

  it("go first, then into a create or update, and come back with absolute addresses", async () => {
    const client = open()
    const seen: UploadProgress[] = []
    const file = new File(["hello"], "note.txt", { type: "text/plain" })
    const sent = await client.upload("papers", "scan", file, { onProgress: (progress) => seen.push(progress) })
    expect(sent.file).toMatchObject({ name: "note.txt", type: "text/plain", size: 5 })
    expect(seen[0]).toEqual({ loaded: 0, total: 5 })
    expect(seen.at(-1)).toEqual({ loaded: 5, total: 5 })
    const papers = client.resource("papers")
    const paper = await papers.create({ title: "One", owner_id: "ann", scan: sent.value })
    expect(paper.scan?.name).toBe("note.txt")
    const url = fileUrl(paper.scan, "card")!
    expect(url).toMatch(/^http:\/\/service\.test\/api\/files\//)
    const answer = await makeFetch(stage().service.edge, Context.empty())(new Request(url))
    expect(await answer.text()).toBe("hello")
    const saved = await makeFetch(stage().service.edge, Context.empty())(
      new Request(fileUrl(paper.scan, "card", { download: true })!)
    )
    expect([saved.status, saved.headers.get("content-disposition")]).toEqual([200, "attachment; filename=\"note.txt\""])
    const cleared = await papers.update(paper.id, { scan: null }, { etag: paper.etag })
    expect(fileUrl(cleared.scan)).toBeNull()
  })

  it("are saved by an address of its own, unless they are elsewhere", async () => {
    const download = { download: true }
    expect(fileUrl({ uri: "public:_/a.png", url: "/api/files/public/_/a.png" }, null, download)).toBe(
      "/api/files/public/_/a.png?download=1"
    )
    expect(fileUrl({ uri: "https://x.example/a.png", url: "https://x.example/a.png" }, "card", download)).toBe(
      "https://x.example/a.png"
    )
    expect(fileUrl({ uri: "gone:_/a.png", missing: true }, null, download)).toBeNull()
    expect(fileUrl(null, null, download)).toBeNull()
  })

  it("have absolute addresses in lists and in records that came with others, and nothing else changes", () => {
    const present = presenter("https://shop.example/api")
    const at = (path: string) => ({ uri: `private:${path}`, url: `/api/files/private/${path}?r=a&sig=s` })
    const moved = (path: string) => ({ ...at(path), url: `https://shop.example${at(path).url}` })
    const foreign = { uri: "https://x.example/a.png", url: "https://x.example/a.png" }
    const json = { url: "/api/files/private/x", uri: 3 }
    const variants = { card: { url: "/api/files/public/_/a.png.card.webp", type: "image/webp", width: 1, height: 1 } }
    expect(present({
      pages: [at("t/a.pdf"), foreign, null, "text", [at("t/n.pdf")]],
      photo: { ...at("_/a.png"), variants, placeholder: null },
      gone: { uri: "old:_/a", missing: true },
      json,
      expand: {
        parent: { scan: at("t/b.pdf") },
        lines: [{ scan: at("t/c.pdf") }],
        page: { items: [{ scan: at("t/d.pdf") }], more: true },
        number: { count: 3 }
      }
    })).toEqual({
      pages: [moved("t/a.pdf"), foreign, null, "text", [at("t/n.pdf")]],
      photo: {
        ...moved("_/a.png"),
        variants: { card: { ...variants.card, url: `https://shop.example${variants.card.url}` } },
        placeholder: null
      },
      gone: { uri: "old:_/a", missing: true },
      json,
      expand: {
        parent: { scan: moved("t/b.pdf") },
        lines: [{ scan: moved("t/c.pdf") }],
        page: { items: [{ scan: moved("t/d.pdf") }], more: true },
        number: { count: 3 }
      }
    })
    expect(() => present("<html>")).toThrow("The answer is not the service's.")
  })

  it("are written and read as lists, each with an absolute address", async () => {
    const client = open()
    const galleries = client.resource("galleries")
    const tickets: string[] = []
    for (const name of ["a.txt", "b.txt"]) {
      tickets.push((await client.upload("galleries", "notes", "hello", { name })).value)
    }
    const made = await galleries.create({ title: "One", owner_id: "ann", notes: tickets })
    const [a, b] = made.notes!
    expect(made.photos).toEqual([])
    for (const file of [a, b]) expect(fileUrl(file)).toMatch(/^http:\/\/service\.test\/api\/files\//)
    const turned = await galleries.update(made.id, { notes: [b!.uri, a!.uri] }, { etag: made.etag })
    expect(turned.notes?.map(({ name }) => name)).toEqual(["b.txt", "a.txt"])
    const address = "https://files.example.com/c.pdf"
    const mixed = await galleries.update(made.id, { notes: [address, a!.uri] }, { etag: turned.etag })
    expect(mixed.notes?.map(({ url }) => url)).toEqual([address, fileUrl(a)])
    const { items } = await galleries.list({ filter: (g) => g.title.eq("One") })
    expect(items[0]?.notes?.every((file) => fileUrl(file)!.startsWith("http"))).toBe(true)
  })

  it("are refused by type, and end when the caller says so", async () => {
    const client = open()
    const refused = await client.upload("papers", "invoice", "no pdf", { name: "a.pdf" }).catch((error: unknown) =>
      error
    )
    expect(refused).toBeInstanceOf(ProblemError)
    expect(refused).toMatchObject({ status: 415, slug: "unsupported-media-type" })
    const ending = new AbortController()
    ending.abort(new Error("enough"))
    await expect(client.upload("papers", "scan", "x", { name: "a.txt", signal: ending.signal })).rejects.toThrow(
      "enough"
    )
  })

  describe("in pieces", () => {
    const size = 20 * 2 ** 20 - 7
    const file = new File([new Uint8Array(size).fill(97)], "März.txt", { type: "text/plain" })
    const scan = (name: string) => stage().service.get(admin, `/api/v1/papers?filter=title="${name}"`)

    /** A client whose requests pass `through` first, and all that it sent. */
    const opened = (through: (request: Request, n: number) => Promise<Request | Response> | Request | Response) => {
      const call = makeFetch(stage().service.edge, Context.empty())
      const sent: string[] = []
      const client = createClient<typeof config>({
        baseUrl: "http://service.test",
        token: tokenOf(admin),
        retries: 0,
        fetch: async (url, init) => {
          const request = new Request(url, init)
          sent.push(`${request.method} ${request.headers.get("upload-offset") ?? ""}`.trim())
          const next = await through(request, sent.length)
          if (next instanceof Response) return next
          return call(next)
        }
      })
      return { client, sent }
    }
    /** A request whose line is cut after so many bytes: the service gets them, and the client gets nothing. */
    const cut = async (request: Request, bytes: number): Promise<never> => {
      const body = new Uint8Array(await request.arrayBuffer()).subarray(0, bytes)
      let given = false
      const stream = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          if (given) return controller.error(new Error("cut"))
          given = true
          controller.enqueue(body)
        }
      }, { highWaterMark: 0 })
      const { headers, method, url } = request
      await makeFetch(stage().service.edge, Context.empty())(
        new Request(url, { method, headers, body: stream, duplex: "half" } as RequestInit)
      )
      throw new TypeError("cut")
    }

    it("go on where the service says, over cut lines, a service that is away and a lost answer", async () => {
      const mebibyte = 2 ** 20
      const seen: UploadProgress[] = []
      const { client, sent } = opened(async (request, n) => {
        if (n === 2) return cut(request, 3 * mebibyte)
        if (n === 4) throw new TypeError("offline")
        if (n === 6) return Response.json({ type: "urn:service:problem:unavailable" }, { status: 503 })
        // The last piece arrives, and its answer is lost.
        if (n === 10) {
          await makeFetch(stage().service.edge, Context.empty())(request)
          throw new TypeError("lost")
        }
        return request
      })
      const uploaded = await client.upload("papers", "scan", file, { onProgress: (progress) => seen.push(progress) })
      expect(uploaded.file).toEqual({ name: "März.txt", type: "text/plain", size })
      expect(sent).toEqual([
        "POST",
        "PATCH 0",
        "HEAD",
        `PATCH ${3 * mebibyte}`,
        "HEAD",
        `PATCH ${3 * mebibyte}`,
        "HEAD",
        `PATCH ${3 * mebibyte}`,
        `PATCH ${11 * mebibyte}`,
        `PATCH ${19 * mebibyte}`,
        "HEAD",
        "GET"
      ])
      expect(seen.map(({ loaded }) => loaded)).toEqual([0, 3 * mebibyte, 11 * mebibyte, 19 * mebibyte, size])
      const paper = await client.resource("papers").create({ title: "pieces", owner_id: "ann", scan: uploaded.value })
      const answer = await makeFetch(stage().service.edge, Context.empty())(new Request(fileUrl(paper.scan)!))
      const bytes = new Uint8Array(await answer.arrayBuffer())
      expect([bytes.length, bytes.every((byte) => byte === 97)]).toEqual([size, true])
      expect((await scan("pieces")).status).toBe(200)
    })

    it("begin once where the answer of their beginning is lost", async () => {
      const keys: Array<string | null> = []
      const call = makeFetch(stage().service.edge, Context.empty())
      const unfinished = () =>
        [...stage().storages.archive.files.keys()].filter((path) => /^\.tmp\/[^~]/.test(path)).length
      const before = unfinished()
      let most = 0
      const client = createClient<typeof config>({
        baseUrl: "http://service.test",
        token: tokenOf(admin),
        fetch: async (url, init) => {
          const request = new Request(url, init)
          if (request.method === "POST") keys.push(request.headers.get("idempotency-key"))
          const answer = await call(request)
          most = Math.max(most, unfinished())
          if (keys.length < 3 && request.method === "POST") throw new TypeError("lost")
          return answer
        }
      })
      expect((await client.upload("papers", "scan", "text", { resumable: true, name: "a.txt" })).file.size).toBe(4)
      expect([new Set(keys).size, keys.length, keys[0]]).toEqual([1, 3, expect.any(String)])
      expect(most).toBe(before + 1)
    })

    it("end when the caller says so, and the service keeps nothing of them", async () => {
      const ending = new AbortController()
      const deleted = Promise.withResolvers<string>()
      const { client } = opened((request) => {
        if (request.method === "DELETE") deleted.resolve(request.url)
        return request
      })
      const upload = client.upload("papers", "scan", file, {
        signal: ending.signal,
        onProgress: ({ loaded }) => {
          if (loaded > 0) ending.abort(new Error("enough"))
        }
      })
      await expect(upload).rejects.toThrow("enough")
      const { pathname } = new URL(await deleted.promise)
      await vi.waitFor(async () =>
        expect((await stage().service.call(admin, "HEAD", pathname, { headers: tus })).status).toBe(404)
      )
    })

    describe("give up", () => {
      let waits: number[]
      beforeEach(() => {
        waits = []
        // No wait takes any time.
        vi.stubGlobal("setTimeout", (run: () => void, wait: number) => {
          waits.push(wait)
          queueMicrotask(run)
        })
      })
      afterEach(() => {
        vi.unstubAllGlobals()
      })
      /** Stands for an answer that asks for a day of patience. */
      const wanted = -2
      /** A client of a service whose pieces and offsets are made up. */
      const upload = (offset: (method: string, from: string | null) => number) => {
        let sent = 0
        const client = createClient<typeof config>({
          baseUrl: "http://service.test",
          token: "t",
          retries: 0,
          fetch: (_, { headers, method }) => {
            if (method === "POST") {
              return Promise.resolve(new Response(null, { status: 201, headers: { location: "/x/1" } }))
            }
            if (method === "DELETE") return Promise.resolve(new Response(null, { status: 204 }))
            if (++sent > 1_000) throw new Error("It goes on for ever.")
            const from = new Headers(headers).get("upload-offset")
            const [at, status] = [offset(method!, from), method === "HEAD" ? 200 : 204]
            if (at === wanted) {
              return Promise.resolve(new Response(null, { status: 503, headers: { "retry-after": "86400" } }))
            }
            if (at < 0) throw new TypeError("cut")
            return Promise.resolve(new Response(null, { status, headers: { "upload-offset": String(at) } }))
          }
        })
        return client.upload("papers", "scan", "text", { resumable: true }).then(
          () => expect.unreachable(),
          () => sent
        )
      }

      it("where pieces are taken and nothing of them stays", async () => {
        expect(await upload(() => 0)).toBeLessThan(100)
      })

      it("where the service forgets again what it took", async () => {
        expect(await upload((method, from) => method === "HEAD" ? 0 : from === "0" ? 2 : -1)).toBeLessThan(100)
      })

      it("where a proxy wants a day before each attempt, which no attempt waits for", async () => {
        expect(await upload((method) => method === "HEAD" ? 0 : wanted)).toBeLessThan(100)
        expect(waits.filter((wait) => wait === 60_000)).toHaveLength(20)
        expect(Math.max(...waits)).toBe(60_000)
      })
    })

    it("are refused as whole files are", async () => {
      const { client, sent } = opened((request) => request)
      const wrong = new File([new Uint8Array(90_000).fill(97)], "a.pdf", { type: "application/pdf" })
      const error = await client.upload("papers", "invoice", wrong, { resumable: true }).catch((cause: unknown) =>
        cause
      )
      expect(error).toMatchObject({ status: 415, slug: "unsupported-media-type" })
      const long = await client.upload("papers", "invoice", file).catch((cause: unknown) => cause)
      expect(long).toMatchObject({ status: 413 })
      expect(sent.filter((each) => each.startsWith("PATCH"))).toEqual(["PATCH 0"])
    })

    it("are files of more than 16 MiB, and those that are asked for", async () => {
      const { client, sent } = opened((request) => request)
      const small = new File(["text"], "a.txt")
      await client.upload("papers", "scan", small)
      await client.upload("papers", "scan", file, { resumable: false })
      await client.upload("papers", "scan", file, { idempotencyKey: true })
      expect(sent).toEqual(["POST", "POST", "POST"])
      expect((await client.upload("papers", "scan", small, { resumable: true })).file.size).toBe(4)
      expect((await client.upload("papers", "scan", "", { resumable: true, name: "empty.txt" })).file.size).toBe(0)
      expect(sent.slice(3)).toEqual(["POST", "PATCH 0", "GET", "POST", "GET"])
    })

    it.each<readonly [what: string, answer: () => Response]>([
      ["takes the empty body for the file", () => Response.json({ value: "x" }, { status: 201 })],
      [
        "refuses the empty body",
        () => Response.json({ type: "urn:service:problem:unsupported-media-type" }, { status: 415 })
      ],
      ["does not allow the headers", () => {
        throw new TypeError("CORS")
      }]
    ])("go as a whole to an older service that %s", async (_, answer) => {
      const { client, sent } = opened((request, n) => n === 1 ? answer() : request)
      expect((await client.upload("papers", "scan", file)).file.size).toBe(size)
      expect(sent).toEqual(["POST", "POST"])
    })
  })
}, ["fake"])
