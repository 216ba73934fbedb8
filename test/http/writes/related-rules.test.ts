/** Access rules through relations: who is a member sees and writes. The database judges them, also what one request wrote before. */

import { expect, it } from "vitest"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, pluck } from "../../support/answer.ts"
import type { Answer, Fixture, TestCaller, TestService } from "../../support/composed.ts"
import { base, batch, onBoth, patch, read } from "./scenes.ts"

const tenant = f.integer().column("tenant_id")
const isAdmin = (roles: readonly string[]): boolean => roles.includes("admin")

/** The rule of projects looks at members, that of members at projects. */
const projects = defineResource("projects", {
  primaryKey: "id",
  tenant,
  softDelete: "deleted_at",
  fields: {
    id: f.integer().filterable().sortable(),
    owner_id: f.text(),
    name: f.text().filterable(),
    deleted_at: f.timestamp().optional()
  },
  access: {
    read: ({ caller }) => isAdmin(caller.roles) || where`has(members, "user_id = caller.id")`,
    update: where`has(members, "user_id = caller.id AND level = editor")`,
    delete: where`count(tasks) = 0 AND members.user_id = caller.id`
  }
})

const members = defineResource("members", {
  primaryKey: "id",
  tenant,
  softDelete: "left_at",
  fields: {
    id: f.integer().filterable(),
    project_id: relation("projects").filterable(),
    user_id: f.text().filterable(),
    level: f.enum(["reader", "editor"]),
    left_at: f.timestamp().optional()
  },
  access: {
    read: ({ caller }) => isAdmin(caller.roles) || where`project.members.user_id = caller.id`,
    create: where`project.owner_id = caller.id`,
    update: where`project.owner_id = caller.id`,
    delete: where`project.owner_id = caller.id`
  }
})

const mine = where`has(project.members, "user_id = caller.id AND level = editor")`

const tasks = defineResource("tasks", {
  primaryKey: "id",
  tenant,
  fields: {
    id: f.integer().filterable().sortable(),
    project_id: relation("projects").filterable(),
    parent_id: relation("tasks").as("parent").inverse("parts").optional(),
    title: f.text().filterable(),
    state: f.enum(["open", "done"]).default("open").filterable()
  },
  access: {
    read: ({ caller }) => isAdmin(caller.roles) || where`project.members.user_id = caller.id`,
    create: where`${mine} AND has(project, "count(tasks) <= 4")`,
    update: mine,
    delete: where`${mine} AND NOT has(parts)`
  }
})

/** At most one seat of a room is taken: the rule asks for the record's own table. */
const rooms = defineResource("rooms", { primaryKey: "id", fields: { id: f.integer() } })
const seats = defineResource("seats", {
  primaryKey: "id",
  fields: { id: f.integer(), room_id: relation("rooms"), taken: f.boolean() },
  access: {
    create: where`has(room, "count(seats, 'taken = true') <= 1")`,
    update: where`has(room, "count(seats, 'taken = true') <= 1")`
  }
})

/** Where nobody leads yet, only somebody who leads may come. */
const guests = defineResource("guests", {
  primaryKey: "id",
  fields: { id: f.integer(), room_id: relation("rooms"), leads: f.boolean() },
  access: { create: where`has(room, "guests.leads = true")` }
})

const config = defineConfig({ resources: [projects, members, tasks, rooms, seats, guests] })

const member = (id: number, project_id: number, user_id: string, level: string, more = {}) => ({
  id,
  tenant_id: 1,
  project_id,
  user_id,
  level,
  left_at: null,
  ...more
})

const task = (id: number, project_id: number, title: string, more = {}) => ({
  id,
  tenant_id: 1,
  project_id,
  parent_id: null,
  title,
  state: "open",
  ...more
})

const rows = {
  rooms: [{ id: 1 }],
  seats: [1, 2].map((id) => ({ id, room_id: 1, taken: false })),
  projects: [1, 2, 3, 4].map((id) => ({ id, tenant_id: id === 4 ? 2 : 1, owner_id: "olga", name: `p${id}` })),
  members: [
    member(1, 1, "ann", "editor"),
    member(2, 2, "ann", "reader"),
    member(3, 2, "bob", "editor"),
    member(4, 3, "bob", "editor"),
    // Ann has left, and another Ann is in another tenant.
    member(5, 3, "ann", "editor", { left_at: "2026-01-01T00:00:00Z" }),
    member(6, 4, "ann", "editor", { tenant_id: 2 }),
    member(7, 1, "olga", "reader")
  ],
  tasks: [
    task(10, 1, "a"),
    task(11, 1, "b", { parent_id: 10 }),
    task(20, 2, "c"),
    task(30, 3, "taken"),
    task(40, 4, "z", { tenant_id: 2 })
  ]
}

