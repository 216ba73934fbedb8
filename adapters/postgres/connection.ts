/**
 * Connections: pools for reads, for long answers and for transactions. It decides how the session's guarantees are kept: by startup
 * parameters where the server takes them, by `set local` behind a transaction pooler. It also decides how long a request may wait for a
 * connection, and which statements stay prepared. It never looks into a statement. It leaves no session state on any connection.
 */

import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { defaultSchemas, type Schemas } from "../../core/domain/declare/schemas.ts"
import { hastyMs, wholeMs } from "../../core/domain/read/guard.ts"
import { rowBytes } from "../../core/domain/value/bytes.ts"
import { RecordsError } from "../../core/ports/records.ts"
import { failed, isTooLarge, isUnknownSetting, refuse, refuseCommit, sqlState } from "./errors.ts"
import { type Line, watchSilence, type Wire } from "./silence.ts"
import { addressOf, doubtHost, Meter } from "./socket.ts"
import type { Rows } from "./sql.ts"

/** Servers that reads may go to. */
export interface ReplicaUrls {
  /** Each as `url` of the database, with `weight=2` in it for twice the share of the reads. */
  readonly urls: readonly string[]
  /** Most connections for reads to each of them. Default: as to the primary. */
  readonly connections?: number
  /** How far behind a replica may be that is read from, in milliseconds. Default 10000. */
  readonly mostLagMs?: number
}

/** Which database, and the limits of its connections. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, or with `?host=/folder` a unix socket. `sslmode=no-verify` encrypts without checking the certificate. */
  readonly url: string
  /** Longest time of one statement in milliseconds. Default 15000. */
  readonly statementTimeoutMs?: number
  /** Most connections for reads. Default 10. */
  readonly readConnections?: number
  /**
   * Most connections for reads with a short time limit, half of them for each of two limits. Default 4. Where they are in use, those for reads serve, in a
   * transaction.
   */
  readonly shortConnections?: number
  /** Most connections for transactions. Default 10. */
  readonly writeConnections?: number
  /** Longest wait for a free connection in milliseconds, then `Overloaded`. Default 5000. */
  readonly waitMs?: number
  /** Longest time to connect in milliseconds. Default 5000. */
  readonly connectTimeoutMs?: number
  /**
   * Most bytes of rows of one read, default 32 MiB. An answer of more than 8 MiB is read again on one of two connections for long answers,
   * so that few connections at once hold one.
   */
  readonly answerBytes?: number
  /** Longest silence of the server while an answer is due, in milliseconds. Default: ten seconds more than the statement timeout. */
  readonly silenceMs?: number
  /**
   * Whether a transaction-mode pooler stands in between. Then statements are unnamed, and reads run in a transaction of their own. Left
   * out, it is found out: a server that refuses or ignores the startup parameters counts as one.
   */
  readonly pooler?: boolean
  /** Name of the connections in `pg_stat_activity`. Default `service`. */
  readonly applicationName?: string
  /** What the schemas of the service itself are called there. */
  readonly schemas?: Schemas
  /** Replicas of the database that reads go to (`docs/guides/operations.md#read-replicas`). */
  readonly replicas?: ReplicaUrls
  /** Called for each request that had to wait for a connection, with the milliseconds, whether it got one or not. */
  readonly onWait?: (pool: PoolUse["pool"], milliseconds: number) => void
}

/** The connection of a transaction. */
export interface Session {
  /** Whether there is no transaction: each statement commits by itself. */
  readonly autocommit: boolean
  /** Whether nobody looks at what a write answers before it counts, with a transaction or without. */
  readonly alone: boolean
  /** Rows are positional, all columns texts. */
  readonly run: (
    sql: string,
    params: readonly unknown[],
    prepare: boolean
  ) => Effect.Effect<ReadonlyArray<Array<string | null>>, SqlError>
  /** Rows as objects, values as the driver decodes them. */
  readonly objects: (
    sql: string,
    params: readonly unknown[]
  ) => Effect.Effect<ReadonlyArray<{ readonly [column: string]: unknown }>, SqlError>
}

