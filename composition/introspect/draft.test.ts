import { expect, it } from "vitest"
import { columnFacts as column, tableFacts } from "../../test/support/catalogue.ts"
import { draftResources } from "./draft.ts"

const id = column("id", "int8", { identity: "by default" })

it.each(["updated_at", "last_update", "last_modified"])("takes %s as version", (name) => {
  const table = tableFacts("films", [id, column(name, "timestamptz", { default: "now()" })], { primaryKey: ["id"] })
  expect(draftResources([table]).resources[0]?.version).toBe(name)
  const nullable = tableFacts("films", [id, column(name, "timestamptz", { nullable: true })], { primaryKey: ["id"] })
  expect(draftResources([nullable]).resources[0]?.version).toBe(null)
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
