// Addresses of files: public ones with whatever stands behind them, HEAD where a bucket serves the bytes, and what an export writes of a file.
import { expect, it } from "vitest"
import { fakeImage } from "../fakes/images.ts"
import { ann, create, onStage, pdf, ticketFor } from "../http/files/stage.ts"

onStage("addresses of files", (stage) => {
  it("of public files open with any query", async () => {
    const { service } = stage()
    const ticket = await ticketFor(stage(), ann, "products.logo", fakeImage("png", { width: 9, height: 9 }))
    const product = await create(stage(), ann, "products", { name: "A", logo: ticket })
    const url = product["logo"]!["url"] as unknown as string
    for (const query of ["", "?v=1", "?utm_source=mail&utm_source=again", "?r=products&sig=x", "?"]) {
      const answer = await service.call(null, "GET", url + query)
      expect([query, answer.status]).toEqual([query, 200])
    }
  })

  it("stand in an export only where they are asked for", async () => {
    const { service } = stage()
    const ticket = await ticketFor(stage(), ann, "papers.invoice", pdf(), { name: "=a, \"b\".pdf" })
    const paper = await create(stage(), ann, "papers", { title: "exported", owner_id: "ann", invoice: ticket })
    await create(stage(), ann, "papers", { title: "exported", owner_id: "ann" })
    const { uri, url } = paper["invoice"] as unknown as { readonly uri: string; readonly url: string }
    const path = "/api/v1/papers:export?fields=title,invoice&filter=title=exported&order_by=id"
    const plain = await service.get(ann, path)
    expect(plain.text.replace("\uFEFF", "").split("\r\n")).toEqual([
      "title,invoice,invoice.name",
      `exported,${uri},"'=a, ""b"".pdf"`,
      "exported,,",
      ""
    ])
    expect(plain.text).not.toContain("sig=")
    const linked = await service.get(ann, `${path}&file_links=true`)
    const [head, row] = linked.text.replace("\uFEFF", "").split("\r\n")
    expect(head).toBe("title,invoice,invoice.name,invoice.url")
    expect(row!.slice(row!.lastIndexOf(",") + 1)).toMatch(/^https?:\/\/[^/]+\/api\/files\/private\//)
    expect(row!.endsWith(url)).toBe(true)
    expect((await service.get(ann, `${path}&format=ndjson&file_links=true`)).status).toBe(400)
  })
})

onStage(
  "addresses of files in a bucket",
  (stage) => {
    it("answer HEAD themselves, as a link to the bucket is for GET only", async () => {
      const { service, storages } = stage()
      const ticket = await ticketFor(stage(), ann, "papers.invoice", pdf(), { name: "a.pdf" })
      const paper = await create(stage(), ann, "papers", { title: "A", owner_id: "ann", invoice: ticket })
      const { size, uri, url } = paper["invoice"] as unknown as {
        readonly uri: string
        readonly url: string
        readonly size: number
      }
      expect((await service.call(null, "GET", url)).status).toBe(302)
      const head = await service.call(null, "HEAD", url)
      expect([head.status, head.headers.get("content-length"), head.headers.get("content-type")])
        .toEqual([200, String(size), "application/pdf"])
      storages.private.files.delete(uri.slice("private:".length, uri.indexOf("?")))
      expect((await service.call(null, "HEAD", url)).status).toBe(404)
    })
  },
  ["fake"],
  true
)
