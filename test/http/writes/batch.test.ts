/** `:batchWrite` over HTTP (docs/reference/writes.md#batches): forms, references, order, errors that name their operation, and groups nobody can tell apart. */

import { describe, expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { property } from "../../generators/property.ts"
import type { Random } from "../../generators/random.ts"
import { type Single, write } from "../../generators/writes.ts"
import { expectProblem } from "../../support/answer.ts"
import type { Answer, Answered, Fixture, TestCaller, TestService } from "../../support/composed.ts"
import { admin, ann, bob, foreign, homeless, ledger, viewer, writer } from "../../support/ledger.ts"
import { base, batch, make, makeAccount, on, onBoth, patch, read } from "./scenes.ts"

const path = `${base}:batchWrite`
const createNote = (title: string, more: object = {}) => ({ op: "create", resource: "notes", data: { title, ...more } })
const results = (answer: Answer): readonly Answered[] => {
  expect(answer.status, answer.text).toBe(200)
  return answer.json["results"] as unknown as readonly Answered[]
}

/** The problem of the operation that failed. */
const expectFailed = (
  answer: Answer,
  slug: Parameters<typeof expectProblem>[1],
  operation: number,
  op: string,
  resource: string,
  more: { readonly [member: string]: unknown } = {}
): void =>
  expectProblem(answer, slug, path, {
    operation,
    op,
    resource,
    // The database tells which fields a conflict is about, the fake does not.
    ...(slug === "conflict" && answer.json["errors"] !== undefined
      ? { errors: [{ field: expect.any(String), code: "invalid", message: "Another record already has this value." }] }
      : {}),
    ...more
  })

onBoth("batch", ledger, (use) => {
  const count = async (resource: string): Promise<unknown> =>
    (await use().get(admin, `${base}/${resource}?count=exact`)).json["total_size"]

  it("runs operations in order in one transaction and answers each", async () => {
    const { id, path: account, etag } = await makeAccount(use())
    const note = await make(use(), ann, "notes", { title: "to delete" })
    const answer = await batch(use(), ann, [
      { op: "update", resource: "accounts", key: id, etag, data: { name: "one" } },
      { op: "create", resource: "notes", data: { title: "in batch", account_id: id } },
      { op: "delete", resource: "notes", key: Number(note.id), etag: note.etag },
      { op: "update", resource: "accounts", key: [id], etag: "*", data: { name: "two" } },
      { op: "delete", resource: "accounts", key: id }
    ])
    const [first, created, removed, second, last] = results(answer)
    expect(first).toEqual({ record: expect.objectContaining({ id, name: "one" }), etag: first!["record"]!["etag"] })
    expect(created!["record"]).toMatchObject({ title: "in batch", account_id: id, owner_id: "ann" })
    expect([removed, last]).toEqual([{ deleted: true }, { deleted: true }])
    expect(second!["record"]!["name"]).toBe("two")
    expect((await use().get(ann, account)).status).toBe(404)
    expect((await use().get(ann, note.path)).status).toBe(404)
    expect(answer.headers.get("preference-applied")).toBeNull()
  })

  it("takes `operations` as well, an empty list, and Prefer: return=minimal", async () => {
    expect((await batch(use(), ann, [])).json).toEqual({ results: [] })
    const other = await use().call(ann, "POST", path, { body: { operations: [createNote("named otherwise")] } })
    expect(results(other)).toHaveLength(1)
    const { id } = await makeAccount(use())
    const minimal = await batch(use(), ann, [createNote("minimal"), {
      op: "update",
      resource: "accounts",
      key: id,
      etag: "*",
      data: { name: "m" }
    }, {
      op: "delete",
      resource: "accounts",
      key: id
    }], { prefer: "return=minimal" })
    expect(results(minimal)).toEqual([{ etag: expect.any(String) }, { etag: expect.any(String) }, { deleted: true }])
    expect(minimal.headers.get("preference-applied")).toBe("return=minimal")
  })

  it("takes 500 operations and refuses 501", async () => {
    const ops = Array.from({ length: 500 }, (_, i) => createNote(`of many ${i}`))
    expect(results(await batch(use(), bob, ops)).map(({ record }) => record!["title"])).toEqual(
      ops.map(({ data }) => data.title)
    )
    expectProblem(await batch(use(), bob, [...ops, createNote("one more")]), "invalid-parameter", path, {
      errors: [{ parameter: "ops", message: "A batch has at most 500 operations." }]
    })
  })

  it("refuses malformed bodies and operations by name", async () => {
    for (
      const body of [
        [],
        {},
        { ops: {} },
        { ops: null },
        { ops: [], operations: [] },
        { ops: [], dry_run: true },
        "\"x\""
      ]
    ) {
      const answer = await use().call(ann, "POST", path, { body })
      expect([answer.status, answer.json["type"]]).toEqual([400, "urn:service:problem:invalid-parameter"])
    }
    const bad: ReadonlyArray<readonly [unknown, string]> = [
      [null, "ops[1]"],
      [[], "ops[1]"],
      [{ op: "upsert", resource: "notes", data: {} }, "ops[1].op"],
      [{ op: "toString", resource: "notes" }, "ops[1].op"],
      [{ op: "u".repeat(101), resource: "notes" }, "ops[1].op"],
      [{ op: "create", data: {} }, "ops[1].resource"],
      [{ op: "create", resource: "", data: {} }, "ops[1].resource"],
      [{ op: "create", resource: "n".repeat(101), data: {} }, "ops[1].resource"],
      [{ op: "create", resource: "notes" }, "ops[1].data"],
      [{ op: "create", resource: "notes", data: {}, key: 1 }, "ops[1].key"],
      [{ op: "create", resource: "notes", data: {}, ref: "a b" }, "ops[1].ref"],
      [{ op: "update", resource: "notes", data: {} }, "ops[1].key"],
      [{ op: "update", resource: "notes", key: 1 }, "ops[1].data"],
      [{ op: "update", resource: "notes", key: 1, data: {}, etag: 1 }, "ops[1].etag"],
      [{ op: "delete", resource: "notes", key: null }, "ops[1].key"],
      [{ op: "reorder", resource: "steps", field: "place" }, "ops[1].keys"],
      [{ op: "reorder", resource: "steps", keys: [] }, "ops[1].field"]
    ]
    const before = await count("notes")
    for (const [operation, parameter] of bad) {
      const answer = await batch(use(), ann, [createNote("never"), operation])
      const { op, resource } = (operation ?? {}) as { readonly op?: string; readonly resource?: string }
      expectProblem(answer, "invalid-parameter", path, {
        operation: 1,
        errors: [{ parameter, message: expect.any(String) }],
        // Named once the resource is known to be a name.
        ...(/(\]|resource)$/.test(parameter) ? {} : { op: op?.slice(0, 100), resource })
      })
    }
    expect(await count("notes")).toBe(before)
  })

  it("names the failing operation with its own problem, and writes nothing", async () => {
    const { etag, id } = await makeAccount(use())
    const before = await count("notes")
    const fail = (operation: object, caller: TestCaller = ann) =>
      batch(use(), caller, [createNote("never"), createNote("never again"), operation])
    const update = { op: "update", resource: "accounts", key: id, etag, data: { name: "never" } } as const
    expectFailed(await fail({ ...update, etag: "\"old\"" }), "precondition-failed", 2, "update", "accounts", { etag })
    expect((await fail({ ...update, etag: "\"old\"" })).headers.get("etag")).toBe(etag)
    expectFailed(await fail({ ...update, etag: undefined }), "precondition-required", 2, "update", "accounts")
    expectFailed(await fail({ ...update, key: "999999" }), "not-found", 2, "update", "accounts")
    expectFailed(await fail({ ...update, key: "2" }), "access-denied", 2, "update", "accounts")
    expectFailed(await fail({ ...update, data: { wrong: 1 } }), "invalid-record", 2, "update", "accounts", {
      errors: [{ field: "wrong", code: "unknown", message: "There is no field \"wrong\"." }]
    })
    expectFailed(await fail({ ...update, data: 5 }), "invalid-record", 2, "update", "accounts", {
      errors: [{ code: "type", message: expect.any(String) }]
    })
    for (const key of ["a", "1,2", [1, 2], [], {}, [[1]], [null], true, 1.5]) {
      expectFailed(await fail({ ...update, key }), "invalid-key", 2, "update", "accounts", {
        errors: [{ message: expect.any(String) }]
      })
    }
    // A client that made a number of its neighbour's text would mean this one by it.
    const exact = "A JSON number cannot hold a key of this size exactly. Send it as text."
    for (const key of [2 ** 53, -(2 ** 53), [2 ** 53]]) {
      expectFailed(await fail({ ...update, key }), "invalid-key", 2, "update", "accounts", {
        errors: [{ message: exact }]
      })
    }
    expectFailed(await fail({ ...update, key: String(2 ** 53) }), "not-found", 2, "update", "accounts")
    expectFailed(await fail({ ...update, key: 2 ** 53 - 1 }), "not-found", 2, "update", "accounts")
    expectFailed(await fail({ ...update, resource: "zqvault" }), "not-found", 2, "update", "zqvault")
    expectFailed(await fail({ ...update, resource: "nothing" }), "not-found", 2, "update", "nothing")
    expectFailed(
      await fail({ op: "delete", resource: "accounts", key: id, etag: "\"old\"" }),
      "precondition-failed",
      2,
      "delete",
      "accounts",
      { etag }
    )
    expectFailed(
      await fail({ op: "create", resource: "accounts", data: {} }),
      "invalid-record",
      2,
      "create",
      "accounts",
      { errors: [expect.anything()] }
    )
    expectFailed(await fail(createNote("x", { owner_id: "bob" })), "access-denied", 2, "create", "notes")
    expectFailed(await batch(use(), viewer, [createNote("x")]), "access-denied", 0, "create", "notes")
    expectFailed(await batch(use(), homeless, [update]), "tenant-required", 0, "update", "accounts")
    expectFailed(await batch(use(), foreign, [update]), "not-found", 0, "update", "accounts")
    expect(await count("notes")).toBe(before)
    expect(await read(use(), ann, `${base}/accounts/${id}`)).toMatchObject({ name: "made", etag })
  })

  it("a 412 names the version that everybody sees, never one that goes with the rollback", async () => {
    const counter = `${base}/counters/1`
    const first = await read(use(), ann, counter) as unknown as { readonly etag: string; readonly rev: number }
    const raise = (etag: string, data: object = {}) => ({ op: "update", resource: "counters", key: 1, etag, data })
    const moved = raise("*", { n: "7" })
    const failed = (more: object) => ({ operation: 1, op: "update", resource: "counters", ...more })
    const stale = await batch(use(), ann, [moved, raise("\"old\"")])
    expectProblem(stale, "precondition-failed", path, failed({ etag: first.etag }))
    expect(stale.headers.get("etag")).toBe(first.etag)
    // The version that the client holds is the one that stands: there is nothing newer to name.
    for (
      const operation of [raise(first.etag), { op: "delete", resource: "counters", key: 1, etag: first.etag }, {
        op: "reorder",
        resource: "counters",
        field: "n",
        keys: [1],
        etags: { 1: first.etag }
      }]
    ) {
      const own = await batch(use(), ann, [moved, operation])
      const record = operation.op === "reorder" ? { key: "1" } : {}
      expectProblem(own, "precondition-failed", path, failed({ op: operation.op, ...record }))
      expect(own.headers.get("etag")).toBeNull()
    }
    const fresh = { op: "create", resource: "counters", data: { id: 501 } }
    const created = await batch(use(), ann, [fresh, { ...raise("\"old\""), key: 501 }])
    expectProblem(created, "precondition-failed", path, failed({}))
    const next = await patch(use(), ann, counter, { n: "8" }, first.etag)
    expect(next.json["rev"]).toBe(first.rev + 1)
    const known = await batch(use(), ann, [moved, raise(first.etag)])
    expectProblem(
      known,
      "precondition-failed",
      path,
      failed({ etag: next.headers.get("etag"), changed: ["n", "rev"] })
    )
    expect((await batch(use(), ann, [moved, raise("\"old\"")], {}, "?dry_run=true")).json["etag"])
      .toBe(next.headers.get("etag"))
    expect(await read(use(), ann, counter)).toMatchObject({ n: "8", rev: first.rev + 1 })
  })

  it("follows references as key, key part and value, in several resources", async () => {
    const answer = await batch(use(), ann, [
      { op: "create", resource: "accounts", ref: "acc", data: { name: "referred", balance: "12.50" } },
      {
        op: "create",
        resource: "notes",
        ref: "n.1",
        data: { title: { $ref: "acc", field: "balance" }, account_id: { $ref: "acc" } }
      },
      {
        op: "create",
        resource: "labels",
        ref: "l",
        data: { note_id: { $ref: "n.1" }, label: { $ref: "n.1", field: "title" } }
      },
      { op: "update", resource: "labels", key: [{ $ref: "n.1" }, "12.50"], etag: "*", data: { weight: 7 } },
      {
        op: "update",
        resource: "labels",
        key: { $ref: "l" },
        etag: "*",
        data: { weight: { $ref: "l", field: "weight" } }
      },
      { op: "update", resource: "accounts", key: { $ref: "acc" }, etag: "*", data: { name: "changed" } },
      {
        op: "update",
        resource: "notes",
        key: { $ref: "n.1", field: "id" },
        etag: "*",
        data: { body: { $ref: "acc", field: "name" } }
      },
      {
        op: "update",
        resource: "accounts",
        key: { $ref: "n.1", field: "account_id" },
        etag: "*",
        data: { meta: { $ref: "acc" } }
      },
      { op: "delete", resource: "labels", key: { $ref: "l" } }
    ])
    const [account, note, label, , same, , second, meta] = results(answer)
    const id = account!["record"]!["id"]
    expect(note!["record"]).toMatchObject({ title: "12.50", account_id: id })
    expect(label!["record"]).toEqual({
      note_id: note!["record"]!["id"],
      label: "12.50",
      weight: 1,
      etag: expect.any(String)
    })
    expect(same!["record"]!["weight"]).toBe(7)
    // A reference means the record as it is by then; in a json field it is data like any other.
    expect(second!["record"]!["body"]).toBe("changed")
    expect(meta!["record"]!["meta"]).toEqual({ $ref: "acc" })
  })

  it("refuses references that lead nowhere", async () => {
    const bad: ReadonlyArray<readonly [readonly object[], number]> = [
      [[createNote("x", { body: { $ref: "none" } })], 0],
      [[{ ...createNote("x", { body: { $ref: "later" } }) }, { ...createNote("y"), ref: "later" }], 0],
      [[{ ...createNote("x", { body: { $ref: "self" } }), ref: "self" }], 0],
      [[{ ...createNote("x"), ref: "a" }, { op: "delete", resource: "notes", key: { $ref: "b" } }], 1],
      [[{ ...createNote("x"), ref: "a" }, createNote("y", { body: { $ref: "a", field: "zq_mark" } })], 1],
      [[{ ...createNote("x"), ref: "a" }, createNote("y", { body: { $ref: "a", field: "nope" } })], 1],
      [[{ ...createNote("x"), ref: "a" }, { ...createNote("y"), ref: "a" }], 1],
      [[{ ...createNote("x"), ref: "a" }, {
        op: "create",
        resource: "labels",
        ref: "l",
        data: { note_id: { $ref: "a" }, label: "q" }
      }, createNote("z", { body: { $ref: "l" } })], 2]
    ]
    for (const [ops, operation] of bad) {
      const answer = await batch(use(), ann, ops)
      expect([answer.status, answer.json["type"], answer.json["operation"]], answer.text).toEqual([
        400,
        "urn:service:problem:invalid-parameter",
        operation
      ])
    }
    const hidden = await batch(use(), ann, [
      { ...createNote("x"), ref: "a" },
      createNote("y", { body: { $ref: "a", field: "zq_mark" } })
    ])
    const unknown = await batch(use(), ann, [
      { ...createNote("x"), ref: "a" },
      createNote("y", { body: { $ref: "a", field: "zq_nope" } })
    ])
    expect(hidden.text.replaceAll("zq_mark", "zq_nope")).toBe(unknown.text)
    const odd = await batch(use(), ann, [
      { ...createNote("x"), ref: "a" },
      createNote("y", { body: { $ref: "a", field: "id", more: 1 } })
    ])
    expect(odd.json["errors"]).toEqual([{ field: "body", code: "type", message: "Expected a text." }])
    // A composite key stands for itself only as a whole.
    const note = await make(use(), ann, "notes", { title: `refs ${use().backend}` })
    const foreignKey = await batch(use(), ann, [
      { op: "create", resource: "labels", ref: "l", data: { note_id: Number(note.id), label: "q" } },
      { op: "delete", resource: "notes", key: { $ref: "l" } }
    ])
    expectFailed(foreignKey, "invalid-key", 1, "delete", "notes", { errors: [expect.anything()] })
  })

  it("shows nothing of a record that its creator cannot see, not by reference either", async () => {
    const drop = { op: "create", resource: "dropbox", ref: "d", data: { message: "psst" } }
    expect(results(await batch(use(), writer, [drop]))).toEqual([{}])
    const paper = { op: "create", resource: "papers", ref: "p", data: { id: 7001, level: 7 } }
    const peek = await batch(use(), ann, [paper, createNote("peek", { body: { $ref: "p", field: "updated_at" } })])
    expectFailed(peek, "invalid-parameter", 1, "create", "notes", { errors: [expect.anything()] })
    const key = await batch(use(), ann, [paper, {
      op: "create",
      resource: "papers",
      data: { id: 7002, level: { $ref: "p", field: "id" } }
    }])
    expectFailed(key, "access-denied", 1, "create", "papers")
  })

  it("the first failing operation is named, also before one that cannot be read at all", async () => {
    const twice = [
      { op: "create", resource: "papers", data: { id: 8001, level: 1 } },
      { op: "create", resource: "papers", data: { id: 1, level: 1 } },
      { op: "create", resource: "papers", data: { id: "x" } }
    ]
    for (const caller of [ann, admin]) {
      expectFailed(await batch(use(), caller, twice), "conflict", 1, "create", "papers")
    }
    expect((await use().get(admin, `${base}/papers/8001`)).status).toBe(404)
  })
})

