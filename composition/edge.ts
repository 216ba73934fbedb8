/**
 * The HTTP edge of a service: its use cases, the routes that its declarations bring, and what the deployment says of requests. It opens nothing.
 */

import * as Effect from "effect/Effect"
import { tokensOf } from "../adapters/auth/authenticator.ts"
import type { Authenticator } from "../adapters/auth/authenticator.ts"
import { errorLine, jobsLine } from "../adapters/http/access-log.ts"
import { auditRoute } from "../adapters/http/audit.ts"
import { docsRoutes } from "../adapters/http/docs.ts"
import { fileRoutes } from "../adapters/http/files.ts"
import { formRoutes } from "../adapters/http/forms.ts"
import { makeEdge } from "../adapters/http/handle.ts"
import type { Edge, EdgeOptions, ExtraRoute } from "../adapters/http/handle.ts"
import type { Readiness } from "../adapters/http/health.ts"
import { hookRoutes } from "../adapters/http/hooks.ts"
import { jobRoutes } from "../adapters/http/jobs.ts"
import { savedViewRoutes } from "../adapters/http/saved-views.ts"
import type { LiveApp } from "../adapters/http/web-app.ts"
import { makeSeal, sha256 } from "../adapters/seal/seal.ts"
import { isSigned } from "../adapters/seal/webhook.ts"
import type { App } from "../core/app/app.ts"
import { makeAuditApp } from "../core/app/audit/audit.ts"
import type { Watching } from "../core/app/event/watch.ts"
import { cleanup } from "../core/app/file/cleanup.ts"
import { download } from "../core/app/file/download.ts"
import { type FormApp, makeForms } from "../core/app/form/form.ts"
import type { Core } from "../core/app/ground/core.ts"
import { recordsProblem } from "../core/app/ground/refusal.ts"
import { type HookLimits, makeHooks } from "../core/app/hook/hook.ts"
import { makeQueueApp } from "../core/app/job/queue.ts"
import { makeApp } from "../core/app/make-app.ts"
import { refresh, refreshJobName } from "../core/app/refresh/refresh.ts"
import { makeSavedViewsApp } from "../core/app/saved-view/saved-views.ts"
import type { TaskParts } from "../core/app/task/parts.ts"
import { makeTasks } from "../core/app/task/tasks.ts"
import type { AccessResolver } from "../core/domain/access/resolve.ts"
import { BoundedMap } from "../core/domain/bounded.ts"
import { hasRefreshes, needsQueue } from "../core/domain/compile/compile.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { Secrets } from "../core/domain/secret.ts"
import type { QueueService, Workers } from "../core/ports/queue.ts"
import type { RecordsService } from "../core/ports/records.ts"
import type { SavedViewsService } from "../core/ports/saved-views.ts"
import type { SubmissionsService } from "../core/ports/submissions.ts"
import type { TokensService } from "../core/ports/tokens.ts"
import { makeDocuments } from "./documents.ts"
import { type Foundation, makeFoundation } from "./foundation.ts"
import { given } from "./given.ts"
import { watchOutages } from "./outages.ts"
import { makeReadiness } from "./readiness.ts"
import { taskingOn } from "./tasks.ts"
import { makeEdgeTenants, type TenantAuths } from "./tenants.ts"
import { webFolder, webRoutes } from "./web.ts"

