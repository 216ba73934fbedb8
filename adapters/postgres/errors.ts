/**
 * What a database failure means. SQLSTATEs and driver errors become the reasons of the port; everything else is a defect. Messages, constraints
 * and values stay in `cause`, which never reaches an answer.
 */

import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import { isBag } from "../../core/domain/bag.ts"
import { outageOfCode } from "../../core/domain/outage.ts"
import { RecordsError, type RecordsReason } from "../../core/ports/records.ts"
import { tooLargeCode } from "./socket.ts"

/** The SQLSTATE of a failure, or null when the driver raised it. */
export const sqlState = (error: SqlError): string | null => {
  const cause = error.reason.cause
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : null
  // Every SQLSTATE has a digit; the codes of sockets (EPIPE) have none.
  return typeof code === "string" && code.length === 5 && /[0-9]/.test(code) ? code : null
}

/**
 * Codes for refusals by triggers: SQL's own class for them, and the classes that SQL leaves to implementations and PostgreSQL does not use.
 */
const ofUsers = /^(?:45|(?!5[34578]|72|P0|XX)[5-9I-Z])/

/** Whether a policy of row security refuses a row. Missing rights have the same code, but another origin in the server. */
const isPolicy = (error: SqlError): boolean => {
  const cause = error.reason.cause
  return sqlState(error) === "42501" && typeof cause === "object" && cause !== null && "routine" in cause &&
    cause.routine === "ExecWithCheckOptions"
}

/**
 * Whether a partitioned table has no partition for a row, or a partition is not for it. Broken checks have the same code, but another origin in the server.
 */
const isWithoutPartition = (error: SqlError): boolean => {
  const { cause } = error.reason
  return sqlState(error) === "23514" && isBag(cause) &&
    (cause["routine"] === "ExecFindPartition" || cause["routine"] === "ExecPartitionCheckEmitError")
}

/** PostgreSQL "Error Codes", appendix A: single codes first, then whole classes. */
const byState: { readonly [state: string]: RecordsReason["_tag"] } = {
  "0A000": "Unsupported", // feature_not_supported
  "2201B": "BadPattern", // invalid_regular_expression
  "23000": "Check", // integrity_constraint_violation, as triggers raise it
  "23001": "ForeignKey", // restrict_violation
  "23502": "NotNull",
  "23503": "ForeignKey",
  "23505": "Unique",
  "23514": "Check",
  "23P01": "Unique", // exclusion_violation
  "40001": "Conflict",
  "40003": "OutcomeUnknown",
  "40P01": "Conflict",
  "44000": "Check", // with check option
  "54000": "BadValue", // a value too long for an index
  "55P03": "Timeout", // lock_timeout
  "57014": "Timeout",
  "P0001": "Check" // a trigger's own refusal
}
const byClass: { readonly [state: string]: RecordsReason["_tag"] } = { "22": "BadValue" }

/**
 * Whether the other side knows a startup parameter not: PostgreSQL says 42704 or 22023, PgBouncer 08P01. PgBouncer also says 08P01 while its own server is away,
 * which is an outage.
 */
export const isUnknownSetting = (error: SqlError): boolean => {
  const state = sqlState(error)
  const { cause } = error.reason
  return state === "42704" || state === "22023" ||
    (state === "08P01" && isBag(cause) && /startup parameter/i.test(String(cause["message"])))
}

/** Whether the server sent more than one answer may be, so that the connection was closed. */
export const isTooLarge = ({ reason: { cause } }: SqlError): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause && cause.code === tooLargeCode

/** What a constraint is known by: its table, its name, and of a missing value its column. */
export interface Violated {
  readonly schema: string
  readonly table: string
  readonly constraint: string | null
  readonly column: string | null
}

/** Which constraint a failure is about, where the database says so. */
export const violatedBy = ({ reason: { cause } }: SqlError): Violated | null => {
  if (!isBag(cause)) return null
  const { column, constraint, schema, table } = cause
  return typeof schema !== "string" || typeof table !== "string" ? null : {
    schema,
    table,
    constraint: typeof constraint === "string" ? constraint : null,
    column: typeof column === "string" ? column : null
  }
}

/** The reason of a failure. Null when it is none that a caller could act on. */
export const reasonOf = (error: SqlError): RecordsReason["_tag"] | null => {
  const state = sqlState(error)
  if (isWithoutPartition(error)) return "NoPartition"
  const reason = state === null ? null : byState[state] ?? byClass[state.slice(0, 2)] ?? outageOfCode(state)
  if (reason !== null) return reason
  if (state !== null && ofUsers.test(state)) return "Check"
  if (isPolicy(error)) return "Check"
  if (isTooLarge(error)) return "TooLarge"
  // Any failure to connect looks the same to the caller, also that a database accepts no connections.
  if (error.reason.operation === "connect") return "Unavailable"
  const tag = error.reason._tag
  return state === null && (tag === "ConnectionError" || tag === "AuthenticationError") ? "Unavailable" : null
}

/** A failure of the port. */
export const failed = (_tag: RecordsReason["_tag"], cause?: unknown): RecordsError =>
  new RecordsError({ reason: { _tag }, cause })

/** A statement's failure as the port's; what has no reason dies. */
export const refuse = (error: SqlError): Effect.Effect<never, RecordsError> => {
  const reason = reasonOf(error)
  return reason === null ? Effect.die(error) : Effect.fail(failed(reason, error))
}

/** The same under the short time limit of a regular expression. */
export const refusePattern = (error: SqlError): Effect.Effect<never, RecordsError> =>
  sqlState(error) === "57014" ? Effect.fail(failed("SlowPattern", error)) : refuse(error)

/**
 * A failed commit. A refusal by the database (a deferred constraint, a serialization failure) is as clear as any. A broken connection
 * leaves the outcome open.
 */
export const refuseCommit = (error: SqlError): Effect.Effect<never, RecordsError> =>
  reasonOf(error) === "Unavailable" ? Effect.fail(failed("OutcomeUnknown", error)) : refuse(error)

/** The message of the cast that fails a write which stands alone, when the row must not stand. It is also in the database's log. */
export const refusedByRule = "an access rule refuses the row"

const messageOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "message" in error ? String(error.message) : ""

/** A failed write that stands alone. When an access rule refused it, it is judged again where it does not. */
export const refuseByRule = (error: RecordsError): Effect.Effect<never, RecordsError> => {
  const cause = error.cause as SqlError | undefined
  const byRule = error.reason._tag === "BadValue" && messageOf(cause?.reason.cause).includes(refusedByRule)
  return Effect.fail(byRule ? failed("Contended", cause) : error)
}

/** The same of one that commits by itself. When the connection broke or was closed, the write may have happened. */
export const refuseAlone = (error: RecordsError): Effect.Effect<never, RecordsError> => {
  const cause = error.cause as SqlError | undefined
  const { _tag } = error.reason
  // A server without disk, memory or connections has refused clearly. Any other missing answer leaves the outcome open.
  const saidNo = cause !== undefined && sqlState(cause)?.startsWith("53") === true
  return (_tag === "Unavailable" && !saidNo) || _tag === "TooLarge"
    ? Effect.fail(failed("OutcomeUnknown", cause))
    : refuseByRule(error)
}
