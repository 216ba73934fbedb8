/**
 * `:watch`: streams the changes of a resource to callers (Server-Sent Events). One loop of the process reads for all streams. Each caller learns
 * which visible records changed, without their values. A caller that is too slow, or was away for too long, is told to read again.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Access } from "../../domain/access/access.ts"
import type { Caller } from "../../domain/access/caller.ts"
import { cellsOf, judgedRow, recordChange, type StoredChange } from "../../domain/event/change.ts"
import { evaluate } from "../../domain/filter/evaluate.ts"
import type { Model } from "../../domain/model/model.ts"
import { tableName } from "../../domain/model/table.ts"
import { invalidParameter, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { writeKey } from "../../domain/read/key.ts"
import type { Row } from "../../domain/value/kind.ts"
import type { ChangesService } from "../../ports/changes.ts"
import type { RecordsError } from "../../ports/records.ts"
import { stillHeld } from "../ground/call.ts"
import type { Call, StreamedReply } from "../ground/call.ts"
import { permitted } from "../ground/core.ts"
import { recordsProblem } from "../ground/refusal.ts"

/** How often changes are looked for while somebody watches, and how often idle streams get a sign of life. */
const pollMs = 500
const beatMs = 10_000
/** How often the process announces that somebody watches. */
const renewMs = 60_000
/** For how long a stream can be resumed, in seconds. */
const resumableSeconds = 600
/** Changes read at once, and the most that a resumed stream catches up on. */
const mostRead = 500
const mostBehind = 5_000
/** Most texts that are queued for a slow caller. */
const mostWaiting = 1_000
/** Most streams of one caller, and of all in this process. */
const mostOfOne = 16
const mostOfAll = 2_000

