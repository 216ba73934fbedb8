/**
 * The tables that the service itself needs, as migrations: what each contains, whether a database has them, and how they are applied.
 * Each is safe to repeat. Tables of the application are never touched.
 */

import { createHash } from "node:crypto"
import type { PoolClient } from "pg"
import { authStatements, passkeySql, secondFactorSql } from "../adapters/auth/migration.ts"
import { auditGrants, auditSchema } from "../adapters/postgres/audit.ts"
import { capturedTables, captureQuestion, captureStatements, changeSchema } from "../adapters/postgres/capture.ts"
import { keptChangesSchema } from "../adapters/postgres/changes.ts"
import { historyQuestion, historyStatements } from "../adapters/postgres/history.ts"
import { idempotencySchema } from "../adapters/postgres/idempotency.ts"
import { ratesSchema } from "../adapters/postgres/rates.ts"
import { refreshesSchema } from "../adapters/postgres/refreshes.ts"
import { savedViewsSchema } from "../adapters/postgres/saved-views.ts"
import { ownSchema } from "../adapters/postgres/sql.ts"
import { submissionsSchema } from "../adapters/postgres/submissions.ts"
import { taskSchema } from "../adapters/postgres/tasks.ts"
import {
  webhookLimitsStatements,
  webhookLogStatements,
  webhookRolesStatements,
  webhooksStatements
} from "../adapters/postgres/webhooks.ts"
import { ownLevel, queueQuestion, queueStatements } from "../adapters/queue/schema.ts"
import type { Tenants } from "../core/domain/account/tenants.ts"
import { type Compiled, hasRefreshes, needsQueue } from "../core/domain/compile/compile.ts"
import type { AuthDeclaration } from "../core/domain/declare/config.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { defaultSchemas, type Schemas, type SchemasDeclaration } from "../core/domain/declare/schemas.ts"
import {
  type Foreign,
  foreignAccountsSql,
  foreignRecord,
  foreignRefusal,
  foreignWebhooksSql,
  freeNameSql,
  objectsOf,
  optionOf,
  recordSql,
  recordStatements,
  type RefusedObjects,
  standingSql
} from "./ownership.ts"
import { StartupError } from "./startup-error.ts"
import { accountsSchema } from "./tenants.ts"

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
    | "webhook_roles"
    | "webhook_limits"
    | "webhook_events"
    | "webhook_log"
    | "rates"
    | "tasks"
    | "refreshes"
    | `history_${string}`
    | `events_${string}`
  /**
   * Raised with every change of `statements`; a database may be ahead of the program, never behind. A version expands: programs of the version before go on
   * working with its tables. What they need goes only later, by a version with `least` (docs/guides/upgrade.md#what-a-version-promises).
   */
  readonly version: number
  /** The lowest version of programs that work with the tables, where this version takes away what lower ones need; null: it only adds. */
  readonly least: number | null
  readonly statements: string
  /** Of the statements, so that a change without a new version shows. */
  readonly digest: string
  /**
   * A statement that asks the database itself whether it has them, as `present`; null: the record of applied migrations says so. For tables that
   * follow others, which change without this program, and which several services may share.
   */
  readonly question: string | null
  /** Its name in the record of applied migrations. It says the schema where that is not the usual one: another schema is another set of tables. */
  readonly recordedAs: string
  /** The names of the service's schemas. One of them holds the record of applied migrations. */
  readonly schemas: Schemas
}

/** What names schemas: a compiled configuration. */
type Named = Partial<Pick<Compiled, "schemas">>

/** A schema that the webhooks extension names itself has been recorded by the migration's name alone. */
const recordedAs = (name: Migration["name"], schemas: Schemas): string => {
  const option = optionOf(name)
  return (option === "auth" || option === "jobs") && schemas[option] !== defaultSchemas[option]
    ? `${name}@${schemas[option]}`
    : name
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16)

const make = (
  name: Migration["name"],
  version: number,
  statements: string,
  schemas: Schemas,
  question: string | null = null
): Migration => ({
  name,
  version,
  least: null,
  statements,
  digest: digestOf(statements),
  question,
  recordedAs: recordedAs(name, schemas),
  schemas
})

/** Answers kept for `Idempotency-Key`, saved views and the audit: in the application's database. */
export const serviceMigrationOf = ({ schemas = defaultSchemas }: Named): Migration =>
  make(
    "service",
    4,
    `${
      [
        ...idempotencySchema(schemas.service),
        ...savedViewsSchema(schemas.service),
        ...auditSchema(schemas.service),
        ...auditGrants(schemas.service)
      ].join(";\n\n")
    };\n`,
    schemas
  )

