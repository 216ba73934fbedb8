// Cleanup on the stage: what is due goes, what a row holds stays, whoever else is at work. The model: no file that a row holds is ever lost.
import { describe, expect, it } from "vitest"
import { fakeImage } from "../fakes/images.ts"
import {
  admin,
  ann,
  base,
  cleanup,
  create,
  held,
  onStage,
  patch,
  pdf,
  scheduled,
  ticketFor,
  upload
} from "../http/files/stage.ts"
import type { Answered } from "../support/composed.ts"

const textOf = (value: Answered | undefined): string => value as unknown as string
const png = new Uint8Array(fakeImage("png", { width: 60, height: 60 }))
const hour = 3_600_000

/** The path of a value at its provider. */
const pathOf = (file: Answered | undefined): string => /^[a-z]+:([^?]+)/.exec(textOf(file?.["uri"]))![1]!

onStage("cleanup", (stage) => {
  it("deletes what a write let go when its retention is over, with its variants", async () => {
    const { clock, storages } = stage()
    const record = await create(stage(), ann, "products", {
      name: "x",
      image: await ticketFor(stage(), ann, "products.image", png)
    })
    const path = pathOf(record["image"])
    expect(held(storages.public).filter((each) => each.startsWith(path)).length).toBe(3)
    await patch(stage(), ann, `products/${textOf(record["id"])}`, { image: null })
    expect(held(storages.public).filter((each) => each.startsWith(path)).length).toBe(3)
    await cleanup(stage())
    expect(held(storages.public).filter((each) => each.startsWith(path))).toEqual([])

    const paper = await create(stage(), ann, "papers", {
      title: "x",
      owner_id: "ann",
      invoice: await ticketFor(stage(), ann, "papers.invoice", pdf())
    })
    const invoice = pathOf(paper["invoice"])
    await stage().service.call(ann, "DELETE", `${base}/papers/${textOf(paper["id"])}`)
    clock.now += 23 * hour
    await cleanup(stage())
    expect(held(storages.private)).toContain(invoice)
    clock.now += hour + 1
    await cleanup(stage())
    expect(held(storages.private)).not.toContain(invoice)
  })

  it("deletes uploads that nobody took, 25 hours later, and keeps those that a row holds", async () => {
    const { clock, storages } = stage()
    const lost = await upload(stage(), ann, "papers.invoice", pdf("lost"))
    expect(lost.status).toBe(201)
    const kept = await create(stage(), ann, "papers", {
      title: "k",
      owner_id: "ann",
      invoice: await ticketFor(stage(), ann, "papers.invoice", pdf("kept"))
    })
    const before = held(storages.private).length
    clock.now += 25 * hour - 60_000
    await cleanup(stage())
    expect(held(storages.private).length).toBe(before)
    clock.now += 120_000
    const result = await cleanup(stage())
    expect(result["deleted"]).toBeGreaterThanOrEqual(1)
    expect(result["kept"]).toBeGreaterThanOrEqual(1)
    expect(held(storages.private)).toContain(pathOf(kept["invoice"]))
    expect(scheduled(storages.private)).toEqual([])
  })

  it("keeps the file of a soft-deleted row", async () => {
    const { clock, storages } = stage()
    const bin = await create(stage(), ann, "bins", { blob: await ticketFor(stage(), ann, "bins.blob", "some bytes") })
    await stage().service.call(ann, "DELETE", `${base}/bins/${textOf(bin["id"])}`)
    clock.now += 26 * hour
    await cleanup(stage())
    expect(held(storages.small)).toContain(pathOf(bin["blob"]))
  })

  it("refuses to attach what a cleanup deleted", async () => {
    const ticket = await ticketFor(stage(), ann, "products.image", png)
    const record = await create(stage(), ann, "products", { name: "x", image: ticket })
    await patch(stage(), ann, `products/${textOf(record["id"])}`, { image: null })
    await cleanup(stage())
    const late = await stage().service.call(ann, "POST", `${base}/products`, { body: { name: "y", image: ticket } })
    expect([late.status, textOf(late.json["errors"]![0]!["message"])]).toEqual([400, "The uploaded file is gone."])
  })

  it("is for admins", async () => {
    expect((await stage().service.call(ann, "POST", "/api/files:cleanup")).status).toBe(403)
    expect((await stage().service.call(null, "POST", "/api/files:cleanup")).status).toBe(401)
    expect((await stage().service.call(admin, "GET", "/api/files:cleanup")).status).toBe(405)
  })

  it("goes on when a storage fails, and does the rest later", async () => {
    const { clock, storages } = stage()
    const record = await create(stage(), ann, "products", {
      name: "x",
      image: await ticketFor(stage(), ann, "products.image", png)
    })
    await upload(stage(), ann, "papers.invoice", pdf("x"))
    await patch(stage(), ann, `products/${textOf(record["id"])}`, { image: null })
    clock.now += 26 * hour
    storages.private.down = "Unavailable"
    const first = await cleanup(stage())
    expect(first["deleted"]).toBeGreaterThanOrEqual(1)
    storages.private.down = null
    const second = await cleanup(stage())
    expect(second["deleted"]).toBeGreaterThanOrEqual(1)
  })

  it("says which file it could not delete, keeps its entry, and deletes the others", async () => {
    const { clock, service, storages: { public: storage } } = stage()
    const paths: string[] = []
    for (let i = 0; i < 2; i++) {
      const image = await ticketFor(stage(), ann, "products.image", png)
      const record = await create(stage(), ann, "products", { name: "x", image })
      paths.push(pathOf(record["image"]))
      await patch(stage(), ann, `products/${textOf(record["id"])}`, { image: null })
    }
    const [stuck, free] = paths as [string, string]
    storage.stuck.add(stuck)
    clock.now += 1
    const result = await cleanup(stage())
    expect(result["deleted"]).toBeGreaterThanOrEqual(1)
    expect(held(storage)).toContain(stuck)
    expect(held(storage)).not.toContain(free)
    const line = service.log.findLast((each) => each.includes("file-cleanup-failed"))!
    expect(JSON.parse(line)).toMatchObject({ provider: "public", path: stuck, reason: "Denied" })
    expect(JSON.parse(service.log.findLast((each) => each.includes("\"file-cleanup\""))!)).toMatchObject({ failed: 1 })
    storage.stuck.clear()
    await cleanup(stage())
    expect(held(storage)).not.toContain(stuck)
  })

  it("loses no delete of a write that was under way", async () => {
    const { storages } = stage()
    const record = await create(stage(), ann, "products", {
      name: "x",
      image: await ticketFor(stage(), ann, "products.image", png)
    })
    const path = pathOf(record["image"])
    // Somebody scheduled the delete and has not committed: the row still holds the file, and the entry is young.
    const entry = `.cleanup/${new Date(stage().clock.now).toISOString().replace(/[-:.]/g, "")}-pending.json`
    storages.public.files.set(entry, {
      bytes: new TextEncoder().encode(
        JSON.stringify({ provider: "public", path, due: new Date(stage().clock.now).toISOString() })
      ),
      modified: stage().clock.now
    })
    await cleanup(stage())
    expect(scheduled(storages.public)).toContain(entry)
    expect(held(storages.public)).toContain(path)
  })

  it("takes no entry that points elsewhere", async () => {
    const { clock, storages } = stage()
    const record = await create(stage(), ann, "papers", {
      title: "e",
      owner_id: "ann",
      invoice: await ticketFor(stage(), ann, "papers.invoice", pdf())
    })
    const name = (id: string) => `.cleanup/20200101T000000000Z-${id}.json`
    const put = (id: string, text: string) =>
      storages.public.files.set(name(id), { bytes: new TextEncoder().encode(text), modified: 0 })
    put("a", JSON.stringify({ provider: "private", path: pathOf(record["invoice"]), due: "2020-01-01T00:00:00Z" }))
    put("b", JSON.stringify({ provider: "public", path: "../../etc/passwd", due: "2020-01-01T00:00:00Z" }))
    put("c", "not json")
    clock.now += 1
    await cleanup(stage())
    expect(held(storages.private)).toContain(pathOf(record["invoice"]))
    expect(scheduled(storages.public).filter((each) => each.includes("20200101"))).toEqual([])
  })
})

