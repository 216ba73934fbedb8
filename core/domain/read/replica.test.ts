import { describe, expect, it } from "vitest"
import {
  judgeReplica,
  later,
  lsnFrom,
  newcomer,
  nextInTurn,
  placeOf,
  positionOf,
  readPosition,
  remembered,
  type ReplicaSeen,
  type Sample,
  type Standing,
  type Surroundings
} from "./replica.ts"

const at = (lsn: string, timeline = "00000001") => positionOf(timeline, lsnFrom(lsn))

describe("positions", () => {
  it("are texts of one length that compare as places of the log, a later timeline above an earlier one", () => {
    const rising = [at("0/1"), at("0/FFFFFFFF"), at("1/0"), at("A/7F76E68"), at("0/1", "0000000A")]
    expect([...rising].sort()).toEqual(rising)
    expect(new Set(rising.map(({ length }) => length))).toEqual(new Set([24]))
    expect(later(rising[1]!, rising[0]!)).toBe(rising[1])
    expect(later(null, rising[0]!)).toBe(rising[0])
  })

  it("are the end of a page where the log has filled it, whoever says so", () => {
    expect(lsnFrom("0/1766018")).toBe(lsnFrom("0/1766000"))
    expect(lsnFrom("0/1767018")).not.toBe(lsnFrom("0/1767000"))
    expect(lsnFrom("0/1766118")).not.toBe(lsnFrom("0/1766100"))
  })

  it.each(["", "0/7F76E68", "0".repeat(23), "0".repeat(25), "G".repeat(24), "A".repeat(24), `${"0".repeat(24)}\n`])(
    "are none: %j",
    (text) => expect(readPosition(text)).toBeNull()
  )

  it("of a later timeline, or far in the future, are waited for by nobody", () => {
    const primary = at("5/0")
    expect(placeOf(at("5/100"), primary)).toBe(lsnFrom("5/100"))
    expect(placeOf(at("4/0"), primary)).toBe(lsnFrom("4/0"))
    expect(placeOf(at("5/0", "00000002"), primary)).toBeNull()
    expect(placeOf(at("FFFFFFFF/FFFFFFFF"), primary)).toBeNull()
  })

  it("of an earlier timeline are shown by whoever follows this one", () => {
    const place = placeOf(at("9/0"), at("5/0", "00000002"))
    expect(place !== null && place < lsnFrom("0/0")).toBe(true)
  })
})

