/**
 * A running server: opens databases, checks everything, builds the service, and only then the port (`start.ts`). It decides what happens on signals, and what a
 * person is told. It answers no request itself.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Auth } from "../adapters/auth/auth.ts"
import { errorLine, unfailing } from "../adapters/http/access-log.ts"
import type { ExtraRoute } from "../adapters/http/handle.ts"
import type { LiveApp } from "../adapters/http/web-app.ts"
import { AccountError } from "../core/domain/account/account.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { Config } from "../core/domain/declare/config.ts"
import { assemble } from "./assembly.ts"
import type { Admin } from "./create-admin.ts"
import { settingsOf } from "./environment.ts"
import type { Settings } from "./environment.ts"
import { openLog } from "./log.ts"
import type { LogSink } from "./log.ts"
import { onSignal } from "./parent.ts"
import { startAll } from "./start.ts"
import { fileProblem, StartupError } from "./startup-error.ts"
import type { TenantAuths } from "./tenants.ts"

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
  /** Null when somebody else verifies credentials, or each tenant has its own. */
  readonly auth: Auth | null
  /** The auth servers of the tenants, where requests decide the tenant (`fromHost`) and this service keeps the accounts. */
  readonly tenantAuths: TenantAuths | null
  /** Logs something that went wrong outside of any request: what kind of error and where, never its text. */
  readonly report: (event: string, error: unknown) => void
  /**
   * Goes on answering for `SERVICE_DRAIN_SECONDS` while `/readyz` says 503 and each answer closes its connection, so that load balancers send requests
   * elsewhere. Call it before `close`.
   */
  readonly drain: () => Promise<void>
  /** Stops accepting, lets running requests finish, closes connections, lets the embedded database go. May be called again. */
  readonly close: () => Promise<void>
}

/** How long a start waits for a database that cannot be reached, in milliseconds. */
const usualPatienceMs = 10_000

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
  const scope = Scope.makeUnsafe()
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => closing ??= Effect.runPromise(Scope.close(scope, Exit.void))
  const inScope = <A>(effect: Effect.Effect<A, never, Scope.Scope>): Promise<A> =>
    Effect.runPromise(Scope.provide(effect, scope))
  try {
    await inScope(Effect.addFinalizer(() => Effect.sync(log.flush)))
    const { address, admin, auth, drain, port, tenantAuths } = await inScope(startAll({
      assembly,
      settings: read.settings,
      log,
      env: options.env ?? process.env,
      dev: options.dev === true,
      worker: options.worker === true,
      port: options.port,
      extraRoutes: options.extraRoutes ?? [],
      liveApp: options.liveApp,
      patienceMs: options.patienceMs ?? usualPatienceMs
    }))
    const host = address.includes(":") ? `[${address}]` : address
    const place = `http://${host}:${port}`
    if (options.worker === true) {
      log.event("info", "working", { jobs: assembly.compiled.jobs.size, ...(port === 0 ? {} : { address: place }) })
    } else log.event("info", "listening", { address: place, url: assembly.url })
    await inScope(Effect.addFinalizer(() => Effect.sync(() => log.event("info", "closing"))))
    return {
      address: place,
      port,
      url: assembly.url,
      admin,
      auth,
      tenantAuths,
      report: (event, error) => log.line(errorLine(event, "", error)),
      drain,
      close
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** What to tell a person about a failed start: refusals and files that cannot be used as they are, anything else with its stack. */
export const explain = (error: unknown): string =>
  error instanceof StartupError || error instanceof AccountError
    || (error instanceof Error && error.name === "EmbeddedDatabaseError")
    ? error.message
    : fileProblem(error) ?? (error instanceof Error ? error.stack ?? error.message : String(error))

/** Longest time from the end of the drain to the end of the process, in milliseconds: jobs have 30 seconds, and what they leave is given back. */
const closingMs = 40_000

/** Drains and closes the server, and ends the process. */
const endWith = async (server: Pick<Server, "close" | "drain">, limitMs: number): Promise<never> => {
  try {
    await server.drain()
    // A database that hangs answers neither a statement nor the end of a connection. Nothing that was acknowledged is lost: a job that is held runs again.
    const late = setTimeout(() => {
      process.stderr.write(`The service did not close within ${limitMs / 1_000} seconds, so its process ends now.\n`)
      process.exit(1)
    }, limitMs)
    await server.close()
    clearTimeout(late)
    return process.exit(0)
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`)
    return process.exit(1)
  }
}

/** Drains and closes the server at the first SIGTERM or SIGINT and ends the process; a second one ends it at once. */
export const closeOnSignal = (server: Pick<Server, "close" | "drain">, limitMs = closingMs): void =>
  onSignal(() => void endWith(server, limitMs))

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
