import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe } from "vitest"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import {
  madePrefix,
  makeWebhooks,
  webhookLimitsStatements,
  webhookLogStatements,
  webhookRolesStatements,
  webhooksStatements
} from "../../adapters/postgres/webhooks.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import type { KeptSubscription } from "../../core/ports/webhooks.ts"
import { makeFakeWebhooks } from "../fakes/webhooks.ts"
import { openDatabase } from "../support/postgres.ts"
import { webhooksContract, type WebhooksStage } from "./webhooks.ts"

describe("the fake", () => {
  const fake = makeFakeWebhooks()
  webhooksContract(() => ({
    webhooks: fake,
    add: async (more = {}) => fake.add(more),
    shown: async (id) => fake.shown(id),
    attempts: async (id) => fake.attempts(id),
    attemptIds: async (id) => fake.attemptIds(id),
    pass: async (seconds) => fake.pass(seconds),
    fail: async (id) => fake.fail(id)
  }))
})

const text = (value: string | null): string => value === null ? "null" : `'${value.replaceAll("'", "''")}'`

describe("PostgreSQL", () => {
  let stage: WebhooksStage
  let release = async (): Promise<void> => {}
  beforeAll(async () => {
    const schema = "hooks"
    const database = await openDatabase(
      `${queueStatements()}\n${
        [
          ...webhooksStatements({ schema }),
          ...webhookRolesStatements({ schema }),
          ...webhookLimitsStatements({ schema }),
          ...webhookLogStatements({ schema })
        ].join(";\n")
      }`
    )
    const scope = Scope.makeUnsafe()
    const postgres = await Effect.runPromise(
      Effect.provideService(makePostgres({ url: database.url }), Scope.Scope, scope)
    )
    const one = async (sql: string) => (await database.rows(sql))[0]!
    stage = {
      webhooks: makeWebhooks(postgres, { schema }),
      add: async (more = {}) => {
        const row: Partial<KeptSubscription> = {
          name: "name",
          events: "*",
          url: "https://example.com/",
          owner: "ann",
          ...more
        }
        const values = [
          row.name!,
          row.events!,
          row.url!,
          row.filter ?? null,
          row.headers ?? null,
          row.payload ?? "full"
        ]
        const [id] = await one(
          `insert into hooks.subscriptions (name, events, url, filter, headers, payload, ordered, enabled, tenant_id, owner_id)
          values (${values.map(text).join(", ")}, ${String(row.ordered ?? false)}, ${String(row.enabled ?? true)},
          ${text(row.tenant ?? "")}, ${text(row.owner!)}) returning id::text`
        )
        return id!
      },
      shown: async (id) => {
        const [enabled, reason, version] = await one(
          `select enabled::text, disabled_reason, updated_at::text from hooks.subscriptions where id = ${id}`
        )
        return { enabled: enabled === "true", reason: reason ?? null, version: version! }
      },
      attempts: async (id) =>
        (await database.rows(
          `select delivery_id, try::text, outcome, status::text, error, answer, event_type, resource, key, answer_headers::text
            from hooks.attempts where subscription_id = ${id} order by id`
        )).map(([eventId, attempt, outcome, status, error, answer, event, resource, key, headers]) => ({
          eventId: eventId!,
          attempt: Number(attempt),
          outcome: outcome as "failed",
          status: status === null ? null : Number(status),
          error: error ?? null,
          answer: answer ?? null,
          event: event!,
          resource: resource!,
          key: key!,
          headers: headers == null ? null : JSON.parse(headers) as { readonly [name: string]: string }
        })),
      attemptIds: async (id) =>
        (await database.rows(`select id::text from hooks.attempts where subscription_id = ${id} order by id`)).map((
          [each]
        ) => each!),
      // Everything is that much older than it was.
      pass: (seconds) =>
        database.execute(
          `update hooks.subscriptions set previous_until = previous_until - interval '${seconds} seconds',
            failing_since = failing_since - interval '${seconds} seconds';
          update hooks.attempts set at = at - interval '${seconds} seconds'`
        ),
      fail: async (id) => {
        await database.execute(
          `select jobs.enqueue('webhooks.deliver', '{"subscription": "${madePrefix}${id}", "resource": "orders", "event": "created", "key": "1", "id": "evt_1"}')`
        )
        const [delivery] = await one(`select max(id)::text from hooks.deliveries where subscription_id = ${id}`)
        await database.execute(
          `begin; set session_replication_role = replica; update jobs._private_jobs set attempts = max_attempts where id = ${delivery!}; commit`
        )
        return delivery!
      }
    }
    release = async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await database.drop()
    }
  })
  afterAll(() => release())
  webhooksContract(() => stage)
})
