/**
 * How this adapter reaches its tables: plain statements with numbered values and one kind of transaction, over a pool or a dialect that the
 * caller gives. It keeps no session state and names no statement, so a transaction-mode pooler may stand in between.
 */

import type { DatabaseConnection, Dialect, Driver, Kysely, PostgresPool } from "kysely"
import { AsyncLocalStorage } from "node:async_hooks"
import { isBag } from "../../core/domain/bag.ts"
import { type Outage, outageOf } from "../../core/domain/outage.ts"

/**
 * A connection pool (`pg`'s fits), whose tables live in the schema `schemaName` (default `auth`), or a Kysely dialect. With a dialect
 * and no `schemaName` the tables are where the connection's search path puts them. Only PostgreSQL is supported.
 */
export type AuthDatabase = PostgresPool | {
  readonly dialect: Dialect
  readonly type: "postgres"
  readonly schemaName?: string | undefined
  readonly transaction?: boolean | undefined
}

export type RowsPromise<R> = Promise<readonly R[]>

export interface Queries {
  /** Runs one statement with values `$1, $2, …`. */
  readonly query: <R>(text: string, values?: readonly unknown[]) => RowsPromise<R>
}

export interface Store extends Queries {
  /** Runs work, and remembers what outage its statements meet: better-auth hides it, or goes on as if a row were not there. */
  readonly watched: <A>(work: () => Promise<A>) => Promise<A>
  /** The first outage that the watched work around has met so far; null: none. */
  readonly met: () => Outage | null
  /**
   * Whether the watched work should run once more, without its optional writes. True once, after an outage in which the database takes no changes; that outage
   * is then forgotten.
   */
  readonly spare: () => boolean
  /** Whether the watched work runs for the second time. */
  readonly isSparing: () => boolean
  /** Runs the body in one read-committed transaction; a failure rolls back. */
  readonly transaction: <A>(body: (queries: Queries) => Promise<A>) => Promise<A>
  /** The shared query builder, for better-auth. */
  readonly kysely: () => Promise<Kysely<unknown>>
}

/** Quotes an identifier. */
export const quote = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

/** The text that names a table of ours in a statement. */
export const tableIn = (schema: string | undefined) => (name: string): string =>
  schema === undefined ? quote(name) : `${quote(schema)}.${quote(name)}`

/**
 * The pool, with a listener on every connection that it gives out. A connection that breaks while it is used emits `error`, which would end
 * the process without a listener. The statement on it fails, too.
 */
const heard = (pool: PostgresPool): PostgresPool => {
  const clients = new WeakSet<object>()
  return {
    connect: async () => {
      const client = await pool.connect()
      if (!clients.has(client) && "on" in client && typeof client.on === "function") {
        clients.add(client)
        client.on("error", () => {})
      }
      return client
    },
    end: () => pool.end()
  }
}

/**
 * Makes a driver read-committed, whatever the database's default is. The statements here rely on seeing what others committed while they
 * waited for a lock. Nothing is set on the connection, because a pooler may give it to others. Transactions begin so. A single statement
 * that a stricter default refused (SQLSTATE 40001) has done nothing, and runs again in such a transaction.
 */
const readCommitted = (driver: Driver, note: <A>(work: Promise<A>) => Promise<A>): Driver => {
  const steady = new WeakSet<DatabaseConnection>()
  const inTransaction = new WeakSet<DatabaseConnection>()
  const acquire = driver.acquireConnection.bind(driver)
  const begin = driver.beginTransaction.bind(driver)
  driver.beginTransaction = (connection, settings) => {
    inTransaction.add(connection)
    return note(begin(connection, { ...settings, isolationLevel: settings.isolationLevel ?? "read committed" }))
  }
  const commit = driver.commitTransaction.bind(driver)
  driver.commitTransaction = (connection) => note(commit(connection))
  driver.acquireConnection = async () => {
    const connection = await note(acquire())
    // A connection that is given out again is in no transaction.
    inTransaction.delete(connection)
    if (steady.has(connection)) return connection
    steady.add(connection)
    const execute: DatabaseConnection["executeQuery"] = connection.executeQuery.bind(connection)
    connection.executeQuery = async (query) => {
      try {
        return await execute(query)
      } catch (cause) {
        if (inTransaction.has(connection) || codeOf(cause) !== "40001") return note(Promise.reject(cause))
      }
      await driver.beginTransaction(connection, {})
      try {
        const result = await note(execute<never>(query))
        await driver.commitTransaction(connection)
        return result
      } catch (cause) {
        await driver.rollbackTransaction(connection).catch(() => {})
        throw cause
      } finally {
        inTransaction.delete(connection)
      }
    }
    return connection
  }
  return driver
}

