// Columns of which the database knows more than their declaration says: numbers of single precision, and collations that take different texts for
// equal. What it then refuses is the caller's filter, and answered as one.
import { expect, it } from "vitest"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, expectParameter, expectProblem, pluck } from "../../support/answer.ts"
import { on } from "../writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }
const trials = defineResource("trials", {
  table: "trials",
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    moment: f.timestamp().filterable(),
    ratio: f.float().filterable().sortable(),
    length: f.float().filterable(),
    huge: f.decimal().filterable(),
    name: f.text().filterable().searched()
  }
})
const badges = defineResource("badges", {
  table: "badges",
  primaryKey: "code",
  fields: { code: f.text().filterable() }
})
const words = (name: string, access = {}) =>
  defineResource(name, {
    table: name,
    primaryKey: "word",
    fields: { word: f.text().filterable(), open: f.boolean(), place: f.integer().optional() },
    access
  })
const uses = (name: string, target: string) =>
  defineResource(name, {
    table: name,
    primaryKey: "id",
    fields: { id: f.integer().filterable(), word: relation(target).filterable() }
  })
const digits = `9${"0".repeat(131_071)}`
const fixture = {
  config: defineConfig({
    resources: [
      trials,
      badges,
      words("tags"),
      uses("taggings", "tags"),
      words("codes", { read: where`open = true` }),
      uses("codings", "codes"),
      words("marks"),
      uses("markings", "marks")
    ]
  }),
  schema: `create collation same_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create collation same_accent (provider = icu, locale = 'und-u-ks-level1-kc-true', deterministic = false);
    create table trials (id integer primary key, moment timestamptz not null, ratio real not null, length float8 not null,
      huge numeric not null, name text collate same_case not null);
    create table badges (code char(5) primary key);
    create table tags (word citext primary key, open boolean not null, place integer);
    create table taggings (id integer primary key, word citext not null references tags);
    create table codes (word text primary key, open boolean not null, place integer);
    create table codings (id integer primary key, word text not null references codes);
    create table marks (word text collate same_accent primary key, open boolean not null, place integer);
    create table markings (id integer primary key, word text collate same_accent not null references marks)`,
  rows: {
    trials: [1, 2].map((id) => ({
      id,
      moment: "2026-01-01T12:00:00Z",
      ratio: 0.1,
      length: 1.5e308,
      huge: digits,
      name: "Bo"
    })),
    badges: [{ code: "ab" }, { code: "b" }],
    tags: ["Oak", "Elm"].map((word) => ({ word, open: true })),
    taggings: ["Oak", "oak", "OAK", "elm"].map((word, i) => ({ id: i + 1, word })),
    codes: ["Oak", "oak", "Elm", "elm"].map((word) => ({ word, open: word === "Oak" || word === "elm" })),
    codings: ["Oak", "oak", "Elm", "elm", "Oak"].map((word, i) => ({ id: i + 1, word })),
    marks: ["Oak", "oak", "elm"].map((word) => ({ word, open: true })),
    markings: ["Oak", "oak", "élm"].map((word, i) => ({ id: i + 1, word }))
  }
}

