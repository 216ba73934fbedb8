import { describe, expect, it } from "vitest"
import { type Loose, one, refusalsOf } from "../../../test/support/refusals.ts"
import { where } from "../access/where.ts"
import { defineConfig } from "./config.ts"
import { f, relation } from "./field.ts"
import { didYouMean, printRefusals, quoteValue, shownAddress } from "./refusal.ts"
import { defineResource } from "./resource.ts"

/** Every way to a value inside a configuration; declarations are followed as plain objects. */
const waysInto = (value: unknown, way: readonly string[] = []): ReadonlyArray<readonly string[]> =>
  typeof value !== "object" || value === null
    ? []
    : Object.keys(value).flatMap((key) => [
      [...way, key],
      ...waysInto((value as Loose)[key], [...way, key])
    ])

/** A copy of a configuration with one value replaced. */
const withValue = (value: unknown, [key, ...rest]: readonly string[], put: unknown): unknown => {
  if (key === undefined) return put
  const copy: { [key: string]: unknown } = Array.isArray(value) ? [...value] as never : { ...(value as Loose) }
  copy[key] = withValue((value as Loose)[key], rest, put)
  return copy
}

const whole = defineConfig({
  resources: [
    defineResource("users", {
      primaryKey: "id",
      fields: { id: f.uuid().dbDefault(), name: f.text().max(9).searched() }
    }),
    defineResource("orders", {
      table: "shop.orders",
      primaryKey: "id",
      tenant: f.integer().column("tenant_id"),
      owner: "user_id",
      softDelete: "deleted_at",
      version: "updated_at",
      fields: {
        id: f.integer().bits(64).readOnly().dbDefault().sortable(),
        user_id: relation("users").as("user").inverse("orders"),
        status: f.enum(["draft", "paid"]).filterable().default("draft").alias("state"),
        total: f.decimal({ precision: 9, scale: 2 }).filterable().column("amount"),
        updated_at: f.timestamp().filterable()
      },
      validate: [() => null],
      access: { read: ["sales"], delete: where`status = "draft"`, fields: { total: { read: true, write: ["sales"] } } },
      events: { created: true, paid: { on: ["update"], match: () => true } }
    })
  ],
  roles: { sales: ["orders.read.own", "users.*"] },
  views: {
    orders: [{
      name: "all",
      label: { singular: "Order", plural: "Orders" },
      columns: ["id", "total"],
      sort: "id desc",
      filters: [{ name: "Open", filter: "status = draft" }],
      search: ["status"],
      layout: [{ label: "All", fields: ["id"] }],
      chart: { of: "series", field: "updated_at", granularity: "day", range: "7d", measure: "sum:total" },
      title: "id",
      nav: { group: "Sales", order: 1, icon: "cart", recent: { sort: "id", limit: 3 } },
      roles: ["sales"]
    }]
  },
  auth: { tenant: 1, url: "https://a.example", roles: ["sales"], defaultRole: "sales", cache: { refreshMs: 1 } },
  userMenu: [{ label: "Reports", page: "reports", roles: ["sales"], resource: "orders" }],
  pages: [{ name: "reports", label: "Reports", href: "/r" }],
  options: {
    scanGuard: { mode: "warn", seqScanRows: 1 },
    rowPermissions: { except: ["orders"] },
    basePath: "/api/v1",
    writeHooks: [() => undefined],
    cors: { origins: ["https://a.example"], maxAgeSeconds: 1 },
    sources: [{ url: "https://b.example/api/v1", label: "B", resources: ["parts"], roles: ["sales"] }]
  }
})

describe("any configuration", () => {
  const junk: ReadonlyArray<readonly [name: string, value: unknown]> = [
    ["undefined", undefined],
    ["null", null],
    ["true", true],
    ["a negative number", -1],
    ["NaN", Number.NaN],
    ["a bigint", 1n],
    ["an empty text", ""],
    ["half a character", "\ud800"],
    ["an empty list", []],
    ["a list of nothing", [undefined]],
    ["an object", {}],
    ["a symbol", Symbol("s")],
    ["a function", () => 1]
  ]
  const ways = waysInto(whole)

  it("compiles when it is sound", () => {
    expect(refusalsOf(whole)).toEqual([])
    expect(ways.length).toBeGreaterThan(200)
  })

  it.each(junk)("is refused in sentences, and never crashes startup, with %s anywhere in it", (_, value) => {
    const sentence = /^["\p{L}].*\S$/su
    const unclear: string[] = []
    let refused = 0
    for (const way of ways) {
      const found = refusalsOf(withValue(whole, way, value))
      if (found.length > 0) refused++
      for (const { message, fix } of found) {
        if (!sentence.test(message) || !sentence.test(fix) || /\[object /.test(message + fix)) {
          unclear.push(`${way.join(".")}: ${message} → ${fix}`)
        }
      }
    }
    expect(unclear).toEqual([])
    expect(refused).toBeGreaterThan(ways.length / 4)
  })
})

describe("words of refusals", () => {
  it("prints them in groups", () => {
    const config = { ...one({ total: f.decimal({ precision: 2, scale: 4 }) }, { owner: "x" }), pages: {} }
    expect(printRefusals(refusalsOf(config))).toBe(
      `The configuration has 3 problems.

a
  total: The scale 4 is larger than the precision 2.
    → Write f.decimal({ precision: 12, scale: 2 }), with scale at most precision, or f.decimal().
  x: owner is "x", which is not a declared field.
    → Use one of id, total.

(configuration)
  pages is {}, not a list.
    → Write pages: [{ name: "reports", label: "Reports" }].
`
    )
    expect(printRefusals(refusalsOf(undefined))).toMatch(/^The configuration has a problem\.\n/)
    expect(printRefusals([])).toBe("The configuration has no problems.")
  })

  it("suggests names", () => {
    expect(didYouMean("ordres", ["orders", "customers"])).toBe("Did you mean \"orders\"?")
    expect(didYouMean("zzz", ["a", "b"])).toBe("Use one of a, b.")
    expect(didYouMean(1, Array.from({ length: 20 }, (_, i) => `f${i}`))).toMatch(/^Use one of f0, .*, f11, …\.$/)
    expect(didYouMean("a", [])).toBe("There is none to choose from.")
  })

  it("shows any value on one short line", () => {
    expect([Number.NaN, Number.POSITIVE_INFINITY, 1.5].map(quoteValue)).toEqual(["NaN", "Infinity", "1.5"])
    const circle: unknown[] = []
    circle.push(circle)
    expect([undefined, null, 1n, Symbol("s"), () => 1, circle, { toJSON: () => undefined }, "x\ny"].map(quoteValue))
      .toEqual(
        [
          "undefined",
          "null",
          "1",
          "Symbol(s)",
          "a function",
          "a list",
          "an object",
          "\"x\\ny\""
        ]
      )
    expect(quoteValue("x".repeat(100))).toHaveLength(60)
  })

  it("keeps names and passwords out of addresses", () => {
    expect(shownAddress("https://me:hush@example.com/a@b")).toBe("\"https://…@example.com/a@b\"")
    expect(shownAddress("https://example.com/a@b")).toBe("\"https://example.com/a@b\"")
    expect(shownAddress(1)).toBe("1")
  })
})
