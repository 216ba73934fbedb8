/** The example shop's database as all stages begin with it: every table of the service, a thousand orders, and an account for each role. It is made once a run. */

import { compileOrThrow } from "../../../composition/create-admin.ts"
import { createUser, startServer, webhooks } from "../../../composition/index.ts"
import {
  authMigrations,
  followingMigrations,
  jobsMigrations,
  serviceMigration
} from "../../../composition/migrations.ts"
import type { Config } from "../../../core/domain/declare/config.ts"
import shop from "../../../examples/shop/admin.config.ts"
import { handOver, prepareShop } from "../../../examples/shop/database.ts"
import { freePort } from "../../support/cluster.ts"
import { openPrepared, type TestDatabase } from "../../support/postgres.ts"
import { migrate } from "../../support/server.ts"

export type Role = "admin" | "sales" | "viewer"

export const roles: readonly Role[] = ["admin", "sales", "viewer"]

/** Of every account here. */
export const password = "correct horse battery"

export const emailOf = (role: Role): string => `${role}@shop.example`

/** What servers of these tests have in their environment. */
export const environmentOf = (database: string, url: string): { readonly [name: string]: string } => ({
  DATABASE_URL: database,
  AUTH_URL: url,
  AUTH_SECRET: "a secret of the browser tests, long enough"
})

/** The shop with all that needs tables of its own. A stage that has less of it leaves them alone. */
const whole: Config = {
  ...shop,
  auth: { ...shop.auth, signInPerMinute: 1_000, twoFactor: true, passkeys: true },
  extends: [webhooks()]
}

const fill = async (url: string): Promise<void> => {
  const compiled = compileOrThrow(whole)
  await migrate(url, [serviceMigration, ...jobsMigrations(compiled), ...authMigrations(whole)])
  await prepareShop(url, 1_000)
  await migrate(url, followingMigrations(compiled))
  const port = await freePort()
  const env = { ...environmentOf(url, `http://localhost:${port}`), SERVICE_JOBS: "false" }
  const server = await startServer(whole, { port, env, log: () => {} })
  for (const role of roles) {
    const { id } = await createUser(server.auth!, { email: emailOf(role), name: role, role, password })
    if (role === "sales") await handOver(url, "seller-1", { id, name: "Ada", email: emailOf(role) })
  }
  await server.close()
}

export const openShop = (): Promise<TestDatabase> => openPrepared("shop", fill)
