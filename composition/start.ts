/**
 * The steps of a start: databases, accounts, mails, the service, checks, jobs, and only then the port. The scope closes everything that a step opened,
 * the last first. All faults of the database are refused together.
 */

import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { setTimeout as sleep } from "node:timers/promises"
import type { AuthEvent } from "../adapters/auth/auth-log.ts"
import type { Auth } from "../adapters/auth/auth.ts"
import { codeBehind } from "../adapters/http/access-log.ts"
import type { ExtraRoute } from "../adapters/http/handle.ts"
import { mailRoute } from "../adapters/http/mail-page.ts"
import { listen } from "../adapters/http/node.ts"
import type { Listener } from "../adapters/http/node.ts"
import type { LiveApp } from "../adapters/http/web-app.ts"
import { makeOutbox } from "../adapters/mail/outbox.ts"
import { smtpMail } from "../adapters/mail/smtp.ts"
import type { PostgresOptions } from "../adapters/postgres/connection.ts"
import { hasEvents, needsQueue } from "../core/domain/compile/compile.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { defaultSchemas, type Schemas } from "../core/domain/declare/schemas.ts"
import { accountTemplates } from "../core/domain/mail/account.ts"
import type { Mail } from "../core/domain/mail/message.ts"
import { classOf } from "../core/domain/thrown.ts"
import type { Workers } from "../core/ports/queue.ts"
import {
  fileSettingsOf,
  filesSecretsOf,
  formsSecretsOf,
  keepsAccounts,
  makeAuth,
  makeAuthenticator,
  makeTenantAuthenticator,
  makeTenantAuths,
  tunnelOrigins
} from "./assembly.ts"
import type { Assembly } from "./assembly.ts"
import { createAdmin } from "./create-admin.ts"
import type { Admin } from "./create-admin.ts"
import { openDatabases, openPool } from "./database.ts"
import type { Databases, LazyPool } from "./database.ts"
import type { AdminOptions } from "./deployment.ts"
import { portOf } from "./environment.ts"
import type { Settings } from "./environment.ts"
import { repeat } from "./files.ts"
import { given } from "./given.ts"
import type { LogSink } from "./log.ts"
import {
  applyMigrations,
  authMigrations,
  findMissing,
  followingMigrations,
  jobsMigrations,
  serviceMigrationOf
} from "./migrations.ts"
import type { Migration } from "./migrations.ts"
import { holderOf, takenPort } from "./port-holder.ts"
import type { Scraping } from "./scrape.ts"
import type { OpenPort } from "./small-server.ts"
import { StartupError } from "./startup-error.ts"
import { checkDatabase } from "./startup.ts"
import { openTelemetry, type Telemetry } from "./telemetry.ts"
import type { TenantAuths } from "./tenants.ts"
import { isDown, refusalOf } from "./unreachable.ts"

/** What a start is told. */
export interface Start {
  readonly assembly: Assembly
  readonly settings: Settings
  readonly log: LogSink
  /** Variables of the environment. */
  readonly env: { readonly [name: string]: string | undefined }
  readonly dev: boolean
  /** Runs jobs and serves no API. */
  readonly worker: boolean
  /** Overrides the port of the settings; 0 picks a free one. */
  readonly port: number | undefined
  readonly extraRoutes: readonly ExtraRoute[]
  readonly liveApp: LiveApp | undefined
  /** How long to wait for a database that cannot be reached, in milliseconds. */
  readonly patienceMs: number
}

/** What has started. */
export interface Started {
  readonly admin: Admin
  /** Null when somebody else verifies credentials, or each tenant has its own. */
  readonly auth: Auth | null
  /** Those of the tenants, where requests decide the tenant and this service keeps the accounts. */
  readonly tenantAuths: TenantAuths | null
  readonly address: string
  readonly port: number
  /** Tells load balancers that the service is about to stop, and gives them the time of the settings to notice. */
  readonly drain: () => Promise<void>
}

/** Opens something that the scope closes. A failure is the error itself. */
const opened = <A>(
  open: () => A | Promise<A>,
  close: (opened: A) => Promise<unknown>
): Effect.Effect<A, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => open()),
    (value) => Effect.promise(() => close(value))
  )

const migrationRefusal = (missing: readonly Migration[], place: string): Refusal => ({
  resource: null,
  field: null,
  message: `The tables of the service (${
    missing.map(({ name }) => name).join(", ")
  }) are missing or out of date in ${place}.`,
  fix:
    "Run: service migration --apply, with a role that may create schemas; or apply the files that service migration writes."
})

/** SQLSTATE 42501: the role may not read the record of migrations. */
const isForbidden = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "42501"

