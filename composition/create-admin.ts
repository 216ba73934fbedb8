/**
 * Puts a configuration, a database and an authenticator together into one web-standard service: `fetch` in, `close` at the end. The
 * only place where ports meet adapters; nothing of Node stands in its types.
 */

import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { accountsOf } from "../adapters/auth/accounts.ts"
import type { Auth } from "../adapters/auth/auth.ts"
import { tokensOf } from "../adapters/auth/authenticator.ts"
import type { Authenticator } from "../adapters/auth/authenticator.ts"
import { builtInAuthenticator } from "../adapters/auth/built-in.ts"
import { codeBehind, jobsLine, ruleLine } from "../adapters/http/access-log.ts"
import { docsRoutes } from "../adapters/http/docs.ts"
import { makeFetch } from "../adapters/http/fetch.ts"
import type { Fetch } from "../adapters/http/fetch.ts"
import { fileRoutes } from "../adapters/http/files.ts"
import { formRoutes } from "../adapters/http/forms.ts"
import { makeEdge } from "../adapters/http/handle.ts"
import type { Edge, EdgeOptions, ExtraRoute } from "../adapters/http/handle.ts"
import type { Readiness } from "../adapters/http/health.ts"
import { hookRoutes } from "../adapters/http/hooks.ts"
import { jobRoutes } from "../adapters/http/jobs.ts"
import { savedViewRoutes } from "../adapters/http/saved-views.ts"
import type { LiveApp } from "../adapters/http/web-app.ts"
import { AddressError, readAddress } from "../adapters/postgres/address.ts"
import { makePostgres } from "../adapters/postgres/connection.ts"
import type { Postgres, PostgresOptions } from "../adapters/postgres/connection.ts"
import { makeRecords } from "../adapters/postgres/records.ts"
import { makeSavedViews } from "../adapters/postgres/saved-views.ts"
import { makeSubmissions } from "../adapters/postgres/submissions.ts"
import { enqueuesItself } from "../adapters/queue/enqueue.ts"
import { makeSeal, sha256 } from "../adapters/seal/seal.ts"
import { isSigned } from "../adapters/seal/webhook.ts"
import type { App } from "../core/app/app.ts"
import type { Watching } from "../core/app/event/watch.ts"
import { cleanup } from "../core/app/file/cleanup.ts"
import type { CleanupResult } from "../core/app/file/cleanup.ts"
import { deriveJob, deriveJobName } from "../core/app/file/derive-job.ts"
import { deriveTargets } from "../core/app/file/derive.ts"
import { download } from "../core/app/file/download.ts"
import { makeForms } from "../core/app/form/form.ts"
import type { Core, NamesOf, RecordCheck } from "../core/app/ground/core.ts"
import { RowEstimates } from "../core/app/ground/estimate.ts"
import { makeJudgements } from "../core/app/ground/guard.ts"
import { recordsProblem } from "../core/app/ground/refusal.ts"
import { RecentVersions } from "../core/app/ground/versions.ts"
import { type HookLimits, makeHooks } from "../core/app/hook/hook.ts"
import { makeQueueApp } from "../core/app/job/queue.ts"
import { makeApp } from "../core/app/make-app.ts"
import { makeSavedViewsApp } from "../core/app/saved-view/saved-views.ts"
import type { TaskParts } from "../core/app/task/parts.ts"
import { taskJob } from "../core/app/task/run.ts"
import { makeTasks } from "../core/app/task/tasks.ts"
import { makeAccessResolver, type RuleFailed } from "../core/domain/access/resolve.ts"
import type { AccessResolver } from "../core/domain/access/resolve.ts"
import { isPlainUrl } from "../core/domain/account/origin.ts"
import { compileModels, hasEvents, needsQueue } from "../core/domain/compile/compile.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { Config } from "../core/domain/declare/config.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { shown, shownAddress } from "../core/domain/declare/refusal.ts"
import { subscriptionsName } from "../core/domain/declare/webhooks.ts"
import type { JobCounts } from "../core/domain/job/state.ts"
import type { Mail } from "../core/domain/mail/message.ts"
import { outageOf, outageProblem } from "../core/domain/outage.ts"
import { problem } from "../core/domain/problem.ts"
import type { Problem } from "../core/domain/problem.ts"
import { classOf } from "../core/domain/thrown.ts"
import type { AccountsService } from "../core/ports/accounts.ts"
import type { QueueService, Workers } from "../core/ports/queue.ts"
import type { RecordsService } from "../core/ports/records.ts"
import type { SavedViewsService } from "../core/ports/saved-views.ts"
import type { SubmissionsService } from "../core/ports/submissions.ts"
import { makeAuthenticator } from "./assembly.ts"
import { makeDocuments } from "./documents.ts"
import { defaultUrl } from "./environment.ts"
import { type Events, makeEvents, type OwnerRoles } from "./events.ts"
import { makeFiles } from "./files.ts"
import type { FileParts, FileSettings } from "./files.ts"
import { type AdminDatabase, type Jobs, makeJobs } from "./jobs.ts"
import { StartupError } from "./startup-error.ts"
import { makeTaskParts, taskingOn } from "./tasks.ts"
import { webFolder, webRoutes } from "./web.ts"

