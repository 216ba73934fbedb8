import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { cpuMilliseconds } from "../../../test/support/cpu.ts"
import { filterField, filterFields, filterScope, scopeOf } from "../../../test/support/filter.ts"
import type { Cell } from "../value/kind.ts"
import { evaluate, evaluateKnown, operandCell } from "./evaluate.ts"
import { compilePattern } from "./pattern.ts"
import { readFilter } from "./read.ts"
import { isSimilar, lower, matchesParts } from "./text.ts"
import type { Bindings } from "./tree.ts"
import { always, never } from "./tree.ts"

type Record = { readonly [field: string]: Cell }

// 2026-01-31T12:00:00Z
const bindings: Bindings = { caller: { id: "7", tenant: "t1" }, now: 1_769_860_800_000_000n, params: ["5"] }
const rules = scopeOf(filterFields, { caller: true })

const passes = (text: string, record: Record, scope = filterScope, bound = bindings): boolean => {
  const tree = Result.getOrThrowWith(readFilter(text, scope), (errors) => new Error(JSON.stringify(errors)))
  return evaluate(tree, (field) => record[field.name] ?? null, bound)
}

const table = (rows: ReadonlyArray<readonly [text: string, record: Record, expected: boolean]>): void => {
  it.each(rows)("%s on %j is %s", (text, record, expected) => {
    expect(passes(text, record)).toBe(expected)
    expect(passes(`NOT (${text})`, record)).toBe(!expected)
  })
}

describe("null is not equal to anything, and conditions stay two-valued", () => {
  table([
    ["status = paid", {}, false],
    ["status != paid", {}, true],
    ["status != paid", { status: "paid" }, false],
    ["count < 1", {}, false],
    ["count >= 1", {}, false],
    ["in(count, 1, 2)", {}, false],
    ["name:a", {}, false],
    ["name = *", {}, false],
    ["name = *", { name: "" }, true],
    ["similar(name, a)", {}, false],
    ["regex(name, '')", {}, false],
    ["regex(name, '')", { name: "" }, true],
    ["isNull(name)", {}, true],
    ["name:*", {}, false],
    ["name:*", { name: "" }, true],
    ["search(x)", { name: null, note: "X" }, true],
    ["search(x)", { name: null, note: null }, false]
  ])
})

describe("exact comparison", () => {
  table([
    ["id = 9007199254740993", { id: "9007199254740993" }, true],
    ["id = 9007199254740993", { id: "9007199254740992" }, false],
    ["id > -10", { id: "-9" }, true],
    ["id < 10", { id: "9" }, true],
    ["count > -1", { count: "0" }, true],
    ["total = 1.5", { total: "1.50" }, true],
    ["total = 1.505", { total: "1.50" }, false],
    ["total < 1.505", { total: "1.50" }, true],
    ["total > 1.495", { total: "1.50" }, true],
    ["total = 1.500", { total: "1.50" }, true],
    ["total > -1.5", { total: "-1.51" }, false],
    ["total = 0", { total: "0.00" }, true],
    ["total > 0", { total: "NaN" }, true],
    ["rate = 0.1", { rate: "0.10000" }, true],
    ["level > low", { level: "high" }, true],
    ["level > low", { level: "low" }, false],
    ["level >= mid", { level: "mid" }, true],
    ["level < high", { level: "mid" }, true],
    ["level <= high", { level: null }, false],
    ["level > low", { level: "none of them" }, false],
    ["level <= high", { level: "none of them" }, false],
    ["level < field(level)", { level: "none of them" }, false],
    ["level = field(level)", { level: "none of them" }, true],
    ["rate < 99999999999999999999.1", { rate: "99999999999999999999.01" }, true],
    ["rate < 1", { rate: "-Infinity" }, true],
    ["ratio = 0", { ratio: "-0" }, true],
    ["ratio > 1", { ratio: "NaN" }, true],
    ["ratio > 1", { ratio: "Infinity" }, true],
    ["ratio = 1e21", { ratio: "1e+21" }, true],
    ["created_at > 2026-01-01T00:00:00Z", { created_at: "2026-01-01T00:00:00.000001Z" }, true],
    ["created_at < 2026-01-01T00:00:00.1Z", { created_at: "2026-01-01T00:00:00.099999Z" }, true],
    ["created_at = 2026-01-01T01:00:00+01:00", { created_at: "2026-01-01T00:00:00Z" }, true],
    ["created_at > 9999-12-31T23:59:59Z", { created_at: "infinity" }, true],
    ["created_at < 0001-01-01T00:00:00Z", { created_at: "0044-03-15T00:00:00Z BC" }, true],
    ["created_at > 2026-01-01T00:00:00Z", { created_at: "10000-01-01T00:00:00Z" }, true],
    ["due < 2026-01-02", { due: "2026-01-01" }, true],
    ["key = 00000000-0000-4000-8000-00000000000A", { key: "00000000-0000-4000-8000-00000000000a" }, true],
    ["active = false", { active: "false" }, true],
    ["name < b", { name: "B" }, true],
    ["name > \"\uffff\"", { name: "\u{10000}" }, true],
    ["name < \"\u{10000}\"", { name: "\ue000" }, true],
    ["name < ab", { name: "a" }, true],
    ["in(total, 1, 2.50)", { total: "2.50" }, true],
    ["in(name, a, b)", { name: "A" }, false]
  ])
})

