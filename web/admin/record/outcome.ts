/** What an error says about a write or a read: that there is nothing, or that nobody knows. */

import { ConnectionError, ProblemError } from "../../client/index.ts"

/** There is no such record, or none for this person. */
export const isMissing = (error: unknown): boolean => error instanceof ProblemError && error.status === 404

/** Nobody knows whether the write arrived. */
export const isUnknown = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ProblemError && error.document["outcome"] === "unknown")