/** Compiles a configuration or throws a `StartupError` with everything that is wrong with it. */
export const compileOrThrow = (config: Config): Compiled => {
  const compiled = compileModels(config)
  if (Result.isFailure(compiled)) throw new StartupError(compiled.failure)
  return compiled.success
}

/** What the service is put together from besides its declarations. */
export interface Parts {
  readonly compiled: Compiled
  readonly records: RecordsService
  readonly authenticator: Authenticator
  /** The deployment's secret (`AUTH_SECRET`), the same in every instance: page tokens and ETags are keyed by it. */
  readonly secret: string
  /** Public URL of the API. */
  readonly publicUrl: string
  /** Where submissions of public forms are counted, and requests that hooks deny; needed where there are forms or hooks. */
  readonly submissions?: SubmissionsService
  /** Where saved views are kept. Without it there are none. */
  readonly savedViews?: SavedViewsService
  /** Seals challenges of forms instead of `secret` (`SERVICE_FORMS_SECRET`), the same in every instance. */
  readonly formsSecret?: string
  readonly auth?: EdgeOptions["auth"]
  readonly authStatus?: EdgeOptions["authStatus"]
  /** What accounts are called in histories. Default: the names of `auth`. */
  readonly namesOf?: NamesOf
  readonly extraRoutes?: readonly ExtraRoute[]
  readonly ready?: Effect.Effect<Readiness>
  /** Whether the accounts answer that have a database of their own. It counts for readiness, beside the records. */
  readonly accountsReady?: Effect.Effect<boolean>
  readonly log?: (line: string) => void
  readonly measure?: EdgeOptions["measure"]
  readonly maxInFlight?: number
  /** The queue and who runs it here: for the routes below `/api/jobs`. Without it there are none. */
  readonly jobs?: Pick<Jobs, "queue" | "workers">
  /** What bulk changes and imports are kept and run by. Without it there are none. */
  readonly tasks?: TaskParts
  /** What strangers may cost who send to hooks, for tests. */
  readonly hookLimits?: Partial<HookLimits>
  /** The operator's token of `POST /api/jobs/drain`; without it there is no such route. */
  readonly drainToken?: string
  /** The folder of the built admin app. Default: the one that the package brings. */
  readonly webFolder?: string
  /** The admin app from its sources, in place of the built one. */
  readonly liveApp?: LiveApp
  readonly maxUploads?: number
  readonly uploadGraceMs?: number
  /** Where folders of files are, and the keys of buckets. Default: below the working directory, and no keys. */
  readonly fileSettings?: FileSettings
  /** Signs tickets and links of files. Default: `files.secret` of the configuration, else `secret`. */
  readonly filesSecret?: string
  /** Storages and images instead of the configured ones, for tests. */
  readonly files?: FileParts
}

