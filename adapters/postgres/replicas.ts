/**
 * Read replicas on PostgreSQL. Once a second it asks the primary how far its log is, and each replica how much of it shows. It asks again for a read that must show
 * a certain place, and gives such a read to the primary where no replica comes that far in time. How a replica stands is for the domain to judge.
 */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { isOutage } from "../../core/domain/outage.ts"
import {
  type Absence,
  judgeReplica,
  type Lsn,
  lsnFrom,
  lsnOf,
  newcomer,
  nextInTurn,
  placeOf,
  type Position,
  positionOf,
  type PrimarySeen,
  remembered,
  type ReplicaSeen,
  type Sample,
  type Standing,
  type Weighted
} from "../../core/domain/read/replica.ts"
import { RecordsError, type RecordsReason, type RecordsService } from "../../core/ports/records.ts"
import type { ChosenReplica, ReplicasService, ReplicaState } from "../../core/ports/replicas.ts"
import type { Postgres } from "./connection.ts"

/** A server to read from, behind pools of its own. */
export interface ReplicaServer {
  /** Host and port. */
  readonly name: string
  /** Its share of the reads beside the others. */
  readonly weight: number
  readonly postgres: Postgres
  readonly records: RecordsService
}

/** A replica is left out, or read from again after some time. */
export type ReplicaChange =
  & { readonly name: string }
  & (
    | { readonly of: "left"; readonly why: Absence }
    | { readonly of: "back"; readonly seconds: number }
  )

export interface ReplicaOptions {
  readonly primary: Postgres
  readonly records: RecordsService
  readonly servers: readonly ReplicaServer[]
  /** How far a replica may be behind, in milliseconds. */
  readonly mostLagMs: number
  readonly onChange?: (change: ReplicaChange) => void
}

/** Milliseconds between two looks at all servers, and the first of them. */
const lookMs = 1_000
/** The longest wait for a replica to come as far as a read needs, and the pause between two questions. */
const waitMs = 100
const pauseMs = 4
/** Reads that wait at once. More go to the primary: a position that nobody shows must not make them pile up. */
const mostWaiting = 200
/** For how long a replica is left out that broke a read off. */
const conflictMs = 5_000

const identity =
  "extract(epoch from pg_postmaster_start_time())::text, (select system_identifier::text from pg_control_system()), current_database()::text"
// On a standby these functions fail, which its log would tell each second.
const here = "case when not pg_is_in_recovery() then pg_current_wal_insert_lsn() end"
const positionSql =
  `select lsn::text, left(pg_walfile_name(lsn), 8) from (select ${here} as lsn) here where lsn is not null`
const primarySql =
  `select lsn::text, left(pg_walfile_name(lsn), 8), ${identity} from (select ${here} as lsn) here where lsn is not null`
const replicaSql = `select coalesce(pg_last_wal_replay_lsn()::text, '0/0'), pg_is_in_recovery()::text, ${identity}`
const replayedSql = "select pg_last_wal_replay_lsn()::text"

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, Math.max(0, milliseconds)).unref())

/** The first row of an answer, or null where the server gives none. */
const rowOf = async (postgres: Postgres, sql: string): Promise<ReadonlyArray<string | null> | null> => {
  const exit = await Effect.runPromise(Effect.exit(postgres.ask(sql)))
  return exit._tag === "Success" ? exit.value[0] ?? null : null
}

/** Failures that another server would answer with, too: they are the caller's, or the time limit's. */
const everywhere: ReadonlySet<RecordsReason["_tag"]> = new Set(
  ["Timeout", "Overloaded", "TooLarge", "BadValue", "BadPattern", "SlowPattern"] as const
)

/** Reads one row each, and joins questions that are asked while another one is under way: they need one that begins after them. */
const shared = <A>(ask: () => Promise<A>): () => Promise<A> => {
  let running: Promise<A> | null = null
  let next: Promise<A> | null = null
  const begin = (): Promise<A> => {
    next = null
    return running = ask().finally(() => {
      running = null
    })
  }
  return () => running === null ? begin() : next ??= running.then(begin, begin)
}

/** A replica as it is now. */
class Replica implements Weighted {
  readonly name: string
  readonly weight: number
  readonly server: ReplicaServer
  turn = 0
  standing: Standing = newcomer
  /** Connections that had been made when it was asked what it shows. */
  generation = -1
  /** Left out until then, as it broke a read off. */
  conflictUntil = 0
  /** What was told of its absence, and since when. */
  told: { readonly since: number } | null = null
  readonly replayed: () => Promise<void>

