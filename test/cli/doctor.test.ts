import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Finding } from "../../composition/doctor/finding.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { secret } from "./notes.ts"
import { makeProject, type Project } from "./support.ts"

const config = `import { defineConfig, defineResource, defineRoles, f } from "resource-admin"
const orders = defineResource("orders", {
  primaryKey: "id", tenant: "tenant_id", owner: "owner_id", softDelete: "deleted_at", version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    owner_id: f.text().filterable(),
    number: f.text().max(40).filterable(),
    state: f.enum(["new", "done"]).filterable(),
    total: f.decimal({ precision: 12, scale: 2 }).filterable().sortable(),
    note: f.text().optional().searched(),
    deleted_at: f.timestamp().optional().readOnly().filterable()
  }
})
export default defineConfig({
  resources: [orders], auth: { tenant: "t1" },
  roles: defineRoles({ admin: ["*"], sales: ["orders.read.own"] })
})
`

const schema = `
create table orders (
  id bigserial primary key, tenant_id text not null, owner_id text not null, number varchar(20) not null, state text not null
    check (state in ('new', 'done', 'lost')), total numeric(12, 2) not null, note text, required int not null,
  updated_at timestamptz not null default now(), deleted_at timestamptz
);
create unique index orders_number on orders (number);
insert into orders (tenant_id, owner_id, number, state, total, required)
  select 't' || i % 3, 'u' || i % 50, i::text, 'new', i, 1 from generate_series(1, 12000) i;
analyze orders;
drop extension pg_trgm;
`

const odd = `import { defineConfig, defineResource, defineRoles, f } from "resource-admin"
const fields = { id: f.integer().readOnly().dbDefault(), title: f.text().optional() }
const closed = { create: false, update: false, delete: false }
export default defineConfig({
  resources: [
    defineResource("parts", { primaryKey: "id", fields }),
    defineResource("part_titles", { primaryKey: "id", fields }),
    defineResource("part_count", { primaryKey: "id", softDelete: "gone", fields }),
    defineResource("part_total", { table: "part_count", primaryKey: "id", access: closed, fields }),
    defineResource("part_sums", { primaryKey: "id", fields }),
    defineResource("part_lines", { primaryKey: "id", access: closed, fields: { ...fields, title: f.text() } }),
    defineResource("part_waits", { primaryKey: "id", access: closed, fields: { ...fields, title: f.text() } }),
    defineResource("part_later", { primaryKey: "id", access: closed, fields }),
    defineResource("part_houses", { primaryKey: "id", tenant: "house", access: closed, fields })
  ],
  auth: { tenant: "t1" }, roles: defineRoles({ admin: ["*"] })
})
`

const oddSchema = `
create sequence part_numbers;
create table parts (id int primary key default nextval('part_numbers'), title text);
create view part_titles as select id, title from parts;
create view part_count as select count(*)::int as id, ''::text as title, null::timestamptz as gone from parts;
create materialized view part_sums as select 1 as id, ''::text as title;
create view part_lines as select i / 2 as id, nullif(i, 3)::text as title from generate_series(2, 4) i;
create view part_waits as select i as id, pg_sleep(1)::text as title from generate_series(1, 60) i;
create materialized view part_later as select id, title from parts with no data;
create view part_houses as select 1 as id, null::text as title, 't' || i as house from generate_series(1, 2) i;
`

