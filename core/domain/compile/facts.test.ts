import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { columnFacts as column, tableFacts } from "../../../test/support/catalogue.ts"
import { defineConfig } from "../declare/config.ts"
import { extendResource, withResources } from "../declare/extend.ts"
import { type AnyField, f } from "../declare/field.ts"
import { defineResource, type Resource } from "../declare/resource.ts"
import type { Models } from "../model/model.ts"
import { tableName } from "../model/table.ts"
import type { ColumnFacts, ElementFacts, IndexFacts, TableFacts } from "./catalogue.ts"
import { compileModels } from "./compile.ts"
import { valuesInCheck } from "./constraint.ts"
import { checkFacts, createTableSql, declarationOf } from "./facts.ts"

const modelsOf = (...resources: readonly Resource[]): Models =>
  Result.getOrThrowWith(compileModels(defineConfig({ resources })), (refusals) => new Error(JSON.stringify(refusals)))
    .models

const id = column("id", "int8", { identity: "by default" })

const tableOf = (columns: readonly ColumnFacts[], more: Partial<TableFacts> = {}): TableFacts =>
  tableFacts("things", columns, more)

const server = {
  version: 180_000,
  database: "shop",
  user: "app",
  encoding: "UTF8",
  collation: "builtin C.UTF-8",
  extensions: {},
  readOnly: false
}

/** Refusals of one table as `field: message → fix`. */
const lines = (models: Models, table: TableFacts | null, known?: readonly string[]): readonly string[] =>
  checkFacts(models, {
    server,
    tables: new Map([...models.keys()].map((name) => [name, table])),
    ...(known === undefined ? {} : { names: known })
  })
    .map(({ field, fix, message }) => `${field ?? "-"}: ${message} → ${fix}`)

const things = (fields: { readonly [name: string]: AnyField }, more: object = {}): Models =>
  modelsOf(defineResource("things", {
    primaryKey: "id",
    ...more,
    fields: { id: f.integer().bits(64).readOnly().dbDefault(), ...fields }
  }))

/** The refusals of a field `x` over a column `x`. */
const about = (field: AnyField, fact: ColumnFacts, more: Partial<TableFacts> = {}): readonly string[] =>
  lines(things({ x: field }), tableOf([id, fact], more))

/** A column of arrays. */
const list = (base: string, more: Partial<ColumnFacts> = {}, element: Partial<ElementFacts> = {}): ColumnFacts => {
  const { domain, fraction, maxLength, precision, scale, values } = column("x", base)
  const of = { base, domain, fraction, maxLength, precision, scale, values, ...element }
  return column("x", `_${base}`, { ...more, element: of })
}

describe("lists", () => {
  it.each<readonly [AnyField, readonly string[]]>([
    [f.array(f.text()), ["text", "varchar", "bpchar", "citext"]],
    [f.array(f.integer().bits(16)), ["int2"]],
    [f.array(f.integer()), ["int4"]],
    [f.array(f.integer().bits(64)), ["int8"]],
    [f.array(f.decimal()), ["numeric"]],
    [f.array(f.float()), ["float4", "float8"]],
    [f.array(f.boolean()), ["bool"]],
    [f.array(f.timestamp()), ["timestamp", "timestamptz"]],
    [f.array(f.date()), ["date"]],
    [f.array(f.uuid()), ["uuid"]],
    [f.array(f.currency()), ["text", "bpchar"]],
    [f.array(f.enum(["a"])), ["text", "varchar"]],
    [f.array(f.interval()), ["interval"]],
    [f.array(f.cidr()), ["cidr"]],
    [f.array(f.money()), ["money"]],
    [f.array(f.range("timestamp")), ["tsrange", "tstzrange"]],
    [f.array(f.native("point")), ["point"]]
  ])("of %o stand in arrays of that kind", (field, bases) => {
    for (const base of bases) expect(about(field, list(base))).toEqual([])
    for (const base of ["inet", "jsonb", "bytea"]) expect(about(field, list(base))).toHaveLength(1)
    expect(about(field, column("x", bases[0]!))).toHaveLength(1)
  })

  it("are declared by what their elements are", () => {
    expect(declarationOf(list("varchar", {}, { maxLength: 40 }))).toBe("f.array(f.text().max(40))")
    expect(declarationOf(list("numeric", {}, { precision: 12, scale: 2 }))).toBe(
      "f.array(f.decimal({ precision: 12, scale: 2 }))"
    )
    expect(declarationOf(list("mood", {}, { values: ["a"] }))).toBe("f.array(f.enum([\"a\"]))")
    // A domain over arrays has elements, and so has an array of a domain.
    expect(declarationOf(list("text", { domain: "words" }))).toBe("f.array(f.text())")
    expect(declarationOf(list("text", {}, { domain: "word" }))).toBe("f.array(f.text())")
    // What callers cannot write is shown as texts, and the whole list is read only.
    for (const base of ["json", "jsonb", "name", "tsvector"]) {
      expect(declarationOf(list(base))).toBe(`f.array(f.native("${base}")).readOnly()`)
    }
    expect(declarationOf(list("point"))).toBe("f.array(f.native(\"point\"))")
    expect(declarationOf(list("money", {}, { scale: 3 }))).toBe("f.array(f.money({ scale: 3 }))")
    expect(declarationOf(list("hstore"))).toBeNull()
    expect(about(f.array(f.money()), list("money", {}, { scale: 3 }))).toEqual([
      "x: The database gives amounts of money 3 digits after the point (lc_monetary), and the field 2. → Write f.array(f.money({ scale: 3 }))."
    ])
    const table = createTableSql(
      things({
        x: f.array(f.decimal({ precision: 12, scale: 2 })),
        y: f.array(f.integer().bits(64)).optional()
      }).get("things")!
    )
    expect(table).toContain("x numeric(12,2)[] not null default '{}', y bigint[],")
  })
})

