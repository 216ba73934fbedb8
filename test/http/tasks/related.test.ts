/** Bulk changes whose records, rules and filters go through relations, while these relations change: what left is not written, and nobody acts with rights that ended. */

import * as Effect from "effect/Effect"
import { beforeEach, expect, it } from "vitest"
import { taskSchema } from "../../../adapters/postgres/tasks.ts"
import { defineConfig, defineResource, defineRoles, f, relation, where } from "../../../composition/index.ts"
import { runTask } from "../../../core/app/task/run.ts"
import { at } from "../../support/answer.ts"
import type { Fixture } from "../../support/composed.ts"
import { boss, clerk, hooks, idOf, onBothTasks, type TaskScene } from "./scenes.ts"

const isBoss = (roles: readonly string[]): boolean => roles.includes("boss")

const projects = defineResource("projects", {
  primaryKey: "id",
  fields: { id: f.integer(), name: f.text().filterable(), open: f.boolean().filterable() },
  access: { read: ({ caller }) => isBoss(caller.roles) || where`has(members, "user_id = caller.id")` }
})

const members = defineResource("members", {
  primaryKey: "id",
  fields: { id: f.integer(), project_id: relation("projects").filterable(), user_id: f.text().filterable() },
  access: { read: ({ caller }) => isBoss(caller.roles) || where`user_id = caller.id` }
})

const papers = defineResource("papers", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    project_id: relation("projects").filterable(),
    title: f.text().filterable()
  },
  access: {
    read: ({ caller }) => isBoss(caller.roles) || where`has(project.members, "user_id = caller.id")`,
    update: ({ caller }) => isBoss(caller.roles) || where`project.open = true`
  }
})

const count = 520

const fixture = (): Fixture => ({
  config: defineConfig({
    resources: [projects, members, papers],
    roles: defineRoles({ clerk: ["projects.read", "members.read", "papers.read", "papers.update"], boss: ["*"] }),
    options: { scanGuard: { mode: "off" } }
  }),
  schema: `create table projects (id integer primary key, name text not null, open boolean not null);
    create table members (id integer primary key, project_id integer not null, user_id text not null);
    create table papers (id integer primary key, project_id integer not null, title text not null);
    create index on papers (project_id); create index on members (project_id, user_id);
    ${taskSchema().join(";")}`,
  rows: {
    projects: [{ id: 1, name: "one", open: true }],
    members: [{ id: 1, project_id: 1, user_id: "ann" }],
    papers: Array.from({ length: count }, (_, i) => ({ id: i + 1, project_id: 1, title: "old" }))
  }
})

onBothTasks("bulk changes through relations", fixture, (use) => {
  const set = async (path: string, body: object): Promise<void> => {
    const answer = await use().service.call(boss, "PATCH", `/api/v1/${path}`, { body, headers: { "if-match": "*" } })
    expect(answer.status, answer.text).toBe(200)
  }
  const start = async (scene: TaskScene, filter: string, title: string): Promise<string> => {
    const begun = await scene.post(clerk, "/api/v1/papers:bulk", { op: "update", filter, data: { title } })
    expect(begun.status, begun.text).toBe(202)
    return idOf(begun)
  }
  /** How many papers have the title. */
  const titled = async (title: string): Promise<unknown> =>
    (await use().service.get(boss, at("papers:aggregate", { filter: `title = ${title}` }))).json["groups"]
  const counted = (count: number) => [{ group: {}, measures: { count } }]
  const state = async (id: string) => (await use().task(clerk, id)).json

  beforeEach(async () => {
    hooks.claim = null
    await set("projects/1", { name: "one", open: true })
    await set("members/1", { user_id: "ann" })
  })

  it("leave out what has left the filter between two batches", async () => {
    const id = await start(use(), "project.name = one", "first")
    await Effect.runPromise(runTask(use().tasking, id, 1, () => true))
    await set("projects/1", { name: "two" })
    await use().work()
    expect(await state(id)).toMatchObject({ state: "completed", total: count, done: 500, written: 500, refused: 0 })
    expect(await titled("first")).toEqual(counted(500))
  })

  it("end with the membership between two batches: nothing more is seen, and nothing more is told", async () => {
    const id = await start(use(), "", "second")
    await Effect.runPromise(runTask(use().tasking, id, 1, () => true))
    await set("members/1", { user_id: "eve" })
    await use().work()
    expect(await state(id)).toMatchObject({ state: "completed", done: 500, written: 500, refused: 0, refusals: [] })
    expect(await titled("second")).toEqual(counted(500))
  })

  it.each<readonly [string, string, () => Promise<void>, string]>([
    ["a membership ends", "id <= 3", () => set("members/1", { user_id: "eve" }), "not-found"],
    ["the rule ends", "id <= 3", () => set("projects/1", { open: false }), "access-denied"],
    [
      "the filter ends",
      "id <= 3 AND project.name = one",
      () => set("projects/1", { name: "two" }),
      "precondition-failed"
    ],
    [
      "one record's filter ends",
      "id = 1 AND project.name = one",
      () => set("projects/1", { name: "two" }),
      "precondition-failed"
    ]
  ])("write nothing where %s after a batch was read", async (name, filter, change, slug) => {
    const title = name.replaceAll(/\W/g, "")
    const id = await start(use(), filter, title)
    hooks.claim = async () => {
      hooks.claim = null
      await change()
    }
    await use().work()
    const ended = await state(id)
    const records = filter.startsWith("id = 1 ") ? 1 : 3
    expect(ended).toMatchObject({ state: "completed", written: 0, refused: records })
    expect(ended["refusals"]).toEqual(
      Array.from({ length: records }, (_, i) => expect.objectContaining({ key: String(i + 1), slug }))
    )
    expect(await titled(title)).toEqual(counted(0))
  })
})
