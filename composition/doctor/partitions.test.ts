import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import type { PartitionFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { compileModels } from "../../core/domain/compile/compile.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { columnFacts, tableFacts } from "../../test/support/catalogue.ts"
import { checkPartitions } from "./partitions.ts"

const notes = Result.getOrThrow(
  compileModels(defineConfig({
    resources: [defineResource("notes", { primaryKey: "id", tenant: "tenant_id", fields: { id: f.integer() } })]
  }))
).models.get("notes")!

const index = (name: string, columns: readonly string[], primary = false): TableFacts["indexes"][number] => ({
  name,
  unique: true,
  primary,
  valid: true,
  method: "btree",
  columns: columns.map((column) => ({ name: column, descending: false, operators: "" })),
  predicate: null,
  definition: ""
})
const columns = [columnFacts("id", "int4"), columnFacts("tenant_id", "text")]
const said = (more: Partial<TableFacts>, others: readonly TableFacts[] = []) =>
  checkPartitions(notes, tableFacts("notes", columns, more), others, { large: 10 })

describe("what is said of partitions by tenant", () => {
  const large = { rows: 1_001, indexes: [index("notes_pkey", ["id"], true), index("notes_slug", ["slug"])] }
  const marks = tableFacts("marks", [], {
    foreignKeys: [{
      name: "marks_note",
      columns: ["note_id"],
      target: { schema: "public", table: "notes", columns: ["id"] },
      onDelete: "no action"
    }]
  })

  it("names what hinders them on a large table", () => {
    const [finding, ...more] = said(large, [marks, marks])
    expect(more).toEqual([])
    expect(finding).toMatchObject({
      level: "note",
      resource: "notes",
      sql: ["create unique index concurrently on notes (tenant_id, id);"]
    })
    expect(finding!.message).toContain(
      "the primary key notes_pkey (id), the unique index notes_slug (slug), the foreign key marks_note of marks."
    )
  })

  it("is nothing of a small table, or of one that could be divided", () => {
    expect(said({ ...large, rows: 1_000 }, [marks])).toEqual([])
    expect(said({ rows: 1_001, indexes: [index("notes_pkey", ["tenant_id", "id"], true)] })).toEqual([])
  })

  const divided = (partitions: PartitionFacts) =>
    said({ kind: "partitioned", partitions }).map(({ message }) => message)

  it("is that others divide the table, or that a tenant has no partition", () => {
    expect(divided({ by: "range", columns: ["day"], count: 12, rest: false })[0]).toContain(
      "divided by day and not by its tenant (tenant_id): a statement about one tenant looks into each of its 12 partitions"
    )
    expect(divided({ by: "list", columns: ["tenant_id"], count: 3, rest: false })[0]).toContain("without a partition")
    for (const [by, rest, below] of [["list", true, []], ["hash", false, []]] as const) {
      expect(divided({ by, columns: ["tenant_id"], count: 3, rest, below })).toEqual([])
    }
    expect(divided({ by: "range", columns: ["day"], count: 12, rest: false, below: ["tenant_id"] })).toEqual([])
  })
})
