/**
 * Connections: one pool for reads, one for transactions. It decides how the session's guarantees are kept (startup parameters where the
 * server takes them, `set local` behind a transaction pooler), how long a request may wait for a connection, and which statements stay prepared.
 * It never looks into a statement. No session state is left behind on any connection.
 */

import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { rowBytes } from "../../core/domain/value/bytes.ts"
import { RecordsError } from "../../core/ports/records.ts"
import { failed, isTooLarge, refuse, refuseCommit, sqlState } from "./errors.ts"
import { addressOf } from "./socket.ts"

/** Which database, and the limits of its connections. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, or with `?host=/folder` a unix socket. `sslmode=no-verify` encrypts without checking the certificate. */
  readonly url: string
  /** Longest time of one statement in milliseconds. Default 15000. */
  readonly statementTimeoutMs?: number
  /** Most connections for reads. Default 10. */
  readonly readConnections?: number
  /** Most connections for transactions. Default 10. */
  readonly writeConnections?: number
  /** Longest wait for a free connection in milliseconds, then `Overloaded`. Default 5000. */
  readonly waitMs?: number
  /** Longest time to connect in milliseconds. Default 5000. */
  readonly connectTimeoutMs?: number
  /**
   * Most bytes of rows of one read, default 32 MiB. What is longer than 8 MiB is read again on one of two connections for long answers, so that not all
   * connections read them at once.
   */
  readonly answerBytes?: number
  /** Longest silence of the server while an answer is due, in milliseconds. Default: ten seconds more than the statement timeout. */
  readonly silenceMs?: number
  /**
   * A transaction-mode pooler stands in between: statements are unnamed, reads run in a transaction of their own. Left out, it is found
   * out: a server that refuses or ignores the startup parameters is treated as one.
   */
  readonly pooler?: boolean
  /** Name of the connections in `pg_stat_activity`. Default `service`. */
  readonly applicationName?: string
  /** Told how long each request that had to wait for a connection did, in milliseconds, whether it got one or not. */
  readonly onWait?: (pool: PoolUse["pool"], milliseconds: number) => void
}

