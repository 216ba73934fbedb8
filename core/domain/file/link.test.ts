import { describe, expect, it } from "vitest"
import { cleanupFolder, dueOf, entryName, entryOf, leftOf, readEntry, variantsEntry, writeEntry } from "./cleanup.ts"
import {
  asksDownload,
  fileAddress,
  linkPeriod,
  linkQuery,
  publicAddress,
  readLink,
  readLinkLifetime,
  signedText
} from "./link.ts"
import { countedMs, Quota } from "./quota.ts"
import { looksLikeTicket, readTicket, ticketContext, writeTicket } from "./ticket.ts"
import { writeStored } from "./uri.ts"

const link = {
  provider: "private",
  path: "t1/a b.pdf",
  resource: "orders",
  key: "5",
  field: "invoice",
  expires: 1_800_003_600
}

describe("links", () => {
  it("are good for one to two hours, and the same within the hour", () => {
    const start = 500_000 * 3_600
    for (const now of [start, start + 1, start + 1_800, start + 3_599]) {
      expect(linkPeriod(now)).toEqual({ from: start, until: start + 3_600, expires: start + 7_200 })
    }
    expect(linkPeriod(start + 3_600).expires).toBe(start + 10_800)
  })

  it("of a lifetime are good for at least half of it and never for longer", () => {
    for (const lifetime of [300, 301, 599, 900, 3_600, 7_200]) {
      for (let now = 1_800_000_000; now < 1_800_008_000; now += 37) {
        const { expires, from, until } = linkPeriod(now, lifetime)
        expect(from <= now && now < until).toBe(true)
        expect(expires - now).toBeLessThanOrEqual(lifetime)
        expect(expires - now).toBeGreaterThanOrEqual(Math.floor(lifetime / 2))
        expect(linkPeriod(until, lifetime).expires).toBeGreaterThan(expires)
      }
    }
  })

  it.each([
    ["5 minutes", 300],
    ["300s", 300],
    ["10m", 600],
    ["1.5 hours", 5_400],
    ["2h", 7_200],
    ["299.9 s", null],
    ["4 minutes", null],
    ["121m", null],
    ["1d", null],
    ["0", null],
    [0, null],
    [600, null],
    ["soon", null],
    [null, null]
  ])("have a lifetime of %j as %s seconds", (declared, seconds) => {
    expect(readLinkLifetime(declared)).toBe(seconds)
  })

  it("have the documented form", () => {
    expect(fileAddress("/api", "private", link.path) + linkQuery(link, "SIG")).toBe(
      "/api/files/private/t1/a%20b.pdf?r=orders&k=5&f=invoice&exp=1800003600&sig=SIG"
    )
    expect(publicAddress("https://cdn.example/x/", "shop/", "_/a#1.png")).toBe("https://cdn.example/x/shop/_/a%231.png")
  })

  it("are signed in all their parts", () => {
    const texts = [
      link,
      { ...link, provider: "public" },
      { ...link, path: "t1/b.pdf" },
      { ...link, resource: "order" },
      { ...link, key: "6" },
      { ...link, field: "scan" },
      { ...link, expires: link.expires + 3_600 },
      // What runs together must not look the same.
      { ...link, resource: "orders\",\"5", key: "" }
    ].map(signedText)
    expect(new Set(texts).size).toBe(texts.length)
  })

  it("are read from exactly their parameters", () => {
    const query = [["r", "orders"], ["k", "5"], ["f", "invoice"], ["exp", "1800003600"], ["sig", "S"]] as const
    expect(readLink("private", link.path, query)).toEqual({ link, signature: "S" })
    expect(readLink("private", link.path, query.slice(1))).toBeNull()
    expect(readLink("private", link.path, [...query, ["x", "y"]])).toBeNull()
    expect(readLink("private", link.path, [...query.slice(1), ["sig", "T"]])).toBeNull()
    expect(readLink("private", link.path, [...query.slice(0, 3), ["exp", "1e9"], ["sig", "S"]])).toBeNull()
    expect(readLink("private", link.path, [])).toBeNull()
  })

  it("may ask for an attachment, once and in one way, wherever that stands in it", () => {
    const query = [["r", link.resource], ["k", link.key], ["f", link.field], ["exp", String(link.expires)], [
      "sig",
      "S"
    ]] as const
    const asked = ["download", "1"] as const
    const read = (...all: ReadonlyArray<readonly [string, string]>) => readLink("private", link.path, all)
    expect(read(...query, asked)).toEqual({ link, signature: "S" })
    expect(read(asked, ...query)).toEqual({ link, signature: "S" })
    expect([asksDownload(query), asksDownload([...query, asked])]).toEqual([false, true])
    expect(read(...query, asked, asked)).toBeNull()
    expect(read(...query, ["download", "0"])).toBeNull()
    expect(read(...query, ["download", "0"], asked)).toBeNull()
    expect(read(...query, asked, ["x", "y"])).toBeNull()
    expect(read(...query.slice(1), asked)).toBeNull()
  })
})

