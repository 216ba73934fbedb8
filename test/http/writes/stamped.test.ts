/** What the service writes itself when a record is created: times and first versions of columns that are required and have no default. */

import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import type { Fixture } from "../../support/composed.ts"
import { batch, make, onBoth, patch } from "./scenes.ts"

const admin = { id: "root", roles: ["admin"] }
const posts = defineResource("posts", {
  primaryKey: "id",
  version: "updated_at",
  fields: {
    id: f.integer(),
    text: f.text().optional(),
    created_at: f.timestamp().stamped(),
    updated_at: f.timestamp().stamped()
  }
})
const counted = defineResource("counted", {
  primaryKey: "id",
  version: f.integer().column("lock_version").stamped(),
  fields: { id: f.integer(), text: f.text().optional() }
})
const keyed = defineResource("keyed", {
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault(), made: f.timestamp().stamped() }
})
/** As Laravel leaves it: whoever writes past it gives no times. */
const entries = defineResource("entries", {
  primaryKey: "id",
  version: "updated_at",
  fields: {
    id: f.integer(),
    text: f.text().optional(),
    created_at: f.timestamp().optional().stamped(),
    updated_at: f.timestamp().optional().stamped()
  }
})
const fixture = (): Fixture => ({
  config: defineConfig({ resources: [posts, counted, keyed, entries] }),
  schema:
    `create table posts (id integer primary key, text text, created_at timestamp(3) not null, updated_at timestamptz not null);
    create table counted (id integer primary key, text text, lock_version integer not null);
    create table keyed (id integer primary key generated always as identity, made timestamptz not null);
    create table entries (id integer primary key, text text, created_at timestamp(0), updated_at timestamp(0));`,
  rows: { entries: [{ id: 1, text: "old", created_at: null, updated_at: null }] }
})

onBoth("columns without a default that frameworks fill", fixture, (use) => {
  it("are filled by the service on create, and moved on update", async () => {
    const { path, record } = await make(use(), admin, "posts", { id: 1, text: "first" })
    const { created_at: created, updated_at: before } = record as unknown as Record<string, string>
    expect(created).toMatch(/^\d{4}-\d\d-\d\dT/)
    await patch(use(), admin, path, { text: "second" })
    const { json: after } = await use().get(admin, path)
    expect(after).toMatchObject({ text: "second", created_at: created })
    const later = after["updated_at"] as unknown as string
    expect(Date.parse(later)).toBeGreaterThanOrEqual(Date.parse(before!))
    expect(later).not.toBe(before)
  })

  it("are filled in many records of one request, also where nothing else is given", async () => {
    const many = await batch(use(), admin, [2, 3, 4].map((id) => ({ op: "create", resource: "posts", data: { id } })))
    const made = await make(use(), admin, "keyed", {})
    expect([many.status, typeof (made.record as unknown as Record<string, unknown>)["made"]]).toEqual([200, "string"])
    const { path } = await make(use(), admin, "counted", { id: 1, text: "a" })
    await patch(use(), admin, path, { text: "b" })
    expect((await use().get(admin, path)).json).toMatchObject({ text: "b" })
  })

  it("may be null, and are filled all the same: the first change of an old record gives it a version", async () => {
    const { record } = await make(use(), admin, "entries", { id: 2 })
    expect([typeof record["created_at"], typeof record["updated_at"]]).toEqual(["string", "string"])
    const path = "/api/v1/entries/1"
    const { headers, json } = await use().get(admin, path)
    expect(json).toMatchObject({ created_at: null, updated_at: null })
    const change = () =>
      use().call(admin, "PATCH", path, { body: { text: "new" }, headers: { "if-match": headers.get("etag")! } })
    const changed = await change()
    expect([changed.status, changed.json]).toEqual([
      200,
      expect.objectContaining({ text: "new", created_at: null, updated_at: expect.any(String) })
    ])
    expect((await change()).status).toBe(412)
  })

  it("are refused in bodies, as any read-only field", async () => {
    const refused = await use().call(admin, "POST", "/api/v1/posts", {
      body: { id: 9, created_at: "2020-01-01T00:00:00Z" }
    })
    expect([refused.status, JSON.stringify(refused.json)]).toEqual([400, expect.stringContaining("read-only")])
  })
})
