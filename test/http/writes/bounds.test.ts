/** What a batch may cost: bytes of records, bytes of its answer, time, and the order in which it takes its locks. */

import * as Result from "effect/Result"
import { Client } from "pg"
import { describe, expect, it, vi } from "vitest"
import { compileOrThrow } from "../../../composition/create-admin.ts"
import { historyMigrations } from "../../../composition/migrations.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { history } from "../../../core/domain/declare/history.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { readBatch } from "../../../core/domain/write/batch.ts"
import { expectProblem } from "../../support/answer.ts"
import type { Answer, Fixture, TestCaller } from "../../support/composed.ts"
import { base, batch, on, onBoth, takeUnhandled } from "./scenes.ts"

const ann: TestCaller = { id: "ann", roles: ["admin"] }
const path = `${base}:batchWrite`

const textResource = (name: string) =>
  defineResource(name, {
    primaryKey: "id",
    version: "rev",
    fields: { id: f.integer(), place: f.integer().sortable().optional(), text: f.text().optional(), rev: f.integer() }
  })

const papers = textResource("papers")
const tracked = textResource("tracked")
const tagged = defineResource("tagged", {
  primaryKey: ["a", "b"],
  fields: { a: f.integer(), b: f.text(), note: f.text().optional() }
})

const columns = "id integer primary key, place integer, text text, rev integer not null default 1"
const schema = `
create table papers (${columns});
create table tracked (${columns});
create table tagged (a integer, b text, note text, primary key (a, b));
`

const long = "x".repeat(10_000)
const longOf = (id: number) => ({ id, place: id, text: long, rev: 1 })

const limits = { maxBatchBytes: 65_536, maxAnswerBytes: 65_536, statementTimeoutMs: 2_000 }
const configured = (options: object) =>
  defineConfig({
    resources: [papers, tracked, tagged],
    extends: [history({ resources: ["tracked"] })],
    options: { ...limits, scanGuard: { mode: "off" }, ...options }
  })
const versionTables = historyMigrations(compileOrThrow(configured({}))).map(({ statements }) => statements).join("\n")
const bounded = (options: object = {}): Fixture => ({
  config: configured(options),
  schema: `${schema}\n${versionTables}`,
  rows: {
    papers: [longOf(1), longOf(2), longOf(3), longOf(4), longOf(5), {
      id: 6,
      place: 6,
      text: "€".repeat(10_000),
      rev: 1
    }],
    tracked: [longOf(1), longOf(2), longOf(3)],
    tagged: [{ a: 1, b: "x", note: null }, { a: 1, b: "y", note: null }]
  }
})

const place = (id: number, resource = "papers") => ({
  op: "update",
  resource,
  key: id,
  etag: "*",
  data: { place: -id }
})

const expectTooMuch = (answer: Answer, operation: number, op: string, resource: string, more: object = {}): void =>
  expectProblem(answer, "payload-too-large", path, {
    operation,
    op,
    resource,
    errors: [{ message: expect.stringContaining("65,536 bytes"), hint: "Send fewer operations." }],
    ...more
  })

onBoth("a batch's records", bounded, (use) => {
  const places = async () =>
    (await use().get(ann, `${base}/papers?fields=place&order_by=place`)).text.match(/"place":-?\d+/g)

  it("are counted as they are read and as they are written, and nothing stays of a batch that has too many", async () => {
    const before = await places()
    const minimal = { prefer: "return=minimal" }
    expectTooMuch(await batch(use(), ann, [place(1), place(2), place(3), place(4)], minimal), 3, "update", "papers")
    // Counted in bytes, not in characters.
    expectTooMuch(await batch(use(), ann, [place(1), place(6)], minimal), 1, "update", "papers")
    const deletes = [1, 2, 3, 4, 5].flatMap((id) => [{ op: "delete", resource: "papers", key: id }])
    const all = [...deletes, { op: "delete", resource: "papers", key: 6 }]
    expectTooMuch(await batch(use(), ann, all, minimal), 5, "delete", "papers")
    expect(await places()).toEqual(before)
    expect((await batch(use(), ann, [place(1), place(2), place(3)], { ...minimal, "idempotency-key": "few" })).status)
      .toBe(200)
    expect(await places()).not.toEqual(before)
  })

  it("count with the versions that are kept of them", async () => {
    const ops = [place(1, "tracked"), place(2, "tracked"), place(3, "tracked")]
    expectTooMuch(await batch(use(), ann, ops, { prefer: "return=minimal" }), 2, "update", "tracked")
  })

  it("count where references copy them", async () => {
    const source = { op: "create", resource: "papers", ref: "big", data: { id: 100, text: long } }
    const copies = Array.from({ length: 20 }, (_, i) => ({
      op: "create",
      resource: "papers",
      data: { id: 101 + i, text: { $ref: "big", field: "text" } }
    }))
    const refused = await batch(use(), ann, [source, ...copies], { prefer: "return=minimal" })
    expect([refused.status, refused.json["op"], refused.json["resource"]]).toEqual([413, "create", "papers"])
    expect((await use().get(ann, `${base}/papers/100`)).status).toBe(404)
  })

  it("count in a reorder, which names the record", async () => {
    const reorder = {
      op: "reorder",
      resource: "papers",
      field: "place",
      keys: [6, 5, 4, 3, 2, 1],
      etags: Object.fromEntries([1, 2, 3, 4, 5, 6].map((id) => [id, "*"]))
    }
    expectTooMuch(await batch(use(), ann, [reorder]), 0, "reorder", "papers", { key: expect.any(String) })
  })

  it("are kept for later operations as far as those name them", async () => {
    const made = [
      { op: "create", resource: "papers", ref: "a", data: { id: 200, place: 7, text: "short" } },
      { op: "update", resource: "papers", key: { $ref: "a" }, etag: "*", data: { text: "changed" } },
      { op: "create", resource: "tagged", data: { a: { $ref: "a", field: "place" }, b: { $ref: "a", field: "text" } } },
      {
        op: "update",
        resource: "tagged",
        key: [{ $ref: "a", field: "place" }, "changed"],
        etag: "*",
        data: { note: "n" }
      }
    ]
    const answer = await batch(use(), ann, made)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.json["results"]![3]!["record"]).toMatchObject({ a: 7, b: "changed", note: "n" })
  })
})

