/**
 * The port to records on PostgreSQL: reads on one pool, transactions on another. It executes what the domain decided; statements are made in the
 * files beside it.
 */

import * as Effect from "effect/Effect"
import { BoundedMap } from "../../core/domain/bounded.ts"
import type { PagePlan } from "../../core/domain/read/plan.ts"
import type { RecordsError, RecordsService, RecordsTransaction } from "../../core/ports/records.ts"
import type { Postgres } from "./connection.ts"
import { refuse, refusePattern } from "./errors.ts"
import { idempotencyStore } from "./idempotency.ts"
import { canonicalPage, type Extensions, once, Reader, regexTimeoutMs, type RunHow } from "./reader.ts"
import { refreshedSql, refreshView } from "./refreshes.ts"
import { quoted, type Rows, tableOf, timestampFromText } from "./sql.ts"
import { type Fate, Transaction } from "./transaction.ts"

/** Reads on the pool, each statement by itself. */
class PoolReader extends Reader {
  readonly #postgres: Postgres
  readonly #forRegex: { readonly prepare: false; readonly timeoutMs: number; readonly refuse: typeof refusePattern }

  constructor(postgres: Postgres, extensions: Extensions) {
    super(extensions)
    this.#postgres = postgres
    const timeoutMs = Math.min(regexTimeoutMs, postgres.statementTimeoutMs)
    this.#forRegex = { prepare: false, timeoutMs, refuse: refusePattern }
  }

  pageWithin(plan: PagePlan, bytes: number): ReturnType<RecordsService["pageWithin"]> {
    const read = this.paged(
      plan,
      ({ regex, sql }, params) => this.#postgres.readWithin(sql, params, bytes, regex ? this.#forRegex : {})
    )
    return Effect.map(read, ({ cut, rows }) => {
      const canonical = canonicalPage(rows, plan.shape)
      return { rows: plan.before === undefined ? canonical : [...canonical].reverse(), cut }
    })
  }

  override run(sql: string, params: readonly unknown[], how: RunHow): Effect.Effect<Rows, RecordsError> {
    return this.#postgres.read(
      sql,
      params,
      // A read that has less time than patterns have fails as one without them does: the pattern is not to blame.
      how.regex && (how.timeoutMs ?? Infinity) >= this.#forRegex.timeoutMs
        ? this.#forRegex
        : how.byIndex === true
        ? { prepare: false, settings: { enable_seqscan: "off" } }
        : how
    )
  }

  /** Whether the table has an index that begins with the columns; null where it can have none. */
  indexed(
    { columns, method, model, partial }: Parameters<RecordsService["indexed"]>[0]
  ): Effect.Effect<boolean | null, RecordsError> {
    if (model.function !== undefined) return Effect.succeed(null)
    const names = columns.map(({ column }) => quoted(column)).join(", ")
    const sql =
      `select (select exists (select from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam` +
      ` where i.indrelid = r.oid and i.indisvalid and m.amname = ${quoted(method)}` +
      (partial ? "" : " and i.indpred is null") +
      ` and (select array_agg(a.attname::text order by k.place) from unnest(i.indkey::int2[]) with ordinality k(number, place)` +
      ` join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number where k.place <= ${columns.length})` +
      ` = array[${names}]::text[]) from pg_class r where r.oid = to_regclass(${quoted(tableOf(model))})` +
      ` and r.relkind in ('r', 'p', 'm'))::text`
    return Effect.map(this.run(sql, [], once), ([row]) => row?.[0] == null ? null : row[0] === "true")
  }
}

/** The port on given connections. `woken` is told the jobs that hooks enqueued, after the commit. */
export const makeRecords = (postgres: Postgres, woken?: (job: string) => void): RecordsService => {
  const extensions: Extensions = {
    schemas: postgres.schemas,
    idempotency: idempotencyStore(postgres.schemas.service),
    trigram: null,
    lookUp: (sql) => postgres.read(sql, [], once),
    constraints: new BoundedMap(500),
    pledges: new WeakMap()
  }
  const reader = new PoolReader(postgres, extensions)
  /** A transaction. `begun` gets its fate: what its hooks did, which counts once it has committed. */
  const inTransaction = <A, E>(
    body: (tx: RecordsTransaction) => Effect.Effect<A, E>,
    alone?: boolean,
    begun?: (fate: Fate) => void
  ): Effect.Effect<A, E | RecordsError> =>
    postgres.transaction((session): Effect.Effect<A, E | RecordsError> => {
      const fate: Fate = { open: true, met: null, enqueued: null }
      begun?.(fate)
      const work = body(new Transaction(session, extensions, postgres.statementTimeoutMs, fate))
      // Without a transaction there are no hooks to hold its handle.
      if (session.autocommit) return work
      // A failing hook is a defect. But a conflict in it stays a conflict, for which the whole transaction may be tried again, and a database that
      // went away stays that, whatever the hook throws. When a hook swallowed it, only a further statement shows whether the transaction still stands.
      // It does when a savepoint undid it.
      const whole = Effect.tap(
        work,
        () => fate.met === null ? Effect.void : Effect.catch(session.run("select 1", [], false), refuse)
      )
      const judged = Effect.catchCause(
        whole,
        (cause): Effect.Effect<never, E | RecordsError> =>
          fate.met === null ? Effect.failCause(cause) : refuse(fate.met)
      )
      return Effect.ensuring(judged, Effect.sync(() => void (fate.open = false)))
    }, alone)

  return {
    page: (plan) => reader.page(plan),
    related: (plan) => reader.related(plan),
    indexed: (index) => reader.indexed(index),
    pageWithin: (plan, bytes) => reader.pageWithin(plan, bytes),
    count: (plan) => reader.count(plan),
    aggregate: (plan) => reader.aggregate(plan),
    holding: (question) => reader.holding(question),
    estimate: (plan) => reader.estimate(plan),
    transaction: <A, E>(body: (tx: RecordsTransaction) => Effect.Effect<A, E>, alone?: boolean) =>
      woken === undefined ? inTransaction(body, alone) : Effect.suspend(() => {
        let fate: Fate | undefined
        const ended = inTransaction(body, alone, (own) => {
          fate = own
        })
        return Effect.tap(ended, () => Effect.sync(() => fate?.enqueued?.forEach(woken)))
      }),
    refreshed: (model) =>
      Effect.map(reader.run(refreshedSql(postgres.schemas.service, model), [], once), ([row]) => ({
        at: row?.[0] == null ? null : timestampFromText(row[0]),
        failedAt: row?.[1] == null ? null : timestampFromText(row[1])
      })),
    refresh: (db, model, timeoutMs) => refreshView(db, postgres.schemas.service, model, timeoutMs),
    ping: postgres.ping
  }
}