/** How much of a pool is in use. */
export interface PoolUse {
  readonly pool: "read" | "write"
  /** Most connections. */
  readonly size: number
  /** Connections that work for a request. */
  readonly busy: number
  /** Requests that wait for one. */
  readonly waiting: number
  /** Requests that gave up waiting, since the start. */
  readonly timeouts: number
}

interface ReadHow {
  readonly prepare: boolean
  readonly timeoutMs?: number
  readonly refuse?: (error: SqlError) => Effect.Effect<never, RecordsError>
  /** Settings of this statement alone, which then runs in a transaction of its own. */
  readonly settings?: { readonly [name: string]: string }
}

/** A database behind its pools. Rows are positional, all columns texts. */
export interface Postgres {
  /** What the schemas of the service itself are called. */
  readonly schemas: Schemas
  readonly statementTimeoutMs: number
  /** The pools as they are now. */
  readonly pools: () => readonly PoolUse[]
  /**
   * Whether the server takes changes. It fails with an outage unless the server answers within two seconds. It has a connection of its own, so load on
   * the pools does not delay it.
   */
  readonly ping: Effect.Effect<"writes" | "reads", RecordsError>
  /** One statement without parameters on the connection of `ping`, with its time limit. */
  readonly ask: (sql: string) => Effect.Effect<Rows, RecordsError>
  /** How many connections were made. A server that begins anew has none of those that were made before. */
  readonly opened: () => number
  /** Closes all connections: what waits on them fails at once. */
  readonly drop: () => void
  /**
   * One read-only statement under the statement timeout. With `timeoutMs` it runs under that limit: on a connection that has it, or in a
   * transaction of its own. `refuse` says what its failures mean.
   */
  readonly read: (
    sql: string,
    params: readonly unknown[],
    how: ReadHow
  ) => Effect.Effect<Rows, RecordsError>
  /**
   * The rows of a read up to so many bytes, and at least one; `cut`: there are more. Rows are fetched one by one, so no more of them are in
   * memory.
   */
  readonly readWithin: (
    sql: string,
    params: readonly unknown[],
    bytes: number,
    how: Pick<ReadHow, "refuse" | "timeoutMs">
  ) => Effect.Effect<{ readonly rows: Rows; readonly cut: boolean }, RecordsError>
  /**
   * Commits when the body succeeds; rolls back when it fails, dies or is interrupted. `alone`: the body needs no transaction. It gets none
   * where statements have their time limit without one.
   */
  readonly transaction: <A, E>(
    body: (session: Session) => Effect.Effect<A, E>,
    alone?: boolean
  ) => Effect.Effect<A, E | RecordsError>
}

const defaults = {
  statementTimeoutMs: 15_000,
  readConnections: 10,
  shortConnections: 4,
  writeConnections: 10,
  waitMs: 5_000,
  connectTimeoutMs: 5_000,
  answerBytes: 32 * 1024 * 1024,
  applicationName: "service"
} as const

/** Bytes of one answer on the connections that every read may use. */
const usualBytes = 8 * 1024 * 1024
/** Connections for answers that are longer. */
const longReaders = 2
/** Bytes that an answer's rows take besides their cells. */
const frameBytes = 4 * 1024 * 1024

/** Milliseconds after which a connection with a short time limit is opened again that could not be opened: the server may have no more of them. */
const reopenMs = 10_000

/** Longest time of a `ping`. */
const pingMs = 2_000
/** Milliseconds between two looks at the server that was chosen among several. */
const lookMs = 1_000

/** Settings that every session has. Poolers pass these two on. */
const textForms = { timezone: "UTC", datestyle: "ISO, MDY" } as const

/**
 * Settings that answers depend on, whatever the server's defaults are: `similar` is defined by 0.3, floats are written in full, intervals as
 * durations, bytes within other types as hexadecimal digits, and nothing equals a null. Rules for callers without a value count on the last.
 */
