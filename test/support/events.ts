/**
 * A service with events on a database of its own: the API, dispatch and the workers of the queue in this process, and receivers that verify what they get
 * with the standardwebhooks package. Waiting jobs are brought forward by `advance`.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Pool } from "pg"
import { Webhook } from "standardwebhooks"
import { makeFetch } from "../../adapters/http/fetch.ts"
import type { Edge } from "../../adapters/http/handle.ts"
import { makeOutbound } from "../../adapters/outbound/outbound.ts"
import { makeChanges } from "../../adapters/postgres/changes.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeRates } from "../../adapters/postgres/rates.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { makeWebhooks } from "../../adapters/postgres/webhooks.ts"
import { startEngine } from "../../adapters/queue/engine.ts"
import { makeQueue } from "../../adapters/queue/queue.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { newWebhookSecret } from "../../adapters/seal/webhook.ts"
import { makeBell } from "../../composition/bell.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { allSubscriptions, makeEvents, makeExtension } from "../../composition/event-parts.ts"
import type { ExtensionParts } from "../../composition/event-parts.ts"
import { makeFoundation, withChecks } from "../../composition/foundation.ts"
import { eventMigrations, rateMigrations, webhookMigrations } from "../../composition/migrations.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import type { EventEnvelope } from "../../core/domain/event/envelope.ts"
import type { OwnDatabase } from "../../core/domain/job/definition.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import { testAuthenticator, testSecret, tokenOf } from "./composed.ts"
import type { TestCaller } from "./composed.ts"
import { openPooler } from "./pooler.ts"
import { openDatabase } from "./postgres.ts"
import type { TestDatabase } from "./postgres.ts"
import { waitUntil } from "./until.ts"

/** What a receiver got. */
export interface Received {
  readonly event: EventEnvelope
  readonly headers: { readonly [name: string]: string | undefined }
  readonly body: string
  readonly at: number
}

/** How a receiver answers. */
export type Answering =
  | {
    readonly status: number
    readonly headers?: { readonly [name: string]: string }
    readonly body?: string
    /** When it answers: after so many milliseconds, or once that has happened. */
    readonly after?: number | Promise<unknown>
  }
  | "reset"
  /** Status and headers at once, and then a byte a second without an end. */
  | "trickle"

export interface TestReceiver {
  readonly url: string
  readonly secret: string
  readonly received: Received[]
  /** Answers the requests to come; the default is a 204. */
  answer: (received: Received, index: number) => Answering
  readonly close: () => Promise<void>
}

/** A receiver that refuses what is not signed with its secret. */
export const openReceiver = async (secret: string = newWebhookSecret()): Promise<TestReceiver> => {
  const webhook = new Webhook(secret)
  const received: Received[] = []
  const timers = new Set<NodeJS.Timeout>()
  const receiver: { answer: TestReceiver["answer"] } = { answer: () => ({ status: 204 }) }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString()
      const headers = request.headers as Received["headers"]
      try {
        webhook.verify(body, headers as { [name: string]: string })
      } catch {
        response.writeHead(401).end("not signed")
        return
      }
      const one: Received = { event: JSON.parse(body) as EventEnvelope, headers, body, at: performance.now() }
      received.push(one)
      const answer = receiver.answer(one, received.length - 1)
      if (answer === "reset") return void request.socket.destroy()
      if (answer === "trickle") {
        response.writeHead(200).write("x")
        const timer = setInterval(() => response.write("x"), 1_000)
        timers.add(timer)
        response.on("close", () => clearInterval(timer))
        return
      }
      const reply = (): void =>
        void response.writeHead(answer.status, { connection: "close", ...answer.headers }).end(answer.body)
      if (answer.after === undefined) reply()
      else if (typeof answer.after === "number") timers.add(setTimeout(reply, answer.after))
      else void answer.after.then(reply)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    secret,
    received,
    close: async () => {
      for (const timer of timers) clearTimeout(timer)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })
}

