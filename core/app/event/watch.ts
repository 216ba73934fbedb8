/**
 * `:watch`: streams the changes of a resource to callers (Server-Sent Events). One loop of the process reads for all streams. Each caller learns
 * which visible records entered, changed or left what they follow, without values. A caller that is too slow, or was away for too long, is told to read again.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import type { Caller } from "../../domain/access/caller.ts"
import type { StoredChange } from "../../domain/event/change.ts"
import { checkWatched, isRelated, type WatchScope, weightOf } from "../../domain/event/watch.ts"
import { tableName } from "../../domain/model/table.ts"
import { isOutage } from "../../domain/outage.ts"
import { invalidParameter, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { writeKey } from "../../domain/read/key.ts"
import { checkFilter } from "../../domain/read/list.ts"
import { watchRequest } from "../../domain/read/request.ts"
import type { Row } from "../../domain/value/kind.ts"
import type { ChangesService } from "../../ports/changes.ts"
import type { RecordsError } from "../../ports/records.ts"
import { stillHeld } from "../ground/call.ts"
import type { Call, StreamedReply } from "../ground/call.ts"
import { type Core, permitted } from "../ground/core.ts"
import { queryKey, relatedName } from "../ground/guard.ts"
import { recordsProblem } from "../ground/refusal.ts"
import { askPassing, mostAsked } from "./watch-asked.ts"
import { makeNews, markOf, resumeAt } from "./watch-news.ts"

/** How often changes are looked for while somebody watches, and how often idle streams get a sign of life. */
const pollMs = 500
const beatMs = 10_000
/** How often the process announces that somebody watches. */
const renewMs = 60_000
/** Changes read at once, and the most that a resumed stream catches up on. */
const mostRead = 500
const mostBehind = 5_000
/** Most texts that are queued for a slow caller. */
const mostWaiting = 1_000
/** Most streams of one caller, and of all in this process. */
const mostOfOne = 16
const mostOfAll = 2_000
/** What the filters of one caller may weigh together, and those of all in this process (`weightOf`). */
const mostWeightOfOne = 800
const mostWeightOfAll = 20_000
/** What is judged for streams before others have their turn: weights, each once for so many characters of the rows. */
const turnWeight = 5_000
const turnChars = 10_000

interface Captured {
  readonly position: string
  readonly change: StoredChange
}

/** What one caller has open. */
interface CallerStreams {
  streams: number
  weight: number
}

interface Watcher extends WatchScope {
  readonly access: Access
  readonly weight: number
  readonly relation: string
  readonly again: Effect.Effect<Caller, unknown>
  position: bigint
  /** Changes that arrived while older ones were read. */
  early: Captured[] | null
  /** Whether more arrived than could be kept. */
  missed: boolean
  /** Changes about which the database is still to be asked; null where the filter goes through no relation. */
  waiting: Captured[] | null
  /** The same for all streams for which one question will do. */
  readonly question: string
  texts: string[]
  wake: () => void
  ended: boolean
}

export interface Watching {
  readonly watch: (call: Call, resource: string) => Effect.Effect<StreamedReply, Problem>
  /** How many streams are open now. */
  readonly count: () => number
  /** Ends all streams, and accepts no new ones. */
  readonly close: () => void
}

const encoder = new TextEncoder()
const resetText = "event: reset\ndata: {}\n\n"

const tooMany = (detail: string): Problem => problem("too-many-requests", detail, {}, { "retry-after": "10" })