const meanings = {
  "pg_trgm.similarity_threshold": "0.3",
  extra_float_digits: "1",
  intervalstyle: "iso_8601",
  bytea_output: "hex",
  transform_null_equals: "off",
  array_nulls: "on"
} as const

/** The statements and sockets of one place: whether an answer is due, what passes, and how long one answer is. */
class StatementLine implements Line {
  readonly meter: Meter
  #wires: readonly Wire[] = []
  /** Statements under way. */
  #due = 0

  /** `bytes`: most of one answer. */
  constructor(bytes: number) {
    this.meter = new Meter(bytes)
  }

  readonly isDue = (): boolean => this.#due > 0
  readonly wires = (): readonly Wire[] => this.#wires
  /** Whether there is a connection, so that a statement need not wait for one. */
  readonly isOpen = (): boolean => this.#wires.some(({ destroyed }) => !destroyed)

  /** Takes a socket that was just made. */
  readonly opened = <W extends Wire>(wire: W): W => {
    this.#wires = [...this.#wires.filter(({ destroyed }) => !destroyed), wire]
    // The socket before may have been closed because its answer was too long.
    this.meter.begin()
    return wire
  }

  /** The statement, counted while it is under way. */
  readonly ask = <A>(statement: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
    Effect.onExitPrimitive(
      Effect.suspend(() => {
        this.#due++
        this.meter.begin()
        return statement
      }),
      () => {
        this.#due--
        return undefined
      }
    )
}

/**
 * A place for one connection. The driver's pool of one makes the connection, replaces it when it is broken, and closes it when it is idle
 * for long. Because each pool has one connection, it is known on which socket a statement waits.
 */
interface Slot {
  readonly line: StatementLine
  readonly make: Effect.Effect<PgPool.PgPool>
  /** Null until the place is used for the first time. */
  pool: PgPool.PgPool | null
}

/** A connection in use, and its place. */
interface Lease {
  readonly connection: PgConnection.PgConnection
  readonly line: StatementLine
  readonly pool: PgPool.PgPool
}

/** Takes the connection out of its place, which gets another. */
const discard = ({ connection, pool }: Lease): Effect.Effect<void> => pool.invalidate(connection)

/** A pool that gives up on a waiting request after some time. */
interface Gate {
  readonly use: <A, E>(f: (lease: Lease) => Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError | RecordsError>
  /** Like `use`, but waits for nobody: on a free place whose connection is open, or on one that has none yet, or else `otherwise`. */
  readonly useFree: <A, E, E2>(
    isOpen: boolean,
    f: (lease: Lease) => Effect.Effect<A, E>,
    otherwise: Effect.Effect<A, E2>
  ) => Effect.Effect<A, E | E2 | SqlError>
  readonly usage: () => Omit<PoolUse, "pool">
}

/** A request that waits for its turn. */
interface Waiting {
  readonly until: number
  /** False once it has its answer or has gone away. */
  waits: boolean
  /** With its place, or null when there was none in time. */
  readonly give: (slot: Slot | null) => void
}

/**
 * The queue before the places. One timer serves all who wait: they leave in the order they came, and so do their deadlines. The place that
 * was left last is taken first, so that few requests need few connections.
 */
const makeGate = (
  slots: readonly Slot[],
  waitMs: number,
  onWait: ((milliseconds: number) => void) | undefined
): Gate => {
  const size = slots.length
  const free = [...slots]
  let timeouts = 0
  // First in, first out, from `head` on. A `Set` would keep past requests alive in its old tables.
  let queue: Array<Waiting | undefined> = []
  let head = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  /** Takes the first who still waits out of the queue, or only looks. */
  const first = (take: boolean): Waiting | undefined => {
    while (head < queue.length) {
      const waiting = queue[head]!
      if (waiting.waits && !take) return waiting
      queue[head++] = undefined
      if (waiting.waits) {
        waiting.waits = false
        return waiting
      }
    }
    queue = []
    head = 0
    return undefined
  }
  const leave = (slot: Slot): void => {
    // The place is handed over directly, so nobody who comes later gets in before those who wait.
    const next = first(true)
    if (next === undefined) free.push(slot)
    else next.give(slot)
  }
  const expire = (): void => {
    timer = undefined
    const now = performance.now()
    for (let waiting = first(false); waiting !== undefined; waiting = first(false)) {
      if (waiting.until > now) {
        timer = setTimeout(expire, waiting.until - now + 1).unref()
        return
      }
      timeouts++
      first(true)!.give(null)
    }
  }
  /** Puts somebody into the queue. */
  const wait = (given: Waiting["give"]): Waiting => {
    const until = performance.now() + waitMs
    const waiting: Waiting = {
      until,
      waits: true,
      give: (slot) => {
        given(slot)
        onWait?.(performance.now() + waitMs - until)
      }
    }
    // Under constant load the queue never becomes empty, so its past part is cut off now and then.
    if (head > 1_000 && head * 2 > queue.length) {
      queue = queue.slice(head)
      head = 0
    }
    queue.push(waiting)
    timer ??= setTimeout(expire, waitMs + 1).unref()
    return waiting
  }
  const lend = <A, E>({ line }: Slot, pool: PgPool.PgPool, f: (lease: Lease) => Effect.Effect<A, E>) =>
    pool.use((connection) => f({ connection, line, pool }))
  const work = <A, E>(slot: Slot, f: (lease: Lease) => Effect.Effect<A, E>) =>
    slot.pool !== null
      ? lend(slot, slot.pool, f)
      : Effect.flatMap(slot.make, (pool) => lend(slot, slot.pool = pool, f))
  return {
    usage: () => ({
      size,
      busy: size - free.length,
      waiting: queue.slice(head).filter((each) => each?.waits === true).length,
      timeouts
    }),
    use: <A, E>(f: (lease: Lease) => Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        let held: Slot | undefined
        const turn = Effect.callback<A, E | SqlError | RecordsError>((resume) => {
          held = free.pop()
          if (held !== undefined) return resume(work(held, f))
          const waiting = wait((slot) => {
            held = slot ?? undefined
            // In a microtask, so that a series of requests that fail at once does not nest calls.
            queueMicrotask(() => resume(slot === null ? Effect.fail(failed("Overloaded")) : work(slot, f)))
          })
          return Effect.sync(() => void (waiting.waits = false))
        })
        // Around both the turn and the work, because the fiber may yield and be interrupted between any two steps.
        return Effect.onExitPrimitive(turn, () => {
          if (held !== undefined) leave(held)
          return undefined
        })
      }),
    useFree: <A, E, E2>(
      isOpen: boolean,
      f: (lease: Lease) => Effect.Effect<A, E>,
      otherwise: Effect.Effect<A, E2>
    ) =>
      Effect.suspend(() => {
        let held: Slot | undefined
        // The place is looked for and taken in one step.
        const turn = Effect.suspend((): Effect.Effect<A, E | E2 | SqlError> => {
          const at = free.findLastIndex(({ line }) => line.isOpen() === isOpen)
          if (at === -1) return otherwise
          held = free.splice(at, 1)[0]!
          return work(held, f)
        })
        return Effect.onExitPrimitive(turn, () => {
          if (held !== undefined) leave(held)
          return undefined
        })
      })
  }
}

// The driver's rows are fresh arrays of what our columns are: texts and nulls.
const query = ({ connection, line }: Lease, sql: string, params: readonly unknown[], prepare: boolean) =>
  line.ask(connection.queryValues(sql, params, prepare) as Effect.Effect<Rows, SqlError>)

const isSqlError = (error: unknown): error is SqlError =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "SqlError"

/** Failures of connecting and of statements become the port's; those of the work inside pass. */
const translated = <A, E>(
  effect: Effect.Effect<A, E | SqlError>,
  meaning: (error: SqlError) => Effect.Effect<A, RecordsError>
): Effect.Effect<A, Exclude<E, SqlError> | RecordsError> =>
  Effect.catch(
    effect,
    (error): Effect.Effect<A, Exclude<E, SqlError> | RecordsError> =>
      isSqlError(error) ? meaning(error) : Effect.fail(error as Exclude<E, SqlError>)
  )

/** Longest wait for a rollback before its connection is given up. */
const rollbackMs = 5_000

/**
 * Runs `body` between `begin` and `commit`. A connection that cannot be brought out of the transaction is thrown away, so that nothing leaks
 * into the next use.
 */
const betweenBeginAndCommit = <A, E>(
  lease: Lease,
  how: {
    readonly begin: readonly string[]
    readonly prepare: boolean
    /** What a failed commit means. A commit without an answer fails with its connection, which is closed when it stays silent. */
    readonly refused: (error: SqlError) => Effect.Effect<never, RecordsError>
  },
  body: Effect.Effect<A, E>
): Effect.Effect<A, E | SqlError | RecordsError> =>
  Effect.uninterruptibleMask((restore) => {
    const rollback = () =>
      Effect.catchCause(
        Effect.timeout(Effect.interruptible(query(lease, "rollback", [], how.prepare)), rollbackMs),
        () => discard(lease)
      )
    const [first, ...more] = how.begin.map((sql) => query(lease, sql, [], how.prepare))
    const started: Effect.Effect<unknown, SqlError> = more.length === 0
      ? first!
      : Effect.andThen(first!, Effect.all(more))
    const commit = Effect.flatMap(
      translated(lease.line.ask(lease.connection.query("commit", [], how.prepare)), how.refused),
      // An aborted transaction answers COMMIT with ROLLBACK: code went on after a failed statement.
      (result) =>
        result.command === "ROLLBACK" ? Effect.die(new Error("commit of an aborted transaction")) : Effect.void
    )
    return Effect.flatMap(
      Effect.exit(restore(Effect.andThen(started, body))),
      (exit): Effect.Effect<A, E | SqlError | RecordsError> =>
        Exit.isSuccess(exit) ? Effect.as(commit, exit.value) : Effect.andThen(rollback(), exit)
    )
  })

/** A read has changed nothing that another one could be in conflict with: the database gives other work the way. */
const isPreempted = (error: SqlError): boolean => sqlState(error) === "40001"

/** A read that the database takes for a write, of a view whose function writes, is nobody's moment of no changes: it never works. */
const readMeaning =
  ({ refuse: meaning = refuse }: Pick<ReadHow, "refuse">) => (error: SqlError): Effect.Effect<never, RecordsError> =>
    sqlState(error) === "25006"
      ? Effect.die(error)
      : isPreempted(error)
      ? Effect.fail(failed("Preempted", error))
      : meaning(error)

/** Opens the pools; connections are made when they are needed, so this never fails and needs no database yet. */
export const makePostgres = (options: PostgresOptions): Effect.Effect<Postgres, never, Scope.Scope> =>
  Effect.gen(function*() {
    const settings = { ...defaults, ...options }
    const { schemas = defaultSchemas, statementTimeoutMs } = settings
    const longBytes = Math.max(usualBytes, settings.answerBytes) + frameBytes
    const { chooses, connect, ...address } = addressOf(settings.url)
    const silence = yield* Effect.acquireRelease(
      Effect.sync(() => watchSilence(settings.silenceMs ?? statementTimeoutMs + 10_000)),
      ({ close }) => Effect.sync(close)
    )
    const base: PgPool.Config = {
      ...address,
      maxConnections: 1,
      applicationName: settings.applicationName,
      connectTimeout: settings.connectTimeoutMs,
      // A row of big texts must not close the connection.
      maxMessageSize: 256 * 1024 * 1024,
      preparedStatementCacheSize: 200
    }
    const limit = `${statementTimeoutMs}ms`
    const { onWait } = settings
    // Places outlive the request that uses them first, so they must not keep anything of it.
    const context = yield* Effect.context<Scope.Scope>()
    const scope = Context.get(context, Scope.Scope)
    const lines: StatementLine[] = []
    let opened = 0
    const open = (
      startup: { readonly [name: string]: string },
      name: PoolUse["pool"],
      size: number,
      bytes = longBytes
    ): Gate => {
      const slots = Array.from({ length: size }, (): Slot => {
        const line = new StatementLine(bytes)
        silence.add(line)
        lines.push(line)
        const stream = () => {
          opened++
          return line.opened(connect(line.meter))
        }
        const made = PgPool.make({ ...base, stream, startupParameters: { ...textForms, ...startup } })
        return { line, make: Effect.updateContext(Effect.orDie(made), () => context), pool: null }
      })
      return makeGate(slots, settings.waitMs, onWait === undefined ? undefined : (ms) => onWait(name, ms))
    }
    const forReads = { ...meanings, default_transaction_read_only: "on", statement_timeout: limit }
    const direct = {
      read: open(forReads, "read", settings.readConnections, usualBytes),
      long: open(forReads, "read", longReaders),
      write: open({ ...meanings, statement_timeout: limit }, "write", settings.writeConnections)
    }
    // A session that begins with the limit needs no statements that set it.
    const limits = [hastyMs, wholeMs]
    const places = Math.floor(settings.shortConnections / limits.length)
    const short = new Map((places === 0 ? [] : limits).map((ms) => {
      const startup = { ...forReads, statement_timeout: `${ms}ms` }
      return [ms, open(startup, "read", places, usualBytes)] as const
    }))
    /** Connections of the pools for short limits that have planned a statement. */
    const planned = new WeakSet<PgConnection.PgConnection>()
    /** The first plan of a connection reads the catalogue, too, for which the limit is not meant. So it is made before the statement. */
    const plan = (lease: Lease, sql: string, params: readonly unknown[]): Effect.Effect<void> => {
      if (planned.has(lease.connection)) return Effect.void
      planned.add(lease.connection)
      return Effect.ignore(query(lease, `explain ${sql}`, params, false))
    }
    /** From when on another connection of the pools for short limits may be opened. Only one is opened at a time. */
    let opensFrom = 0
    /** Opens another connection of such a pool beside the request, which does not wait for it. Where that fails, the usual connections go on to serve. */
    const openAnother = (gate: Gate, sql: string, params: readonly unknown[]): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (performance.now() < opensFrom) return Effect.void
        opensFrom = Infinity
        const opened = Effect.onExitPrimitive(
          gate.useFree(false, (lease) => plan(lease, sql, params), Effect.void),
          (exit) => {
            opensFrom = Exit.isSuccess(exit) ? 0 : performance.now() + reopenMs
            return undefined
          }
        )
        const apart: Effect.Effect<void, SqlError> = Effect.updateContext(opened, () => context)
        return Effect.asVoid(Effect.forkIn(apart, scope))
      })
    const pooled = {
      read: open({}, "read", settings.readConnections, usualBytes),
      long: open({}, "read", longReaders),
      write: open({}, "write", settings.writeConnections)
    }