describe("doctor", () => {
  let database: TestDatabase
  let project: Project
  const role = `doctor_role_${process.pid}`
  const examine = async (): Promise<{ readonly code: number | null; readonly findings: readonly Finding[] }> => {
    const ran = await project.quick("doctor", "--json")
    return { code: ran.code, findings: (JSON.parse(ran.stdout) as { findings: readonly Finding[] }).findings }
  }

  beforeAll(async () => {
    database = await openDatabase()
    await database.execute(schema)
    await database.execute(`create role ${role} login; grant select on orders to ${role};`)
    project = makeProject({
      DATABASE_URL: database.url.replace("://postgres@", `://${role}@`),
      AUTH_SECRET: secret
    })
    project.write("admin.config.ts", config)
  })
  afterAll(async () => {
    await project.dispose()
    await database.execute(`drop owned by ${role}; drop role ${role};`)
    await database.drop()
  })

  it("finds what is wrong, with the statements that mend it", async () => {
    const { code, findings } = await examine()
    expect(code).toBe(1)
    const found = (check: string, part: string): Finding | undefined =>
      findings.find((finding) => finding.check === check && finding.message.includes(part))
    expect(found("required", "\"required\"")).toMatchObject({ level: "error", resource: "orders" })
    expect(found("rights", "may not insert, update")).toMatchObject({
      level: "error",
      sql: [`grant insert, update on orders to ${role};`]
    })
    expect(found("rights", "orders_id_seq")).toMatchObject({
      level: "error",
      sql: [`grant usage on sequence orders_id_seq to "${role}";`]
    })
    expect(found("migration", "auth")).toMatchObject({ level: "error" })
    expect(found("bounds", "20 characters")).toMatchObject({ level: "warning", field: "number" })
    expect(found("enum", "\"lost\"")).toMatchObject({ level: "warning", field: "state" })
    expect(found("extension", "pg_trgm")).toMatchObject({ level: "warning" })
    expect(found("tenant", "orders_number")).toMatchObject({
      level: "warning",
      sql: ["create unique index concurrently on orders (tenant_id, number);"]
    })
    expect(found("index", "one tenant")).toMatchObject({
      level: "warning",
      sql: ["create index concurrently on orders (tenant_id, id) where deleted_at is null;"]
    })
    expect(found("index", "Row filters")).toMatchObject({ level: "warning", field: "owner_id" })
    expect(found("index", "sorted")).toMatchObject({
      level: "warning",
      field: "total",
      sql: ["create index concurrently on orders (tenant_id, total, id) where deleted_at is null;"]
    })
    // Without deleted rows it would find nothing that a filter by this field asks for.
    const deleted = findings.find(({ field }) => field === "deleted_at")
    expect(deleted?.sql).toEqual(["create index concurrently on orders (tenant_id, deleted_at, id);"])
  })

  it("finds nothing more once its own statements were run", async () => {
    const { findings } = await examine()
    for (const statement of findings.flatMap(({ sql }) => sql)) {
      if (statement.includes("…")) continue
      await database.execute(statement)
    }
    await database.execute("alter table orders alter column required set default 0; drop index orders_number;")
    const owner = { ...project.env, DATABASE_URL: database.url }
    const migrator = makeProject(owner)
    migrator.write("admin.config.ts", config)
    expect((await migrator.quick("migration", "--apply")).code).toBe(0)
    await migrator.dispose()

    const second = await examine()
    const own = second.findings.filter(({ check }) => check === "rights")
    expect(own.map(({ message }) => /(service|auth)\./.exec(message)?.[1])).toEqual(["service", "auth"])
    const refused = await project.quick("serve", "--port", "0")
    expect(refused.stderr).toContain("may not use the tables of the service")
    for (const statement of second.findings.flatMap(({ sql }) => sql)) await database.execute(statement)

    const { code, findings: left } = await examine()
    expect(left.filter(({ level }) => level === "error")).toEqual([])
    expect(left.filter(({ level }) => level === "warning").map(({ check }) => check).toSorted()).toEqual([
      "accounts",
      "bounds",
      "enum"
    ])
    expect(code).toBe(0)
  })

  it("speaks to people too", async () => {
    const { stdout } = await project.quick("doctor")
    expect(stdout).toContain("warning orders.number: The column holds 20 characters")
    expect(stdout).toMatch(/0 errors, 3 warnings, [0-9]+ notes/)
  })

  it("finds views that take no writes or break their declaration, sequences that no column owns, and misspelt variables", async () => {
    await database.execute(
      `${oddSchema} grant all on parts, part_titles, part_count, part_sums, part_lines, part_waits, part_later, part_houses to ${role};`
    )
    await using other = makeProject({ ...project.env, SERVICE_TRUSTED_PROXY: "1" })
    other.write("admin.config.ts", odd)
    const ran = await other.quick("doctor", "--json")
    const { findings } = JSON.parse(ran.stdout) as { findings: readonly Finding[] }
    const errors = findings.filter(({ level }) => level === "error")
    expect(errors.map(({ check, resource }) => [check, resource])).toEqual([
      ["rights", null],
      ["writes", "part_count"],
      ["writes", "part_sums"],
      ["rows", "part_lines"],
      ["rows", "part_lines"],
      ["rows", "part_later"]
    ])
    expect(errors[5]?.message).toContain("cannot be read: materialized view \"part_later\" has not been populated")
    expect(errors.slice(3, 5).map(({ field, message }) => [field, message.split(":")[0]])).toEqual([
      [null, "Several rows have the same id"],
      ["title", "The view has rows in which the column is null, and the field is not optional"]
    ])
    expect(findings.filter(({ check, level }) => check === "rows" && level === "note")).toMatchObject([
      { resource: "part_waits", message: expect.stringContaining("within 5 s") }
    ])
    expect(errors[0]?.sql).toEqual([`grant usage on sequence part_numbers to "${role}";`])
    expect(errors[1]?.message).toContain("Callers may create, update, delete")
    const misspelt = findings.find(({ check }) => check === "variable")
    expect(misspelt).toMatchObject({ level: "warning", message: "Nothing reads the variable SERVICE_TRUSTED_PROXY." })
    expect(misspelt?.fix).toContain("SERVICE_TRUSTED_PROXIES")
  })
})