/** The same with the usual names. */
export const serviceMigration: Migration = serviceMigrationOf({})

/** What migrations of accounts depend on. */
interface AccountSettings {
  readonly auth?: Pick<AuthDeclaration, "passkeys" | "twoFactor"> | null | undefined
  readonly schemas?: SchemasDeclaration | undefined
  readonly tenants?: Tenants | null | undefined
}

/**
 * Everything that a configuration needs in the database of accounts: accounts, sessions, signing keys and API keys. Where requests decide the tenant, each
 * tenant has all of it in a schema of its own.
 */
export const authMigrations = (settings: AccountSettings): readonly Migration[] => {
  const schemas = { ...defaultSchemas, ...settings.schemas }
  const { tenants = null } = settings
  return tenants === null
    ? accountMigrations(settings, schemas)
    : Array.from(tenants.known ?? []).flatMap((tenant) =>
      accountMigrations(settings, { ...schemas, auth: accountsSchema(schemas.auth, tenant) })
    )
}

const accountMigrations = ({ auth }: AccountSettings, schemas: Schemas): readonly Migration[] => [
  make("auth", 8, authStatements({ schema: schemas.auth }), schemas),
  // Of its own, so that turning second factors on asks for this table alone, and turning them off for nothing.
  ...(auth?.twoFactor === true ? [make("second_factor", 2, secondFactorSql(schemas.auth), schemas)] : []),
  // Of its own for the same reason.
  ...(auth?.passkeys === undefined || auth.passkeys === false
    ? []
    : [make("passkey", 2, passkeySql(schemas.auth), schemas)])
]

/** Accounts alone, with the usual names. */
export const authMigration: Migration = authMigrations({})[0]!

/**
 * Tables of versions of the resources that `history(…)` names, in the application's database. Each resource has a migration of its own. So a
 * further tracked resource needs its own table only, and services that track different resources do not disturb each other.
 */
export const historyMigrations = (
  { models, schemas = defaultSchemas }: Pick<Compiled, "models"> & Named
): readonly Migration[] =>
  [...models.values()].flatMap((tracked) => {
    const versions = tracked.history === null ? undefined : models.get(tracked.history)
    if (versions === undefined) return []
    const statements = `${historyStatements(tracked, versions).join(";\n\n")};\n`
    // The name goes into statements and names of files.
    const name = versions.table.replace(/[^A-Za-z0-9]+/g, "_")
    return [make(`history_${name}`, 1, statements, schemas, historyQuestion(tracked, versions))]
  })

/**
 * The capture of changes, in the application's database: the table that keeps them, and a trigger for each table of a resource that declares
 * events. Each trigger is a migration of its own, so a further table needs its own trigger only. An application without events gets nothing of
 * it.
 */
export const eventMigrations = (
  { models, schemas = defaultSchemas }: Pick<Compiled, "models"> & Named
): readonly Migration[] => {
  const tables = capturedTables(models)
  if (tables.length === 0) return []
  return [
    // Where changes wait to be sent on.
    make("events", 1, `${changeSchema(schemas.service).join(";\n\n")};\n`, schemas),
    ...tables.map((table) => {
      const statements = `${captureStatements(table, schemas.service).join(";\n\n")};\n`
      return make(
        `events_${table.relation.replace(/[^A-Za-z0-9]+/g, "_")}`,
        1,
        statements,
        schemas,
        captureQuestion(table, schemas.service)
      )
    })
  ]
}

/** Counts of submissions and of denied requests, and used challenges: in the application's database of a service that has public forms or hooks. */
export const formMigrations = (
  { forms, hooks, schemas = defaultSchemas }: Pick<Compiled, "forms"> & Partial<Pick<Compiled, "hooks">> & Named
): readonly Migration[] =>
  forms.size === 0 && (hooks?.size ?? 0) === 0
    ? []
    : [make("forms", 1, `${submissionsSchema(schemas.service).join(";\n\n")};\n`, schemas)]

/** Tables of subscriptions that people make, where the extension `webhooks` is there. They stand on those of jobs. */
export const webhookMigrations = (
  { schemas = defaultSchemas, webhooks }: Pick<Compiled, "webhooks"> & Named
): readonly Migration[] =>
  webhooks === null
    ? []
    : [
      make("webhooks", 3, `${webhooksStatements(webhooks, schemas.jobs).join(";\n\n")};\n`, schemas),
      make("webhook_roles", 1, `${webhookRolesStatements(webhooks, schemas.jobs).join(";\n\n")};\n`, schemas),
      make("webhook_limits", 1, `${webhookLimitsStatements(webhooks).join(";\n\n")};\n`, schemas),
      ...(webhooks.deliveryLog
        ? [make("webhook_log", 2, `${webhookLogStatements(webhooks).join(";\n\n")};\n`, schemas)]
        : []),
      ...(webhooks.keepEventsMs === null
        ? []
        : [make("webhook_events", 1, `${keptChangesSchema(webhooks).join(";\n\n")};\n`, schemas)])
    ]