    let pooler: boolean | undefined = settings.pooler
    const probe = direct.read.use((lease) =>
      query(
        lease,
        "select current_setting('default_transaction_read_only'), (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::bigint::text",
        [],
        false
      )
    )
    /** Whether the startup parameters hold. Asked once; a database that cannot be reached is asked again. */
    const direction: Effect.Effect<boolean, RecordsError> = Effect.suspend(() =>
      pooler !== undefined ? Effect.succeed(pooler) : Effect.map(
        Effect.catch(probe, (error) => {
          if (!isSqlError(error)) return Effect.fail(error)
          return isUnknownSetting(error) ? Effect.succeed([[null, null]]) : refuse(error)
        }),
        (rows) => (pooler = rows[0]?.[0] !== "on" || rows[0][1] !== String(statementTimeoutMs))
      )
    )
    const decided = <A, E>(then: (pooler: boolean) => Effect.Effect<A, E>): Effect.Effect<A, E | RecordsError> =>
      pooler === undefined ? Effect.flatMap(direction, then) : then(pooler)

    const locals = Object.entries(meanings).map(([name, value]) => `set_config('${name}', '${value}', true)`).join(", ")
    const limited = (timeoutMs: number) => `select set_config('statement_timeout', '${timeoutMs}ms', true)`
    /** What a transaction begins with besides its time limit: without a pooler the session has the other settings. */
    const local = (timeoutMs: number, pooler: boolean) => limited(timeoutMs) + (pooler ? `, ${locals}` : "")