describe("text", () => {
  table([
    ["name = abc", { name: "ABC" }, false],
    ["name = a*c", { name: "abbc" }, true],
    ["name = a*c", { name: "ac" }, true],
    ["name = a*c", { name: "Abc" }, false],
    ["name = a*c", { name: "abcd" }, false],
    ["name = a*", { name: "a\nb" }, true],
    ["name = \"a%\"", { name: "ab" }, false],
    ["name = \"a_*\"", { name: "abc" }, false],
    ["name = \"a\\*\"", { name: "a*" }, true],
    ["name = \"a\\*\"", { name: "ab" }, false],
    ["name:BC", { name: "abcd" }, true],
    ["name:\"%\"", { name: "abc" }, false],
    ["name:É", { name: "café" }, true],
    ["name:ΟΔΟΣ", { name: "οδοσ" }, true],
    ["name:İ", { name: "I" }, true],
    ["name:ss", { name: "ß" }, false],
    ["paid", { note: "prePAID" }, true],
    ["\"a b\"", { note: "xA By" }, true],
    ["similar(name, 'acme corp')", { name: "ACME Corporation" }, true],
    ["similar(name, 'acme')", { name: "zebra" }, false],
    ["similar(name, '---')", { name: "---" }, false],
    ["regex(name, '^a.c$')", { name: "a\nc" }, true],
    ["regex(name, 'B')", { name: "abc" }, false],
    ["regex(name, '\\d{2}')", { name: "a12" }, true],
    ["regex(name, '^\\w+$')", { name: "é1_" }, true],
    ["regex(name, '\\mcat\\M')", { name: "the cat sat" }, true],
    ["regex(name, '(a')", { name: "(a" }, false]
  ])

  it("matches wildcards in linear time", async () => {
    const text = "a".repeat(100_000)
    const took = await cpuMilliseconds(() => {
      expect(matchesParts(text, [...Array.from({ length: 500 }, () => "a"), "b", ""])).toBe(false)
      expect(compilePattern("(a+)+b")!(text)).toBe(false)
    })
    expect(took).toBeLessThan(1_000)
  })

  it.each([
    ["", [""], true],
    ["", ["", ""], true],
    ["ab", ["a", "b"], true],
    ["a", ["a", "a"], false],
    ["aba", ["a", "b", "a"], true],
    ["aa", ["a", "a", "a"], false],
    ["abab", ["", "ab", "ab"], true],
    ["aXbXb", ["a", "Xb", ""], true],
    ["abc", ["", "c", "b", ""], false]
  ])("%j against %j is %s", (text, parts, expected) => {
    expect(matchesParts(text, parts)).toBe(expected)
  })

  it("lowers by simple mapping only", () => {
    expect(lower("AÉΣΑΣİẞǅ")).toBe("aéσασißǆ")
  })

  it("keeps pg_trgm's threshold of 0.3 as a whole-number fraction", () => {
    // "ab" has 3 trigrams; together with the other word there are 9, 10 and 11.
    expect(isSimilar("ab", "ab cdefg")).toBe(true)
    expect(isSimilar("ab", "ab cdefgh")).toBe(true)
    expect(isSimilar("ab", "ab cdefghi")).toBe(false)
    expect(isSimilar("", "")).toBe(false)
  })

  it("refuses patterns that have no linear-time engine", () => {
    for (const pattern of ["(", "\\1", "(?=a)", "[b-a]", "*a"]) expect(compilePattern(pattern)).toBeNull()
  })
})

