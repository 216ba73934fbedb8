// Addresses of files: public ones with whatever stands behind them, HEAD where a bucket serves the bytes, and what an export writes of a file.
import { expect, it } from "vitest"
import { fakeImage } from "../fakes/images.ts"
import { admin, ann, create, onStage, pdf, ticketFor } from "../http/files/stage.ts"

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

  it("make any file an attachment where they ask for one, and nothing else", async () => {
    const { service } = stage()
    const picture = fakeImage("png", { width: 90, height: 60 })
    const image = await ticketFor(stage(), ann, "products.image", picture, { name: "a.png" })
    const product = await create(stage(), ann, "products", { name: "A", image })
    const invoice = await ticketFor(stage(), ann, "papers.invoice", pdf(), { name: "Rückgabe.pdf" })
    const paper = await create(stage(), ann, "papers", { title: "A", owner_id: "ann", invoice })
    const shown = product["image"] as unknown as {
      readonly url: string
      readonly variants: { readonly card: { readonly url: string } }
    }
    const own = (paper["invoice"] as unknown as { readonly url: string }).url
    const asked = async (url: string) => {
      const answer = await service.call(null, "GET", url)
      return [answer.status, (answer.headers.get("content-disposition") ?? "").replace(/[A-Za-z0-9_-]{22,}/g, "ID")]
    }
    expect(await asked(shown.url)).toEqual([200, "inline; filename=\"ID.png\""])
    expect(await asked(`${shown.url}?download=1`)).toEqual([200, "attachment; filename=\"ID.png\""])
    expect(await asked(`${shown.url}?v=2&download=1`)).toEqual([200, "attachment; filename=\"ID.png\""])
    expect(await asked(`${shown.url}?download=0`)).toEqual([200, "inline; filename=\"ID.png\""])
    expect(await asked(`${shown.variants.card.url}?download=1`)).toEqual([
      200,
      "attachment; filename=\"ID.png.card.webp\""
    ])
    const name = "filename=\"R_ckgabe.pdf\"; filename*=UTF-8''R%C3%BCckgabe.pdf"
    expect(await asked(own)).toEqual([200, `inline; ${name}`])
    expect(await asked(`${own}&download=1`)).toEqual([200, `attachment; ${name}`])
    const range = await service.call(null, "GET", `${own}&download=1`, { headers: { range: "bytes=0-3" } })
    expect([range.status, range.text, range.headers.get("content-disposition")]).toEqual([
      206,
      "%PDF",
      `attachment; ${name}`
    ])
    // Nothing else may stand beside a signature, and it stays the one of this file.
    for (const query of ["&download=0", "&download", "&download=1&download=1", "&download=1&v=2", "&v=2"]) {
      expect([query, (await service.call(null, "GET", own + query)).status]).toEqual([query, 403])
    }
    const other = `${own.replace(/sig=./, (text) => text.endsWith("A") ? "sig=B" : "sig=A")}&download=1`
    expect((await service.call(null, "GET", other)).status).toBe(403)
  })

  it("end after the lifetime that their field declares, and what is kept of them ends with them", async () => {
    const { clock, service } = stage()
    const ticket = await ticketFor(stage(), admin, "papers.confidential", pdf(), { name: "a.pdf" })
    const { id } = await create(stage(), admin, "papers", { title: "A", owner_id: "ann", confidential: ticket })
    const path = `/api/v1/papers/${id as unknown as string}`
    const read = async () => {
      const answer = await service.get(admin, path)
      const { url } = answer.json["confidential"] as unknown as { readonly url: string }
      return { answer, url, left: Number(new URL(url, "http://x").searchParams.get("exp")) * 1_000 - clock.now }
    }
    const first = await read()
    expect(first.left).toBeLessThanOrEqual(600_000)
    expect(first.left).toBeGreaterThanOrEqual(300_000)
    // A browser that kept this answer would show its links again after a 304.
    expect(first.answer.headers.get("cache-control")).toBe("no-store")
    const opened = await service.call(null, "GET", first.url)
    expect(opened.status).toBe(200)
    const age = Number(/^private, max-age=(\d+)$/.exec(opened.headers.get("cache-control")!)![1])
    expect(Math.abs(age - first.left / 1_000)).toBeLessThanOrEqual(1)
    expect((await read()).url).toBe(first.url)
    const etag = first.answer.headers.get("etag")!
    clock.now += first.left - 1_000
    expect((await service.call(null, "GET", first.url)).status).toBe(200)
    clock.now += 1_000
    expect((await service.call(null, "GET", first.url)).status).toBe(403)
    const second = await read()
    expect((await service.call(null, "GET", second.url)).status).toBe(200)
    // The record is the same one. Whoever asks by its ETag is told so.
    expect(second.answer.headers.get("etag")).toBe(etag)
    expect((await service.call(admin, "GET", path, { headers: { "if-none-match": etag } })).status).toBe(304)
    const plain = await service.get(admin, `${path}?fields=title`)
    expect(plain.headers.get("cache-control")).toBe("private, no-cache")
    const note = await ticketFor(stage(), admin, "galleries.notes", pdf(), { name: "a.pdf" })
    const gallery = await create(stage(), admin, "galleries", { title: "A", owner_id: "ann", notes: [note] })
    const list = `/api/v1/galleries/${gallery["id"] as unknown as string}`
    expect((await service.get(admin, `${list}?fields=notes`)).headers.get("cache-control")).toBe("no-store")
    expect((await service.get(admin, `${list}?fields=title`)).headers.get("cache-control")).toBe("private, no-cache")
    const product = await create(stage(), ann, "products", { name: "A" })
    const open = await service.get(ann, `/api/v1/products/${product["id"] as unknown as string}`)
    expect(open.headers.get("cache-control")).toBe("private, no-cache")
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
    it("that ask for an attachment lead to one there", async () => {
      const { service } = stage()
      const ticket = await ticketFor(stage(), ann, "papers.invoice", pdf(), { name: "a.pdf" })
      const paper = await create(stage(), ann, "papers", { title: "A", owner_id: "ann", invoice: ticket })
      const { url } = paper["invoice"] as unknown as { readonly url: string }
      const there = async (at: string) => {
        const { headers, status } = await service.call(null, "GET", at)
        return [status, new URL(headers.get("location")!).searchParams.get("disposition")]
      }
      expect(await there(url)).toEqual([302, "inline; filename=\"a.pdf\""])
      expect(await there(`${url}&download=1`)).toEqual([302, "attachment; filename=\"a.pdf\""])
    })

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
