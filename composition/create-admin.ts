/**
 * Puts a configuration and a database together into one web-standard service: `fetch` in, `close` at the end. Nothing of Node stands in its types. What it is
 * made of is said by the layers.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type { Fetch } from "../adapters/http/fetch.ts"
import type { Edge } from "../adapters/http/handle.ts"
import type { Postgres } from "../adapters/postgres/connection.ts"
import { cleanup } from "../core/app/file/cleanup.ts"
import type { CleanupResult } from "../core/app/file/cleanup.ts"
import { compileModels } from "../core/domain/compile/compile.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import type { Config } from "../core/domain/declare/config.ts"
import { Queue, type QueueService, type Workers } from "../core/ports/queue.ts"
import type { ReplicasService } from "../core/ports/replicas.ts"
import { type AdminOptions, type ConfigWithAuth, declaredOf, readDeployment } from "./deployment.ts"
import type { AdminDatabase } from "./job-queue.ts"
import { Uses } from "./layers/core.ts"
import { Http } from "./layers/http.ts"
import { build, Live } from "./layers/live.ts"
import { Connection, Database } from "./layers/postgres.ts"
import { JobRunner } from "./layers/queue.ts"
import { Work } from "./layers/work.ts"
import { StartupError } from "./startup-error.ts"

/** Compiles a configuration or throws a `StartupError` with everything that is wrong with it. */
export const compileOrThrow = (config: Config): Compiled => {
  const compiled = compileModels(config)
  if (Result.isFailure(compiled)) throw new StartupError(compiled.failure)
  return compiled.success
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
  /** How the replicas stand that reads go to; absent: there are none. */
  readonly replicas?: Pick<ReplicasService, "states">
  /** The context that the service's effects run in: a tracer, if one was given. */
  readonly context: Context.Context<never>
  /** The application's database, for what runs outside of requests: jobs that are enqueued on it start at once where this process runs them. */
  readonly db: AdminDatabase
  /** Deletes the files whose time has come and that no row holds, as `POST /api/files:cleanup` does. */
  readonly cleanFiles: () => Promise<CleanupResult>
  /** Removes entries of the audit that are older than they are kept, and tells how many. */
  readonly cleanAudit: () => Promise<number>
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
  const { database, deployment } = readDeployment(given, config, compiled, options)
  const { close, made } = await build(Layer.provide(Live, Layer.succeed(Database, database)), deployment)
  const { edge, fetch } = Context.get(made, Http)
  const { core } = Context.get(made, Uses)
  return {
    fetch,
    edge,
    compiled,
    postgres: Context.get(made, Connection),
    ...(core.replicas === undefined ? {} : { replicas: core.replicas }),
    context: deployment.context ?? Context.empty(),
    db: Context.get(made, JobRunner).db,
    cleanFiles: () => Effect.runPromise(cleanup(core)),
    cleanAudit: () => core.audit === undefined ? Promise.resolve(0) : Effect.runPromise(core.audit.store.forget),
    queue: Context.get(made, Queue),
    startJobs: Context.get(made, Work).start,
    close
  }
}
