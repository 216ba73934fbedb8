import { expect, it } from "vitest"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import { visitor } from "../access/caller.ts"
import { type Form, formAccess } from "./form.ts"

it("a visitor creates records of the form's fields, owns none, and reads nothing, whatever else the role may do", () => {
  const model = makeModel({
    fields: [
      { name: "id", readOnly: true, default: { db: true } },
      { name: "name" },
      { name: "plan" },
      { name: "secret", readOnly: true },
      { name: "owner_id", optional: true }
    ],
    owner: "owner_id"
  })
  const visitors = accessOf(model, visitor(null), {
    roles: new Map([["anonymous", [{ resource: "*", operation: "*", own: true, fields: null }]]]),
    defaultAccess: null
  })
  expect([visitors.createOwn, [...visitors.restricted.creatable]]).toEqual([true, ["name", "plan", "owner_id"]])
  const form = { name: "join", model, fields: ["name", "secret"] } as unknown as Form
  const { createOwn, restricted } = formAccess(form, visitors)
  expect(createOwn).toBe(false)
  expect([...restricted.creatable]).toEqual(["name"])
  expect([...restricted.byName.keys()]).toEqual(["name"])
  expect([...restricted.updatable]).toEqual([])
})
