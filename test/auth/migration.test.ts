import { passkey } from "@better-auth/passkey"
import { getMigrations } from "better-auth/db/migration"
import { admin, jwt, twoFactor } from "better-auth/plugins"
import { PostgresDialect } from "kysely"
import { Pool } from "pg"
import { describe, expect, it } from "vitest"
import { createAuth } from "../../adapters/auth/auth.ts"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { createUser, issueToken } from "../../adapters/auth/users.ts"
import { openDatabase } from "../support/postgres.ts"
import { authUrl, openStore, password, secret } from "./store.ts"

describe("the auth migration", () => {
  it.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true]
  ])(
    "makes exactly the tables that better-auth wants (second factors: %j, passkeys: %j)",
    async (factors, passkeys) => {
      await using store = await openStore(authMigrationSql({ schema: "auth", twoFactor: factors, passkeys }))
      const migrations = await getMigrations({
        database: { dialect: new PostgresDialect({ pool: store.pool }), type: "postgres", schemaName: "auth" },
        plugins: [admin(), jwt(), ...(factors ? [twoFactor()] : []), ...(passkeys ? [passkey()] : [])],
        secret,
        logger: { disabled: true }
      })
      const { schemaProblems, toBeAdded, toBeAddedIndexes, toBeCreated, unsafeChanges } = migrations
      expect({ schemaProblems, toBeAdded, toBeAddedIndexes, toBeCreated, unsafeChanges }).toEqual({
        schemaProblems: [],
        toBeAdded: [],
        toBeAddedIndexes: [],
        toBeCreated: [],
        unsafeChanges: []
      })
    }
  )

  it("may be applied again, keeping everything, and by two processes at once", async () => {
    await using store = await openStore("")
    const auth = store.instance()
    const sql = authMigrationSql(auth)
    await Promise.all([store.database.execute(sql), store.database.execute(sql), store.database.execute(sql)])
    await createUser(auth, { email: "ann@example.org", password })
    await store.database.execute(sql)
    expect(await store.database.rows(`select email, role from auth."user"`)).toEqual([["ann@example.org", "admin"]])
  })

  it("has no table for second factors unless there are any, and gets it when they are turned on later", async () => {
    await using store = await openStore()
    const tables = async () => (await store.database.rows(`select to_regclass('auth."twoFactor"') is not null`))[0]?.[0]
    expect(await tables()).toBe("f")
    const auth = store.instance({ twoFactor: true })
    await createUser(auth, { email: "ann@example.org", password })
    await store.database.execute(authMigrationSql(auth))
    await store.database.execute(authMigrationSql(auth))
    expect(await tables()).toBe("t")
    expect(await store.database.rows(`select "twoFactorEnabled" from auth."user"`)).toEqual([["f"]])
  })

  it("leaves one second factor of two that a user got at once: the one that was set up", async () => {
    await using store = await openStore()
    const auth = store.instance({ twoFactor: true })
    const sql = authMigrationSql(auth)
    await store.database.execute(sql)
    const { id } = await createUser(auth, { email: "ann@example.org", password })
    await store.database.execute(`drop index auth."twoFactor_userId_key"`)
    await store.database.execute(
      `insert into auth."twoFactor" ("id", "secret", "backupCodes", "userId", "verified") values`
        + ` ('3', 's', 'b', '${id}', false), ('1', 's', 'b', '${id}', true), ('2', 's', 'b', '${id}', false)`
    )
    await store.database.execute(sql)
    expect(await store.database.rows(`select "id" from auth."twoFactor"`)).toEqual([["1"]])
  })

  it("has no table for passkeys unless there are any, and gets it when they are turned on later", async () => {
    await using store = await openStore()
    const tables = async () => (await store.database.rows(`select to_regclass('auth."passkey"') is not null`))[0]?.[0]
    expect(await tables()).toBe("f")
    const sql = authMigrationSql(store.instance({ passkeys: true }))
    await Promise.all([store.database.execute(sql), store.database.execute(sql)])
    await store.database.execute(sql)
    expect(await tables()).toBe("t")
  })

  it("needs no more than a role that owns the database", async () => {
    const database = await openDatabase()
    const role = `owner_${database.name}`
    try {
      await database.execute(`create role ${role} login nosuperuser; alter database ${database.name} owner to ${role}`)
      const pool = new Pool({ connectionString: database.url.replace("//postgres@", `//${role}@`) })
      try {
        const auth = createAuth({ database: pool, secret, url: authUrl })
        await pool.query(authMigrationSql(auth))
        await pool.query(authMigrationSql(auth))
        expect((await createUser(auth, { email: "ann@example.org", password })).role).toBe("admin")
      } finally {
        await pool.end()
      }
    } finally {
      await database.execute(`reassign owned by ${role} to postgres; drop owned by ${role}; drop role ${role}`)
      await database.drop()
    }
  })

  it.each(["auth", "My \"own\" schema", undefined])("works with a dialect and the schema %j", async (schemaName) => {
    await using store = await openStore("")
    const auth = createAuth({
      database: {
        dialect: new PostgresDialect({ pool: store.pool }),
        type: "postgres",
        ...(schemaName === undefined ? {} : { schemaName })
      },
      secret,
      url: authUrl
    })
    await store.pool.query(authMigrationSql(auth))
    await createUser(auth, { email: "ann@example.org", password })
    const { token } = await issueToken(auth, { email: "ann@example.org" })
    expect(token.split(".")).toHaveLength(3)
    const [[schema] = []] = await store.database.rows(
      "select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relname = 'jwks'"
    )
    expect(schema).toBe(schemaName ?? "public")
  })
})

