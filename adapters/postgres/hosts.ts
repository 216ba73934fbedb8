/**
 * Which of several servers a connection goes to (libpq, "Specifying Multiple Hosts" and `target_session_attrs`). All are asked at once, and the first that fits
 * is taken until there is a doubt: a connection to it ended, or it refused a write. Then all are asked again, and connections to a server that was left are
 * closed. While no server fits who takes writes, one that answers serves reads.
 */

import { setTimeout as sleep } from "node:timers/promises"

/** A server: a name, an address or the folder of a socket, and a port. */
export interface Place {
  readonly host: string
  readonly port: number
}

/** The servers that fit, by libpq's words. */
export type Target = "any" | "read-write" | "primary" | "read-only" | "standby" | "prefer-standby"

export const targets: readonly Target[] = ["any", "read-write", "primary", "read-only", "standby", "prefer-standby"]

/** What a server says of itself: whether it follows another one, and whether its transactions are read-only unless they say so. */
export interface ServerState {
  readonly standby: boolean
  readonly readOnly: boolean
}

const fits: { readonly [target in Target]: (state: ServerState) => boolean } = {
  "any": () => true,
  "read-write": ({ readOnly, standby }) => !standby && !readOnly,
  "primary": ({ standby }) => !standby,
  "read-only": ({ readOnly, standby }) => standby || readOnly,
  "standby": ({ standby }) => standby,
  "prefer-standby": ({ standby }) => standby
}

/** The targets for which another server does where none fits. */
const lenient: ReadonlySet<Target> = new Set(["read-write", "primary", "prefer-standby"])

/** Milliseconds until all are asked again while none fits, the least between two doubts, and for how long the server of now is waited for. */
const againMs = 1_000
const calmMs = 250
const keepMs = 250

export interface Hosts {
  /** Where a connection goes now. Rejects as the first server does where none can be reached. */
  readonly choose: () => Promise<Place>
  /** Says that a connection to a place was made, and how it is closed. Call what it returns when it has ended. */
  readonly opened: (place: Place, close: () => void) => () => void
  /** The server may not fit any more: it does not answer, or takes no writes. The latter is no doubt where such a server fits. */
  readonly doubt: (why: "away" | "read-only") => void
}

export interface HostOptions {
  readonly places: readonly Place[]
  readonly target: Target
  /** Asks a server for its state on a connection of its own. */
  readonly ask: (place: Place) => Promise<ServerState>
}

export const makeHosts = ({ ask, places, target }: HostOptions): Hosts => {
  const open = new Set<{ readonly place: Place; readonly close: () => void }>()
  let chosen: Place | null = null
  let doubted = false
  let doubtedAt = Number.NEGATIVE_INFINITY
  let choosing: Promise<Place> | null = null
  let again: NodeJS.Timeout | undefined

  const take = (place: Place): Place => {
    chosen = place
    for (const each of open) if (each.place !== place) each.close()
    return place
  }

  const chooseAnew = async (): Promise<Place> => {
    doubted = false
    const asked = places.map((place) => ({ place, state: ask(place) }))
    const current = asked.find(({ place }) => place === chosen)
    // Of several that fit, the one of now is kept: another one would end all connections.
    const kept = current === undefined ? Promise.resolve(false) : Promise.race([
      current.state.then(fits[target], () => false),
      sleep(keepMs, false, { ref: false })
    ])
    const fitting = asked.map(async (each) => {
      if (!fits[target](await each.state)) throw new Error("The server does not fit.")
      if (each !== current && await kept) throw new Error("The server of now is kept.")
      return each.place
    })
    try {
      return take(await Promise.any(fitting))
    } catch {
      // None fits. The first that answers does for now, and all are asked again soon.
      const settled = await Promise.allSettled(asked.map(({ state }) => state))
      const [first] = settled
      const answering = places.find((_, at) => settled[at]?.status === "fulfilled")
      clearTimeout(again)
      again = setTimeout(() => void choose().catch(() => {}), againMs).unref()
      doubted = true
      if (answering !== undefined && lenient.has(target)) return take(answering)
      throw first?.status === "rejected"
        ? first.reason
        : Object.assign(new Error(`No server is ${target}.`), { code: "ECONNREFUSED" })
    }
  }

  const choose = (): Promise<Place> => {
    if (choosing === null && chosen !== null && !doubted) return Promise.resolve(chosen)
    return choosing ??= chooseAnew().finally(() => {
      choosing = null
    })
  }

  return {
    choose,
    opened: (place, close) => {
      const entry = { place, close }
      open.add(entry)
      return () => {
        // A server that stops ends its connections: the next one asks who is there.
        if (open.delete(entry) && place === chosen) doubted = true
      }
    },
    doubt: (why) => {
      if (why === "read-only" && fits[target]({ standby: true, readOnly: true })) return
      if (choosing !== null || performance.now() - doubtedAt < calmMs) return
      doubtedAt = performance.now()
      doubted = true
      // Whoever connects next is told why it fails.
      choose().catch(() => {})
    }
  }
}
