/**
 * Records in memory: the same port, held to the same contract as the database. Rows are arrays of cells; transactions see what is committed and their own
 * writes, lock rows, wait for each other, notice deadlocks, and roll back. For tests of everything above the port.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as crypto from "node:crypto"
import { evaluate, operandCell } from "../../core/domain/filter/evaluate.ts"
import { compilePattern } from "../../core/domain/filter/pattern.ts"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field, Model, SortKey } from "../../core/domain/model/model.ts"
import { identityOf } from "../../core/domain/model/model.ts"
import { hashedText } from "../../core/domain/read/etag.ts"
import type { PagePlan, PageShape } from "../../core/domain/read/plan.ts"
import { rowBytes } from "../../core/domain/value/bytes.ts"
import { compareCells } from "../../core/domain/value/cell.ts"
import { microsFromCell, timestampFromMicros } from "../../core/domain/value/instant.ts"
import type { Cell, Json, Row } from "../../core/domain/value/kind.ts"
import { RecordsError } from "../../core/ports/records.ts"
import type { RecordsReader, RecordsReason, RecordsService, RecordsTransaction } from "../../core/ports/records.ts"
import { facetRows, histogramRows, seriesRows } from "./aggregate.ts"

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
}

export interface FakeOptions {
  /** Most bytes of the rows of one page. Default: no limit. */
  readonly answerBytes?: number
  /** Values the database would fill in for fields that an insert leaves out. Undefined: null, or a generated key. */
  readonly defaultOf?: (model: Model, field: Field) => Cell | undefined
  /** What the planner would say. Default: everything is cheap. */
  readonly estimate?: RecordsReader["estimate"]
}

type Table = Map<string, Row>
/** Written rows of a transaction; null: removed. */
type Draft = Map<string, Map<string, Row | null>>

/** A transaction under way. */
interface Owner {
  draft: Draft
  readonly held: Set<string>
  /** Whom it waits for, to notice deadlocks. */
  waitsFor: Owner | null
  /** What other fakes do when it commits, and when it ends in any way. */
  readonly after: Array<() => void>
  readonly ends: Array<() => void>
}

/** The handle of a transaction of the fake, for other fakes that take part in it. */
export interface FakeHandle {
  readonly onCommit: (call: () => void) => void
  readonly onEnd: (call: () => void) => void
}

interface Lock {
  owner: Owner
  readonly queue: Array<{ readonly owner: Owner; readonly go: () => void }>
}

/** A lock of a name: many share it, or one has it alone. Whoever waits goes in turn. */
interface Hold {
  readonly owners: Map<Owner, "shared" | "alone">
  readonly queue: Array<{ readonly owner: Owner; readonly how: "shared" | "alone"; readonly go: () => void }>
}

interface StoredAnswer {
  readonly request: string
  readonly answer: string
  readonly at: bigint
}

const failure = (_tag: RecordsReason["_tag"]) => new RecordsError({ reason: { _tag } })
const dayMicros = 86_400_000_000n

/** A declared default as a cell. */
const textOf = (value: Json): Cell =>
  value === null ? null : typeof value === "object" ? JSON.stringify(value) : String(value)

const tableName = (model: Model): string => `${model.schema ?? ""}.${model.table}`
const keyText = (parts: readonly Cell[]): string => JSON.stringify(parts)
const cellOf = (row: Row, field: Field): Cell => row[field.index] ?? null
const keyOf = (model: Model, row: Row): string => keyText(identityOf(model).map((field) => cellOf(row, field)))
/** The same of a row that a caller names by its key. */
const namedBy = (model: Model, key: readonly string[], bindings: Bindings): string =>
  keyText(
    identityOf(model).map((field, i) => key[i] ?? operandCell({ of: "caller", value: "tenant" }, field, bindings))
  )

