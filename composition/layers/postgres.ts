/** The ports that PostgreSQL keeps, on the pools of one connection. The pools end with the scope. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readReplica } from "../../adapters/postgres/address.ts"
import { makeAudit } from "../../adapters/postgres/audit.ts"
import { makeChanges } from "../../adapters/postgres/changes.ts"
import { makePostgres, type Postgres, type PostgresOptions } from "../../adapters/postgres/connection.ts"
import { makeRates } from "../../adapters/postgres/rates.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { makeReplicas, type ReplicaChange, type ReplicaServer } from "../../adapters/postgres/replicas.ts"
import { makeSavedViews } from "../../adapters/postgres/saved-views.ts"
import { makeSubmissions } from "../../adapters/postgres/submissions.ts"
import { makeTaskStore } from "../../adapters/postgres/tasks.ts"
import { makeWebhooks } from "../../adapters/postgres/webhooks.ts"
import { Audit } from "../../core/ports/audit.ts"
import { Changes } from "../../core/ports/changes.ts"
import { Rates } from "../../core/ports/rates.ts"
import { Records } from "../../core/ports/records.ts"
import { Replicas } from "../../core/ports/replicas.ts"
import { SavedViews } from "../../core/ports/saved-views.ts"
import { Submissions } from "../../core/ports/submissions.ts"
import { Tasks } from "../../core/ports/tasks.ts"
import { Webhooks } from "../../core/ports/webhooks.ts"
import { Bell } from "../bell.ts"
import { Deployment, usualAuditDays } from "../deployment.ts"
import { given } from "../given.ts"
import { eventLine } from "../log.ts"

/** Which database it is. */
export class Database extends Context.Service<Database, PostgresOptions>()("resource-admin/Database") {}

/** The pools of the service itself. */
export class Connection extends Context.Service<Connection, Postgres>()("resource-admin/Connection") {}

const connection = Layer.effect(
  Connection,
  Effect.gen(function*() {
    const { compiled: { options, schemas } } = yield* Deployment
    const database = yield* Database
    return yield* makePostgres({ statementTimeoutMs: options.statementTimeoutMs, ...database, schemas })
  })
)

const records = Layer.effect(
  Records,
  Effect.gen(function*() {
    const { compiled: { jobs } } = yield* Deployment
    const { enqueued } = yield* Bell
    return makeRecords(yield* Connection, jobs.size === 0 ? undefined : enqueued)
  })
)

const changes = Layer.effect(
  Changes,
  Effect.gen(function*() {
    const { compiled: { models, webhooks } } = yield* Deployment
    const keeping = webhooks === null || webhooks.keepEventsMs === null
      ? null
      : { schema: webhooks.schema, keptMs: webhooks.keepEventsMs }
    return makeChanges(yield* Connection, models, keeping)
  })
)

const submissions = Layer.effect(
  Submissions,
  Effect.gen(function*() {
    const { submissions: given } = yield* Deployment
    return given ?? makeSubmissions(yield* Connection)
  })
)

const audit = Layer.effect(
  Audit,
  Effect.gen(function*() {
    const { auditDays = usualAuditDays } = yield* Deployment
    return makeAudit(yield* Connection, auditDays)
  })
)

const savedViews = Layer.effect(
  SavedViews,
  Effect.gen(function*() {
    const { savedViews: given } = yield* Deployment
    return given ?? makeSavedViews(yield* Connection)
  })
)

/** Only where the configuration has the extension. */
const webhooks: Layer.Layer<never, never, Deployment | Connection> = Layer.unwrap(
  Effect.gen(function*() {
    const { compiled } = yield* Deployment
    return compiled.webhooks === null
      ? Layer.empty
      : Layer.succeed(Webhooks, makeWebhooks(yield* Connection, compiled.webhooks))
  })
)

/** A line of the log: a replica is left out, or read from again. */
const replicaLine = (change: ReplicaChange): string =>
  change.of === "left"
    ? eventLine("warn", "replica-left", { replica: change.name, cause: change.why })
    : eventLine("info", "replica-back", { replica: change.name, seconds: change.seconds })

const usualLagMs = 10_000

/** Only where there are replicas. Each has pools of its own. */
const replicas: Layer.Layer<never, never, Database | Deployment | Connection | Records> = Layer.unwrap(
  Effect.gen(function*() {
    const { compiled: { options, schemas }, log } = yield* Deployment
    const { replicas, ...database } = yield* Database
    if (replicas === undefined || replicas.urls.length === 0) return Layer.empty
    const { connections, mostLagMs = usualLagMs, urls } = replicas
    const servers = Effect.forEach(urls, (url) =>
      Effect.map(
        makePostgres({
          statementTimeoutMs: options.statementTimeoutMs,
          ...database,
          ...given({ readConnections: connections }),
          schemas,
          url,
          shortConnections: 0,
          writeConnections: 1
        }),
        (postgres): ReplicaServer => {
          const { address: { host, port }, weight } = readReplica(url)
          return { name: `${host}:${port}`, weight, postgres, records: makeRecords(postgres) }
        }
      ))
    return Layer.effect(
      Replicas,
      Effect.gen(function*() {
        return yield* makeReplicas({
          primary: yield* Connection,
          records: yield* Records,
          servers: yield* servers,
          mostLagMs,
          onChange: (change) => log?.(replicaLine(change))
        })
      })
    )
  })
)

/** The ports, and the pools below them. */
export const postgres = Layer.mergeAll(
  records,
  changes,
  submissions,
  savedViews,
  audit,
  webhooks,
  Layer.effect(Rates, Effect.map(Connection, makeRates)),
  Layer.effect(Tasks, Effect.map(Connection, makeTaskStore)),
  replicas.pipe(Layer.provide(records))
).pipe(Layer.provideMerge(connection))
