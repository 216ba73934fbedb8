/** Arrays over HTTP, on both backends: exact values in and out, elements refused by their place, filters, facets, files of tables. */

import { expect, it } from "vitest"
import { compileOrThrow } from "../../../composition/create-admin.ts"
import { historyMigrations } from "../../../composition/migrations.ts"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { history } from "../../../core/domain/declare/history.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { at } from "../../support/answer.ts"
import type { Fixture, TestCaller, TestService } from "../../support/composed.ts"
import { base, batch, codes, make, on, onBoth, patch, read } from "./scenes.ts"

const fields = {
  texts: f.array(f.text().max(8)).max(5).filterable().default(["new"]),
  states: f.array(f.enum(["draft", "paid", "it's"])).optional().filterable(),
  typed: f.array(f.enum(["low", "high"])).optional().filterable(),
  small: f.array(f.integer().bits(16)).optional().filterable(),
  mid: f.array(f.integer().optional()).optional().filterable(),
  big: f.array(f.integer().bits(64)).optional().filterable(),
  prices: f.array(f.decimal({ precision: 8, scale: 2 })).optional().filterable(),
  loose: f.array(f.decimal()).optional().filterable(),
  ratios: f.array(f.float()).optional().filterable(),
  flags: f.array(f.boolean()).optional().filterable(),
  times: f.array(f.timestamp()).optional().filterable(),
  walls: f.array(f.timestamp()).optional().filterable(),
  days: f.array(f.date()).optional().filterable(),
  keys: f.array(f.uuid()).optional().filterable(),
  currencies: f.array(f.currency()).optional().filterable(),
  countries: f.array(f.country()).optional().filterable(),
  opens: f.array(f.time()).optional().filterable(),
  lasts: f.array(f.interval()).optional().filterable(),
  hosts: f.array(f.inet()).optional().filterable(),
  nets: f.array(f.cidr()).optional().filterable(),
  macs: f.array(f.macaddr()).optional().filterable(),
  blobs: f.array(f.bytes({ max: 4 })).optional().filterable(),
  amounts: f.array(f.money()).optional().filterable(),
  costs: f.array(f.money()).optional().filterable(),
  seats: f.array(f.range("integer")).optional().filterable(),
  during: f.array(f.range("timestamp")).optional().filterable(),
  points: f.array(f.native("point")).optional().filterable(),
  boxes: f.array(f.native("box")).optional().filterable(),
  vectors: f.array(f.native("tsvector")).optional().readOnly().filterable()
}

const things = defineResource("things", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    group_id: relation("groups").optional(),
    ...fields,
    zq_marks: f.array(f.text()).optional().filterable()
  },
  access: { fields: { zq_marks: { read: ["admin"] } } }
})

const groups = defineResource("groups", {
  primaryKey: "id",
  fields: {
    id: f.integer(),
    tags: f.array(f.text()).filterable().default([]),
    members: f.array(f.text()).default([])
  },
  access: { read: ({ caller }) => caller.roles.includes("admin") || where`members:caller.id` }
})

const config = defineConfig({
  resources: [things, groups],
  roles: defineRoles({ admin: ["*"], clerk: ["things.*", "groups.*"] }),
  extends: [history({ resources: ["things"] })]
})

const fixture = (): Fixture => ({
  config,
  schema: `
    create type level as enum ('low', 'high');
    create domain code as char(3);
    create domain price as money;
    create table groups (id integer primary key, tags text[] not null, members text[] not null);
    create table things (
      id integer primary key, group_id integer, texts varchar(8)[] not null, states text[], typed level[], small smallint[], mid integer[], big bigint[],
      prices numeric(8, 2)[], loose numeric[], ratios float8[], flags boolean[], times timestamptz[], walls timestamp[], days date[], keys uuid[],
      currencies code[], countries text[], opens time[], lasts interval[], hosts inet[], nets cidr[], macs macaddr[], blobs bytea[], amounts money[],
      costs price[], seats int4range[], during tstzrange[], points point[], boxes box[], vectors tsvector[], zq_marks text[]
    );
    ${historyMigrations(compileOrThrow(config)).map(({ statements }) => statements).join("\n")}
  `,
  rows: {}
})