describe("tickets", () => {
  it("are read as they were written, and nothing else is read", () => {
    const ticket = {
      uri: "private:t1/a.png?name=a&size=1",
      expires: 5,
      derived: new Map([["width", "10"], ["hash", null]])
    }
    expect(readTicket(writeTicket(ticket))).toEqual(ticket)
    for (
      const text of [
        "",
        "null",
        "{}",
        "[]",
        "[1,2,3]",
        "[\"a\",1,[[1,2]]]",
        "[\"a\",1,[[\"b\",2]]]",
        "[\"a\",\"1\",[]]"
      ]
    ) {
      expect(readTicket(text)).toBeNull()
    }
  })

  it("are bound to user, tenant, resource and field, with no two contexts alike", () => {
    const contexts = [
      ticketContext({ id: "u", tenant: null }, "r", "f"),
      ticketContext({ id: "u", tenant: "t" }, "r", "f"),
      ticketContext({ id: "v", tenant: null }, "r", "f"),
      ticketContext({ id: "u", tenant: null }, "s", "f"),
      ticketContext({ id: "u", tenant: null }, "r", "g"),
      ticketContext({ id: "u\",null,\"r", tenant: null }, "r", "f")
    ]
    expect(new Set(contexts).size).toBe(contexts.length)
  })

  it("cannot be taken for a stored value or a URL", () => {
    expect(looksLikeTicket("A".repeat(100))).toBe(true)
    for (
      const text of [
        writeStored({ ...link, name: "a", size: 1, variants: [] }),
        "https://host.example/a.png",
        "short",
        ""
      ]
    ) {
      expect(looksLikeTicket(text)).toBe(false)
    }
  })
})

