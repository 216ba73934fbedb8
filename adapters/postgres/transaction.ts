/**
 * Writes on PostgreSQL: a transaction on one connection, or statements that commit by themselves where a body stands alone. It sets
 * versions and keeps locks. What is written, and whether it may be, was decided before.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SqlError } from "effect/sql/SqlError"
import type { Transaction as HookTransaction } from "../../core/domain/declare/config.ts"
import type { Schemas } from "../../core/domain/declare/schemas.ts"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import { hearsEnqueued, type JobDatabase, queueSchema } from "../../core/domain/job/definition.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { isOutage } from "../../core/domain/outage.ts"
import { ownJson } from "../../core/domain/own-json.ts"
import { writeKey } from "../../core/domain/read/key.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { RecordsError, type RecordsReason, type RecordsTransaction } from "../../core/ports/records.ts"
import { captureTrigger, noteText } from "./capture.ts"
import {
  type AnswerColumns,
  insertStatement,
  lockAllStatement,
  lockStatement,
  mostParameters,
  passesStatement,
  removeAllStatement,
  removeStatement,
  stampedStatement,
  updateAllStatement,
  updateStatement,
  type VersionStep,
  type WriteAnswer
} from "./compile-write.ts"
import type { Session } from "./connection.ts"
import {
  failed,
  reasonOf,
  refuse,
  refuseAlone,
  refuseByRule,
  refusePattern,
  type Violated,
  violatedBy
} from "./errors.ts"
import { makeIdempotency } from "./idempotency.ts"
import { type Extensions, once, Reader, regexTimeoutMs, type RunHow } from "./reader.ts"
import { canonicalRows, identifier, lockSeed, quoted, type Rows, tableOf, valuesOf } from "./sql.ts"

/** What writing depends on besides the model. */
interface Traits {
  /**
   * Whether every version of a row has its own stamp, and whoever may read a row may write it. Views and foreign tables have no stamps.
   * Policies of row security may treat reading and locking differently.
   */
  readonly stamps: boolean
  /** Bits of `tgtype`: operations that may do something although they return no row. Their effects must be undone then. */
  readonly leaves: number
  /**
   * Bits of `tgtype`: operations for which a trigger, a rule or a default tells whether rows are written with one statement or one by one.
   */
  readonly apart: number
  /** Columns of unique indexes and exclusions: with values that differ, the order of the rows decides whether they pass. */
  readonly unique: ReadonlySet<string>
  /**
   * How the version column advances. The step of a timestamp is the smallest that its precision can hold. Null where there is no version
   * column.
   */
  readonly step: VersionStep | null
}

const knownTraits = new WeakMap<Model, { readonly traits: Traits; readonly until: number }>()

/** How long traits are trusted. A trigger may be made while the service runs. */
const traitsMs = 60_000

/** The bits of `tgtype` for what a trigger is fired by. */
const inserts = 4
const deletes = 8
const updates = 16
const anyWrite = inserts | deletes | updates

/**
 * Asks for a table's traits. A trigger that fires before a row is written, or instead of it, may write something itself and suppress the
 * row. A trigger of a statement fires also when no row is found. Partitions and children count for their parent. Effects of rules, and of
 * triggers on other tables, are not known.
 */