interface Watcher {
  readonly access: Access
  readonly relation: string
  readonly again: Effect.Effect<Caller, unknown>
  position: bigint
  /** Changes that arrived while older ones were read. */
  early: Array<{ readonly position: string; readonly change: StoredChange }> | null
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

/** A change as it is sent, the same for all who see it. Null: the API could not have seen the change. */
type News = { readonly rows: ReadonlyArray<Row | null>; readonly text: string } | null

/** The texts of one round, by resource and position. All streams of a resource share them. */
const makeNews = () => {
  const known = new Map<string, News>()
  return (model: Model, at: string, stored: StoredChange, now: number): News => {
    const name = `${model.name} ${at}`
    const found = known.get(name)
    if (found !== undefined) return found
    const change = recordChange(model, stored)
    let news: News = null
    if (change !== null) {
      const row = judgedRow(change)
      const data = {
        key: writeKey(model.key.map(({ index }) => row[index] ?? null)),
        operation: change.operation,
        sequence: stored.sequence
      }
      const id = markOf(at, Math.floor(now / 1_000))
      news = {
        rows: [change.before, change.after],
        text: `id: ${id}\nevent: change\ndata: ${JSON.stringify(data)}\n\n`
      }
    }
    known.set(name, news)
    return news
  }
}

const markOf = (position: bigint | string, seconds: number): string => `${position}-${seconds}`

/** Where a stream resumes: the position of a `Last-Event-ID` that is not too old. */
const resumeAt = (mark: string | null, seconds: number): { readonly position: string } | "too-old" | null => {
  if (mark === null) return null
  const parts = /^(\d{1,19})-(\d{1,12})$/.exec(mark)
  if (parts === null) return "too-old"
  const age = seconds - Number(parts[2])
  return age < -60 || age > resumableSeconds ? "too-old" : { position: parts[1]! }
}

/** Makes `:watch` over captured changes. */
export const makeWatching = (changes: ChangesService): Watching => {
  const watchers = new Set<Watcher>()
  const ofCaller = new Map<string, number>()
  let position = 0n
  let running = false
  let closed = false

  const say = (watcher: Watcher, text: string): void => {
    if (watcher.texts.length >= mostWaiting) watcher.texts = ["event: reset\ndata: {}\n\n"]
    watcher.texts.push(text)
    watcher.wake()
  }

  const end = (watcher: Watcher): void => {
    if (watcher.ended) return
    watcher.ended = true
    watchers.delete(watcher)
    const { id } = watcher.access.caller
    const left = (ofCaller.get(id) ?? 1) - 1
    if (left === 0) ofCaller.delete(id)
    else ofCaller.set(id, left)
    watcher.wake()
  }

  const tell = (
    watcher: Watcher,
    at: string,
    stored: StoredChange,
    now: number,
    newsOf: ReturnType<typeof makeNews>
  ): void => {
    const { access } = watcher
    if (watcher.ended || BigInt(at) <= watcher.position) return
    watcher.position = BigInt(at)
    const news = newsOf(access.model, at, stored, now)
    if (news === null) return
    const bindings = { caller: access.caller, now: BigInt(now) * 1000n, params: [] }
    const sees = news.rows.some((row) => row !== null && evaluate(access.rows, cellsOf(row), bindings))
    if (sees) say(watcher, news.text)
  }

  /** A credential may have been revoked since. Without a valid one, the caller is told nothing more. */
  const valid = (watcher: Watcher): Effect.Effect<boolean> =>
    Effect.map(stillHeld(watcher.again, watcher.access.caller), (held) => {
      if (!held) end(watcher)
      return held
    })

  const relations = (): readonly string[] => [...new Set([...watchers].map(({ relation }) => relation))]

  const round = Effect.fnUntraced(function*(): Effect.fn.Return<void, RecordsError> {
    for (;;) {
      const found = yield* changes.since(relations(), String(position), mostRead)
      const now = yield* Clock.currentTimeMillis
      const newsOf = makeNews()
      const touched = new Set(found.map(({ change }) => change.relation))
      for (const watcher of watchers) {
        if (!touched.has(watcher.relation) || !(yield* valid(watcher))) continue
        for (const each of found) {
          if (each.change.relation !== watcher.relation) continue
          if (watcher.early === null) tell(watcher, each.position, each.change, now, newsOf)
          else if (watcher.early.length < mostBehind) watcher.early.push(each)
        }
      }
      const last = found.at(-1)
      if (last !== undefined) position = BigInt(last.position)
      if (found.length < mostRead) return
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
          say(
            watcher,
            `id: ${markOf(watcher.position > position ? watcher.position : position, Math.floor(now / 1_000))}\n:\n\n`
          )
        }
      }
      yield* Effect.sleep(pollMs)
    }
    running = false
  })

  const catchUp = Effect.fnUntraced(function*(watcher: Watcher, from: string): Effect.fn.Return<boolean, RecordsError> {
    let at = from
    for (let count = 0; count < mostBehind; count += mostRead) {
      const found = yield* changes.since([watcher.relation], at, mostRead)
      const now = yield* Clock.currentTimeMillis
      const newsOf = makeNews()
      for (const each of found) tell(watcher, each.position, each.change, now, newsOf)
      at = found.at(-1)?.position ?? at
      if (found.length < mostRead) return true
    }
    return false
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
    const whole = from === null || (from !== "too-old" && (yield* catchUp(watcher, from.position)))
    if (!whole) {
      watcher.position = BigInt(last)
      say(watcher, "event: reset\ndata: {}\n\n")
    }
    say(watcher, `id: ${markOf(watcher.position, seconds)}\nretry: 2000\n:\n\n`)
    const early = watcher.early ?? []
    watcher.early = null
    const now = yield* Clock.currentTimeMillis
    const newsOf = makeNews()
    for (const each of early) tell(watcher, each.position, each.change, now, newsOf)
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
      if (call.query.length > 0) {
        return yield* Effect.fail(invalidParameter(call.query[0]![0].slice(0, 100), "This route takes no parameters."))
      }
      if (model.events.length === 0) {
        return yield* Effect.fail(
          invalidParameter("watch", "This resource declares no events, so its changes are not captured.")
        )
      }
      const own = ofCaller.get(caller.id) ?? 0
      if (closed || own >= mostOfOne || watchers.size >= mostOfAll) {
        return yield* Effect.fail(
          problem("too-many-requests", "Too many streams are open. Close one first.", {}, { "retry-after": "10" })
        )
      }
      const watcher: Watcher = {
        access,
        relation: tableName(model),
        again: call.again ?? Effect.succeed(caller),
        position: 0n,
        early: [],
        texts: [],
        wake: () => {},
        ended: false
      }
      ofCaller.set(caller.id, own + 1)
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