describe("operands", () => {
  table([
    ["created_at > now() - 7d", { created_at: "2026-01-24T12:00:00.000001Z" }, true],
    ["created_at > now() - 7d", { created_at: "2026-01-24T12:00:00Z" }, false],
    ["created_at <= now()", { created_at: "2026-01-31T12:00:00Z" }, true],
    ["due = now()", { due: "2026-01-31" }, true],
    ["due = now() + 12h", { due: "2026-02-01" }, true]
  ])

  it("compares a caller's value in the field's kind, and with nothing when it has none or cannot be one", () => {
    expect(passes("id = caller.id", { id: "7" }, rules)).toBe(true)
    expect(passes("id = caller.tenant", { id: "7" }, rules)).toBe(false)
    expect(passes("in(name, x, caller.tenant)", { name: "t1" }, rules)).toBe(true)
    const alone: Bindings = { ...bindings, caller: { id: "7", tenant: null } }
    expect(passes("name = caller.tenant", { name: "" }, rules, alone)).toBe(false)
    expect(passes("name = caller.tenant", {}, rules, alone)).toBe(false)
    expect(passes("name != caller.tenant", { name: "x" }, rules, alone)).toBe(true)
  })

  it("takes params from the bindings", () => {
    const param = { of: "param", index: 0 } as const
    expect(operandCell(param, filterField("count"), bindings)).toBe("5")
    expect(operandCell({ of: "param", index: 1 }, filterField("count"), bindings)).toBeNull()
    const record = (): Cell => "5"
    expect(evaluate({ op: "compare", field: filterField("count"), is: "=", value: param }, record, bindings)).toBe(true)
  })

  it("answers without what is not known where that cannot matter", () => {
    const asked = (text: string): boolean | null => {
      const cellOf = ({ name }: { readonly name: string }): Cell | undefined =>
        name === "name" ? "Bo" : name === "count" ? null : undefined
      return evaluateKnown(Result.getOrThrow(readFilter(text, filterScope)), cellOf, bindings)
    }
    expect(["name = Bo", "isNull(count)", "NOT name = Bo", "count > 1"].map(asked)).toEqual([true, true, false, false])
    expect(["id = 7", "NOT id = 7", "isNull(id)", "in(id, 7, 8)"].map(asked)).toEqual([null, null, null, null])
    expect(["id = 7 AND name = Cy", "name = Cy AND id = 7", "NOT id = 7 AND count > 1"].map(asked))
      .toEqual([false, false, false])
    expect(["id = 7 OR name = Bo", "name = Bo OR id = 7"].map(asked)).toEqual([true, true])
    expect(["id = 7 AND name = Bo", "id = 7 OR name = Cy"].map(asked)).toEqual([null, null])
    expect([always, never].map((tree) => evaluateKnown(tree, () => undefined, bindings))).toEqual([true, false])
  })

  it("knows the constants", () => {
    expect([always, never].map((tree) => evaluate(tree, () => null, bindings))).toEqual([true, false])
  })
})