/** The connection of a transaction. */
export interface Session {
  /** Whether there is no transaction: each statement commits by itself. */
  readonly autocommit: boolean
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

type Rows = ReadonlyArray<Array<string | null>>

interface ReadHow {
  readonly prepare: boolean
  readonly timeoutMs?: number
  readonly refuse?: (error: SqlError) => Effect.Effect<never, RecordsError>
}

/** A database behind its pools. Rows are positional, all columns texts. */
export interface Postgres {
  readonly statementTimeoutMs: number
  /** The pools as they are now. */
  readonly pools: () => readonly PoolUse[]
  /** Fails with `Unavailable` unless the server answers within two seconds, on a connection of its own: load on the pools does not delay it. */
  readonly ping: Effect.Effect<void, RecordsError>
  /**
   * One read-only statement under the statement timeout, or under `timeoutMs` when that is given (then in a transaction of its own).
   * `refuse` says what its failures mean.
   */
  readonly read: (
    sql: string,
    params: readonly unknown[],
    how: ReadHow
  ) => Effect.Effect<Rows, RecordsError>
  /**
   * The rows of a read up to so many bytes, or the first one alone; `cut`: there are more. Each row comes by itself, so that no more of them are in
   * memory.
   */
  readonly readWithin: (
    sql: string,
    params: readonly unknown[],
    bytes: number,
    how: Pick<ReadHow, "refuse" | "timeoutMs">
  ) => Effect.Effect<{ readonly rows: Rows; readonly cut: boolean }, RecordsError>
  /**
   * Commits when the body succeeds, rolls back when it fails, dies or is interrupted. `alone`: the body needs no transaction around it, and gets none
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
/** What an answer's rows take beside their cells. */
const frameBytes = 4 * 1024 * 1024

/** Longest time of a `ping`. */
const pingMs = 2_000

/** What every session has, through a pooler as well: poolers pass these two on. */
const textForms = { timezone: "UTC", datestyle: "ISO, MDY" } as const

/**
 * What answers depend on, whatever the server's defaults: `similar` is defined by 0.3, floats are written in full, and nothing equals a null, as
 * rules count on for callers without a value.
 */
const meanings = {
  "pg_trgm.similarity_threshold": "0.3",
  extra_float_digits: "1",
  transform_null_equals: "off",
  array_nulls: "on"
} as const

/** A pool that gives up on a waiting request after some time. */
interface Gate {
  readonly use: <A, E>(
    f: (connection: PgConnection.PgConnection) => Effect.Effect<A, E>
  ) => Effect.Effect<A, E | SqlError | RecordsError>
  /** Takes a connection out of the pool, which makes another. */
  readonly discard: (connection: PgConnection.PgConnection) => Effect.Effect<void>
  readonly usage: () => Omit<PoolUse, "pool">
}

/** A request that waits for its turn. */
interface Waiting {
  readonly until: number
  /** False once it was settled or has gone away. */
  waits: boolean
  readonly settle: (entered: boolean) => void
}

/**
 * The queue stands before the pool, so that the pool always has a connection for who is let in, and one timer serves all who wait: they
 * leave in the order they came, and so do their deadlines.
 */
const makeGate = (
  pool: PgPool.PgPool,
  size: number,
  waitMs: number,
  onWait: ((milliseconds: number) => void) | undefined
): Gate => {
  let busy = 0
  let timeouts = 0
  // First in, first out, from `head` on. No Set: its outgrown tables would keep past requests alive.
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
  const leave = (): undefined => {
    // The place goes from hand to hand: nobody who comes later gets in before those who wait.
    const next = first(true)
    if (next === undefined) busy--
    else next.settle(true)
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
      first(true)!.settle(false)
    }
  }
  /** Puts somebody into the queue. */
  const wait = (settled: Waiting["settle"]): Waiting => {
    const until = performance.now() + waitMs
    const waiting: Waiting = {
      until,
      waits: true,
      settle: (entered) => {
        settled(entered)
        onWait?.(performance.now() + waitMs - until)
      }
    }
    // Under a load that never lets up the queue never runs empty: what it has behind it goes now and then.
    if (head > 1_000 && head * 2 > queue.length) {
      queue = queue.slice(head)
      head = 0
    }
    queue.push(waiting)
    timer ??= setTimeout(expire, waitMs + 1).unref()
    return waiting
  }
  return {
    discard: pool.invalidate,
    usage: () => ({ size, busy, waiting: queue.slice(head).filter((each) => each?.waits === true).length, timeouts }),
    use: <A, E>(f: (connection: PgConnection.PgConnection) => Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        let holds = false
        const turn = Effect.callback<A, E | SqlError | RecordsError>((resume) => {
          if (busy < size) {
            busy++
            holds = true
            return resume(pool.use(f))
          }
          const waiting = wait((entered) => {
            holds = entered
            // Later, so that a row of requests that fail at once does not nest.
            queueMicrotask(() => resume(entered ? pool.use(f) : Effect.fail(failed("Overloaded"))))
          })
          return Effect.sync(() => void (waiting.waits = false))
        })
        // Around the turn and the work: between any two steps the fiber may have to yield, and be interrupted there.
        return Effect.onExitPrimitive(turn, () => holds ? leave() : undefined)
      })
  }
}

