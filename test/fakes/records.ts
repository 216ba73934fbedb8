/**
 * Records in memory: the same port, held to the same contract as the database. Rows are arrays of cells; transactions see what is committed and their own
 * writes, lock rows, wait for each other, notice deadlocks, and roll back. For tests of everything above the port.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as crypto from "node:crypto"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { identityOf } from "../../core/domain/model/model.ts"
import { rowBytes } from "../../core/domain/value/bytes.ts"
import { microsFromCell, timestampFromMicros } from "../../core/domain/value/instant.ts"
import type { Cell, Json, Row } from "../../core/domain/value/kind.ts"
import type {
  RecordsError,
  RecordsReader,
  RecordsReason,
  RecordsService,
  RecordsTransaction,
  TransactionHandle
} from "../../core/ports/records.ts"
import { type FakeConstraint, type FakeIndex, hasIndex, isBadCell, refusal, violation } from "./constraints.ts"
import { type LockOwner, makeFakeLocks } from "./locks.ts"
import {
  answer,
  bytesOf,
  cellOf,
  checkPatterns,
  compareKeys,
  cutRows,
  keyOf,
  makeReader,
  namedBy,
  pageOf,
  passesTree,
  relatedIn,
  tableName
} from "./reader.ts"

/** What the fake adds to the port, for tests. */
export interface FakeRecords {
  readonly service: RecordsService
  /** Puts rows into a table; each has a cell for every column of the model. Replaces rows with the same key. */
  readonly seed: (model: Model, rows: readonly Row[]) => void
  /** The committed rows of a table, oldest first. */
  readonly rows: (model: Model) => readonly Row[]
  /** Makes every call fail with this reason until it is taken back with null. */
  readonly failWith: (reason: RecordsReason["_tag"] | null) => void
  /** Makes the planner expect this number of rows in every query, until it is taken back with null. */
  readonly expectRows: (rows: number | null) => void
  /** Calls so far by method name: what a use case asked of the database. */
  readonly calls: readonly string[]
  /** How many transactions wait for another one now. */
  readonly waiting: () => number
}

export interface FakeOptions {
  /** Most bytes of the rows of one answer. Default: no limit. */
  readonly answerBytes?: number
  /** Values the database would fill in for fields that an insert leaves out. Undefined: null, or a generated key. */
  readonly defaultOf?: (model: Model, field: Field) => Cell | undefined
  /** What the planner would say. Default: everything is cheap. */
  readonly estimate?: RecordsReader["estimate"]
  /** Constraints besides keys and values that must be there. Default: there are none. */
  readonly constraints?: readonly FakeConstraint[]
  /** Default: there are none. */
  readonly indexes?: readonly FakeIndex[]
  /** Told of the rows that a commit has changed: for a fake of what captures changes. */
  readonly committed?: (writes: readonly FakeWrite[]) => void
}

/** A row that a commit has changed. */
export interface FakeWrite {
  readonly table: string
  readonly before: Row | null
  readonly after: Row | null
}

type Table = Map<string, Row>
/** Written rows of a transaction; null: removed. */
type Draft = Map<string, Map<string, Row | null>>

/** A transaction under way. */
interface Owner extends LockOwner {
  draft: Draft
  /** `failed`: a statement has, so that nothing but the end of its savepoint or of the transaction is possible. */
  state: "open" | "failed" | "ended"
  /** Whether deferred constraints are checked with each statement by now. */
  checksNow: boolean
  /** What other fakes do when it commits, and when it ends in any way. */
  readonly after: Array<() => void>
  readonly ends: Array<() => void>
}

/** The handle of a transaction of the fake, for other fakes that take part in it. */
export interface FakeHandle extends TransactionHandle {
  readonly onCommit: (call: () => void) => void
  readonly onEnd: (call: () => void) => void
  /** Further statements in the transaction. They die once it has ended. */
  readonly statements: RecordsTransaction
}

interface StoredAnswer {
  readonly request: string
  readonly answer: string
  readonly at: bigint
}

const dayMicros = 86_400_000_000n

/** A declared default as a cell. */
const textOf = (value: Json): Cell =>
  value === null ? null : typeof value === "object" ? JSON.stringify(value) : String(value)

const lockName = (model: Model, key: string): string => `${tableName(model)} ${key}`