const noAccounts = (): Problem => problem("unavailable", "The accounts cannot be read now.", {}, { "retry-after": "5" })

/** Milliseconds that an answer about readiness stands. */
const readyMs = 250

/** Whether the databases answer. They are asked once for everybody who wants to know at the same time, as anybody may ask. */
const makeReadiness = (
  ping: RecordsService["ping"],
  accounts: Effect.Effect<boolean> = Effect.succeed(true)
): Effect.Effect<Readiness> => {
  const records = Effect.matchCause(ping, {
    onFailure: (cause): Readiness => {
      const outage = outageOf(Cause.squash(cause))
      return outage === null ? false : outageProblem(outage)
    },
    onSuccess: (takes): Readiness => takes === "writes" || "read-only"
  })
  const asked = Effect.map(
    Effect.all([records, accounts], { concurrency: 2 }),
    ([first, second]): Readiness => (first === true || first === "read-only") && !second ? noAccounts() : first
  )
  let answer: Promise<Readiness> | undefined
  let until = Number.POSITIVE_INFINITY
  return Effect.promise(() => {
    if (answer === undefined || performance.now() > until) {
      until = Number.POSITIVE_INFINITY
      answer = Effect.runPromise(asked).finally(() => {
        until = performance.now() + readyMs
      })
    }
    return answer
  })
}

/** The routes of public forms, where there are any. */
const formsOf = (parts: Parts, core: Core, resolver: AccessResolver): readonly ExtraRoute[] => {
  const { compiled: { forms, formSettings, options }, formsSecret, log, submissions } = parts
  if (forms.size === 0) return []
  if (submissions === undefined) throw new Error("Forms need something to count submissions.")
  const seal = formsSecret === undefined ? core.seal : makeSeal(formsSecret)
  const app = makeForms(core, { forms, settings: formSettings, resolver, submissions, seal, sha256 })
  return formRoutes({ forms: app, parent: parentPath(options.basePath), log })
}

/** The routes of hooks, where there are any. */
const hooksOf = (parts: Parts, core: Core): readonly ExtraRoute[] => {
  const { compiled: { hooks, options }, hookLimits, jobs, log, submissions } = parts
  if (hooks.size === 0) return []
  if (submissions === undefined || jobs === undefined) throw new Error("Hooks need a queue, and what counts requests.")
  const app = makeHooks(core, {
    hooks,
    queue: jobs.queue,
    submissions,
    isSigned,
    denied: (hook, reason, thrown) =>
      log?.(JSON.stringify({
        level: "warn",
        time: new Date().toISOString(),
        event: "hook-denied",
        hook,
        reason,
        ...(thrown === null ? {} : { thrown })
      })),
    ...(hookLimits === undefined ? {} : { limits: hookLimits })
  })
  return hookRoutes(app, parentPath(options.basePath))
}

/** Files of a service that no environment says anything about. */
const usualFileSettings = (): FileSettings => ({
  folder: process.cwd(),
  data: `${process.cwd()}/data`,
  keys: () => null,
  retention: null
})

/** A line of the log about files: what kind of failure it was, never its text. */
const fileLine = (event: string, details: { readonly [name: string]: unknown }, cause: unknown): string =>
  JSON.stringify({
    level: cause === undefined && event === "file-cleanup" ? "info" : "warn",
    time: new Date().toISOString(),
    event,
    ...details,
    ...(cause === undefined
      ? {}
      : { error: classOf(cause), code: codeBehind(cause) })
  })

/** What the use cases of a service stand on. */
export interface Foundation {
  readonly core: Core
  readonly resolver: AccessResolver
}

