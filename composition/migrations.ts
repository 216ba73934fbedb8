/**
 * The tables that the service itself needs, as migrations: what each contains, whether a database has them, and how they are applied.
 * Each is safe to repeat. Tables of the application are never touched.
 */

import { createHash } from "node:crypto"
import type { PoolClient } from "pg"
import { authMigrationSql, passkeySql, secondFactorSql } from "../adapters/auth/migration.ts"
import { capturedTables, captureQuestion, captureStatements, changeSchema } from "../adapters/postgres/capture.ts"
import { historyQuestion, historyStatements } from "../adapters/postgres/history.ts"
import { idempotencySchema } from "../adapters/postgres/idempotency.ts"
import { savedViewsSchema } from "../adapters/postgres/saved-views.ts"
import { submissionsSchema } from "../adapters/postgres/submissions.ts"
import { taskSchema } from "../adapters/postgres/tasks.ts"
import { webhooksStatements } from "../adapters/postgres/webhooks.ts"
import { ownLevel, queueQuestion, queueStatements } from "../adapters/queue/schema.ts"
import { type Compiled, needsQueue } from "../core/domain/compile/compile.ts"
import type { AuthDeclaration } from "../core/domain/declare/config.ts"

/** One set of tables. */
export interface Migration {
  readonly name:
    | "service"
    | "forms"
    | "auth"
    | "jobs"
    | "second_factor"
    | "passkey"
    | "events"
    | "webhooks"
    | "tasks"
    | `history_${string}`
    | `events_${string}`
  /** Raised with every change of `statements`; a database may be ahead of the program, never behind. */
  readonly version: number
  readonly statements: string
  /** Of the statements, so that a change without a new version shows. */
  readonly digest: string
  /**
   * A statement that asks the database itself whether it has them, as `present`; null: the record of applied migrations says so. For tables that
   * follow others, which change without this program, and which several services may share.
   */
  readonly question: string | null
}

const recordSchema = `create schema if not exists service;

create table if not exists service.migration (
  name text primary key,
  version integer not null,
  digest text not null,
  applied_at timestamptz not null default now()
);
`

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16)

const make = (
  name: Migration["name"],
  version: number,
  statements: string,
  question: string | null = null
): Migration => ({
  name,
  version,
  statements,
  digest: digestOf(statements),
  question
})

/** Answers kept for `Idempotency-Key`, and saved views: in the application's database. */
export const serviceMigration: Migration = make(
  "service",
  2,
  `${[...idempotencySchema, ...savedViewsSchema].join(";\n\n")};\n`
)

/** Accounts, sessions, signing keys and API keys: in the database of accounts. */
export const authMigration: Migration = make("auth", 6, authMigrationSql({ schema: "auth" }))

/** Of its own, so that turning second factors on asks for this table alone, and turning them off for nothing. */
const secondFactorMigration: Migration = make("second_factor", 2, secondFactorSql("auth"))

/** Of its own for the same reason. */
const passkeyMigration: Migration = make("passkey", 2, passkeySql("auth"))

/** Everything that a configuration needs in the database of accounts. */
export const authMigrations = (
  { auth }: { readonly auth?: AuthDeclaration | null | undefined }
): readonly Migration[] => [
  authMigration,
  ...(auth?.twoFactor === true ? [secondFactorMigration] : []),
  ...(auth?.passkeys === undefined || auth.passkeys === false ? [] : [passkeyMigration])
]

/**
 * Tables of versions of the resources that `history(…)` names, in the application's database. Each resource has a migration of its own. So a
 * further tracked resource needs its own table only, and services that track different resources do not disturb each other.
 */
export const historyMigrations = ({ models }: Pick<Compiled, "models">): readonly Migration[] =>
  [...models.values()].flatMap((tracked) => {
    const versions = tracked.history === null ? undefined : models.get(tracked.history)
    if (versions === undefined) return []
    const statements = `${historyStatements(tracked, versions).join(";\n\n")};\n`
    // The name goes into statements and names of files.
    const name = versions.table.replace(/[^A-Za-z0-9]+/g, "_")
    return [make(`history_${name}`, 1, statements, historyQuestion(tracked, versions))]
  })

