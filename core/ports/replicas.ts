/**
 * The port to read replicas: servers that follow the primary and are a little behind it.
 *
 * Contract:
 * - `choose` gives records that show everything up to the position, or null: then only the primary is known to. It waits for at most 100 milliseconds.
 * - What it gives reads on one replica, and asks the primary where that replica fails for a reason of its own. Its transactions are those of the primary.
 * - `position` covers every commit that was acknowledged before it was asked. Null: the primary does not say.
 */

import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Absence, Position } from "../domain/read/replica.ts"
import type { RecordsService } from "./records.ts"

/** A replica that was chosen for a read. The same replica has the same `name`. */
export interface ChosenReplica {
  readonly name: string
  readonly records: RecordsService
}

/** How a replica stands. */
export interface ReplicaState {
  /** Host and port. */
  readonly name: string
  /** Null: it is read from. */
  readonly absence: Absence | null
  readonly lagMs: number | null
}

export interface ReplicasService {
  /** A replica to read from. `position`: what it must show; null: whatever it shows. */
  readonly choose: (position: Position | null) => Effect.Effect<ChosenReplica | null>
  readonly position: Effect.Effect<Position | null>
  readonly states: () => readonly ReplicaState[]
}

/** Servers that only reads go to. */
export class Replicas extends Context.Service<Replicas, ReplicasService>()("resource-admin/Replicas") {}
