import { expect, it } from "vitest"
import type { ColumnFacts, ForeignKeyFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { property } from "../../test/generators/property.ts"
import type { Random } from "../../test/generators/random.ts"
import { columnFacts as column, tableFacts } from "../../test/support/catalogue.ts"
import { draftResources } from "./draft.ts"
import { printModule } from "./print.ts"
import { refusalsOf } from "./verify.ts"

const nothing = { schemas: [], tables: [], exclude: [], views: true }

const refusals = (tables: readonly TableFacts[]) => refusalsOf(printModule(draftResources(tables, []), nothing, false))

const long = "a_name_that_is_as_long_as_the_database_lets_anybody_write_it_123"

/** What people and programs call tables and columns, and some that nobody does. */
const names = [
  "id",
  "name",
  "first_name",
  "last_name",
  "api",
  "API",
  "readyz",
  "permissions",
  "etag",
  "caller",
  "constructor",
  "constructor_id",
  "__proto__",
  "prototype",
  "hasOwnProperty",
  "toString",
  "class",
  "class_",
  "f",
  "relation",
  "views",
  "resources",
  "defineResource",
  "await",
  "Order Items",
  "order_items",
  "OrderItems",
  "2fa",
  "заказы",
  "naïve",
  "a.b",
  "a\"b",
  "a`${b}",
  "a\nb",
  "a*/b",
  "a\\b",
  "a\u2028b",
  "_",
  " ",
  "ID",
  "_id",
  "x_id",
  long.slice(0, 63),
  `${long.slice(0, 60)}_id`,
  long.slice(0, 62),
  "deleted_at",
  "updated_at",
  "created_at",
  "lock_version",
  "parent_id",
  "customer_id",
  "tenant_id",
  "token",
  "avatar",
  "email",
  "title",
  "import",
  "default"
]
const bases = [
  "int2",
  "int4",
  "int8",
  "text",
  "varchar",
  "bpchar",
  "citext",
  "name",
  "bool",
  "timestamptz",
  "timestamp",
  "date",
  "numeric"
]
  .concat(["float4", "float8", "uuid", "json", "jsonb", "bytea", "inet", "status"])

const some = <A>(
  random: Random,
  of: readonly A[],
  most: number
): readonly A[] => [...new Set(Array.from({ length: 1 + random.below(most) }, () => random.pick(of)))]

const drawColumn = (random: Random, name: string): ColumnFacts => {
  const base = random.chance(2) ? random.pick(bases) : "int4"
  return column(name, base, {
    nullable: random.pick([true, false]),
    default: random.pick([null, null, "now()", "1"]),
    identity: base.startsWith("int") ? random.pick([null, null, "always", "by default"] as const) : null,
    generated: random.pick([false, false, false, true]),
    maxLength: ["varchar", "bpchar"].includes(base) ? random.pick([null, 1, 20, 4000]) : null,
    ...(base === "numeric" ? { precision: random.pick([5, 12]), scale: random.pick([2, -2, 5, 7]) } : {}),
    values: base === "status" ? random.pick([["a", "b"], ["it's", "\\"], [""], []]) : null,
    comment: random.pick([null, "Short.", "a */ b\n\u2028 c", "x".repeat(5000), " ", "\u0000\u202e"]),
    privileges: { select: random.pick([true, true, true, false]), insert: true, update: true }
  })
}

/** Schemas of tables whose foreign keys point anywhere: at keys, at other columns, at several, in circles, at tables that are not there. */
const strange = (random: Random): readonly TableFacts[] => {
  const tables = some(random, names, 6).flatMap((name) =>
    some(random, ["public", "shop", "Api"], 2).map((schema) => ({ name, schema }))
  )
    .map(({ name, schema }): TableFacts => {
      const columns = some(random, names, 8).map((each) => drawColumn(random, each))
      const own = columns.map((each) => each.name)
      return tableFacts(name, columns, {
        schema,
        kind: random.pick(["table", "table", "table", "partitioned", "partition", "view"]),
        primaryKey: random.pick([null, [own[0]!], [own[0]!], some(random, own, 3)]),
        fillsRows: random.chance(2),
        fills: [`begin new.${own[0]} := 1; new.created_at = now(); return new; end`],
        uniques: [some(random, own, 2)],
        checks: [
          {
            name: "c",
            definition: `CHECK ((char_length(${own[0]}) <= ${random.pick(["5", "2.5", "0", "99999999999"])}))`
          },
          { name: "d", definition: `CHECK ((${own.at(-1)} >= '-5'::integer))` }
        ],
        comment: random.pick([null, "Lines */ of\n orders", "x".repeat(3000)])
      })
    })
  return tables.map((table) => ({
    ...table,
    foreignKeys: Array.from({ length: random.below(5) }, (_, i): ForeignKeyFacts => {
      const target = random.pick(tables)
      const pairs = some(random, table.columns, 2).map((each) =>
        [
          each.name,
          random.chance(3) ? random.pick(target.columns).name : target.primaryKey?.[0] ?? target.columns[0]!.name
        ] as const
      )
      return {
        name: `f${i}`,
        columns: pairs.map(([from]) => from),
        target: {
          schema: target.schema,
          table: random.pick([target.name, target.name, target.name, "elsewhere"]),
          columns: pairs.map(([, to]) => to)
        },
        onDelete: "no action"
      }
    })
  }))
}

let met = { resources: 0, relations: 0, none: 0, renamed: 0 }

property("writes of any schema a file that the commands take", { tables: strange }, {
  cases: 3000,
  reaches: (runs) => {
    expect(met.resources).toBeGreaterThan(runs)
    expect(Math.min(met.relations, met.none, met.renamed)).toBeGreaterThan(runs / 10)
  }
}, ({ tables }) => {
  const drafts = draftResources(tables, [])
  const text = JSON.stringify(drafts)
  met = {
    resources: met.resources + drafts.resources.length,
    relations: met.relations + text.split("\"of\":\"relation\"").length - 1,
    none: met.none + text.split("is no relation").length - 1,
    renamed: met.renamed + text.split(" here: ").length - 1
  }
  expect(refusals(tables).map((each) => `${each.resource}.${each.field}: ${each.message}`).join("\n")).toBe("")
})

it("says what the commands would refuse", () => {
  const [orders] = draftResources([tableFacts("orders", [column("id", "int4")])]).resources
  const refused = refusalsOf(
    printModule({ resources: [{ ...orders!, name: "api", view: null }], left: [] }, nothing, false)
  )
  expect(refused.map(({ message }) => message)).toEqual([
    "A resource cannot be named \"api\": the service itself is at /api."
  ])
})

it("calls a table named api otherwise, and says why", () => {
  const [first] = draftResources([tableFacts("api", [column("id", "int4"), column("etag", "text")])]).resources
  expect([first?.name, first?.table]).toEqual(["api_table", "api"])
  expect(first?.notes).toEqual([
    "api is called api_table here: the service itself is at /api",
    "etag is called etag_value here: responses use it for the record's version"
  ])
})

const id = column("id", "int4")
const tenant = column("tenant_id", "int4")
const key = (columns: readonly string[], table: string, target: readonly string[]): ForeignKeyFacts => ({
  name: columns.join(),
  columns,
  target: { schema: "public", table, columns: target },
  onDelete: "no action"
})

it("makes a relation of a foreign key of several columns where one holds the key, and says of the others why not", () => {
  const tables = [
    tableFacts("customers", [id, tenant], { primaryKey: ["id"], uniques: [["tenant_id", "id"]] }),
    tableFacts("countries", [id, column("code", "text")], { primaryKey: ["id"], uniques: [["code"]] }),
    tableFacts("places", [tenant, id], { primaryKey: ["tenant_id", "id"] }),
    tableFacts("orders", [
      id,
      tenant,
      column("customer_id", "int4"),
      column("country", "text"),
      column("place_id", "int4")
    ], {
      primaryKey: ["id"],
      foreignKeys: [
        key(["tenant_id", "customer_id"], "customers", ["tenant_id", "id"]),
        key(["country"], "countries", ["code"]),
        key(["tenant_id", "place_id"], "places", ["tenant_id", "id"]),
        key(["place_id"], "elsewhere", ["id"])
      ]
    })
  ]
  const orders = draftResources(tables).resources.find(({ name }) => name === "orders")!
  expect(orders.fields.filter(({ kind }) => kind.of === "relation").map(({ column }) => column)).toEqual([
    "customer_id"
  ])
  expect(orders.notes.filter((note) => note.includes("no relation"))).toEqual([
    "country is no relation: it points at countries.code, and the key of countries is id",
    "(tenant_id, place_id) is no relation: it points at places, whose key has 2 columns, and a relation is one field",
    "place_id is no relation: it points at elsewhere, which is no resource here"
  ])
})

it("leaves a table out whose key is a secret", () => {
  const { left, resources } = draftResources([
    tableFacts("tokens", [column("token", "text")], { primaryKey: ["token"] })
  ])
  expect(resources).toEqual([])
  expect(left).toEqual([
    "tokens: its key token looks like a secret, and keys stand in addresses; declare it yourself if it is none"
  ])
})

it("does not advise views to who asked for them", () => {
  const view = tableFacts("wide", [column("a", "int4")], { kind: "view", primaryKey: null })
  expect(draftResources([view]).left[0]).toContain("run with --views")
  expect(draftResources([view], []).left).toEqual([
    "wide: nothing tells the rows of this view apart; declare it yourself and name columns that do"
  ])
})
