import { expect, it } from "vitest"
import { RecentVersions } from "../../core/app/versions.ts"

it("remembers the last versions of the last records, and no big ones", () => {
  const versions = new RecentVersions()
  for (let i = 0; i < 6; i++) versions.remember("notes", ["1"], [`v${i}`])
  expect(versions.recent("notes", ["1"])).toEqual([["v5"], ["v4"], ["v3"], ["v2"]])
  expect(versions.recent("notes", ["1", ""])).toEqual([])
  versions.remember("notes", ["2"], ["x".repeat(3_000), null, "x".repeat(1_001)])
  expect(versions.recent("notes", ["2"])).toEqual([])
  for (let i = 0; i < 1_000; i++) versions.remember("orders", [String(i)], ["x"])
  expect(versions.recent("notes", ["1"])).toEqual([])
  expect(versions.recent("orders", ["999"])).toEqual([["x"]])
})