describe("a replica", () => {
  const name = { cluster: "7", database: "shop" }
  const primary = { ...name, started: "p", position: at("0/50") }
  const samples = [{ lsn: lsnFrom("0/10"), at: 0 }, { lsn: lsnFrom("0/30"), at: 5_000 }, {
    lsn: lsnFrom("0/50"),
    at: 9_000
  }]
  const around: Surroundings = { primary, samples, now: 10_000, mostLagMs: 10_000 }
  const seen = (lsn: string, more: Partial<ReplicaSeen> = {}): ReplicaSeen => ({
    ...name,
    started: "r",
    standby: true,
    replayed: lsnFrom(lsn),
    ...more
  })
  const joined: Standing = judgeReplica(newcomer, seen("0/50"), around)

  it("is read from once it has shown what the primary had when it was asked first", () => {
    const early = judgeReplica(newcomer, seen("0/30"), around)
    expect(early).toMatchObject({ absence: "joining", goal: { lsn: lsnFrom("0/50"), at: 10_000 }, lagMs: 1_000 })
    expect(judgeReplica(early, seen("0/50"), around).absence).toBeNull()
    // One that never comes so far is missed.
    expect(judgeReplica(early, seen("0/30"), { ...around, now: 20_001 }).absence).toBe("lag")
  })

  it("that stands still with a history of its own does not join, whatever the primary writes meanwhile", () => {
    const meanwhile = { ...around, samples: [{ lsn: lsnFrom("0/30"), at: 9_000 }] }
    const still = judgeReplica(newcomer, seen("0/40"), meanwhile)
    expect(still.absence).toBe("joining")
    expect(judgeReplica(still, seen("0/40"), { ...meanwhile, now: 11_000 }).absence).toBe("joining")
  })

  it("that stands still is left out at any bound", () => {
    for (const mostLagMs of [1_000, 600_000, 3_600_000]) {
      let [standing, kept, now]: [Standing, readonly Sample[], number] = [joined, [], 0]
      for (let n = 1; n < 100 && standing.absence === null; n++) {
        now = n * mostLagMs / 40
        kept = remembered(kept, { lsn: lsnFrom(`1/${n.toString(16)}`), at: now }, mostLagMs)
        standing = judgeReplica(standing, seen("0/50"), {
          primary: { ...primary, position: at("2/0") },
          samples: kept,
          now,
          mostLagMs
        })
      }
      expect([standing.absence, now > mostLagMs]).toEqual(["lag", true])
    }
  })

  it("is as far behind as the oldest place that it does not show, and comes back at half of the bound", () => {
    const standing = { ...joined, goal: { lsn: lsnFrom("0/10"), at: 0 } }
    expect(judgeReplica(standing, seen("0/50"), around)).toMatchObject({ absence: null, lagMs: 0 })
    expect(judgeReplica(standing, seen("0/10"), around)).toMatchObject({ absence: null, lagMs: 5_000 })
    const late = judgeReplica(standing, seen("0/10"), { ...around, now: 15_001 })
    expect(late).toMatchObject({ absence: "lag", lagMs: 10_001 })
    expect(judgeReplica(late, seen("0/30"), { ...around, now: 15_001 }).absence).toBe("lag")
    expect(judgeReplica(late, seen("0/50"), { ...around, now: 15_001 }).absence).toBeNull()
  })

  it("that shows more than its primary has followed another one, until it is beyond that place", () => {
    const ahead = judgeReplica(joined, seen("0/60"), around)
    expect(ahead.absence).toBe("ahead")
    const later = { ...around, primary: { ...primary, position: at("0/90") } }
    expect(judgeReplica(ahead, seen("0/60"), later).absence).toBe("ahead")
    expect(judgeReplica(ahead, seen("0/70"), later).absence).toBeNull()
  })

  it("that was promoted is read from only if it is the primary", () => {
    expect(judgeReplica(joined, seen("0/20", { standby: false }), around).absence).toBe("promoted")
    const self = judgeReplica(joined, seen("0/20", { standby: false, started: "p" }), around)
    expect(self).toMatchObject({ absence: null, lagMs: 0 })
    expect(self.replayed! > lsnFrom("FFFFFFFF/FFFFFFFE")).toBe(true)
  })

  it("of another cluster or database is never read from", () => {
    expect(judgeReplica(joined, seen("0/50", { cluster: "8" }), around).absence).toBe("foreign")
    expect(judgeReplica(joined, seen("0/50", { database: "test" }), around).absence).toBe("foreign")
  })

  it("stays as it was while the primary is away, unless it does not answer itself", () => {
    const away = { ...around, primary: null }
    expect(judgeReplica(joined, seen("0/50"), away).absence).toBeNull()
    expect(judgeReplica({ ...joined, absence: "lag" }, seen("0/50"), away).absence).toBe("lag")
    expect(judgeReplica(joined, null, away).absence).toBe("unreachable")
    expect(judgeReplica({ ...newcomer, absence: "unreachable" }, seen("0/50"), away).absence).toBe("joining")
  })
})

it("replicas are read from by their weights, in turns that are spread", () => {
  const all = [{ id: "a", weight: 1, turn: 0 }, { id: "b", weight: 2, turn: 0 }, { id: "c", weight: 1, turn: 0 }]
  expect(Array.from({ length: 8 }, () => nextInTurn(all)?.id).join("")).toBe("bacbbacb")
  expect(nextInTurn([])).toBeNull()
})