const compareKeys = (order: readonly SortKey[], a: (index: number) => Cell, b: (index: number) => Cell): number => {
  for (const [index, { descending, field }] of order.entries()) {
    const [left, right] = [a(index), b(index)]
    if (left === right) continue
    // Ascending nulls are last; descending turns everything round.
    const ascending = left === null ? 1 : right === null ? -1 : compareCells(field, left, right)
    if (ascending !== 0) return descending ? -ascending : ascending
  }
  return 0
}

/** Refuses what the database would refuse: a pattern no engine understands. */
const checkPatterns = (tree: FilterTree): Effect.Effect<void, RecordsError> => {
  switch (tree.op) {
    case "regex":
      return compilePattern(tree.pattern) === null ? Effect.fail(failure("BadPattern")) : Effect.void
    case "not":
      return checkPatterns(tree.item)
    case "and":
    case "or":
      return Effect.forEach(tree.items, checkPatterns, { discard: true })
    default:
      return Effect.void
  }
}

const passesTree = (tree: FilterTree, row: Row, bindings: Bindings): boolean =>
  evaluate(tree, (field) => cellOf(row, field), bindings)

/** A row of a page: columns, checks, hash. */
const pageRow = (row: Row, { checks, columns, hashed = [] }: PageShape, bindings: Bindings): Row => {
  const cells = answer(row, columns, checks, bindings)
  if (hashed.length === 0) return cells
  return [...cells, crypto.hash("sha256", hashedText(hashed, (field) => cellOf(row, field)), "hex")]
}

const answer = (row: Row, columns: readonly Field[], checks: readonly FilterTree[], bindings: Bindings): Row => [
  ...columns.map((field) => cellOf(row, field)),
  ...checks.map((check) => String(passesTree(check, row, bindings)))
]

const pageOf = (plan: PagePlan, rows: readonly Row[]): readonly Row[] => {
  const { bindings, shape } = plan
  const { order } = shape
  const place = (row: Row) => (index: number): Cell => cellOf(row, order[index]!.field)
  let found = rows.filter((row) => passesTree(shape.where, row, bindings))
  if (order.length > 0) found.sort((a, b) => compareKeys(order, place(a), place(b)))
  const { after, before } = plan
  const offset = plan.offset ?? 0
  // An empty position is the beginning, or the end.
  if (after !== undefined) {
    if (after.length > 0) found = found.filter((row) => compareKeys(order, place(row), (index) => after[index]!) > 0)
  } else if (before !== undefined) {
    if (before.length > 0) found = found.filter((row) => compareKeys(order, place(row), (index) => before[index]!) < 0)
    const end = found.length - offset
    return found.slice(Math.max(0, end - shape.limit), Math.max(0, end)).map((row) => pageRow(row, shape, bindings))
  }
  const { counted } = plan
  const page = found.slice(offset, offset + shape.limit).map((row) => pageRow(row, shape, bindings))
  return counted === undefined ? page : page.map((row) => [...row, String(Math.min(found.length, counted))])
}

const bytesOf = (rows: readonly Row[]): number => rows.reduce((sum, row) => sum + rowBytes(row), 0)

/** The rows of a page that have at most so many bytes, and one in any case. */
const cutRows = (rows: readonly Row[], bytes: number, fromEnd: boolean): readonly Row[] => {
  const kept: Row[] = []
  let left = bytes
  for (const row of fromEnd ? [...rows].reverse() : rows) {
    left -= rowBytes(row)
    if (left < 0 && kept.length > 0) break
    kept.push(row)
  }
  return fromEnd ? kept.reverse() : kept
}

