/** Values at the edges of their kinds through HTTP and PostgreSQL and back: what is read equals what was written, and can be found by it. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startService } from "../support/composed.ts"
import type { Answered, TestService } from "../support/composed.ts"
import { boss, surface } from "./surface-stage.ts"

let service: TestService
beforeAll(async () => {
  service = await startService("postgres", surface())
})
afterAll(async () => {
  await service.close()
  expect(service.unhandled).toEqual([])
})

const path = "/api/v1/extremes"

/** A small generator with a seed, so that a failure can be run again (mulberry32). */
const random = (seed: number) => (below: number): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
}

type Pick = (below: number) => number

const one = <A>(pick: Pick, choices: readonly A[]): A => choices[pick(choices.length)]!

const digits = (pick: Pick, length: number): string => Array.from({ length }, () => pick(10)).join("")

const pieces = [
  ",",
  "/",
  ":",
  "%",
  "%2F",
  "%00",
  "*",
  "\\",
  "\"",
  "'",
  " ",
  ".",
  "..",
  ";",
  "?",
  "#",
  "&",
  "+",
  "=",
  "a",
  "Z",
  "\u0001",
  "\t",
  "\n",
  "\r",
  "\u001f",
  "\u007f",
  "\u0085",
  "\u2028",
  "\ufeff",
  "\u00e9",
  "e\u0301",
  "\u0130",
  "\u{1f600}",
  "\u{10ffff}",
  "\uffff",
  "null",
  "$ref",
  ":undelete",
  ":restore"
]

const text = (pick: Pick): string => Array.from({ length: pick(8) }, () => one(pick, pieces)).join("")

const decimal = (pick: Pick): string => {
  const whole = one(pick, ["0", "1", `${1 + pick(9)}${digits(pick, 29)}`, "9".repeat(30)])
  const value = `${whole}.${one(pick, ["0".repeat(30), `${"0".repeat(29)}1`, digits(pick, 30)])}`
  return pick(2) === 0 || /^[0.]+$/.test(value) ? value : `-${value}`
}

const free = (pick: Pick): string =>
  one(pick, ["0", "-0.5", `0.${"0".repeat(200)}1`, `1${"0".repeat(300)}`, `${1 + pick(9)}${digits(pick, pick(60))}`])

const two = (value: number): string => String(value).padStart(2, "0")

const date = (pick: Pick): string =>
  one(pick, [
    "0001-01-01",
    "9999-12-31",
    "2000-02-29",
    "1582-10-10",
    "1900-03-01",
    `${String(1 + pick(9999)).padStart(4, "0")}-${two(1 + pick(12))}-${two(1 + pick(28))}`
  ])

const instant = (pick: Pick): string => {
  const fraction = one(pick, ["", ".000001", ".999999", ".5", `.${1 + pick(9)}${digits(pick, 4)}${1 + pick(9)}`])
  return `${date(pick)}T${two(pick(24))}:${two(pick(60))}:${two(pick(60))}${fraction}Z`
}

const real = (pick: Pick): number =>
  one(pick, [
    0,
    1,
    -1,
    0.1,
    1e21,
    1e-7,
    5e-324,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    2 ** 53,
    0.1 + 0.2,
    pick(1e9) / 7
  ])

const data = (pick: Pick, depth = 0): unknown =>
  one<() => unknown>(pick, [
    () => null,
    () => true,
    () => text(pick),
    () => pick(1000) / 8,
    () => depth > 3 ? [] : Array.from({ length: pick(3) }, () => data(pick, depth + 1)),
    () =>
      depth > 3
        ? {}
        : Object.fromEntries(Array.from({ length: pick(3) }, () => [`k${text(pick)}`, data(pick, depth + 1)]))
  ])()