const traitsSql = (model: Model, { service }: Schemas): string =>
  `with recursive family as (select to_regclass(${quoted(tableOf(model))})::oid as oid` +
  ` union select i.inhrelid from pg_inherits i join family f on i.inhparent = f.oid),` +
  ` members as (select k.relkind in ('r', 'p') as own, k.relhasrules as rules, k.relrowsecurity as secured` +
  ` from pg_class k join family f on f.oid = k.oid),` +
  ` fired as (select coalesce(bit_or(g.tgtype::integer), 0) as bits from pg_trigger g join family f on f.oid = g.tgrelid` +
  ` where g.tgtype & 66 <> 0 or g.tgtype & 1 = 0),` +
  // A domain has the precision of its base type.
  ` digits as (select a.atttypmod as typmod, a.atttypid as type from pg_attribute a` +
  ` where a.attrelid = to_regclass(${quoted(tableOf(model))}) and a.attname = ${quoted(model.version?.column ?? "")}` +
  ` union all select y.typtypmod, y.typbasetype from pg_type y join digits d on d.type = y.oid)` +
  ` select (bool_and(own) and not bool_or(secured))::text,` +
  ` (case when bool_and(own) and not bool_or(rules) then (select bits from fired) & ${anyWrite} else ${anyWrite} end)::text,` +
  // Triggers after the rows of one statement run after all of its rows, so the first row is not finished when the next is written. And a
  // default from a stable function does not see the rows before.
  ` (case when bool_and(own) and not bool_or(rules) then (select coalesce(bit_or(g.tgtype::integer), 0) from pg_trigger g` +
  ` join family f on f.oid = g.tgrelid where not g.tgisinternal and g.tgname <> ${
    quoted(captureTrigger(service))
  } and not g.tginitdeferred and g.tgtype & 3 <> 3) & ${anyWrite}` +
  ` | case when exists (select from pg_attrdef v join family f on f.oid = v.adrelid` +
  ` join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = v.oid and d.refclassid = 'pg_proc'::regclass` +
  ` join pg_proc p on p.oid = d.refobjid where p.provolatile = 's') then ${inserts} else 0 end else ${anyWrite} end)::text,` +
  ` (select max(typmod)::text from digits),` +
  // Expressions and conditions of an index depend on their columns.
  ` (select json_agg(distinct a.attname)::text from pg_index i join family f on f.oid = i.indrelid` +
  ` join pg_attribute a on a.attrelid = i.indrelid where (i.indisunique or i.indisexclusion)` +
  ` and (a.attnum = any (i.indkey) or exists (select from pg_depend d where d.classid = 'pg_class'::regclass` +
  ` and d.objid = i.indexrelid and d.refobjid = i.indrelid and d.refobjsubid = a.attnum)))` +
  ` from members`

/** Failures that a constraint stands behind. */
const constrained: ReadonlySet<string> = new Set(["Unique", "ForeignKey", "NotNull", "Check"])

/** The columns of a constraint, or of a unique index without one. An expression is a row without a name. */
const constraintColumns = ({ schema, table }: Violated, name: string): string => {
  const oid = `to_regclass(${quoted(`${identifier(schema)}.${identifier(table)}`)})`
  return `select a.attname::text from (select c.conkey as key from pg_constraint c where c.conrelid = ${oid} and c.conname = ${
    quoted(name)
  }` +
    ` union all select (i.indkey::int2[])[0:i.indnkeyatts - 1] from pg_index i join pg_class x on x.oid = i.indexrelid` +
    ` where i.indrelid = ${oid} and x.relname = ${quoted(name)} limit 1) k, unnest(k.key) as n(number)` +
    ` left join pg_attribute a on a.attrelid = ${oid} and a.attnum = n.number`
}

/** What the transaction of one row knows of it. */
type Target = Parameters<RecordsTransaction["lock"]>[0]
type Change = Parameters<RecordsTransaction["update"]>[0]
type ManyChange = Parameters<RecordsTransaction["updateAll"]>[0]
type Insertion = Parameters<RecordsTransaction["insert"]>[0]
type Removal = Parameters<RecordsTransaction["remove"]>[0]

/** The rows of a write without the cells that only judge it, or tell something to the capture of changes. */
const asked = (rows: Rows, { checks, columns }: AnswerColumns): Rows => {
  const length = columns.length + checks.length
  for (const row of rows) if (row.length > length) row.length = length
  return rows
}

/** What an update writes besides the version, which moves by itself where there is a `step`. */
const written = (model: Model, set: Change["set"], step: VersionStep | null): Change["set"] =>
  step === null ? set : set.filter(([field]) => field !== model.version)

/**
 * What write hooks get: further statements in the same transaction, with `$1` placeholders. The handle ends with the transaction. Its
 * statements must not end the transaction, and must use `set local`. This catches mistakes, not intent: `select set_config(…)` passes.
 */
export type TransactionHandle = HookTransaction

/** What becomes of a transaction while its body runs. */
export interface Fate {
  open: boolean
  /** What a hook's own statement met that is no fault of the hook, even if the hook ignored it: a conflict, or a database that does not do it now. */
  met: SqlError | null
  /** Names of the jobs that hooks enqueued; null: none. */
  enqueued: Set<string> | null
}