describe("options that cannot be right", () => {
  const database = { connect: () => Promise.reject(new Error("never")), end: () => Promise.resolve() }
  it.each([
    [{ secret: "short" }, /AUTH_SECRET/],
    [{ url: "localhost" }, /AUTH_URL/],
    [{ url: "https://admin:hunter2@a.example" }, /AUTH_URL(?!.*hunter2)/],
    [{ url: "https://a.example/?x=1" }, /AUTH_URL/],
    [{ trustedOrigins: ["*"] }, /trustedOrigins/],
    [{ trustedOrigins: ["https://*"] }, /trustedOrigins/],
    [{ trustedOrigins: ["https://app.example.org/"] }, /trustedOrigins/],
    [{ trustedOrigins: ["app.example.org"] }, /trustedOrigins/],
    [{ signInPerMinute: 0 }, /signInPerMinute/],
    [{ basePath: "api/auth" }, /path/],
    [{ oidc: [{ id: "corp", issuer: "http://id.example.org", clientId: "x" }] }, /https/],
    [{
      roles: ["a", "b"],
      oidc: [{
        id: "corp",
        issuer: "https://id.example.org",
        clientId: "x",
        domains: ["example.org"],
        createUsers: true
      }]
    }, /default role/],
    [{ passkeys: { rpId: "example.org" } }, /not below/],
    [{ url: "http://127.0.0.1:5173", passkeys: true }, /localhost/],
    [{ roles: ["Sales"] }, /role/],
    [{ defaultRole: "boss" }, /role/]
  ])("%j are refused at once", (wrong, message) => {
    expect(() => createAuth({ database, secret, url: authUrl, ...wrong })).toThrow(message)
  })
})

describe("somebody else's tables", () => {
  it.each([
    ["users", "create table auth.\"user\" (id text primary key, name text)"],
    ["sessions only", "create table auth.session (id text primary key)"]
  ])("are not taken over: %s", async (_, table) => {
    await using store = await openStore(`create schema auth; ${table}`)
    const contents = () =>
      store.database.rows(
        "select oid, xmin::text from pg_class union all select oid, xmin::text from pg_proc order by 1, 2"
      )
    const before = await contents()
    await expect(store.database.execute(authMigrationSql({ schema: "auth" }))).rejects.toMatchObject({ code: "42710" })
    expect(await contents()).toEqual(before)
  })
})
