/**
 * Which tokens no longer count although they have not expired. Every user has an epoch, which rises with each ban, role change, password
 * change or revocation. A token carries the epoch it was made under, and the session it was made from, which may have ended. This keeps the
 * recent changes in memory, and reads new ones at most about once a second while there is traffic. It never reads the database per request
 * and never judges a signature.
 *
 * While the database answers, a change takes effect in every instance within two seconds. When it does not answer, the last known list is
 * used for ten more seconds. After that no token can be judged, and callers get a 503.
 */

import { KeysUnavailable } from "./authenticator.ts"
import { type Queries, tableIn } from "./database.ts"
import { endedSession } from "./migration.ts"

/** Milliseconds a list counts as fresh: requests within it need no wait. */
const freshMs = 1_500
/** Milliseconds after which traffic makes the list be read again, in the background. */
const renewMs = 700
/** Milliseconds a list may serve while the database does not answer. */
const staleMs = 10_000
/**
 * Milliseconds that a request waits for a reading, counted in steps. A pause of this process is one step, and no silence of the database.
 */
const waitMs = 1_000
const stepMs = 100
/** Milliseconds between two readings when the last one failed. */
const pauseMs = 500
/** How long an entry can matter: the longest life of a token plus the clock tolerance, and some more. */
const keptMs = 25 * 60 * 60 * 1_000
/** The same for the end of a session, whose tokens live for `tokenSeconds` only. */
const keptSessionMs = 60 * 60 * 1_000

export interface Revocations {
  /** Whether a token of this user made under `epoch`, in `session`, still counts. A promise only when the list must be read first. */
  readonly counts: (userId: string, epoch: number, session?: string) => boolean | Promise<boolean>
}

interface Change {
  readonly horizon: string
  readonly userId: string | null
  readonly epoch: string | null
  readonly age: string | null
}

export const makeRevocations = (store: Queries, schema: string | undefined): Revocations => {
  const text = `select h.horizon, r."userId", r."epoch"::text as epoch, extract(epoch from now() - r."at")::text as age
    from (select pg_snapshot_xmin(pg_current_snapshot())::text as horizon) h
    left join ${tableIn(schema)("revocation")} r on r."changed" >= $1::xid8`
  const revoked = new Map<string, { readonly epoch: number; readonly until: number }>()
  // Every transaction below the horizon had ended when the list was read, so nothing below it can appear later.
  let horizon = "0"
  let readAt = -Infinity
  let failedAt = -Infinity
  let prunedAt = 0
  let reading: Promise<void> | undefined

  const read = async (): Promise<void> => {
    const startedAt = performance.now()
    let rows = await store.query<Change>(text, [horizon])
    // A horizon that moved back means that another cluster answers now (a restore), so what was seen before says nothing about it.
    if (BigInt(rows[0]?.horizon ?? "0") < BigInt(horizon)) rows = await store.query<Change>(text, ["0"])
    for (const { age, epoch, userId } of rows) {
      if (userId === null) continue
      const kept = userId.startsWith(endedSession("")) ? keptSessionMs : keptMs
      const until = startedAt + kept - Number(age) * 1_000
      if (until > startedAt) revoked.set(userId, { epoch: Number(epoch), until })
    }
    horizon = rows[0]?.horizon ?? horizon
    readAt = startedAt
    if (startedAt - prunedAt > 60_000) {
      prunedAt = startedAt
      for (const [userId, { until }] of revoked) if (until < startedAt) revoked.delete(userId)
    }
  }

  const renew = (): Promise<void> =>
    reading ??= read().catch((cause: unknown) => {
      failedAt = performance.now()
      throw cause
    }).finally(() => {
      reading = undefined
    })

  const judge = (userId: string, epoch: number, session: string | undefined): boolean => {
    if (session !== undefined && revoked.has(endedSession(session))) return false
    const entry = revoked.get(userId)
    return entry === undefined || epoch >= entry.epoch
  }

  const wait = async (): Promise<void> => {
    let timer: ReturnType<typeof setInterval> | undefined
    let left = waitMs / stepMs
    try {
      if (reading === undefined && performance.now() - failedAt < pauseMs) throw new Error("the last reading failed")
      await Promise.race([
        renew(),
        new Promise<never>((_, reject) => {
          timer = setInterval(() => {
            if (--left === 0) reject(new Error("the database did not answer in time"))
          }, stepMs)
        })
      ])
    } catch (cause) {
      if (performance.now() - readAt > staleMs) {
        throw new KeysUnavailable("the list of revoked tokens cannot be read", { cause })
      }
    } finally {
      clearInterval(timer)
    }
  }

  return {
    counts: (userId, epoch, session) => {
      const age = performance.now() - readAt
      if (age < freshMs) {
        if (age > renewMs && performance.now() - failedAt > pauseMs) {
          renew().catch(() => {/* judged by the list's age */})
        }
        return judge(userId, epoch, session)
      }
      return wait().then(() => judge(userId, epoch, session))
    }
  }
}
