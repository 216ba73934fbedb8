/**
 * How many database connections one process may hold, and how one bound is shared out among its pools. It decides sizes only; each pool keeps to its own.
 */

/** Connections of the queue itself: fetching, completing and chores. */
export const queueConnections = 4

/** Sizes of the pools that a deployment can set. */
export interface PoolSizes {
  readonly read: number
  readonly write: number
  readonly auth: number
  readonly jobs: number
  /** For reads with a short time limit, which need none: others serve them with more round trips. */
  readonly short: number
  /** For reads on each replica; left out: as for reads. */
  readonly replica?: number
  /** Replicas that reads go to; left out: none. */
  readonly replicas?: number
}

export const usualSizes: PoolSizes = { read: 10, write: 10, auth: 5, jobs: 10, short: 4 }

/** Connections to each replica besides those for reads: two for long answers, one that asks how far behind it is. */
const fixedOfReplica = 2 + 1

/**
 * Connections of every process, whatever the sizes of its pools: two for long answers, one for readiness, those of the queue, and one that renews leases
 * while a job blocks the process. Readiness needs one more where accounts have a database of their own.
 */
export const fixedConnections = (ownAccounts: boolean): number => 2 + 1 + queueConnections + 1 + (ownAccounts ? 1 : 0)

/** Connections that a process holds at most, in all its databases. */
export const mostConnections = (
  { auth, jobs, read, replica = read, replicas = 0, short, write }: PoolSizes,
  ownAccounts: boolean
): number => read + write + auth + jobs + short + fixedConnections(ownAccounts) + replicas * (replica + fixedOfReplica)

/**
 * The sizes of the pools within a bound of the whole process. A size that is given stays. The others share the rest in proportion to their usual sizes, and
 * have at least one connection each. None is kept for short time limits. `sizes` is null where the bound is too small, and `least` says which one would do.
 * Without a bound the others have their usual sizes.
 */
export const shareConnections = (
  given:
    & {
      readonly [name in "read" | "write" | "auth" | "jobs"]: number | null
    }
    & { readonly replica?: number | null; readonly replicas?: number },
  bound: number | null,
  ownAccounts: boolean
): { readonly sizes: PoolSizes | null; readonly least: number } => {
  const { auth, jobs, read, replica = null, replicas = 0, write } = given
  const sizeOf = (share: (usual: number) => number): PoolSizes => ({
    read: read ?? share(usualSizes.read),
    write: write ?? share(usualSizes.write),
    auth: auth ?? share(usualSizes.auth),
    jobs: jobs ?? share(usualSizes.jobs),
    short: 0,
    ...replicas === 0 ? {} : { replica: replica ?? share(usualSizes.read), replicas }
  })
  const least = mostConnections(sizeOf(() => 1), ownAccounts)
  if (bound === null) return { sizes: { ...sizeOf((usual) => usual), short: usualSizes.short }, least }
  if (bound < least) return { sizes: null, least }
  const kept = mostConnections(sizeOf(() => 0), ownAccounts)
  const shared = mostConnections(sizeOf((usual) => usual), ownAccounts) - kept
  return { sizes: sizeOf((usual) => Math.max(1, Math.floor((bound - kept) * usual / shared))), least }
}
