/** The records contract: pages, counts and filters. */

import * as Effect from "effect/Effect"
import * as crypto from "node:crypto"
import { describe, expect } from "vitest"
import { allOf, always, not } from "../../core/domain/filter/tree.ts"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import { hashedText } from "../../core/domain/read/etag.ts"
import type { PageShape } from "../../core/domain/read/plan.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import {
  bindings,
  equals,
  f,
  ids,
  literal,
  order,
  pairs,
  reasonOf,
  type RecordsTest,
  shapeOf,
  things,
  type Words
} from "./records-tables.ts"

export const pageSuite = (test: RecordsTest): void => {
  describe("page", () => {
    const mixed = [
      { qty: "3", name: "b", at: "2026-01-01T00:00:00Z" },
      { qty: null, name: "a", at: "2026-01-02T00:00:00.5Z" },
      { qty: "1", name: null, at: null },
      { qty: "3", name: "a", at: "2026-01-01T00:00:00Z" },
      { qty: null, name: null, at: "2026-01-01T00:00:00.000001Z" },
      { qty: "2", name: "Z", at: "2026-01-03T00:00:00Z" },
      { qty: "3", name: null, at: null },
      { qty: "-1", name: "é", at: null },
      { qty: "3", name: "a", at: "2026-01-02T00:00:00Z" },
      { qty: null, name: "a", at: "2026-01-01T00:00:00Z" },
      { qty: "10", name: "", at: "2026-01-01T00:00:00Z" }
    ]
    const orders = [
      ["id"],
      ["-id"],
      ["qty", "id"],
      ["-qty", "-id"],
      ["qty", "-id"],
      ["-qty", "id"],
      ["status", "-qty", "name", "id"],
      ["-status", "-qty", "-name", "-id"],
      ["qty", "name", "at", "id"],
      ["-name", "qty", "-at", "-id"],
      ["name", "-qty", "at", "-id"]
    ]

    const named = orders.map((names) => [names.join(", "), names] as const)
    test.each(named)(
      "walks order %s forwards and backwards over every row once",
      function*([, names], { records, store }) {
        yield* store(mixed)
        const sorted = order(...names)
        const columns = [f("id"), ...sorted.map((key) => key.field)]
        const whole = yield* records.page({ shape: shapeOf(sorted, { columns, limit: 100 }), bindings })
        expect(whole).toHaveLength(mixed.length)
        const shape = shapeOf(sorted, { columns })

        const forwards: Row[] = []
        for (let page = yield* records.page({ shape, bindings }); page.length > 0;) {
          forwards.push(...page)
          page = yield* records.page({ shape, bindings, after: page.at(-1)!.slice(1) })
        }
        expect(forwards).toEqual(whole)

        const backwards: Row[] = [whole.at(-1)!]
        for (let page = yield* records.page({ shape, bindings, before: whole.at(-1)!.slice(1) }); page.length > 0;) {
          backwards.unshift(...page)
          page = yield* records.page({ shape, bindings, before: page[0]!.slice(1) })
        }
        expect(backwards).toEqual(whole)

        // All rows found first, or walked: the same rows.
        for (const row of [...whole, whole[0]!]) {
          const cells = row.slice(1)
          for (const part of [{ after: cells }, { before: cells }, { before: cells, offset: 2 }, { offset: 5 }, {}]) {
            const plan = { shape, bindings, ...part }
            expect(yield* records.page({ ...plan, whole: true }), JSON.stringify(part)).toEqual(
              yield* records.page(plan)
            )
          }
        }

        expect(yield* records.page({ shape, bindings, before: [] })).toEqual(whole.slice(-4))
        expect(yield* records.page({ shape, bindings, after: [] })).toEqual(whole.slice(0, 4))
        expect(yield* records.page({ shape, bindings, before: [], offset: 3 })).toEqual(whole.slice(-7, -3))

        for (const offset of [0, 3, 10, 11]) {
          expect(yield* records.page({ shape, bindings, offset })).toEqual(whole.slice(offset, offset + 4))
        }
      }
    )

    test("finds the rows at a number from the end as from the beginning", function*({ records, store }) {
      yield* store(["c", null, "a", "b", null, "e", "d"].map((name) => ({ name })))
      for (const sorted of [order("id"), order("-id"), order("name", "id"), order("-name", "id")]) {
        for (const where of [always, equals(f("status"), "new"), not(equals(f("name"), "a"))]) {
          const shape = shapeOf(sorted, { where, limit: 3, checks: [equals(f("name"), "b")] })
          for (let offset = 0; offset <= 9; offset++) {
            const forward = yield* records.page({ shape, bindings, offset })
            expect(yield* records.page({ shape, bindings, offset, fromEnd: true }), String(offset)).toEqual(forward)
          }
        }
      }
    })

    test(
      "ends early where its rows have more bytes than are wanted, after one row at least",
      function*({ records, store }) {
        yield* store(
          ["é".repeat(50), "b".repeat(100), null, "d".repeat(100), "e".repeat(100)].map((name) => ({ name }))
        )
        const shape = shapeOf(order("id"), {
          columns: [f("id"), f("name"), f("updated_at")],
          limit: 10,
          where: equals(f("status"), "new")
        })
        const within = (bytes: number, more: object = {}) =>
          Effect.gen(function*() {
            const { cut, rows } = yield* records.pageWithin({ shape, bindings, ...more }, bytes)
            for (const row of rows) expect(row[2]).toMatch(/Z$/)
            return [rows.map(([id]) => id), cut]
          })
        expect(yield* within(1_000)).toEqual([["1", "2", "3", "4", "5"], false])
        expect(yield* within(320)).toEqual([["1", "2", "3"], true])
        expect(yield* within(10)).toEqual([["1"], true])
        expect(yield* within(320, { after: ["2"] })).toEqual([["3", "4", "5"], false])
        expect(yield* within(200, { offset: 3 })).toEqual([["4"], true])
        expect(yield* within(200, { before: ["5"] })).toEqual([["3", "4"], true])
        expect(yield* within(10, { before: [] })).toEqual([["5"], true])
        expect(yield* within(10, { after: ["5"] })).toEqual([[], false])
      }
    )

    test("answers the same however often it is asked", function*({ records, store }) {
      const evil = "it's \\ \"$1\" %_ {,} E'; -- \u{1F600}"
      yield* store([{ name: evil, qty: "7" }, { name: "\\", qty: null }, { name: "$2", qty: "-1" }, { name: null }])
      const trees: readonly FilterTree[] = [
        equals(f("name"), evil),
        equals(f("name"), "\\"),
        { op: "in", field: f("name"), values: [literal(evil), literal("$2"), literal("NULL")] },
        { op: "in", field: f("qty"), values: [literal("7"), literal("-1")] },
        { op: "match", field: f("name"), parts: ["it's \\", "{,}", ""] },
        { op: "contains", field: f("name"), text: "'; --" },
        { op: "search", fields: [f("name"), f("status")], text: "$" },
        { op: "compare", field: f("tenant_id"), is: "=", value: { of: "caller", value: "tenant" } },
        { op: "compare", field: f("qty"), is: ">", value: literal("0") }
      ]
      for (const [at, tree] of trees.entries()) {
        // Who asks matters to one of them only.
        for (const who of at === 7 ? [bindings, { ...bindings, caller: { id: "u", tenant: null } }] : [bindings]) {
          const columns = [f("id"), f("qty")]
          const shape = shapeOf(order("-qty", "id"), { columns, where: tree, checks: [not(tree)] })
          const asked = () =>
            Effect.all([
              records.page({ shape, bindings: who }),
              records.page({ shape, bindings: who, counted: 3 }),
              records.page({ shape, bindings: who, after: ["0", "1"] }),
              records.page({ shape, bindings: who, after: [null, "9"] }),
              records.page({ shape, bindings: who, before: [], offset: 1 }),
              records.count({ model: things, where: tree, bindings: who, cap: null }),
              records.count({ model: things, where: tree, bindings: who, cap: 2 })
            ])
          const first = yield* asked()
          expect(first[5] === "0", `tree ${at}`).toBe(who !== bindings && at === 7)
          for (let i = 0; i < 7; i++) expect(yield* asked(), `tree ${at}`).toEqual(first)
        }
      }
    })

    test("counts the rows that pass on the way, up to a cap", function*({ records, store }) {
      yield* store(mixed)
      const sorted = order("qty", "-name", "id")
      const columns = [f("name"), f("at"), f("id")]
      const where: FilterTree = { op: "compare", field: f("qty"), is: ">", value: literal("1") }
      const checks = [not(where), { op: "null", field: f("at") } as const]
      const shape = shapeOf(sorted, { columns, checks, where, limit: 3 })
      const plain = yield* records.page({ shape, bindings })
      const counted = (most: number) => records.page({ shape, bindings, counted: most })
      expect(yield* counted(100)).toEqual(plain.map((row) => [...row, "6"]))
      expect(yield* counted(7)).toEqual(plain.map((row) => [...row, "6"]))
      for (const row of yield* counted(5)) expect(row.at(-1)).toBe("5")
      const none = shapeOf(sorted, { columns, where: { op: "false" } })
      expect(yield* records.page({ shape: none, bindings, counted: 5 })).toEqual([])
      const bare = shapeOf([], { columns: [], limit: 2 })
      expect((yield* records.page({ shape: bare, bindings, counted: 20 })).map((row) => row.at(-1))).toEqual([
        "11",
        "11"
      ])
    })

    test(
      "puts nulls last ascending and first descending, and orders text by code point",
      function*({ records, store }) {
        yield* store([{ name: "b" }, { name: null }, { name: "Z" }, { name: "é" }, { name: "😀" }, { name: "\uffee" }, {
          name: ""
        }])
        const walk = (...names: readonly string[]) =>
          Effect.map(records.page({ shape: shapeOf(order(...names), { limit: 20 }), bindings }), ids)
        expect(yield* walk("name", "id")).toEqual(["7", "3", "1", "4", "6", "5", "2"])
        expect(yield* walk("-name", "id")).toEqual(["2", "5", "6", "4", "1", "3", "7"])
      }
    )

    test("neither repeats nor loses rows that were there while others come and go", function*({ records, store }) {
      const rows = Array.from(
        { length: 30 },
        (_, i) => ({ qty: i % 4 === 0 ? null : String(i % 4), id: String((i + 1) * 10) })
      )
      yield* store(rows)
      const sorted = order("-qty", "id")
      const shape = shapeOf(sorted, { columns: [f("id"), f("qty"), f("id")] })
      const seen: Cell[] = []
      let after: readonly Cell[] | undefined
      for (let round = 0; round < 40; round++) {
        const page = yield* records.page(after === undefined ? { shape, bindings } : { shape, bindings, after })
        if (page.length === 0) break
        seen.push(...ids(page).filter((id) => Number(id) % 10 === 0))
        after = page.at(-1)!.slice(1)
        yield* store([{ id: String(round * 10 + 11), qty: null }, { id: String(round * 10 + 12), qty: "2" }, {
          id: String(round * 10 + 13),
          qty: "9"
        }])
      }
      expect(seen).toHaveLength(rows.length)
      expect(new Set(seen)).toEqual(new Set(rows.map((row) => row.id)))
    })

    test("answers every kind of value as its canonical text", function*({ store, stored }) {
      const values = {
        id: "9223372036854775807",
        tenant_id: "-2147483648",
        status: "O'Reilly \\ %_ \"x\" ß 😀",
        name: "",
        total: "-1234567890.10",
        share: "-1234567890123456789012345678901234567890.10",
        ratio: "0.1",
        day: "0001-01-01",
        at: "2026-03-29T01:30:00.123456Z",
        plain: "2026-03-29T02:30:00.5Z",
        qty: "0",
        flag: "false",
        data: `{"a": [1, null, "\\u0001x"]}`,
        ref: "123e4567-e89b-42d3-a456-426614174000",
        marks: "[\"\",\"a,b\",\"\\\"\\\\ \\u0001 {} ß 😀\",\"NULL\"]",
        deleted_at: "9999-12-31T23:59:59.999999Z"
      }
      yield* store([values])
      const row = yield* stored(values.id)
      const { data, updated_at: updated, ...rest } = row!
      const { data: given, ...others } = values
      expect(rest).toEqual(others)
      expect(JSON.parse(data!)).toEqual(JSON.parse(given))
      expect(updated).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$/)
    })

    test("answers checks as true and false after the columns", function*({ records, store }) {
      yield* store([{ qty: "1" }, { qty: null }])
      const over: FilterTree = { op: "compare", field: f("qty"), is: ">", value: literal("0") }
      const shape = shapeOf(order("id"), { checks: [over, not(over), always] })
      expect(yield* records.page({ shape, bindings })).toEqual([["1", "true", "false", "true"], [
        "2",
        "false",
        "true",
        "true"
      ]])
    })

    test("binds caller, param and now operands, and lets missing ones equal nothing", function*({ records, store }) {
      yield* store([{ tenant_id: "1", at: "2025-12-31T23:59:59Z", status: "u1" }, {
        tenant_id: "2",
        at: "2026-01-01T00:00:01Z"
      }])
      const find = (where: FilterTree, with_: Bindings = bindings) =>
        Effect.map(records.page({ shape: shapeOf(order("id"), { where }), bindings: with_ }), ids)
      const tenant: FilterTree = {
        op: "compare",
        field: f("tenant_id"),
        is: "=",
        value: { of: "caller", value: "tenant" }
      }
      expect(yield* find(tenant)).toEqual(["1"])
      const nobody = { ...bindings, caller: { id: "u1", tenant: null } }
      expect(yield* find(tenant, nobody)).toEqual([])
      expect(yield* find(not(tenant), nobody)).toEqual(["1", "2"])
      const foreign = { ...bindings, caller: { id: "u1", tenant: "not a number" } }
      expect(yield* find(tenant, foreign)).toEqual([])
      expect(
        yield* find(
          { op: "in", field: f("tenant_id"), values: [{ of: "caller", value: "tenant" }, literal("2")] },
          foreign
        )
      ).toEqual(["2"])
      expect(yield* find({ op: "compare", field: f("status"), is: "=", value: { of: "caller", value: "id" } })).toEqual(
        [
          "1"
        ]
      )
      expect(
        yield* find({ op: "compare", field: f("id"), is: "=", value: { of: "param", index: 1 } }, {
          ...bindings,
          params: ["1", "2"]
        })
      ).toEqual(["2"])
      expect(yield* find({ op: "compare", field: f("at"), is: "<", value: { of: "now", offset: 0n } })).toEqual(["1"])
      expect(yield* find({ op: "compare", field: f("at"), is: "<", value: { of: "now", offset: 2_000_000n } })).toEqual(
        [
          "1",
          "2"
        ]
      )
    })

    test("hashes cells as they are read, after the checks", function*({ records, store }) {
      yield* store([
        {
          name: "a\"b\\c/\u0001\u007f\u2028\u{1f600}\t\n",
          at: "2026-01-01T00:00:00.000001Z",
          plain: "2026-01-01T10:00:00Z"
        },
        { name: "", at: "0044-03-15T00:00:00Z BC", plain: "0044-03-15T00:00:00.5Z BC", share: "1.50", ratio: "0.1" },
        { name: null, at: "infinity", plain: "-infinity", flag: "true", day: "2026-02-28", data: "{\"é\": [1, null]}" },
        { name: "a", ref: "00000000-0000-4000-8000-000000000001", qty: "-1" }
      ])
      const sorted = order("name", "id")
      const checks = [equals(f("name"), "a")]
      const columns = things.columns
      const whole = yield* records.page({ shape: shapeOf(sorted, { columns }), bindings })
      const expected = whole.map((row) => [
        row[columns.indexOf(f("id"))]!,
        String(row[columns.indexOf(f("name"))] === "a"),
        crypto.hash("sha256", hashedText(columns, (field) => row[columns.indexOf(field)]!), "hex")
      ])
      expect(new Set(expected.map((row) => row[2])).size).toBe(4)
      const shape = shapeOf(sorted, { columns: [f("id")], checks, hashed: columns })
      const page = (more: object) => records.page({ shape, bindings, ...more })
      expect(yield* page({})).toEqual(expected)
      expect(yield* page({ after: ["", "2"] })).toEqual(expected.slice(1))
      expect(yield* page({ before: [null, "3"] })).toEqual(expected.slice(0, 3))
      expect(yield* page({ offset: 1 })).toEqual(expected.slice(1))
      expect(yield* page({ offset: 1, fromEnd: true })).toEqual(expected.slice(1))
      expect(yield* page({ counted: 10 })).toEqual(expected.map((row) => [...row, "4"]))
    })

    test("reads composite keys", function*({ inTransaction, records }) {
      yield* inTransaction((tx) =>
        tx.insert({
          model: pairs,
          fields: pairs.key,
          rows: [["1", "x"], ["1", "y"], ["2", "x"]],
          columns: [],
          checks: [],
          bindings
        })
      )
      const [a, b] = pairs.key as [Field, Field]
      const shape: PageShape = {
        model: pairs,
        columns: [a, b],
        where: always,
        order: [{ field: b, descending: true }, { field: a, descending: false }],
        limit: 2,
        checks: []
      }
      expect(yield* records.page({ shape, bindings })).toEqual([["1", "y"], ["1", "x"]])
      expect(yield* records.page({ shape, bindings, after: ["x", "1"] })).toEqual([["2", "x"]])
      expect(yield* records.page({ shape, bindings, offset: 1 })).toEqual([["1", "x"], ["2", "x"]])
    })
  })

  describe("count", () => {
    test("counts exactly, and stops at the cap", function*({ records, store }) {
      yield* store(Array.from({ length: 12 }, (_, i) => ({ qty: String(i) })))
      const where: FilterTree = { op: "compare", field: f("qty"), is: ">=", value: literal("2") }
      expect(yield* records.count({ model: things, where, bindings, cap: null })).toBe("10")
      expect(yield* records.count({ model: things, where, bindings, cap: 7 })).toBe("7")
      expect(yield* records.count({ model: things, where, bindings, cap: 50 })).toBe("10")
    })
  })

  describe("filters", () => {
    const texts = [
      "İstanbul",
      "istanbul",
      "STRASSE",
      "straße",
      "ΟΔΥΣΣΕΥΣ",
      "οδυσσευς",
      "100%",
      "100",
      "a_b",
      "aXb",
      "a\\b",
      "",
      "😀 x",
      "e\u0301",
      "é",
      null
    ]
    /** Finds texts. */
    const over = (words: Words) => (where: FilterTree) =>
      Effect.map(
        words.records.page({ shape: shapeOf(order("id"), { where, limit: 100 }), bindings }),
        (rows) => ids(rows).map((id) => texts[Number(id) - 1] ?? null)
      )
    const filled = (words: Words) => Effect.as(words.store(texts.map((name) => ({ name }))), over(words))
    const name = f("name")

    test("contains ignores case by simple folding and takes wildcards literally", function*(words) {
      const find = yield* filled(words)
      const contains = (text: string) => find({ op: "contains", field: name, text })
      expect(yield* contains("STRA")).toEqual(["STRASSE", "straße"])
      expect(yield* contains("STRASS")).toEqual(["STRASSE"])
      expect(yield* contains("0%")).toEqual(["100%"])
      expect(yield* contains("A_B")).toEqual(["a_b"])
      expect(yield* contains("a\\b")).toEqual(["a\\b"])
      expect(yield* contains("οδυσσευσ")).toEqual(["ΟΔΥΣΣΕΥΣ"])
      expect(yield* contains("É")).toEqual(["é"])
      expect(yield* contains("")).toEqual(texts.filter((text) => text !== null))
    })

    test("match is whole, case-sensitive, with wildcards between parts only", function*(words) {
      const find = yield* filled(words)
      const match = (...parts: readonly string[]) => find({ op: "match", field: name, parts })
      expect(yield* match("1", "")).toEqual(["100%", "100"])
      expect(yield* match("", "%")).toEqual(["100%"])
      expect(yield* match("a", "b")).toEqual(["a_b", "aXb", "a\\b"])
      expect(yield* match("S", "E")).toEqual(["STRASSE"])
    })

    test("search is null-safe over several fields, and its negation loses no row", function*(words) {
      const find = yield* filled(words)
      const search: FilterTree = { op: "search", fields: [name, f("status")], text: "100" }
      expect(yield* find(search)).toEqual(["100%", "100"])
      expect(yield* find(not(search))).toHaveLength(texts.length - 2)
    })

    test("similar and regex", function*(words) {
      const find = yield* filled(words)
      expect(yield* find({ op: "similar", field: name, text: "strasse" })).toEqual(["STRASSE", "straße"])
      expect(yield* find({ op: "regex", field: name, pattern: "^[a-z]_" })).toEqual(["a_b"])
      expect(yield* find(allOf([not({ op: "regex", field: name, pattern: "." }), { op: "null", field: name }])))
        .toEqual(
          [null]
        )
      expect(
        yield* reasonOf(
          words.records.count({ model: things, where: { op: "regex", field: name, pattern: "(" }, bindings, cap: null })
        )
      ).toBe("BadPattern")
    })
  })
}