    const readOn = (
      pooler: boolean,
      pool: "read" | "long",
      sql: string,
      params: readonly unknown[],
      how: ReadHow,
      meaning: (error: SqlError) => Effect.Effect<Rows, RecordsError>
    ): Effect.Effect<Rows, RecordsError> => {
      const prepare = how.prepare && !pooler
      const gate = (pooler ? pooled : direct)[pool]
      if (!pooler && how.timeoutMs === undefined && how.settings === undefined) {
        return translated(gate.use((lease) => query(lease, sql, params, prepare)), meaning)
      }
      const limitedGate = pooler || pool === "long" || how.settings !== undefined || how.timeoutMs === undefined
        ? undefined
        : short.get(how.timeoutMs)
      const settings = Object.entries(how.settings ?? {}).map(([name, value]) => `set local ${name} = ${value}`)
      const begin = ["begin read only", local(how.timeoutMs ?? statementTimeoutMs, pooler), ...settings]
      const ends = { begin, prepare: !pooler, refused: how.refuse ?? refuse }
      const within = gate.use((lease) => betweenBeginAndCommit(lease, ends, query(lease, sql, params, prepare)))
      if (limitedGate === undefined) return translated(within, meaning)
      // A connection with the limit is not waited for, nor that it opens: without one the usual connections serve, in a transaction with the limit.
      const onOpen = limitedGate.useFree(
        true,
        (lease) => {
          const rows = query(lease, sql, params, prepare)
          return planned.has(lease.connection) ? rows : Effect.andThen(plan(lease, sql, params), rows)
        },
        Effect.andThen(openAnother(limitedGate, sql, params), within)
      )
      return translated(onOpen, meaning)
    }

