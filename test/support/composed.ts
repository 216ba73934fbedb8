/**
 * The composed service for HTTP scenarios: the same configuration and rows on the records fake and on PostgreSQL, called through the web-standard
 * `fetch`. Callers are credentials of a test authenticator; nothing else of the service is replaced.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { Unauthorized } from "../../adapters/auth/authenticator.ts"
import type { Authenticator } from "../../adapters/auth/authenticator.ts"
import { makeFetch } from "../../adapters/http/fetch.ts"
import type { Edge } from "../../adapters/http/handle.ts"
import { makeAudit } from "../../adapters/postgres/audit.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import type { Postgres } from "../../adapters/postgres/connection.ts"
import { idempotencySchema } from "../../adapters/postgres/idempotency.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { makeReplicas } from "../../adapters/postgres/replicas.ts"
import { makeSavedViews } from "../../adapters/postgres/saved-views.ts"
import { valueSql } from "../../adapters/postgres/sql.ts"
import { makeSubmissions } from "../../adapters/postgres/submissions.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import type { Parts } from "../../composition/edge.ts"
import type { FileParts } from "../../composition/files.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import type { Model, Models } from "../../core/domain/model/model.ts"
import { cellFromJson } from "../../core/domain/value/cell.ts"
import type { Cell, Json, Row } from "../../core/domain/value/kind.ts"
import type { AuditService } from "../../core/ports/audit.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import type { ReplicasService } from "../../core/ports/replicas.ts"
import { makeFakeAudit } from "../fakes/audit.ts"
import type { FakeConstraint } from "../fakes/constraints.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import type { FakeRecords } from "../fakes/records.ts"
import { makeFakeSavedViews } from "../fakes/saved-views.ts"
import { makeFakeSubmissions } from "../fakes/submissions.ts"
import { openDatabase } from "./postgres.ts"
import type { TestDatabase } from "./postgres.ts"
import { waitUntil } from "./until.ts"

export interface TestCaller {
  readonly id: string
  readonly roles: readonly string[]
  readonly tenant?: string
}

/** What an answer looks like to a scenario. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body; undefined when it is not JSON. */
  readonly json: Answered
}

/** A JSON value that scenarios may look into without asking first: a wrong path gives undefined and fails the expectation. */
export type Answered = {
  readonly [member: string]: Answered
  readonly [index: number]: Answered
} & Json

export interface CallOptions {
  readonly headers?: { readonly [name: string]: string }
  /** An object is sent as JSON; a string as it is, with the JSON content type unless `headers` says otherwise. */
  readonly body?: unknown
  /** A body that is sent as it is, with the type that `headers` give. */
  readonly raw?: NonNullable<RequestInit["body"]>
}

export interface TestService {
  readonly backend: "fake" | "postgres"
  readonly compiled: Compiled
  readonly edge: Edge
  /** Calls as the caller; null sends no credential. `path` begins with `/`. */
  readonly call: (caller: TestCaller | null, method: string, path: string, options?: CallOptions) => Promise<Answer>
  readonly get: (
    caller: TestCaller | null,
    path: string,
    headers?: { readonly [name: string]: string }
  ) => Promise<Answer>
  readonly records: RecordsService
  /** The fake, on the fake backend. */
  readonly fake: FakeRecords | null
  /** The database, on PostgreSQL. */
  readonly database: TestDatabase | null
  /** Errors that became a 500. */
  readonly unhandled: readonly unknown[]
  readonly log: readonly string[]
  readonly close: () => Promise<void>
}

/** A configuration with the tables it needs and what stands in them. */
export interface Fixture {
  readonly config: Config
  /** DDL of the tables, for PostgreSQL. */
  readonly schema: string
  /** Rows by resource, values in wire form by field name, or by column for system columns (as texts). */
  readonly rows: { readonly [resource: string]: ReadonlyArray<{ readonly [name: string]: Json }> }
  /** Defaults the database fills in, for the fake. */
  readonly defaultOf?: NonNullable<Parameters<typeof makeFakeRecords>[0]>["defaultOf"]
  /** Constraints of the schema besides keys and values that must be there, for the fake. */
  readonly constraints?: (models: Models) => readonly FakeConstraint[]
}

export const testSecret = "a secret of the tests, long enough"

/** A row of a fixture as cells. */
export const cellsOf = (model: Model, row: { readonly [name: string]: Json }): Row =>
  model.columns.map((column): Cell => {
    const value = row[column.name] ?? row[column.column] ?? null
    return value === null ? null : Result.getOrThrow(cellFromJson(column, value))
  })

const quote = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

