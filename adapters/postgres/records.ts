/**
 * The port to records on PostgreSQL: plans become statements, rows come back as exact texts. It executes what the domain decided and adds nothing: no
 * condition, no column, no second opinion about access.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { SqlError } from "effect/sql/SqlError"
import type { Cell, Field, Model, Row } from "../../core/domain/model/model.ts"
import type { AggregatePlan, CountPlan, PagePlan } from "../../core/domain/read/plan.ts"
import { Records } from "../../core/ports/records.ts"
import type {
  PlanEstimate,
  RecordsError,
  RecordsReader,
  RecordsService,
  RecordsTransaction
} from "../../core/ports/records.ts"
import { aggregateColumns, aggregateStatement } from "./compile-aggregate.ts"
import { countStatement, pageStatement } from "./compile-page.ts"
import {
  insertStatement,
  lockStatement,
  mostParameters,
  passesStatement,
  removeStatement,
  updateStatement,
  type VersionStep
} from "./compile-write.ts"
import { makePostgres, type Postgres, type PostgresOptions, type Session } from "./connection.ts"
import { failed, reasonOf, refuse, refusePattern } from "./errors.ts"
import { passingRows, type PlanNode, wholeScans } from "./estimate.ts"
import { makeIdempotency } from "./idempotency.ts"
import { bind, canonicalRows, quoted, type Statement, tableOf, type Values, valuesOf } from "./sql.ts"

type Rows = ReadonlyArray<Array<string | null>>

/** Runs statements of one connection, or of any. */
type Run = (
  sql: string,
  params: readonly unknown[],
  how: { readonly prepare: boolean; readonly regex: boolean }
) => Effect.Effect<Rows, RecordsError>

/** Longest time of a statement that holds a caller's regular expression. */
const regexTimeoutMs = 500

const once = { prepare: false, regex: false } as const

/** Where pg_trgm's functions are, or null where the extension is not installed. Asked when it is needed, kept once found. */
interface Extensions {
  trigram: string | null
}

const findTrigram =
  "select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'"

/** Compiles a statement and runs it; should it need pg_trgm, where that lives is found first. */
type Executor = (
  compile: (trigramSchema: string) => Statement,
  values: Values,
  explain?: boolean
) => Effect.Effect<Rows, RecordsError>

const makeExecutor = (run: Run, extensions: Extensions): Executor => (compile, values, explain = false) => {
  const go = (statement: Statement) =>
    run(explain ? `explain (format json, verbose) ${statement.sql}` : statement.sql, bind(statement, values), {
      prepare: statement.stable && !explain,
      regex: statement.regex
    })
  return Effect.suspend(() => {
    const statement = compile(extensions.trigram ?? "public")
    if (!statement.trigram || extensions.trigram !== null) return go(statement)
    return Effect.flatMap(run(findTrigram, [], once), (rows) => {
      const schema = rows[0]?.[0] ?? null
      if (schema === null) return Effect.fail(failed("Unsupported"))
      extensions.trigram = schema
      return go(compile(schema))
    })
  })
}

const noPosition: readonly Cell[] = []

type Plan = PagePlan | CountPlan | AggregatePlan

const statementOf = (plan: Plan, trigram: string): Statement =>
  "shape" in plan
    ? pageStatement(plan, trigram)
    : "of" in plan
    ? aggregateStatement(plan, trigram)
    : countStatement(plan, trigram)

const valuesFor = (plan: Plan): Values =>
  "shape" in plan
    ? { bindings: plan.bindings, position: plan.after ?? plan.before ?? noPosition, offset: plan.offset ?? 0 }
    : valuesOf(plan.bindings)

const makeReader = (run: Run, execute: Executor): RecordsReader => {
  const runPlan = (plan: Plan, explain = false) =>
    execute((trigram) => statementOf(plan, trigram), valuesFor(plan), explain)
  return {
    page: (plan) =>
      Effect.map(runPlan(plan), (rows): readonly Row[] => {
        const canonical = canonicalRows(rows, plan.shape.columns)
        return plan.before === undefined ? canonical : [...canonical].reverse()
      }),
    count: (plan) => Effect.map(runPlan(plan), (rows) => rows[0]?.[0] ?? "0"),
    aggregate: (plan) =>
      Effect.map(runPlan(plan), (rows): readonly Row[] => canonicalRows(rows, aggregateColumns(plan))),
    estimate: (plan) => Effect.flatMap(runPlan(plan, true), (rows) => judged(run, rows))
  }
}