const admin: TestCaller = { id: "root", roles: ["admin"] }
const clerk: TestCaller = { id: "ann", roles: ["clerk"] }

let last = 0
const thing = (service: TestService, more: { readonly [field: string]: unknown } = {}) =>
  make(service, admin, "things", { id: ++last, ...more })

const whole = {
  texts: ["a,b", "{}", "NULL", "\"\\ü", ""],
  states: ["it's", "draft"],
  typed: ["high", "low", "high"],
  small: [-32768, 32767],
  mid: [1, null, -2147483648],
  big: ["9007199254740993", "-9223372036854775808"],
  prices: ["1.50", "-0.05"],
  loose: ["12345678901234567890.123456789"],
  ratios: [0.1, 1e300, -2.5],
  flags: [true, false],
  times: ["2026-01-31T09:30:00.123456Z", "0001-01-01T00:00:00Z"],
  walls: ["2026-03-29T02:30:00Z"],
  days: ["2026-01-31", "9999-12-31"],
  keys: ["123e4567-e89b-42d3-a456-426614174000"],
  currencies: ["EUR", "NOK"],
  countries: ["NO"],
  opens: ["09:30:00", "24:00:00"],
  lasts: ["P1M", "PT-1.5S"],
  hosts: ["192.0.2.1", "10.0.0.1/8", "2001:db8::/32"],
  nets: ["10.0.0.0/8"],
  macs: ["08:00:2b:01:02:03"],
  blobs: ["AAE=", "", "/+8="],
  amounts: ["12.50", "-0.05"],
  costs: ["0.10"],
  seats: ["[1,5)", "empty", "(,)"],
  during: ["[2026-01-01T00:00:00Z,2026-01-02T00:00:00.5Z)", "(,)"],
  points: ["(1,2)"],
  boxes: ["(1,1),(0,0)", "(2,2),(1,1)"]
}

