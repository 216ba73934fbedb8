/**
 * The whole examination: reads the facts once, asks every check, and gives all findings. A check that cannot be made is a finding too, never a
 * silence.
 */

import type { Client } from "pg"
import { listUsers } from "../../adapters/auth/users.ts"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import type { Models } from "../../core/domain/model/model.ts"
import { tableName } from "../../core/domain/model/table.ts"
import { keepsAccounts, makeAuth, makeTenantAuths } from "../assembly.ts"
import type { Assembly } from "../assembly.ts"
import { type Databases, openPool } from "../database.ts"
import type { Settings } from "../environment.ts"
import {
  authMigrations,
  eventMigrations,
  formMigrations,
  historyMigrations,
  jobsMigrations,
  lookFirst,
  type Migration,
  refreshMigrations,
  serviceMigrationOf,
  taskMigrations,
  webhookMigrations
} from "../migrations.ts"
import { findMismatches, isWebhooks, readLiveFacts, withPostgres } from "../startup.ts"
import type { LiveFacts } from "../startup.ts"
import { accountsSchemas } from "../tenants.ts"
import { checkAccounts, checkRolesHeld } from "./accounts.ts"
import { checkCapture } from "./capture.ts"
import { checkColumns } from "./columns.ts"
import {
  checkClock,
  checkConnections,
  checkExtensions,
  checkMigrations,
  checkOwnRights,
  checkPooler,
  checkSequences,
  checkServer,
  checkSettings
} from "./deployment.ts"
import { checkFiles } from "./files.ts"
import type { Finding } from "./finding.ts"
import { checkForeign, checkTakenOver, ownSchemas } from "./foreign.ts"
import { checkFunctions } from "./functions.ts"
import { checkIndexes } from "./indexes.ts"
import { checkJobs } from "./jobs.ts"
import { checkPartitions } from "./partitions.ts"
import { checkViewRows, checkViewWrites } from "./views.ts"

/** Connects with a setting of its own, and checks whether the session has it. */
const probePooler = (url: string) => async (): Promise<"kept" | "dropped"> => {
  const { default: pg } = await import("pg")
  const client = new pg.Client({ ...pgAddressOf(url), connectionTimeoutMillis: 5_000, statement_timeout: 54_321 })
  client.on("error", () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ value: string }>("select current_setting('statement_timeout') as value")
    return rows[0]?.value === "54321ms" ? "kept" : "dropped"
  } catch (error) {
    // 08P01 is PgBouncer's refusal of a parameter it does not pass on.
    if (error instanceof Error && "code" in error && error.code === "08P01") return "dropped"
    throw error
  } finally {
    await client.end()
  }
}

const ofTables = (assembly: Assembly, facts: LiveFacts): readonly Finding[] => {
  const { compiled } = assembly
  const basis = {
    large: compiled.options.scanGuard.seqScanRows,
    trigrams: facts.server.extensions["pg_trgm"] !== undefined
  }
  const versions = new Set([...compiled.models.values()].map(({ history }) => history))
  return [...compiled.models.values()].flatMap((model) => {
    const table = facts.tables.get(model.name) ?? null
    // The tables of webhooks belong to the service. A finding about them would ask people to mend tables that are not theirs.
    if (table === null || isWebhooks(assembly.compiled, model.name)) return []
    const indexes = checkIndexes(model, table, compiled, basis)
    return [
      ...checkColumns(model, table, compiled, facts.server.user),
      ...checkPartitions(model, table, facts.tables.values(), basis),
      // Versions are read record by record, for which their table has an index. Others are worth their cost once it is large.
      ...versions.has(model.name) ? indexes.filter(({ level }) => level !== "note") : indexes
    ]
  })
}

const ofModels = (assembly: Assembly, facts: LiveFacts, embedded: boolean): readonly Finding[] =>
  findMismatches(assembly.compiled, facts, embedded).map(({ field, fix, message, resource }) => ({
    level: "error",
    check: "declaration",
    resource,
    field,
    message,
    fix,
    sql: []
  }))

