/** PATCH over HTTP: the order of checks, preconditions, rules over the record as stored and as written, and patches that change nothing. */

import { expect, it } from "vitest"
import type { Change } from "../../../core/domain/declare/config.ts"
import { expectProblem } from "../../support/answer.ts"
import type { TestService } from "../../support/composed.ts"
import { admin, ann, bob, foreign, homeless, ledger, nobody, viewer } from "../../support/ledger.ts"
import { base, codes, make, makeAccount, onBoth, patch, read } from "./scenes.ts"

const changes: Change[] = []
const hooked = () => ledger({ writeHooks: [(change) => void changes.push(change)] })

const updates = (hooks: boolean) => (use: () => TestService): void => {
  it("writes what the body gives, and answers the record with a new ETag", async () => {
    const { etag, path, record } = await makeAccount(use(), { code: `u-${use().backend}` })
    const answer = await patch(use(), ann, path, { name: "renamed", meta: { a: 1 } }, etag)
    expect([answer.status, answer.headers.get("location")]).toEqual([200, null])
    expect(answer.json).toEqual({
      ...record as object,
      name: "renamed",
      meta: { a: 1 },
      etag: answer.headers.get("etag")
    })
    expect(answer.headers.get("etag")).not.toBe(etag)
    expect(await read(use(), ann, path)).toEqual(answer.json)
    const minimal = await patch(use(), ann, path, { code: null }, answer.headers.get("etag"), {
      prefer: "return=minimal"
    })
    expect([minimal.status, minimal.text, minimal.headers.get("preference-applied")]).toEqual([
      204,
      "",
      "return=minimal"
    ])
    expect(await read(use(), ann, path)).toMatchObject({ code: null, etag: minimal.headers.get("etag") })
  })

  it("checks in order: 401, resource, tenant, body, row, rule, 428, 412", async () => {
    const mine = await makeAccount(use())
    const frozen = `${base}/accounts/2`
    const unknown = `${base}/accounts/999999999`
    const send = (caller: typeof ann | null, path: string, body: unknown, ifMatch: string | null) =>
      use().call(caller, "PATCH", path, { body, headers: ifMatch === null ? {} : { "if-match": ifMatch } })
    expect((await send(null, unknown, "{", null)).status).toBe(401)
    expectProblem(await send(nobody, frozen, "{", null), "not-found", frozen)
    expectProblem(await send(homeless, frozen, "{", null), "tenant-required", frozen)
    expectProblem(await send(ann, `${base}/accounts/x`, {}, null), "invalid-key", `${base}/accounts/x`, {
      errors: [{ message: expect.any(String) }]
    })
    expect((await send(ann, unknown, "{", null)).json["type"]).toBe("urn:service:problem:malformed-json")
    expect(codes(await send(ann, unknown, { wrong: 1 }, null))).toEqual(["wrong unknown"])
    expectProblem(await send(ann, unknown, { name: "x" }, null), "not-found", unknown)
    expectProblem(await send(ann, unknown, {}, "\"old\""), "not-found", unknown)
    // A body that is wrong for this record only, behind a rule that denies: the rule says so first.
    expectProblem(await send(ann, frozen, { rating: 1 }, null), "access-denied", frozen)
    expectProblem(await send(ann, frozen, { name: "x" }, "\"old\""), "access-denied", frozen)
    expect(codes(await send(ann, mine.path, { balance: "-1.00" }, null))).toEqual(["balance invalid"])
    expectProblem(await send(ann, mine.path, { name: "x" }, null), "precondition-required", mine.path)
    expect((await send(ann, mine.path, { name: "x" }, "\"old\"")).status).toBe(412)
    expectProblem(await send(viewer, mine.path, { name: "x" }, "*"), "access-denied", mine.path)
  })

  it("finds no row of another tenant, of another owner, or that is deleted", async () => {
    const { path } = await makeAccount(use())
    for (
      const [caller, target] of [[foreign, path], [bob, path], [ann, `${base}/accounts/4`], [
        admin,
        `${base}/accounts/4`
      ], [ann, `${base}/accounts/5`]] as const
    ) {
      const missing = await patch(use(), caller, target, { name: "x" })
      expectProblem(missing, "not-found", target, {}, "There is no such resource or record.")
    }
  })

  it("compares If-Match strongly: lists, any version, weak tags, nonsense", async () => {
    const { path } = await makeAccount(use())
    let count = 0
    const tag = async (): Promise<string> => (await use().get(ann, path)).headers.get("etag")!
    const send = async (ifMatch: string): Promise<number> =>
      (await patch(use(), ann, path, { name: `n${++count}` }, ifMatch)).status
    expect(await send(await tag())).toBe(200)
    expect(await send(`"a", W/"b",${await tag()} , "c"`)).toBe(200)
    expect(await send(`,"a" ,\t,${await tag()},`)).toBe(200)
    expect(await send("*")).toBe(200)
    expect(await send(" * ")).toBe(200)
    const current = await tag()
    for (
      const wrong of [
        `W/${current}`,
        current.slice(1, -1),
        "\"\"",
        "",
        current.slice(0, -2) + "\"",
        "\"a\", *",
        `*, ${current}`,
        `w/${current}`,
        `W/ ${current}`,
        `W/W/${current}`,
        `a${current}`,
        `${current}a`,
        `"a" ${current}`,
        `${current}"`,
        `${current.slice(0, -1)} "`
      ]
    ) {
      expect(await send(wrong), wrong).toBe(412)
    }
    expect(await tag()).toBe(current)
  })

  it("says in a 412 what changed since the version the client held, and the current ETag", async () => {
    const { etag, path } = await makeAccount(use())
    await patch(use(), admin, path, { name: "second", zq_note: "zq-x", balance: "7.00" }, etag)
    const third = await patch(use(), ann, path, { balance: "8.00" }, "*")
    const stale = await patch(use(), ann, path, { name: "mine" }, etag)
    expectProblem(stale, "precondition-failed", path, { etag: third.headers.get("etag"), changed: ["name", "balance"] })
    expect(stale.headers.get("etag")).toBe(third.headers.get("etag"))
    const toAdmin = await patch(use(), admin, path, { name: "mine" }, etag)
    expect(toAdmin.json["changed"]).toEqual(["name", "balance", "zq_note"])
    // A version that nobody here ever saw.
    expectProblem(await patch(use(), ann, path, {}, "\"unheard\""), "precondition-failed", path, {
      etag: third.headers.get("etag")
    })
  })

  it("says what is wrong with what could match no version, rather than that the record has changed", async () => {
    const { etag, path } = await makeAccount(use())
    const detail = async (match: string): Promise<unknown> => {
      const answer = await patch(use(), ann, path, { name: "never" }, match)
      expect([answer.status, answer.json["etag"]], match).toEqual([412, etag])
      return answer.json["detail"]
    }
    for (const wrong of [etag.slice(1, -1), etag.slice(0, -1), `W/${etag}`, `W/${etag}, W/"other"`, "'x'"]) {
      expect(await detail(wrong), wrong).toContain("with its quotes and without W/")
    }
    for (const stale of ["\"old\"", "\"old\", W/\"older\"", "W/\"older\",\"old\""]) {
      expect(await detail(stale), stale).toContain("has changed")
    }
  })

  it("writes nothing for an empty or equal patch: same ETag, no hook", async () => {
    const meta = { z: [1, { b: null, a: "ü" }], a: 1.5 }
    const { etag, path, record } = await makeAccount(use(), { meta, balance: "3.50" })
    changes.length = 0
    for (
      const body of [{}, { name: "made" }, { balance: 3.5 }, { balance: "3.5" }, { opened_on: "2026-01-01" }, {
        meta: { a: 1.5, z: [1, { a: "ü", b: null }] }
      }, { code: null, name: "made" }]
    ) {
      const answer = await patch(use(), ann, path, body, etag)
      expect([answer.status, answer.json, answer.headers.get("etag")]).toEqual([200, record, etag])
    }
    expect((await patch(use(), ann, path, {}, etag, { prefer: "return=minimal" })).status).toBe(204)
    expect(changes).toEqual([])
    // The checks hold for them, too.
    expect((await patch(use(), ann, path, {}, null)).status).toBe(428)
    expect((await patch(use(), ann, path, {}, "\"old\"")).status).toBe(412)
    for (
      const different of [{ meta: { a: 1.5, z: [{ a: "ü", b: null }, 1] } }, { meta: null }, {
        meta: { ...meta, more: 1 }
      }]
    ) {
      expect((await patch(use(), ann, path, different)).headers.get("etag")).not.toBe(etag)
    }
    expect(changes).toHaveLength(hooks ? 3 : 0)
  })

  it("runs validate rules on the record as it would be, only when something changes", async () => {
    const { path } = await makeAccount(use(), { balance: "5.00" })
    expect(codes(await patch(use(), ann, path, { status: "closed" }))).toEqual(["status invalid", "balance invalid"])
    expect((await patch(use(), ann, path, { status: "closed", balance: "0" })).status).toBe(200)
    expect(codes(await patch(use(), ann, path, { balance: "1.00" }))).toEqual(["status invalid", "balance invalid"])
    // A stored record that breaks a rule of today can still be left as it is.
    const hidden = await makeAccount(use())
    expect(codes(await patch(use(), admin, hidden.path, { zq_note: "zq-refused" }))).toEqual(["zq_note invalid"])
  })

  it("says nothing about a hidden field that fails a rule", async () => {
    const { path } = await makeAccount(use())
    const service = use()
    const model = service.compiled.models.get("accounts")!
    if (service.fake !== null) {
      const row = service.fake.rows(model).find((each) => path.endsWith(`/${each[0]!}`))!
      service.fake.seed(model, [row.map((cell, i) => model.columns[i]!.name === "zq_note" ? "zq-refused" : cell)])
    } else {await service.database!.execute(
        `update ledger.accounts set zq_note = 'zq-refused' where id = ${path.split("/").at(-1)!}`
      )}
    const answer = await patch(service, ann, path, { name: "other" })
    expect(answer.json["errors"]).toEqual([{ code: "invalid", message: "The record is not valid." }])
    expect(answer.text).not.toContain("zq")
    expect((await patch(service, ann, path, { name: "made" })).status).toBe(200)
  })

  it("refuses fields by rules over the stored record", async () => {
    const { path } = await makeAccount(use(), { status: "closed" })
    expect(codes(await patch(use(), ann, path, { rating: 3 }))).toEqual(["rating read-only"])
    // The stored record counts, not the one to be written.
    expect(codes(await patch(use(), ann, path, { rating: 3, status: "open" }))).toEqual(["rating read-only"])
    expect((await patch(use(), ann, path, { status: "open" })).status).toBe(200)
    expect((await patch(use(), ann, path, { rating: 3, status: "closed" })).json["rating"]).toBe(3)
    expect(codes(await patch(use(), ann, path, { id: "1", touched: 1, deleted_at: null, wrong: null })))
      .toEqual(["id read-only", "touched read-only", "deleted_at unknown", "wrong unknown"])
  })

  it("refuses to move a row out of reach: another owner, or out of the own row filter", async () => {
    const { path } = await makeAccount(use())
    expectProblem(await patch(use(), ann, path, { owner_id: "bob" }), "access-denied", path)
    expect((await read(use(), ann, path))["owner_id"]).toBe("ann")
    expect((await patch(use(), admin, path, { owner_id: "bob" })).status).toBe(200)
    expectProblem(await patch(use(), ann, path, { owner_id: "ann" }), "not-found", path)
    const note = await make(use(), ann, "notes", { title: "kept" })
    expectProblem(await patch(use(), ann, note.path, { owner_id: "bob" }), "access-denied", note.path)
  })

  it("holds a rule's filter against the row as stored and as written", async () => {
    const [two, four, six] = [`${base}/papers/2`, `${base}/papers/4`, `${base}/papers/6`]
    expect((await patch(use(), ann, two, { level: 3 })).status).toBe(200)
    expectProblem(await patch(use(), ann, two, { level: 4 }), "access-denied", two)
    expectProblem(await patch(use(), ann, two, { level: 6 }), "access-denied", two)
    expectProblem(await patch(use(), ann, four, { level: 1 }), "access-denied", four)
    expectProblem(await patch(use(), ann, six, { level: 1 }), "not-found", six)
    expectProblem(await patch(use(), admin, four, { level: 1 }), "access-denied", four)
    expect((await read(use(), ann, two))["level"]).toBe(3)
    expect((await patch(use(), ann, two, { level: 2 })).status).toBe(200)
    // Within the rule and out of the own row filter.
    expect((await patch(use(), ann, two, { state: "final", level: 5 })).status).toBe(200)
    expectProblem(await patch(use(), ann, two, { level: 6 }), "access-denied", two)
    expect((await patch(use(), admin, two, { level: 6 })).status).toBe(200)
  })

  it("cannot be reached by a key in another form than the record's own", async () => {
    expect((await patch(use(), ann, `${base}/accounts/01`, {})).status).toBe(200)
    for (const key of ["1.0", "+1", "1%00", "1,2", "9223372036854775808", "%20"]) {
      expect((await patch(use(), ann, `${base}/accounts/${key}`, {})).json["type"], key).toBe(
        "urn:service:problem:invalid-key"
      )
    }
  })
}

onBoth("update", hooked, updates(true))
// Without hooks it is tried as a single statement that commits by itself.
onBoth("update without hooks", ledger, updates(false))
