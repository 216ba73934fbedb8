// Times of schedules, compared with a clock that is read minute by minute, in several zones and over both clock changes.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { isTimeZone, readSchedule } from "./schedule.ts"

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/Sao_Paulo",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Africa/Casablanca"
]

const next = (pattern: string, zone: string, after: string): string | null =>
  Result.getOrThrow(readSchedule(pattern, zone)).next(new Date(after))?.toISOString() ?? null

const formats = new Map<string, Intl.DateTimeFormat>()

/** What a clock on the wall shows. */
const wall = (
  time: Date,
  zone: string
): { readonly minute: number; readonly hour: number; readonly day: number; readonly weekday: number } => {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      weekday: "short"
    })
    formats.set(zone, format)
  }
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]))
  return {
    minute: Number(parts["minute"]),
    hour: Number(parts["hour"]),
    day: Number(parts["day"]),
    weekday: ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"].indexOf(parts["weekday"]!)
  }
}

/** A pattern, and an instant in mid-January or mid-July: no zone here changes its clock within a week of them. */
const question = (random: Random) => {
  const [minute, hour, weekday] = [random.below(60), random.below(24), random.below(7)]
  return {
    minute,
    hour,
    weekday,
    shape: random.below(4),
    zone: random.pick(zones),
    after: new Date(
      Date.UTC(2026, random.pick([0, 6]), 12 + random.below(5), random.below(24), random.below(60), random.below(60))
    )
  }
}

describe("the next time of a schedule", () => {
  property(
    "is the first minute after an instant whose wall clock fits, away from changes of the clock",
    { question },
    { cases: 80 },
    ({ question: { after, hour, minute, shape, weekday, zone } }) => {
      const pattern = [
        `${minute} * * * *`,
        `${minute} ${hour} * * *`,
        `${minute} ${hour} * * ${weekday}`,
        `*/15 ${hour}-${Math.min(23, hour + 2)} * * *`
      ][shape]!
      const fits = (time: Date): boolean => {
        const at = wall(time, zone)
        return [
          at.minute === minute,
          at.minute === minute && at.hour === hour,
          at.minute === minute && at.hour === hour && at.weekday === weekday,
          at.minute % 15 === 0 && at.hour >= hour && at.hour <= hour + 2
        ][shape]!
      }
      let expected = Math.floor(after.getTime() / 60_000) * 60_000 + 60_000
      while (!fits(new Date(expected))) expected += 60_000
      expect(next(pattern, zone, after.toISOString()), pattern).toBe(new Date(expected).toISOString())
    }
  )

  it("comes once a day at a fixed time in every zone, whatever the clocks do, and never twice", () => {
    for (const zone of ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]) {
      for (const pattern of ["30 2 * * *", "45 1 * * *"]) {
        const schedule = Result.getOrThrow(readSchedule(pattern, zone))
        let at = new Date("2026-02-15T12:00:00Z")
        const times: Date[] = []
        for (let day = 0; day < 270; day++) {
          at = schedule.next(at)!
          times.push(at)
          if (day % 9 === 0) expect(schedule.has(at)).toBe(true)
        }
        const [hour, minute] = [Number(pattern.split(" ")[1]), Number(pattern.split(" ")[0])]
        let moved = 0
        for (const [index, time] of times.entries()) {
          const shown = wall(time, zone)
          // A skipped time comes later on the same day.
          if (shown.hour !== hour || shown.minute !== minute) moved++
          if (index > 0) {
            const hours = (time.getTime() - times[index - 1]!.getTime()) / 3_600_000
            expect(hours, `${zone} ${pattern} ${time.toISOString()}`).toBeGreaterThanOrEqual(22.9)
            expect(hours, `${zone} ${pattern} ${time.toISOString()}`).toBeLessThanOrEqual(25.1)
          }
        }
        expect(moved, `${zone} ${pattern}`).toBeLessThanOrEqual(1)
      }
    }
  })

  it("keeps seven o'clock in Berlin, moves half past two where it is skipped, and takes it once where it is repeated", () => {
    expect(next("0 7 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z")).toBe("2026-03-28T06:00:00.000Z")
    expect(next("0 7 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z")).toBe("2026-03-29T05:00:00.000Z")
    expect(next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z")).toBe("2026-03-29T01:00:00.000Z")
    const autumn = next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z")!
    expect(["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"]).toContain(autumn)
    expect(next("30 2 * * *", "Europe/Berlin", autumn)).toBe("2026-10-26T01:30:00.000Z")
    // An interval schedule continues through both clock changes.
    expect(next("*/20 * * * *", "Europe/Berlin", "2026-03-29T00:59:59Z")).toBe("2026-03-29T01:00:00.000Z")
    expect(next("*/20 * * * *", "Europe/Berlin", "2026-10-25T00:41:00Z")).toBe("2026-10-25T01:00:00.000Z")
  })

  it("has the time to which a clock change moves it, and a repeated time once", () => {
    const has = (time: string) =>
      Result.getOrThrow(readSchedule("30 2 * * *", "Europe/Berlin")).has(new Date(`2026-${time}Z`))
    // In March no clock shows 02:30: the clock after two o'clock is 03:00, at 01:00 UTC.
    expect(["03-29T00:30:00", "03-29T01:00:00", "03-29T01:30:00"].map(has)).toEqual([false, true, false])
    // In October it is 02:30 at 00:30 UTC and again at 01:30.
    expect(["10-25T00:30:00", "10-25T01:30:00", "10-26T01:30:00"].map(has)).toEqual([true, false, true])
  })

  it("takes seconds first, names and lists, and refuses what is no pattern", () => {
    expect(next("*/10 * * * * *", "UTC", "2026-01-01T00:00:01Z")).toBe("2026-01-01T00:00:10.000Z")
    expect(next("0 9 * JAN,JUL MON", "UTC", "2026-01-02T00:00:00Z")).toBe("2026-01-05T09:00:00.000Z")
    expect(next("0 0 L * *", "UTC", "2026-02-01T00:00:00Z")).toBe("2026-02-28T00:00:00.000Z")
    expect(next("0 0 30 2 *", "UTC", "2026-02-01T00:00:00Z")).toBeNull()
    for (const pattern of ["", "* * * *", "60 * * * *", "a b c d e", "* * * * * * * *", "@never"]) {
      expect([pattern, Result.isFailure(readSchedule(pattern, "UTC"))]).toEqual([pattern, true])
    }
    expect([isTimeZone("Europe/Berlin"), isTimeZone("Mars/Olympus")]).toEqual([true, false])
  })
})
