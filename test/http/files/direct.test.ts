// Direct uploads: what may be announced, what a confirmation makes of an object in the bucket, and what its sender cannot do with the signed request.
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { StorageError } from "../../../core/ports/storage.ts"
import { fakeImage } from "../../fakes/images.ts"
import type { FakeStorage } from "../../fakes/storage.ts"
import type { Answer, Answered, TestCaller } from "../../support/composed.ts"
import { announce, begun, ending, offsetOf, piece } from "./pieces.ts"
import { admin, ann, base, behaviour, bob, cleanup, create, eve, held, onStage, pdf, scheduled, tom } from "./stage.ts"
import type { Stage } from "./stage.ts"

const hour = 3_600_000
const slugOf = ({ json, status }: Answer): readonly unknown[] => [status, json["type"]]
const refused = (status: number, slug: string) => [status, `urn:service:problem:${slug}`]
const temporary = ({ files }: FakeStorage): readonly string[] =>
  [...files.keys()].filter((path) => path.startsWith(".tmp/"))

/** The same without records, which tell for a day that an upload has ended. */
const objects = (storage: FakeStorage): readonly string[] =>
  temporary(storage).filter((path) => !path.startsWith(".tmp/~"))

/** Announces a file for `resource.field`. */
const direct = (
  { service }: Stage,
  caller: TestCaller | null,
  place: string,
  body: object,
  query = "&direct=1"
): Promise<Answer> => {
  const [resource, field] = place.split(".")
  return service.call(caller, "POST", `${base}/${resource}:upload?field=${field}${query}`, { body })
}

/** The object that a signed request writes. */
const objectOf = ({ json }: Answer): string => new URL(json["url"] as unknown as string).pathname.slice(1)

/** Does what the bucket does with the signed request. */
const send = ({ clock }: Stage, storage: FakeStorage, answer: Answer, bytes: Uint8Array | string): void => {
  storage.files.set(objectOf(answer), {
    bytes: typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes,
    modified: clock.now
  })
}

const confirm = ({ service }: Stage, caller: TestCaller | null, location: string): Promise<Answer> =>
  service.call(caller, "POST", location)

const textOf = (storage: FakeStorage, path: string): string => Buffer.from(storage.files.get(path)!.bytes).toString()

/** The path of the file that a ticket leads to, once a record has taken it. */
const pathOf = async (stage: Stage, field: "scan" | "invoice", ticket: unknown): Promise<string> => {
  const record = await create(stage, ann, "papers", { title: "x", owner_id: "ann", [field]: ticket })
  return /:([^?]+)/.exec((record[field] as Answered)["uri"] as unknown as string)![1]!
}

