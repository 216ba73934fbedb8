/**
 * The connections of the queue, and the meaning of their failures. Any pool of `pg` fits. Statements are unnamed and need no transaction around them,
 * so a transaction-mode pooler may be in between.
 */

import { outageOf } from "../../core/domain/outage.ts"
import { QueueError } from "../../core/ports/queue.ts"

export type Columns = { readonly [column: string]: unknown }

export interface QueryAnswer<Row extends Columns = Columns> {
  readonly rows: readonly Row[]
  readonly rowCount: number | null
}

/** What is needed of a connection of `pg`. */
export interface QueueConnection {
  readonly query: (text: string, values?: unknown[]) => Promise<QueryAnswer>
  readonly release: (failure?: Error | boolean) => void
}

/** What is needed of a pool of `pg`. */
export interface Connections {
  readonly connect: () => Promise<QueueConnection>
}

/** Runs one statement on a connection of the pool. Its text says which columns a row has. A connection that broke is thrown away. */
export const runOn = async <Row extends Columns = Columns>(
  pool: Connections,
  text: string,
  values: readonly unknown[] = []
): Promise<QueryAnswer<Row>> => {
  const connection = await pool.connect()
  let broken = false
  try {
    return await connection.query(text, [...values]) as QueryAnswer<Row>
  } catch (error) {
    broken = isTransient(error)
    throw error
  } finally {
    connection.release(broken)
  }
}

/** The SQLSTATE of a failure, or the code of a socket's. */
export const codeOf = (error: unknown): string | null => {
  let at = error
  for (let depth = 0; depth < 8 && typeof at === "object" && at !== null; depth++) {
    if ("code" in at && typeof at.code === "string") return at.code
    at = "cause" in at ? at.cause : "reason" in at ? at.reason : null
  }
  return null
}

/** `pg` has no code for some of the ways in which a connection ends. */
const brokenTexts =
  /connection (?:terminated|ended|timeout)|timeout exceeded when trying to connect|Client (?:was closed|has encountered a connection error)|server closed the connection|not queryable|no more connections/i

/** Whether the same statement may succeed later, because the server, the way to it, or another transaction was the reason. */
export const isTransient = (error: unknown): boolean => {
  const code = codeOf(error)
  if (code === null) return error instanceof Error && brokenTexts.test(error.message)
  return /^(?:25006|40001|40P01|08|53|57P|58|XX000$|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ENOENT|ERR_STREAM)/
    .test(code)
}

/** A failure as one of the port's. `Refused` carries the sentence of our own functions. Any other failure is thrown again as a defect. */
export const queueError = (error: unknown): QueueError => {
  const code = codeOf(error)
  const outage = outageOf(error)
  if (outage !== null) return new QueueError({ reason: { _tag: outage }, cause: error })
  if (code === "40001" || code === "40P01") return new QueueError({ reason: { _tag: "Conflict" }, cause: error })
  if (code === "22023" || code === "55006") {
    const message = error instanceof Error ? error.message : String(error)
    return new QueueError({ reason: { _tag: "Refused", message }, cause: error })
  }
  if (isTransient(error)) return new QueueError({ reason: { _tag: "Unavailable" }, cause: error })
  throw error
}
