/**
 * `GET /metrics` for a scraper such as Prometheus: at a port of its own, or beside the API for whoever sends a token. What waits in the database is read at most
 * every ten seconds, however often somebody asks, and a database that does not answer delays no scrape by more than two.
 */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { ExtraRoute } from "../adapters/http/handle.ts"
import { methodNotAllowed } from "../adapters/http/problem.ts"
import { readBacklog } from "../adapters/postgres/backlog.ts"
import { sha256 } from "../adapters/seal/seal.ts"
import { hasEvents, needsQueue } from "../core/domain/compile/compile.ts"
import { notFound, problem } from "../core/domain/problem.ts"
import type { Admin } from "./create-admin.ts"
import type { ServiceMetrics } from "./metrics.ts"
import { mediaTypes, metricsText } from "./openmetrics.ts"
import { type OpenPort, openPort } from "./small-server.ts"

/** Milliseconds for which what was read from the database stands, and longest wait for it. */
const freshMs = 10_000
const patienceMs = 2_000

const path = "/metrics"

/** The metrics of a process, for scrapers. */
export interface Scraping {
  /** The route beside the API, for requests with this bearer token. */
  readonly route: (token: string) => ExtraRoute
  /** From now on, scrapes also tell what waits in the database of a service. */
  readonly watch: (admin: Pick<Admin, "compiled" | "db" | "queue">) => void
  /** Opens a port that serves nothing else, and asks for no token. Rejects where it is taken. */
  readonly open: (host: string, port: number) => Promise<OpenPort>
}

/** Reads what waits in the database into the metrics. */
const reader = ({ compiled, db, queue }: Parameters<Scraping["watch"]>[0], metrics: ServiceMetrics) => {
  const parts = { events: hasEvents(compiled), tasks: compiled.tasks !== null, jobs: needsQueue(compiled) }
  return async (): Promise<void> => {
    const [backlog, counts] = await Promise.all([
      readBacklog(db.query, compiled.schemas, parts),
      parts.jobs ? Effect.runPromise(queue.counts) : []
    ])
    metrics.backlog(backlog)
    metrics.jobs(counts)
  }
}

export const makeScraping = (context: Context.Context<never>, metrics: ServiceMetrics): Scraping => {
  let read = (): Promise<void> => Promise.resolve()
  let reading: Promise<void> | null = null
  let readAt = Number.NEGATIVE_INFINITY

  const refresh = async (): Promise<void> => {
    if (performance.now() - readAt < freshMs) return
    // One read serves everybody. One that takes long goes on, and the scrape after it has what it gave.
    reading ??= read().then(() => metrics.database(true), () => metrics.database(false)).finally(() => {
      reading = null
      readAt = performance.now()
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, patienceMs))
    await Promise.race([reading, late])
    clearTimeout(timer)
  }

  const answer = async (accept: string | null) => {
    await refresh()
    const open = accept !== null && accept.includes("application/openmetrics-text")
    return {
      status: 200,
      headers: { "content-type": open ? mediaTypes.openMetrics : mediaTypes.text, "cache-control": "no-store" },
      body: metricsText(context, open)
    }
  }

  return {
    watch: (admin) => {
      read = reader(admin, metrics)
    },
    route: (token) => ({
      prefix: path,
      access: "public",
      quiet: true,
      crossOrigin: false,
      anywhere: true,
      handle: (visit) => {
        if (visit.path !== path) return Effect.fail(notFound())
        const [, bearer] = /^Bearer +(\S+)$/i.exec(visit.request.headers.get("authorization") ?? "") ?? []
        // Digests are compared, so that the timing reveals nothing about the token.
        if (bearer === undefined || sha256(bearer) !== sha256(token)) {
          return Effect.fail(
            problem("unauthenticated", "The metrics need the operator's token.", {}, { "www-authenticate": "Bearer" })
          )
        }
        if (visit.method !== "GET") return Effect.fail(methodNotAllowed("GET, HEAD"))
        return Effect.promise(() => answer(visit.request.headers.get("accept")))
      }
    }),
    open: (host, port) =>
      openPort(host, port, (request, response) => {
        if (request.method !== "GET" || request.url?.split("?", 1)[0] !== path) {
          response.writeHead(404).end()
          return
        }
        // What fails is a fault of ours, and the process reports it.
        void answer(request.headers.accept ?? null).then(
          ({ body, headers, status }) => response.writeHead(status, headers).end(body)
        ).finally(() => response.end())
      })
  }
}