/** Everything about a project and its databases that is worth a person's time. */
export const examine = async (
  assembly: Assembly,
  settings: Settings,
  databases: Databases
): Promise<readonly Finding[]> => {
  const facts = await withPostgres(
    { url: databases.url, readConnections: 2 },
    (postgres) => readLiveFacts(assembly.compiled, postgres)
  )
  const accounts = keepsAccounts(assembly)
  const separate = databases.authUrl !== databases.url
  const findings: Finding[] = [
    ...ofModels(assembly, facts, databases.embedded),
    ...ofTables(assembly, facts),
    ...checkFunctions(assembly.compiled, facts),
    ...checkExtensions(assembly.compiled, facts.server),
    ...checkServer(facts.server),
    ...checkSettings(settings, assembly),
    ...(accounts ? checkAccounts(assembly.compiled) : []),
    ...await checkFiles(assembly, settings),
    ...await checkPooler(settings, probePooler(databases.url))
  ]
  const own: Finding[] = []
  let following: readonly Migration[] = []
  await withClient(databases.url, async (client) => {
    // Where the role may not use the schema of versions, other findings say so already.
    const mayUse = await mayUseVersions(client)
    following = [
      ...taskMigrations(assembly.compiled),
      ...refreshMigrations(assembly.compiled),
      ...webhookMigrations(assembly.compiled),
      ...(mayUse ? [...historyMigrations(assembly.compiled), ...formMigrations(assembly.compiled)] : []),
      ...eventMigrations(assembly.compiled)
    ]
    // PostgreSQL refuses to look up a name in a schema that the role may not use, so the facts do not know such tables.
    const reached: Models = new Map(
      [...assembly.compiled.models].filter(([name]) =>
        (facts.tables.get(name) ?? null) !== null && !isWebhooks(assembly.compiled, name)
      )
    )
    const tables = [...reached.values()].map((model) => tableName(model))
    own.push(...await ofOwnSchemas(client, facts.server.user, accounts && !separate, assembly.compiled))
    findings.push(
      ...await checkClock(client),
      ...await checkConnections(client, settings),
      ...await checkCapture(client, assembly.compiled),
      ...await checkJobs(client, assembly.compiled),
      ...await checkSequences(client, tables, facts.server.user),
      ...await checkViewWrites(client, { ...assembly.compiled, models: reached }),
      ...await checkViewRows(client, assembly.compiled, facts)
    )
  })
  if (accounts && separate) {
    await withClient(databases.authUrl, async (client) => {
      const { rows } = await client.query<{ user: string }>("select current_user as user")
      own.push(...await ofOwnSchemas(client, rows[0]?.user ?? "", true, assembly.compiled))
    })
  }
  findings.push(...own)
  // Tables that the role may not read cannot be examined further.
  if (own.length === 0) findings.push(...await ofOwnTables(assembly, settings, databases, accounts, following))
  return findings
}

/** Rights to the schemas that are ours, and what became of one that is not. Somebody else's are none of our business. */
const ofOwnSchemas = async (
  client: Client,
  user: string,
  accounts: boolean,
  compiled: Pick<Compiled, "schemas" | "tenants">
): Promise<readonly Finding[]> => {
  const { schemas } = compiled
  const findings = (await ownSchemas(client, schemas)).service
    ? [...await checkOwnRights(client, schemas.service, user)]
    : []
  for (const auth of accounts ? accountsSchemas(compiled) : []) {
    const own = { ...schemas, auth }
    findings.push(
      ...((await ownSchemas(client, own)).auth
        ? await checkOwnRights(client, auth, user)
        : await checkTakenOver(client, own))
    )
  }
  return findings
}

const withClient = async (url: string, work: (client: Client) => Promise<void>): Promise<void> => {
  const { default: pg } = await import("pg")
  const client = new pg.Client({ ...pgAddressOf(url), connectionTimeoutMillis: 5_000 })
  client.on("error", () => {})
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** Whether the role may use the schema of versions, or there is none yet. */
const mayUseVersions = async (client: Client): Promise<boolean> => {
  const { rows } = await client.query<{ barred: boolean }>(
    "select exists (select from pg_namespace where nspname = 'history' and not has_schema_privilege(oid, 'usage')) as barred"
  )
  return rows[0]?.barred !== true
}

/** The service's own tables and accounts; `versions` make the tables of versions. */
const ofOwnTables = async (
  assembly: Assembly,
  settings: Settings,
  databases: Databases,
  accounts: boolean,
  versions: readonly Migration[]
): Promise<readonly Finding[]> => {
  const pool = openPool(databases.url, 1)
  const authPool = openPool(databases.authUrl, 1)
  try {
    const wanted = [serviceMigrationOf(assembly.compiled), ...jobsMigrations(assembly.compiled), ...versions]
    const states = [
      await lookFirst(pool, wanted),
      accounts ? await lookFirst(authPool, authMigrations(assembly.compiled)) : { missing: [], foreign: [] }
    ]
    const missing = states.flatMap((one) => one.missing)
    const foreign = checkForeign(states.flatMap((one) => one.foreign))
    const findings = [...(foreign.length > 0 ? foreign : checkMigrations(missing, databases))]
    const auths = !accounts || missing.some(({ name }) => name === "auth")
      ? []
      : makeTenantAuths(assembly, settings, authPool)?.values() ?? [makeAuth(assembly, settings, authPool)]
    for (const auth of auths) {
      findings.push(...checkRolesHeld(await listUsers(auth), auth.roles))
      if (!await auth.needsAdmin()) continue
      const tenant = assembly.compiled.tenants === null ? null : String(auth.tenant)
      findings.push({
        level: "warning",
        check: "accounts",
        resource: null,
        field: null,
        message: `There is no user yet${tenant === null ? "" : ` of the tenant ${tenant}`}, so nobody can sign in.`,
        fix: `Run: service users create <EMAIL> --generate-password${tenant === null ? "" : ` --tenant ${tenant}`}`,
        sql: []
      })
    }
    return findings
  } finally {
    await Promise.all([pool.end(), authPool.end()])
  }
}
