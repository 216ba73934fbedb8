// Who may do what with many records: every set of rights on resources of each kind, in the documents and in the answers, and what others see of a task.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { taskSchema } from "../../../adapters/postgres/tasks.ts"
import { defineConfig, defineResource, defineRoles, f } from "../../../composition/index.ts"
import type { MetaDocument } from "../../../core/domain/meta/meta.ts"
import type { Fixture, TestCaller } from "../../support/composed.ts"
import type { OpenapiDoc } from "../../support/openapi.ts"
import { idOf, startTasks, type TaskScene } from "./scenes.ts"

const rights = ["read", "create", "update", "delete"] as const
type Right = (typeof rights)[number]

/** A role for each set of rights, and its rights. */
const sets = new Map<string, readonly Right[]>(
  Array.from({ length: 16 }, (_, bits) => {
    const held = rights.filter((_right, at) => (bits & (1 << at)) !== 0)
    return [["may", ...held].join("-"), held]
  })
)

const fields = { id: f.integer().bits(64).filterable(), title: f.text().filterable() }
const resources = {
  /** Deleted records are kept. */
  soft: defineResource("soft", { table: "soft", primaryKey: "id", softDelete: "deleted_at", fields }),
  hard: defineResource("hard", { table: "hard", primaryKey: "id", fields }),
  /** Whose key nobody may read: the report could not name a record. */
  keyless: defineResource("keyless", {
    table: "keyless",
    primaryKey: "id",
    fields,
    access: { fields: { id: { read: false } } }
  })
}
const names = Object.keys(resources) as Array<keyof typeof resources>

const matrix = (): Fixture => ({
  config: defineConfig({
    resources: Object.values(resources),
    roles: defineRoles(
      Object.fromEntries(
        [...sets].map(([role, held]) => [role, names.flatMap((name) => held.map((right) => `${name}.${right}`))])
      ) as never
    ),
    options: { scanGuard: { mode: "off" } }
  }),
  schema: `${
    names.map((name) =>
      `create table ${name} (id bigint primary key, title text not null${
        name === "soft" ? ", deleted_at timestamptz" : ""
      });`
    ).join("")
  } ${taskSchema().join(";")}`,
  rows: Object.fromEntries(names.map((name) => [name, [{ id: "1", title: "one" }, { id: "2", title: "two" }]]))
})

const callerOf = (role: string): TestCaller => ({ id: `of-${role}`, roles: [role] })

/** What the rights allow, said once more. */
const allowed = (name: keyof typeof resources, held: readonly Right[]) => {
  const has = (...wanted: readonly Right[]) => wanted.every((right) => held.includes(right))
  const keyed = name !== "keyless"
  return {
    export: has("read"),
    bulk: [
      ...(keyed && has("read", "update") ? ["update"] : []),
      ...(keyed && has("read", "delete") ? ["delete"] : []),
      ...(keyed && has("read", "update") && name === "soft" ? ["undelete"] : [])
    ],
    import: [...(has("create") ? ["create"] : []), ...(has("read", "update") ? ["update"] : [])]
  }
}

describe.each(["fake", "postgres"] as const)("rights and many records, %s", (backend) => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await startTasks(backend, matrix())
    for (const role of sets.keys()) scene.roles.set(`of-${role}`, [role])
  })
  afterAll(async () => {
    expect(scene.service.unhandled).toEqual([])
    await scene.service.close()
  })

  it.each([...sets])("%s", async (role, held) => {
    const caller = callerOf(role)
    const meta = (await scene.service.get(caller, "/api/meta")).json as unknown as MetaDocument
    const { paths } = (await scene.service.get(caller, "/api/openapi.json")).json as unknown as OpenapiDoc
    for (const name of names) {
      const at = `${role} ${name}`
      const may = allowed(name, held)
      const base = `/api/v1/${name}`
      const there = meta.models.some((model) => model.name === name)
      expect([at, there], at).toEqual([at, held.includes("read") || held.includes("create")])
      if (there) expect([at, meta.transfers[name]]).toEqual([at, may])
      const described = JSON.stringify(paths[`${base}:bulk`]?.["post"]?.["requestBody"] ?? null)
      for (const op of ["update", "delete", "undelete"]) {
        expect([at, op, described.includes(`"${op}"`)]).toEqual([at, op, may.bulk.includes(op)])
      }
      expect([at, paths[`${base}:import`] !== undefined]).toEqual([at, may.import.length > 0])
      expect([at, paths[`${base}:export`] !== undefined]).toEqual([at, may.export])

      const refused = there ? 403 : 404
      expect([at, (await scene.service.get(caller, `${base}:export`)).status]).toEqual([at, may.export ? 200 : refused])
      for (const op of ["update", "delete", "undelete"] as const) {
        const body = { op, filter: "title = none", ...(op === "update" ? { data: { title: "x" } } : {}) }
        const { status } = await scene.post(caller, `${base}:bulk?dry_run=true`, body)
        const never = op === "undelete" && name !== "soft"
        const ruled = held.includes("read") && held.includes(op === "delete" ? "delete" : "update")
        expect([at, op, status]).toEqual([
          at,
          op,
          may.bulk.includes(op) ? 200 : never && ruled && name !== "keyless" ? 400 : refused
        ])
      }
      const uploaded = await scene.upload(caller, "id,title\r\n1,one\r\n", "", name)
      expect([at, uploaded.status, uploaded.text], at).toEqual([
        at,
        may.import.length > 0 ? 201 : refused,
        uploaded.text
      ])
      if (uploaded.status !== 201) continue
      const id = idOf(uploaded)
      for (const mode of ["create", "update", "upsert"] as const) {
        const fine = mode === "upsert" ? may.import.length === 2 : may.import.includes(mode)
        // A key that nobody may read finds no record. Whether the plan or the right is refused first does not matter.
        const keyless = name === "keyless"
        const body = { mode, mapping: [keyless ? null : "id", "title"] }
        const { status } = await scene.post(caller, `/api/tasks/${id}:check`, body)
        const expected = fine && !(keyless && mode !== "create") ? [202] : [400, 403]
        expect(expected, `${at} ${mode} ${status}`).toContain(status)
        await scene.work()
      }
      // Nobody else sees it, whatever they may do, and without a credential nobody sees anything.
      for (const other of [...sets.keys()].filter((each) => each !== role).map(callerOf)) {
        for (
          const [method, rest] of [["GET", ""], ["GET", ":report"], ["POST", ":check"], ["POST", ":start"], [
            "POST",
            ":cancel"
          ]] as const
        ) {
          const answer = await scene.service.call(other, method, `/api/tasks/${id}${rest}`)
          expect([other.id, rest, answer.status]).toEqual([other.id, rest, 404])
        }
        expect((await scene.service.get(other, "/api/tasks")).text).not.toContain(`"${id}"`)
      }
      expect((await scene.service.call(null, "GET", `/api/tasks/${id}`)).status).toBe(401)
      expect((await scene.service.call(null, "POST", `/api/tasks/${id}:cancel`)).status).toBe(401)
      expect((await scene.post(caller, `/api/tasks/${id}:cancel`)).status).toBe(200)
    }
  })
})
