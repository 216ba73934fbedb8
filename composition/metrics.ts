/**
 * The service's own numbers for OpenTelemetry: how long requests take, and how much of the database pools is in use. It decides names, units
 * and attributes (OpenTelemetry semantic conventions, HTTP and database client metrics) and sends nothing itself.
 */

import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import type { Measure } from "../adapters/http/measure.ts"
import type { Postgres, PostgresOptions } from "../adapters/postgres/connection.ts"
import type { JobCounts } from "../core/domain/job/state.ts"

export interface ServiceMetrics {
  /** Updates `http.server.request.duration`. */
  readonly measure: Measure
  /** Updates `db.client.connection.wait_time`. */
  readonly onWait: NonNullable<PostgresOptions["onWait"]>
  /** Takes the counts of the queues: `service.jobs.count` by name and state, `service.jobs.oldest_age` by name. */
  readonly jobs: (counts: readonly JobCounts[]) => void
  /** Makes the pools' numbers readable at every export. */
  readonly watch: (postgres: Pick<Postgres, "pools">) => void
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
  const durations = new Map<string, Metric.Histogram<number>>()
  const waits = new Map<string, Metric.Histogram<number>>()
  const histogramOf = (
    all: typeof durations,
    key: string,
    make: () => Metric.Histogram<number>
  ): Metric.Histogram<number> => {
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
  // The newest counts by name. A name is the declarations', never a client's.
  const queues = new Map<string, { counts: JobCounts; at: number }>()
  const states = ["waiting", "running", "retrying", "failed"] as const
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
    measure: ({ method, route, seconds, status }) =>
      histogramOf(durations, `${method} ${route} ${status}`, () =>
        Metric.withAttributes(duration, {
          "http.request.method": method,
          "http.response.status_code": String(status),
          ...(route === "" ? {} : { "http.route": route })
        }) as Metric.Histogram<number>).updateUnsafe(seconds, context),
    onWait: (pool, milliseconds) =>
      histogramOf(
        waits,
        pool,
        () => Metric.withAttributes(waiting, { "db.client.connection.pool.name": pool }) as Metric.Histogram<number>
      )
        .updateUnsafe(milliseconds / 1_000, context),
    watch: (postgres) => {
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