/** What the edge of a service is put together from. */
export interface EdgeParts {
  readonly compiled: Compiled
  readonly records: RecordsService
  /** Who is calling. */
  readonly tokens: TokensService
  /** The deployment's secret (`AUTH_SECRET`), the same in every instance: page tokens and ETags are keyed by it. Of several the first seals, each opens. */
  readonly secret: Secrets
  /** Public URL of the API. */
  readonly publicUrl: string
  /** Where submissions of public forms are counted, and requests that hooks deny; needed where there are forms or hooks. */
  readonly submissions?: SubmissionsService
  /** Where saved views are kept. Without it there are none. */
  readonly savedViews?: SavedViewsService
  /** Seals challenges of forms instead of `secret` (`SERVICE_FORMS_SECRET`), the same in every instance. */
  readonly formsSecret?: Secrets
  readonly auth?: EdgeOptions["auth"]
  readonly authStatus?: EdgeOptions["authStatus"]
  /** Who signs in the people of each tenant, where requests decide the tenant and this service keeps the accounts. */
  readonly tenantAuths?: TenantAuths
  readonly extraRoutes?: readonly ExtraRoute[]
  readonly ready?: Effect.Effect<Readiness>
  /** Whether the accounts answer that have a database of their own. It counts for readiness, beside the records. */
  readonly accountsReady?: Effect.Effect<boolean>
  /** Whether this process serves reads only, so that a database that takes no changes is what it needs. */
  readonly readsOnly?: boolean
  readonly log?: (line: string) => void
  readonly measure?: EdgeOptions["measure"]
  /** Told when a state of the database begins or ends in which requests are refused. */
  readonly onOutage?: (state: string, lasts: boolean) => void
  readonly maxInFlight?: number
  /** The queue and who runs it here: for the routes below `/api/jobs`. Without it there are none. */
  readonly jobs?: { readonly queue: QueueService; readonly workers: () => Workers | null }
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
}

/** The routes of public forms, where there are any. */
const formsOf = (parts: EdgeParts, core: Core, resolver: AccessResolver): readonly ExtraRoute[] => {
  const { compiled: { forms, formSettings, options }, formsSecret, log, submissions } = parts
  if (forms.size === 0) return []
  if (submissions === undefined) throw new Error("Forms need something to count submissions.")
  const seal = formsSecret === undefined ? core.seal : makeSeal(formsSecret)
  const shared = { forms, resolver, submissions, seal, sha256 }
  const app = makeForms(core, { ...shared, settings: formSettings })
  const apps = new BoundedMap<string, FormApp>(1_000)
  const ofTenant = (tenant: string): FormApp => {
    const made = apps.get(tenant) ??
      makeForms(core, { ...shared, settings: { ...formSettings, tenant }, ofRequest: true })
    apps.set(tenant, made)
    return made
  }
  return formRoutes({
    formsOf: (tenant) => tenant === null ? app : ofTenant(tenant),
    parent: parentPath(options.basePath),
    log
  })
}

