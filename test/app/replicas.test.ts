import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import type { Call, StreamedReply } from "../../core/app/ground/call.ts"
import { json } from "../../core/app/ground/call.ts"
import type { Core } from "../../core/app/ground/core.ts"
import { RowEstimates } from "../../core/app/ground/estimate.ts"
import { makeRouting } from "../../core/app/ground/replicas.ts"
import { because, problem } from "../../core/domain/problem.ts"
import type { Position } from "../../core/domain/read/replica.ts"

const place = (n: number): Position => String(n).padStart(24, "0")

/** A routing over a replica that shows everything up to a place, beside a primary that is at another one. */
const routing = () => {
  const state = { primary: 1, shown: 1 }
  const asked: Array<Position | null> = []
  const core = { records: "primary", estimates: new RowEstimates() } as unknown as Core
  const { read, told, wrote } = makeRouting(core, {
    choose: (position) =>
      Effect.sync(() => {
        asked.push(position)
        return position === null || position <= place(state.shown)
          ? { name: "r", records: "replica" as unknown as Core["records"] }
          : null
      }),
    position: Effect.sync(() => place(state.primary)),
    states: () => []
  })
  const call = (id: string, position?: string, headers: { readonly [name: string]: string } = {}): Call => ({
    caller: { id, roles: [], tenant: null },
    access: () => null,
    path: "/",
    query: [],
    header: (name) => name === "x-service-position" ? position ?? null : headers[name] ?? null
  })
  const reading = read((on) => Effect.succeed(json(200, on.records as unknown as string)))
  return {
    state,
    asked,
    told,
    call,
    wrote,
    where: (id: string, position?: string, headers?: { readonly [name: string]: string }) =>
      Effect.map(reading(call(id, position, headers)), ({ body }) => body),
    write: wrote(() => Effect.sync(() => json(201, String(++state.primary))))
  }
}

describe("where a read goes", () => {
  it.effect("to the primary for ten seconds after a write of the same caller, unless it brings a position", () =>
    Effect.gen(function*() {
      const { call, state, where, write } = routing()
      expect(yield* where("ann")).toBe("replica")
      const { headers } = yield* write(call("ann"))
      const position = headers["x-service-position"]
      expect(position).toBe(place(2))
      expect(yield* where("ann")).toBe("primary")
      expect(yield* where("bob")).toBe("replica")
      // The replica does not show it yet.
      expect(yield* where("ann", position)).toBe("primary")
      state.shown = 2
      expect(yield* where("ann", position)).toBe("replica")
      yield* TestClock.adjust(9_999)
      expect(yield* where("ann")).toBe("primary")
      yield* TestClock.adjust(1)
      expect(yield* where("ann")).toBe("replica")
    }))

  it.effect("to one that shows what the caller wrote here since, by the later of both positions", () =>
    Effect.gen(function*() {
      const { asked, call, where, write } = routing()
      const first = (yield* write(call("ann"))).headers["x-service-position"]
      yield* write(call("ann"))
      yield* where("ann", first)
      yield* where("ann", place(9))
      expect(asked).toEqual([place(3), place(9)])
    }))

  it.effect("to the primary after a write that failed, as it may have happened", () =>
    Effect.gen(function*() {
      const { call, where, wrote } = routing()
      yield* Effect.exit(wrote(() => Effect.fail(problem("unavailable", "away")))(call("ann")))
      expect(yield* where("ann")).toBe("primary")
    }))

  it.effect("to one that shows what its browser wrote through another process: a page that is loaded anew has a cookie only", () =>
    Effect.gen(function*() {
      const { call, write } = routing()
      const browser = { "sec-fetch-site": "same-origin" }
      const { headers } = yield* write(call("ann", undefined, browser))
      expect(headers["set-cookie"]).toBe(`service-position=${place(2)}; Path=/; Max-Age=10; HttpOnly; SameSite=Lax`)
      expect((yield* write(call("ann"))).headers).not.toHaveProperty("set-cookie")
      const anew = routing()
      expect(yield* anew.where("ann", undefined, { cookie: `a=b; service-position=${place(2)}; c=d` })).toBe("primary")
      anew.state.shown = 2
      expect(yield* anew.where("ann", place(1), { cookie: `service-position=${place(2)}` })).toBe("replica")
      expect(anew.asked).toEqual([place(2), place(2)])
      // Nobody is refused for a cookie.
      expect(yield* anew.where("bob", undefined, { cookie: "service-position=none; xservice-position=1" })).toBe(
        "replica"
      )
      expect(anew.asked.at(-1)).toBeNull()
    }))

  it.effect("to one that shows why a write was refused, or it would be refused again", () =>
    Effect.gen(function*() {
      const { call, wrote } = routing()
      const refused = (slug: "precondition-failed" | "not-found" | "invalid-record") =>
        Effect.flip(wrote(() => Effect.fail(because(problem(slug, "no", {}, { etag: "1" }), "Test")))(call("ann")))
      for (const slug of ["precondition-failed", "not-found"] as const) {
        const { headers, why } = yield* refused(slug)
        expect([headers, why?.cause]).toEqual([{ etag: "1", "x-service-position": place(1) }, "test"])
      }
      expect((yield* refused("invalid-record")).headers).toEqual({ etag: "1" })
    }))

  it.effect("nowhere with a text that is no position", () =>
    Effect.gen(function*() {
      const { where } = routing()
      const refused = yield* Effect.flip(where("ann", "0/7F76E68"))
      expect(refused.slug).toBe("invalid-parameter")
      expect(JSON.stringify(refused.members)).toContain("X-Service-Position")
    }))

  it.effect("to one that shows what its caller was just told of", () =>
    Effect.gen(function*() {
      const { asked, call, state, told, where } = routing()
      const parts = ["id: 1\n:\n\n", "event: change\ndata: {}\n\n"].map((text) => new TextEncoder().encode(text))
      const bytes = (async function*() {
        yield* parts
      })()
      const reply = yield* told(() =>
        Effect.succeed({ ...json(200, ""), body: null, stream: { length: null, bytes } })
      )(call("ann"))
      const { stream } = reply as StreamedReply
      const iterator = stream.bytes[Symbol.asyncIterator]()
      yield* Effect.promise(() => iterator.next())
      expect(yield* where("ann")).toBe("replica")
      state.primary = 7
      yield* Effect.promise(() => iterator.next())
      expect(yield* where("ann")).toBe("primary")
      expect(asked).toEqual([null, place(7)])
      state.shown = 7
      expect(yield* where("ann")).toBe("replica")
      expect((yield* Effect.promise(() => iterator.next())).done).toBe(true)
    }))
})
