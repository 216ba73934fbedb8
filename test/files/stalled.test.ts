// Storages that stall or fail: writes of their files are refused soon, and nobody else waits for them.
import * as Effect from "effect/Effect"
import { expect, it, vi } from "vitest"
import { fakeImage } from "../fakes/images.ts"
import type { StorageCall } from "../fakes/storage.ts"
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
import type { Answer, Answered } from "../support/composed.ts"

const png = new Uint8Array(fakeImage("png", { width: 60, height: 60 }))
const idOf = (record: Answered): string => record["id"] as unknown as string
const pathOf = (file: Answered | undefined): string =>
  /^[a-z]+:([^?]+)/.exec((file?.["uri"] ?? "") as unknown as string)![1]!

onStage("a store", (stage) => {
  const product = async (withImage: boolean): Promise<Answered> =>
    create(stage(), ann, "products", {
      name: "x",
      ...(withImage ? { image: await ticketFor(stage(), ann, "products.image", png) } : {})
    })

  // More than there are connections for writes.
  const many = 12

  it.each<[StorageCall, "takes" | "lets go"]>([["head", "takes"], ["put", "lets go"]])(
    "whose %s stalls costs a write that %s a file a 503, and no other write anything",
    async (call, kind) => {
      const { clock, storages: { public: storage } } = stage()
      const writes: Array<() => Promise<Answer>> = []
      for (let i = 0; i < many; i++) {
        const record = await product(kind === "lets go")
        const image = kind === "takes" ? await ticketFor(stage(), ann, "products.image", png) : null
        writes.push(() => patch(stage(), ann, `products/${idOf(record)}`, { image }))
      }
      const paper = await create(stage(), ann, "papers", { title: "x", owner_id: "ann" })
      storage.trouble.set(call, "stalls")
      const ended: string[] = []
      const files = writes.map(async (write) => {
        const answer = await write()
        ended.push("file")
        return answer
      })
      await vi.waitFor(() => expect(storage.stalled).toBe(many))
      const plain = await patch(stage(), ann, `papers/${idOf(paper)}`, { title: "y" })
      ended.push("plain")
      const other = await patch(stage(), ann, `papers/${idOf(paper)}`, {
        invoice: await ticketFor(stage(), ann, "papers.invoice", pdf())
      })
      ended.push("other store")
      expect([plain.status, other.status]).toEqual([200, 200])
      for (const answer of await Promise.all(files)) {
        expect([answer.status, answer.json["type"]]).toEqual([503, "urn:service:problem:unavailable"])
        expect(answer.headers.get("retry-after")).toBe("5")
      }
      expect(ended.slice(0, 2)).toEqual(["plain", "other store"])
      // It counts as down now, and is not asked.
      const { calls } = storage
      expect((await writes[0]!()).status).toBe(503)
      expect(storage.calls).toBe(calls)
      storage.goOn()
      clock.now += 5_001
      for (const write of writes) expect((await write()).status).toBe(200)
    }
  )

  it("shows no upload before it is written down that the upload may go", async () => {
    const storage = stage().storages.archive
    const before = [...storage.files.keys()].sort()
    const gate = Promise.withResolvers<void>()
    const { put } = storage.service
    const asked: string[] = []
    const puts = vi.spyOn(storage.service, "put").mockImplementation((path, ...rest) => {
      asked.push(path)
      return path.startsWith(".cleanup/")
        ? Effect.andThen(Effect.promise(() => gate.promise), put(path, ...rest))
        : put(path, ...rest)
    })
    try {
      const answer = upload(stage(), ann, "papers.scan", "text")
      await vi.waitFor(() => expect(asked.length).toBe(2))
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      expect([...storage.files.keys()].sort()).toEqual(before)
      gate.resolve()
      expect((await answer).status).toBe(201)
    } finally {
      gate.resolve()
      puts.mockRestore()
    }
  })

  it("that fails for a moment counts as down only after three failures in a row", async () => {
    const { clock, storages: { public: storage } } = stage()
    const record = await product(true)
    const clear = async () => (await patch(stage(), ann, `products/${idOf(record)}`, { image: null })).status
    storage.trouble.set("put", "Unavailable")
    expect([await clear(), await clear()]).toEqual([503, 503])
    storage.goOn()
    const calls = storage.calls
    expect(await clear()).toBe(200)
    expect(storage.calls).toBeGreaterThan(calls)
    clock.now += 5_001
  })

  it("that stalls in a cleanup holds up no write, and what is being deleted is attached no more", async () => {
    const { storages: { public: storage } } = stage()
    const ticket = await ticketFor(stage(), ann, "products.image", png)
    const record = await create(stage(), ann, "products", { name: "x", image: ticket })
    const path = pathOf(record["image"])
    await patch(stage(), ann, `products/${idOf(record)}`, { image: null })
    storage.trouble.set("remove", "stalls")
    const run = cleanup(stage())
    await vi.waitFor(() => expect(storage.stalled).toBe(1))
    const again = await stage().service.call(ann, "POST", `${base}/products`, { body: { name: "y", image: ticket } })
    expect([again.status, again.json["errors"]![0]!["message"]]).toEqual([400, "The uploaded file is gone."])
    const next = await product(true)
    expect(next["image"]).not.toBeNull()
    storage.goOn()
    expect((await run)["deleted"]).toBeGreaterThanOrEqual(1)
    expect(held(storage)).not.toContain(path)
    expect(held(storage)).toContain(pathOf(next["image"]))
  })

  it("that fails three times in a cleanup is left for the next run, which loses nothing", async () => {
    const { service, storages: { public: storage } } = stage()
    await cleanup(stage())
    for (let i = 0; i < 5; i++) await patch(stage(), ann, `products/${idOf(await product(true))}`, { image: null })
    const entries = scheduled(storage).length
    const before = held(storage).length
    const told = service.log.length
    storage.trouble.set("remove", "Unavailable")
    await cleanup(stage())
    const failures = service.log.slice(told).filter((line) => line.includes("file-cleanup-failed"))
    expect(failures.length).toBe(3)
    expect([scheduled(storage).length, held(storage).length]).toEqual([entries, before])
    storage.goOn()
    const result = await cleanup(stage())
    expect(result["deleted"]).toBe(5)
    expect(held(storage).length).toBe(before - 15)
  })

  it.each<StorageCall>(["list", "read", "head", "remove"])(
    "whose %s fails in a cleanup fails nothing else",
    async (call) => {
      const { storages: { public: storage } } = stage()
      await patch(stage(), ann, `products/${idOf(await product(true))}`, { image: null })
      storage.trouble.set(call, "Unavailable")
      expect((await stage().service.call(admin, "POST", "/api/files:cleanup")).status).toBe(200)
      storage.goOn()
      expect((await cleanup(stage()))["deleted"]).toBeGreaterThanOrEqual(1)
    }
  )
})

onStage("a cleanup without its database", (stage) => {
  it("is a 503, and does its work later", async () => {
    const { service, storages: { small } } = stage()
    const bin = await create(stage(), ann, "bins", { blob: await ticketFor(stage(), ann, "bins.blob", "bytes") })
    expect((await patch(stage(), ann, `bins/${idOf(bin)}`, { blob: null })).status).toBe(200)
    service.fake!.failWith("Unavailable")
    const answer = await service.call(admin, "POST", "/api/files:cleanup")
    expect([answer.status, answer.json["type"]]).toEqual([503, "urn:service:problem:unavailable"])
    service.fake!.failWith(null)
    expect((await cleanup(stage()))["deleted"]).toBe(1)
    expect(held(small)).toEqual([])
  })
}, ["fake"])
