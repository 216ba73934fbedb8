/** `Idempotency-Key` on creates and batches: what is replayed, refused, forgotten, and to whom (draft-ietf-httpapi-idempotency-key-header). */

import { expect, it, vi } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import type { WriteHook } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import type { Field, Model } from "../../../core/domain/model/model.ts"
import { expectParameter, expectProblem } from "../../support/answer.ts"
import type { Answer, TestCaller } from "../../support/composed.ts"
import { admin, ann, bob, ledger } from "../../support/ledger.ts"
import { base, batch, makeAccount, on, onBoth, patch, takeUnhandled } from "./scenes.ts"

const accounts = `${base}/accounts`
let hook: WriteHook = () => {}
const hooked = () => ledger({ writeHooks: [(change) => hook(change)] })

onBoth("idempotency keys", hooked, (use) => {
  const create = (
    key: string,
    body: unknown,
    caller: TestCaller = ann,
    headers: { readonly [name: string]: string } = {}
  ): Promise<Answer> => use().call(caller, "POST", accounts, { body, headers: { "idempotency-key": key, ...headers } })
  const named = async (name: string): Promise<unknown> =>
    (await use().get(admin, `${accounts}?count=exact&filter=${encodeURIComponent(`name = "${name}"`)}`))
      .json["total_size"]
  const visible = (
    answer: Answer
  ) => [
    answer.status,
    answer.text,
    answer.headers.get("location"),
    answer.headers.get("etag"),
    answer.headers.get("content-type")
  ]

  it("the same key and body: the same answer, written once", async () => {
    const first = await create("once", { name: "once" })
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([201, null])
    for (const key of ["once", "\"once\""]) {
      const again = await create(key, { name: "once" })
      expect(visible(again)).toEqual(visible(first))
      expect(again.headers.get("idempotency-replayed")).toBe("true")
    }
    expect(await named("once")).toBe(1)
    // The record has moved on; the answer has not.
    await patch(use(), ann, first.headers.get("location")!, { name: "moved" })
    expect(visible(await create("once", { name: "once" }))).toEqual(visible(first))
    expect(await named("once")).toBe(0)
  })

  it("the same key for another body or path: 422", async () => {
    await create("other", { name: "other" })
    expectProblem(await create("other", { name: "other 2" }), "idempotency-key-reused", accounts)
    const elsewhere = await use().call(ann, "POST", `${base}/notes`, {
      body: { name: "other" },
      headers: { "idempotency-key": "other" }
    })
    expect(elsewhere.status).toBe(400)
    // A body that both resources take.
    const place = (resource: string) =>
      use().call(ann, "POST", `${base}/${resource}`, {
        body: { id: 71, place: 71 },
        headers: { "idempotency-key": "place" }
      })
    expect((await place("ceilings")).status).toBe(201)
    expectProblem(await place("floors"), "idempotency-key-reused", `${base}/floors`)
    const asBatch = await batch(use(), ann, [], { "idempotency-key": "other" })
    expectProblem(asBatch, "idempotency-key-reused", `${base}:batchWrite`)
    expect(await named("other 2")).toBe(0)
  })

  it("belongs to one user in one tenant", async () => {
    const owners: ReadonlyArray<TestCaller> = [ann, bob, { ...ann, tenant: "2" }]
    for (const caller of owners) {
      const answer = await create("shared", { name: "shared" }, caller)
      expect([answer.status, answer.headers.get("idempotency-replayed"), answer.json["owner_id"]]).toEqual([
        201,
        null,
        caller.id
      ])
    }
    expect(await named("shared")).toBe(2)
  })

  it("batches: replayed as a whole; Prefer is no part of what is sent", async () => {
    const ops = [{ op: "create", resource: "accounts", ref: "a", data: { name: "batched" } }, {
      op: "update",
      resource: "accounts",
      key: { $ref: "a" },
      etag: "*",
      data: { balance: "1" }
    }]
    const first = await batch(use(), ann, ops, { "idempotency-key": "b-1" })
    const again = await batch(use(), ann, ops, { "idempotency-key": "b-1", prefer: "return=minimal" })
    expect(visible(again)).toEqual(visible(first))
    expect(await named("batched")).toBe(1)
  })

  it("a refused write leaves the key free", async () => {
    expect((await create("retry", { name: "x".repeat(21) })).status).toBe(400)
    expect((await create("retry", { name: "retry", owner_id: "bob" })).status).toBe(403)
    hook = () => {
      throw new Error("no")
    }
    expect((await create("retry", { name: "retry" })).status).toBe(500)
    expect(takeUnhandled(use())).toHaveLength(1)
    hook = () => {}
    const answer = await create("retry", { name: "retry" })
    expect([answer.status, answer.headers.get("idempotency-replayed"), await named("retry")]).toEqual([201, null, 1])
  })

  it("a dry run neither takes a key nor answers from one", async () => {
    const dry = async () => (await use().call(ann, "POST", `${accounts}?dry_run=true`, {
      body: { name: "dry" },
      headers: { "idempotency-key": "dry" }
    }))
    expect((await dry()).headers.get("idempotency-replayed")).toBeNull()
    expect((await create("dry", { name: "dry" })).headers.get("idempotency-replayed")).toBeNull()
    expect([(await dry()).status, (await dry()).headers.get("idempotency-replayed")]).toEqual([201, null])
    expect(await named("dry")).toBe(1)
  })

  it("the twin of a request under way: 409", async () => {
    let go = (): void => {}
    const inside = new Promise<void>((entered) => {
      hook = () =>
        new Promise<void>((resolve) => {
          go = resolve
          entered()
        })
    })
    const first = create("twin", { name: "twin" })
    await inside
    hook = () => {}
    const twin = await create("twin", { name: "twin" })
    expectProblem(twin, "conflict", accounts)
    expect(twin.headers.get("retry-after")).toBe("1")
    expect((await create("twin", { name: "twin" }, bob)).status).toBe(201)
    go()
    expect((await first).status).toBe(201)
    expect((await create("twin", { name: "twin" })).headers.get("idempotency-replayed")).toBe("true")
    expect(await named("twin")).toBe(2)
  })

  it("many twins at once: one write", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create("storm", { name: "storm" })))
    for (const answer of answers) expect([201, 409]).toContain(answer.status)
    expect(answers.filter((answer) => answer.status === 201 && answer.headers.get("idempotency-replayed") === null))
      .toHaveLength(1)
    expect(await named("storm")).toBe(1)
  })

  it("forgets after 24 hours, not before", async () => {
    const start = Date.now()
    const now = vi.spyOn(Date, "now").mockReturnValue(start)
    try {
      await create("day", { name: "day" })
      now.mockReturnValue(start + 24 * 3_600_000 - 1)
      expect((await create("day", { name: "day" })).headers.get("idempotency-replayed")).toBe("true")
      now.mockReturnValue(start + 24 * 3_600_000)
      expect((await create("day", { name: "day" })).headers.get("idempotency-replayed")).toBeNull()
      // The new answer counts from then on.
      now.mockReturnValue(start + 47 * 3_600_000)
      expect((await create("day", { name: "day" })).headers.get("idempotency-replayed")).toBe("true")
    } finally {
      now.mockRestore()
    }
    expect(await named("day")).toBe(2)
  })

  it("shows no record to a caller whose roles have changed since", async () => {
    const both = { ...ann, roles: ["admin"] }
    const body = { name: "promoted", owner_id: "ann", zq_note: "zq-seen" }
    const first = await create("roles", body, both)
    expect(first.json["zq_note"]).toBe("zq-seen")
    const plain = { name: "plain", owner_id: "ann" }
    const shown = await create("roles 2".replace(" ", "-"), plain, both)
    const later = await create("roles-2", plain, ann)
    expect([
      later.status,
      later.text,
      later.headers.get("location"),
      later.headers.get("etag"),
      later.headers.get("idempotency-replayed")
    ])
      .toEqual([201, "", shown.headers.get("location"), null, "true"])
    expect(await named("plain")).toBe(1)
  })

  it("refuses keys that are none, and ignores them where they mean nothing", async () => {
    for (const key of ["", "a b", "a,b c", "x".repeat(256), "\"\"", "é"]) {
      expectParameter(await create(key, { name: "x" }), accounts, "Idempotency-Key")
    }
    expect((await create("x".repeat(255), { name: "longest" })).status).toBe(201)
    const { path } = await makeAccount(use())
    for (let i = 0; i < 2; i++) {
      const answer = await patch(use(), ann, path, { name: `p${i}` }, "*", { "idempotency-key": "patch" })
      expect([answer.status, answer.json["name"]]).toEqual([200, `p${i}`])
    }
  })
})

