/** The contract of the port to what the extension `webhooks` keeps, for the fake and for PostgreSQL. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { TryResult } from "../../core/domain/event/try.ts"
import type { KeptSubscription, WebhooksService } from "../../core/ports/webhooks.ts"

/** What the contract needs besides the port. */
export interface WebhooksStage {
  readonly webhooks: WebhooksService
  /** Makes a subscription, and gives its id. */
  readonly add: (more?: Partial<KeptSubscription>) => Promise<string>
  /** What people see of it besides. */
  readonly shown: (id: string) => Promise<{
    readonly enabled: boolean
    readonly reason: string | null
    readonly version: string
  }>
  readonly attempts: (id: string) => Promise<ReadonlyArray<Partial<TryResult>>>
  /** The ids of its tries, the oldest first. */
  readonly attemptIds: (id: string) => Promise<readonly string[]>
  /** Lets so much time pass for secrets, failures and the log. */
  readonly pass: (seconds: number) => Promise<void>
  /** Gives a subscription a delivery that has failed for good, and its id. */
  readonly fail: (id: string) => Promise<string>
}

const day = 86_400

const tried = (more: Partial<TryResult> = {}): TryResult => ({
  outcome: "failed",
  eventId: "evt_1",
  event: "orders.created",
  resource: "orders",
  key: "1",
  attempt: 1,
  status: 503,
  error: "The receiver answered 503.",
  answer: "busy",
  headers: { "retry-after": "5" },
  request: { url: "https://example.com/", headers: { authorization: "hush" }, body: "{}" },
  roles: ["boss"],
  gone: false,
  asked: null,
  milliseconds: 12.4,
  test: false,
  ...more
})