const makeReader = (
  read: (model: Model) => readonly Row[],
  begin: (name: string) => Effect.Effect<void, RecordsError>,
  estimate: RecordsReader["estimate"],
  answerBytes: number
): RecordsReader => {
  const matching = (model: Model, where: FilterTree, bindings: Bindings) =>
    read(model).filter((row) => passesTree(where, row, bindings))
  const ready = (name: string, trees: readonly FilterTree[]) =>
    Effect.andThen(begin(name), Effect.forEach(trees, checkPatterns, { discard: true }))
  return {
    page: (plan) =>
      Effect.flatMap(ready("page", [plan.shape.where, ...plan.shape.checks]), () => {
        const rows = pageOf(plan, read(plan.shape.model))
        return bytesOf(rows) > answerBytes ? Effect.fail(failure("TooLarge")) : Effect.succeed(rows)
      }),
    count: (plan) =>
      Effect.map(ready("count", [plan.where]), () => {
        const count = matching(plan.model, plan.where, plan.bindings).length
        return String(plan.cap === null ? count : Math.min(count, plan.cap))
      }),
    holding: ({ field, model, texts }) =>
      Effect.map(begin("holding"), () => {
        const held = new Set(read(model).map((row) => row[field.index]?.split("?", 1)[0]))
        return texts.filter((text) => held.has(text))
      }),
    aggregate: (plan) =>
      Effect.map(ready("aggregate", [plan.where]), () => {
        const rows = matching(plan.model, plan.where, plan.bindings)
        switch (plan.of) {
          case "facets":
            return facetRows(plan, rows, cellOf)
          case "series":
            return seriesRows(plan, rows, cellOf)
          case "histogram":
            return histogramRows(plan, rows, cellOf)
        }
      }),
    estimate: (plan) => Effect.andThen(begin("estimate"), estimate(plan))
  }
}

