/**
 * The port to the turns of subscriptions that have a limit. They are counted over all processes.
 *
 * Contract (test/contracts/rates.ts): turns of one subscription are at least `spacingMs` apart, whoever takes them. A place in its line comes after all places
 * that were given before. Subscriptions do not wait for each other. A limit that changes counts for the turns that follow.
 */

import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { RecordsError } from "./records.ts"

/** The answer to who wants a turn: when theirs is, or when to ask again. Milliseconds from now. */
export type Turn = { readonly granted: boolean; readonly waitMs: number }

export interface RatesService {
  /** Gives `count` places at the end of the line of a subscription: the time of the first one, in milliseconds from now. The others follow at `spacingMs`. */
  readonly line: (subscription: string, spacingMs: number, count: number) => Effect.Effect<number, RecordsError>
  /** The next free turn, if it is at most `longestMs` away; else a place in the line. */
  readonly take: (subscription: string, spacingMs: number, longestMs: number) => Effect.Effect<Turn, RecordsError>
}

/** Turns of subscriptions. */
export class Rates extends Context.Service<Rates, RatesService>()("resource-admin/Rates") {}
