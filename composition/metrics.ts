/**
 * The service's own numbers: how long requests take, why they are refused, how much of the database pools is in use, and how much work waits. It decides names,
 * units and attributes (OpenTelemetry semantic conventions, HTTP and database client metrics) and sends nothing itself.
 */

import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import type { Measure } from "../adapters/http/measure.ts"
import type { Backlog } from "../adapters/postgres/backlog.ts"
import type { Postgres, PostgresOptions } from "../adapters/postgres/connection.ts"
import type { CleanupResult } from "../core/app/file/cleanup.ts"
import type { JobCounts } from "../core/domain/job/state.ts"
import type { ReplicasService } from "../core/ports/replicas.ts"

export interface ServiceMetrics {
  /** Updates `http.server.request.duration`. */
  readonly measure: Measure
  /** Updates `db.client.connection.wait_time`. */
  readonly onWait: NonNullable<PostgresOptions["onWait"]>
  /** Takes the counts of the queues: `service.jobs.count` by name and state, `service.jobs.oldest_age` by name. */
  readonly jobs: (counts: readonly JobCounts[]) => void
  /** Takes what waits: `service.events.waiting`, `service.events.oldest_age`, `service.tasks.count`, `service.jobs.held_by_dead`. */
  readonly backlog: (backlog: Backlog) => void
  /** `service.database.up`: whether the last read of what waits in the database succeeded. */
  readonly database: (up: boolean) => void
  /** `service.outage` is 1 for a state of the database while it lasts, else 0. */
  readonly outage: (state: string, lasts: boolean) => void
  /** Counts what a cleanup of files did, and when it was. */
  readonly cleaned: (result: CleanupResult) => void
  /** Makes the numbers of the pools, and of replicas, readable at every export. */
  readonly watch: (postgres: Pick<Postgres, "pools">, replicas?: Pick<ReplicasService, "states">) => void
}

