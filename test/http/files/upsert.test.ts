/** Files in upserts: each way takes uploads, alone and among many in a batch. */

import { expect, it } from "vitest"
import type { Answer, TestCaller } from "../../support/composed.ts"
import { abe, ann, base, onStage, scheduled, ticketFor } from "./stage.ts"

onStage("upserts with files", (stage) => {
  let last = 0
  const sheetFor = (caller: TestCaller): Promise<string> =>
    ticketFor(stage(), caller, "labels.sheet", `sheet ${++last}`, { name: `${last}.txt` })
  const upsert = (caller: TestCaller, code: string, body: unknown, query = ""): Promise<Answer> =>
    stage().service.call(caller, "PATCH", `${base}/labels/${code}?allow_missing=true${query}`, {
      body,
      headers: { "if-match": "*" }
    })

  it("take the upload, and let go of the file that it replaces", async () => {
    const sheet = await sheetFor(ann)
    expect((await upsert(ann, "a", { sheet }, "&dry_run=true")).status).toBe(201)
    const made = await upsert(ann, "a", { sheet })
    expect([made.status, made.json["sheet"]?.["name"]]).toEqual([201, "1.txt"])
    const other = await sheetFor(ann)
    const before = scheduled(stage().storages.private).length
    const changed = await upsert(ann, "a", { sheet: other })
    expect([changed.status, changed.json["sheet"]?.["name"]]).toEqual([200, "2.txt"])
    expect(scheduled(stage().storages.private).length).toBe(before + 1)
  })

  it("take many in one batch, from who may only create, too", async () => {
    for (const caller of [ann, abe]) {
      const ops: object[] = []
      for (let i = 0; i < 8; i++) {
        const data = { sheet: await sheetFor(caller) }
        ops.push({ op: "update", resource: "labels", key: `${caller.id} ${i}`, allow_missing: true, data })
      }
      const answer = await stage().service.call(caller, "POST", `${base}:batchWrite`, { body: { ops } })
      expect(answer.status, answer.text).toBe(200)
    }
  })
})