  constructor(server: ReplicaServer) {
    this.name = server.name
    this.weight = server.weight
    this.server = server
    this.replayed = shared(async () => {
      const { postgres } = server
      const generation = postgres.opened()
      const row = await rowOf(postgres, replayedSql)
      if (row?.[0] == null || generation !== postgres.opened()) return
      this.learn(lsnFrom(row[0]), generation)
    })
  }

  learn(replayed: Lsn, generation: number): void {
    this.generation = generation
    // The primary itself shows everything, whatever it replayed before.
    if (this.standing.goal !== null) this.standing = { ...this.standing, replayed }
  }

  /** Why it is not read from. */
  absence(): Absence | null {
    return this.standing.absence ?? (performance.now() < this.conflictUntil ? "conflict" : null)
  }

  /** Whether all connections that there are show so much. */
  shows(lsn: Lsn): boolean {
    return this.standing.replayed !== null && this.standing.replayed >= lsn &&
      this.generation === this.server.postgres.opened()
  }
}

/** Watches replicas until the scope ends. */
export const makeReplicas = (options: ReplicaOptions): Effect.Effect<ReplicasService, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { mostLagMs, onChange, primary, records, servers } = options
    const replicas = servers.map((server) => new Replica(server))
    let samples: readonly Sample[] = []
    let known: PrimarySeen | null = null

    /** Takes what the primary said. After a failover the replicas have to show that they follow the new one. */
    const heard = (seen: PrimarySeen): void => {
      if (known !== null && known.position.slice(0, 8) !== seen.position.slice(0, 8)) {
        samples = []
        for (const replica of replicas) replica.standing = newcomer
      }
      known = seen
    }

    const askPrimary = async (): Promise<PrimarySeen | null> => {
      const [lsn, timeline, started, cluster, database] = await rowOf(primary, primarySql) ?? []
      if (lsn == null || timeline == null || started == null || cluster == null || database == null) return null
      return { position: positionOf(timeline, lsnFrom(lsn)), started, cluster, database }
    }

    const askReplica = async ({ server: { postgres } }: Replica) => {
      const generation = postgres.opened()
      const [lsn, standby, started, cluster, database] = await rowOf(postgres, replicaSql) ?? []
      if (lsn == null || started == null || cluster == null || database == null) return null
      const seen: ReplicaSeen = { replayed: lsnFrom(lsn), standby: standby === "true", started, cluster, database }
      return { generation, seen }
    }

    /** Says when a replica begins to be left out, and when that ends. One that joins is not missed yet. */
    const tell = (replica: Replica): void => {
      const absence = replica.absence()
      const { name, told } = replica
      if (absence === null && told !== null) {
        replica.told = null
        onChange?.({ of: "back", name, seconds: Math.round((performance.now() - told.since) / 1_000) })
      } else if (absence !== null && absence !== "joining" && told === null) {
        replica.told = { since: performance.now() }
        onChange?.({ of: "left", name, why: absence })
      }
    }

    const look = async (): Promise<void> => {
      const first = await askPrimary()
      if (first !== null) {
        heard(first)
        samples = remembered(samples, { lsn: lsnOf(first.position), at: performance.now() }, mostLagMs)
      }
      const all = await Promise.all(replicas.map(async (replica) => ({ replica, answer: await askReplica(replica) })))
      // Asked again, as no follower is ahead of what the primary says later.
      const second = await askPrimary()
      if (second !== null) heard(second)
      // One that came up between the two questions says nothing yet.
      const seen = first === null || first.started !== second?.started ? null : second
      for (const { answer, replica } of all) {
        const { standing } = replica
        replica.standing = judgeReplica(standing, answer?.seen ?? null, {
          primary: seen,
          samples,
          now: performance.now(),
          mostLagMs
        })
        if (answer !== null) replica.generation = answer.generation
        // Reads that wait there are asked elsewhere.
        else if (standing.absence !== "unreachable") replica.server.postgres.drop()
        tell(replica)
      }
    }
    const looks = shared(look)

    /** What a failure of a replica means for it. */
    const failed = (replica: Replica, error: unknown): void => {
      const tag = error instanceof RecordsError ? error.reason._tag : null
      if (tag === "Preempted") {
        replica.conflictUntil = performance.now() + conflictMs
        tell(replica)
      } else if (tag === "Unavailable" || tag === "NoConnections") void looks()
    }

    /**
     * Reads of a replica, and of the primary where the replica does not answer. `lsn`: what they have to show. Nothing counts then that a connection may have read
     * which was made later, as the server may have begun anew and show less.
     */
    const readsOf = (replica: Replica, lsn: Lsn | null): RecordsService => {
      const { postgres, records: own } = replica.server
      const { generation } = replica
      const again = <A>(
        refused: RecordsError,
        on: (records: RecordsService) => Effect.Effect<A, RecordsError>
      ): Effect.Effect<A, RecordsError> =>
        lsn === null ? on(own) : Effect.flatMap(Effect.promise(replica.replayed), () => {
          const { generation } = replica
          if (!replica.shows(lsn)) return Effect.fail(refused)
          return Effect.flatMap(
            on(own),
            (answer) => generation === postgres.opened() ? Effect.succeed(answer) : Effect.fail(refused)
          )
        })
      const read = <A>(
        on: (records: RecordsService) => Effect.Effect<A, RecordsError>
      ): Effect.Effect<A, RecordsError> =>
        Effect.suspend(() =>
          replica.absence() !== null ? on(records) : Effect.matchCauseEffect(on(own), {
            onSuccess: (answer) =>
              lsn === null || generation === postgres.opened() ? Effect.succeed(answer) : on(records),
            onFailure: (cause) => {
              const error = Cause.squash(cause)
              if (Cause.hasInterrupts(cause) || (error instanceof RecordsError && everywhere.has(error.reason._tag))) {
                return Effect.failCause(cause)
              }
              // Also what is a defect here: a table that has not arrived yet, or what a standby cannot do.
              failed(replica, error)
              // While the primary is away, another connection to the replica may do: this one may be of before it began anew.
              return Effect.catch(
                on(records),
                (refused) =>
                  isOutage(refused.reason._tag) && replica.absence() === null
                    ? again(refused, on)
                    : Effect.fail(refused)
              )
            }
          })
        )
      return {
        ...records,
        page: (plan) => read((on) => on.page(plan)),
        related: (plan) => read((on) => on.related(plan)),
        pageWithin: (plan, bytes) => read((on) => on.pageWithin(plan, bytes)),
        count: (plan) => read((on) => on.count(plan)),
        aggregate: (plan) => read((on) => on.aggregate(plan)),
        holding: (question) => read((on) => on.holding(question)),
        estimate: (plan) => read((on) => on.estimate(plan)),
        indexed: (index) => read((on) => on.indexed(index)),
        refreshed: (model) => read((on) => on.refreshed(model))
      }
    }

    const whatever = new Map(replicas.map((replica) => [replica, readsOf(replica, null)]))
    const chosen = (replica: Replica, lsn: Lsn | null): ChosenReplica => ({
      name: replica.name,
      records: lsn === null ? whatever.get(replica) ?? records : readsOf(replica, lsn)
    })

    let waiting = 0
    /** Asks a replica until it shows a place, for at most a moment. */
    const awaits = async (replica: Replica, lsn: Lsn): Promise<ChosenReplica | null> => {
      for (const end = performance.now() + waitMs; performance.now() < end;) {
        await Promise.race([replica.replayed(), pause(end - performance.now())])
        if (replica.absence() !== null) return null
        if (replica.shows(lsn)) return chosen(replica, lsn)
        await pause(Math.min(pauseMs, end - performance.now()))
      }
      return null
    }

    const askPosition = shared(async (): Promise<Position | null> => {
      const [lsn, timeline] = await rowOf(primary, positionSql) ?? []
      if (lsn == null || timeline == null) return null
      const position = positionOf(timeline, lsnFrom(lsn))
      if (known !== null) heard({ ...known, position })
      return position
    })

    // Before the pools end, which wait for what is under way.
    yield* Effect.addFinalizer(() => Effect.sync(() => servers.forEach(({ postgres }) => postgres.drop())))
    yield* Effect.forkScoped(Effect.repeat(Effect.promise(looks), Schedule.spaced(lookMs)))

    return {
      position: Effect.promise(askPosition),
      choose: (position) =>
        Effect.suspend(() => {
          const there = replicas.filter((replica) => replica.absence() === null)
          if (position === null) {
            const replica = nextInTurn(there)
            return Effect.succeed(replica === null ? null : chosen(replica, null))
          }
          const lsn = known === null ? null : placeOf(position, known.position)
          if (there.length === 0 || lsn === null) return Effect.succeed(null)
          const ready = nextInTurn(there.filter((replica) => replica.shows(lsn)))
          if (ready !== null) return Effect.succeed(chosen(ready, lsn))
          const replica = nextInTurn(there)
          if (replica === null || waiting >= mostWaiting) return Effect.succeed(null)
          return Effect.promise(() => {
            waiting++
            return awaits(replica, lsn).finally(() => {
              waiting--
            })
          })
        }),
      states: () =>
        replicas.map((replica): ReplicaState => ({
          name: replica.name,
          absence: replica.absence(),
          lagMs: replica.standing.lagMs
        }))
    }
  })