describe("lists of files", () => {
  it("stand in arrays of texts, and tables are made with them", () => {
    expect(about(f.files(), list("text", { type: "text[]" }))).toEqual([])
    expect(about(f.files(), list("varchar"))).toEqual([])
    expect(about(f.files(), column("x", "text"))).toEqual([
      "x: The column is of type text, and the field is a list of text values. → Write f.text(), or change the column to text[]."
    ])
    expect(about(f.files(), column("x", "jsonb"))[0]).toContain("change the column to text[]")
    expect(about(f.text(), list("text", { type: "text[]" }))[0]).toContain("Write f.array(f.text())")
    expect(about(f.files(), list("text", { nullable: true }))[0]).toContain("Add optional()")
    const models = things({ x: f.files(), y: f.files().optional() })
    expect(createTableSql(models.get("things")!)).toContain("x text[] not null default '{}', y text[],")
    expect(lines(models, tableOf([id])).join("\n")).toContain("add column x text[] not null default '{}';")
  })
})

describe("search vectors and paths into JSON", () => {
  it("a vector is a tsvector column, made with a configuration that there is", () => {
    const words = column("x", "tsvector", { nullable: true, generated: true })
    const vector = f.searchVector({ config: "english" })
    expect(about(vector, words)).toEqual([])
    expect(about(vector, column("x", "text"))[0]).toContain(
      "x: The column is of type text, and the field is a search vector."
    )
    expect(lines(things({ x: vector }), tableOf([id]))[0]).toContain("x: The table things has no column \"x\".")
    const known = (textSearch: readonly string[]) =>
      checkFacts(things({ x: vector }), {
        server: { ...server, textSearch },
        tables: new Map([["things", tableOf([id, words])]])
      }).map(({ fix, message }) => `${message} → ${fix}`)
    expect(known(["simple", "english"])).toEqual([])
    expect(known(["simple", "englisch"])).toEqual([
      "The database has no configuration \"english\" of text search. → Did you mean \"englisch\"?"
    ])
  })

  it("paths are declared for the type of the column", () => {
    const paths = { a: f.text().filterable() }
    expect(about(f.json({ paths }), column("x", "jsonb"))).toEqual([])
    expect(about(f.json({ paths, type: "json" }), column("x", "json"))).toEqual([])
    expect(about(f.json(), column("x", "json"))).toEqual([])
    expect(about(f.json({ paths }), column("x", "json"))).toEqual([
      "x: The column is of type json, and the paths of the field are declared for jsonb. → Write f.json({ type: \"json\", paths: … })."
    ])
    expect(about(f.json({ paths, type: "json" }), column("x", "jsonb"))).toEqual([
      "x: The column is of type jsonb, and the paths of the field are declared for json. → Remove type: \"json\"."
    ])
  })
})

