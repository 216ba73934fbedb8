// Kinds that only PostgreSQL has, over HTTP: what is written comes back in one form, filters and orders mean what the database means, and no text ends in a 500.
import { describe, expect, it } from "vitest"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import type { Answer, Answered, Fixture, TestService } from "../support/composed.ts"
import { base, make, on, onBoth, patch } from "./writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }

const slots = defineResource("slots", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    opens: f.time().filterable().sortable().optional(),
    lasts: f.interval().filterable().sortable().default("PT1H"),
    ip: f.inet().filterable().sortable().optional(),
    net: f.cidr().filterable().sortable().optional(),
    mac: f.macaddr().filterable().sortable().optional(),
    content: f.bytes({ max: 10 }).filterable().optional(),
    price: f.money().filterable().sortable().optional(),
    seats: f.range("integer").filterable().sortable().optional(),
    weights: f.range("decimal").filterable().sortable().optional(),
    days: f.range("date").filterable().sortable().optional(),
    during: f.range("timestamp").filterable().sortable().optional(),
    place: f.native("point").filterable().optional()
  }
})
const nets = defineResource("nets", {
  primaryKey: "net",
  fields: { net: f.cidr().filterable().sortable(), name: f.text() }
})

const rows = [
  {
    id: 1,
    opens: "09:30:00",
    lasts: "P1M",
    ip: "10.0.0.1",
    net: "10.0.0.0/8",
    mac: "08:00:2b:01:02:03",
    content: "AAE=",
    price: "12.50",
    seats: "[1,5)",
    weights: "[1.5,2]",
    days: "[2026-01-01,2026-02-01)",
    during: "[2026-01-01T00:00:00Z,2026-01-02T00:00:00Z)",
    place: "(1,2)"
  },
  {
    id: 2,
    opens: "24:00:00",
    lasts: "P30D",
    ip: "10.0.0.1/8",
    net: "::/0",
    price: "-3.00",
    seats: "empty",
    days: "(,)"
  },
  { id: 3, opens: "09:30:00.5", lasts: "PT1H", ip: "::1", content: "", price: "0.00", seats: "[5,)", during: "(,)" },
  { id: 4, lasts: "P-1D" }
]

const fixture = (): Fixture => ({
  config: defineConfig({ resources: [slots, nets] }),
  schema:
    `create table slots (id integer primary key, opens time, lasts interval not null, ip inet, net cidr, mac macaddr, content bytea, price money,
    seats int4range, weights numrange, days daterange, during tstzrange, place point);
    create table nets (net cidr primary key, name text not null)`,
  rows: { slots: rows, nets: [{ net: "10.0.0.0/8", name: "ten" }, { net: "2001:db8::/32", name: "docs" }] }
})

const list = async (service: TestService, query: { readonly [name: string]: string }, resource = "slots") =>
  service.get(admin, `${base}/${resource}?${new URLSearchParams(query).toString()}`)

const refusedAs = ({ json, status, text }: Answer, slug: string): void =>
  expect([status, json["type"]], text.slice(0, 300)).toEqual([400, `urn:service:problem:${slug}`])

const idsOf = (json: Answered): readonly unknown[] =>
  (json["items"] as unknown as readonly Answered[]).map(({ id }) => id)