const steadied = (dialect: Dialect, note: <A>(work: Promise<A>) => Promise<A>): Dialect => ({
  createAdapter: () => dialect.createAdapter(),
  createDriver: () => readCommitted(dialect.createDriver(), note),
  createIntrospector: (db) => dialect.createIntrospector(db),
  createQueryCompiler: () => dialect.createQueryCompiler()
})

export const openStore = (database: AuthDatabase): Store => {
  const watches = new AsyncLocalStorage<{ met: Outage | null; sparing: boolean }>()
  const note = async <A>(work: Promise<A>): Promise<A> => {
    try {
      return await work
    } catch (cause) {
      const watch = watches.getStore()
      if (watch !== undefined) watch.met ??= outageIn(cause)
      throw cause
    }
  }
  let opened: Promise<{ readonly db: Kysely<unknown>; readonly on: (db: Kysely<unknown>) => Queries }> | undefined
  // Loading the query builder takes a tenth of a second, so the first statement loads it and not an import.
  const open = () =>
    opened ??= import("kysely").then(({ CompiledQuery, Kysely, PostgresDialect }) => ({
      db: new Kysely<unknown>({
        dialect: steadied(
          "dialect" in database ? database.dialect : new PostgresDialect({ pool: heard(database) }),
          note
        )
      }),
      on: (db: Kysely<unknown>): Queries => ({
        query: async <R>(text: string, values: readonly unknown[] = []) =>
          (await db.executeQuery<R>(CompiledQuery.raw(text, [...values]))).rows
      })
    }))
  return {
    query: async (text, values) => {
      const { db, on } = await open()
      return on(db).query(text, values)
    },
    transaction: async (body) => {
      const { db, on } = await open()
      return db.transaction().execute((transaction) => body(on(transaction)))
    },
    kysely: async () => (await open()).db,
    watched: (work) => watches.run({ met: null, sparing: false }, work),
    met: () => watches.getStore()?.met ?? null,
    spare: () => {
      const watch = watches.getStore()
      if (watch === undefined || watch.sparing || (watch.met !== "ReadOnly" && watch.met !== "DiskFull")) return false
      watch.met = null
      watch.sparing = true
      return true
    },
    isSparing: () => watches.getStore()?.sparing === true
  }
}

/**
 * The outage behind a failure; null: it is none. A statement that was broken off for others, as a standby does, or in a deadlock, did nothing: what it
 * was for may be tried again as a whole.
 */
export const outageIn = (cause: unknown): Outage | null =>
  outageOf(cause) ?? (/^40(?:001|P01)$/.test(codeOf(cause)) ? "Preempted" : null)

/** Whether a table has any row. */
export const hasAny = async ({ query }: Queries, table: string): Promise<boolean> => {
  const [row] = await query<{ readonly found: boolean }>(`select exists (select 1 from ${table}) as found`)
  return row?.found === true
}

/** Most rows that one sweep removes. */
const mostSwept = 1_000

/**
 * Removes expired rows in parts: about once a minute when it is called, and at every call while there may be more. So rows go as fast as
 * they come, even where each call makes a few.
 */
export const makeSweep = (
  { query }: Queries,
  { key, past, table }: { readonly table: string; readonly key: string; readonly past: string }
): () => Promise<void> => {
  const text = `delete from ${table} where ${key} in (select ${key} from ${table} where ${past}`
    + ` limit ${mostSwept} for update skip locked) returning 1`
  let sweptAt = -Infinity
  return async () => {
    if (performance.now() - sweptAt < 60_000) return
    sweptAt = performance.now()
    if ((await query(text)).length === mostSwept) sweptAt = -Infinity
  }
}

const textOf = (cause: unknown, key: "code" | "message"): string => {
  const value = isBag(cause) ? cause[key] : undefined
  return typeof value === "string" ? value : ""
}

/** The SQLSTATE or system error code of a failure, else an empty text. */
export const codeOf = (cause: unknown): string => textOf(cause, "code")
