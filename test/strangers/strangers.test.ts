// Databases of others: the commands make a project of each without an edit, its API answers, and what was there before is as it was.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { loadConfig } from "../../composition/config-file.ts"
import { createUser, startServer } from "../../composition/index.ts"
import type { Server } from "../../composition/index.ts"
import { makeProject, type Project } from "../cli/support.ts"
import { freePort } from "../support/cluster.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { openShape, shapes } from "./shapes.ts"
import { type Seen, tokenOf, visit } from "./visit.ts"

const secret = "0123456789abcdef0123456789abcdef"
const password = "correct horse battery"

/** Everything in the database but its rows and what the service made, as texts. */
const objectsOf = async (database: TestDatabase, ours: string): Promise<readonly string[]> => {
  const rows = await database.rows(`
    with theirs as (select oid, nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' and not nspname = any (${ours}))
    select format('%s %s %s.%s %s %s ', c.relkind, c.relowner::regrole, n.nspname, c.relname, c.relacl, c.relrowsecurity)
        || case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) else '' end
      from pg_class c join theirs n on n.oid = c.relnamespace
    union all select format('column %s.%s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull) || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
      from pg_attribute a join pg_class c on c.oid = a.attrelid join theirs n on n.oid = c.relnamespace left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
      where a.attnum > 0
    union all select format('constraint %s on %s ', k.conname, k.conrelid::regclass) || pg_get_constraintdef(k.oid) from pg_constraint k join theirs n on n.oid = k.connamespace
    union all select 'trigger ' || pg_get_triggerdef(t.oid) || t.tgenabled::text from pg_trigger t join pg_class c on c.oid = t.tgrelid join theirs n on n.oid = c.relnamespace where not t.tgisinternal
    union all select format('function %s %s %s', p.oid::regprocedure, md5(p.prosrc), p.proowner::regrole) from pg_proc p join theirs n on n.oid = p.pronamespace
    union all select format('policy %s on %s %s', p.polname, p.polrelid::regclass, pg_get_expr(p.polqual, p.polrelid)) from pg_policy p
    union all select format('schema %s %s ', n.nspname, n.nspowner::regrole) || coalesce(n.nspacl::text, '') from pg_namespace n join theirs using (oid)
    order by 1`)
  return rows.map(([text]) => text!)
}

/** The rows of every table of theirs, as texts. */
const rowsOf = async (database: TestDatabase, ours: string): Promise<ReadonlyMap<string, readonly string[]>> => {
  const tables = await database.rows(
    `select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and not n.nspname = any (${ours}) order by 1`
  )
  const found = await database.rows(
    tables.map(([table]) => `select '${table!.replaceAll("'", "''")}', t::text from ${table} t`).join(" union all ")
  )
  return new Map(tables.map(([table]) => [
    table!,
    found.flatMap(([of, text]) => of === table ? [text!] : []).toSorted()
  ]))
}

/** A resource has the name of its table, but for quotes, case and separators. */
const letters = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")

describe.each(shapes)("a database as of $name", (shape) => {
  const { faults = {}, foreignAuth = false, right = {}, grows = [] } = shape
  const ours = `array['service', 'jobs', 'webhooks', '${foreignAuth ? "admin_auth" : "auth"}']`
  let database: TestDatabase
  let project: Project
  let server: Server | undefined
  let seen: Seen
  let objects: readonly string[]
  let rows: ReadonlyMap<string, readonly string[]>
  const said: string[] = []

  beforeAll(async () => {
    database = await openShape(shape)
    project = makeProject({ DATABASE_URL: database.url, AUTH_SECRET: secret })
    objects = await objectsOf(database, ours)
    rows = await rowsOf(database, ours)
  })
  afterAll(async () => {
    await server?.close()
    await project?.dispose()
    await database?.drop()
  })

  it("becomes a project by commands alone", async () => {
    expect(await project.quick("introspect")).toMatchObject({ code: 0, stderr: "" })
    const [, left] = /^\/\/ Left out, as frameworks keep them for themselves: (.*)\.$/m
      .exec(project.read("admin.resources.ts")) ?? []
    expect(left).toBe(shape.frameworks)
    if (foreignAuth) {
      // Whoever keeps accounts there stays: the migration names what it found, and changes nothing.
      const refused = await project.quick("migration", "--apply")
      expect([refused.code, refused.stdout]).toEqual([1, ""])
      expect(refused.stderr).toContain("The database has the schema auth")
      expect(refused.stderr).toContain("schemas: { auth: \"admin_auth\" }")
      expect(await objectsOf(database, ours)).toEqual(objects)
      project.write(
        "admin.config.ts",
        project.read("admin.config.ts").replace(
          "defineConfig({",
          "defineConfig({\n  schemas: { auth: \"admin_auth\" },"
        )
      )
    }
    expect(await project.quick("migration", "--apply")).toMatchObject({ code: 0, stderr: "" })
    const doctor = await project.quick("doctor")
    expect(doctor.stdout.split("\n").filter((line) => line.startsWith("error"))).toEqual([])
    expect(doctor).toMatchObject({ code: 0, stderr: "" })
  })

  it("is listed, read and written over HTTP", async () => {
    const port = await freePort()
    const url = `http://localhost:${port}`
    const { config } = await loadConfig(`${project.folder}/admin.config.ts`)
    server = await startServer(config, {
      port,
      env: { DATABASE_URL: database.url, AUTH_URL: url, AUTH_SECRET: secret },
      log: (line) => said.push(line)
    })
    await createUser(server.auth!, { email: "ann@example.org", name: "Ann", role: "admin", password })
    const token = await tokenOf(url, "ann@example.org", password)
    seen = await visit(url, token, shape)
    const failures = [...seen.failures, ...seen.nameless.map((resource) => `no name ${resource}`)]
    const causes = said.filter((line) => line.includes("\"error\"")).join("\n")
    expect(failures.toSorted(), [...seen.details, causes].join("\n")).toEqual(
      [...Object.keys(right), ...Object.keys(faults)].toSorted()
    )
    expect(failures.filter((line) => line.endsWith(" 500") && !(line in faults))).toEqual([])
    expect(seen.written.length).toBeGreaterThan(0)
  })

  it("has its own rows, triggers, functions and rights as before", async () => {
    expect(await objectsOf(database, ours)).toEqual(objects)
    const after = await rowsOf(database, ours)
    const kept = new Set(seen.kept.map(letters))
    for (const [table, before] of rows) {
      const now = after.get(table)!
      expect(before.filter((row) => !now.includes(row)), table).toEqual([])
      if (!grows.includes(table) && !kept.has(letters(table))) expect(now.length, table).toBe(before.length)
    }
  })
})
