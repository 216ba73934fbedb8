import { expect, it } from "vitest"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import { callerOf, open } from "../../../test/support/openapi.ts"
import { guessMapping } from "./mapping.ts"

const access = accessOf(
  makeModel({
    name: "customers",
    fields: [
      { name: "customer_id", kind: "integer", readOnly: true, default: { db: true } },
      { name: "name", label: "E-mail" },
      { name: "email", label: "Name of the customer" },
      { name: "net", label: "Net price", alias: "amount" },
      { name: "odd", label: "—" }
    ]
  }),
  callerOf("admin"),
  open
)

it("guesses fields by name, alias and label, and the key by ID", () => {
  expect(guessMapping(access, ["ID", "Name", "name of the customer", "NET-PRICE", "?", "Other"])).toEqual([
    "customer_id",
    "name",
    "email",
    "net",
    null,
    null
  ])
  // A name goes before another field's label, and each field is used once.
  expect(guessMapping(access, ["e_mail", "amount", "Net price", "Customer ID"])).toEqual([
    "email",
    "net",
    null,
    "customer_id"
  ])
})