describe("types", () => {
  const fitting: ReadonlyArray<readonly [AnyField, readonly string[]]> = [
    [f.integer(), ["int4"]],
    [f.integer().bits(16), ["int2"]],
    [f.integer().bits(64), ["int8"]],
    [f.text(), ["text", "varchar", "bpchar", "citext"]],
    [f.boolean(), ["bool"]],
    [f.timestamp(), ["timestamptz", "timestamp"]],
    [f.date(), ["date"]],
    [f.decimal(), ["numeric"]],
    [f.float(), ["float8", "float4"]],
    [f.uuid(), ["uuid"]],
    [f.json(), ["json", "jsonb"]],
    [f.currency(), ["text", "bpchar", "varchar"]],
    [f.country(), ["text", "bpchar"]],
    [f.enum(["a"]), ["text", "varchar"]],
    [f.time(), ["time"]],
    [f.cidr(), ["cidr"]],
    [f.macaddr(), ["macaddr"]],
    [f.range("integer"), ["int4range"]],
    [f.range("bigint"), ["int8range"]],
    [f.range("decimal"), ["numrange"]],
    [f.range("date"), ["daterange"]],
    [f.range("timestamp"), ["tsrange", "tstzrange"]],
    [f.native("point"), ["point"]]
  ]
  it.each(fitting)("%o fits", (field, bases) => {
    for (const base of bases) expect(about(field, column("x", base))).toEqual([])
    for (const base of ["inet", "_int4", "bytea", "interval", "money"]) {
      expect(about(field, column("x", base))).toHaveLength(1)
    }
  })

  it("of PostgreSQL's own names are read and not written, as longer texts lose their end", () => {
    const cut = column("x", "name")
    expect(about(f.text().readOnly().dbDefault(), { ...cut, default: "''" })).toEqual([])
    expect(about(f.text(), cut, { kind: "view" })).toEqual([])
    expect(about(f.text(), cut)).toEqual([
      "x: The column is of type name, which cuts longer texts off, and the field can be written. → Add readOnly(), or run: alter table things alter column x type text;"
    ])
  })

  it("of PostgreSQL's own names do not say whose a row is, as two ids with one beginning would be the same", () => {
    const whose = "The column is of type name, which cuts longer texts off, and it says whose a row is."
    const house = column("house", "name")
    expect(lines(things({}, { tenant: "house" }), tableOf([id, house]))).toEqual([
      `-: tenant ("house"): ${whose} → Run: alter table things alter column house type text;`
    ])
    const owned = things({ house: f.text().readOnly().dbDefault() }, { owner: "house" })
    expect(lines(owned, tableOf([id, house], { kind: "view" }))).toEqual([
      `house: ${whose} → Cast it to text in the view.`
    ])
  })

  it.each<readonly [AnyField, ColumnFacts, string]>([
    [
      f.enum(["a"]),
      column("x", "mood", { type: "today", domain: "today", values: ["a"] }),
      "x: The column is of type today (a domain over mood), and PostgreSQL compares no values of a domain over an enum type. → Leave the column out, or run: alter table things alter column x type mood;"
    ],
    [
      f.integer(),
      column("x", "int8", { type: "bigint" }),
      "x: The column is of type bigint, and the field is an integer of 32 bits. → Write f.integer().bits(64), or change the column to integer."
    ],
    [
      f.text(),
      column("x", "uuid"),
      "x: The column is of type uuid, and the field is a text. → Write f.uuid(), or change the column to text."
    ],
    [
      f.text(),
      column("x", "int4", { type: "counter", domain: "counter" }),
      "x: The column is of type counter (a domain over int4), and the field is a text. → Write f.integer(), or change the column to text."
    ],
    [
      f.text(),
      list("int4", { type: "integer[]" }),
      "x: The column is of type integer[], and the field is a text. → Write f.array(f.integer()), or change the column to text."
    ],
    [
      f.text(),
      list("json", { type: "json[]" }),
      "x: The column is of type json[], and the field is a text. → Write f.array(f.native(\"json\")).readOnly(), or change the column to text."
    ],
    [
      f.array(f.integer().bits(16)),
      list("int8", { type: "bigint[]" }),
      "x: The column is of type bigint[], and the field is a list of integer values. → Write f.array(f.integer().bits(64)), or change the column to smallint[]."
    ],
    [
      f.array(f.enum(["a", "b"])),
      list("mood", { type: "mood[]" }, { values: ["a"] }),
      "x: The enum type mood has no \"b\". → Remove the value, or run: alter type mood add value 'b';"
    ],
    [
      f.array(f.text()),
      list("mood", { type: "mood[]" }, { values: ["a"] }),
      "x: The column is of the enum type mood[], and the field is a list of text values. → Write f.array(f.enum([\"a\"]))."
    ],
    [
      f.array(f.enum(["a"])),
      list("mood", { type: "today[]" }, { domain: "today", values: ["a"] }),
      "x: The column is of type today[] (a domain over mood), and PostgreSQL compares no values of a domain over an enum type. → Leave the column out."
    ],
    [
      f.array(f.decimal({ precision: 12, scale: 4 })),
      list("numeric", { type: "numeric(12,2)[]" }, { precision: 12, scale: 2 }),
      "x: The column is of type numeric(12,2)[], which would round values that the field allows. → Write f.array(f.decimal({ precision: 12, scale: 2 }))."
    ],
    [
      f.array(f.currency()),
      list("bpchar", { type: "character(2)[]" }, { maxLength: 2 }),
      "x: The column holds at most 2 characters, and values of the field have up to 3. → Run: alter table things alter column x type text[];"
    ],
    [
      f.array(f.text()),
      list("name", { type: "name[]" }),
      "x: The column is of type name, which cuts longer texts off, and the field can be written. → Add readOnly(), or run: alter table things alter column x type text[];"
    ],
    [
      f.text(),
      column("x", "hstore"),
      "x: The column is of type hstore, and the field is a text. → No kind of field fits hstore: leave the column out, or change it: alter table things alter column x type text using x::text;"
    ],
    [
      f.text(),
      column("x", "mood", { type: "mood", values: ["ok"] }),
      "x: The column is of the enum type mood, and the field is a text. → Write f.enum([\"ok\"])."
    ],
    [
      f.enum(["ok", "it's"]),
      column("x", "mood", { type: "mood", values: ["ok"] }),
      "x: The enum type mood has no \"it's\". → Remove the value, or run: alter type mood add value 'it''s';"
    ],
    [
      f.enum(["ok", "sad"]).ordered("type"),
      column("x", "mood", { type: "mood", values: ["sad", "ok"] }),
      "x: The values of the enum type mood have another order than those of the field. → Write f.enum([\"sad\", \"ok\"]).ordered(\"type\"), or ordered() without \"type\"."
    ],
    [
      f.enum(["ok", "sad"]).ordered("type"),
      column("x", "text"),
      "x: The column is of type text, and no enum type. → Write ordered() without \"type\"."
    ],
    [
      f.enum(["ok"]),
      column("x", "mood", { type: "mood", values: ["ok", "sad"] }),
      "x: The enum type mood also has \"sad\", which the field does not list. → Write f.enum([\"ok\", \"sad\"])."
    ],
    [
      f.decimal(),
      column("x", "numeric", { type: "numeric(10,2)", precision: 10, scale: 2 }),
      "x: The column is of type numeric(10,2), which would round values that the field allows. → Write f.decimal({ precision: 10, scale: 2 })."
    ],
    [
      f.decimal({ precision: 12, scale: 2 }),
      column("x", "numeric", { type: "numeric(10,2)", precision: 10, scale: 2 }),
      "x: The column is of type numeric(10,2), which is too narrow for values that the field allows. → Write f.decimal({ precision: 10, scale: 2 })."
    ],
    [
      f.currency(),
      column("x", "bpchar", { type: "character(2)", maxLength: 2 }),
      "x: The column holds at most 2 characters, and values of the field have up to 3. → Run: alter table things alter column x type text;"
    ]
  ])("%o", (field, fact, line) => {
    expect(about(field, fact)).toEqual([line])
  })

  it("takes the declaration that it suggests", () => {
    for (
      const base of [
        "int2",
        "int4",
        "int8",
        "bool",
        "timestamptz",
        "date",
        "numeric",
        "float8",
        "uuid",
        "jsonb",
        "text",
        "citext"
      ]
    ) {
      expect(declarationOf(column("x", base))).not.toBeNull()
    }
    expect(declarationOf(column("x", "varchar", { maxLength: 20 }))).toBe("f.text().max(20)")
    expect(declarationOf(column("x", "numeric", { precision: 3, scale: 5 }))).toBe("f.decimal()")
    expect(declarationOf(column("x", "hstore"))).toBeNull()
  })
})