const forbidden = (place: string, { auth, service }: Schemas): Refusal => ({
  resource: null,
  field: null,
  message: `The database role may not use the tables of the service in ${place}.`,
  fix:
    `Grant it what \`service doctor\` names: usage of the schemas ${service} and ${auth}, and rights on their tables.`
})

/** How long a connection of the accounts may stay silent under a statement: all of them are short. */
const authSilenceMs = 10_000

/** Tries again while a database cannot be reached, for so long. What another try cannot change is refused at once. `ended`: nobody waits any more. */
const patiently = async <A>(
  work: () => Promise<A>,
  url: string,
  patienceMs: number,
  log: LogSink,
  ended?: AbortSignal
): Promise<A> => {
  const end = performance.now() + patienceMs
  for (let pause = 100;; pause = Math.min(pause * 2, 1_000)) {
    try {
      return await work()
    } catch (error) {
      const { final, refusal } = refusalOf(error, url)
      if (!final && !isDown(error)) throw error
      if (final || ended?.aborted === true || performance.now() + pause > end) throw new StartupError([refusal])
      log.event("warn", "database-unreachable", { retryInMs: pause })
      await sleep(pause, undefined, ended === undefined ? {} : { signal: ended })
    }
  }
}

/** The service's own tables: made in the embedded database, asked for in any other. */
const migrate = async (
  databases: Databases,
  own: readonly Migration[],
  accounts: readonly Migration[],
  versions: readonly Migration[],
  patienceMs: number,
  log: LogSink,
  ended: AbortSignal
): Promise<readonly Refusal[]> => {
  const same = databases.authUrl === databases.url
  const sets = same || accounts.length === 0
    ? [{ url: databases.url, own: databases.embedded, wanted: [...own, ...accounts, ...versions] }]
    : [
      { url: databases.url, own: databases.embedded, wanted: [...own, ...versions] },
      { url: databases.authUrl, own: false, wanted: accounts }
    ]
  const refusals: Refusal[] = []
  for (const { own: ours, url, wanted } of sets) {
    const pool = openPool(url, 1)
    const place = url === databases.url ? "the database" : "the database of ADMIN_DATABASE_URL"
    try {
      const missing = await patiently(() => findMissing(pool, wanted), url, patienceMs, log, ended)
      if (missing.length > 0 && ours) await applyMigrations(pool, missing)
      else if (missing.length > 0) {
        refusals.push(migrationRefusal(missing, place))
      }
    } catch (error) {
      if (!isForbidden(error)) throw error
      refusals.push(forbidden(place, wanted[0]?.schemas ?? defaultSchemas))
    } finally {
      await pool.end()
    }
  }
  return refusals
}

/** Longest time that readiness waits for the accounts' database. */
const readyMs = 2_000

/** Whether the accounts' database answers and has their tables. The pool is its own: sign-ins do not make it wait. */
const accountsReady = (pool: LazyPool, wanted: readonly Migration[]): Effect.Effect<boolean> =>
  Effect.timeoutOrElse(
    Effect.matchCause(Effect.tryPromise(() => findMissing(pool, wanted)), {
      onFailure: () => false,
      onSuccess: (missing) => missing.length === 0
    }),
    { duration: readyMs, orElse: () => Effect.succeed(false) }
  )

const metricsTaken: Refusal = {
  resource: "metrics",
  field: null,
  message: "SERVICE_METRICS_TOKEN serves /metrics, where the app has the page of this resource.",
  fix: "Set SERVICE_METRICS_PORT instead: then the metrics have a port of their own."
}

/** Minutes between two removals of old entries of the audit. */
const cleanAuditMinutes = 60

const noMailServer: Refusal = {
  resource: null,
  field: null,
  message: "auth.mail sends mails about accounts, and there is no mail server.",
  fix: "Set SERVICE_SMTP_URL and SERVICE_MAIL_FROM, or leave auth.mail out."
}

const noJobs: Refusal = {
  resource: null,
  field: null,
  message: "The configuration has no jobs, so there is nothing for a worker to do.",
  fix: "Write jobs: [defineJob({ name, run })], or start the API with: service serve."
}

/** Why a port cannot be opened, and what to do. */
const closedPort = (error: unknown, host: string, port: number, variable = "PORT"): StartupError => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
  const taken = code === "EADDRINUSE" ? takenPort(port, holderOf(port), process.platform) : null
  return new StartupError([{
    resource: null,
    field: null,
    message: `Port ${port} of ${host} cannot be opened (${code})${taken === null ? "." : `: ${taken.by}.`}`,
    fix: (variable === "PORT" ? taken?.fix : null) ?? `Set ${variable} and SERVICE_HOST to what this machine has free.`
  }])
}

