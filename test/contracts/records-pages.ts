/** The records contract: pages, counts and filters. */

import * as crypto from "node:crypto"
import { beforeEach, describe, expect, it } from "vitest"
import { allOf, always, not } from "../../core/domain/filter/tree.ts"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import { hashedText } from "../../core/domain/read/etag.ts"
import type { PageShape } from "../../core/domain/read/plan.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { bindings, equals, f, literal, order, pairs, reasonOf, shapeOf, things, type Words } from "./records-tables.ts"

export const pageSuite = ({ ids, inTransaction, records, run, store, stored }: Words): void => {
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
    it.each(named)("walks order %s forwards and backwards over every row once", async (_, names) => {
      await store(mixed)
      const sorted = order(...names)
      const columns = [f("id"), ...sorted.map((key) => key.field)]
      const whole = await run(records.page({ shape: shapeOf(sorted, { columns, limit: 100 }), bindings }))
      expect(whole).toHaveLength(mixed.length)
      const shape = shapeOf(sorted, { columns })

      const forwards: Row[] = []
      for (let page = await run(records.page({ shape, bindings })); page.length > 0;) {
        forwards.push(...page)
        page = await run(records.page({ shape, bindings, after: page.at(-1)!.slice(1) }))
      }
      expect(forwards).toEqual(whole)

      const backwards: Row[] = [whole.at(-1)!]
      for (let page = await run(records.page({ shape, bindings, before: whole.at(-1)!.slice(1) })); page.length > 0;) {
        backwards.unshift(...page)
        page = await run(records.page({ shape, bindings, before: page[0]!.slice(1) }))
      }
      expect(backwards).toEqual(whole)

      expect(await run(records.page({ shape, bindings, before: [] }))).toEqual(whole.slice(-4))
      expect(await run(records.page({ shape, bindings, after: [] }))).toEqual(whole.slice(0, 4))
      expect(await run(records.page({ shape, bindings, before: [], offset: 3 }))).toEqual(whole.slice(-7, -3))

      for (const offset of [0, 3, 10, 11]) {
        expect(await run(records.page({ shape, bindings, offset }))).toEqual(whole.slice(offset, offset + 4))
      }
    })

    it("finds the rows at a number from the end as from the beginning", async () => {
      await store(["c", null, "a", "b", null, "e", "d"].map((name) => ({ name })))
      for (const sorted of [order("id"), order("-id"), order("name", "id"), order("-name", "id")]) {
        for (const where of [always, equals(f("status"), "new"), not(equals(f("name"), "a"))]) {
          const shape = shapeOf(sorted, { where, limit: 3, checks: [equals(f("name"), "b")] })
          for (let offset = 0; offset <= 9; offset++) {
            const forward = await run(records.page({ shape, bindings, offset }))
            expect(await run(records.page({ shape, bindings, offset, fromEnd: true })), String(offset)).toEqual(forward)
          }
        }
      }
    })

    it("ends early where its rows have more bytes than are wanted, after one row at least", async () => {
      await store(["é".repeat(50), "b".repeat(100), null, "d".repeat(100), "e".repeat(100)].map((name) => ({ name })))
      const shape = shapeOf(order("id"), {
        columns: [f("id"), f("name"), f("updated_at")],
        limit: 10,
        where: equals(f("status"), "new")
      })
      const within = async (bytes: number, more: object = {}) => {
        const { cut, rows } = await run(records.pageWithin({ shape, bindings, ...more }, bytes))
        for (const row of rows) expect(row[2]).toMatch(/Z$/)
        return [rows.map(([id]) => id), cut]
      }
      expect(await within(1_000)).toEqual([["1", "2", "3", "4", "5"], false])
      expect(await within(320)).toEqual([["1", "2", "3"], true])
      expect(await within(10)).toEqual([["1"], true])
      expect(await within(320, { after: ["2"] })).toEqual([["3", "4", "5"], false])
      expect(await within(200, { offset: 3 })).toEqual([["4"], true])
      expect(await within(200, { before: ["5"] })).toEqual([["3", "4"], true])
      expect(await within(10, { before: [] })).toEqual([["5"], true])
      expect(await within(10, { after: ["5"] })).toEqual([[], false])
    })

    it("answers the same however often it is asked", async () => {
      const evil = "it's \\ \"$1\" %_ {,} E'; -- \u{1F600}"
      await store([{ name: evil, qty: "7" }, { name: "\\", qty: null }, { name: "$2", qty: "-1" }, { name: null }])
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
        for (const who of [bindings, { ...bindings, caller: { id: "u", tenant: null } }]) {
          const columns = [f("id"), f("qty")]
          const shape = shapeOf(order("-qty", "id"), { columns, where: tree, checks: [not(tree)] })
          const asked = async () => [
            await run(records.page({ shape, bindings: who })),
            await run(records.page({ shape, bindings: who, counted: 3 })),
            await run(records.page({ shape, bindings: who, after: ["0", "1"] })),
            await run(records.page({ shape, bindings: who, after: [null, "9"] })),
            await run(records.page({ shape, bindings: who, before: [], offset: 1 })),
            await run(records.count({ model: things, where: tree, bindings: who, cap: null })),
            await run(records.count({ model: things, where: tree, bindings: who, cap: 2 }))
          ]
          const first = await asked()
          expect(first[5] === "0", `tree ${at}`).toBe(who !== bindings && at === 7)
          for (let i = 0; i < 7; i++) expect(await asked(), `tree ${at}`).toEqual(first)
        }
      }
    })

    it("counts the rows that pass on the way, up to a cap", async () => {
      await store(mixed)
      const sorted = order("qty", "-name", "id")
      const columns = [f("name"), f("at"), f("id")]
      const where: FilterTree = { op: "compare", field: f("qty"), is: ">", value: literal("1") }
      const checks = [not(where), { op: "null", field: f("at") } as const]
      const shape = shapeOf(sorted, { columns, checks, where, limit: 3 })
      const plain = await run(records.page({ shape, bindings }))
      const counted = (most: number) => run(records.page({ shape, bindings, counted: most }))
      expect(await counted(100)).toEqual(plain.map((row) => [...row, "6"]))
      expect(await counted(7)).toEqual(plain.map((row) => [...row, "6"]))
      for (const row of await counted(5)) expect(row.at(-1)).toBe("5")
      const none = shapeOf(sorted, { columns, where: { op: "false" } })
      expect(await run(records.page({ shape: none, bindings, counted: 5 }))).toEqual([])
      const bare = shapeOf([], { columns: [], limit: 2 })
      expect((await run(records.page({ shape: bare, bindings, counted: 20 }))).map((row) => row.at(-1))).toEqual([
        "11",
        "11"
      ])
    })

    it("puts nulls last ascending and first descending, and orders text by code point", async () => {
      await store([{ name: "b" }, { name: null }, { name: "Z" }, { name: "é" }, { name: "😀" }, { name: "\uffee" }, {
        name: ""
      }])
      const walk = async (...names: readonly string[]) =>
        ids(await run(records.page({ shape: shapeOf(order(...names), { limit: 20 }), bindings })))
      expect(await walk("name", "id")).toEqual(["7", "3", "1", "4", "6", "5", "2"])
      expect(await walk("-name", "id")).toEqual(["2", "5", "6", "4", "1", "3", "7"])
    })

    it("neither repeats nor loses rows that were there while others come and go", async () => {
      const rows = Array.from(
        { length: 30 },
        (_, i) => ({ qty: i % 4 === 0 ? null : String(i % 4), id: String((i + 1) * 10) })
      )
      await store(rows)
      const sorted = order("-qty", "id")
      const shape = shapeOf(sorted, { columns: [f("id"), f("qty"), f("id")] })
      const seen: Cell[] = []
      let after: readonly Cell[] | undefined
      for (let round = 0; round < 40; round++) {
        const page = await run(records.page(after === undefined ? { shape, bindings } : { shape, bindings, after }))
        if (page.length === 0) break
        seen.push(...ids(page).filter((id) => Number(id) % 10 === 0))
        after = page.at(-1)!.slice(1)
        await store([{ id: String(round * 10 + 11), qty: null }, { id: String(round * 10 + 12), qty: "2" }, {
          id: String(round * 10 + 13),
          qty: "9"
        }])
      }
      expect(seen).toHaveLength(rows.length)
      expect(new Set(seen)).toEqual(new Set(rows.map((row) => row.id)))
    })

    it("answers every kind of value as its canonical text", async () => {
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
        deleted_at: "9999-12-31T23:59:59.999999Z"
      }
      await store([values])
      const row = await stored(values.id)
      const { data, updated_at: updated, ...rest } = row!
      const { data: given, ...others } = values
      expect(rest).toEqual(others)
      expect(JSON.parse(data!)).toEqual(JSON.parse(given))
      expect(updated).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$/)
    })

    it("answers checks as true and false after the columns", async () => {
      await store([{ qty: "1" }, { qty: null }])
      const over: FilterTree = { op: "compare", field: f("qty"), is: ">", value: literal("0") }
      const shape = shapeOf(order("id"), { checks: [over, not(over), always] })
      expect(await run(records.page({ shape, bindings }))).toEqual([["1", "true", "false", "true"], [
        "2",
        "false",
        "true",
        "true"
      ]])
    })

    it("binds caller, param and now operands, and lets missing ones equal nothing", async () => {
      await store([{ tenant_id: "1", at: "2025-12-31T23:59:59Z", status: "u1" }, {
        tenant_id: "2",
        at: "2026-01-01T00:00:01Z"
      }])
      const find = async (where: FilterTree, with_: Bindings = bindings) =>
        ids(await run(records.page({ shape: shapeOf(order("id"), { where }), bindings: with_ })))
      const tenant: FilterTree = {
        op: "compare",
        field: f("tenant_id"),
        is: "=",
        value: { of: "caller", value: "tenant" }
      }
      expect(await find(tenant)).toEqual(["1"])
      const nobody = { ...bindings, caller: { id: "u1", tenant: null } }
      expect(await find(tenant, nobody)).toEqual([])
      expect(await find(not(tenant), nobody)).toEqual(["1", "2"])
      const foreign = { ...bindings, caller: { id: "u1", tenant: "not a number" } }
      expect(await find(tenant, foreign)).toEqual([])
      expect(
        await find(
          { op: "in", field: f("tenant_id"), values: [{ of: "caller", value: "tenant" }, literal("2")] },
          foreign
        )
      ).toEqual(["2"])
      expect(await find({ op: "compare", field: f("status"), is: "=", value: { of: "caller", value: "id" } })).toEqual([
        "1"
      ])
      expect(
        await find({ op: "compare", field: f("id"), is: "=", value: { of: "param", index: 1 } }, {
          ...bindings,
          params: ["1", "2"]
        })
      ).toEqual(["2"])
      expect(await find({ op: "compare", field: f("at"), is: "<", value: { of: "now", offset: 0n } })).toEqual(["1"])
      expect(await find({ op: "compare", field: f("at"), is: "<", value: { of: "now", offset: 2_000_000n } })).toEqual([
        "1",
        "2"
      ])
    })

    it("hashes cells as they are read, after the checks", async () => {
      await store([
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
      const whole = await run(records.page({ shape: shapeOf(sorted, { columns }), bindings }))
      const expected = whole.map((row) => [
        row[columns.indexOf(f("id"))]!,
        String(row[columns.indexOf(f("name"))] === "a"),
        crypto.hash("sha256", hashedText(columns, (field) => row[columns.indexOf(field)]!), "hex")
      ])
      expect(new Set(expected.map((row) => row[2])).size).toBe(4)
      const shape = shapeOf(sorted, { columns: [f("id")], checks, hashed: columns })
      const page = (more: object) => run(records.page({ shape, bindings, ...more }))
      expect(await page({})).toEqual(expected)
      expect(await page({ after: ["", "2"] })).toEqual(expected.slice(1))
      expect(await page({ before: [null, "3"] })).toEqual(expected.slice(0, 3))
      expect(await page({ offset: 1 })).toEqual(expected.slice(1))
      expect(await page({ offset: 1, fromEnd: true })).toEqual(expected.slice(1))
      expect(await page({ counted: 10 })).toEqual(expected.map((row) => [...row, "4"]))
    })

    it("reads composite keys", async () => {
      await run(inTransaction((tx) =>
        tx.insert({
          model: pairs,
          fields: pairs.key,
          rows: [["1", "x"], ["1", "y"], ["2", "x"]],
          columns: [],
          checks: [],
          bindings
        })
      ))
      const [a, b] = pairs.key as [Field, Field]
      const shape: PageShape = {
        model: pairs,
        columns: [a, b],
        where: always,
        order: [{ field: b, descending: true }, { field: a, descending: false }],
        limit: 2,
        checks: []
      }
      expect(await run(records.page({ shape, bindings }))).toEqual([["1", "y"], ["1", "x"]])
      expect(await run(records.page({ shape, bindings, after: ["x", "1"] }))).toEqual([["2", "x"]])
      expect(await run(records.page({ shape, bindings, offset: 1 }))).toEqual([["1", "x"], ["2", "x"]])
    })
  })

  describe("count", () => {
    it("counts exactly, and stops at the cap", async () => {
      await store(Array.from({ length: 12 }, (_, i) => ({ qty: String(i) })))
      const where: FilterTree = { op: "compare", field: f("qty"), is: ">=", value: literal("2") }
      expect(await run(records.count({ model: things, where, bindings, cap: null }))).toBe("10")
      expect(await run(records.count({ model: things, where, bindings, cap: 7 }))).toBe("7")
      expect(await run(records.count({ model: things, where, bindings, cap: 50 }))).toBe("10")
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
    const find = async (where: FilterTree): Promise<readonly Cell[]> =>
      ids(await run(records.page({ shape: shapeOf(order("id"), { where, limit: 100 }), bindings }))).map((id) =>
        texts[Number(id) - 1] ?? null
      )
    beforeEach(() => store(texts.map((name) => ({ name }))))
    const name = f("name")

    it("contains ignores case by simple folding and takes wildcards literally", async () => {
      const contains = (text: string) => find({ op: "contains", field: name, text })
      expect(await contains("STRA")).toEqual(["STRASSE", "straße"])
      expect(await contains("STRASS")).toEqual(["STRASSE"])
      expect(await contains("0%")).toEqual(["100%"])
      expect(await contains("A_B")).toEqual(["a_b"])
      expect(await contains("a\\b")).toEqual(["a\\b"])
      expect(await contains("οδυσσευσ")).toEqual(["ΟΔΥΣΣΕΥΣ"])
      expect(await contains("É")).toEqual(["é"])
      expect(await contains("")).toEqual(texts.filter((text) => text !== null))
    })

    it("match is whole, case-sensitive, with wildcards between parts only", async () => {
      const match = (...parts: readonly string[]) => find({ op: "match", field: name, parts })
      expect(await match("1", "")).toEqual(["100%", "100"])
      expect(await match("", "%")).toEqual(["100%"])
      expect(await match("a", "b")).toEqual(["a_b", "aXb", "a\\b"])
      expect(await match("S", "E")).toEqual(["STRASSE"])
    })

    it("search is null-safe over several fields, and its negation loses no row", async () => {
      const search: FilterTree = { op: "search", fields: [name, f("status")], text: "100" }
      expect(await find(search)).toEqual(["100%", "100"])
      expect(await find(not(search))).toHaveLength(texts.length - 2)
    })

    it("similar and regex", async () => {
      expect(await find({ op: "similar", field: name, text: "strasse" })).toEqual(["STRASSE", "straße"])
      expect(await find({ op: "regex", field: name, pattern: "^[a-z]_" })).toEqual(["a_b"])
      expect(await find(allOf([not({ op: "regex", field: name, pattern: "." }), { op: "null", field: name }]))).toEqual(
        [null]
      )
      expect(
        await run(
          reasonOf(
            records.count({ model: things, where: { op: "regex", field: name, pattern: "(" }, bindings, cap: null })
          )
        )
      ).toBe("BadPattern")
    })
  })
}