/** The foundation over given parts. `changed` is told after a commit that left changes to dispatch. */
export const makeFoundation = (
  parts: Pick<Parts, "compiled" | "records" | "secret" | "fileSettings" | "filesSecret" | "files" | "log" | "namesOf">,
  changed: () => void = () => {},
  checks: Core["checks"] = new Map()
): Foundation => {
  const { compiled, log, records, secret } = parts
  const { options } = compiled
  const seal = makeSeal(secret)
  const resolver = makeAccessResolver(compiled.models, compiled.rules, compiled.defaults, ruleLog(parts.log))
  const files = makeFiles(
    compiled,
    parts.fileSettings ?? usualFileSettings(),
    parts.filesSecret ?? compiled.files.secret ?? secret,
    (event, { cause, ...details }) => log?.(fileLine(event, details, cause)),
    parts.files
  )
  const core: Core = {
    ...(parts.namesOf === undefined ? {} : { namesOf: parts.namesOf }),
    changed,
    checks,
    models: compiled.models,
    records,
    seal,
    options: {
      basePath: options.basePath,
      scanGuard: options.scanGuard,
      rowPermissions: (resource) => options.rowPermissions !== null && !options.rowPermissions.except.has(resource),
      writeHooks: options.writeHooks,
      statementTimeoutMs: options.statementTimeoutMs,
      maxAnswerBytes: options.maxAnswerBytes,
      maxBatchBytes: options.maxBatchBytes,
      queueSchema: compiled.schemas.jobs
    },
    estimates: new RowEstimates(),
    judgements: makeJudgements(),
    versions: new RecentVersions(),
    items: { digest: seal.digest, hash: seal.hash, files: files?.links ?? null },
    files
  }
  return { core, resolver }
}

/** Milliseconds in which a rule that throws is logged once. */
const ruleLogMs = 60_000

/** Writes which rule threw, what kind of error and where, never its text, which may quote values. A rule that always throws has one line a minute. */
const ruleLog = (log: Parts["log"]): RuleFailed => {
  const last = new Map<string, number>()
  return (resource, place, error) => {
    const rule = `access.${place}`
    const name = `${resource} ${rule}`
    if (performance.now() - (last.get(name) ?? -Infinity) < ruleLogMs) return
    last.set(name, performance.now())
    log?.(ruleLine(resource, rule, error))
  }
}

/** The edge of a service over given parts: fakes in tests, PostgreSQL in `createAdmin`. */
export const makeService = (
  parts: Parts,
  foundation: Foundation = makeFoundation(parts),
  more: { readonly verb?: App["verb"]; readonly watching?: Watching } = {}
): Edge => {
  const { compiled, records } = parts
  const { options } = compiled
  const { core, resolver } = foundation
  const { files, seal } = core
  const authPath = parts.auth === undefined ? null : `${parentPath(options.basePath)}/auth`
  const app = makeApp(
    core,
    resolver,
    makeDocuments(compiled, seal, parts.publicUrl, authPath, parts.tasks !== undefined),
    compiled.functions,
    {
      ...(more.verb === undefined ? {} : { verb: more.verb }),
      ...(more.watching === undefined ? {} : { watch: more.watching.watch }),
      ...(parts.tasks === undefined ? {} : { tasks: makeTasks(taskingOn(foundation, compiled, parts.tasks)) })
    }
  )
  const tokens = tokensOf(parts.authenticator)
  const signIn = authPath === null ? "token" : "password"
  return makeEdge(app, tokens, {
    basePath: options.basePath,
    publicUrl: parts.publicUrl,
    maxBodyBytes: options.maxBodyBytes,
    cors: options.cors,
    serverTiming: options.serverTiming,
    ...(more.watching === undefined ? {} : { onDrain: more.watching.close }),
    trustedProxies: options.trustedProxies,
    ready: parts.ready ?? makeReadiness(records.ping, parts.accountsReady),
    jobsPaused: () => parts.jobs?.workers()?.isPaused() === true,
    ...(parts.maxInFlight === undefined ? {} : { maxInFlight: parts.maxInFlight }),
    ...(parts.maxUploads === undefined ? {} : { maxUploads: parts.maxUploads }),
    ...(parts.uploadGraceMs === undefined ? {} : { uploadGraceMs: parts.uploadGraceMs }),
    ...(options.onUnhandledError === null ? {} : { onUnhandledError: options.onUnhandledError }),
    ...(parts.log === undefined ? {} : { log: parts.log }),
    ...(parts.measure === undefined ? {} : { measure: parts.measure }),
    ...(parts.auth === undefined ? {} : { auth: parts.auth }),
    ...(parts.authStatus === undefined ? {} : { authStatus: parts.authStatus }),
    extraRoutes: [
      ...docsRoutes({ basePath: options.basePath, signIn }),
      ...formsOf(parts, core, resolver),
      ...hooksOf(parts, core),
      ...(parts.jobs === undefined ? [] : jobRoutes(
        makeQueueApp({
          queue: needsQueue(compiled) ? parts.jobs.queue : null,
          workers: parts.jobs.workers,
          jobs: compiled.jobs,
          seal,
          drainToken: parts.drainToken ?? null,
          told: (what, name, count, caller) => parts.log?.(jobsLine(what, name, count, caller.id))
        }),
        options.basePath
      )),
      ...(parts.savedViews === undefined
        ? []
        : savedViewRoutes(makeSavedViewsApp(parts.savedViews, app.accesses), options.basePath)),
      ...webRoutes(
        compiled,
        signIn,
        parts.liveApp ?? parts.webFolder ?? webFolder,
        (parts.extraRoutes ?? []).map(({ prefix }) => prefix)
      ),
      ...(files === null
        ? []
        : fileRoutes({
          parent: files.root,
          download: (request) => download(core, request),
          cleanup: Effect.catch(cleanup(core), recordsProblem)
        })),
      ...parts.extraRoutes ?? []
    ]
  })
}

