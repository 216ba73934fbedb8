import { afterAll, beforeAll, describe, vi } from "vitest"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { defineConfig, defineResource, f, subscription, webhooks } from "../../composition/index.ts"
import type { Subscription } from "../../core/domain/event/subscription.ts"
import { makeFakeSubscriptions } from "../fakes/subscriptions.ts"
import { type EventService, openEvents } from "../support/events.ts"
import { subscriptionsContract } from "./subscriptions.ts"

const people = new Map<string, readonly string[]>()
const config = defineConfig({
  resources: [
    defineResource("orders", {
      table: "orders",
      primaryKey: "id",
      fields: { id: f.integer() },
      events: { created: true }
    })
  ],
  subscriptions: [subscription("desk", { events: ["*"], url: "https://desk.example/" })],
  extends: [webhooks({ ownerRoles: async ({ id }) => people.get(id) ?? [] })]
})

describe("the fake", () => {
  const { subscriptions: configured } = compileOrThrow(config)
  const fake = makeFakeSubscriptions(configured)
  let last = 0
  subscriptionsContract(() => ({
    subscriptions: fake,
    configured: "desk",
    add: async (owner, enabled = true, roles = null) => {
      const made: Subscription = {
        ...configured[0]!,
        id: `made:${++last}`,
        reader: { of: "owner", id: owner, roles },
        enabled,
        state: { stamp: "", failing: false }
      }
      fake.make(made)
      return made.id
    },
    setRoles: async (person, roles) => fake.setRoles(person, roles),
    stateOf: async (id) => fake.stateOf(id),
    pass: async (seconds) => fake.pass(seconds),
    fresh: async () => {}
  }))
})

describe("a service", () => {
  let service: EventService
  /** Milliseconds that this process's clock is ahead: roles are believed for a second. */
  let ahead = 0
  const now = performance.now.bind(performance)
  beforeAll(async () => {
    vi.spyOn(performance, "now").mockImplementation(() => now() + ahead)
    service = await openEvents({
      config,
      more: { rolesMs: undefined },
      schema: "create table orders (id integer primary key)",
      runs: false
    })
  })
  afterAll(async () => {
    await service?.close()
    vi.restoreAllMocks()
  })
  const keyOf = (id: string): string => id.slice("made:".length)
  subscriptionsContract(() => ({
    subscriptions: service.events.dispatching.subscriptions,
    configured: "desk",
    add: async (owner, enabled = true, roles = null) => {
      const [row] = await service.database.rows(
        `insert into webhooks.subscriptions (name, events, url, owner_id, enabled, roles) values ('n', '*', 'https://example.com/', '${owner}', ${
          String(enabled)
        }, ${roles === null ? "null" : `'${JSON.stringify(roles)}'`}) returning id::text`
      )
      return `made:${row![0]!}`
    },
    setRoles: async (person, roles) => void people.set(person, roles),
    stateOf: async (id) => {
      const [row] = await service.database.rows(
        `select enabled::text, disabled_reason from webhooks.subscriptions where id = ${keyOf(id)}`
      )
      return { enabled: row![0] === "true", reason: row![1] ?? null }
    },
    // Everything is that much older than it was.
    pass: (seconds) =>
      service.database.execute(
        `update webhooks.subscriptions set failing_since = failing_since - interval '${seconds} seconds'`
      ),
    fresh: async () => void (ahead += 1_000)
  }))
})
