/** Values at the edges of their kinds through HTTP and PostgreSQL and back: what is read equals what was written, and can be found by it. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { wireFromCell } from "../../core/domain/value/cell.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import { property } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
import { cell, json, text } from "../generators/value.ts"
import { startService } from "../support/composed.ts"
import type { Answered, TestService } from "../support/composed.ts"
import { makeField } from "../support/model.ts"
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

const fields = ([
  { name: "amount", kind: "decimal", precision: 60, scale: 30 },
  { name: "free", kind: "decimal" },
  { name: "at", kind: "timestamp" },
  { name: "day", kind: "date" },
  { name: "real", kind: "float" },
  { name: "text", kind: "text" }
] as const).map((parts) => makeField(parts))

/** A record without its number, as a client writes it. */
const record = (random: Random): { readonly a: string; readonly [field: string]: Json } => ({
  a: text(random),
  ...Object.fromEntries(fields.map((field) => [
    field.name,
    random.chance(3) ? null : wireFromCell(field, cell(random, field))
  ])),
  // A record's own null and JSON's null are both SQL NULL.
  data: random.chance(3) ? null : { value: json(random) }
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
  let last = 0
  property("come back as they were written", { first: record, other: record }, { cases: 200 }, async (
    { first, other }
  ) => {
    const sent = { b: String(++last), ...first }
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
    for (const name of ["a", ...fields.map((field) => field.name)]) {
      const value = first[name]!
      const written = typeof value === "string" ? value : JSON.stringify(value)
      const condition = value === null ? `isNull(${name})` : `${name} = ${literal(written)}`
      const filter = `${condition} AND b = ${sent.b}`
      const found = await service.call(boss, "POST", `${path}:search`, { body: { filter } })
      expect(found.status, `${filter} ${found.text}`).toBe(200)
      expect(found.json["items"]![0]?.["etag"], filter).toBe(created.headers.get("etag"))
    }
    const { a: _, ...patch } = other
    const patched = await service.call(boss, "PATCH", `${path}/${key}`, {
      body: patch,
      headers: { "if-match": got.headers.get("etag")! }
    })
    expect(patched.status, patched.text).toBe(200)
    expect(bare(patched.json)).toEqual({ ...patch, a: sent.a, b: sent.b })
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
