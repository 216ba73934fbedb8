/** Names and constants as SQL, for the few that the queue's statements hold. The names of schemas were checked when the configuration was compiled. */

import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { lockMarginMs } from "../../core/domain/job/definition.ts"

/** A name as SQL. */
export const identifier = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

/** The schema of the queue as SQL. The usual name stands unquoted, as it always did: statements of migrations are known by their digests. */
export const ownSchema = (name: string): string => name === defaultSchemas.jobs ? name : identifier(name)

/** An instant as text with microseconds, in UTC, whatever the session says. */
export const instant = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** Ids are of eight bytes; what is no such number is the id of none. */
export const isId = (text: string): boolean =>
  /^-?[0-9]{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)

/** A text constant as SQL. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** How much longer than a try its lock may last. */
export const lockMargin = `interval '${lockMarginMs} milliseconds'`
