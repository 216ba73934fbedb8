/**
 * A running server: opens databases, checks everything, builds the service, and only then the port. It decides the order of starting and
 * of stopping, and what happens on signals. It answers no request itself.
 */

import * as Effect from "effect/Effect"
import type { Auth } from "../adapters/auth/auth.ts"
import { codeBehind, errorLine, unfailing } from "../adapters/http/access-log.ts"
import type { ExtraRoute } from "../adapters/http/handle.ts"
import { mailRoute } from "../adapters/http/mail-page.ts"
import { listen } from "../adapters/http/node.ts"
import type { Listener } from "../adapters/http/node.ts"
import type { LiveApp } from "../adapters/http/web-app.ts"
import { makeOutbox } from "../adapters/mail/outbox.ts"
import { smtpMail } from "../adapters/mail/smtp.ts"
import { AccountError } from "../core/domain/account/account.ts"
import { hasEvents, needsQueue } from "../core/domain/compile/compile.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { Config } from "../core/domain/declare/config.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { defaultSchemas, type Schemas } from "../core/domain/declare/schemas.ts"
import { accountTemplates } from "../core/domain/mail/account.ts"
import { classOf } from "../core/domain/thrown.ts"
import type { Workers } from "../core/ports/queue.ts"
import { assemble, fileSettingsOf, keepsAccounts, makeAuth, makeAuthenticator, tunnelOrigins } from "./assembly.ts"
import type { Assembly } from "./assembly.ts"
import { createAdmin } from "./create-admin.ts"
import type { Admin } from "./create-admin.ts"
import { openDatabases, openPool } from "./database.ts"
import type { Databases, LazyPool } from "./database.ts"
import { portOf, settingsOf } from "./environment.ts"
import type { Settings } from "./environment.ts"
import { repeat } from "./files.ts"
import { openLog } from "./log.ts"
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
import { onSignal } from "./parent.ts"
import { holderOf, takenPort } from "./port-holder.ts"
import { fileProblem, StartupError } from "./startup-error.ts"
import { checkDatabase } from "./startup.ts"
import { openTelemetry } from "./telemetry.ts"
import { isDown, refusalOf } from "./unreachable.ts"

/** How a server is started. Everything may be left out. */
export interface ServerOptions {
  /** The project's folder: where `.env` and `data/` are. Default: the working directory. */
  readonly folder?: string
  /** Variables instead of the process's own and the `.env` file's. */
  readonly env?: { readonly [name: string]: string | undefined }
  /** Overrides the port of the settings; 0 picks a free one. */
  readonly port?: number
  /** Development: public tunnels may sign in, and mails are kept for `/-/mail` where no mail server is configured. */
  readonly dev?: boolean
  /** Runs jobs and serves no API; with a port (`port`, or `PORT`), `/livez` and `/readyz` answer there. */
  readonly worker?: boolean
  readonly extraRoutes?: readonly ExtraRoute[]
  /** The admin app from its sources, in place of the built one. */
  readonly liveApp?: LiveApp
  /** Takes log lines instead of standard output. */
  readonly log?: (line: string) => void
  /** How long to wait for a database that cannot be reached at start, in milliseconds. Default 10,000. */
  readonly patienceMs?: number
}

/** A server that answers. */
export interface Server {
  /** Where it listens: `http://127.0.0.1:5173`. */
  readonly address: string
  readonly port: number
  /** The public URL. */
  readonly url: string
  readonly admin: Admin
  /** Null when somebody else verifies credentials. */
  readonly auth: Auth | null
  /** Logs something that went wrong outside of any request: what kind of error and where, never its text. */
  readonly report: (event: string, error: unknown) => void
  /** Stops accepting, lets running requests finish, closes connections, lets the embedded database go. May be called again. */
  readonly close: () => Promise<void>
}

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

