// How much an answer may hold: records, related records, and bytes in all.
import { expect, it } from "vitest"
import { makeFetch } from "../../../adapters/http/fetch.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, expectParameter, expectProblem, pluck } from "../../support/answer.ts"
import { tokenOf } from "../../support/composed.ts"
import { onBoth } from "../writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }

const books = defineResource("books", {
  primaryKey: "id",
  fields: { id: f.integer().filterable(), text: f.text() }
})
const pages = defineResource("pages", {
  primaryKey: "id",
  fields: { id: f.integer().filterable(), book: relation(books) }
})
const library = {
  config: defineConfig({ resources: [books, pages] }),
  schema: "create table books (id integer primary key, text text not null);" +
    "create table pages (id integer primary key, book integer not null references books)",
  rows: {
    books: [{ id: 1, text: "" }, { id: 2, text: "x".repeat(100_000) }, { id: 3, text: "y".repeat(2_000_000) }],
    pages: [
      // Together their texts are longer than a string can be.
      ...Array.from({ length: 400 }, (_, i) => ({ id: -1 - i, book: 3 })),
      ...Array.from({ length: 5_001 }, (_, id) => ({ id, book: 1 })),
      ...Array.from({ length: 500 }, (_, i) => ({ id: 10_000 + i, book: 2 }))
    ]
  }
}

onBoth("related records", () => library, (use) => {
  it("are all there or refused: 5,000 on a page", async () => {
    const books = () => use().get(admin, at("books", { expand: "pages", filter: "id = 1" }))
    const message = "This page has more than 5000 records of \"pages\". Ask for a smaller page."
    expectParameter(await books(), "/api/v1/books", "expand", message)
    expect((await use().call(admin, "DELETE", "/api/v1/pages/0")).status).toBe(204)
    const [{ pages }] = pluck(await books(), "expand") as readonly [{ readonly pages: readonly unknown[] }]
    expect(pages).toHaveLength(5_000)
  })

  it("make no endless answer where many records share one: the page ends early", async () => {
    const pages = (query: object) => use().get(admin, at("pages", { expand: "book", filter: "id >= 10000", ...query }))
    const long = await pages({ page_size: 500 })
    expect(long.text.length).toBeLessThan(32 * 1024 * 1024)
    const found = pluck(long, "id")
    expect(found.length).toBeGreaterThan(300)
    const rest = await pages({ page_size: 500, page_token: long.json["next_page_token"] })
    expect([...found, ...pluck(rest, "id")]).toEqual(Array.from({ length: 500 }, (_, i) => 10_000 + i))
    expect([rest.json["next_page_token"], pluck(await pages({ page_size: 50 }), "id").length]).toEqual(["", 50])
  })

  it.each(["pages.book", "pages(page_size: 500).book"])(
    "are too many before their texts are put together: %s",
    async (expand) => {
      const answer = await use().get(admin, at("books", { filter: "id = 3", fields: "id", expand }))
      expectProblem(answer, "answer-too-large", "/api/v1/books", {
        errors: [{
          message: "The answer would be larger than the service's limit.",
          hint: "Ask for a smaller page, or for fewer relations."
        }]
      })
    }
  )

  it.each(["csv", "ndjson"])("are exported piece by piece where many records share one: %s", async (format) => {
    const answer = await makeFetch(use().edge)(
      new Request(
        `http://service.test${at("pages:export", { filter: "id < 0", fields: "id,book.text", format })}`,
        { headers: { authorization: `Bearer ${tokenOf(admin)}` } }
      )
    )
    const reader = answer.body!.getReader()
    for (let first = 0; first < 5; first++) {
      const { value } = await reader.read()
      expect(value!.length).toBeLessThan(3_000_000)
      expect(new TextDecoder().decode(value).match(/-\d+/g)).toEqual([`-${400 - first}`])
    }
    await reader.cancel()
  })
})

const papers = defineResource("papers", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    kind: f.text().filterable(),
    text: f.text().filterable().optional(),
    paper_id: relation("papers").as("next").optional()
  }
})
const archive = {
  config: defineConfig({ resources: [papers], options: { maxAnswerBytes: 65_536 } }),
  schema:
    "create table papers (id integer primary key, kind text not null, text text, paper_id integer references papers)",
  rows: {
    papers: [
      // Two bytes each: what counts are bytes, not characters.
      ...Array.from(
        { length: 25 },
        (_, i) => ({ id: i + 1, kind: "long", text: `${i}${"é".repeat(5_000)}`, paper_id: 1 })
      ),
      { id: 100, kind: "huge", text: "x".repeat(60_000), paper_id: null },
      // Written as JSON, each takes six bytes.
      { id: 101, kind: "escaped", text: "\u0001".repeat(12_000), paper_id: null }
    ]
  }
}

