/** Tells from an error whether a record does not exist, or whether the result of a write is unknown. */

import { ConnectionError, ProblemError } from "../../client/index.ts"

/** Whether the record does not exist, or the user may not see it. */
export const isMissing = (error: unknown): boolean => error instanceof ProblemError && error.status === 404

/** Whether it is unknown if the write was made. */
export const isUnknown = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ProblemError && error.document["outcome"] === "unknown")