/** A running service. */
export interface Admin {
  /** Answers a web-standard request. Never rejects but with the request's own abort reason. */
  readonly fetch: Fetch
  /** The same service for listeners that bring their own request objects (see `listen`). */
  readonly edge: Edge
  readonly compiled: Compiled
  /** The service's own connections, for start-up checks and readiness. */
  readonly postgres: Postgres
  /** The context that the service's effects run in: a tracer, if one was given. */
  readonly context: Context.Context<never>
  /** The application's database, for what runs outside of requests: jobs that are enqueued on it start at once where this process runs them. */
  readonly db: AdminDatabase
  /** Deletes the files whose time has come and that no row holds, as `POST /api/files:cleanup` does. */
  readonly cleanFiles: () => Promise<CleanupResult>
  /** Enqueues jobs, and tells what there is. */
  readonly queue: QueueService
  /**
   * Runs the configuration's jobs in this process from now on, and resolves once the workers are up; a second call gives the same. Rejects with
   * `StartupError` when the schema of the queue is missing, behind or newer, or when a job's `ordered` has changed. `stop` gives running jobs 30 seconds.
   */
  readonly startJobs: () => Promise<Workers>
  /**
   * Stops the jobs, lets running requests of `fetch` finish, for at most ten seconds, and closes the database connections; requests that come later get 503. A
   * listener on `edge` is closed before. May be called again.
   */
  readonly close: () => Promise<void>
}

/** Milliseconds that running requests have to finish. */
const graceMs = 10_000

/** `fetch` with an end: after it no request begins, and those under way are waited for. */
const makeEnding = (edge: Edge, fetch: Fetch): { readonly fetch: Fetch; readonly end: () => Promise<void> } => {
  let running = 0
  let allDone = (): void => {}
  const done = (): void => {
    if (--running === 0) allDone()
  }
  return {
    fetch: (request, connection) => {
      const response = fetch(request, connection)
      running++
      response.then(done, done)
      return response
    },
    end: async () => {
      edge.end()
      if (running === 0) return
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, graceMs)
        allDone = () => {
          clearTimeout(late)
          resolve()
        }
      })
    }
  }
}

