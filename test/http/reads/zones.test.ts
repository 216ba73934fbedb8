// Time zones that this process knows and PostgreSQL does not: the answer names the parameter, and never blames the zone for another value.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/model/config.ts"
import { f } from "../../../core/domain/model/field.ts"
import { defineResource } from "../../../core/domain/model/resource.ts"
import { at, expectParameter, expectProblem } from "../../support/answer.ts"
import { on } from "../writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }
const visits = defineResource("visits", {
  table: "visits",
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    day: f.date().filterable().sortable(),
    moment: f.timestamp().filterable().sortable(),
    length: f.float().filterable().sortable()
  }
})
const fixture = {
  config: defineConfig({ resources: [visits] }),
  schema:
    "create table visits (id integer primary key, day date not null, moment timestamptz not null, length float8 not null)",
  rows: {
    visits: [1, 2].map((id) => ({ id, day: "2026-01-01", moment: "2026-01-01T12:00:00Z", length: 1.5e308 }))
  }
}

on("postgres", "a time zone that only this process knows", () => fixture, (use) => {
  const series = (query: { readonly [name: string]: string }) => use().get(admin, at("visits:series", query))
  const zone = "US/Pacific-New"

  it("is refused by the name of its parameter", async () => {
    expect(new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone).not.toBe("")
    for (const field of ["day", "moment"]) {
      const answer = await series({ field, range: "all", time_zone: zone })
      expectParameter(answer, "/api/v1/visits:series", "time_zone", "The database does not know this time zone.")
      expect((await series({ field, range: "all", time_zone: "America/Los_Angeles" })).status).toBe(200)
    }
  })

  it("is not what a sum out of range is blamed on", async () => {
    const message = "The database refuses one of the values."
    for (const time_zone of ["UTC", "Europe/Berlin", zone]) {
      const answer = await series({ field: "moment", range: "all", measure: "sum:length", time_zone })
      expectProblem(answer, "invalid-record", "/api/v1/visits:series", { errors: [{ code: "invalid", message }] })
    }
  })
})