describe("model", () => {
  onStage("random writers and cleanups", (stage) => {
    it("never lose a file that a row holds, and let no other stay for ever", async () => {
      const { clock, service, storages } = stage()
      let seed = 20_261_123
      const next = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most
      const tickets: string[] = []
      const rows: string[] = []
      const check = async (): Promise<void> => {
        const list = await service.get(admin, `${base}/papers?page_size=500&fields=scan`)
        const stored = new Set(held(storages.archive))
        for (const item of list.json["items"] as unknown as readonly Answered[]) {
          if (item["scan"] !== null) expect(stored.has(pathOf(item["scan"])), textOf(item["scan"]!["uri"])).toBe(true)
        }
      }
      for (let sequence = 0; sequence < 1_000; sequence++) {
        const work: Array<() => Promise<unknown>> = []
        for (let i = 0; i < 1 + next(3); i++) {
          const choice = next(10)
          if (choice < 3 || tickets.length === 0) {
            work.push(async () =>
              tickets.push(await ticketFor(stage(), admin, "papers.scan", `text ${sequence} ${i}`, { name: "a.txt" }))
            )
          } else if (choice < 6) {
            const scan = tickets[next(tickets.length)]
            work.push(async () => {
              const answer = await service.call(admin, "POST", `${base}/papers`, {
                body: { title: "m", owner_id: "root", scan }
              })
              if (answer.status === 201) rows.push(textOf(answer.json["id"]))
              else expect(answer.status, answer.text).toBe(400)
            })
          } else if (choice < 8 && rows.length > 0) {
            const row = rows[next(rows.length)]!
            const scan = next(3) === 0 ? null : tickets[next(tickets.length)]
            work.push(async () => {
              const answer = await patch(stage(), admin, `papers/${row}`, { scan })
              expect([200, 400, 404, 409], answer.text).toContain(answer.status)
            })
          } else if (choice < 9 && rows.length > 4) {
            const [row] = rows.splice(next(rows.length), 1)
            work.push(() => service.call(admin, "DELETE", `${base}/papers/${row!}`))
          } else work.push(() => cleanup(stage()))
        }
        if (next(4) === 0) work.push(() => cleanup(stage()), () => cleanup(stage()))
        await Promise.all(work.map((each) => each()))
        clock.now += next(6) * hour
        if (tickets.length > 40) tickets.splice(0, 20)
        if (sequence % 25 === 0) await check()
      }
      await check()
      // In the end only what rows hold is left.
      clock.now += 80 * hour
      await cleanup(stage())
      clock.now += hour
      await cleanup(stage())
      await check()
      const list = await service.get(admin, `${base}/papers?page_size=500&fields=scan`)
      const holding = new Set(
        (list.json["items"] as unknown as readonly Answered[]).flatMap((item) =>
          item["scan"] === null ? [] : [pathOf(item["scan"])]
        )
      )
      expect(held(storages.archive).filter((path) => !holding.has(path))).toEqual([])
    }, 240_000)
  })
})