    const read: Postgres["read"] = (sql, params, how) =>
      decided((pooler) => {
        const meaning = readMeaning(how)
        return readOn(
          pooler,
          "read",
          sql,
          params,
          how,
          (error) =>
            isTooLarge(error)
              ? readOn(pooler, "long", sql, params, how, meaning)
              : isPreempted(error)
              ? readOn(pooler, "read", sql, params, how, meaning)
              : meaning(error)
        )
      })

    const readWithin: Postgres["readWithin"] = (sql, params, bytes, how) =>
      decided((pooler) => {
        const meaning = readMeaning(how)
        const gate = (pooler ? pooled : direct).long
        const isLimited = pooler || how.timeoutMs !== undefined
        const begin = ["begin read only", ...(isLimited ? [local(how.timeoutMs ?? statementTimeoutMs, pooler)] : [])]
        const ends = { begin, prepare: !pooler, refused: meaning }
        const rows: Array<Array<string | null>> = []
        const walk = (lease: Lease) =>
          Effect.gen(function*() {
            yield* query(lease, `declare page no scroll cursor for ${sql}`, params, false)
            for (let left = bytes;;) {
              const [row] = yield* query(lease, "fetch 1 from page", [], !pooler)
              if (row === undefined) return { rows, cut: false }
              left -= rowBytes(row)
              if (left < 0 && rows.length > 0) return { rows, cut: true }
              rows.push(row)
            }
          })
        return translated(
          gate.use((lease) => betweenBeginAndCommit(lease, ends, walk(lease))),
          // A single row may be too long, too. Then the page ends before it.
          (error): Effect.Effect<{ readonly rows: Rows; readonly cut: boolean }, RecordsError> =>
            isTooLarge(error) && rows.length > 0 ? Effect.succeed({ rows, cut: true }) : meaning(error)
        )
      })

