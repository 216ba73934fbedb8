// Search vectors over HTTP: word forms by the configuration, orders by rank with pages, through relations; what a caller may not read is unknown.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import type { MetaDocument } from "../../../core/domain/meta/meta.ts"
import { at, pluck, type Query } from "../../support/answer.ts"
import type { Answer, TestCaller } from "../../support/composed.ts"
import { on } from "../writes/scenes.ts"

const articles = defineResource("articles", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    title: f.text().filterable(),
    words: f.searchVector({ config: "english" }),
    plain: f.searchVector().column("plain_words")
  },
  access: { fields: { plain: { read: ["admin"] } } }
})
const notes = defineResource("notes", {
  primaryKey: "id",
  fields: { id: f.integer().filterable(), article_id: f.relation("articles").filterable() }
})

const titles = [
  "The tall lamps are lighting a table",
  "A lamp",
  "Lamps, lamps and lamps: a lamp",
  "Chairs without light",
  "'; drop table articles; -- \\ \" & | ! : * <->",
  "Running"
]

const fixture = {
  config: defineConfig({
    resources: [articles, notes],
    roles: defineRoles({
      admin: ["*"],
      clerk: ["*.read"],
      listed: ["articles.read(id,words)"],
      plain: ["articles.read(id)"]
    })
  }),
  schema: `create table articles (id integer primary key, title text not null,
      words tsvector generated always as (to_tsvector('english', title)) stored,
      plain_words tsvector generated always as (to_tsvector('simple', title)) stored);
    create table notes (id integer primary key, article_id integer not null)`,
  rows: {
    articles: titles.map((title, i) => ({ id: i + 1, title })),
    notes: [{ id: 1, article_id: 2 }, { id: 2, article_id: 4 }]
  }
}

const expectRefusal = (answer: Answer, kind: string): void => {
  expect([answer.status, answer.json["type"]], answer.text).toEqual([400, `urn:service:problem:${kind}`])
}

const admin = { id: "root", roles: ["admin"], tenant: "1" }
const clerk = { id: "cleo", roles: ["clerk"], tenant: "1" }

on("postgres", "search vectors", () => fixture, (use) => {
  const ask = (query: Query, caller: TestCaller = clerk, resource = "articles"): Promise<Answer> =>
    use().get(caller, at(resource, query))
  const ids = async (query: Query, caller?: TestCaller, resource?: string): Promise<readonly unknown[]> => {
    const answer = await ask(query, caller, resource)
    expect(answer.status, answer.text).toBe(200)
    return pluck(answer, "id")
  }

  it("find forms of words, by the configuration of the vector", async () => {
    expect(await ids({ filter: "search(words, lamp)" })).toEqual([1, 2, 3])
    expect(await ids({ filter: "search(words, 'runs')" })).toEqual([6])
    expect(await ids({ filter: "search(words, 'lamp -tall')" })).toEqual([2, 3])
    expect(await ids({ filter: "search(words, '\"tall lamps\" or chair')" })).toEqual([1, 4])
    expect(await ids({ filter: "NOT search(words, lamp)" })).toEqual([4, 5, 6])
    expect(await ids({ filter: "search(plain, lamp)" }, admin)).toEqual([2, 3])
    expect(await ids({ filter: "search(article.words, chair)" }, clerk, "notes")).toEqual([2])
    // Nothing but stop words, and what is an operator elsewhere.
    expect(await ids({ filter: "search(words, 'the')" })).toEqual([])
    expect(await ids({ filter: `search(words, "'; drop table articles; -- \\\\ & | ! : <-> (")` })).toEqual([5])
  })

  it("give orders by rank, page by page", async () => {
    const order = "rank(words, \"lamp\") desc"
    const walked: unknown[] = []
    let token = ""
    do {
      const page = await ask({ order_by: order, page_size: 2, ...token === "" ? {} : { page_token: token } })
      expect(page.status, page.text).toBe(200)
      walked.push(...pluck(page, "id"))
      expect(page.text).not.toContain("words")
      token = page.json["next_page_token"] as string
    } while (token !== "")
    expect([walked[0], walked.length, new Set(walked)]).toEqual([3, 6, new Set([1, 2, 3, 4, 5, 6])])
    expect(await ids({ filter: "search(words, lamp)", order_by: `${order}, id desc` })).toEqual([3, 2, 1])
    expect(await ids({ order_by: "rank(words, \"'; select 1 -- \\\\\") desc, id" })).toEqual([1, 2, 3, 4, 5, 6])
  })

  it("are shown by no record and taken by no body, and are no field of conditions", async () => {
    const [first] = (await ask({ page_size: 1 }, admin)).json["items"] as readonly object[]
    expect(Object.keys(first!)).toEqual(["id", "title", "etag", "permissions"])
    for (
      const query of [{ filter: "words = a" }, { order_by: "words" }, { fields: "words" }, { filter: "isNull(words)" }]
    ) {
      expect((await ask(query, admin)).status).toBe(400)
    }
    const made = await use().call(admin, "POST", "/api/v1/articles", { body: { id: 9, title: "x", words: "x" } })
    expect(made.status).toBe(400)
  })

  it("that are hidden are unknown, byte for byte", async () => {
    const forms: ReadonlyArray<(name: string) => readonly [string, Query]> = [
      (name) => ["articles", { filter: `search(${name}, lamp)` }],
      (name) => ["articles", { order_by: `rank(${name}, lamp)` }],
      (name) => ["notes", { filter: `search(article.${name}, lamp)` }]
    ]
    for (const form of forms) {
      const [hidden, never] = await Promise.all(["plain", "zzzzz"].map((name) => use().get(clerk, at(...form(name)))))
      expect(hidden!.status).toBe(400)
      const bare = (text: string) => text.replaceAll("plain", "zzzzz")
      expect(bare(hidden!.text)).toBe(bare(never!.text))
    }
    const modelOf = async (caller: TestCaller) =>
      (JSON.parse((await use().call(caller, "GET", "/api/meta")).text) as MetaDocument).models
        .find(({ name }) => name === "articles")!
    expect((await modelOf(clerk)).searchVectors).toEqual(["words"])
    expect((await modelOf(admin)).searchVectors).toEqual(["words", "plain"])
    expect((await use().call(clerk, "GET", "/api/openapi.json")).text).not.toContain("plain")
  })

  it("stand in the lists of fields that roles may read, and are unknown where a list leaves them out", async () => {
    const of = (role: string): TestCaller => ({ id: role, roles: [role], tenant: "1" })
    const [listed, plain] = [of("listed"), of("plain")]
    expect(await ids({ filter: "search(words, lamp)" }, listed)).toEqual([1, 2, 3])
    expectRefusal(await ask({ filter: "search(words, lamp)" }, plain), "invalid-filter")
    expectRefusal(await ask({ order_by: "rank(words, lamp)" }, plain), "invalid-order-by")
  })

  it("take texts of a bounded length, and names without quotes", async () => {
    expectRefusal(await ask({ filter: `search(words, "${"x ".repeat(501)}")` }), "invalid-filter")
    expectRefusal(await ask({ order_by: `rank(words, "${"x ".repeat(501)}")` }), "invalid-order-by")
    expectRefusal(await ask({ filter: "search('words', lamp)" }), "invalid-filter")
    for (
      const order of [
        "rank(words)",
        "rank(words, lamp",
        "rank(words, lamp) down",
        "rank (words, lamp)",
        "rank('words', a)"
      ]
    ) {
      expectRefusal(await ask({ order_by: order }), "invalid-order-by")
    }
  })
})
