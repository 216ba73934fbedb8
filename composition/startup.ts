/**
 * The start-up checks that need the live database. It reads the facts of every declared table, and the domain compares them with the
 * models. It changes nothing and decides nothing itself.
 */

import * as Effect from "effect/Effect"
import { makePostgres } from "../adapters/postgres/connection.ts"
import type { Postgres, PostgresOptions } from "../adapters/postgres/connection.ts"
import { makeFacts } from "../adapters/postgres/facts.ts"
import type { FunctionFacts, ServerFacts, TableFacts } from "../core/domain/compile/catalogue.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { checkFacts } from "../core/domain/compile/facts.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { attemptsName, deliveriesName, subscriptionsName } from "../core/domain/declare/webhooks.ts"
import type { RecordsError } from "../core/ports/records.ts"

/** What a database holds of the declared tables. */
export interface LiveFacts {
  readonly server: ServerFacts
  /** By resource; null where there is no such table. */
  readonly tables: ReadonlyMap<string, TableFacts | null>
  /** Names of existing tables, read when one is missing; those of `public` without their schema. */
  readonly names: readonly string[]
  /** The functions of each name, by resource, of resources over functions. */
  readonly functions: ReadonlyMap<string, readonly FunctionFacts[]>
}

/** Does work on connections of its own, which close afterwards. For commands, which run no service. */
export const withPostgres = <A>(
  options: Pick<PostgresOptions, "url" | "readConnections" | "schemas">,
  work: (postgres: Postgres) => Effect.Effect<A, RecordsError>
): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(makePostgres({ ...options, statementTimeoutMs: 60_000 }), work)))

/** Reads the facts of all declared tables, at once. */
export const readLiveFacts = (compiled: Compiled, postgres: Postgres): Effect.Effect<LiveFacts, RecordsError> => {
  const facts = makeFacts(postgres)
  const all = [...compiled.models.values()]
  const models = all.filter((model) => model.function === undefined)
  const called = all.filter((model) => model.function !== undefined)
  return Effect.flatMap(
    Effect.all([
      facts.server,
      facts.tables(models.map(({ schema, table }) => ({ schema, table }))),
      facts.functions(called)
    ], { concurrency: 2 }),
    ([server, tables, functions]) => {
      // Names of other tables are only worth a query when something is misspelled.
      const names = tables.includes(null)
        ? Effect.map(
          facts.all(),
          (tables) => tables.map(({ name, schema }) => schema === "public" ? name : `${schema}.${name}`)
        )
        : Effect.succeed<readonly string[]>([])
      return Effect.map(names, (names) => ({
        server,
        tables: new Map(models.map((model, index) => [model.name, tables[index] ?? null])),
        names,
        functions: new Map(called.map((model) => [
          model.name,
          functions.filter(({ name, schema }) => name === model.table && schema === model.schema)
        ]))
      }))
    }
  )
}

/**
 * An embedded database with none of the tables was most likely not meant, or is not migrated yet. This is said before the advice to make
 * each table by hand.
 */
const findEmpty = (compiled: Compiled, live: LiveFacts, embedded: boolean): readonly Refusal[] => {
  // Tables of versions and of webhooks are the service's own.
  const versions = new Set([...compiled.models.values()].map(({ history }) => history))
  const declared = [...live.tables].filter(([name]) => !versions.has(name) && !isWebhooks(compiled, name))
  return embedded && declared.length > 0 && declared.every(([, table]) => table === null)
    ? [{
      resource: null,
      field: null,
      message: "DATABASE_URL is not set, and the embedded database has none of the declared tables.",
      fix:
        "Set DATABASE_URL, in .env for every terminal, if the tables are elsewhere; if the files in db/migrations make them, run: service migration --apply."
    }]
    : []
}

/** Whether the extension `webhooks` adds this resource. Its tables belong to the service, so nobody has to mend them. */
export const isWebhooks = ({ webhooks }: Pick<Compiled, "webhooks">, resource: string): boolean =>
  webhooks !== null && [subscriptionsName, deliveriesName, attemptsName].includes(resource)

/** Everything in the models that does not fit these facts. What a migration of the service makes is no table to be made by hand. */
export const findMismatches = (compiled: Compiled, live: LiveFacts, embedded: boolean): readonly Refusal[] => {
  const made = (resource: string | null): boolean =>
    resource !== null && isWebhooks(compiled, resource) && (live.tables.get(resource) ?? null) === null
  const refusals = checkFacts(compiled.models, live)
  return [
    ...findEmpty(compiled, live, embedded),
    ...refusals.filter(({ resource }) => !made(resource)),
    ...(refusals.some(({ resource }) => made(resource))
      ? [{
        resource: null,
        field: null,
        message: "The tables of webhooks are missing, or the database role may not use their schema.",
        fix: "Run: service migration --apply"
      }]
      : [])
  ]
}

/** Everything in the models that does not fit the database. Fails when the database cannot be asked. */
export const checkDatabase = (
  compiled: Compiled,
  postgres: Postgres,
  embedded = false
): Effect.Effect<readonly Refusal[], RecordsError> =>
  Effect.map(readLiveFacts(compiled, postgres), (live) => findMismatches(compiled, live, embedded))
