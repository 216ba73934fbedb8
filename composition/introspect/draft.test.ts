import { expect, it } from "vitest"
import { boundsInCheck, renewedColumns } from "../../core/domain/compile/constraint.ts"
import { columnFacts as column, tableFacts } from "../../test/support/catalogue.ts"
import { draftResources } from "./draft.ts"

const id = column("id", "int8", { identity: "by default" })

it.each(["updated_at", "last_update", "last_modified"])("takes %s as version", (name) => {
  const table = tableFacts("films", [id, column(name, "timestamptz", { default: "now()" })], { primaryKey: ["id"] })
  expect(draftResources([table]).resources[0]?.version).toBe(name)
  const nullable = tableFacts("films", [id, column(name, "timestamptz", { nullable: true })], { primaryKey: ["id"] })
  expect(draftResources([nullable]).resources[0]?.version).toBe(null)
})

it.each([
  ["CHECK ((VALUE >= 1901) AND (VALUE <= 2155))", { from: "1901", to: "2155" }],
  ["CHECK ((VALUE > '-5'::integer))", { above: "-5" }],
  ["CHECK ((VALUE < (0)::numeric))", { below: "0" }],
  ["CHECK ((char_length(VALUE) < 20))", { maxLength: 19 }],
  ["CHECK ((length((VALUE)::text) <= 20))", { maxLength: 20 }],
  ["CHECK ((VALUE > 0) OR (VALUE < 5))", null],
  ["CHECK ((NOT (VALUE > 0)))", null],
  ["CHECK ((VALUE > 0) AND (other > 5))", null],
  ["CHECK ((VALUE > now()))", null],
  ["CHECK ((char_length(VALUE) > 2))", null],
  ["CHECK (((VALUE % 2) > 0))", null],
  ["CHECK (((VALUE + 1) > 0))", null]
])("reads %s as %o", (definition, bounds) => {
  expect(boundsInCheck(definition, "VALUE")).toEqual(bounds)
})

it.each([
  ["begin new.at = now(); return new; end", ["at"]],
  ["BEGIN NEW.\"At\" := clock_timestamp() ; RETURN NEW; END", ["At"]],
  ["begin new.at = CURRENT_TIMESTAMP; new.n := old.n + 1; return new; end", ["at", "n"]],
  ["begin new.at := now() at time zone 'utc'; return new; end", ["at"]],
  ["begin /* new.at = now(); */ -- new.at = now();\n return new; end", []],
  ["begin new.at = old.at; new.by = current_user; return new; end", []]
])("takes columns from the trigger %s", (source, columns) => {
  const trigger = { name: "touch", source, values: [], everyUpdate: true }
  expect([...renewedColumns([trigger])]).toEqual(columns)
  expect([...renewedColumns([{ ...trigger, everyUpdate: false }])]).toEqual([])
})

it("takes the column that moddatetime is told", () => {
  const trigger = { name: "moddatetime", source: null, values: ["at"], everyUpdate: true }
  expect([...renewedColumns([trigger])]).toEqual(["at"])
})

it("lets lists be sorted by every text: whether a table is small enough, the scan guard says", () => {
  const table = tableFacts("films", [
    id,
    column("title", "text"),
    column("description", "varchar", { maxLength: 2_000 }),
    column("full_name", "text", { generated: true, nullable: true }),
    column("open", "bool"),
    column("guid", "uuid"),
    column("extra", "jsonb")
  ], { primaryKey: ["id"] })
  const { fields } = draftResources([table]).resources[0]!
  expect(fields.flatMap(({ modifiers, name }) => modifiers.includes("sortable()") ? [name] : []))
    .toEqual(["id", "title", "description", "full_name"])
})

it("says why a foreign key into a partition is no relation", () => {
  const part = tableFacts("payments_2026", [id], { primaryKey: ["id"], kind: "partition" })
  const whole = tableFacts("payments", [id], { primaryKey: ["id"], kind: "partitioned" })
  const refunds = tableFacts("refunds", [id, column("payment_id", "int8")], {
    primaryKey: ["id"],
    foreignKeys: [{
      name: "refunds_payment",
      columns: ["payment_id"],
      target: { schema: part.schema, table: part.name, columns: ["id"] },
      onDelete: "no action"
    }]
  })
  const { resources } = draftResources([part, whole, refunds])
  expect(resources.find(({ name }) => name === "refunds")?.notes).toEqual([
    "payment_id is no relation: it points at payments_2026, a partition, and resources are of whole tables"
  ])
})

