/**
 * How this adapter reaches its tables: plain statements with numbered values and one kind of transaction, over a pool or a dialect that is
 * handed in. It keeps no session state and names no statement, so a transaction-mode pooler may sit in between.
 */

import type { Dialect, Kysely, PostgresPool } from "kysely"

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

export type Rows<R> = Promise<readonly R[]>

export interface Queries {
  /** Runs one statement with values `$1, $2, …`. */
  readonly query: <R>(text: string, values?: readonly unknown[]) => Rows<R>
}

export interface Store extends Queries {
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
 * The pool with an ear on every connection that it hands out. One that breaks while it is held emits `error`, which would end the process if
 * nobody listened; whoever holds it is told by its statement.
 */
const heard = (pool: PostgresPool): PostgresPool => {
  const known = new WeakSet<object>()
  return {
    connect: async () => {
      const client = await pool.connect()
      if (!known.has(client) && "on" in client && typeof client.on === "function") {
        known.add(client)
        client.on("error", () => {})
      }
      return client
    },
    end: () => pool.end()
  }
}

export const openStore = (database: AuthDatabase): Store => {
  let opened: Promise<{ readonly db: Kysely<unknown>; readonly on: (db: Kysely<unknown>) => Queries }> | undefined
  // Loading the query builder takes a tenth of a second: it is started by the first statement, not by an import.
  const open = () =>
    opened ??= import("kysely").then(({ CompiledQuery, Kysely, PostgresDialect }) => ({
      db: new Kysely<unknown>({
        dialect: "dialect" in database ? database.dialect : new PostgresDialect({ pool: heard(database) })
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
    kysely: async () => (await open()).db
  }
}

const textOf = (cause: unknown, key: "code" | "message"): string => {
  const value = typeof cause === "object" && cause !== null ? (cause as Record<string, unknown>)[key] : undefined
  return typeof value === "string" ? value : ""
}

/** The SQLSTATE or system error code of a failure, else an empty text. */
export const codeOf = (cause: unknown): string => textOf(cause, "code")

const away =
  /^(?:08...|53300|57P0[1-5]|ECONN[A-Z]+|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/
const awayText =
  /connection terminated|timeout exceeded when trying to connect|connection ended|server closed the connection/i

/** Whether a failure means that the database cannot be reached now (503), not that a statement is wrong. */
export const isUnavailable = (cause: unknown): boolean =>
  away.test(codeOf(cause)) || awayText.test(textOf(cause, "message")) ||
  (cause instanceof AggregateError && cause.errors.some(isUnavailable))
