// While an import arrives, however slowly, its task gets signs of life: so it is told from one whose service was killed.
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import type { Incoming } from "../../core/app/ground/call.ts"
import { importFile } from "../../core/app/task/import.ts"
import type { Tasking } from "../../core/app/task/tasking.ts"
import { beatSeconds, silentSeconds } from "../../core/domain/task/task.ts"
import { fixture, startTasks } from "../http/tasks/scenes.ts"

it.effect("an upload that stalls for five minutes is alive, and beats no more once it has arrived", () =>
  Effect.gen(function*() {
    const scene = yield* Effect.promise(() => startTasks("fake", fixture(1)))
    const { tasking } = scene
    const beats: string[] = []
    const use: Tasking = {
      ...tasking,
      tasks: { ...tasking.tasks, beat: (id) => Effect.sync(() => void beats.push(id)) }
    }
    let arrive = (): void => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const incoming: Incoming = {
      isForm: false,
      type: "text/csv",
      length: null,
      open: Effect.succeed({
        name: null,
        type: "text/csv",
        length: null,
        bytes: (async function*() {
          yield new TextEncoder().encode("id,title\n")
          await arrived
          yield new TextEncoder().encode("7,late\n")
        })()
      })
    }
    const caller = { id: "bob", roles: ["boss"], tenant: null }
    const call = { caller, access: use.accesses(caller), path: "/api/v1/notes:import", query: [], header: () => null }
    const sending = yield* Effect.forkChild(importFile(use, call, "notes", incoming), { startImmediately: true })
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    yield* TestClock.adjust("5 minutes")
    expect(beats.length).toBe(300 / beatSeconds)
    expect(2 * beatSeconds).toBeLessThan(silentSeconds)
    arrive()
    const { status } = yield* Fiber.join(sending)
    expect(status).toBe(201)
    yield* TestClock.adjust("5 minutes")
    expect(beats.length).toBe(300 / beatSeconds)
    yield* Effect.promise(() => scene.service.close())
  }))