/** Turns of subscriptions, where one may have a limit. */
export const rateMigrations = (
  { schemas = defaultSchemas, subscriptions, webhooks }: Pick<Compiled, "webhooks" | "subscriptions"> & Named
): readonly Migration[] =>
  webhooks === null && subscriptions.every(({ perMinute }) => perMinute === null)
    ? []
    : [make("rates", 1, `${ratesSchema(schemas.service).join(";\n\n")};\n`, schemas)]

/** Bulk changes and imports, where there are any. */
export const taskMigrations = (
  { schemas = defaultSchemas, tasks }: Partial<Pick<Compiled, "tasks">> & Named
): readonly Migration[] =>
  (tasks ?? null) === null ? [] : [make("tasks", 1, `${taskSchema(schemas.service).join(";\n\n")};\n`, schemas)]

/** When materialized views were refreshed, where there are any. */
export const refreshMigrations = (
  { models, schemas = defaultSchemas }: Pick<Compiled, "models"> & Named
): readonly Migration[] =>
  hasRefreshes({ models })
    ? [make("refreshes", 1, `${refreshesSchema(schemas.service).join(";\n\n")};\n`, schemas)]
    : []

/** What follows the application's own tables and those of jobs, and is applied after them. */
export const followingMigrations = (
  compiled:
    & Pick<Compiled, "models" | "forms" | "subscriptions" | "webhooks">
    & Partial<Pick<Compiled, "hooks" | "tasks">>
    & Named
): readonly Migration[] => [
  ...taskMigrations(compiled),
  ...refreshMigrations(compiled),
  ...webhookMigrations(compiled),
  ...rateMigrations(compiled),
  ...formMigrations(compiled),
  ...historyMigrations(compiled),
  ...eventMigrations(compiled)
]

/** The queue's tables, in the application's database, where jobs are declared. They are made from the library's files when somebody asks. */
export const jobsMigrations = (
  compiled:
    & Pick<Compiled, "auth" | "jobs" | "models" | "subscriptions" | "webhooks">
    & Partial<Pick<Compiled, "tasks">>
    & Named
): readonly Migration[] => {
  if (!needsQueue(compiled)) return []
  const { schemas = defaultSchemas } = compiled
  return [make("jobs", ownLevel, queueStatements(undefined, schemas.jobs), schemas, queueQuestion(schemas.jobs))]
}

/** Whatever the database's default: who waited for another process has to see what that one did. */
const begin = "begin isolation level read committed"

/** Processes that migrate the same database wait for each other. */
const lock = "do $$ begin perform pg_advisory_xact_lock(8173, 2); end $$"

/**
 * A query for what of the objects of a migration stands in a database, as if the record did not know the migration. Its own schema is judged with the record,
 * and tables of versions share theirs.
 */
const standing = ({ name, schemas: { service }, statements }: Migration, recorded: boolean): string =>
  standingSql(
    objectsOf(statements).filter((made) => made.kind !== "schema" || made.name !== service),
    recorded && name.startsWith("history_")
      ? `not exists (select from ${ownSchema(service)}.migration where name like 'history\\_%')`
      : "true"
  )

/** Ends a transaction where `query` gives anything. Those who apply by the command have read more of it before. */
const guard = (query: string): string =>
  `do $guard$ declare found text; begin
  select string_agg(what, ', ') into found from (
${query}
  ) f;
  if found is not null then
    raise exception 'The database has these already, and this service did not make them: %. Nothing was changed.', found
      using errcode = 'duplicate_object', hint = 'Name another schema in the configuration: schemas: { ... }.';
  end if;
end $guard$;
`

/** Makes the record of applied migrations in a schema. */
const recordScript = (schema: string): string =>
  `${
    guard(
      `select case when r.standing then 'the table ${schema}.migration' else 'the schema ${schema}' end as what
    from (${recordSql(schema)}) r where r.schema and not r.ours`
    )
  }
${recordStatements(schema)}`

/**
 * One migration within a transaction. Tables that a newer program made stay as they are, also when it was only a moment faster. Otherwise its
 * triggers would be replaced by older ones, and the record would not show that.
 */