onBoth("answers", () => archive, (use) => {
  const all = Array.from({ length: 25 }, (_, i) => i + 1)
  const get = (query: object, verb = "") => use().get(admin, at(`papers${verb}`, { filter: "kind = long", ...query }))
  const bytes = (answer: { readonly text: string }) => Buffer.byteLength(answer.text)

  it.each([["id", all], ["id desc", [...all].reverse()]])(
    "end a page early, and the next one goes on, %s",
    async (order_by, expected) => {
      const seen: unknown[] = []
      for (let page_token: unknown = "", pages = 0; pages === 0 || page_token !== ""; pages++) {
        const answer = await get({ order_by, page_size: 20, page_token, ...(pages === 0 ? { count: "exact" } : {}) })
        expect(answer.status, answer.text.slice(0, 500)).toBe(200)
        expect(bytes(answer)).toBeLessThanOrEqual(65_536)
        expect(answer.json["total_size_estimate"]).toBe(25)
        seen.push(...pluck(answer, "id"))
        page_token = answer.json["next_page_token"]
      }
      expect(seen).toEqual(expected)
    }
  )

  it("end a page of a seek early, on the side that it is read towards", async () => {
    const start = await get({ position: 20, page_size: 20, order_by: "id" }, ":seek")
    expect(bytes(start)).toBeLessThanOrEqual(65_536)
    expect(pluck(start, "id")).toEqual([21, 22, 23, 24])
    const back: unknown[] = []
    for (let page_token = start.json["prev_page_token"] as unknown; page_token !== "";) {
      const answer = await get({ page_size: 20, order_by: "id", page_token })
      expect(bytes(answer)).toBeLessThanOrEqual(65_536)
      back.unshift(...pluck(answer, "id"))
      page_token = answer.json["prev_page_token"]
    }
    expect(back).toEqual(all.slice(0, 20))
    const last = await get({ position: 1_000, page_size: 20, order_by: "id" }, ":seek")
    expect([pluck(last, "id"), last.json["next_page_token"]]).toEqual([[22, 23, 24, 25], ""])
    const before = await get({ page_size: 20, order_by: "id", page_token: last.json["prev_page_token"] })
    expect(pluck(before, "id").at(-1)).toBe(21)
  })

  it("that cannot end early are refused with what makes them smaller", async () => {
    const refused = async (path: string, hint: string) => {
      const answer = await use().get(admin, path)
      expectProblem(answer, "answer-too-large", path.split("?")[0]!, {
        errors: [{ message: "The answer would be larger than the service's limit.", hint }]
      })
    }
    await refused(at("papers", { filter: "kind = escaped" }), "Ask for fewer fields.")
    await refused("/api/v1/papers/101", "Ask for fewer fields.")
    await refused(at("papers:facets", { filter: "kind = long", field: "text", limit: 500 }), "Ask for fewer values.")
    for (const expand of ["papers", "papers(page_size: 20)", "papers(depth: 3)", "next.papers(page_size: 20)"]) {
      await refused(at("papers/1", { expand }), "Ask for a smaller page, or for fewer relations.")
    }
    expect((await use().get(admin, at("papers/1", { expand: "papers(depth: 3, fields: \"id\")" }))).status).toBe(200)
    expect((await use().get(admin, at("papers/101", { fields: "id" }))).status).toBe(200)
    const groups = { filter: "kind = long", group_by: "text", limit: 500 }
    await refused(at("papers:aggregate", groups), "Ask for fewer values.")
    expect((await use().get(admin, at("papers:facets", { filter: "kind = long", field: "text", limit: 5 }))).status)
      .toBe(200)
  })

  it("to a write show no record that is too long: it is written", async () => {
    const body = { id: 102, kind: "escaped", text: "\u0001".repeat(12_000) }
    const made = await use().call(admin, "POST", "/api/v1/papers", { body })
    expect([made.status, made.text, made.headers.get("location")]).toEqual([201, "", "/api/v1/papers/102"])
    const changed = await use().call(admin, "PATCH", "/api/v1/papers/102", {
      body: { kind: "changed" },
      headers: { "if-match": "*" }
    })
    expect([changed.status, changed.text]).toEqual([204, ""])
    expect((await use().get(admin, at("papers/102", { fields: "kind" }))).json["kind"]).toBe("changed")
  })
})
