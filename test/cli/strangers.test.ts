// Databases whose schema "auth" belongs to somebody else: migration takes nothing over, doctor finds what an earlier version has taken over.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Finding } from "../../composition/doctor/finding.ts"
import { authMigrations, serviceMigration } from "../../composition/migrations.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { config, notesProject, table } from "./notes.ts"

/** What the library better-auth makes in a schema `auth`, with two people. */
const betterAuth = `create schema auth;
create table auth."user" (id text primary key, name text not null, email text not null unique, "emailVerified" boolean not null, image text,
  "createdAt" timestamptz not null default now(), "updatedAt" timestamptz not null default now());
insert into auth."user" values ('u1', 'Ann', 'ann@example.org', true), ('u2', 'Bo', 'bo@example.org', false);`

const itsOthers =
  `create table auth.session (id text primary key, "expiresAt" timestamptz not null, token text not null unique, "createdAt" timestamptz not null,
  "updatedAt" timestamptz not null, "ipAddress" text, "userAgent" text, "userId" text not null references auth."user" on delete cascade);
create table auth.account (id text primary key, "accountId" text not null, "providerId" text not null, "userId" text not null references auth."user" on delete cascade,
  "accessToken" text, password text, "createdAt" timestamptz not null, "updatedAt" timestamptz not null);
insert into auth.session values ('s1', now() + interval '1 day', 't1', now(), now(), null, null, 'u1');`

/** As Supabase makes it: another role owns the schema, and the project's role may only read. */
const supabase = (owner: string): string =>
  `create schema auth authorization ${owner};
set role ${owner};
create table auth.users (instance_id uuid, id uuid primary key, email varchar(255), encrypted_password varchar(255), created_at timestamptz);
create table auth.sessions (id uuid primary key, user_id uuid not null references auth.users on delete cascade, created_at timestamptz);
create table auth.schema_migrations (version varchar(255) primary key);
create function auth.uid() returns uuid language sql stable as 'select null::uuid';
insert into auth.users values (null, gen_random_uuid(), 'ann@example.org', 'x', now());
reset role;`

/** What stands in the database, as texts. */
const contents = (database: TestDatabase) =>
  database.rows(
    `select 'relation ' || c.oid::regclass || ' ' || c.relkind::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    union all select 'trigger ' || t.tgname || t.tgrelid::regclass from pg_trigger t where not t.tgisinternal
    union all select 'constraint ' || k.conname || ' ' || k.conrelid::regclass from pg_constraint k
      join pg_namespace n on n.oid = k.connamespace where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    union all select 'function ' || p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('auth', 'service', 'public')
    order by 1`
  )

const findingsOf = (stdout: string) => (JSON.parse(stdout) as { readonly findings: readonly Finding[] }).findings

const open = async (schema: string) => {
  const database = await openDatabase(`${table}${schema}`)
  return { database, project: notesProject({ DATABASE_URL: database.url }) }
}

describe.each([["its table of users", betterAuth], ["all its tables", `${betterAuth}${itsOthers}`]])(
  "better-auth with %s in the schema auth",
  (_, schema) => {
    it("is refused with the line that names another schema, and nothing of it changes", async () => {
      const { database, project } = await open(schema)
      try {
        const before = await contents(database)
        const { code, stderr, stdout } = await project.quick("migration", "--apply")
        expect([code, stdout]).toEqual([1, ""])
        expect(stderr).toContain("the table auth.\"user\"")
        expect(stderr).toContain("schemas: { auth: \"admin_auth\" }")
        expect(stderr).not.toContain("    at ")
        expect(await contents(database)).toEqual(before)
        const created = await project.quick("users", "create", "a@example.org", "--generate-password")
        expect(created).toMatchObject({ code: 1, stderr: expect.stringContaining("service migration --apply") })
        const findings = findingsOf((await project.quick("doctor", "--json")).stdout)
        expect(findings.find(({ check }) => check === "migration")?.message).toContain("the table auth.\"user\"")
        expect(findings.flatMap(({ sql }) => sql).join("\n")).not.toMatch(/\bauth\b/)
        await database.execute(
          "update auth.\"user\" set name = 'Anna' where id = 'u1'; delete from auth.\"user\" where id = 'u2'"
        )
      } finally {
        await project.dispose()
        await database.drop()
      }
    })

    it("is given back, by the SQL that doctor prints, where an earlier version has taken it over", async () => {
      const { database, project } = await open(schema)
      try {
        const before = await contents(database)
        // As that version did it: "create table if not exists" and triggers.
        await database.execute(serviceMigration.statements.replace(/^/, "create schema if not exists service;"))
        await database.execute(
          `create table service.migration (name text primary key, version integer not null, digest text not null, applied_at timestamptz not null default now())`
        )
        for (const { digest, name, statements, version } of authMigrations({})) {
          await database.execute(statements)
          await database.execute(
            `insert into service.migration (name, version, digest) values ('${name}', ${version}, '${digest}')`
          )
        }
        const { digest, version } = serviceMigration
        await database.execute(
          `insert into service.migration (name, version, digest) values ('service', ${version}, '${digest}')`
        )
        await expect(database.execute("update auth.\"user\" set name = 'Anna' where id = 'u1'")).rejects.toThrow(
          "has no field"
        )

        const created = await project.quick("users", "create", "a@example.org", "--generate-password")
        expect(created).toMatchObject({ code: 1, stderr: expect.stringContaining("service migration --apply") })
        expect((await project.quick("migration", "--apply")).stderr).toContain("service doctor prints the SQL")
        const { stderr, stdout } = await project.quick("doctor", "--json")
        expect(stderr).toBe("")
        const findings = findingsOf(stdout)
        const undo = findings.find(({ check }) => check === "taken-over")
        expect(undo?.level).toBe("error")
        await database.execute(undo?.sql.join("\n") ?? "")
        await database.execute(
          "update auth.\"user\" set name = 'Anna' where id = 'u1'; delete from auth.\"user\" where id = 'u2'"
        )
        const own = (rows: ReadonlyArray<ReadonlyArray<string | null>>) =>
          rows.filter(([text]) => !text?.includes("service."))
        expect(own(await contents(database))).toEqual(before)
        expect((await project.quick("migration", "--apply")).stderr).toContain("schemas: { auth: \"admin_auth\" }")
      } finally {
        await project.dispose()
        await database.drop()
      }
    })
  }
)

