// How much an answer may hold of related records: as many as a page may have, and as many characters as are worth sending.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, expectParameter, pluck } from "../../support/answer.ts"
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
    books: [{ id: 1, text: "" }, { id: 2, text: "x".repeat(100_000) }],
    pages: [
      ...Array.from({ length: 5_001 }, (_, id) => ({ id, book: 1 })),
      ...Array.from({ length: 500 }, (_, i) => ({ id: 10_000 + i, book: 2 }))
    ]
  }
}

onBoth("related records", () => library, (use) => {
  it("are all there or refused: 5,000 on a page", async () => {
    const books = () => use().get(admin, at("books", { expand: "pages", filter: "id = 1" }))
    const message = "More than 5000 records of \"pages\" belong to this page; ask for a smaller page."
    expectParameter(await books(), "/api/v1/books", "expand", message)
    expect((await use().call(admin, "DELETE", "/api/v1/pages/0")).status).toBe(204)
    const [{ pages }] = pluck(await books(), "expand") as readonly [{ readonly pages: readonly unknown[] }]
    expect(pages).toHaveLength(5_000)
  })

  it("make no endless answer where many records share one", async () => {
    const pages = (page_size: number) =>
      use().get(admin, at("pages", { expand: "book", filter: "id >= 10000", page_size }))
    const message = "The answer would be too long with \"book\"; ask for a smaller page or fewer relations."
    expectParameter(await pages(500), "/api/v1/pages", "expand", message)
    expect(pluck(await pages(50), "id")).toHaveLength(50)
  })
})