    const transaction: Postgres["transaction"] = <A, E>(
      body: (session: Session) => Effect.Effect<A, E>,
      alone = false
    ) =>
      decided((pooler) => {
        const gate = pooler ? pooled.write : direct.write
        const begin = pooler ? ["begin", local(statementTimeoutMs, pooler)] : ["begin"]
        const ends = { begin, prepare: !pooler, refused: refuseCommit }
        const work = gate.use((lease) => {
          // Behind a pooler the time limit belongs to a transaction, so there is always one.
          const autocommit = alone && !pooler
          const session: Session = {
            autocommit,
            alone,
            run: (sql, params, prepare) => query(lease, sql, params, prepare && !pooler),
            objects: (sql, params) =>
              Effect.map(lease.line.ask(lease.connection.query(sql, params, false)), (result) => result.rows)
          }
          return autocommit ? body(session) : betweenBeginAndCommit<A, E | RecordsError>(lease, ends, body(session))
        })
        // The body translates failures of its own statements. Those left are of connecting and of `begin`.
        const translatedWork = translated<A, E | SqlError | RecordsError>(work, refuse) as Effect.Effect<
          A,
          E | RecordsError
        >
        return chooses ? Effect.tapError(translatedWork, doubtReadOnly) : translatedWork
      })

    /** A server that refuses a write is not the one that takes them. */
    const doubtReadOnly = (error: unknown): Effect.Effect<void> =>
      Effect.sync(() => {
        if (error instanceof RecordsError && error.reason._tag === "ReadOnly") doubtHost(settings.url, "read-only")
      })

