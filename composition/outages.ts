/**
 * The states of the database in which requests are refused, as one line of the log when a state begins and one when it ends. It hears of refusals only, and asks
 * the database while a state lasts. Nothing of it costs a request that is answered.
 */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { type Outage, outageOf } from "../core/domain/outage.ts"
import { wordOf } from "../core/domain/problem.ts"
import type { RecordsService } from "../core/ports/records.ts"
import { eventLine } from "./log.ts"

/** The states that last, by the word of their refusals. */
const states: ReadonlySet<string> = new Set(
  (["Unavailable", "NoConnections", "Overloaded", "ReadOnly", "DiskFull"] as const satisfies readonly Outage[]).map(
    wordOf
  )
)

/** A state that has not ended. */
interface Lasting {
  readonly since: number
  last: number
  refused: number
}

export interface OutageOptions {
  readonly ping: RecordsService["ping"]
  readonly log: (line: string) => void
  /** Told of every beginning and end. */
  readonly onChange?: ((state: string, lasts: boolean) => void) | undefined
  /** For how long nothing may be refused before a state is over, in milliseconds. Default 5,000. */
  readonly quietMs?: number
}

/** The function that hears of the cause of each refusal. */
export const watchOutages = ({ log, onChange, ping, quietMs = 5_000 }: OutageOptions): (cause: string) => void => {
  const lasting = new Map<string, Lasting>()
  let asking = false

  /** The state that the database itself is in; null: it takes reads and writes. A full disk and busy connections show in refusals only. */
  const stateNow = Effect.matchCause(ping, {
    onFailure: (cause) => wordOf(outageOf(Cause.squash(cause)) ?? "Unavailable"),
    onSuccess: (takes) => takes === "writes" ? null : wordOf("ReadOnly")
  })

  const look = async (): Promise<void> => {
    const now = await Effect.runPromise(stateNow)
    for (const [state, { last, refused, since }] of lasting) {
      if (state === now || performance.now() - last < quietMs) continue
      lasting.delete(state)
      onChange?.(state, false)
      const seconds = Math.round((performance.now() - since) / 1_000)
      log(eventLine("info", "outage-over", { state, seconds, refused }))
    }
  }

  const ask = (): void => {
    asking = true
    setTimeout(() =>
      void look().finally(() => {
        asking = false
        if (lasting.size > 0) ask()
      }), quietMs / 5).unref()
  }

  return (cause) => {
    if (!states.has(cause)) return
    const known = lasting.get(cause)
    if (known !== undefined) {
      known.last = performance.now()
      known.refused++
      return
    }
    lasting.set(cause, { since: performance.now(), last: performance.now(), refused: 1 })
    onChange?.(cause, true)
    log(eventLine("error", "outage", { state: cause }))
    if (!asking) ask()
  }
}