/** Makes `:watch` over captured changes. `core`: for filters through relations. */
export const makeWatching = (changes: ChangesService, core: Pick<Core, "records" | "seal">): Watching => {
  const watchers = new Set<Watcher>()
  const ofCaller = new Map<string, CallerStreams>()
  let weightOfAll = 0
  let position = 0n
  let running = false
  let closed = false
  let asking = false
  let spent = 0

  const say = (watcher: Watcher, text: string): void => {
    if (watcher.texts.length >= mostWaiting) watcher.texts = [resetText]
    watcher.texts.push(text)
    watcher.wake()
  }

  const end = (watcher: Watcher): void => {
    if (watcher.ended) return
    watcher.ended = true
    watchers.delete(watcher)
    const { id } = watcher.access.caller
    const held = ofCaller.get(id)!
    held.streams--
    held.weight -= watcher.weight
    weightOfAll -= watcher.weight
    if (held.streams === 0) ofCaller.delete(id)
    watcher.wake()
  }

  /** Tells of one change. Gives what that weighed. */
  const tell = (
    watcher: Watcher,
    at: string,
    stored: StoredChange,
    now: number,
    newsOf: ReturnType<typeof makeNews>,
    passing?: ReadonlySet<string>
  ): number => {
    if (watcher.ended || BigInt(at) <= watcher.position) return 0
    watcher.position = BigInt(at)
    const news = newsOf(watcher.access.model, at, stored, now)
    const told = judged(watcher, () => news?.told(watcher, passing)) ?? []
    if (told.length > 0) say(watcher, news!.textOf(told))
    return (1 + watcher.weight) * (1 + (news?.size ?? 0) / turnChars)
  }

  /** A row that was captured when its columns were declared otherwise may not be readable now. Who follows by it reads again, and nobody else is kept waiting. */
  const judged = <A>(watcher: Watcher, judge: () => A): A | null => {
    try {
      return judge()
    } catch {
      say(watcher, resetText)
      return null
    }
  }

  /** Tells of some changes. What weighs much is judged in turns, between which others have theirs. */
  const tellAll = Effect.fnUntraced(function*(
    watcher: Watcher,
    captured: readonly Captured[],
    now: number,
    newsOf: ReturnType<typeof makeNews>
  ): Effect.fn.Return<void> {
    if (watcher.waiting !== null) return yield* wait(watcher, watcher.waiting, captured)
    for (const { change, position: at } of captured) {
      if (change.relation !== watcher.relation) continue
      spent += tell(watcher, at, change, now, newsOf)
      if (spent < turnWeight) continue
      spent = 0
      yield* Effect.yieldNow
    }
  })

  /** A credential may have been revoked since. Without a valid one, the caller is told nothing more. */
  const valid = (watcher: Watcher): Effect.Effect<boolean> =>
    Effect.map(stillHeld(watcher.again, watcher.access.caller), (held) => {
      if (!held) end(watcher)
      return held
    })

  const relations = (): readonly string[] => [...new Set([...watchers].map(({ relation }) => relation))]

  /** Has the database asked about changes, for streams whose filters go through relations. */
  const wait = Effect.fnUntraced(function*(
    watcher: Watcher,
    waiting: Captured[],
    captured: readonly Captured[]
  ): Effect.fn.Return<void> {
    const own = captured.filter(({ change, position: at }) =>
      change.relation === watcher.relation && BigInt(at) > watcher.position
    )
    if (waiting.length + own.length > mostBehind) skip(watcher, own)
    else waiting.push(...own)
    if (asking) return
    asking = true
    yield* Effect.forkDetach(askAll)
  })

  /** Drops the waiting changes up to the last of the given ones. The caller is told to read again. */
  const skip = (watcher: Watcher, captured: readonly Captured[]): void => {
    watcher.position = BigInt(captured.at(-1)!.position)
    watcher.waiting = watcher.waiting!.filter(({ position: at }) => BigInt(at) > watcher.position)
    say(watcher, resetText)
  }

  /** One question after the other, so that they take one connection at most, and nobody else waits for them. */
  const askAll = Effect.gen(function*() {
    for (;;) {
      const waiting = [...watchers].filter((each) => each.waiting !== null && each.waiting.length > 0)
      if (waiting.length === 0 || closed) return
      for (const group of Map.groupBy(waiting, ({ question }) => question).values()) yield* ask(group)
    }
  }).pipe(Effect.ensuring(Effect.sync(() => {
    asking = false
  })))

  const ask = Effect.fnUntraced(function*(group: readonly Watcher[]): Effect.fn.Return<void> {
    const now = yield* Clock.currentTimeMillis
    const newsOf = makeNews()
    const keys = new Map<string, Row>()
    const batches = group.map((watcher) => ({ watcher, captured: watcher.waiting!.slice(0, mostAsked) }))
    for (const { captured, watcher } of batches) {
      for (const { change, position: at } of captured) {
        const news = newsOf(watcher.access.model, at, change, now)
        const key = judged(watcher, () => news?.asks(watcher)) ?? null
        if (key !== null) keys.set(writeKey(key), key)
      }
    }
    const answer = yield* Effect.result(askPassing(core.records, group[0]!, [...keys.values()], BigInt(now) * 1000n))
    // While the database answers nothing, they wait.
    if (Result.isFailure(answer) && isOutage(answer.failure.reason._tag)) return yield* Effect.sleep(pollMs)
    for (const { captured, watcher } of batches) {
      if (!(yield* valid(watcher))) continue
      if (Result.isFailure(answer)) {
        skip(watcher, captured)
        continue
      }
      for (const { change, position: at } of captured) tell(watcher, at, change, now, newsOf, answer.success)
      watcher.waiting = watcher.waiting!.filter(({ position: at }) => BigInt(at) > watcher.position)
    }
  })

  /** Keeps changes for a stream that still reads older ones. What does not fit is missed. */
  const keep = (watcher: Watcher, early: Captured[], captured: readonly Captured[]): void => {
    const own = captured.filter(({ change }) => change.relation === watcher.relation)
    const room = mostBehind - early.length
    if (own.length > room) watcher.missed = true
    early.push(...own.slice(0, room))
  }

  const round = Effect.fnUntraced(function*(): Effect.fn.Return<void, RecordsError> {
    for (;;) {
      const page = yield* changes.since(relations(), String(position), mostRead)
      const now = yield* Clock.currentTimeMillis
      const newsOf = makeNews()
      const touched = new Set(page.map(({ change }) => change.relation))
      for (const watcher of watchers) {
        if (!touched.has(watcher.relation) || !(yield* valid(watcher))) continue
        if (watcher.early === null) yield* tellAll(watcher, page, now, newsOf)
        else keep(watcher, watcher.early, page)
      }
      const last = page.at(-1)
      if (last !== undefined) position = BigInt(last.position)
      // What did not fit comes with the next round.
      if (page.length < mostRead) return
    }
  })

  const loop = Effect.gen(function*() {
    let renewed = 0
    let beat = 0
    while (watchers.size > 0 && !closed) {
      const now = yield* Clock.currentTimeMillis
      if (now - renewed > renewMs) {
        yield* Effect.ignore(changes.watch(relations()))
        renewed = now
      }
      // The loop asks again when the database was unavailable. No change is lost.
      yield* Effect.ignore(round())
      if (now - beat > beatMs) {
        beat = now
        for (const watcher of watchers) {
          if (watcher.early !== null || !(yield* valid(watcher))) continue
          // Changes that wait for an answer of the database have not been told, so the mark stays before them.
          const own = watcher.position > position || (watcher.waiting !== null && watcher.waiting.length > 0)
          say(watcher, `id: ${markOf(own ? watcher.position : position, Math.floor(now / 1_000))}\n:\n\n`)
        }
      }
      yield* Effect.sleep(pollMs)
    }
    running = false
  })

  /** Tells of the changes between two positions; false: they are too many. The loop reads what comes after them. */
  const catchUp = Effect.fnUntraced(function*(
    watcher: Watcher,
    from: string,
    to: string
  ): Effect.fn.Return<boolean, RecordsError> {
    let at = from
    for (let count = 0; BigInt(at) < BigInt(to);) {
      if (count >= mostBehind) return false
      const page = yield* changes.since([watcher.relation], at, mostRead)
      const last = page.at(-1)
      if (last === undefined) return true
      yield* tellAll(watcher, page, yield* Clock.currentTimeMillis, makeNews())
      at = last.position
      count += page.length
    }
    return true
  })

  const start = Effect.fnUntraced(function*(
    watcher: Watcher,
    mark: string | null
  ): Effect.fn.Return<void, RecordsError> {
    yield* changes.watch([watcher.relation])
    const { position: last, seconds } = yield* changes.last
    const from = resumeAt(mark, seconds)
    if (!running) {
      position = BigInt(last)
      running = true
      yield* Effect.forkDetach(loop)
    }
    watcher.position = BigInt(from === null || from === "too-old" ? last : from.position)
    const whole = from === null || (from !== "too-old" && (yield* catchUp(watcher, from.position, last)))
    if (!whole) {
      watcher.position = BigInt(last)
      say(watcher, resetText)
    }
    say(watcher, `id: ${markOf(watcher.position, seconds)}\nretry: 2000\n:\n\n`)
    // While these are told, later ones are kept behind them.
    while (watcher.early !== null && watcher.early.length > 0) {
      const early = watcher.early.splice(0)
      yield* tellAll(watcher, early, yield* Clock.currentTimeMillis, makeNews())
    }
    watcher.early = null
    if (watcher.missed) say(watcher, resetText)
  })

  const bytesOf = (watcher: Watcher): AsyncIterable<Uint8Array> => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        while (watcher.texts.length === 0 && !watcher.ended) {
          await new Promise<void>((resolve) => {
            watcher.wake = resolve
          })
        }
        const text = watcher.texts.splice(0).join("")
        return text === "" ? { done: true, value: undefined } : { done: false, value: encoder.encode(text) }
      },
      return: async () => {
        end(watcher)
        return { done: true, value: undefined }
      }
    })
  })

  return {
    count: () => watchers.size,
    close: () => {
      closed = true
      for (const watcher of watchers) end(watcher)
    },
    watch: Effect.fnUntraced(function*(call: Call, resource: string): Effect.fn.Return<StreamedReply, Problem> {
      const access = yield* Effect.fromResult(permitted(call, resource, "read"))
      const { caller, model } = access
      const text = yield* Effect.fromResult(watchRequest(call.query))
      if (model.events.length === 0) {
        return yield* Effect.fail(
          invalidParameter("watch", "This resource declares no events, so its changes are not captured.")
        )
      }
      const checked = Result.flatMap(checkFilter(call.access, access, text), checkWatched)
      const filter = yield* Effect.fromResult(checked)
      const weight = weightOf(filter)
      const held = ofCaller.get(caller.id) ?? { streams: 0, weight: 0 }
      if (closed || held.streams >= mostOfOne || watchers.size >= mostOfAll) {
        return yield* Effect.fail(tooMany("Too many streams are open. Close one first."))
      }
      if (weight > 0 && (held.weight + weight > mostWeightOfOne || weightOfAll + weight > mostWeightOfAll)) {
        return yield* Effect.fail(tooMany("The filters of the open streams weigh too much. Close a stream first."))
      }
      const watcher: Watcher = {
        access,
        filter,
        weight,
        relation: tableName(model),
        again: call.again ?? Effect.succeed(caller),
        position: 0n,
        early: [],
        missed: false,
        waiting: isRelated(filter) ? [] : null,
        question: queryKey(core, access, relatedName(access, filter), text),
        texts: [],
        wake: () => {},
        ended: false
      }
      held.streams++
      held.weight += weight
      weightOfAll += weight
      ofCaller.set(caller.id, held)
      watchers.add(watcher)
      const started = Effect.catch(start(watcher, call.header("last-event-id")), recordsProblem)
      yield* Effect.onExit(started, (exit) => Exit.isSuccess(exit) ? Effect.void : Effect.sync(() => end(watcher)))
      return {
        status: 200,
        headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
        body: null,
        stream: { length: null, bytes: bytesOf(watcher) }
      }
    })
  }
}
