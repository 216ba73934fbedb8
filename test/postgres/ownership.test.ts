// Migrations beside somebody else's schemas, tables, functions and triggers: refused by name, and nothing is changed.
import { readFileSync } from "node:fs"
import { Client } from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { identifier } from "../../adapters/postgres/sql.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { openPool } from "../../composition/database.ts"
import {
  applyMigrations,
  authMigrations,
  findMissing,
  followingMigrations,
  jobsMigrations,
  type Migration,
  migrationScript,
  serviceMigration
} from "../../composition/migrations.ts"
import { type MadeObject, objectsOf } from "../../composition/ownership.ts"
import shop from "../../examples/shop/admin.config.ts"
import { deep } from "../support/depth.ts"
import { openDatabase, openPrepared, type TestDatabase } from "../support/postgres.ts"

const schema = readFileSync(new URL("../../examples/shop/schema.sql", import.meta.url), "utf8")
const compiled = compileOrThrow(shop)
const first = [
  serviceMigration,
  ...jobsMigrations(compiled),
  ...authMigrations({ auth: { twoFactor: true, passkeys: true } })
]
const everything: readonly Migration[] = [...first, ...followingMigrations(compiled)]

/** Everything that a database holds outside of the system's own, each with the transaction that wrote it: a change that is taken back shows, too. */
const contents = (database: TestDatabase) =>
  database.rows(`
    with own as (select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')
    select 'schema ' || n::text || n.xmin from pg_namespace n where oid in (select oid from own)
    union all select 'relation ' || c.oid || c.relname || c.xmin from pg_class c where relnamespace in (select oid from own)
    union all select 'column ' || a::text || a.xmin from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace in (select oid from own)
    union all select 'function ' || p::text || p.xmin from pg_proc p where pronamespace in (select oid from own)
    union all select 'trigger ' || t::text || t.xmin from pg_trigger t
    union all select 'constraint ' || c::text || c.xmin from pg_constraint c
    union all select 'default ' || d::text || d.xmin from pg_attrdef d
    order by 1`)