describe("types that only PostgreSQL has", () => {
  it.each([
    ["bytea", "f.bytes()"],
    ["interval", "f.interval()"],
    ["inet", "f.inet()"],
    ["tstzrange", "f.range(\"timestamp\")"],
    ["point", "f.native(\"point\")"],
    ["jsonpath", "f.native(\"jsonpath\").readOnly()"],
    ["money", "f.money()"]
  ])("%s is declared as %s", (base, declaration) => {
    expect(declarationOf(column("x", base))).toBe(declaration)
  })

  it("money has the digits that the database gives it", () => {
    const yen = column("x", "money", { scale: 0 })
    expect(declarationOf(yen)).toBe("f.money({ scale: 0 })")
    expect(about(f.money({ scale: 0 }), yen)).toEqual([])
    expect(about(f.money(), yen)).toEqual([
      "x: The database gives amounts of money 0 digits after the point (lc_monetary), and the field 2. → Write f.money({ scale: 0 })."
    ])
  })

  it("tables are made with them", () => {
    const models = things({
      a: f.bytes(),
      b: f.range("date"),
      c: f.native("point"),
      d: f.interval(),
      e: f.range("timestamp")
    })
    expect(createTableSql(models.get("things")!)).toContain(
      "a bytea not null, b daterange not null, c point not null, d interval not null, e tstzrange not null"
    )
  })
})

