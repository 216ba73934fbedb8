import { expect, it } from "vitest"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import { transfersOf } from "./permissions.ts"

const fields = [{ name: "id", readOnly: true, default: { db: true } }, { name: "made_at", readOnly: true }]
const caller = { id: "ann", roles: ["sales"], tenant: null }
const of = (more: ReadonlyArray<{ readonly name: string }>, tasks = true) =>
  transfersOf(
    accessOf(makeModel({ name: "orders", fields: [...fields, ...more] }), caller, {
      roles: null,
      defaultAccess: "allow"
    }),
    tasks
  )

it("what can be written is offered for many records at once, and where nothing can, nothing is", () => {
  expect(of([{ name: "note" }])).toEqual({ export: true, bulk: ["update", "delete"], import: ["create", "update"] })
  expect(of([])).toEqual({ export: true, bulk: ["delete"], import: [] })
  expect(of([{ name: "note" }], false)).toEqual({ export: true, bulk: [], import: [] })
})
