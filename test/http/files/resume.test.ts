// Uploads in pieces: the protocol tus 1.0 with every status, and the file that becomes of them.
import * as Effect from "effect/Effect"
import { describe, expect, it, vi } from "vitest"
import { fakeImage } from "../../fakes/images.ts"
import type { Answer, Answered } from "../../support/composed.ts"
import { announce, begun, ending, metadata, offsetOf, piece, pieceType, state, tus } from "./pieces.ts"
import {
  admin,
  ann,
  base,
  behaviour,
  bob,
  cleanup,
  create,
  eve,
  held,
  onStage,
  patch,
  pdf,
  scheduled,
  tom
} from "./stage.ts"

const temporary = ({ files }: { readonly files: ReadonlyMap<string, unknown> }): readonly string[] =>
  [...files.keys()].filter((path) => path.startsWith(".tmp/"))
const slugOf = ({ json, status }: Answer): readonly unknown[] => [status, json["type"]]
const refused = (status: number, slug: string) => [status, `urn:service:problem:${slug}`]
const day = 24 * 3_600_000

onStage("uploads in pieces", (stage) => {
  it("take a file over several requests, and give the answer of an upload", async () => {
    const { service, storages: { private: storage } } = stage()
    const body = pdf("in pieces")
    const answer = await announce(
      stage(),
      ann,
      "papers.invoice",
      body.length,
      metadata({ filename: "März 1.pdf", more: "x" })
    )
    expect([answer.status, answer.text, answer.headers.get("tus-resumable")]).toEqual([201, "", "1.0.0"])
    const location = answer.headers.get("location")!
    expect(location).toMatch(/^\/api\/v1\/papers:upload\/[A-Za-z0-9_-]+$/)
    const until = answer.headers.get("upload-expires")!
    expect(Math.abs(Date.parse(until) - stage().clock.now - day)).toBeLessThan(1_000)
    const first = await piece(stage(), ann, location, 0, body.subarray(0, 20))
    expect([first.status, first.text]).toEqual([204, ""])
    expect([
      first.headers.get("upload-offset"),
      first.headers.get("upload-expires"),
      first.headers.get("tus-resumable")
    ])
      .toEqual(["20", until, "1.0.0"])
    const seen = await state(stage(), ann, location)
    expect([seen.status, seen.text]).toEqual([200, ""])
    expect(Object.fromEntries(seen.headers)).toMatchObject({
      "upload-offset": "20",
      "upload-length": String(body.length),
      "upload-expires": until,
      "upload-metadata": metadata({ filename: "März 1.pdf", more: "x" })["upload-metadata"],
      "tus-resumable": "1.0.0",
      "cache-control": "no-store"
    })
    const early = await service.get(ann, location)
    expect(slugOf(early)).toEqual(refused(409, "conflict"))
    expect(early.json["offset"]).toBe(20)
    expect((await piece(stage(), ann, location, 20, body.subarray(20))).headers.get("upload-offset")).toBe(
      String(body.length)
    )
    expect(await offsetOf(stage(), ann, location)).toBe(body.length)
    const tickets = [await service.get(ann, location), await service.get(ann, location)]
    for (const { json, status } of tickets) {
      expect(status).toBe(200)
      expect(json).toEqual({
        value: expect.stringMatching(/^[A-Za-z0-9_-]{40,}$/) as string,
        file: { name: "März 1.pdf", type: "application/pdf", size: body.length },
        derived: {}
      })
    }
    const record = await create(stage(), ann, "papers", {
      title: "in pieces",
      owner_id: "ann",
      invoice: tickets[1]!.json["value"]
    })
    const file = record["invoice"] as Answered
    expect(file["uri"]).toMatch(/^private:t1\/[a-z2-7]{26}\.pdf\?name=M%C3%A4rz%201\.pdf&size=\d+$/)
    const opened = await service.get(null, file["url"] as unknown as string)
    expect([opened.status, opened.text]).toEqual([200, new TextDecoder().decode(body)])
    expect(scheduled(storage).length).toBeGreaterThan(0)
    // A piece without bytes at the end changes nothing; any other is refused.
    expect((await piece(stage(), ann, location, body.length, new Uint8Array(0))).status).toBe(204)
    expect(slugOf(await piece(stage(), ann, location, 0, body.subarray(0, 5)))).toEqual(refused(409, "conflict"))
  })

  it("say what is served, and how large a file may be", async () => {
    const answer = await stage().service.call(ann, "OPTIONS", `${base}/papers:upload`)
    expect([answer.status, answer.text]).toEqual([204, ""])
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "tus-version": "1.0.0",
      "tus-extension": "creation,creation-with-upload,expiration,termination",
      "tus-max-size": "25000000"
    })
    expect((await stage().service.call(null, "OPTIONS", `${base}/papers:upload`)).status).toBe(401)
    expect((await stage().service.call(eve, "OPTIONS", `${base}/papers:upload`)).status).toBe(403)
    expect((await stage().service.call(ann, "OPTIONS", `${base}/nothing:upload`)).status).toBe(404)
  })

  it("may begin with their first piece, and may be one", async () => {
    const body = pdf()
    const answer = await announce(stage(), ann, "papers.invoice", body.length, pieceType, body)
    expect([answer.status, answer.headers.get("upload-offset")]).toEqual([201, String(body.length)])
    expect((await stage().service.get(ann, answer.headers.get("location")!)).json["file"]).toEqual({
      name: "file",
      type: "application/pdf",
      size: body.length
    })
    const part = await announce(stage(), ann, "papers.invoice", 1_000, pieceType, body)
    expect([part.status, part.headers.get("upload-offset")]).toEqual([201, String(body.length)])
    expect((await ending(stage(), ann, part.headers.get("location")!)).status).toBe(204)
  })

  it("may have no bytes", async () => {
    const location = await begun(stage(), ann, "papers.scan", 0, metadata({ filename: "empty.txt" }))
    expect(await offsetOf(stage(), ann, location)).toBe(0)
    const { json, status } = await stage().service.get(ann, location)
    expect([status, json["file"]]).toEqual([200, { name: "empty.txt", type: "text/plain", size: 0 }])
  })

  it("may be told their method by a header", async () => {
    const body = pdf()
    const location = await begun(stage(), ann, "papers.invoice", body.length)
    const over = (method: string, headers: { readonly [name: string]: string } = {}, raw?: Uint8Array<ArrayBuffer>) =>
      stage().service.call(ann, "POST", location, {
        headers: { ...tus, "x-http-method-override": method, ...headers },
        ...(raw === undefined ? {} : { raw })
      })
    expect((await over("PATCH", { ...pieceType, "upload-offset": "0" }, body.subarray(0, 9))).status).toBe(204)
    expect((await over("HEAD")).headers.get("upload-offset")).toBe("9")
    expect((await over("DELETE")).status).toBe(204)
    expect((await over("PUT")).status).toBe(405)
    expect((await state(stage(), ann, location)).status).toBe(404)
    const other = await stage().service.call(ann, "POST", `${base}/papers`, {
      headers: { "x-http-method-override": "DELETE" },
      body: { title: "x", owner_id: "ann" }
    })
    expect(other.status).toBe(201)
  })

  it("make copies of images, derived values and placeholders", async () => {
    const image = new Uint8Array(fakeImage("png", { width: 300, height: 200 }))
    const { public: storage } = stage().storages
    const location = await begun(stage(), ann, "products.image", image.length, metadata({ filename: "a.png" }))
    for (let at = 0; at < image.length; at += 30) {
      expect((await piece(stage(), ann, location, at, image.subarray(at, at + 30))).status).toBe(204)
    }
    const { json } = await stage().service.get(ann, location)
    expect(json["derived"]).toMatchObject({ image_width: 300, image_height: 200, image_ratio: "1.50" })
    expect((await stage().service.get(ann, location)).json["derived"]).toEqual(json["derived"])
    const record = await create(stage(), ann, "products", { name: "x", image: json["value"] })
    expect(Object.keys(record["image"]!["variants"] as unknown as object)).toEqual(["card", "full"])
    expect(record["image_width"]).toBe(300)
    expect(held(storage).filter((path) => path.includes(".png"))).not.toEqual([])

    const logo = await begun(stage(), ann, "products.logo", image.length)
    await piece(stage(), ann, logo, 0, image)
    const answer = await stage().service.get(ann, logo)
    expect(answer.json["file"]).toMatchObject({ type: "image/webp" })
    // The upload itself is not kept beside the image that stands for it.
    expect(held(storage).filter((path) => path.endsWith(".png"))).toHaveLength(1)
  })

  describe("are refused", () => {
    it.each<readonly [string, { readonly [name: string]: string }, string | number, number, string]>([
      ["without the version", { "tus-resumable": "0.2.2" }, 10, 412, "unsupported-protocol"],
      ["without a length", {}, "", 400, "invalid-parameter"],
      ["with a negative length", {}, -1, 400, "invalid-parameter"],
      ["with a length that is no number", {}, "10 ", 201, ""],
      ["with a length of many digits", {}, "9".repeat(16), 400, "invalid-parameter"],
      ["with a length beyond the limit", {}, 100_001, 413, "payload-too-large"],
      ["with a huge length", {}, "9".repeat(15), 413, "payload-too-large"],
      ["with a length that comes later", { "upload-defer-length": "1" }, 10, 400, "invalid-parameter"],
      ["as a part of another", { "upload-concat": "partial" }, 10, 400, "invalid-parameter"],
      ["with metadata without base64", { "upload-metadata": "filename a.pdf?" }, 10, 400, "invalid-parameter"],
      ["with metadata twice", { "upload-metadata": "a YQ==,a YQ==" }, 10, 400, "invalid-parameter"],
      ["with long metadata", { "upload-metadata": `a ${"YWFh".repeat(600)}` }, 10, 400, "invalid-parameter"],
      ["with metadata that ends with a comma", { "upload-metadata": "a YQ==," }, 10, 400, "invalid-parameter"]
    ])("%s", async (_, headers, length, status, slug) => {
      const answer = await announce(stage(), ann, "papers.invoice", length, headers)
      expect(answer.status, answer.text).toBe(status)
      if (slug !== "") expect(slugOf(answer)).toEqual(refused(status, slug))
      expect(answer.headers.get("tus-resumable")).toBe("1.0.0")
      if (status === 412) expect(answer.headers.get("tus-version")).toBe("1.0.0")
      const location = answer.headers.get("location")
      if (location !== null) await ending(stage(), ann, location)
    })

    it("for what they are not for, as whole uploads are", async () => {
      const statusOf = async (caller: typeof ann | null, place: string) =>
        (await announce(stage(), caller, place, 5)).status
      expect(await statusOf(null, "papers.invoice")).toBe(401)
      expect(await statusOf(eve, "papers.invoice")).toBe(403)
      expect(await statusOf(ann, "nothing.invoice")).toBe(404)
      expect(await statusOf(ann, "papers.title")).toBe(400)
      expect(await statusOf(ann, "papers.confidential")).toBe(400)
    })

    it("with a piece that is none", async () => {
      const location = await begun(stage(), ann, "papers.scan", 10)
      const sent = (headers: { readonly [name: string]: string }, raw = "abc") =>
        piece(stage(), ann, location, 0, raw, headers)
      expect(slugOf(await sent({ "tus-resumable": "1.1.0" }))).toEqual(refused(412, "unsupported-protocol"))
      expect(slugOf(await sent({ "content-type": "text/plain" }))).toEqual(refused(415, "unsupported-media-type"))
      expect(slugOf(await sent({ "content-encoding": "gzip" }))).toEqual(refused(415, "unsupported-media-type"))
      for (const offset of ["", "-1", "x", "1.5", "9".repeat(16)]) {
        expect(slugOf(await sent({ "upload-offset": offset }))).toEqual(refused(400, "invalid-parameter"))
      }
      const ahead = await sent({ "upload-offset": "4" })
      expect([...slugOf(ahead), ahead.json["offset"]]).toEqual([...refused(409, "conflict"), 0])
      expect(slugOf(await sent({}, "more than ten"))).toEqual(refused(413, "payload-too-large"))
      expect(await offsetOf(stage(), ann, location)).toBe(0)
      const without = await stage().service.call(ann, "PATCH", location, {
        raw: "abc",
        headers: { ...pieceType, "upload-offset": "0" }
      })
      expect(without.status).toBe(412)
      expect((await stage().service.call(ann, "PUT", location)).headers.get("allow")).toBe(
        "GET, HEAD, POST, PATCH, DELETE, OPTIONS"
      )
      expect((await ending(stage(), ann, location)).status).toBe(204)
      expect((await ending(stage(), ann, location)).status).toBe(404)
      expect((await sent({})).status).toBe(404)
    })

    it("by their first bytes, and leave nothing", async () => {
      const { private: storage } = stage().storages
      const before = [temporary(storage), held(storage)]
      const location = await begun(stage(), ann, "papers.invoice", 90_000, metadata({ filename: "a.pdf" }))
      expect((await piece(stage(), ann, location, 0, "MZ no pdf ")).status).toBe(204)
      const answer = await piece(stage(), ann, location, 10, "x".repeat(70_000))
      expect(slugOf(answer)).toEqual(refused(415, "unsupported-media-type"))
      expect(answer.json["detected"]).toBe("text/plain")
      expect((await state(stage(), ann, location)).status).toBe(404)
      expect([temporary(storage), held(storage)]).toEqual(before)
      const whole = await announce(stage(), ann, "papers.invoice", 4, pieceType, "text")
      expect(slugOf(whole)).toEqual(refused(415, "unsupported-media-type"))
      expect([temporary(storage), held(storage)]).toEqual(before)
    })
  })

  it("are nobody else's", async () => {
    const location = await begun(stage(), ann, "papers.scan", 10)
    for (const caller of [bob, tom, admin, { ...ann, tenant: "t2" }]) {
      expect((await state(stage(), caller, location)).status).toBe(404)
      expect((await stage().service.get(caller, location)).status).toBe(404)
      expect((await piece(stage(), caller, location, 0, "abc")).status).toBe(404)
      expect((await ending(stage(), caller, location)).status).toBe(404)
    }
    const key = location.slice(location.lastIndexOf("/") + 1)
    for (
      const path of [
        `${base}/products:upload/${key}`,
        `${location}x`,
        `${base}/papers:upload/x`,
        `${base}/papers:upload/`
      ]
    ) {
      expect((await state(stage(), ann, path)).status).toBe(404)
    }
    expect((await state(stage(), eve, location)).status).toBe(403)
    expect((await state(stage(), null, location)).status).toBe(401)
    expect(await offsetOf(stage(), ann, location)).toBe(0)
    await ending(stage(), ann, location)
  })

  it("ask for access again with every piece", async () => {
    const location = await begun(stage(), ann, "papers.scan", 10)
    const reader = { ...ann, roles: ["reader"] }
    expect((await piece(stage(), reader, location, 0, "abc")).status).toBe(403)
    expect((await stage().service.get(reader, location)).status).toBe(403)
    expect((await ending(stage(), reader, location)).status).toBe(403)
    const confidential = await begun(stage(), admin, "papers.confidential", 10)
    // The field is hidden now.
    expect((await piece(stage(), { ...admin, roles: ["clerk"] }, confidential, 0, "abc")).status).toBe(404)
    for (const [caller, each] of [[ann, location], [admin, confidential]] as const) await ending(stage(), caller, each)
  })

  it("are kept for 24 hours, then gone, with all that belongs to them", async () => {
    const { clock, storages: { archive, private: storage } } = stage()
    const [first, second] = [
      await begun(stage(), ann, "papers.scan", 100_000),
      await begun(stage(), ann, "papers.invoice", pdf().length)
    ]
    await piece(stage(), ann, first, 0, "x".repeat(70_000))
    await piece(stage(), ann, second, 0, pdf())
    clock.now += day - 1_000
    await cleanup(stage())
    expect(await offsetOf(stage(), ann, first)).toBe(70_000)
    expect((await stage().service.get(ann, second)).status).toBe(200)
    clock.now += 1_000
    expect((await state(stage(), ann, first)).status).toBe(404)
    expect((await piece(stage(), ann, first, 70_000, "x")).status).toBe(404)
    expect((await stage().service.get(ann, second)).status).toBe(404)
    clock.now += 3_600_001
    await cleanup(stage())
    expect([temporary(archive), temporary(storage)]).toEqual([[], []])
  })

  it("count as announced where room is limited, and give it back", async () => {
    const { small } = stage().storages
    const status = async (length: number) => (await announce(stage(), ann, "bins.blob", length)).status
    const first = await begun(stage(), ann, "bins.blob", 600)
    expect(slugOf(await announce(stage(), ann, "bins.blob", 401))).toEqual(refused(507, "insufficient-storage"))
    // A list counts the same: another process knows of it, too.
    stage().clock.now += 6 * 60_000
    expect(await status(401)).toBe(507)
    expect((await ending(stage(), ann, first)).status).toBe(204)
    const second = await begun(stage(), ann, "bins.blob", 900)
    await piece(stage(), ann, second, 0, "x".repeat(900))
    expect((await stage().service.get(ann, second)).status).toBe(200)
    expect(await status(101)).toBe(507)
    const third = await begun(stage(), ann, "bins.blob", 100)
    const fourth = await begun(stage(), ann, "bins.blob", 0)
    expect(await status(0)).toBe(507)
    for (const each of [third, fourth, second]) await ending(stage(), ann, each)
    stage().clock.now += 26 * 3_600_000
    await cleanup(stage())
    expect([held(small), temporary(small)]).toEqual([[], []])
    expect(await status(1_000)).toBe(201)
    stage().clock.now += 26 * 3_600_000
    await cleanup(stage())
  })

  it("are limited in number and in what they announce, for each person", async () => {
    const { clock } = stage()
    const answers = await Promise.all(Array.from({ length: 60 }, () => announce(stage(), bob, "papers.invoice", 10)))
    const taken = answers.filter(({ status }) => status === 201)
    expect(taken.length).toBeLessThanOrEqual(50)
    for (let i = taken.length; i < 50; i++) await begun(stage(), bob, "papers.invoice", 10)
    const answer = await announce(stage(), bob, "papers.invoice", 10)
    expect([...slugOf(answer), answer.headers.get("retry-after")]).toEqual([...refused(429, "too-many-requests"), "60"])
    const other = await begun(stage(), ann, "papers.invoice", 10)
    await ending(stage(), ann, other)
    clock.now += day
    const next = await begun(stage(), bob, "papers.invoice", 10)
    await ending(stage(), bob, next)
    clock.now += 2 * 3_600_000
    await cleanup(stage())
  })

  describe("begun again with the same idempotency key", () => {
    const key = (of: string) => ({ "idempotency-key": of })
    const uploads = (): number => temporary(stage().storages.small).length
    const all = async (headers: { readonly [name: string]: string }, caller = ann, length = 100, field = "bins.blob") =>
      begun(stage(), caller, field, length, headers)

    it("are the same upload, and count once", async () => {
      const before = uploads()
      const first = await all(key("a"))
      const answers = await Promise.all(Array.from({ length: 5 }, () => all(key("a"))))
      expect(uploads()).toBe(before + 1)
      await piece(stage(), ann, first, 0, "x".repeat(40))
      for (const each of [...answers, await all(key("a"))]) expect(await offsetOf(stage(), ann, each)).toBe(40)
      // Two more have room beside it.
      const others = [await all(key("b")), await all(metadata({ filename: "b" }), ann, 100)]
      expect(uploads()).toBe(before + 3)
      for (const each of [first, ...others]) expect((await ending(stage(), ann, each)).status).toBe(204)
      expect(uploads()).toBe(before)
    })

    it("are one where they are begun at once", async () => {
      const before = uploads()
      const answers = await Promise.all(
        Array.from({ length: 3 }, () => announce(stage(), ann, "bins.blob", 50, key("c")))
      )
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
      expect(uploads()).toBe(before + 1)
      await ending(stage(), ann, answers[0]!.headers.get("location")!)
      expect(uploads()).toBe(before)
    })

    it("are others where the request is another, or somebody else's, or the first one is over", async () => {
      const before = uploads()
      const places = [
        await all(key("d"), ann, 10),
        await all(key("d"), ann, 11),
        await all(key("d"), bob, 10)
      ]
      expect(uploads()).toBe(before + 3)
      for (const [i, each] of places.entries()) await ending(stage(), i === 2 ? bob : ann, each)
      const first = await all(key("d"), ann, 10)
      await piece(stage(), ann, first, 0, "0123456789")
      const again = await all(key("d"), ann, 10)
      expect(await offsetOf(stage(), ann, again)).toBe(0)
      await piece(stage(), ann, again, 0, "9876543210")
      const { small } = stage().storages
      expect(held(small).map((path) => Buffer.from(small.files.get(path)!.bytes).toString()).sort()).toEqual([
        "0123456789",
        "9876543210"
      ])
      for (const each of [first, again]) await ending(stage(), ann, each)
      stage().clock.now += 26 * 3_600_000
      await cleanup(stage())
    })

    it("are begun beyond the limit of a person, too: nothing is begun", async () => {
      const first = await begun(stage(), bob, "papers.invoice", 10, key("e"))
      for (let i = 1; i < 50; i++) await begun(stage(), bob, "papers.invoice", 10)
      expect((await announce(stage(), bob, "papers.invoice", 10)).status).toBe(429)
      expect((await announce(stage(), bob, "papers.invoice", 10, key("f"))).status).toBe(429)
      const again = await begun(stage(), bob, "papers.invoice", 10, key("e"))
      await piece(stage(), bob, first, 0, "%PDF-")
      expect(await offsetOf(stage(), bob, again)).toBe(5)
      stage().clock.now += 26 * 3_600_000
      await cleanup(stage())
    })

    it("say what has come of a first piece", async () => {
      const headers = { ...key("g"), ...pieceType }
      const first = await announce(stage(), ann, "papers.scan", 10, headers, "01234")
      const again = await announce(stage(), ann, "papers.scan", 10, headers, "01234")
      expect([first, again].map((each) => [each.status, each.headers.get("upload-offset")])).toEqual([
        [201, "5"],
        [201, "5"]
      ])
      await piece(stage(), ann, again.headers.get("location")!, 5, "56789")
      expect((await stage().service.get(ann, first.headers.get("location")!)).json["file"]).toMatchObject({ size: 10 })
    })

    it("are refused with a key that is none", async () => {
      expect(slugOf(await announce(stage(), ann, "bins.blob", 5, key("ü")))).toEqual(refused(400, "invalid-parameter"))
    })
  })

  it("keep what came before a line broke, and go on from there", async () => {
    const body = new Uint8Array(200_000).fill(120)
    const location = await begun(stage(), ann, "papers.scan", body.length, metadata({ filename: "a.txt" }))
    for (const size of [10, 5_000, 100_000, 1]) {
      const at = await offsetOf(stage(), ann, location)
      let sent = false
      const cut = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          if (sent) controller.error(new Error("cut"))
          else controller.enqueue(body.subarray(at, at + size))
          sent = true
        }
      }, { highWaterMark: 0 })
      const answer = await piece(stage(), ann, location, at, cut)
      expect(answer.status).toBe(400)
      expect(await offsetOf(stage(), ann, location)).toBe(at + size)
    }
    const at = await offsetOf(stage(), ann, location)
    expect((await piece(stage(), ann, location, at, body.subarray(at))).status).toBe(204)
    expect((await stage().service.get(ann, location)).json["file"]).toEqual({
      name: "a.txt",
      type: "text/plain",
      size: body.length
    })
  })

  it("take one piece at a time: a later one ends an earlier that waits for its sender", async () => {
    const location = await begun(stage(), ann, "papers.scan", 30, metadata({ filename: "a.txt" }))
    const waits = Promise.withResolvers<void>()
    let pulled = 0
    const slow = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        if (++pulled > 1) return waits.promise
        controller.enqueue(new TextEncoder().encode("0123456789"))
      }
    }, { highWaterMark: 0 })
    const first = piece(stage(), ann, location, 0, slow)
    await vi.waitFor(() => expect(pulled).toBe(2))
    const second = await piece(stage(), ann, location, 0, "another text of 30 characters!")
    expect(slugOf(second)).toEqual(refused(409, "conflict"))
    expect(slugOf(await first)).toEqual(refused(409, "conflict"))
    expect(await offsetOf(stage(), ann, location)).toBe(10)
    const many = await Promise.all(
      Array.from({ length: 4 }, () => piece(stage(), ann, location, 10, "abcdefghijklmnopqrst"))
    )
    expect(many.map(({ status }) => status).filter((status) => status !== 409)).toEqual([204])
    waits.resolve()
    expect((await stage().service.get(ann, location)).json["file"]).toMatchObject({ size: 30 })
    const { archive } = stage().storages
    expect(held(archive).map((each) => Buffer.from(archive.files.get(each)!.bytes).toString())).toContain(
      "0123456789abcdefghijklmnopqrst"
    )
  })

  it("may be ended while a piece is on its way", async () => {
    const { archive } = stage().storages
    const before = [held(archive), temporary(archive)]
    const location = await begun(stage(), ann, "papers.scan", 200_000)
    let pulled = 0
    const slow = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        if (++pulled > 1) return new Promise<void>(() => {})
        controller.enqueue(new Uint8Array(100_000))
      }
    }, { highWaterMark: 0 })
    const first = piece(stage(), ann, location, 0, slow)
    await vi.waitFor(() => expect(pulled).toBe(2))
    expect((await ending(stage(), ann, location)).status).toBe(204)
    expect((await first).status).toBe(409)
    expect([held(archive), temporary(archive)]).toEqual(before)
  })

  it("may be ended after the end: a record keeps its file, and any other goes", async () => {
    const { archive } = stage().storages
    const send = async () => {
      const location = await begun(stage(), ann, "papers.scan", 4)
      await piece(stage(), ann, location, 0, "text")
      return { location, ticket: (await stage().service.get(ann, location)).json["value"] }
    }
    const [one, two] = [await send(), await send()]
    const record = await create(stage(), ann, "papers", { title: "x", owner_id: "ann", scan: one.ticket })
    for (const { location } of [one, two]) {
      expect((await ending(stage(), ann, location)).status).toBe(204)
      expect((await stage().service.get(ann, location)).status).toBe(404)
    }
    stage().clock.now += 26 * 3_600_000
    await cleanup(stage())
    const uri = record["scan"]!["uri"] as unknown as string
    expect(held(archive)).toContain(/archive:([^?]+)/.exec(uri)![1])
    expect((await patch(stage(), ann, `papers/${record["id"] as unknown as string}`, { scan: two.ticket })).status)
      .toBe(400)
  })

  it("whose processor throws are a 500, and leave nothing", async () => {
    const { archive } = stage().storages
    const before = [held(archive), temporary(archive)]
    behaviour.run = () => {
      throw new Error("broken")
    }
    const location = await begun(stage(), ann, "papers.scan", 4, metadata({ filename: "a.txt" }))
    expect((await piece(stage(), ann, location, 0, "text")).status).toBe(500)
    behaviour.run = ({ name }) => name.length
    expect([held(archive), temporary(archive)]).toEqual(before)
    expect((await state(stage(), ann, location)).status).toBe(404)
    expect((stage().service.unhandled as unknown[]).splice(0)).toHaveLength(1)
  })

  it("whose processor throws here after another process has come to the end keep their file", async () => {
    const { archive } = stage().storages
    const location = await begun(stage(), ann, "papers.scan", 4, metadata({ filename: "a.txt" }))
    /** The record before the end, as another process may have read it. */
    let earlier: readonly [path: string, kept: { readonly bytes: Uint8Array; readonly modified: number }] | undefined
    behaviour.run = ({ name }) => {
      earlier = [...archive.files].find(([path]) => path.startsWith(".tmp/~"))
      return name.length
    }
    expect((await piece(stage(), ann, location, 0, "text")).status).toBe(204)
    const { json } = await stage().service.get(ann, location)
    const record = await create(stage(), ann, "papers", { title: "x", owner_id: "ann", scan: json["value"] })
    const [path, begunRecord] = earlier!
    const donePath = `${path}-done`
    const done = archive.files.get(donePath)!
    archive.files.delete(donePath)
    archive.files.set(path, begunRecord)
    behaviour.run = () => {
      archive.files.set(donePath, done)
      throw new Error("broken")
    }
    expect((await stage().service.get(ann, location)).status).toBe(500)
    behaviour.run = ({ name }) => name.length
    expect((stage().service.unhandled as unknown[]).splice(0)).toHaveLength(1)
    expect((await stage().service.get(null, record["scan"]!["url"] as unknown as string)).text).toBe("text")
    expect((await stage().service.get(ann, location)).json["file"]).toEqual(json["file"])
  })

  it("keep their answer where an earlier record reaches the storage late", async () => {
    const image = new Uint8Array(fakeImage("png", { width: 300, height: 200 }))
    const { public: storage } = stage().storages
    const { put } = storage.service
    const records: Array<readonly [path: string, kept: { readonly bytes: Uint8Array; readonly modified: number }]> = []
    Object.assign(storage.service, {
      put: (...args: Parameters<typeof put>) =>
        Effect.tap(put(...args), () =>
          Effect.sync(() => {
            if (args[0].startsWith(".tmp/~")) records.push([args[0], storage.files.get(args[0])!])
          }))
    })
    // What came is replaced by another image, so only the last record leads to a file.
    const location = await begun(stage(), ann, "products.logo", image.length)
    expect((await piece(stage(), ann, location, 0, image)).status).toBe(204)
    Object.assign(storage.service, { put })
    const { json } = await stage().service.get(ann, location)
    expect(records).toHaveLength(3)
    for (const [path, kept] of records.slice(0, -1)) {
      storage.files.set(path, kept)
      const again = await stage().service.get(ann, location)
      expect([again.status, again.json["file"]]).toEqual([200, json["file"]])
    }
    expect((await ending(stage(), ann, location)).status).toBe(204)
    expect((await stage().service.get(ann, location)).status).toBe(404)
  })

  it("end where the storage broke off when the file was visible, with a part of the upload left", async () => {
    const { archive } = stage().storages
    const location = await begun(stage(), ann, "papers.scan", 4, metadata({ filename: "a.txt" }))
    const [name, nothing] = [...archive.files].find(([path]) => /^\.tmp\/[^~]/.test(path))!
    behaviour.run = () => {
      // The file is visible by now. The process then dies.
      archive.files.set(name, nothing)
      archive.down = "Unavailable"
      return 1
    }
    expect((await piece(stage(), ann, location, 0, "text")).status).toBe(503)
    behaviour.run = ({ name }) => name.length
    archive.down = null
    stage().clock.now += 5_001
    expect(await offsetOf(stage(), ann, location)).toBe(4)
    const { json, status } = await stage().service.get(ann, location)
    expect([status, json["file"]]).toEqual([200, { name: "a.txt", type: "text/plain", size: 4 }])
    expect(temporary(archive)).not.toContain(name)
    const record = await create(stage(), ann, "papers", { title: "x", owner_id: "ann", scan: json["value"] })
    expect((await stage().service.get(null, record["scan"]!["url"] as unknown as string)).text).toBe("text")
  })

  it("lose nothing where each step of the last piece may be the last one of a process", async () => {
    const image = new Uint8Array(fakeImage("png", { width: 30, height: 20 }))
    const { public: storage } = stage().storages
    const earlier = new Set(held(storage))
    let steps = 0
    for (let done = false; !done;) {
      const failing = ++steps
      const location = await begun(stage(), ann, "products.image", image.length, metadata({ filename: "a.png" }))
      await piece(stage(), ann, location, 0, image.subarray(0, 20))
      const before = storage.calls
      storage.failsFrom = before + failing
      const last = await piece(stage(), ann, location, 20, image.subarray(20))
      storage.failsFrom = Number.POSITIVE_INFINITY
      done = last.status === 204
      if (!done) expect(slugOf(last), String(failing)).toEqual(refused(503, "unavailable"))
      stage().clock.now += 5_001
      const at = await offsetOf(stage(), ann, location)
      if (at < image.length) expect((await piece(stage(), ann, location, at, image.subarray(at))).status).toBe(204)
      const { json, status } = await stage().service.get(ann, location)
      expect([failing, status, json["file"]]).toEqual([failing, 200, {
        name: "a.png",
        type: "image/png",
        size: image.length
      }])
      const record = await create(stage(), ann, "products", { name: "x", image: json["value"] })
      const variants = record["image"]!["variants"] as unknown as { readonly [name: string]: { readonly url: string } }
      for (
        const url of [
          record["image"]!["url"] as unknown as string,
          ...Object.values(variants).map(({ url }) => url)
        ]
      ) {
        expect((await stage().service.get(null, url)).status).toBe(200)
      }
    }
    expect(steps).toBeGreaterThan(8)
    // Whatever is there is held by a record, or scheduled.
    const told = scheduled(storage).map((path) =>
      (JSON.parse(Buffer.from(storage.files.get(path)!.bytes).toString()) as { readonly path: string }).path
    )
    for (const path of held(storage).filter((each) => !earlier.has(each))) {
      expect(told.some((each) => path === each || path.startsWith(`${each}.`))).toBe(true)
    }
  })
})
