import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import { readCreate } from "./body.ts"

const accessTo = (key: readonly string[]) =>
  accessOf(
    makeModel({ fields: [{ name: "code" }, { name: "part" }], key }),
    { id: "u1", roles: ["admin"], tenant: null },
    { roles: null, defaultAccess: "allow" }
  )

describe("readCreate", () => {
  it.each(["", ".", ".."])("refuses the key %j, which no URL could have", (code) => {
    const refused = readCreate(accessTo(["code"]), { code, part: "x" })
    expect(Result.isFailure(refused) && refused.failure).toMatchObject({
      slug: "invalid-record",
      members: { errors: [{ field: "code", code: "invalid" }] }
    })
    // Beside another part, or where it is no key, it can be written.
    expect(Result.isSuccess(readCreate(accessTo(["code", "part"]), { code, part: "x" }))).toBe(true)
    expect(Result.isSuccess(readCreate(accessTo(["part"]), { code, part: "..." }))).toBe(true)
  })
})
