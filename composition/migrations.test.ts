import { describe, expect, it, vi } from "vitest"
import { openDatabase } from "../test/support/postgres.ts"
import { openPool } from "./database.ts"
import {
  applyFiles,
  applyMigrations,
  authMigrations,
  findMissing,
  type Migration,
  migrationScript,
  missingMigrations,
  type Query,
  serviceMigration
} from "./migrations.ts"
import { StartupError } from "./startup-error.ts"

const secondFactors = { auth: { twoFactor: true } }
const everything = { auth: { twoFactor: true, passkeys: { rpId: "example.org" } } }

const named = ({ digest, name, version }: Migration) => `${name} ${version} ${digest}`

/** A database that has these migrations. */
const having = (...applied: ReadonlyArray<Pick<Migration, "name" | "version" | "digest">>): Query => (sql) =>
  Promise.resolve(
    sql.includes("tokenEpoch")
      ? []
      : sql.includes("pg_catalog")
      ? [{ schema: true, standing: true, ours: true }]
      : applied
  )

describe("the service's own tables", () => {
  // A database that has a version is not asked again: what a version means must never change. Raise the version with the text.
  it("have one text for each version", () => {
    expect([serviceMigration, ...authMigrations(everything)].map(named)).toEqual([
      "service 4 e18a6b3c90d5afd3",
      "auth 8 2734aa517de8f896",
      "second_factor 2 e13d83ded88cf6bc",
      "passkey 2 bb4374adeddfb383"
    ])
  })

  it("hold second factors only where they are on, as a migration of their own", async () => {
    expect(
      [{}, { auth: null }, { auth: {} }, { auth: { twoFactor: false } }].map((config) =>
        authMigrations(config).map(({ name }) => name)
      )
    ).toEqual(Array.from({ length: 4 }, () => ["auth"]))
    const [auth, factors] = authMigrations(secondFactors)
    if (auth === undefined || factors === undefined) throw new Error("there are two")
    // On: only the new one is missing. Off again: nothing is.
    expect(await missingMigrations(having(auth), authMigrations(secondFactors))).toEqual([factors])
    expect(await missingMigrations(having(auth, factors), authMigrations(secondFactors))).toEqual([])
    expect(await missingMigrations(having(auth, factors), authMigrations({}))).toEqual([])
  })

  it("hold passkeys only where they are on", () => {
    const names = (passkeys: boolean | object) => authMigrations({ auth: { passkeys } }).map(({ name }) => name)
    expect([true, { rpId: "example.org" }].map(names)).toEqual(Array.from({ length: 2 }, () => ["auth", "passkey"]))
    expect(names(false)).toEqual(["auth"])
  })

  it("are missing when older, or of another text, and not when newer", async () => {
    const [auth] = authMigrations({})
    if (auth === undefined) throw new Error("there is one")
    const missing = (change: Partial<Migration>) => missingMigrations(having({ ...auth, ...change }), [auth])
    expect(await missing({ version: auth.version - 1 })).toEqual([auth])
    expect(await missing({ digest: "0" })).toEqual([auth])
    expect(await missing({ version: auth.version + 1, digest: "0" })).toEqual([])
    expect(await missingMigrations(() => Promise.resolve([{ schema: false, standing: false, ours: false }]), [auth]))
      .toEqual([auth])
  })
})