describe("a table that another inherits from", () => {
  it("is examined for rows of the same key, and virtual columns get no index that the database refuses", async () => {
    const database = await openDatabase()
    await database.execute(`
      create table animals (id int primary key, name text, twice int generated always as (id * 2) virtual);
      create table dogs (primary key (id)) inherits (animals);
      insert into animals values (1, 'cat'); insert into dogs values (2, 'rex');
    `)
    await using project = makeProject({ DATABASE_URL: database.url, AUTH_SECRET: secret })
    project.write(
      "admin.config.ts",
      `import { defineConfig, defineResource, f } from "resource-admin"
export default defineConfig({
  resources: [defineResource("animals", {
    primaryKey: "id",
    fields: { id: f.integer(), name: f.text().optional(), twice: f.integer().optional().readOnly().dbDefault().filterable().sortable() }
  })]
})
`
    )
    const found = async () => {
      const { findings } = JSON.parse((await project.quick("doctor", "--json")).stdout) as { findings: Finding[] }
      return findings.filter(({ resource }) => resource === "animals")
    }
    const virtual = {
      level: "note",
      check: "index",
      resource: "animals",
      field: "twice",
      message: "Lists can be filtered or sorted by it, and the database makes no index of a virtual generated column.",
      fix: "Make the column stored, or remove filterable() and sortable().",
      sql: []
    }
    expect(await found()).toEqual([virtual])
    await database.execute("insert into dogs values (1, 'max')")
    expect(await found()).toEqual([{
      level: "error",
      check: "rows",
      resource: "animals",
      field: null,
      message: "Several rows have the same id: pages leave rows out.",
      fix:
        "Rows of dogs, which inherits from it, are rows of it, too: give them other keys, or declare a view: create view … as select * from only animals;",
      sql: []
    }, virtual])
    await database.drop()
  })
})

