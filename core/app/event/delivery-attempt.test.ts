// A try asks what may be told now, however long it has waited.
import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { makeModel } from "../../../test/support/model.ts"
import type { Access } from "../../domain/access/access.ts"
import type { Subscription } from "../../domain/event/subscription.ts"
import { type Delivering, type Delivery, tryDelivery } from "./delivery-attempt.ts"

it("what its reader may no longer read is sent to nobody, and counts as done", async () => {
  const model = makeModel({ name: "orders", fields: [{ name: "id" }] })
  const denied = { decisions: { read: { of: "deny" } } } as unknown as Access
  const ended: string[] = []
  for (const access of [null, denied]) {
    const use = {
      subscriptions: {
        rolesOf: () => Effect.succeed(["sales"]),
        unchanged: () => Effect.succeed(true),
        ended: (_: Subscription, { outcome }: { readonly outcome: string }) => Effect.sync(() => ended.push(outcome))
      },
      readers: { resolve: () => access, rules: new Map() },
      outbound: { post: () => Effect.die(new Error("sent")) },
      seal: { digest: (text: string) => text },
      log: () => {}
    } as unknown as Delivering
    const delivery = {
      subscription: {
        id: "s",
        name: "s",
        events: new Map([["orders", null]]),
        when: new Map(),
        reader: { of: "owner", id: "ann", roles: null },
        tenant: null,
        target: { of: "url", url: "https://receiver.example", anyAddress: false }
      },
      happened: {
        change: {
          model,
          operation: "create",
          before: null,
          after: ["1"],
          stored: { sequence: "1", transaction: "1", at: "2026-11-27T10:00:00Z" }
        },
        event: "created"
      },
      test: false
    } as unknown as Delivery
    expect((await Effect.runPromise(tryDelivery(use, delivery, 2))).outcome).toBe("skipped")
  }
  expect(ended).toEqual(["skipped", "skipped"])
})