describe("two processes at once", () => {
  it.each(["read committed", "repeatable read", "serializable"])(
    "apply migrations once, whatever transactions see by default: %s",
    async (level) => {
      const database = await openDatabase()
      await database.execute(`alter database ${database.name} set default_transaction_isolation = '${level}'`)
      const pools = [1, 1, 1].map((connections) => openPool(database.url, connections))
      const [holder, ...processes] = pools
      /** Both come while a third one is at it. */
      const together = async <A>(work: (pool: typeof pools[number]) => Promise<A>): Promise<readonly A[]> => {
        const client = await holder!.connect()
        try {
          await client.query("begin; select pg_advisory_xact_lock(8173, 2)")
          const both = Promise.all(processes.map(work))
          both.catch(() => {})
          const waiting = () =>
            database.rows(
              "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            )
          await vi.waitFor(async () => expect(await waiting()).toHaveLength(2), { timeout: 60_000 })
          await client.query("commit")
          return await both
        } finally {
          client.release(true)
        }
      }
      try {
        await together((pool) => applyMigrations(pool, [serviceMigration]))
        const files = [{ name: "1.sql", text: "create table own (id integer); insert into own values (1)" }]
        const applied = (await together((pool) => applyFiles(pool, files))).map((done) => done.applied)
        expect(applied.toSorted((a, b) => a.length - b.length)).toEqual([[], ["1.sql"]])
        expect(await database.rows("select id from own")).toEqual([["1"]])
      } finally {
        await Promise.all(pools.map((pool) => pool.end()))
        await database.drop()
      }
    }
  )
})

describe("a file of the project's own", () => {
  it("that fails leaves nothing behind, also not on its connection, and is named with the line", async () => {
    const database = await openDatabase()
    const pool = openPool(database.url, 1)
    const first = { name: "1.sql", text: "create table first ();" }
    const second = (text: string) => [first, { name: "2.sql", text }]
    try {
      await applyMigrations(pool, [serviceMigration])
      await expect(applyFiles(pool, second("create table second ();\nselect from nowhere;"))).rejects.toThrow(
        "2.sql:2: relation \"nowhere\" does not exist"
      )
      expect(await database.rows("select to_regclass('first'), to_regclass('second')")).toEqual([["first", null]])
      expect(await applyFiles(pool, second("create table second ();"))).toEqual({ applied: ["2.sql"], changed: [] })
      expect(await applyFiles(pool, second("create table second (id integer);"))).toEqual({
        applied: [],
        changed: ["2.sql"]
      })
    } finally {
      await pool.end()
      await database.drop()
    }
  })
})

describe("an older program", () => {
  it("works with tables that a later version has added to, and refuses those that it took something away from", async () => {
    const [auth] = authMigrations({})
    if (auth === undefined) throw new Error("there is one")
    const next = { ...auth, version: auth.version + 1, digest: "0" }
    const least = (version: number) => ({ name: "least:auth", version, digest: "" }) as never
    expect(await missingMigrations(having(next), [auth])).toEqual([])
    expect(await missingMigrations(having(next, least(auth.version)), [auth])).toEqual([])
    await expect(missingMigrations(having(next, least(next.version)), [auth])).rejects.toThrow(
      "The tables of the service (auth) are of a later version of it, which this one does not work with."
    )
  })

  it("is told by the record what it does not work with any more", async () => {
    const database = await openDatabase()
    const pool = openPool(database.url, 1)
    try {
      await applyMigrations(pool, [{ ...serviceMigration, version: 9, least: 9, statements: "select 1;" }])
      expect(await database.rows("select name, version::text from service.migration order by name"))
        .toEqual([["least:service", "9"], ["service", "9"]])
      await expect(findMissing(pool, [serviceMigration])).rejects.toThrow(StartupError)
    } finally {
      await pool.end()
      await database.drop()
    }
  })

  const made = (version: number): Migration => ({
    name: "service",
    version,
    least: null,
    digest: String(version),
    question: null,
    recordedAs: "service",
    schemas: serviceMigration.schemas,
    statements: `create or replace function public.age() returns integer language sql as 'select ${version}';`
  })

  it("leaves tables as they are that a newer one has made meanwhile, and goes on with the others", async () => {
    const database = await openDatabase()
    const pool = openPool(database.url, 1)
    try {
      expect(await applyMigrations(pool, [made(2)])).toEqual([made(2)])
      // It found nothing when it looked, before the newer one was done.
      const other: Migration = {
        ...made(1),
        name: "auth",
        recordedAs: "auth",
        statements: "create table public.other ();"
      }
      expect(await applyMigrations(pool, [made(1), other])).toEqual([other])
      expect(await database.rows("select public.age()")).toEqual([["2"]])
      expect(await database.rows("select name, version, digest from service.migration order by name")).toEqual([
        ["auth", "1", "1"],
        ["service", "2", "2"]
      ])
      expect(await database.rows("select to_regclass('public.other')")).toEqual([["other"]])
    } finally {
      await pool.end()
      await database.drop()
    }
  })

  it("does as little where its file is applied by hand, again and before the newer one's", async () => {
    const database = await openDatabase()
    try {
      for (const version of [1, 1, 2, 1, 2, 1]) await database.execute(migrationScript(made(version)))
      expect(await database.rows("select public.age()")).toEqual([["2"]])
      expect(await database.rows("select version, digest from service.migration")).toEqual([["2", "2"]])
    } finally {
      await database.drop()
    }
  })
})