/** Where changes wait to be sent on. */
const eventsMigration: Migration = make("events", 1, `${changeSchema.join(";\n\n")};\n`)

/**
 * The capture of changes, in the application's database: the table that keeps them, and a trigger for each table of a resource that declares
 * events. Each trigger is a migration of its own, so a further table needs its own trigger only. An application without events gets nothing of
 * it.
 */
export const eventMigrations = ({ models }: Pick<Compiled, "models">): readonly Migration[] => {
  const tables = capturedTables(models)
  if (tables.length === 0) return []
  return [
    eventsMigration,
    ...tables.map((table) => {
      const statements = `${captureStatements(table).join(";\n\n")};\n`
      return make(`events_${table.relation.replace(/[^A-Za-z0-9]+/g, "_")}`, 1, statements, captureQuestion(table))
    })
  ]
}

/** Counts of submissions and used challenges, in the application's database of a service that has public forms. */
export const formMigrations = ({ forms }: Pick<Compiled, "forms">): readonly Migration[] =>
  forms.size === 0 ? [] : [make("forms", 1, `${submissionsSchema.join(";\n\n")};\n`)]

/** Tables of subscriptions that people make, where the extension `webhooks` is there. They stand on those of jobs. */
export const webhookMigrations = ({ webhooks }: Pick<Compiled, "webhooks">): readonly Migration[] =>
  webhooks === null ? [] : [make("webhooks", 2, `${webhooksStatements(webhooks).join(";\n\n")};\n`)]

/** Bulk changes and imports, where there are any. */
export const taskMigrations = ({ tasks }: Partial<Pick<Compiled, "tasks">>): readonly Migration[] =>
  (tasks ?? null) === null ? [] : [make("tasks", 1, `${taskSchema.join(";\n\n")};\n`)]

/** What follows the application's own tables and those of jobs, and is applied after them. */
export const followingMigrations = (
  compiled: Pick<Compiled, "models" | "forms" | "webhooks"> & Partial<Pick<Compiled, "tasks">>
): readonly Migration[] => [
  ...taskMigrations(compiled),
  ...webhookMigrations(compiled),
  ...formMigrations(compiled),
  ...historyMigrations(compiled),
  ...eventMigrations(compiled)
]

let jobsMigration: Migration | undefined

/** The queue's tables, in the application's database, where jobs are declared. They are made from the library's files when somebody asks. */
export const jobsMigrations = (
  compiled: Pick<Compiled, "auth" | "jobs" | "models" | "subscriptions" | "webhooks"> & Partial<Pick<Compiled, "tasks">>
): readonly Migration[] =>
  !needsQueue(compiled) ? [] : [jobsMigration ??= make("jobs", ownLevel, queueStatements(), queueQuestion)]

/** Whatever the database's default: who waited for another process has to see what that one did. */
const begin = "begin isolation level read committed"

/**
 * The whole migration as one script: a transaction that several processes may run at once, and again. Tables that a newer program made stay as
 * they are, also when it was only a moment faster. Otherwise its triggers would be replaced by older ones, and the record would not show that.
 */
export const migrationScript = ({ digest, name, statements, version }: Migration): string =>
  `${begin};

do $$ begin perform pg_advisory_xact_lock(8173, 2); end $$;

${recordSchema}
do $migration$ begin if not exists (
  select from service.migration where name = '${name}' and version > ${version}
) then execute $statements$

${statements.trim()}

$statements$; end if; end $migration$;

insert into service.migration (name, version, digest) values ('${name}', ${version}, '${digest}')
  on conflict (name) do update set version = excluded.version, digest = excluded.digest, applied_at = now()
  where service.migration.version <= excluded.version;

commit;
`

/** Runs one statement and gives its rows. */
export type Query = (sql: string) => Promise<ReadonlyArray<{ readonly [column: string]: unknown }>>