const leadingComments = /^(?:[\s;]+|--.*|\/\*[^]*?\*\/)+/
/**
 * Statements that a hook may not send: those that end the transaction, those whose setting stays on the connection for other requests
 * (`set` without `local`), and those that change how the transaction's own cells are read.
 */
const leavesTransaction =
  /^(?:begin|start|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|set(?!\s+(?:local(?!\s+(?:time\s*zone|datestyle|intervalstyle)\b)|constraints|transaction)\b))\b/i

const refusedInHook = (): Error =>
  new Error(
    "A write hook can neither end its transaction nor set what others read by: throw to roll back, and write \"set local\" for settings of your own."
  )

/** Whether the same transaction may succeed at another time. */
const isPassing = (reason: RecordsReason["_tag"] | null): boolean =>
  reason !== null && (reason === "Conflict" || isOutage(reason))

/** The handle of one transaction; it ends with `fate.open`. */
export const makeHandle = (
  session: Session,
  fate: Fate,
  jobs: string
): TransactionHandle & Pick<JobDatabase, typeof hearsEnqueued | typeof queueSchema> => ({
  [queueSchema]: jobs,
  query: (sql, params = []) =>
    leavesTransaction.test(sql.replace(leadingComments, ""))
      ? Promise.reject(refusedInHook())
      : fate.open
      ? Effect.runPromise(Effect.tapError(session.objects(sql, params), (error) =>
        Effect.sync(() => {
          if (isPassing(reasonOf(error))) fate.met ??= error
        })))
      : Promise.reject(new Error("The transaction of this handle has ended.")),
  [hearsEnqueued]: (names) => {
    fate.enqueued = new Set([...fate.enqueued ?? [], ...names])
  }
})

/** The port's transaction on one connection. */
export class Transaction extends Reader implements RecordsTransaction {
  readonly #session: Session
  readonly #timeoutMs: number
  readonly #fate: Fate
  /** The row that was read without a lock. A write to it succeeds only while the row is still that version. */
  #stamp: string | null = null
  #savepoints = 0

  constructor(session: Session, extensions: Extensions, statementTimeoutMs: number, fate: Fate) {
    super(extensions)
    this.#session = session
    this.#timeoutMs = statementTimeoutMs
    this.#fate = fate
  }

