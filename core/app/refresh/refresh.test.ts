// Who asks for a refresh waits for no poll of a worker, whoever asks: a request, or a schedule.
import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { FakeQueue } from "../../../test/fakes/queue.ts"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import { refresh } from "./refresh.ts"

const caller = { id: "ann", roles: ["clerk"], tenant: null }

it("a refresh is enqueued, and its worker is woken then", async () => {
  const model = makeModel({ name: "totals", fields: [{ name: "id" }] })
  const readable = accessOf(model, caller, { roles: null, defaultAccess: "allow" })
  const access = {
    ...readable,
    model: { ...model, materialized: { schedule: null, timeoutMs: 1_000 } },
    mayRefresh: true
  }
  const told: string[] = []
  const queue = new FakeQueue()
  const call = { caller, access: () => access, path: "/api/v1/totals:refresh", query: [], header: () => null }
  const reply = await Effect.runPromise(refresh(
    {
      enqueue: (plans, within) =>
        Effect.tap(queue.service.enqueue(plans, within), () => Effect.sync(() => told.push("enqueued")))
    },
    () => void told.push("woken"),
    call,
    "totals"
  ))
  expect([reply.status, told]).toEqual([202, ["enqueued", "woken"]])
})