/** Which of the migrations the database still needs, in order. */
export const missingMigrations = async (query: Query, wanted: readonly Migration[]): Promise<readonly Migration[]> => {
  const [table] = await query("select to_regclass('service.migration') is not null as found")
  const rows = table?.["found"] === true ? await query("select name, version, digest from service.migration") : []
  const missing: Migration[] = []
  for (const migration of wanted) {
    const { digest, name, question, version } = migration
    const present = question === null
      ? rows.some((row) =>
        row["name"] === name &&
        (Number(row["version"]) > version || (Number(row["version"]) === version && row["digest"] === digest))
      )
      : (await query(question))[0]?.["present"] === true
    if (!present) missing.push(migration)
  }
  return missing
}

/** A pool that migrations can be asked about and applied with. */
export interface MigrationPool {
  readonly connect: () => Promise<PoolClient>
}

const withClient = async <A>(pool: MigrationPool, work: (client: PoolClient) => Promise<A>): Promise<A> => {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    return await work(client)
  } catch (error) {
    // The script may have left a transaction open: such a connection is thrown away.
    failure = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    client.release(failure)
  }
}

/** The same as `missingMigrations`, on a connection of a pool. */
export const findMissing = (pool: MigrationPool, wanted: readonly Migration[]): Promise<readonly Migration[]> =>
  withClient(
    pool,
    (client) => missingMigrations(async (sql) => (await client.query<Record<string, unknown>>(sql)).rows, wanted)
  )

/**
 * Applies migrations in order and gives those that are in force then: not one that a newer program's overtook. The role must own the database or be
 * allowed to create schemas in it.
 */
export const applyMigrations = (
  pool: MigrationPool,
  migrations: readonly Migration[]
): Promise<readonly Migration[]> =>
  migrations.length === 0 ? Promise.resolve([]) : withClient(pool, async (client) => {
    const applied: Migration[] = []
    for (const migration of migrations) {
      // One result for each statement of the script; the record's is the one before the commit's.
      const results: readonly { readonly rowCount: number | null }[] = [await client.query(migrationScript(migration))]
        .flat()
      if (results.at(-2)?.rowCount === 1) applied.push(migration)
    }
    return applied
  })

/** A file of the project's own: applied once, known by its name. */
export interface MigrationFile {
  readonly name: string
  readonly text: string
}

/** A file that begins so is not wrapped in a transaction (`create index concurrently`). */
const alone = /^--\s*no transaction\b/i

/** A statement that failed, with the file it stands in. */
class MigrationFileError extends Error {
  override readonly name = "MigrationFileError"
}

/**
 * Applies files that were not applied yet, in order; each is one transaction with its record. Gives the names of those applied, and of
 * those that were applied before and have changed since, which are left alone. Throws `MigrationFileError` at the first that fails.
 */
export const applyFiles = (
  pool: MigrationPool,
  files: readonly MigrationFile[]
): Promise<{ readonly applied: readonly string[]; readonly changed: readonly string[] }> =>
  withClient(pool, async (client) => {
    const applied: string[] = []
    const changed: string[] = []
    for (const { name, text } of files) {
      const key = `file:${name}`
      const single = alone.test(text)
      if (!single) {
        await client.query(begin)
        await client.query("select pg_advisory_xact_lock(8173, 2)")
      }
      const { rows } = await client.query<{ digest: string }>("select digest from service.migration where name = $1", [
        key
      ])
      if (rows[0] !== undefined) {
        if (rows[0].digest !== digestOf(text)) changed.push(name)
      } else {
        try {
          await client.query(text)
        } catch (error) {
          throw new MigrationFileError(placeOf(name, text, error))
        }
        await client.query("insert into service.migration (name, version, digest) values ($1, 0, $2)", [
          key,
          digestOf(text)
        ])
        applied.push(name)
      }
      if (!single) await client.query("commit")
    }
    return { applied, changed }
  })

/** Where in a file a statement failed, and why. */
const placeOf = (name: string, text: string, error: unknown): string => {
  const position = error instanceof Error && "position" in error ? Number(error.position) : Number.NaN
  const line = Number.isSafeInteger(position) ? `:${text.slice(0, position).split("\n").length}` : ""
  return `${name}${line}: ${error instanceof Error ? error.message : String(error)}`
}
