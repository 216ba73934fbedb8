// What somebody else does to a view between the read of its version and the write: the store decides by the version that it is given.
import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import type { SavedView, SavedViewsService } from "../../ports/saved-views.ts"
import { makeSavedViewsApp } from "./saved-views.ts"

const caller = { id: "ann", roles: ["sales"], tenant: null }
const view: SavedView = {
  id: "7",
  owner: "ann",
  version: 3,
  resource: "orders",
  name: "mine",
  filter: "",
  orderBy: "",
  columns: [],
  chart: null,
  layout: null,
  sharedWith: null
}

/** A store whose view another write has changed meanwhile. */
const changed = (asked: Array<number | null>): SavedViewsService => {
  const stale = (version: number | null) => {
    asked.push(version)
    return Effect.succeed({ of: "stale", view: { ...view, version: 4 } } as const)
  }
  return {
    list: () => Effect.succeed([view]),
    get: () => Effect.succeed(view),
    create: () => Effect.succeed({ of: "full" }),
    replace: (_, __, version) => stale(version),
    remove: (_, __, version) => stale(version)
  }
}

it("a view that changed meanwhile is neither changed nor removed", async () => {
  const asked: Array<number | null> = []
  const model = makeModel({ name: "orders", fields: [{ name: "id" }] })
  const access = accessOf(model, caller, { roles: null, defaultAccess: "allow" })
  const app = makeSavedViewsApp(changed(asked), () => (resource) => resource === "orders" ? access : null)
  const refusals = [
    await Effect.runPromise(Effect.flip(app.update(caller, "7", "\"3\"", Buffer.from("{\"name\":\"new\"}")))),
    await Effect.runPromise(Effect.flip(app.remove(caller, "7", "\"3\""))),
    await Effect.runPromise(Effect.flip(app.remove(caller, "7", "\"2\"")))
  ]
  expect(refusals.map(({ slug }) => slug)).toEqual([
    "precondition-failed",
    "precondition-failed",
    "precondition-failed"
  ])
  // The last was refused by what was read.
  expect(asked).toEqual([3, 3])
})