const applyScript = (migration: Migration): string => {
  const { digest, least, recordedAs: name, statements, version } = migration
  const record = `${ownSchema(migration.schemas.service)}.migration`
  return `${
    guard(
      `select what from (${
        standing(migration, true)
      }) s where not exists (select from ${record} where name = '${name}')`
    )
  }
do $migration$ begin if not exists (
  select from ${record} where name = '${name}' and version > ${version}
) then execute $statements$

${statements.trim()}

$statements$; end if; end $migration$;

${
    least === null
      ? ""
      : `insert into ${record} (name, version, digest) values ('${leastPrefix}${name}', ${least}, '')
  on conflict (name) do update set version = greatest(${record}.version, excluded.version), applied_at = now();

`
  }insert into ${record} (name, version, digest) values ('${name}', ${version}, '${digest}')
  on conflict (name) do update set version = excluded.version, digest = excluded.digest, applied_at = now()
  where ${record}.version <= excluded.version;
`
}

/** In the record: the lowest version of programs that work with the tables of a migration. */
const leastPrefix = "least:"

/** Which of the wanted migrations have tables in the database that a later version has taken something away from. */
const outgrown = (
  rows: ReadonlyArray<{ readonly [column: string]: unknown }>,
  wanted: readonly Migration[]
): readonly Refusal[] =>
  wanted.flatMap(({ name, recordedAs, version }) => {
    const row = rows.find((each) => each["name"] === `${leastPrefix}${recordedAs}`)
    return row === undefined || Number(row["version"]) <= version ? [] : [{
      resource: null,
      field: null,
      message: `The tables of the service (${name}) are of a later version of it, which this one does not work with.`,
      fix: "Start the later version, or restore the database from before its migration (docs/guides/upgrade.md)."
    }]
  })

/** The whole migration as one script: a transaction that several processes may run at once, and again. It takes over nothing. */
export const migrationScript = (migration: Migration): string =>
  `${begin};

${lock};

${recordScript(migration.schemas.service)}
${applyScript(migration)}
commit;
`

/** Runs one statement and gives its rows. */
export type Query = (sql: string) => Promise<ReadonlyArray<{ readonly [column: string]: unknown }>>

/** The names, versions and digests that the record has; null where a database has no record of ours. */
const recordOf = async (query: Query, schema: string): Promise<{
  readonly rows: ReadonlyArray<{ readonly [column: string]: unknown }>
  readonly foreign: Foreign | null
}> => {
  const [row] = await query(recordSql(schema))
  if (row === undefined) throw new Error("the catalogue gives one row")
  const state = { schema: row["schema"] === true, standing: row["standing"] === true, ours: row["ours"] === true }
  return {
    rows: state.ours ? await query(`select name, version, digest from ${ownSchema(schema)}.migration`) : [],
    foreign: foreignRecord(schema, state)
  }
}

/** Which of the migrations the database still needs, in order. Throws `StartupError` for tables of a later version that this one does not work with. Accounts are missing where an earlier version has taken over a table of others. */
export const missingMigrations = async (query: Query, wanted: readonly Migration[]): Promise<readonly Migration[]> => {
  if (wanted[0] === undefined) return []
  // All are of one service.
  const { schemas } = wanted[0]
  const { rows } = await recordOf(query, schemas.service)
  const refusals = outgrown(rows, wanted)
  if (refusals.length > 0) throw new StartupError(refusals)
  const missing: Migration[] = []
  for (const migration of wanted) {
    const { digest, name, question, version } = migration
    const present = question === null
      ? rows.some((row) =>
        row["name"] === migration.recordedAs &&
        (Number(row["version"]) > version || (Number(row["version"]) === version && row["digest"] === digest))
      )
      : (await query(question))[0]?.["present"] === true
    const ours = !present || name !== "auth" || (await query(foreignAccountsSql(migration.schemas.auth))).length === 0
    if (!present || !ours) missing.push(migration)
  }
  return missing
}