describe("a view with INSTEAD OF triggers", () => {
  it("is found where its rows cannot be locked, as every change would fail", async () => {
    const database = await openDatabase()
    await database.execute(`
      create table parts (id int primary key, title text not null);
      create view whole as select id, title from parts union all select 0, 'none';
      create view paired as select p.id, p.title, q.title as next from parts p left join parts q on q.id = p.id + 1;
      create function keep() returns trigger language plpgsql as 'begin return new; end';
      create trigger keep instead of insert or update or delete on whole for each row execute function keep();
      create trigger keep instead of insert or update or delete on paired for each row execute function keep();
    `)
    await using project = makeProject({ DATABASE_URL: database.url, AUTH_SECRET: secret })
    const fields = "{ id: f.integer(), title: f.text() }"
    project.write(
      "admin.config.ts",
      `import { defineConfig, defineResource, f } from "resource-admin"
export default defineConfig({
  resources: [
    defineResource("whole", { primaryKey: "id", fields: ${fields} }),
    defineResource("paired", { primaryKey: "id", fields: ${fields} }),
    defineResource("shown", { table: "paired", primaryKey: "id", access: { update: false, delete: false }, fields: ${fields} })
  ]
})
`
    )
    const { findings } = JSON.parse((await project.quick("doctor", "--json")).stdout) as { findings: Finding[] }
    expect(findings.filter(({ check }) => check === "writes")).toEqual([{
      level: "error",
      check: "writes",
      resource: "paired",
      field: null,
      message:
        "Callers may update, delete, and rows of paired cannot be locked for that (FOR UPDATE cannot be applied to the nullable side of an outer join): every such request fails.",
      fix:
        "Write access: { update: false, delete: false } or readOnly: true, or write the view so that select … for update works, triggers or not.",
      sql: []
    }])
    await database.drop()
  })
})

describe("a schema that the role may not use", () => {
  it("is a finding, of tables of versions as well, and no end of the examination", async () => {
    const database = await openDatabase("create schema hidden; create table hidden.things (id integer primary key);")
    const role = `hidden_role_${process.pid}`
    await using owner = makeProject({ DATABASE_URL: database.url, AUTH_SECRET: secret })
    await using project = makeProject({
      DATABASE_URL: database.url.replace("://postgres@", `://${role}@`),
      AUTH_SECRET: secret
    })
    for (const each of [owner, project]) {
      each.write(
        "admin.config.ts",
        `import { defineConfig, defineResource, f, history } from "resource-admin"
export default defineConfig({
  resources: [defineResource("things", { table: "hidden.things", primaryKey: "id", fields: { id: f.integer() } })],
  extends: [history({ resources: ["things"] })]
})
`
      )
    }
    expect(await owner.quick("migration", "--apply")).toMatchObject({ code: 0 })
    await database.execute(`
      create role ${role} login; grant usage on schema service, auth to ${role};
      grant select, insert, update, delete on all tables in schema service, auth to ${role};
    `)
    const examine = async () => {
      const { stdout } = await project.quick("doctor", "--json")
      const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] }
      return findings.filter(({ level, resource }) => level === "error" && resource !== null)
    }
    expect(await examine()).toMatchObject([{
      resource: "things",
      message: "There is a table hidden.things, and the database role may not use its schema.",
      fix: "Run: grant usage on schema hidden to <role>;"
    }])
    await database.execute(`grant usage on schema hidden to ${role}; grant all on hidden.things to ${role};`)
    expect(await examine()).toMatchObject([{
      resource: "things_history",
      fix: expect.stringContaining("grant usage on schema history")
    }])
    await database.execute(`drop owned by ${role}; drop role ${role};`)
    await database.drop()
  })
})

describe("a migration that the database refuses", () => {
  it("is told with what the role lacks, and without a stack", async () => {
    const database = await openDatabase()
    const role = `migration_role_${process.pid}`
    await database.execute(`create role ${role} login;`)
    await using project = makeProject({
      DATABASE_URL: database.url.replace("://postgres@", `://${role}@`),
      AUTH_SECRET: secret
    })
    project.write("admin.config.ts", odd)
    const denied = await project.quick("migration", "--apply")
    expect([denied.code, denied.stderr]).toEqual([1, expect.stringMatching(/^The database refuses this to its role: /)])
    expect(denied.stderr).toContain("allowed to create schemas")
    await database.execute(`alter role ${role} set default_transaction_read_only = on; alter role ${role} superuser;`)
    const standby = await project.quick("migration", "--apply")
    expect([standby.code, standby.stderr]).toEqual([1, expect.stringMatching(/^The database takes no writes: /)])
    for (const { stderr } of [denied, standby]) expect(stderr).not.toContain("    at ")
    await database.execute(`drop role ${role};`)
    await database.drop()
  })
})
