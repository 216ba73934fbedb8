// Kinds that are one exact text: what is read, in which form, what is refused, and how values compare.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { cellFromJson, cellFromText, compareCells, wireFromCell } from "./cell.ts"
import { fitsMoney, overlaps, rangeAround } from "./exact.ts"
import type { Cell, Shape } from "./kind.ts"
import { mapEnds } from "./range.ts"

const read = (shape: Shape, text: string): Cell => {
  const found = cellFromJson({ ...shape, optional: false }, text)
  return Result.isSuccess(found) ? found.success : null
}
const sentence = (shape: Shape, json: unknown): string => {
  const found = cellFromJson({ ...shape, optional: false }, json as string)
  return Result.isFailure(found) ? found.failure.message : "taken"
}
const range = (of: "integer" | "bigint" | "decimal" | "date" | "timestamp"): Shape & { kind: "range" } => ({
  kind: "range",
  of
})
const money = { kind: "money", scale: 2 } as const

describe("times of day", () => {
  it.each([
    ["09:30:00", "09:30:00"],
    ["09:30", "09:30:00"],
    ["23:59:59.120000", "23:59:59.12"],
    ["24:00:00", "24:00:00"],
    ["24:00:00.000000", "24:00:00"]
  ])("%s is %s", (text, cell) => expect(read({ kind: "time" }, text)).toBe(cell))

  it.each([
    "9:30",
    "24:00:01",
    "25:00:00",
    "09:60:00",
    "09:30:60",
    "09:30:00.1234567",
    "09:30:00Z",
    "09:30:00+01",
    "",
    "09:30:00\0"
  ])(
    "%j is none",
    (text) => expect(read({ kind: "time" }, text)).toBeNull()
  )
})

describe("intervals", () => {
  it.each([
    ["P1Y2M3DT4H5M6.7S", "P1Y2M3DT4H5M6.7S"],
    ["P14M", "P1Y2M"],
    ["P2W", "P14D"],
    ["PT90M", "PT1H30M"],
    ["PT36H", "PT36H"],
    ["P1Y-2M3DT-4H", "P10M3DT-4H"],
    ["PT-0.5S", "PT-0.5S"],
    ["PT1H-1S", "PT59M59S"],
    ["P0D", "PT0S"],
    ["PT0.100000S", "PT0.1S"],
    ["P178956970Y7M", "P178956970Y7M"],
    ["PT-2562047788H-54.775808S", "PT-2562047788H-54.775808S"]
  ])("%s is %s", (text, cell) => expect(read({ kind: "interval" }, text)).toBe(cell))

  it.each([
    "P",
    "PT",
    "P1DT",
    "1 day",
    "P1.5D",
    "PT0.1234567S",
    "P178956970Y8M",
    "P2147483648D",
    "PT2562047788H55S",
    "P2147483647M2147483647DT9223372036854.775807S",
    `P${"9".repeat(1_000_000)}D`,
    "infinity",
    "P1D\n"
  ])("%j is none", (text) => expect(read({ kind: "interval" }, text.slice(0, 2_000_000))).toBeNull())

  it("compare by 30 days a month and 24 hours a day", () => {
    const compare = (a: string, b: string) => Math.sign(compareCells({ kind: "interval" }, a, b))
    expect(compare("P1M", "P30D")).toBe(0)
    expect(compare("P1D", "PT24H")).toBe(0)
    expect(compare("P1Y", "P360D")).toBe(0)
    expect(compare("P1M", "P31D")).toBe(-1)
    expect(compare("P-1M", "PT0S")).toBe(-1)
    expect(compare("infinity", "P178956970Y7M")).toBe(1)
    expect(compare("-infinity", "P-178956970Y-8M")).toBe(-1)
  })
})