onStage(
  "direct uploads",
  (stage) => {
    /** Announces and sends a file; gives the address that confirms it. */
    const sent = async (place: string, name: string, bytes: Uint8Array | string, storage: FakeStorage) => {
      const size = Buffer.from(bytes).length
      const answer = await direct(stage(), ann, place, { name, size })
      expect(answer.status, answer.text).toBe(201)
      send(stage(), storage, answer, bytes)
      return { answer, location: answer.headers.get("location")!, object: objectOf(answer) }
    }

    it("go to the bucket by a signed request, and are a file once they are confirmed", async () => {
      const { clock, service, storages: { private: storage } } = stage()
      const body = pdf("direct")
      const announced = { name: "März 1.pdf", type: "application/pdf", size: body.length }
      const answer = await direct(stage(), ann, "papers.invoice", announced)
      expect([answer.status, answer.json]).toEqual([201, {
        method: "PUT",
        url: expect.stringMatching(/^https:\/\/bucket\.example\/\.tmp\/[^/]+\?seconds=900$/) as string,
        headers: { "content-type": "application/octet-stream", "content-length": String(body.length) },
        expires: new Date(clock.now + 900_000).toISOString()
      }])
      const location = answer.headers.get("location")!
      expect(location).toMatch(/^\/api\/v1\/papers:upload\/[A-Za-z0-9_-]+$/)
      expect(answer.headers.get("cache-control")).toBe("no-store")
      expect(slugOf(await confirm(stage(), ann, location))).toEqual(refused(409, "conflict"))
      send(stage(), storage, answer, body)
      const before = held(storage)
      expect(slugOf(await service.get(ann, location))).toEqual(refused(409, "conflict"))
      for (const path of [objectOf(answer), objectOf(answer).slice(5)]) {
        for (const provider of ["private", "public"]) {
          expect((await service.get(null, `/api/files/${provider}/${path}`)).status).not.toBe(200)
        }
      }
      expect(held(storage)).toEqual(before)
      const tickets = [
        await confirm(stage(), ann, location),
        await confirm(stage(), ann, location),
        await service.get(ann, location)
      ]
      for (const { json, status } of tickets) {
        expect([status, json]).toEqual([200, {
          value: expect.stringMatching(/^[A-Za-z0-9_-]{40,}$/) as string,
          file: { name: "März 1.pdf", type: "application/pdf", size: body.length },
          derived: {}
        }])
      }
      const paths = new Set<string>()
      for (const { json } of tickets) paths.add(await pathOf(stage(), "invoice", json["value"]))
      const [path = ""] = paths
      expect([paths.size, textOf(storage, path)]).toEqual([1, new TextDecoder().decode(body)])
      // Whoever has the signed request does not know the name of the file.
      expect(path).not.toContain(/\.([^.]+)$/.exec(objectOf(answer))![1])
      expect(temporary(storage)).not.toContain(objectOf(answer))
    })

    it("make copies of images, derived values and placeholders", async () => {
      const image = new Uint8Array(fakeImage("png", { width: 300, height: 200 }))
      const { public: storage } = stage().storages
      const { location } = await sent("products.image", "a.jpg", image, storage)
      const { json, status } = await confirm(stage(), ann, location)
      expect([status, json["derived"]]).toEqual([
        200,
        expect.objectContaining({ image_width: 300, image_height: 200, image_ratio: "1.50" })
      ])
      expect(json["file"]).toMatchObject({ name: "a.jpg", type: "image/png" })
      const record = await create(stage(), ann, "products", { name: "x", image: json["value"] })
      expect(Object.keys(record["image"]!["variants"] as unknown as object)).toEqual(["card", "full"])
      const logo = await sent("products.logo", "a.png", image, storage)
      expect((await confirm(stage(), ann, logo.location)).json["file"]).toMatchObject({ type: "image/webp" })
      // The copy of the upload is not kept beside the image that stands for it.
      expect(held(storage).filter((path) => path.endsWith(".png"))).toHaveLength(1)
    })

    it("may have no bytes", async () => {
      const answer = await direct(stage(), ann, "papers.scan", { name: "empty.txt", size: 0 })
      const { json, status } = await confirm(stage(), ann, answer.headers.get("location")!)
      expect([status, json["file"]]).toEqual([200, { name: "empty.txt", type: "text/plain", size: 0 }])
    })

    describe("are refused", () => {
      it.each<readonly [string, object, number, string]>([
        ["without a size", { name: "a.txt" }, 400, "invalid-parameter"],
        ["with a size beyond the limit", { name: "a.txt", size: 25_000_001 }, 413, "payload-too-large"],
        ["with a long body", { name: "a".repeat(20_000), size: 5 }, 413, "payload-too-large"]
      ])("%s", async (_, body, status, slug) => {
        const { archive } = stage().storages
        const before = temporary(archive)
        const answer = await direct(stage(), ann, "papers.scan", body)
        expect(slugOf(answer), answer.text).toEqual(refused(status, slug))
        expect(temporary(archive)).toEqual(before)
      })

      it("with other parameters, or as another body", async () => {
        const body = { name: "a.txt", size: 5 }
        for (const query of ["&direct=0", "&direct=", "&direct=1&direct=1", "&direct=1&name=a.txt"]) {
          expect(slugOf(await direct(stage(), ann, "papers.scan", body, query)), query).toEqual(
            refused(400, "invalid-parameter")
          )
        }
        const other = (type: string, raw: string) =>
          stage().service.call(ann, "POST", `${base}/papers:upload?field=scan&direct=1`, {
            raw,
            headers: { "content-type": type }
          })
        expect(slugOf(await other("text/plain", JSON.stringify(body)))).toEqual(refused(415, "unsupported-media-type"))
        expect(slugOf(await other("multipart/form-data", "x"))).toEqual(refused(415, "unsupported-media-type"))
        expect(slugOf(await other("application/json", "{"))).toEqual(refused(400, "malformed-json"))
      })

      it("for what they are not for, as whole uploads are", async () => {
        const statusOf = async (caller: TestCaller | null, place: string) =>
          (await direct(stage(), caller, place, { name: "a", size: 5 })).status
        expect(await statusOf(null, "papers.invoice")).toBe(401)
        expect(await statusOf(eve, "papers.invoice")).toBe(403)
        expect(await statusOf(ann, "nothing.invoice")).toBe(404)
        expect(await statusOf(ann, "papers.title")).toBe(400)
        expect(await statusOf(ann, "papers.confidential")).toBe(400)
      })
    })

    it("of another size than was announced are refused, and may be sent again", async () => {
      const { private: storage } = stage().storages
      const body = pdf()
      const { answer, location } = await sent("papers.invoice", "a.pdf", body, storage)
      for (const wrong of [body.subarray(1), new Uint8Array([...body, 32]), new Uint8Array(0)]) {
        const before = held(storage)
        send(stage(), storage, answer, wrong)
        const refusal = await confirm(stage(), ann, location)
        expect([...slugOf(refusal), refusal.json["size"]]).toEqual([...refused(409, "conflict"), wrong.length])
        expect(held(storage)).toEqual(before)
      }
      send(stage(), storage, answer, body)
      expect((await confirm(stage(), ann, location)).status).toBe(200)
    })

    it("of another type than the field accepts are refused, and gone", async () => {
      const { private: storage } = stage().storages
      const before = [held(storage), objects(storage), scheduled(storage)]
      for (const text of ["<!doctype html><script>alert(1)</script>", "MZ no pdf at all"]) {
        const { location } = await sent("papers.invoice", "a.pdf", text, storage)
        const refusal = await confirm(stage(), ann, location)
        expect([...slugOf(refusal), refusal.json["detected"]]).toEqual([
          ...refused(415, "unsupported-media-type"),
          "text/plain"
        ])
        expect((await confirm(stage(), ann, location)).status).toBe(404)
        expect([held(storage), objects(storage), scheduled(storage)]).toEqual(before)
      }
    })

    it("that call themselves HTML are plain text", async () => {
      const { archive } = stage().storages
      const html = "<!doctype html><script>alert(1)</script>"
      const answer = await direct(stage(), ann, "papers.scan", { name: "a.html", type: "text/html", size: html.length })
      expect(answer.json["headers"]).toMatchObject({ "content-type": "application/octet-stream" })
      send(stage(), archive, answer, html)
      const { json } = await confirm(stage(), ann, answer.headers.get("location")!)
      expect([json["file"], json["corrected"]]).toEqual([
        { name: "a.html", type: "text/plain", size: html.length },
        { from: "text/html", to: "text/plain" }
      ])
      expect(await pathOf(stage(), "scan", json["value"])).toMatch(/\.txt$/)
    })

    it("confirmed many times at once are one file", async () => {
      const { archive } = stage().storages
      const before = held(archive).length
      const { location } = await sent("papers.scan", "a.txt", "once", archive)
      const answers = await Promise.all(Array.from({ length: 4 }, () => confirm(stage(), ann, location)))
      for (const { status } of answers) expect([200, 409]).toContain(status)
      const tickets = answers.filter(({ status }) => status === 200)
      expect(tickets.length).toBeGreaterThan(0)
      const paths = new Set<string>()
      for (const { json } of tickets) paths.add(await pathOf(stage(), "scan", json["value"]))
      expect([paths.size, held(archive).length]).toEqual([1, before + 1])
    })

    it("do not change once they have a ticket, whatever the signed request writes then", async () => {
      const { archive } = stage().storages
      const { answer, location, object } = await sent("papers.scan", "a.txt", "good", archive)
      const { json } = await confirm(stage(), ann, location)
      const path = await pathOf(stage(), "scan", json["value"])
      send(stage(), archive, answer, "evil")
      const again = await confirm(stage(), ann, location)
      expect([again.status, again.json["file"]]).toEqual([200, json["file"]])
      expect([textOf(archive, path), temporary(archive).includes(object)]).toEqual(["good", false])
      // Another process may have read the record before there was one.
      const record = temporary(archive).find((each) => each === `.tmp/~${object.slice(5)}-done`)!
      archive.files.delete(record)
      send(stage(), archive, answer, "evil")
      const other = await confirm(stage(), ann, location)
      expect(other.status).toBe(200)
      expect(await pathOf(stage(), "scan", other.json["value"])).not.toBe(path)
      expect(textOf(archive, path)).toBe("good")
    })

    it("that are changed between the look at them and their copy are refused", async () => {
      const { private: storage } = stage().storages
      const { direct: bucket } = storage.service
      const { copy } = bucket!
      const body = pdf()
      for (const [evil, status] of [["MZ".padEnd(body.length, "x"), 415], ["MZ", 409]] as const) {
        const before = held(storage)
        const { answer, location } = await sent("papers.invoice", "a.pdf", body, storage)
        Object.assign(bucket!, {
          copy: (...args: Parameters<typeof copy>) => {
            send(stage(), storage, answer, evil)
            return copy(...args)
          }
        })
        expect((await confirm(stage(), ann, location)).status).toBe(status)
        Object.assign(bucket!, { copy })
        expect(held(storage)).toEqual(before)
      }
    })

    it("are nobody else's, and access is asked again", async () => {
      const { private: storage } = stage().storages
      const { location } = await sent("papers.invoice", "a.pdf", pdf(), storage)
      for (const caller of [bob, tom, admin, { ...ann, tenant: "t2" }]) {
        expect((await confirm(stage(), caller, location)).status).toBe(404)
      }
      const key = location.slice(location.lastIndexOf("/") + 1)
      for (const path of [`${base}/products:upload/${key}`, `${location}x`, `${base}/papers:upload/x`]) {
        expect((await confirm(stage(), ann, path)).status).toBe(404)
      }
      expect((await confirm(stage(), eve, location)).status).toBe(403)
      expect((await confirm(stage(), { ...ann, roles: ["reader"] }, location)).status).toBe(403)
      expect((await confirm(stage(), null, location)).status).toBe(401)
      expect((await confirm(stage(), ann, location)).status).toBe(200)
    })

    it("and those in pieces do not take each other's requests", async () => {
      const { archive } = stage().storages
      const { location } = await sent("papers.scan", "a.txt", "text", archive)
      expect(slugOf(await piece(stage(), ann, location, 0, "text"))).toEqual(refused(409, "conflict"))
      expect((await ending(stage(), ann, location)).status).toBe(204)
      expect((await confirm(stage(), ann, location)).status).toBe(404)
      const pieced = await begun(stage(), ann, "papers.scan", 4)
      expect(slugOf(await confirm(stage(), ann, pieced))).toEqual(refused(409, "conflict"))
      expect(await offsetOf(stage(), ann, pieced)).toBe(0)
      expect((await ending(stage(), ann, pieced)).status).toBe(204)
    })

    it("are kept for 24 hours, then gone, with what was sent late", async () => {
      const { clock, storages: { archive, private: storage } } = stage()
      const late = await sent("papers.scan", "a.txt", "late", archive)
      const done = await sent("papers.invoice", "a.pdf", pdf(), storage)
      expect((await confirm(stage(), ann, done.location)).status).toBe(200)
      send(stage(), storage, done.answer, pdf())
      clock.now += 24 * hour - 1_000
      await cleanup(stage())
      expect(temporary(archive)).toContain(late.object)
      clock.now += 1_000
      for (const { location } of [late, done]) expect((await confirm(stage(), ann, location)).status).toBe(404)
      clock.now += hour + 1
      await cleanup(stage())
      expect([temporary(archive), temporary(storage)]).toEqual([[], []])
    })

    it("count as announced where room is limited, and give it back", async () => {
      const { small } = stage().storages
      const place = "bins.blob"
      const announced = (size: number) => direct(stage(), ann, place, { name: "a", size })
      const first = (await announced(600)).headers.get("location")!
      expect(slugOf(await announced(401))).toEqual(refused(507, "insufficient-storage"))
      expect((await announce(stage(), ann, place, 401)).status).toBe(507)
      // A list counts the same: another process knows of it, too.
      stage().clock.now += 6 * 60_000
      expect((await announced(401)).status).toBe(507)
      expect((await ending(stage(), ann, first)).status).toBe(204)
      const { location } = await sent(place, "a", "x".repeat(900), small)
      expect((await announced(101)).status).toBe(507)
      expect((await confirm(stage(), ann, location)).status).toBe(200)
      expect((await announced(101)).status).toBe(507)
      stage().clock.now += 6 * 60_000
      expect((await announced(101)).status).toBe(507)
      expect((await announced(100)).status).toBe(201)
      stage().clock.now += 26 * hour
      await cleanup(stage())
      expect([held(small), temporary(small)]).toEqual([[], []])
    })

    it("that have ended stay so, whatever the signed request writes then, and give their room back once", async () => {
      const { service, storages: { private: storage, small } } = stage()
      const { answer, location } = await sent("papers.invoice", "a.pdf", pdf(), storage)
      expect((await confirm(stage(), ann, location)).status).toBe(200)
      const { answer: wrong, location: refusedAt } = await sent("papers.invoice", "a.pdf", "no pdf", storage)
      expect((await confirm(stage(), ann, refusedAt)).status).toBe(415)
      expect((await ending(stage(), ann, location)).status).toBe(204)
      const files = held(storage)
      for (const [signed, at] of [[answer, location], [wrong, refusedAt]] as const) {
        send(stage(), storage, signed, pdf())
        expect((await confirm(stage(), ann, at)).status).toBe(404)
        expect((await service.get(ann, at)).status).toBe(404)
        expect((await ending(stage(), ann, at)).status).toBe(404)
      }
      expect(held(storage)).toEqual(files)

      const place = "bins.blob"
      const room = (size: number) => direct(stage(), ann, place, { name: "a", size })
      stage().clock.now += 6 * 60_000
      const kept = await sent(place, "a", "x".repeat(600), small)
      const gone = await sent(place, "a", "x".repeat(300), small)
      for (let i = 0; i < 3; i++) {
        send(stage(), small, gone.answer, "x".repeat(300))
        expect((await ending(stage(), ann, gone.location)).status).toBe(i === 0 ? 204 : 404)
      }
      expect((await room(401)).status).toBe(507)
      expect((await confirm(stage(), ann, kept.location)).status).toBe(200)
      send(stage(), small, kept.answer, "x".repeat(600))
      expect((await ending(stage(), ann, kept.location)).status).toBe(204)
      expect((await room(401)).status).toBe(507)
      stage().clock.now += 26 * hour
      await cleanup(stage())
      expect([temporary(small), temporary(storage)]).toEqual([[], []])
    })

    it("are limited in number for each person, together with those in pieces", async () => {
      const announced = (caller: TestCaller) => direct(stage(), caller, "papers.invoice", { name: "a.pdf", size: 10 })
      for (let i = 0; i < 25; i++) {
        expect((await announced(bob)).status).toBe(201)
        await begun(stage(), bob, "papers.invoice", 10)
      }
      const answer = await announced(bob)
      expect([...slugOf(answer), answer.headers.get("retry-after")]).toEqual([
        ...refused(429, "too-many-requests"),
        "60"
      ])
      expect((await announce(stage(), bob, "papers.invoice", 10)).status).toBe(429)
      expect((await announced(ann)).status).toBe(201)
      stage().clock.now += 26 * hour
      await cleanup(stage())
    })

    it("announced again with the same idempotency key are the same upload", async () => {
      const { archive } = stage().storages
      const before = temporary(archive).length
      const announced = (size: number) =>
        stage().service.call(ann, "POST", `${base}/papers:upload?field=scan&direct=1`, {
          body: { name: "a.txt", size },
          headers: { "idempotency-key": "one" }
        })
      const answers = [await announced(4), await announced(4)]
      expect(new Set(answers.map(objectOf)).size).toBe(1)
      expect(objectOf(await announced(5))).not.toBe(objectOf(answers[0]!))
      expect(temporary(archive)).toHaveLength(before + 2)
      send(stage(), archive, answers[0]!, "text")
      // A bucket that signs nothing ends no upload that has its signed request already.
      const { direct: bucket } = archive.service
      const { presignPut } = bucket!
      Object.assign(bucket!, {
        presignPut: () => Effect.fail(new StorageError({ reason: "Unavailable", cause: null }))
      })
      const failed = await announced(4)
      Object.assign(bucket!, { presignPut })
      expect(failed.status).toBe(503)
      expect((await confirm(stage(), ann, answers[1]!.headers.get("location")!)).status).toBe(200)
    })

    it("whose processor throws are a 500, and leave nothing", async () => {
      const { archive } = stage().storages
      const before = [held(archive), objects(archive)]
      const { location } = await sent("papers.scan", "a.txt", "text", archive)
      behaviour.run = () => {
        throw new Error("broken")
      }
      expect((await confirm(stage(), ann, location)).status).toBe(500)
      behaviour.run = ({ name }) => name.length
      expect([held(archive), objects(archive)]).toEqual(before)
      expect((stage().service.unhandled as unknown[]).splice(0)).toHaveLength(1)
    })

    it("lose nothing where each step of a confirmation may be the last one of a process", async () => {
      const image = new Uint8Array(fakeImage("png", { width: 30, height: 20 }))
      const { public: storage } = stage().storages
      const earlier = new Set(held(storage))
      let steps = 0
      for (let done = false; !done;) {
        const failing = ++steps
        const { location, object } = await sent("products.image", "a.png", image, storage)
        storage.failsFrom = storage.calls + failing
        const answer = await confirm(stage(), ann, location)
        storage.failsFrom = Number.POSITIVE_INFINITY
        done = answer.status === 200
        if (!done) expect(slugOf(answer), String(failing)).toEqual(refused(503, "unavailable"))
        stage().clock.now += 5_001
        const { json, status } = await confirm(stage(), ann, location)
        expect([failing, status, json["file"]]).toEqual([failing, 200, {
          name: "a.png",
          type: "image/png",
          size: image.length
        }])
        expect(temporary(storage)).not.toContain(object)
        const record = await create(stage(), ann, "products", { name: "x", image: json["value"] })
        const variants = record["image"]!["variants"] as unknown as {
          readonly [name: string]: { readonly url: string }
        }
        for (const { url } of [record["image"] as unknown as { readonly url: string }, ...Object.values(variants)]) {
          // The fake bucket answers with a redirect.
          expect((await stage().service.get(null, url)).status).toBe(302)
          expect(storage.files.has(url.replace("/api/files/public/", ""))).toBe(true)
        }
      }
      expect(steps).toBeGreaterThan(8)
      const told = scheduled(storage).map((path) =>
        (JSON.parse(textOf(storage, path)) as { readonly path: string }).path
      )
      for (const path of held(storage).filter((each) => !earlier.has(each))) {
        expect(told.some((each) => path === each || path.startsWith(`${each}.`))).toBe(true)
      }
    })

    it("that fail again and again leave no copies", async () => {
      const { private: storage } = stage().storages
      const before = held(storage)
      const { location } = await sent("papers.invoice", "a.pdf", pdf(), storage)
      const { read } = storage.service
      // The copy cannot be read.
      Object.assign(storage.service, {
        read: (...args: Parameters<typeof read>) => {
          if (held(storage).length > before.length) storage.trouble.set("read", "Denied")
          return read(...args)
        }
      })
      for (let i = 0; i < 3; i++) {
        expect((await confirm(stage(), ann, location)).status).toBe(503)
        storage.trouble.clear()
        expect(held(storage)).toEqual(before)
      }
      Object.assign(storage.service, { read })
      expect((await confirm(stage(), ann, location)).status).toBe(200)
    })
  },
  ["fake"],
  true
)

onStage("direct uploads to a folder", (stage) => {
  it("are refused, and the refusal names them", async () => {
    const answer = await direct(stage(), ann, "papers.invoice", { name: "a.pdf", size: 5 })
    expect(slugOf(answer)).toEqual(refused(400, "invalid-parameter"))
    expect(answer.json["errors"]).toEqual([{
      parameter: "direct",
      message: "The files of this field are in a folder, which takes no direct uploads.",
      hint: "Leave direct out, and send the file to the service."
    }])
    expect(temporary(stage().storages.private)).toEqual([])
  })
}, ["fake"])
