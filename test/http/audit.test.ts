/** Who did what, as admins read it over HTTP: on fakes behind every port. What accounts add is in test/auth/audit.test.ts. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { Http } from "../../composition/layers/http.ts"
import { build } from "../../composition/layers/live.ts"
import { JobRunner } from "../../composition/layers/queue.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { webhooks } from "../../core/domain/declare/webhooks.ts"
import type { AuditService } from "../../core/ports/audit.ts"
import { RecordsError } from "../../core/ports/records.ts"
import { makeFakeAudit } from "../fakes/audit.ts"
import { Fakes, Memory } from "../fakes/memory.ts"
import { testSecret } from "../support/composed.ts"

const notes = defineResource("notes", {
  primaryKey: "id",
  version: "version",
  fields: {
    id: f.integer().readOnly().dbDefault().filterable(),
    title: f.text().max(40).filterable(),
    salary: f.integer().optional().filterable(),
    version: f.integer().readOnly()
  },
  access: { fields: { salary: { read: ["clerk"], write: ["clerk"] } } },
  events: { created: true }
})
const diaries = defineResource("diaries", {
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault().filterable(), line: f.text().filterable() },
  access: { read: ["clerk"], create: false, update: false, delete: false }
})
const greet = defineJob({ name: "greet", run: () => Promise.resolve() })

const compiled = compileOrThrow(defineConfig({
  resources: [notes, diaries],
  jobs: [greet],
  roles: defineRoles({ admin: ["notes.*"], clerk: ["notes.*", "webhook_subscriptions.*"] as never }),
  extends: [webhooks({ allowPrivateAddresses: true, ownerRoles: () => Promise.resolve(["clerk"]) })]
}))

interface Entry {
  readonly id: string
  readonly act: string
  readonly who: { readonly id: string; readonly name: string | null } | null
  readonly subject: { readonly kind: string; readonly id: string; readonly name: string | null } | null
  readonly details: { readonly [name: string]: unknown }
  readonly request: string | null
}

describe("the audit", () => {
  const store = makeFakeAudit()
  let away = false
  const audit: AuditService = {
    ...store,
    add: (entries, within) =>
      Effect.suspend(() =>
        away ? Effect.fail(new RecordsError({ reason: { _tag: "Unavailable" } })) : store.add(entries, within)
      )
  }
  const lines: string[] = []
  const open = () =>
    build(Memory, {
      compiled,
      audit,
      accounts: null,
      authenticator: () => {
        throw new Error("Tokens are asked, and nobody else.")
      },
      namesOf: (ids) => Effect.succeed(new Map(ids.map((id) => [id, `The ${id}`]))),
      log: (line) => void lines.push(line),
      secret: testSecret,
      publicUrl: "http://service.test",
      webFolder: "no-admin-app"
    })
  let service: Awaited<ReturnType<typeof open>>
  const tokens: Record<string, string> = {}
  beforeAll(async () => {
    service = await open()
    const made = Context.get(service.made, Fakes).tokens
    for (const id of ["clerk", "admin"]) tokens[id] = made.issue({ id, roles: [id], tenant: null }, 3_600)
  })
  afterAll(() => service.close())

  const call = async (who: string, method: string, path: string, body?: unknown, headers: object = {}) => {
    const response = await Context.get(service.made, Http).fetch(
      new Request(`http://service.test/api${path}`, {
        method,
        headers: {
          authorization: `Bearer ${tokens[who]}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    )
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.includes("json") === true && text !== ""
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : null }
  }
  /** What was noted since, as admins see it, the oldest first. */
  const noted = async (query = ""): Promise<readonly Entry[]> =>
    ((await call("admin", "GET", `/audit${query}`)).json.entries as Entry[]).toReversed()
  const since = async (act: () => Promise<unknown>): Promise<readonly Entry[]> => {
    const before = store.entries.length
    await act()
    await expect.poll(() => store.entries.length).toBeGreaterThan(before)
    return (await noted()).slice(before)
  }

  it("has a change of a subscription by the names of its fields, and none that was rolled back or tried", async () => {
    const subscription = { name: "Desk", events: "notes.created", url: "http://127.0.0.1:9/secret-path" }
    const entries = await since(async () => {
      const made = await call("clerk", "POST", "/v1/webhook_subscriptions", subscription, { "x-request-id": "made-it" })
      expect(made.status).toBe(201)
      const path = `/v1/webhook_subscriptions/${made.json.id}`
      const etag = { "if-match": made.headers.get("etag")! }
      expect((await call("clerk", "PATCH", path, { url: "nowhere" }, etag)).status).toBe(400)
      expect((await call("clerk", "PATCH", `${path}?dry_run=true`, { name: "Other" }, etag)).status).toBe(200)
      const changed = await call("clerk", "PATCH", path, { url: "http://127.0.0.1:9/new" }, etag)
      expect(changed.status).toBe(200)
      const now = { "if-match": changed.headers.get("etag")! }
      const same = await call("clerk", "PATCH", path, { name: "Desk" }, now)
      expect(same.status).toBe(200)
      expect((await call("clerk", "DELETE", path, undefined, { "if-match": same.headers.get("etag")! })).status).toBe(
        204
      )
    })
    expect(entries.map(({ act, details, who }) => [act, who?.id, details])).toEqual([
      ["webhook.created", "clerk", {}],
      ["webhook.changed", "clerk", { fields: ["url"] }],
      ["webhook.deleted", "clerk", {}]
    ])
    expect(entries.map(({ who }) => who?.name)).toEqual(["The clerk", "The clerk", "The clerk"])
    expect(entries[0]).toMatchObject({
      who: { id: "clerk", name: "The clerk" },
      subject: { kind: "subscription", name: "Desk" },
      request: "made-it"
    })
    expect(JSON.stringify(store.entries)).not.toContain("secret-path")
  })

  it("has no secret as shown that could not be shown", async () => {
    const { webhooks: kept } = Context.get(service.made, Fakes)
    const body = { name: "Old", events: "notes.created", url: "http://127.0.0.1:9/" }
    const made = await call("clerk", "POST", "/v1/webhook_subscriptions", body)
    const { id } = made.json
    while (kept.add({ owner: "clerk", roles: ["clerk"], secret: "sealed with another secret" }) !== String(id));
    const before = store.entries.length
    expect((await call("clerk", "POST", `/v1/webhook_subscriptions/${id}:revealSecret`)).status).toBe(409)
    expect(store.entries.slice(before)).toEqual([])
    const etag = { "if-match": made.headers.get("etag")! }
    expect((await call("clerk", "DELETE", `/v1/webhook_subscriptions/${id}`, undefined, etag)).status).toBe(204)
  })

  it("has what admins do with jobs, and not what found none", async () => {
    const [id] = await greet.enqueue(Context.get(service.made, JobRunner).db, {}).then((made) => [made].flat())
    const entries = await since(async () => {
      expect((await call("admin", "POST", "/jobs:pause?name=greet")).status).toBe(200)
      expect((await call("admin", "POST", `/jobs/pending/${id}:run`)).status).toBe(204)
      expect((await call("admin", "POST", "/jobs/failed/999:retry")).status).toBe(404)
      expect((await call("clerk", "DELETE", `/jobs/pending/${id}`)).status).toBe(403)
      expect((await call("admin", "POST", "/jobs/failed:retry?name=greet")).status).toBe(200)
      expect((await call("admin", "DELETE", `/jobs/pending/${id}`)).status).toBe(204)
    })
    expect(entries.map(({ act, subject }) => [act, subject])).toEqual([
      ["job.paused", { kind: "jobs", id: "greet", name: null }],
      ["job.run", { kind: "job", id, name: "greet" }],
      ["job.cancelled", { kind: "job", id, name: "greet" }]
    ])
  })

  it("has exports and changes of many records, with filters for those who may use their fields only", async () => {
    for (const title of ["a", "b"]) await call("clerk", "POST", "/v1/notes", { title, salary: 4_711 })
    const filtered = (text: string) => encodeURIComponent(text)
    const entries = await since(async () => {
      expect(
        (await call("clerk", "GET", `/v1/notes:export?fields=id,salary&filter=${filtered("title = \"a\"")}`)).status
      )
        .toBe(200)
      await expect.poll(() => store.entries.at(-1)?.act).toBe("records.exported")
      const path = `/v1/notes?expected_count=2&filter=${filtered("salary = 4711")}`
      expect((await call("clerk", "PATCH", path, { salary: 4_712 })).text).toContain("\"changed\":2")
      expect((await call("clerk", "GET", "/v1/diaries:export?format=ndjson")).status).toBe(200)
      await expect.poll(() => store.entries.at(-1)?.subject?.id).toBe("diaries")
    })
    expect(entries.map(({ act, details, subject }) => [act, subject?.id, details])).toEqual([
      // The admin reads no salary, so its name is left out, and so is a filter by it.
      ["records.exported", "notes", { format: "csv", filter: "title = \"a\"", fields: ["id"], rows: 1, whole: true }],
      ["records.changed", "notes", { op: "update", filter: null, fields: [], records: 2 }],
      // And no diary.
      ["records.exported", undefined, { format: "ndjson", filter: null, rows: 0, whole: true }]
    ])
    expect(entries.map(({ who }) => who?.name)).toEqual(["The clerk", "The clerk", "The clerk"])
    const { text } = await call("admin", "GET", "/audit")
    for (const hidden of ["salary", "4711", "4712", "diaries"]) expect(text).not.toContain(hidden)
  })

  it("is narrowed and paged, and refuses what it cannot read", async () => {
    const acts = async (query: string) => (await noted(query)).map(({ act }) => act)
    expect(new Set(await acts("?what=job"))).toEqual(new Set(["job.paused", "job.run", "job.cancelled"]))
    expect(await acts("?what=job.run&who=admin")).toEqual(["job.run"])
    expect(await acts("?who=nobody")).toEqual([])
    expect(await acts("?search=DESK&what=webhook.changed")).toEqual(["webhook.changed"])
    expect(await acts("?search=made-it")).toEqual(["webhook.created"])
    expect(await acts("?since=2999-01-01T00:00:00Z")).toEqual([])
    const first = await call("admin", "GET", "/audit?page_size=2&what=job")
    const token = encodeURIComponent(first.json.next_page_token)
    const second = await call("admin", "GET", `/audit?page_size=2&what=job&page_token=${token}`)
    expect([first.json.entries.length, second.json.entries.length, second.json.next_page_token]).toEqual([2, 1, null])
    for (const query of ["what=nothing", "since=yesterday", "page_size=-1", "more=1", `who=a&page_token=${token}`]) {
      expect([query, (await call("admin", "GET", `/audit?${query}`)).status]).toEqual([query, 400])
    }
  })

  it("has the start of a task with the name of whoever started it", async () => {
    const [entry] = await since(async () => {
      const body = { op: "delete", filter: "title = \"no such title\"" }
      expect((await call("clerk", "POST", "/v1/notes:bulk", body)).status).toBe(202)
    })
    expect(entry).toMatchObject({
      act: "records.changed",
      who: { id: "clerk", name: "The clerk" },
      subject: { id: "notes" },
      details: { op: "delete", records: 0 }
    })
  })

  it("is for admins, and nobody changes it", async () => {
    expect((await call("clerk", "GET", "/audit")).status).toBe(403)
    expect((await call("nobody", "GET", "/audit")).status).toBe(401)
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      expect((await call("admin", method, "/audit")).status).toBe(405)
    }
    expect((await call("admin", "DELETE", "/audit/1")).status).toBe(404)
  })

  it("does not undo an act that it cannot note, but refuses one in a transaction", async () => {
    away = true
    const body = { name: "Lost", events: "notes.created", url: "http://127.0.0.1:9/" }
    expect((await call("clerk", "POST", "/v1/webhook_subscriptions", body)).status).toBe(503)
    expect((await call("admin", "POST", "/jobs:resume?name=greet", undefined, { "x-request-id": "r9" })).status).toBe(
      200
    )
    away = false
    expect((await call("clerk", "GET", "/v1/webhook_subscriptions")).json.items).toEqual([])
    const lost = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "audit-lost")
    expect(lost).toEqual([expect.objectContaining({
      level: "error",
      act: "job.resumed",
      user: "admin",
      kind: "jobs",
      subject: "greet",
      id: "r9"
    })])
  })
})
