import { describe, expect, it } from "vitest"
import { metaField } from "../../../test/support/related.ts"
import { makeWriting } from "../field/moment.ts"
import { daysOf, formerOf, movedBy } from "./days.ts"

const of = { start: metaField("at", "timestamp"), end: metaField("until", "timestamp") }
const writing = makeWriting("en-GB")

describe("a move to another day", () => {
  it("is undone exactly, also where the time of day was left out on the day between", () => {
    const record = { at: "2026-03-28T02:30:00", until: null, name: "a" }
    // A zone without the hour from two to three on the 29th, in texts without a zone.
    const wall = {
      day: (_: string, value: string) => value.slice(0, 10),
      onDay: (_: string, value: string, day: string) =>
        `${day}T${day === "2026-03-29" ? value.slice(11).replace(/^02/, "03") : value.slice(11)}`
    }
    const values = movedBy(record, of, 1, wall)!
    expect(values).toEqual({ at: "2026-03-29T03:30:00" })
    expect(movedBy({ ...record, ...values }, of, -1, wall)).not.toEqual({ at: record.at })
    expect(formerOf(record, values)).toEqual({ at: record.at })
  })

  it("leaves an end that never comes, and such a record lies on all days from its start", () => {
    const record = { at: new Date(2026, 10, 4, 9, 30).toISOString(), until: "infinity" }
    expect(daysOf(record, of, writing.day)).toEqual({ first: "2026-11-04", last: "9999-12-31" })
    const moved = movedBy(record, of, 2, writing)!
    expect([Object.keys(moved), Date.parse(moved["at"]!)]).toEqual([["at"], new Date(2026, 10, 6, 9, 30).getTime()])
  })
})
