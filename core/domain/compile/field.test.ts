import { describe, expect, it } from "vitest"
import { one, type RefusalCase, refusalLines, resource, sound } from "../../../test/support/refusals.ts"
import { f, FieldBuilder, relation } from "../declare/field.ts"

const cases: readonly RefusalCase[] = [
  [
    "field named permissions",
    one({ permissions: f.text() }),
    "a.permissions: A field cannot be named \"permissions\": responses use it for what the caller may do. → Choose another name; column(\"permissions\") keeps the column."
  ],
  [
    "field named etag",
    one({ etag: f.text() }),
    "a.etag: A field cannot be named \"etag\": responses use it for the record's version. → Choose another name; column(\"etag\") keeps the column."
  ],
  [
    "field named expand",
    one({ expand: f.json() }),
    "a.expand: A field cannot be named \"expand\": responses use it for related records. → Choose another name; column(\"expand\") keeps the column."
  ],
  [
    "field with a prototype name",
    one({ constructor: f.text() }),
    "a.constructor: A field cannot be named \"constructor\": every JavaScript object has a property of that name. → Choose another name; column(\"constructor\") keeps the column."
  ],
  [
    "field named __proto__",
    one({ ["__proto__"]: f.text() }),
    "a.__proto__: A field cannot be named \"__proto__\": every JavaScript object has a property of that name. → Choose another name; column(\"__proto__\") keeps the column."
  ],
  ["field named __proto__ in a literal", {
    resources: [resource("a", { primaryKey: "id", fields: Object.setPrototypeOf({ id: f.integer() }, f.text()) })]
  }, "a.__proto__: A field cannot be named \"__proto__\". → Choose another name."],
  [
    "field with capitals",
    one({ createdAt: f.timestamp() }),
    "a.createdAt: \"createdAt\" is not a field name. → Use lower-case letters, digits and _, beginning with a letter, at most 63 characters. The column keeps its name with column(\"…\")."
  ],
  [
    "field that is not a field",
    one({ name: "text" }),
    "a.name: The declaration is \"text\", not a field. → Write it with f, such as f.text() or f.integer()."
  ],
  [
    "kind that was not called",
    one({ name: f.text }),
    "a.name: The declaration is a function, not a field. → Call the kind: f.text(), not f.text."
  ],
  [
    "no fields",
    { resources: [resource("a", { primaryKey: "id" })] },
    "a: The fields are undefined, not an object. → Write fields: { id: f.integer(), … }.",
    "a.id: primaryKey names \"id\", which is not a declared field. → There is none to choose from."
  ],
  [
    "empty fields",
    { resources: [resource("a", { primaryKey: "id", fields: {} })] },
    "a: The resource has no fields. → Declare at least its primary key.",
    "a.id: primaryKey names \"id\", which is not a declared field. → There is none to choose from."
  ],
  [
    "bits of another width",
    one({ n: f.integer().bits(8 as never) }),
    "a.n: bits(8) is not a width of integers. → Write bits(16), bits(32) or bits(64)."
  ],
  [
    "kinds of PostgreSQL with bounds that are none",
    one({
      a: f.bytes({ max: 0 }),
      b: f.money({ scale: 11 }),
      c: f.range("text" as never),
      d: f.native(3 as never)
    }),
    "a.a: max is 0, which is not a number of bytes. → Write a whole number from 1 to 16777216, such as f.bytes({ max: 65536 }).",
    "a.b: The scale 11 is not a whole number from 0 to 10. → Write f.money({ scale: 2 }).",
    "a.c: There are no ranges of \"text\". → Use one of integer, bigint, decimal, date, timestamp.",
    "a.d: native(3) is not a type's name. → Write the type's name in PostgreSQL, such as f.native(\"point\")."
  ],
  [
    "types that are not written",
    one({ q: f.native("tsquery"), g: f.native("geometry"), p: f.native("point"), r: f.native("tsquery").readOnly() }),
    "a.q: Values of the type tsquery cannot be written. → Add readOnly().",
    "a.g: Values of the type geometry cannot be written. → Add readOnly(), or declare the field with a kind of its own."
  ],
  [
    "kinds without an order, and kinds that name no record",
    one({
      b: f.bytes().sortable(),
      n: f.native("point").sortable(),
      i: f.interval().unique(),
      r: f.range("date").unique()
    }),
    "a.b: Values of kind bytes have no order. → Remove sortable().",
    "a.n: Values of kind native have no order. → Remove sortable().",
    "a.i: Values of kind interval name no record. → Remove unique().",
    "a.r: Values of kind range name no record. → Remove unique()."
  ],
  [
    "modifiers of other kinds",
    one({
      n: (f.integer() as never as ReturnType<typeof f.text>).max(3).searched(),
      t: (f.text() as never as ReturnType<typeof f.integer>).bits(64)
    }),
    "a.n: searched() is for texts, not for integer. → Remove searched().",
    "a.n: max() is for texts, not for integer. → Remove max().",
    "a.t: bits() is for integers, not for text. → Remove bits()."
  ],
  [
    "max that is no length",
    one({ t: f.text().max(0) }),
    "a.t: max(0) is not a number of characters. → Write a whole number of at least 1, such as max(200)."
  ],
  [
    "scale larger than precision",
    one({ d: f.decimal({ precision: 2, scale: 4 }) }),
    "a.d: The scale 4 is larger than the precision 2. → Write f.decimal({ precision: 12, scale: 2 }), with scale at most precision, or f.decimal()."
  ],
  [
    "decimal without a scale",
    one({ d: f.decimal({ precision: 2 } as never) }),
    "a.d: The scale undefined is not a whole number from 0 to 1000. → Write f.decimal({ precision: 12, scale: 2 }), with scale at most precision, or f.decimal()."
  ],
  [
    "decimal with a precision of 0",
    one({ d: f.decimal({ precision: 0, scale: 0 }) }),
    "a.d: The precision 0 is not a whole number from 1 to 1000. → Write f.decimal({ precision: 12, scale: 2 }), with scale at most precision, or f.decimal()."
  ],
  [
    "enum without values",
    one({ e: f.enum([]) }),
    "a.e: The enum has no values. → Write the allowed values: f.enum([\"draft\", \"paid\"])."
  ],
  [
    "enum with a value twice",
    one({ e: f.enum(["a", "b", "a"]) }),
    "a.e: The enum has the value \"a\" twice. → Remove one of the two."
  ],
  [
    "enum of something else",
    one({ e: f.enum(["a", 1 as never, ""]), g: f.enum("ab" as never) }),
    "a.e: The enum value 1 is not a text of at least one character. → Write the allowed values: f.enum([\"draft\", \"paid\"]).",
    "a.e: The enum value \"\" is not a text of at least one character. → Write the allowed values: f.enum([\"draft\", \"paid\"]).",
    "a.g: The values of the enum are \"ab\", not a list. → Write the allowed values: f.enum([\"draft\", \"paid\"])."
  ],
  ["sortable JSON", one({ j: f.json().sortable() }), "a.j: JSON values have no order. → Remove sortable()."],
  [
    "alias of no use",
    one({ t: f.text().alias("u") }),
    "a.t: The alias \"u\" is of no use: the field is neither filterable nor sortable. → Add filterable() or sortable(), or remove alias()."
  ],
  [
    "alias that is a field",
    one({ t: sound.alias("u"), u: f.text() }),
    "a.t: The alias \"u\" is also the name of field \"u\". → Choose another alias."
  ],
  [
    "alias that is the field itself",
    one({ t: sound.alias("t") }),
    "a.t: The alias \"t\" is the field's own name. → Remove alias()."
  ],
  [
    "alias twice",
    one({ t: sound.alias("x"), u: sound.alias("x") }),
    "a.u: The alias \"x\" is also the alias of field \"t\". → Choose another alias."
  ],
  [
    "alias that is reserved",
    one({ t: sound.alias("etag"), u: sound.alias("A B") }),
    "a.t: The alias \"etag\" cannot be used: responses use it for the record's version. → Choose another alias.",
    "a.u: alias(\"A B\") is not a name. → Use lower-case letters, digits and _, beginning with a letter, at most 63 characters."
  ],
  [
    "label or help that is no text, or too long",
    one({
      t: f.text().label(" "),
      u: f.text().label("x".repeat(201)).help(7 as never),
      v: f.text().help("x".repeat(1001))
    }),
    "a.t: label(\" \") is not a text of 1 to 200 characters. → Write a text, or remove label().",
    `a.u: label("${"x".repeat(58)}…) is not a text of 1 to 200 characters. → Write a text, or remove label().`,
    "a.u: help(7) is not a text of 1 to 1000 characters. → Write a text, or remove help().",
    `a.v: help("${"x".repeat(58)}…) is not a text of 1 to 1000 characters. → Write a text, or remove help().`
  ],
  [
    "multiline of another kind, or that is no flag",
    one({ n: (f.integer() as never as ReturnType<typeof f.text>).multiline(), t: f.text().multiline("no" as never) }),
    "a.n: multiline() is for texts, not for integer. → Remove multiline().",
    "a.t: multiline(\"no\") is neither true nor false. → Write multiline() or multiline(false)."
  ],
  [
    "ordered of another kind",
    one({ n: (f.integer() as never as ReturnType<typeof f.enum>).ordered(), s: f.enum(["a", "b"]).ordered() }),
    "a.n: ordered() is for enums, not for integer. → Remove ordered()."
  ],
  [
    "an order of another sort, and one of a type that is not there",
    one({
      s: f.enum(["a", "b"]).ordered("text" as "type"),
      j: f.json({ paths: { o: f.enum(["a", "b"]).ordered("type").sortable() } })
    }),
    "a.s: ordered(\"text\") is no order. → Write ordered() or ordered(\"type\").",
    "a.j: The path \"o\": JSON has no enum type. → Write ordered()."
  ],
  [
    "paths that are none, or of no use",
    one({
      j: f.json({
        paths: {
          "a.b-c": f.text().filterable(),
          "a b": f.text().filterable(),
          "a..b": f.text().filterable(),
          "\"net weight\"": f.text().filterable(),
          "\"a\".b": f.text().filterable(),
          "0": f.text().filterable(),
          n: f.integer().filterable(),
          d: f.date().filterable(),
          o: f.text().optional().filterable(),
          u: f.boolean(),
          e: f.enum([]).filterable()
        }
      }),
      t: new FieldBuilder({ ...f.text().spec, paths: {} }),
      k: f.json({ paths: [] as never })
    }),
    "a.j: The path \"0\": it is not a path. → Write names of members with periods between them, at most 8: letters, digits, _ and -, a letter or _ first. Others stand in quotes: size.\"net weight\".",
    "a.j: The path \"a b\": it is not a path. → Write names of members with periods between them, at most 8: letters, digits, _ and -, a letter or _ first. Others stand in quotes: size.\"net weight\".",
    "a.j: The path \"a..b\": it is not a path. → Write names of members with periods between them, at most 8: letters, digits, _ and -, a letter or _ first. Others stand in quotes: size.\"net weight\".",
    "a.j: The path \"\"a\".b\": it has quotes or escapes that it does not need. → Write a.b.",
    "a.j: The path \"n\": values of the kind integer have no exact form in JSON. → Write f.decimal(), which every number of JSON is.",
    "a.j: The path \"d\": values of the kind date have no exact form in JSON. → The kinds are text, decimal, boolean, enum.",
    "a.j: The path \"o\": it takes no optional. → A path takes filterable(), sortable() and ordered().",
    "a.j: The path \"u\": it is of no use: it is neither filterable nor sortable. → Add filterable() or sortable().",
    "a.j: The path \"e\": The enum has no values. → Write the allowed values: f.enum([\"draft\", \"paid\"]).",
    "a.t: paths are for json, not for text. → Write f.json({ paths: { \"size.width\": f.decimal().filterable() } }).",
    "a.k: The paths are not an object of at most 100 paths. → Write f.json({ paths: { \"size.width\": f.decimal().filterable() } })."
  ],
  [
    "a search vector of no configuration, or that is a key",
    one({ v: f.searchVector({ config: "english; drop" }), w: f.searchVector({ config: 7 as never }) }),
    "a.v: The config \"english; drop\" is no name of a configuration of text search. → Write the name that to_tsvector has, such as f.searchVector({ config: \"english\" }).",
    "a.w: The config 7 is no name of a configuration of text search. → Write the name that to_tsvector has, such as f.searchVector({ config: \"english\" })."
  ],
  [
    "stamped beside another maker of the value, or of another kind",
    one({ t: f.timestamp().dbDefault().stamped(), u: (f.text() as never as ReturnType<typeof f.timestamp>).stamped() }),
    "a.t: The field is stamped() and has a default. → Keep the one that makes the value of a create.",
    "a.u: stamped() is for timestamps and integers, not for text. → Remove stamped()."
  ],
  [
    "unique values that name no record",
    one({
      j: f.json().unique(),
      r: f.float().unique(),
      o: (f.text().optional() as never as ReturnType<typeof f.text>).unique()
    }),
    "a.j: Values of kind json name no record. → Remove unique().",
    "a.r: Values of kind float name no record. → Remove unique().",
    "a.o: The field is optional, and nulls are never equal: it names no record. → Remove unique() or optional()."
  ],
  [
    "column twice",
    one({ t: f.text(), u: f.text().column("t") }),
    "a.u: The column \"t\" is also the column of field \"t\". → Declare each column once; alias() gives a field one more name in filters."
  ],
  [
    "column that is no name",
    one({ t: f.text().column(""), u: f.text().column("x".repeat(64)) }),
    "a.t: column(\"\") is not a column's name. → Write the column's name, at most 63 bytes.",
    "a.u: column(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…) is not a column's name. → Write the column's name, at most 63 bytes."
  ],
  [
    "default and dbDefault",
    one({ t: f.text().default("a").dbDefault() }),
    "a.t: The field has default() and dbDefault(). → Keep the one that makes the value: the service or the database."
  ],
  [
    "default that is no value",
    one({
      n: f.integer().default("x" as never),
      e: f.enum(["a"]).default("b" as never),
      d: f.decimal({ precision: 4, scale: 2 }).default("123.45"),
      t: f.text().max(2).default("abc"),
      z: f.date().default("2026-02-30")
    }),
    "a.n: The default \"x\" is not a value of the field: Expected an integer from -2147483648 to 2147483647, such as 42. → Give a value of kind integer.",
    "a.e: The default \"b\" is not a value of the field: Expected one of \"a\". → Give a value of kind enum.",
    "a.d: The default \"123.45\" is not a value of the field: Expected a decimal number with at most 2 digits before the point and 2 after it. → Give a value of kind decimal.",
    "a.t: The default \"abc\" is not a value of the field: Expected at most 2 characters. → Give a value of kind text.",
    "a.z: The default \"2026-02-30\" is not a value of the field: Expected a date that exists, from year 0001 to 9999, such as 2026-01-31. → Give a value of kind date."
  ],
  [
    "default of null",
    one({ n: f.integer().default(null as never) }),
    "a.n: The default is null. → Use optional() for fields that may have no value."
  ],
  [
    "default that is no JSON",
    one({
      j: f.json().default(new Date(0) as never),
      k: f.json().default({ at: [() => 1] } as never),
      n: f.integer().default(1n as never)
    }),
    "a.j: The default \"1970-01-01T00:00:00.000Z\" is not JSON. → Give a value of kind json.",
    "a.k: The default {\"at\":[null]} is not JSON. → Give a value of kind json.",
    "a.n: The default 1 is not JSON. → Give a value of kind integer."
  ],
  [
    "field that no create can fill",
    one({ n: f.integer().readOnly() }),
    "a.n: No create can give the field a value: it is required, read-only and has no default. → Add dbDefault() if the database fills it, default(…) or optional(), or remove readOnly()."
  ]
]