// ----------------------------------------------------------------------------------------- a batch of one is the single write

const refusal = (answer: Answer): unknown => {
  const { instance: _, operation, op, resource, ...rest } = answer.json as unknown as {
    readonly [member: string]: unknown
  }
  return { rest, named: operation === undefined ? null : [operation, op, resource] }
}

const sendSingle = (
  service: TestService,
  caller: TestCaller,
  { data, etag, key, op, resource }: Single,
  dry = false
): Promise<Answer> => {
  const query = dry ? "?dry_run=true" : ""
  const headers = etag === undefined ? {} : { "if-match": etag }
  if (op === "create") return service.call(caller, "POST", `${base}/${resource}${query}`, { body: data })
  return op === "delete"
    ? service.call(caller, "DELETE", `${base}/${resource}/${key!}${query}`, { headers })
    : service.call(caller, "PATCH", `${base}/${resource}/${key!}${query}`, { body: data, headers })
}

describe("a batch of one", () => {
  const runs = { fake: 800, postgres: 400 }
  onBoth("equals the single write", ledger, (use, backend) => {
    const statuses = new Map<string, number>()
    // Nothing is written, so that ETags stay.
    const tags = new Map<string, string>()
    const tagOf = async (caller: TestCaller, key: string): Promise<string> => {
      const place = `${caller.id} ${key}`
      const known = tags.get(place)
      if (known !== undefined) return known
      const tag = (await use().get(caller, `${base}/accounts/${key}`)).headers.get("etag") ?? "*"
      tags.set(place, tag)
      return tag
    }
    const strip = (record: Answered | undefined) =>
      record === undefined ? null : { ...record as object, id: 0, etag: 0, updated_at: 0 }

    property(
      "status, record and problem are the same",
      { caller: (random) => random.pick([ann, ann, bob, admin, viewer, foreign, homeless, writer]), write },
      {
        cases: runs[backend],
        reaches: (runs) => {
          const kinds = [
            "create 201",
            "create 400",
            "create 403",
            "create 404",
            "update 200",
            "update 400",
            "update 403",
            "update 404",
            "update 412",
            "update 428",
            "delete 204",
            "delete 403",
            "delete 404",
            "delete 412"
          ]
          const met = kinds.filter((kind) => statuses.has(kind))
          if (runs >= 400) expect(met).toEqual(kinds)
          else expect(met.length).toBeGreaterThan(kinds.length / 2)
        }
      },
      async ({ caller, write: { etag, ...wanted } }) => {
        const service = use()
        const match = etag === "current" ? await tagOf(caller, wanted.key ?? "") : etag
        const write = { ...wanted, ...(match === undefined ? {} : { etag: match }) }
        const single = await sendSingle(service, caller, write, true)
        const grouped = await batch(service, caller, [write], {}, "?dry_run=true")
        const label = `${single.text} and ${grouped.text}`
        statuses.set(`${write.op} ${single.status}`, (statuses.get(`${write.op} ${single.status}`) ?? 0) + 1)
        if (single.status >= 400) {
          expect(grouped.status, label).toBe(single.status)
          const [one, other] = [refusal(single), refusal(grouped)] as Array<{ rest: unknown; named: unknown }>
          expect(other!.rest, label).toEqual(one!.rest)
          expect(other!.named, label).toEqual([0, write.op, write.resource])
        } else {
          const [entry] = results(grouped)
          expect(entry!["deleted"] ?? false, label).toBe(write.op === "delete")
          expect(strip(entry!["record"]), label).toEqual(single.text === "" ? null : strip(single.json))
        }
      }
    )
  })
})