// The driver's rows are fresh arrays of what our columns are: texts and nulls.
const query = (connection: PgConnection.PgConnection, sql: string, params: readonly unknown[], prepare: boolean) =>
  connection.queryValues(sql, params, prepare) as Effect.Effect<Rows, SqlError>

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
const within = <A, E>(
  gate: Gate,
  connection: PgConnection.PgConnection,
  how: {
    readonly begin: readonly string[]
    readonly prepare: boolean
    /** What a failed commit means. A commit that is never answered fails with its connection, which does not stay silent for ever. */
    readonly refused: (error: SqlError) => Effect.Effect<never, RecordsError>
  },
  body: Effect.Effect<A, E>
): Effect.Effect<A, E | SqlError | RecordsError> =>
  Effect.uninterruptibleMask((restore) => {
    const discard = gate.discard(connection)
    const rollback = () =>
      Effect.catchCause(
        Effect.timeout(Effect.interruptible(query(connection, "rollback", [], how.prepare)), rollbackMs),
        () => discard
      )
    const [first, ...more] = how.begin.map((sql) => query(connection, sql, [], how.prepare))
    const started: Effect.Effect<unknown, SqlError> = more.length === 0
      ? first!
      : Effect.andThen(first!, Effect.all(more))
    const commit = Effect.flatMap(
      translated(connection.query("commit", [], how.prepare), how.refused),
      // An aborted transaction answers COMMIT with ROLLBACK: somebody went on after a failed statement.
      (result) =>
        result.command === "ROLLBACK" ? Effect.die(new Error("commit of an aborted transaction")) : Effect.void
    )
    return Effect.flatMap(
      Effect.exit(restore(Effect.andThen(started, body))),
      (exit): Effect.Effect<A, E | SqlError | RecordsError> =>
        Exit.isSuccess(exit) ? Effect.as(commit, exit.value) : Effect.andThen(rollback(), exit)
    )
  })