const withPool = async <A>(
  database: TestDatabase,
  work: (pool: ReturnType<typeof openPool>) => Promise<A>
): Promise<A> => {
  const pool = openPool(database.url, 1)
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

/** Statements that put something else under the name of an object. */
const taken = ({ kind, name, schema: place, table }: MadeObject): string => {
  const within = place === null ? "" : `${identifier(place)}.`
  const make = place === null ? "" : `create schema if not exists ${identifier(place)};`
  switch (kind) {
    case "schema":
      return `create schema ${identifier(name)}; create table ${identifier(name)}.theirs (id integer); insert into ${
        identifier(name)
      }.theirs values (1);`
    case "relation":
      return `${make} create table ${within}${
        identifier(name)
      } (id integer primary key, theirs text); insert into ${within}${identifier(name)} values (1, 'a');`
    case "function":
      return `${make} create function ${within}${
        identifier(name)
      }() returns trigger language plpgsql as 'begin return new; end';`
    case "trigger":
      return `${make} create table if not exists ${within}${identifier(table ?? "")} (id integer);
        create function public.theirs() returns trigger language plpgsql as 'begin return new; end';
        create trigger ${identifier(name)} before insert on ${within}${
        identifier(table ?? "")
      } for each row execute function public.theirs();`
  }
}

describe("the objects of migrations", () => {
  let before: ReadonlyArray<ReadonlyArray<string | null>>
  let database: TestDatabase
  /** Those that people give a name: what PostgreSQL makes and names for a key, an identity or a large value follows. */
  const named = () =>
    database.rows(`
      with own as (select oid, nspname from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema', 'jobs'))
      select 'schema', null, nspname, null from pg_namespace where nspname = 'jobs' or oid in (select oid from own)
      union all select 'relation', n.nspname, c.relname, null from pg_class c join own n on n.oid = c.relnamespace
        where c.relkind in ('r', 'v', 'i', 'S') and not exists (select from pg_constraint k where k.conindid = c.oid and k.contype in ('p', 'u'))
          and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'i')
      union all select 'function', n.nspname, p.proname, null from pg_proc p join own n on n.oid = p.pronamespace
      union all select 'trigger', n.nspname, t.tgname, c.relname from pg_trigger t join pg_class c on c.oid = t.tgrelid
        join own n on n.oid = c.relnamespace where not t.tgisinternal`)

  beforeAll(async () => {
    database = await openDatabase(schema)
    before = await named()
    await withPool(database, async (pool) => {
      expect(await applyMigrations(pool, await findMissing(pool, everything))).toHaveLength(everything.length)
    })
  })
  afterAll(() => database.drop())

  it("are all that a database has more afterwards", async () => {
    const known = new Set(before.map((row) => JSON.stringify(row)))
    const made = (await named()).filter((row) => !known.has(JSON.stringify(row))).map((row) => row.join(" ")).toSorted()
    const declared = everything.filter(({ name }) => name !== "jobs").flatMap(({ statements }) => objectsOf(statements))
    const record = ["schema  service ", "relation service migration ", "schema  jobs "]
    const texts = declared.map(({ kind, name, schema: place, table }) =>
      `${kind} ${kind === "schema" ? "" : place ?? "public"} ${name} ${table ?? ""}`
    )
    expect(made).toEqual([...new Set([...texts, ...record])].toSorted())
    expect(objectsOf(everything.find(({ name }) => name === "jobs")?.statements ?? "")).toContainEqual(
      { kind: "schema", schema: "jobs", name: "jobs", table: null }
    )
  })

  it("are ours from then on", () =>
    withPool(database, async (pool) => {
      expect(await findMissing(pool, everything)).toEqual([])
      expect(await applyMigrations(pool, everything)).toEqual(everything)
    }))
})

describe("an object of somebody else under a name of ours", () => {
  const openBase = () =>
    openPrepared("ownership", async (url) => {
      const pool = openPool(url, 1)
      const client = new Client(url)
      await client.connect()
      await client.query(schema)
      await client.end()
      await applyMigrations(pool, first)
      await pool.end()
    })
  const ofBase = new Set(first.map(({ name }) => name))
  const objects = everything.flatMap((migration) =>
    objectsOf(migration.statements)
      // Those within the schema of jobs come with the schema.
      .filter((made) => (migration.name !== "jobs" || made.kind === "schema") && made.name !== "service")
      .map((made) => ({ migration, made, title: `${made.kind} ${made.schema}.${made.name}` }))
  )

  // Each kind of each migration; all of them in a deep run.
  const chosen = deep ? objects : [
    ...new Map(
      objects.map((one) => [`${one.migration.name.replace(/^(events|history)_.*/, "$1")} ${one.made.kind}`, one])
    ).values()
  ]

  it.each(chosen)("is refused by name and left as it is: $title", async ({ made, migration }) => {
    // What stands on the first tables is tried beside these.
    const database = await (ofBase.has(migration.name) ? openDatabase(schema) : openBase())
    try {
      await withPool(database, async (pool) => {
        await database.execute(taken(made))
        const found = await contents(database)
        const name = made.kind === "schema" ? `the schema ${made.name}` : made.name
        await expect(applyMigrations(pool, [migration])).rejects.toThrow(name)
        const client = new Client(database.url)
        await client.connect()
        try {
          await expect(client.query(migrationScript(migration))).rejects.toMatchObject({ code: "42710" })
        } finally {
          await client.end()
        }
        expect(await contents(database)).toEqual(found)
      })
    } finally {
      await database.drop()
    }
  })

  it.each([
    ["the schema service", "create schema service"],
    ["the table service.migration", "create schema service; create table service.migration (id integer, name text)"],
    [
      "the table service.migration",
      "create schema service; create view service.migration as select 'a' as name, 1 as version, '' as digest, now() as applied_at"
    ]
  ])("is refused where the record of migrations would be: %s", async (name, sql) => {
    const database = await openDatabase()
    try {
      await database.execute(sql)
      const found = await contents(database)
      await withPool(database, async (pool) => {
        await expect(applyMigrations(pool, await findMissing(pool, everything))).rejects.toThrow(name)
        await expect(database.execute(migrationScript(serviceMigration))).rejects.toMatchObject({ code: "42710" })
      })
      expect(await contents(database)).toEqual(found)
    } finally {
      await database.drop()
    }
  })

  it("is not written to either where the record claims it: an earlier version has taken it over", async () => {
    const database = await openDatabase(
      "create schema auth; create table auth.\"user\" (id text primary key, name text)"
    )
    try {
      await withPool(database, async (pool) => {
        await applyMigrations(pool, [serviceMigration])
        await database.execute("insert into service.migration (name, version, digest) values ('auth', 6, '')")
        await expect(applyMigrations(pool, authMigrations({ auth: { twoFactor: true } }))).rejects.toThrow(
          "the table auth.\"user\""
        )
      })
    } finally {
      await database.drop()
    }
  })
})

it("nothing is applied of several migrations when the last one fails", async () => {
  const database = await openDatabase()
  try {
    const found = await contents(database)
    await withPool(
      database,
      (pool) =>
        expect(
          applyMigrations(pool, [...first, {
            ...serviceMigration,
            name: "forms",
            recordedAs: "forms",
            statements: "select nope"
          }])
        )
          .rejects
          .toThrow("nope")
    )
    expect(await contents(database)).toEqual(found)
  } finally {
    await database.drop()
  }
})

it("another name of a schema is another set of tables: what stands under it is not taken over either", async () => {
  const database = await openDatabase("create schema admin_auth; create table admin_auth.\"user\" (id integer)")
  try {
    await withPool(database, async (pool) => {
      await applyMigrations(pool, authMigrations({}))
      const found = await contents(database)
      const renamed = authMigrations({ schemas: { auth: "admin_auth" } })
      await expect(applyMigrations(pool, await findMissing(pool, renamed))).rejects.toThrow("the schema admin_auth")
      // The name that it proposes is neither that one nor one that the service has for another schema.
      const both = authMigrations({ schemas: { auth: "admin_auth", service: "admin_auth_2" } })
      await expect(applyMigrations(pool, both)).rejects.toThrow("schemas: { auth: \"admin_auth_3\" }")
      expect(await contents(database)).toEqual(found)
      const free = authMigrations({ schemas: { auth: "other_auth" } })
      expect(await applyMigrations(pool, await findMissing(pool, free))).toEqual(free)
      expect(await findMissing(pool, free)).toEqual([])
      expect(await findMissing(pool, authMigrations({}))).toEqual([])
    })
  } finally {
    await database.drop()
  }
})
