/**
 * The port to the state of public forms that all instances share: how often a client has sent a form, and which challenges are used up.
 *
 * Contract (test/contracts/submissions.ts runs it against every implementation):
 * - `admit` lets at most `most` requests of one id pass in any sixty seconds, exactly, also of many at once in several instances. A refused one does not count.
 * - `spend` gives true once for an id, to one of all callers, until the id expires. Then the id is forgotten.
 * - A database that is away fails with a `SubmissionsError`.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** Nothing was counted, because counting failed. */
export class SubmissionsError extends Data.TaggedError("SubmissionsError")<{ readonly cause?: unknown }> {}

export interface SubmissionsService {
  /** Counts a request, at most `most` (up to 1,000) a minute. Gives 0 when it is allowed, else the seconds until the next one is allowed. */
  readonly admit: (id: string, most: number) => Effect.Effect<number, SubmissionsError>
  /** Uses up an id. `expires`: milliseconds since 1970 until which it is remembered. */
  readonly spend: (id: string, expires: number) => Effect.Effect<boolean, SubmissionsError>
}

/** What strangers have sent. */
export class Submissions extends Context.Service<Submissions, SubmissionsService>()("resource-admin/Submissions") {}