it("draws no relation from a name, which is only shown, to a text", () => {
  const owners = tableFacts("owners", [column("id", "varchar")], { primaryKey: ["id"] })
  const things = tableFacts("things", [id, column("owner", "name")], {
    primaryKey: ["id"],
    foreignKeys: [{
      name: "things_owner",
      columns: ["owner"],
      target: { schema: owners.schema, table: owners.name, columns: ["id"] },
      onDelete: "no action"
    }]
  })
  const drafted = draftResources([owners, things]).resources.find(({ name }) => name === "things")
  expect(drafted?.fields.map(({ kind }) => kind.of)).toEqual(["kind", "kind"])
  expect(drafted?.notes).toContain("owner is no relation: it is name, and owners.id is varchar")
})

it("calls unique what a full unique index of one column says, and is never null", () => {
  const columns = [
    column("code", "text"),
    column("fax", "text", { nullable: true }),
    column("half", "text"),
    column("rate", "float8")
  ]
  const uniques = [["code"], ["fax"], ["half", "id"], ["rate"], ["id"]]
  const [drafted] = draftResources([tableFacts("things", [id, ...columns], { uniques })]).resources
  expect(drafted?.fields.filter(({ modifiers }) => modifiers.includes("unique()")).map(({ name }) => name)).toEqual([
    "code"
  ])
})

it.each([
  // Rails, Prisma, Sequelize, Django.
  [["created_at", "updated_at"], "updated_at"],
  [["createdAt", "updatedAt"], "updated_at"],
  [["created", "modified"], "modified"],
  [["date_joined", "updated"], "updated"]
])("lets the service fill %o, which nothing else does", (names, version) => {
  const columns = names.map((name) => column(name, "timestamp"))
  const [drafted] = draftResources([tableFacts("things", [id, ...columns])]).resources
  expect([drafted?.version, drafted?.closed]).toEqual([version, []])
  expect(drafted?.fields.slice(1).map(({ modifiers }) => modifiers.includes("stamped()"))).toEqual([true, true])
  // A default or a trigger does so itself, and nothing is required of a column that may be null.
  const [kept] =
    draftResources([tableFacts("things", [id, column(names[0]!, "timestamp", { default: "now()" })])]).resources
  expect(kept?.fields[1]?.modifiers.slice(0, 2)).toEqual(
    names[0] === "created_at" ? ["readOnly()", "dbDefault()"] : expect.anything()
  )
  const [free] =
    draftResources([tableFacts("things", [id, column(names[0]!, "timestamp", { nullable: true })])]).resources
  expect(free?.fields[1]?.modifiers).not.toContain("stamped()")
})

const second = { nullable: true, fraction: 0 }

it("lets the service fill the two times that Laravel fills, which may be null", () => {
  const times = [column("created_at", "timestamp", second), column("updated_at", "timestamp", second)]
  const [drafted] = draftResources([tableFacts("posts", [id, ...times])]).resources
  expect(drafted?.version).toBe("updated_at")
  expect(drafted?.fields.slice(1).map(({ modifiers }) => modifiers.slice(0, 2))).toEqual([
    ["optional()", "stamped()"],
    ["optional()", "stamped()"]
  ])
})

it.each([
  ["one of them alone", [column("created_at", "timestamp", second)], {}],
  [
    "times with parts of a second",
    ["created_at", "updated_at"].map((name) => column(name, "timestamp", { ...second, fraction: 6 })),
    {}
  ],
  [
    "times of other names",
    ["created_at", "published_at"].map((name) => column(name, "timestamp", second)),
    {}
  ],
  [
    "those that a view shows",
    ["created_at", "updated_at"].map((name) => column(name, "timestamp", second)),
    { kind: "view" } as const
  ]
])("leaves %s to whoever writes", (_, times, more) => {
  const table = tableFacts("posts", [id, ...times], more)
  const [drafted] = draftResources([table], [{ table, columns: ["id"], holds: true }]).resources
  expect(drafted?.version).toBeNull()
  expect(drafted?.fields.flatMap(({ modifiers }) => modifiers)).not.toContain("stamped()")
})