let salaries = true
const staff = () => ({
  config: defineConfig({
    resources: [
      defineResource("people", {
        primaryKey: "id",
        fields: { id: f.integer(), name: f.text(), salary: f.integer().dbDefault() },
        access: { fields: { salary: { read: () => salaries } } }
      })
    ]
  }),
  schema: "create table people (id integer primary key, name text not null, salary integer not null default 5000)",
  rows: {},
  defaultOf: (_model: Model, field: Field) => field.name === "salary" ? "5000" : undefined
})

onBoth("idempotency keys and rules that change", staff, (use) => {
  const headers = { "idempotency-key": "hired" }
  const body = { id: 1, name: "Ann" }
  const operations = [{ op: "create", resource: "people", data: { ...body, id: 2 } }]
  const replays = async (): Promise<readonly Answer[]> => [
    await use().call(ann, "POST", `${base}/people`, { body, headers }),
    await batch(use(), ann, operations, { "idempotency-key": "two" })
  ]

  it("show no record once a field of it is hidden", async () => {
    const first = await replays()
    expect(first.map(({ status }) => status)).toEqual([201, 200])
    for (const { text } of first) expect(text).toContain("5000")
    expect((await replays()).map(({ text }) => text)).toEqual(first.map(({ text }) => text))
    try {
      salaries = false
      const later = await replays()
      expect(later.map(({ status, text, headers }) => [status, text, headers.get("idempotency-replayed")])).toEqual([
        [201, "", "true"],
        [200, "", "true"]
      ])
      expect(later[0]!.headers.get("location")).toBe(`${base}/people/1`)
    } finally {
      salaries = true
    }
    expect((await replays()).map(({ text }) => text)).toEqual(first.map(({ text }) => text))
  })
})