/** Records in memory, empty. */
export const makeFakeRecords = (options: FakeOptions = {}): FakeRecords => {
  const answerBytes = options.answerBytes ?? Number.POSITIVE_INFINITY
  const tables = new Map<string, Table>()
  const serials = new Map<string, bigint>()
  const locks = new Map<string, Lock>()
  const holds = new Map<string, Hold>()
  const answers = new Map<string, StoredAnswer>()
  const calls: string[] = []
  let broken: RecordsReason["_tag"] | null = null
  let expected: number | null = null

  const begin = (name: string): Effect.Effect<void, RecordsError> =>
    Effect.suspend(() => {
      calls.push(name)
      return broken === null ? Effect.void : Effect.fail(failure(broken))
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
        rows: expected ?? committed("shape" in plan ? plan.shape.model : plan.model).length
      }))

  /** Takes a lock for the rest of the transaction, waiting for whoever has it. */
  const acquire = (owner: Owner, name: string): Effect.Effect<void, RecordsError> =>
    Effect.callback<void, RecordsError>((resume) => {
      const lock = locks.get(name)
      if (lock === undefined) {
        locks.set(name, { owner, queue: [] })
        owner.held.add(name)
        return resume(Effect.void)
      }
      if (lock.owner === owner) return resume(Effect.void)
      for (let other: Owner | null = lock.owner; other !== null; other = other.waitsFor) {
        if (other === owner) return resume(Effect.fail(failure("Conflict")))
      }
      owner.waitsFor = lock.owner
      const waiter = {
        owner,
        go: () => {
          owner.waitsFor = null
          owner.held.add(name)
          resume(Effect.void)
        }
      }
      lock.queue.push(waiter)
      return Effect.sync(() => {
        owner.waitsFor = null
        const at = lock.queue.indexOf(waiter)
        if (at >= 0) lock.queue.splice(at, 1)
      })
    })

  const fits = ({ owners }: Hold, owner: Owner, how: "shared" | "alone"): boolean =>
    [...owners].every(([other, has]) => other === owner || (how === "shared" && has === "shared"))

  /** Holds a name for the rest of the transaction. Nobody here waits for rows while alone, so that no circle can come of it. */
  const hold = (owner: Owner, name: string, how: "shared" | "alone"): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const held: Hold = holds.get(name) ?? { owners: new Map(), queue: [] }
      holds.set(name, held)
      const go = (): void => {
        if (held.owners.get(owner) !== "alone") held.owners.set(owner, how)
        resume(Effect.void)
      }
      if (held.owners.has(owner) ? fits(held, owner, how) : held.queue.length === 0 && fits(held, owner, how)) {
        return go()
      }
      const waiter = { owner, how, go }
      held.queue.push(waiter)
      return Effect.sync(() => {
        const at = held.queue.indexOf(waiter)
        if (at >= 0) held.queue.splice(at, 1)
      })
    })

  const release = (owner: Owner): void => {
    for (const held of holds.values()) {
      if (!held.owners.delete(owner)) continue
      while (held.queue.length > 0 && fits(held, held.queue[0]!.owner, held.queue[0]!.how)) held.queue.shift()!.go()
    }
    for (const name of owner.held) {
      const lock = locks.get(name)!
      const next = lock.queue.shift()
      if (next === undefined) {
        locks.delete(name)
        continue
      }
      lock.owner = next.owner
      for (const waiter of lock.queue) waiter.owner.waitsFor = next.owner
      next.go()
    }
    owner.held.clear()
  }

  const lockName = (model: Model, key: string): string => `${tableName(model)} ${key}`

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
    if (model.key.includes(field) && field.kind === "integer") return Effect.succeed(nextSerial(model, field))
    if (model.key.includes(field) && field.kind === "uuid") return Effect.sync(() => crypto.randomUUID())
    if (field === model.version) return Effect.succeed(field.kind === "timestamp" ? timestampFromMicros(now) : "1")
    const declared = field.default
    if (declared !== null && "value" in declared) return Effect.succeed(textOf(declared.value))
    if (declared !== null && field.kind === "timestamp") return Effect.succeed(timestampFromMicros(now))
    return field.optional ? Effect.succeed(null) : Effect.fail(failure("NotNull"))
  }

  const transactionOn = (owner: Owner, alone: boolean): RecordsTransaction => {
    /** The row that was read without a lock. */
    let seen: Row | null = null
    const changed = (row: Row | null): boolean => seen !== null && row !== seen
    const refused = (row: Row, must: FilterTree | undefined, bindings: Bindings): boolean =>
      alone && must !== undefined && !passesTree(must, row, bindings)
    const find = (model: Model, key: string): Row | null => {
      const drafted = owner.draft.get(tableName(model))
      return drafted?.has(key) === true ? drafted.get(key) ?? null : tableOf(model).get(key) ?? null
    }
    const read = (model: Model): readonly Row[] => {
      const rows = new Map<string, Row>(tableOf(model))
      for (const [key, row] of owner.draft.get(tableName(model)) ?? []) {
        if (row === null) rows.delete(key)
        else rows.set(key, row)
      }
      return [...rows.values()]
    }
    const write = (model: Model, key: string, row: Row | null): void => {
      const name = tableName(model)
      let drafted = owner.draft.get(name)
      if (drafted === undefined) owner.draft.set(name, drafted = new Map())
      drafted.set(key, row)
    }
    const nowMicros = Effect.map(Clock.currentTimeMillis, (now) => BigInt(now) * 1000n)

    const insertOne = (
      model: Model,
      fields: readonly Field[],
      cells: readonly Cell[]
    ): Effect.Effect<Row, RecordsError> =>
      Effect.gen(function*() {
        const now = yield* nowMicros
        const row: Cell[] = []
        for (const field of model.columns) {
          const at = fields.indexOf(field)
          const cell = at < 0 ? yield* filled(model, field, now) : cells[at] ?? null
          if (cell === null && (model.key.includes(field) || !(field.optional || field.system))) {
            return yield* Effect.fail(failure("NotNull"))
          }
          row.push(cell)
        }
        const key = keyOf(model, row)
        // A twin that is not committed yet holds the key: whether it is taken is known when that one ends.
        yield* acquire(owner, lockName(model, key))
        if (find(model, key) !== null) return yield* Effect.fail(failure("Unique"))
        write(model, key, row)
        return row
      })

    const nextVersion = (field: Field, stored: Cell, now: bigint): string => {
      if (field.kind !== "timestamp") return String(BigInt(stored ?? "0") + 1n)
      const after = stored === null ? now : microsFromCell(stored) + 1n
      return timestampFromMicros(after > now ? after : now)
    }

    const tx: RecordsTransaction = {
      ...makeReader(read, begin, estimate, answerBytes),
      hold: (name, how) => Effect.andThen(begin("hold"), hold(owner, name, how)),
      handle: {
        onCommit: (call) => void owner.after.push(call),
        onEnd: (call) => void owner.ends.push(call)
      } satisfies FakeHandle,
      checkDeferred: Effect.void,
      lock: ({ bindings, checks, columns, key, model, where }) =>
        Effect.gen(function*() {
          yield* begin("lock")
          yield* Effect.forEach([where, ...checks], checkPatterns, { discard: true })
          const text = namedBy(model, key, bindings)
          const first = find(model, text)
          if (first === null || !passesTree(where, first, bindings)) return null
          if (alone) {
            seen = first
            return answer(first, columns, checks, bindings)
          }
          yield* acquire(owner, lockName(model, text))
          const row = find(model, text)
          return row === null || !passesTree(where, row, bindings) ? null : answer(row, columns, checks, bindings)
        }),
      insert: ({ bindings, checks, columns, fields, model, must, rows }) =>
        Effect.gen(function*() {
          yield* begin("insert")
          const written: Row[] = []
          for (const cells of rows) written.push(yield* insertOne(model, fields, cells))
          if (written.some((row) => refused(row, must, bindings))) return yield* Effect.fail(failure("Contended"))
          return written.map((row) => answer(row, columns, checks, bindings))
        }),
      update: ({ bindings, checks, columns, key, model, must, set, touch }) =>
        Effect.gen(function*() {
          yield* begin("update")
          const text = namedBy(model, key, bindings)
          yield* acquire(owner, lockName(model, text))
          const stored = find(model, text)
          if (changed(stored)) return yield* Effect.fail(failure("Contended"))
          if (stored === null) return yield* Effect.die(new Error("the row to update is gone although it was locked"))
          const row = [...stored]
          for (const [field, value] of set) {
            if (value === null && (model.key.includes(field) || !(field.optional || field.system))) {
              return yield* Effect.fail(failure("NotNull"))
            }
            row[field.index] = value
          }
          if (touch && model.version !== null) {
            row[model.version.index] = nextVersion(model.version, cellOf(stored, model.version), yield* nowMicros)
          }
          const moved = keyOf(model, row)
          if (moved !== text) {
            yield* acquire(owner, lockName(model, moved))
            if (find(model, moved) !== null) return yield* Effect.fail(failure("Unique"))
            write(model, text, null)
          }
          if (refused(row, must, bindings)) return yield* Effect.fail(failure("Contended"))
          write(model, moved, row)
          return answer(row, columns, checks, bindings)
        }),
      remove: ({ bindings, key, model }) =>
        Effect.gen(function*() {
          yield* begin("remove")
          const text = namedBy(model, key, bindings)
          yield* acquire(owner, lockName(model, text))
          const stored = find(model, text)
          if (changed(stored)) return yield* Effect.fail(failure("Contended"))
          if (stored === null) {
            return yield* Effect.die(new Error("the row to remove is gone although it was locked"))
          }
          write(model, text, null)
        }),
      updateAll: ({ fields, keys, rows, ...change }) =>
        Effect.forEach(
          keys,
          (key, at) =>
            tx.update({ ...change, key, set: fields.map((field, i) => [field, rows[at]![i] ?? null]), touch: true })
        ),
      removeAll: ({ keys, ...target }) =>
        Effect.forEach(keys, (key) => tx.remove({ ...target, key }), { discard: true }),
      lockAll: ({ bindings, model, where }) =>
        Effect.gen(function*() {
          yield* begin("lockAll")
          yield* checkPatterns(where)
          const order = identityOf(model).map((field) => ({ field, descending: false }))
          const place = (row: Row) => (index: number): Cell => cellOf(row, order[index]!.field)
          const found = read(model).filter((row) => passesTree(where, row, bindings))
          for (const row of found.sort((a, b) => compareKeys(order, place(a), place(b)))) {
            yield* acquire(owner, lockName(model, keyOf(model, row)))
          }
        }),
      passes: ({ bindings, key, model, tree }) =>
        Effect.gen(function*() {
          yield* begin("passes")
          yield* checkPatterns(tree)
          const row = find(model, namedBy(model, key, bindings))
          return row !== null && passesTree(tree, row, bindings)
        }),
      savepoint: <A, E>(body: Effect.Effect<A, E>) =>
        Effect.suspend(() => {
          const before: Draft = new Map([...owner.draft].map(([name, rows]) => [name, new Map(rows)]))
          return Effect.onExit(body, (exit) =>
            Effect.sync(() => {
              if (Exit.isFailure(exit)) owner.draft = before
            }))
        }),
      claimKey: ({ key, now, scope }) =>
        Effect.sync(() => {
          const name = `answer ${scope} ${key}`
          const lock = locks.get(name)
          if (lock !== undefined && lock.owner !== owner) return { of: "busy" } as const
          if (lock === undefined) {
            locks.set(name, { owner, queue: [] })
            owner.held.add(name)
          }
          const stored = answers.get(name)
          return stored === undefined || stored.at <= now - dayMicros
            ? { of: "new" } as const
            : { of: "stored", request: stored.request, answer: stored.answer } as const
        }),
      storeKey: ({ answer: text, key, now, request, scope }) =>
        Effect.sync(() => {
          const name = `answer ${scope} ${key}`
          const drafted = owner.draft.get("answers") ?? new Map<string, Row | null>()
          drafted.set(name, [request, text, String(now)])
          owner.draft.set("answers", drafted)
        })
    }
    return tx
  }

  const commit = (owner: Owner): void => {
    for (const [name, rows] of owner.draft) {
      if (name === "answers") {
        for (const [key, row] of rows) answers.set(key, { request: row![0]!, answer: row![1]!, at: BigInt(row![2]!) })
        continue
      }
      let table = tables.get(name)
      if (table === undefined) tables.set(name, table = new Map())
      for (const [key, row] of rows) {
        if (row === null) table.delete(key)
        else table.set(key, row)
      }
    }
  }

  const service: RecordsService = {
    ...makeReader(committed, begin, estimate, answerBytes),
    pageWithin: (plan, bytes) =>
      Effect.flatMap(begin("pageWithin"), () => {
        const rows = pageOf(plan, committed(plan.shape.model))
        if (rows.some((row) => rowBytes(row) > answerBytes)) return Effect.fail(failure("TooLarge"))
        const kept = cutRows(rows, bytes, plan.before !== undefined)
        return Effect.succeed({ rows: kept, cut: kept.length < rows.length })
      }),
    transaction: (body, alone = false) =>
      Effect.suspend(() => {
        const owner: Owner = { draft: new Map(), held: new Set(), waitsFor: null, after: [], ends: [] }
        return Effect.onExit(
          Effect.andThen(begin("transaction"), body(transactionOn(owner, alone))),
          (exit) =>
            Effect.sync(() => {
              if (Exit.isSuccess(exit)) {
                commit(owner)
                for (const call of owner.after) call()
              }
              for (const call of owner.ends) call()
              release(owner)
            })
        )
      }),
    indexed: () => Effect.succeed(false),
    ping: begin("ping")
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
    calls
  }
}
