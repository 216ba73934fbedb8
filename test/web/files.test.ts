/** Files through the client, against a running service: sending one, writing it into a record, its addresses, and what is refused. */

import * as Context from "effect/Context"
import { createClient, fileUrl, ProblemError } from "resource-admin/client"
import type { UploadProgress } from "resource-admin/client"
import { expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { presenter } from "../../web/client/file.ts"
import { admin, onStage } from "../http/files/stage.ts"
import type { config } from "../http/files/stage.ts"
import { tokenOf } from "../support/composed.ts"

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
      expand: { parent: { scan: at("t/b.pdf") }, lines: [{ scan: at("t/c.pdf") }] }
    })).toEqual({
      pages: [moved("t/a.pdf"), foreign, null, "text", [at("t/n.pdf")]],
      photo: {
        ...moved("_/a.png"),
        variants: { card: { ...variants.card, url: `https://shop.example${variants.card.url}` } },
        placeholder: null
      },
      gone: { uri: "old:_/a", missing: true },
      json,
      expand: { parent: { scan: moved("t/b.pdf") }, lines: [{ scan: moved("t/c.pdf") }] }
    })
    expect(() => present("<html>")).toThrow("The answer is not the service's.")
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
}, ["fake"])
