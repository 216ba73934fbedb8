/** What `:restore` writes back: what the caller may write, and of a version only what it has. */

import { expect, it } from "vitest"
import { compileOrThrow } from "../../../composition/create-admin.ts"
import { historyMigrations } from "../../../composition/migrations.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { history } from "../../../core/domain/declare/history.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import type { Fixture } from "../../support/composed.ts"
import { make, onBoth, patch } from "./scenes.ts"

const admin = { id: "root", roles: ["admin"] }
const clerk = { id: "ann", roles: ["clerk"] }
const posts = defineResource("posts", {
  primaryKey: "id",
  fields: { id: f.integer(), text: f.text(), approved: f.boolean(), place: f.integer().optional() },
  access: { fields: { approved: { write: ["admin"] } } }
})
const config = defineConfig({ resources: [posts], extends: [history({ resources: ["posts"] })] })
const fixture = (): Fixture => ({
  config,
  schema: "create table posts (id integer primary key, text text not null, approved boolean not null, place integer);" +
    historyMigrations(compileOrThrow(config)).map(({ statements }) => statements).join("\n"),
  rows: {}
})

onBoth("restored versions", fixture, (use) => {
  it("leave what the caller reads and may not write", async () => {
    const { path } = await make(use(), admin, "posts", { id: 1, text: "first", approved: true, place: 1 })
    await patch(use(), admin, path, { text: "second", approved: false, place: 2 })
    const version = (await use().get(clerk, "/api/v1/posts_history?order_by=history_id")).json["items"]![0]!
    expect(version).toMatchObject({ text: "first", approved: true })
    const restore = (caller: typeof admin) =>
      use().call(caller, "POST", `${path}:restore`, {
        body: { version: version["history_id"] },
        headers: { "if-match": "*" }
      })
    expect((await restore(clerk)).json).toMatchObject({ text: "first", approved: false, place: 1 })
    expect((await restore(admin)).json).toMatchObject({ text: "first", approved: true, place: 1 })
  })
})