export interface EventService {
  readonly database: TestDatabase
  readonly log: ReadonlyArray<{ readonly [name: string]: unknown }>
  readonly call: (
    caller: TestCaller,
    method: string,
    path: string,
    body?: unknown,
    headers?: { readonly [name: string]: string }
  ) => Promise<
    {
      readonly status: number
      readonly json: { readonly [member: string]: Json }
      readonly headers: Headers
      readonly text: string
    }
  >
  /** The response as it is, for answers that stream. */
  readonly fetch: (caller: TestCaller, path: string, init?: RequestInit) => Promise<Response>
  /** Waits until it holds. */
  readonly until: (holds: () => boolean | Promise<boolean>, what?: string, milliseconds?: number) => Promise<void>
  /** Brings waiting jobs forward. */
  readonly advance: (seconds: number) => Promise<void>
  /** Jobs by name with their state: payload, seconds from what happened last to the next try, attempts, error. */
  readonly jobs: (
    name: string
  ) => Promise<
    ReadonlyArray<
      {
        readonly id: string
        readonly seconds: number
        readonly attempts: number
        readonly most: number
        /** No try of it is under way: it can be brought forward. */
        readonly waits: boolean
        readonly error: string | null
        readonly payload: { readonly [name: string]: Json }
      }
    >
  >
  /** Everything captured has been dispatched. */
  readonly settled: () => Promise<void>
  readonly events: ReturnType<typeof makeEvents>
  /** Has this process look for changes that were made by SQL. */
  readonly changed: () => void
  /** For a listener. */
  readonly edge: Edge
  readonly close: () => Promise<void>
}

export interface EventServiceOptions {
  readonly config: Config
  readonly schema: string
  /** Whether dispatch and workers run. Default yes. */
  readonly runs?: boolean
  readonly pooler?: string
  /** The roles of owners are asked for each time, unless `rolesMs` says for how long they are believed. */
  readonly more?: Partial<Pick<ExtensionParts, "mailOwner" | "outbound" | "ownerRoles" | "rolesMs">>
  /** Another service's database, for a second instance. */
  readonly database?: TestDatabase
}

/** Everything that a database of such a service needs, as statements. */
export const eventStatements = (
  compiled: Pick<Compiled, "models" | "subscriptions" | "webhooks">,
  schema: string
): string => {
  const captured = eventMigrations(compiled).map(({ statements }) => statements).join("\n")
  const made = webhookMigrations(compiled).map(({ statements }) => statements).join("\n")
  const rates = rateMigrations(compiled).map(({ statements }) => statements).join("\n")
  return `create schema service;\n${schema};\n${captured}\n${queueStatements()}\n${made}\n${rates}`
}

