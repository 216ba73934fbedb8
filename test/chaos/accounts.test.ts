// The accounts' connections break while somebody holds them: the one at work is told, and the process goes on. A driver's client that nobody
// listens to would end it.
import { Pool } from "pg"
import type { PoolClient } from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createAuth } from "../../adapters/auth/auth.ts"
import { openPool } from "../../composition/database.ts"
import { applyMigrations, authMigration, serviceMigration } from "../../composition/migrations.ts"
import { startServer } from "../../composition/server.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { openDatabase } from "../support/postgres.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { pause, publicUrl, secret, untilTrue } from "./fixture.ts"

let database: TestDatabase

beforeAll(async () => {
  database = await openDatabase()
})
afterAll(() => database?.drop())

/** Errors that nobody caught while `work` ran. */
const uncaught = async (work: () => Promise<void>): Promise<readonly unknown[]> => {
  const errors: unknown[] = []
  const known = process.listeners("uncaughtException")
  process.removeAllListeners("uncaughtException")
  process.on("uncaughtException", (error) => void errors.push(error))
  try {
    await work()
    await pause(50)
  } finally {
    process.removeAllListeners("uncaughtException")
    for (const listener of known) process.on("uncaughtException", listener)
  }
  return errors
}

describe("a connection that ends while it is held", () => {
  it("in the service's own pool", async () => {
    const pool = openPool(database.url, 1, 10_000)
    expect(
      await uncaught(async () => {
        const client = await pool.connect()
        await client.query("begin")
        await database.disconnectAll()
        await pause(50)
        await expect(client.query("select 1")).rejects.toThrow()
        client.release(true)
      })
    ).toEqual([])
    const next = await pool.connect()
    expect((await next.query<{ readonly one: number }>("select 1 as one")).rows).toEqual([{ one: 1 }])
    next.release()
    await pool.end()
  })

  it("in a pool that the host gave", async () => {
    const pool = new Pool({ connectionString: database.url, max: 1 })
    pool.on("error", () => {})
    const { internals } = createAuth({ database: pool, secret, url: publicUrl })
    expect(
      await uncaught(async () => {
        await expect(internals.store.transaction(async ({ query }) => {
          await query("select 1")
          await database.disconnectAll()
          await pause(50)
          return query("select 1")
        })).rejects.toThrow()
      })
    ).toEqual([])
    expect(await internals.store.query("select 1 as one")).toEqual([{ one: 1 }])
    await pool.end()
  })
})

describe("a server that falls silent", () => {
  it("is given up, and the statement fails as one that cannot be reached", async () => {
    const pool = openPool(database.url, 1, 500)
    // The same silence may befall it while it connects to a busy server.
    let client: PoolClient | null = null
    await untilTrue(async () => (client = await pool.connect().catch(() => null)) !== null)
    const held = client as PoolClient | null
    await expect(held?.query("select pg_sleep(60)")).rejects.toMatchObject({ code: "ETIMEDOUT" })
    held?.release(true)
    await pool.end()
  })
})

describe("accounts in a database of their own", () => {
  it("count for readiness: without them no request is served", async () => {
    await using opened = new AsyncDisposableStack()
    const records = await openDatabase(
      "create table notes (id int generated always as identity primary key, body text not null)"
    )
    opened.defer(records.drop)
    const accounts = await openDatabase()
    opened.defer(accounts.drop)
    for (const [url, wanted] of [[records.url, serviceMigration], [accounts.url, authMigration]] as const) {
      const pool = openPool(url, 1)
      await applyMigrations(pool, [wanted])
      await pool.end()
    }
    const notes = defineResource("notes", {
      table: "notes",
      primaryKey: "id",
      fields: { id: f.integer().readOnly().dbDefault(), body: f.text() }
    })
    const env = {
      DATABASE_URL: records.url,
      ADMIN_DATABASE_URL: accounts.url,
      AUTH_SECRET: secret,
      AUTH_URL: publicUrl,
      SERVICE_LOG: "off"
    }
    const server = await startServer(defineConfig({ resources: [notes] }), { env, port: 0 })
    opened.defer(server.close)
    const readiness = async (status: number): Promise<boolean> =>
      (await fetch(`${server.address}/readyz`)).status === status
    expect(await untilTrue(() => readiness(200))).toBeLessThan(Number.POSITIVE_INFINITY)
    await records.execute(`alter database ${accounts.name} with allow_connections false`)
    await accounts.disconnectAll()
    expect(await untilTrue(() => readiness(503))).toBeLessThan(Number.POSITIVE_INFINITY)
    expect((await fetch(`${server.address}/livez`)).status).toBe(200)
    await records.execute(`alter database ${accounts.name} with allow_connections true`)
    expect(await untilTrue(() => readiness(200))).toBeLessThan(Number.POSITIVE_INFINITY)
  })
})
