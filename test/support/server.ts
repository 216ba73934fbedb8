/**
 * A whole service of a configuration, as `service serve` runs it: tables made, port open, accounts kept. For tests that speak HTTP to it, from Node or from
 * a browser.
 */

import { compileOrThrow } from "../../composition/create-admin.ts"
import { openPool } from "../../composition/database.ts"
import { createUser, startServer } from "../../composition/index.ts"
import type { Server } from "../../composition/index.ts"
import {
  applyMigrations,
  authMigrations,
  findMissing,
  followingMigrations,
  jobsMigrations,
  serviceMigrationOf
} from "../../composition/migrations.ts"
import type { Migration } from "../../composition/migrations.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import { divideHashing } from "../auth/hashing.ts"
import { freePort } from "./cluster.ts"
import { openDatabase } from "./postgres.ts"
import type { TestDatabase } from "./postgres.ts"

export interface TestServer {
  readonly url: string
  readonly server: Server
  readonly database: TestDatabase
  /** Makes an account; the first one is an admin whatever the role. */
  readonly account: (email: string, role: string) => Promise<string>
  readonly password: string
  readonly close: () => Promise<void>
}

const password = "correct horse battery"

/** Everything that a service of one database needs. */
export const migrationsOf = (compiled: Compiled): readonly Migration[] => [
  serviceMigrationOf(compiled),
  ...jobsMigrations(compiled),
  ...authMigrations(compiled),
  ...followingMigrations(compiled)
]

/** Brings a database to what a service needs. */
export const migrate = async (url: string, wanted: readonly Migration[]): Promise<void> => {
  const pool = openPool(url, 1)
  try {
    await applyMigrations(pool, await findMissing(pool, wanted))
  } finally {
    await pool.end()
  }
}

/** Starts it on a free port, with cheap hashes of passwords. `schema`: SQL of the project's own tables. */
export const openServer = async (
  config: Config,
  { env = {}, log = () => {}, port: wanted, schema = "" }: {
    readonly schema?: string
    /** Takes the lines of the log. */
    readonly log?: (line: string) => void
    readonly port?: number
    readonly env?: { readonly [name: string]: string }
  } = {}
): Promise<TestServer> => {
  divideHashing(16)
  const database = await openDatabase(schema)
  const compiled = compileOrThrow(config)
  await migrate(database.url, migrationsOf(compiled))
  const port = wanted ?? await freePort()
  const url = `http://localhost:${port}`
  const server = await startServer(
    { ...config, auth: { ...config.auth, signInPerMinute: 1_000 } },
    {
      port,
      env: {
        DATABASE_URL: database.url,
        AUTH_URL: url,
        AUTH_SECRET: "a secret of the tests, long enough for everything",
        ...env
      },
      log
    }
  )
  return {
    url,
    server,
    database,
    password,
    account: async (email, role) => (await createUser(server.auth!, { email, name: email, role, password })).id,
    close: async () => {
      await server.close()
      await database.drop()
    }
  }
}
