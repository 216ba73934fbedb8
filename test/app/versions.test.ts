import { expect, it } from "vitest"
import { RecentVersions } from "../../core/app/ground/versions.ts"
import { makeField } from "../support/model.ts"

const of = (name: string, tenant: string | null = null) => ({
  caller: { tenant },
  model: { name, tenant: tenant === null ? null : makeField({ name: "tenant", kind: "text" }) }
})

it("remembers the last versions of the last records, and no big ones", () => {
  const versions = new RecentVersions()
  for (let i = 0; i < 6; i++) versions.remember(of("notes"), ["1"], [`v${i}`])
  expect(versions.recent(of("notes"), ["1"])).toEqual([["v5"], ["v4"], ["v3"], ["v2"]])
  expect(versions.recent(of("notes"), ["1", ""])).toEqual([])
  versions.remember(of("notes"), ["2"], ["x".repeat(3_000), null, "x".repeat(1_001)])
  expect(versions.recent(of("notes"), ["2"])).toEqual([])
  for (let i = 0; i < 1_000; i++) versions.remember(of("orders"), [String(i)], ["x"])
  expect(versions.recent(of("notes"), ["1"])).toEqual([])
  expect(versions.recent(of("orders"), ["999"])).toEqual([["x"]])
})

it("remembers the record of each tenant by itself, and that of all tenants for everybody", () => {
  const versions = new RecentVersions()
  versions.remember(of("notes", "a"), ["1"], ["of a"])
  expect(versions.recent(of("notes", "b"), ["1"])).toEqual([])
  expect(versions.recent(of("notes", "a"), ["1"])).toEqual([["of a"]])
  const shared = { ...of("tags"), caller: { tenant: "a" } }
  versions.remember(shared, ["1"], ["shared"])
  expect(versions.recent({ ...shared, caller: { tenant: "b" } }, ["1"])).toEqual([["shared"]])
})