const fixture = (): Fixture => ({
  config,
  schema: `
    create table projects (id integer primary key, tenant_id integer not null, owner_id text not null, name text not null, deleted_at timestamptz);
    create table members (
      id integer primary key, tenant_id integer not null, project_id integer not null references projects, user_id text not null,
      level text not null, left_at timestamptz
    );
    create table tasks (
      id integer primary key, tenant_id integer not null, project_id integer not null references projects,
      parent_id integer references tasks, title text not null unique, state text not null
    );
    create table rooms (id integer primary key);
    create table guests (id integer primary key, room_id integer not null references rooms, leads boolean not null);
    create table seats (id integer primary key, room_id integer not null references rooms, taken boolean not null);
    create index on members (project_id, tenant_id, user_id);
    create index on tasks (project_id, tenant_id);
  `,
  rows,
  constraints: (models) => {
    const model = models.get("tasks")!
    const { index } = model.byName.get("title")!
    return [{ of: "unique", model, columns: ["title"], keyOf: (row) => row[index] ?? null }]
  }
})

const ann: TestCaller = { id: "ann", roles: [], tenant: "1" }
const bob: TestCaller = { id: "bob", roles: [], tenant: "1" }
const olga: TestCaller = { id: "olga", roles: [], tenant: "1" }
const eve: TestCaller = { id: "eve", roles: [], tenant: "1" }
const admin: TestCaller = { id: "root", roles: ["admin"], tenant: "1" }
const foreign: TestCaller = { id: "ann", roles: [], tenant: "2" }
const nowhere: TestCaller = { id: "ann", roles: [] }

const ids = async (service: TestService, who: TestCaller, resource: string, query = {}) =>
  pluck(await service.get(who, at(resource, { ...query })), "id")
const create = (service: TestService, who: TestCaller, resource: string, body: object): Promise<Answer> =>
  service.call(who, "POST", `${base}/${resource}`, { body })
const remove = (service: TestService, who: TestCaller, path: string): Promise<Answer> =>
  service.call(who, "DELETE", `${base}/${path}`)

onBoth("reads", fixture, (use) => {
  it("show members what they are members of, whoever asked before", async () => {
    for (let round = 0; round < 2; round++) {
      expect(await ids(use(), ann, "projects")).toEqual([1, 2])
      expect(await ids(use(), bob, "projects")).toEqual([2, 3])
      expect(await ids(use(), eve, "projects")).toEqual([])
      expect(await ids(use(), admin, "projects")).toEqual([1, 2, 3])
      expect(await ids(use(), foreign, "projects")).toEqual([4])
      expect(await ids(use(), ann, "members")).toEqual([1, 2, 3, 7])
      expect(await ids(use(), ann, "tasks")).toEqual([10, 11, 20])
      expect(await ids(use(), bob, "tasks")).toEqual([20, 30])
    }
    expect((await use().get(nowhere, at("projects"))).status).toBe(403)
  })

  it("count, group, seek and page the same rows", async () => {
    const counted = await use().get(ann, at("tasks", { count: "exact", page_size: 1 }))
    expect(counted.json["total_size"]).toBe(3)
    const found: unknown[] = []
    let token: unknown = ""
    do {
      const page = await use().get(ann, at("tasks", { page_size: 1, order_by: "id desc", page_token: String(token) }))
      expect(page.status, page.text).toBe(200)
      found.push(...pluck(page, "id"))
      token = page.json["next_page_token"] ?? ""
    } while (token !== "")
    expect(found).toEqual([20, 11, 10])
    const groups = await use().get(ann, at("tasks:aggregate", { measures: "count" }))
    expect(groups.json["groups"]?.[0], groups.text).toMatchObject({ measures: { count: 3 } })
    const facets = await use().get(bob, at("tasks:facets", { field: "project_id" }))
    expect(facets.text).not.toContain("\"10\"")
    const seek = await use().get(ann, at("tasks:seek", { position: 1, page_size: 1 }))
    expect(pluck(seek, "id")).toEqual([11])
  })

  it("tell nothing of others through filters, counts and expands: a record of others is one that is not there", async () => {
    expect((await use().get(ann, `${base}/tasks/30`)).status).toBe(404)
    expect((await use().get(ann, `${base}/tasks/31`)).status).toBe(404)
    for (
      const filter of ["title = taken", "id = 30", "project.name = p3", "has(project, 'count(tasks) = 1') AND id = 30"]
    ) {
      expect(await ids(use(), ann, "tasks", { filter }), filter).toEqual([])
    }
    // Ann's own filter sees what she may read, and of everybody's targets nothing more.
    expect(await ids(use(), ann, "projects", { filter: "has(tasks)" })).toEqual([1, 2])
    expect(await ids(use(), bob, "projects", { filter: "tasks.title:*" })).toEqual([2, 3])
    const expanded = await use().get(ann, at("projects", { expand: "members,tasks", fields: "id" }))
    expect(expanded.status, expanded.text).toBe(200)
    expect(expanded.text).not.toContain("taken")
    expect(expanded.text).toContain("\"olga\"")
  })

  it("say per record what a write would answer", async () => {
    const listed = await use().get(ann, at("projects"))
    const items = listed.json["items"] as unknown as ReadonlyArray<
      { readonly id: number; readonly permissions: unknown }
    >
    expect(items.map(({ id, permissions }) => [id, permissions])).toEqual([
      [1, expect.objectContaining({ update: true, delete: false })],
      [2, expect.objectContaining({ update: false, delete: false })]
    ])
  })

  it("end with the membership", async () => {
    expect(await ids(use(), bob, "projects")).toContain(3)
    expect((await remove(use(), admin, "members/4")).status).toBe(403)
    expect((await remove(use(), olga, "members/4")).status).toBe(404)
    const olgas = await create(use(), olga, "members", { id: 50, project_id: 3, user_id: "olga", level: "reader" })
    expect(olgas.status, olgas.text).toBe(201)
    expect((await remove(use(), olga, "members/4")).status).toBe(204)
    expect(await ids(use(), bob, "projects")).toEqual([2])
    expect((await use().get(bob, `${base}/tasks/30`)).status).toBe(404)
  })
})

