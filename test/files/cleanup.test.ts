// Cleanup on the stage: what is due goes, what a row holds stays, whoever else is at work. The model: no file that a row holds is ever lost.
import * as Effect from "effect/Effect"
import { Client } from "pg"
import { describe, expect, it } from "vitest"
import { fakeImage } from "../fakes/images.ts"
import { property } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
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
import type { Stage } from "../http/files/stage.ts"
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

  it("deletes what leaves a list, and keeps what other rows hold in theirs", async () => {
    const { clock, storages } = stage()
    const notes: string[] = []
    for (const text of ["one", "two", "three"]) {
      notes.push(await ticketFor(stage(), ann, "galleries.notes", text, { name: `${text}.txt` }))
    }
    const of = (list: readonly string[]) =>
      create(stage(), ann, "galleries", { title: "l", owner_id: "ann", notes: list })
    const [first, second] = [await of(notes), await of(notes.slice(1, 2))]
    const [one, two, three] = (first["notes"] as unknown as readonly Answered[]).map(pathOf)
    const uri = textOf(first["notes"]![0]!["uri"])
    const there = () => held(storages.archive).filter((path) => [one, two, three].includes(path))
    // Past the time that uploads wait: all are held.
    clock.now += 26 * hour
    await cleanup(stage())
    expect(there().length).toBe(3)
    await patch(stage(), ann, `galleries/${textOf(first["id"])}`, { notes: [uri] })
    clock.now += 47 * hour
    await cleanup(stage())
    expect(there().length).toBe(3)
    clock.now += hour + 1
    await cleanup(stage())
    expect(new Set(there())).toEqual(new Set([one, two]))
    await stage().service.call(ann, "DELETE", `${base}/galleries/${textOf(second["id"])}`)
    await stage().service.call(ann, "DELETE", `${base}/galleries/${textOf(first["id"])}`)
    clock.now += 49 * hour
    await cleanup(stage())
    expect(there()).toEqual([])
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

/** A public picture that a row has let go, whose delete is due, and a ticket that still leads to it. */
const letGo = async (stage: Stage) => {
  const ticket = await ticketFor(stage, ann, "products.image", png)
  const record = await create(stage, ann, "products", { name: "x", image: ticket })
  await patch(stage, ann, `products/${textOf(record["id"])}`, { image: null })
  stage.clock.now += 1
  return { ticket, path: pathOf(record["image"]) }
}

onStage("a cleanup that asks which rows hold files", (stage) => {
  /** Does something before the `n`th question about one field, and after it, with its answer at hand. */
  const between = async (
    what: (n: number, held: readonly string[]) => Promise<void>,
    work: () => Promise<unknown>,
    before: (n: number) => Promise<void> = async () => {}
  ) => {
    const { records } = stage().service
    const { holding } = records
    let n = 0
    const wrapped: typeof holding = (question) => {
      if (question.model.name !== "products" || question.field.name !== "image") return holding(question)
      const own = ++n
      return Effect.tap(
        Effect.andThen(Effect.promise(() => before(own)), holding(question)),
        (found) => Effect.promise(() => what(own, found))
      )
    }
    Object.assign(records, { holding: wrapped })
    try {
      await work()
    } finally {
      Object.assign(records, { holding })
    }
  }
  const attach = (ticket: string) =>
    stage().service.call(ann, "POST", `${base}/products`, { body: { name: "y", image: ticket } })

  it("keeps what a write attaches after the first question, and lets others attach it again", async () => {
    const { path, ticket } = await letGo(stage())
    const asked: number[] = []
    await between(async (n, found) => {
      asked.push(found.length)
      if (n === 1) expect((await attach(ticket)).status).toBe(201)
    }, () => cleanup(stage()))
    expect(asked).toEqual([0, 1])
    expect(held(stage().storages.public)).toContain(path)
    expect((await attach(ticket)).status).toBe(201)
    // The entry is young: it stays for a while, and goes when nobody holds the file any more.
    expect(scheduled(stage().storages.public).length).toBeGreaterThan(0)
  })

  it("asks once where rows hold all that is due", async () => {
    const ticket = await ticketFor(stage(), ann, "products.image", png)
    for (const name of ["a", "b"]) await create(stage(), ann, "products", { name, image: ticket })
    stage().clock.now += 26 * hour
    let asked = 0
    await between(async (n) => void (asked = n), () => cleanup(stage()))
    expect(asked).toBe(1)
  })

  it("takes back no mark of another cleanup, which deletes the file meanwhile", async () => {
    const { path, ticket } = await letGo(stage())
    let record: Answered | undefined
    let second: Promise<unknown> | undefined
    const firstEnds = Promise.withResolvers<void>()
    const secondAsks = Promise.withResolvers<void>()
    let late: number | undefined
    await between(async (n) => {
      if (n === 1) record = (await attach(ticket)).json
      // The first run has marked the file and sees a row that holds it. That row lets it go, and a second run begins.
      if (n === 2) {
        await patch(stage(), ann, `products/${textOf(record!["id"])}`, { image: null })
        stage().clock.now += 1
        second = cleanup(stage())
        await secondAsks.promise
      }
      if (n === 4) {
        // The second run has its own mark by now, and sees that no row holds the file.
        secondAsks.resolve()
        await firstEnds.promise
        late = (await attach(ticket)).status
      }
    }, async () => {
      await cleanup(stage())
      firstEnds.resolve()
      await second
    })
    expect(late).toBe(400)
    expect(held(stage().storages.public)).not.toContain(path)
  })

  it("deletes nothing where another cleanup has taken its mark's place, and taken it back", async () => {
    const { path, ticket } = await letGo(stage())
    const [secondBegun, firstMarked, secondAsked, secondEnded] = Array.from(
      { length: 4 },
      () => Promise.withResolvers<void>()
    ) as [
      PromiseWithResolvers<void>,
      PromiseWithResolvers<void>,
      PromiseWithResolvers<void>,
      PromiseWithResolvers<void>
    ]
    let record: Answered | undefined
    let second: Promise<unknown> | undefined
    await between(async (n, found) => {
      if (n === 1) {
        second = cleanup(stage())
        await secondBegun.promise
      } else if (n === 2) {
        // Both have seen that no row holds the file. Now one does.
        record = (await attach(ticket)).json
        secondBegun.resolve()
        await firstMarked.promise
      } else if (n === 4) {
        // The second one has its mark in the place of the first's, and sees that row, which lets the file go.
        expect(found).toHaveLength(1)
        await patch(stage(), ann, `products/${textOf(record!["id"])}`, { image: null })
        secondAsked.resolve()
      } else if (n === 3) {
        expect(found).toEqual([])
        await secondEnded.promise
        expect((await attach(ticket)).status).toBe(201)
      }
    }, async () => {
      const first = cleanup(stage())
      await secondBegun.promise
      await second
      secondEnded.resolve()
      await first
    }, async (n) => {
      if (n !== 3) return
      firstMarked.resolve()
      await secondAsked.promise
    })
    expect(held(stage().storages.public)).toContain(path)
  })

  it("goes on after a run that ended between its mark and its question", async () => {
    const { path, ticket } = await letGo(stage())
    const { records } = stage().service
    const { holding } = records
    // All fields are asked before the marks, and all again after them.
    const asked = new Set<unknown>()
    Object.assign(records, {
      holding: (question: Parameters<typeof holding>[0]) =>
        Effect.suspend(() => {
          if (asked.has(question.field)) return Effect.die(new Error("the process ends"))
          asked.add(question.field)
          return holding(question)
        })
    })
    expect((await stage().service.call(admin, "POST", "/api/files:cleanup")).status).toBe(500)
    Object.assign(records, { holding })
    expect((stage().service.unhandled as unknown[]).splice(0)).toHaveLength(1)
    expect(held(stage().storages.public)).toContain(path)
    expect((await attach(ticket)).status).toBe(400)
    await cleanup(stage())
    expect(held(stage().storages.public)).not.toContain(path)
  })
})

onStage("a cleanup whose question takes long", (stage) => {
  it("holds up no write with a file", async () => {
    const { database } = stage().service
    await letGo(stage())
    const ticket = await ticketFor(stage(), ann, "products.image", png)
    const client = new Client({ connectionString: database!.url })
    await client.connect()
    try {
      await client.query("begin; lock table papers in access exclusive mode")
      const running = cleanup(stage())
      await expect.poll(async () =>
        (await database!.rows(
          "select count(*)::text from pg_locks where not granted and relation = 'papers'::regclass"
        ))[0]![0]
      ).toBe("1")
      const written = await create(stage(), ann, "products", { name: "meanwhile", image: ticket })
      expect(held(stage().storages.public)).toContain(pathOf(written["image"]))
      await client.query("rollback")
      await running
    } finally {
      await client.end()
    }
  })
}, ["postgres"])

/** What clients and cleanups do at the same time, and how many hours pass before the next round. Numbers choose among tickets and rows there are. */
const round = (random: Random) => ({
  actions: random.many(1, 3, () => ({
    what: random.pick(
      ["upload", "attach", "replace", "clear", "remove", "clean", "upload", "attach", "replace", "upload"] as const
    ),
    row: random.below(100),
    ticket: random.below(40)
  })),
  cleanups: random.chance(4) ? 2 : 0,
  hours: random.below(6)
})

/** A field of one file, and one of several: its value from tickets, and its files from an answer. */
const shapes = [
  {
    resource: "papers",
    field: "scan",
    value: (tickets: readonly string[]): unknown => tickets[0],
    files: (value: Answered): readonly Answered[] => [value]
  },
  {
    resource: "galleries",
    field: "notes",
    value: (tickets: readonly string[]): unknown => [...new Set(tickets)],
    files: (value: Answered): readonly Answered[] => value as unknown as readonly Answered[]
  }
]

describe.each(shapes)("model of $resource", ({ field, files, resource, value }) => {
  onStage("random writers and cleanups", (stage) => {
    const stored = async (): Promise<ReadonlySet<string>> => {
      const list = await stage().service.get(admin, `${base}/${resource}?page_size=500&fields=${field}`)
      const items = list.json["items"] as unknown as readonly Answered[]
      return new Set(items.flatMap((item) => item[field] === null ? [] : files(item[field]!).map(pathOf)))
    }
    /** No row holds a file that is gone. */
    const check = async (): Promise<void> => {
      const there = new Set(held(stage().storages.archive))
      expect([...await stored()].filter((path) => !there.has(path))).toEqual([])
    }
    let taken = 0
    let uploads = 0
    property(
      "never lose a file that a row holds, and let no other stay for ever",
      { rounds: (random) => random.many(25, 25, () => round(random), 1) },
      { cases: 20, reaches: () => expect(taken).toBeGreaterThan(uploads / 5) },
      async ({ rounds }) => {
        const { clock, service, storages } = stage()
        const tickets: string[] = []
        const rows: string[] = []
        for (const { actions, cleanups, hours } of rounds) {
          const work = actions.map(({ row: place, ticket: at, what }, i) => {
            const scan = tickets[at % Math.max(1, tickets.length)]
            const second = tickets[place % Math.max(1, tickets.length)]
            const given = scan === undefined ? null : value([scan, second!])
            const row = rows[place % Math.max(1, rows.length)]
            if (what === "clean" || (what === "remove" && rows.length < 5)) return () => cleanup(stage())
            if (what === "remove") {
              rows.splice(rows.indexOf(row!), 1)
              return () => service.call(admin, "DELETE", `${base}/${resource}/${row!}`)
            }
            if (what === "upload" || scan === undefined || (what !== "attach" && row === undefined)) {
              uploads++
              return async () =>
                tickets.push(
                  await ticketFor(stage(), admin, `${resource}.${field}`, `text ${uploads} ${i}`, { name: "a.txt" })
                )
            }
            if (what !== "attach") {
              return async () => {
                const answer = await patch(stage(), admin, `${resource}/${row!}`, {
                  [field]: what === "clear" ? null : given
                })
                expect([200, 400, 404, 409], answer.text).toContain(answer.status)
              }
            }
            return async () => {
              const body = { title: "m", owner_id: "root", [field]: given }
              const answer = await service.call(admin, "POST", `${base}/${resource}`, { body })
              if (answer.status !== 201) return expect(answer.status, answer.text).toBe(400)
              taken++
              rows.push(textOf(answer.json["id"]))
            }
          })
          for (let n = 0; n < cleanups; n++) work.push(() => cleanup(stage()))
          await Promise.all(work.map((each) => each()))
          clock.now += hours * hour
        }
        await check()
        // In the end only what rows hold is left.
        const settle = async (): Promise<void> => {
          clock.now += 80 * hour
          await cleanup(stage())
          clock.now += hour
          await cleanup(stage())
        }
        await settle()
        await check()
        const holding = await stored()
        expect(held(storages.archive).filter((path) => !holding.has(path))).toEqual([])
        // And without rows nothing is.
        for (const row of rows) await service.call(admin, "DELETE", `${base}/${resource}/${row}`)
        await settle()
        expect([held(storages.archive), await stored()]).toEqual([[], new Set()])
      }
    )
  })
})