describe("nullability, defaults and computed columns", () => {
  it.each<readonly [AnyField, ColumnFacts, readonly string[]]>([
    [f.text(), column("x", "text", { nullable: true }), [
      "x: The column may be null, and the field is not optional. → Add optional(), or run: alter table things alter column x set not null;"
    ]],
    [f.text().optional(), column("x", "text"), [
      "x: The column is NOT NULL, and the field is optional. → Remove optional(), or run: alter table things alter column x drop not null;"
    ]],
    [f.text().optional().readOnly(), column("x", "text"), []],
    // The service writes the time itself.
    [f.timestamp().stamped(), column("x", "timestamptz"), []],
    [f.text().dbDefault(), column("x", "text"), [
      "x: The column has no default, and the field says dbDefault(). → Remove dbDefault(), or run: alter table things alter column x set default …;"
    ]],
    [f.text().dbDefault(), column("x", "text", { default: "'a'::text" }), []],
    [f.text(), column("x", "text", { generated: true }), [
      "x: The database computes the column, and the field can be written. → Add readOnly().dbDefault()."
    ]],
    [f.text().readOnly().dbDefault(), column("x", "text", { generated: true }), []],
    [f.integer().dbDefault(), column("x", "int4", { identity: "always" }), [
      "x: The column is GENERATED ALWAYS AS IDENTITY, and the field can be written. → Add readOnly().dbDefault(), or run: alter table things alter column x set generated by default;"
    ]]
  ])("%o", (field, fact, expected) => {
    expect(about(field, fact)).toEqual(expected)
  })

  it("takes a trigger before the insert for what makes a value", () => {
    expect(about(f.text().dbDefault(), column("x", "text"), { fillsRows: true })).toEqual([])
    expect(about(f.text().dbDefault(), column("x", "text"), { fillsRows: false })).toHaveLength(1)
  })

  it("does not ask views for what they cannot have", () => {
    const view = tableOf([column("id", "int8", { nullable: true }), column("x", "text", { nullable: true })], {
      kind: "view",
      primaryKey: null
    })
    expect(lines(things({ x: f.text() }), view)).toEqual([])
  })
})