/** Opens the pools; connections are made when they are needed, so this never fails and needs no database yet. */
export const makePostgres = (options: PostgresOptions): Effect.Effect<Postgres, never, Scope.Scope> =>
  Effect.gen(function*() {
    const settings = { ...defaults, ...options }
    const { statementTimeoutMs } = settings
    const longBytes = Math.max(usualBytes, settings.answerBytes) + frameBytes
    const address = (bytes: number) => addressOf(settings.url, settings.silenceMs ?? statementTimeoutMs + 10_000, bytes)
    const base: PgPool.Config = {
      applicationName: settings.applicationName,
      connectTimeout: settings.connectTimeoutMs,
      // A row of big texts must not close the connection.
      maxMessageSize: 256 * 1024 * 1024,
      preparedStatementCacheSize: 200
    }
    const limit = `${statementTimeoutMs}ms`
    const { onWait } = settings
    const open = (
      startup: { readonly [name: string]: string },
      name: PoolUse["pool"],
      size: number,
      bytes = longBytes
    ) =>
      Effect.map(
        Effect.orDie(PgPool.make({
          ...base,
          ...address(bytes),
          maxConnections: size,
          startupParameters: { ...textForms, ...startup }
        })),
        (pool) => makeGate(pool, size, settings.waitMs, onWait === undefined ? undefined : (ms) => onWait(name, ms))
      )
    const forReads = { ...meanings, default_transaction_read_only: "on", statement_timeout: limit }
    const direct = {
      read: yield* open(forReads, "read", settings.readConnections, usualBytes),
      long: yield* open(forReads, "read", longReaders),
      write: yield* open({ ...meanings, statement_timeout: limit }, "write", settings.writeConnections)
    }
    const pooled = {
      read: yield* open({}, "read", settings.readConnections, usualBytes),
      long: yield* open({}, "read", longReaders),
      write: yield* open({}, "write", settings.writeConnections)
    }

    let pooler: boolean | undefined = settings.pooler
    const probe = direct.read.use((connection) =>
      query(
        connection,
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
          const state = sqlState(error)
          // 08P01 is PgBouncer's answer to a startup parameter it does not know, 42704 and 22023 a server's.
          return state === "08P01" || state === "42704" || state === "22023"
            ? Effect.succeed([[null, null]])
            : refuse(error)
        }),
        (rows) => (pooler = rows[0]?.[0] !== "on" || rows[0][1] !== String(statementTimeoutMs))
      )
    )
    const decided = <A, E>(then: (pooler: boolean) => Effect.Effect<A, E>): Effect.Effect<A, E | RecordsError> =>
      pooler === undefined ? Effect.flatMap(direction, then) : then(pooler)

    const locals = Object.entries(meanings).map(([name, value]) => `set_config('${name}', '${value}', true)`).join(", ")
    const local = (timeoutMs: number) => `select set_config('statement_timeout', '${timeoutMs}ms', true), ${locals}`

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
      if (!pooler && how.timeoutMs === undefined) {
        return translated(gate.use((connection) => query(connection, sql, params, prepare)), meaning)
      }
      const begin = ["begin read only", local(how.timeoutMs ?? statementTimeoutMs)]
      const ends = { begin, prepare: false, refused: how.refuse ?? refuse }
      return translated(
        gate.use((connection) => within(gate, connection, ends, query(connection, sql, params, prepare))),
        meaning
      )
    }

    const read: Postgres["read"] = (sql, params, how) =>
      decided((pooler) => {
        const meaning = how.refuse ?? refuse
        return readOn(
          pooler,
          "read",
          sql,
          params,
          how,
          (error) => isTooLarge(error) ? readOn(pooler, "long", sql, params, how, meaning) : meaning(error)
        )
      })

    const readWithin: Postgres["readWithin"] = (sql, params, bytes, how) =>
      decided((pooler) => {
        const meaning = how.refuse ?? refuse
        const gate = (pooler ? pooled : direct).long
        const limited = pooler || how.timeoutMs !== undefined
        const begin = ["begin read only", ...(limited ? [local(how.timeoutMs ?? statementTimeoutMs)] : [])]
        const ends = { begin, prepare: false, refused: meaning }
        const rows: Array<Array<string | null>> = []
        const walk = (connection: PgConnection.PgConnection) =>
          Effect.gen(function*() {
            yield* query(connection, `declare page no scroll cursor for ${sql}`, params, false)
            for (let left = bytes;;) {
              const [row] = yield* query(connection, "fetch 1 from page", [], !pooler)
              if (row === undefined) return { rows, cut: false }
              left -= rowBytes(row)
              if (left < 0 && rows.length > 0) return { rows, cut: true }
              rows.push(row)
            }
          })
        return translated(
          gate.use((connection) => within(gate, connection, ends, walk(connection))),
          // A single row may be too long, too: the page ends before it.
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
        const begin = pooler ? ["begin", local(statementTimeoutMs)] : ["begin"]
        const ends = { begin, prepare: !pooler, refused: refuseCommit }
        const work = gate.use((connection) => {
          // Behind a pooler the time limit is the transaction's, so that there is always one.
          const autocommit = alone && !pooler
          const session: Session = {
            autocommit,
            run: (sql, params, prepare) => query(connection, sql, params, prepare && !pooler),
            objects: (sql, params) => Effect.map(connection.query(sql, params, false), (result) => result.rows)
          }
          return autocommit ? body(session) : within<A, E | RecordsError>(gate, connection, ends, body(session))
        })
        // The body translates its own statements' failures; those left are of connecting and of begin.
        return translated<A, E | SqlError | RecordsError>(work, refuse) as Effect.Effect<A, E | RecordsError>
      })

    // Without the startup parameters that a pooler may refuse: it asks nothing that depends on them.
    const alive = yield* open({}, "read", 1)
    const asked = translated(
      alive.use((connection) => Effect.asVoid(query(connection, "select 1", [], false))),
      refuse
    )
    // Whoever asks does not wait for the end of a statement that is given up: a server that stands still takes its time with that, too.
    const ping = Effect.flatMap(Effect.forkDetach(asked), (fiber) =>
      Effect.timeoutOrElse(
        Effect.onInterrupt(Fiber.join(fiber), () => Effect.sync(() => fiber.interruptUnsafe())),
        { duration: pingMs, orElse: () => Effect.fail(failed("Unavailable")) }
      ))

    const pools: Postgres["pools"] = () => {
      const { read, write } = pooler === true ? pooled : direct
      return [{ pool: "read", ...read.usage() }, { pool: "write", ...write.usage() }]
    }

    return { statementTimeoutMs, pools, ping, read, readWithin, transaction }
  })