/** Who has nothing to run. */
const idle: Workers = {
  jobs: new Map(),
  wake: () => {},
  wakeAll: () => {},
  drain: () => Effect.succeed({ drained: true, remaining: 0, nextDue: null }),
  hold: () => {},
  isPaused: () => false,
  isReady: () => true,
  stop: () => Promise.resolve()
}

/** The workers of a process, with what dispatches changes beside them: both start together, and a drain dispatches first. */
const startingOnce = (
  compiled: Compiled,
  jobs: Jobs,
  events: Events
): { readonly start: () => Promise<Workers>; readonly running: () => Workers | null } => {
  let running: Workers | null = null
  const begin = async (): Promise<Workers> => {
    const workers = needsQueue(compiled) || !hasEvents(compiled) ? await jobs.start() : idle
    if (!hasEvents(compiled)) return running = workers
    const dispatcher = events.start()
    return running = {
      ...workers,
      drain: (milliseconds) =>
        Effect.andThen(
          Effect.ignore(Effect.timeout(dispatcher.settle, milliseconds)),
          workers.drain(milliseconds)
        ),
      stop: async () => {
        await Promise.all([dispatcher.stop(), workers.stop()])
      }
    }
  }
  let starting: Promise<Workers> | undefined
  return { start: () => starting ??= begin(), running: () => running }
}

/** What `createAdmin` is given besides the configuration: what the configuration does not say itself. */
export interface AdminOptions extends Partial<Omit<Parts, "compiled" | "records" | "jobs">> {
  /** The database and its pools. Default: `db` of the configuration. */
  readonly database?: PostgresOptions
  /** Who verifies credentials. Default: `authenticate` of the configuration, else the keys at its `auth.jwksUrl`. */
  readonly authenticator?: Authenticator
  /** Default: `auth.secret` of the configuration. At least 16 characters. */
  readonly secret?: string
  /** Default: `auth.url` of the configuration, else `http://localhost:5173`. */
  readonly publicUrl?: string
  readonly context?: Context.Context<never>
  /** Sends the mails of jobs, such as `smtpMail({ url, from })`. Without it their `mail` is undefined. */
  readonly mail?: Mail
  /** The roles that the owner of a subscription has now. Needed for the extension `webhooks` without its option `ownerRoles`. */
  readonly ownerRoles?: OwnerRoles
  /** Database connections that jobs work on, default 10. */
  readonly jobsConnections?: number
  /** Gets the counts of the queues, about once a minute from one of all processes that run jobs. */
  readonly onJobCounts?: (counts: readonly JobCounts[]) => void
}

/** A configuration whose `auth` is an auth server of this process, as `createAuth` makes it: its routes are mounted, and its tokens count. */
export type ConfigWithAuth = Omit<Config, "auth" | "authenticate"> & { readonly auth: Auth }

const isAuth = (value: unknown): value is Auth =>
  typeof value === "object" && value !== null && "internals" in value && "handler" in value

/** The configuration as it is compiled, with the settings that an auth server was made with. */
const declaredOf = (config: Config | ConfigWithAuth): Config => {
  const { auth, ...rest } = config as ConfigWithAuth
  return isAuth(auth)
    ? {
      ...rest,
      auth: {
        roles: auth.roles,
        url: auth.url,
        ...(auth.tenant === undefined ? {} : { tenant: auth.tenant }),
        ...(auth.mailer === null ? {} : { mail: { ...auth.mailer.mails, page: auth.mailer.page } })
      }
    }
    : config as Config
}

/** What `GET /api/auth/status` says. */
const statusOf = ({ needsAdmin }: AccountsService): Effect.Effect<{ readonly needsAdmin: boolean }, Problem> =>
  Effect.mapBoth(needsAdmin, { onFailure: noAccounts, onSuccess: (needed) => ({ needsAdmin: needed }) })