const suite = (use: () => TestService): void => {
  const found = async (filter: string, caller = admin, resource = "things"): Promise<readonly unknown[]> => {
    const answer = await use().get(caller, at(resource, { filter }))
    expect(answer.status, answer.text).toBe(200)
    return (answer.json["items"] as unknown as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id)
  }

  it("keeps every kind exactly, and gives equal records equal tags", async () => {
    const made = await thing(use(), whole)
    expect(made.record).toMatchObject(whole)
    expect(await read(use(), clerk, made.path)).toMatchObject(whole)
    const listed = await use().get(admin, at("things", { filter: `id = ${made.id}` }))
    expect(listed.json["items"]).toEqual([expect.objectContaining({ ...whole, etag: made.etag })])
    // Only some fields: the database makes the tag.
    const some = await use().get(admin, at("things", { filter: `id = ${made.id}`, fields: "id,times" }))
    expect(some.json["items"]).toEqual([
      expect.objectContaining({ id: Number(made.id), times: whole.times, etag: made.etag })
    ])
    const spelled = {
      prices: ["1.5", "-0.050"],
      hosts: ["192.0.2.1/32", "10.0.0.1/8", "2001:0db8::/32"],
      amounts: [12.5, "-0.050"]
    }
    const again = await patch(use(), admin, made.path, { ...whole, ...spelled }, made.etag)
    expect([again.status, again.headers.get("etag")]).toEqual([200, made.etag])
  })

  it("replaces the whole list, and begins with its default", async () => {
    const { etag, path } = await thing(use())
    expect(await read(use(), clerk, path)).toMatchObject({ texts: ["new"], mid: null })
    const emptied = await patch(use(), admin, path, { texts: [], mid: [null] }, etag)
    expect(emptied.json).toMatchObject({ texts: [], mid: [null] })
    expect(emptied.headers.get("etag")).not.toBe(etag)
    expect((await patch(use(), clerk, path, { mid: null })).json["mid"]).toBeNull()
  })

  it("names the element that is refused", async () => {
    const { path } = await thing(use())
    const refused = async (body: unknown): Promise<readonly string[]> => codes(await patch(use(), clerk, path, body))
    expect(await refused({ texts: ["ok", "too long one"] })).toEqual(["texts[1] max"])
    expect(await refused({ texts: ["a\0"], small: [1, 2, 40_000], big: [1.5], days: ["2026-02-30"] })).toEqual([
      "texts[0] invalid",
      "small[2] invalid",
      "big[0] type",
      "days[0] invalid"
    ])
    expect((await patch(use(), clerk, path, { texts: ["\ud800"] })).status).toBe(400)
    expect(await refused({ texts: ["a", null] })).toEqual(["texts[1] required"])
    expect(await refused({ texts: ["a", ["b"]] })).toEqual(["texts[1] type"])
    expect(await refused({ states: ["piad"] })).toEqual(["states[0] enum"])
    expect(await refused({ big: [2 ** 53], loose: ["1e999999"], ratios: ["NaN"] })).toEqual([
      "big[0] invalid",
      "loose[0] invalid",
      "ratios[0] type"
    ])
    expect(
      await refused({
        lasts: ["P1M", "1 month"],
        hosts: ["300.0.0.1"],
        blobs: ["AAE=", "AAAAAAA="],
        amounts: ["0.005"],
        seats: ["[5,1)"],
        points: [1],
        nets: ["10.0.0.1/8"]
      })
    ).toEqual([
      "lasts[1] invalid",
      "hosts[0] invalid",
      "blobs[1] max",
      "amounts[0] invalid",
      "seats[0] invalid",
      "points[0] type",
      "nets[0] invalid"
    ])
  })

  it("refuses what is no list, increments, null where it is required, and too many", async () => {
    const { path } = await thing(use())
    const refused = async (body: unknown): Promise<readonly string[]> => codes(await patch(use(), clerk, path, body))
    expect(await refused({ texts: "a", small: { 0: 1 }, mid: { $add: 1 } })).toEqual([
      "texts type",
      "small type",
      "mid type"
    ])
    expect(await refused({ texts: null })).toEqual(["texts required"])
    expect(await refused({ texts: ["1", "2", "3", "4", "5", "6"] })).toEqual(["texts max"])
    expect(await refused({ small: Array.from({ length: 1_001 }, () => 0) })).toEqual(["small max"])
    const million = await patch(use(), clerk, path, { mid: Array.from({ length: 1_000_000 }, () => 0) })
    expect([400, 413]).toContain(million.status)
    const deep = await use().call(clerk, "PATCH", path, {
      raw: `{"mid":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
      headers: { "if-match": "*", "content-type": "application/json" }
    })
    expect(deep.status).toBeGreaterThanOrEqual(400)
    expect(deep.status).toBeLessThan(500)
  })

  it("filters by elements of every kind", async () => {
    const { id } = await thing(use(), whole)
    const own = (condition: string): string => `${condition} AND id = ${id}`
    for (
      const condition of [
        "texts:\"a,b\"",
        "texts:NULL",
        "texts:\"\"",
        "states:\"it's\"",
        "typed:low",
        "small:-32768",
        "mid:1",
        "big:9007199254740993",
        "prices:1.5",
        "loose:12345678901234567890.1234567890",
        "ratios:1e300",
        "flags:true",
        "times:\"2026-01-31T10:30:00.123456+01:00\"",
        "walls:2026-03-29T02:30:00Z",
        "days:9999-12-31",
        "keys:123E4567-E89B-42D3-A456-426614174000",
        "currencies:EUR",
        "countries:NO",
        "opens:\"09:30:00\"",
        "lasts:P30D",
        "in(lasts, PT1H, PT-1.5S)",
        "hosts:\"192.0.2.1/32\"",
        "in(hosts, \"::1\", \"10.0.0.1/8\")",
        "nets:\"10.0.0.0/8\"",
        "macs:\"08-00-2B-01-02-03\"",
        "blobs:\"\" AND blobs:\"AAE=\"",
        "in(blobs, \"AA==\", \"/+8=\")",
        "amounts:12.5",
        "in(amounts, 1.005, -0.05)",
        "costs:0.1 AND in(costs, 7, 0.1)",
        "seats:\"[1,4]\" AND seats:empty",
        "during:\"[2026-01-01T01:00:00+01:00,2026-01-02T00:00:00.5Z)\"",
        "length(points) = 1 AND points:* AND length(boxes) = 2",
        "in(big, 1, 9007199254740993)",
        "in(currencies, SEK, NOK)",
        "in(times, 2026-01-31T09:30:00.123456Z, now())",
        "length(texts) = 5 AND length(mid) >= 3",
        "prices:(1.5 AND -0.05)",
        "texts:* AND NOT isNull(keys)"
      ]
    ) {
      expect(await found(own(condition)), condition).toEqual([Number(id)])
    }
    for (
      const condition of [
        "texts:\"a\"",
        "texts:null_",
        "big:9007199254740992",
        "prices:1.505",
        "in(keys, 123e4567-e89b-42d3-a456-426614174001)",
        "length(texts) > 5",
        "NOT texts:NULL",
        "hosts:\"192.0.2.1/24\"",
        "amounts:12.505",
        "in(costs, 0.101, 0.102)",
        "seats:\"[1,4)\"",
        "blobs:\"AQ==\""
      ]
    ) {
      expect(await found(own(condition)), condition).toEqual([])
    }
  })

  it("filters through relations, by what the caller sees there", async () => {
    const [mine, other] = [++last, ++last]
    await make(use(), admin, "groups", { id: mine, tags: ["vip", "old"], members: ["ann"] })
    await make(use(), admin, "groups", { id: other, tags: ["vip"], members: ["bob"] })
    const [a, b] = [await thing(use(), { group_id: mine }), await thing(use(), { group_id: other })]
    const mostly = `in(id, ${a.id}, ${b.id}) AND `
    expect(await found(`${mostly}group.tags:vip`)).toEqual([Number(a.id), Number(b.id)])
    expect(await found(`${mostly}group.tags:vip`, clerk)).toEqual([Number(a.id)])
    expect(await found(`${mostly}length(group.tags) >= 2`)).toEqual([Number(a.id)])
    expect(await found(`${mostly}length(group.tags) != 2`)).toEqual([Number(b.id)])
    expect(await found(`${mostly}in(group.tags, old, x)`)).toEqual([Number(a.id)])
    expect(await found("tags:vip", clerk, "groups")).toEqual([mine])
  })

  it("hides a list and its name alike", async () => {
    const about = (answer: { readonly text: string }): string =>
      answer.text.replaceAll("zq_marks", "x")
        .replaceAll("zq_other", "x").replaceAll(/"(?:instance|request_id)":"[^"]*",?/g, "")
    for (const condition of ["FIELD:a", "in(FIELD, a)", "length(FIELD) > 1"]) {
      const ask = (field: string) => use().get(clerk, at("things", { filter: condition.replace("FIELD", field) }))
      const [hidden, unknown] = [await ask("zq_marks"), await ask("zq_other")]
      expect([hidden.status, about(hidden)]).toEqual([400, about(unknown)])
    }
  })

  it("counts elements by :facets, and neither sorts nor groups by a list", async () => {
    const [a, b] = [
      await thing(use(), { days: ["2026-05-01", "2026-05-01"], big: [7, 7] }),
      await thing(use(), {
        days: ["2026-05-01", "2026-05-02"],
        big: []
      })
    ]
    const filter = `in(id, ${a.id}, ${b.id})`
    const days = await use().get(admin, at("things:facets", { field: "days", filter }))
    expect(days.json["facets"]).toEqual([{ value: "2026-05-01", count: 2 }, { value: "2026-05-02", count: 1 }])
    const big = await use().get(admin, at("things:facets", { field: "big", filter }))
    expect(big.json["facets"]).toEqual([{ value: "7", count: 1 }])
    const facets = async (field: string): Promise<unknown> =>
      (await use().get(admin, at("things:facets", { field, filter }))).json["facets"]
    const [first, second] = [["PT1H", "PT60M"], ["192.0.2.1", "::1"]] as const
    await patch(use(), admin, a.path, { lasts: first, hosts: second, amounts: [1, 1, 2], seats: ["[1,5)"] })
    await patch(use(), admin, b.path, { lasts: ["PT1H"], hosts: ["::1"], amounts: [], seats: ["[1,4]", "empty"] })
    expect(await facets("lasts")).toEqual([{ value: "PT1H", count: 2 }])
    expect(await facets("hosts")).toEqual([{ value: "::1", count: 2 }, { value: "192.0.2.1", count: 1 }])
    expect(await facets("amounts")).toEqual([{ value: "1.00", count: 1 }, { value: "2.00", count: 1 }])
    expect(await facets("seats")).toEqual([{ value: "[1,5)", count: 2 }, { value: "empty", count: 1 }])
    for (const field of ["blobs", "points"]) {
      const none = await use().get(admin, at("things:facets", { field }))
      expect([none.status, none.json["detail"]]).toEqual([400, `The field "${field}" has no facets.`])
    }
    const grouped = await use().get(admin, at("things:aggregate", { group_by: "days" }))
    expect([grouped.status, grouped.json["detail"]]).toEqual([
      400,
      "The field \"days\" is a list: rows are not grouped by it, and :facets counts its elements."
    ])
    const sorted = await use().get(admin, at("things", { order_by: "days" }))
    expect([sorted.status, sorted.text.includes("not-sortable")]).toEqual([400, true])
  })

  it("refuses hostile filters", async () => {
    for (
      const filter of [
        `in(mid, ${Array.from({ length: 10_000 }, (_, i) => i).join(",")})`,
        "mid:99999999999999999999999",
        "loose:1e999999",
        "texts = a",
        "length(texts) = 99999999999999",
        "length(length(texts)) = 1",
        "texts:\u0000",
        "points:\"(1,2)\"",
        "in(boxes, x)",
        "vectors:x",
        "hosts:x",
        "seats:5",
        "blobs:x",
        "lasts:1",
        `length(${"x".repeat(5_000)}) = 1`
      ]
    ) {
      const answer = await use().get(admin, at("things", { filter }))
      expect([answer.status, filter.slice(0, 40)]).toEqual([400, filter.slice(0, 40)])
    }
    const many = `in(mid, ${Array.from({ length: 1_000 }, (_, i) => i).join(",")})`
    expect((await use().get(admin, at("things", { filter: many }))).status).toBe(200)
  })

  it("keeps versions, and restores one", async () => {
    const made = await thing(use(), whole)
    const changed = await patch(use(), admin, made.path, { texts: ["x"], times: null, prices: [] })
    const versions = await use().get(
      admin,
      at("things_history", { filter: `id = ${made.id}`, order_by: "history_id" })
    )
    const [first, second] = versions.json["items"] as unknown as readonly [{ history_id: string }, object]
    expect(first).toMatchObject(whole)
    expect(second).toMatchObject({ texts: ["x"], times: null, prices: [] })
    const restored = await use().call(admin, "POST", `${made.path}:restore`, {
      body: { version: first.history_id },
      headers: { "if-match": changed.headers.get("etag")! }
    })
    expect(restored.json).toMatchObject(whole)
  })

  it("is a file's cell as JSON, and a member of its lines", async () => {
    const { id } = await thing(use(), { ...whole, mid: null })
    const query = { filter: `id = ${id}`, fields: "id,texts,big,mid,times" }
    const csv = await use().get(admin, at("things:export", query))
    expect(csv.text.split("\r\n")[1]).toBe(
      [
        id,
        "\"[\"\"a,b\"\",\"\"{}\"\",\"\"NULL\"\",\"\"\\\"\"\\\\ü\"\",\"\"\"\"]\"",
        "\"[\"\"9007199254740993\"\",\"\"-9223372036854775808\"\"]\"",
        "",
        "\"[\"\"2026-01-31T09:30:00.123456Z\"\",\"\"0001-01-01T00:00:00Z\"\"]\""
      ].join(",")
    )
    const lines = await use().get(admin, at("things:export", { ...query, format: "ndjson" }))
    expect(JSON.parse(lines.text)).toEqual({
      id: Number(id),
      texts: whole.texts,
      big: whole.big,
      mid: null,
      times: whole.times
    })
  })

  it("takes part in batches and repeats", async () => {
    const id = ++last
    const headers = { "idempotency-key": `arrays-${id}` }
    const send = () =>
      use().call(admin, "POST", `${base}/things`, { body: { id, texts: ["a"], prices: [1.5] }, headers })
    const [first, second] = [await send(), await send()]
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
    const refused = await batch(use(), admin, [
      { op: "update", resource: "things", key: id, etag: "*", data: { prices: [1, "x"] } }
    ])
    expect(refused.text).toContain("prices[1]")
  })
}

onBoth("arrays", fixture, suite)

on("postgres", "arrays of the database", fixture, (use) => {
  it("are read whatever they are, and replaced by what a body may give", async () => {
    const id = ++last
    await use().database!.execute(
      `insert into things (id, texts, mid, times, ratios, days, prices, walls) values (${id}, '[0:1]={a,NULL}', '{{1,2},{3,NULL}}', '{infinity,0044-03-15 00:00:00+00 BC}',
        '{NaN,-Infinity,1e-7}', '{}', null, '{-infinity,NULL}')`
    )
    await use().database!.execute(
      `update things set blobs = array[array['\\x01'::bytea, null], array['\\x0203'::bytea, '']], hosts = '{{1.2.3.4},{::1}}', amounts = '{{1},{NULL}}',
        during = '{"[0044-03-15 00:00:00+00 BC,2026-01-01)","[-infinity,infinity]"}', vectors = '{fat rat,NULL}', boxes = '{NULL;(2,2),(1,1)}' where id = ${id}`
    )
    const path = `${base}/things/${id}`
    const record = await read(use(), admin, path)
    expect(record).toMatchObject({
      texts: ["a", null],
      mid: [[1, 2], [3, null]],
      times: ["infinity", "0044-03-15T00:00:00Z BC"],
      ratios: ["NaN", "-Infinity", 1e-7],
      walls: ["-infinity", null],
      days: [],
      prices: null,
      blobs: [["AQ==", null], ["AgM=", ""]],
      hosts: [["1.2.3.4"], ["::1"]],
      amounts: [["1.00"], [null]],
      during: ["[\"0044-03-15T00:00:00Z BC\",2026-01-01T00:00:00Z)", "[-infinity,infinity]"],
      vectors: ["'fat' 'rat'", null],
      boxes: [null, "(2,2),(1,1)"]
    })
    const listed = await use().get(
      admin,
      at("things", {
        filter: `id = ${id} AND texts:a AND mid:3 AND hosts:"::1" AND blobs:"AgM=" AND amounts:1`,
        fields: "id,times"
      })
    )
    expect(listed.json["items"]).toEqual([expect.objectContaining({ id, etag: record["etag"] })])
    expect((await use().get(admin, at("things", { filter: `id = ${id} AND length(mid) = 4` }))).json["items"])
      .toHaveLength(1)
    expect(codes(await patch(use(), admin, path, { mid: [[1, 2], [3, null]] }))).toEqual(["mid[0] type"])
    // What stands unchanged beside it stays as it is.
    expect((await patch(use(), admin, path, { mid: [3] }, record["etag"] as string)).json).toMatchObject({
      mid: [3],
      times: ["infinity", "0044-03-15T00:00:00Z BC"]
    })
  })
})