on("postgres", "grouped creates", ledger, (use) => {
  const create = (data: object) => ({ op: "create", resource: "accounts", data })

  it("name the one that the database refuses, wherever it stands in its group", async () => {
    for (const at of [0, 1, 57, 99]) {
      const ops = Array.from(
        { length: 100 },
        (_, i) => create({ name: "grouped", code: i === at ? "A-1" : `G-${at}-${i}` })
      )
      expectFailed(await batch(use(), ann, ops), "conflict", at, "create", "accounts")
      const checked = Array.from({ length: 100 }, (_, i) => create({ name: "grouped", rating: i === at ? -1 : 1 }))
      expectFailed(await batch(use(), ann, checked), "invalid-record", at, "create", "accounts", {
        errors: [{ field: "rating", code: "invalid", message: "The value breaks a rule of the database." }]
      })
      const owned = Array.from(
        { length: 100 },
        (_, i) => create({ name: "grouped", owner_id: i === at ? "bob" : "ann" })
      )
      expectFailed(await batch(use(), ann, owned), "access-denied", at, "create", "accounts")
    }
    expect(await use().database!.rows("select count(*) from ledger.accounts where name = 'grouped'")).toEqual([["0"]])
  })

  const bodies = (random: Random) =>
    random.many(60, 60, (i) => ({
      name: `eq ${i}`,
      ...(random.chance(2) ? { balance: `${i}.25` } : {}),
      ...(random.chance(3) ? { rating: i } : {}),
      ...(random.chance(3) ? { meta: { i } } : {})
    }), 1)
  property("equal the same creates one by one", { bodies }, { cases: 10 }, async ({ bodies }) => {
    const grouped = results(await batch(use(), ann, bodies.map(create))).map(({ record }) => record)
    const strip = (record: unknown) => ({ ...record as object, id: 0, etag: 0 })
    for (const [i, body] of bodies.entries()) {
      const single = await use().call(ann, "POST", `${base}/accounts`, { body })
      expect(strip(grouped[i])).toEqual(strip(single.json))
    }
    const ids = grouped.map((record) => Number(record!["id"]))
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    const path = `${base}/accounts/${ids.at(-1)}`
    const etag = grouped.at(-1)!["etag"] as unknown as string
    expect((await patch(use(), ann, path, { name: "x" }, etag)).status).toBe(200)
  })
})

