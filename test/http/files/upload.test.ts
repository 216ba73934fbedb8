// Files from upload to download: tickets, values in writes and answers, derived values, signed links, ranges.
import { describe, expect, it } from "vitest"
import { fakeImage } from "../../fakes/images.ts"
import type { Answered } from "../../support/composed.ts"
import {
  admin,
  ann,
  base,
  behaviour,
  bob,
  create,
  eve,
  held,
  onStage,
  patch,
  pdf,
  scheduled,
  ticketFor,
  tom,
  upload
} from "./stage.ts"

const textOf = (value: Answered | undefined): string => value as unknown as string
const idOf = (record: Answered): string => textOf(record["id"])
const bytes = (image: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(image)
const png = (width: number, height: number) => bytes(fakeImage("png", { width, height }))

onStage("files", (stage) => {
  it("answers a ticket, and stores the file with the write that takes it", async () => {
    const answer = await upload(stage(), ann, "papers.invoice", pdf(), {
      name: "Rechnung März.pdf",
      type: "application/pdf"
    })
    expect(answer.status, answer.text).toBe(201)
    expect(answer.json).toEqual({
      value: expect.stringMatching(/^[A-Za-z0-9_-]{40,}$/) as string,
      file: { name: "Rechnung März.pdf", type: "application/pdf", size: pdf().length },
      derived: {}
    })
    const record = await create(stage(), ann, "papers", { title: "a", owner_id: "ann", invoice: answer.json["value"] })
    const file = record["invoice"] as Answered
    expect(file).toEqual({
      uri: expect.stringMatching(/^private:t1\/[a-z2-7]{26}\.pdf\?name=Rechnung%20M%C3%A4rz\.pdf&size=\d+$/) as string,
      name: "Rechnung März.pdf",
      type: "application/pdf",
      size: pdf().length,
      url: expect.stringMatching(
        new RegExp(
          `^/api/files/private/t1/[a-z2-7]{26}\\.pdf\\?r=papers&k=${
            idOf(record)
          }&f=invoice&exp=\\d+&sig=[A-Za-z0-9_-]{43}$`
        )
      ) as string
    })
    expect(held(stage().storages.private).length).toBeGreaterThan(0)
    const opened = await stage().service.get(null, file["url"] as string)
    expect([opened.status, opened.text]).toEqual([200, new TextDecoder().decode(pdf())])
    expect(Object.fromEntries(opened.headers)).toMatchObject({
      "content-type": "application/pdf",
      "content-disposition": "inline; filename=\"Rechnung M_rz.pdf\"; filename*=UTF-8''Rechnung%20M%C3%A4rz.pdf",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "accept-ranges": "bytes",
      "content-length": String(pdf().length)
    })
    expect(opened.headers.get("cache-control")).toMatch(/^private, max-age=\d+$/)
  })

  it("takes null, the stored uri and tickets, and nothing else", async () => {
    const invoice = await ticketFor(stage(), ann, "papers.invoice", pdf(), { name: "a.pdf" })
    const record = await create(stage(), ann, "papers", { title: "b", owner_id: "ann", invoice })
    const path = `papers/${idOf(record)}`
    const file = record["invoice"] as Answered
    const other = await create(stage(), ann, "papers", { title: "c", owner_id: "ann" })
    const refused = async (value: unknown, at = path) => {
      const answer = await patch(stage(), ann, at, { invoice: value })
      expect(answer.status, JSON.stringify(value)).toBe(400)
      expect(answer.json["errors"]![0]!["field"]).toBe("invoice")
      return answer.json["errors"]![0]! as Answered
    }
    // Unchanged: nothing is written, the version stays.
    const same = await patch(stage(), ann, path, { invoice: file["uri"] })
    expect([same.status, same.json["etag"]]).toEqual([200, record["etag"]])
    expect((await refused(file))["hint"]).toContain("uri")
    await refused("")
    await refused("x")
    await refused(5)
    await refused(["a"])
    await refused({ uri: 5 })
    await refused("https://files.example.com/a.pdf")
    await refused("data:application/pdf,x")
    await refused(`${invoice.slice(0, -2)}xx`)
    await refused("private:t1/../../etc/passwd")
    // Somebody else's uri would make a link to it.
    await refused(file["uri"], `papers/${idOf(other)}`)
    const created = await stage().service.call(ann, "POST", `${base}/papers`, {
      body: { title: "d", owner_id: "ann", invoice: file["uri"] }
    })
    expect(created.status).toBe(400)
    const cleared = await patch(stage(), ann, path, { invoice: null })
    expect([cleared.status, cleared.json["invoice"]]).toEqual([200, null])
    // A ticket may be used for more than one record.
    expect((await patch(stage(), ann, `papers/${idOf(other)}`, { invoice })).status).toBe(200)
  })

  it("opens tickets for their user, tenant, resource and field only, for 24 hours", async () => {
    const invoice = await ticketFor(stage(), ann, "papers.invoice", pdf())
    const mine = await create(stage(), bob, "papers", { title: "of bob", owner_id: "bob" })
    const theirs = await create(stage(), tom, "papers", { title: "of tom", owner_id: "tom" })
    for (
      const [caller, path, body] of [
        [bob, `papers/${idOf(mine)}`, { invoice }],
        [tom, `papers/${idOf(theirs)}`, { invoice }],
        [bob, `papers/${idOf(mine)}`, { scan: invoice }]
      ] as const
    ) expect((await patch(stage(), caller, path, body)).status).toBe(400)
    stage().clock.now += 24 * 3_600_000
    const late = await stage().service.call(ann, "POST", `${base}/papers`, {
      body: { title: "late", owner_id: "ann", invoice }
    })
    expect([late.status, late.json["errors"]![0]!["message"]]).toEqual([400, "The ticket has expired."])
  })

  it("writes derived values and the placeholder with the image, and clears them with it", async () => {
    const answer = await upload(stage(), ann, "products.image", png(120, 80), { name: "photo.jpg", type: "image/jpeg" })
    expect(answer.status, answer.text).toBe(201)
    expect(answer.json).toMatchObject({
      file: { name: "photo.jpg", type: "image/png" },
      derived: { image_width: 120, image_height: 80, image_ratio: "1.50", image_hash: expect.any(String) as string },
      corrected: { from: "image/jpeg", to: "image/png" }
    })
    const record = await create(stage(), ann, "products", { name: "p", image: answer.json["value"] })
    expect(record).toMatchObject({ image_width: 120, image_height: 80, image_ratio: "1.50" })
    const image = record["image"] as Answered
    expect(image["uri"]).toMatch(
      /^public:_\/[a-z2-7]{26}\.png\?name=photo\.jpg&size=\d+&variants=card\.webp,full\.jpg&sizes=40x40,120x80$/
    )
    expect(image["url"]).toMatch(/^\/api\/files\/public\/_\/[a-z2-7]{26}\.png$/)
    expect(image["placeholder"]).toBe(record["image_hash"])
    expect(image["variants"]).toEqual({
      card: { url: `${textOf(image["url"])}.card.webp`, type: "image/webp", width: 40, height: 40 },
      full: { url: `${textOf(image["url"])}.full.jpg`, type: "image/jpeg", width: 120, height: 80 }
    })
    for (const url of [image["url"], image["variants"]!["card"]!["url"], image["variants"]!["full"]!["url"]]) {
      const opened = await stage().service.get(null, textOf(url))
      expect([opened.status, opened.headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"])
      expect(opened.headers.get("content-disposition")).toContain(textOf(url).split("/").at(-1))
    }
    const path = `products/${idOf(record)}`
    const replaced = await patch(stage(), ann, path, {
      image: await ticketFor(stage(), ann, "products.image", png(10, 30))
    })
    expect(replaced.json).toMatchObject({ image_width: 10, image_height: 30, image_ratio: "0.33" })
    const cleared = await patch(stage(), ann, path, { image: null })
    expect(cleared.json).toMatchObject({
      image: null,
      image_hash: null,
      image_width: null,
      image_height: null,
      image_ratio: null
    })
    const body = { body: { image_width: 5 }, headers: { "if-match": "*" } }
    expect((await stage().service.call(admin, "PATCH", `${base}/${path}`, body)).status).toBe(400)
  })

  it("stores the original that a field declares instead of the upload", async () => {
    const record = await create(stage(), ann, "products", {
      name: "p",
      logo: await ticketFor(stage(), ann, "products.logo", png(100, 60))
    })
    const logo = record["logo"] as Answered
    expect(logo).toMatchObject({ type: "image/webp", url: expect.stringMatching(/\.webp$/) as string })
    const id = /\/([a-z2-7]{26})\./.exec(textOf(logo["url"]))![1]!
    expect(held(stage().storages.public).filter((path) => path.includes(id))).toEqual([`_/${id}.webp`])
    expect(Buffer.from(stage().storages.public.files.get(`_/${id}.webp`)!.bytes).toString("latin1")).toContain("50x30")
    expect(logo["size"]).toBe(stage().storages.public.files.get(`_/${id}.webp`)!.bytes.length)
  })

  it("stores an image that cannot be read as it is", async () => {
    const broken = new Uint8Array([...png(10, 10).subarray(0, 8), 1, 2, 3])
    const record = await create(stage(), ann, "products", {
      name: "p",
      image: await ticketFor(stage(), ann, "products.image", broken)
    })
    expect(record).toMatchObject({
      image_width: null,
      image_hash: null,
      image: { type: "image/png", placeholder: null }
    })
    expect(record["image"]).not.toHaveProperty("variants")
  })

  it("takes an https URL where the field does, and keeps it as it is", async () => {
    const scan = await ticketFor(stage(), ann, "papers.scan", "some text", { name: "note.txt" })
    const record = await create(stage(), ann, "papers", { title: "x", owner_id: "ann", scan })
    expect(record).toMatchObject({ scan_size: "9", scan_type: "text/plain", scan_note: 8 })
    const url = "https://files.example.com/a/B%C3%A4r.PDF?x=1"
    const path = `papers/${idOf(record)}`
    const changed = await patch(stage(), ann, path, { scan: url })
    expect(changed.json).toMatchObject({
      scan: { uri: url, name: "Bär.PDF", type: "application/pdf", url },
      scan_size: null,
      scan_type: null,
      scan_note: null
    })
    expect(scheduled(stage().storages.archive).length).toBeGreaterThan(0)
    for (
      const wrong of [
        "http://files.example.com/a.pdf",
        "https://u:p@files.example.com/a.pdf",
        "https://files.example.com/a b.pdf"
      ]
    ) {
      expect((await patch(stage(), ann, path, { scan: wrong })).status).toBe(400)
    }
  })

  it("refuses types and sizes before anything is stored", async () => {
    const before = [...stage().storages.private.files.keys()]
    const wrong = await upload(stage(), ann, "papers.invoice", "just text", { name: "a.pdf", type: "application/pdf" })
    expect([wrong.status, wrong.json["type"], wrong.json["detected"]]).toEqual([
      415,
      "urn:service:problem:unsupported-media-type",
      "text/plain"
    ])
    const announced = await upload(stage(), ann, "papers.invoice", pdf(), { headers: { "content-length": "100001" } })
    expect(announced.status).toBe(413)
    const large = new Uint8Array(100_001)
    large.set(pdf())
    expect((await upload(stage(), ann, "papers.invoice", large)).status).toBe(413)
    const most = large.subarray(0, 100_000)
    expect((await upload(stage(), ann, "papers.invoice", most)).status).toBe(201)
    const coded = await upload(stage(), ann, "papers.invoice", pdf(), { headers: { "content-encoding": "gzip" } })
    expect(coded.status).toBe(415)
    expect([...stage().storages.private.files.keys()].length).toBe(before.length + 2)
  })

  it("asks for access to the resource and the field", async () => {
    const place = `${base}/papers:upload`
    const post = (caller: typeof ann | null, query: string) =>
      stage().service.call(caller, "POST", `${place}${query}`, { raw: pdf() })
    expect((await post(null, "?field=invoice")).status).toBe(401)
    expect((await post(eve, "?field=invoice")).status).toBe(403)
    const hidden = await post(ann, "?field=confidential")
    const unknown = await post(ann, "?field=confidentiak")
    expect([hidden.status, hidden.text.replaceAll("confidential", "x")]).toEqual([
      400,
      unknown.text.replaceAll("confidentiak", "x")
    ])
    expect((await post(admin, "?field=confidential")).status).toBe(201)
    expect((await post(ann, "")).status).toBe(400)
    expect((await post(ann, "?field=title")).status).toBe(400)
    expect((await post(ann, "?field=invoice&field=scan")).status).toBe(400)
    expect((await post(ann, "?field=invoice&colour=red")).status).toBe(400)
    expect((await stage().service.call(ann, "POST", `${base}/nowhere:upload?field=x`, { raw: "" })).status).toBe(404)
    expect((await stage().service.call(ann, "GET", `${place}?field=invoice`)).status).toBe(405)
    const nobody = { id: "ann", roles: ["clerk"] }
    expect((await post(nobody, "?field=invoice")).json["type"]).toBe("urn:service:problem:tenant-required")
  })

  it("shows files in every answer", async () => {
    const { service } = stage()
    const invoice = await ticketFor(stage(), ann, "papers.invoice", pdf(), { name: "everywhere.pdf" })
    const record = await create(stage(), ann, "papers", { title: "everywhere", owner_id: "ann", invoice })
    const shown = expect.objectContaining({
      name: "everywhere.pdf",
      url: expect.stringContaining("&sig=") as string
    }) as object
    const filter = "filter=title%3D%22everywhere%22"
    expect((await service.get(ann, `${base}/papers/${idOf(record)}`)).json["invoice"]).toEqual(shown)
    expect((await service.get(ann, `${base}/papers?${filter}`)).json["items"]![0]!["invoice"]).toEqual(shown)
    expect((await service.get(ann, `${base}/papers:seek?${filter}&position=0`)).json["items"]![0]!["invoice"]).toEqual(
      shown
    )
    const search = await service.call(ann, "POST", `${base}/papers:search`, {
      body: { filter: "title=\"everywhere\"" }
    })
    expect(search.json["items"]![0]!["invoice"]).toEqual(shown)
    const batch = await service.call(ann, "POST", `${base}:batchWrite`, {
      body: { ops: [{ op: "create", resource: "papers", data: { title: "in a batch", owner_id: "ann", invoice } }] }
    })
    expect(batch.json["results"]![0]!["record"]!["invoice"]).toEqual(shown)
    const versions = await service.get(ann, `${base}/papers_history?${filter}`)
    expect(versions.json["items"]![0]!["invoice"]).toEqual(shown)
    const version = versions.json["items"]![0]!["invoice"]!["url"] as string
    expect(version).toContain("r=papers_history")
    expect((await service.get(null, version)).status).toBe(200)
    // The version of a record does not depend on its links.
    stage().clock.now += 3_600_000
    const later = await service.get(ann, `${base}/papers/${idOf(record)}`)
    expect(later.json["etag"]).toBe(record["etag"])
    expect(later.json["invoice"]!["url"]).not.toBe(record["invoice"]!["url"])
    expect(
      (await service.get(ann, `${base}/papers/${idOf(record)}`, { "if-none-match": textOf(record["etag"]) }))
        .status
    ).toBe(304)
  })

  it("restores no files", async () => {
    const first = await ticketFor(stage(), ann, "papers.invoice", pdf("1"), { name: "1.pdf" })
    const record = await create(stage(), ann, "papers", { title: "v1", owner_id: "ann", invoice: first })
    const path = `papers/${idOf(record)}`
    await patch(stage(), ann, path, { title: "v2", invoice: null })
    const versions = await stage().service.get(
      ann,
      `${base}/papers_history?filter=id%3D${idOf(record)}&order_by=history_id`
    )
    const restored = await stage().service.call(ann, "POST", `${base}/${path}:restore`, {
      body: { version: versions.json["items"]![0]!["history_id"] },
      headers: { "if-match": "*" }
    })
    expect(restored.json).toMatchObject({ title: "v1", invoice: null })
  })

  it("stores and schedules nothing in a dry run", async () => {
    const invoice = await ticketFor(stage(), ann, "papers.invoice", pdf())
    const record = await create(stage(), ann, "papers", { title: "dry", owner_id: "ann", invoice })
    const before = [...stage().storages.private.files.keys()].sort()
    const path = `papers/${idOf(record)}?dry_run=true`
    const tried = await patch(stage(), ann, path, { invoice: null })
    expect([tried.status, tried.json["invoice"]]).toEqual([200, null])
    expect((await stage().service.call(ann, "DELETE", `${base}/${path}`)).status).toBe(204)
    expect([...stage().storages.private.files.keys()].sort()).toEqual(before)
    expect((await stage().service.get(ann, `${base}/papers/${idOf(record)}`)).json["invoice"]).not.toBeNull()
  })

  it("answers an idempotency key twice with one file", async () => {
    const headers = { "idempotency-key": `k-${Math.random()}` }
    const first = await upload(stage(), ann, "papers.invoice", pdf("once"), { name: "a.pdf", headers })
    const count = stage().storages.private.files.size
    const second = await upload(stage(), ann, "papers.invoice", pdf("once"), { name: "a.pdf", headers })
    expect([second.status, second.headers.get("idempotency-replayed"), second.text]).toEqual([201, "true", first.text])
    const other = await upload(stage(), ann, "papers.invoice", pdf("other"), { name: "a.pdf", headers })
    expect([other.status, other.json["type"]]).toEqual([422, "urn:service:problem:idempotency-key-reused"])
    expect(stage().storages.private.files.size).toBe(count)
  })

  it("runs a processor once, for the types that it takes", async () => {
    const binary = await upload(stage(), ann, "papers.scan", pdf(), { name: "a.pdf" })
    expect(binary.json["derived"]).toEqual({
      scan_size: String(pdf().length),
      scan_type: "application/pdf",
      scan_note: null
    })
    const text = await upload(stage(), ann, "papers.scan", "a", { name: "four" })
    expect(text.json["derived"]).toMatchObject({ scan_note: 4 })
  })

  it.each<readonly [string, () => unknown]>([
    ["throws", () => {
      throw new Error("broken")
    }],
    ["gives what its field refuses", () => "no number"]
  ])("answers 500 where a processor %s, says which in the log, and keeps nothing", async (_, run) => {
    const { service, storages } = stage()
    const before = [...storages.archive.files.keys()].sort()
    const was = behaviour.run
    behaviour.run = run
    try {
      const answer = await upload(stage(), ann, "papers.scan", "a text", { name: "a.txt" })
      expect([answer.status, answer.json["type"]]).toEqual([500, "urn:service:problem:internal-error"])
      expect(answer.text).not.toMatch(/broken|no number|scan_note/)
      const line = service.log.findLast((each) => each.includes("file-processor"))!
      expect(JSON.parse(line)).toMatchObject({ resource: "papers", field: "scan", processor: "scan_note" })
      expect([...storages.archive.files.keys()].sort()).toEqual(before)
    } finally {
      behaviour.run = was
      ;(service.unhandled as unknown[]).length = 0
    }
  })

  it("gives a processor the first 256 KB and the whole as a stream", async () => {
    const before = behaviour.run
    const text = Array.from({ length: 60_000 }, (_, i) => `${i}`).join("\n")
    let seen = ""
    behaviour.run = async ({ head, read, size }) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of read()) chunks.push(chunk)
      seen = Buffer.concat(chunks).toString()
      expect(Buffer.from(head).toString()).toBe(text.slice(0, 256_000))
      return size
    }
    try {
      const answer = await upload(stage(), ann, "papers.scan", text, { name: "numbers.txt" })
      expect(answer.json["derived"]).toMatchObject({ scan_note: text.length })
      expect(seen === text).toBe(true)
    } finally {
      behaviour.run = before
    }
  })

  describe("forms", () => {
    const form = (...parts: ReadonlyArray<readonly [string, Blob | string, string?]>): FormData => {
      const data = new FormData()
      for (const [name, value, file] of parts) {
        if (typeof value === "string") data.append(name, value)
        else data.append(name, value, file)
      }
      return data
    }
    const blob = (content: Uint8Array<ArrayBuffer>, type = "application/pdf") => new Blob([content], { type })

    it("are one file", async () => {
      const answer = await upload(stage(), ann, "papers.invoice", form(["file", blob(pdf()), "Über uns.pdf"]))
      expect(answer.json, answer.text).toMatchObject({
        file: { name: "Über uns.pdf", type: "application/pdf", size: pdf().length }
      })
      const named = await upload(stage(), ann, "papers.invoice", form(["x", blob(pdf()), "a.pdf"]), {
        name: "query.pdf"
      })
      expect(named.json["file"]!["name"]).toBe("query.pdf")
    })

    it("may have texts beside it, which are ignored", async () => {
      for (
        const body of [
          form(["file", blob(pdf()), "a.pdf"], ["name", "b.pdf"]),
          form(["name", "b.pdf"], ["file", blob(pdf()), "a.pdf"])
        ]
      ) {
        const answer = await upload(stage(), ann, "papers.invoice", body)
        expect(answer.json["file"], answer.text).toMatchObject({ name: "a.pdf", type: "application/pdf" })
      }
    })

    it("are nothing else", async () => {
      const before = stage().storages.private.files.size
      for (
        const body of [
          form(),
          form(["file", "text"]),
          form(["file", blob(pdf()), "a.pdf"], ["more", blob(pdf()), "b.pdf"])
        ]
      ) {
        const answer = await upload(stage(), ann, "papers.invoice", body)
        expect([answer.status, answer.json["type"]]).toEqual([400, "urn:service:problem:invalid-parameter"])
      }
      const cut = `--b\r\nContent-Disposition: form-data; name="f"; filename="a.pdf"\r\n\r\n%PDF-1.4`
      const half = await upload(stage(), ann, "papers.invoice", cut, { type: "multipart/form-data; boundary=b" })
      expect(half.status).toBe(400)
      const none = await upload(stage(), ann, "papers.invoice", cut, { type: "multipart/form-data" })
      expect(none.status).toBe(415)
      expect(
        (await upload(stage(), ann, "papers.invoice", form(["file", blob(new Uint8Array(200_000)), "a.pdf"]))).status
      ).toBe(413)
      expect(stage().storages.private.files.size).toBe(before)
    })
  })
})
