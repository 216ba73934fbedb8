import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describe, expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { Changes } from "../../core/ports/changes.ts"
import type { Workers } from "../../core/ports/queue.ts"
import { Tokens } from "../../core/ports/tokens.ts"
import { Fakes, Memory } from "../../test/fakes/memory.ts"
import { testSecret } from "../../test/support/composed.ts"
import { compileOrThrow } from "../create-admin.ts"
import type { DeploymentSettings } from "../deployment.ts"
import { Http } from "./http.ts"
import { build } from "./live.ts"
import { JobRunner } from "./queue.ts"
import { Work } from "./work.ts"

const told: DeploymentSettings = {
  compiled: compileOrThrow({
    resources: [
      defineResource("notes", {
        table: "notes",
        primaryKey: "id",
        fields: { id: f.integer().readOnly().dbDefault() },
        events: { created: true }
      })
    ],
    jobs: [defineJob({ name: "nothing", run: () => {} })]
  }),
  accounts: null,
  authenticator: () => ({ user: { id: "ann", roles: ["admin"] } }),
  secret: testSecret,
  publicUrl: "http://service.test",
  webFolder: "no-admin-app"
}

/** Something that others wait for. */
const gate = (): { readonly reached: Promise<void>; readonly wait: () => Promise<void>; readonly open: () => void } => {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  return {
    reached: reached.promise,
    open: opened.resolve,
    wait: () => {
      reached.resolve()
      return opened.promise
    }
  }
}

/** Whatever waits for nothing is done in these turns of the event loop. */
const turns = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
}

const get = (path: string): Request =>
  new Request(`http://service.test${path}`, { headers: { authorization: "Bearer x" } })

describe("the end of a service", () => {
  it("waits for requests, workers and dispatch, which end at the same time, before any port is closed", async () => {
    const order: string[] = []
    const [asked, stopping, looking] = [gate(), gate(), gate()]
    const caller = { id: "ann", roles: ["admin"], tenant: null }
    const slow = Layer.effectContext(Effect.gen(function*() {
      const { changes, db, queue } = yield* Fakes
      const start = (...given: Parameters<typeof queue.start>): Promise<Workers> => {
        const workers = queue.start(...given)
        return Promise.resolve({
          ...workers,
          stop: async () => {
            order.push("workers are told")
            await stopping.wait()
            await workers.stop()
            order.push("workers have stopped")
          }
        })
      }
      return Context.make(JobRunner, { db, start }).pipe(
        Context.add(Tokens, { authenticate: () => Effect.as(Effect.promise(asked.wait), caller) }),
        Context.add(Changes, {
          ...changes,
          waiting: Effect.andThen(
            Effect.promise(looking.wait),
            Effect.sync(() => {
              order.push("dispatch has looked")
              return false
            })
          )
        })
      )
    }))
    const closed = Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => order.push("ports close"))))
    const ports = Layer.mergeAll(slow, closed).pipe(Layer.provideMerge(Memory))
    const { close, made } = await build(ports, told)
    const { fetch } = Context.get(made, Http)
    await Context.get(made, Work).start()
    const answer = fetch(get("/api/meta")).then(({ status }) => void order.push(`answer ${status}`))
    await Promise.all([asked.reached, looking.reached])

    const closing = Promise.all([close(), close()]).then(() => void order.push("closed"))
    await turns()
    let late = 0
    void fetch(get("/api/meta")).then(({ status }) => {
      late = status
    })
    await turns()
    expect([late, order]).toEqual([503, ["workers are told"]])
    looking.open()
    await turns()
    asked.open()
    await answer
    await turns()
    expect(order).toEqual(["workers are told", "dispatch has looked", "answer 200"])
    stopping.open()
    await closing
    expect(order.slice(3)).toEqual(["workers have stopped", "ports close", "closed"])
  })

  it("waits for workers that are still starting, and stops them", async () => {
    const starting = gate()
    const stopped: string[] = []
    const slow = Layer.effect(
      JobRunner,
      Effect.map(Fakes, ({ db, queue }) => ({
        db,
        start: async (...given: Parameters<typeof queue.start>) => {
          await starting.wait()
          const workers = queue.start(...given)
          return { ...workers, stop: () => (stopped.push("workers"), workers.stop()) }
        }
      }))
    )
    const { close, made } = await build(Layer.provideMerge(slow, Memory), told)
    const started = Context.get(made, Work).start()
    const closing = close()
    starting.open()
    await Promise.all([started, closing])
    expect(stopped).toEqual(["workers"])
  })

  it("closes what was opened when something else cannot be", async () => {
    const open = new Set<string>()
    const opened = (name: string) =>
      Layer.effectDiscard(Effect.acquireRelease(
        Effect.sync(() => open.add(name)),
        () => Effect.sync(() => open.delete(name))
      ))
    const broken = Layer.effect(
      Tokens,
      Effect.sync(() => {
        expect([...open]).toEqual(["a pool"])
        throw new TypeError("no keys")
      })
    )
    const ports = broken.pipe(Layer.provideMerge(opened("a pool")), Layer.provideMerge(Memory))
    await expect(build(ports, told)).rejects.toThrow(TypeError)
    expect(open.size).toBe(0)
  })
})