/** The routes of hooks, where there are any. */
const hooksOf = (parts: EdgeParts, core: Core): readonly ExtraRoute[] => {
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

/** The routes about the queue, where there is one. */
const jobsOf = ({ compiled, drainToken, jobs, log }: EdgeParts, core: Core): readonly ExtraRoute[] =>
  jobs === undefined ? [] : jobRoutes(
    makeQueueApp({
      queue: needsQueue(compiled) ? jobs.queue : null,
      workers: jobs.workers,
      jobs: compiled.jobs,
      seal: core.seal,
      notes: core,
      drainToken: drainToken ?? null,
      told: (what, name, count, caller) => log?.(jobsLine(what, name, count, caller.id))
    }),
    compiled.options.basePath,
    compiled.tenants !== null
  )

/** Refreshes of materialized views, where there are any. */
const refreshOf = ({ compiled, jobs }: EdgeParts): App["refresh"] | null =>
  jobs === undefined || !hasRefreshes(compiled)
    ? null
    : (call, resource) => refresh(jobs.queue, () => jobs.workers()?.wake(refreshJobName), call, resource)

/** The routes of stored files, where there are any. */
const filesOf = ({ compiled }: EdgeParts, core: Core): readonly ExtraRoute[] =>
  core.files === null ? [] : fileRoutes({
    operatorCleans: compiled.tenants !== null,
    anywhere: compiled.tenants?.by === "path",
    parent: core.files.root,
    download: (request) => download(core, request),
    cleanup: Effect.catch(cleanup(core), recordsProblem)
  })

/** Where the tenants are, where requests decide the tenant. */
const tenantsOf = ({ compiled, log, publicUrl, tenantAuths }: EdgeParts): EdgeOptions["tenants"] | null =>
  compiled.tenants === null
    ? null
    : makeEdgeTenants(
      compiled.tenants,
      publicUrl,
      tenantAuths ?? null,
      (error) => log?.(errorLine("tenant-lookup failed", "", error))
    )

/** The edge of a service over its use cases. */
export const makeServiceEdge = (
  parts: EdgeParts,
  foundation: Foundation,
  more: { readonly verb?: App["verb"]; readonly watching?: Watching } = {}
): Edge => {
  const { compiled, records } = parts
  const { options } = compiled
  const { core, resolver } = foundation
  const { seal } = core
  const authPath = parts.auth === undefined && parts.tenantAuths === undefined
    ? null
    : `${parentPath(options.basePath)}/auth`
  const app = makeApp(
    core,
    resolver,
    makeDocuments(compiled, seal, parts.publicUrl, authPath, parts.tasks !== undefined),
    compiled.functions,
    given({
      refresh: refreshOf(parts),
      verb: more.verb,
      watch: more.watching?.watch,
      tasks: parts.tasks === undefined ? null : makeTasks(taskingOn(foundation, compiled, parts.tasks))
    })
  )
  const signIn = authPath === null ? "token" : "password"
  return makeEdge(app, parts.tokens, {
    basePath: options.basePath,
    publicUrl: parts.publicUrl,
    maxBodyBytes: options.maxBodyBytes,
    cors: options.cors,
    serverTiming: options.serverTiming,
    trustedProxies: options.trustedProxies,
    ready: parts.ready ?? makeReadiness(records.ping, parts.accountsReady, parts.readsOnly),
    jobsPaused: () => parts.jobs?.workers()?.isPaused() === true,
    ...given({
      maxInFlight: parts.maxInFlight,
      maxUploads: parts.maxUploads,
      uploadGraceMs: parts.uploadGraceMs,
      onUnhandledError: options.onUnhandledError,
      log: parts.log,
      measure: parts.measure,
      onRefused: parts.log === undefined
        ? null
        : watchOutages({ ping: records.ping, log: parts.log, onChange: parts.onOutage }),
      auth: parts.auth,
      tenants: tenantsOf(parts),
      authStatus: parts.authStatus,
      onDrain: more.watching?.close
    }),
    extraRoutes: [
      ...docsRoutes({ basePath: options.basePath, signIn }),
      ...formsOf(parts, core, resolver),
      ...hooksOf(parts, core),
      ...jobsOf(parts, core),
      ...(core.audit === undefined
        ? []
        : [auditRoute(
          makeAuditApp({
            store: core.audit.store,
            resources: [...core.models.keys()],
            seal,
            accessesOf: app.accesses
          }),
          options.basePath
        )]),
      ...(parts.savedViews === undefined
        ? []
        : savedViewRoutes(makeSavedViewsApp(parts.savedViews, app.accesses), options.basePath)),
      ...webRoutes(
        compiled,
        signIn,
        parts.liveApp ?? parts.webFolder ?? webFolder,
        (parts.extraRoutes ?? []).map(({ prefix }) => prefix)
      ),
      ...filesOf(parts, core),
      ...parts.extraRoutes ?? []
    ]
  })
}

/** What a service is put together from whose keys and files are made here. */
export type Parts =
  & Omit<EdgeParts, "tokens">
  & Omit<Parameters<typeof makeFoundation>[0], "changed">
  & { readonly authenticator: Authenticator }

/** The edge of a service over given parts, such as fakes. */
export const makeService = (
  parts: Parts,
  foundation: Foundation = makeFoundation(parts),
  more: Parameters<typeof makeServiceEdge>[2] = {}
): Edge => makeServiceEdge({ ...parts, tokens: tokensOf(parts.authenticator) }, foundation, more)
