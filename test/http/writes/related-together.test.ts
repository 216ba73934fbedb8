/** Rules through relations where one request writes many records: each is judged by what those before it have left. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { taskSchema } from "../../../adapters/postgres/tasks.ts"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, pluck } from "../../support/answer.ts"
import type { Fixture, TestCaller } from "../../support/composed.ts"
import { idOf, startTasks, type TaskScene } from "../tasks/scenes.ts"
import { base } from "./scenes.ts"

const teams = defineResource("teams", { primaryKey: "id", fields: { id: f.integer() } })

/** A team keeps one lead at least, and a lead that is alone is not moved, either. */
const leads = defineResource("leads", {
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), team_id: relation("teams").filterable() },
  access: { delete: where`has(team, "count(leads) >= 2")`, update: where`has(team, "count(leads) >= 2")` }
})

/** Only members see a board, and whoever sees one may change it. */
const boards = defineResource("boards", {
  primaryKey: "id",
  fields: { id: f.integer(), name: f.text() },
  access: { read: where`has(members, "user_id = caller.id")` }
})
const members = defineResource("members", {
  primaryKey: "id",
  fields: { id: f.integer(), board_id: relation("boards"), user_id: f.text() }
})

const fixture: Fixture = {
  config: defineConfig({
    resources: [teams, leads, boards, members],
    options: { scanGuard: { mode: "off" } }
  }),
  schema: `create table boards (id integer primary key, name text not null);
    create table members (id integer primary key, board_id integer not null, user_id text not null);
    create table teams (id integer primary key);
    create table leads (id integer primary key, team_id integer not null references teams); ${taskSchema().join(";")}`,
  rows: {
    boards: [{ id: 1, name: "plans" }],
    members: [{ id: 1, board_id: 1, user_id: "ann" }],
    teams: [1, 2, 3, 4, 5].map((id) => ({ id })),
    leads: [[1, 1], [2, 1], [3, 2], [4, 2], [5, 3], [6, 3], [7, 4], [9, 5]].map(([id = 0, team_id = 0]) => ({
      id,
      team_id
    }))
  }
}

const ann: TestCaller = { id: "ann", roles: ["clerk"] }

describe.each(["fake", "postgres"] as const)("rules of many records, %s", (backend) => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await startTasks(backend, fixture)
  })
  afterAll(async () => {
    await scene.service.close()
    expect([...scene.service.unhandled, ...scene.unexpected]).toEqual([])
  })

  const left = async (team: number) =>
    pluck(await scene.service.get(ann, at("leads", { filter: `team_id = ${team}`, order_by: "id" })), "id")

  it("keep the last one where all are deleted by a filter", async () => {
    const path = `${base}/leads?filter=team_id%20%3D%201&expected_count=2`
    const answer = await scene.service.call(ann, "DELETE", path)
    expect(answer.status, answer.text).toBe(403)
    expect(await left(1)).toEqual([1, 2])
    const batch = await scene.post(ann, `${base}:batchWrite`, {
      ops: [1, 2].map((key) => ({ op: "delete", resource: "leads", key: String(key), etag: "*" }))
    })
    expect(batch.status, batch.text).toBe(403)
  })

  it("refuse the last one of a bulk change, tried or done", async () => {
    for (const query of ["?dry_run=true", ""]) {
      const begun = await scene.post(ann, `${base}/leads:bulk${query}`, { op: "delete", filter: "team_id = 2" })
      expect(begun.status, begun.text).toBe(query === "" ? 202 : 200)
      await scene.work()
      const { json } = query === "" ? await scene.task(ann, idOf(begun)) : begun
      expect(json).toMatchObject({ refused: 1, written: 1 })
    }
    expect(await left(2)).toHaveLength(1)
  })

  it("judge a change by what the change before has moved away", async () => {
    const path = `${base}/leads?filter=team_id%20%3D%203&expected_count=2`
    const answer = await scene.service.call(ann, "PATCH", path, { body: { team_id: "1" } })
    expect(answer.status, answer.text).toBe(403)
    expect(await left(3)).toEqual([5, 6])
  })

  it("judge a line of an import before those that follow it", async () => {
    const uploaded = await scene.upload(ann, "id,team_id\r\n7,5\r\n8,4\r\n", "", "leads")
    expect(uploaded.status, uploaded.text).toBe(201)
    const plan = { mode: "upsert", match: "id", errors: "skip" }
    const started = await scene.post(ann, `/api/tasks/${idOf(uploaded)}:start`, plan)
    expect(started.status, started.text).toBe(202)
    await scene.work()
    // Lead 7 was the only one of its team when its line was read.
    expect((await scene.task(ann, idOf(uploaded))).json).toMatchObject({ refused: 1, written: 1 })
    expect(await left(4)).toEqual([7, 8])
  })

  it.skipIf(backend === "fake")("show nothing to whoever ceased to be a member while the write waited", async () => {
    const { database } = scene.service
    const held = database!.execute(`begin; update boards set name = name; delete from members;
      do $$ begin loop
        perform pg_stat_clear_snapshot();
        exit when exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock');
        perform pg_sleep(0.01);
      end loop; end $$;
      commit`)
    const locked = "select from pg_locks where relation = 'members'::regclass and mode = 'RowExclusiveLock' and granted"
    while ((await database!.rows(locked)).length === 0);
    const answer = await scene.service.call(ann, "PATCH", `${base}/boards/1?allow_missing=true`, {
      body: { name: "plans" },
      headers: { "if-match": "*" }
    })
    await held
    // As whoever never was one is told: the key is taken.
    expect(answer.status, answer.text).toBe(409)
  })
})