    // Without the startup parameters that a pooler may refuse. The statement depends on none of them.
    const alive = open({}, "read", 1)
    // The caller does not wait until an interrupted statement ends, because a server that hangs takes long for that, too.
    const ask: Postgres["ask"] = (sql) =>
      Effect.flatMap(
        Effect.forkDetach(translated(alive.use((lease) => query(lease, sql, [], false)), refuse)),
        (fiber) =>
          Effect.timeoutOrElse(
            Effect.onInterrupt(Fiber.join(fiber), () => Effect.sync(() => fiber.interruptUnsafe())),
            { duration: pingMs, orElse: () => Effect.fail(failed("Unavailable")) }
          )
      )
    const ping = Effect.map(
      ask("select current_setting('transaction_read_only')"),
      ([row]) => row?.[0] === "on" ? "reads" as const : "writes" as const
    )

    // Of several servers another one may take the writes now, also where nobody asks.
    if (chooses) {
      const look = Effect.matchCause(ping, {
        onFailure: () => doubtHost(settings.url, "away"),
        onSuccess: (takes) => {
          if (takes === "reads") doubtHost(settings.url, "read-only")
        }
      })
      yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(lookMs)))
    }

    const pools: Postgres["pools"] = () => {
      const { read, write } = pooler === true ? pooled : direct
      return [{ pool: "read", ...read.usage() }, { pool: "write", ...write.usage() }]
    }

    const drop = (): void => {
      const error = Object.assign(new Error("The database server was given up."), { code: "ECONNRESET" })
      for (const line of lines) {
        for (const wire of line.wires()) wire.destroy(error)
      }
    }

    return {
      schemas,
      statementTimeoutMs,
      pools,
      ping,
      ask,
      opened: () => opened,
      drop,
      read,
      readWithin,
      transaction
    }
  })
