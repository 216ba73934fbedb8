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
