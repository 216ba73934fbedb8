/** The arithmetic of the reports and their judgements, on made-up samples. Nothing is timed. */

import { describe, expect, it } from "vitest"
import type { Case } from "./cases.ts"
import { figure, geometricMean, median, ratio, type Sample, type Samples, serverCpu, times } from "./figures.ts"
import type { Findings } from "./figures.ts"
import { growth, verdictOf } from "./flat.ts"
import { goalsAgainst, goalsAt, ownGoals, relatedGoals, thinTails, verdict } from "./goals.ts"
import { report } from "./report.ts"

const sample = (more: Partial<Sample>): Sample => ({
  requests: 1_000,
  perSecond: 1_000,
  p50: 1,
  p99: 2,
  kilobytes: 1,
  failed: 0,
  firstFailure: null,
  serverCpu: 1,
  databaseCpu: 1,
  generatorCpu: 1,
  memory: 100,
  ...more
})

const kinds: readonly Case[] = ["get", "list", "create"]

const findings = (samples: Samples, more: Partial<Findings> = {}): Findings => ({
  at: "2026-01-01T00:00:00Z",
  machine: "a machine",
  orders: 10_000,
  deepPage: 20,
  connections: [1, 32],
  systems: ["service", "reference", "other"],
  samples,
  memory: {
    service: { idle: 50, loaded: 240 },
    reference: { idle: 50, loaded: 200 },
    other: { idle: 50, loaded: 100 }
  },
  hostile: [],
  ...more
})

describe("figures", () => {
  it("takes the middle of what is known", () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, null, 1, 2, Number.NaN, 3])).toBe(2.5)
    expect(median([null])).toBeNull()
  })

  it("has no ratio to nothing", () => {
    expect(ratio(3, 2)).toBe(1.5)
    expect(ratio(3, 0)).toBeNull()
    expect(ratio(null, 2)).toBeNull()
  })

  it("weighs halves and doubles alike", () => {
    expect(geometricMean([0.5, 2])).toBeCloseTo(1)
    expect(geometricMean([])).toBeNull()
  })

  it("takes medians over the rounds", () => {
    const samples = { "service/get/32": [5, 1, 3].map((cpu) => sample({ serverCpu: cpu })) }
    expect(figure(samples, "service", "get", 32, serverCpu)).toBe(3)
    expect(figure(samples, "service", "get", 1, serverCpu)).toBeNull()
  })

  it("compares what one round measured, and takes the median of that", () => {
    const of = (...cpus: number[]) => cpus.map((cpu) => sample({ serverCpu: cpu }))
    // The machine was slow in the second round, and the third knows only one of them.
    const samples = { "service/get/32": of(2, 12, 3), "reference/get/32": of(1, 8) }
    expect(times(samples, ["service", "reference"], "get", 32, serverCpu)).toBe(1.75)
    expect(times(samples, ["service", "reference"], "get", 1, serverCpu)).toBeNull()
  })
})

