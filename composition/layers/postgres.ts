/** The ports that PostgreSQL keeps, on the pools of one connection. The pools end with the scope. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeAudit } from "../../adapters/postgres/audit.ts"
import { makeChanges } from "../../adapters/postgres/changes.ts"
import { makePostgres, type Postgres, type PostgresOptions } from "../../adapters/postgres/connection.ts"
import { makeRates } from "../../adapters/postgres/rates.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { makeSavedViews } from "../../adapters/postgres/saved-views.ts"
import { makeSubmissions } from "../../adapters/postgres/submissions.ts"
import { makeTaskStore } from "../../adapters/postgres/tasks.ts"
import { makeWebhooks } from "../../adapters/postgres/webhooks.ts"
import { Audit } from "../../core/ports/audit.ts"
import { Changes } from "../../core/ports/changes.ts"
import { Rates } from "../../core/ports/rates.ts"
import { Records } from "../../core/ports/records.ts"
import { SavedViews } from "../../core/ports/saved-views.ts"
import { Submissions } from "../../core/ports/submissions.ts"
import { Tasks } from "../../core/ports/tasks.ts"
import { Webhooks } from "../../core/ports/webhooks.ts"
import { Bell } from "../bell.ts"
import { Deployment, usualAuditDays } from "../deployment.ts"

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

/** The ports, and the pools below them. */
export const postgres = Layer.mergeAll(
  records,
  changes,
  submissions,
  savedViews,
  audit,
  webhooks,
  Layer.effect(Rates, Effect.map(Connection, makeRates)),
  Layer.effect(Tasks, Effect.map(Connection, makeTaskStore))
).pipe(Layer.provideMerge(connection))
