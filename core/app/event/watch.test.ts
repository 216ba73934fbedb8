/** Streams over fakes and a clock of the test: what is asked of the database, how often, and what is told where it does not answer. */

import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { makeFakeChanges } from "../../../test/fakes/changes.ts"
import { makeFakeRecords } from "../../../test/fakes/records.ts"
import { makeFakeVault } from "../../../test/fakes/seal.ts"
import { resolverOf } from "../../../test/support/access.ts"
import { makeModel, type RuledModel } from "../../../test/support/model.ts"
import { startOthers } from "../../../test/support/turns.ts"
import type { Caller } from "../../domain/access/caller.ts"
import type { StoredRow } from "../../domain/event/change.ts"
import type { Call } from "../ground/call.ts"
import { makeWatching } from "./watch.ts"

const orders = {
  ...makeModel({
    name: "orders",
    fields: [
      { name: "id", kind: "integer" },
      { name: "status", kind: "text" },
      { name: "customer_id", kind: "integer", optional: true }
    ],
    relations: [{ name: "customer", target: "customers", many: false, from: "customer_id", to: "id" }]
  }),
  events: ["updated"]
}
const customers = makeModel({ name: "customers", fields: [{ name: "id", kind: "integer" }, { name: "country" }] })
const models = new Map<string, RuledModel>([["orders", orders], ["customers", customers]])

const setUp = (of: RuledModel = orders) => {
  const resolver = resolverOf(new Map([...models, ["orders", of]]), { roles: null, defaultAccess: "allow" })
  const changes = makeFakeChanges(() => ({ handle: {} as never, end: () => {} }))
  const records = makeFakeRecords()
  records.seed(customers, [["1", "DE"], ["2", "FR"]])
  const watching = makeWatching(changes, {
    records: records.service,
    seal: makeFakeVault().seal("a secret of the tests, long enough")
  })
  return {
    records,
    watching,
    /** Changes, dispatched as one. The table has them. */
    write: (...pairs: ReadonlyArray<readonly [StoredRow | null, StoredRow | null]>) =>
      Effect.gen(function*() {
        const { commit, write } = changes.begin()
        for (const [before, after] of pairs) {
          if (after !== null) records.seed(of, [of.columns.map(({ column }) => after[column] ?? null)])
          const operation = before === null ? "insert" : after === null ? "delete" : "update"
          write({ relation: "orders", operation, before, after })
        }
        commit()
        yield* changes.settle((yield* changes.take("test", pairs.length))!, () => Effect.void)
      }),
    open: (filter: string, caller: Caller = { id: "ann", roles: ["all"], tenant: null }) =>
      Effect.gen(function*() {
        const call: Call = {
          caller,
          access: (resource) => resolver.resolve(caller, resource),
          path: "/api/v1/orders:watch",
          query: [["filter", filter]],
          header: () => null
        }
        const { stream } = yield* watching.watch(call, "orders")
        const iterator = stream.bytes[Symbol.asyncIterator]()
        const next = Effect.promise(async () => {
          const { value } = await iterator.next()
          const text = new TextDecoder().decode(value)
          return [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, event, data = ""]) => {
            const { key, kind } = JSON.parse(data) as { readonly key?: string; readonly kind?: string }
            return event === "change" ? `${kind} ${key}` : event
          })
        })
        yield* next
        return next
      })
  }
}

const order = (id: number, status: string, customer: string | null = "1"): StoredRow => ({
  id: String(id),
  status,
  customer_id: customer
})
const german = "customer.country = DE"

