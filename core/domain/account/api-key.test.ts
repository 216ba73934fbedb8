import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { judgeKey, printKeyText, readKeyExpiry, readKeyName, readKeyRoles, readKeyText, rolesOfKey } from "./api-key.ts"
import { declareRoles } from "./roles.ts"

const outcome = <A>(result: Result.Result<A, { readonly code: string }>): A | { readonly refused: string } =>
  Result.isSuccess(result) ? result.success : { refused: result.failure.code }

describe("the text of a key", () => {
  const parts = { id: "0123456789abcdef", secret: "a".repeat(30) + "_-", seal: "B".repeat(16) }

  it("reads as it was printed", () => {
    expect(readKeyText(printKeyText(parts))).toEqual(parts)
  })

  it.each([
    "",
    "sk_",
    `sk_0123456789abcdef_${"a".repeat(47)}`,
    `sk_0123456789abcdef_${"a".repeat(49)}`,
    `sk_0123456789ABCDEF_${"a".repeat(48)}`,
    `sk_0123456789abcde/_${"a".repeat(48)}`,
    `sk_0123456789abcdef_${"a".repeat(47)}\n`,
    ` sk_0123456789abcdef_${"a".repeat(48)}`,
    `pk_0123456789abcdef_${"a".repeat(48)}`
  ])("is not %j", (text) => expect(readKeyText(text)).toBeNull())
})

describe("the name and the end of a key", () => {
  const now = new Date("2030-01-31T12:00:00Z")

  it.each([
    [" nightly import ", "nightly import"],
    ["", { refused: "invalid-name" }],
    ["  ", { refused: "invalid-name" }],
    ["x".repeat(200), "x".repeat(200)],
    ["x".repeat(201), { refused: "invalid-name" }],
    ["a\u2028b", { refused: "invalid-name" }],
    ["a\u202eb", { refused: "invalid-name" }],
    ["a\nb", { refused: "invalid-name" }],
    ["\u001b[31m", { refused: "invalid-name" }],
    ["\ud800", { refused: "invalid-name" }]
  ])("name %j is %j", (text, expected) => expect(outcome(readKeyName(text))).toEqual(expected))

  it.each([
    [undefined, "2030-05-01T12:00:00.000Z"],
    ["45m", "2030-01-31T12:45:00.000Z"],
    ["12h", "2030-02-01T00:00:00.000Z"],
    ["1w", "2030-02-07T12:00:00.000Z"],
    ["366d", "2031-02-01T12:00:00.000Z"],
    ["2030-02-01", "2030-02-01T00:00:00.000Z"],
    ["2030-01-31T13:00+00:30", "2030-01-31T12:30:00.000Z"],
    [new Date("2030-06-01T00:00:00Z"), "2030-06-01T00:00:00.000Z"]
  ])(
    "end %j is %s",
    (given, expected) => expect(outcome(Result.map(readKeyExpiry(given, now), (at) => at.toISOString()))).toBe(expected)
  )

  it.each([
    "0d",
    "367d",
    "-1d",
    "1y",
    "90",
    "never",
    "2030-01-31",
    "2030-01-31T12:00:00Z",
    "2030-02-01T00:00",
    "2031-02-02",
    "2030-02-01 later",
    new Date(Number.NaN),
    new Date("2029-01-01T00:00:00Z")
  ])("end %j is refused", (given) => expect(outcome(readKeyExpiry(given, now))).toEqual({ refused: "invalid-expiry" }))
})

describe("the roles of a key", () => {
  const list = Result.getOrThrow(declareRoles(["sales", "finance"], undefined))

  it.each([
    ["sales", "sales,finance", "sales"],
    ["finance, sales", "sales,finance", "finance,sales"],
    ["sales", "finance", { refused: "role-not-held" }],
    ["admin", "sales", { refused: "role-not-held" }],
    ["sales,admin", "sales", { refused: "role-not-held" }],
    ["sales,finance", "admin", "sales,finance"],
    ["boss", "admin", { refused: "unknown-role" }],
    ["", "admin", { refused: "role-required" }]
  ])("%j made by %j is %j", (given, held, expected) => {
    expect(outcome(readKeyRoles(list, given, held))).toEqual(expected)
  })

  it.each([
    ["sales,finance", "sales", ["sales"]],
    ["sales", "finance", []],
    ["sales", "", []],
    ["admin", "sales", []],
    ["sales,finance", "admin", ["sales", "finance"]]
  ])("%j of somebody who is now %j are %j", (wanted, held, expected) => {
    expect(rolesOfKey(wanted, held)).toEqual(expected)
  })
})

describe("what a key opens now", () => {
  const key = { role: "sales,finance", revoked: false }
  const maker = { role: "sales", barred: false }
  it.each([
    [key, maker, ["sales"]],
    [key, { ...maker, role: "admin" }, ["sales", "finance"]],
    [{ ...key, role: "admin" }, { ...maker, role: "admin" }, ["admin"]]
  ])("%j of %j opens %j", (of, by, opens) => expect(judgeKey(of, by)).toEqual({ opens }))

  it.each([
    [{ ...key, revoked: true }, maker, /revoked/, false],
    [key, { ...maker, barred: true }, /banned/, false],
    // Nobody learns of a maker who is banned that the key itself would be good.
    [{ ...key, role: "finance" }, { ...maker, barred: true }, /banned/, false],
    [{ ...key, revoked: true }, { ...maker, role: "admin" }, /revoked/, false],
    [key, { ...maker, role: "support" }, /none of its roles/, true],
    [key, { ...maker, role: "" }, /none of its roles/, true],
    [{ ...key, role: "admin" }, maker, /none of its roles/, true]
  ])("%j of %j opens nothing: %s, narrowed %s", (of, by, why, narrowed) => {
    expect(judgeKey(of, by)).toEqual({ opens: null, why: expect.stringMatching(why), narrowed })
  })
})
