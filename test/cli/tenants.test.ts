// Commands about accounts where each tenant has its own: the migration makes them, and `--tenant` says whose are meant.
import { afterAll, beforeAll, expect, it } from "vitest"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { notesProject, secret, table } from "./notes.ts"

let database: TestDatabase
beforeAll(async () => {
  database = await openDatabase(table)
})
afterAll(() => database.drop())

/** A project of two tenants. */
const tenanted = () => {
  const project = notesProject({ DATABASE_URL: database.url })
  project.write(
    "admin.config.ts",
    `import { defineConfig, fromHost } from "resource-admin"
import { notes } from "./notes.ts"

const tenant = fromHost({ suffix: ".example.com", tenants: ["acme", "globex"] })
export default defineConfig({ resources: [notes], auth: { tenant } })
`
  )
  return project
}

it("each tenant has accounts of its own", async () => {
  await using project = tenanted()
  const quick = (...args: string[]) => project.quick(...args)
  const refused = await quick("users", "list", "--tenant", "acme")
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("service migration --apply") })
  expect(JSON.parse((await quick("migration", "--apply", "--json")).stdout)).toEqual({
    applied: ["service 4", "auth 8", "auth 8"],
    changed: []
  })
  expect((await quick("migration", "--apply")).stdout).toContain("up to date")
  for (const tenant of ["acme", "globex"]) {
    const made = await quick("users", "create", "ann@example.com", "--generate-password", "--tenant", tenant)
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining("Created ann@example.com (admin).") })
  }
  expect(
    (await quick("users", "create", "bob@example.com", "--generate-password", "--role", "user", "--tenant", "acme"))
      .code
  ).toBe(0)
  expect((await quick("users", "list", "--tenant", "acme")).stdout).toContain("bob@example.com")
  expect((await quick("users", "list", "--tenant", "globex")).stdout).not.toContain("bob@example.com")
  const key = ["keys", "create", "ann@example.com", "--name", "k", "--role", "admin", "--tenant", "acme"]
  expect((await quick(...key)).stdout).toContain("Key: sk_")
  expect((await quick("keys", "list", "--tenant", "globex")).stdout).toContain("There is no key.")
  expect((await quick("token", "bob@example.com", "--tenant", "globex")).code).toBe(1)
  expect((await quick("token", "bob@example.com", "--tenant", "acme")).stdout).toMatch(/^ey/)
  expect(
    await database.rows(
      "select count(*)::int from auth_acme.\"user\" union all select count(*)::int from auth_globex.\"user\""
    )
  )
    .toEqual([["2"], ["1"]])
})

it("secrets are rotated for all of them", async () => {
  await using project = tenanted()
  Object.assign(project.env, { AUTH_SECRET: "the next secret, of thirty-two letters", AUTH_SECRET_ACCEPTED: secret })
  const keys = async (command: string) =>
    (JSON.parse((await project.quick("secrets", command, "--json")).stdout) as {
      readonly kept: { readonly [name: string]: object }
    }).kept["signing keys"]
  expect(await keys("list")).toEqual({ first: 0, accepted: 1, none: 0 })
  expect(await keys("rotate")).toEqual({ first: 1, accepted: 0, none: 0 })
  expect((await project.quick("token", "bob@example.com", "--tenant", "acme")).stdout).toMatch(/^ey/)
})

it("says which tenants there are where none, or another, is named", async () => {
  await using project = tenanted()
  for (const args of [["users", "list"], ["keys", "list"], ["token", "ann@example.com"]]) {
    expect(await project.quick(...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Each tenant has its own accounts. Give --tenant, one of: acme, globex.")
    })
  }
  expect((await project.quick("users", "list", "--tenant", "nobody")).stderr).toContain(
    "There is no tenant \"nobody\"."
  )
  await using plain = notesProject({ DATABASE_URL: database.url })
  expect((await plain.quick("users", "list", "--tenant", "acme")).stderr).toContain("Leave --tenant out")
})

it("the doctor looks at the accounts of each", async () => {
  await using project = tenanted()
  await database.execute(
    "delete from auth_globex.\"account\"; alter table auth_globex.\"user\" disable trigger all; delete from auth_globex.\"user\""
  )
  const { stdout } = await project.quick("doctor", "--json")
  expect(stdout).toContain("There is no user yet of the tenant globex")
  expect(stdout).toContain("service users create <EMAIL> --generate-password --tenant globex")
  expect(stdout).not.toContain("no user yet of the tenant acme")
})