const arrays: readonly RefusalCase[] = [
  [
    "array of what has no elements",
    one({
      a: f.array(f.json() as never),
      b: f.array(f.array(f.text()) as never),
      c: f.array(f.files() as never),
      d: f.array(relation("a") as never),
      e: f.array("text" as never)
    }),
    "a.a: The elements of an array cannot be of the kind json. → A JSON value can be a list itself: f.json().",
    "a.b: The elements of an array cannot be of the kind array. → Arrays have one dimension.",
    "a.c: The elements of an array cannot be of the kind files. → Write f.files().",
    "a.d: The elements of an array cannot be of the kind relation. → Declare a resource over a table of pairs, or the elements with the kind of the key, such as f.integer().",
    "a.e: Its elements: The declaration is \"text\", not a field. → Write it with f, such as f.text() or f.integer()."
  ],
  [
    "array whose elements say what belongs to the array",
    one({
      a: f.array(f.text().filterable() as never),
      b: f.array(f.text().readOnly() as never),
      c: f.array(f.text().label("Tag") as never)
    }),
    "a.a: filterable() stands at the elements of the array. → Write it behind the array: f.array(…).filterable().",
    "a.b: readOnly() stands at the elements of the array. → Write it behind the array: f.array(…).readOnly().",
    "a.c: label() stands at the elements of the array. → Write it behind the array: f.array(…).label()."
  ],
  [
    "array of too many, of elements that are wrong, sorted, unique or searched",
    one({
      a: f.array(f.text()).max(0),
      b: f.array(f.enum([])),
      c: f.array(f.text()).sortable(),
      d: f.array(f.text()).unique(),
      e: (f.array(f.text()) as never as ReturnType<typeof f.text>).searched() as never,
      g: f.array(f.native("tsvector")),
      h: f.array(f.native("tsvector")).readOnly().optional(),
      i: f.array(f.range("x" as never))
    }),
    "a.a: max(0) is not a number of elements. → Write a whole number from 1 to 100000, such as max(20).",
    "a.b: Its elements: The enum has no values. → Write the allowed values: f.enum([\"draft\", \"paid\"]).",
    "a.c: Lists are not sorted by arrays. → Remove sortable().",
    "a.d: Values of kind array name no record. → Remove unique().",
    "a.e: searched() is for texts, not for array. → Remove searched().",
    "a.g: Its elements: Values of the type tsvector cannot be written. → Add readOnly().",
    "a.i: Its elements: There are no ranges of \"x\". → Use one of integer, bigint, decimal, date, timestamp."
  ],
  [
    "array as a key or an owner, and defaults that its elements refuse",
    {
      resources: [
        resource("a", {
          primaryKey: "k",
          owner: "o",
          fields: {
            k: f.array(f.text()),
            o: f.array(f.text()),
            d: f.array(f.integer()).default([1, "x" as never]),
            n: f.array(f.integer()).default([null as never]),
            m: f.array(f.integer()).max(1).default([1, 2])
          }
        })
      ]
    },
    "a.k: A field of the primary key cannot be a list. → Choose another key.",
    "a.o: The owner is of kind list and cannot hold a user's id. → Name a text, uuid or integer field.",
    "a.d: The default [1,\"x\"] is not a value of the field: Expected an integer from -2147483648 to 2147483647, such as 42. → Give a value of kind list.",
    "a.n: The default [null] is not a value of the field: A value is required. → Give a value of kind list.",
    "a.m: The default [1,2] is not a value of the field: Expected at most 1 elements. → Give a value of kind list."
  ]
]

describe("arrays that cannot be", () => {
  it.each(arrays)("%s", (_, config, ...lines) => {
    expect(refusalLines(config)).toEqual(lines)
  })
})

describe("fields that cannot be", () => {
  it.each(cases)("%s", (_, config, ...lines) => {
    expect(refusalLines(config)).toEqual(lines)
  })
})
