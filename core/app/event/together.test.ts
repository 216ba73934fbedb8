import { it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { expect } from "vitest"
import { askTogether } from "./together.ts"

/** A place that answers when it is told to. */
const makePlace = () => {
  const asked: Array<{ readonly keys: readonly string[]; readonly answer: Deferred.Deferred<null, string> }> = []
  const ask = askTogether<string, string>((keys) =>
    Effect.suspend(() => {
      const answer = Deferred.makeUnsafe<null, string>()
      asked.push({ keys, answer })
      const statement = asked.length
      return Effect.as(
        Deferred.await(answer),
        new Map(keys.filter((key) => key !== "no").map((key) => [key, `${key}${statement}`]))
      )
    })
  )
  const turns = Effect.repeat(Effect.yieldNow, { times: 20 })
  return { ask, asked, turns }
}

it.effect("one statement answers all who ask at once, and the next one those who ask while it is under way", () =>
  Effect.gen(function*() {
    const { ask, asked, turns } = makePlace()
    const first = yield* Effect.forkChild(Effect.all(["a", "b", "a", "no"].map(ask), { concurrency: "unbounded" }))
    yield* turns
    expect(asked.map(({ keys }) => keys)).toEqual([["a", "b", "no"]])
    const second = yield* Effect.forkChild(Effect.all(["b", "c"].map(ask), { concurrency: "unbounded" }))
    yield* turns
    // What began before they asked is no answer to them.
    expect(asked).toHaveLength(1)
    yield* Deferred.succeed(asked[0]!.answer, null)
    expect(yield* Fiber.join(first)).toEqual(["a1", "b1", "a1", undefined])
    yield* turns
    expect(asked.map(({ keys }) => keys)).toEqual([["a", "b", "no"], ["b", "c"]])
    yield* Deferred.succeed(asked[1]!.answer, null)
    expect(yield* Fiber.join(second)).toEqual(["b2", "c2"])
    // After a pause it begins afresh.
    const third = yield* Effect.forkChild(ask("d"))
    yield* turns
    yield* Deferred.succeed(asked[2]!.answer, null)
    expect(yield* Fiber.join(third)).toBe("d3")
  }))

it.effect("a failure is that of all who shared the statement, and of nobody else", () =>
  Effect.gen(function*() {
    const { ask, asked, turns } = makePlace()
    const first = yield* Effect.forkChild(
      Effect.all(["a", "b"].map((key) => Effect.flip(ask(key))), { concurrency: "unbounded" })
    )
    yield* turns
    const second = yield* Effect.forkChild(ask("a"))
    yield* turns
    yield* Deferred.fail(asked[0]!.answer, "down")
    expect(yield* Fiber.join(first)).toEqual(["down", "down"])
    yield* turns
    yield* Deferred.succeed(asked[1]!.answer, null)
    expect(yield* Fiber.join(second)).toBe("a2")
  }))

it.effect("who goes away takes nothing from the others", () =>
  Effect.gen(function*() {
    const { ask, asked, turns } = makePlace()
    const leaving = yield* Effect.forkChild(ask("a"))
    const staying = yield* Effect.forkChild(ask("b"))
    yield* turns
    yield* Fiber.interrupt(leaving)
    yield* Deferred.succeed(asked[0]!.answer, null)
    expect(yield* Fiber.join(staying)).toBe("b1")
    const later = yield* Effect.forkChild(ask("c"))
    yield* turns
    yield* Deferred.succeed(asked[1]!.answer, null)
    expect(yield* Fiber.join(later)).toBe("c2")
  }))
