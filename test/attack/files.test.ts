// Attacks on files: forged and borrowed links and tickets, tricks in paths and names, ranges, and what is never served.
import { describe, expect, it } from "vitest"
import { recordName } from "../../core/domain/file/unfinished.ts"
import { fakeImage } from "../fakes/images.ts"
import { announce, begun, ending, piece, state } from "../http/files/pieces.ts"
import { admin, ann, base, bob, create, eve, onStage, patch, pdf, ticketFor, tom, upload } from "../http/files/stage.ts"
import type { Answered } from "../support/composed.ts"
import { cpuMilliseconds } from "../support/cpu.ts"

const textOf = (value: Answered | undefined): string => value as unknown as string
const body = pdf("a page of some length, to have ranges in")

onStage("attacks on files", (stage) => {
  const paper = async (caller = ann, more: object = {}) => {
    const invoice = await ticketFor(stage(), caller, "papers.invoice", body, { name: "a.pdf" })
    const record = await create(stage(), caller, "papers", { title: "x", owner_id: caller.id, invoice, ...more })
    return { id: textOf(record["id"]), url: textOf(record["invoice"]!["url"]), record }
  }
  const status = async (url: string, headers = {}): Promise<number> =>
    (await stage().service.get(null, url, headers)).status

  it("opens no link that was changed in any part", async () => {
    const { url } = await paper()
    const other = await paper()
    expect(await status(url)).toBe(200)
    const changed = [
      url.replace("r=papers", "r=products"),
      url.replace("f=invoice", "f=scan"),
      url.replace("f=invoice", "f=confidential"),
      url.replace(/k=\d+/, "k=999999"),
      url.replace(/exp=(\d+)/, (_, exp: string) => `exp=${Number(exp) + 3_600}`),
      url.replace(/sig=.*/, `sig=${"A".repeat(43)}`),
      url.replace(/sig=.*/, "sig="),
      url.replace(/&sig=.*/, ""),
      `${url}&x=1`,
      `${url}&sig=AAAA`,
      url.split("?")[0]!,
      url.replace(/private\/t1\/[^?]+/, /private\/t1\/[^?]+/.exec(other.url)![0]),
      url.replace("/private/", "/archive/")
    ]
    for (const link of changed) expect([link, await status(link)]).toEqual([link, 403])
  })

  it("opens a link no more when the row lost the file, or is gone, or the time is over", async () => {
    const cleared = await paper()
    await patch(stage(), ann, `papers/${cleared.id}`, { invoice: null })
    expect(await status(cleared.url)).toBe(404)
    const replaced = await paper()
    await patch(stage(), ann, `papers/${replaced.id}`, {
      invoice: await ticketFor(stage(), ann, "papers.invoice", pdf("new"))
    })
    expect(await status(replaced.url)).toBe(404)
    const removed = await paper()
    await stage().service.call(ann, "DELETE", `${base}/papers/${removed.id}`)
    expect(await status(removed.url)).toBe(404)
    const late = await paper()
    stage().clock.now += 2 * 3_600_000
    expect(await status(late.url)).toBe(403)
  })

  it("gives no link to who may not read the row or the field", async () => {
    const { record } = await paper(admin, {
      confidential: await ticketFor(stage(), admin, "papers.confidential", "secret", { name: "s.txt" })
    })
    const seen = await stage().service.get(ann, `${base}/papers/${textOf(record["id"])}`)
    expect(seen.text).not.toContain("confidential")
    const versions = await stage().service.get(ann, `${base}/papers_history?filter=id%3D${textOf(record["id"])}`)
    expect(versions.text).not.toContain("confidential")
    expect((await stage().service.get(tom, `${base}/papers/${textOf(record["id"])}`)).status).toBe(404)
    // With what they can see of another field they cannot make one for this.
    const uri = textOf(record["confidential"]!["uri"])
    for (const caller of [ann, bob]) {
      const own = await paper(caller)
      expect((await patch(stage(), caller, `papers/${own.id}`, { invoice: uri })).status).toBe(400)
      expect((await patch(stage(), caller, `papers/${own.id}`, { confidential: uri })).status).toBe(400)
    }
    expect((await upload(stage(), eve, "papers.invoice", body)).status).toBe(403)
  })

  it("serves a file of another tenant to nobody, whatever a row says", async () => {
    const mine = await paper()
    const theirs = await paper(tom)
    const { database, fake } = stage().service
    const stolen = textOf(theirs.record["invoice"]!["uri"])
    if (database !== null) await database.execute(`update papers set invoice = '${stolen}' where id = ${mine.id}`)
    else {
      const model = stage().service.compiled.models.get("papers")!
      const row = fake!.rows(model).find((each) => each[0] === mine.id)!
      fake!.seed(model, [row.map((cell, i) => model.columns[i]!.name === "invoice" ? stolen : cell)])
    }
    const seen = await stage().service.get(ann, `${base}/papers/${mine.id}`)
    expect(textOf(seen.json["invoice"]!["uri"])).toBe(stolen)
    expect(await status(textOf(seen.json["invoice"]!["url"]))).toBe(404)
    // A record of no tenant has none of them either.
    await create(stage(), admin, "labels", { code: "thief" })
    if (database !== null) await database.execute(`update labels set sheet = '${stolen}' where code = 'thief'`)
    else {
      const model = stage().service.compiled.models.get("labels")!
      fake!.seed(model, [model.columns.map(({ name }) => name === "code" ? "thief" : name === "sheet" ? stolen : null)])
    }
    const label = await stage().service.get(admin, `${base}/labels/thief`)
    expect(textOf(label.json["sheet"]!["uri"])).toBe(stolen)
    expect(await status(textOf(label.json["sheet"]!["url"]))).toBe(404)
    expect(await status(theirs.url)).toBe(200)
  })

  it("takes no ticket for the address of an upload, and no address for a ticket", async () => {
    const location = await begun(stage(), ann, "papers.invoice", body.length)
    const key = location.slice(location.lastIndexOf("/") + 1)
    const ticket = await ticketFor(stage(), ann, "papers.invoice", body)
    expect((await state(stage(), ann, `${base}/papers:upload/${ticket}`)).status).toBe(404)
    const created = await stage().service.call(ann, "POST", `${base}/papers`, {
      body: { title: "x", owner_id: "ann", invoice: key }
    })
    expect(created.status).toBe(400)
    for (
      const other of [
        key.slice(1),
        `${key}A`,
        key.replace(/./, (first) => first === "A" ? "B" : "A"),
        "%00",
        "..",
        "%2e%2e"
      ]
    ) {
      expect((await state(stage(), ann, `${base}/papers:upload/${other}`)).status).toBe(404)
    }
    await ending(stage(), ann, location)
  })

  it("believes no record beside an upload that it has not written", async () => {
    const { private: storage } = stage().storages
    const ours = await begun(stage(), ann, "papers.invoice", body.length)
    await piece(stage(), ann, ours, 0, body)
    const records = [...storage.files.keys()].filter((path) => path.startsWith(".tmp/~"))
    const theirs = await begun(stage(), bob, "papers.invoice", body.length)
    const name = [...storage.files.keys()].find((path) => path.startsWith(".tmp/") && !path.startsWith(".tmp/~"))!
    // Whoever can write to the bucket could give one person the file of another, or one from anywhere.
    for (
      const bytes of [
        storage.files.get(records[0]!)!.bytes,
        Buffer.from(
          JSON.stringify(["t1/x.pdf", "application/pdf", null, 1, {
            uri: "private:t1/x.pdf?size=1",
            type: "a/b",
            cells: []
          }])
        ),
        Buffer.alloc(100_000, "A")
      ]
    ) {
      storage.files.set(recordName(name), { bytes, modified: stage().clock.now })
      const answer = await stage().service.get(bob, theirs)
      expect(answer.status).toBe(409)
      expect(answer.text).not.toContain("x.pdf")
    }
    expect((await piece(stage(), bob, theirs, 0, body)).status).toBe(204)
    expect((await stage().service.get(bob, theirs)).json["file"]).toMatchObject({ size: body.length })
  })

  it("spends on a piece of one byte no more than on any other, however much has come", async () => {
    const { archive: storage } = stage().storages
    const location = await begun(stage(), ann, "papers.scan", 200_000)
    const calls: number[] = []
    let at = 0
    for (const size of [1, 1, 65_534, 1, 1, 100_000, 1, 1]) {
      const before = storage.calls
      expect((await piece(stage(), ann, location, at, new Uint8Array(size).fill(97))).status).toBe(204)
      at += size
      calls.push(storage.calls - before)
    }
    // Two records at once, and the piece. The first bytes also begin the upload, and decide its type.
    expect(Math.max(...calls)).toBeLessThanOrEqual(5)
    expect(calls.at(-1)).toBe(3)
    await ending(stage(), ann, location)
  })

  it("has the room of nobody taken by files that are only announced", async () => {
    const { small } = stage().storages
    const answers = await Promise.all(Array.from({ length: 30 }, () => announce(stage(), ann, "bins.blob", 400)))
    const taken = answers.filter(({ status }) => status === 201)
    expect(taken.length).toBe(2)
    for (const { status } of answers) expect([201, 507]).toContain(status)
    for (const { headers } of taken) await ending(stage(), ann, headers.get("location")!)
    expect([...small.files.keys()].filter((path) => path.startsWith(".tmp/"))).toEqual([])
    const again = await announce(stage(), bob, "bins.blob", 1_000)
    expect(again.status).toBe(201)
    await ending(stage(), bob, again.headers.get("location")!)
  })

  it("serves of a list what its row holds, and what is of its tenant", async () => {
    const gallery = async (caller: typeof ann, text: string) => {
      const notes = [await ticketFor(stage(), caller, "galleries.notes", text, { name: `${text}.txt` })]
      const record = await create(stage(), caller, "galleries", { title: "x", owner_id: caller.id, notes })
      const file = record["notes"]![0]!
      return { id: textOf(record["id"]), uri: textOf(file["uri"]), url: textOf(file["url"]) }
    }
    const [mine, other, theirs] = [
      await gallery(ann, "mine"),
      await gallery(ann, "other"),
      await gallery(tom, "theirs")
    ]
    expect(await Promise.all([mine, other, theirs].map(({ url }) => status(url)))).toEqual([200, 200, 200])
    // A link names its row, its field and its path.
    const path = (url: string): string => /archive\/t\d\/[^?]+/.exec(url)![0]
    for (
      const link of [
        mine.url.replace(`k=${mine.id}`, `k=${other.id}`),
        mine.url.replace("f=notes", "f=photos"),
        mine.url.replace(path(mine.url), path(other.url))
      ]
    ) expect(await status(link)).toBe(403)
    const { database, fake } = stage().service
    const list = [mine.uri, theirs.uri]
    if (database !== null) {
      await database.execute(
        `update galleries set note_files = array[${list.map((uri) => `'${uri}'`).join(", ")}] where id = ${mine.id}`
      )
    } else {
      const model = stage().service.compiled.models.get("galleries")!
      const row = fake!.rows(model).find((each) => each[0] === mine.id)!
      fake!.seed(model, [row.map((cell, i) => model.columns[i]!.name === "notes" ? JSON.stringify(list) : cell)])
    }
    const seen = await stage().service.get(ann, `${base}/galleries/${mine.id}`)
    const links = [0, 1].map((at) => textOf(seen.json["notes"]![at]!["url"]))
    expect(await Promise.all(links.map((link) => status(link)))).toEqual([200, 404])
    // What left the list is served no more, with whatever link.
    expect((await patch(stage(), ann, `galleries/${other.id}`, { notes: [] })).status).toBe(200)
    expect(await status(other.url)).toBe(404)
  })

  it.each([
    "/api/files/private/../private/t1/x.pdf",
    "/api/files/private/t1/..%2f..%2fetc/passwd",
    "/api/files/private/t1/%2e%2e/x.pdf",
    "/api/files/private/%2e%2e/%2e%2e/etc/passwd",
    "/api/files/private/t1/%5c..%5cx",
    "/api/files/private/t1/x%00.pdf",
    "/api/files/private/.cleanup/x.json",
    "/api/files/private/.tmp/x",
    "/api/files/public/.cleanup/20261123T074500123Z-a.json",
    "/api/files/public/.tmp/a",
    "/api/files/public/_/.hidden",
    "/api/files/public/_/..%2f.cleanup%2fx.json",
    "/api/files/public//x.png",
    "/api/files/public/_",
    "/api/files/public/_/",
    "/api/files/public/%ff/x.png",
    "/api/files/nowhere/t1/x.pdf",
    "/api/files/PUBLIC/_/x.png",
    "/api/files/__proto__/t1/x.pdf",
    "/api/files",
    "/api/files/"
  ])("serves nothing at %s", async (path) => {
    // Where the client takes dots away, another route answers.
    expect([401, 403, 404]).toContain(await status(path))
    expect((await stage().service.call(null, "POST", path)).status).toBeGreaterThanOrEqual(401)
  })

  it.each([
    "../../../etc/passwd",
    "..\\..\\boot.ini",
    "a\r\nSet-Cookie: x=1.pdf",
    "\u202efdp.exe",
    "a\"; filename=\"evil.html",
    "\u0000.pdf",
    "x".repeat(5_000),
    "<img src=x onerror=alert(1)>.pdf",
    "a.html",
    "CON.pdf "
  ])("keeps a name harmless: %j", async (name) => {
    const answer = await upload(stage(), ann, "papers.invoice", body, { name })
    expect(answer.status, answer.text).toBe(201)
    const record = await create(stage(), ann, "papers", { title: "n", owner_id: "ann", invoice: answer.json["value"] })
    const file = record["invoice"]!
    expect(textOf(file["uri"])).toMatch(/^private:t1\/[a-z2-7]{26}\.pdf\?/)
    expect(new TextEncoder().encode(textOf(file["name"])).length).toBeLessThanOrEqual(255)
    const opened = await stage().service.get(null, textOf(file["url"]))
    expect(opened.status).toBe(200)
    const header = opened.headers.get("content-disposition")!
    expect(header).toMatch(/^inline; filename="[^"\\\r\n]*\.pdf"(?:; filename\*=UTF-8''[A-Za-z0-9!#$&+.^_`|~%-]+)?$/)
    expect([opened.headers.get("content-type"), opened.headers.get("set-cookie")]).toEqual(["application/pdf", null])
  })

  it("serves no script, whatever was uploaded and claimed", async () => {
    const scripts = [
      "<html><script>alert(1)</script></html>",
      "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>",
      "alert(1)",
      "<?xml version=\"1.0\"?><x/>"
    ]
    for (const script of scripts) {
      for (
        const [name, type] of [["a.html", "text/html"], ["a.svg", "image/svg+xml"], ["a.js", "text/javascript"], [
          "a.png",
          "image/png"
        ]]
      ) {
        const answer = await upload(stage(), ann, "papers.scan", script, { name: name!, type: type! })
        expect(answer.json["file"]!["type"]).toBe("text/plain")
        expect((await upload(stage(), ann, "products.image", script, { name: name!, type: type! })).status).toBe(415)
      }
    }
    const record = await create(stage(), ann, "papers", {
      title: "s",
      owner_id: "ann",
      scan: await ticketFor(stage(), ann, "papers.scan", scripts[0]!, { name: "a.html" })
    })
    const opened = await stage().service.get(null, textOf(record["scan"]!["url"]))
    expect(opened.headers.get("content-type")).toBe("text/plain")
    expect(opened.headers.get("content-disposition")).toBe("attachment; filename=\"a.txt\"")
    expect(opened.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'")
  })

  describe("ranges and conditions", () => {
    it.each<[string, number, number, number]>([
      ["bytes=0-3", 206, 0, 3],
      ["bytes=5-", 206, 5, body.length - 1],
      ["bytes=-4", 206, body.length - 4, body.length - 1],
      ["bytes=-99999", 206, 0, body.length - 1],
      ["bytes=3-99999", 206, 3, body.length - 1],
      ["bytes=0-0,5-6", 200, 0, body.length - 1],
      ["bytes=9-3", 200, 0, body.length - 1],
      ["bytes=a-b", 200, 0, body.length - 1],
      ["lines=0-1", 200, 0, body.length - 1],
      ["bytes=", 200, 0, body.length - 1],
      ["bytes=99999999999999999999-", 200, 0, body.length - 1]
    ])("%s", async (range, expected, start, end) => {
      const { url } = await paper()
      const opened = await stage().service.get(null, url, { range })
      expect(opened.status).toBe(expected)
      expect(opened.text).toBe(new TextDecoder().decode(body.subarray(start, end + 1)))
      if (expected === 206) expect(opened.headers.get("content-range")).toBe(`bytes ${start}-${end}/${body.length}`)
    })

    it.each(["bytes=99999-", "bytes=-0"])("%s is not satisfiable", async (range) => {
      const { url } = await paper()
      const opened = await stage().service.get(null, url, { range })
      expect([opened.status, opened.headers.get("content-range"), opened.text]).toEqual([
        416,
        `bytes */${body.length}`,
        ""
      ])
    })

    it("answer 304 to who holds it, the whole to who holds another, and a head without a body", async () => {
      const { url } = await paper()
      const first = await stage().service.get(null, url)
      const [etag, modified] = [first.headers.get("etag")!, first.headers.get("last-modified")!]
      expect(etag).toMatch(/^"[^"]+"$/)
      expect(await status(url, { "if-none-match": etag })).toBe(304)
      expect(await status(url, { "if-modified-since": modified })).toBe(304)
      expect(await status(url, { "if-none-match": "\"other\"" })).toBe(200)
      expect(await status(url, { range: "bytes=0-1", "if-range": etag })).toBe(206)
      expect(await status(url, { range: "bytes=0-1", "if-range": "\"other\"" })).toBe(200)
      const head = await stage().service.call(null, "HEAD", url)
      expect([head.status, head.text, head.headers.get("content-length")]).toEqual([200, "", String(body.length)])
      expect((await stage().service.call(null, "DELETE", url)).status).toBe(405)
    })
  })

  it("shows no signature in its log", async () => {
    const { url } = await paper()
    await status(url)
    const signature = /sig=(.*)$/.exec(url)![1]!
    expect(stage().service.log.join("\n")).not.toContain(signature)
    expect(stage().service.log.some((line) => line.includes("/api/files/private/"))).toBe(true)
  })

  it("answers 507 to what has no room, and leaves nothing", async () => {
    const { small } = stage().storages
    const before = [...small.files.keys()]
    expect((await upload(stage(), ann, "bins.blob", "x".repeat(1_001))).status).toBe(507)
    expect(
      (await upload(
        stage(),
        ann,
        "bins.blob",
        new ReadableStream({
          start: (controller) => {
            for (let i = 0; i < 20; i++) controller.enqueue(new TextEncoder().encode("y".repeat(100)))
            controller.close()
          }
        })
      )).status
    ).toBe(507)
    expect([...small.files.keys()]).toEqual(before)
    // Of two that say nothing of their length and do not fit together, one gets the room.
    const slow = () =>
      new ReadableStream({
        async pull(controller) {
          for (let i = 0; i < 7; i++) {
            controller.enqueue(new TextEncoder().encode("z".repeat(100)))
            await new Promise((done) => setTimeout(done, 5))
          }
          controller.close()
        }
      })
    const both = await Promise.all([1, 2].map(() => upload(stage(), ann, "bins.blob", slow())))
    expect(both.map((each) => each.status).toSorted((a, b) => a - b)).toEqual([201, 507])
    stage().clock.now += 26 * 3_600_000
    await stage().service.call(admin, "POST", "/api/files:cleanup")
    for (let i = 0; i < 3; i++) expect((await upload(stage(), ann, "bins.blob", `file ${i}`)).status).toBe(201)
    expect((await upload(stage(), ann, "bins.blob", "one more")).status).toBe(507)
  })

  it("answers 503 when the storage is away, 507 when it is full, and leaves nothing", async () => {
    const { archive } = stage().storages
    const before = [...archive.files.keys()].sort()
    archive.down = "Unavailable"
    const away = await upload(stage(), ann, "papers.scan", "text")
    expect([away.status, away.headers.get("retry-after")]).toEqual([503, "5"])
    archive.down = "Denied"
    expect((await upload(stage(), ann, "papers.scan", "text")).status).toBe(503)
    archive.down = null
    archive.room = 0
    expect((await upload(stage(), ann, "papers.scan", "text")).status).toBe(507)
    archive.room = Number.POSITIVE_INFINITY
    expect([...archive.files.keys()].sort()).toEqual(before)
    expect((await upload(stage(), ann, "papers.scan", "text")).status).toBe(201)
  })

  it("answers 503 when too many images wait, and leaves nothing", async () => {
    const { images, storages } = stage()
    const before = [...storages.public.files.keys()].sort()
    images.busy = true
    const image = new Uint8Array(fakeImage("png", { width: 20, height: 20 }))
    expect((await upload(stage(), ann, "products.image", image)).status).toBe(503)
    images.busy = false
    expect([...storages.public.files.keys()].sort()).toEqual(before)
  })

  describe("forms", () => {
    const part = (name: string, content: string, file = true, more = ""): string =>
      `--b\r\nContent-Disposition: form-data; name="${name}"${
        file ? "; filename=\"a.txt\"" : ""
      }\r\n${more}\r\n${content}\r\n`
    const repeated = (count: number, one: (i: number) => string): string =>
      Array.from({ length: count }, (_, i) => one(i)).join("")
    const end = "--b--\r\n"

    it.each<readonly [string, () => string]>([
      ["10,000 files", () => repeated(10_000, (i) => part(`f${i}`, "x")) + end],
      ["10,000 fields", () => repeated(10_000, (i) => part(`f${i}`, "x", false)) + end],
      [
        "a file and 10,000 fields behind it",
        () => part("file", "x") + repeated(10_000, () => part("file", "x", false)) + end
      ],
      ["10,000 empty parts", () => "--b\r\n\r\n\r\n".repeat(10_000) + end],
      ["a part of 10,000 headers", () => part("file", "x", true, "X-A: b\r\n".repeat(10_000)) + end],
      ["a header of a megabyte", () => part("file", "x", true, `X-A: ${"b".repeat(1_000_000)}\r\n`) + end],
      ["a name of a megabyte", () => part("n".repeat(1_000_000), "x") + end],
      ["a megabyte before the first part", () => "x".repeat(1_000_000) + part("file", "x", false) + end],
      ["no end of boundaries", () => "--b\r\n".repeat(100_000)],
      ["names of prototypes", () => part("__proto__", "x", false) + part("constructor", "x", false) + end],
      ["nothing at all", () => ""]
    ])("%s: refused at once, and nothing is left", async (_, make) => {
      const { archive } = stage().storages
      const before = [...archive.files.keys()].sort()
      const body = make()
      const spent = await cpuMilliseconds(async () => {
        const answer = await upload(stage(), ann, "papers.scan", body, { type: "multipart/form-data; boundary=b" })
        expect([400, 413], answer.text).toContain(answer.status)
      })
      expect(spent).toBeLessThan(1_500)
      expect([...archive.files.keys()].sort()).toEqual(before)
    })
  })

  it("refuses a form that goes on and on behind its file", async () => {
    let sent = 0
    const body = new ReadableStream({
      pull: (controller) => {
        if (sent === 0) {
          controller.enqueue(
            Buffer.from("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\nx\r\n--b--\r\n")
          )
        } else controller.enqueue(new Uint8Array(65_536).fill(65))
        if (++sent > 10_000) controller.close()
      }
    })
    const answer = await upload(stage(), ann, "papers.scan", body, { type: "multipart/form-data; boundary=b" })
    expect(answer.status, answer.text).toBe(400)
    expect(sent).toBeLessThan(100)
  })

  it("keeps a file whose sender breaks off nowhere", async () => {
    const { archive } = stage().storages
    const before = [...archive.files.keys()].sort()
    for (const after of [0, 10, 100_000]) {
      const broken = new ReadableStream({
        pull: (controller) => {
          controller.enqueue(new Uint8Array(after).fill(65))
          controller.error(new Error("gone"))
        }
      })
      const answer = await upload(stage(), ann, "papers.scan", broken).catch(() => null)
      if (answer !== null) expect([400, 499]).toContain(answer.status)
    }
    expect([...archive.files.keys()].sort()).toEqual(before)
  })
})
