/** The contract of the port to subscriptions, for the fake and for those of a service: of its configuration and of people. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { Subscription } from "../../core/domain/event/subscription.ts"
import type { TryResult } from "../../core/domain/event/try.ts"
import type { SubscriptionsService } from "../../core/ports/subscriptions.ts"

/** What the contract needs besides the port. */
export interface SubscriptionsStage {
  readonly subscriptions: SubscriptionsService
  /** The id of one of the configuration. */
  readonly configured: string
  /** Has somebody make a subscription, and gives its id. */
  readonly add: (owner: string, enabled?: boolean, roles?: readonly string[] | null) => Promise<string>
  readonly setRoles: (person: string, roles: readonly string[]) => Promise<void>
  readonly stateOf: (id: string) => Promise<{ readonly enabled: boolean; readonly reason: string | null }>
  /** Lets so much time pass for failures. */
  readonly pass: (seconds: number) => Promise<void>
  /** Waits until nothing that was read before is believed any more. */
  readonly fresh: () => Promise<void>
}

const result = (more: Partial<TryResult>): TryResult => ({
  outcome: "failed",
  eventId: "evt_1",
  event: "orders.created",
  resource: "orders",
  key: "1",
  attempt: 1,
  status: 500,
  error: "The receiver answered 500.",
  answer: null,
  headers: null,
  request: null,
  roles: null,
  gone: false,
  asked: null,
  milliseconds: 1,
  test: false,
  ...more
})

const day = 86_400

export const subscriptionsContract = (use: () => SubscriptionsStage): void => {
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)
  const find = async (id: string): Promise<Subscription> => (await run(use().subscriptions.find(id)))!
  const end = (subscription: Subscription, more: Partial<TryResult>) =>
    run(use().subscriptions.ended(subscription, result(more)))
  const gone: Partial<TryResult> = { gone: true, status: 410, error: "The receiver answered 410 Gone." }

  it("has each once, of the configuration and of people, disabled ones too", async () => {
    const [on, off] = [await use().add("ann"), await use().add("bob", false)]
    const all = await run(use().subscriptions.all)
    const ids = all.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining([use().configured, on, off]))
    expect(all.find(({ id }) => id === off)).toMatchObject({ enabled: false, reader: { of: "owner", id: "bob" } })
    expect(all.find(({ id }) => id === on)).toMatchObject({ enabled: true, reader: { of: "owner", id: "ann" } })
  })

  it("finds one as it is now, and none that is not there", async () => {
    const id = await use().add("ann")
    expect(await find(id)).toMatchObject({ id, enabled: true })
    await end(await find(id), gone)
    // At once: a delivery that waits asks here.
    expect((await find(id)).enabled).toBe(false)
    expect((await find(use().configured)).id).toBe(use().configured)
    for (const unknown of ["nobody", "made:999999999999", "made:1 or 1=1", `${id}0000000000000000000`]) {
      expect(await run(use().subscriptions.find(unknown))).toBeNull()
    }
  })

  it("says of one that was read whether it is still so, at once", async () => {
    const [id, other] = [await use().add("ann"), await use().add("ann")]
    const { subscriptions } = use()
    // The first read may make a secret.
    await run(subscriptions.all)
    const [one, still, declared] = [await find(id), await find(other), await find(use().configured)]
    const unchanged = (each: Subscription) => run(subscriptions.unchanged(each))
    expect(await Promise.all([one, still, declared, one].map(unchanged))).toEqual([true, true, true, true])
    await end(one, gone)
    expect(await Promise.all([one, still, declared].map(unchanged))).toEqual([false, true, true])
    expect(await unchanged(await find(id))).toBe(true)
    expect(await unchanged({ ...still, id: "made:999999999999" })).toBe(false)
    // And the list has it, however shortly ago it was read.
    expect((await run(subscriptions.all)).find((each) => each.id === id)?.enabled).toBe(false)
    const late = await use().add("bob")
    expect((await run(subscriptions.all)).some((each) => each.id === late)).toBe(true)
  })

  it("acts with the roles that it keeps, as far as its owner has them now, and with none of who may not act", async () => {
    const rolesOf = async (id: string) => run(use().subscriptions.rolesOf(await find(id)))
    const [kept, wide, narrow] = [
      await use().add("ann", true, ["sales"]),
      await use().add("ann", true, ["admin"]),
      await use().add("ann", true, ["hooker"])
    ]
    const [bob, stranger] = [await use().add("bob", true, ["sales"]), await use().add("stranger", true, ["sales"])]
    await use().setRoles("ann", ["boss", "sales"])
    await use().setRoles("bob", [])
    expect(await rolesOf(kept)).toEqual(["sales"])
    // An admin's credential stands for every role, and its owner still has two only.
    expect(await rolesOf(wide)).toEqual(["boss", "sales"])
    for (const id of [narrow, bob, stranger]) expect(await rolesOf(id)).toBeNull()
    // A key of an admin may have a role that the admin does not.
    await use().setRoles("ann", ["admin"])
    await use().fresh()
    expect([await rolesOf(kept), await rolesOf(wide), await rolesOf(narrow)]).toEqual([["sales"], ["admin"], [
      "hooker"
    ]])
    await use().setRoles("ann", [])
    await use().fresh()
    for (const id of [kept, wide, narrow]) expect(await rolesOf(id)).toBeNull()
    expect(await run(use().subscriptions.rolesOf(await find(use().configured)))).toEqual([])
  })

  it("gives one without roles those that its owner has when it is first asked, and no more later", async () => {
    const id = await use().add("cat")
    const rolesOf = async () => run(use().subscriptions.rolesOf(await find(id)))
    await use().setRoles("cat", ["sales"])
    expect(await rolesOf()).toEqual(["sales"])
    await use().setRoles("cat", ["sales", "boss"])
    await use().fresh()
    expect(await rolesOf()).toEqual(["sales"])
  })

  it("disables the one of an owner who may not act any more, and says so", async () => {
    const [id, other] = [await use().add("bob"), await use().add("ann")]
    await run(use().subscriptions.orphaned(await find(id)))
    expect(await use().stateOf(id)).toEqual({
      enabled: false,
      reason: "The owner of the subscription no longer has access."
    })
    expect((await use().stateOf(other)).enabled).toBe(true)
  })

  it("disables one whose receiver is gone, and one that has failed for three days", async () => {
    const [gonner, failing, well] = [await use().add("ann"), await use().add("ann"), await use().add("ann")]
    await run(use().subscriptions.all)
    await end(await find(gonner), gone)
    expect(await use().stateOf(gonner)).toEqual({ enabled: false, reason: "The receiver answered 410 Gone." })
    for (const id of [failing, well]) await end(await find(id), {})
    await use().pass(2 * day)
    for (const id of [failing, well]) await end(await find(id), {})
    expect((await use().stateOf(failing)).enabled).toBe(true)
    await run(use().subscriptions.all)
    await end(await find(well), { outcome: "delivered", status: 204, error: null })
    await use().pass(day + 60)
    for (const id of [failing, well]) await end(await find(id), {})
    expect(await use().stateOf(failing)).toEqual({
      enabled: false,
      reason: "No delivery has succeeded for three days."
    })
    expect(await use().stateOf(well)).toEqual({ enabled: true, reason: null })
  })

  it("takes a test for nothing, and never disables one of the configuration", async () => {
    const id = await use().add("ann")
    await end(await find(id), { ...gone, test: true })
    expect((await use().stateOf(id)).enabled).toBe(true)
    await end(await find(use().configured), gone)
    expect((await find(use().configured)).enabled).toBe(true)
  })
}