on("postgres", "columns of which the database knows more", () => fixture, (use) => {
  const list = (filter: string) => use().get(admin, at("trials", { filter, fields: "id" }))
  const series = (measure: string) => use().get(admin, at("trials:series", { field: "moment", range: "all", measure }))

  it("numbers beyond single precision are refused with their place in the filter", async () => {
    for (
      const [filter, start, end] of [
        ["ratio > 1e39", 8, 12],
        ["id > 0 AND ratio != -1e39", 20, 25],
        ["ratio = 0.1 OR in(ratio, 1, 1e-60)", 28, 33]
      ] as const
    ) {
      const answer = await list(filter)
      expectProblem(answer, "invalid-filter", "/api/v1/trials", { parameter: "filter", errors: [expect.anything()] })
      expect(answer.json["errors"]![0]).toMatchObject({ code: "value", span: { start, end } })
    }
    for (const filter of ["ratio = 0.1", "ratio < 3.4e38", "length > 1e300", "ratio > 1e-45"]) {
      expect((await list(filter)).json["items"], filter).toHaveLength(2)
    }
  })

  it("relations pair what the database takes for equal, and nothing else", async () => {
    const related = async (path: string, name: string, filter = "") =>
      pluck(await use().get(admin, at(path, { expand: name, filter })), "expand").map((expand) =>
        JSON.stringify((expand as { readonly [name: string]: unknown })[name], ["word", "id"])
      )
    const [oak, elm] = ["Oak", "Elm"].map((word) => JSON.stringify({ word }))
    expect(await related("taggings", "word")).toEqual([oak, oak, oak, elm])
    for (const id of [1, 2, 3]) expect(await related("taggings", "word", `id = ${id}`)).toEqual([oak])
    // One of them spells it as the record does: whether it is the other's, too, is asked for.
    expect(await related("taggings", "word", "id <= 2")).toEqual([oak, oak])
    expect(await related("tags", "taggings")).toEqual([
      "[{\"word\":\"elm\",\"id\":4}]",
      "[{\"word\":\"Oak\",\"id\":1},{\"word\":\"oak\",\"id\":2},{\"word\":\"OAK\",\"id\":3}]"
    ])
    expect(await related("codings", "word")).toEqual([oak, "null", "null", JSON.stringify({ word: "elm" }), oak])
    expect(await related("codes", "codings")).toEqual([
      "[{\"word\":\"Oak\",\"id\":1},{\"word\":\"Oak\",\"id\":5}]",
      "[{\"word\":\"elm\",\"id\":4}]"
    ])
    // Pages of each record pair in the database alone.
    const pages = async (path: string, name: string) =>
      pluck(await use().get(admin, at(path, { expand: `${name}(page_size: 9)` })), "expand").map((expand) =>
        (expand as { readonly [name: string]: { readonly items: ReadonlyArray<{ readonly id: number }> } })[name]!.items
          .map(({ id }) => id)
      )
    expect(await pages("tags", "taggings")).toEqual([[4], [1, 2, 3]])
    expect(await pages("codes", "codings")).toEqual([[1, 5], [4]])
    // Spelled otherwise in other ways than by case, which says nothing of case.
    expect(await related("markings", "word")).toEqual([oak, JSON.stringify({ word: "oak" }), "null"])
    // The last letters are one to JavaScript's small letters, and two to the database.
    await use().database!.execute("insert into tags values ('ΟΔΟΣ', true), ('οδος', true)")
    await use().database!.execute("insert into taggings values (5, 'ΟΔΟΣ'), (6, 'οδοσ')")
    const street = JSON.stringify({ word: "ΟΔΟΣ" })
    expect(await related("taggings", "word")).toEqual([oak, oak, oak, elm, street, street])
    expect((await related("tags", "taggings")).slice(2).toSorted()).toEqual([
      "[]",
      "[{\"word\":\"ΟΔΟΣ\",\"id\":5},{\"word\":\"οδοσ\",\"id\":6}]"
    ])
    await use().database!.execute("delete from taggings where id > 4")
    await use().database!.execute("delete from tags where word in ('ΟΔΟΣ', 'οδος')")
  })

  it("texts that are equal but for their case are so whatever blanks they end in", async () => {
    await use().database!.execute("insert into tags values ('Ash ', true), ('Yew ', true), ('Yew', true)")
    const words = async (filter: string) => pluck(await use().get(admin, at("tags", { filter })), "word")
    for (
      const [filter, found] of [
        ["word = 'ASH '", ["Ash "]],
        ["word != 'ash ' word >= a word < b", []],
        ["in(word, 'ASH ', 'YEW ')", ["Ash ", "Yew "]],
        ["in(word, 'ASH ', oak, 'ELM ')", ["Ash ", "Oak"]],
        ["word <= 'ASH '", ["Ash "]],
        ["word > 'ASH ' word < 'YEW '", ["Elm", "Oak", "Yew"]],
        ["word:'SH '", ["Ash "]]
      ] as const
    ) expect(await words(filter), filter).toEqual(found)
    await use().database!.execute("delete from tags where word in ('Ash ', 'Yew ', 'Yew')")
  })

  it("texts of a fixed length end in no blank, whatever the column fills them up with", async () => {
    const codes = async (filter: string) => pluck(await use().get(admin, at("badges", { filter })), "code")
    for (
      const [filter, found] of [
        ["code = 'ab'", ["ab"]],
        ["code = 'ab '", []],
        ["code != 'ab '", ["ab", "b"]],
        ["code < 'ab '", ["ab"]],
        ["code <= 'ab '", ["ab"]],
        ["code > 'ab '", ["b"]],
        ["code >= 'ab '", ["b"]],
        ["in(code, 'ab ', b)", ["b"]]
      ] as const
    ) expect(await codes(filter), filter).toEqual(found)
  })

  it("a reorder finds a record's tag by the record's own key", async () => {
    const reorder = (keys: readonly string[], etags: object) =>
      use().call(admin, "POST", "/api/v1:batchWrite", {
        body: { ops: [{ op: "reorder", resource: "tags", field: "place", keys, etags }] }
      })
    expect((await reorder(["OAK", "elm"], { Oak: "*" })).status).toBe(428)
    const ordered = await reorder(["OAK", "elm"], { Oak: "*", Elm: "*" })
    expect(ordered.json["results"]).toMatchObject([{ records: [{ key: "Oak" }, { key: "Elm" }] }])
    // The form that was sent goes before.
    expect((await reorder(["elm", "OAK"], { Oak: "*", OAK: "\"old\"", Elm: "*" })).status).toBe(412)
  })

  it("what it cannot calculate names the measure, or the field", async () => {
    const message = "The database cannot calculate with values of this size."
    for (const measure of ["avg:length", "sum:huge"]) {
      expectParameter(await series(measure), "/api/v1/trials:series", "measure", message)
    }
    expect((await series("sum:length")).json["points"]).toEqual([
      { start: "2026-01-01T00:00:00Z", value: `3${"0".repeat(308)}` }
    ])
    await use().database!.execute(`insert into trials values (3, '2027-01-01', 1, 1, -${digits}, 'Ada')`)
    const histogram = await use().get(admin, at("trials:histogram", { field: "huge", buckets: "100" }))
    expectParameter(histogram, "/api/v1/trials:histogram", "field", message)
    await use().database!.execute("delete from trials where id = 3")
  })

  it("texts that it cannot look into are refused as that", async () => {
    for (const filter of ["name:bo", "regex(name, 'B')", "bo", "NOT search('x') id = 1"]) {
      const answer = await list(filter)
      expectProblem(answer, "invalid-filter", "/api/v1/trials", {
        parameter: "filter",
        errors: [expect.objectContaining({ code: "unsupported-function" })]
      })
    }
    expect((await list("name = bo AND name > a")).json["items"]).toHaveLength(2)
  })

  it("tells the operator of nothing that a caller asked wrongly", () => {
    expect(use().unhandled).toEqual([])
  })
})