describe("scheduled deletes", () => {
  const variants = [{ name: "card", extension: "webp", width: 3, height: 2 }]
  const file = { provider: "public", path: "_/a.png", name: "a.png", size: 5, variants }

  it("are named by their time, in its order, and hold what is documented", () => {
    const due = Date.parse("2026-11-23T07:45:00.123Z")
    expect(entryName(due, "id_-1")).toBe(`${cleanupFolder}20261123T074500123Z-id_-1.json`)
    expect(dueOf(entryName(due, "id_-1"))).toBe(due)
    const times = [0, 1, 999, 1_000, due - 1, due, due + 86_400_000]
    const names = times.map((time) => entryName(time, "x"))
    expect([...names].sort()).toEqual(names)
    const entry = entryOf(file, due)
    expect(JSON.parse(writeEntry(entry))).toEqual({
      provider: "public",
      path: "_/a.png",
      due: "2026-11-23T07:45:00.123Z",
      variants: ["_/a.png.card.webp"]
    })
    expect(readEntry(writeEntry(entry))).toEqual(entry)
    expect(readEntry("{\"provider\":\"public\",\"path\":\"_/a.png\",\"due\":\"2026-11-23T07:45:00Z\"}")).toMatchObject({
      variants: []
    })
  })

  it("of variants alone name the file in another way, and leave it and what rows list", () => {
    const due = Date.parse("2026-11-23T07:45:00.123Z")
    const full = { name: "full", extension: "jpg", width: 9, height: 8 }
    const entry = variantsEntry(file, [...variants, full], due)
    expect(JSON.parse(writeEntry(entry))).toEqual({
      provider: "public",
      of: "_/a.png",
      due: "2026-11-23T07:45:00.123Z",
      variants: ["_/a.png.card.webp", "_/a.png.full.jpg"]
    })
    expect(readEntry(writeEntry(entry))).toEqual(entry)
    expect(leftOf(entry, null)).toEqual(["_/a.png.card.webp", "_/a.png.full.jpg"])
    expect(leftOf(entry, new Set())).toEqual(["_/a.png.card.webp", "_/a.png.full.jpg"])
    expect(leftOf(entry, new Set(["_/a.png.card.webp"]))).toEqual(["_/a.png.full.jpg"])
    expect(leftOf(entry, new Set(["_/a.png.card.webp", "_/a.png.full.jpg"]))).toEqual([])
    expect(leftOf(entryOf(file, due), new Set())).toEqual([])
    expect(leftOf(entryOf(file, due), null)).toEqual(["_/a.png.card.webp", "_/a.png"])
  })

  it.each([
    "",
    "{}",
    "null",
    "[]",
    "{\"provider\":\"p\",\"path\":\"../x\",\"due\":\"2026-11-23T07:45:00Z\"}",
    "{\"provider\":\"p\",\"path\":\"t/x\",\"due\":\"soon\"}",
    "{\"provider\":\"p\",\"of\":\"../x\",\"due\":\"2026-11-23T07:45:00Z\"}",
    "{\"provider\":\"p\",\"of\":null,\"path\":\"t/x\",\"due\":\"2026-11-23T07:45:00Z\"}",
    "{\"provider\":\"p\",\"of\":\"t/x\",\"due\":\"2026-11-23T07:45:00Z\",\"variants\":[\"t/x\"]}",
    "{\"provider\":\"p\",\"path\":\"t/x\",\"due\":\"2026-11-23T07:45:00Z\",\"variants\":[\"t/y\"]}"
  ])(
    "are nothing else: %s",
    (text) => expect(readEntry(text)).toBeNull()
  )

  it.each([
    ".cleanup/x.json",
    ".cleanup/20261323T074500123Z-a.json",
    "a/20261123T074500123Z-a.json",
    ".cleanup/20261123T074500123Z-a.txt"
  ])(
    "have no other names: %s",
    (name) => expect(dueOf(name)).toBeNull()
  )
})

describe("quotas", () => {
  it("count a list, own writes, and what is under way", () => {
    const quota = new Quota({ maxBytes: 100, maxFiles: 3 })
    expect(quota.isStale(0)).toBe(true)
    quota.begin()
    quota.count({ bytes: 50, files: 1 }, 0)
    expect([quota.isStale(countedMs - 1), quota.isStale(countedMs)]).toEqual([false, true])
    expect([quota.fits({ bytes: 50, files: 1 }), quota.fits({ bytes: 51, files: 1 })]).toEqual([true, false])
    quota.reserve({ bytes: 40, files: 1 })
    expect([
      quota.fits({ bytes: 10, files: 1 }),
      quota.fits({ bytes: 11, files: 1 }),
      quota.fits({ bytes: 0, files: 2 })
    ])
      .toEqual([true, false, false])
    quota.release({ bytes: 40, files: 1 })
    quota.add({ bytes: 40, files: 2 })
    expect([quota.fits({ bytes: 10, files: 0 }), quota.fits({ bytes: 0, files: 1 })]).toEqual([true, false])
    quota.add({ bytes: -40, files: -2 })
    expect(quota.fits({ bytes: 50, files: 2 })).toBe(true)
  })

  it("count what is stored while a list is under way", () => {
    const quota = new Quota({ maxBytes: 100, maxFiles: null })
    quota.begin()
    quota.add({ bytes: 30, files: 1 })
    quota.count({ bytes: 60, files: 2 }, 0)
    expect([quota.fits({ bytes: 10, files: 1 }), quota.fits({ bytes: 11, files: 1 })]).toEqual([true, false])
  })

  it("never are stale without a limit", () => {
    const quota = new Quota({ maxBytes: null, maxFiles: null })
    expect([quota.isStale(0), quota.fits({ bytes: 1e15, files: 1e6 })]).toEqual([false, true])
  })
})
