import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { columnFacts } from "../../../test/support/catalogue.ts"
import { type Loose, refusalLines, resource } from "../../../test/support/refusals.ts"
import { defineConfig } from "../declare/config.ts"
import { fn } from "../declare/database-function.ts"
import { f, relation } from "../declare/field.ts"
import { history } from "../declare/history.ts"
import { defineResource } from "../declare/resource.ts"
import type { FunctionFacts } from "./catalogue.ts"
import { compileModels } from "./compile.ts"
import { checkFacts } from "./facts.ts"

const over = (from: unknown, more: Loose = {}, fields: Loose = {}): readonly string[] =>
  refusalLines({
    resources: [
      resource("a", { from, primaryKey: "id", fields: { id: f.integer(), ...fields }, ...more }),
      resource("b", { primaryKey: "id", fields: { id: f.integer() } })
    ]
  })
const given = (args: Loose, more: Loose = {}): Loose => ({ ...fn("s.f", args as never), ...more })

it.each<readonly [from: unknown, line: string, more?: Loose, fields?: Loose]>([
  ["s.f", "a: from is \"s.f\", not a function of the database."],
  [fn("a.b.c", {}), "a: fn() is given \"a.b.c\", which is not a function's name."],
  [fn("f(); drop table x; --", {}), "a: fn() is given"],
  [given({ "X": f.text() }), "a: The argument \"X\": \"X\" is not a field name."],
  [given({ x: relation("b") }), "a: The argument \"x\" is of kind relation, which arguments cannot have."],
  [given({ x: f.text().searched() }), "a: The argument \"x\" has searched(), which arguments cannot have."],
  [given({ x: f.integer().optional().default(1) }), "a: The argument \"x\" is optional() and has a default."],
  [given({ x: f.integer().default("y" as never) }), "a.x: The default \"y\" is not a value of the field"],
  [given({ x: f.text() }, { types: { y: "s.t" } }), "a: types of fn() names \"y\", which is no argument of it."],
  [given({ x: f.text() }, { types: { x: "text" } }), "a: The type of the argument \"x\" is \"text\", not the name"],
  [given({ x: f.text() }, { types: { x: "s.t; select" } }), "a: The type of the argument \"x\" is \"s.t; select\""],
  [given({}, { more: 1 }), "a: There is no property fn().more."],
  [given({}), "a: The resource has a table and a function as its source.", { table: "t" }],
  [given({}), "a: The rows of a function cannot be written, and readOnly is false.", { readOnly: false }],
  [given({}), "a: access.update allows a write, and the resource is read-only.", { access: { update: true } }],
  [given({}), "a: It declares events, but shows the rows of a function", { events: { created: true } }],
  [given({}), "a.file: It is a file, and the resource shows the rows of a function", {}, { file: f.file().optional() }]
])("refuses %j: %s", (from, line, more, fields) => {
  expect(over(from, more as Loose, fields as Loose).join("\n")).toContain(line)
})

it("refuses what would read its rows without arguments", () => {
  const a = { from: fn("s.f", { x: f.integer() }), primaryKey: "id", fields: { id: f.integer().sortable() } }
  const lines = refusalLines({
    resources: [
      resource("a", a),
      resource("c", { primaryKey: "id", fields: { id: f.integer(), a: relation("a") } })
    ],
    views: { a: { nav: { recent: { sort: "id" } } } },
    pages: [{ name: "p", label: "P", blocks: [{ of: "number", label: "N", resource: "a" }] }],
    extends: [history({ resources: ["a"] })]
  }).join("\n")
  expect(lines).toContain("c.a: The relation points at \"a\", which is a function of the database")
  expect(lines).toContain("nav.recent lists the rows of a function that needs arguments.")
  expect(lines).toContain("It shows the rows of a function that needs arguments.")
  expect(lines).toContain("history() keeps its versions")
})

const orders = defineResource("orders_of", {
  from: fn("shop.orders_of", { customer: f.integer(), since: f.date().dbDefault() }),
  primaryKey: "id",
  fields: { id: f.integer(), total: f.decimal() }
})
const { models } = Result.getOrThrow(compileModels(defineConfig({ resources: [orders] })))

const parameter = (name: string, base: string, optional = false, schema = "pg_catalog") => ({
  ...columnFacts(name, base),
  schema,
  optional
})
const found = (more: Partial<FunctionFacts> = {}): FunctionFacts => ({
  schema: "shop",
  name: "orders_of",
  kind: "function",
  volatility: "stable",
  set: true,
  definer: false,
  fixesPath: false,
  language: "sql",
  executable: true,
  rowType: null,
  parameters: [parameter("customer", "int4"), parameter("since", "date", true)],
  columns: [columnFacts("id", "int4"), columnFacts("total", "numeric")],
  signature: "customer integer, since date",
  comment: null,
  ...more
})
const lines = (...functions: readonly FunctionFacts[]): readonly string[] =>
  checkFacts(models, {
    server: {
      version: 180_000,
      database: "d",
      user: "u",
      encoding: "UTF8",
      collation: "C",
      extensions: {},
      readOnly: false
    },
    tables: new Map(),
    functions: new Map([["orders_of", functions]])
  }).map(({ fix, message }) => `${message} → ${fix}`)

it("takes a stable function whose parameters and columns are those declared", () => {
  expect(lines(found())).toEqual([])
  expect(lines(found({ volatility: "immutable" }))).toEqual([])
  expect(lines(found(), found({ parameters: [parameter("other", "int4")], signature: "other integer" }))).toEqual([])
})

it.each<readonly [line: string, ...functions: readonly FunctionFacts[]]>([
  ["There is no function shop.orders_of"],
  [
    "is VOLATILE: it may change data, and reads must not. → If it changes nothing, run: alter function shop.orders_of(customer integer, since date) stable",
    found({ volatility: "volatile" })
  ],
  ["is no function but procedure", found({ kind: "procedure" })],
  ["gives no set of rows", found({ set: false })],
  ["have no named columns", found({ columns: [] })],
  ["may not call the function. → Run: grant execute on function", found({ executable: false })],
  ["has no parameter \"since\"", found({ parameters: [parameter("customer", "int4")] })],
  [
    "needs the parameter \"more\", which no argument stands for. → Add the argument more: f.uuid().",
    found({ parameters: [parameter("customer", "int4"), parameter("since", "date", true), parameter("more", "uuid")] })
  ],
  [
    "has a parameter without a name",
    found({ parameters: [parameter("customer", "int4"), parameter("since", "date", true), parameter("", "uuid")] })
  ],
  [
    "is sent as pg_catalog.int4, and the parameter is int8. → Write f.integer().bits(64)",
    found({ parameters: [parameter("customer", "int8"), parameter("since", "date", true)] })
  ],
  [
    "types: { customer: \"shop.int4\" }",
    found({ parameters: [parameter("customer", "int4", false, "shop"), parameter("since", "date", true)] })
  ],
  [
    "says dbDefault(), and the parameter has no default",
    found({ parameters: [parameter("customer", "int4"), parameter("since", "date")] })
  ],
  ["There are 2 functions shop.orders_of", found(), found()],
  ["The function shop.orders_of has no column \"total\"", found({ columns: [columnFacts("id", "int4")] })],
  ["The column is of type text", found({ columns: [columnFacts("id", "int4"), columnFacts("total", "text")] })]
])("says: %s", (line, ...functions) => {
  expect(lines(...(functions as readonly FunctionFacts[])).join("\n")).toContain(line)
})