describe("streams through relations", () => {
  it.effect("are asked about in one statement a round for all who ask the same, and others in none", () =>
    Effect.gen(function*() {
      const { open, records, watching, write } = setUp()
      const streams = yield* Effect.all([...Array(10).fill(german), "status = open"].map((text: string) => open(text)))
      yield* write([null, order(1, "open")], [null, order(2, "open", "2")], [order(1, "open"), order(1, "paid")])
      const before = records.calls.length
      yield* TestClock.adjust(500)
      for (const next of streams.slice(0, 10)) expect(yield* next).toEqual(["entered 1", "entered 1"])
      expect(yield* streams[10]!).toEqual(["entered 1", "entered 2", "left 1"])
      expect(records.calls.slice(before)).toEqual(["page"])
      watching.close()
    }))

  it.effect("are asked about again where the database does not answer, and lose nothing", () =>
    Effect.gen(function*() {
      const { open, records, watching, write } = setUp()
      const next = yield* open(german)
      const plain = yield* open("status = open")
      yield* write([null, order(1, "open")])
      records.failWith("Unavailable")
      yield* TestClock.adjust(500)
      expect(yield* plain).toEqual(["entered 1"])
      records.failWith(null)
      yield* write([order(1, "open"), null], [null, order(2, "open")])
      yield* TestClock.adjust(1_000)
      // The first is still in the table of the fake; it left with the second change.
      expect(yield* next).toEqual(["entered 1", "left 1", "entered 2"])
      watching.close()
    }))

  it.effect("are told to read again where it takes too long, and go on", () =>
    Effect.gen(function*() {
      const { open, records, watching, write } = setUp()
      const next = yield* open(german)
      yield* write([null, order(1, "open")])
      records.failWith("Timeout")
      yield* TestClock.adjust(500)
      expect(yield* next).toEqual(["reset"])
      records.failWith(null)
      yield* write([null, order(2, "open")])
      yield* TestClock.adjust(500)
      expect(yield* next).toEqual(["entered 2"])
      watching.close()
    }))

  it.effect("are told to read again where more waits than is kept", () =>
    Effect.gen(function*() {
      const { open, records, watching, write } = setUp()
      const next = yield* open(german)
      records.failWith("Unavailable")
      for (let i = 0; i < 11; i++) {
        yield* write(...Array.from({ length: 500 }, (_, j) => [null, order(i * 500 + j, "open")] as const))
        yield* TestClock.adjust(500)
      }
      expect(yield* next).toEqual(["reset"])
      records.failWith(null)
      yield* TestClock.adjust(1_000)
      yield* write([null, order(9_000, "open")])
      yield* TestClock.adjust(1_000)
      expect(yield* next).toEqual(["entered 9000"])
      watching.close()
    }))
})

describe("a filter that weighs much", () => {
  it.effect("is judged in turns, between which others have theirs", () =>
    Effect.gen(function*() {
      const { open, watching, write } = setUp()
      const next = yield* open(Array.from({ length: 200 }, (_, i) => `status != s${i}`).join(" AND "))
      yield* write(...Array.from({ length: 500 }, (_, i) => [null, order(i, "open")] as const))
      const others = startOthers()
      yield* TestClock.adjust(500)
      for (let told = 0; told < 500;) told += (yield* next).length
      others.stop()
      // 500 changes weigh 100,000: that are twenty turns.
      expect(others.turns()).toBeGreaterThanOrEqual(10)
      watching.close()
    }))
})

describe("a slow reader", () => {
  it.effect("is told to read again in place of what it did not take", () =>
    Effect.gen(function*() {
      const { open, watching, write } = setUp()
      const next = yield* open("status = open")
      for (let i = 0; i < 3; i++) {
        yield* write(...Array.from({ length: 400 }, (_, j) => [null, order(i * 400 + j, "open")] as const))
        yield* TestClock.adjust(500)
      }
      const told = yield* next
      expect(told[0]).toBe("reset")
      expect(told.length).toBe(201)
      watching.close()
    }))
})

describe("a change that cannot be judged", () => {
  const things = {
    ...makeModel({ name: "orders", fields: [{ name: "id", kind: "integer" }, { name: "tags", kind: "list" }] }),
    events: ["updated"]
  }

  it.effect("has who asks about it read again, and keeps nobody else from being told", () =>
    Effect.gen(function*() {
      const { open, watching, write } = setUp(things)
      const next = yield* open("tags:a")
      const plain = yield* open("id > 1")
      // As it was captured when the column was no list.
      yield* write([null, { id: "1", tags: "{a,b}" }], [null, { id: "2", tags: "[\"a\"]" }])
      yield* TestClock.adjust(500)
      expect(yield* next).toEqual(["reset", "entered 2"])
      expect(yield* plain).toEqual(["entered 2"])
      yield* write([null, { id: "3", tags: "[\"a\"]" }])
      yield* TestClock.adjust(500)
      expect(yield* next).toEqual(["entered 3"])
      watching.close()
    }))
})