onBoth("kinds of PostgreSQL", fixture, (use, backend) => {
  it.each([
    ["lasts = P30D", [1, 2]],
    ["lasts > P29D", [1, 2]],
    ["lasts < PT0S", [4]],
    ["in(lasts, P1M, PT60M)", [1, 2, 3]],
    ["opens >= \"09:30:00.5\"", [2, 3]],
    ["opens = \"09:30\"", [1]],
    ["NOT opens > \"10:00\"", [1, 3, 4]],
    ["ip = \"10.0.0.1/32\"", [1]],
    ["ip < \"10.0.0.1\"", [2]],
    ["ip > \"10.0.0.1\"", [3]],
    ["net = \"10.0.0.0/8\"", [1]],
    ["mac = \"08-00-2B-01-02-03\"", [1]],
    ["content = \"AAE=\"", [1]],
    ["content = \"\"", [3]],
    ["in(content, \"\", \"AAE=\")", [1, 3]],
    ["content != \"AAE=\"", [2, 3, 4]],
    ["price > 12.499", [1]],
    ["price = 12.501", []],
    ["in(price, 12.5, 1e300)", [1]],
    ["price < 1e20", [1, 2, 3]],
    ["seats = \"(0,4]\"", [1]],
    ["seats > empty", [1, 3]],
    ["contains(seats, 4)", [1]],
    ["seats:4", [1]],
    ["NOT during:\"2026-01-01T12:00:00Z\"", [2, 4]],
    ["contains(seats, 2147483647)", [3]],
    ["overlaps(seats, \"[4,5]\")", [1, 3]],
    ["overlaps(seats, empty)", []],
    ["NOT overlaps(seats, \"(,)\")", [2, 4]],
    ["weights = \"[1.50,2.0]\"", [1]],
    ["contains(weights, 2)", [1]],
    ["contains(weights, 2.0000000001)", []],
    ["contains(days, 2026-01-31)", [1, 2]],
    ["contains(days, now())", [2]],
    ["contains(during, now() - 7d)", [3]],
    ["overlaps(during, \"[2026-01-02T00:00:00+01:00,]\")", [1, 3]],
    ["place:*", [1]],
    ["isNull(place)", [2, 3, 4]]
  ])("filter %s", async (filter, ids) => {
    const { json, status, text } = await list(use(), { filter, order_by: "id" })
    expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)])
    expect(idsOf(json)).toEqual(ids)
  })

  it.each([
    ["opens", [1, 3, 2, 4]],
    ["lasts", [4, 3, 1, 2]],
    ["lasts desc", [2, 1, 3, 4]],
    ["ip desc", [4, 3, 1, 2]],
    ["net", [1, 2, 3, 4]],
    ["price", [2, 3, 1, 4]],
    ["seats", [2, 1, 3, 4]],
    ["during desc", [4, 2, 1, 3]],
    ["days", [2, 1, 3, 4]]
  ])("pages by %s", async (order_by, ids) => {
    const found: unknown[] = []
    for (let token = "", page = 0; page === 0 || token !== ""; page++) {
      const { json, text } = await list(use(), { order_by, page_size: "1", page_token: token, fields: "id" })
      expect(page, text).toBeLessThan(5)
      found.push(...idsOf(json))
      token = json["next_page_token"] as unknown as string
    }
    expect(found).toEqual(ids)
  })

  it("values are canonical, and a value that is equal changes nothing", async () => {
    const given = {
      id: 10,
      opens: "24:00",
      lasts: "P14M",
      ip: "2001:DB8:0::1/128",
      net: "192.0.2.1",
      mac: "08-00-2B-01-02-03",
      content: "AAECAwQFBgcICQ==",
      price: 1e2,
      seats: "[1,5]",
      weights: "(1.50,)",
      days: "[2026-01-31,2026-01-31]",
      during: "[2026-01-01T01:00:00+01:00,)",
      place: "(1,2)"
    }
    const { etag, path, record } = await make(use(), admin, "slots", given)
    const stored = {
      opens: "24:00:00",
      lasts: "P1Y2M",
      ip: "2001:db8::1",
      net: "192.0.2.1/32",
      mac: "08:00:2b:01:02:03",
      content: "AAECAwQFBgcICQ==",
      price: "100.00",
      seats: "[1,6)",
      weights: "(1.50,)",
      days: "[2026-01-31,2026-02-01)",
      during: "[2026-01-01T00:00:00Z,)",
      place: "(1,2)"
    }
    expect(record).toMatchObject(stored)
    const again = await patch(use(), admin, path, { lasts: "P420D", weights: "(1.5,]", price: "100" }, etag)
    expect([again.status, again.headers.get("etag")]).toEqual([200, etag])
    expect(again.json).toMatchObject(stored)
    const listed = await list(use(), { filter: "id = 10", fields: "id" })
    expect(listed.json["items"]?.[0]?.["etag"]).toBe(etag)
    const changed = await patch(use(), admin, path, { lasts: "P1D", seats: null, place: "(0.1,-2)" }, etag)
    expect(changed.json).toMatchObject({ lasts: "P1D", seats: null, place: "(0.1,-2)" })
    expect((await use().call(admin, "DELETE", path, { headers: { "if-match": "*" } })).status).toBe(204)
  })

  it("defaults are values, too", async () => {
    const { path, record } = await make(use(), admin, "slots", { id: 11 })
    expect(record["lasts"]).toBe("PT1H")
    await use().call(admin, "DELETE", path, { headers: { "if-match": "*" } })
  })

  it("keys have slashes and colons", async () => {
    const { json, status } = await use().get(admin, `${base}/nets/${encodeURIComponent("2001:DB8:0::/32")}`)
    expect([status, json]).toMatchObject([200, { net: "2001:db8::/32", name: "docs" }])
  })

  const long = "9".repeat(500_000)
  it.each<readonly [string, unknown]>([
    ["opens", "25:00"],
    ["opens", "09:30:00+01"],
    ["opens", 930],
    ["lasts", "1 day"],
    ["lasts", "infinity"],
    ["lasts", "P2147483648D"],
    ["lasts", `P${long}Y`],
    ["lasts", `P${"1D".repeat(200_000)}`],
    ["ip", "300.0.0.1"],
    ["ip", `${"1:".repeat(200_000)}1`],
    ["net", "10.0.0.1/8"],
    ["mac", "x"],
    ["content", "AAECAwQFBgcICQo="],
    ["content", "A"],
    ["content", "AA==\u0000"],
    ["content", [1]],
    ["price", "12.345"],
    ["price", "1e17"],
    ["price", long],
    ["price", "NaN"],
    ["seats", "[5,1]"],
    ["seats", "[1,2147483647]"],
    ["seats", "(2147483647,)"],
    ["seats", "[1,infinity)"],
    ["seats", `[${long},)`],
    ["seats", "[1,\u0000)"],
    ["weights", `[${long},)`],
    ["weights", "[1e999999,)"],
    ["weights", "[NaN,]"],
    ["days", "[2026-02-30,)"],
    ["days", "[10000-01-01,10000-01-02)"],
    ["days", "[0044-03-15 BC,)"],
    ["during", "[2026-01-01 00:00,)"],
    ["during", "[-infinity,infinity]"],
    ["place", "\u0000"],
    ["place", "x".repeat(100_001)]
  ])("a body with a wrong %s is refused", async (field, value) => {
    const answer = await use().call(admin, "POST", `${base}/slots`, { body: { id: 20, [field]: value } })
    refusedAs(answer, "invalid-record")
    expect(answer.json["errors"]?.[0]?.["field"]).toBe(field)
    expect(answer.text.length).toBeLessThan(1_000)
  })

  it.each([
    "opens = \"25:00\"",
    "lasts = \"infinity\"",
    `lasts > "P${"9".repeat(9_000)}D"`,
    "ip = 1",
    "content = x",
    "content < \"AA==\"",
    "price = x",
    "seats = \"[5,1]\"",
    "contains(seats, x)",
    "contains(seats, 2147483648)",
    "contains(seats)",
    "contains(price, 1)",
    "overlaps(seats, 5)",
    "overlaps(days, \"[2026-01-01T00:00:00Z,)\")",
    "seats = now()",
    "contains(seats, now())",
    "place = \"(1,2)\"",
    "in(place, \"(1,2)\")",
    "opens = caller.id"
  ])("a filter %s is refused", async (filter) => {
    refusedAs(await list(use(), { filter }), "invalid-filter")
  })

  it("bytes and native values have no order", async () => {
    for (const order_by of ["content", "place"]) refusedAs(await list(use(), { order_by }), "invalid-order-by")
  })

  it("groups, facets and measures", async () => {
    const ask = async (query: { readonly [name: string]: string }) => {
      const { json, text } = await use().get(admin, `${base}/slots:aggregate?${new URLSearchParams(query).toString()}`)
      expect(json["groups"], text).toBeDefined()
      return json["groups"] as unknown as readonly Answered[]
    }
    const [all] = await ask({
      measures:
        "max(opens),min(lasts),max(ip),min(net),max(net),sum(price),avg(price),min(price),median(price),count_distinct(lasts)"
    })
    expect(all!["measures"]).toEqual({
      "max(opens)": "24:00:00",
      "min(lasts)": "P-1D",
      "max(ip)": "::1",
      "min(net)": "10.0.0.0/8",
      "max(net)": "::/0",
      "sum(price)": "9.50",
      "avg(price)": "3.1666666666666667",
      "min(price)": "-3.00",
      "median(price)": "0.00",
      "count_distinct(lasts)": 3
    })
    const grouped = await ask({ group_by: "net", measures: "count,max(price)", having: "max(price) > 12.499" })
    expect(grouped).toEqual([{ group: { net: "10.0.0.0/8" }, measures: { count: 1, "max(price)": "12.50" } }])
    const facets = await use().get(admin, `${base}/slots:facets?field=seats`)
    expect(facets.json["facets"]).toHaveLength(4)
    const histogram = await use().get(admin, `${base}/slots:histogram?field=price&buckets=2`)
    expect(histogram.json["buckets"]).toMatchObject([{ from: "-3", count: 2 }, { to: "12.5", count: 1 }])
    for (
      const path of [":facets?field=content", ":facets?field=place", ":histogram?field=lasts", ":series?field=opens"]
    ) {
      refusedAs(await use().get(admin, `${base}/slots${path}`), "invalid-parameter")
    }
  })

  it("exports have the same texts", async () => {
    const csv = await use().get(
      admin,
      `${base}/slots:export?format=csv&fields=id,content,lasts,seats,price&filter=id<4&order_by=id`
    )
    expect(csv.text.split(/\r?\n/).slice(1, 4)).toEqual([
      "1,AAE=,P1M,\"[1,5)\",12.50",
      "2,,P30D,empty,-3.00",
      "3,\"\",PT1H,\"[5,)\",0.00"
    ])
    expect(backend).toMatch(/^(?:fake|postgres)$/)
  })
})

on("postgres", "types without a kind", fixture, (use) => {
  describe("texts that the database cannot read", () => {
    it.each(["x", "(1,2", "(1e400,2)", "(", "9".repeat(99_999), "(".repeat(99_999)])("are refused", async (place) => {
      refusedAs(await use().call(admin, "POST", `${base}/slots`, { body: { id: 30, place } }), "invalid-record")
    })
  })
})