const prices = defineResource("prices", {
  table: "ledger.prices",
  primaryKey: "id",
  fields: { id: f.integer(), latest: f.boolean().readOnly().dbDefault() }
})
const bookings = defineResource("bookings", {
  table: "ledger.bookings",
  primaryKey: "id",
  fields: { id: f.integer(), amount: f.integer(), balance: f.integer().readOnly().dbDefault() }
})
const slips = defineResource("slips", {
  table: "ledger.slips",
  primaryKey: "id",
  fields: { id: f.integer(), number: f.integer().readOnly().dbDefault() }
})
/** What happens after each row tells whether others were written before it. */
const followed = (): Fixture => ({
  config: defineConfig({ resources: [prices, bookings, slips] }),
  schema: `create schema ledger;
    create table ledger.prices (id integer primary key, latest boolean not null default true);
    create function ledger.only_latest() returns trigger language plpgsql as $$
      begin update ledger.prices set latest = false where id <> new.id; return null; end $$;
    create trigger only_latest after insert on ledger.prices for each row execute function ledger.only_latest();
    create table ledger.bookings (id integer primary key, amount integer not null, balance integer) partition by range (id);
    create table ledger.bookings_all partition of ledger.bookings for values from (0) to (1000);
    create table ledger.slips (id integer primary key, number integer);
    create function ledger.next_number() returns integer language sql stable as
      $$ select coalesce(max(number), 0) + 1 from ledger.slips $$;
    alter table ledger.slips alter column number set default ledger.next_number();
    create table ledger.total (balance integer not null);
    insert into ledger.total values (0);
    create function ledger.book() returns trigger language plpgsql as $$
      begin select balance + new.amount into new.balance from ledger.total; return new; end $$;
    create function ledger.add_up() returns trigger language plpgsql as $$
      begin update ledger.total set balance = (select coalesce(sum(amount), 0) from ledger.bookings); return null; end $$;
    create trigger book before insert on ledger.bookings_all for each row execute function ledger.book();
    create trigger add_up after insert on ledger.bookings for each statement execute function ledger.add_up();`,
  rows: {}
})

