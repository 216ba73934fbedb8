/**
 * The log lines of the edge, one JSON object a line. They never hold a token, a query, a header, a body or the message of an error: only
 * what is needed to find a request again.
 */

import type { Why } from "../../core/domain/problem.ts"
import { classOf, framesOf } from "../../core/domain/thrown.ts"

/** Writes one finished line, without its newline. */
export type Log = (line: string) => void

/** A log that throws does not prevent the answer. Its line goes to the console instead. */
export const unfailing = (log: Log): Log => (line) => {
  try {
    log(line)
  } catch (error) {
    console.error(line, error)
  }
}

export interface AccessEntry {
  readonly id: string
  readonly method: string
  /** Path without query. */
  readonly path: string
  /** 499 when the client went away before there was an answer. */
  readonly status: number
  readonly milliseconds: number
  /** Length of the body sent, in bytes. */
  readonly bytes: number
  /** User id of the caller, or null before one is known. */
  readonly user: string | null
  /** Why it was refused; null: it was not. */
  readonly refused: Refused | null
  /** The tenant of the host or path, where these decide; null or absent: of none. */
  readonly tenant?: string | null
}

/** Why a request was refused, in words of the service's own and codes. */
export interface Refused {
  /** The slug of the problem. */
  readonly slug: string
  /** The kind of failure that led to it, such as `read-only`. */
  readonly cause?: string | undefined
  /** The SQLSTATE or system code of that failure. */
  readonly code?: string | undefined
}

/** A refusal as the log tells it. */
export const refusedAs = (slug: string, why: Why | undefined): Refused => ({
  slug,
  cause: why?.cause,
  code: why === undefined ? undefined : codeBehind(why.error)
})

const longest = 512

/**
 * A path fit for logs and spans. Below `secretPrefix` (the sign-in routes, some of which carry a one-time token in their path) a
 * segment that is not a plain word becomes `*`. The path of a tenant may still precede the prefix, as it does before anybody has looked whose it is.
 */
export const loggedPath = (path: string, secretPrefix: string): string => {
  const at = path.indexOf(secretPrefix)
  const end = at + secretPrefix.length
  const plain = at === -1
    ? path
    : path.slice(0, end) + path.slice(end).split("/").map((part) => /^[a-z-]{0,24}$/.test(part) ? part : "*").join("/")
  return plain.length > longest ? `${plain.slice(0, longest)}…` : plain
}

let stampedAt = 0
let stamped = ""

/** Now as ISO 8601; the text is made once a millisecond. */
const stamp = (): string => {
  const now = Date.now()
  if (now !== stampedAt) {
    stampedAt = now
    stamped = new Date(now).toISOString()
  }
  return stamped
}

/** The line is built by hand, because every request writes one. Only texts from outside need escaping. */
export const accessLine = (entry: AccessEntry): string => {
  const user = entry.user === null ? "" : `,"user":${JSON.stringify(entry.user)}`
  const tenant = entry.tenant === undefined || entry.tenant === null ? "" : `,"tenant":${JSON.stringify(entry.tenant)}`
  return `{"level":"info","time":"${stamp()}","event":"request","id":${JSON.stringify(entry.id)},"method":${
    JSON.stringify(entry.method)
  },"path":${JSON.stringify(entry.path)},"status":${entry.status},"ms":${
    Math.round(entry.milliseconds * 100) / 100
  },"bytes":${entry.bytes}${user}${tenant}${entry.refused === null ? "" : refusedMembers(entry.refused)}}`
}

const refusedMembers = ({ cause, code, slug }: Refused): string =>
  `,"slug":"${slug}"${cause === undefined ? "" : `,"cause":"${cause}"`}${code === undefined ? "" : `,"code":"${code}"`}`

/**
 * What kind of failure is behind an error: the SQLSTATE or system code (`ECONNRESET`) of it or of one of its causes, or undefined. Unlike a
 * message it quotes nothing.
 */
export const codeBehind = (error: unknown): string | undefined => {
  let at = error
  for (let depth = 0; depth < 8 && typeof at === "object" && at !== null; depth++) {
    const code = "code" in at ? at.code : undefined
    if (typeof code === "string" && /^(?:(?=[A-Z]*[0-9])[0-9A-Z]{5}|E[A-Z][A-Z0-9_]{1,40})$/.test(code)) return code
    at = "cause" in at ? at.cause : undefined
  }
  return undefined
}

/** All failed jobs of a name were retried or deleted, or the name was paused or resumed: how many there were, and by whom. The access line has no query, so no name. */
export const jobsLine = (event: string, name: string, jobs: number | null, user: string): string =>
  JSON.stringify({ level: "info", time: stamp(), event, name, ...(jobs === null ? {} : { jobs }), user })

/** A rule that threw, and so denied: which, and where the error came from. */
export const ruleLine = (resource: string, rule: string, error: unknown): string => {
  const line: object = JSON.parse(errorLine("rule-failed", "", error))
  return JSON.stringify({ ...line, resource, rule })
}

/** Where an error came from: its class, code and stack frames. Its message is left out, as it may quote a row. */
export const errorLine = (event: string, id: string, error: unknown): string =>
  JSON.stringify({
    level: "error",
    time: stamp(),
    event,
    id,
    error: classOf(error),
    code: codeBehind(error),
    frames: error instanceof Error ? framesOf(error).slice(0, 12) : []
  })