/** Sizes come from the catalogue: the planner's own row numbers are those after filtering. */
const judged = (run: Run, rows: Rows): Effect.Effect<PlanEstimate, RecordsError> => {
  // The driver decodes json; a server that sends text is read the same.
  const cell: unknown = rows[0]?.[0]
  const [{ Plan: root }] = (typeof cell === "string" ? JSON.parse(cell) : cell) as readonly [
    { readonly Plan: PlanNode }
  ]
  const estimate = { cost: root["Total Cost"], rows: passingRows(root) }
  const scans = wholeScans(root)
  if (scans.length === 0) return Effect.succeed({ ...estimate, scannedRows: 0 })
  const names = scans.map((scan) => `to_regclass(${quoted(`${quotedName(scan.schema)}.${quotedName(scan.table)}`)})`)
  // The planner's own way: rows per page when last analyzed, times the pages there are now.
  const sizes =
    `select i::text, ceil(case when c.reltuples > 0 and c.relpages > 0 then c.reltuples / c.relpages else 60 end` +
    ` * (pg_relation_size(c.oid) / current_setting('block_size')::numeric))::text` +
    ` from unnest(array[${names.join(", ")}]::oid[]) with ordinality as n(oid, i) join pg_class c on c.oid = n.oid`
  return Effect.map(run(sizes, [], once), (found) => {
    const groups = new Map<number, number>()
    for (const [i, size] of found) {
      const scan = scans[Number(i) - 1]
      if (scan === undefined) continue
      groups.set(scan.group, (groups.get(scan.group) ?? 0) + Number(size) * scan.share)
    }
    return { ...estimate, scannedRows: Math.ceil(Math.max(0, ...groups.values())) }
  })
}

const quotedName = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

const versionSteps = new WeakMap<Model, VersionStep>()

/** How a model's version column moves on; a timestamp's step is the smallest its precision can hold. Looked up once a model. */
const versionStep = (run: Run, model: Model, field: Field): Effect.Effect<VersionStep, RecordsError> => {
  const known = versionSteps.get(model)
  if (known !== undefined) return Effect.succeed(known)
  const keep = (step: VersionStep) => {
    versionSteps.set(model, step)
    return step
  }
  if (field.kind !== "timestamp") return Effect.succeed(keep({ of: "integer" }))
  const precision = `select atttypmod::text from pg_attribute where attrelid = to_regclass(${quoted(tableOf(model))})` +
    ` and attname = ${quoted(field.column)}`
  return Effect.map(run(precision, [], once), (rows) => {
    const digits = Number(rows[0]?.[0] ?? -1)
    return keep({ of: "timestamp", microseconds: digits < 0 ? 1 : 10 ** (6 - digits) })
  })
}

/** What write hooks get: further statements in the same transaction, with `$1` placeholders. It ends with the transaction. */
export interface TransactionHandle {
  readonly query: (
    sql: string,
    params?: readonly unknown[]
  ) => Promise<ReadonlyArray<{ readonly [column: string]: unknown }>>
}

/** What becomes of a transaction while its body runs. */
interface Fate {
  open: boolean
  /** A hook's own statement met a serialization failure or deadlock, whatever the hook then makes of it. */
  conflict: SqlError | null
}

const makeHandle = (session: Session, fate: Fate): TransactionHandle => ({
  query: (sql, params = []) =>
    fate.open
      ? Effect.runPromise(Effect.tapError(session.objects(sql, params), (error) =>
        Effect.sync(() => {
          if (reasonOf(error) === "Conflict") fate.conflict = error
        })))
      : Promise.reject(new Error("The transaction of this handle has ended."))
})

