import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import type { TableFacts } from "../../core/domain/compile/catalogue.ts"
import { columnFacts as column, tableFacts } from "../../test/support/catalogue.ts"
import { draftResources } from "./draft.ts"
import { iconWords } from "./presentation.ts"
import { printModule } from "./print.ts"
import { refusalsOf } from "./verify.ts"

const id = column("id", "int4")
const viewsOf = (...tables: readonly TableFacts[]) => draftResources(tables).resources.map(({ view }) => view)

it.each([
  [["name", "code"], [], "name"],
  [["email", "first_name", "last_name"], ["email"], "{first_name} {last_name}||{email}"],
  // A unique text is better than one that is only searched, but not than a name.
  [["remark", "isbn"], ["isbn"], "isbn"],
  [["name", "isbn"], ["isbn"], "name"],
  [["remark", "token_url"], ["token_url"], "remark"],
  [["remark", "wikidata_id"], [], "remark"],
  [[], [], null]
])("calls records with %o, unique %o, by %s", (texts, uniques, title) => {
  const [view] = viewsOf(tableFacts("things", [id, ...texts.map((name) => column(name, "text"))], {
    uniques: uniques.map((name) => [name])
  }))
  expect(view?.title ?? null).toBe(title)
})

it("calls a table that joins two others by both, and the file holds", () => {
  const key = (name: string, table: string) => ({
    name,
    columns: [name],
    target: { schema: "public", table, columns: ["id"] },
    onDelete: "cascade" as const
  })
  const tables = [
    tableFacts("films", [id, column("title", "text")]),
    tableFacts("actors", [id, column("first_name", "text"), column("last_name", "text")]),
    tableFacts("film_actors", [id, column("film_id", "int4"), column("actor_id", "int4")], {
      foreignKeys: [key("film_id", "films"), key("actor_id", "actors")]
    })
  ]
  const drafts = draftResources(tables)
  expect(drafts.resources.map(({ view }) => view?.title)).toEqual([
    "title",
    "{first_name} {last_name}",
    "{film_id} · {actor_id}"
  ])
  const text = printModule(drafts, { schemas: [], tables: [], exclude: [], views: false }, false)
  expect(text).toContain("  actors: { title: \"{first_name} {last_name}\", nav: { icon: \"person\" } }")
  expect(refusalsOf(text)).toEqual([])
  expect(refusalsOf(text.replace("{last_name}", "{nobody}"))).not.toEqual([])
})

it.each([
  ["customers", "people"],
  ["OrderItem", "package"],
  ["categories", "tag"],
  ["addresses", "map"],
  ["sales_invoices", "receipt"],
  ["order_details", null],
  ["xyz", null]
])("gives %s the icon %s", (name, icon) => {
  expect(viewsOf(tableFacts(name, [id]))[0]?.icon ?? null).toBe(icon)
})

it("names icons that the admin app has, each word once", () => {
  const source = readFileSync(new URL("../../web/admin/ground/icons.tsx", import.meta.url), "utf8")
  const [, list = ""] = /Object\.entries\(\{([^}]*)\}/.exec(source) ?? []
  const known = [...list.matchAll(/(\w+):/g)].map(([, name]) => name)
  expect(known.length).toBeGreaterThan(20)
  expect(Object.keys(iconWords).filter((icon) => !known.includes(icon))).toEqual([])
  const words = Object.values(iconWords).flatMap((text) => text.split(" "))
  expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([])
})

it("groups by schema where there are several", () => {
  const [first, second] = [tableFacts("a", [id]), tableFacts("b", [id], { schema: "human_resources" })]
  expect(viewsOf(first, second).map((view) => view?.group ?? null)).toEqual([null, "Human resources"])
  expect(viewsOf(second).map((view) => view?.group ?? null)).toEqual([null])
})
