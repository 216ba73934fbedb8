/** `:watch` with filters through relations whose targets have rules through relations, on PostgreSQL, while several write: nobody is told what a fresh list has not. */

import { expect, it } from "vitest"
import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import type { TestCaller } from "../support/composed.ts"
import { openEvents } from "../support/events.ts"
import { listen } from "../support/stream.ts"

const tenant = f.integer().column("tenant_id")
const projects = defineResource("projects", {
  primaryKey: "id",
  tenant,
  fields: { id: f.integer().filterable(), color: f.text().filterable() },
  access: { read: ({ caller }) => caller.roles.includes("boss") || where`has(members, "user_id = caller.id")` }
})
const members = defineResource("members", {
  primaryKey: "id",
  tenant,
  fields: { id: f.integer(), user_id: f.text().filterable(), project_id: relation(projects).filterable() }
})
const items = defineResource("items", {
  primaryKey: "id",
  tenant,
  fields: { id: f.integer().filterable(), project_id: relation(projects).optional().filterable() },
  events: { updated: true }
})
const rights = ["projects.*", "members.*", "items.*"] as const
const config = defineConfig({
  resources: [projects, members, items],
  roles: defineRoles({ boss: [...rights], clerk: [...rights] })
})
const schema = `
  create table projects (id integer primary key, tenant_id integer not null, color text not null);
  create table members (id integer primary key, tenant_id integer not null, user_id text not null, project_id integer not null references projects);
  create table items (id integer primary key, tenant_id integer not null, project_id integer references projects);
  insert into projects select n, 1, case n % 2 when 1 then 'red' else 'blue' end from generate_series(1, 8) n;
  insert into members select n, 1, 'ann', n from generate_series(1, 3) n`

const boss: TestCaller = { id: "boss", roles: ["boss"], tenant: "1" }
const ann: TestCaller = { id: "ann", roles: ["clerk"], tenant: "1" }
const eve: TestCaller = { id: "eve", roles: ["boss"], tenant: "2" }
const filters = ["project.color = red", "NOT project.color = blue", "has(project)", "NOT has(project)"]

it("tells each caller what a fresh list has, under rules through relations", async () => {
  const service = await openEvents({ config, schema })
  try {
    const write = async (method: string, path: string, body: object): Promise<number> => {
      const headers = { "content-type": "application/json", ...(method === "PATCH" ? { "if-match": "*" } : {}) }
      return (await service.fetch(boss, `/api/v1/${path}`, { method, headers, body: JSON.stringify(body) })).status
    }
    const watched = await Promise.all(
      [boss, ann, eve].flatMap((caller) =>
        filters.map((filter) => ({ caller, query: new URLSearchParams({ filter }) }))
      )
        .map(async ({ caller, query }) => ({
          caller,
          query,
          heard: await listen(
            (path, init) => service.fetch(caller, path, init),
            service.until,
            `/api/v1/items:watch?${query.toString()}`
          )
        }))
    )
    const statuses = await Promise.all([0, 1, 2].map(async (lane) => {
      const all: number[] = []
      for (let n = 1; n <= 12; n++) {
        const id = lane * 100 + n
        all.push(await write("POST", "items", { id, project_id: 1 + (n % 8) }))
        all.push(await write("PATCH", `items/${id}`, { project_id: n % 3 === 0 ? null : 1 + ((n * 7) % 8) }))
      }
      return all
    }))
    expect(new Set(statuses.flat())).toEqual(new Set([200, 201]))
    for (const { caller, heard, query } of watched) {
      const answer = await service.fetch(caller, `/api/v1/items?page_size=500&fields=id&${query.toString()}`)
      const { items } = await answer.json() as { readonly items: ReadonlyArray<{ readonly id: number }> }
      const fresh = items.map(({ id }) => String(id)).toSorted().join()
      await service.until(() => {
        const kinds = new Map(heard.events.map(({ data }) => [String(data["key"]), data["kind"]]))
        return [...kinds].filter(([, kind]) => kind !== "left").map(([key]) => key).toSorted().join() === fresh
      }, `${caller.id}: ${query.toString()}`)
      if (caller === eve) expect(heard.events).toEqual([])
    }
  } finally {
    await service.close()
  }
})