/** An open port. A worker drains nothing: nobody sends it requests. */
type Port = Omit<Listener, "drain"> & Partial<Pick<Listener, "drain">>

/** Seconds that a service goes on after SIGTERM where nothing is set: as long as load balancers take to notice. At a terminal there is none. */
const usualDrainSeconds = (): number => process.stdin.isTTY || process.stdout.isTTY ? 0 : 5

/** Where a worker tells that it is up; without a port it does not. */
const openWatch = async (
  workers: Workers,
  admin: Admin,
  { host }: Settings,
  port: number | null
): Promise<Port> => {
  if (port === null) return { address: host, port: 0, close: () => Promise.resolve() }
  const { openHealth } = await import("./worker.ts")
  const ready = async (): Promise<boolean> =>
    workers.isReady() &&
    await Effect.runPromise(
      Effect.matchCause(admin.postgres.ping, { onFailure: () => false, onSuccess: (takes) => takes === "writes" })
    )
  try {
    return { address: host, ...await openHealth(host, port, ready, workers.isPaused) }
  } catch (error) {
    throw closedPort(error, host, port)
  }
}

const openListener = async (admin: Admin, settings: Settings, port: number): Promise<Listener> => {
  const { host, requestTimeoutMs } = settings
  try {
    return await listen(admin.edge, {
      port,
      host,
      context: admin.context,
      ...(requestTimeoutMs === null ? {} : { requestTimeoutMs })
    })
  } catch (error) {
    throw closedPort(error, host, port)
  }
}

interface Accounts {
  /** Null when somebody else verifies credentials, or each tenant has its own. */
  readonly auth: Auth | null
  readonly tenantAuths: TenantAuths | null
  /** Whether their own database answers; null: they have none. */
  readonly ready: Effect.Effect<boolean> | null
}

/** An auth server of the process; those of tenants have the same settings. */
const firstOf = ({ auth, tenantAuths }: Accounts): Auth | null => auth ?? tenantAuths?.values().next().value ?? null

/** The accounts, on connections of their own. */
const openAccounts = Effect.fnUntraced(function*(
  { assembly, dev, log, settings }: Start,
  { authUrl, url }: Databases
): Effect.fn.Return<Accounts, never, Scope.Scope> {
  const pool = yield* opened(() => openPool(authUrl, settings.connections.auth, authSilenceMs), ({ end }) => end())
  if (!keepsAccounts(assembly)) return { auth: null, tenantAuths: null, ready: null }
  /** What is written says whose accounts it is about, where each tenant has its own. */
  const moreOf = (whose: { readonly tenant?: string }) => ({
    onError: (cause: unknown) =>
      log.event("error", "auth", { error: classOf(cause), code: codeBehind(cause), ...whose }),
    log: ({ event, level, ...rest }: AuthEvent) => log.event(level, event, { ...rest, ...whose })
  })
  const tenantAuths = makeTenantAuths(assembly, settings, pool, (tenant) => moreOf({ tenant }))
  const auth = tenantAuths === null
    ? makeAuth(assembly, settings, pool, { ...moreOf({}), origins: dev ? tunnelOrigins : [] })
    : null
  if (authUrl === url) return { auth, tenantAuths, ready: null }
  const asked = yield* opened(() => openPool(authUrl, 1, readyMs), ({ end }) => end())
  return { auth, tenantAuths, ready: accountsReady(asked, authMigrations(assembly.compiled)) }
})

/** Where mails go, and the page that shows them to a developer. Throws `StartupError` where mails about accounts have nowhere to go. */
const openMail = (
  { assembly, dev, settings, worker }: Start,
  auth: Auth | null
): { readonly mail: Mail | null; readonly routes: readonly ExtraRoute[] } => {
  const outbox = settings.mail === null && dev ? makeOutbox() : null
  const mail = settings.mail === null ? outbox : smtpMail(settings.mail)
  const accountMails = auth?.mailer?.mails ?? null
  if (accountMails !== null && mail === null && (settings.jobs || worker)) throw new StartupError([noMailServer])
  const templates = [...assembly.compiled.templates.values(), ...accountTemplates(accountMails)]
  return {
    mail,
    routes: dev ? [mailRoute({ mails: outbox?.mails ?? (() => []), sent: outbox === null, templates })] : []
  }
}

