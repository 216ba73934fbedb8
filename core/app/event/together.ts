/** One statement for all who ask at the same time. It keeps no answer: whoever asks gets one that began after they asked. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/**
 * Asks for one key, together with the others who ask meanwhile. One statement is under way at a time, so those who come while it is wait for the next one. When it
 * fails, it fails for all of its keys. Nobody who goes away takes it from the others.
 */
export const askTogether = <A, E>(
  ask: (keys: readonly string[]) => Effect.Effect<ReadonlyMap<string, A>, E>
): (key: string) => Effect.Effect<A | undefined, E> => {
  let next: { readonly keys: Set<string>; readonly answer: Deferred.Deferred<ReadonlyMap<string, A>, E> } | null = null
  let asking = false
  const askAll = Effect.gen(function*() {
    // Those who ask in the same moment come along.
    yield* Effect.yieldNow
    while (next !== null) {
      const { answer, keys } = next
      next = null
      yield* Deferred.done(answer, yield* Effect.exit(ask([...keys])))
    }
    asking = false
  })
  return (key) =>
    Effect.suspend(() => {
      const { answer, keys } = next ??= { keys: new Set(), answer: Deferred.makeUnsafe() }
      keys.add(key)
      const answered = Effect.map(Deferred.await(answer), (all) => all.get(key))
      if (asking) return answered
      asking = true
      return Effect.andThen(Effect.forkDetach(askAll), answered)
    })
}