/** What has to be known before anything is opened, from the options or else from the configuration; and what is not. */
const settle = (config: Config, compiled: Compiled, options: AdminOptions, own: Auth | null) => {
  const { auth } = compiled
  const url = options.publicUrl ?? own?.url ?? auth?.url ?? defaultUrl
  const database = options.database ?? (config.db === undefined ? undefined : { url: config.db })
  const authenticator = options.authenticator
    ?? (own !== null && config.authenticate === undefined
      ? builtInAuthenticator({ auth: own, tenant: auth?.tenant })
      : undefined)
    ?? (config.authenticate === undefined && auth?.jwksUrl === undefined
      ? undefined
      : makeAuthenticator({ compiled, config, url }, null))
  const secret = options.secret ?? auth?.secret
  const refusals: Refusal[] = []
  const refuse = (message: string, fix: string): void => {
    refusals.push({ resource: null, field: null, message, fix })
  }
  if (typeof database?.url !== "string") {
    refuse(
      "Nothing says where the database is.",
      "Write db: \"postgres://…\" in the configuration, or give createAdmin database: { url: \"postgres://…\" }."
    )
  } else {
    try {
      readAddress(database.url)
    } catch (error) {
      if (!(error instanceof AddressError)) throw error
      refuse(`The database's URL ${error.problem}`, error.fix)
    }
  }
  if (typeof authenticator !== "function") {
    refuse(
      authenticator === undefined ? "Nobody verifies credentials." : `authenticator is ${shown(authenticator)}.`,
      "Write authenticate: (request) => ({ user: { id, roles } }) in the configuration, or give createAdmin an authenticator, such as builtInAuthenticator({ auth }) beside auth. startServer makes both by itself."
    )
  }
  if (typeof secret !== "string" || secret.length < 16) {
    refuse(
      secret === undefined ? "There is no secret." : "The secret is not a text of at least 16 characters.",
      "Give createAdmin secret: 32 random bytes in base64, the same in every instance: openssl rand -base64 32."
    )
  }
  if (!isPlainUrl(String(url))) {
    refuse(`publicUrl is ${shownAddress(url)}, not the http(s) URL of an API.`, "Write it without password and query.")
  }
  return { refusals, found: { authenticator, database, publicUrl: url, secret } }
}

/**
 * Makes a service from a configuration: `createAdmin(config)`, where that names its `db`, who may `authenticate`, and `auth.secret`. With what
 * `createAuth` gives as `auth` it mounts sign-in below `/api/auth`, and takes the tokens and API keys of that auth server.
 * Options give what the configuration does not say, and win over it. It reads no environment and opens no port (see `startServer`).
 *
 * Throws `StartupError` with everything that is wrong. It does not wait for the database: until one answers, `/readyz` says 503 and
 * requests get 503 `unavailable`.
 */
