// The log holds no text of an error that an application's code throws: such a text may quote values that only few may read.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  defineConfig,
  defineFunction,
  defineJob,
  defineResource,
  defineRoles,
  f,
  subscription
} from "../../composition/index.ts"
import type { EventService } from "../support/events.ts"
import { openEvents } from "../support/events.ts"

const secret = "4111-1111-2222-3333"

/** An error whose text looks like a place in code. */
class Leak extends Error {
  constructor() {
    super(`${secret}\n    at ${secret} (file:///${secret}.ts:1:1)`, { cause: new Error(secret) })
  }
}

/** What throws now. */
let throwing = ""
const leakAt = (place: string): void => {
  if (throwing === place) throw new Leak()
}

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault(),
    title: f.text(),
    card: f.text().optional(),
    updated_at: f.timestamp().readOnly().dbDefault()
  },
  access: {
    read: ({ caller }) => {
      leakAt("read rule")
      if (caller.roles.includes("reader")) leakAt("rule of a reader")
      return true
    },
    create: () => {
      leakAt("create rule")
      return true
    },
    update: ({ record }) => {
      leakAt("update rule")
      return record !== undefined
    },
    fields: {
      card: {
        read: () => {
          leakAt("field rule")
          return true
        }
      }
    }
  },
  validate: [() => {
    leakAt("validate")
    return []
  }],
  events: {
    created: true,
    large: {
      on: ["create"],
      match: () => {
        leakAt("match")
        return true
      }
    }
  }
})

const schema = `create table notes (id bigint generated always as identity primary key, title text not null, card text,
  updated_at timestamptz not null default now())`

const ann = { id: "ann", roles: ["boss"] }
let service: EventService

beforeAll(async () => {
  service = await openEvents({
    schema,
    config: defineConfig({
      resources: [notes],
      roles: defineRoles({ boss: ["*"], reader: ["notes.read"] }),
      functions: {
        guarded: defineFunction({
          roles: () => {
            leakAt("roles of a function")
            return true
          },
          run: () => {
            leakAt("function")
            return "done"
          }
        })
      },
      jobs: [defineJob({
        name: "leak",
        maxAttempts: 2,
        run: () => {
          leakAt("job")
        }
      })],
      subscriptions: [
        subscription("run", {
          events: ["notes.created"],
          run: () => leakAt("run of a subscription")
        }),
        subscription("reader", { events: ["notes.created"], as: { roles: ["reader"] }, run: () => {} })
      ],
      options: {
        writeHooks: [() => leakAt("hook")]
      }
    })
  })
})

afterAll(() => service.close())

const create = () => service.call(ann, "POST", "/api/v1/notes", { title: "x", card: secret })

describe("the log tells the class of what is thrown by", () => {
  it.each<[place: string, event: string, act: () => Promise<unknown>]>([
    ["read rule", "rule-failed", () => service.call(ann, "GET", "/api/v1/notes")],
    ["create rule", "rule-failed", create],
    ["update rule", "rule-failed", async () => {
      throwing = ""
      const { json } = await create()
      throwing = "update rule"
      await service.call(ann, "PATCH", `/api/v1/notes/${json["id"] as string}`, { title: "y" }, { "if-match": "*" })
    }],
    ["field rule", "rule-failed", () => service.call(ann, "GET", "/api/v1/notes")],
    ["validate", "unhandled error", create],
    ["hook", "unhandled error", create],
    ["roles of a function", "request", () => service.call(ann, "POST", "/api/functions/guarded", {})],
    ["function", "unhandled error", () => service.call(ann, "POST", "/api/functions/guarded", {})],
    ["match", "dispatch-change", create],
    ["rule of a reader", "dispatch-change", create],
    ["run of a subscription", "delivery", create],
    ["job", "job-retry", () => service.database.rows("select jobs.enqueue('leak', '{}')")]
  ])("%s, and never its text", async (place, event, act) => {
    const before = service.log.length
    throwing = place
    await act()
    await service.settled()
    const told = () => service.log.slice(before).filter((line) => line["event"] === event)
    await service.until(() => told().length > 0, `a line of ${place}`)
    throwing = ""
    // Deliveries and requests tell their outcome only.
    if (!["delivery", "request"].includes(event)) expect(told()[0]).toMatchObject({ error: "Leak" })
    expect(JSON.stringify(service.log)).not.toContain(secret)
  })
})