describe("system columns", () => {
  const declared = { tenant: "tenant_id", softDelete: "deleted_at", version: "updated_at" }
  it("must be there, of their types, and nullable or not as their role needs", () => {
    const models = things({}, declared)
    expect(lines(models, tableOf([id]))).toEqual([
      "-: tenant (\"tenant_id\"): The table things has no column \"tenant_id\". → Run service introspect again, or add it: alter table things add column tenant_id text; update things set tenant_id = …; alter table things alter column tenant_id set not null;",
      "-: softDelete (\"deleted_at\"): The table things has no column \"deleted_at\". → Run service introspect again, or add it: alter table things add column deleted_at timestamptz;",
      "-: version (\"updated_at\"): The table things has no column \"updated_at\". → Run service introspect again, or add it: alter table things add column updated_at timestamptz not null default now();"
    ])
    const wrong = tableOf([
      id,
      column("tenant_id", "int4", { type: "integer" }),
      column("deleted_at", "timestamptz"),
      column("updated_at", "timestamptz", { nullable: true })
    ])
    expect(lines(models, wrong)).toEqual([
      "-: tenant (\"tenant_id\"): The column is of type integer, and the field is a text. → Write f.integer(), or change the column to text.",
      "-: softDelete (\"deleted_at\"): The column is NOT NULL, and the field is optional. → Run: alter table things alter column deleted_at drop not null;",
      "-: version (\"updated_at\"): The column may be null, and the field is not optional. → Run: alter table things alter column updated_at set not null;"
    ])
  })
})

describe("tables and keys", () => {
  it("suggests a near name, and always says how to make the table", () => {
    const models = modelsOf(defineResource("orders", {
      table: "shop.orders",
      primaryKey: "id",
      fields: {
        id: f.integer().bits(64).readOnly().dbDefault(),
        total: f.decimal({ precision: 12, scale: 2 }),
        note: f.text().max(20).optional()
      }
    }))
    const made =
      "create table shop.orders (id bigint not null generated by default as identity, total numeric(12,2) not null, note varchar(20), primary key (id));"
    expect(createTableSql([...models.values()][0]!)).toBe(made)
    expect(lines(models, null)).toEqual([
      `-: There is no table shop.orders, or the database role cannot see it. → If a file in db/migrations makes it, run: service migration --apply. Otherwise run: ${made}`
    ])
    const versioned = modelsOf(defineResource("things", {
      table: "things",
      primaryKey: "id",
      version: "revision",
      fields: { id: f.integer(), revision: f.integer().readOnly() }
    }))
    const reserved = modelsOf(defineResource("orders", {
      table: "order",
      primaryKey: "id",
      fields: { id: f.integer(), user: f.text() }
    }))
    expect(createTableSql([...reserved.values()][0]!)).toBe(
      "create table \"order\" (id integer not null, \"user\" text not null, primary key (id));"
    )
    // Creates leave the version to the database.
    expect(createTableSql([...versioned.values()][0]!)).toContain("revision integer not null default 1,")
    expect(lines(models, null, ["shop.order", "x"])[0]).toContain(
      "Did you mean \"shop.order\"? If a file in db/migrations"
    )
  })

  it("is not to be made again where only the role does not get to it", () => {
    const at = (table: string) =>
      modelsOf(defineResource("orders", { table, primaryKey: "id", fields: { id: f.integer() } }))
    expect(lines(at("shop.orders"), null, ["shop.orders"])).toEqual([
      "-: There is a table shop.orders, and the database role may not use its schema. → Run: grant usage on schema shop to <role>;"
    ])
    expect(lines(at("orders"), null, ["orders"])).toEqual([
      "-: There is a table public.orders, and the database role does not find it on its search path. → Name the schema (table: \"public.orders\"), or put it on the search path and run: grant usage on schema public to <role>;"
    ])
  })

  it("needs a key that the database keeps unique, within a tenant at least", () => {
    const models = modelsOf(
      defineResource("things", { primaryKey: "code", tenant: "tenant_id", fields: { code: f.text() } })
    )
    const columns = [column("code", "text"), column("tenant_id", "text")]
    const table = (more: Partial<TableFacts>) => tableOf(columns, { primaryKey: null, ...more })
    expect(lines(models, table({ uniques: [["tenant_id", "code"]] }))).toEqual([])
    expect(lines(models, table({ uniques: [["code"]] }))).toEqual([])
    expect(lines(models, table({ uniques: [["code", "other"]] }))).toEqual([
      "-: primaryKey is (code), and nothing in the database keeps it unique. → Run: alter table things add primary key (code);"
    ])
    expect(lines(models, table({ primaryKey: ["id"] }))[0]).toContain(
      "create unique index on things (tenant_id, code);"
    )
    // No index of a partitioned table is unique without what divides it.
    const partitions = { by: "range", columns: ["day"], count: 2, rest: false } as const
    expect(lines(models, table({ kind: "partitioned", primaryKey: ["day", "code"], partitions }))).toEqual([
      "-: primaryKey is (code), and the table is divided by day: nothing in the database can keep it unique. → Declare the table's primary key (day, code)."
    ])
  })

  it("needs an index for what is unique, within a tenant at least, or among records that are not deleted", () => {
    const models = modelsOf(
      defineResource("things", {
        primaryKey: "id",
        tenant: f.text().column("tenant_id"),
        softDelete: f.timestamp().optional().column("deleted_at"),
        fields: { id: f.integer().bits(64).readOnly().dbDefault(), code: f.text().unique() }
      })
    )
    const columns = [
      id,
      column("code", "text"),
      column("tenant_id", "text"),
      column("deleted_at", "timestamptz", { nullable: true })
    ]
    const found = (more: Partial<TableFacts>) => lines(models, tableOf(columns, more))
    const index = (predicate: string, more: Partial<IndexFacts> = {}): Partial<TableFacts> => ({
      indexes: [{
        name: "one",
        unique: true,
        primary: false,
        valid: true,
        method: "btree",
        columns: ["tenant_id", "code"].map((name) => ({ name, descending: false, operators: "text_ops" })),
        predicate,
        definition: "",
        ...more
      }]
    })
    const refused =
      "code: The field is unique(), and nothing in the database keeps it so. → Remove unique(), or run: create unique index on things (tenant_id, code);"
    expect(found({ uniques: [["tenant_id", "code"]] })).toEqual([])
    expect(found({ uniques: [["code"]] })).toEqual([])
    expect(found(index("(deleted_at IS NULL)"))).toEqual([])
    expect(found({})).toEqual([refused])
    expect(found({ uniques: [["code", "other"]] })).toEqual([refused])
    expect(found(index("(code <> ''::text)"))).toEqual([refused])
    expect(found(index("(deleted_at IS NULL)", { unique: false }))).toEqual([refused])
    expect(found(index("(deleted_at IS NULL)", { valid: false }))).toEqual([refused])
    expect(found(index("(deleted_at IS NULL)", { columns: [{ name: null, descending: false, operators: "" }] })))
      .toEqual([refused])
  })

  it("names rights, old servers and foreign encodings", () => {
    const models = things({ x: f.text() })
    const closed = tableOf([id, column("x", "text", { privileges: { select: false, insert: true, update: true } })], {
      privileges: { select: false, insert: true, update: true, delete: true }
    })
    expect(lines(models, closed)).toHaveLength(2)
    const refusals = checkFacts(models, {
      server: { ...server, version: 140_012, encoding: "LATIN1" },
      tables: new Map([["things", tableOf([id, column("x", "text")])]])
    })
    expect(refusals.map(({ message }) => message)).toEqual([
      "The database server is PostgreSQL 14.",
      "The database's encoding is LATIN1."
    ])
  })

  it("quotes names that need it", () => {
    expect(tableName({ schema: "My Shop", table: "Order\"s" })).toBe("\"My Shop\".\"Order\"\"s\"")
  })
})