onBoth("writes", fixture, (use) => {
  it("are judged by the record as it will be and as it was", async () => {
    expect((await create(use(), ann, "tasks", { id: 60, project_id: 1, title: "new" })).status).toBe(201)
    for (const [id, project_id] of [[61, 2], [62, 3], [63, 4]]) {
      const refused = await create(use(), ann, "tasks", { id, project_id, title: `no ${id}` })
      // The project of another tenant is none, and no broken reference says so.
      expect(refused.status, refused.text).toBe(403)
    }
    const path = `${base}/tasks/60`
    expect((await patch(use(), ann, path, { title: "newer" })).status).toBe(200)
    expect((await patch(use(), ann, path, { project_id: 2 })).status).toBe(403)
    expect((await patch(use(), bob, path, { title: "x" })).status).toBe(404)
    expect((await patch(use(), ann, `${base}/tasks/20`, { title: "x" })).status).toBe(403)
    expect(await read(use(), ann, path)).toMatchObject({ title: "newer", project_id: 1 })
    expect((await remove(use(), ann, "tasks/10")).status).toBe(403)
    expect((await remove(use(), ann, "tasks/11")).status).toBe(204)
    expect((await remove(use(), ann, "tasks/10")).status).toBe(204)
    expect((await remove(use(), ann, "tasks/60")).status).toBe(204)
    expect((await remove(use(), ann, "projects/1")).status).toBe(204)
    expect((await use().get(ann, `${base}/projects/1`)).status).toBe(404)
  })
})

onBoth("rules about the table itself", fixture, (use) => {
  const seat = (id: number) => `${base}/seats/${id}`
  const found = async () => pluck(await use().get(ann, at("seats")), "taken")

  it("see what the write itself has changed", async () => {
    const both = await batch(use(), ann, [
      { op: "update", resource: "seats", key: "1", etag: "*", data: { taken: true } },
      { op: "update", resource: "seats", key: "2", etag: "*", data: { taken: true } }
    ])
    expect(both.status, both.text).toBe(403)
    expect(await found()).toEqual([false, false])
    expect((await patch(use(), ann, seat(1), { taken: true })).status).toBe(200)
    expect((await patch(use(), ann, seat(2), { taken: true })).status).toBe(403)
    expect((await create(use(), ann, "seats", { id: 3, room_id: 1, taken: true })).status).toBe(403)
    expect(await found()).toEqual([true, false])
    expect((await patch(use(), ann, seat(1), { taken: false })).status).toBe(200)
    expect((await create(use(), ann, "seats", { id: 3, room_id: 1, taken: true })).status).toBe(201)
    expect(await found()).toEqual([false, false, true])
  })
})

onBoth("creates of one kind", fixture, (use) => {
  const guest = (id: number, leads: boolean) => ({ op: "create", resource: "guests", data: { id, room_id: 1, leads } })

  it("are judged in their order, not by what comes later in the same statement", async () => {
    expect((await batch(use(), ann, [guest(1, false), guest(2, true)])).status).toBe(403)
    const led = await batch(use(), ann, [guest(1, true), guest(2, false)])
    expect(led.status, led.text).toBe(200)
  })
})

