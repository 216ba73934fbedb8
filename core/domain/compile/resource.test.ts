import { describe, expect, it } from "vitest"
import { one, type RefusalCase, refusalLines, resource, sound } from "../../../test/support/refusals.ts"
import { where } from "../access/where.ts"
import { f, relation } from "../declare/field.ts"

const b = resource("b", { primaryKey: "id", fields: { id: f.integer() } })

const cases: readonly RefusalCase[] = [
  [
    "relation to nothing",
    one({ c_id: relation(undefined as never) }),
    "a.c_id: The relation points at undefined. → Give the resource's name, such as relation(\"customers\"); between files that import each other only the name works."
  ],
  [
    "relation to an unknown resource",
    one({ c_id: relation("aa") }),
    "a.c_id: The relation points at \"aa\", which is not a declared resource. → Did you mean \"a\"?"
  ],
  [
    "relation to a composite key",
    {
      resources: [
        resource("a", { primaryKey: ["id", "x"], fields: { id: f.integer(), x: f.integer() } }),
        resource("c", { primaryKey: "id", fields: { id: f.integer(), a_id: relation("a") } })
      ]
    },
    "c.a_id: The relation points at \"a\", whose key has 2 fields. → Declare the field with its own kind, such as f.integer(); relations need a key of one field."
  ],
  [
    "keys that point at each other",
    {
      resources: [
        resource("a", { primaryKey: "id", fields: { id: relation("c") } }),
        resource("c", { primaryKey: "id", fields: { id: relation("a") } })
      ]
    },
    "a.id: The relation's kind cannot be known: the keys it points at point back at it. → Declare one of the keys with its own kind, such as f.integer()."
  ],
  [
    "two ways back of one name",
    {
      resources: [
        b,
        resource("a", { primaryKey: "id", fields: { id: f.integer(), from_id: relation("b"), to_id: relation("b") } })
      ]
    },
    "a.to_id: The relation is expanded on \"b\" as \"a\", and so is a.from_id. → Name the way back with inverse(\"…\"), or write inverse(false) for none."
  ],
  ["two ways of one name", {
    resources: [
      b,
      resource("a", {
        primaryKey: "id",
        fields: { id: f.integer(), x: relation("b").as("y").inverse(false), y_id: relation("b") }
      })
    ]
  }, "a.y_id: The relation is expanded on \"a\" as \"y\", and so is a.x. → Name the way to the target with as(\"…\")."],
  [
    "way that is no name",
    one({
      x: relation("a").as("A").inverse("constructor"),
      t: (f.text() as never as ReturnType<typeof relation>).as("x")
    }),
    "a.x: as(\"A\") is not a name. → Use lower-case letters, digits and _, beginning with a letter, at most 63 characters.",
    "a.x: inverse(\"constructor\") cannot be used: every JavaScript object has a property of that name. → Choose another name.",
    "a.t: as() is for relations, not for text. → Remove as()."
  ],
  [
    "no primary key",
    { resources: [resource("a", { fields: { id: f.integer() } })] },
    "a: The resource has no primaryKey. → Write primaryKey: \"id\", or a list of field names."
  ],
  [
    "primary key of unknown fields",
    one({ x: f.integer() }, { primaryKey: ["idd", "x", "x"] }),
    "a.idd: primaryKey names \"idd\", which is not a declared field. → Did you mean \"id\"?",
    "a.x: primaryKey names \"x\" twice. → Remove one of the two."
  ],
  [
    "primary key that is no name",
    one({}, { primaryKey: [] }),
    "a: primaryKey is [], not the name of a field or a list of names. → Write primaryKey: \"id\", or a list of field names."
  ],
  [
    "primary key that may be null, is a secret, or has no exact text",
    one({ x: f.integer().optional(), y: f.text().sensitive(), z: f.float() }, { primaryKey: ["x", "y", "z"] }),
    "a.x: A field of the primary key cannot be optional. → Remove optional().",
    "a.y: A field of the primary key cannot be sensitive: it stands in every path. → Remove sensitive().",
    "a.z: A field of the primary key cannot be of kind float: its values have no exact text. → Choose another key."
  ],
  ["primary key with one default for all", {
    resources: [resource("a", { primaryKey: "id", fields: { id: f.integer().default(1) } })]
  }, "a.id: A primary key cannot have one default for all records. → Remove default(), or write dbDefault()."],
  [
    "owner that is no field",
    one({ owner_id: f.uuid() }, { owner: "owner" }),
    "a.owner: owner is \"owner\", which is not a declared field. → Use one of id, owner_id."
  ],
  [
    "owner of a wrong kind",
    one({ o: f.boolean() }, { owner: "o" }),
    "a.o: The owner is of kind boolean and cannot hold a user's id. → Name a text, uuid or integer field."
  ],
  [
    "tenant of a wrong kind, and optional",
    one({ t: f.date().optional() }, { tenant: "t" }),
    "a.t: tenant is of kind date. → It must be a text, uuid or integer.",
    "a.t: tenant is optional, but a record without tenant would belong to nobody. → Remove optional()."
  ],
  [
    "softDelete of a wrong kind, not optional, with a default",
    one({ d: f.boolean().default(false) }, { softDelete: "d" }),
    "a.d: softDelete is of kind boolean. → It must be an optional timestamp.",
    "a.d: softDelete is not optional, but records that are not deleted have no value. → Add optional().",
    "a.d: softDelete has a default, but the service sets it. → Remove default()."
  ],
  [
    "softDelete column of a wrong kind",
    one({}, { softDelete: f.text().column("d") }),
    "a: softDelete is of kind text. → It must be an optional timestamp."
  ],
  [
    "version of a wrong kind",
    one({ v: f.text() }, { version: "v" }),
    "a.v: version is of kind text. → It must be a timestamp or an integer."
  ],
  [
    "one field as softDelete and version",
    one({ v: f.timestamp().optional() }, { version: "v", softDelete: "v" }),
    "a.v: The field cannot be softDelete and version. → Choose another field for one of them."
  ],
  [
    "one column as tenant and version",
    one({}, { version: "v", tenant: f.integer().column("v") }),
    "a: The column \"v\" cannot be two of tenant, softDelete and version. → Name a column of its own for each."
  ],
  [
    "version in the primary key",
    one({ v: f.integer() }, { primaryKey: ["id", "v"], version: "v" }),
    "a.v: The field cannot be in the primary key and version. → Choose another field."
  ],
  [
    "system column that a field declares",
    one({ gone: f.timestamp().optional().column("deleted_at") }, { softDelete: "deleted_at" }),
    "a.gone: softDelete names the column \"deleted_at\", which is declared as field \"gone\". → Write softDelete: \"gone\"."
  ],
  [
    "system column without a name",
    one({}, { tenant: f.integer(), version: 1 }),
    "a: tenant: The declaration names no column. → Write tenant: f.integer().column(\"…\").",
    "a: version is 1, not the name of a field or column. → Write version: \"…\" with the name of a field or column."
  ],
  [
    "alias that is a system column",
    one({ t: sound.alias("tenant_id") }, { tenant: "tenant_id" }),
    "a.t: The alias \"tenant_id\" is also the name of a column of the resource. → Choose another alias."
  ],
  [
    "unknown property",
    one({}, { primarykey: "id", table: undefined }),
    "a: There is no property primarykey. → Did you mean \"primaryKey\"?",
    "a: table is undefined. → Leave it out, or check the name it is taken from."
  ],
  [
    "description that is no text",
    { resources: [resource("a", { primaryKey: "id", fields: { id: f.integer() }, description: "" })] },
    "a: description is \"\", not a text of 1 to 2000 characters. → Write what a record of it is."
  ],
  [
    "table that is no name",
    one({}, { table: "a.b.c" }),
    "a: table is \"a.b.c\", which is not a table's name. → Write \"orders\" or \"shop.orders\"; parts with dots or spaces in double quotes."
  ],
  [
    "table that is empty",
    one({}, { table: "" }),
    "a: table is \"\", which is not a table's name. → Write \"orders\" or \"shop.orders\"; parts with dots or spaces in double quotes."
  ],
  [
    "resource name with capitals",
    { resources: [resource("Orders", { primaryKey: "id", fields: { id: f.integer() } })] },
    "Orders: resources[0] is named \"Orders\", which is not a resource name. → Use lower-case letters, digits and _, beginning with a letter, at most 63 characters."
  ],
  [
    "resource with a prototype name",
    { resources: [resource("constructor", { primaryKey: "id", fields: { id: f.integer() } })] },
    "constructor: A resource cannot be named \"constructor\": every JavaScript object has a property of that name. → Choose another name; table keeps the table."
  ],
  [
    "resource twice",
    { resources: [b, b] },
    "b: Two resources are named \"b\". → Rename one of them; both may have the same table."
  ],
  [
    "something else than a resource",
    { resources: [undefined, { name: "a" }] },
    "config: resources[0] is undefined, not a resource. → Check the name it is imported by; files that import each other may see it too early.",
    "config: resources[1] is {\"name\":\"a\"}, not a resource. → Make it with defineResource(\"orders\", { … })."
  ],
  [
    "resource without a declaration",
    { resources: [resource("a", null)] },
    "a: The declaration is null, not an object. → Write defineResource(\"orders\", { fields: { … }, … })."
  ],
  [
    "rule that is a text",
    one({}, { access: { read: "admin", update: "id = 1" } }),
    "a: access.read is the text \"admin\", which is neither a filter nor a list of roles. → Write where`admin` for a filter, or [\"admin\"] for a role.",
    "a: access.update is the text \"id = 1\", which is neither a filter nor a list of roles. → Write where`id = 1` for a filter, or [\"id = 1\"] for a role."
  ],
  [
    "rule that is null, undefined or a number",
    one({}, { access: { read: null, create: undefined, update: 1 } }),
    "a: access.create is undefined. → Leave it out, or check the name it is taken from.",
    "a: access.read is null, which is not a rule. → Write true, false, a list of roles, where`…` or a function.",
    "a: access.update is 1, which is not a rule. → Write true, false, a list of roles, where`…` or a function."
  ],
  [
    "rule of an unknown operation",
    one({}, { access: { list: true, updat: true } }),
    "a: There is no property access.list. → Use one of read, create, update, delete, refresh, fields.",
    "a: There is no property access.updat. → Did you mean \"update\"?"
  ],
  [
    "rule that waits",
    one({}, { access: { update: async () => true } }),
    "a: access.update is an async function, which could only deny. → Decide from the caller and the record, without waiting."
  ],
  [
    "rule with something else than roles",
    one({}, { access: { read: ["sales", 1] } }),
    "a: access.read is a list with something else than role names. → List the names of roles: [\"sales\", \"finance\"]."
  ],
  [
    "rules that are no object",
    one({}, { access: true }),
    "a: access is true, not an object. → Write access: { read: …, create: …, update: …, delete: … }."
  ],
  [
    "rule filter with an unknown field",
    one({ name: f.text() }, { access: { read: where`nme = "x"` } }),
    "a: The filter \"nme = \\\"x\\\"\" of access.read does not check, at \"nme\": There is no field \"nme\". → Did you mean name?"
  ],
  [
    "rule filter through what is no relation",
    {
      resources: [
        resource("a", {
          primaryKey: "id",
          fields: { id: f.integer(), b_id: relation("b") },
          access: { read: where`c.id = 1 AND has(d)` }
        }),
        b
      ]
    },
    "a: The filter \"c.id = 1 AND has(d)\" of access.read does not check, at \"c.id\": There is no field \"c.id\". → Did you mean b?",
    "a: The filter \"c.id = 1 AND has(d)\" of access.read does not check, at \"d\": There is no relation \"d\". → Did you mean b?"
  ],
  [
    "rule filter with a wrong value",
    one({ n: f.integer() }, { access: { read: where`n = "x"`, delete: where`n =` } }),
    "a: The filter \"n = \\\"x\\\"\" of access.read does not check, at \"\\\"x\\\"\": \"x\" is not a value of the field \"n\". → Expected an integer from -2147483648 to 2147483647, such as 42.",
    "a: The filter \"n =\" of access.delete does not check: A value is missing after =. → Write a value, such as 42 or \"text\"."
  ],
  [
    "rule filter that is empty or no text",
    one({}, { access: { read: { _tag: "Where", text: " " }, delete: { _tag: "Where" } } }),
    "a: The filter of access.read is empty. → Write a condition, or true for every record.",
    "a: The filter of access.delete is undefined, not a text. → Write a filter, such as status = \"draft\"."
  ],
  [
    "rule of an unknown field",
    one({ total: f.integer() }, { access: { fields: { totl: { read: true } } } }),
    "a.totl: access.fields.totl is a rule of a field that the resource does not have. → Did you mean \"total\"?"
  ],
  [
    "rule of a field that is a filter",
    one({ total: f.integer() }, { access: { fields: { total: { read: where`id = 1`, wirte: true } } } }),
    "a.total: There is no property access.fields.total.wirte. → Did you mean \"write\"?",
    "a.total: access.fields.total.read is a filter; a field cannot be allowed for some records by a filter. → Write true, false, a list of roles or a function."
  ],
  [
    "rule of a field that is no object",
    one({ total: f.integer() }, { access: { fields: { total: ["sales"] } } }),
    "a.total: access.fields.total is [\"sales\"], not an object. → Write total: { read: …, write: … }."
  ],
  [
    "rule that names an undeclared role",
    {
      ...one({}, { access: { read: ["sale"], fields: { id: { read: ["boss", ""] } } } }),
      roles: { sales: ["a.read"] }
    },
    "a: access.read names the role \"sale\", which is not declared. → Did you mean \"sales\"?",
    "a.id: access.fields.id.read names the role \"boss\", which is not declared. → Use one of sales, user, admin, anonymous.",
    "a.id: access.fields.id.read has an empty role name. → Name a role, or remove it."
  ],
  [
    "consequences of a refused field",
    one({ e: f.enum([]) }, { access: { read: where`e = "x"`, update: where`idd = 1` } }),
    "a.e: The enum has no values. → Write the allowed values: f.enum([\"draft\", \"paid\"]).",
    "a: The filter \"idd = 1\" of access.update does not check, at \"idd\": There is no field \"idd\". → Did you mean id?"
  ],
  [
    "validate that is no list of functions",
    one({}, { validate: [() => [], "x", async () => []] }),
    "a: validate[1] is \"x\", not a function. → Write validate: [(record) => …], each giving a list of { field, message } or nothing.",
    "a: validate[2] is an async function; nobody would wait for its problems. → Check the record without waiting."
  ],
  [
    "validate that is a function",
    one({}, { validate: () => [] }),
    "a: validate is a function, not a list of functions. → Write validate: [(record) => …], each giving a list of { field, message } or nothing."
  ],
  [
    "event of a name that is not built in",
    one({}, { events: { create: true } }),
    "a: events.create is true, but the event is not a built-in one. → Built-in are created, updated, deleted, undeleted, reordered. Write create: { on: [\"create\"], match: ({ after }) => … }."
  ],
  [
    "event that is no event",
    one({}, {
      events: {
        created: "yes",
        Big: { on: ["create"] },
        big: { on: [] },
        bigger: { on: ["insert"], match: 1, when: 1 }
      }
    }),
    "a: events.created is \"yes\", not an event. → Write created: true.",
    "a: \"Big\" is not an event name. → Use lower-case letters, digits and _, beginning with a letter, at most 63 characters.",
    "a: events.big says no operation it happens on. → Write big: { on: [\"create\"], match: ({ after }) => … }.",
    "a: There is no property events.bigger.when. → Use one of on, match.",
    "a: events.bigger.on has \"insert\", which is not an operation. → Use one of create, update, delete, undelete, reorder.",
    "a: events.bigger.match is 1, not a function. → Write bigger: { on: [\"create\"], match: ({ after }) => … }."
  ],
  [
    "event that can never happen",
    one({}, { events: { undeleted: true, back: { on: ["undelete"] } } }),
    "a: events.undeleted can never happen: the resource has no softDelete. → Declare softDelete, or remove the event.",
    "a: events.back can never happen: the resource has no softDelete. → Declare softDelete, or remove the event."
  ],
  [
    "event whose name means something else",
    one({}, { events: { created: { on: ["update"] } } }),
    "a: events.created cannot happen on update: its name means create. → Give the event another name."
  ]
]

describe("resources that cannot be", () => {
  it.each(cases)("%s", (_, config, ...lines) => {
    expect(refusalLines(config)).toEqual(lines)
  })
})