describe("addresses", () => {
  it.each([
    ["10.0.0.1", "10.0.0.1"],
    ["10.0.0.1/32", "10.0.0.1"],
    ["10.0.0.1/8", "10.0.0.1/8"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["::1", "::1"],
    ["::", "::"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["::1:0", "::0.1.0.0"],
    ["::102:304", "::1.2.3.4"],
    ["1:0:0:2:0:0:0:3/64", "1:0:0:2::3/64"],
    ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
    ["2001:db8::/128", "2001:db8::"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"]
  ])("inet %s is %s", (text, cell) => expect(read({ kind: "inet" }, text)).toBe(cell))

  it.each([
    "10.0.0",
    "10.0.0.256",
    "010.0.0.1",
    "10.0.0.1/33",
    "10.0.0.1/",
    "::/129",
    ":::",
    "1::2::3",
    "g::",
    "1:2:3",
    "::1%eth0",
    "1.2.3.4::",
    " ::1",
    "x".repeat(100_000)
  ])(
    "inet %j is none",
    (text) => expect(read({ kind: "inet" }, text)).toBeNull()
  )

  it("cidr has no bits beyond its prefix, and always shows it", () => {
    expect(read({ kind: "cidr" }, "10.0.0.0/8")).toBe("10.0.0.0/8")
    expect(read({ kind: "cidr" }, "10.0.0.1")).toBe("10.0.0.1/32")
    expect(read({ kind: "cidr" }, "10.0.0.1/8")).toBeNull()
    expect(read({ kind: "cidr" }, "2001:db8::/32")).toBe("2001:db8::/32")
  })

  it("sort as networks: version 4 first, then the common part, the shorter prefix, the host", () => {
    const sorted = [
      "0.0.0.0/0",
      "9.255.255.255",
      "10.0.0.0/8",
      "10.0.0.1/8",
      "10.0.0.0",
      "10.0.0.1",
      "11.0.0.0/8",
      "::/0",
      "::1"
    ]
    expect([...sorted].reverse().sort((a, b) => compareCells({ kind: "inet" }, a, b))).toEqual(sorted)
    expect(compareCells({ kind: "cidr" }, "10.0.0.0/8", "10.0.0.0/9")).toBeLessThan(0)
  })

  it("macaddr takes colons and hyphens", () => {
    expect(read({ kind: "macaddr" }, "08-00-2B-01-02-03")).toBe("08:00:2b:01:02:03")
    expect(read({ kind: "macaddr" }, "08002b010203")).toBeNull()
    expect(read({ kind: "macaddr" }, "08-00:2B-01-02-03")).toBeNull()
  })
})

describe("bytes", () => {
  it.each(["", "AA==", "AAE=", "AAEC", "+/+/"])(
    "%j is base64",
    (text) => expect(read({ kind: "bytes", max: 3 }, text)).toBe(text)
  )
  it.each(["A", "AA", "AA=", "AB==", "AAF=", "AA==\n", "AA -", "_-_-", "A===", "====", "AAAA===="])(
    "%j is none",
    (text) => expect(read({ kind: "bytes", max: 100 }, text)).toBeNull()
  )
  it("are bounded where they are stored, and not where they are compared", () => {
    expect(sentence({ kind: "bytes", max: 2 }, "AAEC")).toBe("Expected at most 2 bytes.")
    expect(Result.isSuccess(cellFromText({ kind: "bytes", max: 2 }, "AAEC"))).toBe(true)
    expect(sentence({ kind: "bytes", max: 2 }, 5)).toContain("base64")
  })
})

describe("money", () => {
  it.each([["12", "12.00"], ["12.5", "12.50"], ["-0.00", "0.00"], ["1e2", "100.00"], [
    "92233720368547758.07",
    "92233720368547758.07"
  ], [
    "-92233720368547758.08",
    "-92233720368547758.08"
  ]])("%s is %s", (text, cell) => expect(read(money, text)).toBe(cell))
  it.each(["12.345", "92233720368547758.08", "1e30", "$1", "1,000.00", "NaN", "9".repeat(1_000_000)])(
    "%j is none",
    (text) => expect(read(money, text)).toBeNull()
  )
  it("compares with more digits exactly", () => {
    const cell = Result.getOrThrow(cellFromText(money, "12.345"))
    expect(fitsMoney(money, cell)).toBe(false)
    expect(compareCells(money, "12.34", cell)).toBe(-1)
    expect(compareCells(money, "12.35", cell)).toBe(1)
  })
  it("may have no digits after the point", () => expect(read({ kind: "money", scale: 0 }, "1200.0")).toBe("1200"))
})

describe("ranges", () => {
  it.each([
    ["[1,10]", "[1,11)"],
    ["(1,10)", "[2,10)"],
    ["[,5]", "(,6)"],
    ["(,)", "(,)"],
    ["(1,2)", "empty"],
    ["[3,3]", "[3,4)"],
    ["[3,3)", "empty"],
    ["[\"1\",\"10\")", "[1,10)"],
    ["empty", "empty"]
  ])("of integers %s is %s", (text, cell) => expect(read(range("integer"), text)).toBe(cell))

  it.each([
    "[10,1]",
    "[1,2147483647]",
    "(2147483647,)",
    "[1;2]",
    "1,2",
    "[1,2",
    "[1,2,3]",
    "[a,b]",
    "[1,infinity)",
    "[1, 2)",
    "EMPTY",
    "[\"1,2)",
    `[${"9".repeat(1_000_000)},)`
  ])("of integers %j is none", (text) => expect(read(range("integer"), text)).toBeNull())

  it("of other kinds have their own ends", () => {
    expect(read(range("bigint"), "[1,9223372036854775806]")).toBe("[1,9223372036854775807)")
    expect(read(range("decimal"), "(1.50,2]")).toBe("(1.50,2]")
    expect(read(range("decimal"), "[NaN,)")).toBeNull()
    expect(read(range("date"), "[2026-01-31,2026-02-28]")).toBe("[2026-01-31,2026-03-01)")
    expect(read(range("date"), "[2026-01-31,9999-12-31]")).toBe("[2026-01-31,10000-01-01)")
    expect(read(range("date"), "[2026-01-31,10000-01-01)")).toBe("[2026-01-31,10000-01-01)")
    expect(read(range("date"), "[2026-02-30,)")).toBeNull()
    expect(read(range("timestamp"), "[2026-01-31T10:00:00+01:00,]")).toBe("[2026-01-31T09:00:00Z,)")
    expect(read(range("timestamp"), "[2026-01-31 10:00:00,]")).toBeNull()
  })

  it("hold values, the last of their kind, too", () => {
    expect(rangeAround(range("integer"), "5")).toBe("[5,6)")
    expect(rangeAround(range("integer"), "2147483647")).toBe("[2147483647,)")
    expect(rangeAround(range("decimal"), "1.5")).toBe("[1.5,1.5]")
    expect(overlaps(range("integer"), "[2147483646,)", "[2147483647,)")).toBe(true)
  })

  it.each([
    ["[1,5)", "[5,6)", false],
    ["[1,5)", "[4,6)", true],
    ["empty", "(,)", false],
    ["(,)", "[1,2)", true],
    ["(,1)", "[1,)", false]
  ])("%s and %s overlap: %s", (a, b, expected) => expect(overlaps(range("integer"), a, b)).toBe(expected))

  it("compare by their lower ends first, and the empty one is the least", () => {
    const sorted = ["empty", "(,1]", "(,)", "[1,1]", "[1,2)", "[1,2]", "[1,)", "(1,2)"]
    const compare = (a: string, b: string) => compareCells(range("decimal"), a, b)
    expect([...sorted].reverse().sort(compare)).toEqual(sorted)
    expect(compare("[1.0,2)", "[1,2.00)")).toBe(0)
  })

  it("get their times in another spelling, also those before Christ", () => {
    expect(mapEnds("[\"2026-01-01 00:00:00+00\",)", (end) => end.slice(0, 10))).toBe("[2026-01-01,)")
    expect(mapEnds("empty", () => "x")).toBe("empty")
    const old = mapEnds("[\"0044-03-15 BC\",2026-01-01)", (end) => end)
    expect(old).toBe("[\"0044-03-15 BC\",2026-01-01)")
    expect(compareCells(range("date"), old, "[0001-01-01,)")).toBe(-1)
  })
})

describe("native values", () => {
  it("are any text that can be stored", () => {
    const point = { kind: "native", type: "point" } as const
    expect(read(point, "(1,2)")).toBe("(1,2)")
    expect(read(point, "a\0")).toBeNull()
    expect(sentence(point, "x".repeat(100_001))).toBe("Expected at most 100000 characters.")
    expect(sentence(point, 1)).toBe("Expected a text.")
  })
})

it("values go out as they are stored", () => {
  expect(wireFromCell({ kind: "interval" }, "P1D")).toBe("P1D")
  expect(wireFromCell(range("integer"), "[1,2)")).toBe("[1,2)")
})