on("postgres", "creates that something follows in the database", followed, (use) => {
  it("happen one after the other, as they stand in the batch", async () => {
    const create = (resource: string, data: object) => ({ op: "create", resource, data })
    const made = await batch(use(), admin, [1, 2, 3].map((id) => create("prices", { id })))
    expect(made.status, made.text).toBe(200)
    expect(await use().database!.rows("select id from ledger.prices where latest")).toEqual([["3"]])
    const booked = await batch(use(), admin, [1, 2, 3].map((id) => create("bookings", { id, amount: id })))
    expect(results(booked).map(({ record }) => record?.["balance"])).toEqual([1, 3, 6])
    const numbered = await batch(use(), admin, [1, 2, 3].map((id) => create("slips", { id })))
    expect(results(numbered).map(({ record }) => record?.["number"])).toEqual([1, 2, 3])
    const refused = [4, 5, 1].map((id) => create("prices", { id }))
    expectFailed(await batch(use(), admin, refused), "conflict", 2, "create", "prices")
    expect(await use().database!.rows("select id from ledger.prices where latest")).toEqual([["3"]])
  })
})

const numbers = Array.from({ length: 80 }, (_, i) => `n${i}`)
const wide = defineResource("wide", {
  table: "ledger.wide",
  primaryKey: "id",
  fields: { id: f.integer(), ...Object.fromEntries(numbers.map((name) => [name, f.integer()])) }
})
const folders = defineResource("folders", {
  table: "ledger.folders",
  primaryKey: "id",
  fields: { id: f.integer(), parent_id: f.relation("folders").optional() }
})
const shapes = (): Fixture => ({
  config: defineConfig({ resources: [wide, folders] }),
  schema: `create schema ledger;
    create table ledger.wide (id integer primary key, ${numbers.map((name) => `${name} integer not null`).join(", ")});
    create table ledger.folders (id integer primary key, parent_id integer references ledger.folders (id));`,
  rows: {}
})

