// Columns of which the database knows more than their declaration says: numbers of single precision, and collations that take different texts for
// equal. What it then refuses is the caller's filter, and answered as one.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/model/config.ts"
import { f } from "../../../core/domain/model/field.ts"
import { defineResource } from "../../../core/domain/model/resource.ts"
import { at, expectParameter, expectProblem } from "../../support/answer.ts"
import { on } from "../writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }
const trials = defineResource("trials", {
  table: "trials",
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    moment: f.timestamp().filterable(),
    ratio: f.float().filterable().sortable(),
    length: f.float().filterable(),
    huge: f.decimal().filterable(),
    name: f.text().filterable().searched()
  }
})
const digits = `9${"0".repeat(131_071)}`
const fixture = {
  config: defineConfig({ resources: [trials] }),
  schema: `create collation same_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create table trials (id integer primary key, moment timestamptz not null, ratio real not null, length float8 not null,
      huge numeric not null, name text collate same_case not null)`,
  rows: {
    trials: [1, 2].map((id) => ({
      id,
      moment: "2026-01-01T12:00:00Z",
      ratio: 0.1,
      length: 1.5e308,
      huge: digits,
      name: "Bo"
    }))
  }
}

on("postgres", "columns of which the database knows more", () => fixture, (use) => {
  const list = (filter: string) => use().get(admin, at("trials", { filter, fields: "id" }))
  const series = (measure: string) => use().get(admin, at("trials:series", { field: "moment", range: "all", measure }))

  it("numbers beyond single precision are refused with their place in the filter", async () => {
    for (
      const [filter, start, end] of [
        ["ratio > 1e39", 8, 12],
        ["id > 0 AND ratio != -1e39", 20, 25],
        ["ratio = 0.1 OR in(ratio, 1, 1e-60)", 28, 33]
      ] as const
    ) {
      const answer = await list(filter)
      expectProblem(answer, "invalid-filter", "/api/v1/trials", { parameter: "filter", errors: [expect.anything()] })
      expect(answer.json["errors"]![0]).toMatchObject({ code: "value", span: { start, end } })
    }
    for (const filter of ["ratio = 0.1", "ratio < 3.4e38", "length > 1e300", "ratio > 1e-45"]) {
      expect((await list(filter)).json["items"], filter).toHaveLength(2)
    }
  })

  it("what it cannot calculate names the measure, or the field", async () => {
    const message = "The database cannot calculate with values of this size."
    for (const measure of ["avg:length", "sum:huge"]) {
      expectParameter(await series(measure), "/api/v1/trials:series", "measure", message)
    }
    expect((await series("sum:length")).json["points"]).toEqual([
      { start: "2026-01-01T00:00:00Z", value: `3${"0".repeat(308)}` }
    ])
    await use().database!.execute(`insert into trials values (3, '2027-01-01', 1, 1, -${digits}, 'Ada')`)
    const histogram = await use().get(admin, at("trials:histogram", { field: "huge", buckets: "100" }))
    expectParameter(histogram, "/api/v1/trials:histogram", "field", message)
    await use().database!.execute("delete from trials where id = 3")
  })

  it("texts that it cannot look into are refused as that", async () => {
    for (const filter of ["name:bo", "regex(name, 'B')", "bo", "NOT search('x') id = 1"]) {
      const answer = await list(filter)
      expectProblem(answer, "invalid-filter", "/api/v1/trials", {
        parameter: "filter",
        errors: [expect.objectContaining({ code: "unsupported-function" })]
      })
    }
    expect((await list("name = bo AND name > a")).json["items"]).toHaveLength(2)
  })

  it("tells the operator of nothing that a caller asked wrongly", () => {
    expect(use().unhandled).toEqual([])
  })
})
