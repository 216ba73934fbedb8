// Sizes of several resources in one answer: those that the caller may list, as their lists tell them.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { expectParameter } from "../../support/answer.ts"
import { onBoth } from "../writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }
const ann = { id: "ann", roles: ["clerk"] }

const table = (name: string) =>
  defineResource(name, {
    primaryKey: "id",
    fields: { id: f.integer().filterable(), owner_id: f.text().filterable() },
    owner: "owner_id"
  })
const shop = {
  config: defineConfig({
    resources: [table("papers"), table("notes"), table("secrets")],
    roles: defineRoles({ admin: ["*"], clerk: ["papers.read", "notes.read.own"] })
  }),
  schema: ["papers", "notes", "secrets"].map((name) =>
    `create table ${name} (id integer primary key, owner_id text not null);`
  ).join(" "),
  rows: {
    papers: Array.from({ length: 7 }, (_, id) => ({ id, owner_id: "bo" })),
    notes: Array.from({ length: 5 }, (_, id) => ({ id, owner_id: id < 2 ? "ann" : "bo" })),
    secrets: [{ id: 1, owner_id: "bo" }]
  }
}
const exact = (total_size_estimate: number) => ({ total_size_estimate, total_size_accuracy: "exact" })

onBoth("sizes", () => shop, (use) => {
  it("are those of the lists that the caller may read, and of no others", async () => {
    const all = await use().get(admin, "/api/sizes?resources=papers,notes,secrets,nothing")
    expect([all.status, all.json]).toEqual([200, { sizes: { papers: exact(7), notes: exact(5), secrets: exact(1) } }])
    const own = await use().get(ann, "/api/sizes?resources=papers,notes,secrets")
    expect(own.json).toEqual({ sizes: { papers: exact(7), notes: exact(2) } })
    expect((await use().get(ann, "/api/sizes?resources=secrets")).json).toEqual({ sizes: {} })
  })

  it("are of today after a write", async () => {
    const one = () => use().get(admin, "/api/sizes?resources=secrets")
    await one()
    await use().call(admin, "POST", "/api/v1/secrets", { body: { id: 9, owner_id: "bo" } })
    expect((await one()).json).toEqual({ sizes: { secrets: exact(2) } })
    expect((await use().call(admin, "DELETE", "/api/v1/secrets/9")).status).toBe(204)
  })

  it("are asked for by 1 to 50 names", async () => {
    const many = Array.from({ length: 51 }, (_, index) => `r${index}`).join(",")
    for (
      const query of ["", "?resources=", "?resources=,", `?resources=${many}`, "?resources=papers&resources=notes"]
    ) {
      expectParameter(
        await use().get(admin, `/api/sizes${query}`),
        "/api/sizes",
        "resources",
        "Name 1 to 50 resources in one parameter, separated by commas."
      )
    }
    const other = await use().get(admin, "/api/sizes?resource=papers")
    expectParameter(other, "/api/sizes", "resource", "This route takes \"resources\" only.")
    expect((await use().call(admin, "POST", "/api/sizes")).status).toBe(405)
    expect((await use().get(null, "/api/sizes?resources=papers")).status).toBe(401)
  })
})