describe("relations", () => {
  const key = { id: f.integer().bits(64).readOnly().dbDefault() }
  const models = modelsOf(
    defineResource("users", { primaryKey: "id", fields: key }),
    defineResource("customers", { primaryKey: "id", fields: key }),
    defineResource("things", { primaryKey: "id", fields: { ...key, customer_id: f.relation("users") } })
  )
  const check = (target: string, columns: readonly string[] = ["id"]) =>
    checkFacts(models, {
      server,
      tables: new Map([
        ["users", tableOf([id], { name: "users" })],
        ["customers", tableOf([id], { name: "customers" })],
        [
          "things",
          tableOf([id, column("customer_id", "int8")], {
            foreignKeys: [{
              name: "things_customer_id_fkey",
              columns: ["customer_id"],
              target: { schema: "public", table: target, columns },
              onDelete: "no action"
            }]
          })
        ]
      ])
    })
  it("must agree with the foreign key where there is one", () => {
    expect(check("users")).toEqual([])
    expect(check("customers")).toEqual([{
      resource: "things",
      field: "customer_id",
      message: "The relation points at \"users\" (users.id), and the foreign key at customers.id.",
      fix: "Write relation(\"customers\")."
    }])
    expect(check("users", ["number"])[0]?.fix).toContain("Declare the field with its own kind")
  })
})