const parcels = defineResource("parcels", {
  primaryKey: "id",
  fields: { id: f.integer(), note: f.text().filterable() }
})
const noted = {
  config: defineConfig({ resources: [parcels] }),
  schema: "create table parcels (id integer primary key, note text not null)",
  rows: { parcels: [{ id: 1, note: "fragile goods" }, { id: 2, note: "food" }] }
}

on("postgres", "a database that keeps pg_trgm elsewhere, with another threshold", () => noted, (use) => {
  it("finds what is similar, and nothing else", async () => {
    for (const [text, found] of [["fragile", [1]], ["fragil", [1]], ["fra", []]] as const) {
      const filter = `similar(note, '${text}')`
      const answer = await use().get(admin, at("parcels", { filter, count: "exact" }))
      expect([pluck(answer, "id"), answer.json["total_size"]], text).toEqual([found, found.length])
      const facets = await use().get(admin, at("parcels:facets", { filter, field: "note" }))
      expect(facets.json["facets"], text).toHaveLength(found.length)
    }
  })
}, {
  through: async (database) => {
    await database.execute("create schema elsewhere; alter extension pg_trgm set schema elsewhere")
    const options = encodeURIComponent("-c pg_trgm.similarity_threshold=0.9")
    return { url: `${database.url}${database.url.includes("?") ? "&" : "?"}options=${options}`, close: async () => {} }
  }
})

on("postgres", "a database without pg_trgm", () => noted, (use) => {
  it("refuses what needs it as that, until it is there", async () => {
    const ask = (filter: string) => use().get(admin, at("parcels", { filter }))
    expectProblem(await ask("similar(note, 'fragile')"), "invalid-filter", "/api/v1/parcels", {
      parameter: "filter",
      errors: [expect.objectContaining({ code: "unsupported-function" })]
    }, "similar() is not available on this database.")
    expect(pluck(await ask("note:fragile"), "id")).toEqual([1])
    await use().database!.execute("create extension pg_trgm")
    expect(pluck(await ask("similar(note, 'fragile')"), "id")).toEqual([1])
  })
}, {
  through: async (database) => {
    await database.execute("drop extension pg_trgm")
    return { url: database.url, close: async () => {} }
  }
})