/** Tries again while a database cannot be reached, for so long. What another try cannot change is refused at once. */
const patiently = async <A>(work: () => Promise<A>, url: string, patienceMs: number, log: LogSink): Promise<A> => {
  const end = performance.now() + patienceMs
  for (let pause = 100;; pause = Math.min(pause * 2, 1_000)) {
    try {
      return await work()
    } catch (error) {
      const { final, refusal } = refusalOf(error, url)
      if (!final && !isDown(error)) throw error
      if (final || performance.now() + pause > end) throw new StartupError([refusal])
      log.event("warn", "database-unreachable", { retryInMs: pause })
      await new Promise((done) => setTimeout(done, pause))
    }
  }
}

/** The service's own tables: made in the embedded database, asked for in any other. */
const settleMigrations = async (
  databases: Databases,
  own: readonly Migration[],
  accounts: readonly Migration[],
  versions: readonly Migration[],
  patienceMs: number,
  log: LogSink
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
      const missing = await patiently(() => findMissing(pool, wanted), url, patienceMs, log)
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

/** What has to be closed, in the order in which it was opened. */
class Opened {
  readonly #closers: Array<() => Promise<void>> = []
  add(close: () => Promise<void>): void {
    this.#closers.push(close)
  }
  /** Last opened, first closed; a failure does not keep the rest open. */
  async close(): Promise<void> {
    const errors: unknown[] = []
    for (const close of this.#closers.splice(0).toReversed()) {
      try {
        await close()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
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

const build = async (
  assembly: Assembly,
  settings: Settings,
  options: ServerOptions,
  log: LogSink,
  opened: Opened
): Promise<Server> => {
  const telemetry = await openTelemetry(options.env ?? process.env)
  opened.add(telemetry.close)
  const databases = await openDatabases(
    settings,
    assembly.config.db,
    (line) => log.event("warn", "database", { message: line })
  )
  opened.add(databases.release)
  const accounts = keepsAccounts(assembly)
  const patienceMs = options.patienceMs ?? 10_000
  const versions = followingMigrations(assembly.compiled)
  const settled = settleMigrations(
    databases,
    [serviceMigrationOf(assembly.compiled), ...jobsMigrations(assembly.compiled)],
    accounts ? authMigrations(assembly.compiled) : [],
    versions,
    patienceMs,
    log
  )
  // It is waited for below; until then a failure of it must not count as one that nobody handles.
  settled.catch(() => {})

  const pool = openPool(databases.authUrl, settings.authConnections, authSilenceMs)
  opened.add(pool.end)
  const auth = accounts
    ? makeAuth(assembly, settings, pool, {
      origins: options.dev === true ? tunnelOrigins : [],
      onError: (cause) =>
        log.event("error", "auth", {
          error: classOf(cause),
          code: codeBehind(cause)
        }),
      log: ({ event, level, ...rest }) => log.event(level, event, rest)
    })
    : null
  const asked = auth === null || databases.authUrl === databases.url ? null : openPool(databases.authUrl, 1, readyMs)
  if (asked !== null) opened.add(asked.end)
  const outbox = settings.mail === null && options.dev === true ? makeOutbox() : null
  const mail = settings.mail === null ? outbox : smtpMail(settings.mail)
  const accountMails = auth?.mailer?.mails ?? null
  if (accountMails !== null && mail === null && (settings.jobs || options.worker === true)) {
    throw new StartupError([noMailServer])
  }
  const templates = [...assembly.compiled.templates.values(), ...accountTemplates(accountMails)]
  const mailPage = options.dev === true
    ? [mailRoute({ mails: outbox?.mails ?? (() => []), sent: outbox === null, templates })]
    : []
  const admin = await createAdmin(assembly.config, {
    database: {
      url: databases.url,
      readConnections: settings.readConnections,
      writeConnections: settings.writeConnections,
      ...(settings.waitMs === null ? {} : { waitMs: settings.waitMs }),
      ...(telemetry.metrics === null ? {} : { onWait: telemetry.metrics.onWait }),
      ...(settings.pooler === null ? {} : { pooler: settings.pooler })
    },
    authenticator: makeAuthenticator(assembly, auth),
    secret: assembly.secret,
    ...(settings.formsSecret === null ? {} : { formsSecret: settings.formsSecret }),
    publicUrl: assembly.url,
    log: log.line,
    context: telemetry.context,
    fileSettings: fileSettingsOf(settings),
    ...(assembly.compiled.files.secret !== null || settings.files.secret === null
      ? {}
      : { filesSecret: settings.files.secret }),
    ...(settings.requestTimeoutMs === null ? {} : { uploadGraceMs: settings.requestTimeoutMs }),
    ...(telemetry.metrics === null ? {} : { measure: telemetry.metrics.measure }),
    ...(settings.maxInFlight === null ? {} : { maxInFlight: settings.maxInFlight }),
    ...(auth === null ? {} : { auth }),
    ...(asked === null ? {} : { accountsReady: accountsReady(asked, authMigrations(assembly.compiled)) }),
    ...(mail === null ? {} : { mail }),
    extraRoutes: [...mailPage, ...options.extraRoutes ?? []],
    ...(options.liveApp === undefined ? {} : { liveApp: options.liveApp }),
    ...(settings.drainToken === null ? {} : { drainToken: settings.drainToken }),
    ...(telemetry.metrics === null ? {} : { onJobCounts: telemetry.metrics.jobs }),
    jobsConnections: settings.jobsConnections
  })
  opened.add(admin.close)
  telemetry.metrics?.watch(admin.postgres)

  const check = () =>
    patiently(
      () => Effect.runPromise(checkDatabase(admin.compiled, admin.postgres, databases.embedded)),
      databases.url,
      patienceMs,
      log
    )
  // Both at once, unless the first may make tables that the second looks at.
  const checked = versions.length > 0 && databases.embedded ? settled.then(check) : check()
  const [migrations, facts] = await Promise.allSettled([settled, checked])
  if (migrations.status === "rejected") throw migrations.reason
  if (facts.status === "rejected") throw facts.reason
  const refusals = [...migrations.value, ...facts.value]
  if (refusals.length > 0) throw new StartupError(refusals)
  const hasJobs = needsQueue(assembly.compiled) || hasEvents(assembly.compiled)
  if (options.worker === true && !hasJobs) throw new StartupError([noJobs])
  const workers = hasJobs && (settings.jobs || options.worker === true)
    ? await patiently(admin.startJobs, databases.url, patienceMs, log)
    : null

  const listener = options.worker === true
    ? await openWatch(workers!, admin, settings, options.port ?? settings.port)
    : await openListener(admin, settings, options.port ?? portOf(settings, assembly.url))
  if (assembly.compiled.files.used && settings.files.cleanupMinutes > 0) {
    opened.add(repeat(settings.files.cleanupMinutes, admin.cleanFiles).close)
  }
  opened.add(listener.close)
  const host = listener.address.includes(":") ? `[${listener.address}]` : listener.address
  // The first sign-in would otherwise wait for what this loads. A failure shows at that sign-in.
  auth?.warm().catch(() => {})
  let closing: Promise<void> | undefined
  return {
    address: `http://${host}:${listener.port}`,
    port: listener.port,
    url: assembly.url,
    admin,
    auth,
    report: (event, error) => log.line(errorLine(event, "", error)),
    close: () => {
      // Jobs have longer to finish than requests: they begin to when the listener does.
      void workers?.stop()
      return closing ??= opened.close()
    }
  }
}

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
const closedPort = (error: unknown, host: string, port: number): StartupError => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
  const taken = code === "EADDRINUSE" ? takenPort(port, holderOf(port), process.platform) : null
  return new StartupError([{
    resource: null,
    field: null,
    message: `Port ${port} of ${host} cannot be opened (${code})${taken === null ? "." : `: ${taken.by}.`}`,
    fix: taken?.fix ?? "Set PORT and SERVICE_HOST to what this machine has."
  }])
}

/** Where a worker tells that it is up; without a port it does not. */
const openWatch = async (
  workers: Workers,
  admin: Admin,
  { host }: Settings,
  port: number | null
): Promise<Pick<Listener, "address" | "port" | "close">> => {
  if (port === null) return { address: host, port: 0, close: () => Promise.resolve() }
  const { openHealth } = await import("./worker.ts")
  const ready = async (): Promise<boolean> =>
    workers.isReady() &&
    await Effect.runPromise(Effect.matchCause(admin.postgres.ping, { onFailure: () => false, onSuccess: () => true }))
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

/** The sink that settings ask for: standard output unless the caller takes the lines. */
const sinkOf = (settings: Settings, { log }: ServerOptions): LogSink =>
  log !== undefined
    ? openLog("json", (text) => text.trimEnd().split("\n").forEach(unfailing(log)))
    : openLog(settings.log ?? (process.stdout.isTTY ? "pretty" : "json"), (text) => process.stdout.write(text))

/**
 * Starts a server and resolves once it answers. Everything wrong with configuration, environment and database is one `StartupError`; the
 * port is not opened then, and nothing is left open. Signals are the caller's business: see `runServer`.
 */
export const startServer = async (config: Config, options: ServerOptions = {}): Promise<Server> => {
  const read = settingsOf(options)
  const assembly = assemble(config, read)
  const log = sinkOf(read.settings, options)
  const opened = new Opened()
  opened.add(() => Promise.resolve(log.flush()))
  try {
    const server = await build(assembly, read.settings, options, log, opened)
    if (options.worker === true) {
      const place = server.port === 0 ? {} : { address: server.address }
      log.event("info", "working", { jobs: assembly.compiled.jobs.size, ...place })
    } else log.event("info", "listening", { address: server.address, url: server.url })
    opened.add(() => Promise.resolve(log.event("info", "closing")))
    return server
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** What to tell a person about a failed start: refusals and files that cannot be used as they are, anything else with its stack. */
export const explain = (error: unknown): string =>
  error instanceof StartupError || error instanceof AccountError
    || (error instanceof Error && error.name === "EmbeddedDatabaseError")
    ? error.message
    : fileProblem(error) ?? (error instanceof Error ? error.stack ?? error.message : String(error))

/** Closes the server at the first SIGTERM or SIGINT and ends the process; a second one ends it at once. */
export const closeOnSignal = (server: Pick<Server, "close">): void =>
  onSignal(() => {
    server.close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${explain(error)}\n`)
        process.exit(1)
      }
    )
  })

/**
 * Two things must not end a server that many use: a rejected promise of a hook or rule that no code waited for, and a reader of the log that
 * went away. An exception that nobody caught still ends it, as nobody knows then what state it left.
 */
const outlive = (server: Pick<Server, "report">): void => {
  process.on("unhandledRejection", (error) => server.report("unhandled rejection", error))
  process.stdout.on("error", () => {})
  process.stderr.on("error", () => {})
}

/**
 * Starts a server as the main thing of a process: prints why when it cannot start (exit code 1), and stops it on signals. Resolves once it
 * answers, with null when it did not start.
 */
export const runServer = async (config: Config, options: ServerOptions = {}): Promise<Server | null> => {
  try {
    const server = await startServer(config, options)
    closeOnSignal(server)
    outlive(server)
    if (process.stdout.isTTY && options.worker !== true) await greet(server)
    return server
  } catch (error) {
    process.stderr.write(`${explain(error).trimEnd()}\n`)
    process.exitCode = 1
    return null
  }
}

/** Where to go first, for a person at a terminal. */
const greet = async (server: Server): Promise<void> => {
  const { basePath } = server.admin.compiled.options
  const needsAdmin = await server.auth?.needsAdmin() ?? false
  process.stdout.write(
    `\n  API   ${server.url}${basePath}\n  Docs  ${server.url}${parentPath(basePath)}/docs\n${
      needsAdmin ? "\n  There is no user yet: service users create <EMAIL> --generate-password\n" : ""
    }\n`
  )
}
