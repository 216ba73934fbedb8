/** The contract of the port to tasks, for the fake and for PostgreSQL. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { Task, TaskRefusal } from "../../core/domain/task/task.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import type { TasksService } from "../../core/ports/tasks.ts"

let last = 0

const taskOf = (owner: string, more: Partial<Task> = {}): Task => ({
  id: `task${++last}`,
  resource: "notes",
  state: "running",
  owner: { id: owner, roles: ["boss", "two, words"], tenant: null },
  request: { kind: "bulk", op: "update", filter: "title = \"ü\\\"\"", except: ["1,2"], data: { title: "\u0000x" } },
  position: null,
  total: 3_000_000_000,
  done: 0,
  written: 0,
  refused: 0,
  error: null,
  createdAt: "2026-11-01T10:00:00.5Z",
  endedAt: null,
  ...more
})

const refusal = (line: number): TaskRefusal => ({
  key: null,
  line,
  column: "a \"column\"",
  field: "title",
  slug: "invalid-record",
  message: "Ünïcode, and \\ more"
})

const all = { offset: 0, limit: 20_000 }

export const tasksContract = (
  use: () => {
    readonly tasks: TasksService
    readonly records: Pick<RecordsService, "transaction">
    /** Lets time pass for the uploads of a person; a negative time is a clock that went back. */
    readonly pass: (owner: string, seconds: number) => Promise<void>
  }
): void => {
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)

  it("keeps a task as it was given", async () => {
    const { tasks } = use()
    const task = taskOf("ann")
    expect(await run(tasks.create(task, 5))).toBe(true)
    expect(await run(tasks.find(task.id))).toEqual(task)
    expect(await run(tasks.find("nothing"))).toBe(null)
  })

  it("takes as many of a person as it is told, ends not counted, each tenant by itself", async () => {
    const { tasks } = use()
    const made = [taskOf("few"), taskOf("few"), taskOf("few")]
    expect([
      await run(tasks.create(made[0]!, 2)),
      await run(tasks.create(made[1]!, 2)),
      await run(tasks.create(made[2]!, 2))
    ]).toEqual([true, true, false])
    expect(await run(tasks.create(taskOf("few", { owner: { id: "few", roles: [], tenant: "7" } }), 2))).toBe(true)
    expect(await run(tasks.change(made[0]!.id, ["running"], { state: "cancelled" }))).toBe(true)
    expect(await run(tasks.create(made[2]!, 2))).toBe(true)
    expect((await run(tasks.list({ id: "few", tenant: null }))).map(({ id }) => id).toSorted()).toEqual(
      made.map(({ id }) => id).toSorted()
    )
  })

  it("changes a task in one of the states only, adds to its counts, and stamps its end", async () => {
    const { tasks } = use()
    const task = taskOf("change")
    await run(tasks.create(task, 5))
    expect(await run(tasks.change(task.id, ["uploaded"], { done: 9 }))).toBe(false)
    await run(
      tasks.change(task.id, ["running"], {
        done: 5,
        written: 3,
        refused: 2,
        position: "p",
        refusals: [refusal(1), refusal(2)]
      })
    )
    await run(tasks.change(task.id, ["running"], { done: 1, refusals: [refusal(3)] }))
    expect(await run(tasks.find(task.id))).toMatchObject({
      done: 6,
      written: 3,
      refused: 2,
      position: "p",
      endedAt: null
    })
    expect(await run(tasks.refusals(task.id, all))).toEqual([refusal(1), refusal(2), refusal(3)])
    expect(await run(tasks.refusals(task.id, { offset: 1, limit: 1 }))).toEqual([refusal(2)])
    await run(tasks.change(task.id, ["running"], { restart: true, done: 1, refusals: [refusal(4)] }))
    expect(await run(tasks.find(task.id))).toMatchObject({ done: 1, written: 0, refused: 0 })
    expect(await run(tasks.refusals(task.id, all))).toEqual([refusal(4)])
    const error = { slug: "access-denied", message: "No." }
    await run(tasks.change(task.id, ["running"], { state: "failed", error }))
    const failed = (await run(tasks.find(task.id)))!
    expect(failed).toMatchObject({ state: "failed", error })
    expect(Date.parse(failed.endedAt!)).toBeGreaterThan(Date.now() - 60_000)
  })

  it("keeps the first 10,000 refusals", async () => {
    const { tasks } = use()
    const task = taskOf("many")
    await run(tasks.create(task, 5))
    const some = Array.from({ length: 4_000 }, (_, i) => refusal(i))
    for (let i = 0; i < 3; i++) await run(tasks.change(task.id, ["running"], { refused: 4_000, refusals: some }))
    expect(await run(tasks.refusals(task.id, all))).toHaveLength(10_000)
    expect((await run(tasks.find(task.id)))!.refused).toBe(12_000)
  })

  it("keeps parts as they were given, and lets them go", async () => {
    const { tasks } = use()
    const task = taskOf("parts", { state: "uploading" })
    await run(tasks.create(task, 5))
    expect(await run(tasks.addPart(task.id, 0, "[{\"a\":\"\\u0000\"}]"))).toBe(true)
    expect(await run(tasks.addPart(task.id, 1, "two"))).toBe(true)
    expect(await run(tasks.part(task.id, 0))).toBe("[{\"a\":\"\\u0000\"}]")
    expect(await run(tasks.part(task.id, 2))).toBe(null)
    await run(tasks.change(task.id, ["uploading"], { state: "cancelled", drop: true }))
    expect(await run(tasks.part(task.id, 1))).toBe(null)
    expect(await run(tasks.addPart(task.id, 2, "late"))).toBe(false)
    expect(await run(tasks.addPart("nothing", 0, "of nobody"))).toBe(false)
    expect(await run(tasks.part(task.id, 2))).toBe(null)
    await run(tasks.remove(task.id))
    expect(await run(tasks.find(task.id))).toBe(null)
    expect(await run(tasks.refusals(task.id, all))).toEqual([])
  })

  it("counts an upload as ended a minute after the last sign of life of who receives it", async () => {
    const { pass, tasks } = use()
    const now = () => new Date().toISOString()
    const upload = () => taskOf("upload", { state: "uploading", total: null, createdAt: now() })
    const first = upload()
    const states = async () => (await run(tasks.list({ id: "upload", tenant: null }))).map(({ state }) => state)
    const takes = async () => {
      const one = upload()
      const kept = await run(tasks.create(one, 1))
      if (kept) await run(tasks.remove(one.id))
      return kept
    }
    expect(await run(tasks.create(first, 1))).toBe(true)
    expect([await takes(), await states()]).toEqual([false, ["uploading"]])
    await pass("upload", 50)
    await run(tasks.beat(first.id))
    await pass("upload", 50)
    expect([await takes(), await states()]).toEqual([false, ["uploading"]])
    await pass("upload", 20)
    expect([await takes(), await states()]).toEqual([true, ["failed"]])
    const broken = (await run(tasks.find(first.id)))!
    expect(broken).toMatchObject({ state: "failed", position: null, error: { slug: "malformed-request" } })
    expect(broken.endedAt).not.toBe(null)
    // Who was away for a while may go on, and a clock that went back says nothing about it.
    await run(tasks.beat(first.id))
    expect([await takes(), await states()]).toEqual([false, ["uploading"]])
    await pass("upload", -3_600)
    await run(tasks.beat(first.id))
    expect([await takes(), await states()]).toEqual([false, ["uploading"]])
    await pass("upload", -3_600)
    expect([await takes(), await states()]).toEqual([true, ["failed"]])
    await run(tasks.beat(first.id))
    expect(await run(tasks.change(first.id, ["uploading"], { state: "uploaded", total: 1 }))).toBe(true)
    expect(await run(tasks.find(first.id))).toMatchObject({ state: "uploaded", position: null, error: null })
    // Only uploads need signs of life.
    await pass("upload", 600)
    await run(tasks.beat(first.id))
    expect([await takes(), await states()]).toEqual([false, ["uploaded"]])
    expect(await run(tasks.find(first.id))).toMatchObject({ position: null, endedAt: null })
  })

  it("does what it does within a transaction when that commits, and not when it fails", async () => {
    const { records, tasks } = use()
    const task = taskOf("within")
    const failing = records.transaction((tx) =>
      Effect.andThen(tasks.create(task, 5, tx.handle), Effect.fail("no" as const))
    )
    expect(await run(Effect.flip(failing))).toBe("no")
    expect(await run(tasks.find(task.id))).toBe(null)
    await run(records.transaction((tx) => tasks.create(task, 5, tx.handle)))
    const changing = (fails: boolean) =>
      records.transaction((tx) =>
        Effect.andThen(
          tasks.change(task.id, ["running"], { done: 1, refusals: [refusal(1)] }, tx.handle),
          fails ? Effect.fail("no" as const) : Effect.void
        )
      )
    await run(Effect.flip(changing(true)))
    expect(await run(tasks.find(task.id))).toMatchObject({ done: 0 })
    expect(await run(tasks.refusals(task.id, all))).toEqual([])
    await run(changing(false))
    expect(await run(tasks.find(task.id))).toMatchObject({ done: 1 })
  })

  it("gives a claimed task to one transaction at a time, each with what the one before it did", async () => {
    const { records, tasks } = use()
    const task = taskOf("claim")
    await run(tasks.create(task, 5))
    const one = records.transaction((tx) =>
      Effect.gen(function*() {
        const found = (yield* tasks.claim(task.id, tx.handle))!
        yield* Effect.sleep(5)
        yield* tasks.change(task.id, ["running"], { position: String(Number(found.position ?? "0") + 1) }, tx.handle)
      })
    )
    await Promise.all(Array.from({ length: 4 }, () => run(one)))
    expect(await run(tasks.find(task.id))).toMatchObject({ position: "4" })
  })
}
