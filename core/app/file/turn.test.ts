import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { Problem, problem } from "../../domain/problem.ts"
import { StorageError } from "../../ports/storage.ts"
import type { Bytes } from "../../ports/storage.ts"
import { inTurn, pieceBody, storing, Turn } from "./turn.ts"

const tooLong = () => problem("payload-too-large", "too long")

/** A body that gives bytes and then waits for ever. */
const silent = (...parts: readonly number[]): Bytes => ({
  [Symbol.asyncIterator]: () => {
    let at = 0
    return {
      next: () =>
        at < parts.length
          ? Promise.resolve({ done: false as const, value: new Uint8Array(parts[at++]!) })
          : new Promise<never>(() => {})
    }
  }
})

const drain = async (bytes: Bytes): Promise<number> => {
  let size = 0
  for await (const chunk of bytes) size += chunk.length
  return size
}

describe("a turn", () => {
  it.effect("gives up on a storage that takes nothing for 30 seconds, and lasts until it has let go", () =>
    Effect.gen(function*() {
      const stalled = Promise.withResolvers<number>()
      const upload = inTurn(
        "a",
        "ann",
        (turn) =>
          storing(turn, { asking: false, asked: 1 }, Effect.promise(() => stalled.promise)).pipe(
            Effect.catch((error) => Effect.fail(problem("unavailable", error.reason)))
          )
      )
      const fiber = yield* Effect.forkChild(upload, { startImmediately: true })
      yield* TestClock.adjust("29 seconds")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("2 seconds")
      expect(yield* Effect.flip(Fiber.join(fiber))).toMatchObject({ slug: "unavailable", detail: "Unavailable" })
      const second = yield* Effect.forkChild(inTurn("a", "ann", () => Effect.succeed(1)), { startImmediately: true })
      yield* TestClock.adjust("6 seconds")
      expect(yield* Effect.flip(Fiber.join(second))).toMatchObject({ slug: "conflict" })
      stalled.resolve(1)
      yield* Effect.promise(() => stalled.promise)
      expect(yield* inTurn("a", "ann", () => Effect.succeed(2))).toBe(2)
    }))

  it.effect("waits as long as its sender does", () =>
    Effect.gen(function*() {
      const turn = new Turn("ann")
      const piece = pieceBody(turn, silent(3), 10, tooLong)
      const fiber = yield* Effect.forkChild(
        storing(
          turn,
          piece,
          Effect.tryPromise({
            try: () => drain(piece.bytes),
            catch: () => new StorageError({ reason: "Body" })
          })
        ),
        { startImmediately: true }
      )
      yield* Effect.promise(() => Promise.resolve())
      yield* TestClock.adjust("5 minutes")
      expect(fiber.pollUnsafe()).toBeUndefined()
      turn.stop()
      expect(yield* Fiber.join(fiber)).toBe(3)
      expect(piece.error).toMatchObject({ slug: "conflict" })
    }))

  it.effect("is one of four that a person has at once", () =>
    Effect.gen(function*() {
      const gate = Promise.withResolvers<null>()
      const begin = (upload: string, who: string) =>
        Effect.forkChild(inTurn(upload, who, () => Effect.promise(() => gate.promise)), { startImmediately: true })
      const fibers = yield* Effect.forEach(["a", "b", "c", "d"], (upload) => begin(upload, "ann"))
      expect(yield* Effect.flip(inTurn("e", "ann", () => Effect.void))).toMatchObject({
        slug: "unavailable",
        headers: { "retry-after": "5" }
      })
      const other = yield* begin("f", "bob")
      gate.resolve(null)
      yield* Effect.forEach([...fibers, other], (fiber) => Fiber.join(fiber))
      yield* inTurn("e", "ann", () => Effect.void)
    }))

  it.effect("takes no more of a body than is announced", () =>
    Effect.gen(function*() {
      const piece = pieceBody(new Turn("ann"), silent(3, 4, 4), 10, tooLong)
      expect(yield* Effect.promise(() => drain(piece.bytes))).toBe(7)
      expect(piece.error).toBeInstanceOf(Problem)
    }))
})