/** Seconds, as the conventions advise for HTTP. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** The numbers, kept in the metric registry of a context. */
export const makeMetrics = (context: Context.Context<never>): ServiceMetrics => {
  const duration = Metric.histogram("http.server.request.duration", {
    description: "Duration of requests",
    boundaries,
    attributes: { unit: "s" }
  })
  const waiting = Metric.histogram("db.client.connection.wait_time", {
    description: "Time that requests waited for a database connection, of those that had to",
    boundaries,
    attributes: { unit: "s" }
  })
  // There are as many series as routes, methods and statuses. A client cannot choose any of them.
  const durations = new Map<string, Metric.Metric<number, unknown>>()
  const waits: typeof durations = new Map()
  const histogramOf = (
    all: typeof durations,
    key: string,
    make: () => Metric.Metric<number, unknown>
  ): Metric.Metric<number, unknown> => {
    let metric = all.get(key)
    if (metric === undefined) all.set(key, metric = make())
    return metric
  }
  const gauge = (
    name: string,
    attributes: { readonly [name: string]: string },
    description: string,
    value: () => number
  ): void => {
    Metric.registerUnsafe(Metric.gauge(name, { description, attributes }), context, {
      get: () => ({ value: value() }),
      update: () => {},
      modify: () => {}
    })
  }
  // As many series as routes, slugs and causes: no client can choose any of them.
  const refusals = Metric.counter("service.refusals", { description: "Requests that were refused", incremental: true })
  const refused = new Map<string, Metric.Metric<number, unknown>>()
  const countOf = (key: string, attributes: { readonly [name: string]: string }): Metric.Metric<number, unknown> => {
    let counter = refused.get(key)
    if (counter === undefined) {
      refused.set(key, counter = Metric.withAttributes(refusals, attributes))
    }
    return counter
  }
  /** Numbers that are set from outside, by name and attributes. */
  const values = new Map<string, { value: number }>()
  const put = (
    name: string,
    attributes: { readonly [name: string]: string },
    description: string,
    value: number
  ): void => {
    const key = JSON.stringify([name, attributes])
    const known = values.get(key)
    if (known !== undefined) {
      known.value = value
      return
    }
    const entry = { value }
    values.set(key, entry)
    gauge(name, attributes, description, () => entry.value)
  }
  const cleanedFiles = Metric.counter("service.files.cleaned", {
    description: "Files that cleanups deleted",
    incremental: true
  })
  // The newest counts by name. A name is the declarations', never a client's.
  const queues = new Map<string, { counts: JobCounts; at: number }>()
  const states = ["waiting", "running", "retrying", "failed"] as const
  const seenStates = new Set<string>()
  return {
    jobs: (all) => {
      for (const counts of all) {
        const entry = queues.get(counts.name)
        const at = Date.now()
        if (entry !== undefined) {
          Object.assign(entry, { counts, at })
          continue
        }
        const queue = { counts, at }
        queues.set(counts.name, queue)
        for (const state of states) {
          gauge(
            "service.jobs.count",
            { "job.name": counts.name, "job.state": state },
            "Jobs, counted once a minute",
            () => queue.counts[state]
          )
        }
        gauge(
          "service.jobs.oldest_age",
          { "job.name": counts.name, unit: "s" },
          "Time since the job that waits longest was due",
          () =>
            queue.counts.oldestDue === null ? 0 : Math.max(0, (queue.at - Date.parse(queue.counts.oldestDue)) / 1_000)
        )
      }
    },
    backlog: ({ events, held, tasks }) => {
      if (events !== null) {
        put("service.events.waiting", {}, "Changes that wait for dispatch, counted up to 100,000", events.count)
        put("service.events.oldest_age", { unit: "s" }, "Age of the change that waits longest for dispatch", events.age)
      }
      if (held !== null) {
        put("service.jobs.held_by_dead", {}, "Jobs whose process has given no sign of life for its lease", held)
      }
      if (tasks === null) return
      const description = "Tasks that have not ended"
      // A state that has no more tasks says so.
      for (const state of new Set([...seenStates, ...tasks.keys()])) {
        seenStates.add(state)
        put("service.tasks.count", { "task.state": state }, description, tasks.get(state) ?? 0)
      }
    },
    database: (up) => put("service.database.up", {}, "1 while the database answers scrapes", up ? 1 : 0),
    outage: (state, lasts) =>
      put("service.outage", { state }, "1 while requests are refused for this state of the database", lasts ? 1 : 0),
    cleaned: ({ deleted, failed }) => {
      cleanedFiles.updateUnsafe(deleted, context)
      put("service.files.cleanup.failed", {}, "Entries that the last cleanup of files could not handle", failed)
      put(
        "service.files.cleanup.last",
        { unit: "s" },
        "When files were last cleaned up, as Unix time",
        Date.now() / 1_000
      )
    },
    measure: ({ method, refused: why, route, seconds, status }) => {
      if (why !== null) {
        const cause = why.cause ?? ""
        countOf(`${method} ${route} ${why.slug} ${cause}`, {
          "http.request.method": method,
          ...(route === "" ? {} : { "http.route": route }),
          slug: why.slug,
          ...(cause === "" ? {} : { cause })
        }).updateUnsafe(1, context)
      }
      histogramOf(durations, `${method} ${route} ${status}`, () =>
        Metric.withAttributes(duration, {
          "http.request.method": method,
          "http.response.status_code": String(status),
          ...(route === "" ? {} : { "http.route": route })
        })).updateUnsafe(seconds, context)
    },
    onWait: (pool, milliseconds) =>
      histogramOf(
        waits,
        pool,
        () => Metric.withAttributes(waiting, { "db.client.connection.pool.name": pool })
      )
        .updateUnsafe(milliseconds / 1_000, context),
    watch: (postgres, replicas) => {
      for (const { name } of replicas?.states() ?? []) {
        const now = () => replicas?.states().find((each) => each.name === name)
        gauge(
          "service.replica.lag",
          { replica: name, unit: "s" },
          "How far the replica is behind; not a number while that is not known",
          () => (now()?.lagMs ?? Number.NaN) / 1_000
        )
        gauge(
          "service.replica.used",
          { replica: name },
          "1 while reads go to the replica",
          () => now()?.absence === null ? 1 : 0
        )
      }
      for (const { pool } of postgres.pools()) {
        const now = () => postgres.pools().find((each) => each.pool === pool)!
        const name = { "db.client.connection.pool.name": pool }
        gauge("db.client.connection.max", name, "Most connections of the pool", () => now().size)
        gauge(
          "db.client.connection.count",
          { ...name, "db.client.connection.state": "used" },
          "Connections that work",
          () => now().busy
        )
        gauge("db.client.connection.pending_requests", name, "Requests that wait for a connection", () => now().waiting)
        gauge(
          "db.client.connection.timeouts",
          name,
          "Requests that gave up waiting, since the start",
          () => now().timeouts
        )
      }
    }
  }
}
