/**
 * Puts a configuration, a database and an authenticator together into one web-standard service: `fetch` in, `close` at the end. The
 * only place where ports meet adapters; nothing of Node stands in its types.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { tokensOf } from "../adapters/auth/authenticator.ts"
import type { Authenticator } from "../adapters/auth/authenticator.ts"
import { docsRoutes } from "../adapters/http/docs.ts"
import { makeFetch } from "../adapters/http/fetch.ts"
import type { Fetch } from "../adapters/http/fetch.ts"
import { makeEdge } from "../adapters/http/handle.ts"
import type { Edge, EdgeOptions, ExtraRoute } from "../adapters/http/handle.ts"
import { makePostgres } from "../adapters/postgres/connection.ts"
import type { Postgres, PostgresOptions } from "../adapters/postgres/connection.ts"
import { makeRecords } from "../adapters/postgres/records.ts"
import { makeSeal } from "../adapters/seal/seal.ts"
import type { Core } from "../core/app/core.ts"
import { RowEstimates } from "../core/app/estimate.ts"
import { makeJudgements } from "../core/app/guard.ts"
import { makeApp } from "../core/app/make-app.ts"
import { RecentVersions } from "../core/app/versions.ts"
import { makeAccessResolver } from "../core/domain/access/resolve.ts"
import { compileModels } from "../core/domain/model/compile.ts"
import type { Compiled } from "../core/domain/model/compile.ts"
import type { Config } from "../core/domain/model/config.ts"
import type { RecordsService } from "../core/ports/records.ts"
import { makeDocuments } from "./documents.ts"
import { StartupError } from "./startup-error.ts"

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
  readonly auth?: EdgeOptions["auth"]
  readonly authStatus?: EdgeOptions["authStatus"]
  readonly extraRoutes?: readonly ExtraRoute[]
  readonly ready?: Effect.Effect<boolean>
  readonly log?: (line: string) => void
  readonly measure?: EdgeOptions["measure"]
  readonly maxInFlight?: number
}

/** Milliseconds that an answer about readiness stands. */
const readyMs = 250

/** Whether the database answers. It is asked once for everybody who wants to know at the same time, as anybody may ask. */
const makeReadiness = (ping: RecordsService["ping"]): Effect.Effect<boolean> => {
  const asked = Effect.matchCause(ping, { onFailure: () => false, onSuccess: () => true })
  let answer: Promise<boolean> | undefined
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

/** The edge of a service over given parts: fakes in tests, PostgreSQL in `createAdmin`. */
export const makeService = (parts: Parts): Edge => {
  const { compiled, records } = parts
  const { options } = compiled
  const seal = makeSeal(parts.secret)
  const resolver = makeAccessResolver(compiled.models, compiled.defaults)
  const core: Core = {
    models: compiled.models,
    records,
    seal,
    options: {
      basePath: options.basePath,
      scanGuard: options.scanGuard,
      rowPermissions: (resource) => options.rowPermissions !== null && !options.rowPermissions.except.has(resource),
      writeHooks: options.writeHooks,
      statementTimeoutMs: options.statementTimeoutMs
    },
    estimates: new RowEstimates(),
    judgements: makeJudgements(),
    versions: new RecentVersions()
  }
  const authPath = parts.auth === undefined
    ? null
    : `${options.basePath.slice(0, options.basePath.lastIndexOf("/"))}/auth`
  const app = makeApp(core, resolver, makeDocuments(compiled, seal, parts.publicUrl, authPath))
  const tokens = tokensOf(parts.authenticator)
  const signIn = authPath === null ? "token" : "password"
  return makeEdge(app, tokens, {
    basePath: options.basePath,
    publicUrl: parts.publicUrl,
    maxBodyBytes: options.maxBodyBytes,
    cors: options.cors,
    serverTiming: options.serverTiming,
    trustedProxies: options.trustedProxies,
    ready: parts.ready ?? makeReadiness(records.ping),
    ...(parts.maxInFlight === undefined ? {} : { maxInFlight: parts.maxInFlight }),
    ...(options.onUnhandledError === null ? {} : { onUnhandledError: options.onUnhandledError }),
    ...(parts.log === undefined ? {} : { log: parts.log }),
    ...(parts.measure === undefined ? {} : { measure: parts.measure }),
    ...(parts.auth === undefined ? {} : { auth: parts.auth }),
    ...(parts.authStatus === undefined ? {} : { authStatus: parts.authStatus }),
    extraRoutes: [...docsRoutes({ basePath: options.basePath, signIn }), ...parts.extraRoutes ?? []]
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
  /** Marks the service as draining and closes its database connections once their work is done. */
  readonly close: () => Promise<void>
}

/** What `createAdmin` is given besides the configuration. */
export interface AdminOptions extends Omit<Parts, "compiled" | "records"> {
  readonly database: PostgresOptions
  readonly context?: Context.Context<never>
}

/**
 * Makes a service from a configuration. Throws `StartupError` when a declaration is wrong. It does not wait for the database: until
 * one answers, `/readyz` says 503 and requests get 503 `unavailable`.
 */
export const createAdmin = async (config: Config, options: AdminOptions): Promise<Admin> => {
  const compiled = compileOrThrow(config)
  const scope = Scope.makeUnsafe()
  const { context = Context.empty(), database, ...parts } = options
  const postgres = await Effect.runPromise(Effect.provideService(
    makePostgres({ statementTimeoutMs: compiled.options.statementTimeoutMs, ...database }),
    Scope.Scope,
    scope
  ))
  const edge = makeService({ ...parts, compiled, records: makeRecords(postgres) })
  return {
    fetch: makeFetch(edge, context),
    edge,
    compiled,
    postgres,
    context,
    close: async () => {
      edge.drain()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}