/** Refuses a cell that a column cannot have. */
const checkCell = (model: Model, field: Field, cell: Cell): Effect.Effect<void, RecordsError> =>
  cell === null && (model.key.includes(field) || !(field.optional || field.system))
    ? Effect.fail(refusal("NotNull", [field.column]))
    : isBadCell(field, cell)
    ? Effect.fail(refusal("BadValue"))
    : Effect.void

/** The failure that a row of a taken key is. */
const taken = (model: Model): RecordsError => refusal("Unique", identityOf(model).map(({ column }) => column))

const nextVersion = (field: Field, stored: Cell, now: bigint): string => {
  if (field.kind !== "timestamp") return String(BigInt(stored ?? "0") + 1n)
  const after = stored === null ? now : microsFromCell(stored) + 1n
  return timestampFromMicros(after > now ? after : now)
}

const nowMicros = Effect.map(Clock.currentTimeMillis, (now) => BigInt(now) * 1000n)

/** Records in memory, empty. */
export const makeFakeRecords = (options: FakeOptions = {}): FakeRecords => {
  const { answerBytes = Number.POSITIVE_INFINITY, constraints = [], indexes = [] } = options
  const immediate = constraints.filter(({ deferred }) => deferred !== true)
  const tables = new Map<string, Table>()
  const serials = new Map<string, bigint>()
  const locks = makeFakeLocks()
  const answers = new Map<string, StoredAnswer>()
  const calls: string[] = []
  let broken: RecordsReason["_tag"] | null = null
  let expected: number | null = null

  const begin = (name: string): Effect.Effect<void, RecordsError> =>
    Effect.suspend(() => {
      calls.push(name)
      return broken === null ? Effect.void : Effect.fail(refusal(broken))
    })

  const tableOf = (model: Model): Table => {
    const name = tableName(model)
    let table = tables.get(name)
    if (table === undefined) tables.set(name, table = new Map())
    return table
  }
  const committed = (model: Model): readonly Row[] => [...tableOf(model).values()]

  const estimate: RecordsReader["estimate"] = options.estimate ??
    ((plan) =>
      Effect.succeed({
        scannedRows: 0,
        scannedBytes: 0,
        processes: 1,
        cost: 1,
        through: 1,
        rows: expected ?? committed("shape" in plan ? plan.shape.model : plan.model).length
      }))

  const nextSerial = (model: Model, field: Field): string => {
    const name = `${tableName(model)} ${field.column}`
    const next = (serials.get(name) ?? highest(model, field)) + 1n
    serials.set(name, next)
    return String(next)
  }
  const highest = (model: Model, field: Field): bigint =>
    committed(model).reduce((most, row) => {
      const cell = cellOf(row, field)
      return cell !== null && BigInt(cell) > most ? BigInt(cell) : most
    }, 0n)

  /** The stored value of a column that an insert leaves out. */
  const filled = (model: Model, field: Field, now: bigint): Effect.Effect<Cell, RecordsError> => {
    const given = options.defaultOf?.(model, field)
    if (given !== undefined) return Effect.succeed(given)
    if (field.stamped) return Effect.succeed(field.kind === "timestamp" ? timestampFromMicros(now) : "1")
    if (model.key.includes(field) && field.kind === "integer") return Effect.succeed(nextSerial(model, field))
    if (model.key.includes(field) && field.kind === "uuid") return Effect.sync(() => crypto.randomUUID())
    if (field === model.version) return Effect.succeed(field.kind === "timestamp" ? timestampFromMicros(now) : "1")
    const declared = field.default
    if (declared !== null && "value" in declared) return Effect.succeed(textOf(declared.value))
    if (declared !== null && field.kind === "timestamp") return Effect.succeed(timestampFromMicros(now))
    return field.optional ? Effect.succeed(null) : Effect.fail(refusal("NotNull", [field.column]))
  }

  /** What a transaction sees: what is committed, and its own writes. */
  const seenBy = ({ draft }: Owner) => (model: Model): readonly Row[] => {
    const rows = new Map<string, Row>(tableOf(model))
    for (const [key, row] of draft.get(tableName(model)) ?? []) {
      if (row === null) rows.delete(key)
      else rows.set(key, row)
    }
    return [...rows.values()]
  }

  const commit = (owner: Owner): void => {
    const writes: FakeWrite[] = []
    for (const [name, rows] of owner.draft) {
      if (name === "answers") {
        for (const [key, row] of rows) answers.set(key, { request: row![0]!, answer: row![1]!, at: BigInt(row![2]!) })
        continue
      }
      let table = tables.get(name)
      if (table === undefined) tables.set(name, table = new Map())
      for (const [key, row] of rows) {
        writes.push({ table: name, before: table.get(key) ?? null, after: row })
        if (row === null) table.delete(key)
        else table.set(key, row)
      }
    }
    owner.draft = new Map()
    if (writes.length > 0) options.committed?.(writes)
  }

  const transactionOn = (owner: Owner, alone: boolean): RecordsTransaction => {
    /** The row that was read without a lock. */
    let seen: Row | null = null
    const changed = (row: Row | null): boolean => seen !== null && row !== seen
    const read = (model: Model): readonly Row[] => seenBy(owner)(model)
    const related = relatedIn(read)

    /** A statement of the transaction. */
    const statement = <A>(work: Effect.Effect<A, RecordsError>): Effect.Effect<A, RecordsError> =>
      Effect.suspend(() =>
        owner.state === "open"
          ? Effect.tapError(work, () =>
            Effect.sync(() => {
              if (alone) owner.draft = new Map()
              else owner.state = "failed"
            }))
          : Effect.die(
            new Error(
              owner.state === "ended" ? "The transaction has ended." : "A statement of the transaction has failed."
            )
          )
      )
    /** A statement that writes to a table. Of a transaction that is alone, each commits by itself. */
    const writing = <A>(
      name: string,
      model: Model,
      work: Effect.Effect<A, RecordsError>
    ): Effect.Effect<A, RecordsError> =>
      statement(Effect.tap(
        Effect.andThen(begin(name), work),
        () => {
          const refused = violation(alone || owner.checksNow ? constraints : immediate, model, read)
          if (refused !== null) return Effect.fail(refused)
          if (alone) commit(owner)
          return Effect.void
        }
      ))
    /** The rows that a write answers, unless `must` refuses one of them where nothing could be undone. */
    const answered = (
      rows: readonly Row[],
      { bindings, checks, columns, must }: Pick<
        Parameters<RecordsTransaction["update"]>[0],
        "bindings" | "checks" | "columns" | "must"
      >
    ): Effect.Effect<readonly Row[], RecordsError> => {
      if (alone && must !== undefined && !rows.every((row) => passesTree(must, row, bindings, related))) {
        return Effect.fail(refusal("Contended"))
      }
      const cells = rows.map((row) => answer(row, columns, checks, bindings, related))
      return bytesOf(cells) > answerBytes
        ? Effect.fail(refusal(alone ? "OutcomeUnknown" : "TooLarge"))
        : Effect.succeed(cells)
    }

    const find = (model: Model, key: string): Row | null => {
      const drafted = owner.draft.get(tableName(model))
      return drafted?.has(key) === true ? drafted.get(key) ?? null : tableOf(model).get(key) ?? null
    }
    const write = (model: Model, key: string, row: Row | null): void => {
      const name = tableName(model)
      let drafted = owner.draft.get(name)
      if (drafted === undefined) owner.draft.set(name, drafted = new Map())
      drafted.set(key, row)
    }

    /** Waits for a twin that has the same unique values and is not committed yet: whether they are taken is known when it ends. */
    const acquireValues = (model: Model, row: Row): Effect.Effect<void, RecordsError> =>
      Effect.forEach(immediate, (constraint, at) => {
        const own = constraint.of === "unique" && tableName(constraint.model) === tableName(model)
        const value = own ? constraint.keyOf(row) : null
        return value === null ? Effect.void : locks.acquire(owner, `unique ${at} ${value}`)
      }, { discard: true })

    const insertOne = Effect.fnUntraced(function*(
      model: Model,
      fields: readonly Field[],
      cells: readonly Cell[]
    ): Effect.fn.Return<Row, RecordsError> {
      const now = yield* nowMicros
      const row: Cell[] = []
      for (const field of model.columns) {
        const at = fields.indexOf(field)
        const cell = at < 0 ? yield* filled(model, field, now) : cells[at] ?? null
        yield* checkCell(model, field, cell)
        row.push(cell)
      }
      const key = keyOf(model, row)
      // A twin that is not committed yet holds the key: whether it is taken is known when that one ends.
      yield* locks.acquire(owner, lockName(model, key))
      if (find(model, key) !== null) return yield* Effect.fail(taken(model))
      yield* acquireValues(model, row)
      write(model, key, row)
      return row
    })

    const updateOne = Effect.fnUntraced(function*(
      { bindings, key, model, set, touch }: Parameters<RecordsTransaction["update"]>[0]
    ): Effect.fn.Return<Row, RecordsError> {
      const text = namedBy(model, key, bindings)
      yield* locks.acquire(owner, lockName(model, text))
      const stored = find(model, text)
      if (changed(stored)) return yield* Effect.fail(refusal("Contended"))
      if (stored === null) return yield* Effect.die(new Error("the row to update is gone although it was locked"))
      const row = [...stored]
      for (const [field, value] of set) {
        yield* checkCell(model, field, value)
        row[field.index] = value
      }
      if (touch && model.version !== null) {
        row[model.version.index] = nextVersion(model.version, cellOf(stored, model.version), yield* nowMicros)
      }
      yield* acquireValues(model, row)
      const moved = keyOf(model, row)
      if (moved !== text) {
        yield* locks.acquire(owner, lockName(model, moved))
        if (find(model, moved) !== null) return yield* Effect.fail(taken(model))
        write(model, text, null)
      }
      write(model, moved, row)
      return row
    })

    const reader = makeReader(read, begin, estimate, answerBytes)
    const tx: RecordsTransaction = {
      page: (plan) => statement(reader.page(plan)),
      related: (plan) => statement(reader.related(plan)),
      count: (plan) => statement(reader.count(plan)),
      aggregate: (plan) => statement(reader.aggregate(plan)),
      holding: (question) => statement(reader.holding(question)),
      estimate: (plan) => statement(reader.estimate(plan)),
      hold: (name, how) => statement(Effect.andThen(begin("hold"), locks.hold(owner, name, how))),
      get handle(): FakeHandle {
        return {
          query: () => Promise.reject(new Error("There is no SQL in memory.")),
          onCommit: (call) => void owner.after.push(call),
          onEnd: (call) => void owner.ends.push(call),
          statements: tx
        }
      },
      checkDeferred: statement(Effect.suspend(() => {
        const refused = violation(constraints, null, read)
        if (refused !== null) return Effect.fail(refused)
        owner.checksNow = true
        return Effect.void
      })),
      lock: ({ bindings, checks, columns, key, model, where }) =>
        statement(Effect.gen(function*() {
          yield* begin("lock")
          yield* Effect.forEach([where, ...checks], checkPatterns, { discard: true })
          const text = namedBy(model, key, bindings)
          const first = find(model, text)
          if (first === null || !passesTree(where, first, bindings, related)) return null
          if (alone) {
            seen = first
            return answer(first, columns, checks, bindings, related)
          }
          yield* locks.acquire(owner, lockName(model, text))
          const row = find(model, text)
          return row === null || !passesTree(where, row, bindings, related)
            ? null
            : answer(row, columns, checks, bindings, related)
        })),
      insert: ({ fields, model, rows, ...asked }) =>
        writing(
          "insert",
          model,
          Effect.flatMap(
            Effect.forEach(rows, (cells) => insertOne(model, fields, cells)),
            (written) => answered(written, asked)
          )
        ),
      update: (change) =>
        writing(
          "update",
          change.model,
          Effect.map(Effect.flatMap(updateOne(change), (row) => answered([row], change)), ([row]) => row!)
        ),
      remove: ({ bindings, key, model }) =>
        writing(
          "remove",
          model,
          Effect.gen(function*() {
            const text = namedBy(model, key, bindings)
            yield* locks.acquire(owner, lockName(model, text))
            const stored = find(model, text)
            if (changed(stored)) return yield* Effect.fail(refusal("Contended"))
            if (stored === null) {
              return yield* Effect.die(new Error("the row to remove is gone although it was locked"))
            }
            write(model, text, null)
          })
        ),
      updateAll: ({ fields, keys, rows, ...change }) =>
        Effect.forEach(
          keys,
          (key, at) =>
            tx.update({ ...change, key, set: fields.map((field, i) => [field, rows[at]![i] ?? null]), touch: true })
        ),
      removeAll: ({ keys, ...target }) =>
        Effect.forEach(keys, (key) => tx.remove({ ...target, key }), { discard: true }),
      lockAll: ({ bindings, model, where }) =>
        statement(Effect.gen(function*() {
          yield* begin("lockAll")
          yield* checkPatterns(where)
          const order = identityOf(model).map((field) => ({ field, descending: false }))
          const place = (row: Row) => (index: number): Cell => cellOf(row, order[index]!.field)
          const found = read(model).filter((row) => passesTree(where, row, bindings, related))
          for (const row of found.sort((a, b) => compareKeys(order, place(a), place(b)))) {
            yield* locks.acquire(owner, lockName(model, keyOf(model, row)))
          }
        })),
      passes: ({ bindings, key, model, tree }) =>
        statement(Effect.gen(function*() {
          yield* begin("passes")
          yield* checkPatterns(tree)
          const row = find(model, namedBy(model, key, bindings))
          return row !== null && passesTree(tree, row, bindings, related)
        })),
      savepoint: <A, E>(body: Effect.Effect<A, E>) =>
        Effect.andThen(
          statement(Effect.void),
          Effect.suspend(() => {
            const draft: Draft = new Map([...owner.draft].map(([name, rows]) => [name, new Map(rows)]))
            const { checksNow } = owner
            return Effect.onExit(body, (exit) =>
              Effect.sync(() => {
                if (Exit.isSuccess(exit)) return
                owner.draft = draft
                owner.checksNow = checksNow
                owner.state = "open"
              }))
          })
        ),
      claimKey: ({ key, now, scope }) =>
        statement(Effect.sync(() => {
          const name = `answer ${scope} ${key}`
          if (!locks.tryAcquire(owner, name)) return { of: "busy" } as const
          const stored = answers.get(name)
          return stored === undefined || stored.at <= now - dayMicros
            ? { of: "new" } as const
            : { of: "stored", request: stored.request, answer: stored.answer } as const
        })),
      storeKey: ({ answer: text, key, now, request, scope }) =>
        statement(Effect.sync(() => {
          const name = `answer ${scope} ${key}`
          const drafted = owner.draft.get("answers") ?? new Map<string, Row | null>()
          drafted.set(name, [request, text, String(now)])
          owner.draft.set("answers", drafted)
        }))
    }
    return tx
  }

  /** Ends a transaction whose body has ended: a success commits, unless a constraint refuses that. */
  const end = <A, E>(owner: Owner, exit: Exit.Exit<A, E>): Exit.Exit<A, E | RecordsError> => {
    if (Exit.isFailure(exit)) return exit
    if (owner.state === "failed") return Exit.die(new Error("commit of an aborted transaction"))
    const refused = violation(constraints, null, seenBy(owner))
    if (refused !== null) return Exit.fail(refused)
    commit(owner)
    for (const call of owner.after) call()
    return exit
  }

  const service: RecordsService = {
    ...makeReader(committed, begin, estimate, answerBytes),
    pageWithin: (plan, bytes) =>
      Effect.flatMap(begin("pageWithin"), () => {
        const rows = pageOf(plan, committed(plan.shape.model), relatedIn(committed))
        if (rows.some((row) => rowBytes(row) > answerBytes)) return Effect.fail(refusal("TooLarge"))
        const kept = cutRows(rows, bytes, plan.before !== undefined)
        return Effect.succeed({ rows: kept, cut: kept.length < rows.length })
      }),
    transaction: <A, E>(body: (tx: RecordsTransaction) => Effect.Effect<A, E>, alone = false) =>
      Effect.uninterruptibleMask((restore) => {
        const owner: Owner = {
          draft: new Map(),
          held: new Set(),
          waitsFor: null,
          state: "open",
          checksNow: false,
          after: [],
          ends: []
        }
        const work = Effect.andThen(begin("transaction"), Effect.suspend(() => body(transactionOn(owner, alone))))
        return Effect.flatMap(Effect.exit(restore(work)), (exit): Effect.Effect<A, E | RecordsError> => {
          const ended = end(owner, exit)
          owner.state = "ended"
          for (const call of owner.ends) call()
          locks.release(owner)
          return ended
        })
      }),
    indexed: (index) => Effect.sync(() => hasIndex(indexes, index)),
    refreshed: () => Effect.succeed({ at: null, failedAt: null }),
    refresh: () => Promise.reject(new Error("There are no materialized views in memory.")),
    ping: Effect.as(begin("ping"), "writes" as const)
  }

  return {
    service,
    seed: (model, rows) => {
      const table = tableOf(model)
      for (const row of rows) table.set(keyOf(model, row), row)
    },
    rows: committed,
    failWith: (reason) => {
      broken = reason
    },
    expectRows: (rows) => {
      expected = rows
    },
    calls,
    waiting: locks.waiting
  }
}