describe("values in check constraints", () => {
  it.each<readonly [string, readonly string[] | null]>([
    ["CHECK ((state = ANY (ARRAY['new'::text, 'done'::text])))", ["new", "done"]],
    ["CHECK (((state)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[])))", ["a", "b"]],
    ["CHECK (((state)::text = ANY (ARRAY[('a'::character varying)::text, ('b'::character varying)::text])))", [
      "a",
      "b"
    ]],
    ["CHECK ((state = 'only'::text))", ["only"]],
    ["CHECK ((state = ANY (ARRAY['it''s'::text, 'a, b'::text])))", ["it's", "a, b"]],
    ["CHECK ((\"state\" = ANY (ARRAY['x'::text])))", ["x"]],
    ["CHECK ((other = ANY (ARRAY['x'::text])))", null],
    ["CHECK ((state <> 'x'::text))", null],
    ["CHECK (((state = 'a'::text) OR (total > 3)))", null],
    ["CHECK (((state = ANY (ARRAY['a'::text])) OR (state IS NULL)))", null],
    ["CHECK ((state ~ 'x'::text))", null],
    ["CHECK ((count = ANY (ARRAY[1, 2])))", null],
    ["CHECK ((lower(state) = ANY (ARRAY['a'::text])))", null]
  ])("%s", (definition, expected) => {
    expect(valuesInCheck(definition, "state")).toEqual(expected)
  })

  it("refuses enum values that the constraint would refuse", () => {
    const checks = [{ name: "things_check", definition: "CHECK ((x = ANY (ARRAY['a'::text])))" }]
    expect(about(f.enum(["a", "b"]), column("x", "text"), { checks })).toEqual([
      "x: A check constraint of the table does not allow \"b\". → Write f.enum([\"a\"]), or change the constraint."
    ])
    expect(about(f.enum(["a"]), column("x", "text"), { checks })).toEqual([])
  })
})

describe("extendResource", () => {
  const base = defineResource("things", {
    primaryKey: "id",
    fields: { id: f.integer(), name: f.text().filterable(), extra: f.text() }
  })
  it("adds to a declaration and leaves the original as it was", () => {
    const more = extendResource(base, {
      table: "other",
      access: { delete: false },
      fields: { name: (field) => field.max(5), extra: null }
    })
    const model = [...modelsOf(...withResources([base], more)).values()][0]!
    expect(model.table).toBe("other")
    expect(model.fields).toMatchObject([{ name: "id", kind: "integer" }, { name: "name", kind: "text", max: 5 }])
    expect([...modelsOf(base).values()][0]?.fields).toHaveLength(3)
  })

  it("adds resources whose name is new, and refuses a field that is not there", () => {
    expect(
      withResources([base], defineResource("more", { primaryKey: "id", fields: { id: f.integer() } })).map(({ name }) =>
        name
      )
    )
      .toEqual(["things", "more"])
    const wrong = extendResource(base, { fields: { nmae: (field: AnyField) => field, extar: null } as never })
    const compiled = compileModels(defineConfig({ resources: [wrong] }))
    expect(Result.isFailure(compiled) && compiled.failure.map(({ field }) => field)).toEqual(["nmae", "extar"])
  })
})

it("says once that the role may read nothing, however many tables and columns there are", () => {
  const fields = { id: f.integer().bits(64).readOnly().dbDefault(), x: f.text().optional(), y: f.text().optional() }
  const models = modelsOf(
    defineResource("things", { table: "things", primaryKey: "id", fields }),
    defineResource("others", { table: "others", primaryKey: "id", fields })
  )
  const none = { select: false, insert: false, update: false, delete: false }
  const texts = ["x", "y"].map((name) => column(name, "text", { nullable: true }))
  const table = tableOf([id, ...texts].map((each) => ({ ...each, privileges: none })), {
    privileges: none
  })
  const refusals = checkFacts(models, { server, tables: new Map([["things", table], ["others", table]]) })
  expect(refusals.map(({ fix, message, resource }) => [resource, message, fix])).toEqual([[
    null,
    `The database role may read nothing of 2 tables: things, others.`,
    `Run: grant select on things, others to <role>;`
  ]])
})
