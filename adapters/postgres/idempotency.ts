/**
 * Answers kept for idempotency keys. It claims a key with an advisory lock that ends with the transaction, and stores the answer beside the writes, so that
 * both are committed or neither. What an answer means is not its business.
 */

import * as Effect from "effect/Effect"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { RecordsError, type RecordsTransaction } from "../../core/ports/records.ts"
import { lockSeed, ownSchema, type Rows } from "./sql.ts"

type Statement = (sql: string, params: readonly unknown[], prepare: boolean) => Effect.Effect<Rows, RecordsError>

/** The statements that make the store; safe to run again. Where the role may not create schemas, somebody else runs them once. */
export const idempotencySchema = (schema: string = defaultSchemas.service): readonly string[] => {
  const s = ownSchema(schema)
  return [
    `create schema if not exists ${s}`,
    `create table if not exists ${s}.idempotency_key (
  id bytea primary key,
  request text not null,
  answer text not null,
  stored_at timestamptz not null
)`,
    `create index if not exists idempotency_key_stored_at on ${s}.idempotency_key (stored_at)`
  ]
}

const dayMicros = 86_400_000_000n

const digest = "sha256(convert_to($1 || chr(1) || $2, 'UTF8'))"
const instant = (parameter: string) => `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`

/** The statements of the store in a schema. */
const keyStatements = (schema: string) => {
  const s = ownSchema(schema)
  const seed = lockSeed(8173, schema)
  const claimSql = `select pg_try_advisory_xact_lock(hashtextextended($1 || chr(1) || $2, ${seed}))::text`
  const readSql = `select request, answer from ${s}.idempotency_key where id = ${digest} and stored_at > ${
    instant("$3")
  }`
  // Answers older than a day are removed, a few with each that is stored.
  const storeSql = `with old as (delete from ${s}.idempotency_key where id in (select id from ${s}.idempotency_key` +
    ` where stored_at <= ${instant("$6")} order by stored_at limit 20 for update skip locked) and id <> ${digest})` +
    ` insert into ${s}.idempotency_key (id, request, answer, stored_at) values (${digest}, $3, $4, ${instant("$5")})` +
    ` on conflict (id) do update set request = excluded.request, answer = excluded.answer, stored_at = excluded.stored_at`
  return {
    claimSql,
    readSql,
    storeSql,
    findSql: `select to_regclass('${s}.idempotency_key')::text`,
    makeLockSql: `select pg_advisory_xact_lock(${seed}, 1)::text`,
    makeSql: idempotencySchema(schema)
  }
}

/** The store in a schema: what `makeIdempotency` is given, made once. */
export interface IdempotencyStore extends ReturnType<typeof keyStatements> {}

export const idempotencyStore = (schema: string): IdempotencyStore => keyStatements(schema)

/** Databases whose table is known to be there, by their pools. */
const prepared = new WeakSet<object>()

/**
 * PostgreSQL refuses "if not exists" as a duplicate when somebody else makes the same schema at that moment: the lock is only between those who make this
 * table. Nothing is wrong with the request then, so its transaction is run again.
 */
const madeMeanwhile = (error: RecordsError): RecordsError =>
  error.reason._tag === "Unique" ? new RecordsError({ reason: { _tag: "Conflict" }, cause: error }) : error

/** Makes the table on first use; two processes at once wait for each other. */
const ensureTable = (
  database: object,
  store: IdempotencyStore,
  statement: Statement
): Effect.Effect<void, RecordsError> =>
  prepared.has(database)
    ? Effect.void
    : Effect.gen(function*() {
      const answer = yield* statement(store.findSql, [], false)
      if (answer[0]?.[0] === null) {
        yield* statement(store.makeLockSql, [], false)
        for (const sql of store.makeSql) yield* Effect.mapError(statement(sql, [], false), madeMeanwhile)
        // The transaction may still roll back and undo the table, so the next one looks again.
        return
      }
      prepared.add(database)
    })

/** The two methods of a transaction. `database` is any object that stands for the database. */
export const makeIdempotency = (
  database: object,
  store: IdempotencyStore,
  statement: Statement
): Pick<RecordsTransaction, "claimKey" | "storeKey"> => ({
  claimKey: ({ key, now, scope }) =>
    Effect.gen(function*() {
      yield* ensureTable(database, store, statement)
      const claimed = yield* statement(store.claimSql, [scope, key], true)
      // A statement of its own. Its snapshot is taken under the lock, so it sees what another request committed. Without the lock the other
      // may only be reading a stored answer.
      const [stored] = yield* statement(store.readSql, [scope, key, String(now - dayMicros)], true)
      return stored === undefined
        ? { of: claimed[0]?.[0] === "true" ? "new" : "busy" } as const
        : { of: "stored", request: stored[0]!, answer: stored[1]! } as const
    }),
  storeKey: ({ answer, key, now, request, scope }) =>
    Effect.asVoid(statement(store.storeSql, [scope, key, request, answer, String(now), String(now - dayMicros)], true))
})
