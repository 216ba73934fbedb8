/** Tasks in memory, as the port says: what is done within a transaction of the records fake is there when that commits. */

import * as Effect from "effect/Effect"
import { brokenOff, ended, mostKept } from "../../core/domain/task/task.ts"
import type { Task, TaskRefusal } from "../../core/domain/task/task.ts"
import type { TaskChange, TasksService, Within } from "../../core/ports/tasks.ts"
import type { FakeHandle } from "./records.ts"

interface Stored {
  task: Task
  refusals: readonly TaskRefusal[]
  readonly parts: Map<number, string>
  /** When its upload was last known to go on. */
  beat: number
}

/** The port, and a clock that moves for uploads when it is told to. */
export interface FakeTasks {
  readonly service: TasksService
  readonly pass: (seconds: number) => void
}

/** Longest time of an upload between two signs of life, in milliseconds. */
const silentMs = 60_000

export const makeFakeTasks = (): FakeTasks => {
  let passed = 0
  const now = (): number => Date.now() + passed
  const all = new Map<string, Stored>()
  const held = new Map<string, Array<() => void>>()

  const isDead = ({ beat, task }: Stored): boolean => task.state === "uploading" && Math.abs(now() - beat) > silentMs
  /** A task as others see it. */
  const seen = (stored: Stored): Task =>
    isDead(stored)
      ? { ...stored.task, state: "failed", error: brokenOff, endedAt: new Date(stored.beat).toISOString() }
      : stored.task

  const within = (handle: Within | undefined, work: () => void): void => {
    if (handle === undefined) work()
    else (handle as FakeHandle).onCommit(work)
  }

  const applied = (stored: Stored, change: TaskChange): void => {
    const { task } = stored
    const base = change.restart === true ? { done: 0, written: 0, refused: 0 } : task
    stored.task = {
      ...task,
      ...(change.state === undefined ? {} : { state: change.state }),
      ...(change.request === undefined ? {} : { request: change.request }),
      ...(change.position === undefined ? {} : { position: change.position }),
      ...(change.total === undefined ? {} : { total: change.total }),
      ...(change.error === undefined ? {} : { error: change.error }),
      ...(change.state !== undefined && ended.includes(change.state) ? { endedAt: new Date().toISOString() } : {}),
      done: base.done + (change.done ?? 0),
      written: base.written + (change.written ?? 0),
      refused: base.refused + (change.refused ?? 0)
    }
    const before = change.restart === true ? [] : stored.refusals
    stored.refusals = [...before, ...change.refusals ?? []].slice(0, mostKept)
    if (change.drop === true) stored.parts.clear()
  }

  const service: TasksService = {
    create: (task, most, handle) =>
      Effect.sync(() => {
        const open = [...all.values()].map(seen).filter(({ owner, state }) =>
          owner.id === task.owner.id && owner.tenant === task.owner.tenant && !ended.includes(state)
        )
        if (open.length >= most) return false
        within(handle, () => void all.set(task.id, { task, refusals: [], parts: new Map(), beat: now() }))
        return true
      }),
    beat: (id) =>
      Effect.sync(() => {
        const stored = all.get(id)
        if (stored !== undefined) stored.beat = now()
      }),
    find: (id) =>
      Effect.sync(() => {
        const stored = all.get(id)
        return stored === undefined ? null : seen(stored)
      }),
    list: ({ id, tenant }) =>
      Effect.sync(() =>
        [...all.values()].map(seen).filter(({ owner }) => owner.id === id && owner.tenant === tenant)
          .reverse().slice(0, 50)
      ),
    claim: (id, handle) =>
      Effect.promise(async () => {
        for (let waiting = held.get(id); waiting !== undefined; waiting = held.get(id)) {
          await new Promise<void>((resolve) => waiting!.push(resolve))
        }
        held.set(id, [])
        ;(handle as FakeHandle).onEnd(() => {
          const waiting = held.get(id) ?? []
          held.delete(id)
          for (const go of waiting) go()
        })
        return all.get(id)?.task ?? null
      }),
    change: (id, from, change, handle) =>
      Effect.sync(() => {
        const stored = all.get(id)
        if (stored === undefined || !from.includes(stored.task.state)) return false
        within(handle, () => applied(stored, change))
        return true
      }),
    addPart: (id, part, text) =>
      Effect.sync(() => {
        const stored = all.get(id)
        if (stored?.task.state !== "uploading") return false
        stored.parts.set(part, text)
        return true
      }),
    part: (id, part) => Effect.sync(() => all.get(id)?.parts.get(part) ?? null),
    refusals: (id, { limit, offset }) => Effect.sync(() => (all.get(id)?.refusals ?? []).slice(offset, offset + limit)),
    remove: (id) => Effect.sync(() => void all.delete(id))
  }
  return {
    service,
    pass: (seconds) => {
      passed += seconds * 1_000
    }
  }
}