/** The database of the service and its pools. */
const databaseOf = ({ settings }: Start, { url }: Databases, { metrics }: Telemetry): PostgresOptions => ({
  url,
  readConnections: settings.connections.read,
  writeConnections: settings.connections.write,
  shortConnections: settings.connections.short,
  ...(settings.readUrls.length === 0 ? {} : {
    replicas: {
      urls: settings.readUrls,
      ...given({
        connections: settings.connections.replica,
        mostLagMs: settings.readLagSeconds === null ? null : settings.readLagSeconds * 1_000
      })
    }
  }),
  ...given({ waitMs: settings.waitMs, onWait: metrics?.onWait, pooler: settings.pooler })
})

/** What serves the metrics of a process that keeps them; null: nobody keeps any. */
const scrapingOf = async ({ context, metrics }: Telemetry): Promise<Scraping | null> =>
  metrics === null ? null : (await import("./scrape.ts")).makeScraping(context, metrics)

/** Opens the port of the metrics. */
const openScraping = async (
  scraping: Scraping,
  host: string,
  port: number,
  log: LogSink
): Promise<OpenPort> => {
  try {
    const open = await scraping.open(host, port)
    log.event("info", "metrics", { address: `http://${host.includes(":") ? `[${host}]` : host}:${open.port}/metrics` })
    return open
  } catch (error) {
    throw closedPort(error, host, port, "SERVICE_METRICS_PORT")
  }
}

/** What the service is told. */
const optionsOf = (
  start: Start,
  databases: Databases,
  telemetry: Telemetry,
  { auth, ready, tenantAuths }: Accounts,
  { mail, routes }: ReturnType<typeof openMail>,
  scraping: Scraping | null
): AdminOptions => {
  const { assembly, liveApp, log, settings } = start
  const { metrics } = telemetry
  return {
    database: databaseOf(start, databases, telemetry),
    authenticator: tenantAuths === null
      ? makeAuthenticator(assembly, auth)
      : makeTenantAuthenticator(assembly, tenantAuths),
    secret: assembly.secret,
    publicUrl: assembly.url,
    log: log.line,
    context: telemetry.context,
    fileSettings: fileSettingsOf(settings),
    extraRoutes: [
      ...routes,
      ...(scraping === null || settings.metrics.token === null ? [] : [scraping.route(settings.metrics.token)]),
      ...start.extraRoutes
    ],
    jobsConnections: settings.connections.jobs,
    ...given({
      auth,
      tenantAuths,
      accountsReady: ready,
      mail,
      liveApp,
      formsSecret: formsSecretsOf(assembly, settings),
      filesSecret: filesSecretsOf(assembly, settings),
      uploadGraceMs: settings.requestTimeoutMs,
      readsOnly: settings.readsOnly || null,
      auditDays: settings.auditDays,
      maxInFlight: settings.maxInFlight,
      drainToken: settings.drainToken,
      measure: metrics?.measure,
      onOutage: metrics?.outage,
      onJobCounts: metrics?.jobs
    })
  }
}

const takesNoChanges: Refusal = {
  resource: null,
  field: null,
  message: "The database takes no changes: it is a standby, or set to read-only.",
  fix:
    "Point DATABASE_URL to the primary, or list all servers (postgres://app@db1,db2/shop): the one that takes writes is used. A process with SERVICE_READS_ONLY=true serves reads only."
}

/** Waits for a database that takes changes: a new primary may be on its way. */
const awaitWrites = async (
  { log, patienceMs, settings }: Start,
  { url }: Databases,
  { postgres }: Admin
): Promise<void> => {
  const end = performance.now() + patienceMs
  for (let pause = 100;; pause = Math.min(pause * 2, 1_000)) {
    const takes = await patiently(() => Effect.runPromise(postgres.ping), url, patienceMs, log)
    if (takes === "writes" || settings.readsOnly) return
    if (performance.now() + pause > end) throw new StartupError([takesNoChanges])
    log.event("warn", "database-read-only", { retryInMs: pause })
    await sleep(pause)
  }
}

/** Waits for migrations and compares the declarations with the database; throws `StartupError` with everything that is wrong. */
const checkAll = async (
  { assembly: { compiled }, log, patienceMs }: Start,
  databases: Databases,
  admin: Admin,
  migrating: Promise<readonly Refusal[]>
): Promise<void> => {
  const check = (): Promise<readonly Refusal[]> =>
    patiently(
      () => Effect.runPromise(checkDatabase(admin.compiled, admin.postgres, databases.embedded)),
      databases.url,
      patienceMs,
      log
    )
  // Both at once, unless the first may make tables that the second looks at.
  const checked = followingMigrations(compiled).length > 0 && databases.embedded ? migrating.then(check) : check()
  const [migrations, facts] = await Promise.allSettled([migrating, checked])
  if (migrations.status === "rejected") throw migrations.reason
  if (facts.status === "rejected") throw facts.reason
  const refusals = [...migrations.value, ...facts.value]
  if (refusals.length > 0) throw new StartupError(refusals)
}