/** What stands in the way of migrations: objects of others under the names that they use. It changes nothing. */
const foreignObjects = async (
  query: Query,
  missing: readonly Migration[]
): Promise<readonly RefusedObjects[]> => {
  if (missing[0] === undefined) return []
  const { schemas } = missing[0]
  const { foreign, rows } = await recordOf(query, schemas.service)
  const objects: Foreign[] = foreign === null ? [] : [foreign]
  const records = new Set(rows.map((row) => row["name"]))
  for (const migration of missing) {
    const option = optionOf(migration.name)
    const isKnown = records.has(migration.recordedAs)
    const sql = !isKnown
      ? standing(migration, foreign === null && rows.length > 0)
      : option === "auth"
      ? foreignAccountsSql(migration.schemas.auth)
      : option === "webhooks"
      ? foreignWebhooksSql(schemas.webhooks)
      : null
    const what = sql === null ? [] : (await query(sql)).map((row) => String(row["what"]))
    if (what.length > 0) objects.push({ option, what, takenOver: isKnown && option === "auth" })
  }
  const refused: RefusedObjects[] = []
  // Several migrations write to one schema.
  for (const same of Map.groupBy(objects, ({ option, takenOver }) => `${option} ${takenOver}`).values()) {
    const { option } = same[0]!
    refused.push({
      ...same[0]!,
      what: [...new Set(same.flatMap(({ what }) => what))],
      free: option === null ? null : String((await query(freeNameSql(option, schemas)))[0]?.["name"])
    })
  }
  return refused
}

/** The refusal of what `foreignObjects` found. */
export const refuseForeign = (foreign: readonly RefusedObjects[]): void => {
  if (foreign.length > 0) throw new StartupError(foreign.map(foreignRefusal))
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

const queryOf = (client: PoolClient): Query => async (sql) => (await client.query<Record<string, unknown>>(sql)).rows

/** The versions that the database has, by the names of the record. */
export const recordedVersions = (pool: MigrationPool, schema: string): Promise<ReadonlyMap<string, number>> =>
  withClient(
    pool,
    async (client) =>
      new Map(
        (await recordOf(queryOf(client), schema)).rows.map((row) => [String(row["name"]), Number(row["version"])])
      )
  )

/** Asks a connection of a pool. */
export const asking = <A>(pool: MigrationPool, work: (query: Query) => Promise<A>): Promise<A> =>
  withClient(pool, (client) => work(queryOf(client)))

/** The same as `missingMigrations`, on a connection of a pool. */
export const findMissing = (pool: MigrationPool, wanted: readonly Migration[]): Promise<readonly Migration[]> =>
  withClient(pool, (client) => missingMigrations(queryOf(client), wanted))

/** Which of the wanted migrations are missing, and what stands in the way of these. */
export const lookFirst = (
  pool: MigrationPool,
  wanted: readonly Migration[]
): Promise<{ readonly missing: readonly Migration[]; readonly foreign: readonly RefusedObjects[] }> =>
  withClient(pool, async (client) => {
    const missing = await missingMigrations(queryOf(client), wanted)
    return { missing, foreign: await foreignObjects(queryOf(client), missing) }
  })

/**
 * Applies migrations in order, in one transaction, and gives those that are in force then: not one that a newer program's overtook. The role must own the
 * database or be allowed to create schemas in it. Throws `StartupError`, and changes nothing, where something of others has a name that they use.
 */
export const applyMigrations = (
  pool: MigrationPool,
  migrations: readonly Migration[]
): Promise<readonly Migration[]> =>
  migrations[0] === undefined ? Promise.resolve([]) : withClient(pool, async (client) => {
    await client.query(`${begin}; ${lock}`)
    refuseForeign(await foreignObjects(queryOf(client), migrations))
    await client.query(recordScript(migrations[0]!.schemas.service))
    const applied: Migration[] = []
    for (const migration of migrations) {
      // One result for each statement of the script; the last one is the record's.
      const results: readonly { readonly rowCount: number | null }[] = [await client.query(applyScript(migration))]
        .flat()
      if (results.at(-1)?.rowCount === 1) applied.push(migration)
    }
    await client.query("commit")
    return applied
  })

/** A file of the project's own: applied once, known by its name. */
export interface MigrationFile {
  readonly name: string
  readonly text: string
}

/** Whether a file is applied in a transaction. */
export const isInTransaction = ({ text }: MigrationFile): boolean => !alone.test(text)

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
  files: readonly MigrationFile[],
  { schemas = defaultSchemas }: Named = {}
): Promise<{ readonly applied: readonly string[]; readonly changed: readonly string[] }> =>
  withClient(pool, async (client) => {
    const record = `${ownSchema(schemas.service)}.migration`
    const applied: string[] = []
    const changed: string[] = []
    for (const { name, text } of files) {
      const key = `file:${name}`
      const single = alone.test(text)
      if (!single) {
        await client.query(begin)
        await client.query("select pg_advisory_xact_lock(8173, 2)")
      }
      const { rows } = await client.query<{ digest: string }>(`select digest from ${record} where name = $1`, [
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
        await client.query(`insert into ${record} (name, version, digest) values ($1, 0, $2)`, [
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