const record = (pick: Pick, b: string) => ({
  a: text(pick),
  b,
  amount: one(pick, [null, decimal(pick)]),
  free: one(pick, [null, free(pick)]),
  at: one(pick, [null, instant(pick)]),
  day: one(pick, [null, date(pick)]),
  real: one(pick, [null, real(pick)]),
  text: one(pick, [null, text(pick)]),
  // A record's own null and JSON's null are both SQL NULL.
  data: one(pick, [null, { value: data(pick) }])
})

/** The path segment of a key as any client would write it. */
const keyOf = (a: string, b: string): string => `${encodeURIComponent(a)},${encodeURIComponent(b)}`

/** A text as a literal of the filter language. */
const literal = (value: string): string =>
  `"${
    value.replace(/["\\*]/g, "\\$&").replace(/[\u0001-\u001f\u007f]/g, (c) =>
      `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)
  }"`

/** The record without what the service adds to it. */
const bare = (answer: Answered): unknown =>
  Object.fromEntries(Object.entries(answer).filter(([name]) => name !== "etag" && name !== "permissions"))

describe("values through HTTP and PostgreSQL", () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed))("come back as they were written, seed %i", async (seed) => {
    const pick = random(seed)
    for (let round = 0; round < 5; round++) {
      const sent = record(pick, String(BigInt(seed) * 1000n + BigInt(round)))
      const key = keyOf(sent.a, sent.b)
      const created = await service.call(boss, "POST", path, { body: sent })
      expect(created.status, created.text).toBe(201)
      expect(bare(created.json)).toEqual(sent)
      expect(created.headers.get("location")).toBe(`${path}/${key}`)
      // The empty text as the first part of a key is a segment that begins with a comma.
      const got = await service.get(boss, `${path}/${key}`)
      expect(got.status, got.text).toBe(200)
      expect(bare(got.json)).toEqual(sent)
      expect(got.headers.get("etag")).toBe(created.headers.get("etag"))
      for (const name of ["a", "amount", "free", "at", "day", "real", "text"] as const) {
        const value = sent[name]
        const condition = value === null ? `isNull(${name})` : `${name} = ${literal(String(value))}`
        const filter = `${condition} AND b = ${sent.b}`
        const found = await service.call(boss, "POST", `${path}:search`, { body: { filter } })
        expect(found.status, `${filter} ${found.text}`).toBe(200)
        expect(found.json["items"]![0]?.["etag"], filter).toBe(created.headers.get("etag"))
      }
      const other = record(pick, sent.b)
      const { a: _, b: __, ...patch } = other
      const patched = await service.call(boss, "PATCH", `${path}/${key}`, {
        body: patch,
        headers: { "if-match": got.headers.get("etag")! }
      })
      expect(patched.status, patched.text).toBe(200)
      expect(bare(patched.json)).toEqual({ ...patch, a: sent.a, b: sent.b })
    }
  })

  it("take both ends of 64 bits in keys, and nothing beyond", async () => {
    for (const b of ["9223372036854775807", "-9223372036854775808"]) {
      const body = { a: "edge", b }
      expect((await service.call(boss, "POST", path, { body })).status).toBe(201)
      expect((await service.get(boss, `${path}/edge,${b}`)).json["b"]).toBe(b)
    }
    for (const b of ["9223372036854775808", "-9223372036854775809", "1e3", "+1", " 1", "1 ", "0x10", "１"]) {
      expect((await service.get(boss, `${path}/edge,${encodeURIComponent(b)}`)).status, b).toBe(400)
      expect((await service.call(boss, "POST", path, { body: { a: "edge", b } })).status, b).toBe(400)
    }
    for (const b of ["9007199254740993", "1e19", "0.5"]) {
      expect((await service.call(boss, "POST", path, { body: `{"a":"edge","b":${b}}` })).status, b).toBe(400)
    }
  })

  it("read what only the database can have made", async () => {
    await service.database!.execute(`insert into extremes (a, b, amount, free, at, day, real) values
      ('bc', 1, 1, 1, '0044-03-15 12:00:00 BC', '0044-03-15 BC', -1.7e308),
      ('far', 2, 1, 1e200, '12026-01-01 00:00:00', '12026-01-01', 1.7e308),
      ('inf', 3, null, 'NaN', 'infinity', 'infinity', 'NaN'),
      ('-inf', 4, null, 'Infinity', '-infinity', '-infinity', 'Infinity')`)
    const within = encodeURIComponent("in(a, bc, far, inf, \"-inf\")")
    for (
      const [order, expected] of [
        ["at", "-inf bc far inf"],
        ["day desc", "inf far bc -inf"],
        ["real", "bc far -inf inf"],
        ["free desc,at", "inf -inf far bc"],
        ["amount,day", "bc far -inf inf"]
      ] as const
    ) {
      const seen: unknown[] = []
      let token = ""
      for (let page = 0; page < 5; page++) {
        const query = `filter=${within}&order_by=${encodeURIComponent(order)}&page_size=1&page_token=${token}`
        const answer = await service.get(boss, `${path}?${query}`)
        expect(answer.status, answer.text).toBe(200)
        for (let i = 0; answer.json["items"]![i] !== undefined; i++) seen.push(answer.json["items"]![i]!["a"])
        token = answer.json["next_page_token"] as unknown as string
        if (token === "") break
      }
      expect(seen.join(" "), order).toBe(expected)
    }
    for (const field of ["real", "free", "amount", "b"]) {
      const answer = await service.get(boss, `${path}:histogram?field=${field}&filter=${within}`)
      expect(answer.status, answer.text).toBe(200)
      // A bound that is no number would not even be JSON.
      expect(answer.json, answer.text).toBeDefined()
      expect(answer.json["buckets"]![9]?.["count"], answer.text).toBeTypeOf("number")
      for (let i = 0; i < 9; i++) {
        expect(answer.json["buckets"]![i]!["to"]).toEqual(answer.json["buckets"]![i + 1]!["from"])
      }
    }
    const whole = await service.get(boss, `${path}:histogram?field=real&filter=${within}`)
    expect(whole.json["buckets"]![0]?.["from"]).toBe(-1.7e308)
    expect(whole.json["buckets"]![4]?.["to"]).toBe(0)
    expect(whole.json["buckets"]![9]?.["to"]).toBe(1.7e308)
  })

  it("draw series that reach past the years that can be written", async () => {
    await service.database!.execute(`insert into extremes (a, b, at, day) values
      ('s', 1, '0044-03-15 12:00:00 BC', '0044-03-15 BC'), ('s', 2, '12026-01-01 00:00:00', '12026-01-01'), ('s', 3, 'infinity', '-infinity'),
      ('s', 4, '0001-01-01 00:00:00', '0001-01-01'), ('s', 5, '9999-12-31 23:59:59.999999', '9999-12-31')`)
    for (const field of ["at", "day"]) {
      for (const range of ["range=all", "from=0001-01-01&to=9999-12-31"]) {
        const answer = await service.get(boss, `${path}:series?field=${field}&filter=a%3Ds&granularity=year&${range}`)
        expect(answer.status, answer.text).toBe(200)
        expect(answer.json["points"]![0]).toEqual({ start: "0001-01-01T00:00:00Z", count: 1 })
        expect(answer.json["points"]![9998]).toEqual({ start: "9999-01-01T00:00:00Z", count: 1 })
        expect(answer.json["points"]![9999]).toBeUndefined()
      }
      for (const zone of ["Asia/Tokyo", "America/New_York", "Pacific/Apia"]) {
        const query = `field=${field}&filter=a%3Ds&granularity=quarter&from=0001-01-01&to=0002-12-31&time_zone=${zone}`
        const answer = await service.get(boss, `${path}:series?${query}`)
        expect(answer.status, answer.text).toBe(200)
        expect(answer.json["points"]![7]).toBeDefined()
        expect(answer.json["points"]![8]).toBeUndefined()
      }
    }
  })
})
