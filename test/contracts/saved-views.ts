/** The contract of the port to saved views, for the fake and for PostgreSQL. */

import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { SavedViewsService, SavedViewValues, Viewer } from "../../core/ports/saved-views.ts"

const values = (parts: Partial<SavedViewValues> = {}): SavedViewValues => ({
  resource: "orders",
  name: "Open",
  filter: "note = \"a'b\\\\ü\"",
  orderBy: "id desc",
  columns: ["id", "status, \"x\""],
  chart: { of: "facets", field: "status", limit: 5 },
  layout: { of: "board", by: "status", limits: { "a 'b'": 2 } },
  sharedWith: null,
  ...parts
})

const person = (id: string, roles: readonly string[] = [], tenant: string | null = null): Viewer => ({
  id,
  roles,
  tenant
})

export const savedViewsContract = (use: () => SavedViewsService): void => {
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)
  const created = async (viewer: Viewer, parts: Partial<SavedViewValues> = {}) => {
    const made = await run(use().create(viewer, values(parts)))
    if (made.of !== "done") throw new Error(made.of)
    return made.view
  }

  it("gives back what was kept, exactly", async () => {
    const me = person("exact")
    const made = await created(me, { sharedWith: ["a \"role\"", "b,c"] })
    expect(made).toEqual({ ...values({ sharedWith: ["a \"role\"", "b,c"] }), id: made.id, owner: "exact", version: 1 })
    expect(await run(use().get(me, made.id))).toEqual(made)
    expect(await run(use().list(me, null))).toEqual([made])
    const bare = await created(me, { name: "Bare", chart: null, layout: null, columns: [], filter: "", orderBy: "" })
    expect(await run(use().get(me, bare.id))).toEqual(bare)
  })

  it("shows a view to its owner and to the roles it is shared with, in its tenant alone", async () => {
    const owner = person("owner", [], "t1")
    const mine = await created(owner, { name: "Mine" })
    const ours = await created(owner, { name: "Ours", sharedWith: ["sales"] })
    const see = async (viewer: Viewer) => (await run(use().list(viewer, "orders"))).map(({ name }) => name)
    expect(await see(owner)).toEqual(["Mine", "Ours"])
    expect(await see(person("x", ["sales", "other"], "t1"))).toEqual(["Ours"])
    expect(await see(person("x", ["other"], "t1"))).toEqual([])
    expect(await see(person("x", ["sales"], "t2"))).toEqual([])
    expect(await see(person("x", ["sales"]))).toEqual([])
    expect(await see(person("owner", [], "t2"))).toEqual([])
    expect(await run(use().list(owner, "customers"))).toEqual([])
    const stranger = person("x", ["sales"], "t1")
    expect(await run(use().get(stranger, mine.id))).toBeNull()
    expect(await run(use().get(stranger, ours.id))).toEqual(ours)
    expect(await run(use().get(stranger, "'; drop table x"))).toBeNull()
    expect((await run(use().replace(stranger, mine.id, null, values()))).of).toBe("absent")
    expect((await run(use().remove(stranger, mine.id, null))).of).toBe("absent")
    await created(stranger, { name: "Zz" })
    expect(await see(stranger)).toEqual(["Zz", "Ours"])
  })

  it("changes the version that is named, and no other", async () => {
    const me = person("versions")
    const first = await created(me)
    const second = await run(use().replace(me, first.id, 1, values({ name: "Closed", columns: ["id"] })))
    expect(second).toEqual({ of: "done", view: { ...first, name: "Closed", columns: ["id"], version: 2 } })
    expect(await run(use().replace(me, first.id, 1, values()))).toMatchObject({ of: "stale", view: { version: 2 } })
    expect(await run(use().remove(me, first.id, 1))).toMatchObject({ of: "stale", view: { version: 2 } })
    expect(await run(use().replace(me, first.id, null, values()))).toMatchObject({ of: "done", view: { version: 3 } })
    expect((await run(use().remove(me, first.id, 3))).of).toBe("done")
    expect((await run(use().remove(me, first.id, null))).of).toBe("absent")
  })

  it("keeps one view of a name, also where many are saved at once", async () => {
    const me = person("names")
    const made = await Promise.all(Array.from({ length: 20 }, () => run(use().create(me, values({ name: "Same" })))))
    expect(made.filter(({ of }) => of === "done")).toHaveLength(1)
    expect(made.filter(({ of }) => of === "taken")).toHaveLength(19)
    const other = await created(me, { name: "Other" })
    expect((await run(use().replace(me, other.id, 1, values({ name: "Same" })))).of).toBe("taken")
    await created(me, { name: "Same", resource: "customers" })
    await created(person("names", [], "t1"), { name: "Same" })
    await created(person("names2"), { name: "Same" })
  })

  it("keeps at most 200 views of one person, also where many are saved at once", async () => {
    const me = person("many")
    const made = await Promise.all(
      Array.from({ length: 215 }, (_, at) => run(use().create(me, values({ name: `View ${at}` }))))
    )
    expect(made.filter(({ of }) => of === "done")).toHaveLength(200)
    expect(made.filter(({ of }) => of === "full")).toHaveLength(15)
  })
}