describe("Supabase", () => {
  const owner = `supabase_auth_${process.pid}`
  const role = `supabase_user_${process.pid}`
  let database: TestDatabase
  beforeAll(async () => {
    database = await openDatabase(table)
    await database.execute(
      `create role ${owner}; create role ${role} login; alter database ${database.name} owner to ${role}; ${
        supabase(owner)
      }
       grant usage on schema auth to ${role}; grant select on all tables in schema auth to ${role}; grant all on notes to ${role};`
    )
  })
  afterAll(async () => {
    await database.execute(`reassign owned by ${owner} to current_user; reassign owned by ${role} to current_user;
      drop owned by ${owner}; drop owned by ${role}; drop role ${owner}; drop role ${role}`)
    await database.drop()
  })

  it("keeps its schema auth: the refusal names the way out, and no grant on its tables is advised", async () => {
    await using project = notesProject({ DATABASE_URL: database.url.replace("://postgres@", `://${role}@`) })
    const before = await contents(database)
    const { code, stderr } = await project.quick("migration", "--apply")
    expect(code).toBe(1)
    expect(stderr).toContain("The database has the schema auth already")
    expect(stderr).toContain("schemas: { auth: \"admin_auth\" }")
    expect(stderr).not.toContain("permission denied")
    expect(await contents(database)).toEqual(before)
    const findings = findingsOf((await project.quick("doctor", "--json")).stdout)
    expect(findings.flatMap(({ message, sql }) => [message, ...sql]).join("\n")).not.toMatch(
      /grant .*schema auth|may not use auth/
    )
    expect(findings.some(({ message }) => message.includes("the schema auth already"))).toBe(true)
  })
})

describe("other names for the schemas of the service", () => {
  it("let every command work beside schemas of somebody else, which stay as they were", async () => {
    const others = `${betterAuth}${itsOthers}
create schema service; create table service.migration (id integer primary key);
create schema jobs; create table jobs.migrations (id integer primary key); create function jobs._level() returns integer language sql as 'select 99';
create schema webhooks; create table webhooks.subscriptions (id integer primary key);`
    const database = await openDatabase(`${table}${others}`)
    const project = notesProject({ DATABASE_URL: database.url })
    project.write(
      "admin.config.ts",
      config(
        `schemas: { auth: "admin_auth", service: "admin", jobs: "admin_jobs", webhooks: "admin_hooks" }, extends: [webhooks()],
  jobs: [defineJob({ name: "nothing", run: async () => {} })]`
      ).replace("{ defineConfig }", "{ defineConfig, defineJob, webhooks }")
    )
    project.write("db/migrations/001_more.sql", "create table admin_more (id integer primary key);")
    try {
      const theirs = async () => (await contents(database)).filter(([text]) => !text?.includes("admin"))
      const before = await theirs()
      expect(await project.quick("migration", "--apply")).toMatchObject({ code: 0, stderr: "" })
      expect((await project.quick("migration", "--apply")).stdout).toContain("Nothing to apply")
      const created = await project.quick("users", "create", "a@example.org", "--generate-password")
      expect(created).toMatchObject({ code: 0, stderr: "" })
      expect(await database.rows("select email from admin_auth.\"user\"")).toEqual([["a@example.org"]])
      expect((await project.quick("jobs", "run", "nothing")).stdout).toContain("Enqueued")
      const { stdout } = await project.quick("jobs", "list", "--json")
      expect(JSON.parse(stdout)).toMatchObject([{ name: "nothing", waiting: 1 }])
      const findings = findingsOf((await project.quick("doctor", "--json")).stdout)
      expect(findings.filter(({ level }) => level === "error")).toEqual([])
      expect(await theirs()).toEqual(before)
    } finally {
      await project.dispose()
      await database.drop()
    }
  })
})
