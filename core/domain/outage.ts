/**
 * Outages: states of a database in which it can answer nobody. This module alone tells an outage from a failed statement, and words it for callers. It
 * judges the code of an error only, so it fits the errors of every driver.
 */

import { because, type Problem, problem } from "./problem.ts"

/**
 * `Unavailable`: it cannot be reached, or starts or stops · `NoConnections`: it accepts no further one · `Overloaded`: no connection of ours was free in time ·
 * `Preempted`: it broke this off for other work, as a standby does to a read in the way of its primary's changes · `ReadOnly`: it takes no changes ·
 * `DiskFull`: it takes no changes that need room.
 */
export type Outage = "Unavailable" | "NoConnections" | "Overloaded" | "Preempted" | "ReadOnly" | "DiskFull"

/** What each means for a caller, and after how many seconds another try makes sense. */
const told: { readonly [outage in Outage]: readonly [detail: string, retryAfter: number] } = {
  Unavailable: ["The database cannot be reached at the moment.", 2],
  NoConnections: ["The database has no connection left at the moment.", 2],
  Overloaded: ["Too many requests are waiting for the database.", 1],
  Preempted: ["The database broke this off for other work. Try again.", 1],
  ReadOnly: ["The database accepts no changes at the moment.", 5],
  DiskFull: ["The disk of the database is full. Its operator must make room.", 30]
}

/** Whether a reason of a port is an outage. */
export const isOutage = (reason: string): reason is Outage => Object.hasOwn(told, reason)

/** The refusal of a request that met an outage. `error`: the failure that told of it, for the log. */
export const outageProblem = (outage: Outage, error?: unknown): Problem => {
  const [detail, seconds] = told[outage]
  return because(problem("unavailable", detail, {}, { "retry-after": String(seconds) }), outage, error)
}

/** The outage that a refusal tells of by its detail; null: none. */
export const outageTold = (detail: unknown): Outage | null => {
  for (const [outage, [text]] of Object.entries(told)) if (text === detail && isOutage(outage)) return outage
  return null
}

/** PostgreSQL "Error Codes", appendix A: single codes first, then whole classes, without what they have for one statement only. */
const byState: { readonly [state: string]: Outage } = {
  "25006": "ReadOnly", // read_only_sql_transaction
  "53100": "DiskFull",
  "53300": "NoConnections",
  "58030": "Unavailable" // io_error
}
const awayClass = /^(?:08|28|3D|53|57(?!014))/
/** Codes of sockets and of looking a name up. A socket in a folder that is not there is ENOENT. */
const awaySocket = /^(?:ECONN[A-Z]+|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_STREAM_.*)$/

/** What an SQLSTATE or the code of a socket means; null: no outage. */
export const outageOfCode = (code: string): Outage | null =>
  byState[code] ?? (awaySocket.test(code) || (code.length === 5 && awayClass.test(code)) ? "Unavailable" : null)

/** Drivers give no code for some of the ways in which a connection ends, or is not had. */
const awayText =
  /connection (?:terminated|ended|timeout)|client (?:was closed|has encountered a connection error)|server closed the connection|not queryable|no more connections/i
const busyText = /timeout exceeded when trying to connect/i

const mostDeep = 8

/** What errors of drivers have, each its own part of it. */
interface Failure {
  readonly _tag?: unknown
  readonly cause?: unknown
  readonly code?: unknown
  readonly errors?: unknown
  readonly message?: unknown
  readonly reason?: unknown
}

/** The outage behind an error of a database, found in its causes; null: it is none. Errors of anything else must not be asked about. */
export const outageOf = (error: unknown): Outage | null => {
  let at = error
  for (let depth = 0; depth < mostDeep && typeof at === "object" && at !== null; depth++) {
    const { _tag, cause, code, errors, message, reason }: Failure = at
    // The failure of a port was judged already.
    if (typeof _tag === "string" && isOutage(_tag)) return _tag
    const outage = typeof code === "string" ? outageOfCode(code) : null
    if (outage !== null) return outage
    if (typeof code !== "string" && typeof message === "string") {
      if (busyText.test(message)) return "Overloaded"
      if (awayText.test(message)) return "Unavailable"
    }
    // Of several addresses none could be reached.
    if (Array.isArray(errors)) {
      for (const each of errors) {
        const one = outageOf(each)
        if (one !== null) return one
      }
    }
    at = typeof reason === "object" && reason !== null ? reason : cause
  }
  return null
}
