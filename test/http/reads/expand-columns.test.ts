// Shapes of `expand` over keys of other people's tables: columns with a collation of their own, and domains whose rule a value breaks.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, pluck } from "../../support/answer.ts"
import { on } from "../writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }

const placesIn = (name: string) =>
  defineResource(name, {
    primaryKey: "code",
    fields: {
      code: f.text().filterable().sortable(),
      within: relation(name).optional().as("outer").inverse("inner")
    }
  })
const numbers = defineResource("numbers", { primaryKey: "id", fields: { id: f.integer().filterable().sortable() } })
const marks = defineResource("marks", {
  primaryKey: "id",
  fields: { id: f.integer(), number_id: relation(numbers).optional() }
})

const collations = { plain: "\"C\"", folded: "folded" }
const rows = [{ code: "a", within: null }, { code: "b", within: "a" }, { code: "c", within: "b" }]
const fixture = {
  config: defineConfig({ resources: [placesIn("plain"), placesIn("folded"), numbers, marks] }),
  schema: [
    "create collation folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    ...Object.entries(collations).map(([name, collation]) =>
      `create table ${name} (code varchar(9) collate ${collation} primary key, within text collate ${collation})`
    ),
    "create domain positive as integer check (value > 0)",
    "create table numbers (id integer primary key)",
    "create table marks (id integer primary key, number_id positive)"
  ].join(";"),
  rows: {
    plain: rows,
    folded: rows.map(({ code, within }) => ({ code, within: within?.toUpperCase() ?? null })),
    numbers: [{ id: 0 }, { id: 1 }],
    marks: [{ id: 5, number_id: 1 }]
  }
}

on("postgres", "expand over columns of others", () => fixture, (use) => {
  const expanded = async (resource: string, expand: string) =>
    pluck(await use().get(admin, at(resource, { expand })), "expand")

  it.each(Object.keys(collations))("follows a tree whose keys have a collation: %s", async (name) => {
    const leaf = { code: "c", expand: { inner: [] } }
    expect(await expanded(name, "inner(depth: 5, fields: \"code\")")).toMatchObject([
      { inner: [{ code: "b", expand: { inner: [leaf] } }] },
      { inner: [leaf] },
      { inner: [] }
    ])
    const root = { code: "a", expand: { outer: null } }
    expect(await expanded(name, "outer(depth: 5, fields: \"code\")")).toMatchObject([
      { outer: null },
      { outer: root },
      { outer: { code: "b", expand: { outer: root } } }
    ])
  })

  it.each<readonly [shape: string, none: unknown, one: unknown]>([
    ["", [], [{ id: 5 }]],
    ["(count)", { count: 0 }, { count: 1 }],
    ["(page_size: 1)", { items: [], more: false }, { items: [{ id: 5 }], more: false }]
  ])("finds nothing for a value that breaks the rule of a domain: marks%s", async (shape, none, one) => {
    expect(await expanded("numbers", `marks${shape}`)).toMatchObject([{ marks: none }, { marks: one }])
  })
})
