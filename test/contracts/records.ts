/**
 * The contract of the records port, one suite for every implementation. A harness brings the tables of `contractSchema`, empty. Timeouts, broken
 * connections, full disks, servers that only read, and extensions that are missing need a server: test/postgres has those.
 */

import { layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { aggregateSuite } from "./records-aggregates.ts"
import { aloneSuite } from "./records-alone.ts"
import { constraintSuite } from "./records-constraints.ts"
import { lockSuite } from "./records-locks.ts"
import { pageSuite } from "./records-pages.ts"
import { relatedSuite } from "./records-related.ts"
import { makeWords, type RecordsHarness, type RecordsTest } from "./records-tables.ts"
import { tenantSuite } from "./records-tenants.ts"
import { writeSuite } from "./records-writes.ts"

class Harness extends Context.Service<Harness, RecordsHarness>()("test/contracts/records/Harness") {}

/** Runs the suite on one harness, which is made once. */
export const recordsContract = (name: string, make: Effect.Effect<RecordsHarness, never, Scope.Scope>): void =>
  layer(Layer.effect(Harness, make), { excludeTestServices: true })(`records: ${name}`, (it) => {
    const fresh = Effect.gen(function*() {
      const harness = yield* Harness
      yield* harness.clear
      return makeWords(harness)
    })
    const test: RecordsTest = Object.assign(
      (title: string, body: Parameters<RecordsTest>[1]) =>
        it.effect(title, () => Effect.flatMap(fresh, (words) => Effect.gen(() => body(words)))),
      {
        each:
          <Case>(cases: readonly Case[]) => (title: string, body: Parameters<ReturnType<typeof test.each<Case>>>[1]) =>
            it.effect.each(cases)(title, (one) => Effect.flatMap(fresh, (words) => Effect.gen(() => body(one, words))))
      }
    )
    pageSuite(test)
    relatedSuite(test)
    aggregateSuite(test)
    writeSuite(test)
    tenantSuite(test)
    lockSuite(test)
    constraintSuite(test)
    aloneSuite(test)
  })
