/** Creates over HTTP: defaults, own rows, tenants, and every way in which a body can be wrong (docs/reference/writes.md#order-of-checks). */

import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { expectProblem } from "../../support/answer.ts"
import type { Answer, TestCaller } from "../../support/composed.ts"
import { admin, ann, foreign, homeless, ledger, nobody, viewer, writer } from "../../support/ledger.ts"
import { base, codes, make, makeAccount, onBoth, patch, read } from "./scenes.ts"

const accounts = `${base}/accounts`

onBoth("create", ledger, (use) => {
  const create = (
    caller: TestCaller,
    body: unknown,
    headers: { readonly [name: string]: string } = {},
    path = accounts
  ): Promise<Answer> => use().call(caller, "POST", path, { body, headers })

  it("answers 201 with Location, ETag and the record, defaults of both kinds filled in", async () => {
    const answer = await create(ann, { name: "first" })
    expect(answer.status).toBe(201)
    const { id } = answer.json as unknown as { readonly id: string }
    expect(id).toMatch(/^\d+$/)
    expect(answer.headers.get("location")).toBe(`${accounts}/${id}`)
    expect(answer.headers.get("etag")).toMatch(/^"[\w-]+"$/)
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8")
    expect(answer.headers.get("preference-applied")).toBeNull()
    expect(answer.json).toEqual({
      id,
      owner_id: "ann",
      name: "first",
      code: null,
      balance: "0.00",
      status: "open",
      rating: null,
      opened_on: "2026-01-01",
      touched: null,
      meta: null,
      etag: answer.headers.get("etag")
    })
    expect(await read(use(), ann, `${accounts}/${id}`)).toEqual(answer.json)
  })

  it("takes every writable field, exact values, and null for optional ones", async () => {
    const body = {
      owner_id: "ann",
      name: "Ünï 😀",
      code: `c-${use().backend}`,
      balance: 9007199254.25,
      status: "open",
      rating: 4,
      opened_on: "2024-02-29",
      meta: { a: [1, { b: null }], "x y": "\u0001" }
    }
    const { path, record } = await make(use(), ann, "accounts", body)
    expect(record).toMatchObject({ ...body, balance: "9007199254.25" })
    expect(await read(use(), ann, path)).toEqual(record)
  })

  it("sets the owner under an own-rows rule, and refuses one that is somebody else", async () => {
    expect((await makeAccount(use())).record["owner_id"]).toBe("ann")
    expect((await makeAccount(use(), { owner_id: "ann" })).record["owner_id"]).toBe("ann")
    expectProblem(await create(ann, { name: "x", owner_id: "bob" }), "access-denied", accounts)
    expect((await make(use(), admin, "accounts", { name: "x", owner_id: "bob" })).record["owner_id"]).toBe("bob")
    // Without the limit the owner is a field like any other.
    expect(codes(await create(admin, { name: "x" }))).toEqual(["owner_id required"])
  })

  it("sets the tenant from the caller, and knows no such field", async () => {
    const { path } = await make(use(), foreign, "accounts", { name: "theirs", owner_id: "zoe" })
    expect((await use().get(admin, path)).status).toBe(404)
    expect((await use().get(foreign, path)).status).toBe(200)
    expect(codes(await create(ann, { name: "x", tenant_id: 2, zq_version: "2026-01-01T00:00:00Z" })))
      .toEqual(["tenant_id unknown", "zq_version unknown"])
    expectProblem(await create(homeless, { name: "x" }), "tenant-required", accounts)
    // The tenant is asked for before the body is looked at.
    expectProblem(await create(homeless, "{"), "tenant-required", accounts)
  })

  it("reports all bad fields together, each with its code", async () => {
    const answer = await create(admin, {
      owner_id: null,
      name: "x".repeat(21),
      balance: "1.234",
      status: "gone",
      rating: "many",
      id: "5",
      etag: "\"x\"",
      wrong: 1,
      opened_on: "2026-02-30",
      deleted_at: null
    })
    expect(answer.json["errors"]).toEqual([
      { field: "owner_id", code: "required", message: "A value is required." },
      { field: "name", code: "max", message: "Expected at most 20 characters." },
      { field: "balance", code: "invalid", message: expect.any(String) },
      { field: "status", code: "enum", message: "Expected one of \"open\", \"frozen\", \"closed\"." },
      { field: "rating", code: "type", message: expect.any(String) },
      { field: "id", code: "read-only", message: "The field \"id\" is read-only." },
      { field: "etag", code: "read-only", message: "An ETag is sent in the If-Match header, not in the body." },
      { field: "wrong", code: "unknown", message: "There is no field \"wrong\"." },
      { field: "opened_on", code: "invalid", message: expect.any(String) },
      { field: "deleted_at", code: "read-only", message: "The field \"deleted_at\" is read-only." }
    ])
    expectProblem(answer, "invalid-record", accounts, { errors: answer.json["errors"] }, "10 fields are not valid.")
    expect(codes(await create(ann, {}))).toEqual(["name required"])
    expect(codes(await create(ann, { name: null, code: "", rating: 1.5 }))).toEqual(["name required", "rating type"])
  })

  it("calls no field missing that the body gives, however many are wrong", async () => {
    const unknown = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`wrong_${i}`, i]))
    const answer = codes(await create(ann, { ...unknown, name: "given" }))
    expect(answer).toHaveLength(100)
    expect(answer.filter((code) => !code.endsWith(" unknown"))).toEqual([])
  })

  it("refuses what is no object", async () => {
    for (const body of [[], [{}], "\"text\"", "null", 1]) expect(codes(await create(ann, body))).toEqual(["- type"])
  })

  it("words a hidden field as an unknown one, byte for byte", async () => {
    const strip = (answer: Answer, name: string): string => answer.text.replaceAll(name, "NAME")
    for (const value of ["text", null, 1, { deep: [] }]) {
      const [hidden, unknown] = [
        await create(ann, { name: "x", zq_note: value }),
        await create(ann, { name: "x", zq_nope: value })
      ]
      expect(hidden.status).toBe(400)
      expect(strip(hidden, "zq_note")).toBe(strip(unknown, "zq_nope"))
    }
    const { path } = await makeAccount(use())
    expect(strip(await patch(use(), ann, path, { zq_note: "a" }), "zq_note"))
      .toBe(strip(await patch(use(), ann, path, { zq_nope: "a" }), "zq_nope"))
  })

  it("runs the validate rules on the record with its defaults; those of hidden fields stay mute", async () => {
    expect(codes(await create(ann, { name: "x", balance: "-1.00" }))).toEqual(["balance invalid"])
    const closed = await create(ann, { name: "x", balance: "5.00", status: "closed" })
    expect(closed.json["errors"]).toEqual([
      { field: "status", code: "invalid", message: "Only an empty account can be closed." },
      { field: "balance", code: "invalid", message: "Is not empty." }
    ])
    await makeAccount(use(), { status: "closed" })
    const refused = await create(admin, { name: "x", owner_id: "root", zq_note: "zq-refused" })
    expect(refused.json["errors"]).toEqual([{ field: "zq_note", code: "invalid", message: "zq: not this note." }])
  })

  it("judges field rules by the record as it is to be written", async () => {
    expect(codes(await create(ann, { name: "x", rating: 3, status: "frozen" }))).toEqual(["rating read-only"])
    expect((await makeAccount(use(), { rating: 3 })).record["rating"]).toBe(3)
  })

  it("decides a rule over the record in the transaction, and shows the record only to who can read it", async () => {
    const papers = `${base}/papers`
    const level = (id: number, at: number) =>
      create(ann, { id, level: at }, { prefer: "return=representation" }, papers)
    const seen = await level(101, 5)
    expect([seen.status, seen.json["level"], seen.headers.get("preference-applied")]).toEqual([
      201,
      5,
      "return=representation"
    ])
    // Outside of Ann's row filter: written, and not shown.
    const unseen = await level(102, 6)
    expect([unseen.status, unseen.text, unseen.headers.get("etag"), unseen.headers.get("preference-applied")])
      .toEqual([201, "", null, null])
    expect(unseen.headers.get("location")).toBe(`${papers}/102`)
    expect((await use().get(ann, `${papers}/102`)).status).toBe(404)
    expect((await use().get(admin, `${papers}/102`)).status).toBe(200)
    expectProblem(await level(103, 8), "access-denied", papers)
    expect((await use().get(admin, `${papers}/103`)).status).toBe(404)
  })

  it("lets callers create what they cannot read, and answers no body", async () => {
    const dropbox = `${base}/dropbox`
    const answer = await create(writer, { message: "psst" }, {}, dropbox)
    expect([answer.status, answer.text, answer.headers.get("etag")]).toEqual([201, "", null])
    const path = answer.headers.get("location")!
    expect(await read(use(), admin, path)).toMatchObject({ message: "psst", zq_score: null })
    expectProblem(await use().get(writer, path), "access-denied", path)
    expect(codes(await create(writer, { message: "x", zq_score: 1 }, {}, dropbox))).toEqual(["zq_score unknown"])
    // Nobody finds a record they cannot read.
    for (const method of ["PATCH", "DELETE"]) {
      const refused = await use().call(writer, method, path, method === "PATCH" ? { body: { message: "y" } } : {})
      expect(refused.status).toBe(403)
    }
  })

  it("refuses who may not create, and hides what is not there for them", async () => {
    expectProblem(await create(viewer, { name: "x", owner_id: "vic" }), "access-denied", accounts)
    for (const caller of [nobody, ann]) {
      expectProblem(await create(caller, { id: 2, word: "x" }, {}, `${base}/zqvault`), "not-found", `${base}/zqvault`)
    }
    expectProblem(await create(nobody, "{", {}, accounts), "not-found", accounts)
    expect((await use().call(null, "POST", accounts, { body: {} })).status).toBe(401)
  })

  it("returns nothing for return=minimal but Location and ETag", async () => {
    const answer = await create(ann, { name: "short" }, { prefer: "respond-async, return=minimal; x=1" })
    expect([answer.status, answer.text, answer.headers.get("preference-applied")]).toEqual([201, "", "return=minimal"])
    expect(answer.headers.get("content-length")).toBe("0")
    const record = await read(use(), ann, answer.headers.get("location")!)
    expect(record["etag"]).toBe(answer.headers.get("etag"))
    const unknown = await create(ann, { name: "short" }, { prefer: "return=everything" })
    expect([unknown.status, unknown.json["name"], unknown.headers.get("preference-applied")]).toEqual([
      201,
      "short",
      null
    ])
  })

  it("takes composite keys from the body, and writes odd text into Location", async () => {
    const note = await make(use(), ann, "notes", { title: "labelled" })
    const answer = await create(ann, { note_id: Number(note.id), label: "a,b/ü%" }, {}, `${base}/labels`)
    expect(answer.headers.get("location")).toBe(`${base}/labels/${note.id},a%2Cb%2F%C3%BC%25`)
    expect(await read(use(), ann, answer.headers.get("location")!)).toEqual(answer.json)
    const again = await create(ann, { note_id: Number(note.id), label: "a,b/ü%" }, {}, `${base}/labels`)
    expectProblem(again, "conflict", `${base}/labels`, {
      errors: ["note_id", "label"].map((field) => ({
        field,
        code: "invalid",
        message: "Another record already has this value."
      }))
    })
  })
})

