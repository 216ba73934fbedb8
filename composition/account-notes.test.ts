import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { makeFakeAudit } from "../test/fakes/audit.ts"
import { noteAccounts } from "./account-notes.ts"

it("notes as the actor whoever is named, or the account's own user, and never the account that something was done to", async () => {
  const store = makeFakeAudit()
  const lost = () => {
    throw new Error("nothing is lost")
  }
  const namesOf = (ids: readonly string[]) => Effect.succeed(new Map(ids.map((id) => [id, `The ${id}`])))
  const { watch, whenIdle } = noteAccounts({ audit: { store, lost }, namesOf }, null)
  const level = "info"
  watch({ level, event: "account-deleted", user: "bob", by: "ann" }, {}, "r1")
  await whenIdle()
  // An admin who is not known.
  watch({ level, event: "account-deleted", user: "bob" }, { own: false }, "r2")
  await whenIdle()
  // A link of a mail.
  watch({ level, event: "password-set", user: "bob", method: "reset" }, {}, "r3")
  await whenIdle()
  watch({ level, event: "password-changed", user: "bob" }, { own: true }, "r4")
  await whenIdle()
  // A program.
  watch({ level, event: "key-revoked", user: "bob", key: "k" }, { own: true }, undefined)
  await whenIdle()
  expect(store.entries.map(({ actor, subject }) => [actor?.id, subject?.id])).toEqual([
    ["ann", "bob"],
    [undefined, "bob"],
    [undefined, "bob"],
    ["bob", "bob"],
    [undefined, "k"]
  ])
})