onBoth("batches", fixture, (use) => {
  const taking = (id: number, project_id = 1) => ({
    op: "create",
    resource: "tasks",
    data: { id, project_id, title: `t${id}` }
  })
  const joining = {
    op: "create",
    resource: "members",
    data: { id: 70, project_id: 1, user_id: "olga", level: "editor" }
  }

  it("see what they have written before, and not what comes later", async () => {
    const late = await batch(use(), olga, [taking(71), joining])
    expect(late.status, late.text).toBe(403)
    expect(await ids(use(), admin, "members", { filter: "id = 70" })).toEqual([])
    const inTime = await batch(use(), olga, [joining, taking(71)])
    expect(inTime.status, inTime.text).toBe(200)
  })

  it("are judged record by record: a limit holds for creates that could be one statement", async () => {
    // Three tasks are there; a fourth is allowed.
    const tooMany = await batch(use(), ann, [taking(72), taking(73), taking(74)])
    expect(tooMany.status, tooMany.text).toBe(403)
    expect((await ids(use(), ann, "tasks", { filter: "project_id = 1" })).length).toBe(3)
    expect((await batch(use(), ann, [taking(72)])).status).toBe(200)
    expect((await batch(use(), ann, [taking(73)])).status).toBe(403)
  })

  it("lose the right with the membership that an earlier operation ends", async () => {
    const left = await batch(use(), olga, [
      { op: "update", resource: "members", key: "70", etag: "*", data: { level: "reader" } },
      { op: "update", resource: "tasks", key: "71", etag: "*", data: { title: "late" } }
    ])
    expect(left.status, left.text).toBe(403)
    const first = await batch(use(), olga, [
      { op: "update", resource: "tasks", key: "71", etag: "*", data: { title: "early" } },
      { op: "update", resource: "members", key: "70", etag: "*", data: { level: "reader" } }
    ])
    expect(first.status, first.text).toBe(200)
  })

  it("change by filter what each record's rule allows, or nothing", async () => {
    const address = (filter: string, count: number) =>
      `${base}/tasks?filter=${encodeURIComponent(filter)}&expected_count=${count}`
    const all = await use().call(ann, "PATCH", address("state = open", 5), { body: { state: "done" } })
    expect(all.status, all.text).toBe(403)
    expect(await ids(use(), ann, "tasks", { filter: "state = done" })).toEqual([])
    const own = await use().call(ann, "PATCH", address("project_id = 1", 4), { body: { state: "done" } })
    expect([own.status, own.json["changed"]], own.text).toEqual([200, 4])
    // 10 has a part, 11, that is deleted after it.
    expect((await use().call(ann, "DELETE", address("project_id = 1", 4))).status).toBe(403)
  })
})

onBoth("refusals", fixture, (use) => {
  it("of the database do not tell whoever may not write: a taken title is as forbidden as a free one", async () => {
    for (const title of ["taken", "free"]) {
      for (const [who, project_id] of [[ann, 2], [eve, 1], [ann, 3]] as const) {
        const answer = await create(use(), who, "tasks", { id: 80, project_id, title })
        expect(answer.status, `${title} ${who.id} ${project_id}: ${answer.text}`).toBe(403)
      }
      // The result would be in a project where Ann may not write.
      const moved = await patch(use(), ann, `${base}/tasks/10`, { project_id: 2, title })
      expect(moved.status, moved.text).toBe(403)
    }
    // Who may write is told.
    expect((await create(use(), ann, "tasks", { id: 81, project_id: 1, title: "taken" })).status).toBe(409)
    expect((await patch(use(), ann, `${base}/tasks/10`, { title: "taken" })).status).toBe(409)
    expect(await read(use(), ann, `${base}/tasks/10`)).toMatchObject({ title: "a" })
  })

  it("of records that are not seen are those of records that are not there", async () => {
    for (const id of ["30", "31", "40"]) {
      expect((await patch(use(), ann, `${base}/tasks/${id}`, { title: "x" })).status, id).toBe(404)
      expect((await remove(use(), ann, `tasks/${id}`)).status, id).toBe(404)
    }
  })

  it("leave nothing of a rehearsal", async () => {
    const rehearsed = await use().call(ann, "POST", `${base}/tasks?dry_run=true`, {
      body: { id: 82, project_id: 1, title: "rehearsed" }
    })
    expect(rehearsed.status, rehearsed.text).toBeLessThan(300)
    const refused = await use().call(ann, "POST", `${base}/tasks?dry_run=true`, {
      body: { id: 82, project_id: 2, title: "rehearsed" }
    })
    expect(refused.status, refused.text).toBe(403)
    expect(await ids(use(), admin, "tasks", { filter: "id = 82" })).toEqual([])
  })
})
