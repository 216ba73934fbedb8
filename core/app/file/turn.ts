/**
 * Turns at an upload in pieces: in one process only one request at a time writes to an upload. A later one ends the body of an earlier one, which may
 * wait for a sender that is gone, and takes its turn once the earlier one has stored what had come.
 */

import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { mostPiecesAtOnce } from "../../domain/file/unfinished.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { StorageError } from "../../ports/storage.ts"
import type { Bytes } from "../../ports/storage.ts"

/** How long a request waits for the turn of another to end, and a storage for its own silence, in seconds. */
const waitSeconds = 5
const silentSeconds = 30

/** One request's turn. */
export class Turn {
  readonly who: string
  readonly ended: Promise<void>
  readonly #end: () => void
  #stop: (error: Problem) => void = () => {}
  #stopped = false
  #holds = 1

  /** `over` is called when it has ended. */
  constructor(who: string, over: () => void = () => {}) {
    this.who = who
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#end = () => {
      over()
      resolve()
    }
  }

  /** Ends the body that is being read, now or when it begins. */
  stop(): void {
    this.#stopped = true
    this.#stop(busy())
  }

  /** The next of a body, unless the turn is to end. */
  next(source: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      if (this.#stopped) return reject(busy())
      this.#stop = reject
      source.next().then(resolve, reject)
    })
  }

  /** The turn lasts until this has ended, however long nobody waits for it any more. */
  hold(work: Promise<unknown>): void {
    this.#holds++
    const release = (): void => this.release()
    work.then(release, release)
  }

  release(): void {
    if (--this.#holds === 0) this.#end()
  }
}

const busy = (): Problem =>
  problem("conflict", "Another request is working on this upload.", {}, { "retry-after": "1" })

/** The turns of this process, by the upload. */
const turns = new Map<string, Turn>()

/** Runs work as the only one at an upload, or refuses it with 409. Its effect is not interrupted. */
export const inTurn = Effect.fnUntraced(function*<A>(
  upload: string,
  who: string,
  work: (turn: Turn) => Effect.Effect<A, Problem>
): Effect.fn.Return<A, Problem> {
  const before = turns.get(upload)
  if (before !== undefined) {
    before.stop()
    yield* Effect.raceFirst(Effect.promise(() => before.ended), Effect.sleep(waitSeconds * 1_000))
  }
  if (turns.has(upload)) return yield* Effect.fail(busy())
  let own = 0
  for (const turn of turns.values()) if (turn.who === who) own++
  if (own >= mostPiecesAtOnce) {
    return yield* Effect.fail(
      problem("unavailable", "You send too many pieces at once.", {}, { "retry-after": "5" })
    )
  }
  const turn = new Turn(who, () => turns.delete(upload))
  turns.set(upload, turn)
  return yield* Effect.uninterruptible(Effect.ensuring(work(turn), Effect.sync(() => turn.release())))
})

/** The body of a piece. Where its sender breaks off it ends, so that what came is stored; `error` then says why. */
export interface PieceBody {
  readonly bytes: Bytes
  error: unknown
  /** Whether the sender is waited for, and how often it was asked. */
  asking: boolean
  asked: number
}

/** The body of a piece in a turn. `most`: bytes that it may have; `refuse` says what more of them is. */
export const pieceBody = (turn: Turn, body: Bytes, most: number, refuse: () => Problem): PieceBody => {
  const source = body[Symbol.asyncIterator]()
  let left = most
  async function* bytes(): Bytes {
    let ended = false
    try {
      for (;;) {
        piece.asking = true
        piece.asked++
        let next: IteratorResult<Uint8Array>
        try {
          next = await turn.next(source)
        } catch (error) {
          piece.error = error
          return
        } finally {
          piece.asking = false
        }
        if (next.done === true) {
          ended = true
          return
        }
        left -= next.value.length
        if (left < 0) {
          piece.error = refuse()
          return
        }
        yield next.value
      }
    } finally {
      // A sender that is silent would be waited for.
      if (!ended) void Promise.resolve(source.return?.()).catch(() => {})
    }
  }
  const piece: PieceBody = { bytes: bytes(), error: null, asking: false, asked: 0 }
  return piece
}

/** Gives up on a storage that takes nothing for too long. The turn lasts until the storage has let go, so that nothing is mixed with what it still writes. */
export const storing = <A>(
  turn: Turn,
  piece: Pick<PieceBody, "asked" | "asking">,
  call: Effect.Effect<A, StorageError>
): Effect.Effect<A, StorageError> =>
  Effect.suspend(() => {
    const running: Promise<Exit.Exit<A, StorageError>> = Effect.runPromiseExit(call)
    turn.hold(running)
    const silence = Effect.gen(function*(): Effect.fn.Return<never, StorageError> {
      let seen = piece.asked
      for (let seconds = 0; seconds < silentSeconds; seconds++) {
        yield* Effect.sleep(1_000)
        if (!piece.asking && piece.asked === seen) continue
        seen = piece.asked
        seconds = -1
      }
      const cause = new Error(`The storage has taken nothing for ${silentSeconds} seconds.`)
      return yield* Effect.fail(new StorageError({ reason: "Unavailable", cause }))
    })
    return Effect.raceFirst(
      Effect.interruptible(Effect.flatMap(Effect.promise(() => running), (exit) => exit)),
      Effect.interruptible(silence)
    )
  })
