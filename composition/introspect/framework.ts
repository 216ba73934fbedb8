/**
 * Tables that frameworks keep for themselves: records of migrations, queues and caches, and sessions whose keys are credentials. It tells them by name, and
 * where the name says too little by their columns.
 */

import type { TableFacts } from "../../core/domain/compile/catalogue.ts"
import { snakeCase } from "./names.ts"

const byName: ReadonlyMap<string, string> = new Map([
  ["_prisma_migrations", "Prisma"],
  ["schema_migrations", "Rails"],
  ["ar_internal_metadata", "Rails"],
  ["django_migrations", "Django"],
  ["django_session", "Django"],
  ["django_content_type", "Django"],
  ["SequelizeMeta", "Sequelize"],
  ["knex_migrations", "Knex"],
  ["knex_migrations_lock", "Knex"],
  ["flyway_schema_history", "Flyway"],
  ["databasechangelog", "Liquibase"],
  ["databasechangeloglock", "Liquibase"],
  ["__EFMigrationsHistory", "Entity Framework"],
  ["__drizzle_migrations", "Drizzle"],
  ["alembic_version", "Alembic"],
  ["pgmigrations", "node-pg-migrate"],
  ["kysely_migration", "Kysely"],
  ["kysely_migration_lock", "Kysely"],
  ["typeorm_metadata", "TypeORM"]
])

/** A table by its name, in singular or plural, and its columns, however their words are separated. */
interface Shape {
  readonly name: RegExp
  /** Columns that it must have. */
  readonly columns: readonly string[]
  /** Whether it has no other columns: these say little by themselves. */
  readonly only?: true
  readonly of: string
}

const byShape: readonly Shape[] = [
  { name: /^migrations$/, columns: ["migration", "batch"], of: "Laravel" },
  { name: /^sessions$/, columns: ["id", "payload", "last_activity"], of: "Laravel" },
  { name: /^password_resets?(?:_tokens)?$/, columns: ["email", "token"], of: "Laravel" },
  { name: /^personal_access_tokens$/, columns: ["tokenable_type", "tokenable_id", "token"], of: "Laravel" },
  { name: /^cache$/, columns: ["key", "value", "expiration"], only: true, of: "Laravel" },
  { name: /^cache_locks$/, columns: ["key", "owner", "expiration"], only: true, of: "Laravel" },
  { name: /^jobs$/, columns: ["queue", "payload", "attempts", "reserved_at", "available_at"], of: "Laravel" },
  { name: /^job_batches$/, columns: ["total_jobs", "pending_jobs", "failed_jobs", "failed_job_ids"], of: "Laravel" },
  { name: /^failed_jobs$/, columns: ["connection", "queue", "payload", "exception", "failed_at"], of: "Laravel" },
  { name: /^migrations$/, columns: ["id", "timestamp", "name"], only: true, of: "TypeORM" },
  { name: /^asp_net_user_tokens$/, columns: ["user_id", "login_provider", "name", "value"], of: "ASP.NET Identity" },
  { name: /^schema_version$/, columns: ["installed_rank", "script", "checksum"], of: "Flyway" },
  // People and what they upload are records; the rest says how Directus works.
  { name: /^directus_(?!users$|roles$|files$|folders$|comments$|notifications$)/, columns: [], of: "Directus" },
  { name: /^sessions$/, columns: ["session_id", "data"], of: "Rails" },
  { name: /^sessions?$/, columns: ["sid", "sess"], of: "connect-pg-simple" },
  { name: /^sessions?$/, columns: ["user_id", "token", "expires_at"], of: "better-auth" },
  { name: /^verifications?$/, columns: ["identifier", "value", "expires_at"], of: "better-auth" },
  { name: /^accounts?$/, columns: ["user_id", "provider_id", "account_id", "access_token"], of: "better-auth" },
  { name: /^sessions?$/, columns: ["user_id", "session_token", "expires"], of: "Auth.js" },
  { name: /^verification_tokens?$/, columns: ["identifier", "token", "expires"], of: "Auth.js" },
  { name: /^accounts?$/, columns: ["user_id", "provider", "provider_account_id", "access_token"], of: "Auth.js" },
  { name: /^authtoken_token$/, columns: ["key", "user_id"], of: "Django" }
]

/** The framework that keeps a table for itself, or null. */
export const frameworkOf = (table: TableFacts): string | null => {
  const framework = byName.get(table.name)
  if (framework !== undefined) return framework
  const name = snakeCase(table.name)
  const columns = new Set(table.columns.map((column) => snakeCase(column.name)))
  const shape = byShape.find((shape) =>
    shape.name.test(name) && shape.columns.every((column) => columns.has(column)) &&
    (shape.only !== true || shape.columns.length === columns.size)
  )
  return shape?.of ?? null
}
