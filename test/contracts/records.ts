/**
 * The contract of the records port, one suite for every implementation. Each harness brings the tables of `contractSchema`, empty.
 * Timeouts, broken connections, poolers, and constraints beyond keys need a server: test/postgres has those, since memory has none of them.
 */

import * as Effect from "effect/Effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { always } from "../../core/domain/filter/tree.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import { aggregateSuite } from "./records-aggregates.ts"
import { pageSuite } from "./records-pages.ts"
import { bindings, makeWords, things } from "./records-tables.ts"
import { writeSuite } from "./records-writes.ts"

export interface RecordsHarness {
  readonly records: RecordsService
  /** Removes all rows of both tables. */
  readonly clear: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Runs the suite. `make` is called once. */
export const recordsContract = (name: string, make: () => Promise<RecordsHarness>): void => {
  describe(`records: ${name}`, () => {
    let harness: RecordsHarness
    // The suites are declared before the harness is made.
    const records: RecordsService = {
      page: (plan) => harness.records.page(plan),
      pageWithin: (plan, bytes) => harness.records.pageWithin(plan, bytes),
      count: (plan) => harness.records.count(plan),
      aggregate: (plan) => harness.records.aggregate(plan),
      holding: (question) => harness.records.holding(question),
      estimate: (plan) => harness.records.estimate(plan),
      transaction: (body) => harness.records.transaction(body),
      indexed: (index) => harness.records.indexed(index),
      ping: Effect.suspend(() => harness.records.ping)
    }
    const words = makeWords(records)
    const { run, store } = words

    beforeAll(async () => {
      harness = await make()
    })
    afterAll(() => harness?.close())
    beforeEach(() => harness.clear())

    pageSuite(words)
    aggregateSuite(words)
    writeSuite(words)

    it("estimates without running", async () => {
      await store([{}])
      const estimate = await run(records.estimate({ model: things, where: always, bindings, cap: null }))
      expect(estimate.cost).toBeGreaterThan(0)
      expect(estimate.rows).toBeGreaterThanOrEqual(0)
      expect(estimate.scannedRows).toBeGreaterThanOrEqual(0)
    })

    it("answers a ping", () => run(records.ping))
  })
}