/** Starts the jobs of this process; null: it runs none. */
const startJobs = async (
  { assembly: { compiled }, log, patienceMs, settings, worker }: Start,
  { url }: Databases,
  admin: Admin
): Promise<Workers | null> => {
  const hasJobs = needsQueue(compiled) || hasEvents(compiled)
  if (worker && !hasJobs) throw new StartupError([noJobs])
  return hasJobs && (settings.jobs || worker) ? patiently(admin.startJobs, url, patienceMs, log) : null
}

/** Opens the port last: nothing reaches a service that is not whole. */
const openPort = (
  { assembly, port, settings, worker }: Start,
  admin: Admin,
  workers: Workers | null
): Promise<Port> =>
  worker
    ? openWatch(workers!, admin, settings, port ?? settings.port)
    : openListener(admin, settings, port ?? portOf(settings, assembly.url))

/** Starts everything in a scope, which closes it. Fails as the first step that cannot be done. */
export const startAll = Effect.fnUntraced(function*(start: Start): Effect.fn.Return<Started, never, Scope.Scope> {
  const { assembly, env, log, patienceMs, settings } = start
  const { compiled } = assembly
  if (settings.metrics.token !== null && compiled.models.has("metrics")) throw new StartupError([metricsTaken])
  const scraped = settings.metrics.port !== null || settings.metrics.token !== null
  const telemetry = yield* opened(() => openTelemetry(env, scraped), ({ close }) => close())
  const scraping = scraped ? yield* Effect.promise(() => scrapingOf(telemetry)) : null
  const databases = yield* opened(
    () => openDatabases(settings, assembly.config.db, (message) => log.event("warn", "database", { message })),
    ({ release }) => release()
  )
  const ending = new AbortController()
  const migrating = migrate(
    databases,
    [serviceMigrationOf(compiled), ...jobsMigrations(compiled)],
    keepsAccounts(assembly) ? authMigrations(compiled) : [],
    followingMigrations(compiled),
    patienceMs,
    log,
    ending.signal
  )
  // It is waited for below. A start that fails before ends it, and lets the databases go only then.
  const over = migrating.then(() => {}, () => {})
  yield* Effect.addFinalizer(() =>
    Effect.promise(() => {
      ending.abort()
      return over
    })
  )
  const accounts = yield* openAccounts(start, databases)
  const options = optionsOf(start, databases, telemetry, accounts, openMail(start, firstOf(accounts)), scraping)
  const admin = yield* opened(() => createAdmin(assembly.config, options), ({ close }) => close())
  telemetry.metrics?.watch(admin.postgres, admin.replicas)
  scraping?.watch(admin)
  yield* Effect.promise(() => checkAll(start, databases, admin, migrating))
  yield* Effect.promise(() => awaitWrites(start, databases, admin))
  const workers = yield* Effect.promise(() => startJobs(start, databases, admin))
  if (compiled.files.used && settings.files.cleanupMinutes > 0 && !settings.readsOnly) {
    yield* opened(
      () => repeat(settings.files.cleanupMinutes, async () => telemetry.metrics?.cleaned(await admin.cleanFiles())),
      ({ close }) => close()
    )
  }
  if (!settings.readsOnly) {
    const clean = (): Promise<unknown> =>
      admin.cleanAudit().catch((error: unknown) => log.event("warn", "audit-cleanup", { code: codeBehind(error) }))
    yield* opened(() => repeat(cleanAuditMinutes, clean), ({ close }) => close())
  }
  const { metrics: { port: metricsPort } } = settings
  if (scraping !== null && metricsPort !== null) {
    yield* opened(() => openScraping(scraping, settings.host, metricsPort, log), ({ close }) => close())
  }
  // Jobs have longer to finish than requests: they begin to when the listener does.
  const outermost = yield* Scope.fork(yield* Effect.scope, "parallel")
  if (workers !== null) yield* Scope.addFinalizer(outermost, Effect.promise(workers.stop))
  const { address, drain, port } = yield* Scope.provide(
    opened(() => openPort(start, admin, workers), ({ close }) => close()),
    outermost
  )
  // The first sign-in would otherwise wait for what this loads. A failure shows at that sign-in.
  firstOf(accounts)?.warm().catch(() => {})
  return {
    admin,
    auth: accounts.auth,
    tenantAuths: accounts.tenantAuths,
    address,
    port,
    drain: () => drain?.((settings.drainSeconds ?? usualDrainSeconds()) * 1_000) ?? Promise.resolve()
  }
})
