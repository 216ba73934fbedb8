/** Files through the client, against a running service: sending one, writing it into a record, its addresses, and what is refused. */

import * as Context from "effect/Context"
import { createClient, fileUrl, ProblemError } from "resource-admin/client"
import type { UploadProgress } from "resource-admin/client"
import { expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
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
    const cleared = await papers.update(paper.id, { scan: null }, { etag: paper.etag })
    expect(fileUrl(cleared.scan)).toBeNull()
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
}, ["fake"])