export const createAdmin = async (given: Config | ConfigWithAuth, options: AdminOptions = {}): Promise<Admin> => {
  const config = declaredOf(given)
  const compiled = compileOrThrow(config)
  const { context = Context.empty(), ...parts } = options
  const own = isAuth(given.auth) ? given.auth : isAuth(options.auth) ? options.auth : null
  const { found, refusals } = settle(config, compiled, options, own)
  const authPath = `${parentPath(compiled.options.basePath)}/auth`
  if (own !== null && own.basePath !== authPath) {
    refusals.push({
      resource: null,
      field: null,
      message: `auth answers below ${own.basePath}, and sign-in of this service is below ${authPath}.`,
      fix: `Make it with createAuth({ …, basePath: "${authPath}" }).`
    })
  }
  const { authenticator, database, secret } = found
  if (refusals.length > 0 || authenticator === undefined || database === undefined || secret === undefined) {
    throw new StartupError(refusals)
  }
  const scope = Scope.makeUnsafe()
  const release = () => Effect.runPromise(Scope.close(scope, Exit.void))
  try {
    const postgres = await Effect.runPromise(Effect.provideService(
      makePostgres({ statementTimeoutMs: compiled.options.statementTimeoutMs, ...database, schemas: compiled.schemas }),
      Scope.Scope,
      scope
    ))
    // Deliveries of events are jobs, too; what they do is known once the use cases are there.
    const all = new Map(compiled.jobs)
    const jobs = makeJobs({
      jobs: all,
      schema: compiled.schemas.jobs,
      url: database.url,
      connections: options.jobsConnections ?? 10,
      mail: options.mail,
      log: options.log,
      counted: options.onJobCounts
    })
    const accounts = own === null ? null : accountsOf(own, compiled.auth?.tenant)
    const ownerRoles = options.ownerRoles
      ?? (accounts === null ? undefined : (id, tenant) => Effect.runPromise(accounts.rolesOf(id, tenant)))
    const tasks = makeTaskParts({
      compiled,
      postgres,
      queue: jobs.queue,
      wake: (name) => jobs.workers()?.wake(name),
      ownerRoles,
      log: options.log
    })
    const whole: Parts = {
      ...(tasks === null ? {} : { tasks }),
      ...(own === null ? {} : { auth: own }),
      ...(accounts === null ? {} : { authStatus: statusOf(accounts), namesOf: accounts.namesOf }),
      ...parts,
      ...found,
      authenticator,
      secret,
      compiled,
      records: makeRecords(
        postgres,
        compiled.jobs.size === 0 ? undefined : (name) => jobs.workers()?.wake(name)
      ),
      submissions: parts.submissions ?? makeSubmissions(postgres),
      savedViews: parts.savedViews ?? makeSavedViews(postgres),
      jobs: { queue: jobs.queue, workers: () => workers.running() }
    }
    const checks = new Map<string, RecordCheck>()
    const foundation = makeFoundation(whole, () => events.changed(), checks)
    const mailer = own?.mailer ?? null
    const adminPath = compiled.options.admin?.path ?? null
    const pageOf = (id: string): string | null =>
      own === null || adminPath === null
        ? null
        : `${new URL(own.url).origin}${adminPath === "/" ? "" : adminPath}/${subscriptionsName}/${id}`
    const events: Events = makeEvents({
      compiled,
      postgres,
      foundation,
      queue: jobs.queue,
      db: jobs.db,
      wake: (name) => jobs.workers()?.wake(name),
      log: options.log,
      ownerRoles,
      ...(mailer?.mails.notices === true
        ? { mailOwner: (disabled) => mailer.webhookDisabled({ ...disabled, page: pageOf(disabled.id) }) }
        : {})
    })
    for (const [name, job] of events.jobs) all.set(name, job)
    for (const [name, job] of mailer?.jobs ?? []) all.set(name, job)
    mailer?.sendBy((plans) => jobs.db[enqueuesItself]!(plans))
    if (whole.tasks !== undefined) {
      const job = taskJob(taskingOn(foundation, compiled, whole.tasks))
      all.set(job.name, job)
    }
    const { core } = foundation
    if (core.files !== null && needsQueue(compiled) && deriveTargets(core).length > 0) {
      const wake = (): void => jobs.workers()?.wake(deriveJobName)
      all.set(deriveJobName, deriveJob({ core, files: core.files, queue: jobs.queue, wake }))
    }
    for (const [name, check] of events.checks) checks.set(name, check)
    const workers = startingOnce(compiled, jobs, events)
    const edge = makeService(whole, foundation, events)
    const { end, fetch } = makeEnding(edge, makeFetch(edge, context))
    let closing: Promise<void> | undefined
    const close = async (): Promise<void> => {
      // The workers stop taking jobs while the last requests finish.
      const stopped = events.close().then(jobs.close)
      await end()
      await stopped
      await release()
    }
    return {
      fetch,
      edge,
      compiled,
      postgres,
      context,
      db: jobs.db,
      queue: jobs.queue,
      startJobs: workers.start,
      cleanFiles: () => Effect.runPromise(cleanup(foundation.core)),
      close: () => closing ??= close()
    }
  } catch (error) {
    await release()
    throw error
  }
}
