import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { makeFakeAudit } from "../../../test/fakes/audit.ts"
import { makeFakeRecords } from "../../../test/fakes/records.ts"
import { named, note, noteWithin } from "./audit.ts"

it("asks no database of accounts within a transaction: the name was asked before it", async () => {
  const store = makeFakeAudit()
  const { service } = makeFakeRecords()
  const lost = () => {
    throw new Error("nothing is lost")
  }
  let inside = false
  const use = {
    audit: { store, lost },
    namesOf: (ids: readonly string[]) =>
      Effect.sync(() => {
        expect(inside).toBe(false)
        return new Map(ids.map((id) => [id, `The ${id}`]))
      })
  }
  const caller = (id: string) => ({ id, roles: [], tenant: null })
  const act = { act: "job.run", subject: null } as const
  const noting = (id: string) =>
    service.transaction(({ handle }) =>
      Effect.suspend(() => {
        inside = true
        return noteWithin(use, caller(id), [act], handle)
      })
    ).pipe(Effect.ensuring(Effect.sync(() => {
      inside = false
    })))
  await Effect.runPromise(named(use, caller("ann"), noting("ann")))
  // Another caller's name is never taken, and nobody asks for it late.
  await Effect.runPromise(named(use, caller("ann"), noting("bob")))
  await Effect.runPromise(noting("ann"))
  await Effect.runPromise(note(use, caller("ann"), [act]))
  expect(store.entries.map(({ actor }) => actor)).toEqual([
    { id: "ann", name: "The ann" },
    { id: "bob", name: null },
    { id: "ann", name: null },
    { id: "ann", name: "The ann" }
  ])
})