on("postgres", "grouped creates of other shapes", shapes, (use) => {
  it("take five hundred records of a wide table, in order", async () => {
    const records = Array.from({ length: 500 }, (_, at) => ({
      id: 500 - at,
      ...Object.fromEntries(numbers.map((name, i) => [name, at * 100 + i]))
    }))
    const ops = records.map((data) => ({ op: "create", resource: "wide", data }))
    const made = results(await batch(use(), admin, ops)).map(({ record }) => ({ ...record as object, etag: "" }))
    expect(made).toEqual(records.map((record) => ({ ...record, etag: "" })))
    const again = [
      ...ops.slice(0, 450).map((op, at) => ({ ...op, data: { ...op.data, id: 1000 + at } })),
      ...ops.slice(7, 8)
    ]
    expectFailed(await batch(use(), admin, again), "conflict", 450, "create", "wide")
  })

  it("a record finds none that a later operation creates, in one statement or not", async () => {
    const create = (id: number, parent: object) => ({ op: "create", resource: "folders", data: { id, ...parent } })
    for (const none of [{}, { parent_id: null }]) {
      for (const before of [[], [create(1, { parent_id: null }), create(2, { parent_id: 1 })]]) {
        const ops = [...before, create(3, { parent_id: 4 }), create(4, none), create(5, { parent_id: 3 })]
        expectFailed(await batch(use(), admin, ops), "invalid-record", before.length, "create", "folders", {
          errors: [{ field: "parent_id", code: "invalid", message: "There is no such record." }]
        })
      }
    }
    const ops = [create(1, { parent_id: 1 }), create(2, { parent_id: 1 }), create(3, { parent_id: 2 })]
    expect(results(await batch(use(), admin, ops)).map(({ record }) => record!["parent_id"])).toEqual([1, 1, 2])
  })
})