onBoth("a batch's answer", () => bounded({ maxBatchBytes: 2 ** 20 }), (use) => {
  it("has a bound of its own, which a minimal one stays below", async () => {
    const ops = [1, 2, 3, 4, 5, 1, 2, 3].map((id) => place(id))
    expectProblem(await batch(use(), ann, ops), "answer-too-large", path, {
      operation: 6,
      op: "update",
      resource: "papers",
      errors: [{
        message: "The answer would be larger than the service's limit.",
        hint: "Send Prefer: return=minimal, or fewer operations."
      }]
    })
    expect((await use().get(ann, `${base}/papers/1`)).json["place"]).toBe(1)
    expect((await batch(use(), ann, ops, { prefer: "return=minimal" })).status).toBe(200)
  })
})

describe("a batch's time", () => {
  const slow = { statementTimeoutMs: 250, writeHooks: [() => new Promise<void>((done) => setTimeout(done, 100))] }
  onBoth("is that of four statements", () => bounded({ ...slow, maxBatchBytes: 2 ** 20 }), (use) => {
    it("whatever each of its operations takes", async () => {
      const create = (id: number) => ({ op: "create", resource: "papers", data: { id } })
      const answer = await batch(use(), ann, Array.from({ length: 40 }, (_, i) => create(300 + i)))
      expect([answer.status, answer.json["type"]]).toEqual([504, "urn:service:problem:statement-timeout"])
      expect(answer.json).toMatchObject({ op: "create", resource: "papers", operation: expect.any(Number) })
      expect((await use().get(ann, `${base}/papers/300`)).status).toBe(404)
      expect((await batch(use(), ann, [create(300), create(301)])).status).toBe(200)
    })
  })
})

const broken = new Error("the hook is broken")
onBoth("a batch's defects", () =>
  bounded({
    maxBatchBytes: 2 ** 20,
    writeHooks: [({ after }: { readonly after: { readonly [name: string]: unknown } | null }) => {
      if (after?.["place"] === 13) throw broken
    }]
  }), (use) => {
  it("name the operation, and reach the log as they are", async () => {
    const ops = [place(1), { op: "create", resource: "tagged", data: { a: 7, b: "z" } }, {
      ...place(2),
      data: { place: 13 }
    }]
    expectProblem(await batch(use(), ann, ops), "internal-error", path, {
      operation: 2,
      op: "update",
      resource: "papers"
    })
    expect(takeUnhandled(use())).toEqual([broken])
    expect((await use().get(ann, `${base}/tagged/7,z`)).status).toBe(404)
  })
})

it("names the reorder that has one key too many", async () => {
  const reorder = { op: "reorder", resource: "papers", field: "place", keys: Array.from({ length: 500 }, (_, i) => i) }
  const refused = readBatch({ ops: Array.from({ length: 11 }, () => reorder) })
  expect(Result.isFailure(refused) && refused.failure.members).toMatchObject({
    operation: 10,
    op: "reorder",
    resource: "papers"
  })
})

on("postgres", "a batch's locks", () => bounded({ maxBatchBytes: 2 ** 20 }), (use) => {
  const waiting = async () =>
    Number(
      (await use().database!.rows(
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
      ))[0]![0]
    )

  it("are taken in the order of keys, so that one who waits holds nothing that others need", async () => {
    const holder = new Client({
      connectionString: use().database!.url.replace(/^(postgres(?:ql)?:\/\/[^/@?]*@)\//, "$1localhost/")
    })
    await holder.connect()
    await holder.query("begin")
    await holder.query("select from papers where id = 1 for update")
    const backwards = batch(use(), ann, [place(3), place(2), place(1)], { prefer: "return=minimal" })
    const forwards = batch(use(), ann, [place(1), place(2), place(3)], { prefer: "return=minimal" })
    await vi.waitFor(async () => expect(await waiting()).toBe(2), { timeout: 60_000 })
    for (const id of [2, 3]) {
      const single = await use().call(ann, "PATCH", `${base}/papers/${id}`, {
        body: { place: 9 },
        headers: { "if-match": "*" }
      })
      expect(single.status, single.text).toBe(200)
    }
    await holder.query("commit")
    await holder.end()
    expect([(await backwards).status, (await forwards).status]).toEqual([200, 200])
    expect(
      await use().database!.rows("select deadlocks::text from pg_stat_database where datname = current_database()")
    )
      .toEqual([["0"]])
  })

  it("are taken of composite keys, too, and not of what is not there", async () => {
    const note = (b: string) => ({ op: "update", resource: "tagged", key: [1, b], etag: "*", data: { note: b } })
    expect((await batch(use(), ann, [note("y"), note("x")])).status).toBe(200)
    const missing = await batch(use(), ann, [note("y"), note("z")])
    expect([missing.status, missing.json["operation"]]).toEqual([404, 1])
  })
})
