/** DELETE and `:undelete` over HTTP (docs/reference/writes.md#the-four-writes): soft and hard, preconditions, rules, and what comes back. */

import { expect, it } from "vitest"
import type { Change } from "../../../core/domain/declare/config.ts"
import { expectProblem } from "../../support/answer.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { admin, ann, bob, foreign, homeless, ledger, nobody, viewer } from "../../support/ledger.ts"
import { base, make, makeAccount, onBoth, patch } from "./scenes.ts"

const changes: Change[] = []
const hooked = () => ledger({ writeHooks: [(change) => void changes.push(change)] })

const removals = (hooks: boolean) => (use: () => TestService): void => {
  const remove = (
    caller: TestCaller,
    path: string,
    headers: { readonly [name: string]: string } = {}
  ): Promise<Answer> => use().call(caller, "DELETE", path, { headers })
  const undelete = (
    caller: TestCaller,
    path: string,
    headers: { readonly [name: string]: string } = {}
  ): Promise<Answer> => use().call(caller, "POST", `${path}:undelete`, { headers })

  it("soft delete: gone for reads and writes, there with show_deleted, back with undelete", async () => {
    const { etag, path, record } = await makeAccount(use())
    changes.length = 0
    const gone = await remove(ann, path)
    expect([gone.status, gone.text, gone.headers.get("etag"), gone.headers.get("content-length")]).toEqual([
      204,
      "",
      null,
      null
    ])
    for (const caller of [ann, admin]) {
      for (
        const answer of [
          await use().get(caller, path),
          await patch(use(), caller, path, { name: "x" }),
          await remove(caller, path)
        ]
      ) {
        expectProblem(answer, "not-found", path)
      }
    }
    const deleted = await use().get(admin, `${path}?show_deleted=true`)
    expect(deleted.json["deleted_at"]).toMatch(/^20\d\d-.*Z$/)
    expect(deleted.headers.get("etag")).not.toBe(etag)
    const back = await undelete(ann, path)
    expect([back.status, back.json["name"], back.headers.get("etag")]).toEqual([200, "made", back.json["etag"]])
    expect(back.json["etag"]).not.toBe(deleted.headers.get("etag"))
    expect({ ...(await use().get(ann, path)).json as object, etag: 0, permissions: 0 }).toEqual({
      ...record as object,
      etag: 0,
      permissions: 0
    })
    expect(
      changes.map((
        { after, before, operation }
      ) => [operation, before?.["deleted_at"] === null, after?.["deleted_at"] === null])
    )
      .toEqual(hooks ? [["delete", true, false], ["undelete", false, true]] : [])
  })

  it("hard delete removes the row", async () => {
    const { path } = await make(use(), ann, "notes", { title: "short-lived" })
    changes.length = 0
    expect((await remove(ann, path)).status).toBe(204)
    expectProblem(await use().get(ann, path), "not-found", path)
    expectProblem(await remove(ann, path), "not-found", path)
    const change = { operation: "delete", before: { title: "short-lived" }, after: null }
    expect(changes).toMatchObject(hooks ? [change] : [])
    const show = `${path}?show_deleted=true`
    expect((await use().get(ann, show)).status).toBe(400)
  })

  it("gives the record back where it is asked for", async () => {
    const soft = await makeAccount(use())
    const kept = await remove(ann, soft.path, { prefer: "return=representation" })
    expect([kept.status, kept.json["name"], kept.headers.get("preference-applied")]).toEqual([
      200,
      "made",
      "return=representation"
    ])
    expect([kept.headers.get("etag"), kept.json["etag"]]).not.toContain(soft.etag)
    expect(kept.headers.get("etag")).toBe(kept.json["etag"])
    const note = await make(use(), ann, "notes", { title: "represented" })
    const hard = await remove(ann, note.path, { prefer: "return=representation" })
    expect([hard.status, hard.json, hard.headers.get("etag")]).toEqual([200, note.record, null])
    const minimal = await remove(ann, (await makeAccount(use())).path, { prefer: "return=minimal" })
    expect([minimal.status, minimal.headers.get("preference-applied")]).toEqual([204, "return=minimal"])
  })

  it("holds If-Match where it is sent", async () => {
    const { etag, path } = await makeAccount(use())
    for (const wrong of ["\"old\"", `W/${etag}`, ""]) {
      expectProblem(await remove(ann, path, { "if-match": wrong }), "precondition-failed", path, { etag })
    }
    expect((await remove(ann, path, { "if-match": `"x", ${etag}` })).status).toBe(204)
    const tag = (await use().get(admin, `${path}?show_deleted=true`)).headers.get("etag")!
    const verb = `${path}:undelete`
    expect((await undelete(ann, path, { "if-match": etag })).status).toBe(412)
    expect((await undelete(ann, path, { "if-match": tag })).status).toBe(200)
    expect((await remove(ann, path, { "if-match": "*" })).status).toBe(204)
    const back = await undelete(ann, path, { "if-match": "*", prefer: "return=minimal" })
    expect([back.status, back.text, back.headers.get("preference-applied")]).toEqual([204, "", "return=minimal"])
    expect(back.headers.get("etag")).toMatch(/^"/)
    expectProblem(await undelete(ann, path, { "if-match": "\"old\"" }), "precondition-failed", verb, {
      etag: back.headers.get("etag")
    })
  })

  it("undelete: 409 when not deleted, 400 without soft delete, 404 and 403 like an update", async () => {
    const { path } = await makeAccount(use())
    expectProblem(await undelete(ann, path), "conflict", `${path}:undelete`)
    const note = await make(use(), ann, "notes", { title: "never deleted" })
    for (const target of [note.path, `${base}/notes/999999`]) {
      expectProblem(await undelete(ann, target), "invalid-parameter", `${target}:undelete`, {
        errors: [{
          parameter: "undelete",
          message: "This resource has no soft delete: its records cannot be undeleted."
        }]
      })
    }
    const four = `${base}/accounts/4`
    for (const caller of [bob, foreign, nobody]) {
      expectProblem(await undelete(caller, four), "not-found", `${four}:undelete`)
    }
    expectProblem(await undelete(homeless, four), "tenant-required", `${four}:undelete`)
    expectProblem(await undelete(viewer, four), "access-denied", `${four}:undelete`)
    expectProblem(await undelete(ann, `${base}/accounts/99999`), "not-found", `${base}/accounts/99999:undelete`)
    // It needs the update rule, which looks at the record.
    await patch(use(), admin, path, { status: "frozen" })
    await remove(admin, path)
    expectProblem(await undelete(ann, path), "access-denied", `${path}:undelete`)
    expect((await undelete(admin, path)).status).toBe(200)
  })

  it("needs the delete rule on the record as stored", async () => {
    const { path } = await makeAccount(use(), { status: "closed" })
    expectProblem(await remove(ann, path), "access-denied", path)
    expectProblem(await remove(viewer, path), "access-denied", path)
    expectProblem(await remove(bob, path), "not-found", path)
    expectProblem(await remove(foreign, path), "not-found", path)
    expectProblem(await remove(homeless, path), "tenant-required", path)
    expect((await remove(admin, path)).status).toBe(204)
  })

  it("deletes although the row filter shows live rows only", async () => {
    const path = `${base}/papers/201`
    expect((await use().call(ann, "POST", `${base}/papers`, { body: { id: 201, level: 2 } })).status).toBe(201)
    expect((await remove(ann, path)).status).toBe(204)
    expectProblem(await undelete(ann, path), "not-found", `${path}:undelete`)
    expect((await undelete(admin, path)).status).toBe(200)
    expect((await use().get(ann, path)).status).toBe(200)
  })

  it("takes composite keys", async () => {
    const note = await make(use(), ann, "notes", { title: "with labels" })
    const { path } = await make(use(), ann, "labels", { note_id: Number(note.id), label: "x:undelete/1" })
    expect((await remove(ann, path)).status).toBe(204)
    expect((await use().get(ann, path)).status).toBe(404)
  })
}

onBoth("delete", hooked, removals(true))
// Without hooks it is tried as a single statement that commits by itself.
onBoth("delete without hooks", ledger, removals(false))
