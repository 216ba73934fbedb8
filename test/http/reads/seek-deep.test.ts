// `:seek` deep into a table whose index has to be walked with the rows behind it: the answer is that of a walk from the beginning.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, pluck } from "../../support/answer.ts"
import { on } from "../writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }
const points = defineResource("points", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    rank: f.integer().filterable().sortable(),
    kept: f.boolean().filterable()
  }
})

on("postgres", "a deep seek", () => ({
  config: defineConfig({ resources: [points] }),
  // The order of the index is not that of the table, and one of its conditions stands in the table alone.
  schema:
    `create table points (id integer primary key, rank integer not null, kept boolean not null, note text not null);
    insert into points select i, (i * 7919) % 60000, i % 10 <> 0, repeat('x', 50) from generate_series(0, 59999) i;
    create index on points (rank, id);`,
  rows: {}
}), (use) => {
  it("gives the same rows from either end", async () => {
    const database = use().database!
    const expected = await database.rows(
      "select id::text from points where kept order by rank, id offset 53000 limit 20"
    )
    for (const position of [53_000, 53_980, 53_999]) {
      const answer = await use().get(
        admin,
        at("points:seek", { filter: "kept = true", order_by: "rank", position, page_size: 20 })
      )
      expect(answer.status, answer.text).toBe(200)
      if (position === 53_000) expect(pluck(answer, "id").map(String)).toEqual(expected.map(([id]) => id))
      expect(pluck(answer, "id")).toHaveLength(Math.min(20, 54_000 - position))
      expect(answer.json["next_page_token"] === "").toBe(position + 20 >= 54_000)
    }
    const beyond = await use().get(
      admin,
      at("points:seek", { filter: "kept = true", order_by: "rank", position: 54_000, page_size: 20 })
    )
    expect(pluck(beyond, "id")).toHaveLength(20)
  })
})