const makeTransaction = (
  session: Session,
  extensions: Extensions,
  statementTimeoutMs: number,
  fate: Fate
): RecordsTransaction => {
  const statement = (sql: string, params: readonly unknown[], prepare: boolean) =>
    Effect.catch(session.run(sql, params, prepare), refuse)
  const limit = (milliseconds: number) =>
    statement(`select set_config('statement_timeout', '${milliseconds}ms', true)`, [], false)

  const run: Run = (sql, params, how) =>
    how.regex
      ? Effect.gen(function*() {
        yield* limit(Math.min(regexTimeoutMs, statementTimeoutMs))
        const rows = yield* Effect.catch(session.run(sql, params, false), (error: SqlError) => refusePattern(error))
        yield* limit(statementTimeoutMs)
        return rows
      })
      : statement(sql, params, how.prepare)
  const executor = makeExecutor(run, extensions)
  let savepoints = 0

  return {
    ...makeReader(run, executor),
    ...makeIdempotency(extensions, statement),
    handle: makeHandle(session, fate),
    checkDeferred: Effect.asVoid(statement("set constraints all immediate", [], false)),
    lock: ({ bindings, checks, columns, key, model, where }) =>
      Effect.map(
        executor((trigram) => lockStatement(model, key, where, { columns, checks }, trigram), valuesOf(bindings)),
        (rows) => canonicalRows(rows, columns)[0] ?? null
      ),
    passes: ({ bindings, key, model, tree }) =>
      Effect.map(
        executor((trigram) => passesStatement(model, key, tree, trigram), valuesOf(bindings)),
        (rows) => rows[0]?.[0] === "true"
      ),
    insert: ({ bindings, checks, columns, fields, model, rows }) => {
      const most = Math.max(1, Math.floor(mostParameters / Math.max(1, fields.length)))
      const parts: Array<ReadonlyArray<readonly Cell[]>> = []
      for (let i = 0; i < rows.length; i += most) parts.push(rows.slice(i, i + most))
      const values = valuesOf(bindings)
      return Effect.map(
        Effect.forEach(
          parts,
          (part) => executor((trigram) => insertStatement(model, fields, part, { columns, checks }, trigram), values)
        ),
        (answers) => canonicalRows(answers.flat(), columns)
      )
    },
    update: ({ bindings, checks, columns, key, model, set, touch }) => {
      const { version } = model
      const step = touch && version !== null ? versionStep(run, model, version) : Effect.succeed(null)
      return Effect.flatMap(step, (next) =>
        Effect.flatMap(
          executor(
            (trigram) => updateStatement(model, key, set, next, { columns, checks }, trigram),
            valuesOf(bindings)
          ),
          (rows) => {
            const row = canonicalRows(rows, columns)[0]
            return row === undefined
              ? Effect.die(new Error("the row to update is gone although it was locked"))
              : Effect.succeed(row)
          }
        ))
    },
    remove: ({ key, model }) =>
      Effect.flatMap(
        executor(() => removeStatement(model, key), noValues),
        // A trigger or a policy may keep a row without an error; nobody must be told that it is gone.
        (rows) =>
          rows.length === 0
            ? Effect.die(new Error("the row to remove is still there, or gone although it was locked"))
            : Effect.void
      ),
    savepoint: <A, E>(body: Effect.Effect<A, E>) =>
      Effect.suspend((): Effect.Effect<A, E | RecordsError> => {
        const name = `s${++savepoints}`
        return Effect.uninterruptibleMask((restore) =>
          Effect.gen(function*() {
            yield* statement(`savepoint ${name}`, [], false)
            const exit = yield* Effect.exit(restore(body))
            if (Exit.isFailure(exit)) yield* statement(`rollback to savepoint ${name}`, [], false)
            yield* statement(`release savepoint ${name}`, [], false)
            return yield* exit
          })
        )
      })
  }
}

const noValues: Values = valuesOf({ caller: { id: "", tenant: null }, now: 0n, params: [] })

/** The port on given connections. */
export const makeRecords = (postgres: Postgres): RecordsService => {
  const extensions: Extensions = { trigram: null }
  const { statementTimeoutMs } = postgres
  const forRegex = {
    prepare: false,
    timeoutMs: Math.min(regexTimeoutMs, statementTimeoutMs),
    refuse: refusePattern
  } as const
  const run: Run = (sql, params, how) => postgres.read(sql, params, how.regex ? forRegex : how)
  return {
    ...makeReader(run, makeExecutor(run, extensions)),
    transaction: <A, E>(body: (tx: RecordsTransaction) => Effect.Effect<A, E>, alone?: boolean) =>
      postgres.transaction((session): Effect.Effect<A, E | RecordsError> => {
        const fate: Fate = { open: true, conflict: null }
        // A hook fails as a defect, but a conflict stays one that the whole transaction may be tried again for.
        const judged = Effect.catchCause(
          body(makeTransaction(session, extensions, statementTimeoutMs, fate)),
          (cause): Effect.Effect<never, E | RecordsError> =>
            fate.conflict === null ? Effect.failCause(cause) : Effect.fail(failed("Conflict", fate.conflict))
        )
        return Effect.ensuring(judged, Effect.sync(() => void (fate.open = false)))
      }, alone),
    ping: postgres.ping
  }
}

/** The port as a layer with pools of its own. It builds without a database; ask `ping` whether one answers. */
export const recordsLayer = (options: PostgresOptions): Layer.Layer<Records> =>
  Layer.effect(Records, Effect.map(makePostgres(options), makeRecords))
