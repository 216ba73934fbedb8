/** What tests of effects stand on, as layers: a database of their own, and a connection to it. `layer` of @effect/vitest opens them once a file. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makePostgres, type Postgres, type PostgresOptions } from "../../adapters/postgres/connection.ts"
import { openDatabase, type TestDatabase } from "./postgres.ts"

/** A database that only these tests use. */
export class Database extends Context.Service<Database, TestDatabase>()("test/Database") {}

/** A connection to it, as the service has one. */
export class Connection extends Context.Service<Connection, Postgres>()("test/Connection") {}

/** A database with a schema; it is dropped in the end. */
export const databaseLayer = (schema: string): Layer.Layer<Database> =>
  Layer.effect(
    Database,
    Effect.acquireRelease(
      Effect.promise(() => openDatabase(schema)),
      (database) => Effect.promise(() => database.drop())
    )
  )

/** A connection to a database with a schema, and that database. */
export const connectionLayer = (
  schema: string,
  options: Omit<PostgresOptions, "url"> = {}
): Layer.Layer<Connection | Database> =>
  Layer.effect(Connection, Effect.flatMap(Database, ({ url }) => makePostgres({ url, ...options }))).pipe(
    Layer.provideMerge(databaseLayer(schema))
  )

/** Runs SQL on the database. */
export const execute = (sql: string): Effect.Effect<void, never, Database> =>
  Effect.flatMap(Database, (database) => Effect.promise(() => database.execute(sql)))

/** What SQL gives on the database. */
export const rows = (sql: string): Effect.Effect<ReadonlyArray<ReadonlyArray<string | null>>, never, Database> =>
  Effect.flatMap(Database, (database) => Effect.promise(() => database.rows(sql)))

/** Options of `layer` for tests on something real: its clock is not the tests'. */
export const live = { excludeTestServices: true } as const
