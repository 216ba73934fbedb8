/**
 * Read replicas: places in the log of a primary, and which replica may be read from. A replica is judged by what it says of itself beside what the primary says,
 * never by a clock of a server. It asks nobody.
 */

/** A place in the log of a server, as 16 hexadecimal digits: texts compare as places do. */
export type Lsn = string

/**
 * A place in the log, after the timeline that it is of, as 24 hexadecimal digits. Of two the later one is the greater text: a promoted replica begins another
 * timeline, with a greater number.
 */
export type Position = string

/**
 * Reads `0/7F76E68`, as PostgreSQL writes a place. Where a record fills a page of the log (8192 bytes), a primary says the place behind the header of the next page,
 * and a replica that shows all of it says the end of this one: both are the end of the page here.
 */
export const lsnFrom = (text: string): Lsn =>
  text.split("/").map((half) => half.padStart(8, "0")).join("").toLowerCase().replace(/(?<=[02468ace])018$/, "000")

export const positionOf = (timeline: string, lsn: Lsn): Position => timeline.toLowerCase() + lsn

const positionForm = /^[0-9a-f]{24}$/

/** A position that a client sends back; null: it is none. */
export const readPosition = (text: string): Position | null => positionForm.test(text) ? text : null

export const lsnOf = (position: Position): Lsn => position.slice(8)

/** The later of two positions. */
export const later = (a: Position | null, b: Position | null): Position | null => (a ?? "") > (b ?? "") ? a : b

/** Bytes that the log of a primary may have grown by since it was asked: a position beyond was made up. */
const mostGrowth = 2 ** 30

/**
 * The place that a replica must show for a position, by what is known of the primary; null: it cannot be reached. What is left of an earlier timeline stands before
 * all of this one, so each replica shows it that follows the primary: after a failover nobody is kept at the primary by what was written before.
 */
export const placeOf = (position: Position, primary: Position): Lsn | null => {
  const [timeline, now] = [position.slice(0, 8), primary.slice(0, 8)]
  if (timeline !== now) return timeline < now ? "" : null
  const lsn = lsnOf(position)
  return Number(`0x${lsn}`) - Number(`0x${lsnOf(primary)}`) < mostGrowth ? lsn : null
}

/** What tells one server from another: when it was started, which cluster it is of and which database the connection is to. */
export interface ServerName {
  readonly started: string
  readonly cluster: string
  readonly database: string
}

/** What the primary says of itself. */
export interface PrimarySeen extends ServerName {
  readonly position: Position
}

/** What a replica says of itself. */
export interface ReplicaSeen extends ServerName {
  readonly standby: boolean
  /** The end of what it shows. */
  readonly replayed: Lsn
}

/** A place of the primary's log, and when it was there: milliseconds of a monotonic clock. */
export interface Sample {
  readonly lsn: Lsn
  readonly at: number
}

/** Samples with one more. They reach back beyond the greatest lag that is allowed, so that a replica which shows none of them is beyond it, too. */
export const remembered = (samples: readonly Sample[], last: Sample, mostLagMs: number): readonly Sample[] => [
  ...samples.filter(({ at }) => last.at - at <= 2 * mostLagMs),
  last
]

/**
 * Why a replica is not read from. `joining`: it has not shown yet that it follows this primary · `lag`: it is too far behind · `unreachable` · `ahead`: it has a
 * history of its own, as after a failover that it did not follow · `promoted`: it takes writes, and is not the primary · `foreign`: it is of another cluster or
 * database · `conflict`: it broke reads off for the changes of its primary.
 */
export type Absence = "joining" | "lag" | "unreachable" | "ahead" | "promoted" | "foreign" | "conflict"

/** How a replica stands. */
export interface Standing {
  /** Null: it is read from. */
  readonly absence: Absence | null
  /** What it must have replayed to be read from, and since when; null: not known yet. */
  readonly goal: Sample | null
  /** How far it is behind, in milliseconds; null: not known. */
  readonly lagMs: number | null
  readonly replayed: Lsn | null
}

export const newcomer: Standing = { absence: "joining", goal: null, lagMs: null, replayed: null }

/** What a server shows that is the primary itself: everything. */
const everything: Lsn = "f".repeat(16)

export interface Surroundings {
  /** What the primary said after the replica was asked; null: it does not answer. */
  readonly primary: PrimarySeen | null
  /** Where the primary's log was, the oldest first; the last is from before the replica was asked. */
  readonly samples: readonly Sample[]
  readonly now: number
  /** How far a replica may be behind, in milliseconds. */
  readonly mostLagMs: number
}

/**
 * How a replica stands, after what it said. `seen` null: it did not answer. While the primary does not answer, nobody knows more than a replica that was read from
 * before: it stays.
 */
export const judgeReplica = (
  before: Standing,
  seen: ReplicaSeen | null,
  { mostLagMs, now, primary, samples }: Surroundings
): Standing => {
  if (seen === null) return { ...newcomer, absence: "unreachable" }
  if (primary === null) {
    return before.absence === "unreachable"
      ? newcomer
      : { ...before, replayed: seen.standby ? seen.replayed : before.replayed }
  }
  if (seen.cluster !== primary.cluster || seen.database !== primary.database) return { ...newcomer, absence: "foreign" }
  if (!seen.standby) {
    return seen.started === primary.started
      ? { absence: null, goal: null, lagMs: 0, replayed: everything }
      : { ...newcomer, absence: "promoted" }
  }
  const { replayed } = seen
  // The primary was asked later, so a follower of it is never ahead. What it lacks is told apart from then on only beyond this place.
  if (replayed > lsnOf(primary.position)) {
    return { absence: "ahead", goal: { lsn: `${replayed}+`, at: now }, lagMs: null, replayed }
  }
  // What the primary wrote after the replica was asked: a replica that stands still with a history of its own never shows it.
  const goal = before.goal ?? { lsn: lsnOf(primary.position), at: now }
  const unseen = samples.find(({ lsn }) => lsn > replayed)
  const lagMs = unseen === undefined ? 0 : now - unseen.at
  const stands = (absence: Absence | null): Standing => ({ absence, goal, lagMs, replayed })
  if (replayed < goal.lsn) {
    return stands(before.absence === "ahead" ? "ahead" : now - goal.at > mostLagMs ? "lag" : "joining")
  }
  // Half of the bound brings it back, so that a replica at the bound does not come and go.
  return stands(lagMs > (before.absence === "lag" ? mostLagMs / 2 : mostLagMs) ? "lag" : null)
}

/** A choice among several by their weights: each gets its share of turns, spread evenly. */
export interface Weighted {
  readonly weight: number
  /** Where it stands in the turns. */
  turn: number
}

/** The next one in turn; null: there is none. */
export const nextInTurn = <Each extends Weighted>(all: readonly Each[]): Each | null => {
  let sum = 0
  let first: Each | null = null
  for (const each of all) {
    sum += each.weight
    each.turn += each.weight
    if (first === null || each.turn > first.turn) first = each
  }
  if (first !== null) first.turn -= sum
  return first
}