export const webhooksContract = (use: () => WebhooksStage): void => {
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)
  const find = async (id: string) => (await run(use().webhooks.find(id)))!

  it("gives subscriptions as they were made, disabled ones too, and null for none", async () => {
    const id = await use().add({
      name: "desk",
      events: "orders.created orders.updated",
      filter: "total > 1",
      headers: "{\"x-a\": \"b\"}",
      payload: "thin",
      ordered: true,
      enabled: false,
      tenant: "7",
      owner: "sam"
    })
    expect(await find(id)).toMatchObject({
      id,
      name: "desk",
      events: "orders.created orders.updated",
      filter: "total > 1",
      payload: "thin",
      ordered: true,
      enabled: false,
      tenant: "7",
      owner: "sam",
      secret: null,
      previous: null,
      failing: false
    })
    expect(JSON.parse((await find(id)).headers!)).toEqual({ "x-a": "b" })
    expect((await run(use().webhooks.all)).filter((each) => each.id === id)).toEqual([await find(id)])
    expect((await find(await use().add())).tenant).toBeNull()
    expect(await run(use().webhooks.find("999999999999"))).toBeNull()
  })

  it("gives another stamp, of one and of all, with every change, and the same one while nothing changes", async () => {
    const [id, other] = [await use().add(), await use().add()]
    const { webhooks } = use()
    const stamps = async () => {
      const each = await run(webhooks.stamps([id, other, "999999999999"]))
      expect([...each.keys()].toSorted()).toEqual([id, other].toSorted())
      expect(each.get(id)).toBe((await find(id)).stamp)
      return { all: await run(webhooks.stamp), one: each.get(id)!, other: each.get(other)! }
    }
    const seen: Array<{ readonly all: string; readonly one: string }> = []
    const changed = async () => {
      const { other: still, ...now } = await stamps()
      expect(await stamps()).toEqual({ ...now, other: still })
      expect(still).toBe((await find(other)).stamp)
      seen.push(now)
      expect(new Set(seen.map(({ one }) => one)).size).toBe(seen.length)
      expect(new Set(seen.map(({ all }) => all)).size).toBe(seen.length)
    }
    await changed()
    await run(webhooks.firstSecret(id, "a"))
    await changed()
    await run(webhooks.disable(id, "Why not."))
    await changed()
    await run(webhooks.enable(id))
    await changed()
    await run(webhooks.failed(id))
    await changed()
    await run(webhooks.rotate(id, "b"))
    await changed()
    expect((await run(webhooks.stamps([]))).size).toBe(0)
    const before = await run(webhooks.stamp)
    const more = await use().add()
    expect(await run(webhooks.stamp)).not.toBe(before)
    expect((await run(webhooks.stamps([more]))).size).toBe(1)
  })

  it("gives another stamp once a previous secret has ended, which nobody writes", async () => {
    const id = await use().add({ secret: "a" })
    await run(use().webhooks.firstSecret(id, "a"))
    await run(use().webhooks.rotate(id, "b"))
    const [all, one] = [await run(use().webhooks.stamp), (await find(id)).stamp]
    await use().pass(day + 1)
    expect((await find(id)).previous).toBeNull()
    expect((await find(id)).stamp).not.toBe(one)
    expect(await run(use().webhooks.stamp)).not.toBe(all)
  })

  it("keeps the first secret of all who make one at once", async () => {
    const id = await use().add()
    const made = await Promise.all(["a", "b", "c", "d"].map((sealed) => run(use().webhooks.firstSecret(id, sealed))))
    expect(new Set(made).size).toBe(1)
    expect((await find(id)).secret).toBe(made[0])
    expect(await run(use().webhooks.firstSecret(id, "e"))).toBe(made[0])
    expect(await run(use().webhooks.firstSecret("999999999999", "f"))).toBeNull()
  })

  it("keeps the first roles of all who give some at once", async () => {
    const id = await use().add()
    expect((await find(id)).roles).toBeNull()
    const made = await Promise.all(["a", "b", "c"].map((role) => run(use().webhooks.firstRoles(id, [role, "x"]))))
    expect(new Set(made.map((roles) => JSON.stringify(roles))).size).toBe(1)
    expect((await find(id)).roles).toEqual(made[0])
    expect(await run(use().webhooks.firstRoles(id, ["e"]))).toEqual(made[0])
    expect(await run(use().webhooks.firstRoles("999999999999", ["f"]))).toBeNull()
  })

  it("lets the secret before a rotation count for 24 hours", async () => {
    const id = await use().add()
    await run(use().webhooks.firstSecret(id, "one"))
    await run(use().webhooks.rotate(id, "two"))
    expect(await find(id)).toMatchObject({ secret: "two", previous: "one" })
    await use().pass(day - 60)
    expect((await find(id)).previous).toBe("one")
    await use().pass(120)
    expect(await find(id)).toMatchObject({ secret: "two", previous: null })
    await run(use().webhooks.rotate(id, "three"))
    expect(await find(id)).toMatchObject({ secret: "three", previous: "two" })
  })

  it("disables with a reason and enables afresh; each is another version, once", async () => {
    const id = await use().add({ name: "desk", tenant: "7" })
    const { version } = await use().shown(id)
    expect(await run(use().webhooks.disable(id, "gone"))).toEqual({ id, name: "desk", owner: "ann", tenant: "7" })
    const disabled = await use().shown(id)
    expect(disabled).toMatchObject({ enabled: false, reason: "gone" })
    expect(disabled.version).not.toBe(version)
    expect(await run(use().webhooks.disable(id, "another"))).toBeNull()
    expect(await use().shown(id)).toEqual(disabled)
    expect(await run(use().webhooks.failed(id))).toBeNull()
    await run(use().webhooks.enable(id))
    const enabled = await use().shown(id)
    expect(enabled).toMatchObject({ enabled: true, reason: null })
    expect(enabled.version).not.toBe(disabled.version)
    expect((await find(id)).failing).toBe(false)
    await run(use().webhooks.enable(id))
    expect(await use().shown(id)).toEqual(enabled)
  })

  it("tells one of all who disable at once that it did", async () => {
    const id = await use().add()
    const told = await Promise.all([1, 2, 3, 4].map(() => run(use().webhooks.disable(id, "gone"))))
    expect(told.filter((each) => each !== null)).toEqual([{ id, name: "name", owner: "ann", tenant: null }])
    expect(await run(use().webhooks.disable("999999999999", "gone"))).toBeNull()
    const failing = await use().add()
    await run(use().webhooks.failed(failing))
    await use().pass(3 * day + 60)
    const failed = await Promise.all([1, 2, 3, 4].map(() => run(use().webhooks.failed(failing))))
    expect(failed.filter((each) => each !== null)).toMatchObject([{ id: failing, owner: "ann" }])
  })

  it("disables one that has failed for three days, and not one that has succeeded meanwhile", async () => {
    const failing = await use().add()
    const well = await use().add()
    for (const id of [failing, well]) {
      expect(await run(use().webhooks.failed(id))).toBeNull()
      expect((await find(id)).failing).toBe(true)
    }
    await use().pass(2 * day)
    for (const id of [failing, well]) expect(await run(use().webhooks.failed(id))).toBeNull()
    expect((await use().shown(failing)).enabled).toBe(true)
    await run(use().webhooks.succeeded(well))
    expect((await find(well)).failing).toBe(false)
    await use().pass(day + 60)
    const { version } = await use().shown(failing)
    expect(await run(use().webhooks.failed(failing))).toMatchObject({ id: failing, name: "name", owner: "ann" })
    expect(await run(use().webhooks.failed(well))).toBeNull()
    expect(await run(use().webhooks.failed(failing))).toBeNull()
    const disabled = await use().shown(failing)
    expect(disabled).toMatchObject({ enabled: false, reason: "No delivery has succeeded for three days." })
    expect(disabled.version).not.toBe(version)
    expect(await use().shown(well)).toMatchObject({ enabled: true, reason: null })
  })

  it("gives failed deliveries one more try: those of a subscription, or one", async () => {
    const id = await use().add()
    const other = await use().add()
    const [first] = [await use().fail(id), await use().fail(id), await use().fail(other)]
    expect(await run(use().webhooks.resend({ delivery: first }))).toBe(1)
    expect(await run(use().webhooks.resend({ delivery: first }))).toBe(0)
    expect(await run(use().webhooks.resend({ subscription: id }))).toBe(1)
    expect(await run(use().webhooks.resend({ subscription: id }))).toBe(0)
    expect(await run(use().webhooks.resend({ subscription: other }))).toBe(1)
  })

  it("gives what a try has sent, its beginning where it is long, and null for none", async () => {
    const id = await use().add()
    const request = (body: string) => ({ url: "https://example.com/", headers: {}, body })
    const long = "😀".repeat(5_000)
    await run(use().webhooks.log(id, tried({ request: request("{\"a\":1}") })))
    await run(use().webhooks.log(id, tried({ request: request(long), roles: null })))
    await run(use().webhooks.log(id, tried({ outcome: "skipped", request: null })))
    const ids = await use().attemptIds(id)
    expect(await Promise.all(ids.map((each) => run(use().webhooks.sent(each))))).toEqual([
      { body: "{\"a\":1}", whole: true, roles: ["boss"] },
      { body: long.slice(0, 8_192), whole: false, roles: null },
      null
    ])
    expect(await run(use().webhooks.sent("999999999999"))).toBeNull()
  })

  it("logs tries for thirty days", async () => {
    const id = await use().add()
    await run(use().webhooks.log(id, tried({ answer: "a\0b" })))
    await run(
      use().webhooks.log(id, tried({ attempt: 2, outcome: "delivered", status: 204, error: null, answer: null }))
    )
    expect(await use().attempts(id)).toMatchObject([
      {
        eventId: "evt_1",
        attempt: 1,
        outcome: "failed",
        status: 503,
        error: "The receiver answered 503.",
        answer: "ab",
        event: "orders.created",
        resource: "orders",
        key: "1",
        headers: { "retry-after": "5" }
      },
      { attempt: 2, outcome: "delivered", status: 204, error: null, answer: null }
    ])
    await use().pass(29 * day)
    await run(use().webhooks.log(id, tried({ attempt: 3 })))
    expect(await use().attempts(id)).toHaveLength(3)
    await use().pass(2 * day)
    await run(use().webhooks.log(id, tried({ attempt: 4 })))
    expect((await use().attempts(id)).map(({ attempt }) => attempt)).toEqual([3, 4])
    // Of one that is not there any more, nothing is kept.
    await run(use().webhooks.log("999999999999", tried()))
  })
}
