/**
 * `:watch`: changes of a resource as they are sent on, for callers who look at it (Server-Sent Events). One loop of the process reads for all who watch;
 * each is told of what they may see, and nothing of what is in it. Whoever is too slow, or was away for too long, is told to read anew.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Access } from "../domain/access/access.ts"
import type { Caller } from "../domain/access/caller.ts"
import { cellsOf, judgedRow, recordChange, type StoredChange } from "../domain/event/change.ts"
import { evaluate } from "../domain/filter/evaluate.ts"
import { tableName } from "../domain/model/table.ts"
import { invalidParameter, problem } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import { writeKey } from "../domain/read/key.ts"
import type { ChangesService } from "../ports/changes.ts"
import type { RecordsError } from "../ports/records.ts"
import type { Call, Reply } from "./call.ts"
import { permitted } from "./core.ts"
import { recordsProblem } from "./refusal.ts"

/** How often changes are looked for while somebody watches, and how often those who hear nothing are told so. */
const pollMs = 500
const beatMs = 10_000
/** How often it is said that somebody watches. */
const renewMs = 60_000
/** For how long a stream can be taken up again, in seconds. */
const resumableSeconds = 600
/** Changes read at once, and most that are caught up on. */
const mostRead = 500
const mostBehind = 5_000
/** Most texts that wait for one who is slow. */
const mostWaiting = 1_000
/** Streams of one caller, and of all in this process. */
const mostOfOne = 16
const mostOfAll = 2_000

/** A body that is sent as it comes, of no known length. */
export interface WatchReply extends Reply {
  readonly stream: { readonly length: null; readonly bytes: AsyncIterable<Uint8Array> }
}

interface Watcher {
  readonly access: Access
  readonly relation: string
  readonly again: Effect.Effect<Caller, unknown>
  position: bigint
  /** Changes that came while older ones were read. */
  early: Array<{ readonly position: string; readonly change: StoredChange }> | null
  texts: string[]
  wake: () => void
  ended: boolean
}

export interface Watching {
  readonly watch: (call: Call, resource: string) => Effect.Effect<WatchReply, Problem>
  /** How many watch now. */
  readonly count: () => number
  /** Ends all streams, and takes no more. */
  readonly close: () => void
}

const encoder = new TextEncoder()

const markOf = (position: bigint | string, seconds: number): string => `${position}-${seconds}`

/** Where a stream is to go on: the position of a `Last-Event-ID` that is not too old. */
const resumeAt = (mark: string | null, seconds: number): { readonly position: string } | "anew" | null => {
  if (mark === null) return null
  const parts = /^(\d{1,19})-(\d{1,12})$/.exec(mark)
  if (parts === null) return "anew"
  const age = seconds - Number(parts[2])
  return age < -60 || age > resumableSeconds ? "anew" : { position: parts[1]! }
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

  const tell = (watcher: Watcher, at: string, stored: StoredChange, now: number): void => {
    const { access } = watcher
    if (watcher.ended || BigInt(at) <= watcher.position) return
    watcher.position = BigInt(at)
    const change = recordChange(access.model, stored)
    if (change === null) return
    const bindings = { caller: access.caller, now: BigInt(now) * 1000n, params: [] }
    const sees = [change.before, change.after].some((row) =>
      row !== null && evaluate(access.rows, cellsOf(row), bindings)
    )
    if (!sees) return
    const row = judgedRow(change)
    const data = {
      key: writeKey(access.model.key.map(({ index }) => row[index] ?? null)),
      operation: change.operation,
      sequence: stored.sequence
    }
    say(watcher, `id: ${markOf(at, Math.floor(now / 1_000))}\nevent: change\ndata: ${JSON.stringify(data)}\n\n`)
  }

  /** A credential may have been revoked since: who has none any more is told nothing more. */
  const valid = (watcher: Watcher): Effect.Effect<boolean> =>
    Effect.map(Effect.exit(watcher.again), (exit) => {
      const held = Exit.isSuccess(exit) && exit.value.id === watcher.access.caller.id &&
        exit.value.tenant === watcher.access.caller.tenant &&
        exit.value.roles.join("\0") === watcher.access.caller.roles.join("\0")
      if (!held) end(watcher)
      return held
    })

  const relations = (): readonly string[] => [...new Set([...watchers].map(({ relation }) => relation))]

  const round = Effect.fnUntraced(function*(): Effect.fn.Return<void, RecordsError> {
    for (;;) {
      const found = yield* changes.since(relations(), String(position), mostRead)
      const now = yield* Clock.currentTimeMillis
      const touched = new Set(found.map(({ change }) => change.relation))
      for (const watcher of watchers) {
        if (!touched.has(watcher.relation) || !(yield* valid(watcher))) continue
        for (const each of found) {
          if (each.change.relation !== watcher.relation) continue
          if (watcher.early === null) tell(watcher, each.position, each.change, now)
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
      // A database that is away for a while is asked again: nothing is lost by that.
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
      for (const each of found) tell(watcher, each.position, each.change, now)
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
    watcher.position = BigInt(from === null || from === "anew" ? last : from.position)
    const whole = from === null || (from !== "anew" && (yield* catchUp(watcher, from.position)))
    if (!whole) {
      watcher.position = BigInt(last)
      say(watcher, "event: reset\ndata: {}\n\n")
    }
    say(watcher, `id: ${markOf(watcher.position, seconds)}\nretry: 2000\n:\n\n`)
    const early = watcher.early ?? []
    watcher.early = null
    const now = yield* Clock.currentTimeMillis
    for (const each of early) tell(watcher, each.position, each.change, now)
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
    watch: Effect.fnUntraced(function*(call: Call, resource: string): Effect.fn.Return<WatchReply, Problem> {
      const access = yield* Effect.fromResult(permitted(call, resource, "read"))
      const { caller, model } = access
      if (call.query.length > 0) {
        return yield* Effect.fail(invalidParameter(call.query[0]![0].slice(0, 100), "There are no parameters here."))
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