/** Starts a service with events. */
export const openEvents = async (options: EventServiceOptions): Promise<EventService> => {
  const compiled = compileOrThrow(options.config)
  const database = options.database ?? await openDatabase(eventStatements(compiled, options.schema))
  const between = options.pooler === undefined ? null : await openPooler(options.pooler, database)
  const url = between?.url ?? database.url
  const scope = Scope.makeUnsafe()
  const postgres = await Effect.runPromise(Effect.provideService(
    makePostgres({ url, readConnections: 4, writeConnections: 8 }),
    Scope.Scope,
    scope
  ))
  const pool = new Pool({ ...pgAddressOf(url), max: 8 })
  pool.on("error", () => {})
  const log: Array<{ readonly [name: string]: unknown }> = []
  const bell = makeBell()
  const queue = makeQueue(pool, bell.enqueued)
  const parts = {
    compiled,
    records: makeRecords(postgres),
    authenticator: testAuthenticator,
    secret: testSecret,
    publicUrl: "http://service.test",
    log: (line: string) => void log.push(JSON.parse(line) as { readonly [name: string]: unknown })
  }
  const own = makeOutbound()
  const given = { compiled, log: parts.log, outbound: own, rolesMs: 0, ...options.more }
  const ground = makeFoundation({ ...parts, changed: bell.changed })
  const extension = compiled.webhooks === null
    ? null
    : makeExtension({ ...given, ground, store: makeWebhooks(postgres, compiled.webhooks) })
  const foundation = withChecks(ground, extension?.checks ?? new Map())
  const db: OwnDatabase = {
    query: async (sql, params = []) => (await pool.query(sql, [...params])).rows as never,
    transaction: async (work) => {
      const client = await pool.connect()
      try {
        await client.query("begin")
        const done = await work({
          query: async (sql, params = []) => (await client.query(sql, [...params])).rows as never
        })
        await client.query("commit")
        return done
      } catch (error) {
        await client.query("rollback")
        throw error
      } finally {
        client.release()
      }
    }
  }
  const kept = compiled.webhooks?.keepEventsMs ?? null
  const events = makeEvents({
    ...given,
    foundation,
    extension,
    changes: makeChanges(
      postgres,
      compiled.models,
      kept === null ? null : { schema: compiled.webhooks!.schema, keptMs: kept }
    ),
    rates: makeRates(postgres),
    subscriptions: allSubscriptions(compiled, extension),
    queue,
    db,
    wake: bell.enqueued
  })
  const edge = makeService(parts, foundation, events)
  const fetch = makeFetch(edge, Context.empty())
  const runs = options.runs ?? true
  const jobs = new Map([...compiled.jobs, ...events.jobs])
  const workers = runs
    ? await startEngine({
      pool,
      queue,
      jobs,
      attempt: makeAttempts(jobs, { db, mail: undefined }),
      log: (level, event, fields) => void log.push({ level, event, ...fields }),
      pollMs: 100
    })
    : null
  const loop = workers === null ? null : events.start()
  if (workers !== null) bell.onEnqueued(workers.wake)
  if (loop !== null) bell.onChanged(loop.wake)
  const request = (caller: TestCaller, path: string, init: RequestInit = {}) =>
    fetch(
      new Request(`http://service.test${path}`, {
        ...init,
        headers: { authorization: `Bearer ${tokenOf(caller)}`, ...init.headers as object }
      })
    )
  return {
    database,
    log,
    events,
    changed: bell.changed,
    edge,
    until: waitUntil,
    call: async (caller, method, path, body, headers = {}) => {
      const response = await request(caller, path, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: (text === "" ? {} : JSON.parse(text)) as { readonly [member: string]: Json }
      }
    },
    fetch: request,
    advance: (seconds) =>
      database.execute(`begin; set session_replication_role = replica;
        update jobs._private_jobs set run_at = run_at - interval '${seconds} seconds' where locked_at is null; commit`),
    jobs: async (name) => {
      const rows = await database.rows(
        `select j.id::text, extract(epoch from j.run_at - j.updated_at)::text, j.attempts::text, j.max_attempts::text, j.last_error, j.payload::text, (j.locked_at is null)::text
          from jobs._private_jobs j join jobs._private_tasks t on t.id = j.task_id where t.identifier = '${name}' order by j.id`
      )
      return rows.map(([id, seconds, attempts, most, error, payload, waits]) => ({
        id: id!,
        seconds: Number(seconds),
        attempts: Number(attempts),
        most: Number(most),
        waits: waits === "true",
        // Rows are read with every value as a text.
        error: error ?? null,
        payload: JSON.parse(payload!) as { readonly [name: string]: Json }
      }))
    },
    settled: () =>
      (bell.changed(), waitUntil)(
        async () => (await database.rows("select 1 from service.change limit 1")).length === 0,
        "no change left"
      ),
    close: async () => {
      await workers?.stop()
      events.watching.close()
      await loop?.stop()
      await extension?.whenIdle()
      own.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await pool.end()
      await between?.close()
      if (options.database === undefined) await database.drop()
    }
  }
}