const insertSql = (model: Model, rows: readonly Row[]): string => {
  if (rows.length === 0) return ""
  const table = model.schema === null ? quote(model.table) : `${quote(model.schema)}.${quote(model.table)}`
  const columns = model.columns.map((column) => quote(column.column)).join(", ")
  const values = rows.map((row) =>
    `(${
      row.map((cell, i) => cell === null ? "null" : valueSql(model.columns[i]!, `'${cell.replaceAll("'", "''")}'`))
        .join(", ")
    })`
  )
  return `insert into ${table} (${columns}) overriding system value values ${values.join(",\n")};`
}

/** The bearer token of a caller. */
export const tokenOf = (caller: TestCaller): string => Buffer.from(JSON.stringify(caller)).toString("base64url")

/** Verifies the bearer tokens that `tokenOf` makes. */
export const testAuthenticator: Authenticator = (request) => {
  const token = /^Bearer ([\w-]+)$/.exec(request.headers.get("authorization") ?? "")?.[1]
  if (token === undefined) throw new Unauthorized("no credential")
  const caller = JSON.parse(Buffer.from(token, "base64url").toString()) as TestCaller
  return {
    user: { id: caller.id, roles: caller.roles },
    ...(caller.tenant === undefined ? {} : { tenant: caller.tenant })
  }
}

/** How a service is started besides its fixture. */
export interface StartOptions {
  /** Storages, images and clock of files instead of the configured ones. */
  readonly files?: FileParts
  /** Further parts of the service. A function is given what they may stand on. */
  readonly parts?:
    | Partial<Parts>
    | ((
      made: { readonly compiled: Compiled; readonly records: RecordsService; readonly postgres: Postgres | null }
    ) => Partial<Parts>)
  /** Most connections for transactions. Default 4. */
  readonly writeConnections?: number
  /** Puts something between the service and its database: gives the URL to connect to. */
  readonly through?: (database: TestDatabase) => Promise<{ readonly url: string; readonly close: () => Promise<void> }>
}

/** Starts the service of a fixture on one of the two backends. */
export const startService = async (
  backend: "fake" | "postgres",
  fixture: Fixture,
  { files, parts = {}, through, writeConnections = 4 }: StartOptions = {}
): Promise<TestService> => {
  const unhandled: unknown[] = []
  const log: string[] = []
  const config: Config = {
    ...fixture.config,
    options: { onUnhandledError: (error) => void unhandled.push(error), ...fixture.config.options }
  }
  const compiled = compileOrThrow(config)
  const seeds = Object.entries(fixture.rows).map(([resource, rows]) => {
    const model = compiled.models.get(resource)
    if (model === undefined) throw new Error(`The fixture has rows of "${resource}", which is no resource.`)
    return { model, rows: rows.map((row) => cellsOf(model, row)) }
  })
  let records: RecordsService
  let fake: FakeRecords | null = null
  let submissions = makeFakeSubmissions()
  let savedViews = makeFakeSavedViews()
  let audit: AuditService = makeFakeAudit()
  let database: TestDatabase | null = null
  let release = async (): Promise<void> => {}
  let connected: Postgres | null = null
  let replicas: ReplicasService | undefined
  if (backend === "fake") {
    fake = makeFakeRecords({
      ...(fixture.defaultOf === undefined ? {} : { defaultOf: fixture.defaultOf }),
      ...(fixture.constraints === undefined ? {} : { constraints: fixture.constraints(compiled.models) })
    })
    for (const { model, rows } of seeds) fake.seed(model, rows)
    records = fake.service
  } else {
    // Rows and statistics are part of the template, so that only the first of many services with the same fixture waits for them.
    const opened = await openDatabase(
      [
        `${idempotencySchema().join(";\n")};`,
        compiled.jobs.size === 0 ? "" : queueStatements(),
        `${fixture.schema};`,
        ...seeds.map(({ model, rows }) => insertSql(model, rows)),
        "analyze"
      ].join("\n")
    )
    database = opened
    const between = through === undefined ? null : await through(opened)
    const scope = Scope.makeUnsafe()
    const made = <A>(effect: Effect.Effect<A, never, Scope.Scope>): Promise<A> =>
      Effect.runPromise(Effect.provideService(effect, Scope.Scope, scope))
    const connect = (): Promise<Postgres> =>
      made(makePostgres({
        url: between?.url ?? opened.url,
        statementTimeoutMs: compiled.options.statementTimeoutMs,
        readConnections: 4,
        writeConnections
      }))
    const postgres = await connect()
    connected = postgres
    records = makeRecords(postgres)
    // The database is its own replica: every read takes the way to one.
    if (process.env["TEST_REPLICAS"] === "self") {
      const beside = await connect()
      const servers = [{ name: "self", weight: 1, postgres: beside, records: makeRecords(beside) }]
      const service = await made(makeReplicas({ primary: postgres, records, servers, mostLagMs: 10_000 }))
      await waitUntil(() => service.states()[0]?.absence === null, "a replica that is read from")
      replicas = service
    }
    submissions = makeSubmissions(postgres)
    savedViews = makeSavedViews(postgres)
    audit = makeAudit(postgres, 365)
    release = async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await between?.close()
      await opened.drop()
    }
  }
  const edge = makeService({
    compiled,
    records,
    ...(replicas === undefined ? {} : { replicas }),
    submissions,
    savedViews,
    audit,
    authenticator: testAuthenticator,
    secret: testSecret,
    publicUrl: "http://service.test",
    log: (line) => void log.push(line),
    // Whether the admin app has been built here must not matter to a test of the API.
    webFolder: "no-admin-app",
    ...(files === undefined ? {} : { files }),
    ...(typeof parts === "function" ? parts({ compiled, records, postgres: connected }) : parts)
  })
  const fetch = makeFetch(edge, Context.empty())
  const call: TestService["call"] = async (caller, method, path, { body, headers = {}, raw } = {}) => {
    const response = await fetch(
      new Request(`http://service.test${path}`, {
        method,
        headers: {
          ...(caller === null ? {} : { authorization: `Bearer ${tokenOf(caller)}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        },
        ...(raw === undefined ? {} : { body: raw, ...(raw instanceof ReadableStream ? { duplex: "half" } : {}) }),
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
      } as RequestInit)
    )
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parsed(text) }
  }
  return {
    backend,
    compiled,
    edge,
    call,
    get: (caller, path, headers) => call(caller, "GET", path, headers === undefined ? {} : { headers }),
    records,
    fake,
    database,
    unhandled,
    log,
    close: release
  }
}

const parsed = (text: string): Answered => {
  try {
    return JSON.parse(text) as Answered
  } catch {
    return undefined as unknown as Answered
  }
}