on("postgres", "idempotency keys", ledger, (use) => {
  it("survive a restart, and go with their day", async () => {
    const create = (key: string) =>
      use().call(ann, "POST", accounts, { body: { name: key }, headers: { "idempotency-key": key } })
    const rows = async () => Number((await use().database!.rows("select count(*) from service.idempotency_key"))[0]![0])
    await create("kept")
    await use().database!.disconnectAll()
    await vi.waitFor(async () => expect((await create("kept")).headers.get("idempotency-replayed")).toBe("true"), {
      timeout: 60_000
    })
    // Kept by a version of the service that did not say what could be read.
    const about = "(split_part(answer, E'\\n', 1)::jsonb - 'fields')"
    const body = "to_jsonb(substr(answer, strpos(answer, E'\\n') + 1))"
    await use().database!.execute(
      `update service.idempotency_key set answer = jsonb_set(${about}, '{reply,body}', ${body})::text`
    )
    expect([(await create("kept")).status, (await create("kept")).text]).toEqual([201, ""])
    await use().database!.execute("update service.idempotency_key set stored_at = stored_at - interval '25 hours'")
    expect(await rows()).toBe(1)
    await create("newer")
    expect(await rows()).toBe(1)
  })
})

on("postgres", "idempotency keys without their table", () => ledger({}, "drop schema service cascade"), (use) => {
  it("make it, several requests at once, and again when the first took it along", async () => {
    const refused = { body: { name: "t0", code: "A-1" }, headers: { "idempotency-key": "t0" } }
    expect((await use().call(ann, "POST", accounts, refused)).status).toBe(409)
    const answers = await Promise.all(
      ["t1", "t2", "t3", "t4"].map((key) =>
        use().call(ann, "POST", accounts, { body: { name: key }, headers: { "idempotency-key": key } })
      )
    )
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
  })
})