const tags = defineResource("tags", {
  table: "ledger.tags",
  primaryKey: "id",
  version: "rev",
  fields: { id: f.text(), label: f.text().optional(), place: f.integer().optional(), rev: f.integer() }
})
const rates = defineResource("rates", { primaryKey: "rate", fields: { rate: f.decimal(), name: f.text().optional() } })
const folded = (): Fixture => ({
  config: defineConfig({ resources: [tags, rates] }),
  schema: `create schema ledger;
    create table ledger.tags (id citext primary key, label text, place integer unique, rev integer not null default 1);
    create table rates (rate numeric primary key, name text);`,
  rows: {}
})

on("postgres", "keys that the database takes for equal", folded, (use) => {
  const tag = (id: string, data: object = {}) => ({ op: "create", resource: "tags", data: { id, ...data }, ref: id })
  const reorder = (...keys: readonly string[]) => ({
    op: "reorder",
    resource: "tags",
    field: "place",
    keys,
    etags: Object.fromEntries(keys.map((key) => [key, "*"]))
  })

  it("are one record: to references, to a reorder, and to who is told what has changed", async () => {
    const [, , copy] = results(
      await batch(use(), admin, [
        tag("a"),
        { op: "update", resource: "tags", key: "A", etag: "*", data: { label: "seen" } },
        tag("b", { label: { $ref: "a", field: "label" } })
      ])
    )
    expect(copy!["record"]!["label"]).toBe("seen")
    expectFailed(await batch(use(), admin, [reorder("a", "A", "b")]), "invalid-parameter", 0, "reorder", "tags", {
      errors: [{ parameter: "keys", message: "A key is given twice." }]
    })
    const [ordered] = results(await batch(use(), admin, [reorder("B", "A")]))
    expect((ordered!["records"] as unknown as readonly Answered[]).map(({ key }) => key)).toEqual(["b", "a"])
    const held = (await use().get(admin, `${base}/tags/a`)).headers.get("etag")
    await patch(use(), admin, `${base}/tags/A`, { label: "changed" })
    const stale = await patch(use(), admin, `${base}/tags/a`, { label: "late" }, held)
    expect([stale.status, stale.json["changed"]]).toEqual([412, ["label", "rev"]])
  })

  it("may be numbers however JSON writes them, as in a body", async () => {
    const made = { op: "create", resource: "rates", data: { rate: 1e-7 } }
    const named = { op: "update", resource: "rates", key: 1e-7, etag: "*", data: { name: "small" } }
    const [, record] = results(await batch(use(), admin, [made, named]))
    expect(record!["record"]).toMatchObject({ rate: "0.0000001", name: "small" })
  })
})