  get handle(): TransactionHandle {
    return makeHandle(this.#session, this.#fate, this.extensions.schemas.jobs)
  }

  get checkDeferred(): Effect.Effect<void, RecordsError> {
    return Effect.asVoid(this.#statement("set constraints all immediate"))
  }

  #statement(sql: string, params: readonly unknown[] = [], prepare = false): Effect.Effect<Rows, RecordsError> {
    return Effect.catch(this.#session.run(sql, params, prepare), refuse)
  }

  override run(sql: string, params: readonly unknown[], how: RunHow): Effect.Effect<Rows, RecordsError> {
    if (!how.regex) return this.#statement(sql, params, how.prepare)
    // A shorter limit lasts until its transaction ends, so a transaction is needed.
    if (this.#session.autocommit) return Effect.fail(failed("Contended"))
    const limit = (milliseconds: number) =>
      this.#statement(`select set_config('statement_timeout', '${milliseconds}ms', true)`)
    const limited = Effect.catch(this.#session.run(sql, params, false), (error: SqlError) => refusePattern(error))
    return Effect.andThen(
      limit(Math.min(regexTimeoutMs, this.#timeoutMs)),
      Effect.flatMap(limited, (rows) => Effect.as(limit(this.#timeoutMs), rows))
    )
  }

  /**
   * Failures of a write that commits by itself mean something else. A write that may leave effects although it returns no row (`bits`)
   * never runs so.
   */
  #write<A>(model: Model, bits: number, written: Effect.Effect<A, RecordsError>): Effect.Effect<A, RecordsError> {
    const named = (error: RecordsError) => this.#named(model, error)
    if (!this.#session.alone) return Effect.catch(written, named)
    if (!this.#session.autocommit) return Effect.catch(Effect.catch(written, refuseByRule), named)
    return this.#knowing(
      model,
      ({ leaves }) =>
        (leaves & bits) === 0
          ? Effect.catch(Effect.catch(written, refuseAlone), named)
          : Effect.fail(failed("Contended"))
    )
  }

  /** Adds to a violated constraint of the model's table its columns. What cannot be found out is left out. */
  #named(model: Model, error: RecordsError): Effect.Effect<never, RecordsError> {
    const violation = constrained.has(error.reason._tag) ? violatedBy(error.cause as SqlError) : null
    if (violation?.table !== model.table || (model.schema !== null && violation.schema !== model.schema)) {
      return Effect.fail(error)
    }
    const { column, constraint } = violation
    const withColumns = (columns: readonly string[]) =>
      Effect.fail(
        columns.length === 0 ? error : new RecordsError({ reason: error.reason, cause: error.cause, columns })
      )
    if (column !== null) return withColumns([column])
    if (constraint === null) return Effect.fail(error)
    const { constraints, lookUp } = this.extensions
    const name = `${violation.schema}.${violation.table} ${constraint}`
    const columns = constraints.get(name)
    if (columns !== undefined) return withColumns(columns)
    return Effect.matchEffect(lookUp(constraintColumns(violation, constraint)), {
      onFailure: () => Effect.fail(error),
      onSuccess: (rows) => {
        const columns = rows.flatMap(([column]) => column ?? [])
        // An expression is no column: then nothing is named.
        constraints.set(name, columns.length < rows.length ? [] : columns)
        return withColumns(constraints.get(name)!)
      }
    })
  }

  #answer(columns: readonly Field[], checks: readonly FilterTree[], must: FilterTree | undefined): WriteAnswer {
    return { columns, checks, must: this.#session.alone ? must ?? null : null }
  }

  /** Continues with a model's traits, which are looked up once a minute. */
  #knowing<A>(
    model: Model,
    next: (traits: Traits) => Effect.Effect<A, RecordsError>
  ): Effect.Effect<A, RecordsError> {
    const entry = knownTraits.get(model)
    return entry !== undefined && performance.now() < entry.until
      ? next(entry.traits)
      : Effect.flatMap(this.#lookUp(model), next)
  }

  #lookUp(model: Model): Effect.Effect<Traits, RecordsError> {
    const { version } = model
    return Effect.map(this.run(traitsSql(model, this.extensions.schemas), [], once), ([row]) => {
      const digits = Number(row?.[3] ?? -1)
      const traits: Traits = {
        stamps: row?.[0] === "true",
        leaves: Number(row?.[1] ?? anyWrite),
        apart: Number(row?.[2] ?? anyWrite),
        unique: new Set(ownJson<readonly string[]>(row?.[4] ?? "[]")),
        step: version === null
          ? null
          : version.kind === "timestamp"
          ? { of: "timestamp", microseconds: digits < 0 ? 1 : 10 ** (6 - digits) }
          : { of: "integer" }
      }
      knownTraits.set(model, { traits, until: performance.now() + traitsMs })
      return traits
    })
  }

  lock(target: Target): Effect.Effect<Row | null, RecordsError> {
    const { bindings, checks, columns, key, model, where } = target
    const answer = { columns, checks }
    if (!this.#session.autocommit) {
      return Effect.map(
        this.execute((trigram) => lockStatement(model, where, answer, trigram), valuesOf(bindings, key)),
        (rows) => canonicalRows(rows, columns)[0] ?? null
      )
    }
    return this.#knowing(model, ({ stamps }) =>
      stamps
        ? Effect.map(
          this.execute((trigram) => stampedStatement(model, where, answer, trigram), valuesOf(bindings, key)),
          (rows) => {
            const row = canonicalRows(rows, columns)[0]
            if (row === undefined) return null
            this.#stamp = row.pop()!
            return row
          }
        )
        : Effect.fail(failed("Contended")))
  }

  lockAll({ bindings, model, where }: Parameters<RecordsTransaction["lockAll"]>[0]): Effect.Effect<void, RecordsError> {
    return Effect.asVoid(this.execute((trigram) => lockAllStatement(model, where, trigram), valuesOf(bindings)))
  }

  passes(check: {
    readonly model: Model
    readonly key: readonly string[]
    readonly tree: FilterTree
    readonly bindings: Bindings
  }): Effect.Effect<boolean, RecordsError> {
    return Effect.map(
      this.execute(
        (trigram) => passesStatement(check.model, check.tree, trigram),
        valuesOf(check.bindings, check.key)
      ),
      (rows) => rows[0]?.[0] === "true"
    )
  }

  insert(insertion: Insertion): Effect.Effect<readonly Row[], RecordsError> {
    return insertion.rows.length > 1
      ? this.#knowing(insertion.model, ({ apart }) => this.#insert(insertion, (apart & inserts) === 0))
      : this.#insert(insertion, true)
  }

  #insert(
    { bindings, checks, columns, fields, model, must, rows }: Insertion,
    together: boolean
  ): Effect.Effect<readonly Row[], RecordsError> {
    const answer = this.#answer(columns, checks, must)
    const insert = (part: ReadonlyArray<readonly Cell[]>) =>
      this.#write(
        model,
        inserts,
        this.execute(
          (trigram) => insertStatement(model, fields, part.length, answer, trigram),
          valuesOf(bindings, part.length === 1 ? part[0] : part.flat())
        )
      )
    const most = together ? Math.max(1, Math.floor(mostParameters / Math.max(1, fields.length))) : 1
    if (rows.length > 0 && rows.length <= most) {
      return Effect.map(insert(rows), (answers) => canonicalRows(asked(answers, answer), columns))
    }
    const parts: Array<ReadonlyArray<readonly Cell[]>> = []
    for (let i = 0; i < rows.length; i += most) parts.push(rows.slice(i, i + most))
    return Effect.map(Effect.forEach(parts, insert), (answers) => canonicalRows(asked(answers.flat(), answer), columns))
  }

  update(change: Change): Effect.Effect<Row, RecordsError> {
    return change.touch && change.model.version !== null
      ? this.#knowing(change.model, ({ step }) => this.#update(change, step))
      : this.#update(change, null)
  }

  #update(
    { bindings, checks, columns, key, model, must, note, set }: Change,
    step: VersionStep | null
  ): Effect.Effect<Row, RecordsError> {
    const answer = this.#answer(columns, checks, must)
    const stamp = this.#stamp
    const fields: Field[] = []
    const given: Cell[] = [...key]
    for (const [field, cell] of written(model, set, step)) {
      fields.push(field)
      given.push(cell)
    }
    if (stamp !== null) given.push(stamp)
    const tells = note !== undefined && model.captured
    if (tells) given.push(noteText(note))
    const updated = this.execute(
      (trigram) => updateStatement(model, fields, step, stamp !== null, answer, trigram, tells),
      valuesOf(bindings, given)
    )
    return Effect.flatMap(this.#write(model, updates, updated), (rows) => {
      const row = canonicalRows(asked(rows, answer), columns)[0]
      return row === undefined ? this.#gone("update") : Effect.succeed(row)
    })
  }

  updateAll(change: ManyChange): Effect.Effect<readonly Row[], RecordsError> {
    const { fields, keys, model, rows } = change
    return this.#knowing(model, ({ apart, step, unique }) => {
      const own = fields.filter((_, i) => rows.some((row) => row[i] !== rows[0]![i]))
      if (
        (apart & updates) !== 0 || this.#session.autocommit ||
        model.version !== null && fields.includes(model.version) ||
        own.some(({ column }) => unique.has(column))
      ) {
        return Effect.forEach(
          keys,
          (key, at) =>
            this.update({ ...change, key, set: fields.map((field, i) => [field, rows[at]![i] ?? null]), touch: true })
        )
      }
      const most = Math.floor((mostParameters - fields.length) / (model.key.length + own.length))
      const parts: ManyChange[] = []
      for (let i = 0; i < keys.length; i += most) {
        parts.push({ ...change, keys: keys.slice(i, i + most), rows: rows.slice(i, i + most) })
      }
      return Effect.map(
        Effect.forEach(parts, (part) => this.#updateAll(part, own, model.version === null ? null : step)),
        (parts) => parts.flat()
      )
    })
  }

  #updateAll(
    { bindings, checks, columns, fields, keys, model, rows }: ManyChange,
    own: readonly Field[],
    step: VersionStep | null
  ): Effect.Effect<readonly Row[], RecordsError> {
    const given: Cell[] = []
    const places = own.map((field) => fields.indexOf(field))
    for (const [at, key] of keys.entries()) given.push(...key, ...places.map((place) => rows[at]![place] ?? null))
    for (const [i, field] of fields.entries()) if (!own.includes(field)) given.push(rows[0]![i] ?? null)
    const updated = this.execute(
      (trigram) => updateAllStatement(model, fields, own, keys.length, step, { columns, checks }, trigram),
      valuesOf(bindings, given)
    )
    return Effect.flatMap(this.#write(model, updates, updated), (rows) => {
      const { length } = model.key
      const own = [...model.key, ...columns]
      const byKey = new Map<string, Row>()
      for (const row of canonicalRows(asked(rows, { columns: own, checks }), own)) {
        byKey.set(writeKey(row.slice(0, length)), row.slice(length))
      }
      const answered: Row[] = []
      for (const key of keys) {
        const row = byKey.get(writeKey(key))
        if (row === undefined) return this.#gone("update")
        answered.push(row)
      }
      return Effect.succeed(answered)
    })
  }

  removeAll(
    { bindings, keys, model }: Parameters<RecordsTransaction["removeAll"]>[0]
  ): Effect.Effect<void, RecordsError> {
    return this.#knowing(model, ({ apart }) => {
      if ((apart & deletes) !== 0 || this.#session.autocommit) {
        return Effect.forEach(keys, (key) => this.remove({ model, key, bindings }), { discard: true })
      }
      const removed = this.execute((trigram) => removeAllStatement(model, keys, trigram), valuesOf(bindings))
      return Effect.flatMap(
        this.#write(model, deletes, removed),
        (rows) => rows.length === keys.length ? Effect.void : this.#gone("remove")
      )
    })
  }

  remove({ bindings, key, model }: Removal): Effect.Effect<void, RecordsError> {
    const stamp = this.#stamp
    const removed = this.execute(
      (trigram) => removeStatement(model, stamp !== null, trigram),
      valuesOf(bindings, stamp === null ? key : [...key, stamp])
    )
    return Effect.flatMap(
      this.#write(model, deletes, removed),
      (rows) => rows.length === 0 ? this.#gone("remove") : Effect.void
    )
  }

  /** A trigger or a policy may drop a row without an error. Then nobody must be told that it was written. */
  #gone(operation: string): Effect.Effect<never, RecordsError> {
    return this.#stamp === null
      ? Effect.die(new Error(`the row to ${operation} is not there, or was kept as it is, although it was locked`))
      : Effect.fail(failed("Contended"))
  }

  savepoint<A, E>(body: Effect.Effect<A, E>): Effect.Effect<A, E | RecordsError> {
    return Effect.suspend((): Effect.Effect<A, E | RecordsError> => {
      const name = `s${++this.#savepoints}`
      return Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(
          Effect.andThen(this.#statement(`savepoint ${name}`), Effect.exit(restore(body))),
          (exit): Effect.Effect<A, E | RecordsError> => {
            const undone = Exit.isFailure(exit) ? this.#statement(`rollback to savepoint ${name}`) : Effect.void
            return Effect.andThen(Effect.andThen(undone, this.#statement(`release savepoint ${name}`)), exit)
          }
        )
      )
    })
  }

  hold(name: string, how: "shared" | "alone"): Effect.Effect<void, RecordsError> {
    const lock = how === "shared" ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock"
    return Effect.asVoid(
      this.#statement(
        `select ${lock}(hashtextextended($1, ${lockSeed(8174, this.extensions.schemas.service)}))::text`,
        [name],
        true
      )
    )
  }

  claimKey(key: Parameters<RecordsTransaction["claimKey"]>[0]): ReturnType<RecordsTransaction["claimKey"]> {
    return this.#idempotency().claimKey(key)
  }

  storeKey(stored: Parameters<RecordsTransaction["storeKey"]>[0]): ReturnType<RecordsTransaction["storeKey"]> {
    return this.#idempotency().storeKey(stored)
  }

  #idempotency(): ReturnType<typeof makeIdempotency> {
    return makeIdempotency(
      this.extensions,
      this.extensions.idempotency,
      (sql, params, prepare) => this.#statement(sql, params, prepare)
    )
  }
}