describe("goals", () => {
  const samples: Samples = {
    "service/get/32": [sample({ serverCpu: 1.25 })],
    "service/list/32": [sample({ serverCpu: 1.5, p99: 2.5 })],
    "service/create/32": [sample({ serverCpu: 2, p99: 4 })],
    "reference/get/32": [sample({})],
    "reference/list/32": [sample({})],
    "reference/create/32": [sample({})],
    "other/get/32": [sample({ serverCpu: 2.5, p99: 8 })]
  }

  it("names the cases that miss, the worst first, and takes the limit itself as met", () => {
    const [server, mean] = goalsAt(findings(samples), "reference", kinds, 32)
    const [tail, memory] = goalsAgainst(findings(samples), "reference", kinds)
    expect(verdict(server)).toBe("missed by 2 of 3: create 2.00, list 1.50")
    expect(mean.found).toBeCloseTo((1.25 * 1.5 * 2) ** (1 / 3))
    expect(verdict(mean)).toBe("missed")
    expect(verdict(tail)).toBe("missed by 1 of 3: create 2.00")
    expect(memory.found).toBeCloseTo(1.2)
    expect(verdict(memory)).toBe("met")
  })

  it("judges each reference by the cases it has", () => {
    const [server, mean] = goalsAt(findings(samples), "other", kinds, 32)
    const [tail, memory] = goalsAgainst(findings(samples), "other", kinds)
    expect(server.found).toBe(0.5)
    expect(server.over).toEqual({ cases: [], of: 1 })
    expect(mean.name).toContain("of 1 case at 32 connections,")
    expect([server, mean, tail].map(verdict)).toEqual(["met", "met", "met"])
    expect(verdict(memory)).toBe("missed")
  })

  it("judges reads of related records with what the database does for them, and orders by a limit of their own", () => {
    const all: readonly Case[] = ["get", "related", "sorted"]
    const [filters, orders] = relatedGoals(
      findings({
        "service/get/1": [sample({ databaseCpu: 9 })],
        "reference/get/1": [sample({})],
        "service/related/1": [sample({ databaseCpu: 1.4 })],
        "reference/related/1": [sample({})],
        "service/sorted/1": [sample({ databaseCpu: 2.5 })],
        "reference/sorted/1": [sample({})]
      }),
      "reference",
      all,
      1
    )
    expect([filters!.found, verdict(filters!)]).toEqual([1.2, "met"])
    expect([orders!.found, verdict(orders!)]).toEqual([1.75, "missed by 1 of 1: sorted 1.75"])
  })

  it("says so when nothing was measured", () => {
    const blind = findings({ "service/get/32": [sample({ serverCpu: null })] }, { memory: {} })
    const goals = [...goalsAt(blind, "reference", kinds, 32), ...goalsAgainst(blind, "reference", kinds)]
    expect(goals.map(verdict)).toEqual(Array.from({ length: 4 }, () => "not measured"))
    expect(ownGoals(blind).map(verdict)).toEqual(Array.from({ length: 3 }, () => "not measured"))
  })

  it("compares the deep page with the first, one request at a time", () => {
    const [deep] = ownGoals(findings({
      "service/list/1": [sample({ p50: 2 })],
      "service/deep/1": [sample({ p50: 3 })],
      "service/deep/32": [sample({ p50: 100 })]
    }))
    expect(deep!.found).toBe(1.5)
    expect(verdict(deep!)).toBe("missed")
  })

  it("knows percentiles of too few requests", () => {
    const few = findings({
      "service/get/32": [sample({})],
      "reference/get/32": [sample({ requests: 20 }), sample({ requests: 99 })],
      "service/list/32": [sample({ requests: 20 }), sample({ requests: 100 })]
    })
    expect(thinTails(few, 32, kinds)).toEqual(["get"])
  })

  it("are in the report, for every reference", () => {
    const text = report(findings({ ...samples, "service/get/1": [sample({})], "reference/get/1": [sample({})] }))
    expect(text).toContain(
      "| server time of each case at 32 connections, × the reference | 1.25 | 2.00 | missed by 2 of 3: create 2.00, list 1.50 |"
    )
    expect(text).toContain("| server time of each case at 1 connection, × the reference | 1.25 | 1.00 | met |")
    expect(text).toContain("### Processor time per request at 1 connection, against the reference")
    expect(text).toContain("| server time of each case at 32 connections, × the other | 1.25 | 0.500 | met |")
    expect(text).toContain("| geometric mean |  |  | 0.500 | 0.643 |")
  })
})

describe("growing tables", () => {
  const samples: Samples = {
    "small/get/1": [sample({ p50: 1 })],
    "big/get/1": [sample({ p50: 1.2 })],
    "small/get/32": [sample({})],
    "big/get/32": [sample({ databaseCpu: 1.3 })],
    "small/middle/32": [sample({})],
    "big/middle/32": [sample({ databaseCpu: 50 })]
  }

  it("names what grows", () => {
    const figures = growth({ connections: [1, 32], samples }, "get")
    expect(figures.map(({ times }) => times)).toEqual([1, 1.3, 1.2])
    expect(verdictOf("get", figures)).toBe("missed: database 1.30")
  })

  it("expects no flat seek to a share of the rows, and judges nothing unmeasured", () => {
    expect(verdictOf("middle", growth({ connections: [1, 32], samples }, "middle"))).toContain("linear")
    expect(verdictOf("list", growth({ connections: [1, 32], samples }, "list"))).toBe("not measured")
  })
})
