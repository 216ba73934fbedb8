/** `service migration --plan`: what would be applied, what it locks, and that nothing of it is done. */

import { afterAll, beforeAll, expect, it } from "vitest"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { notesProject, table } from "./notes.ts"

let database: TestDatabase
beforeAll(async () => {
  database = await openDatabase(table)
})
afterAll(() => database.drop())

interface Plan {
  readonly milliseconds: number | null
  readonly migrations: readonly {
    readonly name: string
    readonly has: number | null
    readonly contracts: boolean | null
    readonly transaction: boolean
    readonly steps: readonly { readonly [name: string]: unknown }[]
  }[]
}

it("says what is new, what is locked and for how long, and changes nothing", async () => {
  await using project = notesProject({ DATABASE_URL: database.url }, `jobs: [], auth: { twoFactor: true }`)
  const planned = async (): Promise<Plan> => {
    const { code, stderr, stdout } = await project.quick("migration", "--plan", "--json")
    expect(code, stderr).toBe(0)
    return JSON.parse(stdout) as Plan
  }
  const tables = () => database.rows("select nspname from pg_namespace where nspname in ('service', 'auth') order by 1")
  // A database that has nothing yet has nothing that could be locked.
  const first = await planned()
  expect(first.migrations.map(({ has, name, steps }) => [name, has, steps.length])).toEqual([
    ["service", null, 0],
    ["auth", null, 0],
    ["second_factor", null, 0]
  ])
  expect([first.milliseconds, await tables()]).toEqual([0, []])
  expect((await project.quick("migration", "--apply")).code).toBe(0)
  expect((await project.quick("migration", "--plan")).stdout).toBe("Nothing to apply: the database is up to date.\n")

  await database.execute(
    `update service.migration set version = 3 where name = 'service'; alter table service.saved_view drop column layout;
     insert into notes (body) select repeat('x', 100) from generate_series(1, 1000)`
  )
  project.write(
    "db/migrations/010_total.sql",
    "alter table notes add column total numeric;\nalter table notes alter body type varchar(200);"
  )
  project.write(
    "db/migrations/011_index.sql",
    "-- no transaction\ncreate index concurrently notes_body on notes (body);"
  )
  const { migrations } = await planned()
  expect(migrations.map(({ contracts, has, name, transaction }) => [name, has, contracts, transaction])).toEqual([
    ["service", 3, false, true],
    ["010_total.sql", null, true, true],
    ["011_index.sql", null, false, false]
  ])
  expect(migrations[0]?.steps).toContainEqual(expect.objectContaining({
    table: "service.saved_view",
    blocks: "reads and writes",
    work: "none",
    bytes: expect.any(Number)
  }))
  // Indexes that are there are not made again.
  expect(migrations[0]?.steps.filter(({ work }) => work === "index")).toEqual([])
  const [added, typed] = migrations[1]?.steps ?? []
  expect(added).toMatchObject({ table: "notes", work: "none", milliseconds: 0 })
  expect(typed).toMatchObject({ table: "notes", work: "rewrite" })
  expect(Number(typed?.["milliseconds"])).toBeGreaterThan(0)
  expect(migrations[2]?.steps).toMatchObject([{ table: "notes", blocks: "schema changes", work: "index" }])

  const { stdout } = await project.quick("migration", "--plan")
  expect(stdout).toContain("service 4 (the database has 3): adds only: the version before goes on working")
  expect(stdout).toMatch(/notes \(\d+ kB\): blocks reads and writes for a moment, writes all rows/)
  expect(stdout).toContain("100 MB/s to read")
  expect(await database.rows("select version::text from service.migration where name = 'service'")).toEqual([["3"]])
  expect(await project.quick("migration", "--plan", "--apply")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("not both")
  })
})
