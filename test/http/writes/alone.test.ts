/** Writes that nothing stands around, hooks least of all: they commit by themselves, so that a refusal must keep the row from being written. */

import { expect, it } from "vitest"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { expectProblem } from "../../support/answer.ts"
import type { Fixture } from "../../support/composed.ts"
import { admin, ann, ledger } from "../../support/ledger.ts"
import { base, batch, make, onBoth, patch, read } from "./scenes.ts"

onBoth("writes that stand alone", ledger, (use) => {
  it("leave no row that the rule's filter or the row filter refuses", async () => {
    const [two, three] = [`${base}/papers/2`, `${base}/papers/3`]
    // A batch sets the same fields first: what it sends refuses nothing by itself, and must not be taken for what is sent here.
    const update = (key: number, data: object) => ({ op: "update", resource: "papers", key, etag: "*", data })
    const ops = [update(2, { level: 1 }), update(2, { level: 2 })]
    expect((await batch(use(), ann, ops)).status).toBe(200)
    // Within the row filter and out of the rule's, then the other way round.
    expectProblem(await patch(use(), ann, two, { level: 4 }), "access-denied", two)
    expectProblem(await patch(use(), ann, three, { state: "final", level: 6 }), "access-denied", three)
    expect(await read(use(), admin, two)).toMatchObject({ level: 2, state: "draft" })
    expect(await read(use(), admin, three)).toMatchObject({ level: 3, state: "draft" })
    const notes = `${base}/notes`
    // The same in a transaction, which needs no such condition: its statement is another one.
    const data = { owner_id: "ann", title: "Ann's own" }
    expect((await batch(use(), ann, [{ op: "create", resource: "notes", data }])).status).toBe(200)
    const body = { owner_id: "bob", title: "not Ann's to write" }
    expectProblem(await use().call(ann, "POST", notes, { body }), "access-denied", notes)
    expect((await use().get(admin, notes)).text).not.toContain(body.title)
  })

  it("leave nothing of a dry run, and one row for a key", async () => {
    const counters = `${base}/counters`
    const create = (id: number, headers = {}, query = "") =>
      use().call(ann, "POST", `${counters}${query}`, { body: { id }, headers })
    expect((await create(50, {}, "?dry_run=true")).status).toBe(201)
    expect((await use().get(ann, `${counters}/50`)).status).toBe(404)
    const key = { "idempotency-key": "alone" }
    expect([(await create(51, key)).status, (await create(51, key)).headers.get("idempotency-replayed")])
      .toEqual([201, "true"])
  })
})

/** Codes are unique; what a slot's rank is only the database knows before it is there. */
const slots = defineResource("slots", {
  primaryKey: "code",
  fields: { code: f.text(), kind: f.text(), rank: f.integer().readOnly().optional().filterable() },
  access: {
    create: ({ record }) =>
      record.kind === "asked"
        ? record.rank === 5
        : record.kind === "filtered"
        ? where`rank = 5`
        : record.kind === "free"
  }
})
const files = defineResource("files", {
  primaryKey: "id",
  version: "rev",
  fields: { id: f.integer(), level: f.integer().filterable(), rev: f.integer() },
  access: { read: ({ caller }) => caller.roles.includes("admin") || where`level <= 5` }
})
const others = (): Fixture => ({
  config: defineConfig({ resources: [slots, files] }),
  schema: `create table slots (code text primary key, kind text not null, rank integer default 5);
    create table files (id integer primary key, level integer not null, rev integer not null default 1);`,
  rows: {},
  defaultOf: (_model, { column }) => column === "rank" ? "5" : column === "rev" ? "1" : undefined
})

onBoth("refusals by what is known of a record", others, (use) => {
  it("values that are taken are a 403 where the rule refuses the record, and a 409 where only the database could say", async () => {
    const path = `${base}/slots`
    const create = async (kind: string) =>
      (await use().call(ann, "POST", path, { body: { code: "taken", kind } })).status
    expect(await create("denied")).toBe(403)
    expect(await create("free")).toBe(201)
    expect([await create("denied"), await create("asked"), await create("filtered")]).toEqual([403, 409, 409])
  })

  it("a 412 names nothing of a version that the caller could not see", async () => {
    const hidden = await make(use(), admin, "files", { id: 2, level: 6 })
    const seen = await make(use(), ann, "files", { id: 3, level: 1 })
    // Both are at their first version: tags of different records may be equal.
    expect(hidden.etag).toBe(seen.etag)
    expect((await patch(use(), admin, hidden.path, { level: 5 })).status).toBe(200)
    const stale = await patch(use(), ann, hidden.path, { level: 4 }, seen.etag)
    expect([stale.status, stale.json["changed"]]).toEqual([412, undefined])
    expect((await patch(use(), admin, hidden.path, { level: 4 }, seen.etag)).json["changed"]).toEqual(["level", "rev"])
  })
})
