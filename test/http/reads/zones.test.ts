// Where this process and PostgreSQL see time otherwise. Of a zone that only this process knows the answer names the parameter, and never blames the
// zone for another value; of two midnights the first begins the day; times that no calendar of the wire has spoil no chart.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, expectParameter } from "../../support/answer.ts"
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

  it("is not what an average out of range is blamed on", async () => {
    const message = "The database cannot calculate with values of this size."
    for (const time_zone of ["UTC", "Europe/Berlin", zone]) {
      const answer = await series({ field: "moment", range: "all", measure: "avg:length", time_zone })
      expectParameter(answer, "/api/v1/visits:series", "measure", message)
    }
  })
})

on("postgres", "series on days that are odd", () => fixture, (use) => {
  /** Points that have rows, for both fields. */
  const filled = async (query: { readonly [name: string]: string }) => {
    const answers = await Promise.all(
      ["day", "moment"].map((field) => use().get(admin, at("visits:series", { field, ...query })))
    )
    return answers.map(({ json, text }) => {
      const points = json["points"] as unknown as ReadonlyArray<{ readonly start: string; readonly count: number }>
      expect(points, text).toBeDefined()
      expect(points.map(({ start }) => start)).toEqual([...new Set(points.map(({ start }) => start))].sort())
      return points.filter(({ count }) => count > 0)
    })
  }

  it("begin with the first of two midnights", async () => {
    // In Havana summer ended at 01:00, which was midnight again; in the Azores as well, a week before.
    const first = { "America/Havana": "2026-11-01T04:00:00Z", "Atlantic/Azores": "2026-10-25T00:00:00Z" }
    await use().database!.execute(`insert into visits values
      (11, '2026-11-01', '2026-11-01T04:30:00Z', 1), (12, '2026-11-01', '2026-11-01T05:30:00Z', 1),
      (13, '2026-10-25', '2026-10-25T00:30:00Z', 1), (14, '2026-10-25', '2026-10-25T01:30:00Z', 1)`)
    for (const [time_zone, start] of Object.entries(first)) {
      for (const granularity of ["day", "month"]) {
        if (granularity === "month" && time_zone !== "America/Havana") continue
        const day = time_zone === "America/Havana" ? "2026-11-01" : "2026-10-25"
        const points = await filled({ time_zone, granularity, from: day, to: day })
        expect(points, `${time_zone} ${granularity}`).toEqual([[{ start, count: 2 }], [{ start, count: 2 }]])
      }
    }
    await use().database!.execute("delete from visits where id > 10")
  })

  it("have no hour beside the hours of the clock where it changes by half an hour", async () => {
    const [from, to] = ["2026-04-04T12:00:00Z", "2026-04-04T20:00:00Z"]
    await use().database!.execute(`insert into visits
      select 10 + i, '2026-04-04', '${from}'::timestamptz + i * interval '30 minutes' + interval '1 minute', 1 from generate_series(1, 15) i`)
    const query = { field: "moment", granularity: "hour", time_zone: "Australia/Lord_Howe", from, to }
    const { json } = await use().get(admin, at("visits:series", query))
    const points = json["points"] as unknown as ReadonlyArray<{ readonly start: string; readonly count: number }>
    expect(points.map(({ count, start }) => [start.slice(11, 16), count])).toEqual([
      ["12:00", 1],
      ["13:00", 2],
      ["14:00", 2],
      ["14:30", 1],
      ["15:30", 2],
      ["16:30", 2],
      ["17:30", 2],
      ["18:30", 2],
      ["19:30", 1]
    ])
    await use().database!.execute("delete from visits where id > 10")
  })

  it("leave out times that have no year on the wire, in every zone", async () => {
    await use().database!.execute(`insert into visits values
      (11, '5874897-12-31', '294276-12-31T23:59:59.999999Z', 1), (12, '4714-11-24 BC', '4714-11-24T00:00:00Z BC', 1),
      (13, 'infinity', 'infinity', 1), (14, '-infinity', '-infinity', 1), (15, '10000-01-02', '10000-01-02T00:00:00Z', 1)`)
    for (const time_zone of ["UTC", "Asia/Tokyo", "America/New_York"]) {
      for (const granularity of ["hour", "day", "week", "month", "quarter", "year"]) {
        const points = await filled({ time_zone, granularity, range: "all" })
        expect(points.map((each) => each.map(({ count }) => count)), `${time_zone} ${granularity}`).toEqual([[2], [2]])
      }
    }
    await use().database!.execute("delete from visits where id > 10")
  })

  it("leave out times whose day, week or year begins before all years of the wire", async () => {
    await use().database!.execute(`insert into visits values
      (11, '0001-01-01', '0001-01-01T00:00:00Z', 1), (12, '0001-01-10', '0001-01-10T12:00:00Z', 1)`)
    const starts = async (granularity: string) =>
      (await filled({ time_zone: "America/New_York", granularity, range: "all", filter: "id > 10" }))
        .map((points) => points.map(({ count, start }) => [start.slice(0, 10), count]))
    for (const granularity of ["day", "week"]) {
      const [days, moments] = await starts(granularity)
      const start = granularity === "day" ? "0001-01-10" : "0001-01-08"
      expect([days!.at(-1), moments]).toEqual([[start, 1], [[start, 1]]])
    }
    expect(await starts("year")).toEqual([[["0001-01-01", 2]], [["0001-01-01", 1]]])
    await use().database!.execute("delete from visits where id > 10")
  })
})