it.each([
  "PasswordHash",
  "SecurityStamp",
  "ConcurrencyStamp",
  "remember_token",
  "encrypted_password",
  "reset_password_token",
  "remember_digest",
  "password_digest"
])("leaves the credential %s out", (name) => {
  const [drafted] = draftResources([tableFacts("users", [id, column(name, "text", { nullable: true })])]).resources
  expect(drafted?.notes).toEqual([
    `${name} is left out: it looks like a secret; declare it yourself if it is none`
  ])
})

it("proposes a search vector with the configuration that makes its words", () => {
  const table = tableFacts("things", [
    id,
    column("words", "tsvector", { nullable: true, generated: true, config: "english" }),
    column("Other", "tsvector", { nullable: true })
  ])
  const [drafted] = draftResources([table]).resources
  expect(drafted?.fields.slice(1).map(({ kind, modifiers, name }) => [name, kind, modifiers])).toEqual([
    ["words", { of: "kind", text: "f.searchVector({ config: \"english\" })" }, []],
    ["other", { of: "kind", text: "f.searchVector()" }, ["column(\"Other\")"]]
  ])
  expect(drafted?.notes).toContain("Other: name the config that makes its words, such as { config: \"english\" }")
})

it("takes deletedAt for the mark of a deleted record", () => {
  const table = tableFacts("things", [id, column("deletedAt", "timestamptz", { nullable: true })])
  expect(draftResources([table]).resources[0]?.softDelete).toBe("deleted_at")
})

it("does not forbid or demand what a trigger before the insert fills", () => {
  const source = `begin
    if new.slug is null or new.kind = 'x' then new.slug := lower(new.name); end if;
    new."Search" = to_tsvector(new.name); new.made_at := now();
    return new; end`
  const columns = [
    column("name", "text"),
    column("slug", "text"),
    column("kind", "text"),
    column("Search", "tsvector"),
    column("made_at", "timestamptz")
  ]
  const [drafted] =
    draftResources([tableFacts("things", [id, ...columns], { fillsRows: true, fills: [source] })]).resources
  expect(drafted?.closed).toEqual([])
  expect(drafted?.fields.slice(1).filter(({ modifiers }) => modifiers.includes("dbDefault()")).map(({ name }) => name))
    .toEqual([
      "slug",
      "made_at"
    ])
  const [without] = draftResources([tableFacts("things", [id, ...columns])]).resources
  expect(without?.closed).toEqual(["create"])
})

it.each([
  ["text", null, "name", "multiline(false)"],
  ["text", null, "shipping_notes", null],
  ["text", null, "productDescription", null],
  ["varchar", 255, "description", "multiline()"],
  ["varchar", 200, "description", null],
  ["varchar", 80, "name", null],
  ["varchar", 4000, "address", "multiline(false)"],
  ["varchar", 4000, "body", null]
])("shows a %s of %s characters named %s with %s", (base, maxLength, name, written) => {
  const [drafted] = draftResources([tableFacts("things", [id, column(name, base, { maxLength })])]).resources
  const modifiers = drafted!.fields[1]!.modifiers.filter((each) => each.startsWith("multiline"))
  expect(modifiers).toEqual(written === null ? [] : [written])
})

it("says which columns look like files, and leaves them as they are", () => {
  const people = tableFacts("people", [
    id,
    column("avatar", "text", { nullable: true }),
    column("passportScan", "varchar", { maxLength: 100 }),
    column("logo_url", "text"),
    column("profile", "text"),
    column("image_count", "int4"),
    column("image_hash", "text"),
    column("icon", "text", { values: ["star", "moon"] })
  ], { primaryKey: ["id"] })
  const [drafted] = draftResources([people]).resources
  expect(drafted?.notes).toEqual([
    "avatar looks like a file: avatar: f.file().optional() takes uploads, and f.file().externalUrls() https URLs, too",
    "passportScan looks like a file: passport_scan: f.file() takes uploads, and f.file().externalUrls() https URLs, too; widen the column first, values are long",
    "logo_url looks like a file: logo_url: f.file() takes uploads, and f.file().externalUrls() https URLs, too"
  ])
  expect(drafted?.fields.find(({ name }) => name === "avatar")?.kind).toEqual({ of: "kind", text: "f.text()" })
})