const parcels = defineResource("parcels", {
  primaryKey: "id",
  fields: { id: f.integer(), weight: f.integer(), fragile: f.boolean().optional() },
  access: { fields: { fragile: { write: ({ record }) => record.weight < 10 } } }
})
const letters = defineResource("letters", {
  primaryKey: "id",
  fields: { id: f.integer(), weight: f.integer() },
  validate: [({ weight }) => weight > 20 ? [{ field: "weight", message: "Too heavy for a letter." }] : null]
})
const post = () => ({
  config: defineConfig({ resources: [parcels, letters] }),
  schema: "create table parcels (id integer primary key, weight integer not null, fragile boolean);" +
    "create table letters (id integer primary key, weight integer not null)",
  rows: {}
})

onBoth("create with rules of one kind only", post, (use) => {
  const create = (resource: string, body: object): Promise<Answer> =>
    use().call(ann, "POST", `${base}/${resource}`, { body })

  it("obeys rules of fields, and rules of the record", async () => {
    expect(codes(await create("parcels", { id: 1, weight: 50, fragile: true }))).toEqual(["fragile read-only"])
    expect((await create("parcels", { id: 1, weight: 50 })).status).toBe(201)
    expect((await create("parcels", { id: 2, weight: 5, fragile: true })).status).toBe(201)
    expect(codes(await create("letters", { id: 1, weight: 21 }))).toEqual(["weight invalid"])
    expect((await create("letters", { id: 1, weight: 20 })).status).toBe(201)
  })
})
